//! Statistics of computing blocks whose ranks share memory bandwidth.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, SimSpan, picoseconds};

/// Statistics of computing blocks that moved bytes from and to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BlockUse {
    /// Number of computing blocks that moved bytes from and to memory.
    pub count: u64,
    /// Number of bytes moved from and to memory.
    pub bytes: u64,
    /// Number of computing blocks that took longer because ranks shared the memory bandwidth.
    pub slowed_count: u64,
    /// Sum of the additional times of computing blocks because ranks shared the memory bandwidth.
    #[serde(rename = "slowed_ps", deserialize_with = "picoseconds")]
    pub slowed: SimSpan,
}

impl BlockUse {
    /// Adds a computing block that moved `bytes` bytes and took `slowed` longer than it would without sharing of memory
    /// bandwidth.
    #[inline]
    pub fn add(&mut self, bytes: Bytes, slowed: SimSpan) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes.get());
        self.slowed_count += u64::from(slowed > SimSpan::ZERO);
        self.slowed += slowed;
    }

    /// Adds the computing blocks of other nodes.
    pub fn merge(&mut self, other: BlockUse) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.slowed_count += other.slowed_count;
        self.slowed += other.slowed;
    }
}
