//! Walks the stack with call frame information. Stack walks allocate no memory, take no locks, and read only code and
//! the address range of the stack. Signal handlers may therefore walk the stack.
#![allow(unsafe_code)]

use std::ops::Range;

use addr2line::gimli::{
    BaseAddresses, CfaRule, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, Pointer, Register, RegisterRule,
    UnwindContext, UnwindContextStorage, UnwindSection, UnwindTableRow,
};

use crate::loader::{self, UnwindCode};

/// Maximum number of stack frames that a stack trace stores.
pub const DEPTH: usize = 64;
/// Number of registers in call frame information: the 16 general registers and the instruction pointer, which is last.
const REGISTERS: usize = 17;
const RBP: usize = 6;
const RSP: usize = 7;
const RIP: usize = 16;

/// Values of the general registers and the instruction pointer.
#[derive(Clone, Copy, Debug)]
pub struct Registers(pub [usize; REGISTERS]);

impl Registers {
    /// Creates register values with the instruction pointer `pc`, the stack pointer `stack` and the frame pointer
    /// `frame`. All other registers are 0.
    pub fn at([pc, stack, frame]: [usize; 3]) -> Self {
        let mut registers = [0; REGISTERS];
        (registers[RIP], registers[RSP], registers[RBP]) = (pc, stack, frame);
        Registers(registers)
    }

    /// Register number of the frame pointer.
    pub const FRAME: usize = RBP;

    /// Returns the stack pointer register.
    pub fn stack(&self) -> usize {
        self.0[RSP]
    }

    /// Moves the instruction pointer back by one byte, from the byte after a breakpoint instruction to the breakpoint.
    pub fn step_back(&mut self) {
        self.0[RIP] = self.0[RIP].wrapping_sub(1);
    }

    /// Returns the instruction pointer register.
    pub fn pc(&self) -> usize {
        self.0[RIP]
    }
}

/// Returns the instruction, stack and frame pointers of the calling function.
#[inline(always)]
pub fn here() -> [usize; 3] {
    let (pc, stack, frame): (usize, usize, usize);
    // SAFETY: the instructions only read registers.
    unsafe {
        std::arch::asm!("lea {0}, [rip]", "mov {1}, rsp", "mov {2}, rbp", out(reg) pc, out(reg) stack, out(reg) frame,
            options(nomem, nostack, preserves_flags));
    }
    [pc, stack, frame]
}

/// Returns the callee-saved registers. At the start of a function that is compiled without optimisation, the
/// callee-saved registers still contain the values of the function's caller.
#[inline(always)]
pub fn kept_for_caller() -> [usize; 5] {
    let mut kept = [0; 5];
    // SAFETY: the instructions only read registers and write the five words of `kept`.
    unsafe {
        std::arch::asm!("mov [{0}], rbx", "mov [{0} + 8], r12", "mov [{0} + 16], r13", "mov [{0} + 24], r14",
            "mov [{0} + 32], r15", in(reg) kept.as_mut_ptr(), options(nostack, preserves_flags));
    }
    kept
}

/// A stack frame: a function that has started and not returned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnwindFrame {
    /// Address of the function's current instruction. In a function that has called another function, the address is
    /// within the call instruction.
    pub at: usize,
    /// First address of the function, or 0 if the address is unknown.
    pub function: usize,
}

/// Stack frames, innermost first.
#[derive(Clone, Copy, Debug)]
pub struct StackTrace {
    frames: [UnwindFrame; DEPTH],
    count: usize,
    /// True if the stack has more stack frames than the trace stores.
    pub cut: bool,
}

impl StackTrace {
    /// Walks the stack from the function at `registers` outwards, as long as the stack frames are on `stack`.
    pub fn new(mut registers: Registers, stack: &Range<usize>) -> StackTrace {
        let mut trace = StackTrace { frames: [UnwindFrame::default(); DEPTH], count: 0, cut: false };
        let mut called = false;
        loop {
            let at = registers.pc().wrapping_sub(usize::from(called));
            let function = step(&mut registers, at, stack, !called);
            trace.frames[trace.count] = UnwindFrame { at, function: function.unwrap_or(0) };
            trace.count += 1;
            if function.is_none() || registers.pc() == 0 {
                return trace;
            }
            if trace.count == DEPTH {
                trace.cut = true;
                return trace;
            }
            called = true;
        }
    }

    /// Returns the stored stack frames.
    pub fn frames(&self) -> &[UnwindFrame] {
        &self.frames[..self.count]
    }
}

/// Walks the stack outwards up to the first stack frame for which `found` returns a value.
pub fn first<R>(
    mut registers: Registers,
    stack: &Range<usize>,
    mut found: impl FnMut(&UnwindFrame) -> Option<R>,
) -> Option<R> {
    let mut called = false;
    for _ in 0..DEPTH {
        let at = registers.pc().wrapping_sub(usize::from(called));
        let function = step(&mut registers, at, stack, !called);
        if let Some(given) = found(&UnwindFrame { at, function: function.unwrap_or(0) }) {
            return Some(given);
        }
        function.filter(|_| registers.pc() != 0)?;
        called = true;
    }
    None
}

/// Replaces `registers` by the registers of the caller of the function at `at`. Returns the first address of the
/// function at `at`, or 0 if the first address is unknown. The result is `None` if the caller of the function is
/// unknown.
fn step(registers: &mut Registers, at: usize, stack: &Range<usize>, innermost: bool) -> Option<usize> {
    if let Some(code) = loader::code(at)
        && let Some(function) = step_by_table(registers, at, stack, code)
    {
        return Some(function);
    }
    let [rbp, rsp] = [registers.0[RBP], registers.0[RSP]];
    if innermost && loader::code(at).is_none() {
        // The program has jumped to an address that is not code. The jump was probably a call, and the top of the stack
        // is the return address.
        registers.0[RIP] = read(stack, rsp)?;
        registers.0[RSP] = rsp + 8;
        return Some(0);
    }
    if rbp < rsp {
        return None;
    }
    (registers.0[RBP], registers.0[RIP]) = (read(stack, rbp)?, read(stack, rbp + 8)?);
    registers.0[RSP] = rbp + 16;
    Some(0)
}

/// Storage for the context of a stack walk without memory allocation.
struct InPlace;

impl UnwindContextStorage<usize> for InPlace {
    type Rules = [(Register, RegisterRule<usize>); 32];
    type Stack = [UnwindTableRow<usize, Self>; 4];
}

/// Calls `look` with the call frame information of the code at `at` and the first address of the function that contains
/// `at`.
fn with_row<T>(
    at: usize,
    code: UnwindCode,
    look: impl FnOnce(&UnwindTableRow<usize, InPlace>, usize) -> Option<T>,
) -> Option<T> {
    let slice = |from: usize| {
        // SAFETY: the module is mapped from its start to its end. A call of the module's code is on the stack, so the
        // module remains mapped.
        let bytes = unsafe { std::slice::from_raw_parts(from as *const u8, code.end.checked_sub(from)?) };
        Some(EndianSlice::new(bytes, LittleEndian))
    };
    let bases = BaseAddresses::default().set_eh_frame_hdr(code.table as u64);
    let header = EhFrameHdr::from(slice(code.table)?).parse(&bases, 8).ok()?;
    let Pointer::Direct(frames) = header.eh_frame_ptr() else { return None };
    let frames = usize::try_from(frames).ok().filter(|frames| (code.start..code.end).contains(frames))?;
    let bases = bases.set_eh_frame(frames as u64);
    let section = EhFrame::from(slice(frames)?);
    let table = header.table()?;
    let entry = table.fde_for_address(&section, &bases, at as u64, EhFrame::cie_from_offset).ok()?;
    let mut context = UnwindContext::<usize, InPlace>::new_in();
    let row = entry.unwind_info_for_address(&section, &bases, &mut context, at as u64).ok()?;
    look(row, usize::try_from(entry.initial_address()).ok()?)
}

/// Returns the canonical frame address, which is the stack pointer of the caller before the call instruction.
fn end_of_frame(registers: &Registers, row: &UnwindTableRow<usize, InPlace>) -> Option<usize> {
    let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else { return None };
    Some(registers.0.get(usize::from(register.0))?.wrapping_add_signed(offset as isize))
}

fn step_by_table(registers: &mut Registers, at: usize, stack: &Range<usize>, code: UnwindCode) -> Option<usize> {
    with_row(at, code, |row, function| {
        let cfa = end_of_frame(registers, row)?;
        let mut caller = *registers;
        caller.0[RSP] = cfa;
        for &(register, ref rule) in row.registers() {
            let Some(value) = caller.0.get_mut(usize::from(register.0)) else { continue };
            match *rule {
                RegisterRule::Undefined if usize::from(register.0) == RIP => *value = 0,
                RegisterRule::Offset(offset) => *value = read(stack, cfa.wrapping_add_signed(offset as isize))?,
                RegisterRule::ValOffset(offset) => *value = cfa.wrapping_add_signed(offset as isize),
                RegisterRule::Register(other) => *value = *registers.0.get(usize::from(other.0))?,
                _ => {}
            }
        }
        if cfa <= registers.0[RSP] && caller.0[RIP] == registers.0[RIP] {
            return None;
        }
        *registers = caller;
        Some(function)
    })
}

/// Returns the end of the stack frame of the function at `registers`, and the stack location at which the function
/// saves each register of its caller, by register number.
pub fn kept_registers(registers: &Registers) -> Option<(usize, [Option<usize>; REGISTERS])> {
    with_row(registers.pc(), loader::code(registers.pc())?, |row, _| {
        let cfa = end_of_frame(registers, row)?;
        let mut kept = [None; REGISTERS];
        for &(register, ref rule) in row.registers() {
            if let (Some(place), RegisterRule::Offset(offset)) = (kept.get_mut(usize::from(register.0)), rule) {
                *place = Some(cfa.wrapping_add_signed(*offset as isize));
            }
        }
        Some((cfa, kept))
    })
}

/// Returns the word at `address`, or `None` if the word is not on the stack.
#[inline]
pub fn read(stack: &Range<usize>, address: usize) -> Option<usize> {
    let inside = stack.contains(&address) && stack.end - address >= size_of::<usize>();
    // SAFETY: the word is within the mapped stack, and every bit pattern is a valid number.
    inside.then(|| unsafe { (address as *const usize).read_unaligned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack() -> Range<usize> {
        let top = here()[1];
        // 2048 bytes are sufficient for the stack frames of a test, and end below the top of the thread's stack.
        top..top + 2048
    }

    #[inline(never)]
    fn inner(stack: &Range<usize>) -> StackTrace {
        std::hint::black_box(StackTrace::new(Registers::at(here()), stack))
    }

    #[inline(never)]
    fn outer(stack: &Range<usize>) -> StackTrace {
        std::hint::black_box(inner(stack))
    }

    #[test]
    fn the_callers_of_a_function_are_found() {
        let trace = outer(&(here()[1] - 65536..stack().end));
        let functions: Vec<usize> = trace.frames().iter().map(|frame| frame.function).collect();
        assert!(functions.contains(&(inner as *const () as usize)), "{functions:x?}");
        assert!(functions.contains(&(outer as *const () as usize)), "{functions:x?}");
    }

    #[test]
    fn a_walk_ends_at_the_end_of_the_stack_and_in_nonsense() {
        let nowhere = StackTrace::new(Registers::at([16, 0, 0]), &(0..0));
        assert_eq!(nowhere.frames(), [UnwindFrame { at: 16, function: 0 }]);
        let words = [usize::MAX, 1, 2, 3, 4];
        let start = words.as_ptr() as usize;
        let trace = StackTrace::new(Registers::at([1, start, start + 8]), &(start..start + 40));
        assert!(trace.frames().len() < DEPTH, "{trace:?}");
    }
}
