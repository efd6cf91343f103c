//! Settings of the process that a rank cannot change for itself. The limits of `setrlimit` are those of all ranks
//! together, so setting them has no effect. All ranks share one heap, whose settings they cannot change.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint, c_ulong};
use std::ptr;

use super::{error, identity};
use crate::process::{Function, NamedFunction, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("setrlimit", Function(setrlimit as *const ())),
    ("setrlimit64", Function(setrlimit as *const ())),
    ("prlimit", Function(prlimit as *const ())),
    ("prlimit64", Function(prlimit as *const ())),
    ("prctl", Function(prctl as *const ())),
    ("mallopt", Function(mallopt as *const ())),
];

unsafe extern "C" fn setrlimit(what: c_uint, new: *const libc::rlimit) -> c_int {
    // SAFETY: the caller's.
    unsafe { prlimit(0, what, new, ptr::null_mut()) }
}

unsafe extern "C" fn prlimit(
    pid: libc::pid_t,
    what: c_uint,
    new: *const libc::rlimit,
    old: *mut libc::rlimit,
) -> c_int {
    let is_own = current().is_some_and(|p| pid == 0 || pid == identity::number(p));
    let (pid, new) = if is_own { (0, ptr::null()) } else { (pid, new) };
    // SAFETY: the caller's structures.
    unsafe { libc::prlimit(pid, what, new, old) }
}

unsafe extern "C" fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int {
    // These would bind the simulator's thread, with all its ranks, for ever.
    let binding = [libc::PR_SET_SECCOMP, libc::PR_SET_PDEATHSIG, libc::PR_SET_NO_NEW_PRIVS];
    match binding.contains(&option) {
        true => error(libc::EINVAL),
        // SAFETY: the caller's.
        false => unsafe { libc::prctl(option, a, b, c, d) },
    }
}

/// Fails, as for an unknown setting.
unsafe extern "C" fn mallopt(_: c_int, _: c_int) -> c_int {
    0
}
