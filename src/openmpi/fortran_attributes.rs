//! Attributes whose values and callbacks belong to Fortran code: functions of Open MPI that its library for Fortran
//! calls.

use std::ffi::{c_int, c_void};

use mcpsim_core::mpi::abi as standard;

use crate::abi::{Raw, RawStatus, handle_in, handle_out};
use crate::callbacks::{create_keyval, set_proxies};
use crate::convert::*;
use crate::functions::*;
use crate::indices::fint_of_any;

/// Kinds of objects with attributes, by the number that Open MPI gives them.
fn kind(number: c_int) -> (HandleClass, &'static str) {
    match number {
        1 => (HandleClass::Comm, "MPI_Comm_create_keyval"),
        2 => (HandleClass::Type, "MPI_Type_create_keyval"),
        _ => (HandleClass::Win, "MPI_Win_create_keyval"),
    }
}

macro_rules! proxies {
    ($copy:ident $delete:ident $integer:ty) => {
        unsafe extern "C" fn $copy(
            function: usize,
            handle: Raw,
            mut key: c_int,
            extra: *mut c_void,
            _: c_int,
            value: *mut c_void,
            new: *mut c_void,
            flag: *mut c_int,
        ) -> c_int {
            type Integer = $integer;
            // SAFETY: the program has registered a Fortran function with this signature.
            unsafe {
                let function: unsafe extern "C" fn(
                    *mut c_int,
                    *mut c_int,
                    *mut Integer,
                    *mut Integer,
                    *mut Integer,
                    *mut c_int,
                    *mut c_int,
                ) = std::mem::transmute(function);
                let (mut handle, mut extra, mut value) =
                    (fint_of_any(handle), extra as isize as Integer, value as isize as Integer);
                let (mut copied, mut code) = (0 as Integer, 0);
                function(&mut handle, &mut key, &mut extra, &mut value, &mut copied, flag, &mut code);
                *new.cast::<isize>() = copied as isize;
                code
            }
        }

        unsafe extern "C" fn $delete(
            function: usize,
            handle: Raw,
            mut key: c_int,
            _: c_int,
            value: *mut c_void,
            extra: *mut c_void,
        ) -> c_int {
            type Integer = $integer;
            // SAFETY: as above.
            unsafe {
                let function: unsafe extern "C" fn(*mut c_int, *mut c_int, *mut Integer, *mut Integer, *mut c_int) =
                    std::mem::transmute(function);
                let (mut handle, mut extra, mut value) =
                    (fint_of_any(handle), extra as isize as Integer, value as isize as Integer);
                let mut code = 0;
                function(&mut handle, &mut key, &mut value, &mut extra, &mut code);
                code
            }
        }
    };
}

proxies!(copy_integer delete_integer c_int);
proxies!(copy_address delete_address isize);

/// Creates a key whose callbacks are C code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_attr_create_keyval(
    number: c_int,
    copy: usize,
    delete: usize,
    key: *mut c_int,
    extra: *mut c_void,
    _: c_int,
    _: *mut c_void,
) -> c_int {
    let (kind, name) = kind(number);
    // SAFETY: the caller passes functions of the program and room for the key.
    unsafe { create_keyval(name, kind, (copy, delete), key, extra) }
}

/// Creates a key whose values are integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_attr_create_keyval_fint(
    number: c_int,
    copy: usize,
    delete: usize,
    key: *mut c_int,
    extra: c_int,
    flags: c_int,
    state: *mut c_void,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let code = ompi_attr_create_keyval(number, copy, delete, key, extra as isize as *mut c_void, flags, state);
        set_proxies(*key, copy_integer, delete_integer);
        code
    }
}

/// Creates a key whose values are address integers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_attr_create_keyval_aint(
    number: c_int,
    copy: usize,
    delete: usize,
    key: *mut c_int,
    extra: isize,
    flags: c_int,
    state: *mut c_void,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        let code = ompi_attr_create_keyval(number, copy, delete, key, extra as *mut c_void, flags, state);
        set_proxies(*key, copy_address, delete_address);
        code
    }
}

/// Sets an attribute of an object to an address integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_attr_set_aint(
    number: c_int,
    object: Raw,
    _: *mut c_void,
    key: c_int,
    value: isize,
    _: bool,
) -> c_int {
    // SAFETY: the caller passes a handle.
    unsafe {
        match kind(number).0 {
            HandleClass::Comm => MPI_Comm_set_attr(object, key, value as *mut c_void),
            HandleClass::Type => MPI_Type_set_attr(object, key, value as *mut c_void),
            _ => MPI_Win_set_attr(object, key, value as *mut c_void),
        }
    }
}

/// Sets an attribute of an object to an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_attr_set_fint(
    number: c_int,
    object: Raw,
    table: *mut c_void,
    key: c_int,
    value: c_int,
    predefined: bool,
) -> c_int {
    // SAFETY: as above.
    unsafe { ompi_attr_set_aint(number, object, table, key, value as isize, predefined) }
}

/// Stores the attribute of an object as an address integer. `handle` is the word that represents the object's table of
/// attributes: the standard handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_attr_get_aint(handle: usize, key: c_int, value: *mut isize, flag: *mut c_int) -> c_int {
    // SAFETY: the caller passes room for the results.
    unsafe {
        let mut found: *mut c_void = std::ptr::null_mut();
        let at = (&raw mut found).cast::<c_void>();
        let is_user = handle >= standard::FIRST_USER && handle != usize::MAX;
        let code = match (is_user, handle & 15) {
            (true, 8) => MPI_Win_get_attr(handle_out(HandleClass::Win, handle), key, at, flag),
            (true, 3) => MPI_Type_get_attr(handle_out(HandleClass::Type, handle), key, at, flag),
            (false, _) if handle >= standard::MPI_DATATYPE_NULL => {
                MPI_Type_get_attr(handle_out(HandleClass::Type, handle), key, at, flag)
            }
            _ => MPI_Comm_get_attr(handle_out(HandleClass::Comm, handle), key, at, flag),
        };
        if code == 0 && *flag != 0 {
            *value = match keyval_in(key) {
                standard::MPI_WIN_SIZE => *found.cast::<isize>(),
                standard::MPI_WIN_BASE => found as isize,
                // C code gets the addresses of predefined values.
                known if known != key => *found.cast::<c_int>() as isize,
                _ => found as isize,
            };
        }
        code
    }
}

/// Stores the attribute of an object as an integer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_attr_get_fint(handle: usize, key: c_int, value: *mut c_int, flag: *mut c_int) -> c_int {
    let mut found = 0;
    // SAFETY: as above.
    unsafe {
        let code = ompi_attr_get_aint(handle, key, &mut found, flag);
        if code == 0 && *flag != 0 {
            *value = found as c_int;
        }
        code
    }
}

/// Returns the datatype with a size and a class, which is 0x1000, 0x2000 or 0x3000 for integer, real and complex.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_datatype_match_size(size: c_int, class: u16, _: u16) -> Raw {
    let class = match class >> 12 {
        1 => standard::MPI_TYPECLASS_INTEGER,
        2 => standard::MPI_TYPECLASS_REAL,
        _ => standard::MPI_TYPECLASS_COMPLEX,
    };
    let mut found = standard::MPI_DATATYPE_NULL;
    // SAFETY: the result has room.
    unsafe {
        call!("MPI_Type_match_size"(class => c_int, size => c_int, &mut found => *mut usize));
    }
    handle_out(HandleClass::Type, found)
}

/// Status of an operation that did not take place: source and tag are wildcards.
#[unsafe(no_mangle)]
pub static ompi_status_empty: [c_int; size_of::<RawStatus>() / 4] = [-1, -1, 0, 0, 0, 0];

/// Calls the error handler of `MPI_COMM_WORLD`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompi_errhandler_invoke(
    _: Raw,
    _: *mut c_void,
    _: c_int,
    code: c_int,
    _: *const c_void,
) -> c_int {
    let world = handle_in(HandleClass::Comm, handle_out(HandleClass::Comm, standard::MPI_COMM_WORLD));
    // SAFETY: the function has this signature.
    unsafe {
        call!("MPI_Comm_call_errhandler"(world => usize, error_in(code) => c_int));
    }
    code
}
