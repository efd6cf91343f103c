//! Places of cores and distances between them.

use serde::{Deserialize, Serialize};

/// Distance between two cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Level {
    /// On one CMP (or the same core).
    IntraCmp = 0,
    /// On two CMPs of one node.
    InterCmp = 1,
    /// On two nodes.
    InterNode = 2,
}

impl Level {
    /// All levels, from near to far.
    pub const ALL: [Level; 3] = [Level::IntraCmp, Level::InterCmp, Level::InterNode];

    /// Name in files: `intra_cmp`, `inter_cmp`, `inter_node`.
    pub const fn name(self) -> &'static str {
        match self {
            Level::IntraCmp => "intra_cmp",
            Level::InterCmp => "inter_cmp",
            Level::InterNode => "inter_node",
        }
    }

    /// Distance between two cores.
    pub fn between(a: Site, b: Site) -> Level {
        match (a.node == b.node, a.cmp == b.cmp) {
            (false, _) => Level::InterNode,
            (true, false) => Level::InterCmp,
            (true, true) => Level::IntraCmp,
        }
    }
}

/// A core: its node, its CMP within the node, its number within the CMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Site {
    /// The node, from 0.
    pub node: u32,
    /// The CMP within the node, from 0.
    pub cmp: u32,
    /// The core within the CMP, from 0.
    pub core: u32,
}
