//! Conditions of a machine other than links and rates: progress of messages, noise, and unequal nodes.
//!
//! All conditions are off by default.

use super::{NodeFactors, Noise};

/// Progress engine of MPI: the agent that advances a message while the rank of the message computes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ProgressEngine {
    /// The network adapter advances messages immediately and at no cost.
    #[default]
    Hardware,
    /// No agent advances messages: rendezvous, copies and non-blocking collectives advance only during an MPI call of
    /// their rank.
    Call,
    /// A thread of the MPI library advances messages immediately, but takes a part of the core from the rank's
    /// computation.
    Thread {
        /// Part of the core that the thread takes, from 0 to below 1.
        share: f64,
    },
}

impl ProgressEngine {
    /// Default of `share`: a polling thread and its rank have half of the core each.
    pub const SHARE: f64 = 0.5;

    /// Returns the factor on the computing times of ranks.
    pub fn slowdown(self) -> f64 {
        match self {
            ProgressEngine::Hardware | ProgressEngine::Call => 1.0,
            ProgressEngine::Thread { share } => 1.0 / (1.0 - share),
        }
    }
}

/// Conditions of all ranks of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conditions {
    /// Agent that advances messages.
    pub progress: ProgressEngine,
    /// Noise of ranks and messages.
    pub noise: Noise,
    /// Differences between nodes.
    pub nodes: NodeFactors,
}
