//! How much of the buffers of messages a CMP's caches hold, and what its memory copies beyond.
//!
//! All pairs of a CMP exchange messages, each from and to a buffer of its own, with more and more of them. As in the
//! model, buffers that are used in turn and do not fit together are never in the caches. A byte copied moves two, one
//! read and one written, so that
//!
//! ```text
//! cache          = bytes of all buffers where the rate is √(most · last)
//! copy_bandwidth = 2 · after, and no more than memory_bandwidth
//! ```
//!
//! with the most that any number of buffers reaches, what the last, greatest ones do, and what some do after code has
//! driven all out of the caches. That is less than the last: what finds memory, such as tables of pages, has left, too.
//! On the logarithms of bytes and rates the number is between those of the two nearest series.

use mcpsim_core::platform::Level;

use super::samples::{SampleSeries, Samples, Test};
use super::statistics::Summary;

/// Rates beyond caches that are this part of those within, or more, tell no end of them.
const SLOWER: f64 = 0.8;
/// The two series with most buffers are both beyond the caches if their rates differ by no more than this.
const LEVEL: f64 = 1.25;

/// What a platform's `[cmp]` says of copies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredCaches {
    /// Bytes of buffers that fit.
    pub cache: f64,
    /// What all ranks of a CMP copy together beyond, bytes a second.
    pub copied: f64,
}

impl MeasuredCaches {
    /// What `samples` tell; `None` where nothing was measured, or caches hold all that was tried.
    pub fn of(samples: &Samples) -> Option<MeasuredCaches> {
        let mut rates: Vec<(f64, f64)> =
            samples.of(Level::IntraCmp, Test::ManyBuffers).into_iter().filter_map(rate).collect();
        // The least is a message alone, which waits for its handshake.
        let most = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        let from = rates.iter().position(|(_, rate)| *rate == most)?;
        rates.drain(..from);
        let [.., (_, before), (_, last)] = *rates else { return None };
        if last > SLOWER * most || before > LEVEL * last {
            return None;
        }
        let end = (most * last).sqrt();
        let place = rates.iter().position(|(_, rate)| *rate <= end)?;
        let ((held, quick), (beyond, slow)) = (rates[place.checked_sub(1)?], rates[place]);
        let part = (quick / end).ln() / (quick / slow).ln();
        let after = samples.of(Level::IntraCmp, Test::AfterCode).into_iter().find_map(rate);
        let copied = after.map_or(last, |(_, after)| after.min(last));
        Some(MeasuredCaches { cache: held * (beyond / held).powf(part), copied })
    }
}

/// Bytes of all buffers, and bytes a second that are copied.
fn rate(series: &SampleSeries) -> Option<(f64, f64)> {
    let seconds = Summary::of(&series.seconds)?.median;
    // Each pair's ranks both send and receive as many.
    let moved = 2.0 * f64::from(series.load) * series.bytes as f64;
    (seconds > 0.0).then(|| (2.0 * moved, moved / seconds))
}
