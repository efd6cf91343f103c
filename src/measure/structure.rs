//! Hierarchical structure of a machine, derived from the message times between pairs of ranks. The structure consists
//! of nested groups of ranks.
//!
//! Distances between ranks in a tree network are ultrametric: all pairs of ranks from two groups that meet at a switch
//! are equally far apart. Average linkage (Sokal and Michener 1958) of the logarithms of message times joins groups of
//! ranks. A gap between the distances of consecutive joins separates two kinds of rank pairs.

use kodama::{Method, linkage};

/// One kind of rank pairs, with similar distances. Kinds of rank pairs are ordered from near to far pairs.
#[derive(Clone, Debug, PartialEq)]
pub struct PairKind {
    /// Groups of ranks that pairs of this kind join, each with its ranks in order. The groups are in the order of their
    /// first ranks.
    pub groups: Vec<Vec<u32>>,
    /// Median distance of the rank pairs, in the unit of the distances.
    pub median: f64,
    /// Number of ordered rank pairs of this kind.
    pub pairs: usize,
}

/// Hierarchical structure of the ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Structure {
    /// Kinds of rank pairs. The groups of the last kind contain all ranks.
    pub kinds: Vec<PairKind>,
    /// Kind of each ordered rank pair in row-major order; the diagonal contains an unused 0.
    pub kind_of: Vec<u32>,
    /// Number of ordered rank pairs that differ from the median of their kind by more than the precision.
    pub unexplained: usize,
    /// Rank pair with the greatest difference: ranks x and y, and the ratio of the pair's time to the median of its
    /// kind.
    pub furthest: Option<(u32, u32, f64)>,
}

/// Derives the structure of `ranks` ranks (two or more) from the distances of rank pairs in row-major order, which are
/// above zero outside the diagonal. Kinds of rank pairs whose medians differ by less than the fraction `precision` are
/// merged.
pub fn structure(distances: &[f64], ranks: u32, precision: f64) -> Structure {
    let side = ranks as usize;
    let gap = precision.ln_1p();
    let mut condensed: Vec<f64> = Vec::with_capacity(side * (side - 1) / 2);
    for x in 0..side {
        condensed.extend((x + 1..side).map(|y| (distances[x * side + y].ln() + distances[y * side + x].ln()) / 2.0));
    }
    let joins = linkage(&mut condensed, side, Method::Average);
    let mut members: Vec<Vec<u32>> = (0..ranks).map(|rank| vec![rank]).collect();
    let mut kind_of = vec![0u32; side * side];
    let mut kinds: Vec<Vec<Vec<u32>>> = Vec::new();
    let mut before: Option<f64> = None;
    for step in joins.steps() {
        // With average linkage a join of groups may have a slightly smaller distance than the previous join.
        let height = before.map_or(step.dissimilarity, |before| step.dissimilarity.max(before));
        if before.is_none_or(|before| height - before > gap) {
            kinds.push(Vec::new());
        }
        before = Some(height);
        let (one, other) = (std::mem::take(&mut members[step.cluster1]), std::mem::take(&mut members[step.cluster2]));
        let kind = kinds.len() as u32 - 1;
        for (x, y) in one.iter().flat_map(|x| other.iter().map(|y| (*x as usize, *y as usize))) {
            kind_of[x * side + y] = kind;
            kind_of[y * side + x] = kind;
        }
        members.push([one, other].concat());
        let last = kinds.len() - 1;
        kinds[last] = members.iter().filter(|group| !group.is_empty()).cloned().collect();
    }
    let mut found = Structure { kinds: Vec::new(), kind_of, unexplained: 0, furthest: None };
    for (kind, mut groups) in kinds.into_iter().enumerate() {
        groups.iter_mut().for_each(|group| group.sort_unstable());
        groups.sort_unstable();
        let mut times: Vec<f64> = found.times(distances, side, kind).map(|(.., time)| time).collect();
        let middle = times.len() / 2;
        let median = *times.select_nth_unstable_by(middle, f64::total_cmp).1;
        for (x, y, time) in found.times(distances, side, kind).collect::<Vec<_>>() {
            let ratio = time / median;
            if ratio.ln().abs() > gap {
                found.unexplained += 1;
                if found.furthest.is_none_or(|(.., most)| ratio.ln().abs() > most.ln().abs()) {
                    found.furthest = Some((x, y, ratio));
                }
            }
        }
        found.kinds.push(PairKind { groups, median, pairs: times.len() });
    }
    found
}

impl Structure {
    /// Iterates over the ordered rank pairs of a kind with their times.
    fn times<'a>(
        &'a self,
        distances: &'a [f64],
        side: usize,
        kind: usize,
    ) -> impl Iterator<Item = (u32, u32, f64)> + 'a {
        let of = move |place: usize| {
            let (x, y) = (place / side, place % side);
            let is_of = x != y && self.kind_of[place] as usize == kind;
            is_of.then(|| (x as u32, y as u32, distances[place]))
        };
        (0..side * side).filter_map(of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distances(ranks: u32, of: impl Fn(u32, u32) -> f64) -> Vec<f64> {
        (0..ranks)
            .flat_map(|x| (0..ranks).map(move |y| (x, y)))
            .map(|(x, y)| if x == y { 0.0 } else { of(x, y) })
            .collect()
    }

    #[test]
    fn a_tree_of_two_levels_is_found_by_its_groups() {
        // The test machine has two ranks per node and two nodes per switch. The distance is 1 within a node, 2 at a
        // switch, and 3 beyond.
        let of = |x: u32, y: u32| {
            if x / 2 == y / 2 {
                1.0
            } else if x / 4 == y / 4 {
                2.0
            } else {
                3.0
            }
        };
        let found = structure(&distances(8, of), 8, 0.2);
        let groups: Vec<usize> = found.kinds.iter().map(|kind| kind.groups.len()).collect();
        let medians: Vec<f64> = found.kinds.iter().map(|kind| kind.median).collect();
        assert_eq!((groups, medians), (vec![4, 2, 1], vec![1.0, 2.0, 3.0]));
        assert_eq!(found.kinds[1].groups, [[0, 1, 2, 3], [4, 5, 6, 7]]);
        let pairs: Vec<usize> = found.kinds.iter().map(|kind| kind.pairs).collect();
        assert_eq!((pairs, found.unexplained, found.kind_of[3]), (vec![8, 16, 32], 0, 1));
    }

    #[test]
    fn ranks_that_are_not_in_order_and_a_pair_that_is_slow_are_told() {
        let of = |x: u32, y: u32| match (x, y) {
            (0, 1) => 9.0,
            _ if x % 2 == y % 2 => 1.0,
            _ => 4.0,
        };
        let found = structure(&distances(6, of), 6, 0.2);
        assert_eq!(found.kinds[0].groups, [[0, 2, 4], [1, 3, 5]]);
        assert_eq!((found.kinds.len(), found.unexplained, found.furthest), (2, 1, Some((0, 1, 2.25))));
    }

    #[test]
    fn noise_below_the_precision_makes_no_kinds() {
        let of =
            |x: u32, y: u32| (if x / 4 == y / 4 { 1.0 } else { 2.0 }) * (1.0 + 0.04 * f64::from((x * 7 + y * 13) % 5));
        let found = structure(&distances(16, of), 16, 0.2);
        assert_eq!((found.kinds.len(), found.unexplained), (2, 0));
        assert_eq!(structure(&distances(2, |_, _| 5.0), 2, 0.2).kinds[0].groups, [[0, 1]]);
    }

    #[test]
    fn a_ring_is_no_tree_and_says_so() {
        let of = |x: u32, y: u32| 1.0 + f64::from(x.abs_diff(y).min(16 - x.abs_diff(y)));
        let found = structure(&distances(16, of), 16, 0.2);
        assert!(found.unexplained > 60, "{found:?}");
    }
}
