//! Settings and figures of the heap, which all ranks share: no rank changes the one, and the other are no rank's.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::process::{Function, NamedFunction, current};
use mcpsim_core::rank::FailureKind;

pub const FUNCTIONS: &[NamedFunction] = &[
    ("mallopt", Function(mallopt as *const ())),
    ("mallinfo", Function(mallinfo as *const ())),
    ("mallinfo2", Function(mallinfo2 as *const ())),
    ("malloc_stats", Function(malloc_stats as *const ())),
    ("malloc_info", Function(malloc_info as *const ())),
];

/// Ends a rank that calls `function`.
fn refuse(function: &str) {
    if let Some(p) = current() {
        let what = "all ranks share one heap, so its figures are no rank's: --check-heap has figures of each rank for \
                    mallinfo and mallinfo2";
        p.fail_at(function.to_owned(), FailureKind::Error, what.to_owned());
    }
}

/// Fails, as it does for settings that it does not know.
unsafe extern "C" fn mallopt(_: c_int, _: c_int) -> c_int {
    0
}

unsafe extern "C" fn mallinfo() -> libc::mallinfo {
    refuse("mallinfo");
    // SAFETY: may always be called.
    unsafe { libc::mallinfo() }
}

unsafe extern "C" fn mallinfo2() -> libc::mallinfo2 {
    refuse("mallinfo2");
    // SAFETY: may always be called.
    unsafe { libc::mallinfo2() }
}

unsafe extern "C" fn malloc_stats() {
    refuse("malloc_stats");
}

unsafe extern "C" fn malloc_info(options: c_int, file: *mut c_void) -> c_int {
    refuse("malloc_info");
    // SAFETY: the caller's.
    unsafe { libc::malloc_info(options, file.cast()) }
}
