//! Names of files that are made and removed: a rank that does so again and again in vain waits for another one, as one
//! does that takes a directory or a link for a lock.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use super::files::absent;
use crate::process::{Function, NamedFunction};

/// Functions of the C library, the last of whose arguments named here is the path that is waited for.
macro_rules! names {
    ($($name:ident($($argument:ident: $kind:ty),*) of $path:ident;)*) => {
        pub const FUNCTIONS: &[NamedFunction] = &[$((stringify!($name), Function($name as *const ()))),*];
        $(
            unsafe extern "C" fn $name($($argument: $kind),*) -> c_int {
                // SAFETY: the caller's.
                unsafe {
                    let result = libc::$name($($argument),*);
                    if result != 0 {
                        absent($path);
                    }
                    result
                }
            }
        )*
    };
}

names! {
    mkdir(path: *const c_char, mode: libc::mode_t) of path;
    mkdirat(directory: c_int, path: *const c_char, mode: libc::mode_t) of path;
    mkfifo(path: *const c_char, mode: libc::mode_t) of path;
    rmdir(path: *const c_char) of path;
    unlink(path: *const c_char) of path;
    remove(path: *const c_char) of path;
    link(old: *const c_char, new: *const c_char) of new;
    symlink(target: *const c_char, path: *const c_char) of path;
    rename(old: *const c_char, new: *const c_char) of old;
    fstatat(directory: c_int, path: *const c_char, to: *mut libc::stat, flags: c_int) of path;
    fstatat64(directory: c_int, path: *const c_char, to: *mut libc::stat64, flags: c_int) of path;
    faccessat(directory: c_int, path: *const c_char, how: c_int, flags: c_int) of path;
}
