//! A barrier for threads of the host that are usually running: a waiting thread spins first, and sleeps only later.

use std::time::Duration;

use super::backoff::Backoff;
use super::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, Ordering, fence};

/// Number of turns for which a thread spins at the barrier before it sleeps. The number of turns is lower if the thread
/// may occupy a core that the other threads need.
const PATIENT: u32 = 2_000;
const HASTY: u32 = 20;

const LOCKED: &str = "nobody panics at a barrier";

/// A reusable barrier for a fixed set of threads.
#[derive(Debug)]
pub(super) struct Barrier {
    threads: usize,
    turns: u32,
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// A thread has panicked, and the other threads must not wait for it.
    broken: AtomicBool,
    /// Number of threads that sleep at the barrier, and the means to wake these threads.
    asleep: AtomicUsize,
    door: (Mutex<()>, Condvar),
}

impl Barrier {
    /// Creates a barrier for `threads` threads, before round 0. In all host processes on this host, `busy` threads wait
    /// for each other.
    pub fn new(threads: usize, busy: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Barrier {
            threads,
            turns: if busy <= cores { PATIENT } else { HASTY },
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            asleep: AtomicUsize::new(0),
            door: (Mutex::new(()), Condvar::new()),
        }
    }

    /// Waits until all threads have arrived at the barrier in this round; returns false if a thread will never arrive.
    /// While it waits, it calls `meanwhile`, which returns whether it found work.
    pub fn wait(&self, round: usize, meanwhile: &mut dyn FnMut() -> bool) -> bool {
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round + 1, Ordering::Release);
            self.wake();
            return true;
        }
        let mut patience = Backoff::new(self.turns);
        while self.round.load(Ordering::Acquire) == round {
            if self.broken.load(Ordering::Relaxed) {
                return false;
            }
            if meanwhile() {
                patience.renew();
            } else {
                patience.wait(|nap| self.sleep(round, nap));
            }
        }
        true
    }

    /// Sleeps until all threads have arrived in the round, at most for `nap`.
    fn sleep(&self, round: usize, nap: Duration) {
        let (lock, door) = &self.door;
        let guard = lock.lock().expect(LOCKED);
        // Both orders of the fence of the waker and the fence of this thread are safe. If the waker's fence is last,
        // the waker sees a sleeping thread and takes the lock, which is free only once this thread waits. If this
        // thread's fence is last, the loads below see the values that the waker stored before its fence.
        self.asleep.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.round.load(Ordering::Relaxed) == round && !self.broken.load(Ordering::Relaxed) {
            drop(door.wait_timeout(guard, nap).expect(LOCKED));
        }
        self.asleep.fetch_sub(1, Ordering::Relaxed);
    }

    /// Wakes the threads that sleep at the barrier; the caller has already stored the state that the threads wait for.
    fn wake(&self) {
        fence(Ordering::SeqCst);
        if self.asleep.load(Ordering::Relaxed) > 0 {
            drop(self.door.0.lock().expect(LOCKED));
            self.door.1.notify_all();
        }
    }

    /// Releases all threads that wait at the barrier or will wait there.
    pub fn tear_down(&self) {
        self.broken.store(true, Ordering::Relaxed);
        self.wake();
    }
}
