//! Clusters of pairs of ranks that are alike over a range of message lengths. The algorithm is that of Salnikov and
//! Andreev (the tool for automatic clustering of communication tests in multiprocessor systems). Matrices are read when
//! they are needed.
//!
//! ```text
//! matrix ─ ranges (steps 1, 2) ─▶ labels ─┐
//! matrix ─ ranges ─────────────▶ labels ─┼─ preliminary (3, 4) ─▶ clusters ─ prolonged (5) ─▶ … ─▶ Partition (6)
//! ```
//!
//! Partitions are ranges of lengths in which clusters stay the same. The files of the steps state the choices that the
//! paper leaves open.

mod agreement;
mod noise;
mod ranges;
mod steps;
mod stream;
#[cfg(test)]
mod tests;

pub use agreement::{Agreement, agreement, levels_of_pairs};
pub use ranges::{Precision, ranges};
pub use stream::{ClusterOptions, ClusterSummary, LengthRange, cluster};
