//! Series of measured samples, and the CSV format of samples.

use std::collections::BTreeMap;
use std::fmt::Write;

use mcpsim_core::platform::Level;
use mcpsim_core::units::{Bandwidth, Bytes};

use super::statistics::Summary;

/// Message test whose time a sample contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Test {
    /// Half a round trip of a message between two ranks.
    PingPong,
    /// Half a round trip of a message between the ranks of each of `load` concurrent pairs.
    PingPongs,
    /// `count` concurrent messages from one rank to another, and an empty answer.
    Window,
    /// A window of few messages that fit into the caches. The field `load` of the series is also the number of
    /// messages.
    ShortWindow,
    /// Concurrent windows of messages of `load` pairs of ranks.
    Windows,
    /// `count` messages in each direction between the ranks of each of `load` concurrent pairs.
    BothWays,
    /// The test `BothWays` for all pairs, with a separate buffer for each message. The field `load` of the series is
    /// the total number of messages of all pairs in each direction.
    ManyBuffers,
    /// The test `ManyBuffers` after other code on each rank has traversed more memory than the caches have.
    AfterCode,
    /// One send and an empty answer: PRTT(1, 0, s).
    TrainOfOne,
    /// `count` back-to-back sends and an empty answer: PRTT(n, 0, s).
    Train,
    /// `count` sends separated by a delay, and an empty answer: PRTT(n, d, s). The delays are subtracted from the
    /// sample.
    DelayedTrain,
    /// A receive posted long after its message has arrived.
    LateReceive,
    /// Remaining time of a receive that was posted before its message was sent, after the message has had time to
    /// arrive.
    PostedReceive,
    /// The first message between two ranks, and an empty answer.
    FirstMessage,
    /// `count` messages from each of `load` concurrent senders to one rank.
    Incast,
    /// `count` messages in both directions between the ranks of several pairs, with `load` concurrent transfers.
    Exchange,
    /// A message from the first rank of each of `load` concurrent pairs, and an empty answer.
    OneWay,
    /// Exchanges of messages between each rank and its two neighbours in a ring.
    Ring,
}

impl Test {
    /// All message tests.
    pub const ALL: [Test; 18] = [
        Test::PingPong,
        Test::PingPongs,
        Test::Window,
        Test::ShortWindow,
        Test::Windows,
        Test::BothWays,
        Test::ManyBuffers,
        Test::AfterCode,
        Test::TrainOfOne,
        Test::Train,
        Test::DelayedTrain,
        Test::LateReceive,
        Test::PostedReceive,
        Test::FirstMessage,
        Test::Incast,
        Test::Exchange,
        Test::OneWay,
        Test::Ring,
    ];

    /// Returns the name of the message test in files.
    pub const fn name(self) -> &'static str {
        match self {
            Test::PingPong => "ping_pong",
            Test::PingPongs => "ping_pongs",
            Test::Window => "window",
            Test::ShortWindow => "short_window",
            Test::Windows => "windows",
            Test::BothWays => "both_ways",
            Test::ManyBuffers => "many_buffers",
            Test::AfterCode => "after_code",
            Test::TrainOfOne => "train_of_one",
            Test::Train => "train",
            Test::DelayedTrain => "delayed_train",
            Test::LateReceive => "late_receive",
            Test::PostedReceive => "posted_receive",
            Test::FirstMessage => "first_message",
            Test::Incast => "incast",
            Test::Exchange => "exchange",
            Test::OneWay => "one_way",
            Test::Ring => "ring",
        }
    }
}

/// Samples of one message test at one network level with one message size and load.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleSeries {
    /// Network level that the messages cross; `None` for rings, which cross several levels.
    pub level: Option<Level>,
    /// Message test that yields the samples.
    pub test: Test,
    /// Size of each message in bytes.
    pub bytes: u64,
    /// Number of concurrent transfers on the shared resource; for rings, the index of ring pattern and method.
    pub load: u32,
    /// Number of messages per sample; for exchanges, number of messages per rank.
    pub count: u32,
    /// Samples in the order of measurement, seconds.
    pub seconds: Vec<f64>,
}

/// All samples of a measurement campaign.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    /// Sample series in the order of measurement.
    pub series: Vec<SampleSeries>,
    /// Largest eager message size of each measured network level; `None` if messages of all tested sizes are eager.
    pub eager: Vec<(Level, Option<u64>)>,
    /// Number of small messages that a rank may have in flight to another rank. Only network levels at which further
    /// sends wait have an entry.
    pub credits: Vec<(Level, u32)>,
    /// Total bandwidth of all ranks as defined by b_eff, bytes per second.
    pub effective_bandwidth: Option<f64>,
}

impl Samples {
    /// Returns the sample series of a message test at a network level, in increasing order of message sizes.
    pub fn of(&self, level: Level, test: Test) -> Vec<&SampleSeries> {
        let mut found: Vec<&SampleSeries> =
            self.series.iter().filter(|series| series.level == Some(level) && series.test == test).collect();
        found.sort_by_key(|series| (series.bytes, series.load));
        found
    }

    /// Returns the median times of a message test at a network level, by message size.
    pub fn medians(&self, level: Level, test: Test) -> Vec<(u64, f64)> {
        let median = |series: &&SampleSeries| Some((series.bytes, Summary::of(&series.seconds)?.median));
        self.of(level, test).iter().filter_map(median).collect()
    }

    /// Returns the median time of a message test at a network level; 0 if the test was not measured.
    pub fn median(&self, level: Level, test: Test, bytes: u64) -> f64 {
        self.medians(level, test).into_iter().find(|(size, _)| *size == bytes).map_or(0.0, |(_, median)| median)
    }

    /// Returns a text that describes the incast bandwidth with the most senders; `None` with fewer than two senders.
    pub fn incast(&self, level: Level) -> Option<String> {
        let all = self.of(level, Test::Incast);
        let most = all.iter().map(|of| of.load).max().filter(|most| *most > 1)?;
        let of_most = || all.iter().filter(|of| of.load == most);
        let each = |of: &SampleSeries| Some(Summary::of(&of.seconds)?.median / f64::from(of.load * of.count));
        let (small, large) = (of_most().next()?, of_most().next_back()?);
        let rate = Bandwidth::new((large.bytes as f64 / each(large)?) as u64)?;
        let messages = 1e-6 / each(small)?;
        let (many, few) = (Bytes::new(large.bytes), Bytes::new(small.bytes));
        Some(format!(
            "Incast: {most} ranks that send to one rank reach {rate} with {many}, and {messages:.3} M \
                      messages/s with {few}."
        ))
    }

    /// Returns the ratio of the median time to the median time in `other`, for each series that both sets of samples
    /// contain.
    pub fn ratios_to(&self, other: &Samples) -> Vec<(&SampleSeries, f64)> {
        let key = |of: &SampleSeries| (of.level, of.test, of.load, of.bytes);
        let medians: BTreeMap<_, f64> =
            other.series.iter().filter_map(|of| Some((key(of), Summary::of(&of.seconds)?.median))).collect();
        let mut ratios = Vec::new();
        for series in &self.series {
            let (Some(mine), Some(&other)) = (Summary::of(&series.seconds), medians.get(&key(series))) else {
                continue;
            };
            if mine.median > 0.0 && other > 0.0 {
                ratios.push((series, mine.median / other));
            }
        }
        ratios
    }

    /// Returns the mean absolute logarithm of the ratios between the median times and the median times in `other`.
    pub fn distance(&self, other: &Samples) -> f64 {
        let ratios = self.ratios_to(other);
        ratios.iter().map(|(_, ratio)| ratio.ln().abs()).sum::<f64>() / ratios.len().max(1) as f64
    }

    /// Returns the samples as CSV, one row per sample.
    pub fn csv(&self) -> String {
        let mut text = "level,test,bytes,load,messages,sample,seconds\n".to_owned();
        for series in &self.series {
            let level = series.level.map_or("all", Level::name);
            let SampleSeries { test, bytes, load, count, .. } = series;
            for (number, seconds) in (1..).zip(&series.seconds) {
                let _ = writeln!(text, "{level},{},{bytes},{load},{count},{number},{seconds:.4e}", test.name());
            }
        }
        text
    }

    /// Returns texts that describe the sample series with the most outliers; empty without outliers.
    pub fn worst_outliers(&self) -> Vec<String> {
        let mut found: Vec<(f64, String)> = Vec::new();
        for series in &self.series {
            let Some(summary) = Summary::of(&series.seconds).filter(|summary| summary.outliers > 0) else { continue };
            let level = series.level.map_or("all", Level::name);
            let share = summary.outliers as f64 / summary.count as f64;
            let ratio = summary.most / summary.median;
            let (test, bytes) = (series.test.name(), series.bytes);
            let (outliers, count) = (summary.outliers, summary.count);
            found.push((share, format!("{level} {test} of {bytes} B: {outliers} of {count} samples, the greatest {ratio:.1} times the median")));
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found.into_iter().take(5).map(|(_, text)| text).collect()
    }

    /// Returns the number of samples and the number of outliers in all sample series.
    pub fn counts(&self) -> (usize, usize) {
        let each = self.series.iter().filter_map(|series| Summary::of(&series.seconds));
        each.fold((0, 0), |(all, apart), summary| (all + summary.count, apart + summary.outliers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(bytes: u64, seconds: &[f64]) -> SampleSeries {
        let level = Some(Level::IntraCmp);
        SampleSeries { level, test: Test::PingPong, bytes, load: 1, count: 2, seconds: seconds.to_vec() }
    }

    #[test]
    fn the_csv_has_a_row_a_sample() {
        let samples = Samples { series: vec![series(8, &[1e-6, 2.5e-6])], ..Samples::default() };
        let expected = "level,test,bytes,load,messages,sample,seconds\n\
            intra_cmp,ping_pong,8,1,2,1,1.0000e-6\nintra_cmp,ping_pong,8,1,2,2,2.5000e-6\n";
        assert_eq!(samples.csv(), expected);
    }

    #[test]
    fn series_are_found_by_size_and_outliers_named() {
        let mut apart = vec![1e-6, 1.1e-6, 1.2e-6, 1.1e-6, 1.0e-6, 1.15e-6];
        apart.push(9e-6);
        let samples = Samples { series: vec![series(64, &apart), series(8, &[1e-6; 4])], ..Samples::default() };
        assert_eq!(samples.medians(Level::IntraCmp, Test::PingPong), [(8, 1e-6), (64, 1.1e-6)]);
        assert!(samples.medians(Level::InterNode, Test::PingPong).is_empty());
        let expected = "intra_cmp ping_pong of 64 B: 1 of 7 samples, the greatest 8.2 times the median";
        assert_eq!((samples.worst_outliers(), samples.counts()), (vec![expected.to_owned()], (11, 1)));
    }
}
