//! Variables and functions of Open MPI that its libraries for Fortran and C++ use. The sizes of variables are those of
//! Open MPI 4, because executables may copy the variables.
#![allow(non_snake_case)]

use std::ffi::{c_char, c_int, c_void};

use crate::abi::*;
use crate::callbacks::{CallbackLanguage, handler_of};
use crate::convert::*;
use crate::functions::*;

macro_rules! variables {
    ($($name:ident: $type:ty = $value:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            pub static mut $name: $type = $value;
        )*
    };
}

variables! {
    mpi_fortran_argv_null_: u8 = 0;
    mpi_fortran_argvs_null_: u8 = 0;
    mpi_fortran_bottom_: c_int = 0;
    mpi_fortran_errcodes_ignore_: c_int = 0;
    mpi_fortran_in_place_: c_int = 0;
    mpi_fortran_status_ignore_: u64 = 0;
    mpi_fortran_statuses_ignore_: u64 = 0;
    mpi_fortran_unweighted_: c_int = 0;
    mpi_fortran_weights_empty_: c_int = 0;
    MPI_F_STATUS_IGNORE: *mut u64 = &raw mut mpi_fortran_status_ignore_;
    MPI_F_STATUSES_IGNORE: *mut u64 = &raw mut mpi_fortran_statuses_ignore_;
    ompi_errcode_intern_lastused: c_int = 0;
    ompi_errcodes_intern: [u64; 15] = [0; 15];
    ompi_mpi_errcode_lastused: c_int = 0;
    ompi_mpi_errcodes: [u64; 15] = [0; 15];
    // The libraries do not check arguments; the functions that they call do.
    ompi_mpi_param_check: bool = false;
    ompi_mpi_state: c_int = 5;
    ompi_registered_datareps: [u64; 8] = [0; 8];
    ompi_mpi_errors_throw_exceptions: [u64; 128] = [0; 128];
}

/// Creates an error handler for communicators (`kind` is 1) or windows (2) in C (`language` is 0), C++ or Fortran (2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_errhandler_create(kind: c_int, function: usize, language: c_int) -> Raw {
    let mut created = 0;
    let language = if language == 2 { CallbackLanguage::Fortran } else { CallbackLanguage::C };
    // SAFETY: the result has room.
    unsafe {
        match kind {
            1 => call!("MPI_Comm_create_errhandler"(
                handler_of(HandleClass::Comm, function, language) => usize, &mut created => *mut usize)),
            2 => call!("MPI_Win_create_errhandler"(
                handler_of(HandleClass::Win, function, language) => usize, &mut created => *mut usize)),
            _ => absent("MPI_File_create_errhandler"),
        };
    }
    handle_out(HandleClass::Errhandler, created)
}

macro_rules! failing {
    ($($name:ident $missing:literal;)*) => {
        $(
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> c_int {
                absent($missing)
            }
        )*
    };
}

failing! {
    ompi_fortran_argv_blank_f2c "MPI_Comm_spawn";
    ompi_fortran_argv_count_f2c "MPI_Comm_spawn";
    ompi_fortran_multiple_argvs_f2c "MPI_Comm_spawn_multiple";
    ompi_op_set_cxx_callback "MPI::Op::Init";
    ompi_mpi_errors_are_fatal_comm_handler "an MPI function before MPI_Init";
    ompi_mpi_errors_are_fatal_win_handler "an MPI function before MPI_Init";
    ompi_mpi_errors_are_fatal_file_handler "an MPI function before MPI_Init";
    mpi_conversion_fn_null_ "MPI_Register_datarep";
    mpi_conversion_fn_null "MPI_Register_datarep";
    mpi_conversion_fn_null__ "MPI_Register_datarep";
    MPI_CONVERSION_FN_NULL "MPI_Register_datarep";
}

/// Stores a copy of a Fortran string, without leading and trailing blanks, as a string of C. The caller frees it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_fortran_string_f2c(from: *const c_char, length: c_int, to: *mut *mut c_char) -> c_int {
    // SAFETY: the caller passes a string with its length, and room for the result.
    unsafe {
        let text = std::slice::from_raw_parts(from.cast::<u8>(), length.max(0) as usize);
        let start = text.iter().position(|&byte| byte != b' ').unwrap_or(text.len());
        let end = text.iter().rposition(|&byte| byte != b' ').map_or(start, |last| last + 1);
        let copy = libc::malloc(end - start + 1).cast::<u8>();
        if copy.is_null() {
            return MPI_Comm_call_errhandler(addresses_of_world(), 39);
        }
        std::ptr::copy_nonoverlapping(text.as_ptr().add(start), copy, end - start);
        *copy.add(end - start) = 0;
        *to = copy.cast();
        0
    }
}

fn addresses_of_world() -> Raw {
    handle_out(HandleClass::Comm, mcpsim_core::mpi::abi::MPI_COMM_WORLD)
}

/// Copies a string of C to a Fortran string and fills the rest with blanks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_fortran_string_c2f(from: *const c_char, to: *mut c_char, length: c_int) -> c_int {
    // SAFETY: the caller passes a string and room for `length` characters.
    unsafe {
        let room = length.max(0) as usize;
        let count = libc::strlen(from).min(room);
        std::ptr::copy_nonoverlapping(from, to, count);
        std::ptr::write_bytes(to.add(count), b' ', room - count);
    }
    0
}

/// Defines a Fortran procedure under the names of several compilers.
macro_rules! procedures {
    ($([$($name:ident)*] $arguments:tt $body:block)*) => { $($(procedure! { $name $arguments $body })*)* };
}

macro_rules! procedure {
    ($name:ident ($($argument:ident: $type:ty),*) $body:block) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) {
            // SAFETY: Fortran code passes the addresses of variables with these types.
            unsafe { $body }
        }
    };
}

procedures! {
    [mpi_wtime_f90 mpi_wtime_f90_ mpi_wtime_f90__ MPI_WTIME_F90] (time: *mut f64) {
        *time = MPI_Wtime();
    }
    [mpi_wtick_f90 mpi_wtick_f90_ mpi_wtick_f90__ MPI_WTICK_F90] (time: *mut f64) {
        *time = MPI_Wtick();
    }
    [mpi_aint_add_f90 mpi_aint_add_f90_ mpi_aint_add_f90__ MPI_AINT_ADD_F90]
    (base: *mut isize, distance: *mut isize, sum: *mut isize) {
        *sum = (*base).wrapping_add(*distance);
    }
    [mpi_aint_diff_f90 mpi_aint_diff_f90_ mpi_aint_diff_f90__ MPI_AINT_DIFF_F90]
    (a: *mut isize, b: *mut isize, difference: *mut isize) {
        *difference = (*a).wrapping_sub(*b);
    }
    [mpi_dup_fn mpi_dup_fn_ mpi_dup_fn__ MPI_DUP_FN]
    (_object: *mut c_int, _key: *mut c_int, _extra: *mut c_int, value: *mut c_int, new: *mut c_int,
    flag: *mut c_int, code: *mut c_int) {
        *new = *value;
        (*flag, *code) = (1, 0);
    }
    [mpi_comm_dup_fn mpi_comm_dup_fn_ mpi_comm_dup_fn__ MPI_COMM_DUP_FN
    mpi_type_dup_fn mpi_type_dup_fn_ mpi_type_dup_fn__ MPI_TYPE_DUP_FN
    mpi_win_dup_fn mpi_win_dup_fn_ mpi_win_dup_fn__ MPI_WIN_DUP_FN
    ompi_comm_dup_fn_f ompi_type_dup_fn_f ompi_win_dup_fn_f]
    (_object: *mut c_int, _key: *mut c_int, _extra: *mut isize, value: *mut isize, new: *mut isize,
    flag: *mut c_int, code: *mut c_int) {
        *new = *value;
        (*flag, *code) = (1, 0);
    }
    [mpi_null_copy_fn mpi_null_copy_fn_ mpi_null_copy_fn__ MPI_NULL_COPY_FN
    mpi_comm_null_copy_fn mpi_comm_null_copy_fn_ mpi_comm_null_copy_fn__ MPI_COMM_NULL_COPY_FN
    mpi_type_null_copy_fn mpi_type_null_copy_fn_ mpi_type_null_copy_fn__ MPI_TYPE_NULL_COPY_FN
    mpi_win_null_copy_fn mpi_win_null_copy_fn_ mpi_win_null_copy_fn__ MPI_WIN_NULL_COPY_FN
    ompi_comm_null_copy_fn_f ompi_type_null_copy_fn_f ompi_win_null_copy_fn_f]
    (_object: *mut c_int, _key: *mut c_int, _extra: *mut c_void, _value: *mut c_void, _new: *mut c_void,
    flag: *mut c_int, code: *mut c_int) {
        (*flag, *code) = (0, 0);
    }
    [mpi_null_delete_fn mpi_null_delete_fn_ mpi_null_delete_fn__ MPI_NULL_DELETE_FN
    mpi_comm_null_delete_fn mpi_comm_null_delete_fn_ mpi_comm_null_delete_fn__ MPI_COMM_NULL_DELETE_FN
    mpi_type_null_delete_fn mpi_type_null_delete_fn_ mpi_type_null_delete_fn__ MPI_TYPE_NULL_DELETE_FN
    mpi_win_null_delete_fn mpi_win_null_delete_fn_ mpi_win_null_delete_fn__ MPI_WIN_NULL_DELETE_FN
    ompi_comm_null_delete_fn_f ompi_type_null_delete_fn_f ompi_win_null_delete_fn_f]
    (_object: *mut c_int, _key: *mut c_int, _value: *mut c_void, _extra: *mut c_void, code: *mut c_int) {
        *code = 0;
    }
}
