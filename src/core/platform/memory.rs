//! Caches, memory and interconnects used by copies within a node. Only used if a level within a node is fair
//! ([`Contention::Fair`](super::Contention::Fair)).

use crate::units::{Bandwidth, Bytes};

/// Resources of copies within a node: caches, and the memory shared by copies that exceed them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyMemory {
    /// Total bytes of the last-level caches of a CMP: copies between buffers in these use no memory. [`Bytes::MAX`]
    /// without stated caches: all buffers are in caches.
    pub cache: Bytes,
    /// Bytes per second that all copies of a CMP may move from and to its memory; `None`: no limit.
    pub cmp: Option<Bandwidth>,
    /// Bytes per second that all copies of a node may move; `None`: no limit.
    pub node: Option<Bandwidth>,
    /// Bytes moved per copied byte.
    pub traffic: CopyTraffic,
    /// Bytes per second between a CMP and the other CMPs of its node, per direction; `None`: no limit.
    pub interconnect: Option<Bandwidth>,
    /// Bytes per second that real code on a single core moves through the CMP's caches, for the part of its time
    /// bounded by memory.
    pub code: u64,
}

impl CopyMemory {
    /// Whether caches are stated, which may or may not hold a buffer.
    pub fn has_caches(&self) -> bool {
        self.cache < Bytes::MAX
    }

    /// Creates a description with only the interconnect between CMPs.
    pub fn of_interconnect(interconnect: Bandwidth) -> Self {
        let traffic = CopyTraffic::default();
        CopyMemory { cache: Bytes::MAX, cmp: None, node: None, traffic, interconnect: Some(interconnect), code: 0 }
    }
}

/// Bytes moved from and to memory per copied byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyTraffic {
    /// One read and one write: stores bypass the caches.
    #[default]
    Two,
    /// Two reads and one write: a cache line is fetched before it is written (write-allocate).
    Three,
}

impl CopyTraffic {
    /// Creates the value for 2 or 3 bytes.
    pub fn new(bytes: u32) -> Option<Self> {
        match bytes {
            2 => Some(CopyTraffic::Two),
            3 => Some(CopyTraffic::Three),
            _ => None,
        }
    }

    /// Bytes moved at the source memory and at the destination memory, per copied byte.
    pub fn parts(self) -> [u64; 2] {
        match self {
            CopyTraffic::Two => [1, 1],
            CopyTraffic::Three => [1, 2],
        }
    }
}
