//! Causes of the contention on the critical path, for contention models in which transfers share resources over time.

use serde::{Deserialize, Serialize};

use crate::platform::Level;
use crate::units::{SimSpan, picoseconds};

use super::PathParts;

/// Resource for which a message may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Resource {
    /// Core that copies messages within a node.
    Core,
    /// Outgoing direction of the network adapter of a node.
    AdapterOut,
    /// Incoming direction of the network adapter of a node.
    AdapterIn,
    /// Both directions together, of a network adapter or of a pair of nodes.
    Duplex,
    /// Gap between consecutive messages of a network adapter.
    Gap,
    /// Caches that do not contain the message's buffers: the additional time that the copy of the message takes without
    /// other copies.
    Cache,
    /// Memory bandwidth that other ranks use at the same time.
    Memory,
    /// Interconnect between the CMPs of a node that other messages use at the same time.
    Interconnect,
    /// Uplink of a group of nodes that other messages use at the same time.
    Uplink,
}

impl Resource {
    /// All resources for which a message may wait.
    pub const ALL: [Resource; 9] = [
        Resource::Core,
        Resource::AdapterOut,
        Resource::AdapterIn,
        Resource::Duplex,
        Resource::Gap,
        Resource::Cache,
        Resource::Memory,
        Resource::Interconnect,
        Resource::Uplink,
    ];
}

/// Contention on the critical path of the messages of one level of the machine, by resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentionParts {
    /// Cores that were busy with other copies, or that copy more slowly than the bandwidth of a ping-pong.
    #[serde(rename = "core_ps", deserialize_with = "picoseconds")]
    pub core: SimSpan,
    /// Contention in the outgoing direction of network adapters.
    #[serde(rename = "adapter_out_ps", deserialize_with = "picoseconds")]
    pub adapter_out: SimSpan,
    /// Contention in the incoming direction of network adapters.
    #[serde(rename = "adapter_in_ps", deserialize_with = "picoseconds")]
    pub adapter_in: SimSpan,
    /// Both directions together, of a network adapter or of a pair of nodes.
    #[serde(rename = "duplex_ps", deserialize_with = "picoseconds")]
    pub duplex: SimSpan,
    /// Gap between consecutive messages of network adapters.
    #[serde(rename = "gap_ps", deserialize_with = "picoseconds")]
    pub gap: SimSpan,
    /// Additional time of copies because their buffers were in no cache, without other copies.
    #[serde(rename = "cache_ps", deserialize_with = "picoseconds")]
    pub cache: SimSpan,
    /// Memory bandwidth that other ranks use at the same time.
    #[serde(rename = "memory_ps", deserialize_with = "picoseconds")]
    pub memory: SimSpan,
    /// Interconnect between the CMPs of a node that other messages use at the same time.
    #[serde(default, rename = "interconnect_ps", deserialize_with = "picoseconds")]
    pub interconnect: SimSpan,
    /// Uplinks of groups of nodes that other messages use at the same time.
    #[serde(default, rename = "uplink_ps", deserialize_with = "picoseconds")]
    pub uplink: SimSpan,
    /// All other causes: the order of messages between two ranks, connections, noise, and message progress that happens
    /// only during MPI calls.
    #[serde(rename = "other_ps", deserialize_with = "picoseconds")]
    pub other: SimSpan,
}

/// Contention on the critical path, by level of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct ContentionLevels {
    pub intra_cmp: ContentionParts,
    pub inter_cmp: ContentionParts,
    pub inter_node: ContentionParts,
}

impl ContentionParts {
    /// Contention on the critical path that `resource` caused.
    pub fn of(&self, resource: Resource) -> SimSpan {
        match resource {
            Resource::Core => self.core,
            Resource::AdapterOut => self.adapter_out,
            Resource::AdapterIn => self.adapter_in,
            Resource::Duplex => self.duplex,
            Resource::Gap => self.gap,
            Resource::Cache => self.cache,
            Resource::Memory => self.memory,
            Resource::Interconnect => self.interconnect,
            Resource::Uplink => self.uplink,
        }
    }
}

impl ContentionLevels {
    /// Divides the contention of `path` by cause. `charged` returns the contention that a resource caused for the
    /// messages of a level. The remainder becomes `other`.
    pub fn new(path: &PathParts, charged: impl Fn(Level, Resource) -> SimSpan) -> Self {
        let of_level = |level: Level| {
            let part = |resource| charged(level, resource);
            let all: SimSpan = Resource::ALL.into_iter().map(part).sum();
            ContentionParts {
                core: part(Resource::Core),
                adapter_out: part(Resource::AdapterOut),
                adapter_in: part(Resource::AdapterIn),
                duplex: part(Resource::Duplex),
                gap: part(Resource::Gap),
                cache: part(Resource::Cache),
                memory: part(Resource::Memory),
                interconnect: part(Resource::Interconnect),
                uplink: part(Resource::Uplink),
                other: path.level(level).contention.saturating_sub(all),
            }
        };
        ContentionLevels {
            intra_cmp: of_level(Level::IntraCmp),
            inter_cmp: of_level(Level::InterCmp),
            inter_node: of_level(Level::InterNode),
        }
    }

    /// Contention on the critical path of the messages of `level`.
    pub fn level(&self, level: Level) -> &ContentionParts {
        match level {
            Level::IntraCmp => &self.intra_cmp,
            Level::InterCmp => &self.inter_cmp,
            Level::InterNode => &self.inter_node,
        }
    }
}
