//! Transport between workers that are threads of one process.

use crate::engine::meter::timed;
use crate::units::SimTime;

use super::barrier::Barrier;
use super::sync::{AtomicBool, AtomicU64, Mutex, Ordering};
use super::{Batch, GlobalBound, LocalBound};

/// State that the workers share.
///
/// All data exist twice: while some workers still read the data of one round, faster ones may write those of the next.
/// No worker reaches the round after that before all have read, because its barrier needs all workers.
#[derive(Debug)]
pub struct ExchangeBuffers {
    workers: usize,
    barrier: Barrier,
    clock: Option<fn() -> u64>,
    sides: [ExchangeSide; 2],
}

/// One of the two copies.
#[derive(Debug)]
struct ExchangeSide {
    /// Word of each worker: the earliest times in its queue and batches, its handled count, its next slot, and the time
    /// and flag of its stop.
    queued: Vec<AtomicU64>,
    sent: Vec<AtomicU64>,
    handled: Vec<AtomicU64>,
    slot: Vec<AtomicU64>,
    until: Vec<AtomicU64>,
    stop: Vec<AtomicBool>,
    /// Batch from worker `a` to worker `b` at `a * workers + b`; its lock is never contended.
    batches: Vec<Mutex<Batch>>,
}

impl ExchangeBuffers {
    /// Creates buffers for `workers` workers, which measure their waits with `clock`. `busy` is the number of busy
    /// workers on this host.
    pub fn new(workers: u32, busy: u32, clock: Option<fn() -> u64>) -> Self {
        let (workers, busy) = (workers as usize, busy as usize);
        let words = || (0..workers).map(|_| AtomicU64::new(0)).collect();
        let side = || ExchangeSide {
            queued: words(),
            sent: words(),
            handled: words(),
            slot: words(),
            until: words(),
            stop: (0..workers).map(|_| AtomicBool::new(false)).collect(),
            batches: (0..workers * workers).map(|_| Mutex::new(Batch::default())).collect(),
        };
        ExchangeBuffers { workers, barrier: Barrier::new(workers, busy), clock, sides: [side(), side()] }
    }

    /// Returns the transport of worker `me`.
    pub fn transport(&self, me: u32) -> ThreadsTransport<'_> {
        ThreadsTransport { buffers: self, me: me as usize, round: 0, waited: 0 }
    }
}

/// One worker's end of an [`ExchangeBuffers`]. If it is dropped during a panic, it releases the other workers.
#[derive(Debug)]
pub struct ThreadsTransport<'a> {
    buffers: &'a ExchangeBuffers,
    me: usize,
    round: usize,
    /// Time that the last exchange has waited.
    pub(super) waited: u64,
}

impl ThreadsTransport<'_> {
    pub(super) fn exchange(
        &mut self,
        bound: LocalBound,
        outgoing: &mut [Batch],
        incoming: &mut Batch,
        meanwhile: &mut dyn FnMut() -> bool,
    ) -> GlobalBound {
        let buffers = self.buffers;
        let side = &buffers.sides[self.round % 2];
        for (other, batch) in outgoing.iter_mut().enumerate() {
            if !batch.is_empty() {
                let mut shared = side.batches[self.me * buffers.workers + other].lock().expect("no worker panics here");
                std::mem::swap(&mut *shared, batch);
                debug_assert!(batch.is_empty(), "the last batch of this side has been read");
            }
        }
        side.queued[self.me].store(bound.queued.as_ps(), Ordering::Relaxed);
        side.sent[self.me].store(bound.sent.as_ps(), Ordering::Relaxed);
        side.handled[self.me].store(bound.handled, Ordering::Relaxed);
        side.slot[self.me].store(bound.slot.as_ps(), Ordering::Relaxed);
        side.until[self.me].store(bound.until.as_ps(), Ordering::Relaxed);
        side.stop[self.me].store(bound.stop, Ordering::Relaxed);
        self.waited = 0;
        let whole = timed(buffers.clock, &mut self.waited, || buffers.barrier.wait(self.round, meanwhile));
        self.round += 1;
        if !whole {
            let never = SimTime::NEVER;
            return GlobalBound { others: never, handled: 0, slot: never, until: never, stop: true };
        }
        for other in 0..buffers.workers {
            let mut batch = side.batches[other * buffers.workers + self.me].lock().expect("no worker panics here");
            incoming.append(&mut batch);
        }
        let read = |word: &AtomicU64| word.load(Ordering::Relaxed);
        // Sent events of any worker may be for another worker; this worker's own queue does not bound its window here.
        let others = (0..buffers.workers).filter(|&other| other != self.me).map(|other| read(&side.queued[other]));
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
            self.buffers.barrier.tear_down();
        }
    }
}
