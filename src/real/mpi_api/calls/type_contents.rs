//! Functions that return properties of datatypes: sizes, bounds, names and constructor arguments (MPI-3.1, sections
//! 4.1.5 to 4.1.13 and 6.8).
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use crate::mpi_api::error::{self, MpiError};
use crate::process::Function;
use crate::process::{put_text, text};
use mcpsim_core::mpi::abi::{self, Aint, Count, Handle};

/// Converts a count to `int`. A count that does not fit in an `int` becomes MPI_UNDEFINED (MPI-3.1, section 4.1.5).
pub fn int(number: u64) -> c_int {
    c_int::try_from(number).unwrap_or(abi::MPI_UNDEFINED)
}

mpi_functions! {
    fn MPI_Type_size(p; datatype: Handle, size: *mut c_int) {
        *size = p.of_datatype(datatype, |datatype| int(datatype.size() as u64))?;
        Ok(())
    }
    fn MPI_Type_size_x(p; datatype: Handle, size: *mut Count) {
        *size = p.of_datatype(datatype, |datatype| datatype.size() as Count)?;
        Ok(())
    }
    fn MPI_Type_get_extent(p; datatype: Handle, lb: *mut Aint, extent: *mut Aint) {
        (*lb, *extent) = p.of_datatype(datatype, |datatype| (datatype.lb() as Aint, datatype.extent() as Aint))?;
        Ok(())
    }
    fn MPI_Type_get_true_extent(p; datatype: Handle, lb: *mut Aint, extent: *mut Aint) {
        let datatype = p.datatype(datatype)?;
        *lb = datatype.true_lb() as Aint;
        *extent = datatype.true_extent() as Aint;
        Ok(())
    }
    fn MPI_Type_extent(p; datatype: Handle, extent: *mut Aint) {
        *extent = p.datatype(datatype)?.extent() as Aint;
        Ok(())
    }
    fn MPI_Type_lb(p; datatype: Handle, lb: *mut Aint) {
        *lb = p.datatype(datatype)?.lb() as Aint;
        Ok(())
    }
    fn MPI_Type_ub(p; datatype: Handle, ub: *mut Aint) {
        *ub = p.datatype(datatype)?.ub() as Aint;
        Ok(())
    }
    fn MPI_Type_get_envelope(
        p; datatype: Handle, integers: *mut c_int, addresses: *mut c_int, datatypes: *mut c_int, combiner: *mut c_int,
    ) {
        let datatype = p.datatype(datatype)?;
        let envelope = datatype.envelope();
        *integers = int(envelope.integers.len() as u64);
        *addresses = int(envelope.addresses.len() as u64);
        *datatypes = int(envelope.types.len() as u64);
        *combiner = envelope.combiner;
        Ok(())
    }
    fn MPI_Type_get_contents(
        p; datatype: Handle, max_integers: c_int, max_addresses: c_int, max_datatypes: c_int, integers: *mut c_int,
        addresses: *mut Aint, datatypes: *mut Handle,
    ) {
        let datatype = p.datatype(datatype)?;
        let envelope = datatype.envelope();
        error::expect(datatype.handle().is_none(), abi::MPI_ERR_TYPE, || {
            format!("{} has no contents: expected a datatype that the program made", datatype.name())
        })?;
        let rooms = [
            ("integers", max_integers, envelope.integers.len()),
            ("addresses", max_addresses, envelope.addresses.len()),
            ("datatypes", max_datatypes, envelope.types.len()),
        ];
        for (what, room, length) in rooms {
            error::expect(usize::try_from(room).is_ok_and(|room| room >= length), abi::MPI_ERR_ARG, || {
                format!("max_{what} is {room}: expected {length} or more")
            })?;
        }
        for (i, &number) in envelope.integers.iter().enumerate() {
            *integers.add(i) = c_int::try_from(number).map_err(|_| {
                MpiError::new(abi::MPI_ERR_VALUE_TOO_LARGE, format!("number {i} of the contents, {number}, is no int"))
            })?;
        }
        envelope.addresses.iter().enumerate().for_each(|(i, &address)| *addresses.add(i) = address);
        let mut types = p.types.borrow_mut();
        envelope.types.iter().enumerate().for_each(|(i, part)| *datatypes.add(i) = types.part(part));
        Ok(())
    }
    fn MPI_Type_set_name(p; datatype: Handle, name: *const c_char) {
        let name = text(name).ok_or_else(|| MpiError::new(abi::MPI_ERR_ARG, "the name is null"))?;
        p.types.borrow_mut().notes(datatype)?.name = Some(name.into_owned());
        Ok(())
    }
    fn MPI_Type_get_name(p; datatype: Handle, name: *mut c_char, length: *mut c_int) {
        if datatype == abi::MPI_DATATYPE_NULL {
            // The name of the null handle is new in MPI-4.0, section 7.8.
            *length = put_text(name, abi::MPI_MAX_OBJECT_NAME, "MPI_DATATYPE_NULL") as c_int;
            return Ok(());
        }
        let of = p.datatype(datatype)?;
        let mut types = p.types.borrow_mut();
        let known = types.notes(datatype)?.name.as_deref().unwrap_or(of.name());
        *length = put_text(name, abi::MPI_MAX_OBJECT_NAME, known) as c_int;
        Ok(())
    }
    fn MPI_Get_address(_p; location: *const u8, address: *mut Aint) {
        *address = location as Aint;
        Ok(())
    }
}

// MPI_Count and MPI_Aint have the same width, so the MPI functions whose names end with `_x` are aliases.
const _: () = assert!(size_of::<Count>() == size_of::<Aint>());

/// Alternative names of MPI datatype functions: variants with wide integers, and deprecated names.
pub const OTHER_NAMES: &[(&str, Function)] = &[
    ("MPI_Type_get_extent_x", Function(MPI_Type_get_extent as *const ())),
    ("MPI_Type_get_true_extent_x", Function(MPI_Type_get_true_extent as *const ())),
    ("MPI_Address", Function(MPI_Get_address as *const ())),
];
