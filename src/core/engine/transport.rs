//! How workers hand each other events and agree on the next window.
//!
//! A transport is one collective operation, [`Transport::exchange`]. No event is in flight between two exchanges.

mod backoff;
mod barrier;
#[cfg(test)]
mod model;
#[cfg(feature = "mpi")]
pub(super) mod mpi;
#[cfg(test)]
mod tests;
mod threads;

/// What threads wait and tell each other by; the model of all interleavings has its own.
mod sync {
    pub use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
    pub use std::sync::{Condvar, Mutex};
}

use crate::units::SimTime;

use crate::rank::Payload;

use super::activity::ClockPoint;
use super::delays::Charges;
use super::event::Event;
use super::flows::FlowUpdate;
use super::paths::{Path, Paths};
use super::payloads::{PayloadSlot, Payloads};

pub(super) use threads::{ExchangeBuffers, ThreadsTransport};

/// Events for another worker, and their data and paths in the same order.
#[derive(Debug, Default)]
pub(super) struct Batch {
    events: Vec<Event>,
    payloads: Vec<Payload>,
    paths: Vec<Path>,
    /// Whose clocks these were last, where that is recorded.
    origins: Vec<ClockPoint>,
    /// What of their contention is charged to what, where that is known.
    charges: Vec<Charges>,
    /// What there is to hear of flows.
    pub news: Vec<FlowUpdate>,
}

impl Batch {
    /// Adds an event whose data, if any, are among `payloads`, and its path among `paths`.
    pub fn push(&mut self, mut event: Event, payloads: &mut Payloads, paths: &mut Paths) {
        if let Some(&mut slot) = event.body.path_mut() {
            self.origins.extend(paths.origin(slot));
            self.charges.extend(paths.charges(slot));
            self.paths.push(paths.take(slot));
        }
        if let Some(slot) = event.body.payload_mut()
            && *slot != PayloadSlot::NONE
        {
            self.payloads.push(payloads.take(*slot));
        }
        self.events.push(event);
    }

    /// Removes all events, whose data go to `payloads` and whose paths to `paths`.
    pub fn drain<'a>(
        &'a mut self,
        payloads: &'a mut Payloads,
        paths: &'a mut Paths,
    ) -> impl Iterator<Item = Event> + 'a {
        let mut data = self.payloads.drain(..);
        let mut travelled = self.paths.drain(..);
        let mut origins = self.origins.drain(..);
        let mut charges = self.charges.drain(..);
        self.events.drain(..).map(move |mut event| {
            if let Some(slot) = event.body.path_mut() {
                *slot = paths.put(travelled.next().expect("the path of every event that has one"));
                origins.next().into_iter().for_each(|origin| paths.set_origin(*slot, origin));
                charges.next().into_iter().for_each(|charges| paths.set_charges(*slot, charges));
            }
            if let Some(slot) = event.body.payload_mut()
                && *slot != PayloadSlot::NONE
            {
                *slot = payloads.put(data.next().expect("the data of every event that has some"));
            }
            event
        })
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.news.is_empty()
    }

    /// Moves all of `other` to the end of this batch.
    fn append(&mut self, other: &mut Batch) {
        self.events.append(&mut other.events);
        self.payloads.append(&mut other.payloads);
        self.paths.append(&mut other.paths);
        self.origins.append(&mut other.origins);
        self.charges.append(&mut other.charges);
        self.news.append(&mut other.news);
    }
}

/// What a worker brings to an exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalBound {
    /// The time of the earliest event in its queue.
    pub queued: SimTime,
    /// The time of the earliest event in its batches.
    pub sent: SimTime,
    /// Events and calls it has handled since the last exchange.
    pub handled: u64,
    /// The next slot at which flows are to be judged.
    pub slot: SimTime,
    /// It has failed, and events from this time on have no meaning; NEVER if it has not.
    pub until: SimTime,
    /// It has been interrupted: the run shall end at once.
    pub stop: bool,
}

/// What all workers have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GlobalBound {
    /// The earliest time at which another worker may have an event.
    pub others: SimTime,
    /// What all have handled since the last exchange.
    pub handled: u64,
    /// The next slot at which any worker has flows to judge.
    pub slot: SimTime,
    /// Where the run ends for the first failure; NEVER if there is none.
    pub until: SimTime,
    /// The run ends here.
    pub stop: bool,
}

/// The ways workers can be connected.
pub(super) enum Transport<'a> {
    /// One worker: the reference.
    Solo,
    /// Threads of this process.
    Threads(ThreadsTransport<'a>),
    /// Threads of several processes.
    #[cfg(feature = "mpi")]
    Mpi(Box<mpi::MpiTransport<'a>>),
}

impl Transport<'_> {
    /// Hands over `outgoing` (a batch a worker, emptied), appends to `incoming` what the others have for this worker,
    /// and agrees on how far each may go. While it waits it calls `meanwhile`, which does something useful or says that
    /// there is nothing to do.
    pub fn exchange(
        &mut self,
        bound: LocalBound,
        outgoing: &mut [Batch],
        incoming: &mut Batch,
        meanwhile: &mut dyn FnMut() -> bool,
    ) -> GlobalBound {
        match self {
            Transport::Solo => {
                let LocalBound { handled, slot, until, stop, .. } = bound;
                GlobalBound { others: SimTime::NEVER, handled, slot, until, stop }
            }
            Transport::Threads(threads) => threads.exchange(bound, outgoing, incoming, meanwhile),
            #[cfg(feature = "mpi")]
            Transport::Mpi(processes) => processes.exchange(bound, outgoing, incoming, meanwhile),
        }
    }

    /// How long the last exchange waited for others, if there is a clock.
    pub fn waited(&self) -> u64 {
        match self {
            Transport::Solo => 0,
            Transport::Threads(threads) => threads.waited,
            #[cfg(feature = "mpi")]
            Transport::Mpi(processes) => processes.waited,
        }
    }
}
