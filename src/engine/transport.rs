//! Exchange of events between workers, and agreement of all workers on the next window of virtual time.
//!
//! The only operation of a transport is the collective operation [`Transport::exchange`]. No event is in transfer
//! between workers from the end of an exchange to the start of the next.

mod backoff;
mod barrier;
#[cfg(test)]
mod model;
pub(super) mod processes;
#[cfg(test)]
mod tests;
mod threads;

/// Synchronisation primitives for threads of the host. The model check with `loom` replaces these primitives.
mod sync {
    pub use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
    pub use std::sync::{Condvar, Mutex};
}

use mcpsim_base::units::SimTime;

use mcpsim_base::rank::Payload;

use super::activity::ClockPoint;
use super::delays::Charges;
use super::event::Event;
use super::paths::{Path, Paths};
use super::payloads::{PayloadSlot, Payloads};
use super::resource::flows::FlowUpdate;

pub(super) use threads::{ExchangeBuffers, ThreadsTransport};

/// Events for another worker, with the message data and the paths of the events in the same order.
#[derive(Debug, Default)]
pub(super) struct Batch {
    events: Vec<Event>,
    payloads: Vec<Payload>,
    paths: Vec<Path>,
    /// Last clock of a task on the path of each event, if recorded.
    origins: Vec<ClockPoint>,
    /// Contention on the path of each event, if recorded.
    charges: Vec<Charges>,
    /// Updates of network flows for the worker that receives the batch.
    pub news: Vec<FlowUpdate>,
}

impl Batch {
    /// Adds an event to the batch; moves the event's data from `payloads` and its path from `paths` into the batch.
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

    /// Removes all events from the batch; moves their data to `payloads` and their paths to `paths`.
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

    /// Returns whether the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.news.is_empty()
    }

    /// Moves all events of `other` to the end of this batch.
    fn append(&mut self, other: &mut Batch) {
        self.events.append(&mut other.events);
        self.payloads.append(&mut other.payloads);
        self.paths.append(&mut other.paths);
        self.origins.append(&mut other.origins);
        self.charges.append(&mut other.charges);
        self.news.append(&mut other.news);
    }
}

/// Values that a worker contributes to an exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalBound {
    /// Time of the earliest event in the worker's queue.
    pub queued: SimTime,
    /// Time of the earliest event in the worker's batches for other workers.
    pub sent: SimTime,
    /// Number of events and calls that the worker has handled since the last exchange.
    pub handled: u64,
    /// Next slot (step of virtual time) at which the worker's flows are to be judged.
    pub slot: SimTime,
    /// Time of a failure at the worker, from which events have no effect; NEVER without a failure.
    pub until: SimTime,
    /// The worker needs another exchange before any worker handles events.
    pub again: bool,
    /// The user has interrupted the worker, so the run ends at once.
    pub stop: bool,
}

impl LocalBound {
    /// Values of a worker without events, slots and failures.
    pub const NOTHING: LocalBound = LocalBound {
        queued: SimTime::NEVER,
        sent: SimTime::NEVER,
        handled: 0,
        slot: SimTime::NEVER,
        until: SimTime::NEVER,
        again: false,
        stop: false,
    };
}

/// Values on which all workers agree in an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GlobalBound {
    /// Earliest time at which another worker may have an event.
    pub others: SimTime,
    /// Number of events and calls that all workers have handled since the last exchange.
    pub handled: u64,
    /// Next slot (step of virtual time) at which any worker has flows to judge.
    pub slot: SimTime,
    /// Time of the first failure at any worker, which ends the run; NEVER without a failure.
    pub until: SimTime,
    /// Another exchange follows before any worker handles events.
    pub again: bool,
    /// The run ends with this exchange.
    pub stop: bool,
}

impl GlobalBound {
    /// Agreement after the panic of a worker.
    const BROKEN: GlobalBound = GlobalBound {
        others: SimTime::NEVER,
        handled: 0,
        slot: SimTime::NEVER,
        until: SimTime::NEVER,
        again: false,
        stop: true,
    };
}

/// Connection between the workers of a run.
pub(super) enum Transport<'a> {
    /// A single worker, as the reference implementation.
    Solo,
    /// Workers that are threads of this host process.
    Threads(ThreadsTransport<'a>),
    /// Workers that are threads of several host processes.
    Processes(Box<processes::ProcessTransport<'a>>),
}

impl Transport<'_> {
    /// Sends the batches `outgoing` (one per worker) and empties them, appends the events for this worker to
    /// `incoming`, and agrees with all workers on the next window. While the worker waits for other workers it calls
    /// `meanwhile`, which returns whether it found work.
    pub fn exchange(
        &mut self,
        bound: LocalBound,
        outgoing: &mut [Batch],
        incoming: &mut Batch,
        meanwhile: &mut dyn FnMut() -> bool,
    ) -> GlobalBound {
        match self {
            Transport::Solo => {
                let LocalBound { handled, slot, until, again, stop, .. } = bound;
                GlobalBound { others: SimTime::NEVER, handled, slot, until, again, stop }
            }
            Transport::Threads(threads) => threads.exchange(bound, outgoing, incoming, meanwhile),
            Transport::Processes(processes) => processes.exchange(bound, outgoing, incoming, meanwhile),
        }
    }

    /// Returns the host time for which the last exchange waited for other workers, if there is a host clock.
    pub fn waited(&self) -> u64 {
        match self {
            Transport::Solo => 0,
            Transport::Threads(threads) => threads.waited,
            Transport::Processes(processes) => processes.waited,
        }
    }
}
