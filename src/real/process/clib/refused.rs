//! Functions of the C library that ranks as fibers do not have. The effect of each would be on the simulator with all
//! its ranks, or the call would block the ranks that share a host thread. A call ends the rank with an error that names
//! the function and the other way to run the program.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_long};

use crate::loader::AS_BUILT;
use crate::process::{Function, NamedFunction, current, job};
use mcpsim_core::rank::FailureKind;

/// Ends the rank that calls `function`.
#[cold]
pub(super) fn refuse(function: &str) -> ! {
    let what = format!("ranks as fibers do not have this function of the C library; {AS_BUILT}");
    match current() {
        Some(p) => p.fail_at(function.to_owned(), FailureKind::Error, what),
        None => job::fatal(&format!("{function} was called from a thread of a rank: {what}"), None),
    }
}

/// Returns the table entries of functions of which every call is refused.
macro_rules! refused {
    ($($name:ident)*) => {
        &[
            $((stringify!($name), Function({
                unsafe extern "C" fn function() -> c_int {
                    refuse(stringify!($name))
                }
                function as *const ()
            })),)*
        ]
    };
}

pub const FUNCTIONS: &[NamedFunction] = refused! {
    // Other programs and processes.
    execv execve execvp execvpe fexecve execveat execl execle execlp
    fork vfork daemon posix_spawn posix_spawnp
    wait waitpid __waitpid wait3 wait4 waitid
    // Alarms and timers, signals that are awaited or that have a value.
    alarm ualarm setitimer timer_create
    sigwait sigwaitinfo sigtimedwait sigsuspend pause sigpending sigqueue pthread_sigqueue killpg
    // Queues of messages and semaphores of System V.
    mq_open msgget semget
    // Locks of records of files.
    lockf lockf64
    // Scheduling of the process.
    nice setpriority sched_setparam sched_setscheduler
    // Users, groups and the root directory of the process.
    setuid seteuid setreuid setresuid setgid setegid setregid setresgid setfsuid setfsgid setgroups initgroups chroot
    // Figures of the heap, which all ranks share.
    mallinfo mallinfo2 malloc_stats malloc_info
};

/// System calls that `syscall` refuses, with the names of their functions.
const SYSTEM_CALLS: [(c_long, &str); 17] = [
    (libc::SYS_execve, "execve"),
    (libc::SYS_execveat, "execveat"),
    (libc::SYS_fork, "fork"),
    (libc::SYS_vfork, "vfork"),
    (libc::SYS_wait4, "wait4"),
    (libc::SYS_waitid, "waitid"),
    (libc::SYS_setuid, "setuid"),
    (libc::SYS_setreuid, "setreuid"),
    (libc::SYS_setresuid, "setresuid"),
    (libc::SYS_setgid, "setgid"),
    (libc::SYS_setregid, "setregid"),
    (libc::SYS_setresgid, "setresgid"),
    (libc::SYS_setfsuid, "setfsuid"),
    (libc::SYS_setfsgid, "setfsgid"),
    (libc::SYS_setgroups, "setgroups"),
    (libc::SYS_chroot, "chroot"),
    (libc::SYS_setpriority, "setpriority"),
];

/// Ends the rank if it may not make the system call `number`.
pub(super) fn check_system_call(number: c_long) {
    if let Some((_, name)) = SYSTEM_CALLS.iter().find(|(known, _)| *known == number) {
        refuse(name);
    }
}
