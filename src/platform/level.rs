//! The shape of the machine and how far apart two of its cores are.

use serde::Serialize;

/// How far apart two cores are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Level {
    /// Both on one CMP (or the same core).
    IntraCmp = 0,
    /// On two CMPs of one node.
    InterCmp = 1,
    /// On two nodes.
    InterNode = 2,
}

impl Level {
    /// From near to far.
    pub const ALL: [Level; 3] = [Level::IntraCmp, Level::InterCmp, Level::InterNode];

    /// The name used in files: `intra_cmp`, `inter_cmp`, `inter_node`.
    pub const fn name(self) -> &'static str {
        match self {
            Level::IntraCmp => "intra_cmp",
            Level::InterCmp => "inter_cmp",
            Level::InterNode => "inter_node",
        }
    }

    /// The level between two sites.
    #[inline]
    pub fn between(a: Site, b: Site) -> Level {
        if a.node != b.node {
            Level::InterNode
        } else if a.cmp != b.cmp {
            Level::InterCmp
        } else {
            Level::IntraCmp
        }
    }
}

/// `(N, C, T)`: N nodes, C CMPs a node, T cores a CMP; each at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Nodes.
    pub nodes: u32,
    /// CMPs in each node.
    pub cmps: u32,
    /// Cores in each CMP.
    pub cores: u32,
}

impl Shape {
    /// All cores of the machine.
    pub fn total_cores(self) -> u64 {
        u64::from(self.nodes) * u64::from(self.cmps) * u64::from(self.cores)
    }

    /// The site of core `index`, counting cores within CMPs within nodes.
    ///
    /// # Panics
    /// If there is no such core.
    pub fn site(self, index: u64) -> Site {
        assert!(index < self.total_cores(), "core {index} of a machine of {} cores", self.total_cores());
        let cmp = index / u64::from(self.cores);
        Site {
            node: (cmp / u64::from(self.cmps)) as u32,
            cmp: (cmp % u64::from(self.cmps)) as u32,
            core: (index % u64::from(self.cores)) as u32,
        }
    }
}

/// A core: its node, its CMP within the node, its number within the CMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Site {
    /// The node, from 0.
    pub node: u32,
    /// The CMP within the node, from 0.
    pub cmp: u32,
    /// The core within the CMP, from 0.
    pub core: u32,
}
