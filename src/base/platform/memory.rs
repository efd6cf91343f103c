//! Caches, memory and interconnects that copies of messages within a node use. These resources have an effect only if a
//! level within a node uses the contention model `fair` ([`Contention::Fair`](super::Contention::Fair)).

use serde::Deserialize;

use crate::units::{Bandwidth, Bytes};

/// Resources that copies of messages within a node use: caches, and the memory that copies share whose buffers exceed
/// the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyMemory {
    /// Total bytes of the last-level caches of a CMP. Copies between buffers in these caches use no memory bandwidth.
    /// The value is [`Bytes::MAX`] if the platform states no caches, so that all buffers are in caches.
    pub cache: Bytes,
    /// Bytes that a full cache replaces.
    pub replacement: CacheReplacement,
    /// Bytes per second that all copies of a CMP together may move from and to the CMP's memory; `None`: no limit.
    pub cmp: Option<Bandwidth>,
    /// Bytes per second that all copies of a node together may move from and to memory; `None`: no limit.
    pub node: Option<Bandwidth>,
    /// Bytes moved from and to memory per copied byte.
    pub traffic: CopyTraffic,
    /// Bytes per second between a CMP and the other CMPs of its node in each direction; `None`: no limit.
    pub interconnect: Option<Bandwidth>,
    /// Bytes per second that real code of a single rank moves through the caches of the CMP, during the part of its
    /// time that is bounded by memory.
    pub code: u64,
}

impl CopyMemory {
    /// Returns whether the platform states caches, so that a buffer may be in a cache or not.
    pub fn has_caches(&self) -> bool {
        self.cache < Bytes::MAX
    }

    /// Creates a description of a node in which copies share only the interconnect between CMPs.
    pub fn of_interconnect(interconnect: Bandwidth) -> Self {
        let traffic = CopyTraffic::default();
        let (cache, replacement, interconnect) = (Bytes::MAX, CacheReplacement::default(), Some(interconnect));
        CopyMemory { cache, replacement, cmp: None, node: None, traffic, interconnect, code: 0 }
    }
}

/// Choice of the bytes that leave a full cache when other bytes enter it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CacheReplacement {
    /// The whole buffer whose last use is longest ago.
    #[default]
    LeastRecent,
    /// Bytes from every buffer, with equal probability, so that a cache may hold a part of a buffer.
    Random,
}

/// Bytes moved from and to memory per copied byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyTraffic {
    /// A copied byte is read once and written once, because stores bypass the caches.
    #[default]
    Two,
    /// A copied byte is read twice and written once, because a cache line is fetched before it is written
    /// (write-allocate).
    Three,
}

impl CopyTraffic {
    /// Creates the value for 2 or 3 moved bytes per copied byte; `None` for other numbers.
    pub fn new(bytes: u32) -> Option<Self> {
        match bytes {
            2 => Some(CopyTraffic::Two),
            3 => Some(CopyTraffic::Three),
            _ => None,
        }
    }

    /// Returns the bytes moved at the memory of the source and at the memory of the destination, per copied byte.
    pub fn parts(self) -> [u64; 2] {
        match self {
            CopyTraffic::Two => [1, 1],
            CopyTraffic::Three => [1, 2],
        }
    }
}
