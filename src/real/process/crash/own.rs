//! Fault handlers of programs. They run at the position of the rank's code, as if the kernel had called them.
//!
//! The kernel's signal frame is on mcpsim's handler stack. A copy of the frame is placed on the rank's stack or on its
//! alternate stack, and mcpsim's handler returns into the program's handler. The program's handler may end the rank,
//! jump out (`siglongjmp`) or return. On return the kernel restores the copy, including the changes by the program.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::mem;

use super::super::clib::{self, FaultAction};
use super::super::rank::Process;

/// Size in bytes of the red zone below the stack pointer, where code may keep data (x86-64 ABI).
const RED_ZONE: usize = 128;
/// Mark of saved floating-point registers with more than the first 512 bytes (`FP_XSTATE_MAGIC1`).
const EXTENDED: u32 = 0x4650_5853;
/// Offset of the mark in the first 512 bytes, followed by the total size.
const MARK: usize = 464;
/// Size of the first part in bytes.
const PLAIN: usize = 512;
/// Minimum stack space for the handler in bytes.
const ROOM: usize = 4096;

/// Layout of the kernel's signal frame below the saved floating-point registers.
#[repr(C)]
struct Frame {
    /// Return address of the handler.
    back: usize,
    context: libc::ucontext_t,
    info: libc::siginfo_t,
}

unsafe extern "C" {
    #[link_name = "mcpsim_return_from_handler"]
    fn back();
}

std::arch::global_asm!(
    ".pushsection .text.mcpsim_return_from_handler, \"ax\", @progbits",
    ".globl mcpsim_return_from_handler",
    ".hidden mcpsim_return_from_handler",
    ".type mcpsim_return_from_handler, @function",
    "mcpsim_return_from_handler:",
    "mov eax, 15",
    "syscall",
    "ud2",
    ".size mcpsim_return_from_handler, . - mcpsim_return_from_handler",
    ".popsection",
);

/// Prepares the call of the rank's handler for this fault. Returns true if the rank has a handler and `context` now
/// leads to it.
///
/// # Safety
/// The arguments are those of the kernel's call of a handler of `signal`, which runs on its own stack.
pub unsafe fn deliver(
    p: &Process,
    signal: c_int,
    info: &libc::siginfo_t,
    context: &mut libc::ucontext_t,
    overflow: bool,
) -> bool {
    if p.in_call() && is_again(p, info, context) {
        return false;
    }
    let Some(FaultAction { handler, alternate }) = clib::fault_action(p, signal) else { return false };
    let words = &mut context.uc_mcontext.gregs;
    let now = words[libc::REG_RSP as usize] as usize;
    let stack = p.stack();
    let top = match &alternate {
        Some(range) if !range.contains(&now) => range.end,
        _ if overflow || !stack.contains(&now) && alternate.as_ref().is_none_or(|range| !range.contains(&now)) => {
            return false;
        }
        _ => now - RED_ZONE,
    };
    let saved = context.uc_mcontext.fpregs.cast::<u8>();
    if saved.is_null() {
        return false;
    }
    // SAFETY: the kernel saved the registers at this address and stored their size at the offset of the mark.
    let size = unsafe {
        match saved.add(MARK).cast::<u32>().read_unaligned() {
            EXTENDED => saved.add(MARK + 4).cast::<u32>().read_unaligned() as usize,
            _ => PLAIN,
        }
    };
    let registers = (top - size) & !63;
    // At the entry of a function, the stack pointer is 8 bytes below a multiple of 16.
    let place = ((registers - size_of::<Frame>()) & !15) - 8;
    let lowest = alternate.filter(|range| range.end == top).map_or(stack.start, |range| range.start);
    if place < lowest + ROOM {
        return false;
    }
    // SAFETY: the space below the red zone of the rank's stack, or on its alternate stack, is unused and was checked to
    // suffice.
    unsafe {
        std::ptr::copy_nonoverlapping(saved, registers as *mut u8, size);
        let frame = place as *mut Frame;
        (*frame).back = back as *const () as usize;
        std::ptr::copy_nonoverlapping(context, &raw mut (*frame).context, 1);
        (*frame).context.uc_mcontext.fpregs = registers as *mut _;
        std::ptr::copy_nonoverlapping(info, &raw mut (*frame).info, 1);
        let words = &mut context.uc_mcontext.gregs;
        words[libc::REG_RIP as usize] = handler as i64;
        words[libc::REG_RSP as usize] = place as i64;
        words[libc::REG_RDI as usize] = signal.into();
        words[libc::REG_RSI as usize] = &raw const (*frame).info as i64;
        words[libc::REG_RDX as usize] = &raw const (*frame).context as i64;
        words[libc::REG_RAX as usize] = 0;
        words[libc::REG_EFL as usize] &= !0x400;
    }
    true
}

/// A fault within an MPI function, such as a bad buffer, for which a handler of the rank was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultInCall {
    /// Position of the MPI function.
    pub here: [usize; 3],
    /// The faulting instruction and the address whose access failed.
    place: [usize; 2],
    /// Number of consecutive occurrences.
    times: u32,
}

/// Maximum number of consecutive occurrences. A handler that returns without a repair causes the same fault again, and
/// then the rank has crashed.
const MOST_TIMES: u32 = 3;

/// Returns true if this fault within an MPI function has called the rank's handler too often.
fn is_again(p: &Process, info: &libc::siginfo_t, context: &libc::ucontext_t) -> bool {
    // SAFETY: reading the field is sound for every signal; it is an address or another number.
    let address = unsafe { info.si_addr() } as usize;
    let place = [context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize, address];
    let here = p.here.get();
    let before = p.faulted.get().filter(|before| (before.here, before.place) == (here, place));
    let times = before.map_or(1, |before| before.times + 1);
    p.faulted.set(Some(FaultInCall { here, place, times }));
    times > MOST_TIMES
}

const _: () = assert!(mem::offset_of!(Frame, context) == 8);
