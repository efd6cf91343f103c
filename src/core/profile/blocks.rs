//! Computing blocks under shared memory bandwidth.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, SimSpan, picoseconds};

/// Statistics of computing blocks that moved bytes from and to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockUse {
    /// Number of blocks.
    pub count: u64,
    /// Number of bytes moved from and to memory.
    pub bytes: u64,
    /// Number of blocks that took longer than without sharing.
    pub slowed_count: u64,
    /// Sum of the additional times of blocks that took longer than without sharing.
    #[serde(rename = "slowed_ps", deserialize_with = "picoseconds")]
    pub slowed: SimSpan,
}

impl BlockUse {
    /// Adds a block that moved `bytes` bytes and took `slowed` longer than without sharing.
    #[inline]
    pub fn add(&mut self, bytes: Bytes, slowed: SimSpan) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes.get());
        self.slowed_count += u64::from(slowed > SimSpan::ZERO);
        self.slowed += slowed;
    }

    /// Adds the blocks of other nodes.
    pub fn merge(&mut self, other: BlockUse) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.slowed_count += other.slowed_count;
        self.slowed += other.slowed;
    }
}
