//! Repetition of tests with results that disagree with those of neighbouring message sizes, to separate noise from
//! properties of the machine.
//!
//! An effect of the machine occurs again when the test is repeated later. Noise from other users has ended when the
//! test is repeated, or affects other tests.

use mcpsim_core::platform::Level;

use super::super::protocol::{self, RankPair};
use super::super::samples::{SampleSeries, Samples, Test};
use super::super::statistics::Summary;
use super::{Campaign, Next};

/// Relative uncertainty of a median above which a test is repeated.
const UNSURE: f64 = 0.05;
/// Ratio of a message's time to the time of a message of the next larger size above which a test is repeated.
const OUT_OF_ORDER: f64 = 1.1;
/// Number of repetitions of each test whose results disagree.
const ROUNDS: usize = 2;

impl Campaign<'_> {
    /// Repeats ping-pongs and windows of the network level `level` whose samples disagree with each other or with
    /// neighbouring sizes.
    pub(super) fn again(&mut self, level: Level, pair: RankPair) {
        for _ in 0..ROUNDS {
            for (test, bytes) in disagreeing(&self.samples, level) {
                if self.is_late() {
                    return;
                }
                let Some(place) = self.samples.series.iter().position(|of| is(of, level, test, bytes)) else {
                    continue;
                };
                let before = self.samples.series[place].clone();
                let count = before.count;
                let next = Next { level: Some(level), test, bytes, load: 1, count, leader: pair.first };
                match test {
                    Test::PingPong => {
                        self.series(next, |port| protocol::ping_pong(port, pair, bytes, (count / 2).max(1)));
                    }
                    _ => self.series(next, |port| protocol::window(port, pair, bytes, count)),
                }
                let again = self.samples.series.pop().expect("a series was made");
                self.samples.series[place] = quieter(before, again);
            }
        }
    }
}

/// For each message size and load of `test`, keeps only the sample series with the least noise.
pub(super) fn quieter_of_all(all: &mut Vec<SampleSeries>, test: Test) {
    let mut place = 0;
    while place < all.len() {
        let of = &all[place];
        let key = |of: &SampleSeries| (of.level, of.test, of.bytes, of.load);
        let other = all[place + 1..].iter().position(|other| of.test == test && key(other) == key(of));
        match other {
            Some(further) => {
                let again = all.remove(place + 1 + further);
                let before = all.remove(place);
                all.insert(place, quieter(before, again));
            }
            None => place += 1,
        }
    }
}

fn is(series: &SampleSeries, level: Level, test: Test, bytes: u64) -> bool {
    (series.level, series.test, series.bytes, series.load) == (Some(level), test, bytes, 1)
}

/// Returns the sample series with the lower median time, because noise only adds time.
fn quieter(one: SampleSeries, other: SampleSeries) -> SampleSeries {
    let median = |of: &SampleSeries| Summary::of(&of.seconds).map_or(f64::INFINITY, |summary| summary.median);
    if median(&other) < median(&one) { other } else { one }
}

/// Returns the tests and message sizes of the network level `level` whose median is uncertain or exceeds the time of a
/// larger message.
fn disagreeing(samples: &Samples, level: Level) -> Vec<(Test, u64)> {
    let mut found = Vec::new();
    for test in [Test::PingPong, Test::Window] {
        let series: Vec<(&SampleSeries, Summary)> =
            samples.of(level, test).into_iter().filter_map(|of| Some((of, Summary::of(&of.seconds)?))).collect();
        // Windows of different sizes have different numbers of messages, so times per message are compared.
        let each = |(of, summary): &(&SampleSeries, Summary)| match test {
            Test::Window => summary.median / f64::from(of.count.max(1)),
            _ => summary.median,
        };
        for (place, of) in series.iter().enumerate() {
            let later = series.get(place + 1).is_some_and(|next| each(of) > OUT_OF_ORDER * each(next));
            if of.1.uncertainty > UNSURE || later {
                found.push((test, of.0.bytes));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(bytes: u64, seconds: &[f64]) -> SampleSeries {
        let level = Some(Level::InterNode);
        SampleSeries { level, test: Test::PingPong, bytes, load: 1, count: 2, seconds: seconds.to_vec() }
    }

    #[test]
    fn what_takes_longer_than_more_bytes_or_is_unsure_disagrees() {
        let unsure: Vec<f64> = (0..20).map(|n| 1e-5 * (1.0 + f64::from(n % 5))).collect();
        let all = [series(1, &[1e-6; 9]), series(2, &[3e-6; 9]), series(4, &[1.1e-6; 9]), series(8, &unsure)];
        let samples = Samples { series: all.to_vec(), ..Samples::default() };
        assert_eq!(disagreeing(&samples, Level::InterNode), [(Test::PingPong, 2), (Test::PingPong, 8)]);
        assert!(disagreeing(&samples, Level::IntraCmp).is_empty());
    }

    #[test]
    fn the_quieter_of_two_measurements_counts() {
        assert_eq!(quieter(series(1, &[2.0]), series(1, &[1.0])).seconds, [1.0]);
        assert_eq!(quieter(series(1, &[1.0]), series(1, &[2.0])).seconds, [1.0]);
    }
}
