//! Conversions of handles and statuses between C and Fortran (MPI-3.1, sections 17.2.4 and 17.2.5). A Fortran handle
//! has the same value as the C handle. A Fortran status is an array of the integers in a C status.
#![allow(unsafe_code)]
#![allow(non_snake_case)]

use std::ffi::c_int;

use crate::mpi_api::error;
use crate::process::Function;
use mcpsim_core::mpi::abi::{self, Handle, Status};

/// Converts a C handle to a Fortran handle. The value of a C handle fits in an `int`, because handles contain small
/// indices.
unsafe extern "C" fn c2f(handle: Handle) -> c_int {
    handle as c_int
}

/// Converts a Fortran handle to a C handle. Invalid Fortran handles become invalid C handles.
unsafe extern "C" fn f2c(handle: c_int) -> Handle {
    handle as Handle
}

const _: () = assert!(size_of::<Status>() == abi::MPI_F_STATUS_SIZE as usize * size_of::<c_int>());

mpi_functions! {
    fn MPI_Status_c2f(_p; from: *const Status, to: *mut Status) {
        error::expect(!from.is_null(), abi::MPI_ERR_ARG, || "the status is MPI_STATUS_IGNORE".to_owned())?;
        *to = *from;
        Ok(())
    }
    fn MPI_Status_f2c(_p; from: *const Status, to: *mut Status) {
        error::expect(!from.is_null(), abi::MPI_ERR_ARG, || "the status is MPI_F_STATUS_IGNORE".to_owned())?;
        *to = *from;
        Ok(())
    }
}

const C2F: Function = Function(c2f as *const ());
const F2C: Function = Function(f2c as *const ());

/// MPI functions that convert handles, such as MPI_Comm_c2f.
pub const HANDLES: &[(&str, Function)] = &[
    ("MPI_Comm_c2f", C2F),
    ("MPI_Comm_f2c", F2C),
    ("MPI_Errhandler_c2f", C2F),
    ("MPI_Errhandler_f2c", F2C),
    ("MPI_Group_c2f", C2F),
    ("MPI_Group_f2c", F2C),
    ("MPI_Info_c2f", C2F),
    ("MPI_Info_f2c", F2C),
    ("MPI_Message_c2f", C2F),
    ("MPI_Message_f2c", F2C),
    ("MPI_Op_c2f", C2F),
    ("MPI_Op_f2c", F2C),
    ("MPI_Request_c2f", C2F),
    ("MPI_Request_f2c", F2C),
    ("MPI_Type_c2f", C2F),
    ("MPI_Type_f2c", F2C),
    ("MPI_Win_c2f", C2F),
    ("MPI_Win_f2c", F2C),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi_api::handles::{HandleKind, HandleTable};

    #[test]
    fn handles_of_objects_and_constants_come_back() {
        let mut table = HandleTable::new(HandleKind::Message);
        let many = (0..1000).map(|_| table.insert(())).last().unwrap();
        for handle in [abi::MPI_COMM_WORLD, abi::MPI_COMPLEX32, many] {
            // SAFETY: `f2c` and `c2f` only convert numbers.
            assert_eq!(unsafe { f2c(c2f(handle)) }, handle);
        }
    }
}
