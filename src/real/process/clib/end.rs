//! Ways for a rank to end.
//!
//! `atexit` functions and destructors are the image's affair, as it knows whose they are.
#![allow(unsafe_code)]

use std::arch::naked_asm;
use std::cell::RefCell;
use std::ffi::{c_int, c_void};

use super::{keys, signals};
use crate::process::crash;
use crate::process::job;
use crate::process::program::{end, leave};
use crate::process::{Function, NamedFunction};
use crate::process::{Process, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("exit", Function(exit as *const ())),
    ("_exit", Function(exit_now as *const ())),
    ("_Exit", Function(exit_now as *const ())),
    ("quick_exit", Function(quick_exit as *const ())),
    ("at_quick_exit", Function(at_quick_exit as *const ())),
    ("__cxa_at_quick_exit", Function(at_quick_exit as *const ())),
    ("on_exit", Function(on_exit as *const ())),
    ("abort", Function(abort as *const ())),
    ("pthread_exit", Function(pthread_exit as *const ())),
    ("thrd_exit", Function(thrd_exit as *const ())),
    ("pthread_cancel", Function(pthread_cancel as *const ())),
];

/// What `quick_exit` calls, the last first. `__cxa_at_quick_exit` has no argument for it either.
pub type AtQuickExit = RefCell<Vec<unsafe extern "C" fn(*mut c_void)>>;

/// The rank that calls `name`; there is no other way to end it.
pub(super) fn rank<'a>(name: &str) -> &'a Process {
    current().unwrap_or_else(|| {
        job::fatal(&format!("{name} was called from a thread that is not its rank's main thread"), None)
    })
}

unsafe extern "C" fn exit(code: c_int) -> ! {
    let p = rank("exit");
    let last = end(p, code);
    p.call_done(last);
    unreachable!("a rank that has ended does not go on")
}

pub(super) unsafe extern "C" fn exit_now(code: c_int) -> ! {
    let p = rank("_exit");
    let last = leave(p, code);
    p.call_done(last);
    unreachable!("a rank that has ended does not go on")
}

unsafe extern "C" fn quick_exit(code: c_int) -> ! {
    let p = rank("quick_exit");
    while let Some(function) = { p.variables.end.borrow_mut().pop() } {
        // SAFETY: the program's own function; it has no parameter to take the argument.
        unsafe { function(std::ptr::null_mut()) }
    }
    // SAFETY: as the caller's.
    unsafe { exit_now(code) }
}

unsafe extern "C" fn at_quick_exit(function: unsafe extern "C" fn(*mut c_void)) -> c_int {
    current().map_or(-1, |p| {
        p.variables.end.borrow_mut().push(function);
        0
    })
}

unsafe extern "C" fn on_exit(function: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int {
    let Some(p) = current() else { return -1 };
    match &*p.instance.borrow() {
        Some(instance) => instance.on_exit(function, argument),
        None => return -1,
    }
    0
}

unsafe extern "C" fn abort() -> ! {
    match current() {
        Some(p) => {
            signals::deliver(p, libc::SIGABRT, libc::SI_TKILL, 0);
            crash::called(p, libc::SIGABRT)
        }
        // SAFETY: the C library's, whose signal is then reported as a crash of a thread.
        None => unsafe { libc::abort() },
    }
}

unsafe extern "C-unwind" {
    /// The C library's, which unwinds the thread's stack: none of our frames may be on it.
    #[link_name = "pthread_exit"]
    fn end_thread(value: *mut c_void) -> !;
}

/// The end of the thread that runs a rank is the rank's. A thread of the program's own ends as the C library ends it.
#[unsafe(naked)]
unsafe extern "C" fn pthread_exit(value: *mut c_void) -> ! {
    naked_asm!(
        "push rdi",
        "call {leave}",
        "pop rdi",
        "jmp qword ptr [rip + {end}@GOTPCREL]",
        leave = sym leave_thread,
        end = sym end_thread,
    )
}

/// A rank that cancels its main thread ends at once, as by [`pthread_exit`]: that thread is not its own.
unsafe extern "C" fn pthread_cancel(thread: libc::pthread_t) -> c_int {
    // SAFETY: asks which thread this is.
    if current().is_some() && thread == unsafe { libc::pthread_self() } {
        leave_thread();
    }
    // SAFETY: the caller's.
    unsafe { libc::pthread_cancel(thread) }
}

/// As [`pthread_exit`], of a number.
#[unsafe(naked)]
unsafe extern "C" fn thrd_exit(value: c_int) -> ! {
    naked_asm!("movsxd rdi, edi", "jmp {exit}", exit = sym pthread_exit)
}

/// Ends the rank, if its main thread is this one.
extern "C" fn leave_thread() {
    if let Some(p) = current() {
        keys::end_of_main_thread(p);
        let last = end(p, 0);
        p.call_done(last);
    }
}
