//! Parameters of a network level, derived from samples. The README describes the model.
//!
//! | parameter | from |
//! |---|---|
//! | latency and bandwidth by size | half round trips T(s) = o_s + L + s/B + o_r; above the eager threshold 2 handshakes in addition |
//! | o_s | (PRTT(n, d, s) − PRTT(1, 0, s)) / (n − 1) − d: Hoefler, Lichei, Rehm, IPDPS 2007, after Kielmann, Bal, Verstoep: Fast Measurement of LogP Parameters for Message Passing Platforms, IPDPS 2000 workshops |
//! | gap | (PRTT(n, 0, s) − PRTT(1, 0, s)) / (n − 1) |
//! | o_r | time of a receive that is posted long after its message has arrived |
//! | handshake | additional time of an early receive over a late receive above the eager threshold: T(s) − o_s − late(s) |
//! | columns of loads | slowdown of a message by several concurrent messages |

use std::collections::BTreeMap;

use mcpsim_core::platform::Level;

use super::busy::by_ranks;
use super::campaign::TRAIN;
use super::copies::ShortWindows;
use super::effects::MeasuredEffects;
use super::fit::{FitPiece, Floor, pieces};
use super::occupancy::{FIRST_UP_TO, MeasuredOccupancy};
use super::samples::{Samples, Test};
use super::statistics::Summary;

/// Least share of the latency that the fit leaves for the network. Measured core overheads may overlap with the
/// latency.
pub(super) const NETWORK: f64 = 0.05;

/// Highest ratio of the bandwidth of the last fitted line to the best measured bandwidth. The measured bandwidth
/// includes latency.
pub(super) const MORE_THAN_SEEN: f64 = 1.5;

/// Parameters of the links of a network level; times in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkFit {
    /// Network level of the links.
    pub level: Level,
    /// Largest eager message size in bytes; `None` if messages of all sizes are eager.
    pub eager: Option<u64>,
    /// Time of a control message of the rendezvous protocol, seconds.
    pub handshake: f64,
    /// Loads (numbers of concurrent transfers) of the table columns, starting with 1. Without measurements of
    /// concurrent transfers, the only load is 1.
    pub loads: Vec<u32>,
    /// Numbers of ranks per node for which rows have costs; empty if the costs do not depend on this number.
    pub ranks: Vec<u32>,
    /// Table rows of the level in increasing order of message sizes.
    pub rows: Vec<RowFit>,
    /// Measured message sizes, with the relative errors of the fitted lines.
    pub errors: Vec<(u64, f64)>,
    /// Occupancy of resources by messages; `None` if the contention model does not use it.
    pub occupancy: Option<MeasuredOccupancy>,
    /// Further measured costs of messages.
    pub effects: MeasuredEffects,
}

/// Link parameters for an interval of message sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct RowFit {
    /// Largest message size of the interval; `None` in the last table row.
    pub up_to: Option<u64>,
    /// Latency L and time per byte, for each load (number of concurrent transfers); seconds.
    pub columns: Vec<(f64, f64)>,
    /// o_s, the core time of a send, seconds.
    pub send_overhead: f64,
    /// o_r, the core time of a receive, seconds.
    pub recv_overhead: f64,
    /// g, the gap between messages, seconds.
    pub gap: f64,
    /// True if the samples do not determine the time per byte. The columns then contain an upper bound of this time.
    pub flat: bool,
    /// Time in seconds for a core to copy a byte, if message windows determine this time for the interval of sizes.
    pub copy: Option<f64>,
    /// Costs for each number of ranks per node of the level.
    pub by_ranks: Vec<RankCosts>,
}

/// Costs of a message, in seconds, on nodes with a number of ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankCosts {
    /// L, the latency.
    pub latency: f64,
    /// o_s, the core time of a send.
    pub send_overhead: f64,
    /// o_r, the core time of a receive.
    pub recv_overhead: f64,
    /// g, the gap between messages.
    pub gap: f64,
}

/// Core overheads of messages of one size.
#[derive(Clone, Copy, Debug, Default)]
struct Overheads {
    bytes: u64,
    send: f64,
    recv: f64,
    gap: f64,
}

/// Correction factors of message times under load, for each network level, load and message size.
///
/// The transfers of a test do not all overlap with the same number of other transfers. The transfers start one after
/// another, and the next round of one transfer overlaps with the end of other transfers. With the correction factors,
/// the test takes as long on the simulated machine as measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Corrections(BTreeMap<(Level, u32, u64), Correction>);

/// Correction factor for a load and a message size, and the response of the test time to the factor.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Correction {
    factor: f64,
    /// Previous correction factor, and the logarithm of the test time's deviation with that factor.
    before: f64,
    off: f64,
    /// True if the test time does not respond to the correction factor, because few of the test's messages meet this
    /// load.
    deaf: bool,
}

/// Ratio of the new deviation to the previous deviation above which a correction counts as useless.
const HELPS: f64 = 0.9;

impl Corrections {
    /// Returns refined correction factors. `simulated` contains the test times on the simulated platform that uses the
    /// current corrections. Correction factors without effect are removed permanently.
    pub fn refined(mut self, measured: &Samples, simulated: &Samples) -> Corrections {
        for (series, off) in measured.ratios_to(simulated) {
            let (Some(level), Test::Exchange | Test::OneWay) = (series.level, series.test) else { continue };
            let first = Correction { factor: 1.0, before: 1.0, off: f64::INFINITY, deaf: false };
            let correction = self.0.entry((level, series.load, series.bytes)).or_insert(first);
            let off = off.ln();
            if correction.deaf {
                continue;
            }
            if off.abs() > HELPS * correction.off.abs() && correction.off.is_finite() {
                (correction.factor, correction.deaf) = (correction.before, true);
                continue;
            }
            (correction.before, correction.off) = (correction.factor, off);
            correction.factor *= off.exp();
        }
        self
    }

    fn of(&self, level: Level, load: u32, bytes: u64) -> f64 {
        self.0.get(&(level, load, bytes)).map_or(1.0, |correction| correction.factor)
    }
}

impl LinkFit {
    /// Returns the parameters of the network level `level`; `None` without measurements.
    pub fn of(samples: &Samples, level: Level, corrections: &Corrections) -> Option<LinkFit> {
        let (_, eager) = *samples.eager.iter().find(|(of, _)| *of == level)?;
        let points: Vec<(u64, f64)> =
            samples.medians(level, Test::PingPong).into_iter().filter(|(_, seconds)| *seconds > 0.0).collect();
        let breaks: Vec<u64> = eager.into_iter().collect();
        // A byte of a single message takes at least as long as a byte of a message in a window, even if the times of
        // two message sizes imply less. No fitted line starts below 0.7 times the time of an empty message; the factor
        // 0.7 allows for sizes with different start-up times.
        let least = Floor { start: 0.7 * points.first()?.1, per_byte: ShortWindows::least_byte(samples, level) };
        let mut found = pieces(&points, &breaks, least);
        let best = best_bandwidth(samples, level, &points);
        found.iter_mut().for_each(|piece| bounded(piece, best, &points));
        let effects = MeasuredEffects::of(samples, level, eager);
        let overheads = overheads(samples, level, effects.unexpected_copy_bandwidth.is_some());
        let handshake = handshake(samples, level, eager, &points, &overheads);
        let ratios = ratios(samples, level, &points, &overheads, corrections);
        let mut loads = vec![1];
        loads.extend(ratios.iter().map(|(load, _)| *load));
        let mut rows = Vec::new();
        let mut above = 0;
        for piece in &found {
            let control = if eager.is_some_and(|eager| above >= eager) { 2.0 * handshake } else { 0.0 };
            let own = overheads_in(&overheads, above, piece.up_to, control > 0.0);
            let shares: Vec<f64> = ratios.iter().map(|(_, ratios)| ratio_in(ratios, above, piece.up_to)).collect();
            rows.push(row(piece, own, control, &shares));
            above = piece.up_to.unwrap_or(u64::MAX);
        }
        let fitted = |size: u64| found.iter().find(|piece| piece.up_to.is_none_or(|end| size <= end));
        let errors = points.iter().filter_map(|&(size, seconds)| Some((size, fitted(size)?.at(size) / seconds - 1.0)));
        let errors = errors.collect();
        let handshake = if eager.is_some() { handshake } else { rows.first()?.columns[0].0 };
        let ranks = Vec::new();
        Some(LinkFit { level, eager, handshake, loads, ranks, rows, errors, occupancy: None, effects })
    }

    /// Converts the parameters of a network level to the `fair` contention model. Message windows yield the occupancy
    /// of resources, which determines message costs under load.
    pub fn fair(self, samples: &Samples) -> LinkFit {
        let occupancy = MeasuredOccupancy::of(samples, self.level);
        let mut rows = Vec::new();
        let mut above = 0;
        for row in self.rows {
            // Only a network adapter has a gap. Small messages have a separate gap.
            let row = RowFit { columns: row.columns[..1].to_vec(), gap: occupancy.gap_above(above), ..row };
            let spans = above < FIRST_UP_TO && row.up_to.is_none_or(|end| end > FIRST_UP_TO);
            if occupancy.gaps.is_some() && spans {
                rows.push(RowFit { up_to: Some(FIRST_UP_TO), ..row.clone() });
                above = FIRST_UP_TO;
            }
            rows.push(RowFit { gap: occupancy.gap_above(above), ..row.clone() });
            above = row.up_to.unwrap_or(u64::MAX);
        }
        let (mut handshake, loads) = (self.handshake, vec![1]);
        if self.level != Level::InterNode {
            let mut windows = ShortWindows::new(samples, self.level, self.eager, handshake);
            (handshake, rows) = windows.with_room(rows);
            rows = windows.told(rows, occupancy.copy);
        }
        let fit = LinkFit { handshake, loads, rows, occupancy: Some(occupancy), ..self };
        let (alone, pairs) = MeasuredOccupancy::busy(samples, fit.level);
        by_ranks(fit, alone, occupancy.capacity, pairs)
    }

    /// Returns the least latency of a message, which is a share of the time of the smallest messages.
    pub(super) fn least_latency(&self) -> f64 {
        self.rows.first().map_or(0.0, |row| NETWORK * (row.send_overhead + row.columns[0].0 + row.recv_overhead))
    }

    /// Returns the fit with a handshake of at least [`LinkFit::least_latency`], and true if the measured handshake was
    /// shorter. The latency of messages above the eager threshold decreases accordingly, so the total time of these
    /// messages does not change.
    pub(super) fn with_least_handshake(mut self) -> (LinkFit, bool) {
        let least = self.least_latency();
        let more = least - self.handshake;
        if more <= 0.0 {
            return (self, false);
        }
        self.handshake = least;
        let mut above = 0;
        for row in &mut self.rows {
            if self.eager.is_some_and(|eager| above >= eager) {
                row.columns
                    .iter_mut()
                    .for_each(|(latency, _)| *latency = (*latency - 2.0 * more).max(least.min(*latency)));
            }
            above = row.up_to.unwrap_or(u64::MAX);
        }
        (self, true)
    }

    /// Returns the mean and the largest relative error of the fit, and the message size with the largest error.
    pub fn error(&self) -> (f64, f64, u64) {
        let mean = self.errors.iter().map(|(_, error)| error.abs()).sum::<f64>() / self.errors.len().max(1) as f64;
        let worst = self.errors.iter().copied().max_by(|a, b| a.1.abs().total_cmp(&b.1.abs())).unwrap_or((0, 0.0));
        (mean, worst.1, worst.0)
    }
}

/// Merges adjacent table rows that have equal parameters.
pub(super) fn joined(rows: Vec<RowFit>) -> Vec<RowFit> {
    let mut joined: Vec<RowFit> = Vec::new();
    for row in rows {
        match joined.last_mut() {
            Some(last) if *last == (RowFit { up_to: last.up_to, ..row.clone() }) => last.up_to = row.up_to,
            _ => joined.push(row),
        }
    }
    joined
}

/// Returns the table row of a fitted line, for load 1. `overheads` are the core overheads of the sender and receiver;
/// `control` is the time of control messages.
pub(super) fn row_of(piece: &FitPiece, overheads: [f64; 2], control: f64, gap: f64) -> RowFit {
    let [send, recv] = overheads;
    row(piece, Overheads { bytes: 0, send, recv, gap }, control, &[])
}

/// Returns the highest bandwidth in any ping-pong or window of the network level, bytes per second.
fn best_bandwidth(samples: &Samples, level: Level, points: &[(u64, f64)]) -> f64 {
    let windows = samples.of(level, Test::Window).into_iter().filter_map(|series| {
        let seconds = Summary::of(&series.seconds)?.median;
        Some(f64::from(series.count) * series.bytes as f64 / seconds)
    });
    let pings = points.iter().map(|(bytes, seconds)| *bytes as f64 / seconds);
    windows.chain(pings).filter(|rate| rate.is_finite()).fold(0.0, f64::max)
}

/// Bounds the bandwidth of a fitted line by the best measured bandwidth. Noise causes too small times per byte, which
/// the last line would extrapolate to all larger sizes. The time at the largest measured size of the line does not
/// change.
fn bounded(piece: &mut FitPiece, best: f64, points: &[(u64, f64)]) {
    let least = 1.0 / (best * MORE_THAN_SEEN);
    let last = points.iter().map(|(bytes, _)| *bytes).filter(|bytes| piece.up_to.is_none_or(|end| *bytes <= end)).max();
    let Some(last) = last.filter(|last| piece.up_to.is_none() && *last > 0 && piece.per_byte < least) else { return };
    let there = piece.at(last);
    piece.per_byte = least;
    piece.start = (there - least * last as f64).max(0.0);
    piece.flat = false;
}

/// Returns the table row of a fitted line whose start time includes the overheads and control messages.
fn row(piece: &FitPiece, own: Overheads, control: f64, ratios: &[f64]) -> RowFit {
    // The start time of a wide interval of message sizes is below its overheads if the overheads grow with the size.
    let room = (piece.start * (1.0 - NETWORK) - control).max(0.0);
    let fits = if own.send + own.recv > room { room / (own.send + own.recv) } else { 1.0 };
    let (send, recv) = (own.send * fits, own.recv * fits);
    let latency = piece.start - send - recv - control;
    // A load of several transfers multiplies the time of the whole message, but not its overheads and control messages.
    let under = |ratio: f64| ((ratio * piece.start - send - recv - control).max(latency), ratio * piece.per_byte);
    let columns = [1.0].iter().chain(ratios).map(|ratio| under(*ratio)).collect();
    let (up_to, flat) = (piece.up_to, piece.flat);
    RowFit {
        up_to,
        columns,
        send_overhead: send,
        recv_overhead: recv,
        gap: own.gap,
        flat,
        copy: None,
        by_ranks: Vec::new(),
    }
}

/// Returns the core overheads by message size. `copied` is true if an unexpected message is copied once more than an
/// expected message.
fn overheads(samples: &Samples, level: Level, copied: bool) -> Vec<Overheads> {
    let of = |test: Test| samples.medians(level, test);
    let received = if copied { Test::PostedReceive } else { Test::LateReceive };
    let (one, train, delayed, late) = (of(Test::TrainOfOne), of(Test::Train), of(Test::DelayedTrain), of(received));
    let at = |series: &[(u64, f64)], size: u64| series.iter().find(|(of, _)| *of == size).map(|(_, seconds)| *seconds);
    let further = f64::from(TRAIN - 1);
    let each = |&(bytes, one): &(u64, f64)| {
        let send = (at(&delayed, bytes)? - one) / further;
        let gap = (at(&train, bytes)? - one) / further;
        Some(Overheads { bytes, send: send.max(0.0), recv: at(&late, bytes)?.max(0.0), gap: gap.max(0.0) })
    };
    one.iter().filter_map(each).collect()
}

/// Returns the median core overheads of the message sizes in (above, up_to], or the overheads of the nearest size.
/// Above the eager threshold the smallest size is used, because the core time of large messages is not constant.
fn overheads_in(all: &[Overheads], above: u64, up_to: Option<u64>, rendezvous: bool) -> Overheads {
    let end = up_to.unwrap_or(u64::MAX);
    let inside: Vec<&Overheads> = all.iter().filter(|of| of.bytes > above && of.bytes <= end).collect();
    if rendezvous || inside.is_empty() {
        let middle = if rendezvous { 0 } else { end.min(above.saturating_mul(2)) };
        return all.iter().copied().min_by_key(|of| of.bytes.abs_diff(middle)).unwrap_or_default();
    }
    let median = |value: fn(&Overheads) -> f64| {
        let mut values: Vec<f64> = inside.iter().map(|of| value(of)).collect();
        values.sort_by(f64::total_cmp);
        (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0
    };
    Overheads { bytes: above, send: median(|of| of.send), recv: median(|of| of.recv), gap: median(|of| of.gap) }
}

/// Returns the median handshake time over the message sizes above the eager threshold. An upper bound leaves some
/// latency for the smallest of these message sizes.
fn handshake(
    samples: &Samples,
    level: Level,
    eager: Option<u64>,
    points: &[(u64, f64)],
    overheads: &[Overheads],
) -> f64 {
    let Some(eager) = eager else { return 0.0 };
    let send = overheads.first().map_or(0.0, |of| of.send);
    let late = samples.medians(level, Test::LateReceive);
    let early = |size: u64| points.iter().find(|(of, _)| *of == size).map(|(_, seconds)| *seconds);
    let mut found: Vec<f64> = late
        .iter()
        .filter(|(size, _)| *size > eager)
        .filter_map(|(size, late)| Some(early(*size)? - send - late))
        .collect();
    found.sort_by(f64::total_cmp);
    let Some(median) = found.get(found.len().saturating_sub(1) / 2).copied() else { return 0.0 };
    let least = points.iter().find(|(size, _)| *size > eager).map_or(0.0, |(_, seconds)| *seconds);
    median.clamp(0.0, 0.4 * (least - send).max(0.0))
}

/// Returns the slowdown factors of a message by message size, for each load (number of concurrent transfers).
fn ratios(
    samples: &Samples,
    level: Level,
    alone: &[(u64, f64)],
    overheads: &[Overheads],
    corrections: &Corrections,
) -> Vec<(u32, Vec<(u64, f64)>)> {
    let send = |size: u64| overheads.iter().min_by_key(|of| of.bytes.abs_diff(size)).map_or(0.0, |of| of.send);
    let single = |size: u64| alone.iter().find(|(of, _)| *of == size).map(|(_, seconds)| *seconds);
    let mut found: Vec<(u32, Vec<(u64, f64)>)> = Vec::new();
    for test in [Test::Exchange, Test::OneWay] {
        for series in samples.of(level, test) {
            let (Some(one), Some(summary)) = (single(series.bytes), Summary::of(&series.seconds)) else {
                continue;
            };
            // The core sends the last message of the window after all preceding messages.
            let before = f64::from(series.count - 1) * send(series.bytes);
            let answer = if test == Test::OneWay { single(0).unwrap_or(0.0) } else { before };
            // A load of several transfers never makes a message faster.
            let ratio = ((summary.median - answer) / one).max(1.0);
            let ratio = (ratio * corrections.of(level, series.load, series.bytes)).max(1.0);
            match found.iter_mut().find(|(load, _)| *load == series.load) {
                Some((_, ratios)) => ratios.push((series.bytes, ratio)),
                None => found.push((series.load, vec![(series.bytes, ratio)])),
            }
        }
    }
    found.sort_by_key(|(load, _)| *load);
    found
}

/// Returns the geometric mean of the slowdown ratios of message sizes in (above, up_to], or the ratio of the nearest
/// size.
fn ratio_in(ratios: &[(u64, f64)], above: u64, up_to: Option<u64>) -> f64 {
    let end = up_to.unwrap_or(u64::MAX);
    let inside: Vec<f64> =
        ratios.iter().filter(|(size, _)| *size > above && *size <= end).map(|(_, ratio)| ratio.ln()).collect();
    if inside.is_empty() {
        return ratios.iter().min_by_key(|(size, _)| size.abs_diff(above)).map_or(1.0, |(_, ratio)| *ratio);
    }
    (inside.iter().sum::<f64>() / inside.len() as f64).exp()
}
