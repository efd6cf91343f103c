//! Users, groups and the root directory of the process. All ranks share them, so a rank may only set the present values.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_long};

use super::error;
use crate::process::{Function, NamedFunction};

/// A user or group that a call leaves as it is.
const SAME: u32 = u32::MAX;

/// Real, effective and saved number: of users or of groups.
type Numbers = [u32; 3];

fn users() -> Numbers {
    let [mut real, mut effective, mut saved] = Numbers::default();
    // SAFETY: the pointers refer to local variables.
    unsafe { libc::getresuid(&mut real, &mut effective, &mut saved) };
    [real, effective, saved]
}

fn groups() -> Numbers {
    let [mut real, mut effective, mut saved] = Numbers::default();
    // SAFETY: the pointers refer to local variables.
    unsafe { libc::getresgid(&mut real, &mut effective, &mut saved) };
    [real, effective, saved]
}

/// Returns the result of a call that sets `numbers` to `wanted`: it fails unless they are equal.
fn set(numbers: Numbers, wanted: Numbers) -> c_int {
    let is_same = numbers.into_iter().zip(wanted).all(|(number, wanted)| wanted == SAME || wanted == number);
    if is_same { 0 } else { error(libc::EPERM) }
}

/// Defines C functions by their results, and the table of them.
macro_rules! functions {
    ($($name:ident($($argument:ident: $kind:ty),*) = $result:expr;)*) => {
        pub const FUNCTIONS: &[NamedFunction] = &[$((stringify!($name), Function($name as *const ()))),*];

        $(extern "C" fn $name($($argument: $kind),*) -> c_int {
            $result
        })*
    };
}

functions! {
    setuid(user: u32) = set(users(), [user; 3]);
    seteuid(user: u32) = set(users(), [SAME, user, SAME]);
    setreuid(real: u32, effective: u32) = set(users(), [real, effective, SAME]);
    setresuid(real: u32, effective: u32, saved: u32) = set(users(), [real, effective, saved]);
    setgid(group: u32) = set(groups(), [group; 3]);
    setegid(group: u32) = set(groups(), [SAME, group, SAME]);
    setregid(real: u32, effective: u32) = set(groups(), [real, effective, SAME]);
    setresgid(real: u32, effective: u32, saved: u32) = set(groups(), [real, effective, saved]);
    // These return the previous number, also if they fail.
    setfsuid(_user: u32) = users()[1] as c_int;
    setfsgid(_group: u32) = groups()[1] as c_int;
    setgroups(_count: usize, _groups: *const u32) = error(libc::EPERM);
    initgroups(_name: *const c_char, _group: u32) = error(libc::EPERM);
    chroot(_path: *const c_char) = error(libc::EPERM);
}

/// Returns the result of the system call `number`, if it changes users, groups or the root directory.
pub fn system_call(number: c_long, [a, b, c]: [u32; 3]) -> Option<c_int> {
    Some(match number {
        libc::SYS_setuid => setuid(a),
        libc::SYS_setreuid => setreuid(a, b),
        libc::SYS_setresuid => setresuid(a, b, c),
        libc::SYS_setgid => setgid(a),
        libc::SYS_setregid => setregid(a, b),
        libc::SYS_setresgid => setresgid(a, b, c),
        libc::SYS_setfsuid => setfsuid(a),
        libc::SYS_setfsgid => setfsgid(a),
        libc::SYS_setgroups | libc::SYS_chroot => error(libc::EPERM),
        _ => return None,
    })
}
