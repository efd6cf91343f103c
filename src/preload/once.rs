//! `pthread_once`: the MPI library replaces only what precedes and follows the function, which is code of the program. If
//! the function throws an exception of C++, the next caller executes the function again.

use std::arch::naked_asm;
use std::ffi::c_void;
use std::sync::atomic::AtomicUsize;

use crate::clocks::{BUSY, runs_rank_code};
use crate::next::next;
use crate::threads::{is_managed, mcpsim_once_begin, mcpsim_once_end, mcpsim_once_fail};

/// Returns 0 if the function has been executed, 1 if the caller executes it, and otherwise the address of the function of
/// the C library that executes it.
unsafe extern "C" fn begin(control: *mut c_void) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    match is_managed() && !BUSY.get() && runs_rank_code() {
        // SAFETY: the control is that of the caller of `pthread_once`; so in the functions below.
        true => usize::from(unsafe { mcpsim_once_begin(control) } != 0),
        false => next(&NEXT, c"pthread_once"),
    }
}

unsafe extern "C" fn end(control: *mut c_void) {
    // SAFETY: see `begin`.
    unsafe { mcpsim_once_end(control) };
}

unsafe extern "C" fn fail(control: *mut c_void) {
    // SAFETY: see `begin`.
    unsafe { mcpsim_once_fail(control) };
}

/// Function of the C library: a control and the function that one caller executes. The code has a landing pad for
/// exceptions of any language, which calls [`fail`] and continues the exception in the caller.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn pthread_once() {
    naked_asm!(
        "20:",
        ".cfi_startproc",
        ".cfi_personality 0x9b, mcpsim_once_personality",
        ".cfi_lsda 0x1b, mcpsim_once_table",
        "push rbx",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_offset rbx, -16",
        "push r12",
        ".cfi_adjust_cfa_offset 8",
        ".cfi_offset r12, -24",
        "push rax",
        ".cfi_adjust_cfa_offset 8",
        "mov rbx, rdi",
        "mov r12, rsi",
        "call {begin}",
        "cmp rax, 1",
        "jb 24f",
        "ja 25f",
        "22:",
        "call r12",
        "23:",
        "mov rdi, rbx",
        "call {end}",
        "24:",
        "xor eax, eax",
        ".cfi_remember_state",
        "pop rcx",
        ".cfi_adjust_cfa_offset -8",
        "pop r12",
        ".cfi_adjust_cfa_offset -8",
        "pop rbx",
        ".cfi_adjust_cfa_offset -8",
        "ret",
        ".cfi_restore_state",
        "25:",
        "mov rdi, rbx",
        "mov rsi, r12",
        ".cfi_remember_state",
        "pop rcx",
        ".cfi_adjust_cfa_offset -8",
        "pop r12",
        ".cfi_adjust_cfa_offset -8",
        "pop rbx",
        ".cfi_adjust_cfa_offset -8",
        "jmp rax",
        ".cfi_restore_state",
        "26:",
        "mov r12, rax",
        "mov rdi, rbx",
        "call {fail}",
        "mov rdi, r12",
        "call _Unwind_Resume@PLT",
        "ud2",
        "27:",
        ".cfi_endproc",
        // The table of calls: start, length, landing pad and action of each range.
        ".pushsection .gcc_except_table.mcpsim_once, \"a\", @progbits",
        ".balign 4",
        "mcpsim_once_table:",
        ".byte 0xff, 0xff, 1",
        ".uleb128 29f - 28f",
        "28:",
        ".uleb128 22b - 20b",
        ".uleb128 23b - 22b",
        ".uleb128 26b - 20b",
        ".uleb128 0",
        ".uleb128 26b - 20b",
        ".uleb128 27b - 26b",
        ".uleb128 0",
        ".uleb128 0",
        "29:",
        ".popsection",
        ".pushsection .data.rel.mcpsim_once, \"aw\", @progbits",
        ".balign 8",
        "mcpsim_once_personality:",
        ".quad __gcc_personality_v0",
        ".popsection",
        begin = sym begin,
        end = sym end,
        fail = sym fail,
    )
}
