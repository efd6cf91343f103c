//! Waiting for one of several files (`select`, `poll`, `epoll_wait`): where another rank may bring it about, virtual
//! time passes meanwhile. Without files these are sleeps.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_ulong};
use std::ptr;
use std::time::Duration;

use super::error;
use super::files::{pause_at_most, unanswered, wait_is_endless};
use super::input::{Side, awaited};
use super::time::{length, pass};
use crate::process::{Function, NamedFunction, current};
use mcpsim_core::units::SimSpan;

pub const FUNCTIONS: &[NamedFunction] = &[
    ("select", Function(select as *const ())),
    ("pselect", Function(pselect as *const ())),
    ("poll", Function(poll as *const ())),
    ("__poll_chk", Function(poll as *const ())),
    ("ppoll", Function(ppoll as *const ())),
    ("epoll_wait", Function(epoll_wait as *const ())),
    ("epoll_pwait", Function(epoll_pwait as *const ())),
    ("epoll_pwait2", Function(epoll_pwait2 as *const ())),
];

/// Asks by `ask`, which does not wait and gives how many files are ready, until one is or the time is over; none if
/// that is left to the system. `asked` are the files with the sides that are asked about.
fn wait(
    asked: impl Iterator<Item = (c_int, Side)>,
    timeout: Option<Duration>,
    ask: impl Fn() -> c_int,
) -> Option<c_int> {
    let p = current()?;
    let first = ask();
    if first != 0 {
        return Some(first);
    }
    // What children and threads bring about takes the host's time.
    let whats: Option<Vec<String>> = asked.map(|(file, side)| awaited(file, side)).collect();
    let what = whats.filter(|whats| !whats.is_empty())?.join(" or ");
    if timeout == Some(Duration::ZERO) {
        unanswered(p, what.as_bytes(), &what);
        return Some(ask());
    }
    let limit = timeout.map(|time| SimSpan::from_ps(u64::try_from(time.as_nanos() * 1000).unwrap_or(u64::MAX)));
    let since = p.now();
    loop {
        let waited = p.now().since(since);
        let left = limit.map(|limit| limit.saturating_sub(waited));
        if left == Some(SimSpan::ZERO) {
            return Some(0);
        }
        if !pause_at_most(p, since, left) {
            wait_is_endless(p, &what);
        }
        let ready = ask();
        if ready != 0 {
            return Some(ready);
        }
    }
}

/// The files in sets of `select`.
unsafe fn of_sets(count: c_int, sets: [*mut libc::fd_set; 3]) -> Vec<(c_int, Side)> {
    let mut files = Vec::new();
    for file in 0..count.clamp(0, libc::FD_SETSIZE as c_int) {
        for (set, side) in sets.into_iter().zip([Side::Read, Side::Write, Side::Read]) {
            // SAFETY: the caller's sets.
            if unsafe { !set.is_null() && libc::FD_ISSET(file, set) } {
                files.push((file, side));
            }
        }
    }
    files
}

/// `select` with a time that is not changed.
unsafe fn select_until(count: c_int, sets: [*mut libc::fd_set; 3], timeout: Option<Duration>) -> Option<c_int> {
    // SAFETY: the caller's sets; all zeros is an empty one.
    unsafe {
        let kept: [libc::fd_set; 3] = sets.map(|set| if set.is_null() { std::mem::zeroed() } else { ptr::read(set) });
        let files = of_sets(count, sets);
        let result = wait(files.into_iter(), timeout, || {
            let mut none = libc::timeval { tv_sec: 0, tv_usec: 0 };
            for (set, kept) in sets.into_iter().zip(&kept).filter(|(set, _)| !set.is_null()) {
                *set = *kept;
            }
            libc::select(count, sets[0], sets[1], sets[2], &mut none)
        });
        if result.is_none() {
            for (set, kept) in sets.into_iter().zip(&kept).filter(|(set, _)| !set.is_null()) {
                *set = *kept;
            }
        }
        result
    }
}

unsafe extern "C" fn select(
    count: c_int,
    read: *mut libc::fd_set,
    write: *mut libc::fd_set,
    except: *mut libc::fd_set,
    timeout: *mut libc::timeval,
) -> c_int {
    let sets = [read, write, except];
    // SAFETY: the caller's.
    unsafe {
        let time = timeout
            .as_ref()
            .map(|time| length(libc::timespec { tv_sec: time.tv_sec, tv_nsec: time.tv_usec.saturating_mul(1000) }));
        let time = match time {
            Some(None) => return error(libc::EINVAL),
            Some(time) => time,
            None => None,
        };
        if let (false, Some(time)) = (count > 0 && sets.iter().any(|set| !set.is_null()), time) {
            pass(time);
            *timeout = libc::timeval { tv_sec: 0, tv_usec: 0 };
            return 0;
        }
        select_until(count, sets, time).unwrap_or_else(|| libc::select(count, read, write, except, timeout))
    }
}

unsafe extern "C" fn pselect(
    count: c_int,
    read: *mut libc::fd_set,
    write: *mut libc::fd_set,
    except: *mut libc::fd_set,
    timeout: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    let sets = [read, write, except];
    // SAFETY: the caller's.
    unsafe {
        let Some(time) = limit(timeout) else { return error(libc::EINVAL) };
        if let (false, Some(time)) = (count > 0 && sets.iter().any(|set| !set.is_null()), time) {
            pass(time);
            return 0;
        }
        select_until(count, sets, time).unwrap_or_else(|| libc::pselect(count, read, write, except, timeout, mask))
    }
}

/// A time that may be without end; none if it cannot be one.
unsafe fn limit(timeout: *const libc::timespec) -> Option<Option<Duration>> {
    // SAFETY: the caller's.
    match unsafe { timeout.as_ref() } {
        None => Some(None),
        Some(&time) => length(time).map(Some),
    }
}

/// `poll` in the rank's time; none if that is left to the system.
unsafe fn poll_until(files: *mut libc::pollfd, count: c_ulong, timeout: Option<Duration>) -> Option<c_int> {
    // SAFETY: the caller's list.
    let list = unsafe { std::slice::from_raw_parts(files, count as usize) };
    let asked = list.iter().filter(|asked| asked.fd >= 0).map(|asked| {
        let side = if asked.events & libc::POLLOUT != 0 { Side::Write } else { Side::Read };
        (asked.fd, side)
    });
    // SAFETY: as above.
    wait(asked.collect::<Vec<_>>().into_iter(), timeout, || unsafe { libc::poll(files, count, 0) })
}

unsafe extern "C" fn poll(files: *mut libc::pollfd, count: c_ulong, timeout: c_int) -> c_int {
    let time = u64::try_from(timeout).ok().map(Duration::from_millis);
    if let (0, Some(time)) = (count, time) {
        pass(time);
        return 0;
    }
    // SAFETY: the caller's.
    unsafe {
        let own = if files.is_null() { None } else { poll_until(files, count, time) };
        own.unwrap_or_else(|| libc::poll(files, count, timeout))
    }
}

unsafe extern "C" fn ppoll(
    files: *mut libc::pollfd,
    count: c_ulong,
    timeout: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(time) = limit(timeout) else { return error(libc::EINVAL) };
        if let (0, Some(time)) = (count, time) {
            pass(time);
            return 0;
        }
        let own = if files.is_null() { None } else { poll_until(files, count, time) };
        own.unwrap_or_else(|| libc::ppoll(files, count, timeout, mask))
    }
}

/// The files that `queue`, of `epoll_create`, watches, as the system lists them.
fn watched(queue: c_int) -> Vec<(c_int, Side)> {
    let text = std::fs::read_to_string(format!("/proc/self/fdinfo/{queue}")).unwrap_or_default();
    let file = |line: &str| {
        let mut words = line.strip_prefix("tfd:")?.split_whitespace();
        let file = words.next()?.parse().ok()?;
        let events = words.skip_while(|word| *word != "events:").nth(1)?;
        let events = u32::from_str_radix(events, 16).ok()?;
        let writes = events & (libc::EPOLLIN | libc::EPOLLOUT) as u32 == libc::EPOLLOUT as u32;
        Some((file, if writes { Side::Write } else { Side::Read }))
    };
    text.lines().filter_map(file).collect()
}

/// `epoll_wait` in the rank's time; none if that is left to the system.
unsafe fn queue_until(
    queue: c_int,
    found: *mut libc::epoll_event,
    room: c_int,
    timeout: Option<Duration>,
) -> Option<c_int> {
    // SAFETY: the caller's list.
    let ask = || unsafe { libc::epoll_wait(queue, found, room, 0) };
    let first = ask();
    if first != 0 {
        return Some(first);
    }
    let files = watched(queue);
    if let (true, Some(time)) = (files.is_empty(), timeout) {
        pass(time);
        return Some(0);
    }
    wait(files.into_iter(), timeout, ask)
}

unsafe extern "C" fn epoll_wait(queue: c_int, found: *mut libc::epoll_event, room: c_int, timeout: c_int) -> c_int {
    let time = u64::try_from(timeout).ok().map(Duration::from_millis);
    // SAFETY: the caller's.
    unsafe { queue_until(queue, found, room, time).unwrap_or_else(|| libc::epoll_wait(queue, found, room, timeout)) }
}

unsafe extern "C" fn epoll_pwait(
    queue: c_int,
    found: *mut libc::epoll_event,
    room: c_int,
    timeout: c_int,
    mask: *const libc::sigset_t,
) -> c_int {
    let time = u64::try_from(timeout).ok().map(Duration::from_millis);
    // SAFETY: the caller's.
    unsafe {
        queue_until(queue, found, room, time).unwrap_or_else(|| libc::epoll_pwait(queue, found, room, timeout, mask))
    }
}

unsafe extern "C" fn epoll_pwait2(
    queue: c_int,
    found: *mut libc::epoll_event,
    room: c_int,
    timeout: *const libc::timespec,
    mask: *const libc::sigset_t,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(time) = limit(timeout) else { return error(libc::EINVAL) };
        let whole = time.map_or(-1, |time| c_int::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(c_int::MAX));
        queue_until(queue, found, room, time).unwrap_or_else(|| libc::epoll_pwait(queue, found, room, whole, mask))
    }
}
