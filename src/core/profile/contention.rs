//! Causes of the contention on the critical path, with resources shared over time.

use serde::{Deserialize, Serialize};

use crate::platform::Level;
use crate::units::{SimSpan, picoseconds};

use super::PathParts;

/// Resource that a message may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Core that copies.
    Core,
    /// Adapter, outgoing.
    AdapterOut,
    /// Adapter, incoming.
    AdapterIn,
    /// Both directions together, of an adapter or of a pair of nodes.
    Duplex,
    /// Gap between messages of an adapter.
    Gap,
    /// Caches that do not hold the message's buffers: additional time of its copy, without other copies.
    Cache,
    /// Memory shared with others.
    Memory,
    /// Interconnect between the CMPs of a node, shared with others.
    Interconnect,
}

impl Resource {
    /// All resources.
    pub const ALL: [Resource; 8] = [
        Resource::Core,
        Resource::AdapterOut,
        Resource::AdapterIn,
        Resource::Duplex,
        Resource::Gap,
        Resource::Cache,
        Resource::Memory,
        Resource::Interconnect,
    ];
}

/// Contention of a level by resource. The sum is the level's contention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentionParts {
    /// Cores busy with other copies, or slower than the ping-pong's bandwidth.
    #[serde(rename = "core_ps", deserialize_with = "picoseconds")]
    pub core: SimSpan,
    /// Adapters, outgoing.
    #[serde(rename = "adapter_out_ps", deserialize_with = "picoseconds")]
    pub adapter_out: SimSpan,
    /// Adapters, incoming.
    #[serde(rename = "adapter_in_ps", deserialize_with = "picoseconds")]
    pub adapter_in: SimSpan,
    /// Both directions together.
    #[serde(rename = "duplex_ps", deserialize_with = "picoseconds")]
    pub duplex: SimSpan,
    /// Gap between messages of adapters.
    #[serde(rename = "gap_ps", deserialize_with = "picoseconds")]
    pub gap: SimSpan,
    /// Copies whose buffers were in no cache: additional time without other copies.
    #[serde(rename = "cache_ps", deserialize_with = "picoseconds")]
    pub cache: SimSpan,
    /// Memory shared with others.
    #[serde(rename = "memory_ps", deserialize_with = "picoseconds")]
    pub memory: SimSpan,
    /// Interconnect between the CMPs of a node, shared with others.
    #[serde(default, rename = "interconnect_ps", deserialize_with = "picoseconds")]
    pub interconnect: SimSpan,
    /// All other causes: message order of a pair, connections, noise, progress only in calls.
    #[serde(rename = "other_ps", deserialize_with = "picoseconds")]
    pub other: SimSpan,
}

/// Contention on the path, by level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct ContentionLevels {
    pub intra_cmp: ContentionParts,
    pub inter_cmp: ContentionParts,
    pub inter_node: ContentionParts,
}

impl ContentionParts {
    /// Part caused by `resource`.
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
        }
    }
}

impl ContentionLevels {
    /// Divides the contention of `path` by `charged`, the part of a level and resource. The remainder is `other`.
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
                other: path.level(level).contention.saturating_sub(all),
            }
        };
        ContentionLevels {
            intra_cmp: of_level(Level::IntraCmp),
            inter_cmp: of_level(Level::InterCmp),
            inter_node: of_level(Level::InterNode),
        }
    }

    /// Parts of the messages of `level`.
    pub fn level(&self, level: Level) -> &ContentionParts {
        match level {
            Level::IntraCmp => &self.intra_cmp,
            Level::InterCmp => &self.inter_cmp,
            Level::InterNode => &self.inter_node,
        }
    }
}
