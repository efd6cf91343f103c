//! File descriptors that are the simulator's: a program that closes whatever is open closes its own only.
//!
//! Daemons and launchers close all descriptors from 3 on. In a process of its own nothing but the program's files is
//! there; here there are traces, pipes and connections of the simulator too. What was open before the first rank began
//! stays open, and closing it fails as if it were not there. The same functions stand behind `syscall`, by which
//! programs go round the C library.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long, c_uint, c_void};
use std::fs;
use std::mem::MaybeUninit;
use std::sync::Mutex;

use super::futex::futex;
use super::refused::check_system_call;
use super::{affinity, end, identity, pending, shared_sync, streams};
use crate::process::{Function, NamedFunction, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("closefrom", Function(closefrom as *const ())),
    ("close_range", Function(close_range as *const ())),
    ("syscall", Function(syscall as *const ())),
];

/// The first number that is no standard stream's.
const FIRST: c_int = 3;

/// A descriptor, and the device and number of the file that it stood for: the number may be used again.
type Protected = (c_int, (u64, u64));

static PROTECTED: Mutex<Vec<Protected>> = Mutex::new(Vec::new());

/// From now on programs cannot close what is open.
pub fn protect_open() {
    let mut protected = PROTECTED.lock().expect("nobody panics with it");
    *protected = open().into_iter().filter_map(|descriptor| Some((descriptor, file(descriptor)?))).collect();
}

/// The descriptors that are open, without those of standard streams.
fn open() -> Vec<c_int> {
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.filter(|&number: &c_int| number >= FIRST).collect()
}

fn file(descriptor: c_int) -> Option<(u64, u64)> {
    let mut status = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: room for what is told; a descriptor that is not open is an error.
    let status = unsafe { (libc::fstat(descriptor, status.as_mut_ptr()) == 0).then(|| status.assume_init()) }?;
    Some((status.st_dev, status.st_ino))
}

/// Whether `descriptor` is the simulator's.
pub(super) fn is_protected(descriptor: c_int) -> bool {
    let protected = PROTECTED.lock().expect("nobody panics with it");
    let found = protected.iter().find(|&&(number, _)| number == descriptor).map(|&(_, file)| file);
    drop(protected);
    found.is_some_and(|known| file(descriptor) == Some(known))
}

/// Closes a descriptor that is no standard stream's, unless it is the simulator's.
pub fn close_own(descriptor: c_int) -> c_int {
    if is_protected(descriptor) {
        // SAFETY: the thread's own variable.
        unsafe { *libc::__errno_location() = libc::EBADF };
        return -1;
    }
    // SAFETY: the program's.
    unsafe { libc::close(descriptor) }
}

unsafe extern "C" fn closefrom(first: c_int) {
    close_all(first, c_int::MAX);
}

unsafe extern "C" fn close_range(first: c_uint, last: c_uint, flags: c_int) -> c_int {
    if flags != 0 {
        // SAFETY: the caller's; what shall be closed in children alone is not closed here.
        return unsafe { libc::close_range(first, last, flags) };
    }
    let number = |number: c_uint| c_int::try_from(number).unwrap_or(c_int::MAX);
    close_all(number(first), number(last));
    0
}

/// Standard streams are the rank's, not the process's, and stay.
fn close_all(first: c_int, last: c_int) {
    for descriptor in open().into_iter().filter(|descriptor| (first..=last).contains(descriptor)) {
        close_own(descriptor);
    }
}

unsafe extern "C" {
    #[link_name = "syscall"]
    fn system_call(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long;
}

/// `syscall`: what would be done to the process is done to the rank. The words that a call does not take hold anything.
unsafe extern "C" fn syscall(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    let Some(p) = current() else {
        // SAFETY: the caller's.
        return unsafe { system_call(number, a, b, c, d, e, f) };
    };
    let [first, second] = [a, b].map(|word| word as c_int);
    // SAFETY: the caller's, of these functions' own types.
    unsafe {
        match number {
            libc::SYS_close => streams::close(first).into(),
            libc::SYS_close_range => close_range(a as c_uint, b as c_uint, c as c_int).into(),
            libc::SYS_dup => streams::dup(first).into(),
            libc::SYS_dup2 => streams::dup2(first, second).into(),
            libc::SYS_dup3 => streams::dup3(first, second, c as c_int).into(),
            libc::SYS_read => streams::read(first, b as *mut c_void, c) as c_long,
            libc::SYS_write => streams::write(first, b as *const c_void, c) as c_long,
            libc::SYS_getpid => identity::number(p).into(),
            libc::SYS_gettid => identity::number(p).into(),
            libc::SYS_sched_getaffinity if first == 0 || first == identity::number(p) => {
                let done = affinity::sched_getaffinity(first, b, c as *mut libc::cpu_set_t);
                // The system call gives the size of the kernel's sets.
                if done == 0 { b.min(size_of::<libc::cpu_set_t>()) as c_long } else { done.into() }
            }
            libc::SYS_sched_setaffinity if first == 0 || first == identity::number(p) => {
                affinity::sched_setaffinity(first, b, c as *const libc::cpu_set_t).into()
            }
            libc::SYS_sched_yield => shared_sync::sched_yield().into(),
            libc::SYS_getppid => p.job.numbers.parent.into(),
            libc::SYS_kill => pending::kill(first, second).into(),
            libc::SYS_tgkill if identity::is_ours(p, first) => pending::kill(first, c as c_int).into(),
            libc::SYS_exit | libc::SYS_exit_group => end::exit_now(first),
            libc::SYS_futex => futex([a, b, c, d, e, f]).unwrap_or_else(|| system_call(number, a, b, c, d, e, f)),
            _ => {
                check_system_call(number);
                system_call(number, a, b, c, d, e, f)
            }
        }
    }
}
