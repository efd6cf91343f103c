//! Positions of cores in the machine, and levels of distance between cores.

use serde::{Deserialize, Serialize};

/// Level of distance between two cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Level {
    /// The two cores are on one CMP (or are the same core).
    IntraCmp = 0,
    /// The two cores are on two CMPs of one node.
    InterCmp = 1,
    /// The two cores are on two nodes.
    InterNode = 2,
}

impl Level {
    /// All levels, from near to far.
    pub const ALL: [Level; 3] = [Level::IntraCmp, Level::InterCmp, Level::InterNode];

    /// Name of the level in platform files: `intra_cmp`, `inter_cmp` or `inter_node`.
    pub const fn name(self) -> &'static str {
        match self {
            Level::IntraCmp => "intra_cmp",
            Level::InterCmp => "inter_cmp",
            Level::InterNode => "inter_node",
        }
    }

    /// Level of distance between two cores.
    pub fn between(a: Site, b: Site) -> Level {
        match (a.node == b.node, a.cmp == b.cmp) {
            (false, _) => Level::InterNode,
            (true, false) => Level::InterCmp,
            (true, true) => Level::IntraCmp,
        }
    }
}

/// Position of a core: its node, its CMP within the node, and its number within the CMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Site {
    /// Number of the node, from 0.
    pub node: u32,
    /// Number of the CMP within the node, from 0.
    pub cmp: u32,
    /// Number of the core within the CMP, from 0.
    pub core: u32,
}
