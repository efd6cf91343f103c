//! What a message costs beside its transfer: the connection it may have to wait for, the buffer it takes, and a copy
//! out of it.

use crate::units::{Bandwidth, Bytes, SimSpan};

/// Costs of a level's protocol that are off by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Protocol {
    /// What the first message of a pair takes longer, for the connection is set up then.
    pub connect: SimSpan,
    /// Eager messages that a rank may have under way to another, each in a buffer of its receiver; none: no limit.
    pub credits: Option<u32>,
    /// Bytes a second at which an eager message is copied that came before its receive; none: it costs nothing.
    pub unexpected_copy: Option<Bandwidth>,
}

impl Protocol {
    /// What an eager message that came before its receive costs the receiver's core.
    pub fn unexpected(&self, size: Bytes) -> SimSpan {
        self.unexpected_copy.map_or(SimSpan::ZERO, |bandwidth| bandwidth.span(size, 1))
    }
}
