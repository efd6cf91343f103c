//! Functions for statuses: number of received elements, and fields that programs set (MPI-3.1, sections 3.2.5, 4.1.11
//! and 12.3).
#![allow(unsafe_code)]

use std::ffi::c_int;

use super::type_contents::int;
use crate::mpi_api::error::{MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::abi::{self, Count, Handle, Status};
use mcpsim_core::mpi::datatype::Datatype;

/// Returns the size in bytes of `elements` basic elements of the datatype.
fn bytes_of(datatype: &Datatype, elements: u64) -> Option<u64> {
    let (items, rest) = match datatype.elements() {
        0 => return (elements == 0).then_some(0),
        each => (elements / each, elements % each),
    };
    let (mut left, mut bytes) = (rest, items.checked_mul(datatype.size() as u64)?);
    if left > 0 {
        datatype.for_each_run(1, |kind, _, n| {
            let whole = (left / kind.basics()).min(n as u64);
            bytes += whole * kind.size() as u64;
            left -= whole * kind.basics();
            if whole < n as u64 && left > 0 {
                // The last basic element may be the first half of a pair, such as an element of MPI_DOUBLE_INT.
                bytes += kind.scalar.size() as u64;
                left = 0;
            }
        });
    }
    Some(bytes)
}

unsafe fn set_elements(p: &MpiProcess, status: *mut Status, datatype: Handle, count: Count) -> MpiResult {
    let datatype = p.datatype(datatype)?;
    let bytes = u64::try_from(count).ok().and_then(|count| bytes_of(&datatype, count)).ok_or_else(|| {
        let what = format!("{count} elements of a datatype of {} bytes: expected 0 or more", datatype.size());
        MpiError::new(abi::MPI_ERR_COUNT, what)
    })?;
    // SAFETY: MPI requires the program to pass a valid pointer to a status.
    unsafe { (*status).set_bytes(bytes) };
    Ok(())
}

mpi_functions! {
    fn MPI_Get_count(p; status: *const Status, datatype: Handle, count: *mut c_int) {
        *count = p.datatype(datatype)?.items_in((*status).bytes() as usize).map_or(abi::MPI_UNDEFINED, int);
        Ok(())
    }
    fn MPI_Get_elements(p; status: *const Status, datatype: Handle, count: *mut c_int) {
        *count = p.datatype(datatype)?.elements_in((*status).bytes() as usize).map_or(abi::MPI_UNDEFINED, int);
        Ok(())
    }
    fn MPI_Get_elements_x(p; status: *const Status, datatype: Handle, count: *mut Count) {
        let elements = p.datatype(datatype)?.elements_in((*status).bytes() as usize);
        *count = elements.map_or(Count::from(abi::MPI_UNDEFINED), |elements| elements as Count);
        Ok(())
    }
    fn MPI_Status_set_elements(p; status: *mut Status, datatype: Handle, count: c_int) {
        set_elements(p, status, datatype, count.into())
    }
    fn MPI_Status_set_elements_x(p; status: *mut Status, datatype: Handle, count: Count) {
        set_elements(p, status, datatype, count)
    }
    fn MPI_Status_get_error(_p; status: *const Status, error: *mut c_int) {
        *error = (*status).error;
        Ok(())
    }
    fn MPI_Status_get_source(_p; status: *const Status, source: *mut c_int) {
        *source = (*status).source;
        Ok(())
    }
    fn MPI_Status_get_tag(_p; status: *const Status, tag: *mut c_int) {
        *tag = (*status).tag;
        Ok(())
    }
    fn MPI_Status_set_error(_p; status: *mut Status, error: c_int) {
        (*status).error = error;
        Ok(())
    }
    fn MPI_Status_set_source(_p; status: *mut Status, source: c_int) {
        (*status).source = source;
        Ok(())
    }
    fn MPI_Status_set_tag(_p; status: *mut Status, tag: c_int) {
        (*status).tag = tag;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_bytes_agree() {
        let named = |handle| Datatype::named(handle).unwrap().clone();
        let types = [named(abi::MPI_CHAR), named(abi::MPI_DOUBLE_INT), named(abi::MPI_DOUBLE)];
        let mixed = Datatype::structure(&[3, 2, 1], &[0, 8, 64], &types).unwrap();
        assert_eq!((mixed.size(), mixed.elements()), (35, 8));
        for elements in 0..=40 {
            let bytes = bytes_of(&mixed, elements).unwrap();
            assert_eq!(mixed.elements_in(bytes as usize), Some(elements), "{bytes} bytes");
        }
        assert_eq!((bytes_of(&mixed, 4), bytes_of(&mixed, 8), bytes_of(&mixed, u64::MAX)), (Some(11), Some(35), None));
        let nothing = Datatype::contiguous(0, &named(abi::MPI_INT)).unwrap();
        assert_eq!((bytes_of(&nothing, 0), bytes_of(&nothing, 1)), (Some(0), None));
    }
}
