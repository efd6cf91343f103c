//! Checks the external32 representation byte by byte.

use crate::abi::*;
use crate::datatype::{Datatype, Type};

fn named(handle: Handle) -> &'static Type {
    Datatype::named(handle).unwrap()
}

fn packed<T: Copy>(handle: Handle, values: &[T]) -> Vec<u8> {
    let mut out = Vec::new();
    let ty = named(handle);
    // SAFETY: the values have the layout of the datatype.
    unsafe { ty.pack_external(values.as_ptr().cast(), size_of_val(values) / ty.extent() as usize, &mut out) };
    out
}

fn unpacked<T: Copy + Default>(handle: Handle, data: &[u8]) -> T {
    let mut value = T::default();
    // SAFETY: the value has the layout of the datatype.
    let taken = unsafe { named(handle).unpack_external((&raw mut value).cast(), 1, data) };
    assert_eq!(taken, data.len());
    value
}

#[test]
fn sizes_are_those_of_the_standard() {
    let sizes = [
        (MPI_PACKED, 1),
        (MPI_CHAR, 1),
        (MPI_WCHAR, 2),
        (MPI_SHORT, 2),
        (MPI_INT, 4),
        (MPI_LONG, 4),
        (MPI_UNSIGNED_LONG, 4),
        (MPI_LONG_LONG, 8),
        (MPI_FLOAT, 4),
        (MPI_DOUBLE, 8),
        (MPI_LONG_DOUBLE, 16),
        (MPI_C_BOOL, 1),
        (MPI_INT64_T, 8),
        (MPI_AINT, 8),
        (MPI_C_LONG_DOUBLE_COMPLEX, 32),
        (MPI_LOGICAL, 4),
        (MPI_REAL16, 16),
        (MPI_LONG_INT, 8),
        (MPI_DOUBLE_INT, 12),
        (MPI_LONG_DOUBLE_INT, 20),
    ];
    for (handle, size) in sizes {
        assert_eq!(named(handle).external_size(3), 3 * size, "{}", named(handle).name());
    }
    let column = Datatype::vector(1_000_000, 2, 5, named(MPI_LONG)).unwrap();
    assert_eq!(column.external_size(2), 16_000_000);
}

#[test]
fn numbers_are_big_endian() {
    assert_eq!(packed(MPI_INT, &[1i32, -2]), [0, 0, 0, 1, 255, 255, 255, 254]);
    assert_eq!(packed(MPI_LONG, &[-2i64]), [255, 255, 255, 254]);
    assert_eq!(packed(MPI_DOUBLE, &[1.0]), [0x3f, 0xf0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(packed(MPI_DOUBLE_INT, &[(1.0f64, 7i32)]), [0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7]);
    assert_eq!(packed(MPI_COMPLEX, &[[1.0f32, -2.0]]), [0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0]);
    assert_eq!(unpacked::<i64>(MPI_LONG, &[255, 255, 255, 254]), -2);
    assert_eq!(unpacked::<u64>(MPI_UNSIGNED_LONG, &[255, 255, 255, 254]), 0xffff_fffe);
    assert_eq!(unpacked::<u32>(MPI_WCHAR, &[0xff, 1]), 0xff01);
    assert_eq!(unpacked::<i16>(MPI_SHORT, &[0xff, 1]), -255);
}

#[test]
fn long_doubles_become_quads() {
    // Sign and exponent, then the significand with its leading bit; the binary128 stores only the fraction.
    let cases: [(u16, u64, u128); 6] = [
        (0x3fff, 1 << 63, 0x3fff << 112),
        (0xbfff, 1 << 63 | 1 << 62, 0xbfff << 112 | 1 << 111),
        (0x4000, u64::MAX, 0x4000 << 112 | 0xffff_ffff_ffff_fffe << 48),
        (0, 0, 0),
        (0, 1, 2 << 48),
        (0x7fff, 1 << 63, 0x7fff << 112),
    ];
    for (head, significand, quad) in cases {
        let value = u128::from(head) << 64 | u128::from(significand);
        assert_eq!(packed(MPI_LONG_DOUBLE, &[value]), quad.to_be_bytes());
        assert_eq!(unpacked::<u128>(MPI_LONG_DOUBLE, &quad.to_be_bytes()), value);
    }
    // Half a unit in the last place is rounded to even, and a carry increments the exponent.
    let odd: u128 = 0x3fff << 112 | 1 << 49 | 1 << 48;
    assert_eq!(unpacked::<u128>(MPI_LONG_DOUBLE, &odd.to_be_bytes()), 0x3fff << 64 | 1 << 63 | 2);
    let even: u128 = 0x3fff << 112 | 2 << 49 | 1 << 48;
    assert_eq!(unpacked::<u128>(MPI_LONG_DOUBLE, &even.to_be_bytes()), 0x3fff << 64 | 1 << 63 | 2);
    let carry = (0x4000u128 << 112) - 1;
    assert_eq!(unpacked::<u128>(MPI_LONG_DOUBLE, &carry.to_be_bytes()), 0x4000 << 64 | 1 << 63);
    let nan: u128 = 0x7fff << 112 | 1;
    assert_eq!(unpacked::<u128>(MPI_LONG_DOUBLE, &nan.to_be_bytes()), 0x7fff << 64 | 1 << 63 | 1);
}

#[test]
fn every_named_datatype_comes_back() {
    for ty in Datatype::all_named().filter(|ty| ty.size() > 0) {
        let memory: Vec<u8> = (0..3 * ty.extent() as usize).map(|i| if i % 8 < 2 { i as u8 } else { 0 }).collect();
        let (mut out, mut back, mut native) = (vec![], vec![0u8; memory.len()], vec![]);
        // SAFETY: each buffer holds three items.
        unsafe {
            ty.pack_external(memory.as_ptr(), 3, &mut out);
            assert_eq!(out.len(), ty.external_size(3));
            assert_eq!(ty.unpack_external(back.as_mut_ptr(), 3, &out), out.len());
            ty.pack(memory.as_ptr(), 3, &mut native);
        }
        let mut found = vec![];
        // SAFETY: each buffer holds three items.
        unsafe { ty.pack(back.as_ptr(), 3, &mut found) };
        // Long doubles with arbitrary bits lose their padding bits.
        if !ty.name().contains("LONG_DOUBLE") {
            assert_eq!(found, native, "{}", ty.name());
        }
    }
}
