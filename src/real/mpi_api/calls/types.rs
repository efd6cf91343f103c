//! Constructors of datatypes (MPI-3.1, sections 4.1.2 to 4.1.10).
#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::mpi_api::error::{self, MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use crate::process::Function;
use mcpsim_core::mpi::abi::{self, Aint, Handle};
use mcpsim_core::mpi::datatype::{Datatype, Distributed, Order, Type, TypeError};

/// Reads an array argument of an MPI function.
///
/// # Errors
/// The length is negative, or a null address is passed for an array that is not empty.
///
/// # Safety
/// `array` is null or points to an array with `length` elements.
pub unsafe fn array<'a, T>(array: *const T, length: c_int, name: &str) -> MpiResult<&'a [T]> {
    let length = error::count(length, &format!("the length of {name}"))?;
    if length == 0 {
        return Ok(&[]);
    }
    error::expect(!array.is_null(), abi::MPI_ERR_ARG, || format!("{name} is null: expected {length} entries"))?;
    // SAFETY: the array is not null, so the caller guarantees `length` elements.
    Ok(unsafe { std::slice::from_raw_parts(array, length) })
}

const LENGTHS: &str = "array_of_blocklengths";
const PLACES: &str = "array_of_displacements";

type Made = Result<Type, TypeError>;

/// Adds the datatype that `make` derives from the datatype of `old`, and stores the handle of the derived datatype in
/// `new`.
unsafe fn derive(p: &MpiProcess, old: Handle, new: *mut Handle, make: impl FnOnce(&Type) -> Made) -> MpiResult {
    let made = make(&p.datatype(old)?)?;
    // SAFETY: MPI requires the program to pass a valid pointer for the result, and `mpi_functions!` rejects null.
    unsafe { *new = p.types.borrow_mut().insert(made, false) };
    Ok(())
}

mpi_functions! {
    fn MPI_Type_contiguous(p; count: c_int, oldtype: Handle, newtype: *mut Handle) {
        derive(p, oldtype, newtype, |old| Datatype::contiguous(count, old))
    }
    fn MPI_Type_vector(
        p; count: c_int, blocklength: c_int, stride: c_int, oldtype: Handle, newtype: *mut Handle,
    ) {
        derive(p, oldtype, newtype, |old| Datatype::vector(count, blocklength, stride, old))
    }
    fn MPI_Type_create_hvector(
        p; count: c_int, blocklength: c_int, stride: Aint, oldtype: Handle, newtype: *mut Handle,
    ) {
        derive(p, oldtype, newtype, |old| Datatype::hvector(count, blocklength, stride, old))
    }
    fn MPI_Type_indexed(
        p; count: c_int, lengths: *const c_int, places: *const c_int, oldtype: Handle, newtype: *mut Handle,
    ) {
        let (lengths, places) = (array(lengths, count, LENGTHS)?, array(places, count, PLACES)?);
        derive(p, oldtype, newtype, |old| Datatype::indexed(lengths, places, old))
    }
    fn MPI_Type_create_hindexed(
        p; count: c_int, lengths: *const c_int, places: *const Aint, oldtype: Handle, newtype: *mut Handle,
    ) {
        let (lengths, places) = (array(lengths, count, LENGTHS)?, array(places, count, PLACES)?);
        derive(p, oldtype, newtype, |old| Datatype::hindexed(lengths, places, old))
    }
    fn MPI_Type_create_indexed_block(
        p; count: c_int, blocklength: c_int, places: *const c_int, oldtype: Handle, newtype: *mut Handle,
    ) {
        let places = array(places, count, PLACES)?;
        derive(p, oldtype, newtype, |old| Datatype::indexed_block(blocklength, places, old))
    }
    fn MPI_Type_create_hindexed_block(
        p; count: c_int, blocklength: c_int, places: *const Aint, oldtype: Handle, newtype: *mut Handle,
    ) {
        let places = array(places, count, PLACES)?;
        derive(p, oldtype, newtype, |old| Datatype::hindexed_block(blocklength, places, old))
    }
    fn MPI_Type_create_struct(
        p; count: c_int, lengths: *const c_int, places: *const Aint, types: *const Handle, newtype: *mut Handle,
    ) {
        let (lengths, places) = (array(lengths, count, LENGTHS)?, array(places, count, PLACES)?);
        let types = array(types, count, "array_of_types")?;
        let types: Vec<Type> = types.iter().map(|&old| p.datatype(old)).collect::<MpiResult<_>>()?;
        let made = Datatype::structure(lengths, places, &types)?;
        *newtype = p.types.borrow_mut().insert(made, false);
        Ok(())
    }
    fn MPI_Type_create_subarray(
        p; ndims: c_int, sizes: *const c_int, subsizes: *const c_int, starts: *const c_int, order: c_int,
        oldtype: Handle, newtype: *mut Handle,
    ) {
        let sizes = array(sizes, ndims, "array_of_sizes")?;
        let (subsizes, starts) = (array(subsizes, ndims, "array_of_subsizes")?, array(starts, ndims, "array_of_starts")?);
        let order = Order::from_constant(order)?;
        derive(p, oldtype, newtype, |old| Datatype::subarray(sizes, subsizes, starts, order, old))
    }
    fn MPI_Type_create_darray(
        p; size: c_int, rank: c_int, ndims: c_int, gsizes: *const c_int, distributions: *const c_int,
        arguments: *const c_int, psizes: *const c_int, order: c_int, oldtype: Handle, newtype: *mut Handle,
    ) {
        let of = Distributed {
            size,
            rank,
            gsizes: array(gsizes, ndims, "array_of_gsizes")?,
            distributions: array(distributions, ndims, "array_of_distribs")?,
            arguments: array(arguments, ndims, "array_of_dargs")?,
            psizes: array(psizes, ndims, "array_of_psizes")?,
        };
        let order = Order::from_constant(order)?;
        derive(p, oldtype, newtype, |old| Datatype::darray(of, order, old))
    }
    fn MPI_Type_create_resized(p; oldtype: Handle, lb: Aint, extent: Aint, newtype: *mut Handle) {
        derive(p, oldtype, newtype, |old| Datatype::resized(lb, extent, old))
    }
    fn MPI_Type_create_f90_real(p; precision: c_int, range: c_int, newtype: *mut Handle) {
        *newtype = p.types.borrow_mut().fortran(Datatype::f90_real(precision, range)?);
        Ok(())
    }
    fn MPI_Type_create_f90_complex(p; precision: c_int, range: c_int, newtype: *mut Handle) {
        *newtype = p.types.borrow_mut().fortran(Datatype::f90_complex(precision, range)?);
        Ok(())
    }
    fn MPI_Type_create_f90_integer(p; range: c_int, newtype: *mut Handle) {
        *newtype = p.types.borrow_mut().fortran(Datatype::f90_integer(range)?);
        Ok(())
    }
    fn MPI_Type_match_size(_p; typeclass: c_int, size: c_int, datatype: *mut Handle) {
        *datatype = match (typeclass, size) {
            (abi::MPI_TYPECLASS_INTEGER, 1) => abi::MPI_INTEGER1,
            (abi::MPI_TYPECLASS_INTEGER, 2) => abi::MPI_INTEGER2,
            (abi::MPI_TYPECLASS_INTEGER, 4) => abi::MPI_INTEGER4,
            (abi::MPI_TYPECLASS_INTEGER, 8) => abi::MPI_INTEGER8,
            (abi::MPI_TYPECLASS_INTEGER, 16) => abi::MPI_INTEGER16,
            (abi::MPI_TYPECLASS_REAL, 2) => abi::MPI_REAL2,
            (abi::MPI_TYPECLASS_REAL, 4) => abi::MPI_REAL4,
            (abi::MPI_TYPECLASS_REAL, 8) => abi::MPI_REAL8,
            (abi::MPI_TYPECLASS_REAL, 16) => abi::MPI_REAL16,
            (abi::MPI_TYPECLASS_COMPLEX, 4) => abi::MPI_COMPLEX4,
            (abi::MPI_TYPECLASS_COMPLEX, 8) => abi::MPI_COMPLEX8,
            (abi::MPI_TYPECLASS_COMPLEX, 16) => abi::MPI_COMPLEX16,
            (abi::MPI_TYPECLASS_COMPLEX, 32) => abi::MPI_COMPLEX32,
            _ => {
                let what = format!("no datatype of class {typeclass} has {size} bytes: expected an MPI_TYPECLASS constant");
                return Err(MpiError::new(abi::MPI_ERR_ARG, what));
            }
        };
        Ok(())
    }
    fn MPI_Type_dup(p; oldtype: Handle, newtype: *mut Handle) {
        let made = Datatype::dup(&p.datatype(oldtype)?);
        let list = p.types.borrow_mut().notes(oldtype)?.attributes.clone();
        let attributes = p.copy_attributes(oldtype, &list)?;
        let mut types = p.types.borrow_mut();
        let committed = types.is_committed(oldtype);
        let handle = types.insert(made, committed);
        types.notes(handle)?.attributes = attributes;
        *newtype = handle;
        Ok(())
    }
    fn MPI_Type_commit(p; datatype: *mut Handle) {
        p.types.borrow_mut().commit(*datatype)
    }
    fn MPI_Type_free(p; datatype: *mut Handle) {
        p.types.borrow().can_free(*datatype)?;
        let list = std::mem::take(&mut p.types.borrow_mut().notes(*datatype)?.attributes);
        p.delete_attributes(*datatype, list)?;
        p.types.borrow_mut().remove(*datatype);
        *datatype = abi::MPI_DATATYPE_NULL;
        Ok(())
    }
}

/// Deprecated names of datatype functions, with the current functions.
pub const OLD_NAMES: &[(&str, Function)] = &[
    ("MPI_Type_hvector", Function(MPI_Type_create_hvector as *const ())),
    ("MPI_Type_hindexed", Function(MPI_Type_create_hindexed as *const ())),
    ("MPI_Type_struct", Function(MPI_Type_create_struct as *const ())),
];
