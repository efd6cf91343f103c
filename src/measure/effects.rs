//! Additional costs of messages, such as connection set-up, derived from samples.
//!
//! | key | from |
//! |---|---|
//! | connect | time of a pair's first message minus half a round trip, if the first message takes many times as long |
//! | unexpected_copy | median of s / (late(s) − posted(s)) over the three greatest eager sizes s, if a late receive takes longer than an early one |
//! | credits | number of sends of 8 B that end before the first receive is posted, if this number is limited |
//! | progress | whether a rendezvous message with a posted receive arrives while the core computes for longer than the message takes |

use mcpsim_core::platform::Level;

use super::samples::{Samples, Test};
use super::statistics::Summary;

/// Ratio of the first message's time to a later message's time. Up to this ratio no `connection_time` key is written.
const CONNECTS: f64 = 4.0;
/// Relative excess of a late receive's time over an early receive's time up to which an unexpected message has no
/// additional copy.
const COPIES: f64 = 0.2;
/// Least message size in bytes at which copies are significant.
const LEAST_COPY: u64 = 1024;
/// Fraction of a message's time above which the remaining wait for the message shows that the message did not progress
/// during computation.
const PROGRESSED: f64 = 0.5;

/// Additional message costs in the samples of a network level. A field is `None` if there is no such cost or no sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeasuredEffects {
    /// Additional time of the first message between two ranks, seconds.
    pub connection_time: Option<f64>,
    /// Copy rate of unexpected messages, bytes per second.
    pub unexpected_copy_bandwidth: Option<f64>,
    /// Number of eager messages that a rank may have in flight to another rank before a send waits.
    pub credits: Option<u32>,
    /// True if large messages progress while the receiving core computes.
    pub progresses: Option<bool>,
    /// Time until a rank that waited on a shared core runs again, seconds.
    pub context_switch: Option<f64>,
}

impl MeasuredEffects {
    /// Derives the additional message costs from the samples of the network level `level`; messages up to `eager` bytes
    /// are sent eagerly.
    pub fn of(samples: &Samples, level: Level, eager: Option<u64>) -> MeasuredEffects {
        let alone = |bytes: u64| Some(samples.median(level, Test::PingPong, bytes)).filter(|seconds| *seconds > 0.0);
        let first = samples.of(level, Test::FirstMessage).first().and_then(|series| Summary::of(&series.seconds));
        let connection_time = first.zip(alone(0)).filter(|(first, alone)| first.median > CONNECTS * alone);
        let connection_time =
            connection_time.filter(|_| level == Level::InterNode).map(|(first, alone)| 2.0 * (first.median - alone));
        let posted = samples.medians(level, Test::PostedReceive);
        let late = samples.medians(level, Test::LateReceive);
        let is_eager = |bytes: u64| eager.is_none_or(|eager| bytes <= eager);
        let both = late.iter().rev().filter_map(|(bytes, late)| {
            let (_, posted) = posted.iter().find(|(size, _)| size == bytes)?;
            (is_eager(*bytes) && *bytes >= LEAST_COPY).then_some((*bytes, *late, *posted))
        });
        // The median of three sizes tolerates noise in one size. A message size without copies has an infinite copy
        // rate.
        let rate = |(bytes, late, posted): (u64, f64, f64)| {
            if late - posted > COPIES * late { bytes as f64 / (late - posted) } else { f64::INFINITY }
        };
        let mut rates: Vec<f64> = both.take(3).map(rate).collect();
        rates.sort_by(f64::total_cmp);
        let unexpected_copy_bandwidth = rates.get(rates.len() / 2).copied().filter(|rate| rate.is_finite());
        let parts = posted.iter().filter(|(bytes, _)| !is_eager(*bytes));
        let parts: Vec<f64> = parts.filter_map(|(bytes, posted)| Some(posted / alone(*bytes)?)).collect();
        let progresses = Summary::of(&parts).map(|summary| summary.median < PROGRESSED);
        let credits = samples.credits.iter().find(|(of, _)| *of == level).map(|(_, credits)| *credits);
        MeasuredEffects { connection_time, unexpected_copy_bandwidth, credits, progresses, context_switch: None }
    }
}
