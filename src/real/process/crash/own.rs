//! Handlers of programs for faults of their own: they run where the rank's code was, as if the kernel had called them.
//!
//! The kernel's frame lies on mcpsim's stack for handlers. A copy of it goes onto the rank's own stack, or its
//! alternate one, and this handler returns into the program's. That may end the rank, jump out (`siglongjmp`) or
//! return: then the copy is what the kernel restores, with all that the program has changed in it.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::mem;

use super::super::clib::{self, FaultAction};
use super::super::rank::Process;

/// Below the stack pointer, code may keep data (the red zone of the x86-64 ABI).
const RED_ZONE: usize = 128;
/// What marks floating-point registers that are saved with more than the first 512 bytes (`FP_XSTATE_MAGIC1`).
const EXTENDED: u32 = 0x4650_5853;
/// Where that mark is, and the size of all, in the 512 bytes.
const MARK: usize = 464;
/// The bytes of the first part.
const PLAIN: usize = 512;
/// Room that the handler needs at least.
const ROOM: usize = 4096;

/// What the kernel puts onto a stack for a handler, above what holds the floating-point registers.
#[repr(C)]
struct Frame {
    /// Where the handler returns to.
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

/// Has the handler of the rank run, if it has one for this fault: whether `context` now leads there.
///
/// # Safety
/// The arguments are what the kernel has given a handler of `signal`, on a stack of its own.
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
    // SAFETY: the kernel has saved the registers there, and says how many bytes.
    let size = unsafe {
        match saved.add(MARK).cast::<u32>().read_unaligned() {
            EXTENDED => saved.add(MARK + 4).cast::<u32>().read_unaligned() as usize,
            _ => PLAIN,
        }
    };
    let registers = (top - size) & !63;
    // At a function's entry, the stack pointer is eight bytes below a multiple of 16.
    let place = ((registers - size_of::<Frame>()) & !15) - 8;
    let lowest = alternate.filter(|range| range.end == top).map_or(stack.start, |range| range.start);
    if place < lowest + ROOM {
        return false;
    }
    // SAFETY: the room below the rank's stack pointer, or on its alternate stack, is free.
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

/// A fault within an MPI function, as with a bad buffer, for which a handler of the rank was called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultInCall {
    /// Where the MPI function is.
    pub here: [usize; 3],
    /// The instruction, and the address that it could not reach.
    place: [usize; 2],
    /// How often it has met the fault in a row.
    times: u32,
}

/// A handler that returns without having mended anything meets the fault again. After so many times the rank has
/// crashed.
const MOST_TIMES: u32 = 3;

/// Whether this fault within an MPI function has led to the rank's handler too often.
fn is_again(p: &Process, info: &libc::siginfo_t, context: &libc::ucontext_t) -> bool {
    // SAFETY: a signal that comes of an address has one; of others it is a number.
    let address = unsafe { info.si_addr() } as usize;
    let place = [context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize, address];
    let here = p.here.get();
    let before = p.faulted.get().filter(|before| (before.here, before.place) == (here, place));
    let times = before.map_or(1, |before| before.times + 1);
    p.faulted.set(Some(FaultInCall { here, place, times }));
    times > MOST_TIMES
}

const _: () = assert!(mem::offset_of!(Frame, context) == 8);
