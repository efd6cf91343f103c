//! Measures the time that a rank's own code takes on the host.
//!
//! The cost of a local execution block is the CPU time of the rank's host thread. Reading the CPU time requires a
//! system call, which costs many times as much as reading the wall clock without a system call. The time between two
//! MPI calls is usually short. Within short times the wall clock and the CPU time advance equally, because a thread
//! that loses its core does not run for longer than [`SHORT`]. The cost of a short block is therefore the wall time
//! of the block. The CPU time is read only at the end of a long block. From the CPU time, the timer computes the time
//! that the thread did not run since the last reading.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::process::job::HostClock;

/// Maximum wall time in ns of a local execution block whose cost is its wall time.
pub(super) const SHORT: u64 = 10_000;
/// Maximum age in ns of the last reading of the CPU time at the start of a local execution block. If the reading is
/// older, the CPU time is read again, because time that the thread did not run before the block is not part of the
/// block. The constant bounds the error if the thread did not run just before the start of the block.
const STALE: u64 = 50_000;

/// Type of `clock_gettime`.
type ClockFunction = unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int;

/// Address of the C library's `clock_gettime`, if a preloaded library replaces the function.
static CLOCK: AtomicPtr<()> = AtomicPtr::new(std::ptr::null_mut());

/// Makes timers read the clocks of the host, although a preloaded library replaces `clock_gettime`.
pub fn use_host_clock() {
    // SAFETY: the names end with zero bytes, and the C library is loaded and stays loaded.
    let clock = unsafe {
        let library = libc::dlopen(c"libc.so.6".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        libc::dlsym(library, c"clock_gettime".as_ptr())
    };
    CLOCK.store(clock.cast(), Ordering::Relaxed);
}

thread_local! {
    /// Last reading of wall time and CPU time on the current host thread.
    static BOTH: Cell<Reading> = const { Cell::new(Reading { wall: 0, cpu: 0 }) };
}

/// Wall time and CPU time in ns, read in immediate succession.
#[derive(Clone, Copy, Debug)]
struct Reading {
    wall: u64,
    cpu: u64,
}

impl Reading {
    /// Reads the CPU time and stores the reading together with the wall time `wall`, which was read just before.
    fn take(wall: u64) -> Reading {
        let reading = Reading { wall, cpu: read(libc::CLOCK_THREAD_CPUTIME_ID) };
        BOTH.set(reading);
        reading
    }

    /// Returns the time in ns that the host thread was not running since the reading `earlier`.
    fn away_since(&self, earlier: Reading) -> u64 {
        (self.wall - earlier.wall).saturating_sub(self.cpu - earlier.cpu)
    }
}

/// Timer that measures local execution blocks. The timer runs during the rank's own code and is stopped in MPI
/// functions.
#[derive(Debug)]
pub struct Timer {
    clock: HostClock,
    /// The rank has further threads, whose time counts too.
    is_shared: Cell<bool>,
    /// The rank has several threads with clocks of their own, which share its cores.
    shares_cores: Cell<bool>,
    /// Time in ns that starting and stopping the timer adds to a measurement.
    overhead: u64,
    /// Wall time in ns at the start of the current local execution block, or 0 while the timer is stopped.
    started: Cell<u64>,
    /// Measured time in ns that `Timer::take` has not returned yet.
    measured: Cell<u64>,
}

impl Timer {
    /// Creates a stopped timer.
    pub fn new(clock: HostClock, overhead: u64) -> Self {
        Timer {
            clock,
            is_shared: Cell::new(false),
            shares_cores: Cell::new(false),
            overhead,
            started: Cell::new(0),
            measured: Cell::new(0),
        }
    }

    /// Starts a local execution block.
    #[inline]
    pub fn start(&self) {
        if self.started.get() == 0 {
            self.started.set(self.begin());
        }
    }

    /// Starts a local execution block. A block that has started and not ended is not measured.
    #[inline]
    pub fn restart(&self) {
        self.started.set(self.begin());
    }

    /// Ends the current local execution block.
    #[inline]
    pub fn stop(&self) {
        let started = self.started.replace(0);
        if started != 0 {
            self.end(started, wall());
        }
    }

    /// Notes that the rank has further threads.
    pub fn share(&self) {
        self.is_shared.set(true);
    }

    /// Returns true if the rank has further threads.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.is_shared.get()
    }

    /// Notes that threads with clocks of their own share the cores of the rank.
    pub fn share_cores(&self) {
        self.shares_cores.set(true);
    }

    /// Returns true if threads with clocks of their own share the cores of the rank.
    #[inline]
    pub fn shares_cores(&self) -> bool {
        self.shares_cores.get()
    }

    /// Notes that the current host thread has waited while other processes ran on its core. The next block starts with a
    /// reading of the CPU time. If the timer is stopped, it measures an empty block and drops the time, so that the end of
    /// the next block finds the timer's code and data in the caches.
    pub fn has_waited(&self) {
        BOTH.set(Reading { wall: 0, cpu: 0 });
        if !self.is_running() {
            let measured = self.measured.get();
            self.started.set(wall());
            self.stop();
            self.measured.set(measured);
        }
    }

    /// Subtracts `ns` from the time of the current local execution block, at most to 0.
    pub fn discount(&self, ns: u64) {
        if self.is_running() {
            self.started.set(self.started.get() + ns);
        }
    }

    /// Ends the current local execution block, which is not measured.
    pub fn abandon(&self) {
        self.started.set(0);
    }

    /// Returns true if a local execution block has started and not ended.
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

    /// Returns the time in ns of all local execution blocks that ended since the last call of the same function.
    #[inline]
    pub fn take(&self) -> u64 {
        self.measured.replace(0)
    }

    /// Returns the measured time in ns that no call has returned yet, including the current block. The time of the
    /// query is not measured, because the query ends the current block and starts a new block.
    pub fn peek(&self) -> u64 {
        let started = self.started.get();
        if started != 0 {
            let now = wall();
            // The time that reading the CPU time takes belongs to no local execution block.
            let asked = self.end(started, now);
            self.started.set(if asked { wall() } else { now });
        }
        self.measured.get()
    }

    /// Returns the wall time in ns at the start of a local execution block.
    #[inline]
    fn begin(&self) -> u64 {
        match self.clock {
            HostClock::Cpu => wall_beside_cpu(),
            HostClock::Wall => wall(),
        }
    }

    /// Adds the local execution block from the wall time `started` to the wall time `now` to the measured time.
    /// Returns true if the CPU time was read.
    #[inline]
    fn end(&self, started: u64, now: u64) -> bool {
        let length = now.saturating_sub(started);
        let long = self.clock == HostClock::Cpu && length > SHORT;
        let away = if long { away_until(now) } else { 0 };
        self.measured.set(self.measured.get() + length.saturating_sub(self.overhead + away));
        long
    }
}

/// Returns the wall time in ns. If the last reading of the CPU time is older than [`STALE`], the function also reads
/// the CPU time.
// `wall_beside_cpu` and `away_until` are not inlined, because a fiber may continue on another host thread, where a
// cached address of a thread-local variable would be wrong.
#[inline(never)]
fn wall_beside_cpu() -> u64 {
    let now = wall();
    if now - BOTH.get().wall <= STALE {
        return now;
    }
    // The block starts after the reading, whose time is not counted as time that the thread did not run.
    let cpu = read(libc::CLOCK_THREAD_CPUTIME_ID);
    let started = wall();
    BOTH.set(Reading { wall: started, cpu });
    started
}

/// Returns the time in ns that the host thread was not running since the last reading of the thread's CPU time.
#[cold]
#[inline(never)]
fn away_until(now: u64) -> u64 {
    let last = BOTH.get();
    Reading::take(now).away_since(last)
}

/// Measures the cost of the timer itself: the time in ns that an empty measurement yields.
pub fn overhead() -> u64 {
    let mut all = [0u64; 101].map(|_| {
        let before = wall();
        wall() - before
    });
    all.sort_unstable();
    all[all.len() / 2]
}

/// Returns the CPU time in ns of the thread with the number `thread` in the system, if the thread exists.
pub(super) fn cpu_time_of(thread: i32) -> Option<u64> {
    // The number of a thread and the kind of its clock, as the system defines them.
    let id = (!thread << 3) | 6;
    Some(read(id)).filter(|&time| time > 0)
}

/// Returns the wall time in ns. The returned wall time is never 0.
#[inline]
pub fn wall() -> u64 {
    read(libc::CLOCK_MONOTONIC).max(1)
}

/// Returns the time of the host clock `id` in ns.
#[inline]
fn read(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the wall clock and the CPU clock exist on every Linux system, and `time` is valid for writes. The pointer
    // is null or the address of the C library's function.
    unsafe {
        match CLOCK.load(Ordering::Relaxed) {
            clock if clock.is_null() => libc::clock_gettime(id, &mut time),
            clock => std::mem::transmute::<*mut (), ClockFunction>(clock)(id, &mut time),
        }
    };
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
        // The timer reads the host clock twice, and unoptimised code takes longer than the clock.
        assert!(measured < all, "{measured} ns of {all} ns");
    }

    #[test]
    fn the_cpu_clock_leaves_out_what_the_thread_slept() {
        let nap = std::time::Duration::from_millis(20);
        for (clock, slept) in [(HostClock::Cpu, false), (HostClock::Wall, true)] {
            let timer = Timer::new(clock, 0);
            // Time that the thread sleeps before a local execution block is not part of the block.
            std::thread::sleep(nap);
            timer.start();
            std::thread::sleep(nap);
            timer.stop();
            assert_eq!(timer.take() >= nap.as_nanos() as u64, slept, "{clock:?}");
        }
    }

    #[test]
    fn a_discount_shortens_one_block_at_most_to_nothing() {
        let timer = Timer::new(HostClock::Wall, 0);
        timer.discount(1);
        timer.start();
        timer.discount(u64::MAX / 4);
        timer.stop();
        assert_eq!(timer.take(), 0);
        timer.start();
        std::thread::sleep(std::time::Duration::from_millis(1));
        timer.stop();
        assert!(timer.take() >= 1_000_000);
    }

    #[test]
    fn a_wait_before_a_block_is_not_part_of_the_block() {
        let timer = Timer::new(HostClock::Cpu, 0);
        for _ in 0..100 {
            std::thread::sleep(std::time::Duration::from_micros(20));
            timer.has_waited();
            timer.start();
            let cpu = read(libc::CLOCK_THREAD_CPUTIME_ID);
            let mut value = 1u64;
            while read(libc::CLOCK_THREAD_CPUTIME_ID) - cpu < 2 * SHORT {
                value = std::hint::black_box(value.wrapping_mul(3));
            }
            timer.stop();
            assert!(timer.take() >= 2 * SHORT);
        }
    }

    #[test]
    fn a_block_that_starts_anew_or_follows_a_wait_has_no_earlier_time() {
        let timer = Timer::new(HostClock::Wall, 0);
        timer.start();
        std::thread::sleep(std::time::Duration::from_millis(1));
        timer.restart();
        let started = timer.started.get();
        timer.stop();
        assert!(wall() - started >= timer.take());
        timer.has_waited();
        assert_eq!((timer.is_running(), timer.take()), (false, 0));
    }

    #[test]
    fn a_block_is_its_cpu_time_however_it_is_cut() {
        // The loop runs with steps of some hundred nanoseconds, and with steps that are longer than a short block.
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
