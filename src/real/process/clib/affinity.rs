//! Processors that a rank may use: those of its simulated node. A rank's own settings are stored, and have no effect on
//! host threads.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::ffi::c_int;

use super::{error, identity};
use crate::process::{Function, NamedFunction, Process, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("sched_getaffinity", Function(sched_getaffinity as *const ())),
    ("sched_setaffinity", Function(sched_setaffinity as *const ())),
    ("pthread_getaffinity_np", Function(pthread_getaffinity_np as *const ())),
    ("pthread_setaffinity_np", Function(pthread_setaffinity_np as *const ())),
];

/// The processors that a rank has set, a bit each.
pub type Affinity = RefCell<Option<Box<[u8]>>>;

/// The rank that `pid` means, if it is the one that asks.
fn own<'a>(pid: c_int) -> Option<&'a Process> {
    current().filter(|p| pid == 0 || pid == identity::number(p))
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
        let set = p.variables.affinity.borrow().clone().unwrap_or_else(|| processors(p));
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
    unsafe { libc::sched_getaffinity(pid, room, to) }
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
    *p.variables.affinity.borrow_mut() = Some(set);
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
