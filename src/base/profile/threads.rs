//! Times of the threads of ranks that have clocks of their own.

use serde::{Deserialize, Serialize};

use super::TimeParts;
use crate::units::SimTime;

/// Number of threads per rank whose times and activities are recorded.
pub const LISTED_THREADS: u32 = 256;

/// Time of a thread that has a clock of its own, other than the main thread of its rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ThreadTime {
    /// Rank of the thread.
    pub rank: u32,
    /// Number of the thread among the threads that the rank has started, from 1.
    pub thread: u32,
    /// Virtual time at which the thread started.
    #[serde(rename = "start_ps")]
    pub start: SimTime,
    /// Virtual time at which the thread ended.
    #[serde(rename = "end_ps")]
    pub end: SimTime,
    /// Parts of the time between start and end.
    #[serde(flatten)]
    pub parts: TimeParts,
}
