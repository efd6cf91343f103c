//! What copies within nodes found, where the platform states caches.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, SimSpan, picoseconds};

/// Copies within nodes: how many went through memory, what they moved there, and how long they took for it.
///
/// Those too small for caches to feel are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyUse {
    /// How many copies.
    pub count: u64,
    /// Their sizes' sum.
    pub bytes: u64,
    /// How many had a buffer that the caches did not hold.
    pub memory_count: u64,
    /// The sum of the sizes of these.
    pub memory_bytes: u64,
    /// What they moved from and to memories.
    pub moved_bytes: u64,
    /// The same at the CMP where it was most.
    pub busiest_bytes: u64,
    /// Bytes a second that copies may move at a CMP's memory; 0 if there is no limit.
    pub cmp_bytes_per_s: u64,
    /// For so long copies waited for their core to have done earlier ones, all waits together.
    #[serde(rename = "waited_ps", deserialize_with = "picoseconds")]
    pub waited: SimSpan,
    /// So much longer than a core takes did those through memory, all together.
    #[serde(rename = "slowed_ps", deserialize_with = "picoseconds")]
    pub slowed: SimSpan,
}

impl CopyUse {
    /// A copy that has waited for its core.
    pub fn begin(&mut self, size: Bytes, waited: SimSpan) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(size.get());
        self.waited += waited;
    }

    /// It goes through memory, and moves so many bytes there.
    pub fn begin_through_memory(&mut self, size: Bytes, moved: u64) {
        self.memory_count += 1;
        self.memory_bytes = self.memory_bytes.saturating_add(size.get());
        self.moved_bytes = self.moved_bytes.saturating_add(moved);
    }

    /// Adds those of other nodes.
    pub fn merge(&mut self, other: CopyUse) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.memory_count += other.memory_count;
        self.memory_bytes = self.memory_bytes.saturating_add(other.memory_bytes);
        self.moved_bytes = self.moved_bytes.saturating_add(other.moved_bytes);
        self.busiest_bytes = self.busiest_bytes.max(other.busiest_bytes);
        self.cmp_bytes_per_s = self.cmp_bytes_per_s.max(other.cmp_bytes_per_s);
        self.waited += other.waited;
        self.slowed += other.slowed;
    }
}
