//! Functions of MPI 5 that describe the binary interface and convert handles to integers (MPI-5.0, chapter "Application
//! Binary Interface (ABI)").
#![allow(non_snake_case)]

use std::ffi::c_int;

use crate::abi::Raw;

macro_rules! handles {
    ($($toint:ident $fromint:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $toint(handle: Raw) -> c_int {
                c_int::try_from(handle).unwrap_or(-1)
            }

            #[unsafe(no_mangle)]
            pub extern "C" fn $fromint(handle: c_int) -> Raw {
                Raw::try_from(handle).unwrap_or(0)
            }
        )*
    };
}

handles! {
    MPI_Comm_toint MPI_Comm_fromint
    MPI_Errhandler_toint MPI_Errhandler_fromint
    MPI_File_toint MPI_File_fromint
    MPI_Group_toint MPI_Group_fromint
    MPI_Info_toint MPI_Info_fromint
    MPI_Message_toint MPI_Message_fromint
    MPI_Op_toint MPI_Op_fromint
    MPI_Request_toint MPI_Request_fromint
    MPI_Session_toint MPI_Session_fromint
    MPI_Type_toint MPI_Type_fromint
    MPI_Win_toint MPI_Win_fromint
    PMPI_Comm_toint PMPI_Comm_fromint
    PMPI_Errhandler_toint PMPI_Errhandler_fromint
    PMPI_File_toint PMPI_File_fromint
    PMPI_Group_toint PMPI_Group_fromint
    PMPI_Info_toint PMPI_Info_fromint
    PMPI_Message_toint PMPI_Message_fromint
    PMPI_Op_toint PMPI_Op_fromint
    PMPI_Request_toint PMPI_Request_fromint
    PMPI_Session_toint PMPI_Session_fromint
    PMPI_Type_toint PMPI_Type_fromint
    PMPI_Win_toint PMPI_Win_fromint
}

/// Stores the version of the binary interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Abi_get_version(major: *mut c_int, minor: *mut c_int) -> c_int {
    // SAFETY: the program passes room for the results.
    unsafe { (*major, *minor) = (1, 0) };
    0
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abi_get_version(major: *mut c_int, minor: *mut c_int) -> c_int {
    // SAFETY: as above.
    unsafe { MPI_Abi_get_version(major, minor) }
}
