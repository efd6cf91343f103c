//! A barrier of threads that all run most of the time: who waits spins, and lets others have the core only after a while.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Turns of busy waiting before a thread lets others have the core: fewer where it may be the very core that they need.
const PATIENT: u32 = 2_000;
const HASTY: u32 = 20;

/// A barrier for the same threads round after round.
#[derive(Debug)]
pub(super) struct Gate {
    threads: usize,
    spins: u32,
    arrived: AtomicUsize,
    round: AtomicUsize,
    /// A thread has panicked: the others must not wait for it.
    broken: AtomicBool,
}

impl Gate {
    /// A barrier for so many threads, before round 0; `busy` threads in all of this host's processes wait for each other.
    pub fn new(threads: usize, busy: usize) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Gate {
            threads,
            spins: if busy <= cores { PATIENT } else { HASTY },
            arrived: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Waits until all threads have come in this round; false if one never will. Meanwhile it calls `meanwhile`, which does
    /// something useful or says that there is nothing to do.
    pub fn wait(&self, round: usize, meanwhile: &mut dyn FnMut() -> bool) -> bool {
        if self.arrived.fetch_add(1, Ordering::AcqRel) + 1 == self.threads {
            self.arrived.store(0, Ordering::Relaxed);
            self.round.store(round + 1, Ordering::Release);
            return true;
        }
        let mut spins = 0;
        while self.round.load(Ordering::Acquire) == round {
            if self.broken.load(Ordering::Relaxed) {
                return false;
            }
            spins += 1;
            if meanwhile() {
                spins = 0;
            } else if spins < self.spins {
                std::hint::spin_loop();
            } else {
                std::thread::yield_now();
            }
        }
        true
    }

    /// Lets all go who wait or will wait.
    pub fn tear_down(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }
}
