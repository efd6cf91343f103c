//! The C function `syscall`. Libraries wait by its call of futex: the C++ library in barriers, latches, semaphores, atomics,
//! futures and static variables, and Rust's standard library in locks. Other system calls are unchanged.

use std::arch::naked_asm;
use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::clocks::{BUSY, own, runs_rank_code};
use crate::threads::is_managed;

/// First address and size of the code of the MPI library, whose own calls of futex are unchanged.
static LIBRARY_START: AtomicUsize = AtomicUsize::new(0);
static LIBRARY_SIZE: AtomicUsize = AtomicUsize::new(0);

/// Registers the addresses of the code of the MPI library.
#[unsafe(no_mangle)]
pub extern "C" fn mcpsim_register_code(start: usize, size: usize) {
    LIBRARY_START.store(start, Ordering::Relaxed);
    LIBRARY_SIZE.store(size, Ordering::Relaxed);
}

/// Function of the C library: the number of a system call and at most six arguments.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn syscall() {
    naked_asm!(
        "cmp rdi, {number}",
        "jne {plain}",
        // Calls of the MPI library itself, which waits for the simulator by futex.
        "mov rax, [rsp]",
        "sub rax, [rip + {start}]",
        "cmp rax, [rip + {size}]",
        "jae {futex}",
        "jmp {plain}",
        number = const libc::SYS_futex,
        plain = sym system_call,
        start = sym LIBRARY_START,
        size = sym LIBRARY_SIZE,
        futex = sym futex,
    )
}

/// Function of the C library without any change. The system takes its fourth argument in another register than C, and the
/// sixth one is on the stack.
#[unsafe(naked)]
unsafe extern "C" fn system_call(number: c_long, a: usize, b: usize, c: usize, d: usize, e: usize, f: usize) -> c_long {
    naked_asm!(
        "mov rax, rdi",
        "mov rdi, rsi",
        "mov rsi, rdx",
        "mov rdx, rcx",
        "mov r10, r8",
        "mov r8, r9",
        "mov r9, [rsp + 8]",
        "syscall",
        "cmp rax, -4095",
        "jae 2f",
        "ret",
        "2:",
        "mov rdi, rax",
        "jmp {failed}",
        failed = sym failed,
    )
}

/// Sets the error number of the C library. Returns the result of functions that fail.
extern "C" fn failed(result: c_long) -> c_long {
    // SAFETY: the location belongs to the thread.
    unsafe { *libc::__errno_location() = -result as c_int };
    -1
}

/// Calls futex. Threads with clocks of their own wait in virtual time.
unsafe extern "C" fn futex(
    number: c_long,
    address: usize,
    operation: usize,
    value: usize,
    time: usize,
    second: usize,
    bits: usize,
) -> c_long {
    static OWN: AtomicUsize = AtomicUsize::new(0);
    type Replacement = unsafe extern "C" fn(usize, c_int, u32, *const c_void, usize, u32) -> c_long;
    // SAFETY: the caller passes arguments of the system call. The replacement has this signature.
    unsafe {
        if !is_managed() || BUSY.get() || !runs_rank_code() {
            return system_call(number, address, operation, value, time, second, bits);
        }
        let function = std::mem::transmute::<usize, Replacement>(own(&OWN, c"futex"));
        BUSY.set(true);
        let result = function(address, operation as c_int, value as u32, time as *const c_void, second, bits as u32);
        BUSY.set(false);
        if result < 0 { failed(result) } else { result }
    }
}
