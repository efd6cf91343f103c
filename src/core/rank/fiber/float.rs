//! The floating-point environment: rounding, flushing to zero, exceptions that trap and the flags of those that have
//! occurred.
//!
//! It belongs to the code in a fiber. The simulator's own code runs in the default environment, whatever that code has
//! set.
#![allow(unsafe_code)]

use std::arch::asm;

/// MXCSR at the start of a process: rounding to nearest, nothing traps, no flag is set.
static MXCSR: u32 = 0x1f80;
/// The bits of MXCSR that are flags.
const FLAGS: u32 = 0x3f;
/// The control word of the x87 unit at the start of a process.
static CONTROL: u16 = 0x37f;

/// What a switch keeps in any case. The flags of the x87 unit are not part of it: reading them takes as long as all the
/// rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct FloatWords {
    mxcsr: u32,
    control: u16,
}

impl FloatWords {
    /// As they are now.
    #[inline(always)]
    pub fn now() -> FloatWords {
        let mut words = FloatWords { mxcsr: 0, control: 0 };
        // SAFETY: both instructions write to these places only.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &raw mut words.mxcsr, options(nostack, preserves_flags));
            asm!("fnstcw [{}]", in(reg) &raw mut words.control, options(nostack, preserves_flags));
        }
        words
    }

    /// Whether code that expects the default environment may run.
    #[inline(always)]
    pub fn are_usual(self) -> bool {
        self.mxcsr & !FLAGS == MXCSR && self.control == CONTROL
    }

    /// Makes them what they were, after usual ones: the control word of the x87 unit is the same then. Mostly the flags
    /// are so too, and setting them takes longer than looking.
    #[inline(always)]
    pub fn set_again(self) {
        let mut mxcsr = 0u32;
        // SAFETY: the instructions write to this place and to the register, whose value was in it before.
        unsafe {
            asm!("stmxcsr [{}]", in(reg) &raw mut mxcsr, options(nostack, preserves_flags));
            if mxcsr != self.mxcsr {
                asm!("ldmxcsr [{}]", in(reg) &raw const self.mxcsr, options(nostack, preserves_flags));
            }
        }
    }
}

/// The whole environment.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FloatEnvironment {
    /// As `fnstenv` writes it.
    x87: [u32; 7],
    mxcsr: u32,
}

impl FloatEnvironment {
    /// That of the code that runs now, after which the default is set.
    #[inline(never)]
    pub fn leave() -> FloatEnvironment {
        let mut environment = FloatEnvironment { x87: [0; 7], mxcsr: 0 };
        // SAFETY: the instructions write to these places only.
        unsafe {
            asm!("fnstenv [{}]", in(reg) &raw mut environment.x87, options(nostack, preserves_flags));
            asm!("stmxcsr [{}]", in(reg) &raw mut environment.mxcsr, options(nostack, preserves_flags));
        }
        reset();
        environment
    }

    /// As [`FloatEnvironment::leave`], but what runs now goes on in it.
    pub fn now() -> FloatEnvironment {
        let environment = FloatEnvironment::leave();
        environment.enter();
        environment
    }

    /// Makes it that of the code that runs from now on.
    #[inline(never)]
    pub fn enter(&self) {
        // SAFETY: the values come from the registers.
        unsafe {
            asm!("fldenv [{}]", in(reg) &raw const self.x87, options(nostack, preserves_flags));
            asm!("ldmxcsr [{}]", in(reg) &raw const self.mxcsr, options(nostack, preserves_flags));
        }
    }
}

/// Sets the default environment, without flags.
pub(super) fn reset() {
    // SAFETY: the values are valid, and the caller keeps nothing in the registers of the x87 unit.
    unsafe {
        asm!("fnclex", options(nostack, preserves_flags));
        asm!("fldcw [{}]", in(reg) &raw const CONTROL, options(nostack, preserves_flags));
        asm!("ldmxcsr [{}]", in(reg) &raw const MXCSR, options(nostack, preserves_flags));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounding upwards, flushing to zero, a flag.
    static STRANGE: u32 = 0x1f80 | 0x4000 | 0x8000 | 0x20;

    #[test]
    fn an_environment_is_left_and_entered_again() {
        reset();
        assert!(FloatWords::now().are_usual());
        // SAFETY: a valid value.
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
