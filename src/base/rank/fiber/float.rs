//! Floating-point environment: rounding, flushing to zero, trapping exceptions and exception flags.
//!
//! Each fiber has its own floating-point environment. The simulator runs in the default environment, whatever the code
//! in a fiber has set.
#![allow(unsafe_code)]

use std::arch::asm;

/// Value of MXCSR at process start: rounding to nearest, no traps, no flags.
static MXCSR: u32 = 0x1f80;
/// Bits of MXCSR that are exception flags.
const FLAGS: u32 = 0x3f;
/// Value of the x87 control word at process start.
static CONTROL: u16 = 0x37f;

/// Floating-point registers that are saved at every switch of stacks. The x87 flags are not included, because reading
/// the x87 flags takes as long as reading all other registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct FloatWords {
    mxcsr: u32,
    control: u16,
}

impl FloatWords {
    /// Reads the present values of the floating-point registers.
    #[inline(always)]
    pub fn now() -> FloatWords {
        let mut words = FloatWords { mxcsr: 0, control: 0 };
        // SAFETY: both instructions write only to these fields.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &raw mut words.mxcsr, options(nostack, preserves_flags));
            asm!("fnstcw [{}]", in(reg) &raw mut words.control, options(nostack, preserves_flags));
        }
        words
    }

    /// Whether code that expects the default floating-point environment may run.
    #[inline(always)]
    pub fn are_usual(self) -> bool {
        self.mxcsr & !FLAGS == MXCSR && self.control == CONTROL
    }

    /// Restores these register values after code that ran with the default values. The x87 control word has its default
    /// value. The flags usually have not changed, and comparing flags is faster than writing them.
    #[inline(always)]
    pub fn set_again(self) {
        let mut mxcsr = 0u32;
        // SAFETY: the instructions write only to this variable and to MXCSR. The new value of MXCSR was read from MXCSR
        // before.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags));
            if mxcsr != self.mxcsr {
                asm!("ldmxcsr [{}]", in(reg) &raw const self.mxcsr, options(nostack, preserves_flags));
            }
        }
    }
}

/// All floating-point registers: MXCSR and the x87 environment.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FloatEnvironment {
    /// State of the x87 unit in the format of the instruction `fnstenv`.
    x87: [u32; 7],
    mxcsr: u32,
}

impl FloatEnvironment {
    /// Saves the floating-point environment of the running code, then sets the default environment.
    #[inline(never)]
    pub fn leave() -> FloatEnvironment {
        let mut environment = FloatEnvironment { x87: [0; 7], mxcsr: 0 };
        // SAFETY: the instructions write only to these fields.
        unsafe {
            asm!("fnstenv [{}]", in(reg) &raw mut environment.x87, options(nostack, preserves_flags));
            asm!("stmxcsr [{}]", in(reg) &raw mut environment.mxcsr, options(nostack, preserves_flags));
        }
        reset();
        environment
    }

    /// Like [`FloatEnvironment::leave`], but does not set the default environment.
    pub fn now() -> FloatEnvironment {
        let environment = FloatEnvironment::leave();
        environment.enter();
        environment
    }

    /// Restores this floating-point environment.
    #[inline(never)]
    pub fn enter(&self) {
        // SAFETY: the values were read from the same floating-point registers.
        unsafe {
            asm!("fldenv [{}]", in(reg) &raw const self.x87, options(nostack, preserves_flags));
            asm!("ldmxcsr [{}]", in(reg) &raw const self.mxcsr, options(nostack, preserves_flags));
        }
    }
}

/// Sets the default floating-point environment, without flags.
pub(super) fn reset() {
    // SAFETY: the values are valid, and the caller has no values in the x87 registers.
    unsafe {
        asm!("fnclex", options(nostack, preserves_flags));
        asm!("fldcw [{}]", in(reg) &raw const CONTROL, options(nostack, preserves_flags));
        asm!("ldmxcsr [{}]", in(reg) &raw const MXCSR, options(nostack, preserves_flags));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Value of MXCSR with rounding upwards, flushing to zero, and one flag.
    static STRANGE: u32 = 0x1f80 | 0x4000 | 0x8000 | 0x20;

    #[test]
    fn an_environment_is_left_and_entered_again() {
        reset();
        assert!(FloatWords::now().are_usual());
        // SAFETY: the value of MXCSR has no reserved bits.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &raw const STRANGE) };
        assert!(!FloatWords::now().are_usual());
        let kept = FloatEnvironment::leave();
        let between = FloatWords::now();
        kept.enter();
        let again = FloatWords::now();
        reset();
        assert!(between.are_usual() && between.mxcsr == MXCSR);
        assert_eq!((again.mxcsr, again.control), (STRANGE, CONTROL));
    }

    #[test]
    fn flags_alone_are_usual() {
        let words = FloatWords { mxcsr: MXCSR | FLAGS, control: CONTROL };
        assert!(words.are_usual());
        words.set_again();
        assert_eq!(FloatWords::now().mxcsr, MXCSR | FLAGS);
        reset();
    }
}
