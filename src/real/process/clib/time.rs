//! Virtual time: what clocks show, and waiting.
//!
//! Threads that are no rank's have no virtual time: their clocks go on as the host's does, and they sleep really.
#![allow(unsafe_code)]

use std::ffi::{c_double, c_int, c_long, c_short, c_ushort, c_void};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use super::error;
use crate::process::{Function, NamedFunction, Process, current};
use mcpsim_core::units::SimSpan;

pub const FUNCTIONS: &[NamedFunction] = &[
    ("time", Function(time as *const ())),
    ("gettimeofday", Function(gettimeofday as *const ())),
    ("clock_gettime", Function(clock_gettime as *const ())),
    ("__clock_gettime", Function(clock_gettime as *const ())),
    ("clock_getres", Function(clock_getres as *const ())),
    ("timespec_get", Function(timespec_get as *const ())),
    ("ftime", Function(ftime as *const ())),
    ("clock", Function(clock as *const ())),
    ("times", Function(times as *const ())),
    ("getrusage", Function(getrusage as *const ())),
    ("omp_get_wtime", Function(omp_get_wtime as *const ())),
    ("omp_get_wtick", Function(omp_get_wtick as *const ())),
    ("sleep", Function(sleep as *const ())),
    ("usleep", Function(usleep as *const ())),
    ("nanosleep", Function(nanosleep as *const ())),
    ("clock_nanosleep", Function(clock_nanosleep as *const ())),
    ("thrd_sleep", Function(nanosleep as *const ())),
];

const SECOND: u64 = 1_000_000_000;
/// The time of day at which every run begins, ns since 1970: the start of the year 2000.
pub(super) const EPOCH: u64 = EPOCH_SECONDS as u64 * SECOND;
/// The same in seconds.
pub const EPOCH_SECONDS: i64 = 946_684_800;

/// Virtual time since the start, ns.
fn since_start() -> u64 {
    static FIRST: OnceLock<Instant> = OnceLock::new();
    match current() {
        Some(p) => p.wtime().as_ps() / 1000,
        None => FIRST.get_or_init(Instant::now).elapsed().as_nanos() as u64,
    }
}

/// What the rank's own code has cost, ns.
fn computed() -> u64 {
    cost(Process::computed)
}

/// Returns a cost of the rank's own code in ns.
fn cost(of: fn(&Process) -> SimSpan) -> u64 {
    match current() {
        Some(p) => {
            p.look_at_clock();
            of(p).as_ps() / 1000
        }
        None => since_start(),
    }
}

fn time_of_day() -> u64 {
    EPOCH + since_start()
}

pub(super) fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / SECOND) as libc::time_t, tv_nsec: (ns % SECOND) as c_long }
}

fn timeval(ns: u64) -> libc::timeval {
    libc::timeval { tv_sec: (ns / SECOND) as libc::time_t, tv_usec: (ns % SECOND / 1000) as libc::suseconds_t }
}

/// What a clock shows, ns; none if there is no such clock.
pub(super) fn read(clock: libc::clockid_t) -> Option<u64> {
    match clock {
        libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI => Some(time_of_day()),
        libc::CLOCK_MONOTONIC | libc::CLOCK_MONOTONIC_RAW | libc::CLOCK_MONOTONIC_COARSE | libc::CLOCK_BOOTTIME => {
            Some(since_start())
        }
        libc::CLOCK_PROCESS_CPUTIME_ID => Some(computed()),
        libc::CLOCK_THREAD_CPUTIME_ID => Some(cost(Process::computed_by_task)),
        // Those of other processes and threads.
        clock if clock < 0 => Some(computed()),
        _ => None,
    }
}

unsafe extern "C" fn time(to: *mut libc::time_t) -> libc::time_t {
    let seconds = (time_of_day() / SECOND) as libc::time_t;
    if !to.is_null() {
        // SAFETY: the caller's.
        unsafe { *to = seconds };
    }
    seconds
}

unsafe extern "C" fn gettimeofday(to: *mut libc::timeval, _zone: *mut c_void) -> c_int {
    if !to.is_null() {
        // SAFETY: the caller's.
        unsafe { *to = timeval(time_of_day()) };
    }
    0
}

unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, to: *mut libc::timespec) -> c_int {
    let Some(now) = read(clock) else { return error(libc::EINVAL) };
    // SAFETY: the caller's.
    unsafe { *to = timespec(now) };
    0
}

unsafe extern "C" fn clock_getres(clock: libc::clockid_t, to: *mut libc::timespec) -> c_int {
    if read(clock).is_none() {
        return error(libc::EINVAL);
    }
    if !to.is_null() {
        // SAFETY: the caller's.
        unsafe { *to = timespec(1) };
    }
    0
}

unsafe extern "C" fn timespec_get(to: *mut libc::timespec, base: c_int) -> c_int {
    const TIME_UTC: c_int = 1;
    if base != TIME_UTC {
        return 0;
    }
    // SAFETY: the caller's.
    unsafe { *to = timespec(time_of_day()) };
    base
}

/// `struct timeb`.
#[repr(C)]
struct Milliseconds {
    time: libc::time_t,
    part: c_ushort,
    zone: c_short,
    summer: c_short,
}

unsafe extern "C" fn ftime(to: *mut Milliseconds) -> c_int {
    let now = time_of_day();
    let part = (now % SECOND / 1_000_000) as c_ushort;
    // SAFETY: the caller's.
    unsafe { *to = Milliseconds { time: (now / SECOND) as libc::time_t, part, zone: 0, summer: 0 } };
    0
}

unsafe extern "C" fn clock() -> libc::clock_t {
    (computed() / 1000) as libc::clock_t
}

unsafe extern "C" fn times(to: *mut libc::tms) -> libc::clock_t {
    /// What `sysconf(_SC_CLK_TCK)` gives on every Linux.
    const TICK: u64 = SECOND / 100;
    if !to.is_null() {
        let user = (computed() / TICK) as libc::clock_t;
        // SAFETY: the caller's.
        unsafe { *to = libc::tms { tms_utime: user, tms_stime: 0, tms_cutime: 0, tms_cstime: 0 } };
    }
    (since_start() / TICK) as libc::clock_t
}

unsafe extern "C" fn getrusage(who: c_int, to: *mut libc::rusage) -> c_int {
    // SAFETY: the caller's structure.
    unsafe {
        let result = libc::getrusage(who, to);
        if result == 0 && who != libc::RUSAGE_CHILDREN && current().is_some() {
            (*to).ru_utime = timeval(computed());
            (*to).ru_stime = timeval(0);
        }
        result
    }
}

unsafe extern "C" fn omp_get_wtime() -> c_double {
    since_start() as f64 / SECOND as f64
}

unsafe extern "C" fn omp_get_wtick() -> c_double {
    1e-9
}

/// A length of time as C has it; none if it cannot be one.
pub(super) fn length(time: libc::timespec) -> Option<Duration> {
    let ns = u32::try_from(time.tv_nsec).ok().filter(|&ns| u64::from(ns) < SECOND)?;
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, ns))
}

/// A length of virtual time; what no run's time holds, if it is longer.
pub(super) fn span(time: Duration) -> SimSpan {
    const FOREVER: SimSpan = SimSpan::from_ps(u64::MAX);
    let ps = time.as_nanos().checked_mul(1000).and_then(|ps| u64::try_from(ps).ok());
    ps.map_or(FOREVER, SimSpan::from_ps)
}

/// Lets virtual time pass.
pub(super) fn pass(time: Duration) {
    match current() {
        Some(p) => {
            p.pass(span(time));
            p.start_timer();
        }
        None => std::thread::sleep(time),
    }
}

unsafe extern "C" fn sleep(seconds: u32) -> u32 {
    pass(Duration::from_secs(seconds.into()));
    0
}

unsafe extern "C" fn usleep(microseconds: u32) -> c_int {
    pass(Duration::from_micros(microseconds.into()));
    0
}

/// Sets the remaining time of a sleep that nothing interrupts.
unsafe fn nothing_left(left: *mut libc::timespec) {
    if !left.is_null() {
        // SAFETY: the caller's.
        unsafe { *left = timespec(0) };
    }
}

unsafe extern "C" fn nanosleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(time) = length(*time) else { return error(libc::EINVAL) };
        pass(time);
        nothing_left(left);
    }
    0
}

unsafe extern "C" fn clock_nanosleep(
    clock: libc::clockid_t,
    flags: c_int,
    time: *const libc::timespec,
    left: *mut libc::timespec,
) -> c_int {
    // SAFETY: the caller's.
    let (Some(time), Some(now)) = (length(unsafe { *time }), read(clock)) else { return libc::EINVAL };
    let is_absolute = flags & libc::TIMER_ABSTIME != 0;
    pass(if is_absolute { time.saturating_sub(Duration::from_nanos(now)) } else { time });
    if !is_absolute {
        // SAFETY: the caller's.
        unsafe { nothing_left(left) };
    }
    0
}
