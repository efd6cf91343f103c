//! The index space of a family of fragments: nested ranges whose bounds may depend on the indices before them, and the
//! numbers of their points in the order of nested loops. A lookup costs a few array reads and no hash.

use smallvec::SmallVec;

/// An index tuple.
pub(super) type Indices = SmallVec<[i64; 4]>;

/// The points of a family. The number of a point is its place in the order of nested loops.
#[derive(Clone, Debug, Default)]
pub(super) struct Space {
    levels: Vec<Level>,
    count: u32,
}

/// The ranges of one index: one for each point of the levels above.
#[derive(Clone, Debug, Default)]
struct Level {
    /// The least index of each range.
    low: Vec<i64>,
    /// The number of each range's first point; one more entry ends the last.
    start: Vec<u32>,
}

impl Space {
    /// Enumerates the points: `range` gives the first and the last index of level `l` below the indices before it; a last below
    /// the first leaves the range empty.
    ///
    /// # Errors
    /// Whatever `range` says is wrong, and `too_many` above `most` points.
    pub(super) fn enumerate<E>(
        depth: usize,
        most: u32,
        mut range: impl FnMut(usize, &[i64]) -> Result<(i64, i64), E>,
        too_many: impl Fn() -> E,
    ) -> Result<Space, E> {
        let mut levels = Vec::with_capacity(depth);
        // The points of the levels so far.
        let mut points: Vec<i64> = Vec::new();
        let mut count = 1u32;
        for level in 0..depth {
            let mut next = Level::default();
            let mut below: Vec<i64> = Vec::new();
            let mut total = 0u32;
            for point in 0..count as usize {
                let prefix = &points[point * level..(point + 1) * level];
                let (low, high) = range(level, prefix)?;
                next.low.push(low);
                next.start.push(total);
                let size = if high < low { 0 } else { high.abs_diff(low).saturating_add(1) };
                total = u32::try_from(size).ok().and_then(|size| total.checked_add(size)).unwrap_or(u32::MAX);
                if total > most {
                    return Err(too_many());
                }
                // The last level's points are never looked at.
                if level + 1 < depth {
                    for index in 0..size as i64 {
                        below.extend_from_slice(prefix);
                        below.push(low + index);
                    }
                }
            }
            next.start.push(total);
            levels.push(next);
            points = below;
            count = total;
        }
        Ok(Space { levels, count })
    }

    /// How many points there are.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// The number of the point, if it is one.
    #[inline]
    pub(super) fn number(&self, indices: &[i64]) -> Option<u32> {
        let mut node = 0u32;
        for (level, &index) in self.levels.iter().zip(indices) {
            let at = node as usize;
            let start = level.start[at];
            let offset = u32::try_from(index.checked_sub(level.low[at])?).ok()?;
            if offset >= level.start[at + 1] - start {
                return None;
            }
            node = start + offset;
        }
        Some(node)
    }

    /// The indices of point `number`.
    pub(super) fn indices(&self, number: u32) -> Indices {
        let mut node = number;
        let mut indices = Indices::from_elem(0, self.levels.len());
        for (slot, level) in indices.iter_mut().zip(&self.levels).rev() {
            // Of ranges that begin at the same number all but the last are empty.
            let parent = level.start.partition_point(|&start| start <= node) - 1;
            *slot = level.low[parent] + i64::from(node - level.start[parent]);
            node = parent as u32;
        }
        indices
    }

    /// Calls `visit` with the number and the indices of each point, in order.
    pub(super) fn each<E>(&self, mut visit: impl FnMut(u32, &[i64]) -> Result<(), E>) -> Result<(), E> {
        let mut number = 0;
        let mut indices = Indices::new();
        self.below(0, 0, &mut indices, &mut |indices| {
            number += 1;
            visit(number - 1, indices)
        })
    }

    fn below<E>(
        &self,
        level: usize,
        node: usize,
        indices: &mut Indices,
        visit: &mut dyn FnMut(&[i64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(Level { low, start }) = self.levels.get(level) else { return visit(indices) };
        indices.push(0);
        for child in start[node]..start[node + 1] {
            indices[level] = low[node] + i64::from(child - start[node]);
            self.below(level + 1, child as usize, indices, visit)?;
        }
        indices.pop();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(depth: usize, range: impl FnMut(usize, &[i64]) -> Result<(i64, i64), ()>) -> Space {
        Space::enumerate(depth, 1000, range, || ()).unwrap()
    }

    #[test]
    fn points_are_numbered_as_nested_loops_meet_them() {
        // The tiles that step k of an LU factorization updates: k < i, j < 4; no tile is left after the last step.
        let lu = space(3, |level, at| Ok(if level == 0 { (0, 3) } else { (at[0] + 1, 3) }));
        assert_eq!(lu.count(), 9 + 4 + 1);
        let mut expected = Vec::new();
        for k in 0..4i64 {
            for i in k + 1..4 {
                for j in k + 1..4 {
                    expected.push([k, i, j]);
                }
            }
        }
        let mut met = Vec::new();
        lu.each(|number, indices| {
            assert_eq!(lu.number(indices), Some(number));
            assert_eq!(&lu.indices(number)[..], indices);
            met.push([indices[0], indices[1], indices[2]]);
            Ok::<(), ()>(())
        })
        .unwrap();
        assert_eq!(met, expected);
        for outside in [[0, 0, 1], [0, 1, 4], [3, 4, 4], [4, 5, 5], [-1, 0, 0], [i64::MIN, i64::MAX, 0]] {
            assert_eq!(lu.number(&outside), None, "{outside:?}");
        }
    }

    #[test]
    fn a_family_without_indices_has_one_point() {
        let one = space(0, |_, _| unreachable!());
        assert_eq!((one.count(), one.number(&[]), one.indices(0).len()), (1, Some(0), 0));
    }

    #[test]
    fn ranges_beyond_the_limit_end_the_enumeration() {
        for high in [1000, i64::MAX] {
            assert!(Space::enumerate(1, 1000, |_, _| Ok((0, high)), || "many").is_err());
        }
        assert_eq!(space(1, |_, _| Ok((1, 1000))).count(), 1000);
        assert_eq!(space(2, |level, _| Ok(if level == 0 { (5, 4) } else { (0, 9) })).count(), 0);
    }
}
