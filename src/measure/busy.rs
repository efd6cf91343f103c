//! Costs of messages by the number of ranks of a node that communicate, from tests of several pairs at once.
//!
//! | cost | from |
//! |---|---|
//! | overheads | windows of 8 B and 128 B, if the cores limit them: time per message, relative to that of one pair |
//! | gap | the same windows, if the adapter limits them: 1 / rate − bytes / capacity; otherwise at most this |
//! | latency | ping-pongs of several pairs at once, less the ping-pong of one pair and the growth of the overheads |

use mcpsim_core::platform::Level;

use super::campaign::SMALL;
use super::import::Steps;
use super::link::{LinkFit, NETWORK, RankCosts, RowFit};
use super::occupancy::{FIRST_UP_TO, SHARED};

/// Ratio of costs below which a difference counts as noise.
const FELT: f64 = 1.05;

/// Tests of several pairs of ranks at once.
#[derive(Clone, Debug, Default)]
pub(super) struct BusyPairs {
    /// Number of pairs.
    pub pairs: u32,
    /// Seconds per message, counted over all pairs, in windows of the sizes [`SMALL`].
    pub each: Option<[f64; 2]>,
    /// Gaps of the adapter by message size, if the adapter limits the windows.
    pub gaps: Option<Steps>,
    /// Message sizes of concurrent ping-pongs, and their time in seconds beyond the ping-pong of one pair.
    pub later: Vec<(u64, f64)>,
}

/// Costs of messages of a number of pairs at once, relative to those of one pair.
struct BusyCosts {
    ranks: u32,
    /// Factor on overheads, up to [`FIRST_UP_TO`] bytes and above.
    growth: [f64; 2],
    /// Greatest possible gaps, up to [`FIRST_UP_TO`] bytes and above.
    bound: [f64; 2],
    /// Measured gaps of messages that the adapter limits.
    gap: [Option<f64>; 2],
    tests: BusyPairs,
}

/// Returns the fit with costs for each number of ranks per node in `pairs`, which increases. `alone` has the seconds
/// per message of windows of one pair of the sizes [`SMALL`], `wire` the bytes per second of an adapter. The fit does
/// not change if the tests show the costs of one pair.
pub(super) fn by_ranks(fit: LinkFit, alone: Option<[f64; 2]>, wire: Option<f64>, pairs: Vec<BusyPairs>) -> LinkFit {
    let per_pair = if fit.level == Level::InterNode { 1 } else { 2 };
    let bytes = SMALL.map(|size| wire.filter(|_| fit.level == Level::InterNode).map_or(0.0, |wire| size as f64 / wire));
    let none = [f64::INFINITY; 2];
    let one = BusyPairs { pairs: 1, ..BusyPairs::default() };
    let mut all = vec![BusyCosts { ranks: per_pair, growth: [1.0; 2], bound: none, gap: [None; 2], tests: one }];
    let mut growth = [1.0; 2];
    // Number of pairs, and seconds per message, of the last windows that the cores limit.
    let mut before = [(1, alone.map_or(0.0, |alone| alone[0])), (1, alone.map_or(0.0, |alone| alone[1]))];
    let mut last = Vec::new();
    for mut tests in pairs {
        // Without ping-pongs of this number of pairs, those of fewer pairs apply.
        match tests.later.is_empty() {
            true => tests.later.clone_from(&last),
            false => last.clone_from(&tests.later),
        }
        let (mut bound, mut gap) = (none, [None; 2]);
        if let (Some(each), Some(alone)) = (tests.each, alone) {
            for size in 0..2 {
                if fit.level == Level::InterNode && !are_limited_by_cores(before[size], (tests.pairs, each[size])) {
                    gap[size] = Some((each[size] - bytes[size]).max(0.0));
                    continue;
                }
                before[size] = (tests.pairs, each[size]);
                let of_cores = each[size] * f64::from(tests.pairs) / alone[size];
                growth[size] = if of_cores > FELT { of_cores } else { 1.0 };
                bound[size] = (each[size] - bytes[size]).max(0.0);
            }
        }
        all.push(BusyCosts { ranks: tests.pairs * per_pair, growth, bound, gap, tests });
    }
    let mut above = 0;
    let mut rows = fit.rows.clone();
    for row in &mut rows {
        row.by_ranks = costs_of(row, above, &all);
        above = row.up_to.unwrap_or(u64::MAX);
    }
    if rows.iter().all(|row| row.by_ranks.iter().all(|costs| *costs == row.by_ranks[0])) {
        return fit;
    }
    LinkFit { rows, ranks: all.iter().map(|costs| costs.ranks).collect(), ..fit }
}

/// Returns the costs of the messages of a row, which are larger than `above`, for each number of ranks.
fn costs_of(row: &RowFit, above: u64, all: &[BusyCosts]) -> Vec<RankCosts> {
    let size = usize::from(above >= FIRST_UP_TO);
    let mut gap = row.gap;
    let mut costs = Vec::new();
    for (place, of) in all.iter().enumerate().rev() {
        let is_last = place + 1 == all.len();
        gap = match (&of.tests.gaps, of.gap[size]) {
            _ if is_last || gap == 0.0 => gap,
            (Some(gaps), _) => gaps.above(above),
            (None, Some(measured)) => measured,
            (None, None) => gap.min(of.bound[size]),
        };
        let [send_overhead, recv_overhead] = [row.send_overhead, row.recv_overhead].map(|one| one * of.growth[size]);
        let later = of.later(above, row.up_to) - send_overhead - recv_overhead + row.send_overhead + row.recv_overhead;
        let (latency, _) = row.columns[0];
        let latency = if of.tests.later.is_empty() { latency } else { (latency + later).max(latency * NETWORK) };
        costs.push(RankCosts { latency, send_overhead, recv_overhead, gap });
    }
    costs.reverse();
    costs
}

impl BusyCosts {
    /// Returns the median additional time of ping-pongs whose sizes are in (above, up_to], or that of the nearest size.
    fn later(&self, above: u64, up_to: Option<u64>) -> f64 {
        let all = &self.tests.later;
        let inside = all.iter().filter(|(bytes, _)| *bytes > above && up_to.is_none_or(|end| *bytes <= end));
        let mut inside: Vec<f64> = inside.map(|(_, seconds)| *seconds).collect();
        inside.sort_by(f64::total_cmp);
        let nearest = || all.iter().min_by_key(|(bytes, _)| bytes.abs_diff(above)).map_or(0.0, |(_, seconds)| *seconds);
        inside.get(inside.len() / 2).copied().unwrap_or_else(nearest)
    }
}

/// Returns whether cores and not a shared resource limit windows of several pairs. Both arguments have a number of pairs
/// and the seconds per message, counted over all pairs; the cores limit the windows `before`, which have fewer pairs.
pub(super) fn are_limited_by_cores(before: (u32, f64), windows: (u32, f64)) -> bool {
    windows.1 * f64::from(windows.0) * SHARED <= before.1 * f64::from(before.0)
}

/// Returns the time of half a round trip of several pairs at once beyond that of one pair; zero if this is noise.
pub(super) fn later(together: f64, alone: f64) -> f64 {
    if together > FELT * alone { together - alone } else { 0.0 }
}
