//! What is asked of files by their numbers: that of a standard stream stands for the file that the rank has put in its
//! place.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::streams::actual;
use crate::process::{Function, NamedFunction};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("fstat", Function(fstat as *const ())),
    ("fstat64", Function(fstat as *const ())),
    ("lseek", Function(lseek as *const ())),
    ("lseek64", Function(lseek as *const ())),
    ("ftruncate", Function(ftruncate as *const ())),
    ("ftruncate64", Function(ftruncate as *const ())),
    ("fsync", Function(fsync as *const ())),
    ("fdatasync", Function(fdatasync as *const ())),
    ("pread", Function(pread as *const ())),
    ("pread64", Function(pread as *const ())),
    ("pwrite", Function(pwrite as *const ())),
    ("pwrite64", Function(pwrite as *const ())),
    ("fchmod", Function(fchmod as *const ())),
];

macro_rules! on_actual {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        $(
            unsafe extern "C" fn $name(file: c_int $(, $argument: $kind)*) -> $result {
                // SAFETY: as the caller's.
                unsafe { libc::$name(actual(file) $(, $argument)*) }
            }
        )*
    };
}

on_actual! {
    fstat(to: *mut libc::stat) -> c_int;
    lseek(offset: libc::off_t, from: c_int) -> libc::off_t;
    ftruncate(length: libc::off_t) -> c_int;
    fsync() -> c_int;
    fdatasync() -> c_int;
    pread(to: *mut c_void, length: usize, offset: libc::off_t) -> isize;
    pwrite(from: *const c_void, length: usize, offset: libc::off_t) -> isize;
    fchmod(mode: libc::mode_t) -> c_int;
}
