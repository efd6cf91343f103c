//! Limits that a rank sets for itself (`setrlimit`), and the name of its thread (`prctl`). The kernel's limits are those
//! of all ranks together, so a rank's are remembered and told again, and hold nothing back.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_long, c_uint, c_ulong};
use std::ptr;

use super::{error, identity};
use crate::process::{Function, NamedFunction, Process, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("getrlimit", Function(getrlimit as *const ())),
    ("getrlimit64", Function(getrlimit as *const ())),
    ("setrlimit", Function(setrlimit as *const ())),
    ("setrlimit64", Function(setrlimit as *const ())),
    ("prlimit", Function(prlimit as *const ())),
    ("prlimit64", Function(prlimit as *const ())),
    ("getdtablesize", Function(getdtablesize as *const ())),
    ("prctl", Function(prctl as *const ())),
    ("pthread_setname_np", Function(pthread_setname_np as *const ())),
    ("pthread_getname_np", Function(pthread_getname_np as *const ())),
];

/// The longest name of a thread, with its end.
const NAME: usize = 16;

/// What a rank has set.
#[derive(Debug, Default)]
pub struct RankLimits {
    set: RefCell<BTreeMap<c_uint, (u64, u64)>>,
    name: Cell<Option<[u8; NAME]>>,
}

fn limit_of(p: &Process, what: c_uint) -> Result<(u64, u64), c_int> {
    if let Some(&known) = p.variables.limits.set.borrow().get(&what) {
        return Ok(known);
    }
    // SAFETY: room for the answer.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        match libc::getrlimit(what, &mut limit) {
            0 => Ok((limit.rlim_cur, limit.rlim_max)),
            _ => Err(*libc::__errno_location()),
        }
    }
}

/// How many files the rank believes it may open.
pub(super) fn files(p: &Process) -> Option<c_long> {
    let (files, _) = limit_of(p, libc::RLIMIT_NOFILE).ok()?;
    c_long::try_from(files).ok()
}

unsafe extern "C" fn getrlimit(what: c_uint, to: *mut libc::rlimit) -> c_int {
    // SAFETY: the caller's.
    unsafe { prlimit(0, what, ptr::null(), to) }
}

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
    let p = current().filter(|p| pid == 0 || pid == identity::number(p));
    // SAFETY: the caller's structures.
    unsafe {
        let Some(p) = p else { return libc::prlimit(pid, what, new, old) };
        let before = match limit_of(p, what) {
            Ok(before) => before,
            Err(number) => return error(number),
        };
        if let Some(&libc::rlimit { rlim_cur, rlim_max }) = new.as_ref() {
            if rlim_cur > rlim_max {
                return error(libc::EINVAL);
            }
            if rlim_max > before.1 && libc::geteuid() != 0 {
                return error(libc::EPERM);
            }
            p.variables.limits.set.borrow_mut().insert(what, (rlim_cur, rlim_max));
        }
        if !old.is_null() {
            *old = libc::rlimit { rlim_cur: before.0, rlim_max: before.1 };
        }
    }
    0
}

unsafe extern "C" fn getdtablesize() -> c_int {
    let files = current().and_then(files);
    // SAFETY: may be asked for always.
    let files = files.unwrap_or_else(|| unsafe { libc::sysconf(libc::_SC_OPEN_MAX) });
    c_int::try_from(files).unwrap_or(c_int::MAX)
}

/// The name of the rank's thread, which begins as that of its program.
fn name(p: &Process) -> [u8; NAME] {
    p.variables.limits.name.get().unwrap_or_else(|| {
        let program = p.program().arguments[0].to_bytes().rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        cut(program)
    })
}

fn cut(text: &[u8]) -> [u8; NAME] {
    let mut name = [0; NAME];
    let length = text.len().min(NAME - 1);
    name[..length].copy_from_slice(&text[..length]);
    name
}

/// What a rank calls its thread, if it has said so.
pub(super) fn own_name(p: &Process) -> Option<Vec<u8>> {
    let name = p.variables.limits.name.get()?;
    Some(name.into_iter().take_while(|&byte| byte != 0).collect())
}

unsafe extern "C" fn prctl(option: c_int, a: c_ulong, b: c_ulong, c: c_ulong, d: c_ulong) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        match (current(), option) {
            (Some(p), libc::PR_SET_NAME) => {
                p.variables.limits.name.set(Some(cut(CStr::from_ptr(a as *const c_char).to_bytes())));
                0
            }
            (Some(p), libc::PR_GET_NAME) => {
                ptr::copy_nonoverlapping(name(p).as_ptr(), a as *mut u8, NAME);
                0
            }
            // What would bind the simulator's thread, with all its ranks, for ever.
            (Some(_), libc::PR_SET_SECCOMP | libc::PR_SET_PDEATHSIG | libc::PR_SET_NO_NEW_PRIVS) => error(libc::EINVAL),
            _ => libc::prctl(option, a, b, c, d),
        }
    }
}

/// The rank, if `thread` is its own.
unsafe fn main_thread<'a>(thread: libc::pthread_t) -> Option<&'a Process> {
    // SAFETY: always succeeds.
    current().filter(|_| thread == unsafe { libc::pthread_self() })
}

unsafe extern "C" fn pthread_setname_np(thread: libc::pthread_t, text: *const c_char) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(p) = main_thread(thread) else { return libc::pthread_setname_np(thread, text) };
        let text = CStr::from_ptr(text).to_bytes();
        if text.len() >= NAME {
            return libc::ERANGE;
        }
        p.variables.limits.name.set(Some(cut(text)));
    }
    0
}

unsafe extern "C" fn pthread_getname_np(thread: libc::pthread_t, to: *mut c_char, room: usize) -> c_int {
    // SAFETY: the caller's.
    unsafe {
        let Some(p) = main_thread(thread) else { return libc::pthread_getname_np(thread, to, room) };
        if room < NAME {
            return libc::ERANGE;
        }
        ptr::copy_nonoverlapping(name(p).as_ptr().cast(), to, NAME);
    }
    0
}
