//! Exchange of events between workers that are threads of one host process.

use crate::meter::timed;
use mcpsim_base::units::SimTime;

use super::barrier::Barrier;
use super::sync::{AtomicBool, AtomicU64, Mutex, Ordering};
use super::{Batch, GlobalBound, LocalBound};

/// State of exchanges that the workers of a host process share.
///
/// All data exist twice, because fast workers may write the data of the next round while other workers still read the
/// data of this round. No worker reaches the round after the next before all workers have read the data of this round,
/// because the barrier of the next round needs all workers.
#[derive(Debug)]
pub struct ExchangeBuffers {
    workers: usize,
    barrier: Barrier,
    clock: Option<fn() -> u64>,
    sides: [ExchangeSide; 2],
}

/// One of the two copies of the data that workers exchange.
#[derive(Debug)]
struct ExchangeSide {
    /// Values of each worker: the earliest times in its queue and batches, its number of handled events, its next slot
    /// of virtual time, whether it needs another exchange, and the time and flag of its stop.
    queued: Vec<AtomicU64>,
    sent: Vec<AtomicU64>,
    handled: Vec<AtomicU64>,
    slot: Vec<AtomicU64>,
    until: Vec<AtomicU64>,
    again: Vec<AtomicBool>,
    stop: Vec<AtomicBool>,
    /// Batch from worker `a` to worker `b` at the index `a * workers + b`; workers never contend for the lock of a
    /// batch.
    batches: Vec<Mutex<Batch>>,
}

impl ExchangeBuffers {
    /// Creates the shared state of `workers` workers, which measure their waits with the host clock `clock`. `busy` is
    /// the number of busy worker threads on this host.
    pub fn new(workers: u32, busy: u32, clock: Option<fn() -> u64>) -> Self {
        let (workers, busy) = (workers as usize, busy as usize);
        let words = || (0..workers).map(|_| AtomicU64::new(0)).collect();
        let flags = || (0..workers).map(|_| AtomicBool::new(false)).collect();
        let side = || ExchangeSide {
            queued: words(),
            sent: words(),
            handled: words(),
            slot: words(),
            until: words(),
            again: flags(),
            stop: flags(),
            batches: (0..workers * workers).map(|_| Mutex::new(Batch::default())).collect(),
        };
        ExchangeBuffers { workers, barrier: Barrier::new(workers, busy), clock, sides: [side(), side()] }
    }

    /// Returns the transport of worker `me`.
    pub fn transport(&self, me: u32) -> ThreadsTransport<'_> {
        ThreadsTransport { buffers: self, me: me as usize, round: 0, waited: 0 }
    }
}

/// Connection of one worker to the other workers of its host process. If the connection is dropped during a panic, it
/// releases the other workers.
#[derive(Debug)]
pub struct ThreadsTransport<'a> {
    buffers: &'a ExchangeBuffers,
    me: usize,
    round: usize,
    /// Host time for which the last exchange has waited.
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
        side.again[self.me].store(bound.again, Ordering::Relaxed);
        side.stop[self.me].store(bound.stop, Ordering::Relaxed);
        self.waited = 0;
        let whole = timed(buffers.clock, &mut self.waited, || buffers.barrier.wait(self.round, meanwhile));
        self.round += 1;
        if !whole {
            return GlobalBound::BROKEN;
        }
        for other in 0..buffers.workers {
            let mut batch = side.batches[other * buffers.workers + self.me].lock().expect("no worker panics here");
            incoming.append(&mut batch);
        }
        let read = |word: &AtomicU64| word.load(Ordering::Relaxed);
        // Events that any worker has sent may be for another worker. A worker's own queue does not bound the window of
        // this worker.
        let others = (0..buffers.workers).filter(|&other| other != self.me).map(|other| read(&side.queued[other]));
        let least = others.chain(side.sent.iter().map(read)).min().expect("there are several workers");
        GlobalBound {
            others: SimTime::from_ps(least),
            handled: side.handled.iter().map(read).sum(),
            slot: SimTime::from_ps(side.slot.iter().map(read).min().expect("there are several workers")),
            until: SimTime::from_ps(side.until.iter().map(read).min().expect("there are several workers")),
            again: side.again.iter().any(|again| again.load(Ordering::Relaxed)),
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
