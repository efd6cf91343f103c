//! Calls the fault handlers of programs. A fault handler runs on the stack of the rank's code, as if the kernel had
//! called the handler.
//!
//! The kernel's signal frame is on mcpsim's handler stack. mcpsim copies the signal frame to the rank's stack or to
//! the rank's alternate stack, and mcpsim's handler returns into the program's handler. The program's handler may end
//! the rank, jump out (`siglongjmp`) or return. When the program's handler returns, the kernel restores the registers
//! from the copied signal frame, including changes that the program made to the copy.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::mem;

use super::super::clib::{self, FaultAction};
use super::super::rank::Process;

/// Size in bytes of the red zone below the stack pointer, where functions may store data (x86-64 ABI).
const RED_ZONE: usize = 128;
/// Marker that saved floating-point registers occupy more than 512 bytes (`FP_XSTATE_MAGIC1`).
const EXTENDED: u32 = 0x4650_5853;
/// Offset in bytes of the marker in the saved floating-point registers. The total size of the registers follows the
/// marker.
const MARK: usize = 464;
/// Size in bytes of saved floating-point registers without extension.
const PLAIN: usize = 512;
/// Minimum stack space in bytes for the program's fault handler.
const ROOM: usize = 4096;

/// Layout of the kernel's signal frame. The saved floating-point registers follow the signal frame in memory.
#[repr(C)]
struct Frame {
    /// Return address of the signal handler.
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

/// Prepares a call of the program's handler for the current fault. If the rank has a handler for the signal, the
/// function changes `context` so that the handler runs next, and returns true.
///
/// # Safety
/// The kernel passed the arguments to the calling signal handler, which runs on its own alternate stack.
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
    // SAFETY: the kernel saved the floating-point registers at the address and stored the marker and the size of the
    // registers.
    let size = unsafe {
        match saved.add(MARK).cast::<u32>().read_unaligned() {
            EXTENDED => saved.add(MARK + 4).cast::<u32>().read_unaligned() as usize,
            _ => PLAIN,
        }
    };
    let registers = (top - size) & !63;
    // The calling convention requires that the stack pointer at the entry of a function is 8 bytes below a multiple of
    // 16.
    let place = ((registers - size_of::<Frame>()) & !15) - 8;
    let lowest = alternate.filter(|range| range.end == top).map_or(stack.start, |range| range.start);
    if place < lowest + ROOM {
        return false;
    }
    // SAFETY: the copied frame fits into unused stack space, as checked above. The space is below the red zone of the
    // rank's stack, or on the rank's alternate stack.
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

/// A fault within an MPI function, such as an invalid buffer, for which mcpsim called a handler of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultInCall {
    /// Position at which the program called the MPI function.
    pub here: [usize; 3],
    /// Address of the faulting instruction, and memory address whose access failed.
    place: [usize; 2],
    /// Number of consecutive occurrences of the same fault.
    times: u32,
}

/// Maximum number of consecutive occurrences of the same fault. If a fault handler returns without a repair, the same
/// fault occurs again. After `MOST_TIMES` occurrences mcpsim reports a crash of the rank.
const MOST_TIMES: u32 = 3;

/// Returns true if the program's handler was called [`MOST_TIMES`] times in succession for the same fault within an
/// MPI function.
fn is_again(p: &Process, info: &libc::siginfo_t, context: &libc::ucontext_t) -> bool {
    // SAFETY: the kernel initialises `si_addr` for every signal, with an address or another number.
    let address = unsafe { info.si_addr() } as usize;
    let place = [context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize, address];
    let here = p.here.get();
    let before = p.faulted.get().filter(|before| (before.here, before.place) == (here, place));
    let times = before.map_or(1, |before| before.times + 1);
    p.faulted.set(Some(FaultInCall { here, place, times }));
    times > MOST_TIMES
}

const _: () = assert!(mem::offset_of!(Frame, context) == 8);
