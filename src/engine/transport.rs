//! How workers hand each other events and agree on the next window.
//!
//! A transport is one collective operation, [`Transport::exchange`]. No event is in flight between two exchanges.

mod threads;

use crate::units::SimTime;

use super::event::Event;

pub(super) use threads::{Hub, ThreadsTransport};

/// What a worker brings to an exchange.
#[derive(Debug)]
pub(super) struct Bid {
    /// The time of its earliest event, those in its batches included.
    pub next: SimTime,
    /// It has met an error or been interrupted: the run shall end.
    pub stop: bool,
}

/// What all workers have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Agreement {
    /// The time of the earliest event of all.
    pub least: SimTime,
    /// The run ends here.
    pub stop: bool,
}

/// The ways workers can be connected.
#[derive(Debug)]
pub(super) enum Transport<'a> {
    /// One worker: the reference.
    Solo,
    /// Threads of this process.
    Threads(ThreadsTransport<'a>),
}

impl Transport<'_> {
    /// Hands over `outgoing` (a batch a worker, emptied), appends to `incoming` what the others have for this worker, and
    /// agrees on the least next time.
    pub fn exchange(&mut self, bid: Bid, outgoing: &mut [Vec<Event>], incoming: &mut Vec<Event>) -> Agreement {
        match self {
            Transport::Solo => Agreement { least: bid.next, stop: bid.stop },
            Transport::Threads(threads) => threads.exchange(bid, outgoing, incoming),
        }
    }
}
