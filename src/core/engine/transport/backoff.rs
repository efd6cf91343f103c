//! Backoff while waiting for another thread or process. A wait spins for as long as a sleep and a wake-up take. It then
//! sleeps for increasing times, so that the other side gets a core if cores are few.
//!
//! A yield of the core without sleep (`yield_now`) is not sufficient: Linux resumes the thread only after a time slice
//! of every other thread, which takes milliseconds.

use std::time::Duration;

/// First sleep. Each sleep is an eighth longer than the previous one, and so about an eighth of the wait so far.
const SHORTEST: Duration = Duration::from_micros(8);
/// Greatest delay until a wake-up is seen.
const LONGEST: Duration = Duration::from_micros(500);

/// State of a wait.
#[derive(Debug)]
pub(super) struct Backoff {
    /// Number of turns of spinning, and turns left.
    turns: u32,
    left: u32,
    nap: Duration,
}

impl Backoff {
    /// Creates a wait that spins for `turns` turns.
    pub fn new(turns: u32) -> Self {
        Backoff { turns, left: turns, nap: SHORTEST }
    }

    /// Restarts the backoff after an unrelated arrival.
    pub fn renew(&mut self) {
        *self = Backoff::new(self.turns);
    }

    /// Waits for one turn, or calls `nap` with the time to sleep.
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
