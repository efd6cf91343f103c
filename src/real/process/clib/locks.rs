//! Locks of files. The system gives them to processes, of which all ranks are one: a rank's locks are tied to the file
//! that it has opened instead (open file description locks), and a rank that waits for a lock lets the others go on.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long};

use super::files::{pause, wait_is_endless};
use super::{error, identity};
use crate::process::{Function, NamedFunction, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("fcntl", Function(fcntl as *const ())),
    ("fcntl64", Function(fcntl as *const ())),
    ("lockf", Function(lockf as *const ())),
    ("lockf64", Function(lockf as *const ())),
    ("flock", Function(flock as *const ())),
];

/// Tries `attempt` until it succeeds or fails for another reason than that somebody else has the lock.
fn wait(descriptor: c_int, attempt: impl Fn() -> c_int) -> c_int {
    let since = current().map(|p| p.now());
    loop {
        let done = attempt();
        // SAFETY: the location is the thread's own.
        let number = unsafe { *libc::__errno_location() };
        if done == 0 || ![libc::EAGAIN, libc::EACCES].contains(&number) {
            return done;
        }
        match (current(), since) {
            (Some(p), Some(since)) => {
                if !pause(p, since) {
                    let file = std::fs::read_link(format!("/proc/self/fd/{descriptor}")).unwrap_or_default();
                    wait_is_endless(p, &format!("a lock of {}", file.display()));
                }
            }
            _ => std::thread::sleep(std::time::Duration::from_millis(1)),
        }
    }
}

/// `fcntl` of a lock, tied to what is open.
unsafe fn lock(descriptor: c_int, command: c_int, lock: *mut libc::flock) -> c_int {
    // SAFETY: the caller's structure.
    unsafe {
        (*lock).l_pid = 0;
        match command {
            libc::F_GETLK => {
                let done = libc::fcntl(descriptor, libc::F_OFD_GETLK, lock);
                if done == 0 && i32::from((*lock).l_type) != libc::F_UNLCK {
                    // Whose it is nobody knows: that of who started all ranks is none of theirs.
                    (*lock).l_pid = current().map_or(-1, |p| identity::parent(identity::number(p)));
                }
                done
            }
            libc::F_SETLKW => wait(descriptor, || libc::fcntl(descriptor, libc::F_OFD_SETLK, lock)),
            _ => libc::fcntl(descriptor, libc::F_OFD_SETLK, lock),
        }
    }
}

unsafe extern "C" fn fcntl(descriptor: c_int, command: c_int, argument: c_long) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        match command {
            libc::F_GETLK | libc::F_SETLK | libc::F_SETLKW if current().is_some() => {
                lock(descriptor, command, argument as *mut libc::flock)
            }
            libc::F_OFD_SETLKW if current().is_some() => {
                wait(descriptor, || libc::fcntl(descriptor, libc::F_OFD_SETLK, argument))
            }
            _ => libc::fcntl(super::streams::actual(descriptor), command, argument),
        }
    }
}

unsafe extern "C" fn lockf(descriptor: c_int, command: c_int, length: libc::off_t) -> c_int {
    if current().is_none() {
        // SAFETY: the caller's.
        return unsafe { libc::lockf(descriptor, command, length) };
    }
    let kind = if command == libc::F_ULOCK { libc::F_UNLCK } else { libc::F_WRLCK };
    // SAFETY: all zeros is a valid structure.
    let mut wanted: libc::flock = unsafe { std::mem::zeroed() };
    (wanted.l_type, wanted.l_whence, wanted.l_len) = (kind as i16, libc::SEEK_CUR as i16, length);
    // SAFETY: the structure is there.
    unsafe {
        match command {
            libc::F_ULOCK | libc::F_TLOCK => lock(descriptor, libc::F_SETLK, &mut wanted),
            libc::F_LOCK => lock(descriptor, libc::F_SETLKW, &mut wanted),
            libc::F_TEST => match lock(descriptor, libc::F_GETLK, &mut wanted) {
                0 if i32::from(wanted.l_type) == libc::F_UNLCK => 0,
                0 => error(libc::EACCES),
                failed => failed,
            },
            _ => error(libc::EINVAL),
        }
    }
}

unsafe extern "C" fn flock(descriptor: c_int, operation: c_int) -> c_int {
    // SAFETY: any number may be given.
    unsafe {
        match current() {
            Some(_) if operation & libc::LOCK_NB == 0 => {
                wait(descriptor, || libc::flock(descriptor, operation | libc::LOCK_NB))
            }
            _ => libc::flock(descriptor, operation),
        }
    }
}
