//! Time that a rank's own code takes on the host.
//!
//! The cost of a block is the CPU time of the thread. Reading the CPU time is a system call and costs many times as
//! much as the wall clock, which is mapped into programs. Most MPI calls follow each other closely, and within such
//! short times both clocks advance equally: a thread that loses its core stays away for longer than [`SHORT`]. The cost
//! of a short block is therefore its wall time. Only the end of a long block reads the CPU time, which yields the time
//! that the thread was away since the last reading.
#![allow(unsafe_code)]

use std::cell::Cell;

use crate::process::job::HostClock;

/// Maximum duration in ns of a block whose cost is its wall time.
const SHORT: u64 = 10_000;
/// Maximum age in ns of the last reading of the CPU time at the start of a block; an older reading is renewed. Time
/// away before the block is not part of the block. The constant bounds the error of a block whose thread was away just
/// before its start.
const STALE: u64 = 50_000;

thread_local! {
    /// Last common reading of both clocks on this thread.
    static BOTH: Cell<Reading> = const { Cell::new(Reading { wall: 0, cpu: 0 }) };
}

/// Both clocks, read in immediate succession, in ns.
#[derive(Clone, Copy, Debug)]
struct Reading {
    wall: u64,
    cpu: u64,
}

impl Reading {
    /// Reads the CPU time, which belongs to the given wall time, and stores the pair.
    fn take(wall: u64) -> Reading {
        let reading = Reading { wall, cpu: read(libc::CLOCK_THREAD_CPUTIME_ID) };
        BOTH.set(reading);
        reading
    }

    /// Returns the time in ns that the thread was not running since `earlier`.
    fn away_since(&self, earlier: Reading) -> u64 {
        (self.wall - earlier.wall).saturating_sub(self.cpu - earlier.cpu)
    }
}

/// Measures local execution blocks. The timer runs during the rank's own code and stops in MPI functions.
#[derive(Debug)]
pub struct Timer {
    clock: HostClock,
    /// Time in ns that start and stop add to a measurement.
    overhead: u64,
    /// Wall time in ns at the start of the block, or 0 while the timer is stopped.
    started: Cell<u64>,
    /// Measured time in ns not yet taken.
    measured: Cell<u64>,
}

impl Timer {
    /// Creates a stopped timer.
    pub fn new(clock: HostClock, overhead: u64) -> Self {
        Timer { clock, overhead, started: Cell::new(0), measured: Cell::new(0) }
    }

    /// Starts a block.
    #[inline]
    pub fn start(&self) {
        if self.started.get() == 0 {
            self.started.set(self.begin());
        }
    }

    /// Ends the block.
    #[inline]
    pub fn stop(&self) {
        let started = self.started.replace(0);
        if started != 0 {
            self.end(started, wall());
        }
    }

    /// Returns true if a block is running.
    pub fn is_running(&self) -> bool {
        self.started.get() != 0
    }

    /// Variant of [`Timer::start`] that does not read the clock.
    pub fn set_running(&self) {
        self.started.set(1);
    }

    /// Variant of [`Timer::stop`] that does not read the clock. Returns true if the timer was running.
    pub fn take_running(&self) -> bool {
        self.started.replace(0) != 0
    }

    /// Returns the time in ns measured since the last call, without the current block.
    #[inline]
    pub fn take(&self) -> u64 {
        self.measured.replace(0)
    }

    /// Returns the measured time in ns that was not taken, including the current block. The query is not measured: it
    /// starts a new block.
    pub fn peek(&self) -> u64 {
        let started = self.started.get();
        if started != 0 {
            let now = wall();
            // The time of a CPU time reading belongs to no block.
            let asked = self.end(started, now);
            self.started.set(if asked { wall() } else { now });
        }
        self.measured.get()
    }

    /// Returns the wall time in ns at the start of a block.
    #[inline]
    fn begin(&self) -> u64 {
        match self.clock {
            HostClock::Cpu => wall_beside_cpu(),
            HostClock::Wall => wall(),
        }
    }

    /// Adds a block with this start and end. Returns true if the CPU time was read.
    #[inline]
    fn end(&self, started: u64, now: u64) -> bool {
        let length = now.saturating_sub(started);
        let long = self.clock == HostClock::Cpu && length > SHORT;
        let away = if long { away_until(now) } else { 0 };
        self.measured.set(self.measured.get() + length.saturating_sub(self.overhead + away));
        long
    }
}

/// Returns the wall time in ns. Reads the CPU time first if the last reading is stale.
// This function and the next one are not inlined: a fiber may continue on another thread, where a cached address of a
// thread-local variable would be wrong.
#[inline(never)]
fn wall_beside_cpu() -> u64 {
    let now = wall();
    if now - BOTH.get().wall <= STALE {
        return now;
    }
    Reading::take(now);
    wall()
}

/// Returns the time in ns that the thread was not running since the last reading of its CPU time.
#[cold]
#[inline(never)]
fn away_until(now: u64) -> u64 {
    let last = BOTH.get();
    Reading::take(now).away_since(last)
}

/// Returns the time in ns of an empty measurement, which is the cost of the timer itself.
pub fn overhead() -> u64 {
    let mut all = [0u64; 101].map(|_| {
        let before = wall();
        wall() - before
    });
    all.sort_unstable();
    all[all.len() / 2]
}

/// Returns the wall time in ns; never 0.
#[inline]
fn wall() -> u64 {
    read(libc::CLOCK_MONOTONIC).max(1)
}

/// Returns a clock of the host in ns.
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
        // The timer reads the clock twice, and unoptimised code takes longer than the clock.
        assert!(measured < all, "{measured} ns of {all} ns");
    }

    #[test]
    fn the_cpu_clock_leaves_out_what_the_thread_slept() {
        let nap = std::time::Duration::from_millis(20);
        for (clock, slept) in [(HostClock::Cpu, false), (HostClock::Wall, true)] {
            let timer = Timer::new(clock, 0);
            // Time before a block is not part of it.
            std::thread::sleep(nap);
            timer.start();
            std::thread::sleep(nap);
            timer.stop();
            assert_eq!(timer.take() >= nap.as_nanos() as u64, slept, "{clock:?}");
        }
    }

    #[test]
    fn a_block_is_its_cpu_time_however_it_is_cut() {
        // Steps of some hundred nanoseconds, and steps longer than a short block.
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
