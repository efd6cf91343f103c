//! A rank's alarm and its timer of real time (`alarm`, `setitimer`): they go off in virtual time, while it sleeps or waits
//! for a signal.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint};

use super::error;
use crate::process::{Function, NamedFunction, Process, current};
use crate::units::SimSpan;

pub const FUNCTIONS: &[NamedFunction] = &[
    ("alarm", Function(alarm as *const ())),
    ("ualarm", Function(ualarm as *const ())),
    ("setitimer", Function(setitimer as *const ())),
    ("getitimer", Function(getitimer as *const ())),
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
