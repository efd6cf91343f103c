//! Costs of a message as functions of the message size, from windows of every measured message size.

use super::super::campaign::SMALL;
use super::super::occupancy::{FIRST_UP_TO, SHARED};
use super::table::BenchmarkTable;

/// Message sizes of the windows that determine the platform.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowSizes {
    /// Windows of all message sizes.
    #[default]
    All,
    /// Windows of only 8 B, 128 B and the greatest size. Windows of other sizes can then validate the platform.
    Few,
}

/// Ratio of a window's time to the time of its bytes on the wire above which the wire does not limit the window.
const BESIDE_BYTES: f64 = 1.1;
/// Least detectable gap, as a fraction of the time that a message's bytes take.
const LEAST_GAP: f64 = 0.05;
/// Ratio up to which the measured values of neighbouring message sizes count as equal.
const ALIKE: f64 = 1.05;

/// Piecewise constant function from the message size to seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps(Vec<(Option<u64>, f64)>);

impl Steps {
    /// Returns the step function with one value up to [`FIRST_UP_TO`] bytes and another value above.
    pub fn two([first, second]: [f64; 2]) -> Steps {
        Steps(vec![(Some(FIRST_UP_TO), first), (None, second)])
    }

    /// Creates a step function from measured message sizes, with borders at the geometric means of neighbouring sizes,
    /// and another step `above` the measured sizes.
    fn of(points: &[(u64, f64)], above: Option<(u64, f64)>) -> Steps {
        let mut steps: Vec<(Option<u64>, f64)> = Vec::new();
        let mut first = f64::NAN;
        let all: Vec<(u64, f64)> = points.iter().copied().chain(above).collect();
        for (place, (size, seconds)) in all.iter().copied().enumerate() {
            let border = all.get(place + 1).map(|(next, _)| (size as f64 * *next as f64).sqrt() as u64);
            match steps.last_mut() {
                Some((end, _)) if seconds <= first * ALIKE && first <= seconds * ALIKE => *end = border,
                _ => {
                    first = seconds;
                    steps.push((border, seconds));
                }
            }
        }
        Steps(steps)
    }

    /// Returns the seconds that messages larger than `above` bytes take.
    pub fn above(&self, above: u64) -> f64 {
        let step = self.0.iter().find(|(end, _)| end.is_none_or(|end| above < end));
        step.or(self.0.last()).map_or(0.0, |(_, seconds)| *seconds)
    }

    /// Iterates over the greatest message sizes of all steps except the last step.
    pub fn borders(&self) -> impl Iterator<Item = u64> {
        self.0.iter().filter_map(|(end, _)| *end)
    }

    /// Returns true if the function has no steps.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Returns the time that an additional message adds to a window of one pair, which excludes the latency of the first
/// message and of the answer. Only message sizes that are in both benchmark tables are used.
pub fn each(window: &BenchmarkTable, ping_pong: &BenchmarkTable) -> Vec<(u64, f64)> {
    let (_, empty) = ping_pong.rows[0];
    let count = f64::from(window.window);
    let each = |&(size, rate): &(u64, f64)| {
        let alone = ping_pong.at(size).filter(|_| size > 0)?;
        Some((size, ((count / rate - alone - empty) / (count - 1.0)).max(0.0)))
    };
    window.rows.iter().filter_map(each).collect()
}

/// Returns the core cost of a message at the sender and at the receiver, and the greatest message size with a measured
/// cost. Windows of one pair yield the cost of messages whose size the `wire` does not limit. For greater messages the
/// function uses the cost at 128 B.
pub fn core_costs(window: &BenchmarkTable, ping_pong: &BenchmarkTable, wire: Option<f64>) -> Option<(Steps, u64)> {
    let all = each(window, ping_pong);
    let is_core = |&(size, each): &(u64, f64)| wire.is_none_or(|wire| each > BESIDE_BYTES * size as f64 / wire);
    let known: Vec<(u64, f64)> = all.iter().copied().take_while(is_core).collect();
    let (greatest, _) = *known.last()?;
    let next = all.get(known.len()).map(|(size, _)| *size);
    let of_small = known.iter().min_by_key(|(size, _)| size.abs_diff(SMALL[1])).map(|(_, each)| *each)?;
    Some((Steps::of(&known, next.map(|size| (size, of_small))), greatest))
}

/// Returns the time per message of `many` pairs, excluding the transfer time of the bytes, and true if the adapter
/// limits these pairs. The `window` of fewer pairs, which their cores limit, shows if the cores are the limit.
pub fn gap(
    many: &BenchmarkTable,
    window: Option<&BenchmarkTable>,
    wire: Option<f64>,
    (size, rate): (u64, f64),
) -> (f64, bool) {
    let window_pairs = window.map_or(1, BenchmarkTable::pairs).max(1);
    let cores =
        window.and_then(|window| window.at(size)).map(|one| one * f64::from(many.pairs()) / f64::from(window_pairs));
    let bytes = wire.map_or(0.0, |wire| size as f64 / wire);
    (1.0 / rate - bytes, cores.is_none_or(|cores| rate < SHARED * cores))
}

/// Returns the seconds per message of a window, counted over all pairs, without the latency of the first message and
/// of the answer.
pub fn each_of_all(window: &BenchmarkTable, ping_pong: &BenchmarkTable, size: u64) -> Option<f64> {
    let (pairs, count) = (f64::from(window.pairs()), f64::from(window.window));
    let rest = count * pairs / window.at(size)? - ping_pong.at(size)? - ping_pong.rows[0].1;
    Some((rest / (count - 1.0) / pairs).max(0.0)).filter(|_| count > 1.0)
}

/// Returns the gaps by message size, and the greatest size with a gap. Each message size that the adapter limits has
/// its own gap. Every other message size uses the gap of the previous size, but at most the measured time per message.
/// From the first message size with a negligible gap on, the gap is zero.
pub fn gaps(many: &BenchmarkTable, window: Option<&BenchmarkTable>, wire: Option<f64>) -> Option<(Steps, u64)> {
    let mut known: Vec<(u64, f64)> = Vec::new();
    let mut next = None;
    for &(size, rate) in many.rows.iter().filter(|(size, _)| *size > 0) {
        let (gap, is_shared) = gap(many, window, wire, (size, rate));
        let bytes = 1.0 / rate - gap;
        if gap < LEAST_GAP * bytes {
            next = Some(size);
            break;
        }
        match known.last() {
            _ if is_shared => known.push((size, gap)),
            Some(&(_, before)) => known.push((size, before.min(gap))),
            None => {}
        }
    }
    let (greatest, _) = *known.last()?;
    Some((Steps::of(&known, next.map(|size| (size, 0.0))), greatest))
}

/// Returns the seconds of windows by message size, including the answer. There is a window of one message and a window
/// of the measured number of messages.
pub fn seen(window: &BenchmarkTable, ping_pong: &BenchmarkTable) -> Vec<(u64, [(u32, f64); 2])> {
    let (_, empty) = ping_pong.rows[0];
    let windows = |&(size, rate): &(u64, f64)| {
        let alone = ping_pong.at(size).filter(|_| size > 0)?;
        Some((size, [(1, alone + empty), (window.window, f64::from(window.window) / rate)]))
    };
    window.rows.iter().filter_map(windows).collect()
}

#[cfg(test)]
mod tests {
    use super::super::table::Benchmark;
    use super::*;

    fn table(processes: u32, rows: &[(u64, f64)]) -> BenchmarkTable {
        let program = "osu".to_owned();
        BenchmarkTable {
            benchmark: Benchmark::OneWay,
            program,
            processes,
            together: false,
            window: 64,
            rows: rows.to_vec(),
        }
    }

    #[test]
    fn what_cores_limit_says_that_a_gap_is_no_greater() {
        // On a wire of 1 GB/s, ten pairs take 20, 50, 10 and 30 ns per message in addition to the transfer of the
        // bytes. Messages of 1024 B take almost no additional time.
        let seen = [(8, 20.0), (16, 50.0), (32, 10.0), (64, 30.0), (1024, 1.0)];
        let many = table(20, &seen.map(|(size, gap)| (size, 1e9 / (gap + size as f64))));
        // One pair is so slow with 16 B and 32 B that ten pairs cannot exceed the measured rate.
        let slow = |size: u64| if size == 16 || size == 32 { 0.1 } else { 1.0 };
        let one = table(2, &seen.map(|(size, gap)| (size, slow(size) * 1e9 / (gap + size as f64))));
        let (steps, greatest) = gaps(&many, Some(&one), Some(1e9)).unwrap();
        let nanoseconds = [8, 16, 32, 64, 1024].map(|size| (steps.above(size - 1) * 1e9).round());
        assert_eq!((nanoseconds, greatest), ([20.0, 20.0, 10.0, 30.0, 0.0], 64));
        // Without the windows of one pair the adapter counts as the limit of the message rate. If the cores limit the
        // least message size, the windows yield no gap.
        let (steps, _) = gaps(&many, None, Some(1e9)).unwrap();
        assert_eq!((steps.above(15) * 1e9).round(), 50.0);
        assert_eq!(gaps(&table(20, &[(8, 1e6)]), Some(&table(2, &[(8, 1e5)])), None), None);
    }

    #[test]
    fn without_a_wire_all_sizes_are_the_cores() {
        let ping_pong = table(2, &[(0, 1e-6), (8, 1e-6), (4096, 1e-6)]);
        let window = table(2, &[(8, 64e6 / 10.0), (4096, 64e6 / 28.9)]);
        let (steps, greatest) = core_costs(&window, &ping_pong, None).unwrap();
        let nanoseconds = [8, 4096].map(|size| (steps.above(size - 1) * 1e9).round());
        assert_eq!((nanoseconds, greatest), ([127.0, 427.0], 4096));
        assert!(core_costs(&window, &table(2, &[(0, 1e-6)]), None).is_none());
    }
}
