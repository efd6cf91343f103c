//! Tests built-in operations on every basic element, with expected values derived by hand or computed in plain Rust.

use super::*;
use crate::abi::*;

fn kind(handle: Handle) -> &'static BasicKind {
    Datatype::named(handle).unwrap().kind().unwrap()
}

/// Applies the operation to values at an odd address.
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
}

#[test]
fn complex_numbers() {
    // Expected product: (1 + 2i)(3 − i) = 5 + 5i.
    assert_eq!(apply(Builtin::Prod, MPI_C_DOUBLE_COMPLEX, &[[1.0, 2.0]], &[[3.0, -1.0]]), [[5.0, 5.0]]);
    assert_eq!(apply(Builtin::Sum, MPI_COMPLEX, &[[1.0f32, 2.0]], &[[3.0, -1.0]]), [[4.0, 1.0]]);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn complex_numbers_of_long_doubles() {
    let (one, two, five) = (long_double(1, 0), long_double(2, 0), long_double(5, 0));
    let (three, minus_one) = (long_double(3, 0), long_double(-1, 0));
    let product = apply(Builtin::Prod, MPI_C_LONG_DOUBLE_COMPLEX, &[[one, two]], &[[three, minus_one]]);
    assert_eq!(product[0].map(value), [five; 2]);
}

/// Bits of the long double `significand` · 2^`exponent`.
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
    let cases = [
        // In double precision, the sum would be 2^63.
        (Builtin::Sum, long_double(1, 63), long_double(1, 0), (16383 + 63) << 64 | 1 << 63 | 1),
        (Builtin::Sum, long_double(1, 16000), long_double(-1, 16000), 0),
        (Builtin::Prod, long_double(3, -1), long_double(-5, 0), long_double(-15, -1)),
        (Builtin::Max, long_double(3, 0), long_double(-5, 0), long_double(3, 0)),
        (Builtin::Min, long_double(3, 0), long_double(-5, 0), long_double(-5, 0)),
        (Builtin::Max, long_double(-7, 9000), long_double(0, 0), 0),
    ];
    for (op, a, b, expected) in cases {
        let found = apply(op, MPI_LONG_DOUBLE, &[a, a], &[b, b]);
        assert_eq!(found.iter().map(|&found| value(found)).collect::<Vec<_>>(), [expected; 2], "{}", op.name());
    }
}

/// A pair of a value and an index, in the layout of C.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
struct Pair<V, I>(V, I);

#[test]
fn pairs_carry_the_least_index_of_the_best_value() {
    let (a, b) = ([Pair(1.0, 9), Pair(2.0, 3), Pair(5.0, 1)], [Pair(1.0, 4), Pair(2.0, 8), Pair(4.0, 0)]);
    assert_eq!(apply(Builtin::Maxloc, MPI_DOUBLE_INT, &a, &b), [Pair(1.0, 4), Pair(2.0, 3), Pair(5.0, 1)]);
    assert_eq!(apply(Builtin::Minloc, MPI_DOUBLE_INT, &a, &b), [Pair(1.0, 4), Pair(2.0, 3), Pair(4.0, 0)]);
    let (a, b) = ([Pair(-3i16, 5i32)], [Pair(2i16, 4i32)]);
    assert_eq!(apply(Builtin::Minloc, MPI_SHORT_INT, &a, &b), a);
    assert_eq!(apply(Builtin::Maxloc, MPI_SHORT_INT, &a, &b), b);
    let (a, b) = ([Pair(1i64 << 40, 5i32)], [Pair(1i64 << 41, 4i32)]);
    assert_eq!(apply(Builtin::Minloc, MPI_LONG_INT, &a, &b), a);
    assert_eq!(apply(Builtin::Maxloc, MPI_2INT, &[Pair(3, 1)], &[Pair(3, 0)]), [Pair(3, 0)]);
    assert_eq!(apply(Builtin::Maxloc, MPI_2DOUBLE_PRECISION, &[Pair(3.5, 1.0)], &[Pair(3.0, 0.0)]), [Pair(3.5, 1.0)]);
}

#[test]
#[cfg(target_arch = "x86_64")]
fn pairs_of_long_doubles() {
    let (a, b) = ([Pair(long_double(-3, 0), 5i32)], [Pair(long_double(2, 0), 4i32)]);
    assert_eq!(apply(Builtin::Minloc, MPI_LONG_DOUBLE_INT, &a, &b), a);
    assert_eq!(apply(Builtin::Maxloc, MPI_LONG_DOUBLE_INT, &a, &b), b);
}

#[test]
fn operations_take_the_types_of_the_standard() {
    use Builtin::*;
    let arithmetic = [Max, Min, Sum, Prod];
    let logical = [Land, Lor, Lxor];
    let bitwise = [Band, Bor, Bxor];
    let taken = |handle: Handle| {
        let ty = Datatype::named(handle).unwrap();
        let all = |ops: &[Builtin]| ops.iter().filter(|op| op.allowed(ty)).count() == ops.len();
        let any = |ops: &[Builtin]| ops.iter().any(|op| op.allowed(ty));
        let of = |ops: &[Builtin], name: char| {
            assert_eq!(all(ops), any(ops), "{}", ty.name());
            if all(ops) { name } else { '-' }
        };
        let groups = [of(&[Max, Min], 'm'), of(&[Sum, Prod], 's'), of(&logical, 'l'), of(&bitwise, 'b')];
        groups.into_iter().chain([of(&[Minloc, Maxloc], 'p')]).collect::<String>()
    };
    let expected = [
        ("mslb-", &[MPI_INT, MPI_UNSIGNED_LONG, MPI_INT8_T, MPI_INTEGER, MPI_AINT, MPI_COUNT, MPI_CHAR][..]),
        ("---b-", &[MPI_BYTE]),
        ("ms---", &[MPI_FLOAT, MPI_DOUBLE, MPI_REAL8, MPI_LONG_DOUBLE]),
        ("-s---", &[MPI_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX]),
        ("--l--", &[MPI_LOGICAL, MPI_C_BOOL, MPI_CXX_BOOL, MPI_LOGICAL16]),
        ("----p", &[MPI_FLOAT_INT, MPI_2INTEGER, MPI_2REAL, MPI_LONG_DOUBLE_INT]),
        ("-----", &[MPI_PACKED, MPI_WCHAR, MPI_REAL2, MPI_REAL16, MPI_COMPLEX32]),
    ];
    for (groups, handles) in expected {
        handles.iter().for_each(|&handle| assert_eq!(taken(handle), groups, "{handle:#x}"));
    }
    let derived = Datatype::contiguous(1, Datatype::named(MPI_INT).unwrap()).unwrap();
    assert!(arithmetic.iter().all(|op| !op.allowed(&derived)));
    assert!(Sum.allowed(&Datatype::dup(Datatype::named(MPI_INT).unwrap())));
}

#[test]
fn handles_are_those_of_the_abi() {
    assert_eq!(builtin(MPI_OP_NULL), None);
    let found: Vec<&str> = (0x20..0x40).filter_map(builtin).map(Builtin::name).collect();
    let first = ["MPI_SUM", "MPI_MIN", "MPI_MAX", "MPI_PROD", "MPI_BAND", "MPI_BOR", "MPI_BXOR", "MPI_LAND", "MPI_LOR"];
    assert_eq!(found, [&first[..], &["MPI_LXOR", "MPI_MINLOC", "MPI_MAXLOC", "MPI_REPLACE", "MPI_NO_OP"]].concat());
}

#[test]
fn accumulating_goes_through_the_layout() {
    let every_other = Datatype::vector(3, 1, 2, Datatype::named(MPI_INT).unwrap()).unwrap();
    let mut memory = [1i32, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    let data: Vec<u8> = [10i32, 20, 30, 40].iter().flat_map(|value| value.to_ne_bytes()).collect();
    // SAFETY: the buffer contains two items.
    let taken = unsafe { Builtin::Sum.accumulate(&every_other, memory.as_mut_ptr().cast(), 2, &data) };
    assert!(taken);
    assert_eq!(memory, [11, 2, 23, 4, 35, 46, 7, 8, 9, 10]);

    let pairs = Datatype::contiguous(2, Datatype::named(MPI_DOUBLE_INT).unwrap()).unwrap();
    let mut memory = [Pair(1.0, 7), Pair(2.0, 8)];
    let mut data = Vec::new();
    // SAFETY: the buffer contains one item.
    unsafe {
        pairs.pack([Pair(3.0, 1), Pair(1.5, 2)].as_ptr().cast(), 1, &mut data);
        assert!(Builtin::Maxloc.accumulate(&pairs, memory.as_mut_ptr().cast(), 1, &data));
        assert_eq!(memory, [Pair(3.0, 1), Pair(2.0, 8)]);
        assert!(!Builtin::Sum.accumulate(&pairs, memory.as_mut_ptr().cast(), 1, &data));
        assert!(Builtin::Replace.accumulate(&pairs, memory.as_mut_ptr().cast(), 1, &data));
    }
    assert_eq!(memory, [Pair(3.0, 1), Pair(1.5, 2)]);
}
