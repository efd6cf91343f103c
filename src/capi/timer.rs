//! How long a rank's own code takes on the host.

use std::cell::Cell;

use super::job::HostClock;

/// Measures local execution blocks: runs while a rank's own code does, and stands still inside MPI functions.
#[derive(Debug)]
pub struct Timer {
    clock: HostClock,
    /// What starting and stopping adds to what is measured, ns.
    overhead: u64,
    /// When the block began, ns; 0 while the timer stands still.
    started: Cell<u64>,
    /// Measured and not yet taken, ns.
    measured: Cell<u64>,
}

impl Timer {
    /// A timer that stands still.
    pub fn new(clock: HostClock, overhead: u64) -> Self {
        Timer { clock, overhead, started: Cell::new(0), measured: Cell::new(0) }
    }

    /// A block begins.
    #[inline]
    pub fn start(&self) {
        if self.started.get() == 0 {
            self.started.set(now(self.clock));
        }
    }

    /// The block ends.
    #[inline]
    pub fn stop(&self) {
        let started = self.started.replace(0);
        if started != 0 {
            self.add(now(self.clock).saturating_sub(started));
        }
    }

    /// Whether a block is under way.
    pub fn is_running(&self) -> bool {
        self.started.get() != 0
    }

    /// As [`Timer::start`], without looking at the clock.
    pub fn set_running(&self) {
        self.started.set(1);
    }

    /// As [`Timer::stop`], without looking at the clock: whether the timer ran.
    pub fn take_running(&self) -> bool {
        self.started.replace(0) != 0
    }

    /// What was measured since the last time, ns; the present block is left out.
    #[inline]
    pub fn take(&self) -> u64 {
        self.measured.replace(0)
    }

    /// What was measured and not taken, with the present block, ns. Looking costs the block nothing: another begins.
    pub fn peek(&self) -> u64 {
        let started = self.started.get();
        if started != 0 {
            let now = now(self.clock);
            self.started.set(now);
            self.add(now.saturating_sub(started));
        }
        self.measured.get()
    }

    /// Adds a block that took so long with the timer's own cost.
    #[inline]
    fn add(&self, length: u64) {
        self.measured.set(self.measured.get() + length.saturating_sub(self.overhead));
    }
}

/// The least that is measured where nothing is: the cost of the timer itself, ns.
pub fn overhead(clock: HostClock) -> u64 {
    let mut least = [0u64; 101].map(|_| {
        let before = now(clock);
        now(clock).saturating_sub(before)
    });
    least.sort_unstable();
    least[least.len() / 2]
}

/// The host's clock, ns; never 0.
#[inline]
fn now(clock: HostClock) -> u64 {
    let id = match clock {
        HostClock::Cpu => libc::CLOCK_THREAD_CPUTIME_ID,
        HostClock::Wall => libc::CLOCK_MONOTONIC,
    };
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both clocks exist on every Linux, and `time` is valid.
    unsafe { libc::clock_gettime(id, &mut time) };
    (time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_measures_only_while_it_runs_and_gives_its_time_once() {
        let timer = Timer::new(HostClock::Wall, 0);
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert_eq!((timer.peek(), timer.take()), (0, 0));
        timer.start();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(timer.peek() >= 2_000_000);
        timer.stop();
        timer.stop();
        assert!(timer.take() >= 2_000_000);
        assert_eq!(timer.take(), 0);
    }

    #[test]
    fn what_the_timer_adds_is_not_measured() {
        let timer = Timer::new(HostClock::Wall, u64::MAX / 2);
        timer.start();
        timer.stop();
        assert_eq!(timer.take(), 0);
    }

    #[test]
    fn looking_at_the_timer_is_not_measured() {
        const LOOKS: u64 = 100_000;
        let clock = HostClock::Cpu;
        let timer = Timer::new(clock, overhead(clock));
        timer.start();
        for _ in 0..LOOKS {
            timer.peek();
        }
        timer.stop();
        let before = now(clock);
        let mut last = before;
        for _ in 0..LOOKS {
            last = now(clock);
        }
        let measured = timer.take();
        assert!(measured < (last - before) / 2, "{measured} ns of {} ns", last - before);
    }
}
