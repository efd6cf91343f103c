//! Errors of the datatype constructors and their messages.

use std::ffi::c_int;

use crate::abi::*;
use crate::datatype::{Datatype, Distributed, Order, Type, TypeError};

fn int() -> &'static Type {
    Datatype::named(MPI_INT).unwrap()
}

fn refused(found: Result<Type, TypeError>, class: c_int, what: &str) {
    let error = found.expect_err(what);
    assert_eq!((error.class, error.to_string().as_str()), (class, what));
}

#[test]
fn negative_counts() {
    refused(Datatype::contiguous(-1, int()), MPI_ERR_COUNT, "count is -1; expected 0 or more");
    refused(Datatype::vector(2, -3, 1, int()), MPI_ERR_ARG, "blocklength is -3; expected 0 or more");
    refused(Datatype::hvector(-2, 3, 1, int()), MPI_ERR_COUNT, "count is -2; expected 0 or more");
    let what = "array_of_blocklengths[1] is -2; expected 0 or more";
    refused(Datatype::indexed(&[1, -2], &[0, 1], int()), MPI_ERR_ARG, what);
    refused(Datatype::structure(&[1, -2], &[0, 1], &[int().clone(), int().clone()]), MPI_ERR_ARG, what);
}

#[test]
fn what_64_bits_cannot_count() {
    let spans = "the datatype spans more bytes than 64 bits can count";
    let large = Datatype::contiguous(i64::MAX / 4, int()).unwrap();
    assert_eq!(large.size(), i64::MAX as usize - 3);
    refused(Datatype::contiguous(2, &large), MPI_ERR_ARG, spans);
    refused(Datatype::hindexed(&[1, 1], &[isize::MIN, isize::MAX - 4], int()), MPI_ERR_ARG, spans);
    refused(Datatype::resized(isize::MAX, 1, int()), MPI_ERR_ARG, spans);
    let stride = "4611686018427387904 times the extent of 4 bytes is not a 64-bit displacement";
    refused(Datatype::vector(2, 1, 1i64 << 62, int()), MPI_ERR_ARG, stride);
    let sizes = [i64::MAX, 2];
    let whole = "the array has more bytes than 64 bits can count";
    refused(Datatype::subarray(&sizes, &[1, 1], &[0, 0], Order::C, int()), MPI_ERR_ARG, whole);
}

#[test]
fn parts_outside_of_arrays() {
    let sub = |size, sub, start| Datatype::subarray(&[9, size], &[9, sub], &[0, start], Order::C, int());
    refused(sub(0, 1, 0), MPI_ERR_ARG, "array_of_sizes[1] is 0; expected 1 or more");
    refused(sub(4, 5, 0), MPI_ERR_ARG, "array_of_subsizes[1] is 5; expected 1 to 4, the size of the array");
    refused(sub(4, 2, 3), MPI_ERR_ARG, "array_of_starts[1] is 3; expected 0 to 2, size less subsize");
    refused(Datatype::subarray::<i32>(&[], &[], &[], Order::C, int()), MPI_ERR_ARG, "ndims is 0; expected 1 or more");
    let error = Order::from_constant(3).unwrap_err();
    assert_eq!(error.to_string(), "order is 3; expected MPI_ORDER_C or MPI_ORDER_FORTRAN");
}

#[test]
fn impossible_distributions() {
    let array = |size, rank, distribution, argument, psize| {
        let of = Distributed {
            size,
            rank,
            gsizes: &[10],
            distributions: &[distribution],
            arguments: &[argument],
            psizes: &[psize],
        };
        Datatype::darray(of, Order::C, int())
    };
    let default = MPI_DISTRIBUTE_DFLT_DARG;
    let [none, block, cyclic] = [MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC];
    let what = "array_of_psizes has 3 processes; expected 4, the size";
    refused(array(4, 0, block, default, 3), MPI_ERR_ARG, what);
    refused(array(4, 4, block, default, 4), MPI_ERR_RANK, "rank is 4; expected 0 to 3");
    refused(array(4, 0, block, 2, 4), MPI_ERR_ARG, "array_of_dargs[0] is 2; expected blocks that cover the size of 10");
    let what = "array_of_dargs[0] is 0; expected 1 or more, or MPI_DISTRIBUTE_DFLT_DARG";
    refused(array(4, 0, cyclic, 0, 4), MPI_ERR_ARG, what);
    refused(array(4, 0, none, default, 4), MPI_ERR_ARG, "array_of_psizes[0] is 4; expected 1 for MPI_DISTRIBUTE_NONE");
    let what = "array_of_distribs[0] is 99; expected an MPI_DISTRIBUTE constant";
    refused(array(4, 0, 99, default, 4), MPI_ERR_ARG, what);
    // Blocks that begin far beyond the array are valid, because this process owns no array element in these blocks.
    let large = Datatype::resized(0, isize::MAX / 16, int()).unwrap();
    let of = Distributed {
        size: 4,
        rank: 3,
        gsizes: &[10],
        distributions: &[block],
        arguments: &[c_int::MAX],
        psizes: &[4],
    };
    assert_eq!(Datatype::darray(of, Order::C, &large).unwrap().size(), 0);
    refused(array(0, 0, block, default, 0), MPI_ERR_ARG, "array_of_psizes[0] is 0; expected 1 or more");
}

#[test]
fn fortran_numbers_that_no_kind_has() {
    let undefined = "p and r are MPI_UNDEFINED; expected at least one of them";
    refused(Datatype::f90_real(MPI_UNDEFINED, MPI_UNDEFINED), MPI_ERR_ARG, undefined);
    let what = "p is 40 and r is 10; expected at most 33 digits and range 4931";
    refused(Datatype::f90_complex(40, 10), MPI_ERR_ARG, what);
    refused(Datatype::f90_integer(39), MPI_ERR_ARG, "r is 39; expected at most 38 digits");
}
