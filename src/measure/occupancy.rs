//! What messages occupy, from windows of them.
//!
//! | parameter | from |
//! |---|---|
//! | capacity; within a node a core's copy | windows one way of the greatest size: n s / (T − 2 T(0)); no less than a message alone reaches, s / (T(s) − T(0)) |
//! | capacity between the CMPs of a node | windows one way of 64 KiB and 1 MiB by all pairs that cross, the greater of both, if each is less than so many pairs could |
//! | duplex | windows both ways of the greatest size by all pairs: 2 n s / (T − T(0)), if the directions are not independent; one pair does not tell it, whose cores may be the limit |
//! | gap | windows of all pairs, 8 B and 128 B: (T − T(s) − T(0)) / (n − 1) − s / capacity, if pairs slow each other down |

use mcpsim_core::platform::Level;

use super::campaign::SMALL;
use super::samples::{SampleSeries, Samples, Test};
use super::statistics::Summary;

/// The greatest size that the first gap stands for.
pub const FIRST_UP_TO: u64 = 64;
/// Pairs that reach less than this part of so many times one pair's rate are limited by what they share.
pub const SHARED: f64 = 0.8;
/// Both directions that carry this part of twice one direction are independent.
pub const INDEPENDENT: f64 = 0.97;

/// Windows of these sizes fit caches.
const IN_CACHES: std::ops::RangeInclusive<u64> = 64 << 10..=1 << 20;

/// What messages hold of what they share; `None` where nothing tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeasuredOccupancy {
    /// What an adapter carries one way, bytes a second.
    pub capacity: Option<f64>,
    /// What an adapter carries both ways together, where the directions are not independent.
    pub duplex: Option<f64>,
    /// An adapter's least seconds between small messages of both directions together, where they share these.
    pub duplex_gap: Option<f64>,
    /// What a core copies, bytes a second.
    pub copy: Option<f64>,
    /// What a CMP sends to another of its node, bytes a second, where that is less than its cores could.
    pub between_cmps: Option<f64>,
    /// An adapter's seconds a message beside its bytes: up to 64 B, and above.
    pub gaps: Option<[f64; 2]>,
}

impl MeasuredOccupancy {
    /// What the samples of `level` tell.
    pub fn of(samples: &Samples, level: Level) -> MeasuredOccupancy {
        let windows = Windows { samples, level };
        // What several pairs carry counts if it is more than one core can drive. A message alone passes all that it
        // occupies: whatever took longer in a window was something else's doing.
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
            let all = windows.of_all_pairs(Some(bytes))?;
            let one = samples.of(level, Test::Window).into_iter().find(|series| series.bytes == bytes)?;
            let (each, alone) = (windows.each(all)?, windows.each(one)?);
            let is_shared = each > alone / f64::from(all.load) / SHARED;
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

    /// The gap of messages above this size.
    pub fn gap_above(&self, above: u64) -> f64 {
        self.gaps.map_or(0.0, |gaps| gaps[usize::from(above >= FIRST_UP_TO)])
    }
}

/// Windows at a level.
struct Windows<'a> {
    samples: &'a Samples,
    level: Level,
}

impl Windows<'_> {
    /// The windows of most pairs at a time: at this size, or the greatest.
    fn of_all_pairs(&self, bytes: Option<u64>) -> Option<&SampleSeries> {
        let all = self.samples.of(self.level, Test::Windows);
        let sized = all.into_iter().filter(|series| bytes.is_none_or(|bytes| series.bytes == bytes));
        sized.max_by_key(|series| (series.load, series.bytes))
    }

    /// Bytes a second of all pairs in windows that fit caches, if they are slower together than by themselves.
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

    /// Bytes a second both ways together, at the greatest size: the most that one pair or all reach; nothing if only
    /// one was tried.
    fn both_ways_of_all_pairs(&self) -> Option<f64> {
        let all = self.samples.of(self.level, Test::BothWays);
        let most = all.last()?.bytes;
        let of_most: Vec<&SampleSeries> = all.into_iter().filter(|series| series.bytes == most).collect();
        let several = of_most.iter().any(|series| series.load > 1);
        of_most.into_iter().filter_map(|series| self.both_ways(series)).reduce(f64::max).filter(|_| several)
    }

    /// Bytes a second of one message of the greatest size.
    fn of_a_message(&self) -> Option<f64> {
        let (bytes, seconds) = self.samples.medians(self.level, Test::PingPong).pop()?;
        let rest = seconds - self.alone(0)?;
        (bytes > 0 && rest > 0.0).then(|| bytes as f64 / rest)
    }

    /// Half a round trip.
    fn alone(&self, bytes: u64) -> Option<f64> {
        Some(self.samples.median(self.level, Test::PingPong, bytes)).filter(|seconds| *seconds > 0.0)
    }

    /// Seconds a message, of all pairs together: without the first one's way and the answer's.
    fn each(&self, series: &SampleSeries) -> Option<f64> {
        let whole = Summary::of(&series.seconds)?.median;
        let rest = whole - self.alone(series.bytes)? - self.alone(0)?;
        let messages = f64::from((series.count - 1) * series.load.max(1));
        Some(rest / messages).filter(|each| *each > 0.0)
    }

    /// Bytes a second one way, after the first one's start and before the answer.
    fn rate(&self, series: &SampleSeries) -> Option<f64> {
        self.carried(series, f64::from(series.load.max(1)), 2.0)
    }

    /// Bytes a second both ways together: no answer follows.
    fn both_ways(&self, series: &SampleSeries) -> Option<f64> {
        self.carried(series, 2.0 * f64::from(series.load.max(1)), 1.0)
    }

    fn carried(&self, series: &SampleSeries, at_a_time: f64, starts: f64) -> Option<f64> {
        let rest = Summary::of(&series.seconds)?.median - starts * self.alone(0)?;
        let bytes = at_a_time * f64::from(series.count) * series.bytes as f64;
        Some(bytes / rest).filter(|_| rest > 0.0)
    }
}
