//! Users, groups and the root directory of the process, which all ranks share: a rank may state them as they are.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_long};

use super::error;
use crate::process::{Function, NamedFunction};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("setuid", Function(setuid as *const ())),
    ("seteuid", Function(seteuid as *const ())),
    ("setreuid", Function(setreuid as *const ())),
    ("setresuid", Function(setresuid as *const ())),
    ("setfsuid", Function(setfsuid as *const ())),
    ("setgid", Function(setgid as *const ())),
    ("setegid", Function(setegid as *const ())),
    ("setregid", Function(setregid as *const ())),
    ("setresgid", Function(setresgid as *const ())),
    ("setfsgid", Function(setfsgid as *const ())),
    ("setgroups", Function(setgroups as *const ())),
    ("initgroups", Function(initgroups as *const ())),
    ("chroot", Function(chroot as *const ())),
];

/// A user or group that a call leaves as it is.
const SAME: u32 = u32::MAX;

/// Real, effective and saved number: of users or of groups.
type Numbers = [u32; 3];

fn users() -> Numbers {
    let [mut real, mut effective, mut saved] = Numbers::default();
    // SAFETY: room for three numbers.
    unsafe { libc::getresuid(&mut real, &mut effective, &mut saved) };
    [real, effective, saved]
}

fn groups() -> Numbers {
    let [mut real, mut effective, mut saved] = Numbers::default();
    // SAFETY: room for three numbers.
    unsafe { libc::getresgid(&mut real, &mut effective, &mut saved) };
    [real, effective, saved]
}

/// The result of a call that wants `wanted` where there are `numbers`.
fn set(numbers: Numbers, wanted: Numbers) -> c_int {
    let is_same = numbers.into_iter().zip(wanted).all(|(number, wanted)| wanted == SAME || wanted == number);
    if is_same { 0 } else { error(libc::EPERM) }
}

unsafe extern "C" fn setuid(user: u32) -> c_int {
    set(users(), [user; 3])
}

unsafe extern "C" fn seteuid(user: u32) -> c_int {
    set(users(), [SAME, user, SAME])
}

unsafe extern "C" fn setreuid(real: u32, effective: u32) -> c_int {
    set(users(), [real, effective, SAME])
}

unsafe extern "C" fn setresuid(real: u32, effective: u32, saved: u32) -> c_int {
    set(users(), [real, effective, saved])
}

unsafe extern "C" fn setgid(group: u32) -> c_int {
    set(groups(), [group; 3])
}

unsafe extern "C" fn setegid(group: u32) -> c_int {
    set(groups(), [SAME, group, SAME])
}

unsafe extern "C" fn setregid(real: u32, effective: u32) -> c_int {
    set(groups(), [real, effective, SAME])
}

unsafe extern "C" fn setresgid(real: u32, effective: u32, saved: u32) -> c_int {
    set(groups(), [real, effective, saved])
}

/// Gives the number before in any case.
unsafe extern "C" fn setfsuid(_: u32) -> c_int {
    users()[1] as c_int
}

unsafe extern "C" fn setfsgid(_: u32) -> c_int {
    groups()[1] as c_int
}

unsafe extern "C" fn setgroups(_: usize, _: *const u32) -> c_int {
    error(libc::EPERM)
}

unsafe extern "C" fn initgroups(_: *const c_char, _: u32) -> c_int {
    error(libc::EPERM)
}

unsafe extern "C" fn chroot(_: *const c_char) -> c_int {
    error(libc::EPERM)
}

/// Result of the system call `number`, if it changes users, groups or the root directory.
pub fn system_call(number: c_long, [a, b, c]: [u32; 3]) -> Option<c_int> {
    Some(match number {
        libc::SYS_setuid => set(users(), [a; 3]),
        libc::SYS_setreuid => set(users(), [a, b, SAME]),
        libc::SYS_setresuid => set(users(), [a, b, c]),
        libc::SYS_setgid => set(groups(), [a; 3]),
        libc::SYS_setregid => set(groups(), [a, b, SAME]),
        libc::SYS_setresgid => set(groups(), [a, b, c]),
        libc::SYS_setfsuid => users()[1] as c_int,
        libc::SYS_setfsgid => groups()[1] as c_int,
        libc::SYS_setgroups | libc::SYS_chroot => error(libc::EPERM),
        _ => return None,
    })
}
