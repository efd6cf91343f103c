//! What messages meet beside their own way, from samples.
//!
//! | key | from |
//! |---|---|
//! | connect | the first message of pairs that have not spoken, less half a round trip, where it is many times that |
//! | unexpected_copy | s / (late(s) − posted(s)), the median of the three greatest eager sizes s, where a late receive takes longer than one posted early |
//! | credits | how many sends of 8 B end before the first receive is posted, where that is a limit |
//! | progress | whether a rendezvous whose receive was posted is there when the core has computed for longer than it takes |

use mcpsim_core::platform::Level;

use super::samples::{Samples, Test};
use super::statistics::Summary;

/// A first message that takes no more than so many times a later one sets up no connection that is worth a key.
const CONNECTS: f64 = 4.0;
/// A late receive that takes at most this part longer than one posted early copies nothing more.
const COPIES: f64 = 0.2;
/// Sizes below say nothing of copies.
const LEAST_COPY: u64 = 1024;
/// A receive that still takes this part of a message's time after the message could have come did not progress.
const PROGRESSED: f64 = 0.5;

/// What the samples of a level tell; `None` where they do not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeasuredEffects {
    /// What the first message of two ranks takes longer, seconds.
    pub connect: Option<f64>,
    /// Bytes a second at which what is not expected is copied.
    pub unexpected_copy: Option<f64>,
    /// Eager messages that a rank may have under way to another.
    pub credits: Option<u32>,
    /// Whether large messages move on while the receiving core computes.
    pub progresses: Option<bool>,
    /// What passes until a rank that has waited goes on, seconds, where both shared a core.
    pub context_switch: Option<f64>,
}

impl MeasuredEffects {
    /// What the samples of `level` tell, where messages up to `eager` are sent eagerly.
    pub fn of(samples: &Samples, level: Level, eager: Option<u64>) -> MeasuredEffects {
        let alone = |bytes: u64| Some(samples.median(level, Test::PingPong, bytes)).filter(|seconds| *seconds > 0.0);
        let first = samples.of(level, Test::FirstMessage).first().and_then(|series| Summary::of(&series.seconds));
        let connect = first.zip(alone(0)).filter(|(first, alone)| first.median > CONNECTS * alone);
        let connect = connect.filter(|_| level == Level::InterNode).map(|(first, alone)| 2.0 * (first.median - alone));
        let posted = samples.medians(level, Test::PostedReceive);
        let late = samples.medians(level, Test::LateReceive);
        let is_eager = |bytes: u64| eager.is_none_or(|eager| bytes <= eager);
        let both = late.iter().rev().filter_map(|(bytes, late)| {
            let (_, posted) = posted.iter().find(|(size, _)| size == bytes)?;
            (is_eager(*bytes) && *bytes >= LEAST_COPY).then_some((*bytes, *late, *posted))
        });
        // A size that noise has hit does not decide alone; where nothing is copied there is no limit.
        let rate = |(bytes, late, posted): (u64, f64, f64)| {
            if late - posted > COPIES * late { bytes as f64 / (late - posted) } else { f64::INFINITY }
        };
        let mut rates: Vec<f64> = both.take(3).map(rate).collect();
        rates.sort_by(f64::total_cmp);
        let unexpected_copy = rates.get(rates.len() / 2).copied().filter(|rate| rate.is_finite());
        let parts = posted.iter().filter(|(bytes, _)| !is_eager(*bytes));
        let parts: Vec<f64> = parts.filter_map(|(bytes, posted)| Some(posted / alone(*bytes)?)).collect();
        let progresses = Summary::of(&parts).map(|summary| summary.median < PROGRESSED);
        let credits = samples.credits.iter().find(|(of, _)| *of == level).map(|(_, credits)| *credits);
        MeasuredEffects { connect, unexpected_copy, credits, progresses, context_switch: None }
    }
}
