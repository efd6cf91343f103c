//! Stack frame that ends the unwinding of C++ exceptions. An uncaught exception of the program calls `std::terminate`
//! at the throw, and the unwinder never reaches stack frames of mcpsim.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    /// Calls `function` with the remaining arguments of `call`. The unwinding of C++ exceptions ends at the stack
    /// frame of `call`.
    #[link_name = "mcpsim_outermost"]
    fn call(first: usize, second: usize, third: usize, function: usize) -> c_int;
}

std::arch::global_asm!(
    ".pushsection .text.mcpsim_outermost, \"ax\", @progbits",
    ".globl mcpsim_outermost",
    ".hidden mcpsim_outermost",
    ".type mcpsim_outermost, @function",
    "mcpsim_outermost:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    "push rbp",
    "mov rbp, rsp",
    "call rcx",
    "pop rbp",
    "ret",
    ".cfi_endproc",
    ".size mcpsim_outermost, . - mcpsim_outermost",
    ".popsection",
);

/// Calls the `main` function of a program.
///
/// # Safety
/// `main` is the address of a `main` function, and the other arguments are valid arguments of `main`.
pub unsafe fn main(count: c_int, arguments: *mut *mut c_char, environment: *mut *mut c_char, main: usize) -> c_int {
    // SAFETY: the caller guarantees that `main` is a `main` function and that the arguments are valid.
    unsafe { call(count as usize, arguments as usize, environment as usize, main) }
}

/// Calls `run`, which may call code of the program, inside a stack frame that ends the unwinding of exceptions.
pub fn outermost<R>(run: impl FnOnce() -> R) -> R {
    let mut kept = (Some(run), None);
    // SAFETY: `carry_out_as` returns the function for the type of `kept`, and `kept` lives until `call` returns.
    unsafe { self::call(&raw mut kept as usize, 0, 0, carry_out_as(&kept) as usize) };
    kept.1.expect("it has run")
}

/// A closure before its call, and the closure's result after the call.
type Kept<F, R> = (Option<F>, Option<R>);

/// Returns the function that runs closures of the type of `_kept`.
fn carry_out_as<F: FnOnce() -> R, R>(_kept: &Kept<F, R>) -> unsafe extern "C-unwind" fn(*mut c_void) {
    carry_out::<F, R>
}

unsafe extern "C-unwind" fn carry_out<F: FnOnce() -> R, R>(kept: *mut c_void) {
    // SAFETY: `outermost` passes a pointer to a `Kept` with the types `F` and `R`.
    let kept = unsafe { &mut *kept.cast::<Kept<F, R>>() };
    kept.1 = kept.0.take().map(|run| run());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_gives_its_value() {
        let text = "a".to_owned();
        assert_eq!(outermost(move || outermost(|| text + "b")), "ab");
    }
}
