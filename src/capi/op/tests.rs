//! Built-in operations on every kind, by values worked out by hand or in plain Rust.

use super::*;
use crate::capi::abi::*;

fn kind(handle: Handle) -> &'static Kind {
    Datatype::named(handle).unwrap().kind().unwrap()
}

/// Applies to values kept at an odd address.
fn apply<T: Copy>(op: Builtin, handle: Handle, input: &[T], inout: &[T]) -> Vec<T> {
    let bytes = size_of_val(input);
    assert_eq!(bytes, input.len() * kind(handle).extent());
    let (mut a, mut b) = (vec![0u8; bytes + 1], vec![0u8; bytes + 1]);
    // SAFETY: both arrays have room for the values after their first byte.
    unsafe {
        a.as_mut_ptr().add(1).copy_from_nonoverlapping(input.as_ptr().cast(), bytes);
        b.as_mut_ptr().add(1).copy_from_nonoverlapping(inout.as_ptr().cast(), bytes);
        op.apply(kind(handle), a.as_ptr().add(1), b.as_mut_ptr().add(1), input.len());
        (0..input.len()).map(|i| b.as_ptr().add(1).cast::<T>().add(i).read_unaligned()).collect()
    }
}

#[test]
fn integers() {
    let (a, b) = ([7i32, -3, i32::MAX, 0, 12], [5i32, 4, 2, 0, 10]);
    let all = [
        (Builtin::Max, [7, 4, i32::MAX, 0, 12]),
        (Builtin::Min, [5, -3, 2, 0, 10]),
        (Builtin::Sum, [12, 1, i32::MIN + 1, 0, 22]),
        (Builtin::Prod, [35, -12, -2, 0, 120]),
        (Builtin::Land, [1, 1, 1, 0, 1]),
        (Builtin::Lor, [1, 1, 1, 0, 1]),
        (Builtin::Lxor, [0, 0, 0, 0, 0]),
        (Builtin::Band, [5, 4, 2, 0, 8]),
        (Builtin::Bor, [7, -3, i32::MAX, 0, 14]),
        (Builtin::Bxor, [2, -7, i32::MAX - 2, 0, 6]),
        (Builtin::Replace, a),
        (Builtin::NoOp, b),
    ];
    for (op, expected) in all {
        assert_eq!(apply(op, MPI_INT, &a, &b), expected, "{}", op.name());
        let wide = |values: [i32; 5]| values.map(i64::from);
        if !matches!(op, Builtin::Sum | Builtin::Prod) {
            assert_eq!(apply(op, MPI_LONG, &wide(a), &wide(b)), wide(expected), "{}", op.name());
        }
    }
    assert_eq!(apply(Builtin::Max, MPI_UNSIGNED_CHAR, &[200u8], &[100]), [200]);
    assert_eq!(apply(Builtin::Max, MPI_SIGNED_CHAR, &[200u8], &[100]), [100]);
    assert_eq!(apply(Builtin::Sum, MPI_UNSIGNED_SHORT, &[65_535u16], &[2]), [1]);
    assert_eq!(apply(Builtin::Prod, MPI_INTEGER16, &[1i128 << 100], &[6]), [6i128 << 100]);
    assert_eq!(apply(Builtin::Lor, MPI_C_BOOL, &[0u8, 2, 0], &[0, 0, 1]), [0, 1, 1]);
}

#[test]
fn reals() {
    assert_eq!(apply(Builtin::Sum, MPI_DOUBLE, &[1.5, -2.0], &[0.25, 2.0]), [1.75, 0.0]);
    assert_eq!(apply(Builtin::Prod, MPI_FLOAT, &[1.5f32, -2.0], &[2.0, 2.0]), [3.0, -4.0]);
    assert_eq!(apply(Builtin::Max, MPI_REAL8, &[1.0, -2.0], &[0.0, f64::INFINITY]), [1.0, f64::INFINITY]);
    assert_eq!(apply(Builtin::Min, MPI_DOUBLE_PRECISION, &[1.0, -2.0], &[0.0, 5.0]), [0.0, -2.0]);
    assert_eq!(apply(Builtin::Land, MPI_DOUBLE, &[1.0, 0.5], &[0.0, -1.0]), [0.0, 1.0]);
}

#[test]
fn complex_numbers() {
    // (1 + 2i)(3 − i) = 5 + 5i.
    assert_eq!(apply(Builtin::Prod, MPI_C_DOUBLE_COMPLEX, &[[1.0, 2.0]], &[[3.0, -1.0]]), [[5.0, 5.0]]);
    assert_eq!(apply(Builtin::Sum, MPI_COMPLEX, &[[1.0f32, 2.0]], &[[3.0, -1.0]]), [[4.0, 1.0]]);
    let (one, two, five) = (long_double(1, 0), long_double(2, 0), long_double(5, 0));
    let (three, minus_one) = (long_double(3, 0), long_double(-1, 0));
    let product = apply(Builtin::Prod, MPI_C_LONG_DOUBLE_COMPLEX, &[[one, two]], &[[three, minus_one]]);
    assert_eq!(product.map_bits(), [[value(five); 2]]);
}

trait MapBits {
    fn map_bits(&self) -> Vec<[u128; 2]>;
}

impl MapBits for Vec<[u128; 2]> {
    fn map_bits(&self) -> Vec<[u128; 2]> {
        self.iter().map(|pair| pair.map(value)).collect()
    }
}

/// `significand` · 2^`exponent` as 80 bits.
fn long_double(significand: i64, exponent: i32) -> u128 {
    if significand == 0 {
        return 0;
    }
    let (sign, magnitude) = (u128::from(significand < 0), significand.unsigned_abs());
    let zeros = magnitude.leading_zeros();
    let biased = (16383 + 63 - zeros as i32 + exponent) as u128;
    sign << 79 | biased << 64 | u128::from(magnitude << zeros)
}

fn value(long_double: u128) -> u128 {
    long_double & ((1 << 80) - 1)
}

#[test]
#[cfg(target_arch = "x86_64")]
fn long_doubles_have_64_bits_of_precision() {
    let big = long_double(1 << 62, 1);
    let cases = [
        // 2^63 + 1 has 64 bits; in a double it would be 2^63.
        (Builtin::Sum, big, long_double(1, 0), 1u128 << 127 >> 48 << 0, false),
        (Builtin::Prod, long_double(3, -1), long_double(-5, 0), long_double(-15, -1), true),
        (Builtin::Max, long_double(3, 0), long_double(-5, 0), long_double(3, 0), true),
        (Builtin::Min, long_double(3, 0), long_double(-5, 0), long_double(-5, 0), true),
        (Builtin::Max, long_double(-7, 9000), long_double(0, 0), 0, true),
    ];
    for (op, a, b, expected, pinned) in cases {
        let found = apply(op, MPI_LONG_DOUBLE, &[a, a], &[b, b]);
        let expected = if pinned { expected } else { (16383 + 63u128) << 64 | (1 << 63 | 1) };
        assert_eq!(found.iter().map(|&found| value(found)).collect::<Vec<_>>(), [expected; 2], "{}", op.name());
    }
}
