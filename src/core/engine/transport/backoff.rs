//! How to wait for what another thread or process does: busily for as long as going to sleep and waking up takes, then
//! asleep for longer and longer, so that whoever is waited for gets a core where cores are few.
//!
//! Giving the core away without sleeping (`yield_now`) would not do: Linux lets the thread run again only after a time
//! slice of everybody else, which is milliseconds.

use std::time::Duration;

/// The first nap. Each is an eighth longer than the one before, and so about an eighth of the wait that has passed.
const SHORTEST: Duration = Duration::from_micros(8);
/// What wakes the others is seen no later than this.
const LONGEST: Duration = Duration::from_micros(500);

/// One wait.
#[derive(Debug)]
pub(super) struct Backoff {
    /// Turns of busy waiting, and how many are left.
    turns: u32,
    left: u32,
    nap: Duration,
}

impl Backoff {
    /// Waits busily for so many turns.
    pub fn new(turns: u32) -> Self {
        Backoff { turns, left: turns, nap: SHORTEST }
    }

    /// Something has come, if not what is waited for.
    pub fn renew(&mut self) {
        *self = Backoff::new(self.turns);
    }

    /// Nothing has come: lets a turn pass, or calls `nap` with the time to be asleep.
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
