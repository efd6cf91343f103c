//! The effective bandwidth b_eff of Rabenseifner and Koniges (Effective Communication and File-I/O Bandwidth Benchmarks, EuroPVM/MPI
//! 2001): what all ranks together send a second in rings, as a mean over sizes and patterns.
//!
//! Of their patterns these are rings of all ranks, in order and at random; of their methods MPI_Sendrecv.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use super::samples::{Samples, Test};
use super::statistics::Summary;

/// Sizes of messages, from 1 B on at equal ratios.
pub const RING_SIZES: usize = 21;
/// Rings in random order.
const RANDOM: u64 = 2;

/// The sizes of the messages.
pub fn sizes(most: u64) -> Vec<u64> {
    let last = (RING_SIZES - 1) as f64;
    let mut sizes: Vec<u64> =
        (0..RING_SIZES).map(|step| (most.max(1) as f64).powf(step as f64 / last).round() as u64).collect();
    sizes.dedup();
    sizes
}

/// The orders of ranks, the same everywhere.
pub fn patterns(ranks: u32) -> Vec<Vec<u32>> {
    let natural: Vec<u32> = (0..ranks).collect();
    let mut patterns = vec![natural.clone()];
    // Three ranks are neighbours in any order.
    if ranks > 3 {
        patterns.extend((1..=RANDOM).map(|seed| {
            let mut ring = natural.clone();
            ring.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
            ring
        }));
    }
    patterns
}

/// Bytes a second: for each pattern the mean over sizes, over patterns the geometric mean.
pub fn effective_bandwidth(samples: &Samples, ranks: u32) -> Option<f64> {
    let rings: Vec<_> = samples.series.iter().filter(|series| series.test == Test::Ring).collect();
    let patterns = rings.iter().map(|series| series.load).max()? + 1;
    let mut logarithms = 0.0;
    for pattern in 0..patterns {
        let mut bandwidths = Vec::new();
        for series in rings.iter().filter(|series| series.load == pattern) {
            let median = Summary::of(&series.seconds)?.median;
            bandwidths.push(2.0 * f64::from(ranks) * series.bytes as f64 / median);
        }
        logarithms += (bandwidths.iter().sum::<f64>() / bandwidths.len() as f64).ln();
    }
    Some((logarithms / f64::from(patterns)).exp()).filter(|bandwidth| bandwidth.is_finite())
}

#[cfg(test)]
mod tests {
    use super::super::samples::SampleSeries;
    use super::*;

    #[test]
    fn sizes_go_from_one_byte_to_the_greatest() {
        let sizes = sizes(1 << 20);
        assert_eq!((sizes.len(), sizes[0], sizes[1], sizes[20]), (RING_SIZES, 1, 2, 1 << 20));
        assert_eq!(super::sizes(1), [1]);
    }

    #[test]
    fn patterns_are_rings_of_all_ranks() {
        assert_eq!(patterns(2), [[0, 1]]);
        let patterns = patterns(8);
        assert_eq!(patterns.len(), 3);
        for mut pattern in patterns {
            pattern.sort_unstable();
            assert_eq!(pattern, (0..8).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn the_bandwidth_is_averaged_over_sizes_then_patterns() {
        // Two ranks send four messages: of 100 B in 1 us 400 MB/s, of 300 B in 2 us 600 MB/s: 500 MB/s. The other pattern has 2 GB/s.
        let ring = |load, bytes, seconds| SampleSeries {
            level: None,
            test: Test::Ring,
            bytes,
            load,
            count: 2,
            seconds: vec![seconds],
        };
        let samples =
            Samples { series: vec![ring(0, 100, 1e-6), ring(0, 300, 2e-6), ring(1, 500, 1e-6)], ..Samples::default() };
        assert!((effective_bandwidth(&samples, 2).unwrap() / 1e9 - 1.0).abs() < 1e-12);
        assert_eq!(effective_bandwidth(&Samples::default(), 2), None);
    }
}
