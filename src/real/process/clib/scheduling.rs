//! How the system schedules a rank: the processors that it may use, its nice value. A rank may use all processors of
//! its simulated node. What it sets is remembered and told again, and holds nothing back. Who asks by the rank's number
//! is told of the rank.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_uint};

use super::{error, identity};
use crate::process::{Function, NamedFunction, Process, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("sched_getaffinity", Function(sched_getaffinity as *const ())),
    ("sched_setaffinity", Function(sched_setaffinity as *const ())),
    ("pthread_getaffinity_np", Function(pthread_getaffinity_np as *const ())),
    ("pthread_setaffinity_np", Function(pthread_setaffinity_np as *const ())),
    ("sched_getscheduler", Function(sched_getscheduler as *const ())),
    ("sched_getparam", Function(sched_getparam as *const ())),
    ("getpgid", Function(getpgid as *const ())),
    ("getsid", Function(getsid as *const ())),
    ("getpriority", Function(getpriority as *const ())),
    ("setpriority", Function(setpriority as *const ())),
    ("nice", Function(nice as *const ())),
    ("gettid", Function(gettid as *const ())),
];

/// What a rank has set.
#[derive(Debug, Default)]
pub struct Scheduling {
    /// The processors, a bit each.
    processors: RefCell<Option<Box<[u8]>>>,
    nice: Cell<Option<c_int>>,
}

/// The rank that `pid` means, if it is the one that asks.
fn own<'a>(pid: c_int) -> Option<&'a Process> {
    current().filter(|p| pid == 0 || pid == identity::number(p))
}

/// What the system knows of: the rank is the calling thread there.
fn known(pid: c_int) -> c_int {
    if own(pid).is_some() { 0 } else { pid }
}

/// The processors of the rank's node, a bit each, in whole words.
fn processors(p: &Process) -> Box<[u8]> {
    let count = identity::processors(p) as usize;
    let mut set = vec![0; count.div_ceil(64) * 8];
    (0..count).for_each(|processor| set[processor / 8] |= 1 << (processor % 8));
    set.into()
}

pub(super) unsafe extern "C" fn sched_getaffinity(pid: c_int, room: usize, to: *mut libc::cpu_set_t) -> c_int {
    if let Some(p) = own(pid) {
        let set = p.variables.scheduling.processors.borrow().clone().unwrap_or_else(|| processors(p));
        if room < set.len() || !room.is_multiple_of(8) {
            return error(libc::EINVAL);
        }
        // SAFETY: the caller's room.
        unsafe {
            std::ptr::write_bytes(to.cast::<u8>(), 0, room);
            std::ptr::copy_nonoverlapping(set.as_ptr(), to.cast::<u8>(), set.len());
        }
        return 0;
    }
    // SAFETY: as above.
    unsafe { libc::sched_getaffinity(known(pid), room, to) }
}

pub(super) unsafe extern "C" fn sched_setaffinity(pid: c_int, size: usize, from: *const libc::cpu_set_t) -> c_int {
    let Some(p) = own(pid) else {
        // SAFETY: the caller's set, of another process.
        return unsafe { libc::sched_setaffinity(pid, size, from) };
    };
    let mut set = processors(p);
    // SAFETY: the caller's set.
    let wanted = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), size) };
    // As the kernel does: those that there are not are left out, and one must be left.
    set.iter_mut().zip(wanted.iter().chain(std::iter::repeat(&0))).for_each(|(there, wanted)| *there &= wanted);
    if set.iter().all(|&byte| byte == 0) {
        return error(libc::EINVAL);
    }
    *p.variables.scheduling.processors.borrow_mut() = Some(set);
    0
}

/// An error number instead of -1.
fn number_of(result: c_int) -> c_int {
    // SAFETY: the location is the thread's own.
    if result == 0 { 0 } else { unsafe { *libc::__errno_location() } }
}

unsafe extern "C" fn pthread_getaffinity_np(thread: libc::pthread_t, room: usize, to: *mut libc::cpu_set_t) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        if current().is_some() && thread == libc::pthread_self() {
            return number_of(sched_getaffinity(0, room, to));
        }
        libc::pthread_getaffinity_np(thread, room, to)
    }
}

unsafe extern "C" fn pthread_setaffinity_np(
    thread: libc::pthread_t,
    size: usize,
    from: *const libc::cpu_set_t,
) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        if current().is_some() && thread == libc::pthread_self() {
            return number_of(sched_setaffinity(0, size, from));
        }
        libc::pthread_setaffinity_np(thread, size, from)
    }
}

unsafe extern "C" fn sched_getscheduler(pid: c_int) -> c_int {
    // SAFETY: any number may be asked for.
    unsafe { libc::sched_getscheduler(known(pid)) }
}

unsafe extern "C" fn sched_getparam(pid: c_int, to: *mut libc::sched_param) -> c_int {
    // SAFETY: the caller's.
    unsafe { libc::sched_getparam(known(pid), to) }
}

unsafe extern "C" fn getpgid(pid: c_int) -> c_int {
    // SAFETY: any number may be asked for.
    unsafe { libc::getpgid(known(pid)) }
}

unsafe extern "C" fn getsid(pid: c_int) -> c_int {
    // SAFETY: any number may be asked for.
    unsafe { libc::getsid(known(pid)) }
}

/// The nice value of the rank.
fn value(p: &Process) -> c_int {
    // SAFETY: may be asked for.
    p.variables.scheduling.nice.get().unwrap_or_else(|| unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) })
}

fn set(p: &Process, value: c_int) -> c_int {
    let value = value.clamp(-20, 19);
    // SAFETY: always succeeds.
    if value < self::value(p) && unsafe { libc::geteuid() } != 0 {
        return error(libc::EACCES);
    }
    p.variables.scheduling.nice.set(Some(value));
    0
}

unsafe extern "C" fn getpriority(which: c_uint, who: libc::id_t) -> c_int {
    match own(who as c_int).filter(|_| which == libc::PRIO_PROCESS) {
        Some(p) => {
            // -1 is a value too, for which programs look at the error.
            error(0);
            value(p)
        }
        // SAFETY: any may be asked for.
        None => unsafe { libc::getpriority(which, who) },
    }
}

unsafe extern "C" fn setpriority(which: c_uint, who: libc::id_t, value: c_int) -> c_int {
    match own(who as c_int).filter(|_| which == libc::PRIO_PROCESS) {
        Some(p) => set(p, value),
        None if who == 0 => error(libc::EPERM),
        // SAFETY: another process, or a child's group.
        None => unsafe { libc::setpriority(which, who, value) },
    }
}

unsafe extern "C" fn nice(by: c_int) -> c_int {
    let Some(p) = current() else { return error(libc::EPERM) };
    match set(p, value(p).saturating_add(by)) {
        0 => value(p),
        _ => error(libc::EPERM),
    }
}

/// The rank's main thread has the number of its process.
unsafe extern "C" fn gettid() -> c_int {
    // SAFETY: always succeeds.
    current().map_or_else(|| unsafe { libc::gettid() }, identity::number)
}
