//! The effective bandwidth b_eff of Rabenseifner and Koniges (Effective Communication and File-I/O Bandwidth
//! Benchmarks, EuroPVM/MPI 2001): the total bytes per second that all ranks send in rings, as a single number for a
//! machine. P is the number of ranks.
//!
//! - Six patterns divide the ranks into rings of 2, 4, 8, max(16, P / 4), max(32, P / 2) and P ranks. Every ring
//!   pattern is measured with the ranks in order and with the ranks in random order. If P is not a multiple of the ring
//!   length, the last ring is shorter or longer.
//! - Each rank exchanges messages with its two neighbours in the ring by all methods of [`NeighbourMethod`], and the
//!   fastest method counts.
//! - The benchmark b_eff has 21 message sizes: 1 B to 4 KiB by doubling, then 8 sizes at equal ratios up to L_max,
//!   which is a 128th of a rank's memory, at most 128 MB.
//! - The bandwidth of a ring pattern is the number of bytes of all ranks divided by the time of the slowest rank, as
//!   the mean over message sizes. b_eff is the logarithmic mean of two values: the logarithmic mean over the ordered
//!   patterns and the logarithmic mean over the random patterns.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;

use super::port::{GroupPort, NeighbourMethod, RankPort};
use super::samples::{SampleSeries, Samples, Test};
use super::statistics::Summary;

/// Number of patterns with ordered ranks, and number of patterns with random ranks.
const PATTERNS: u32 = 6;
/// Message size in bytes up to which sizes double, and number of greater sizes, which have equal ratios.
const DOUBLED: u64 = 4096;
const FURTHER: i32 = 8;

/// Returns the message sizes of b_eff, up to L_max.
pub fn sizes(most: u64) -> Vec<u64> {
    let mut sizes: Vec<u64> =
        (0..).map(|power| 1 << power).take_while(|size| *size <= most.clamp(1, DOUBLED)).collect();
    if most > DOUBLED {
        let ratio = (most as f64 / DOUBLED as f64).powf(1.0 / f64::from(FURTHER));
        sizes.extend((1..=FURTHER).map(|step| (DOUBLED as f64 * ratio.powi(step)).round() as u64));
    }
    sizes.dedup();
    sizes
}

/// Rings of ranks in one pattern of b_eff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RingPattern {
    /// Index of the pattern: the first six patterns have ordered ranks, the others have random ranks.
    pub number: u32,
    /// Neighbours of each rank in the ring of the rank: the previous and the next rank.
    pub neighbours: Vec<[u32; 2]>,
}

/// Returns the ring patterns for `ranks` ranks, two or more. The returned ring patterns are the same on all ranks. With
/// few ranks some patterns are equal; only the first of equal patterns is included.
pub fn patterns(ranks: u32) -> Vec<RingPattern> {
    let mut patterns: Vec<RingPattern> = Vec::new();
    for number in 0..2 * PATTERNS {
        let pattern = pattern(ranks, number);
        if !patterns.iter().any(|other| other.neighbours == pattern.neighbours) {
            patterns.push(pattern);
        }
    }
    patterns
}

fn pattern(ranks: u32, number: u32) -> RingPattern {
    let mut order: Vec<u32> = (0..ranks).collect();
    if number >= PATTERNS {
        order.shuffle(&mut Pcg64Mcg::seed_from_u64(u64::from(number)));
    }
    let length = match number % PATTERNS {
        3 => (ranks / 4).max(16),
        4 => (ranks / 2).max(32),
        5 => ranks,
        kind => 2 << kind,
    };
    let mut neighbours = vec![[0; 2]; ranks as usize];
    let mut rest = &order[..];
    for length in rings(ranks, length) {
        let (ring, further) = rest.split_at(length as usize);
        for (place, rank) in ring.iter().enumerate() {
            let before = ring[(place + ring.len() - 1) % ring.len()];
            neighbours[*rank as usize] = [before, ring[(place + 1) % ring.len()]];
        }
        rest = further;
    }
    RingPattern { number, neighbours }
}

/// Divides `ranks` ranks into rings of `length` ranks as far as possible, and returns the ring lengths. No ring has a
/// single rank.
fn rings(ranks: u32, length: u32) -> Vec<u32> {
    let (whole, left) = (ranks / length, ranks % length);
    if whole == 0 {
        return vec![ranks];
    }
    let mut rings = vec![length; whole as usize];
    let last = length + left;
    if left == 0 {
        return rings;
    }
    if left * 4 >= length * 3 {
        rings.push(left);
    } else if left * 2 >= length && last / 2 > 1 {
        rings.pop();
        rings.extend([last.div_ceil(2), last / 2]);
    } else {
        rings.pop();
        rings.push(last);
    }
    rings
}

/// Exchanges messages in all ring patterns, with all message sizes and methods, `repetitions` times. All ranks get the
/// samples, which are the seconds of the slowest rank. `tell` receives the finished fraction of the work.
pub fn measure_rings(
    port: &mut dyn GroupPort,
    most: u64,
    repetitions: u32,
    tell: &mut dyn FnMut(&str, f64),
) -> Vec<SampleSeries> {
    let (patterns, sizes) = (patterns(port.size()), sizes(most));
    let mut found = Vec::new();
    for (place, pattern) in patterns.iter().enumerate() {
        tell(&format!("rings: pattern {}", pattern.number), place as f64 / patterns.len() as f64);
        let with = pattern.neighbours[port.rank() as usize];
        for &bytes in &sizes {
            for (number, how) in (0..).zip(NeighbourMethod::ALL) {
                let mut turns = vec![turns(port, with, bytes, how)];
                port.share(0, &mut turns);
                let turns = turns[0] as u32;
                let mut seconds: Vec<f64> = (0..repetitions).map(|_| round(port, with, bytes, how, turns)).collect();
                slowest(port, &mut seconds);
                let load = pattern.number * METHODS + number;
                found.push(SampleSeries { level: None, test: Test::Ring, bytes, load, count: 2, seconds });
            }
        }
    }
    found
}

/// Returns the number of exchanges per sample, which is so large that the resolution of the clock does not matter. The
/// number of exchanges is at most the initial number of exchanges in b_eff.
fn turns(port: &mut dyn GroupPort, with: [u32; 2], bytes: u64, how: NeighbourMethod) -> f64 {
    const LONG: f64 = 40e-6;
    // The first exchange of a pattern is not timed, because the caches are cold and the connections are new.
    round(port, with, bytes, how, 1);
    let one = round(port, with, bytes, how, 1);
    (LONG / one.max(1e-9)).ceil().clamp(1.0, 300.0)
}

/// Returns the mean seconds per exchange with both neighbours in a ring.
fn round(port: &mut dyn GroupPort, with: [u32; 2], bytes: u64, how: NeighbourMethod, turns: u32) -> f64 {
    port.barrier();
    let started = port.now();
    (0..turns).for_each(|_| port.neighbours(with, bytes, how));
    (port.now() - started) / f64::from(turns)
}

/// Replaces each value on all ranks by its maximum over all ranks.
pub fn slowest(port: &mut dyn RankPort, values: &mut Vec<f64>) {
    if port.rank() > 0 {
        port.tell(0, values);
    } else {
        for rank in 1..port.size() {
            values.iter_mut().zip(port.told(rank)).for_each(|(most, value)| *most = most.max(value));
        }
    }
    port.share(0, values);
}

/// Measures rings as b_eff does, with three repetitions. Each rank must call this function and gets the results of
/// b_eff. `tell` receives the finished fraction of the work.
pub fn measure_effective(port: &mut dyn GroupPort, most: u64, tell: &mut dyn FnMut(&str, f64)) -> Option<Effective> {
    let series = measure_rings(port, most, 3, tell);
    Effective::of(&Samples { series, ..Samples::default() }, port.size())
}

/// Results of the b_eff benchmark for a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effective {
    /// Effective bandwidth b_eff, bytes per second.
    pub bandwidth: f64,
    /// Bandwidth with messages of L_max, bytes per second. The first bandwidth is that of ordered ring patterns, the
    /// second bandwidth is that of random ring patterns.
    pub at_most: [f64; 2],
    /// Half the time of an exchange of messages of the least size with both neighbours in the ring of all ranks,
    /// seconds.
    pub latency: f64,
    /// Greatest message size L_max of b_eff, bytes.
    pub most_bytes: u64,
    /// Ratio of the longest to the shortest repetition of an exchange, as the median over all exchanges.
    pub spread: f64,
}

impl Effective {
    /// Computes the results of b_eff from the samples of rings; `None` without samples of rings.
    pub fn of(samples: &Samples, ranks: u32) -> Option<Effective> {
        let bandwidth = effective_bandwidth(samples, ranks)?;
        let rings = || samples.series.iter().filter(|series| series.test == Test::Ring);
        let (most_bytes, least) = (rings().map(|of| of.bytes).max()?, rings().map(|of| of.bytes).min()?);
        let largest =
            Samples { series: rings().filter(|of| of.bytes == most_bytes).cloned().collect(), ..Samples::default() };
        let mut at_most = [0.0; 2];
        for (number, pattern) in (0u32..).zip(stand_ins(ranks)) {
            let rate = pattern_bandwidth(&largest, ranks, pattern)?;
            at_most[(number / PATTERNS) as usize] += rate.ln() / f64::from(PATTERNS);
        }
        let whole = stand_ins(ranks)[PATTERNS as usize - 1];
        let small = rings().filter(|of| of.bytes == least && of.load / METHODS == whole);
        let latency = small.filter_map(|of| Some(Summary::of(&of.seconds)?.least / 2.0)).reduce(f64::min)?;
        let each =
            |of: &SampleSeries| Summary::of(&of.seconds).filter(|of| of.least > 0.0).map(|of| of.most / of.least);
        let spread = Summary::of(&rings().filter_map(each).collect::<Vec<f64>>()).map_or(1.0, |of| of.median);
        Some(Effective { bandwidth, at_most: at_most.map(f64::exp), latency, most_bytes, spread })
    }
}

/// Returns, for each of the twelve ring patterns of b_eff, the index of an equal pattern that was measured.
fn stand_ins(ranks: u32) -> Vec<u32> {
    let measured = patterns(ranks);
    let of = |number| {
        let neighbours = pattern(ranks, number).neighbours;
        measured.iter().find(|pattern| pattern.neighbours == neighbours).map_or(number, |pattern| pattern.number)
    };
    (0..2 * PATTERNS).map(of).collect()
}

/// Returns b_eff in bytes per second; `None` without samples of rings.
pub fn effective_bandwidth(samples: &Samples, ranks: u32) -> Option<f64> {
    let mut logarithms = [0.0; 2];
    for (number, pattern) in (0u32..).zip(stand_ins(ranks)) {
        logarithms[(number / PATTERNS) as usize] +=
            pattern_bandwidth(samples, ranks, pattern)?.ln() / f64::from(PATTERNS);
    }
    Some(((logarithms[0] + logarithms[1]) / 2.0).exp()).filter(|bandwidth| bandwidth.is_finite())
}

/// Returns the bandwidth of a ring pattern, bytes per second: the mean over message sizes of the fastest method's
/// bandwidth.
fn pattern_bandwidth(samples: &Samples, ranks: u32, pattern: u32) -> Option<f64> {
    let rings: Vec<_> =
        samples.series.iter().filter(|of| of.test == Test::Ring && of.load / METHODS == pattern).collect();
    let mut sizes: Vec<u64> = rings.iter().map(|series| series.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let best = |bytes: &u64| {
        let of = rings.iter().filter(|series| series.bytes == *bytes);
        // The fastest of all repetitions of an exchange is used.
        let least = of.filter_map(|series| Some(Summary::of(&series.seconds)?.least)).reduce(f64::min)?;
        Some(2.0 * f64::from(ranks) * *bytes as f64 / least)
    };
    let all: Vec<f64> = sizes.iter().filter_map(best).collect();
    if all.is_empty() { None } else { Some(all.iter().sum::<f64>() / all.len() as f64) }
}

/// Number of methods of exchanging messages in a ring. The field `load` of a ring's sample series is pattern · METHODS
/// + method.
pub const METHODS: u32 = NeighbourMethod::ALL.len() as u32;

#[cfg(test)]
mod tests {
    use super::super::samples::SampleSeries;
    use super::*;

    #[test]
    fn sizes_double_to_4_kib_and_go_on_at_equal_ratios() {
        let found = sizes(1 << 20);
        assert_eq!((found.len(), found[0], found[12], found[13], found[20]), (21, 1, 4096, 8192, 1 << 20));
        assert_eq!(sizes(1024).len(), 11);
        assert_eq!(sizes(0), [1]);
    }

    #[test]
    fn rings_at_the_end_are_not_cut_to_one_rank() {
        for (ranks, length, expected) in [
            (8, 2, vec![2; 4]),
            (5, 2, vec![2, 3]),
            (3, 2, vec![3]),
            (5, 4, vec![5]),
            (6, 4, vec![3, 3]),
            (7, 4, vec![4, 3]),
            (9, 4, vec![4, 5]),
            (3, 16, vec![3]),
        ] {
            assert_eq!(rings(ranks, length), expected, "{ranks} in rings of {length}");
        }
    }

    #[test]
    fn neighbours_are_mutual_in_every_pattern() {
        for ranks in [2, 3, 5, 8, 40, 130] {
            for RingPattern { number, neighbours } in patterns(ranks) {
                for (rank, [before, after]) in (0..).zip(&neighbours) {
                    assert_eq!(neighbours[*after as usize][0], rank, "{ranks} ranks, pattern {number}");
                    assert_eq!(neighbours[*before as usize][1], rank);
                    assert_ne!(rank, *after);
                }
            }
        }
        // Two ranks have only one distinct ring pattern; eight ranks have different patterns with rings of 2, 4 and 8
        // ranks.
        assert_eq!(patterns(2).len(), 1);
        assert_eq!(patterns(8).iter().filter(|pattern| pattern.number < PATTERNS).count(), 3);
        assert_eq!(pattern(4, 0).neighbours, [[1, 1], [0, 0], [3, 3], [2, 2]]);
        assert_eq!(pattern(4, 1).neighbours, [[3, 1], [0, 2], [1, 3], [2, 0]]);
    }

    #[test]
    fn the_best_method_is_averaged_over_sizes_then_patterns() {
        // With two ranks all ring patterns are equal. The fastest method moves 100 B in 1 us, 400 MB/s in total, and
        // 300 B in 2 us, 600 MB/s. The mean bandwidth is 500 MB/s.
        let ring = |load, bytes, seconds: &[f64]| SampleSeries {
            level: None,
            test: Test::Ring,
            bytes,
            load,
            count: 2,
            seconds: seconds.to_vec(),
        };
        let mut series = vec![
            ring(0, 100, &[2e-6, 3e-6]),
            ring(1, 100, &[1e-6, 4e-6]),
            ring(2, 100, &[9e-6]),
            ring(0, 300, &[2e-6]),
        ];
        let found = |series: &[SampleSeries]| {
            effective_bandwidth(&Samples { series: series.to_vec(), ..Samples::default() }, 2)
        };
        assert!((found(&series).unwrap() / 500e6 - 1.0).abs() < 1e-12);
        series.retain(|series| series.bytes == 300);
        assert!((found(&series).unwrap() / 600e6 - 1.0).abs() < 1e-12);
        assert_eq!(effective_bandwidth(&Samples::default(), 2), None);
    }
}
