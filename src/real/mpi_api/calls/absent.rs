//! Unsupported MPI functions: file functions (MPI-3.1, chapter 13) and dynamic processes (MPI-3.1, chapter 10).
//! Programs that contain calls of unsupported functions can be linked, but the call is an error whose message names
//! the function.
#![allow(unsafe_code)]

use std::ffi::c_int;

use super::define;
use crate::mpi_api::error::MpiError;
use crate::process::Function;
use mcpsim_core::mpi::abi;

macro_rules! absent {
    ($($name:ident)*) => {
        $(
            /// Ends the run with an error that names the unsupported MPI function. The arguments of the MPI call are
            /// ignored.
            #[allow(non_snake_case)]
            extern "C" fn $name() -> c_int {
                define::run(stringify!($name), |_| {
                    Err(MpiError::new(abi::MPI_ERR_UNSUPPORTED_OPERATION, "mcpsim does not simulate this function"))
                })
            }
        )*
        pub const TABLE: &[(&str, Function)] = &[$((stringify!($name), Function($name as *const ())),)*];
    };
}

absent! {
    MPI_Comm_accept
    MPI_Comm_connect
    MPI_Comm_join
    MPI_Comm_spawn
    MPI_Comm_spawn_multiple
    MPI_Open_port
    MPI_Close_port
    MPI_Publish_name
    MPI_Unpublish_name
    MPI_Lookup_name
    MPI_Register_datarep
    MPI_File_call_errhandler
    MPI_File_close
    MPI_File_create_errhandler
    MPI_File_delete
    MPI_File_get_amode
    MPI_File_get_atomicity
    MPI_File_get_byte_offset
    MPI_File_get_errhandler
    MPI_File_get_group
    MPI_File_get_info
    MPI_File_get_position
    MPI_File_get_position_shared
    MPI_File_get_size
    MPI_File_get_type_extent
    MPI_File_get_view
    MPI_File_iread
    MPI_File_iread_all
    MPI_File_iread_at
    MPI_File_iread_at_all
    MPI_File_iread_shared
    MPI_File_iwrite
    MPI_File_iwrite_all
    MPI_File_iwrite_at
    MPI_File_iwrite_at_all
    MPI_File_iwrite_shared
    MPI_File_open
    MPI_File_preallocate
    MPI_File_read
    MPI_File_read_all
    MPI_File_read_all_begin
    MPI_File_read_all_end
    MPI_File_read_at
    MPI_File_read_at_all
    MPI_File_read_at_all_begin
    MPI_File_read_at_all_end
    MPI_File_read_ordered
    MPI_File_read_ordered_begin
    MPI_File_read_ordered_end
    MPI_File_read_shared
    MPI_File_seek
    MPI_File_seek_shared
    MPI_File_set_atomicity
    MPI_File_set_errhandler
    MPI_File_set_info
    MPI_File_set_size
    MPI_File_set_view
    MPI_File_sync
    MPI_File_write
    MPI_File_write_all
    MPI_File_write_all_begin
    MPI_File_write_all_end
    MPI_File_write_at
    MPI_File_write_at_all
    MPI_File_write_at_all_begin
    MPI_File_write_at_all_end
    MPI_File_write_ordered
    MPI_File_write_ordered_begin
    MPI_File_write_ordered_end
    MPI_File_write_shared
    MPI_File_c2f
    MPI_File_f2c
}
