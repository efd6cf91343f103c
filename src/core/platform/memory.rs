//! Caches, memory, and what is between CMPs, that copies within a node pass. Heeded where levels within a node share
//! fairly ([`LoadLaw::Fair`](super::LoadLaw::Fair)) only.

use crate::units::{Bandwidth, Bytes};

/// What copies within a node find: caches, and the memory that those beyond them share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyMemory {
    /// Bytes of the last-level caches of a CMP together: copies between buffers that are in there use no memory.
    /// [`Bytes::MAX`] where no cache is stated: all buffers are in caches.
    pub cache: Bytes,
    /// Bytes a second that copies of a CMP may move together from and to its memory; none: no limit.
    pub cmp: Option<Bandwidth>,
    /// The same of a node.
    pub node: Option<Bandwidth>,
    /// What is moved for each byte copied.
    pub traffic: CopyTraffic,
    /// Bytes a second between a CMP and the other CMPs of its node, each way; none: no limit.
    pub interconnect: Option<Bandwidth>,
    /// Bytes a second that pass a CMP's caches while real code computes there alone: as far as memory bounds it, what
    /// its core moves.
    pub code: u64,
}

impl CopyMemory {
    /// Whether caches are stated, and may hold a buffer or not.
    pub fn has_caches(&self) -> bool {
        self.cache < Bytes::MAX
    }

    /// What counts between CMPs alone.
    pub fn of_interconnect(interconnect: Bandwidth) -> Self {
        let traffic = CopyTraffic::default();
        CopyMemory { cache: Bytes::MAX, cmp: None, node: None, traffic, interconnect: Some(interconnect), code: 0 }
    }
}

/// Bytes moved from and to memory for each byte that is copied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyTraffic {
    /// Read and written: stores pass the caches by.
    #[default]
    Two,
    /// Read, read and written: a line is fetched before it is written (write-allocate).
    Three,
}

impl CopyTraffic {
    /// So many bytes, if it is 2 or 3.
    pub fn new(bytes: u32) -> Option<Self> {
        match bytes {
            2 => Some(CopyTraffic::Two),
            3 => Some(CopyTraffic::Three),
            _ => None,
        }
    }

    /// What is moved at the memory that is copied from, and at that which is copied to, for each byte.
    pub fn parts(self) -> [u64; 2] {
        match self {
            CopyTraffic::Two => [1, 1],
            CopyTraffic::Three => [1, 2],
        }
    }
}
