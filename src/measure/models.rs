//! Textbook models (Hockney, LogP, LogGP) fitted to the samples of each network level, and the methods of university
//! courses for measuring their parameters.

mod course;
#[cfg(test)]
mod tests;

use mcpsim_core::engine::RunError;
use mcpsim_core::platform::{Hockney, LOGP_BYTES, Level, LogGp, LogP, Platform, Shape, Site, Textbook, message_sizes};

use super::campaign::TRAIN;
use super::port::RankPort;
use super::protocol::{self, RankPair};
use super::samples::{SampleSeries, Samples, Test};
use super::simulated::on_simulated;

pub use course::{COURSE_MESSAGES, Course};

/// Greatest message size in tests of a simulated machine, bytes.
const MOST_BYTES: u64 = 4 << 20;

/// Textbook models of a network level.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelModels {
    /// The network level of the textbook models.
    pub level: Level,
    /// Half round trips: message sizes in increasing order, and seconds above zero.
    pub points: Vec<(u64, f64)>,
    /// Hockney's model of the network level.
    pub hockney: Hockney,
    /// LogP model, if core overheads were measured.
    pub log_p: Option<SmallMessage>,
    /// LogGP model, if core overheads were measured.
    pub log_gp: Option<LogGp>,
}

/// LogP parameters, and the measured core times from which they are derived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmallMessage {
    /// Size of the messages, bytes.
    pub bytes: u64,
    /// Core time of a send, seconds.
    pub send: f64,
    /// Core time of a receive, seconds.
    pub recv: f64,
    /// LogP parameters of messages of this size.
    pub log_p: LogP,
}

/// Relative deviation of a model from measured half round trips.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Residual {
    /// Mean absolute deviation of the model.
    pub mean: f64,
    /// Greatest deviation of the model, with its sign.
    pub most: f64,
    /// Message size of the greatest deviation, bytes.
    pub at: u64,
}

impl LevelModels {
    /// Fits the textbook models of the network level `level`. Returns `None` if the samples have ping-pongs of fewer
    /// than two message sizes.
    pub fn of(samples: &Samples, level: Level) -> Option<LevelModels> {
        let mut points = samples.medians(level, Test::PingPong);
        points.retain(|(_, seconds)| *seconds > 0.0);
        points.dedup_by_key(|(bytes, _)| *bytes);
        let hockney = Hockney::fit(&points)?;
        let small = |bytes| small(samples, level, &points, bytes);
        let log_gp = small(1).map(|at| {
            // LogGP counts only the bytes after the first byte of a message.
            let excess = LogGp::fit(at.log_p, &points).per_byte * (at.bytes.max(1) - 1) as f64;
            let one = LogP { latency: (at.log_p.latency - excess).max(0.0), ..at.log_p };
            LogGp::fit(one, &points)
        });
        let log_p = small(LOGP_BYTES);
        Some(LevelModels { level, hockney, log_p, log_gp, points })
    }

    /// Returns the time of a message of `bytes` bytes in a model, seconds. Returns `None` if the model's parameters are
    /// unknown.
    pub fn at(&self, model: Textbook, bytes: u64) -> Option<f64> {
        match model {
            Textbook::Hockney | Textbook::XuHwang => Some(self.hockney.at(bytes)),
            Textbook::LogP => self.log_p.map(|small| small.log_p.message()),
            Textbook::LogGp => self.log_gp.map(|model| model.at(bytes)),
        }
    }

    /// Returns the deviation of a model from the measured points. LogP describes one message size, so only the points
    /// up to this size are used for LogP.
    pub fn residual(&self, model: Textbook) -> Option<Residual> {
        let most = if model == Textbook::LogP { self.log_p?.bytes } else { u64::MAX };
        let points = self.points.iter().filter(|(bytes, _)| *bytes <= most);
        let off: Vec<(f64, u64)> =
            points.filter_map(|&(bytes, seconds)| Some((self.at(model, bytes)? / seconds - 1.0, bytes))).collect();
        let mean = off.iter().map(|(error, _)| error.abs()).sum::<f64>() / off.len().max(1) as f64;
        let (most, at) = off.into_iter().max_by(|a, b| a.0.abs().total_cmp(&b.0.abs()))?;
        Some(Residual { mean, most, at })
    }
}

/// Derives the LogP parameters from messages whose measured size is nearest to `bytes`.
fn small(samples: &Samples, level: Level, points: &[(u64, f64)], bytes: u64) -> Option<SmallMessage> {
    let delayed = samples.medians(level, Test::DelayedTrain);
    let near = |(size, _): &&(u64, f64)| size.abs_diff(bytes);
    let &(bytes, delayed) = delayed.iter().min_by_key(near)?;
    let (_, message) = *points.iter().find(|(size, _)| *size == bytes)?;
    let [one, train, late] =
        [Test::TrainOfOne, Test::Train, Test::LateReceive].map(|test| samples.median(level, test, bytes));
    let further = f64::from(TRAIN - 1);
    let (send, recv) = (((delayed - one) / further).max(0.0), late.max(0.0));
    let gap = ((train - one) / further).max(send).max(recv);
    Some(SmallMessage { bytes, send, recv, log_p: LogP::new(message, [send, recv], gap) })
}

/// Returns the cores of two ranks at each network level of a machine, in the order of levels.
pub fn pairs_of(shape: Shape) -> Vec<(Level, [Site; 2])> {
    let site = |node, cmp, core| Site { node, cmp, core };
    let first = site(0, 0, 0);
    let all = [
        (Level::IntraCmp, shape.cores > 1, site(0, 0, 1)),
        (Level::InterCmp, shape.cmps > 1, site(0, 1, 0)),
        (Level::InterNode, shape.nodes > 1, site(1, 0, 0)),
    ];
    all.into_iter().filter(|(_, there, _)| *there).map(|(level, _, second)| (level, [first, second])).collect()
}

/// Measures the samples that the textbook models need at each network level of a simulated machine, and the results of
/// the courses' methods.
///
/// # Errors
/// The simulation ends without a result, which these tests do not cause.
pub fn sample_models(platform: &Platform) -> Result<(Samples, Vec<(Level, Course)>), RunError> {
    let mut samples = Samples::default();
    let mut courses = Vec::new();
    for (level, sites) in pairs_of(platform.shape) {
        let series = on_simulated(platform, sites.to_vec(), move |port| {
            let mut found = Vec::new();
            let mut take = |test, bytes, count, seconds: f64| {
                found.push(SampleSeries { level: Some(level), test, bytes, load: 1, count, seconds: vec![seconds] });
            };
            let pair = RankPair { first: 0, second: 1 };
            for bytes in message_sizes(MOST_BYTES) {
                take(Test::PingPong, bytes, 2, protocol::ping_pong(port, pair, bytes, 1));
            }
            for bytes in [1, LOGP_BYTES] {
                let mut turn = vec![2.0 * protocol::ping_pong(port, pair, bytes, 1)];
                port.share(pair.first, &mut turn);
                let delay = 1.5 * turn[0] + 1e-6;
                // Adapters are idle when a test begins, and the second rank waits for a message of the first rank
                // before its own send.
                let idle = |port: &mut dyn RankPort| {
                    let rest = 8.0 * turn[0] + 5e-6;
                    port.compute(if port.rank() == pair.second { rest / 2.0 } else { rest });
                };
                idle(port);
                take(Test::TrainOfOne, bytes, 1, protocol::train(port, pair, bytes, 1, 0.0));
                idle(port);
                take(Test::Train, bytes, TRAIN, protocol::train(port, pair, bytes, TRAIN, 0.0));
                let delays = f64::from(TRAIN - 1) * delay;
                idle(port);
                let delayed = protocol::train(port, pair, bytes, TRAIN, delay) - delays;
                take(Test::DelayedTrain, bytes, TRAIN, delayed);
                idle(port);
                let late = protocol::late_receive(port, pair, bytes, 8, 16.0 * turn[0] + 5e-6);
                take(Test::LateReceive, bytes, 8, late);
            }
            (found, Course::measured(port, pair, LOGP_BYTES))
        })?;
        let (series, course) = series;
        samples.series.extend(series);
        courses.push((level, course));
    }
    Ok((samples, courses))
}
