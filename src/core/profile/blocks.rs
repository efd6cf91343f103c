//! What blocks that compute found, where memory is shared over time.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, SimSpan, picoseconds};

/// Blocks that moved bytes from and to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockUse {
    /// How many blocks.
    pub count: u64,
    /// What they moved from and to memories.
    pub bytes: u64,
    /// How many took longer than alone.
    pub slowed_count: u64,
    /// How much longer, all together.
    #[serde(rename = "slowed_ps", deserialize_with = "picoseconds")]
    pub slowed: SimSpan,
}

impl BlockUse {
    /// A block that has moved so much, and took so much longer than alone.
    #[inline]
    pub fn add(&mut self, bytes: Bytes, slowed: SimSpan) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes.get());
        self.slowed_count += u64::from(slowed > SimSpan::ZERO);
        self.slowed += slowed;
    }

    /// Adds those of other nodes.
    pub fn merge(&mut self, other: BlockUse) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.slowed_count += other.slowed_count;
        self.slowed += other.slowed;
    }
}
