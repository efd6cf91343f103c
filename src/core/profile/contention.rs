//! What the contention on the critical path was for, where messages share over time what they occupy.

use serde::{Deserialize, Serialize};

use crate::platform::Level;
use crate::units::{SimSpan, picoseconds};

use super::PathParts;

/// What a message may wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A core that copies.
    Core,
    /// An adapter, outwards.
    AdapterOut,
    /// An adapter, inwards.
    AdapterIn,
    /// Both directions together, of an adapter or of two nodes.
    Duplex,
    /// The gap between messages of an adapter.
    Gap,
    /// Caches that do not hold the message's buffers: what its copy takes longer for it, alone.
    Cache,
    /// Memory that others use as well.
    Memory,
    /// What is between the CMPs of a node, and others use as well.
    Interconnect,
}

impl Resource {
    /// All of them.
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

/// The contention of a level by what messages waited for; the sum is the level's contention.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentionParts {
    /// Cores that copied other messages, or copy slower than the ping-pong's bandwidth.
    #[serde(rename = "core_ps", deserialize_with = "picoseconds")]
    pub core: SimSpan,
    /// Adapters, outwards.
    #[serde(rename = "adapter_out_ps", deserialize_with = "picoseconds")]
    pub adapter_out: SimSpan,
    /// Adapters, inwards.
    #[serde(rename = "adapter_in_ps", deserialize_with = "picoseconds")]
    pub adapter_in: SimSpan,
    /// Both directions together.
    #[serde(rename = "duplex_ps", deserialize_with = "picoseconds")]
    pub duplex: SimSpan,
    /// Adapters, for the gap between messages.
    #[serde(rename = "gap_ps", deserialize_with = "picoseconds")]
    pub gap: SimSpan,
    /// Copies that found their buffers in no cache, as far as they would have been slower alone.
    #[serde(rename = "cache_ps", deserialize_with = "picoseconds")]
    pub cache: SimSpan,
    /// Memory that others used as well.
    #[serde(rename = "memory_ps", deserialize_with = "picoseconds")]
    pub memory: SimSpan,
    /// What is between the CMPs of a node, that others used as well.
    #[serde(default, rename = "interconnect_ps", deserialize_with = "picoseconds")]
    pub interconnect: SimSpan,
    /// What is charged to none of them: order among messages of a pair, connections, noise, progress in calls.
    #[serde(rename = "other_ps", deserialize_with = "picoseconds")]
    pub other: SimSpan,
}

/// The contention on the path, by level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct ContentionLevels {
    pub intra_cmp: ContentionParts,
    pub inter_cmp: ContentionParts,
    pub inter_node: ContentionParts,
}

impl ContentionParts {
    /// What is charged to `resource`.
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
    /// The contention of `path` by what `charged` says of each level; what that leaves is other.
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

    /// The parts of messages of `level`.
    pub fn level(&self, level: Level) -> &ContentionParts {
        match level {
            Level::IntraCmp => &self.intra_cmp,
            Level::InterCmp => &self.inter_cmp,
            Level::InterNode => &self.inter_node,
        }
    }
}
