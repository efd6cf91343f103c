//! File descriptors that are the simulator's: a program that closes whatever is open closes its own only.
//!
//! Daemons and launchers close all descriptors from 3 on. In a process of its own nothing but the program's files is there;
//! here there are traces, pipes and connections of the simulator too. What was open before the first rank began stays open,
//! and closing it fails as if it were not there.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint};
use std::fs;
use std::mem::MaybeUninit;
use std::sync::Mutex;

use crate::process::{Function, NamedFunction};

pub const FUNCTIONS: &[NamedFunction] =
    &[("closefrom", Function(closefrom as *const ())), ("close_range", Function(close_range as *const ()))];

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
fn is_protected(descriptor: c_int) -> bool {
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
