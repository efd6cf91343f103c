//! Costs of a message in addition to its transfer: connection set-up, eager buffers, and copies from eager buffers.

use crate::units::{Bandwidth, Bytes, SimSpan};

/// Costs of the message protocol of a level; by default all these costs are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Protocol {
    /// Additional time of the first message between two ranks, which sets up the connection.
    pub connection_time: SimSpan,
    /// Greatest number of eager messages in transfer from one rank to another; each message has a buffer at the
    /// receiver. `None`: no limit.
    pub credits: Option<u32>,
    /// Bytes per second at which an eager message is copied that arrived before its receive; `None`: the copy takes no
    /// time.
    pub unexpected_copy_bandwidth: Option<Bandwidth>,
}

impl Protocol {
    /// Returns the core time of the receiver for the copy of an eager message that arrived before its receive.
    pub fn unexpected(&self, size: Bytes) -> SimSpan {
        self.unexpected_copy_bandwidth.map_or(SimSpan::ZERO, |bandwidth| bandwidth.span(size, 1))
    }
}
