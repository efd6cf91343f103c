//! Threads of C11, by the functions of POSIX threads. Objects of both have the same layouts in the GNU C library.

use std::ffi::{c_int, c_void};

use crate::clocks::clock_nanosleep;
use crate::threads::*;

/// Results of the functions, as `threads.h` defines them.
const SUCCESS: c_int = 0;
const BUSY: c_int = 1;
const ERROR: c_int = 2;
const NO_MEMORY: c_int = 3;
const TIMED_OUT: c_int = 4;

fn result(code: c_int) -> c_int {
    match code {
        0 => SUCCESS,
        libc::EBUSY => BUSY,
        libc::ENOMEM => NO_MEMORY,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

/// Function and argument of a thread.
struct C11Thread(extern "C" fn(*mut c_void) -> c_int, *mut c_void);

extern "C" fn enter(start: *mut c_void) -> *mut c_void {
    // SAFETY: `thrd_create` passes a value of this type, which the thread owns.
    let C11Thread(function, argument) = *unsafe { Box::from_raw(start.cast::<C11Thread>()) };
    function(argument) as isize as *mut c_void
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_create(
    thread: *mut libc::pthread_t,
    function: extern "C" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
) -> c_int {
    let start = Box::into_raw(Box::new(C11Thread(function, argument)));
    // SAFETY: the caller passes valid arguments. The thread owns `start` only if it has started.
    unsafe {
        let code = pthread_create(thread, std::ptr::null(), enter, start.cast());
        if code != 0 {
            drop(Box::from_raw(start));
        }
        // The system reports missing resources by EAGAIN.
        if code == libc::EAGAIN { NO_MEMORY } else { result(code) }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_join(thread: libc::pthread_t, to: *mut c_int) -> c_int {
    let mut value = std::ptr::null_mut();
    // SAFETY: the caller passes a thread, and null or room for its result.
    unsafe {
        let code = pthread_join(thread, &mut value);
        if code == 0 && !to.is_null() {
            *to = value as isize as c_int;
        }
        result(code)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_sleep(time: *const libc::timespec, left: *mut libc::timespec) -> c_int {
    // SAFETY: the caller passes valid arguments.
    match unsafe { clock_nanosleep(libc::CLOCK_REALTIME, 0, time, left) } {
        0 => 0,
        libc::EINTR => -1,
        _ => -2,
    }
}

macro_rules! by_posix {
    ($($name:ident($($argument:ident: $type:ty),*) = $posix:ident;)*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
                // SAFETY: the caller passes valid arguments, which both functions have.
                result(unsafe { $posix($($argument),*) })
            }
        )*
    };
}

by_posix! {
    mtx_lock(mutex: *mut c_void) = pthread_mutex_lock;
    mtx_trylock(mutex: *mut c_void) = pthread_mutex_trylock;
    mtx_unlock(mutex: *mut c_void) = pthread_mutex_unlock;
    mtx_timedlock(mutex: *mut c_void, until: *const libc::timespec) = pthread_mutex_timedlock;
    cnd_wait(condition: *mut c_void, mutex: *mut c_void) = pthread_cond_wait;
    cnd_timedwait(condition: *mut c_void, mutex: *mut c_void, until: *const libc::timespec) = pthread_cond_timedwait;
    cnd_signal(condition: *mut c_void) = pthread_cond_signal;
    cnd_broadcast(condition: *mut c_void) = pthread_cond_broadcast;
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn thrd_yield() {
    // SAFETY: the function has no requirement.
    unsafe { sched_yield() };
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn call_once(flag: *mut c_void, function: extern "C" fn()) {
    type Once = unsafe extern "C" fn(*mut c_void, extern "C" fn()) -> c_int;
    // SAFETY: the function has this signature, and the caller passes valid arguments.
    unsafe { std::mem::transmute::<*const (), Once>(crate::once::pthread_once as *const ())(flag, function) };
}
