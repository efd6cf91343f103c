//! Resources that a message occupies in addition to its own latency and bandwidth: copying cores and adapters. Only
//! used by [`Contention::Fair`](super::Contention::Fair).

use serde::Deserialize;

use crate::units::{Bandwidth, SimSpan};

/// Cores that copy the bytes of a message: within a node of every message, between nodes of eager messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Copies {
    /// None: the bytes occupy no core.
    #[default]
    None,
    /// The core of the sender.
    Sender,
    /// The core of the receiver.
    Receiver,
    /// The core of the sender, then that of the receiver.
    Both,
}

impl Copies {
    /// Whether the sender's core copies.
    pub fn by_sender(self) -> bool {
        matches!(self, Copies::Sender | Copies::Both)
    }

    /// Whether the receiver's core copies.
    pub fn by_receiver(self) -> bool {
        matches!(self, Copies::Receiver | Copies::Both)
    }
}

/// Adapters of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rails {
    /// Number of adapters.
    pub count: u32,
    /// Adapter of each CMP; empty if the messages of a sender use the adapters in turn.
    pub of_cmp: Vec<u32>,
}

impl Default for Rails {
    fn default() -> Self {
        Rails { count: 1, of_cmp: Vec::new() }
    }
}

/// Resources that the messages of a level occupy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Occupancy {
    /// Cores that copy.
    pub copies: Copies,
    /// Bytes per second in each direction, of an adapter or of the interconnect of a CMP; `None`: no limit.
    pub capacity: Option<Bandwidth>,
    /// Bytes per second of an adapter in both directions together; `None`: the directions are independent.
    pub duplex: Option<Bandwidth>,
    /// Least time between two messages of an adapter in both directions together; `None`: gaps are shared like bytes.
    pub duplex_gap: Option<SimSpan>,
    /// Bytes per second between two nodes in both directions together; `None`: the directions are independent.
    pub pair_duplex: Option<Bandwidth>,
    /// Adapters.
    pub rails: Rails,
    /// Time between two computations of rates; `None`: half the least latency between nodes.
    pub slot: Option<SimSpan>,
    /// Least change of a rate that affects the rates of others.
    pub tolerance: Tolerance,
}

/// A relative tolerance of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance(u32);

impl Tolerance {
    /// Creates a tolerance from a fraction between 0.001 and 0.1.
    pub fn new(of_one: f64) -> Option<Self> {
        let per_mille = of_one * 1000.0;
        (1.0..=100.0).contains(&per_mille).then_some(Tolerance(per_mille.round() as u32))
    }

    /// The tolerance in thousandths.
    pub fn per_mille(self) -> u32 {
        self.0
    }
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance(20)
    }
}
