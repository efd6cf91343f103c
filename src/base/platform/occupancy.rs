//! Resources that a message occupies in addition to its own latency and bandwidth: cores that copy, and adapters. Only
//! the contention model [`Contention::Fair`](super::Contention::Fair) uses these resources.

use serde::Deserialize;

use crate::units::{Bandwidth, SimSpan};

/// Cores that copy the bytes of a message: of every message within a node, and of eager messages between nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Copies {
    /// No core copies the bytes of a message.
    #[default]
    None,
    /// The core of the sender copies.
    Sender,
    /// The core of the receiver copies.
    Receiver,
    /// The core of the sender copies, and then the core of the receiver.
    Both,
}

impl Copies {
    /// Returns whether the sender's core copies.
    pub fn by_sender(self) -> bool {
        matches!(self, Copies::Sender | Copies::Both)
    }

    /// Returns whether the receiver's core copies.
    pub fn by_receiver(self) -> bool {
        matches!(self, Copies::Receiver | Copies::Both)
    }
}

/// Carrier of the messages of a level within a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InNodeTransport {
    /// The memory of the node, from which a core copies each message.
    #[default]
    Memory,
    /// The network adapter of the node, which sends each message to itself.
    Adapter,
}

/// Network adapters of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rails {
    /// Number of adapters per node.
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
    /// Cores that copy the bytes of a message.
    pub copies: Copies,
    /// Carrier of messages within a node.
    pub transport: InNodeTransport,
    /// Bytes per second in each direction of an adapter, or of the interconnect of a CMP; `None`: no limit.
    pub capacity: Option<Bandwidth>,
    /// Bytes per second of an adapter in both directions together; `None`: the directions are independent.
    pub duplex: Option<Bandwidth>,
    /// Least time between two messages that use an adapter in either direction; `None`: gaps are shared between the
    /// directions like bytes.
    pub duplex_gap: Option<SimSpan>,
    /// Bytes per second between two nodes in both directions together; `None`: the directions are independent.
    pub pair_duplex: Option<Bandwidth>,
    /// Adapters of each node.
    pub rails: Rails,
    /// Time between two computations of the rates of flows; `None`: half the least latency between nodes.
    pub slot: Option<SimSpan>,
    /// Least relative change of a flow's rate after which the rates of other flows are computed again.
    pub tolerance: Tolerance,
}

/// A relative tolerance of the rate of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance(u32);

impl Tolerance {
    /// Creates a tolerance from a fraction between 0.001 and 0.1.
    pub fn new(of_one: f64) -> Option<Self> {
        let per_mille = of_one * 1000.0;
        (1.0..=100.0).contains(&per_mille).then_some(Tolerance(per_mille.round() as u32))
    }

    /// Returns the tolerance in thousandths.
    pub fn per_mille(self) -> u32 {
        self.0
    }
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance(20)
    }
}
