//! Start of the ranks by `fork` in MPI_Init of the first process.
//!
//! The first process forks one process per rank, waits for their ends and reports them to the simulator. Their MPI state
//! begins after the fork. A process that cannot be copied becomes rank 0 instead, and the simulator starts the others.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{CString, OsStr, c_int, c_void};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;

use mcpsim_core::rank::Rank;

use super::memory::{self, OpenedMemory, StartDecision};
use super::setup::{PLACE, RankSetup, START, place};
use crate::process::{Job, launched_variables};

/// Time from the ends of processes to the next wait for ends.
const PAUSE: Duration = Duration::from_millis(2);

/// Ends the process without running any more of its code. The preloaded library reports ends by `_exit` to the simulator.
pub fn end_at_once(code: c_int) -> ! {
    // SAFETY: the system call ends the process.
    unsafe { libc::syscall(libc::SYS_exit_group, code) };
    unreachable!("the process has ended")
}

/// Returns a function of the preloaded library.
pub fn preloaded(name: &std::ffi::CStr) -> Option<*mut c_void> {
    // SAFETY: the name ends with a zero byte.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    (!found.is_null()).then_some(found)
}

/// Calls a function of the preloaded library that has no arguments. Returns 0 if there is no such function.
fn call_preloaded(name: &std::ffi::CStr) -> c_int {
    // SAFETY: the functions that this module names have this signature.
    preloaded(name).map_or(0, |found| unsafe { std::mem::transmute::<*mut c_void, extern "C" fn() -> c_int>(found)() })
}

/// Returns true if the process has an open file other than its standard streams and `own`.
fn has_files(own: i32) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc/self/fd") else { return true };
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    numbers.filter(|&number| number > 2 && number != own).any(|number| {
        // SAFETY: zero is a valid value of the result, which has room.
        unsafe {
            let mut of: libc::stat = std::mem::zeroed();
            libc::fstat(number, &mut of) == 0 && of.st_mode & libc::S_IFMT == libc::S_IFREG
        }
    })
}

/// Returns the reason why the process cannot fork the ranks.
fn obstacle(opened: &OpenedMemory, simulator: u32) -> Option<StartDecision> {
    let threads = std::fs::read_dir("/proc/self/task").map_or(2, Iterator::count);
    // SAFETY: the call has no requirement.
    if unsafe { libc::getppid() } as u32 != simulator {
        Some(StartDecision::HasLauncher)
    } else if call_preloaded(c"mcpsim_has_read_rank") != 0 {
        Some(StartDecision::HasReadRank)
    } else if threads != 1 {
        Some(StartDecision::HasThreads)
    } else if has_files(opened.descriptor()) {
        Some(StartDecision::HasFiles)
    } else {
        None
    }
}

/// Starts the ranks in the process of rank `rank`, if the process may fork them. Returns the rank of the current process.
///
/// # Errors
/// The process of the rank cannot open its streams.
pub fn fork_ranks(opened: &OpenedMemory, setup: &RankSetup, job: &Job, rank: Rank) -> io::Result<Rank> {
    if std::env::var_os(START).is_none() {
        return Ok(rank);
    }
    let simulator = opened.table.simulator();
    if let Some(decision) = obstacle(opened, simulator) {
        call_preloaded(c"mcpsim_set_rank_variables");
        opened.table.decide(decision);
        return Ok(rank);
    }
    let mut processes: HashMap<i32, Rank> = HashMap::new();
    let own = std::process::id();
    for &(rank, pipes) in &setup.pipes {
        // SAFETY: the process has one thread.
        match unsafe { libc::fork() } {
            -1 => {
                let number = io::Error::last_os_error().raw_os_error().unwrap_or(0);
                // The processes that have started end with this process.
                opened.table.refuse(rank, number);
                end_at_once(1)
            }
            0 => {
                become_rank(job, (own, simulator), rank, pipes)?;
                return Ok(rank);
            }
            process => {
                opened.table.set_process(rank, process as u32);
                processes.insert(process, rank);
            }
        }
    }
    opened.table.decide(StartDecision::Forked);
    let mut flags = 0;
    loop {
        let mut status = 0;
        // SAFETY: the result has room.
        match unsafe { libc::waitpid(-1, &mut status, flags) } {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            -1 => end_at_once(0),
            0 => {
                // The system looks at all processes before it waits, so it waits once for many ends.
                std::thread::sleep(PAUSE);
                flags = 0;
            }
            process => {
                flags = libc::WNOHANG;
                if let Some(rank) = processes.remove(&process) {
                    opened.table.set_status(rank, status);
                }
            }
        }
    }
}

/// Gives the forked process the streams and the environment of the rank `rank`.
fn become_rank(job: &Job, (parent, simulator): (u32, u32), rank: Rank, pipes: [i32; 2]) -> io::Result<()> {
    // SAFETY: the calls have no requirement.
    let is_orphan = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::getppid() as u32 != parent
    };
    if is_orphan {
        end_at_once(1)
    }
    let out = |number: i32| File::options().write(true).open(format!("/proc/{simulator}/fd/{number}"));
    let streams = [(out(pipes[0])?, 1), (out(pipes[1])?, 2)];
    let input = if rank == 0 { None } else { Some((File::open("/dev/null")?, 0)) };
    for (file, to) in input.iter().chain(&streams) {
        // SAFETY: the standard streams are not owned by any value.
        unsafe { libc::dup2(file.as_raw_fd(), *to) };
    }
    let set = |name: &[u8], value: &[u8]| {
        let [name, value] = [name, value].map(|text| CString::new(text).unwrap_or_default());
        // SAFETY: the process has one thread, and the texts end with a zero byte.
        unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 1) };
    };
    for entry in launched_variables(job, rank) {
        let entry = entry.to_bytes();
        let split = entry.iter().position(|&byte| byte == b'=').unwrap_or(entry.len());
        set(&entry[..split], entry.get(split + 1..).unwrap_or_default());
    }
    set(PLACE.as_bytes(), place(job, rank).as_bytes());
    set(memory::RANK.as_bytes(), rank.to_string().as_bytes());
    // SAFETY: the process has one thread.
    unsafe { std::env::remove_var(OsStr::from_bytes(START.as_bytes())) };
    call_preloaded(c"mcpsim_forked");
    Ok(())
}
