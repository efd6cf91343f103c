//! Waiting for other threads of the program until a deadline.
//!
//! The deadline is one of virtual time; who would end the wait runs in the host's. So the wait lasts as long on the
//! host as is left until the deadline, and if nothing ended it, that much virtual time passes. In a program without
//! threads only another rank can end it: the rank asks again and again, and lets the others go on.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::shared_sync::{Shared, look_again, until_over};
use super::threads::alone;
use super::time::{EPOCH, length, pass, read, span, timespec};
use crate::process::current;
use crate::process::{Function, NamedFunction};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("pthread_cond_timedwait", Function(pthread_cond_timedwait as *const ())),
    ("pthread_cond_clockwait", Function(pthread_cond_clockwait as *const ())),
    ("pthread_mutex_timedlock", Function(pthread_mutex_timedlock as *const ())),
    ("pthread_mutex_clocklock", Function(pthread_mutex_clocklock as *const ())),
    ("pthread_rwlock_timedrdlock", Function(pthread_rwlock_timedrdlock as *const ())),
    ("pthread_rwlock_clockrdlock", Function(pthread_rwlock_clockrdlock as *const ())),
    ("pthread_rwlock_timedwrlock", Function(pthread_rwlock_timedwrlock as *const ())),
    ("pthread_rwlock_clockwrlock", Function(pthread_rwlock_clockwrlock as *const ())),
    ("sem_timedwait", Function(sem_timedwait as *const ())),
    ("sem_clockwait", Function(sem_clockwait as *const ())),
    ("cnd_timedwait", Function(cnd_timedwait as *const ())),
    ("mtx_timedlock", Function(mtx_timedlock as *const ())),
];

/// What is waited for: the C library's object.
type Object = *mut c_void;
type Until = *const libc::timespec;
type Clock = libc::clockid_t;

/// As the C library has them, since glibc 2.30.
mod host {
    use super::{Clock, Object, Until, c_int};

    unsafe extern "C" {
        pub fn pthread_cond_clockwait(condition: Object, mutex: Object, clock: Clock, until: Until) -> c_int;
        pub fn pthread_mutex_clocklock(mutex: Object, clock: Clock, until: Until) -> c_int;
        pub fn pthread_rwlock_clockrdlock(lock: Object, clock: Clock, until: Until) -> c_int;
        pub fn pthread_rwlock_clockwrlock(lock: Object, clock: Clock, until: Until) -> c_int;
        pub fn sem_clockwait(semaphore: Object, clock: Clock, until: Until) -> c_int;
    }
}

/// The clock of a deadline for which none is stated: a condition's attributes say which, but times of day are far from
/// those since the start.
fn clock_of(until: u64) -> Clock {
    if until < EPOCH / 2 { libc::CLOCK_MONOTONIC } else { libc::CLOCK_REALTIME }
}

/// A deadline that is over.
const OVER: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 0 };

/// Waits by `wait` until `until`, which `clock` shows in the rank's time; an error number.
unsafe fn wait(clock: Option<Clock>, until: Until, wait: impl Fn(Clock, Until) -> c_int) -> c_int {
    // SAFETY: the caller's.
    let Some(until) = length(unsafe { *until }) else { return libc::EINVAL };
    let until = u64::try_from(until.as_nanos()).unwrap_or(u64::MAX);
    let clock = clock.unwrap_or_else(|| clock_of(until));
    let left = || read(clock).map(|now| until.saturating_sub(now));
    let Some(before) = left() else { return libc::EINVAL };
    if let Some(p) = alone() {
        let limit = span(std::time::Duration::from_nanos(before));
        let result = until_over(p, limit, || {
            let result = wait(libc::CLOCK_MONOTONIC, &OVER);
            (result != libc::ETIMEDOUT).then_some(result)
        });
        return result.unwrap_or(libc::ETIMEDOUT);
    }
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux, and `now` is valid.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    let now = length(now).map_or(0, |now| now.as_nanos() as u64);
    let result = wait(libc::CLOCK_MONOTONIC, &timespec(now.saturating_add(before)));
    if result == libc::ETIMEDOUT && current().is_some() {
        pass(std::time::Duration::from_nanos(left().unwrap_or(0)));
    }
    result
}

macro_rules! waits {
    ($($stated:ident $timed:ident ($($object:ident),*);)*) => {
        $(
            pub unsafe extern "C" fn $stated($($object: Object,)* clock: Clock, until: Until) -> c_int {
                // SAFETY: the caller's objects.
                unsafe { wait(Some(clock), until, |clock, until| host::$stated($($object,)* clock, until)) }
            }

            pub unsafe extern "C" fn $timed($($object: Object,)* until: Until) -> c_int {
                // SAFETY: the caller's objects.
                unsafe { wait(None, until, |clock, until| host::$stated($($object,)* clock, until)) }
            }
        )*
    };
}

/// A condition in shared memory: the rank looks for itself, as in `pthread_cond_wait`; none for other conditions.
unsafe fn look(condition: Object, mutex: Object, clock: Option<Clock>, until: Until) -> Option<c_int> {
    // SAFETY: the caller's.
    unsafe {
        let p = alone().filter(|_| Shared::Condition.is(condition))?;
        let until = u64::try_from(length(*until)?.as_nanos()).unwrap_or(u64::MAX);
        let left = until.saturating_sub(read(clock.unwrap_or_else(|| clock_of(until)))?);
        if left == 0 {
            return Some(libc::ETIMEDOUT);
        }
        let left = span(std::time::Duration::from_nanos(left));
        Some(look_again(p, condition.cast(), mutex.cast(), Some(left)))
    }
}

unsafe extern "C" fn pthread_cond_clockwait(condition: Object, mutex: Object, clock: Clock, until: Until) -> c_int {
    // SAFETY: the caller's objects.
    unsafe {
        look(condition, mutex, Some(clock), until)
            .unwrap_or_else(|| threads::pthread_cond_clockwait(condition, mutex, clock, until))
    }
}

unsafe extern "C" fn pthread_cond_timedwait(condition: Object, mutex: Object, until: Until) -> c_int {
    // SAFETY: the caller's objects.
    unsafe {
        look(condition, mutex, None, until).unwrap_or_else(|| threads::pthread_cond_timedwait(condition, mutex, until))
    }
}

/// Conditions of one process.
mod threads {
    use super::{Clock, Object, Until, c_int, host, wait};

    waits! {
        pthread_cond_clockwait pthread_cond_timedwait(condition, mutex);
    }
}

waits! {
    pthread_mutex_clocklock pthread_mutex_timedlock(mutex);
    pthread_rwlock_clockrdlock pthread_rwlock_timedrdlock(lock);
    pthread_rwlock_clockwrlock pthread_rwlock_timedwrlock(lock);
}

unsafe fn sem_wait(semaphore: Object, clock: Option<Clock>, until: Until) -> c_int {
    // SAFETY: the caller's semaphore; the location is the thread's own.
    let number = unsafe {
        wait(clock, until, |clock, until| match host::sem_clockwait(semaphore, clock, until) {
            0 => 0,
            _ => *libc::__errno_location(),
        })
    };
    if number == 0 { 0 } else { super::error(number) }
}

unsafe extern "C" fn sem_clockwait(semaphore: Object, clock: Clock, until: Until) -> c_int {
    // SAFETY: the caller's.
    unsafe { sem_wait(semaphore, Some(clock), until) }
}

unsafe extern "C" fn sem_timedwait(semaphore: Object, until: Until) -> c_int {
    // SAFETY: the caller's.
    unsafe { sem_wait(semaphore, None, until) }
}

/// What C11's functions give for an error number.
fn c11(number: c_int) -> c_int {
    const SUCCESS: c_int = 0;
    const ERROR: c_int = 2;
    const TIMED_OUT: c_int = 4;
    match number {
        0 => SUCCESS,
        libc::ETIMEDOUT => TIMED_OUT,
        _ => ERROR,
    }
}

unsafe extern "C" fn cnd_timedwait(condition: Object, mutex: Object, until: Until) -> c_int {
    // SAFETY: the caller's; C11's objects are those of POSIX in this C library.
    c11(unsafe { pthread_cond_timedwait(condition, mutex, until) })
}

unsafe extern "C" fn mtx_timedlock(mutex: Object, until: Until) -> c_int {
    // SAFETY: as above.
    c11(unsafe { pthread_mutex_timedlock(mutex, until) })
}
