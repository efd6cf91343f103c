//! Causes of the contention on the critical path, for contention models in which transfers share resources over time.

use serde::{Deserialize, Serialize};

use crate::platform::{Level, Places};
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
    /// Uplink of a group of nodes, or link of a network, that other messages use at the same time.
    Uplink(UplinkKind),
}

/// Kind of an uplink or link: its kind of group, smallest groups first, or its layer in the network. All kinds from the
/// last on count as one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UplinkKind(u8);

impl UplinkKind {
    /// Number of kinds that are distinguished.
    pub const COUNT: usize = 4;

    /// All kinds.
    pub const ALL: [UplinkKind; UplinkKind::COUNT] = [UplinkKind(0), UplinkKind(1), UplinkKind(2), UplinkKind(3)];

    /// Returns the kind of the uplinks of the group, or of the links of the layer, with this index.
    #[inline]
    pub fn new(index: usize) -> UplinkKind {
        UplinkKind(index.min(UplinkKind::COUNT - 1) as u8)
    }

    /// Returns the name of the kind in reports. The last kind has the name `other links` if it has several members.
    pub fn name(self, places: &Places) -> String {
        let names = places.uplink_names();
        let mut own = names.iter().filter(|(at, _)| UplinkKind::new(*at) == self).map(|(_, name)| *name);
        match (own.next(), own.next()) {
            (Some(name), None) => name.to_owned(),
            _ => "other links".to_owned(),
        }
    }

    /// Returns the kind with this name.
    pub fn named(name: &str, places: &Places) -> Option<UplinkKind> {
        UplinkKind::ALL.into_iter().find(|kind| kind.name(places) == name)
    }

    /// Returns the index of the kind, less than [`UplinkKind::COUNT`].
    #[inline]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// Contention on the critical path for the uplinks or links of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UplinkContention {
    /// Name of the kind, such as `leaf to level 2`.
    pub kind: String,
    /// Contention on the critical path.
    #[serde(rename = "contention_ps", deserialize_with = "picoseconds")]
    pub contention: SimSpan,
}

impl UplinkContention {
    /// Returns the contention for each kind of uplink of `places` with contention. `charged` returns the contention of a
    /// kind.
    pub fn rows(places: &Places, charged: impl Fn(UplinkKind) -> SimSpan) -> Vec<UplinkContention> {
        let rows = UplinkKind::ALL.into_iter().map(|kind| {
            let kind_name = kind.name(places);
            UplinkContention { kind: kind_name, contention: charged(kind) }
        });
        rows.filter(|row| row.contention > SimSpan::ZERO).collect()
    }
}

impl Resource {
    /// All resources for which a message may wait.
    pub const ALL: [Resource; 12] = [
        Resource::Core,
        Resource::AdapterOut,
        Resource::AdapterIn,
        Resource::Duplex,
        Resource::Gap,
        Resource::Cache,
        Resource::Memory,
        Resource::Interconnect,
        Resource::Uplink(UplinkKind(0)),
        Resource::Uplink(UplinkKind(1)),
        Resource::Uplink(UplinkKind(2)),
        Resource::Uplink(UplinkKind(3)),
    ];

    /// Returns the index of the resource in [`Resource::ALL`].
    #[inline]
    pub fn index(self) -> usize {
        match self {
            Resource::Core => 0,
            Resource::AdapterOut => 1,
            Resource::AdapterIn => 2,
            Resource::Duplex => 3,
            Resource::Gap => 4,
            Resource::Cache => 5,
            Resource::Memory => 6,
            Resource::Interconnect => 7,
            Resource::Uplink(kind) => 8 + kind.index(),
        }
    }
}

/// Contention on the critical path of the messages of one level of the machine, by resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[allow(missing_docs)]
pub struct ContentionLevels {
    pub intra_cmp: ContentionParts,
    pub inter_cmp: ContentionParts,
    pub inter_node: ContentionParts,
}

impl ContentionParts {
    /// Returns the contention by resource: the name of the resource in the JSON form, and the time.
    pub fn by_resource(&self) -> [(&'static str, SimSpan); 9] {
        [
            ("core", self.core),
            ("adapter_out", self.adapter_out),
            ("adapter_in", self.adapter_in),
            ("duplex", self.duplex),
            ("gap", self.gap),
            ("cache", self.cache),
            ("memory", self.memory),
            ("interconnect", self.interconnect),
            ("uplink", self.uplink),
        ]
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
                uplink: UplinkKind::ALL.into_iter().map(|kind| part(Resource::Uplink(kind))).sum(),
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
