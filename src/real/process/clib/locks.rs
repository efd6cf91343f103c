//! Locks of files. A lock of an open file (`flock`) excludes other ranks, and a rank that waits for it lets the others
//! continue. Record locks belong to processes, of which all ranks are one, and are refused.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long};

use super::files::{pause, wait_is_endless};
use super::refused::refuse;
use crate::process::{Function, NamedFunction, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("fcntl", Function(fcntl as *const ())),
    ("fcntl64", Function(fcntl as *const ())),
    ("flock", Function(flock as *const ())),
];

unsafe extern "C" fn fcntl(descriptor: c_int, command: c_int, argument: c_long) -> c_int {
    const RECORD_LOCKS: [c_int; 4] = [libc::F_GETLK, libc::F_SETLK, libc::F_SETLKW, libc::F_OFD_SETLKW];
    if RECORD_LOCKS.contains(&command) {
        refuse("fcntl with a record lock");
    }
    // SAFETY: the caller's.
    unsafe { libc::fcntl(super::streams::actual(descriptor), command, argument) }
}

unsafe extern "C" fn flock(descriptor: c_int, operation: c_int) -> c_int {
    let Some(p) = current().filter(|_| operation & libc::LOCK_NB == 0) else {
        // SAFETY: any number may be given.
        return unsafe { libc::flock(descriptor, operation) };
    };
    let since = p.now();
    loop {
        // SAFETY: as above; the location is the thread's own.
        let (done, number) = unsafe { (libc::flock(descriptor, operation | libc::LOCK_NB), *libc::__errno_location()) };
        if done == 0 || number != libc::EAGAIN {
            return done;
        }
        if !pause(p, since) {
            let file = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).unwrap_or_default();
            wait_is_endless(p, &format!("a lock of {}", file.display()));
        }
    }
}
