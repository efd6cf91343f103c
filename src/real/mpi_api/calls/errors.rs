//! Functions for error handlers, error classes and error codes (MPI-3.1, sections 8.3 to 8.5).
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};

use crate::mpi_api::attribute::Holder;
use crate::mpi_api::error::{MpiError, MpiResult, On};
use crate::mpi_api::handler::HandlerFunction;
use crate::mpi_api::process::MpiProcess;
use crate::process::Function;
use crate::process::{put_text, text};
use mcpsim_core::mpi::abi::{self, Handle};

fn bad_code(code: c_int) -> MpiError {
    MpiError::new(abi::MPI_ERR_ARG, format!("{code} is no error code"))
}

unsafe fn create(p: &MpiProcess, of: Holder, function: Option<HandlerFunction>, handler: *mut Handle) -> MpiResult {
    let function = function.ok_or_else(|| MpiError::new(abi::MPI_ERR_ARG, "the function is null"))?;
    // SAFETY: MPI requires the program to pass a valid pointer for the result, and `mpi_functions!` rejects null.
    unsafe { *handler = p.errors.add_handler(of, function) };
    Ok(())
}

/// Calls the error handler of an MPI object by request of the program (MPI_Comm_call_errhandler).
fn call(p: &MpiProcess, code: c_int, on: On) -> MpiResult {
    p.errors.class(code).ok_or_else(|| bad_code(code))?;
    let error = MpiError::new(code, p.errors.text(code).unwrap_or_default()).on(on);
    // The MPI function succeeds regardless of the error handler's result.
    p.raise(error);
    Ok(())
}

mpi_functions! {
    fn MPI_Comm_create_errhandler(p; function: Option<HandlerFunction>, handler: *mut Handle) {
        create(p, Holder::Comm, function, handler)
    }
    fn MPI_Comm_set_errhandler(p; comm: Handle, handler: Handle) {
        let object = p.comm(comm)?;
        p.errors.usable(Holder::Comm, handler).map_err(|error| error.on_comm(comm))?;
        object.errhandler.set(handler);
        Ok(())
    }
    fn MPI_Comm_get_errhandler(p; comm: Handle, handler: *mut Handle) {
        *handler = p.comm(comm)?.errhandler.get();
        p.errors.hand_out(*handler);
        Ok(())
    }
    fn MPI_Comm_call_errhandler(p; comm: Handle, code: c_int) {
        p.comm(comm)?;
        call(p, code, On::Comm(comm))
    }
    fn MPI_Win_create_errhandler(p; function: Option<HandlerFunction>, handler: *mut Handle) {
        create(p, Holder::Win, function, handler)
    }
    fn MPI_Win_set_errhandler(p; win: Handle, handler: Handle) {
        let object = p.of_window(win)?;
        p.errors.usable(Holder::Win, handler).map_err(|error| error.on_win(win))?;
        object.errhandler.set(handler);
        Ok(())
    }
    fn MPI_Win_get_errhandler(p; win: Handle, handler: *mut Handle) {
        *handler = p.of_window(win)?.errhandler.get();
        p.errors.hand_out(*handler);
        Ok(())
    }
    fn MPI_Win_call_errhandler(p; win: Handle, code: c_int) {
        p.of_window(win)?;
        call(p, code, On::Win(win))
    }
    fn MPI_Errhandler_free(p; handler: *mut Handle) {
        p.errors.free(*handler)?;
        *handler = abi::MPI_ERRHANDLER_NULL;
        Ok(())
    }
    fn MPI_Error_class(p; code: c_int, class: *mut c_int) {
        *class = p.errors.class(code).ok_or_else(|| bad_code(code))?;
        Ok(())
    }
    fn MPI_Error_string(p; code: c_int, string: *mut c_char, length: *mut c_int) {
        let text = p.errors.text(code).ok_or_else(|| bad_code(code))?;
        *length = put_text(string, abi::MPI_MAX_ERROR_STRING, &text) as c_int;
        Ok(())
    }
    fn MPI_Add_error_class(p; class: *mut c_int) {
        *class = p.errors.add_code(None)?;
        p.attributes.set_last_code(*class);
        Ok(())
    }
    fn MPI_Add_error_code(p; class: c_int, code: *mut c_int) {
        *code = p.errors.add_code(Some(class))?;
        p.attributes.set_last_code(*code);
        Ok(())
    }
    fn MPI_Add_error_string(p; code: c_int, string: *const c_char) {
        p.errors.set_text(code, text(string).unwrap_or_default().into_owned())
    }
}

/// Deprecated error handler functions of MPI-1, with the current functions.
pub const OLD_NAMES: &[(&str, Function)] = &[
    ("MPI_Errhandler_create", Function(MPI_Comm_create_errhandler as *const ())),
    ("MPI_Errhandler_set", Function(MPI_Comm_set_errhandler as *const ())),
    ("MPI_Errhandler_get", Function(MPI_Comm_get_errhandler as *const ())),
];
