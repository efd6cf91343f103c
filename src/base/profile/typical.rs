//! Typical times of blocks of real code, without the scatter of single blocks.

use std::collections::BTreeMap;

use crate::units::SimSpan;

/// Least number of ranks, and of blocks per rank, from which typical times are derived.
const LEAST: usize = 3;

/// Returns a typical time for each block of each rank. `ranks` has the blocks of a rank with the call that follows the
/// block.
///
/// Blocks before the same call are compared over the ranks with the same number of these blocks. The typical time is the
/// median over ranks at the position of the block, times the median ratio of the rank's blocks to these medians.
/// Imbalance that repeats per rank, and differences between positions, therefore remain. Blocks of fewer than three
/// comparable ranks, or of fewer than three positions, keep their times.
pub fn typical_times<K: Ord>(ranks: &[Vec<(K, SimSpan)>]) -> Vec<Vec<SimSpan>> {
    let mut typical: Vec<Vec<SimSpan>> =
        ranks.iter().map(|blocks| blocks.iter().map(|(_, time)| *time).collect()).collect();
    let mut sites: BTreeMap<&K, BTreeMap<usize, Vec<usize>>> = BTreeMap::new();
    for (rank, blocks) in ranks.iter().enumerate() {
        for (place, (site, _)) in blocks.iter().enumerate() {
            sites.entry(site).or_default().entry(rank).or_default().push(place);
        }
    }
    for of_ranks in sites.into_values() {
        let mut by_length: BTreeMap<usize, Vec<(usize, Vec<usize>)>> = BTreeMap::new();
        for (rank, places) in of_ranks {
            by_length.entry(places.len()).or_default().push((rank, places));
        }
        for (length, group) in by_length {
            if length >= LEAST && group.len() >= LEAST {
                smooth(&mut typical, &group, length);
            }
        }
    }
    typical
}

/// Replaces the times of the blocks of a group: ranks with the places of their blocks.
fn smooth(times: &mut [Vec<SimSpan>], group: &[(usize, Vec<usize>)], length: usize) {
    let at = |times: &[Vec<SimSpan>], (rank, places): &(usize, Vec<usize>), block: usize| {
        times[*rank][places[block]].as_ps() as f64
    };
    let middle: Vec<f64> =
        (0..length).map(|block| median(group.iter().map(|of| at(times, of, block)).collect())).collect();
    for of in group {
        let ratios = (0..length).filter(|block| middle[*block] > 0.0).map(|block| at(times, of, block) / middle[block]);
        let ratios: Vec<f64> = ratios.collect();
        if ratios.is_empty() {
            continue;
        }
        let own = median(ratios);
        for (place, middle) in of.1.iter().zip(&middle) {
            if *middle > 0.0 {
                times[of.0][*place] = SimSpan::from_ps((own * middle).round() as u64);
            }
        }
    }
}

/// Median of values, at least one; the mean of the two middle values of an even number.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    if values.len() % 2 == 1 { values[half] } else { (values[half - 1] + values[half]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(number: usize, time: impl Fn(usize, u64) -> u64) -> Vec<Vec<(&'static str, SimSpan)>> {
        let block = |rank, block| ("MPI_Barrier", SimSpan::from_ps(time(rank, block)));
        (0..number).map(|rank| (0..16).map(|number| block(rank, number)).collect()).collect()
    }

    #[test]
    fn scatter_disappears_and_repeated_differences_remain() {
        // In each iteration another rank takes twice as long.
        let noisy = ranks(8, |rank, block| if block as usize % 8 == rank { 2000 } else { 1000 });
        assert!(typical_times(&noisy).iter().flatten().all(|time| time.as_ps() == 1000));
        // Rank 7 always takes twice as long, and iterations become shorter.
        let uneven = |rank, block| (if rank == 7 { 2 } else { 1 }) * (2000 - 100 * block);
        let found = typical_times(&ranks(8, uneven));
        for (rank, times) in found.iter().enumerate() {
            let expected: Vec<u64> = (0..16).map(|block| uneven(rank, block)).collect();
            assert_eq!(times.iter().map(|time| time.as_ps()).collect::<Vec<_>>(), expected, "rank {rank}");
        }
    }

    #[test]
    fn blocks_without_comparable_blocks_keep_their_times() {
        let few = ranks(2, |rank, block| if block as usize % 2 == rank { 2000 } else { 1000 });
        let kept: Vec<Vec<SimSpan>> = few.iter().map(|of| of.iter().map(|(_, time)| *time).collect()).collect();
        assert_eq!(typical_times(&few), kept);
        // A rank with another number of blocks before the call is not compared.
        let mut other = ranks(4, |_, block| if block == 3 { 9000 } else { 1000 });
        other[0].push(("MPI_Barrier", SimSpan::from_ps(5)));
        assert_eq!(typical_times(&other)[0][16], SimSpan::from_ps(5));
    }
}
