//! Backoff of a thread that waits for another thread or host process. A waiting thread first spins for as long as a
//! sleep and a wake-up take. The thread then sleeps for increasing times, so that the awaited thread gets a core if
//! cores are few.
//!
//! A yield of the core without sleep (`yield_now`) is not sufficient: Linux resumes a thread that yields only after a
//! time slice of every other thread, which takes milliseconds.

use std::time::Duration;

/// Length of the first sleep of a waiting thread. Each further sleep is an eighth longer than the previous sleep, and
/// so about an eighth of the wait so far.
const SHORTEST: Duration = Duration::from_micros(8);
/// Greatest length of a sleep, and so the greatest delay until the thread notices the end of its wait.
const LONGEST: Duration = Duration::from_micros(500);

/// State of a waiting thread.
#[derive(Debug)]
pub(super) struct Backoff {
    /// Number of turns for which a thread spins before it sleeps, and number of turns that are left.
    turns: u32,
    left: u32,
    nap: Duration,
}

impl Backoff {
    /// Creates the state of a thread that spins for `turns` turns before it sleeps.
    pub fn new(turns: u32) -> Self {
        Backoff { turns, left: turns, nap: SHORTEST }
    }

    /// Lets the thread spin again, because an unrelated message has arrived.
    pub fn renew(&mut self) {
        *self = Backoff::new(self.turns);
    }

    /// Spins for one turn, or calls `nap` with the time to sleep.
    pub fn wait(&mut self, nap: impl FnOnce(Duration)) {
        if self.left > 0 {
            self.left -= 1;
            std::hint::spin_loop();
        } else {
            nap(self.nap);
            self.nap = (self.nap + self.nap / 8).min(LONGEST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_its_busy_turns_a_wait_naps_longer_and_longer_until_something_comes() {
        let mut patience = Backoff::new(3);
        let mut naps = Vec::new();
        (0..100).for_each(|_| patience.wait(|nap| naps.push(nap)));
        assert_eq!((naps.len(), naps[0], naps[96]), (97, SHORTEST, LONGEST));
        let mut passed = Duration::ZERO;
        for nap in naps {
            assert!(nap <= SHORTEST + passed / 8 && nap <= LONGEST);
            passed += nap;
        }
        patience.renew();
        naps = Vec::new();
        (0..4).for_each(|_| patience.wait(|nap| naps.push(nap)));
        assert_eq!(naps, [SHORTEST]);
    }
}
