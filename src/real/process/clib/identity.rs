//! Who a rank is and where: its process's number, its node's name, its core.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_long, c_uint};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use super::error;
use crate::process::{Function, NamedFunction};
use crate::process::{Process, current, put_text};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("getpid", Function(getpid as *const ())),
    ("__getpid", Function(getpid as *const ())),
    ("getppid", Function(getppid as *const ())),
    ("gettid", Function(gettid as *const ())),
    ("gethostname", Function(gethostname as *const ())),
    ("uname", Function(uname as *const ())),
    ("sched_getcpu", Function(sched_getcpu as *const ())),
    ("getcpu", Function(getcpu as *const ())),
    ("sysconf", Function(sysconf as *const ())),
    ("__sysconf", Function(sysconf as *const ())),
    ("get_nprocs", Function(cores as *const ())),
    ("get_nprocs_conf", Function(cores as *const ())),
];

/// Above all numbers that the system gives to processes (PID_MAX_LIMIT).
const FIRST: c_int = 1 << 22;
/// Numbers that a run takes at a time.
const BLOCK: u32 = 1 << 16;
/// Blocks that are looked at: more than there are runs at a time on a machine.
const BLOCKS: u32 = 1 << 14;

/// The process numbers of a run's ranks: no other run of the machine has them at the same time, and the same run has
/// the same if it is alone.
#[derive(Debug, Default)]
pub struct ProcessNumbers {
    /// That of who started the ranks; rank 0's is the next.
    pub parent: i32,
    /// What keeps others from taking them.
    _claims: Vec<UnixListener>,
}

impl ProcessNumbers {
    /// Numbers for so many ranks.
    pub fn claim(ranks: usize) -> ProcessNumbers {
        let blocks = (ranks as u32 / BLOCK) + 1;
        let name = |block: u32| SocketAddr::from_abstract_name(format!("mcpsim/process-numbers/{block}"));
        let claim = |block: u32| UnixListener::bind_addr(&name(block).ok()?).ok();
        for first in (0..BLOCKS).step_by(blocks as usize) {
            let claims: Vec<UnixListener> = (first..first + blocks).map_while(claim).collect();
            if claims.len() == blocks as usize {
                return ProcessNumbers { parent: FIRST + (first * BLOCK) as c_int, _claims: claims };
            }
        }
        ProcessNumbers::of(FIRST)
    }

    /// Those that another process of the run has claimed.
    pub fn of(parent: i32) -> ProcessNumbers {
        ProcessNumbers { parent, _claims: Vec::new() }
    }
}

/// The rank's process number.
pub fn number(p: &Process) -> c_int {
    (p.job.numbers.parent + 1).saturating_add_unsigned(p.rank)
}

/// The number of who started the process with this one: the beginning of the block is the run's.
pub fn parent(number: c_int) -> c_int {
    current().map_or(number, |p| p.job.numbers.parent)
}

/// Whether `pid` stands for a rank or for what started them.
pub fn is_ours(p: &Process, pid: c_int) -> bool {
    let parent = p.job.numbers.parent;
    (parent..=parent.saturating_add_unsigned(p.size())).contains(&pid)
}

unsafe extern "C" fn getpid() -> c_int {
    // SAFETY: always succeeds.
    current().map_or_else(|| unsafe { libc::getpid() }, number)
}

unsafe extern "C" fn getppid() -> c_int {
    // SAFETY: always succeeds.
    current().map_or_else(|| unsafe { libc::getppid() }, |p| p.job.numbers.parent)
}

/// The rank's main thread has the number of its process.
unsafe extern "C" fn gettid() -> c_int {
    // SAFETY: always succeeds.
    current().map_or_else(|| unsafe { libc::gettid() }, number)
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

/// The core that a rank is on among those of its node; of hardware threads, the second ones follow all the first.
fn core(p: &Process) -> u32 {
    let (sites, platform) = (&p.job.sites, &p.job.platform);
    let site = sites[p.rank as usize];
    let first = site.cmp * platform.shape.cores + site.core;
    match platform.core.threads.count() {
        1 => first,
        threads => {
            let before = sites[..p.rank as usize].iter().filter(|other| **other == site).count() as u32;
            before % threads * platform.shape.cores_in_node() as u32 + first
        }
    }
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

/// The number of processors of the rank's node.
pub fn processors(p: &Process) -> u32 {
    p.job.platform.most_ranks() / p.job.platform.shape.nodes
}

/// The cores of the rank's node.
unsafe extern "C" fn cores() -> c_int {
    match current() {
        Some(p) => processors(p) as c_int,
        // SAFETY: may be asked for.
        None => unsafe { libc::sysconf(libc::_SC_NPROCESSORS_ONLN) as c_int },
    }
}
