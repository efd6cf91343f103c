//! How workers hand each other events and agree on the next window.
//!
//! A transport is one collective operation, [`Transport::exchange`]. No event is in flight between two exchanges.

mod threads;

use crate::units::SimTime;

use crate::rank::Payload;

use super::event::Event;
use super::payloads::{PayloadSlot, Payloads};

pub(super) use threads::{Hub, ThreadsTransport};

/// Events for another worker, and their data in the same order.
#[derive(Debug, Default)]
pub(super) struct Batch {
    events: Vec<Event>,
    payloads: Vec<Payload>,
}

impl Batch {
    /// Adds an event whose data, if any, are among `payloads`.
    pub fn push(&mut self, mut event: Event, payloads: &mut Payloads) {
        if let Some(slot) = event.body.payload_mut()
            && *slot != PayloadSlot::NONE
        {
            self.payloads.push(payloads.take(*slot));
        }
        self.events.push(event);
    }

    /// Removes all events, whose data go to `payloads`.
    pub fn drain<'a>(&'a mut self, payloads: &'a mut Payloads) -> impl Iterator<Item = Event> + 'a {
        let mut data = self.payloads.drain(..);
        self.events.drain(..).map(move |mut event| {
            if let Some(slot) = event.body.payload_mut()
                && *slot != PayloadSlot::NONE
            {
                *slot = payloads.put(data.next().expect("the data of every event that has some"));
            }
            event
        })
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Moves all of `other` to the end of this batch.
    fn append(&mut self, other: &mut Batch) {
        self.events.append(&mut other.events);
        self.payloads.append(&mut other.payloads);
    }
}

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
    pub fn exchange(&mut self, bid: Bid, outgoing: &mut [Batch], incoming: &mut Batch) -> Agreement {
        match self {
            Transport::Solo => Agreement { least: bid.next, stop: bid.stop },
            Transport::Threads(threads) => threads.exchange(bid, outgoing, incoming),
        }
    }
}
