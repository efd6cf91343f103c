//! Long double of x86-64, computed with the x87 instructions that C compilers use.
#![allow(unsafe_code)]

use std::cmp::Ordering;
use std::ops::{Add, Mul, Sub};

/// A long double: 80 bits in 16 bytes, of which the last 6 bytes are padding.
#[repr(C, align(16))]
#[derive(Clone, Copy)]
pub(super) struct F80([u8; 16]);

#[cfg(target_arch = "x86_64")]
mod x87 {
    use super::F80;
    use std::arch::asm;

    macro_rules! binary {
        ($($name:ident $instruction:literal)*) => {$(
            pub fn $name(a: F80, b: F80) -> F80 {
                let mut result = b;
                // SAFETY: the assembly code reads ten bytes of `a` and of `b`, writes ten bytes of `result`, and leaves
                // the x87 stack unchanged.
                unsafe {
                    asm!(
                        "fld tbyte ptr [{a}]",
                        "fld tbyte ptr [{b}]",
                        $instruction,
                        "fstp tbyte ptr [{result}]",
                        a = in(reg) &raw const a,
                        b = in(reg) &raw const b,
                        result = in(reg) &raw mut result,
                        out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                        out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                        options(nostack),
                    );
                }
                result
            }
        )*};
    }
    binary!(add "faddp st(1), st" sub "fsubp st(1), st" mul "fmulp st(1), st");

    /// Returns whether a > b, whether a < b, and whether a = b. All three are false if an operand is a NaN.
    pub fn compare(a: F80, b: F80) -> (bool, bool, bool) {
        let (above, below, unordered): (u8, u8, u8);
        // SAFETY: the assembly code reads ten bytes of `a` and of `b`, and leaves the x87 stack unchanged.
        unsafe {
            asm!(
                "fld tbyte ptr [{b}]",
                "fld tbyte ptr [{a}]",
                "fucomip st, st(1)",
                "seta {above}",
                "setb {below}",
                "setp {unordered}",
                "fstp st(0)",
                a = in(reg) &raw const a,
                b = in(reg) &raw const b,
                above = out(reg_byte) above,
                below = out(reg_byte) below,
                unordered = out(reg_byte) unordered,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
        let ordered = unordered == 0;
        (ordered && above != 0, ordered && below != 0, ordered && above == 0 && below == 0)
    }
}

/// Replacement on other architectures, where long double is another type. The module `rules` accepts this type for no
/// operation.
#[cfg(not(target_arch = "x86_64"))]
mod x87 {
    use super::F80;

    pub fn add(_: F80, b: F80) -> F80 {
        b
    }

    pub fn sub(_: F80, b: F80) -> F80 {
        b
    }

    pub fn mul(_: F80, b: F80) -> F80 {
        b
    }

    pub fn compare(_: F80, _: F80) -> (bool, bool, bool) {
        (false, false, false)
    }
}

impl Add for F80 {
    type Output = F80;

    fn add(self, other: F80) -> F80 {
        x87::add(self, other)
    }
}

impl Sub for F80 {
    type Output = F80;

    fn sub(self, other: F80) -> F80 {
        x87::sub(self, other)
    }
}

impl Mul for F80 {
    type Output = F80;

    fn mul(self, other: F80) -> F80 {
        x87::mul(self, other)
    }
}

impl PartialEq for F80 {
    fn eq(&self, other: &F80) -> bool {
        x87::compare(*self, *other).2
    }
}

impl PartialOrd for F80 {
    fn partial_cmp(&self, other: &F80) -> Option<Ordering> {
        match x87::compare(*self, *other) {
            (true, ..) => Some(Ordering::Greater),
            (_, true, _) => Some(Ordering::Less),
            (_, _, true) => Some(Ordering::Equal),
            _ => None,
        }
    }
}

impl From<i8> for F80 {
    /// Converts a small integer to a long double, whose significand has an explicit leading bit.
    fn from(value: i8) -> F80 {
        let mut bytes = [0; 16];
        if value != 0 {
            let magnitude = u64::from(value.unsigned_abs());
            let zeros = magnitude.leading_zeros();
            let exponent = 16383 + 63 - zeros as u16 + if value < 0 { 0x8000 } else { 0 };
            bytes[..8].copy_from_slice(&(magnitude << zeros).to_le_bytes());
            bytes[8..10].copy_from_slice(&exponent.to_le_bytes());
        }
        F80(bytes)
    }
}
