//! Layouts derived by hand, many of them the examples of MPI-3.1, chapter 4.

use crate::abi::*;
use crate::datatype::{Datatype, Type};

fn named(handle: Handle) -> &'static Type {
    Datatype::named(handle).unwrap()
}

/// Names and displacements of the basic elements in one item of a datatype.
fn map(ty: &Type) -> Vec<(&'static str, isize)> {
    let mut map = Vec::new();
    ty.for_each_run(1, |kind, at, n| {
        map.extend((0..n).map(|i| (kind.name, at + (i * kind.extent()) as isize)));
    });
    map
}

fn doubles_and_chars(places: &[(char, isize)]) -> Vec<(&'static str, isize)> {
    places.iter().map(|&(c, at)| (if c == 'd' { "MPI_DOUBLE" } else { "MPI_CHAR" }, at)).collect()
}

/// The datatype {(double, 0), (char, 8)}, of extent 16.
fn example() -> Type {
    let types = [named(MPI_DOUBLE).clone(), named(MPI_CHAR).clone()];
    Datatype::structure(&[1, 1], &[0, 8], &types).unwrap()
}

#[test]
fn a_struct_is_padded_to_its_alignment() {
    let ty = example();
    assert_eq!((ty.size(), ty.extent(), ty.true_extent()), (9, 16, 9));
}

#[test]
fn contiguous_repeats_at_the_extent() {
    let ty = Datatype::contiguous(3, &example()).unwrap();
    let expected = [('d', 0), ('c', 8), ('d', 16), ('c', 24), ('d', 32), ('c', 40)];
    assert_eq!(map(&ty), doubles_and_chars(&expected));
    assert_eq!(ty.extent(), 48);
}

#[test]
fn vector_has_blocks_at_a_stride() {
    let ty = Datatype::vector(2, 3, 4, &example()).unwrap();
    let block = |at: isize| [('d', at), ('c', at + 8), ('d', at + 16), ('c', at + 24), ('d', at + 32), ('c', at + 40)];
    assert_eq!(map(&ty), doubles_and_chars(&[block(0), block(64)].concat()));
    let backward = Datatype::vector(3, 1, -2, &example()).unwrap();
    let expected = [('d', 0), ('c', 8), ('d', -32), ('c', -24), ('d', -64), ('c', -56)];
    assert_eq!(map(&backward), doubles_and_chars(&expected));
    assert_eq!((backward.lb(), backward.extent()), (-64, 80));
}

#[test]
fn indexed_has_blocks_at_displacements() {
    let ty = Datatype::indexed(&[3, 1], &[4, 0], &example()).unwrap();
    let expected = [('d', 64), ('c', 72), ('d', 80), ('c', 88), ('d', 96), ('c', 104), ('d', 0), ('c', 8)];
    assert_eq!(map(&ty), doubles_and_chars(&expected));
}

#[test]
fn struct_of_structs() {
    let types = [named(MPI_FLOAT).clone(), example(), named(MPI_CHAR).clone()];
    let ty = Datatype::structure(&[2, 1, 3], &[0, 16, 26], &types).unwrap();
    let floats = [("MPI_FLOAT", 0), ("MPI_FLOAT", 4), ("MPI_DOUBLE", 16)];
    let chars = [24, 26, 27, 28].map(|at| ("MPI_CHAR", at));
    assert_eq!(map(&ty), [&floats[..], &chars[..]].concat());
}

#[test]
fn markers_are_bounds() {
    // The datatype of MPI-3.1, section 4.1.6: {(lb_marker, -3), (int, 0), (ub_marker, 6)}, then two copies of it.
    let one = Datatype::resized(-3, 9, named(MPI_INT)).unwrap();
    assert_eq!((one.lb(), one.ub(), one.extent()), (-3, 6, 9));
    let two = Datatype::contiguous(2, &one).unwrap();
    assert_eq!((two.lb(), two.ub()), (-3, 15));
    assert_eq!(map(&two), [("MPI_INT", 0), ("MPI_INT", 9)]);
    // The same layout, constructed with the markers of MPI-1.
    let lb = named(crate::datatype::MPI_LB).clone();
    let ub = named(crate::datatype::MPI_UB).clone();
    let old = Datatype::structure(&[1, 1, 1], &[-3, 0, 6], &[lb, named(MPI_INT).clone(), ub]).unwrap();
    assert_eq!((old.lb(), old.ub(), old.size()), (-3, 6, 4));
    // A bound marker of an inner datatype remains effective in an enclosing datatype.
    let around = Datatype::structure(&[1, 1], &[0, 40], &[old, named(MPI_DOUBLE).clone()]).unwrap();
    assert_eq!((around.lb(), around.ub(), around.true_extent()), (-3, 6, 48));
}

#[test]
fn pairs_are_c_structs() {
    let layouts = [
        (MPI_FLOAT_INT, 8, 8, true),
        (MPI_DOUBLE_INT, 12, 16, false),
        (MPI_LONG_INT, 12, 16, false),
        (MPI_2INT, 8, 8, true),
        (MPI_SHORT_INT, 6, 8, false),
        (MPI_LONG_DOUBLE_INT, 20, 32, false),
        (MPI_2REAL, 8, 8, true),
        (MPI_2DOUBLE_PRECISION, 16, 16, true),
        (MPI_2INTEGER, 8, 8, true),
    ];
    for (handle, size, extent, dense) in layouts {
        let ty = named(handle);
        assert_eq!((ty.size(), ty.extent(), ty.is_dense(), ty.elements()), (size, extent, dense, 2), "{}", ty.name());
    }
}

#[test]
fn handles_and_names_of_named_datatypes_are_those_of_the_abi() {
    assert_eq!(Datatype::all_named().count(), 72);
    for ty in Datatype::all_named() {
        let handle = ty.handle().unwrap();
        assert!(std::ptr::eq(&**Datatype::named(handle).unwrap(), &**ty));
    }
    assert_eq!(named(MPI_UNSIGNED_LONG_LONG).name(), "MPI_UNSIGNED_LONG_LONG");
    for none in [MPI_DATATYPE_NULL, 0, 0x1ff, 0x2ff, 0x300, FIRST_USER, usize::MAX] {
        assert!(Datatype::named(none).is_none(), "{none:#x}");
    }
    // Bits 3 to 5 of the handle of a fixed-size type are the binary logarithm of the size.
    for handle in (0x240..=0x25f).chain(0x2c0..=0x2ff) {
        if let Some(ty) = Datatype::named(handle) {
            assert_eq!(ty.size(), 1 << ((handle >> 3) & 7), "{}", ty.name());
        }
    }
}

#[test]
fn what_lies_side_by_side_is_one_piece() {
    let [double, int] = [MPI_DOUBLE, MPI_INT].map(|handle| named(handle).clone());
    let particle = Datatype::structure(&[3, 2], &[0, 24], &[double.clone(), int]).unwrap();
    assert!(particle.is_dense());
    let array = Datatype::subarray(&[4, 5, 6], &[2, 5, 6], &[1, 0, 0], super::super::Order::C, &particle).unwrap();
    assert!(array.is_contiguous() && !array.is_dense());
    assert_eq!((array.piece(1), array.piece(2)), (Some(30 * 32), None));
    let rows = Datatype::vector(7, 5, 5, &double).unwrap();
    assert!(rows.is_dense());
    assert!(!Datatype::indexed(&[1, 1], &[1, 0], &double).unwrap().is_contiguous());
    assert!(Datatype::indexed(&[2, 3], &[0, 2], &double).unwrap().is_dense());
}

/// Bounds of a datatype: size, lower bound, extent, true lower bound, true extent.
fn bounds(ty: &Type) -> [i64; 5] {
    [ty.size() as i64, ty.lb(), ty.extent(), ty.true_lb(), ty.true_extent()]
}

#[test]
fn bounds_follow_the_flat_type_map() {
    let [int, float, char, double] = [MPI_INT, MPI_FLOAT, MPI_CHAR, MPI_DOUBLE].map(named);
    // All constructors pad an unaligned extent to the alignment, by the formula of section 4.1.6.
    assert_eq!(bounds(&Datatype::hvector(3, 1, 9, float).unwrap()), [12, 0, 24, 0, 22]);
    assert_eq!(bounds(&Datatype::hvector(3, 1, 9, char).unwrap()), [3, 0, 19, 0, 19]);
    let odd = Datatype::hvector(2, 2, -33, int).unwrap();
    let spread = Datatype::indexed_block(2, &[-2], &odd).unwrap();
    assert_eq!(bounds(&spread), [32, -121, 88, -121, 85]);
    // Explicit bounds of one component datatype determine the bounds of the whole datatype.
    let short = Datatype::resized(-11, 43, named(MPI_SHORT)).unwrap();
    let types = [short, named(MPI_C_DOUBLE_COMPLEX).clone()];
    let around = Datatype::structure(&[3, 1], &[0, -60], &types).unwrap();
    assert_eq!(bounds(&around), [22, -11, 129, -60, 148]);
    // Empty blocks do not affect the bounds.
    assert_eq!(bounds(&Datatype::indexed_block(0, &[2, 9], double).unwrap()), [0; 5]);
    assert_eq!(bounds(&Datatype::contiguous(0, double).unwrap()), [0; 5]);
    let types = [double.clone(), char.clone()];
    assert_eq!(bounds(&Datatype::structure(&[0, 1], &[-3, 5], &types).unwrap()), [1, 5, 1, 5, 1]);
}
