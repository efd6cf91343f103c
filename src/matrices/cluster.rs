//! Clusters of pairs of ranks whose message times are similar over a range of message lengths. The algorithm is that of
//! Salnikov and Andreev (the tool for automatic clustering of communication tests in multiprocessor systems). The
//! clustering reads time matrices from their file on demand.
//!
//! ```text
//! matrix ─ ranges (steps 1, 2) ─▶ labels ─┐
//! matrix ─ ranges ─────────────▶ labels ─┼─ preliminary (3, 4) ─▶ clusters ─ prolonged (5) ─▶ … ─▶ Partition (6)
//! ```
//!
//! A partition of the clustering is a range of message lengths over which the clusters do not change. The files of the
//! single steps of the algorithm document the choices that the paper leaves open.

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
