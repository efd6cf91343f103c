//! Index space of a family of fragments: nested index ranges whose bounds may depend on the previous indices. A point
//! of the index space is one tuple of indices. The points are numbered in the order of nested loops. A look-up needs a
//! few array reads and no hash. If the bounds depend on no index, a look-up needs only arithmetic.

use smallvec::SmallVec;

/// Indices of a point of an index space. No family has so many indices that the tuple would need a heap allocation.
pub(super) type Indices = SmallVec<[i64; 8]>;

/// Index space of a family of fragments. Each point is identified by its position in the order of nested loops.
#[derive(Clone, Debug, Default)]
pub(super) struct IndexSpace {
    levels: Vec<SpaceLevel>,
    count: u32,
}

/// Ranges of one index of a family of fragments.
#[derive(Clone, Debug)]
enum SpaceLevel {
    /// The range of the index is the same for all values of the previous indices.
    Same { low: i64, size: u32 },
    /// The range of the index depends on the previous indices.
    Each {
        /// Least index of each range of this index.
        low: Vec<i64>,
        /// Position of the first point of each range, followed by the position after the last point of the last range.
        start: Vec<u32>,
    },
}

impl SpaceLevel {
    /// Range of this index for the point `node` of the previous indices: the least index, and the positions of the
    /// points in the range.
    #[inline]
    fn range(&self, node: u32) -> (i64, std::ops::Range<u32>) {
        match self {
            SpaceLevel::Same { low, size } => (*low, node * size..(node + 1) * size),
            SpaceLevel::Each { low, start } => (low[node as usize], start[node as usize]..start[node as usize + 1]),
        }
    }

    /// Point of the previous indices whose range contains the point `node`.
    fn parent(&self, node: u32) -> u32 {
        match self {
            SpaceLevel::Same { size, .. } => node / size,
            // If several ranges have the same first position, all ranges except the last are empty.
            SpaceLevel::Each { start, .. } => start.partition_point(|&start| start <= node) as u32 - 1,
        }
    }
}

/// Number of indices in a range. The number saturates.
fn size((low, high): (i64, i64)) -> u32 {
    if high < low { 0 } else { u32::try_from(high.abs_diff(low).saturating_add(1)).unwrap_or(u32::MAX) }
}

/// Greatest number of points of an index space that are stored without counting all points first.
const UNCOUNTED: u32 = 1 << 20;

/// Whether the index space has more than `most` points below the indices `prefix`.
fn exceeds<E>(
    depth: usize,
    most: u32,
    range: &mut impl FnMut(usize, &[i64]) -> Result<(i64, i64), E>,
    prefix: &mut Vec<i64>,
    total: &mut u32,
) -> Result<bool, E> {
    let bounds = range(prefix.len(), prefix)?;
    if prefix.len() + 1 == depth {
        *total = total.saturating_add(size(bounds));
        return Ok(*total > most);
    }
    for index in 0..i64::from(size(bounds)) {
        prefix.push(bounds.0 + index);
        let is_above = exceeds(depth, most, range, prefix, total)?;
        prefix.pop();
        if is_above {
            return Ok(true);
        }
    }
    Ok(false)
}

impl IndexSpace {
    /// Enumerates the points of an index space. For given previous indices, `range` returns the first and last value of
    /// index `l`; the range is empty if the last value is below the first. `same` states whether the range of an index
    /// depends on no other index. In this case, `range` is called only once for that index.
    ///
    /// # Errors
    /// The errors of `range`, or `too_many` if the index space has more than `most` points.
    pub(super) fn enumerate<E>(
        depth: usize,
        most: u32,
        same: impl Fn(usize) -> bool,
        mut range: impl FnMut(usize, &[i64]) -> Result<(i64, i64), E>,
        too_many: impl Fn() -> E,
    ) -> Result<IndexSpace, E> {
        let mut levels = Vec::with_capacity(depth);
        // Points of the indices enumerated so far, up to the last index whose range depends on other indices.
        let last = (0..depth).rev().find(|&level| !same(level)).unwrap_or(0);
        let mut points: Vec<i64> = Vec::new();
        let mut count = 1u32;
        let mut counted = false;
        for level in 0..depth {
            let fixed = if same(level) && count > 0 { Some(range(level, &[])?) } else { None };
            let mut below: Vec<i64> = Vec::new();
            let (mut lows, mut start) = (Vec::new(), Vec::new());
            let mut total = 0u32;
            let mut sizes = Vec::new();
            if level < last || fixed.is_none() {
                for point in 0..count as usize {
                    let bounds = match fixed {
                        Some(bounds) => bounds,
                        None => range(level, &points[point * level..(point + 1) * level])?,
                    };
                    if fixed.is_none() {
                        lows.push(bounds.0);
                        start.push(total);
                    }
                    total = total.saturating_add(size(bounds));
                    if total > most {
                        return Err(too_many());
                    }
                    if level < last {
                        sizes.push(bounds);
                    }
                }
            }
            // A large index space needs much memory, so all points are counted before they are stored.
            if level < last && total > UNCOUNTED && !counted {
                counted = true;
                if exceeds(depth, most, &mut range, &mut Vec::new(), &mut 0)? {
                    return Err(too_many());
                }
            }
            for (point, bounds) in sizes.into_iter().enumerate() {
                for index in 0..i64::from(size(bounds)) {
                    below.extend_from_slice(&points[point * level..(point + 1) * level]);
                    below.push(bounds.0 + index);
                }
            }
            if let Some(bounds) = fixed {
                total = count.saturating_mul(size(bounds));
                if total > most {
                    return Err(too_many());
                }
            }
            levels.push(match fixed {
                Some(bounds) => SpaceLevel::Same { low: bounds.0, size: size(bounds) },
                None => {
                    start.push(total);
                    SpaceLevel::Each { low: lows, start }
                }
            });
            points = below;
            count = total;
        }
        Ok(IndexSpace { levels, count })
    }

    /// Number of points of the index space.
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    /// Position of the point with these indices, if the point exists.
    #[inline]
    pub(super) fn number(&self, indices: &[i64]) -> Option<u32> {
        let mut node = 0u32;
        for (level, &index) in self.levels.iter().zip(indices) {
            let (low, numbers) = level.range(node);
            let offset = u32::try_from(index.checked_sub(low)?).ok()?;
            if offset >= numbers.end - numbers.start {
                return None;
            }
            node = numbers.start + offset;
        }
        Some(node)
    }

    /// Indices of the point at position `number`.
    pub(super) fn indices(&self, number: u32) -> Indices {
        let mut node = number;
        let mut indices = Indices::from_elem(0, self.levels.len());
        for (slot, level) in indices.iter_mut().zip(&self.levels).rev() {
            let parent = level.parent(node);
            let (low, numbers) = level.range(parent);
            *slot = low + i64::from(node - numbers.start);
            node = parent;
        }
        indices
    }

    /// Calls `visit` with the position and the indices of each point, in order.
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
        node: u32,
        indices: &mut Indices,
        visit: &mut dyn FnMut(&[i64]) -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(ranges) = self.levels.get(level) else { return visit(indices) };
        let (low, numbers) = ranges.range(node);
        indices.push(low);
        for child in numbers {
            self.below(level + 1, child, indices, visit)?;
            indices[level] = indices[level].wrapping_add(1);
        }
        indices.pop();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(depth: usize, range: impl FnMut(usize, &[i64]) -> Result<(i64, i64), ()>) -> IndexSpace {
        IndexSpace::enumerate(depth, 1000, |_| false, range, || ()).unwrap()
    }

    #[test]
    fn too_many_points_are_refused_before_they_take_memory() {
        let n = 65_536;
        let asked = std::cell::Cell::new(0u32);
        let range = |level: usize, before: &[i64]| {
            asked.set(asked.get() + 1);
            Ok::<_, &str>(if level == 0 { (0, n - 1) } else { (before[0], n - 1) })
        };
        let space = IndexSpace::enumerate(3, 1 << 22, |level| level == 0, range, || "too many");
        assert_eq!(space.unwrap_err(), "too many");
        assert!(asked.get() < 1000, "{}", asked.get());
    }

    #[test]
    fn points_are_numbered_as_nested_loops_meet_them() {
        // The points are the tiles that step k of an LU factorization updates: k < i, j < 4. The last step of the
        // factorization updates no tile.
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
        for (high, same) in [(1000, false), (i64::MAX, false), (1000, true), (i64::MAX, true)] {
            assert!(IndexSpace::enumerate(1, 1000, |_| same, |_, _| Ok((0, high)), || "many").is_err());
        }
        assert!(IndexSpace::enumerate(3, 1000, |_| true, |_, _| Ok((1, 11)), || "many").is_err());
        assert_eq!(space(1, |_, _| Ok((1, 1000))).count(), 1000);
        assert_eq!(space(2, |level, _| Ok(if level == 0 { (5, 4) } else { (0, 9) })).count(), 0);
    }

    #[test]
    fn a_range_that_depends_on_no_index_is_the_same_by_arithmetic() {
        let range = |level: usize, at: &[i64]| match level {
            0 => Ok((3, 5)),
            1 => Ok((-1, 0)),
            2 => Ok((at[0], at[0] + at[1])),
            _ => Ok::<_, ()>((i64::MAX - 1, i64::MAX)),
        };
        let each = IndexSpace::enumerate(4, 1000, |_| false, range, || ()).unwrap();
        let same = IndexSpace::enumerate(4, 1000, |level| level != 2, range, || ()).unwrap();
        assert_eq!((each.count(), same.count()), (3 * 2, 3 * 2));
        each.each(|number, indices| {
            assert_eq!((same.number(indices), &same.indices(number)[..]), (Some(number), indices));
            Ok::<(), ()>(())
        })
        .unwrap();
        assert_eq!(same.number(&[3, -1, 3, i64::MAX]), None);
        let plain = IndexSpace::enumerate(2, 1000, |_| true, |level, _| Ok((0, [2, -1][level])), || ()).unwrap();
        assert_eq!((plain.count(), plain.number(&[0, 0])), (0, None));
    }
}
