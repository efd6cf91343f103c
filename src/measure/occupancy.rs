//! Occupancy of shared resources (adapters, cores, memory) by messages, derived from windows.
//!
//! | parameter | from |
//! |---|---|
//! | capacity; within a node a core's copy | windows in one direction, greatest size: n s / (T − 2 T(0)), at least the rate of a single message, s / (T(s) − T(0)) |
//! | capacity between the CMPs of a node | windows in one direction of all pairs between CMPs, 64 KiB and 1 MiB: the greater rate, if all pairs together are slower than separate pairs |
//! | duplex | windows in both directions of all pairs, greatest size: 2 n s / (T − T(0)), if the directions are not independent; the cores may limit a single pair |
//! | gap | windows of all pairs, 8 B and 128 B: (T − T(s) − T(0)) / (n − 1) − s / capacity, if concurrent pairs slow each other down |

use mcpsim_core::platform::Level;

use super::busy::{BusyPairs, are_limited_by_cores, later};
use super::campaign::SMALL;
use super::import::Steps;
use super::samples::{SampleSeries, Samples, Test};
use super::statistics::Summary;

/// Greatest message size to which the first gap applies, bytes.
pub const FIRST_UP_TO: u64 = 64;
/// Ratio of the total rate of several pairs to the sum of the rates of single pairs. Below this ratio, a shared
/// resource limits the pairs.
pub const SHARED: f64 = 0.8;
/// Ratio of the rate in both directions to twice the rate in one direction above which the two directions of an adapter
/// count as independent.
pub const INDEPENDENT: f64 = 0.97;

/// Message sizes, in bytes, of windows whose buffers fit into caches.
const IN_CACHES: std::ops::RangeInclusive<u64> = 64 << 10..=1 << 20;

/// Occupancy of shared resources by messages. A field is `None` if the value was not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeasuredOccupancy {
    /// Capacity of an adapter in one direction, bytes per second.
    pub capacity: Option<f64>,
    /// Capacity of an adapter in both directions together, if the directions are not independent, bytes per second.
    pub duplex: Option<f64>,
    /// Least time in seconds between small messages of both directions of an adapter together, if both directions share
    /// it.
    pub duplex_gap: Option<f64>,
    /// Copy rate of a core, bytes per second.
    pub copy: Option<f64>,
    /// Bytes per second from one CMP to another CMP of the same node, if the cores could send more.
    pub between_cmps: Option<f64>,
    /// Time in seconds for which a message occupies an adapter in addition to its bytes. The first gap applies to
    /// messages up to 64 B, the second gap to larger messages.
    pub gaps: Option<[f64; 2]>,
}

impl MeasuredOccupancy {
    /// Derives the occupancy of resources from the samples of the network level `level`.
    pub fn of(samples: &Samples, level: Level) -> MeasuredOccupancy {
        let windows = WindowSamples { samples, level };
        // If several pairs together are faster than one core, their total rate is used. A single message uses the same
        // resources as a message in a window. If a window takes longer per byte than a single message, another cause
        // slows the window down, and the rate of the single message is used.
        let window = samples.of(level, Test::Window).last().and_then(|series| windows.rate(series));
        let one = window.into_iter().chain(windows.of_a_message()).max_by(f64::total_cmp);
        let many = windows.of_all_pairs(None).and_then(|series| windows.rate(series));
        if level != Level::InterNode {
            let between_cmps = (level == Level::InterCmp).then(|| windows.between_cmps()).flatten();
            return MeasuredOccupancy { copy: one, between_cmps, ..MeasuredOccupancy::default() };
        }
        let capacity = one.into_iter().chain(many).max_by(f64::total_cmp);
        let both = windows.both_ways_of_all_pairs();
        let duplex = both.zip(capacity).filter(|(both, one)| *both < INDEPENDENT * 2.0 * one);
        let gap = |bytes: u64| {
            let one = samples.of(level, Test::Window).into_iter().find(|series| series.bytes == bytes)?;
            let (mut before, mut is_shared, mut each) = ((1, windows.each(one)?), false, 0.0);
            for all in samples.of(level, Test::Windows).into_iter().filter(|all| all.bytes == bytes && all.load > 1) {
                each = windows.each(all)?;
                is_shared = !are_limited_by_cores(before, (all.load, each));
                before = if is_shared { before } else { (all.load, each) };
            }
            is_shared.then(|| (each - capacity.map_or(0.0, |capacity| bytes as f64 / capacity)).max(0.0))
        };
        let gaps = gap(SMALL[0]).zip(gap(SMALL[1])).map(|(first, second)| [first, second]);
        MeasuredOccupancy {
            capacity,
            duplex: duplex.map(|(both, one)| both.max(one)),
            gaps,
            ..MeasuredOccupancy::default()
        }
    }

    /// Returns the seconds per message of windows of one pair of the sizes [`SMALL`], and the tests of several pairs at
    /// once.
    pub(super) fn busy(samples: &Samples, level: Level) -> (Option<[f64; 2]>, Vec<BusyPairs>) {
        let windows = WindowSamples { samples, level };
        let capacity = MeasuredOccupancy::of(samples, level).capacity;
        let each = |test: Test, pairs: u32| {
            let of = |bytes: u64| {
                let mut all = samples.of(level, test).into_iter();
                windows.each(all.find(|series| series.bytes == bytes && series.load.max(1) == pairs)?)
            };
            of(SMALL[0]).zip(of(SMALL[1])).map(|(first, second)| [first, second])
        };
        let alone = each(Test::Window, 1);
        let mut loads: Vec<u32> = samples.of(level, Test::Windows).iter().map(|series| series.load).collect();
        loads.retain(|load| *load > 1);
        loads.sort_unstable();
        loads.dedup();
        let of_pairs = |pairs: u32| {
            let each = each(Test::Windows, pairs);
            let is_shared = |each: &[f64; 2], alone: [f64; 2]| {
                let is_of_cores = |size: usize| are_limited_by_cores((1, alone[size]), (pairs, each[size]));
                level == Level::InterNode && (0..2).all(|size| !is_of_cores(size))
            };
            let bytes = |size: usize| capacity.map_or(0.0, |capacity| SMALL[size] as f64 / capacity);
            let gaps = each.filter(|each| alone.is_some_and(|alone| is_shared(each, alone)));
            let gaps = gaps.map(|each| Steps::two([0, 1].map(|size: usize| (each[size] - bytes(size)).max(0.0))));
            let together = samples.of(level, Test::PingPongs).into_iter().filter(|series| series.load == pairs);
            let more = together.filter_map(|series| {
                let (median, alone) = (Summary::of(&series.seconds)?.median, windows.alone(series.bytes)?);
                Some((series.bytes, later(median, alone)))
            });
            BusyPairs { pairs, each, gaps, later: more.collect() }
        };
        (alone, loads.into_iter().map(of_pairs).collect())
    }

    /// Returns the gap of messages larger than `above` bytes.
    pub fn gap_above(&self, above: u64) -> f64 {
        self.gaps.map_or(0.0, |gaps| gaps[usize::from(above >= FIRST_UP_TO)])
    }
}

/// Samples of the windows of a network level.
struct WindowSamples<'a> {
    samples: &'a Samples,
    level: Level,
}

impl WindowSamples<'_> {
    /// Returns the windows with the most concurrent pairs, of messages of `bytes` bytes or of the greatest size.
    fn of_all_pairs(&self, bytes: Option<u64>) -> Option<&SampleSeries> {
        let all = self.samples.of(self.level, Test::Windows);
        let sized = all.into_iter().filter(|series| bytes.is_none_or(|bytes| series.bytes == bytes));
        sized.max_by_key(|series| (series.load, series.bytes))
    }

    /// Returns the total bytes per second of all pairs in windows that fit into caches, if concurrent pairs are slower
    /// than separate pairs.
    fn between_cmps(&self) -> Option<f64> {
        let all = self.samples.of(self.level, Test::Windows).into_iter();
        let all: Vec<&SampleSeries> = all.filter(|series| IN_CACHES.contains(&series.bytes)).collect();
        let most = all.iter().map(|series| series.load).max().filter(|load| *load > 1)?;
        let mut found: Option<f64> = None;
        for series in all.into_iter().filter(|series| series.load == most) {
            let alone = self.samples.of(self.level, Test::Window).into_iter().find(|one| one.bytes == series.bytes)?;
            let (together, one) = (self.rate(series)?, self.rate(alone)?);
            if together > SHARED * f64::from(most) * one {
                return None;
            }
            found = Some(found.map_or(together, |other| together.max(other)));
        }
        found
    }

    /// Returns the bytes per second in both directions together at the greatest message size. The returned value is the
    /// maximum of the windows of one pair and of all pairs. Returns `None` if only one of these windows was measured.
    fn both_ways_of_all_pairs(&self) -> Option<f64> {
        let all = self.samples.of(self.level, Test::BothWays);
        let most = all.last()?.bytes;
        let of_most: Vec<&SampleSeries> = all.into_iter().filter(|series| series.bytes == most).collect();
        let several = of_most.iter().any(|series| series.load > 1);
        of_most.into_iter().filter_map(|series| self.both_ways(series)).reduce(f64::max).filter(|_| several)
    }

    /// Returns the bytes per second of a single message of the greatest size.
    fn of_a_message(&self) -> Option<f64> {
        let (bytes, seconds) = self.samples.medians(self.level, Test::PingPong).pop()?;
        let rest = seconds - self.alone(0)?;
        (bytes > 0 && rest > 0.0).then(|| bytes as f64 / rest)
    }

    /// Returns the time of half a round trip of a message, seconds.
    fn alone(&self, bytes: u64) -> Option<f64> {
        Some(self.samples.median(self.level, Test::PingPong, bytes)).filter(|seconds| *seconds > 0.0)
    }

    /// Returns the time of half a round trip of a message of each of `pairs` pairs at once, or of one pair if this was
    /// not measured.
    fn together(&self, bytes: u64, pairs: u32) -> Option<f64> {
        let mut all = self.samples.of(self.level, Test::PingPongs).into_iter();
        let found = all.find(|series| series.bytes == bytes && series.load == pairs);
        found.and_then(|series| Some(Summary::of(&series.seconds)?.median)).or_else(|| self.alone(bytes))
    }

    /// Returns the seconds per message of all pairs in a window together, excluding the latency of the first message
    /// and of the answer.
    fn each(&self, series: &SampleSeries) -> Option<f64> {
        let whole = Summary::of(&series.seconds)?.median;
        let rest = whole - self.together(series.bytes, series.load)? - self.together(0, series.load)?;
        let messages = f64::from((series.count - 1) * series.load.max(1));
        Some(rest / messages).filter(|each| *each > 0.0)
    }

    /// Returns the bytes per second of a window in one direction, excluding the start of the first message and the
    /// answer.
    fn rate(&self, series: &SampleSeries) -> Option<f64> {
        self.carried(series, f64::from(series.load.max(1)), 2.0)
    }

    /// Returns the bytes per second of a window in both directions together. Windows in both directions have no answer
    /// message.
    fn both_ways(&self, series: &SampleSeries) -> Option<f64> {
        self.carried(series, 2.0 * f64::from(series.load.max(1)), 1.0)
    }

    fn carried(&self, series: &SampleSeries, at_a_time: f64, starts: f64) -> Option<f64> {
        let rest = Summary::of(&series.seconds)?.median - starts * self.alone(0)?;
        let bytes = at_a_time * f64::from(series.count) * series.bytes as f64;
        Some(bytes / rest).filter(|_| rest > 0.0)
    }
}
