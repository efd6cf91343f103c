//! Cache capacity for message buffers of a CMP (socket), and copy bandwidth of the CMP from main memory.
//!
//! In the test of caches, all pairs of ranks of a CMP exchange messages. Every message has its own send and receive
//! buffer, and each series of samples uses more messages than the previous series. As in the model of caches, ranks use
//! the buffers in turn, so accesses always miss the caches if all buffers together exceed the caches. A copied byte
//! counts twice, because the core reads the byte and writes the byte:
//!
//! ```text
//! cache          = bytes of all buffers where the rate is √(most · last)
//! copy_bandwidth = 2 · after, and no more than memory_bandwidth
//! ```
//!
//! In the formulas, `most` is the highest copy rate over all numbers of buffers. The value `last` is the copy rate with
//! the most buffers. The value `after` is the copy rate after other code has evicted all buffers from the caches. The
//! copy rate `after` is lower than `last`, because the other code also evicts page tables. The cache size is
//! interpolated between the two nearest series of samples on logarithms of buffer bytes and copy rates.

use mcpsim_core::platform::Level;

use super::samples::{SampleSeries, Samples, Test};
use super::statistics::Summary;

/// Highest ratio of the copy rate with the most buffers to the highest copy rate with which the tests show the cache
/// capacity.
const SLOWER: f64 = 0.8;
/// Highest ratio of the copy rates of the two series with the most buffers at which both series exceed the caches.
const LEVEL: f64 = 1.25;

/// Copy parameters of the table `[cmp]` in a platform file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredCaches {
    /// Bytes of message buffers that fit into the caches.
    pub cache: f64,
    /// Copy bandwidth of all ranks of a CMP from main memory, bytes per second.
    pub copied: f64,
}

impl MeasuredCaches {
    /// Derives the copy parameters from `samples`. Returns `None` if no copies were measured, or if the caches have
    /// room for all buffers.
    pub fn of(samples: &Samples) -> Option<MeasuredCaches> {
        let mut rates: Vec<(f64, f64)> =
            samples.of(Level::IntraCmp, Test::ManyBuffers).into_iter().filter_map(rate).collect();
        // The series with the fewest buffers is excluded, because its single message waits for its handshake.
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

/// Returns the bytes of all buffers in a series of samples, and the bytes copied per second.
fn rate(series: &SampleSeries) -> Option<(f64, f64)> {
    let seconds = Summary::of(&series.seconds)?.median;
    // Both ranks of each pair send and receive the same number of bytes.
    let moved = 2.0 * f64::from(series.load) * series.bytes as f64;
    (seconds > 0.0).then(|| (2.0 * moved, moved / seconds))
}
