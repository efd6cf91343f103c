//! What a message occupies beside its own pace: cores that copy, and adapters. Heeded under
//! [`LoadLaw::Fair`](super::LoadLaw::Fair) only.

use serde::Deserialize;

use crate::units::{Bandwidth, SimSpan};

/// Whose cores copy the bytes of a message: within a node of every message, between nodes of eager ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Copies {
    /// Nobody's: the bytes occupy no core.
    #[default]
    None,
    /// The sender's.
    Sender,
    /// The receiver's.
    Receiver,
    /// The sender's, then the receiver's.
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

/// The adapters of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rails {
    /// How many.
    pub count: u32,
    /// The adapter of each CMP; empty where a message takes the next one by its sender's own sequence of messages.
    pub of_cmp: Vec<u32>,
}

impl Default for Rails {
    fn default() -> Self {
        Rails { count: 1, of_cmp: Vec::new() }
    }
}

/// What the messages of a level occupy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Occupancy {
    /// Whose cores copy.
    pub copies: Copies,
    /// Bytes a second in each direction, of an adapter, or of what a CMP has with the others of its node; none: no
    /// limit.
    pub capacity: Option<Bandwidth>,
    /// Bytes a second of an adapter in both directions together; none: they are independent.
    pub duplex: Option<Bandwidth>,
    /// The least time between two messages of an adapter in both directions together; none: they share gaps as they
    /// share bytes.
    pub duplex_gap: Option<SimSpan>,
    /// Bytes a second between two nodes in both directions together; none: they are independent.
    pub pair_duplex: Option<Bandwidth>,
    /// The adapters.
    pub rails: Rails,
    /// The time between two moments at which rates are judged anew; none: half the least latency between nodes.
    pub slot: Option<SimSpan>,
    /// How much a rate moves before others are judged by it.
    pub tolerance: Tolerance,
}

/// A part of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tolerance(u32);

impl Tolerance {
    /// The part `of_one`, from a thousandth to a tenth.
    pub fn new(of_one: f64) -> Option<Self> {
        let per_mille = of_one * 1000.0;
        (1.0..=100.0).contains(&per_mille).then_some(Tolerance(per_mille.round() as u32))
    }

    /// In thousandths.
    pub fn per_mille(self) -> u32 {
        self.0
    }
}

impl Default for Tolerance {
    fn default() -> Self {
        Tolerance(20)
    }
}
