//! Replacements for clocks and sleeps of the C library: a rank observes virtual time.
//!
//! The MPI library of mcpsim registers the functions that implement virtual time. Other threads and MPI functions use the
//! functions of the C library. Before the first MPI call, clocks show the start of the run.

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use crate::next::next;

/// Seconds from 1970 to the start of each run, as in `process/clib`.
const EPOCH_SECONDS: i64 = 946_684_800;

/// Environment variable that each process of a rank has.
const RANK_FILE: &CStr = c"MCPSIM_SHARED_FILE";

thread_local! {
    /// True while a replacement runs. Its own calls use the C library.
    pub static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Function of the MPI library that returns true if the current thread runs the rank's own code.
static RUNS_RANK_CODE: AtomicUsize = AtomicUsize::new(0);
/// Function of the MPI library that returns the address of a replacement by its name.
static REPLACEMENT: AtomicUsize = AtomicUsize::new(0);

/// Registers the functions that implement virtual time. The MPI library calls it when the process becomes a rank.
#[unsafe(no_mangle)]
pub extern "C" fn mcpsim_register(
    replacement: extern "C" fn(*const c_char) -> usize,
    runs_rank_code: extern "C" fn() -> bool,
) {
    REPLACEMENT.store(replacement as *const () as usize, Ordering::Release);
    RUNS_RANK_CODE.store(runs_rank_code as *const () as usize, Ordering::Release);
}

/// Returns true if the current thread runs the rank's own code.
pub fn runs_rank_code() -> bool {
    match RUNS_RANK_CODE.load(Ordering::Acquire) {
        0 => false,
        // SAFETY: `mcpsim_register` stores a function with this signature.
        function => unsafe { std::mem::transmute::<usize, extern "C" fn() -> bool>(function)() },
    }
}

/// Returns the address of the replacement of the function `name`.
pub fn own(known: &AtomicUsize, name: &CStr) -> usize {
    match known.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: `mcpsim_register` stores a function with this signature.
            let find = unsafe {
                std::mem::transmute::<usize, extern "C" fn(*const c_char) -> usize>(REPLACEMENT.load(Ordering::Acquire))
            };
            let found = find(name.as_ptr());
            known.store(found, Ordering::Relaxed);
            found
        }
        found => found,
    }
}

/// Defines functions that call the replacements of the MPI library in the rank's own code, under a condition.
macro_rules! interposed {
    (if $condition:expr; $($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                static NEXT: AtomicUsize = AtomicUsize::new(0);
                static OWN: AtomicUsize = AtomicUsize::new(0);
                let is_own = $condition && !BUSY.get() && runs_rank_code();
                let name = match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => unreachable!(),
                };
                let function = if is_own { own(&OWN, name) } else { next(&NEXT, name) };
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

pub(crate) use interposed;

interposed! {
    if true;
    timespec_get(to: *mut libc::timespec, base: c_int) -> c_int;
    clock() -> libc::clock_t;
    times(to: *mut libc::tms) -> libc::clock_t;
    getrusage(who: c_int, to: *mut libc::rusage) -> c_int;
    sleep(seconds: u32) -> u32;
    usleep(microseconds: u32) -> c_int;
    nanosleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int;
    clock_nanosleep(clock: c_int, flags: c_int, time: *const libc::timespec, left: *mut libc::timespec) -> c_int;
}

/// Returns the time since the start of the run, before the first MPI call of a rank. Each query advances this time by
/// 1 ns, so that a loop that waits for a time ends.
fn early() -> Option<libc::timespec> {
    static IS_RANK: OnceLock<bool> = OnceLock::new();
    static QUERIES: AtomicI64 = AtomicI64::new(0);
    // SAFETY: the name ends with a zero byte.
    let is_rank = || unsafe { !libc::getenv(RANK_FILE.as_ptr()).is_null() };
    let counts = RUNS_RANK_CODE.load(Ordering::Acquire) == 0 && *IS_RANK.get_or_init(is_rank);
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
        let function = if is_own { own(&OWN, c"clock_gettime") } else { next(&NEXT, c"clock_gettime") };
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
