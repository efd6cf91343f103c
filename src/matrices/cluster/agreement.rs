//! Agreement of the clusters of rank pairs with the known structure of a machine.

use std::collections::BTreeMap;

use mcpsim_core::platform::{Placement, PlacementError, Platform};

use crate::MatrixError;

/// Agreement of two partitions of one set of rank pairs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// Adjusted Rand index (Hubert and Arabie: Comparing partitions, Journal of Classification 2, 1985): 1 for equal
    /// partitions, 0 for agreement by chance.
    pub rand_index: f64,
    /// Fraction of the rank pairs that are in the cluster representing their class. A cluster of rank pairs represents
    /// at most one class.
    pub share: f64,
}

/// Returns the agreement of the clusters in `labels` with the classes in `truth`, both by rank pair.
pub fn agreement(labels: &[u32], truth: &[u32]) -> Agreement {
    let mut cells: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    let (mut rows, mut columns): (BTreeMap<u32, u64>, BTreeMap<u32, u64>) = Default::default();
    for (label, class) in labels.iter().zip(truth) {
        *cells.entry((*label, *class)).or_default() += 1;
        *rows.entry(*label).or_default() += 1;
        *columns.entry(*class).or_default() += 1;
    }
    let pairs = |count: u64| count as f64 * (count as f64 - 1.0) / 2.0;
    let together: f64 = cells.values().map(|count| pairs(*count)).sum();
    let [one, other]: [f64; 2] = [&rows, &columns].map(|of| of.values().map(|count| pairs(*count)).sum());
    let chance = one * other / pairs(labels.len() as u64);
    let most = f64::midpoint(one, other);
    // All elements of the partitions are in one cluster, or every cluster has one element.
    let rand_index = if most == chance { 1.0 } else { (together - chance) / (most - chance) };
    let mut by_size: Vec<((u32, u32), u64)> = cells.into_iter().collect();
    by_size.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let (mut taken, mut known, mut inside) = (Vec::new(), Vec::new(), 0);
    for ((label, class), count) in by_size {
        if !taken.contains(&label) && !known.contains(&class) {
            taken.push(label);
            known.push(class);
            inside += count;
        }
        if known.len() == columns.len() {
            break;
        }
    }
    Agreement { rand_index, share: inside as f64 / labels.len().max(1) as f64 }
}

/// Returns the network level of each pair of ranks on a machine with block placement: 0 for the diagonal of the matrix,
/// 1 to 3 for the levels core, CMP and node.
///
/// # Errors
/// The machine has fewer cores than ranks.
pub fn levels_of_pairs(platform: &Platform, ranks: u32) -> Result<Vec<u32>, MatrixError> {
    let refused = |error: PlacementError| MatrixError::new(error.of_a_rank_a_core());
    let sites = Placement::Block.sites(platform.shape, ranks, false).map_err(refused)?;
    let kind = |(x, one): (usize, &mcpsim_core::platform::Site), (y, other): (usize, &mcpsim_core::platform::Site)| {
        if x == y {
            0
        } else if one.node != other.node {
            3
        } else {
            1 + u32::from(one.cmp != other.cmp)
        }
    };
    let row = |one| sites.iter().enumerate().map(move |other| kind(one, other));
    Ok(sites.iter().enumerate().flat_map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_division_agrees_whatever_its_numbers() {
        let found = agreement(&[3, 3, 1, 1, 7], &[0, 0, 1, 1, 2]);
        assert_eq!(found, Agreement { rand_index: 1.0, share: 1.0 });
        assert_eq!(agreement(&[0, 0], &[1, 1]).rand_index, 1.0);
    }

    #[test]
    fn the_index_is_that_of_the_formula() {
        // The contingency table has the cells 2, 1 and 1, 2: 2 common pairs of 6 and 6 of 15, 2.4 by chance: (2 - 2.4)
        // / (6 - 2.4).
        let found = agreement(&[0, 0, 0, 1, 1, 1], &[0, 0, 1, 0, 1, 1]);
        assert!((found.rand_index + 0.4 / 3.6).abs() < 1e-12, "{found:?}");
        assert!((found.share - 4.0 / 6.0).abs() < 1e-12);
    }

    #[test]
    fn a_cluster_stands_for_one_class_only() {
        assert_eq!(agreement(&[0; 4], &[0, 0, 0, 1]).share, 0.75);
        assert_eq!(agreement(&[0, 1, 2, 3], &[0; 4]).share, 0.25);
    }

    #[test]
    fn the_kinds_of_pairs_are_the_levels() {
        let platform = Platform::embedded().with_shape("2,2,2".parse().unwrap());
        let found = levels_of_pairs(&platform, 8).unwrap();
        assert_eq!(found[..8], [0, 1, 2, 2, 3, 3, 3, 3]);
        assert_eq!(found[56..], [3, 3, 3, 3, 2, 2, 1, 0]);
        let error = levels_of_pairs(&platform, 9).unwrap_err().to_string();
        assert_eq!(error, "9 ranks on 8 cores: expected one core per rank; --nct states the number of cores");
    }
}
