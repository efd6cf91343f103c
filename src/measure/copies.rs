//! Core overheads and copy times of messages within a node, as functions of the message size, from windows of few
//! messages.
//!
//! A window is a number of concurrent messages. In the model of a window the sender's core takes o_s per message. The
//! receiver's core takes o_r and concurrently copies the s bytes of the message in the time s / copy bandwidth. The
//! slowest of the sender's core, the receiver's core and the copies determines the rate of a window:
//!
//! ```text
//! T(n, s) = start + n t(s),    t(s) = max(o_s, o_r, s / copy bandwidth)
//! ```
//!
//! A ping-pong measures the sum of o_s, copies, o_r and latency. A window measures only the greatest of o_s, o_r and
//! copy time. If windows contradict the table rows of message costs that ping-pongs yield, four steps adapt the rows:
//!
//! 1. The straight line through windows of two numbers of messages yields the time of any number of messages. On a real
//!    machine the line through window times begins below the model's `start`, which is derived from a ping-pong,
//!    because a ping-pong passes data back and forth. Table rows are fitted for N = 64 messages, the usual number in
//!    benchmarks: t(s) = (T(N, s) − start) / N. Three limits apply to t(s): at most the time of a single message, at
//!    most t of more bytes, and at least s at the best rate of one additional message of any size.
//! 2. Straight lines a + b s with a ≥ 0 and b ≥ 0 are fitted piecewise to t(s), the time per message of a window, and
//!    also to half round trips.
//! 3. The model of windows has the maximum of o_s, o_r and copy time instead of a straight line. For a table row of
//!    message sizes from s₁ to s₂, o_r = f t(s₁) and copies take f t(s₂) / s₂ per byte. The factor f is chosen so that
//!    the model is as far below the fitted line at middle sizes as above the line at the ends of the row. Table rows
//!    are divided until the model of every size deviates from the fitted line by at most the factor f. If the copy time
//!    alone is as close to the line, o_r is at most its previous value.
//! 4. The latency of a row decreases by the increase of o_r, so half round trips do not change. A part of the latency
//!    must remain, and no copy may take longer than the bytes of a single message. If o_r exceeds the available
//!    latency, table rows become so short that copy time alone explains the windows, or time is moved from the bytes to
//!    the latency. Half round trips at the ends of a row with moved time change by at most 5 %.
//!
//! Above the eager threshold, o_r and copy time must fit into the time of a message, so the time of control messages is
//! limited. The `start` of a window depends on the table rows, so the four steps are iterated. The two measured windows
//! must have so many messages that the copies take longer than the bytes of one message. Otherwise the slope of the
//! line through the two window times is too small.

use mcpsim_core::platform::Level;

use super::fit::{FitPiece, Floor, pieces};
use super::link::{NETWORK, RowFit};
use super::samples::{SampleSeries, Samples, Test};
use super::statistics::Summary;

/// Relative difference up to which window times agree with a table row of message costs.
const SAME: f64 = 0.05;
/// Greatest ratio between the fitted line and the greater of o_r and copy time within a table row of message costs. A
/// table row with a higher ratio is divided.
const BEND: f64 = 1.1;
/// Greatest relative change of a single message's time at the ends of a table row, which makes overheads possible.
const TURNED: f64 = 0.05;
/// Number of iterations over the table rows and the `start` of windows.
const ROUNDS: usize = 4;

/// Number of messages per window for which table rows are fitted.
const MANY: f64 = 64.0;

/// Times of the short windows (few concurrent messages) of a network level.
pub(super) struct ShortWindows {
    seen: Vec<SeenWindows>,
    /// Greatest eager message size of the network level, bytes.
    eager: Option<u64>,
    /// Time of a control message of the rendezvous protocol.
    handshake: f64,
    /// Time of an empty answer message.
    answer: f64,
    /// Least time per byte of an additional message in a window, seconds.
    best: f64,
}

/// Times of windows of messages of `bytes` bytes, including the empty answer.
struct SeenWindows {
    bytes: u64,
    /// Time that an additional message adds to a window, seconds.
    slope: f64,
    /// Time of a window of [`MANY`] messages, seconds.
    many: f64,
}

impl SeenWindows {
    /// Creates the line through window times from the times, in seconds, of the windows of the fewest and of the most
    /// messages. Returns `None` if only one number of messages was measured.
    fn of(bytes: u64, windows: &[(u32, f64)]) -> Option<SeenWindows> {
        let (&(few, short), &(more, long)) = (windows.first()?, windows.last()?);
        let slope = (long - short) / f64::from(more.checked_sub(few).filter(|further| *further > 0)?);
        (slope > 0.0).then(|| SeenWindows { bytes, slope, many: long + (MANY - f64::from(more)) * slope })
    }
}

impl ShortWindows {
    /// Returns the short windows of the network level `level`.
    pub fn new(samples: &Samples, level: Level, eager: Option<u64>, handshake: f64) -> ShortWindows {
        let answer = samples.median(level, Test::PingPong, 0);
        let seen = seen(samples, level);
        let best = least_byte(&seen).unwrap_or(0.0);
        ShortWindows { seen, eager, handshake, answer, best }
    }

    /// Creates short windows from pairs of times per message size, for few and for many messages. An empty answer takes
    /// `answer` seconds.
    pub fn of(windows: &[(u64, [(u32, f64); 2])], eager: Option<u64>, handshake: f64, answer: f64) -> ShortWindows {
        let seen: Vec<SeenWindows> =
            windows.iter().filter_map(|(bytes, windows)| SeenWindows::of(*bytes, windows)).collect();
        let best = least_byte(&seen).unwrap_or(0.0);
        ShortWindows { seen, eager, handshake, answer, best }
    }

    /// Returns the least time per byte, in seconds, of an additional message in the windows of `level`; 0 without
    /// windows.
    pub fn least_byte(samples: &Samples, level: Level) -> f64 {
        least_byte(&seen(samples, level)).unwrap_or(0.0)
    }

    /// Adapts the table rows `rows` to the short windows. `copied` is the copy rate of a core for the greatest
    /// messages, bytes per second.
    pub fn told(&self, rows: Vec<RowFit>, copied: Option<f64>) -> Vec<RowFit> {
        let Some(greatest) = self.seen.last().map(|of| of.bytes) else { return rows };
        // Copy times that table rows of message costs have by default.
        let default = |row: &RowFit| row.columns[0].1.min(copied.map_or(f64::INFINITY, |rate| 1.0 / rate));
        let own: Vec<RowFit> = rows.iter().map(|row| RowFit { copy: Some(default(row)), ..row.clone() }).collect();
        let mut other: Vec<bool> = own.iter().map(|row| self.disagree(&own, row)).collect();
        if !other.contains(&true) {
            return rows;
        }
        // Table rows of message sizes without windows follow the fitted lines.
        for (row, differs) in own.iter().zip(&mut other) {
            *differs |= !self.seen.iter().any(|of| is_of(&own, of.bytes, row));
        }
        let mut told = own.clone();
        for _ in 0..ROUNDS {
            let found = self.lines(&told);
            let mut above = 0;
            told.clear();
            for ((row, own), differs) in rows.iter().zip(&own).zip(&other) {
                match differs {
                    true => told.extend(self.divided(own, above, greatest, &found)),
                    false => told.push(row.clone()),
                }
                above = row.up_to.unwrap_or(u64::MAX);
            }
        }
        told
    }

    /// Returns true if a window whose message size is in `row` contradicts the table rows `rows`.
    fn disagree(&self, rows: &[RowFit], row: &RowFit) -> bool {
        let of_row = self.seen.iter().filter(|of| is_of(rows, of.bytes, row));
        of_row.into_iter().any(|of| (self.modelled(row, of.bytes) / of.many).ln().abs() > SAME)
    }

    /// Returns the handshake time, and the table rows `rows` with a shorter handshake, so that the receiver's overhead
    /// can explain the window times. If messages above the eager threshold take little time, the time that a late
    /// receive saves may have another cause.
    pub fn with_room(&mut self, mut rows: Vec<RowFit>) -> (f64, Vec<RowFit>) {
        let Some(eager) = self.eager else { return (self.handshake, rows) };
        let room = |of: &SeenWindows| {
            let row = row_of(&rows, of.bytes);
            let (latency, byte) = row.columns[0];
            let all = 2.0 * self.handshake + row.send_overhead + latency + row.recv_overhead;
            // Copies alone may explain the time of the window.
            let copies = of.bytes as f64 * byte * BEND > of.slope;
            let room = (all * (1.0 - NETWORK) - row.send_overhead - of.slope) / 2.0;
            (of.bytes > eager && !copies).then_some(room)
        };
        let least = self.seen.iter().filter_map(room).fold(self.handshake, f64::min).max(0.0);
        let (mut above, more) = (0, 2.0 * (self.handshake - least));
        for row in &mut rows {
            row.columns[0].0 += if above >= eager { more } else { 0.0 };
            above = row.up_to.unwrap_or(u64::MAX);
        }
        self.handshake = least;
        (least, rows)
    }

    /// Returns the modelled time of a window of [`MANY`] messages of `bytes` bytes.
    fn modelled(&self, row: &RowFit, bytes: u64) -> f64 {
        let (latency, byte) = row.columns[0];
        let (alone, copy) = (bytes as f64 * byte, bytes as f64 * row.copy.unwrap_or(byte));
        let (mut left, mut copied, mut done) = (0.0, 0.0, 0.0_f64);
        for _ in 0..MANY as u32 {
            left += row.send_overhead;
            let head: f64 = left + self.control(bytes) + latency;
            copied = head.max(copied) + copy;
            done = done.max(copied).max(head + alone) + row.recv_overhead;
        }
        done + self.answer
    }

    /// Returns the time of the control messages that precede a message of `bytes` bytes.
    fn control(&self, bytes: u64) -> f64 {
        if self.eager.is_some_and(|eager| bytes > eager) { 2.0 * self.handshake } else { 0.0 }
    }

    /// Fits lines to the time per additional message of a window, in seconds, as a function of the message size.
    fn lines(&self, rows: &[RowFit]) -> Vec<FitPiece> {
        let each = |of: &SeenWindows| {
            let (row, bytes) = (row_of(rows, of.bytes), of.bytes as f64);
            let (latency, byte) = row.columns[0];
            let start = self.modelled(row, of.bytes) - MANY * slowest(row, bytes);
            let alone = row.send_overhead + self.control(of.bytes) + latency + bytes * byte + row.recv_overhead;
            (of.bytes, ((of.many - start) / MANY).max(bytes * self.best).min(alone))
        };
        let mut points: Vec<(u64, f64)> = self.seen.iter().map(each).collect();
        for place in (1..points.len()).rev() {
            // Eager and rendezvous messages may have different times, so no line crosses the eager threshold.
            if self.eager != Some(points[place - 1].0) {
                points[place - 1].1 = points[place - 1].1.min(points[place].1);
            }
        }
        let breaks: Vec<u64> = self.eager.into_iter().collect();
        pieces(&points, &breaks, Floor::default())
    }

    /// Divides the table row of message sizes above `above` into rows that follow `lines`.
    fn divided(&self, row: &RowFit, above: u64, greatest: u64, lines: &[FitPiece]) -> Vec<RowFit> {
        let end = row.up_to.unwrap_or(u64::MAX);
        let mut found: Vec<RowFit> = Vec::new();
        let mut from = above;
        while from < end {
            let line = lines.iter().find(|line| line.up_to.is_none_or(|up_to| from < up_to));
            let Some(line) = line.or(lines.last()) else { return vec![row.clone()] };
            let last = line.up_to.unwrap_or(u64::MAX).min(end);
            // The last fitted line also applies beyond the measured message sizes.
            let least = from.max(1) as f64;
            let most = if last == u64::MAX { greatest.max(from.saturating_mul(2)).max(2) } else { last } as f64;
            // Without time for overheads, copies alone must explain the time of a window.
            let each = at(line, least);
            let lone = each > BEND * self.room(row, above, row.send_overhead) && each <= least * row.columns[0].1;
            let to = furthest(line, least, most, if lone { copies } else { bend });
            let up_to = if to < most { (to as u64).max(from + 1) } else { last };
            let to = if to < most { up_to as f64 } else { most };
            let up_to = if up_to == end { row.up_to } else { Some(up_to) };
            let part = self.bound(RowFit { up_to, ..row.clone() }, above, line, (least, to));
            match found.last_mut() {
                Some(before) if *before == (RowFit { up_to: before.up_to, ..part.clone() }) => before.up_to = up_to,
                _ => found.push(part),
            }
            let Some(next) = up_to else { break };
            from = next;
        }
        found
    }

    /// Returns the time that remains for the receiver's overhead of messages larger than `above` bytes.
    fn room(&self, row: &RowFit, above: u64, send_overhead: f64) -> f64 {
        let all = row.send_overhead + row.columns[0].0 + row.recv_overhead;
        all - send_overhead - NETWORK * (all + self.control(above.saturating_add(1)))
    }

    /// Returns the table row `row` with the overheads and copy times that the line implies between the message sizes
    /// `from` and `to`.
    fn bound(&self, row: RowFit, above: u64, line: &FitPiece, (from, to): (f64, f64)) -> RowFit {
        let lone = copies(line, from, to);
        let factor = if lone <= BEND { lone } else { bend(line, from, to) }.sqrt();
        let (each, copy) = (factor * at(line, from), factor * at(line, to) / to);
        let (mut latency, mut byte) = row.columns[0];
        let send_overhead = row.send_overhead.min(each);
        // The sender or the copies determine the message rate only if the sender's overhead or the copy time is long
        // enough.
        let is_slowest = (lone > BEND || copy > byte) && send_overhead <= (1.0 - SAME) * each;
        let wanted = if is_slowest { each } else { row.recv_overhead.min(each) };
        let short = wanted - self.room(&row, above, send_overhead);
        if is_slowest && short > 0.0 {
            // The time of a message of middle size does not change; the smallest and the greatest messages of the table
            // row take slightly more or less.
            let (middle, half) = (from.midpoint(to), (to - from) / 2.0);
            let most = TURNED * (send_overhead + latency + row.recv_overhead + middle * byte) / half.max(1.0);
            let turned = (short / middle).min(most).min(byte - self.best).max(0.0);
            // If the bytes of a message take less time, the core also needs less time for the bytes.
            if each - short + turned * middle > middle * byte {
                (latency, byte) = (latency + turned * middle, byte - turned);
            }
        }
        let turned = RowFit { columns: vec![(latency, byte)], ..row.clone() };
        let recv_overhead = wanted.min(self.room(&turned, above, send_overhead).max(0.0));
        let all = row.send_overhead + latency + row.recv_overhead;
        let columns = vec![(all - send_overhead - recv_overhead, byte)];
        RowFit { send_overhead, recv_overhead, columns, copy: Some(copy.min(byte)), ..row }
    }
}

fn seen(samples: &Samples, level: Level) -> Vec<SeenWindows> {
    let all = samples.of(level, Test::ShortWindow);
    let of_sizes = all.chunk_by(|one, other| one.bytes == other.bytes).filter_map(|of_size| {
        let median = |of: &&SampleSeries| Some((of.count, Summary::of(&of.seconds)?.median));
        let windows: Vec<(u32, f64)> = of_size.iter().filter_map(median).collect();
        SeenWindows::of(of_size[0].bytes, &windows)
    });
    of_sizes.collect()
}

fn least_byte(seen: &[SeenWindows]) -> Option<f64> {
    seen.iter().map(|of| of.slope / of.bytes as f64).reduce(f64::min)
}

fn is_of(rows: &[RowFit], bytes: u64, row: &RowFit) -> bool {
    row_of(rows, bytes).up_to == row.up_to
}

fn row_of(rows: &[RowFit], bytes: u64) -> &RowFit {
    let found = rows.iter().find(|row| row.up_to.is_none_or(|end| bytes <= end));
    found.unwrap_or(&rows[rows.len() - 1])
}

/// Returns t(s) for `bytes` bytes, which is the greatest of the sender's overhead, the receiver's overhead and the copy
/// time.
fn slowest(row: &RowFit, bytes: f64) -> f64 {
    row.send_overhead.max(row.recv_overhead).max(bytes * row.copy.unwrap_or(row.columns[0].1))
}

fn at(line: &FitPiece, bytes: f64) -> f64 {
    line.start + line.per_byte * bytes
}

/// Returns the greatest ratio between the time on `line` and the greater of two times: the time of the least message
/// size, and the size multiplied by the time per byte of the greatest size.
fn bend(line: &FitPiece, from: f64, to: f64) -> f64 {
    let kink = to * at(line, from) / at(line, to);
    if kink > from { at(line, kink) / at(line, from) } else { 1.0 }
}

/// Returns the ratio between the time of the least message size and the time of its bytes at the rate of the greatest
/// size.
fn copies(line: &FitPiece, from: f64, to: f64) -> f64 {
    at(line, from) * to / (at(line, to) * from)
}

/// Returns the greatest message size up to which one table row from `from` suffices according to the error measure
/// `off`.
fn furthest(line: &FitPiece, from: f64, most: f64, off: fn(&FitPiece, f64, f64) -> f64) -> f64 {
    if off(line, from, most) <= BEND {
        return most;
    }
    let (mut low, mut high) = (from, most);
    while high / low > 1.01 {
        let middle = (low * high).sqrt();
        if off(line, from, middle) <= BEND {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}
