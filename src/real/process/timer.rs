//! How long a rank's own code takes on the host.
//!
//! The thread's CPU time is what a block costs, but asking for it is a system call, many times as dear as looking at
//! the wall clock, which programs map. Between two MPI calls that follow one another closely, as nearly all do, the two
//! clocks tell the same: a thread that is taken off its core stays away for longer than [`SHORT`]. So a short block is
//! its wall time, and only the end of a long one asks for the CPU time, from which follows how long the thread was away
//! since it last did.
#![allow(unsafe_code)]

use std::cell::Cell;

use crate::process::job::HostClock;

/// Blocks up to this cost their wall time on either clock, ns.
const SHORT: u64 = 10_000;
/// A block that begins this long after the thread's CPU time was last read has it read anew, ns: what the thread was
/// away in between is none of the block's. It bounds by how much a block can be wrong whose thread was away just before
/// it.
const STALE: u64 = 50_000;

thread_local! {
    /// Where both clocks of this thread were when they were last read together.
    static BOTH: Cell<Reading> = const { Cell::new(Reading { wall: 0, cpu: 0 }) };
}

/// Both clocks, read one right after the other, ns.
#[derive(Clone, Copy, Debug)]
struct Reading {
    wall: u64,
    cpu: u64,
}

impl Reading {
    /// The thread's CPU time beside a look at the wall clock just taken, kept for the next time.
    fn take(wall: u64) -> Reading {
        let reading = Reading { wall, cpu: read(libc::CLOCK_THREAD_CPUTIME_ID) };
        BOTH.set(reading);
        reading
    }

    /// How long the thread was not running since `earlier`, ns.
    fn away_since(&self, earlier: Reading) -> u64 {
        (self.wall - earlier.wall).saturating_sub(self.cpu - earlier.cpu)
    }
}

/// Measures local execution blocks: runs while a rank's own code does, and stands still inside MPI functions.
#[derive(Debug)]
pub struct Timer {
    clock: HostClock,
    /// What starting and stopping adds to what is measured, ns.
    overhead: u64,
    /// When the block began by the wall clock, ns; 0 while the timer stands still.
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
            self.started.set(self.begin());
        }
    }

    /// The block ends.
    #[inline]
    pub fn stop(&self) {
        let started = self.started.replace(0);
        if started != 0 {
            self.end(started, wall());
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
            let now = wall();
            // A look at the CPU time took a while, which is nobody's.
            let asked = self.end(started, now);
            self.started.set(if asked { wall() } else { now });
        }
        self.measured.get()
    }

    /// The wall clock at a block's beginning, ns.
    #[inline]
    fn begin(&self) -> u64 {
        match self.clock {
            HostClock::Cpu => wall_beside_cpu(),
            HostClock::Wall => wall(),
        }
    }

    /// Adds a block by when it began and ended: whether that took a look at the CPU time.
    #[inline]
    fn end(&self, started: u64, now: u64) -> bool {
        let length = now.saturating_sub(started);
        let long = self.clock == HostClock::Cpu && length > SHORT;
        let away = if long { away_until(now) } else { 0 };
        self.measured.set(self.measured.get() + length.saturating_sub(self.overhead + away));
        long
    }
}

/// The wall clock, after a look at the CPU time where the last is stale, ns.
// Neither this nor the next is inlined: a fiber may go on in another thread, where the address of a thread-local that a
// caller kept is wrong.
#[inline(never)]
fn wall_beside_cpu() -> u64 {
    let now = wall();
    if now - BOTH.get().wall <= STALE {
        return now;
    }
    Reading::take(now);
    wall()
}

/// How long the thread was not running since its CPU time was last read, ns.
#[cold]
#[inline(never)]
fn away_until(now: u64) -> u64 {
    let last = BOTH.get();
    Reading::take(now).away_since(last)
}

/// What is measured where nothing is: the cost of the timer itself, ns.
pub fn overhead() -> u64 {
    let mut all = [0u64; 101].map(|_| {
        let before = wall();
        wall() - before
    });
    all.sort_unstable();
    all[all.len() / 2]
}

/// The wall clock, ns; never 0.
#[inline]
fn wall() -> u64 {
    read(libc::CLOCK_MONOTONIC).max(1)
}

/// A clock of the host, ns.
#[inline]
fn read(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both clocks exist on every Linux, and `time` is valid.
    unsafe { libc::clock_gettime(id, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
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
        let timer = Timer::new(HostClock::Cpu, overhead());
        timer.start();
        for _ in 0..LOOKS {
            timer.peek();
        }
        timer.stop();
        let before = wall();
        for _ in 0..LOOKS {
            std::hint::black_box(wall());
        }
        let (measured, all) = (timer.take(), wall() - before);
        // It looks twice, and code that is not optimised takes longer than the clock.
        assert!(measured < all, "{measured} ns of {all} ns");
    }

    #[test]
    fn the_cpu_clock_leaves_out_what_the_thread_slept() {
        let nap = std::time::Duration::from_millis(20);
        for (clock, slept) in [(HostClock::Cpu, false), (HostClock::Wall, true)] {
            let timer = Timer::new(clock, 0);
            // Before a block is no part of it, whatever the thread does there.
            std::thread::sleep(nap);
            timer.start();
            std::thread::sleep(nap);
            timer.stop();
            assert_eq!(timer.take() >= nap.as_nanos() as u64, slept, "{clock:?}");
        }
    }

    #[test]
    fn a_block_is_its_cpu_time_however_it_is_cut() {
        // Steps of some hundred nanoseconds, and of more than any short block.
        for steps in [100, 100_000] {
            let timer = Timer::new(HostClock::Cpu, 0);
            let mut value = 1u64;
            let before = read(libc::CLOCK_THREAD_CPUTIME_ID);
            for _ in 0..10_000_000 / steps {
                timer.start();
                for _ in 0..steps {
                    value = std::hint::black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
                }
                timer.stop();
            }
            let cpu = read(libc::CLOCK_THREAD_CPUTIME_ID) - before;
            let measured = timer.take();
            assert!(measured < 2 * cpu && measured > cpu / 4, "{measured} ns of {cpu} ns in steps of {steps}");
        }
    }
}
