//! Which pairs of ranks are alike over a range of message lengths: the clustering of Salnikov and Andreev (the tool for
//! automatic clustering of communication tests in multiprocessor systems), over matrices that are read as they are
//! needed.
//!
//! ```text
//! matrix ─ ranges (steps 1, 2) ─▶ labels ─┐
//! matrix ─ ranges ─────────────▶ labels ─┼─ preliminary (3, 4) ─▶ clusters ─ prolonged (5) ─▶ … ─▶ Partition (6)
//! ```
//!
//! Partitions are ranges of lengths in which clusters stay the same. What the text leaves open is decided in the files
//! of the steps.

mod agreement;
mod ranges;
mod steps;
mod stream;
#[cfg(test)]
mod tests;

pub use agreement::{Agreement, agreement, levels_of_pairs};
pub use ranges::{Precision, ranges};
pub use stream::{ClusterOptions, ClusterSummary, LengthRange, cluster};
