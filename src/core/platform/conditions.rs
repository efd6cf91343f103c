//! What a machine's ranks meet beside its links and rates: who moves messages on, noise, and nodes that are unlike
//! others.
//!
//! All of it is off by default.

use super::{NodeFactors, Noise};

/// Who moves a message on while its rank computes: MPI's progress engine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ProgressEngine {
    /// The adapter: at once, at no cost.
    #[default]
    Hardware,
    /// Nobody: rendezvous, copies and non-blocking collectives advance while their rank is inside an MPI call.
    Call,
    /// A thread of the MPI library: at once, but it takes this part of the core from what the rank computes.
    Thread {
        /// From 0 to below 1.
        share: f64,
    },
}

impl ProgressEngine {
    /// The part of a core that a thread takes if a platform does not say: a thread that polls and its rank have half
    /// each.
    pub const SHARE: f64 = 0.5;

    /// What the time of computing is multiplied by.
    pub fn slowdown(self) -> f64 {
        match self {
            ProgressEngine::Hardware | ProgressEngine::Call => 1.0,
            ProgressEngine::Thread { share } => 1.0 / (1.0 - share),
        }
    }
}

/// What holds for all ranks of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Who moves messages on.
    pub progress: ProgressEngine,
    /// What disturbs ranks and messages.
    pub noise: Noise,
    /// How nodes differ.
    pub nodes: NodeFactors,
}
