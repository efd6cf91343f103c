//! Conditions of a machine other than links and rates: progress of messages, noise, unequal nodes.
//!
//! All are off by default.

use super::{NodeFactors, Noise};

/// MPI's progress engine: the agent that advances a message while its rank computes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum ProgressEngine {
    /// The adapter, immediately and at no cost.
    #[default]
    Hardware,
    /// No agent: rendezvous, copies and non-blocking collectives advance only during an MPI call of their rank.
    Call,
    /// A thread of the MPI library: immediately, but it takes this part of the core from the rank's computing.
    Thread {
        /// From 0 to below 1.
        share: f64,
    },
}

impl ProgressEngine {
    /// Default part of a core for the progress thread: a polling thread and its rank have half each.
    pub const SHARE: f64 = 0.5;

    /// Factor on computing times.
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
    /// Progress of messages.
    pub progress: ProgressEngine,
    /// Noise of ranks and messages.
    pub noise: Noise,
    /// Differences between nodes.
    pub nodes: NodeFactors,
}
