//! Loops over arrays for the built-in operations: one loop per operation and number representation.
#![allow(unsafe_code)]

use std::ops::{Add, Mul, Sub};
use std::ptr;

use super::Builtin;
use super::long_double::F80;
use crate::datatype::{BasicKind, Scalar, TypeGroup};

/// Arithmetic of the built-in operations on one number.
trait Number: Copy + PartialOrd {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn is_true(self) -> bool;
    fn truth(value: bool) -> Self;
}

macro_rules! integers {
    ($($number:ty)*) => {$(
        impl Number for $number {
            fn plus(self, other: Self) -> Self { self.wrapping_add(other) }
            fn times(self, other: Self) -> Self { self.wrapping_mul(other) }
            fn is_true(self) -> bool { self != 0 }
            fn truth(value: bool) -> Self { Self::from(value) }
        }
    )*};
}
integers!(i8 i16 i32 i64 i128 u8 u16 u32 u64);

macro_rules! reals {
    ($($number:ty)*) => {$(
        impl Number for $number {
            fn plus(self, other: Self) -> Self { self + other }
            fn times(self, other: Self) -> Self { self * other }
            fn is_true(self) -> bool { self != Self::from(0i8) }
            fn truth(value: bool) -> Self { Self::from(i8::from(value)) }
        }
    )*};
}
reals!(f32 f64 F80);

/// Complex number in the layout of C and Fortran.
#[repr(C)]
#[derive(Clone, Copy)]
struct Complex<T> {
    re: T,
    im: T,
}

impl<T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T>> Complex<T> {
    fn plus(self, other: Self) -> Self {
        Complex { re: self.re + other.re, im: self.im + other.im }
    }

    fn times(self, other: Self) -> Self {
        Complex { re: self.re * other.re - self.im * other.im, im: self.re * other.im + self.im * other.re }
    }
}

/// Computes `inout[i] = f(in[i], inout[i])` for each element of two arrays.
///
/// # Safety
/// The requirements of [`Builtin::apply`] apply, with elements of type `T`.
#[inline(always)]
unsafe fn each<T>(input: *const u8, inout: *mut u8, n: usize, f: impl Fn(T, T) -> T) {
    let (input, inout) = (input.cast::<T>(), inout.cast::<T>());
    for i in 0..n {
        // SAFETY: the caller guarantees `n` valid elements of `T` in both arrays; accesses are unaligned.
        unsafe {
            let value = f(input.add(i).read_unaligned(), inout.add(i).read_unaligned());
            inout.add(i).write_unaligned(value);
        }
    }
}

/// Implements [`Builtin::apply`] for a basic element that the operation accepts.
///
/// # Safety
/// The requirements of [`Builtin::apply`] apply.
pub(super) unsafe fn apply(op: Builtin, kind: &BasicKind, input: *const u8, inout: *mut u8, n: usize) {
    // SAFETY: the caller guarantees valid arrays of this basic element; each branch uses the representation of the
    // basic element.
    unsafe {
        match (op, kind.group, kind.scalar) {
            (Builtin::NoOp, ..) => {}
            (Builtin::Replace, ..) => replace(kind, input, inout, n),
            (_, TypeGroup::Pair(index), scalar) => {
                let pairs = PairOperands { op, at: kind.index_at(), extent: kind.extent(), input, inout, n };
                match (scalar, index) {
                    (Scalar::F32, Scalar::F32) => pairs.select::<f32, f32>(),
                    (Scalar::F64, Scalar::F64) => pairs.select::<f64, f64>(),
                    (Scalar::F32, _) => pairs.select::<f32, i32>(),
                    (Scalar::F64, _) => pairs.select::<f64, i32>(),
                    (Scalar::F80, _) => pairs.select::<F80, i32>(),
                    (Scalar::I16, _) => pairs.select::<i16, i32>(),
                    (Scalar::I64, _) => pairs.select::<i64, i32>(),
                    _ => pairs.select::<i32, i32>(),
                }
            }
            (_, TypeGroup::Complex, Scalar::F32) => complex::<f32>(op, input, inout, n),
            (_, TypeGroup::Complex, Scalar::F64) => complex::<f64>(op, input, inout, n),
            (_, TypeGroup::Complex, _) => complex::<F80>(op, input, inout, n),
            (Builtin::Band | Builtin::Bor | Builtin::Bxor, ..) => bits(op, input, inout, n * kind.size()),
            (_, _, Scalar::I8) => numbers::<i8>(op, input, inout, n),
            (_, _, Scalar::I16) => numbers::<i16>(op, input, inout, n),
            (_, _, Scalar::I32) => numbers::<i32>(op, input, inout, n),
            (_, _, Scalar::I64) => numbers::<i64>(op, input, inout, n),
            (_, _, Scalar::I128) => numbers::<i128>(op, input, inout, n),
            (_, _, Scalar::U8) => numbers::<u8>(op, input, inout, n),
            (_, _, Scalar::U16) => numbers::<u16>(op, input, inout, n),
            (_, _, Scalar::U32) => numbers::<u32>(op, input, inout, n),
            (_, _, Scalar::U64) => numbers::<u64>(op, input, inout, n),
            (_, _, Scalar::F32) => numbers::<f32>(op, input, inout, n),
            (_, _, Scalar::F64) => numbers::<f64>(op, input, inout, n),
            (_, _, Scalar::F80) => numbers::<F80>(op, input, inout, n),
            (_, _, Scalar::F16 | Scalar::F128) => {}
        }
    }
}

/// # Safety
/// The requirements of [`Builtin::apply`] apply.
unsafe fn replace(kind: &BasicKind, input: *const u8, inout: *mut u8, n: usize) {
    let TypeGroup::Pair(index) = kind.group else {
        // SAFETY: the caller guarantees `n` valid elements without gaps.
        return unsafe { ptr::copy(input, inout, n * kind.size()) };
    };
    for i in 0..n {
        // SAFETY: the caller guarantees `n` valid pairs, one extent apart.
        unsafe {
            let (input, inout) = (input.add(i * kind.extent()), inout.add(i * kind.extent()));
            ptr::copy(input, inout, kind.scalar.size());
            ptr::copy(input.add(kind.index_at()), inout.add(kind.index_at()), index.size());
        }
    }
}

/// # Safety
/// The requirements of [`Builtin::apply`] apply.
unsafe fn numbers<T: Number>(op: Builtin, input: *const u8, inout: *mut u8, n: usize) {
    // SAFETY: the caller guarantees `n` valid elements of `T`.
    unsafe {
        match op {
            Builtin::Max => each::<T>(input, inout, n, |a, b| if a > b { a } else { b }),
            Builtin::Min => each::<T>(input, inout, n, |a, b| if a < b { a } else { b }),
            Builtin::Sum => each::<T>(input, inout, n, T::plus),
            Builtin::Prod => each::<T>(input, inout, n, T::times),
            Builtin::Land => each::<T>(input, inout, n, |a, b| T::truth(a.is_true() & b.is_true())),
            Builtin::Lor => each::<T>(input, inout, n, |a, b| T::truth(a.is_true() | b.is_true())),
            Builtin::Lxor => each::<T>(input, inout, n, |a, b| T::truth(a.is_true() ^ b.is_true())),
            _ => {}
        }
    }
}

/// # Safety
/// The requirements of [`Builtin::apply`] apply, for bytes.
unsafe fn bits(op: Builtin, input: *const u8, inout: *mut u8, bytes: usize) {
    // SAFETY: the caller guarantees `bytes` valid bytes.
    unsafe {
        match op {
            Builtin::Band => each::<u8>(input, inout, bytes, |a, b| a & b),
            Builtin::Bor => each::<u8>(input, inout, bytes, |a, b| a | b),
            _ => each::<u8>(input, inout, bytes, |a, b| a ^ b),
        }
    }
}

/// # Safety
/// The requirements of [`Builtin::apply`] apply.
unsafe fn complex<T>(op: Builtin, input: *const u8, inout: *mut u8, n: usize)
where
    T: Copy + Add<Output = T> + Sub<Output = T> + Mul<Output = T>,
{
    // SAFETY: the caller guarantees `n` valid elements of `Complex<T>`.
    unsafe {
        match op {
            Builtin::Sum => each::<Complex<T>>(input, inout, n, Complex::plus),
            _ => each::<Complex<T>>(input, inout, n, Complex::times),
        }
    }
}

/// Arrays of pairs for MINLOC and MAXLOC. In each pair, the index is `at` bytes after the value.
struct PairOperands {
    op: Builtin,
    at: usize,
    extent: usize,
    input: *const u8,
    inout: *mut u8,
    n: usize,
}

impl PairOperands {
    /// Replaces each pair of `inout` by the pair with the smaller value (MINLOC) or larger value (MAXLOC). If the
    /// values are equal, the result has the smaller index.
    ///
    /// # Safety
    /// The requirements of [`Builtin::apply`] apply, for pairs of `V` and `I`.
    unsafe fn select<V: Copy + PartialOrd, I: Copy + PartialOrd>(self) {
        for i in 0..self.n {
            // SAFETY: the caller guarantees `n` valid pairs, one extent apart; accesses are unaligned.
            unsafe {
                let (input, inout) = (self.input.add(i * self.extent), self.inout.add(i * self.extent));
                let (a, b) = (input.cast::<V>().read_unaligned(), inout.cast::<V>().read_unaligned());
                let at = inout.add(self.at).cast::<I>();
                let (ia, ib) = (input.add(self.at).cast::<I>().read_unaligned(), at.read_unaligned());
                let better = if self.op == Builtin::Maxloc { a > b } else { a < b };
                if better {
                    inout.cast::<V>().write_unaligned(a);
                }
                if better || (a == b && ia < ib) {
                    at.write_unaligned(ia);
                }
            }
        }
    }
}
