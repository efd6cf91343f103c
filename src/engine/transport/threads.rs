//! Workers as threads of one process.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::units::SimTime;

use super::super::meter::timed;
use super::barrier::Barrier;
use super::{Batch, GlobalBound, LocalBound};

/// What the workers share.
///
/// Everything exists twice: while some workers still read what was written for one round, faster ones may write for the
/// next. They cannot get to the round after that before all have read, because its barrier needs all.
#[derive(Debug)]
pub struct ExchangeBuffers {
    workers: usize,
    gate: Barrier,
    clock: Option<fn() -> u64>,
    sides: [Side; 2],
}

/// One of the two copies.
#[derive(Debug)]
struct Side {
    /// Each worker's word: the earliest time in its queue and in its batches, what it has handled, where and whether to stop.
    queued: Vec<AtomicU64>,
    sent: Vec<AtomicU64>,
    handled: Vec<AtomicU64>,
    slot: Vec<AtomicU64>,
    until: Vec<AtomicU64>,
    stop: Vec<AtomicBool>,
    /// The batch from worker `a` to worker `b` at `a * workers + b`; its lock is never contended.
    batches: Vec<Mutex<Batch>>,
}

impl ExchangeBuffers {
    /// A hub for `workers` workers, who wait by `clock`; `busy` workers in all keep this host's cores busy.
    pub fn new(workers: u32, busy: u32, clock: Option<fn() -> u64>) -> Self {
        let (workers, busy) = (workers as usize, busy as usize);
        let words = || (0..workers).map(|_| AtomicU64::new(0)).collect();
        let side = || Side {
            queued: words(),
            sent: words(),
            handled: words(),
            slot: words(),
            until: words(),
            stop: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            batches: (0..workers * workers).map(|_| Mutex::new(Batch::default())).collect(),
        };
        ExchangeBuffers { workers, gate: Barrier::new(workers, busy), clock, sides: [side(), side()] }
    }

    /// The transport of worker `me`.
    pub fn transport(&self, me: u32) -> ThreadsTransport<'_> {
        ThreadsTransport { hub: self, me: me as usize, round: 0, waited: 0 }
    }
}

/// One worker's end of a [`ExchangeBuffers`]. Dropped in a panic, it lets the other workers end.
#[derive(Debug)]
pub struct ThreadsTransport<'a> {
    hub: &'a ExchangeBuffers,
    me: usize,
    round: usize,
    /// How long the last exchange has waited.
    pub(super) waited: u64,
}

impl ThreadsTransport<'_> {
    pub(super) fn exchange(
        &mut self,
        bid: LocalBound,
        outgoing: &mut [Batch],
        incoming: &mut Batch,
        meanwhile: &mut dyn FnMut() -> bool,
    ) -> GlobalBound {
        let hub = self.hub;
        let side = &hub.sides[self.round % 2];
        for (other, batch) in outgoing.iter_mut().enumerate() {
            if !batch.is_empty() {
                let mut shared = side.batches[self.me * hub.workers + other].lock().expect("no worker panics here");
                std::mem::swap(&mut *shared, batch);
                debug_assert!(batch.is_empty(), "the last batch of this side has been read");
            }
        }
        side.queued[self.me].store(bid.queued.as_ps(), Ordering::Relaxed);
        side.sent[self.me].store(bid.sent.as_ps(), Ordering::Relaxed);
        side.handled[self.me].store(bid.handled, Ordering::Relaxed);
        side.slot[self.me].store(bid.slot.as_ps(), Ordering::Relaxed);
        side.until[self.me].store(bid.until.as_ps(), Ordering::Relaxed);
        side.stop[self.me].store(bid.stop, Ordering::Relaxed);
        self.waited = 0;
        let whole = timed(hub.clock, &mut self.waited, || hub.gate.wait(self.round, meanwhile));
        self.round += 1;
        if !whole {
            let never = SimTime::NEVER;
            return GlobalBound { others: never, handled: 0, slot: never, until: never, stop: true };
        }
        for other in 0..hub.workers {
            let mut batch = side.batches[other * hub.workers + self.me].lock().expect("no worker panics here");
            incoming.append(&mut batch);
        }
        let read = |word: &AtomicU64| word.load(Ordering::Relaxed);
        // What anybody has sent may be for another worker; what this one has in its queue is its own affair.
        let others = (0..hub.workers).filter(|&other| other != self.me).map(|other| read(&side.queued[other]));
        let least = others.chain(side.sent.iter().map(read)).min().expect("there are several workers");
        GlobalBound {
            others: SimTime::from_ps(least),
            handled: side.handled.iter().map(read).sum(),
            slot: SimTime::from_ps(side.slot.iter().map(read).min().expect("there are several workers")),
            until: SimTime::from_ps(side.until.iter().map(read).min().expect("there are several workers")),
            stop: side.stop.iter().any(|stop| stop.load(Ordering::Relaxed)),
        }
    }
}

impl Drop for ThreadsTransport<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.hub.gate.tear_down();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::event::{Event, EventKey, EventKind, Going, InFlightMessage};
    use crate::engine::paths::{Path, PathSlot, Paths};
    use crate::engine::payloads::{PayloadSlot, Payloads};
    use crate::units::{Bytes, SimSpan};

    fn event(to: u32, from: u32, time: u64, payload: PayloadSlot, path: PathSlot) -> Event {
        let key = EventKey { time: SimTime::from_ps(time), to, from, sequence: 0 };
        let parcel = InFlightMessage { context: 0, tag: 0, size: Bytes::ZERO, rendezvous: None, payload, path };
        Event { key, body: EventKind::Departure { to, parcel, going: Going::Asked } }
    }

    /// A batch of one event without and one with data, whose paths have computed as many picoseconds as the receiver's number.
    fn batch(to: u32, from: u32, time: u64) -> Batch {
        let (mut batch, mut payloads, mut paths) = (Batch::default(), Payloads::default(), Paths::default());
        let path = paths.put(Path { compute: SimSpan::from_ps(u64::from(to)), ..Path::default() });
        batch.push(event(to, from, time, PayloadSlot::NONE, paths.share(path)), &mut payloads, &mut paths);
        let data = payloads.put(Some(Box::new(vec![to as u8, from as u8])));
        batch.push(event(to, from, time, data, path), &mut payloads, &mut paths);
        batch
    }

    #[test]
    fn every_batch_gets_to_its_worker_in_its_round_and_all_agree() {
        let workers = 3;
        let hub = ExchangeBuffers::new(workers, workers, None);
        std::thread::scope(|scope| {
            for me in 0..workers {
                let hub = &hub;
                scope.spawn(move || {
                    let mut transport = hub.transport(me);
                    for round in 0..1000u64 {
                        let mut outgoing: Vec<Batch> = (0..workers).map(|to| batch(to, me, round)).collect();
                        let mut incoming = Batch::default();
                        let at = |time: u64| SimTime::from_ps(time);
                        let (queued, sent) = (at(10 + round + u64::from(me)), at(12 + round));
                        let until = at(2000 - u64::from(me));
                        let stop = round == 999 && me == 1;
                        let slot = at(50 + u64::from(me));
                        let bid = LocalBound { queued, sent, handled: 1 + u64::from(me), slot, until, stop };
                        let agreement = transport.exchange(bid, &mut outgoing, &mut incoming, &mut || false);
                        // The least queued at another worker: 10, or 11 for worker 0.
                        let others = at(10 + round + u64::from(me == 0));
                        let until = at(1998);
                        let slot = at(50);
                        assert_eq!(agreement, GlobalBound { others, handled: 6, slot, until, stop: round == 999 });
                        let (mut payloads, mut paths) = (Payloads::default(), Paths::default());
                        let mut events: Vec<Event> = incoming.drain(&mut payloads, &mut paths).collect();
                        let slots = events.iter_mut().map(|event| *event.body.path_mut().unwrap());
                        assert!(slots.map(|slot| paths.get(slot).compute.as_ps()).all(|ps| ps == u64::from(me)));
                        let from = events.iter().map(|event| (event.key.to, event.key.from, event.key.time.as_ps()));
                        let expected = (0..workers).flat_map(|from| [(me, from, round); 2]);
                        assert!(from.eq(expected));
                        let data = |event: &Event| match event.body {
                            EventKind::Departure { parcel, .. } => payloads.take(parcel.payload).map(|data| *data),
                            _ => None,
                        };
                        let expected = (0..workers as u8).flat_map(|from| [None, Some(vec![me as u8, from])]);
                        assert!(events.iter().map(data).eq(expected));
                    }
                });
            }
        });
    }

    #[test]
    fn a_worker_that_panics_does_not_leave_the_others_waiting() {
        let hub = ExchangeBuffers::new(2, 2, None);
        std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                let _transport = hub.transport(1);
                std::panic::resume_unwind(Box::new("as if by a bug"));
            });
            let never = SimTime::NEVER;
            let bid =
                LocalBound { queued: SimTime::ZERO, sent: never, handled: 0, slot: never, until: never, stop: false };
            let agreement = hub.transport(0).exchange(
                bid,
                &mut [Batch::default(), Batch::default()],
                &mut Batch::default(),
                &mut || false,
            );
            assert!(agreement.stop);
            assert!(other.join().is_err());
        });
    }
}
