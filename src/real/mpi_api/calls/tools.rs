//! Functions of the tool information interface (MPI-3.1, section 14.3). mcpsim provides no control variables,
//! performance variables or categories, which the standard permits.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::ptr;

use crate::mpi_api::error::{MpiError, MpiResult, On};
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::abi::{self, Handle};

/// Returns an error that calls no error handler (MPI-3.1, section 14.3.9).
fn refuse(class: c_int) -> MpiResult {
    Err(MpiError::new(class, "").on(On::Nobody))
}

fn ready(p: &MpiProcess) -> MpiResult {
    match p.tools.get() {
        0 => refuse(abi::MPI_T_ERR_NOT_INITIALIZED),
        _ => Ok(()),
    }
}

/// Returns an error for every index, because mcpsim has no variables or categories of the tool information interface.
fn by_index(p: &MpiProcess) -> MpiResult {
    ready(p)?;
    refuse(abi::MPI_T_ERR_INVALID_INDEX)
}

fn by_name(p: &MpiProcess) -> MpiResult {
    ready(p)?;
    refuse(abi::MPI_T_ERR_INVALID_NAME)
}

/// Returns an error for every handle, because mcpsim has no handles of the tool information interface.
fn by_handle(p: &MpiProcess) -> MpiResult {
    ready(p)?;
    refuse(abi::MPI_T_ERR_INVALID_HANDLE)
}

/// Handle of every session of the tool information interface. All sessions share one handle, because sessions without
/// variables have no state.
const SESSION: Handle = 1;

/// Value of MPI_T_PVAR_ALL_HANDLES.
const ALL: Handle = 1;

fn in_session(p: &MpiProcess, session: Handle) -> MpiResult {
    ready(p)?;
    match session {
        SESSION => Ok(()),
        _ => refuse(abi::MPI_T_ERR_INVALID_SESSION),
    }
}

/// Checks the arguments of a function that acts on all handles of a tool session. A function on all handles has no
/// effect, because mcpsim has no tool handles.
fn on_all(p: &MpiProcess, session: Handle, handle: Handle) -> MpiResult {
    in_session(p, session)?;
    match handle {
        ALL => Ok(()),
        _ => refuse(abi::MPI_T_ERR_INVALID_HANDLE),
    }
}

fn none(p: &MpiProcess, count: *mut c_int) -> MpiResult {
    ready(p)?;
    // SAFETY: MPI requires the program to pass a valid pointer for the result.
    unsafe { *count = 0 };
    Ok(())
}

mpi_functions! {
    fn MPI_T_init_thread(p; required: c_int, provided: *mut c_int) {
        p.tools.set(p.tools.get() + 1);
        *provided = required.min(abi::MPI_THREAD_FUNNELED);
        Ok(())
    }
    fn MPI_T_finalize(p;) {
        ready(p)?;
        p.tools.set(p.tools.get() - 1);
        Ok(())
    }
    fn MPI_T_cvar_get_num(p; num_cvar: *mut c_int) {
        none(p, num_cvar)
    }
    fn MPI_T_pvar_get_num(p; num_pvar: *mut c_int) {
        none(p, num_pvar)
    }
    fn MPI_T_category_get_num(p; num_cat: *mut c_int) {
        none(p, num_cat)
    }
    fn MPI_T_category_changed(p; update_number: *mut c_int) {
        none(p, update_number)
    }
    fn MPI_T_cvar_get_index(p; _name: *const c_char, _index: *mut c_int) {
        by_name(p)
    }
    fn MPI_T_pvar_get_index(p; _name: *const c_char, _class: c_int, _index: *mut c_int) {
        by_name(p)
    }
    fn MPI_T_category_get_index(p; _name: *const c_char, _index: *mut c_int) {
        by_name(p)
    }
    fn MPI_T_cvar_get_info(p; _index: c_int) {
        by_index(p)
    }
    fn MPI_T_pvar_get_info(p; _index: c_int) {
        by_index(p)
    }
    fn MPI_T_category_get_info(p; _index: c_int) {
        by_index(p)
    }
    fn MPI_T_category_get_cvars(p; _index: c_int) {
        by_index(p)
    }
    fn MPI_T_category_get_pvars(p; _index: c_int) {
        by_index(p)
    }
    fn MPI_T_category_get_categories(p; _index: c_int) {
        by_index(p)
    }
    fn MPI_T_enum_get_info(p; _kind: Handle) {
        by_handle(p)
    }
    fn MPI_T_enum_get_item(p; _kind: Handle) {
        by_handle(p)
    }
    fn MPI_T_cvar_handle_alloc(p; _index: c_int) {
        by_index(p)
    }
    fn MPI_T_cvar_handle_free(p; _handle: *mut Handle) {
        by_handle(p)
    }
    fn MPI_T_cvar_read(p; _handle: Handle, _buf: *mut c_void) {
        by_handle(p)
    }
    fn MPI_T_cvar_write(p; _handle: Handle, _buf: *const c_void) {
        by_handle(p)
    }
    fn MPI_T_pvar_session_create(p; session: *mut Handle) {
        ready(p)?;
        *session = SESSION;
        Ok(())
    }
    fn MPI_T_pvar_session_free(p; session: *mut Handle) {
        in_session(p, *session)?;
        ptr::write(session, 0);
        Ok(())
    }
    fn MPI_T_pvar_handle_alloc(p; session: Handle) {
        in_session(p, session)?;
        by_index(p)
    }
    fn MPI_T_pvar_handle_free(p; session: Handle) {
        in_session(p, session)?;
        by_handle(p)
    }
    fn MPI_T_pvar_start(p; session: Handle, handle: Handle) {
        on_all(p, session, handle)
    }
    fn MPI_T_pvar_stop(p; session: Handle, handle: Handle) {
        on_all(p, session, handle)
    }
    fn MPI_T_pvar_reset(p; session: Handle, handle: Handle) {
        on_all(p, session, handle)
    }
    fn MPI_T_pvar_read(p; session: Handle) {
        in_session(p, session)?;
        by_handle(p)
    }
    fn MPI_T_pvar_readreset(p; session: Handle) {
        in_session(p, session)?;
        by_handle(p)
    }
    fn MPI_T_pvar_write(p; session: Handle) {
        in_session(p, session)?;
        by_handle(p)
    }
}
