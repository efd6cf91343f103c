//! Times of the call paths of a program.

use serde::{Deserialize, Serialize};

use mcpsim_base::units::{SimSpan, picoseconds};

/// Times of a call path, summed over ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PathTimes {
    /// Number of calls.
    pub calls: u64,
    /// Virtual time from the calls to their returns.
    #[serde(rename = "inclusive_ps", deserialize_with = "picoseconds")]
    pub inclusive: SimSpan,
    /// Part of the inclusive time outside of called functions that have a path of their own.
    #[serde(rename = "exclusive_ps", deserialize_with = "picoseconds")]
    pub exclusive: SimSpan,
}

impl std::ops::AddAssign for PathTimes {
    fn add_assign(&mut self, other: PathTimes) {
        self.calls += other.calls;
        self.inclusive += other.inclusive;
        self.exclusive += other.exclusive;
    }
}
