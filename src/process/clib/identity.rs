//! Who a rank is and where: its process's number, its node's name, its core.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_long, c_uint};

use super::error;
use crate::process::{Function, Known};
use crate::process::{Process, current, put_text};

pub const FUNCTIONS: &[Known] = &[
    ("getpid", Function(getpid as *const ())),
    ("__getpid", Function(getpid as *const ())),
    ("getppid", Function(getppid as *const ())),
    ("gethostname", Function(gethostname as *const ())),
    ("uname", Function(uname as *const ())),
    ("sched_getcpu", Function(sched_getcpu as *const ())),
    ("getcpu", Function(getcpu as *const ())),
    ("sysconf", Function(sysconf as *const ())),
    ("__sysconf", Function(sysconf as *const ())),
    ("get_nprocs", Function(cores as *const ())),
    ("get_nprocs_conf", Function(cores as *const ())),
];

/// The process of rank 0; the others follow. Their parent is the one before.
const FIRST: c_int = 10_000;

/// The rank's process number.
pub fn number(p: &Process) -> c_int {
    FIRST.saturating_add_unsigned(p.rank)
}

/// Whether `pid` stands for a rank or for what started them.
pub fn is_ours(p: &Process, pid: c_int) -> bool {
    (FIRST - 1..FIRST.saturating_add_unsigned(p.size())).contains(&pid)
}

unsafe extern "C" fn getpid() -> c_int {
    // SAFETY: always succeeds.
    current().map_or_else(|| unsafe { libc::getpid() }, number)
}

unsafe extern "C" fn getppid() -> c_int {
    FIRST - 1
}

unsafe extern "C" fn gethostname(to: *mut c_char, room: usize) -> c_int {
    // SAFETY: the caller's buffer has so much room.
    unsafe {
        let Some(p) = current() else { return libc::gethostname(to, room) };
        let name = p.node_name();
        if room > 0 {
            put_text(to, room, &name);
        }
        if name.len() < room { 0 } else { error(libc::ENAMETOOLONG) }
    }
}

unsafe extern "C" fn uname(to: *mut libc::utsname) -> c_int {
    // SAFETY: the caller's structure.
    unsafe {
        let result = libc::uname(to);
        if let (0, Some(p)) = (result, current()) {
            let name = &mut (*to).nodename;
            put_text(name.as_mut_ptr(), name.len(), &p.node_name());
        }
        result
    }
}

/// The core that a rank is on among those of its node.
fn core(p: &Process) -> u32 {
    let site = p.job.sites[p.rank as usize];
    site.cmp * p.job.platform.shape.cores + site.core
}

unsafe extern "C" fn sched_getcpu() -> c_int {
    // SAFETY: always succeeds.
    current().map_or_else(|| unsafe { libc::sched_getcpu() }, |p| core(p) as c_int)
}

unsafe extern "C" fn getcpu(cpu: *mut c_uint, node: *mut c_uint) -> c_int {
    let (core, cmp) = current().map_or((0, 0), |p| (core(p), p.job.sites[p.rank as usize].cmp));
    // SAFETY: the caller's.
    unsafe {
        if !cpu.is_null() {
            *cpu = core;
        }
        if !node.is_null() {
            *node = cmp;
        }
    }
    0
}

unsafe extern "C" fn sysconf(name: c_int) -> c_long {
    // SAFETY: any number may be asked for.
    unsafe {
        match name {
            libc::_SC_NPROCESSORS_ONLN | libc::_SC_NPROCESSORS_CONF => c_long::from(cores()),
            _ => libc::sysconf(name),
        }
    }
}

/// The cores of the rank's node.
unsafe extern "C" fn cores() -> c_int {
    match current() {
        Some(p) => (p.job.platform.shape.cmps * p.job.platform.shape.cores) as c_int,
        // SAFETY: may be asked for.
        None => unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) as c_int },
    }
}
