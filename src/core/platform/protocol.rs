//! Costs of a message in addition to its transfer: connection set-up, eager buffers and copies out of them.

use crate::units::{Bandwidth, Bytes, SimSpan};

/// Costs of a level's protocol, off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Protocol {
    /// Additional time of the first message of a pair, which sets up the connection.
    pub connection_time: SimSpan,
    /// Greatest number of eager messages in transfer from one rank to another, each in a buffer of the receiver;
    /// `None`: no limit.
    pub credits: Option<u32>,
    /// Bytes per second for the copy of an eager message that arrived before its receive; `None`: no cost.
    pub unexpected_copy_bandwidth: Option<Bandwidth>,
}

impl Protocol {
    /// Time of the receiver's core for an eager message that arrived before its receive.
    pub fn unexpected(&self, size: Bytes) -> SimSpan {
        self.unexpected_copy_bandwidth.map_or(SimSpan::ZERO, |bandwidth| bandwidth.span(size, 1))
    }
}
