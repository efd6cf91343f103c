//! The target machine as pure values: its shape, what its cores do a second, and what a message costs at each level.
//!
//! Nothing here knows of clocks, events or ranks' programs.

mod level;
mod link;
mod placement;
mod rates;
mod rules;

pub use level::{Level, Shape, Site};
pub use link::{Link, LoadColumn, LoadLaw, Row};
pub use placement::{Partition, Placement, PlacementError};
pub use rates::{CoreRates, Work};
pub use rules::{Algorithm, Collective, CollectiveRule, CollectiveRules};

use crate::units::SimSpan;

/// A target machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    /// What the file calls it.
    pub name: String,
    /// Nodes, CMPs a node, cores a CMP.
    pub shape: Shape,
    /// What a core does a second.
    pub core: CoreRates,
    /// The link of each level, in the order of [`Level::ALL`].
    pub links: [Link; 3],
    /// Which algorithm a collective uses.
    pub collectives: CollectiveRules,
}

impl Platform {
    /// The link a message crosses at `level`.
    pub fn link(&self, level: Level) -> &Link {
        &self.links[level as usize]
    }

    /// The least time between a message's leaving a node and any effect of it at another: the least inter-node latency,
    /// handshakes included. Workers may be that far apart in virtual time.
    pub fn lookahead(&self) -> SimSpan {
        self.link(Level::InterNode).least_latency()
    }
}
