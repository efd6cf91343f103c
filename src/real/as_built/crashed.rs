//! Signals that end the process of a rank. The simulator learns the time of the crash before the process ends.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

/// Signals of crashes.
const SIGNALS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGABRT];
/// Size in bytes of the stack of the signal handler.
const STACK: usize = 64 << 10;

static REPORT: OnceLock<fn()> = OnceLock::new();

/// Calls `report` when a signal is about to end the process, unless the program handles the signal itself.
pub fn watch(report: fn()) {
    if REPORT.set(report).is_err() {
        return;
    }
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: the stack is never unmapped, and the handler uses only functions that are permitted in handlers.
    unsafe {
        let mut stack: libc::stack_t = std::mem::zeroed();
        libc::sigaltstack(std::ptr::null(), &mut stack);
        let at = libc::mmap(std::ptr::null_mut(), STACK, protection, flags, -1, 0);
        if stack.ss_flags & libc::SS_DISABLE != 0 && at != libc::MAP_FAILED {
            stack = libc::stack_t { ss_sp: at, ss_flags: 0, ss_size: STACK };
            libc::sigaltstack(&stack, std::ptr::null_mut());
        }
        for signal in SIGNALS {
            let mut present: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, std::ptr::null(), &mut present) != 0 || present.sa_sigaction != libc::SIG_DFL {
                continue;
            }
            let mut own: libc::sigaction = std::mem::zeroed();
            own.sa_sigaction = handle as *const () as usize;
            own.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND | libc::SA_NODEFER;
            libc::sigaction(signal, &own, std::ptr::null_mut());
        }
    }
}

extern "C" fn handle(signal: c_int, info: *const libc::siginfo_t, _: *mut c_void) {
    if let Some(report) = REPORT.get() {
        report();
    }
    // A fault occurs again when the handler returns. A signal of a process or of `abort` does not.
    // SAFETY: the system passes valid information, and the default action of the signal is restored.
    unsafe {
        if (*info).si_code <= 0 {
            libc::raise(signal);
        }
    }
}
