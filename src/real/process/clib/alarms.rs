//! A rank's alarm and its timers (`alarm`, `setitimer`, `timer_create`): they go off in virtual time, while it sleeps or
//! waits for a signal.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint};
use std::time::Duration;

use super::error;
use super::pending::SignalTimer;
use super::time::{length, read, span, timespec};
use crate::process::{Function, NamedFunction, Process, current};
use mcpsim_core::units::SimSpan;

pub const FUNCTIONS: &[NamedFunction] = &[
    ("alarm", Function(alarm as *const ())),
    ("ualarm", Function(ualarm as *const ())),
    ("setitimer", Function(setitimer as *const ())),
    ("getitimer", Function(getitimer as *const ())),
    ("timer_create", Function(timer_create as *const ())),
    ("timer_settime", Function(timer_settime as *const ())),
    ("timer_gettime", Function(timer_gettime as *const ())),
    ("timer_getoverrun", Function(timer_getoverrun as *const ())),
    ("timer_delete", Function(timer_delete as *const ())),
];

/// Sets the alarm; what it was set to: the time left, and the interval.
fn set_alarm(p: &Process, after: SimSpan, interval: SimSpan) -> (SimSpan, SimSpan) {
    let now = p.now();
    let alarm = &p.variables.signals.pending.alarm;
    let before = alarm.replace((after != SimSpan::ZERO).then(|| (now + after, interval)));
    before.map_or((SimSpan::ZERO, SimSpan::ZERO), |(due, interval)| (due.since(now.min(due)), interval))
}

const SECOND: u64 = 1_000_000_000_000;

unsafe extern "C" fn alarm(seconds: c_uint) -> c_uint {
    let Some(p) = current() else { return 0 };
    let (left, _) = set_alarm(p, SimSpan::from_ps(u64::from(seconds).saturating_mul(SECOND)), SimSpan::ZERO);
    c_uint::try_from(left.as_ps().div_ceil(SECOND)).unwrap_or(c_uint::MAX)
}

unsafe extern "C" fn ualarm(after: c_uint, interval: c_uint) -> c_uint {
    let Some(p) = current() else { return 0 };
    let [after, interval] = [after, interval].map(|us| SimSpan::from_ps(u64::from(us) * 1_000_000));
    let (left, _) = set_alarm(p, after, interval);
    c_uint::try_from(left.as_ps() / 1_000_000).unwrap_or(c_uint::MAX)
}

fn timer((left, interval): (SimSpan, SimSpan)) -> libc::itimerval {
    let [it_value, it_interval] = [left, interval].map(|span| libc::timeval {
        tv_sec: (span.as_ps() / SECOND) as libc::time_t,
        tv_usec: (span.as_ps() % SECOND / 1_000_000) as libc::suseconds_t,
    });
    libc::itimerval { it_interval, it_value }
}

/// Only the timer of real time sends signals.
unsafe extern "C" fn setitimer(which: c_int, new: *const libc::itimerval, old: *mut libc::itimerval) -> c_int {
    let Some(p) = current() else { return error(libc::EINVAL) };
    // SAFETY: the caller's structures.
    unsafe {
        let span = |time: libc::timeval| {
            let us = u64::try_from(time.tv_usec).ok().filter(|&us| us < 1_000_000)?;
            Some(SimSpan::from_ps(u64::try_from(time.tv_sec).ok()?.checked_mul(SECOND)? + us * 1_000_000))
        };
        let Some(new) = new.as_ref() else { return getitimer(which, old) };
        let (Some(after), Some(interval)) = (span(new.it_value), span(new.it_interval)) else {
            return error(libc::EINVAL);
        };
        let before = match which {
            libc::ITIMER_REAL => set_alarm(p, after, interval),
            libc::ITIMER_VIRTUAL | libc::ITIMER_PROF => (SimSpan::ZERO, SimSpan::ZERO),
            _ => return error(libc::EINVAL),
        };
        if !old.is_null() {
            *old = timer(before);
        }
    }
    0
}

unsafe extern "C" fn getitimer(which: c_int, to: *mut libc::itimerval) -> c_int {
    let Some(p) = current() else { return error(libc::EINVAL) };
    if !(0..3).contains(&which) {
        return error(libc::EINVAL);
    }
    let now = p.now();
    let left = p.variables.signals.pending.alarm.get().filter(|_| which == libc::ITIMER_REAL);
    let left = left.map_or((SimSpan::ZERO, SimSpan::ZERO), |(due, interval)| (due.since(now.min(due)), interval));
    if !to.is_null() {
        // SAFETY: the caller's structure.
        unsafe { *to = timer(left) };
    }
    0
}

/// What tells numbers of timers from those of the C library, which has those that call functions in threads.
const OURS: usize = 0x4d43 << 32;

unsafe extern "C" {
    #[link_name = "timer_create"]
    fn system_create(clock: libc::clockid_t, event: *mut libc::sigevent, id: *mut usize) -> c_int;
    #[link_name = "timer_settime"]
    fn system_set(id: usize, flags: c_int, new: *const libc::itimerspec, old: *mut libc::itimerspec) -> c_int;
    #[link_name = "timer_gettime"]
    fn system_get(id: usize, to: *mut libc::itimerspec) -> c_int;
    #[link_name = "timer_getoverrun"]
    fn system_overrun(id: usize) -> c_int;
    #[link_name = "timer_delete"]
    fn system_delete(id: usize) -> c_int;
}

unsafe extern "C" fn timer_create(clock: libc::clockid_t, event: *mut libc::sigevent, id: *mut usize) -> c_int {
    // SAFETY: the caller's structures.
    unsafe {
        let stated = event.as_ref().map(|event| (event.sigev_notify, event.sigev_signo, event.sigev_value.sival_ptr));
        let (Some(p), false) = (current(), matches!(stated, Some((libc::SIGEV_THREAD, ..)))) else {
            return system_create(clock, event, id);
        };
        if read(clock).is_none() || stated.is_some_and(|(_, signal, _)| !(0..=64).contains(&signal)) {
            return error(libc::EINVAL);
        }
        let mut timers = p.variables.signals.pending.timers.borrow_mut();
        let new = timers.iter().map(|timer| timer.id + 1).max().unwrap_or(OURS);
        let signal = match stated {
            None => Some((libc::SIGALRM, new)),
            Some((libc::SIGEV_NONE, ..)) => None,
            Some((_, signal, value)) => Some((signal, value as usize)),
        };
        timers.push(SignalTimer { id: new, clock, due: None, signal });
        *id = new;
    }
    0
}

/// What is left of a timer's time, and its interval.
fn left(p: &Process, timer: &SignalTimer) -> libc::itimerspec {
    let now = p.now();
    let (left, interval) =
        timer.due.map_or((0, 0), |(due, interval)| (due.since(now.min(due)).as_ps(), interval.as_ps()));
    libc::itimerspec { it_interval: timespec(interval / 1000), it_value: timespec(left.div_ceil(1000)) }
}

/// Does `with` to the rank's timer of this number; `beyond` for those of the C library.
fn timer_of(
    id: usize,
    with: impl FnOnce(&Process, &mut SignalTimer) -> c_int,
    beyond: impl FnOnce() -> c_int,
) -> c_int {
    let Some(p) = current().filter(|_| id >> 32 == OURS >> 32) else { return beyond() };
    let mut timers = p.variables.signals.pending.timers.borrow_mut();
    match timers.iter_mut().find(|timer| timer.id == id) {
        Some(timer) => with(p, timer),
        None => error(libc::EINVAL),
    }
}

unsafe extern "C" fn timer_settime(
    id: usize,
    flags: c_int,
    new: *const libc::itimerspec,
    old: *mut libc::itimerspec,
) -> c_int {
    let set = |p: &Process, timer: &mut SignalTimer| {
        // SAFETY: the caller's structures.
        unsafe {
            let (Some(time), Some(interval)) = (length((*new).it_value), length((*new).it_interval)) else {
                return error(libc::EINVAL);
            };
            if !old.is_null() {
                *old = left(p, timer);
            }
            let shown = Duration::from_nanos(read(timer.clock).unwrap_or(0));
            let after = if flags & libc::TIMER_ABSTIME != 0 { time.saturating_sub(shown) } else { time };
            timer.due = (!time.is_zero()).then(|| (p.now() + span(after), span(interval)));
        }
        0
    };
    // SAFETY: the caller's.
    timer_of(id, set, || unsafe { system_set(id, flags, new, old) })
}

unsafe extern "C" fn timer_gettime(id: usize, to: *mut libc::itimerspec) -> c_int {
    let get = |p: &Process, timer: &mut SignalTimer| {
        // SAFETY: the caller's structure.
        unsafe { *to = left(p, timer) };
        0
    };
    // SAFETY: the caller's.
    timer_of(id, get, || unsafe { system_get(id, to) })
}

/// Each time that a timer goes off is told of.
unsafe extern "C" fn timer_getoverrun(id: usize) -> c_int {
    // SAFETY: the caller's.
    timer_of(id, |_, _| 0, || unsafe { system_overrun(id) })
}

unsafe extern "C" fn timer_delete(id: usize) -> c_int {
    // SAFETY: the caller's.
    let known = timer_of(id, |_, _| 0, || unsafe { system_delete(id) });
    if let Some(p) = current() {
        p.variables.signals.pending.timers.borrow_mut().retain(|timer| timer.id != id);
    }
    known
}
