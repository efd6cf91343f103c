//! Statistics of copies within nodes, for platforms that state caches.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, SimSpan, picoseconds};

/// Statistics of message copies within nodes: number, bytes moved through memory, and time.
///
/// Copies too small to be affected by caches are not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CopyUse {
    /// Number of message copies.
    pub count: u64,
    /// Sum of the sizes of the copies in bytes.
    pub bytes: u64,
    /// Number of copies for which a buffer was outside the caches.
    pub memory_count: u64,
    /// Sum of the sizes of copies for which a buffer was outside the caches, in bytes.
    pub memory_bytes: u64,
    /// Number of bytes that copies for which a buffer was outside the caches moved from and to memory.
    pub moved_bytes: u64,
    /// Number of bytes that copies moved at the CMP with the most moved bytes.
    pub busiest_bytes: u64,
    /// Bandwidth of a CMP's memory for copies in bytes per second; 0 means no limit.
    pub cmp_bytes_per_s: u64,
    /// Total time that copies waited for earlier copies by the same core.
    #[serde(rename = "waited_ps", deserialize_with = "picoseconds")]
    pub waited: SimSpan,
    /// Total additional time of copies through memory, compared with copies that only the core limits.
    #[serde(rename = "slowed_ps", deserialize_with = "picoseconds")]
    pub slowed: SimSpan,
}

impl CopyUse {
    /// Adds a copy of `size` bytes that waited `waited` for its core.
    pub fn begin(&mut self, size: Bytes, waited: SimSpan) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(size.get());
        self.waited += waited;
    }

    /// Counts that the copy goes through memory, where it moves `moved` bytes.
    pub fn begin_through_memory(&mut self, size: Bytes, moved: u64) {
        self.memory_count += 1;
        self.memory_bytes = self.memory_bytes.saturating_add(size.get());
        self.moved_bytes = self.moved_bytes.saturating_add(moved);
    }

    /// Adds the copies of other nodes to the statistics.
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
