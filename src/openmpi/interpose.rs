//! Replacements for functions of the C library, with which a rank observes the simulated machine: clocks, sleeps, host
//! name and number of cores.
//!
//! Other threads and MPI functions use the functions of the C library. Before the first MPI call, clocks show the start
//! of the run.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use mcpsim_real::as_built::{EPOCH_SECONDS, is_rank_process, runs_rank_code};
use mcpsim_real::process::replacement;

thread_local! {
    /// True while a replacement runs. Its own calls use the C library.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Returns the C library's definition of the function `name`, which is the next one in search order.
fn next(known: &AtomicUsize, name: &CStr) -> usize {
    match known.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: the name ends with a zero byte.
            let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
            known.store(found, Ordering::Relaxed);
            found
        }
        found => found,
    }
}

fn own(known: &AtomicUsize, name: &str) -> usize {
    match known.load(Ordering::Relaxed) {
        0 => {
            let found = replacement(name).expect("the simulator replaces the function");
            known.store(found, Ordering::Relaxed);
            found
        }
        found => found,
    }
}

macro_rules! interposed {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                static NEXT: AtomicUsize = AtomicUsize::new(0);
                static OWN: AtomicUsize = AtomicUsize::new(0);
                let is_own = !BUSY.get() && runs_rank_code();
                let name = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => unreachable!(),
                };
                let function = if is_own { own(&OWN, stringify!($name)) } else { next(&NEXT, name) };
                BUSY.set(BUSY.get() || is_own);
                // SAFETY: both functions have the signature of the C library's function.
                let result = unsafe {
                    let function: unsafe extern "C" fn($($type),*) -> $result = std::mem::transmute(function);
                    function($($argument),*)
                };
                if is_own {
                    BUSY.set(false);
                }
                result
            }
        )*
    };
}

interposed! {
    timespec_get(to: *mut libc::timespec, base: c_int) -> c_int;
    clock() -> libc::clock_t;
    times(to: *mut libc::tms) -> libc::clock_t;
    getrusage(who: c_int, to: *mut libc::rusage) -> c_int;
    sleep(seconds: u32) -> u32;
    usleep(microseconds: u32) -> c_int;
    nanosleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int;
    clock_nanosleep(clock: c_int, flags: c_int, time: *const libc::timespec, left: *mut libc::timespec) -> c_int;
    gethostname(to: *mut c_char, room: usize) -> c_int;
    uname(to: *mut libc::utsname) -> c_int;
    sched_getcpu() -> c_int;
    sysconf(name: c_int) -> c_long;
    get_nprocs() -> c_int;
    get_nprocs_conf() -> c_int;
}

/// Returns the time since the start of the run, before the first MPI call of a rank. Each query advances this time by
/// 1 ns, so that a loop that waits for a time ends.
fn early() -> Option<libc::timespec> {
    static IS_RANK: OnceLock<bool> = OnceLock::new();
    static QUERIES: AtomicI64 = AtomicI64::new(0);
    let counts = *IS_RANK.get_or_init(is_rank_process) && !mcpsim_real::as_built::attached();
    counts.then(|| {
        let ns = QUERIES.fetch_add(1, Ordering::Relaxed);
        libc::timespec { tv_sec: ns / 1_000_000_000, tv_nsec: ns % 1_000_000_000 }
    })
}

fn is_wall(clock: libc::clockid_t) -> bool {
    !matches!(clock, libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID) && clock >= 0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: libc::clockid_t, to: *mut libc::timespec) -> c_int {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    static OWN: AtomicUsize = AtomicUsize::new(0);
    // SAFETY: the caller passes room for the time, and both functions have the same signature.
    unsafe {
        let is_own = !BUSY.get() && runs_rank_code();
        let early = if is_own || BUSY.get() || !is_wall(clock) { None } else { early() };
        if let Some(time) = early {
            *to = time;
            if matches!(clock, libc::CLOCK_REALTIME | libc::CLOCK_REALTIME_COARSE | libc::CLOCK_TAI) {
                (*to).tv_sec += EPOCH_SECONDS;
            }
            return 0;
        }
        let function = if is_own { own(&OWN, "clock_gettime") } else { next(&NEXT, c"clock_gettime") };
        let function: unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int =
            std::mem::transmute(function);
        BUSY.set(BUSY.get() || is_own);
        let result = function(clock, to);
        if is_own {
            BUSY.set(false);
        }
        result
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(to: *mut libc::timeval, _zone: *mut c_void) -> c_int {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the caller passes null or room for the time.
    unsafe {
        let result = clock_gettime(libc::CLOCK_REALTIME, &mut time);
        if !to.is_null() {
            *to = libc::timeval { tv_sec: time.tv_sec, tv_usec: time.tv_nsec / 1000 };
        }
        result
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(to: *mut libc::time_t) -> libc::time_t {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the caller passes null or room for the time.
    unsafe {
        clock_gettime(libc::CLOCK_REALTIME, &mut time);
        if !to.is_null() {
            *to = time.tv_sec;
        }
    }
    time.tv_sec
}
