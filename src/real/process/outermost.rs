//! Code of a program that runs with nothing outside of it, as far as exceptions are concerned: one that nothing catches
//! ends the program where it is thrown (`std::terminate`), and meets none of our frames.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};

unsafe extern "C" {
    /// Calls `function` with the other arguments. For who looks for a handler of an exception, there is nothing
    /// outside.
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

/// Calls the `main` of a program.
///
/// # Safety
/// `main` is one, and the arguments are what the C library gives it.
pub unsafe fn main(count: c_int, arguments: *mut *mut c_char, environment: *mut *mut c_char, main: usize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { call(count as usize, arguments as usize, environment as usize, main) }
}

/// Does what may call other code of the program.
pub fn outermost<R>(run: impl FnOnce() -> R) -> R {
    let mut kept = (Some(run), None);
    // SAFETY: the function gets what it takes.
    unsafe { self::call(&raw mut kept as usize, 0, 0, carry_out_as(&kept) as usize) };
    kept.1.expect("it has run")
}

/// What is to run, and what it gives.
type Kept<F, R> = (Option<F>, Option<R>);

/// The function that carries out what is in `_kept`.
fn carry_out_as<F: FnOnce() -> R, R>(_kept: &Kept<F, R>) -> unsafe extern "C-unwind" fn(*mut c_void) {
    carry_out::<F, R>
}

unsafe extern "C-unwind" fn carry_out<F: FnOnce() -> R, R>(kept: *mut c_void) {
    // SAFETY: `outermost` gives one of these.
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
