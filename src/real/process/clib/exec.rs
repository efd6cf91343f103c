//! Another program in the place of a rank's (`exec`): it runs as a child with the rank's directory, environment and
//! standard streams, and the rank ends as it does.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};
use std::ptr;

use super::children::{Words, inherited, spawn, spawn_by_path};
use super::end::{exit_now, rank};
use super::{error, reap};
use crate::process::{Function, NamedFunction};
use mcpsim_core::rank::FailureKind;

/// Those with a list of arguments, `execl` and its like, are made of these in the support library. A program that was
/// linked before they were there has none of its own, and comes here for them.
pub const FUNCTIONS: &[NamedFunction] = &[
    ("execv", Function(execv as *const ())),
    ("execve", Function(execve as *const ())),
    ("execvp", Function(execvp as *const ())),
    ("execvpe", Function(execvpe as *const ())),
    ("fexecve", Function(fexecve as *const ())),
    ("execveat", Function(execveat as *const ())),
    ("execl", Function(link_anew as *const ())),
    ("execle", Function(link_anew as *const ())),
    ("execlp", Function(link_anew as *const ())),
];

/// Lets the program that `start` starts take the rank's place; an error number if there is none.
fn replace(start: impl FnOnce(*mut libc::pid_t) -> c_int) -> c_int {
    let p = rank("a function of the exec family");
    super::flush(p);
    let mut child = 0;
    match start(&mut child) {
        0 => {}
        number => return error(number),
    }
    let status = reap::until_end(child);
    let code = if libc::WIFSIGNALED(status) { 128 + libc::WTERMSIG(status) } else { libc::WEXITSTATUS(status) };
    // SAFETY: on a rank's thread.
    unsafe { exit_now(code) }
}

/// The C library's own would put another program in the place of the simulator with all its ranks.
unsafe extern "C" fn link_anew() -> c_int {
    let what = "the program was linked by an older mcpsim cc, which had no execl, execle and execlp: link it again";
    rank("a function of the exec family").fail_at("exec".to_owned(), FailureKind::Error, what.to_owned())
}

pub(super) unsafe extern "C" fn execve(path: *const c_char, words: Words, variables: Words) -> c_int {
    // SAFETY: the caller's.
    replace(|child| unsafe { spawn(child, path, ptr::null(), ptr::null(), words, variables) })
}

unsafe extern "C" fn execv(path: *const c_char, words: Words) -> c_int {
    // SAFETY: the caller's.
    unsafe { execve(path, words, inherited()) }
}

unsafe extern "C" fn execvpe(file: *const c_char, words: Words, variables: Words) -> c_int {
    // SAFETY: the caller's.
    replace(|child| unsafe { spawn_by_path(child, file, ptr::null(), ptr::null(), words, variables) })
}

unsafe extern "C" fn execvp(file: *const c_char, words: Words) -> c_int {
    // SAFETY: the caller's.
    unsafe { execvpe(file, words, inherited()) }
}

unsafe extern "C" fn fexecve(file: c_int, words: Words, variables: Words) -> c_int {
    let Ok(path) = std::fs::read_link(format!("/proc/self/fd/{file}")) else { return error(libc::EBADF) };
    let Ok(path) = std::ffi::CString::new(path.into_os_string().into_encoded_bytes()) else {
        return error(libc::EINVAL);
    };
    // SAFETY: the caller's.
    unsafe { execve(path.as_ptr(), words, variables) }
}

pub(super) unsafe extern "C" fn execveat(
    directory: c_int,
    path: *const c_char,
    words: Words,
    variables: Words,
    flags: c_int,
) -> c_int {
    if directory != libc::AT_FDCWD || flags != 0 {
        return error(libc::ENOSYS);
    }
    // SAFETY: the caller's.
    unsafe { execve(path, words, variables) }
}
