//! Functions for windows: creation, destruction and queries (MPI-3.1, sections 11.2 and 6.8).
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::rc::Rc;

use crate::mpi_api::error::{MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use crate::mpi_api::window::{Flavor, Window, WindowSize, make_dynamic, make_shared, make_window};
use crate::process::{put_text, text};
use mcpsim_core::mpi::abi::{self, Aint, Handle};

/// Calls `body` with the window of the handle `win`. An error of `body` is assigned to the window.
pub fn on<R>(p: &MpiProcess, win: Handle, body: impl FnOnce(&Rc<Window>) -> MpiResult<R>) -> MpiResult<R> {
    let window = p.window(win)?;
    body(&window).map_err(|error| window.on(error))
}

/// Returns true if the info object requests noncontiguous shared memory (`alloc_shared_noncontig`).
fn is_apart(p: &MpiProcess, info: Handle) -> MpiResult<bool> {
    Ok(p.info_argument(info)?.get(b"alloc_shared_noncontig")? == Some(b"true"))
}

/// Stores the handle and the base address of a new window in the program's variables.
unsafe fn give(p: &MpiProcess, info: Handle, window: &Window, base: *mut c_void, win: *mut Handle) -> MpiResult {
    *window.info.borrow_mut() = p.info_argument(info)?;
    // SAFETY: MPI requires the program to pass valid pointers for results, and `base` is checked for null.
    unsafe {
        if !base.is_null() {
            *base.cast::<*mut u8>() = window.base;
        }
        *win = window.handle;
    }
    Ok(())
}

mpi_functions! {
    fn MPI_Win_create(
        p; base: *mut c_void, size: Aint, disp_unit: c_int, info: Handle, comm: Handle, win: *mut Handle,
    ) {
        p.info_argument(info)?;
        let window = make_window(p, Flavor::Create(base.cast()), WindowSize { size, unit: disp_unit }, comm)?;
        give(p, info, &window, std::ptr::null_mut(), win)
    }
    fn MPI_Win_allocate(
        p; size: Aint, disp_unit: c_int, info: Handle, comm: Handle, baseptr: *mut c_void, win: *mut Handle,
    ) {
        p.info_argument(info)?;
        let window = make_window(p, Flavor::Allocate, WindowSize { size, unit: disp_unit }, comm)?;
        give(p, info, &window, baseptr, win)
    }
    fn MPI_Win_allocate_shared(
        p; size: Aint, disp_unit: c_int, info: Handle, comm: Handle, baseptr: *mut c_void, win: *mut Handle,
    ) {
        let window = make_shared(p, WindowSize { size, unit: disp_unit }, is_apart(p, info)?, comm)?;
        give(p, info, &window, baseptr, win)
    }
    fn MPI_Win_shared_query(
        p; win: Handle, rank: c_int, size: *mut Aint, disp_unit: *mut c_int, baseptr: *mut c_void,
    ) {
        on(p, win, |window| {
            let found = match window.target(rank)? {
                Some(target) => window.shared.get(target as usize),
                // If the rank argument is MPI_PROC_NULL, the result is the memory of the first rank whose window
                // memory is not empty.
                None => window.shared.iter().find(|(_, shape)| shape.size > 0).or(window.shared.first()),
            };
            let &(base, shape) = found.ok_or_else(|| {
                let what = format!("{}: expected a window of MPI_Win_allocate_shared", window.describe());
                MpiError::new(abi::MPI_ERR_RMA_FLAVOR, what)
            })?;
            *size = shape.size;
            *disp_unit = shape.unit;
            // Window memory of size 0 has no address.
            *baseptr.cast::<*mut u8>() = if shape.size > 0 { base } else { std::ptr::null_mut() };
            Ok(())
        })
    }
    fn MPI_Win_create_dynamic(p; info: Handle, comm: Handle, win: *mut Handle) {
        p.info_argument(info)?;
        let window = make_dynamic(p, comm)?;
        give(p, info, &window, std::ptr::null_mut(), win)
    }
    fn MPI_Win_attach(p; win: Handle, base: *mut c_void, size: Aint) {
        on(p, win, |window| window.attach(base.cast(), size))
    }
    fn MPI_Win_detach(p; win: Handle, base: *const c_void) {
        on(p, win, |window| window.detach(base.cast()))
    }
    fn MPI_Win_free(p; win: *mut Handle) {
        on(p, *win, |window| window.free(p))?;
        *win = abi::MPI_WIN_NULL;
        Ok(())
    }
    fn MPI_Win_get_group(p; win: Handle, group: *mut Handle) {
        on(p, win, |window| {
            *group = p.add_group(window.comm.local.group().clone());
            Ok(())
        })
    }
    fn MPI_Win_set_info(p; win: Handle, info: Handle) {
        on(p, win, |window| {
            let hints = p.info_argument(info)?;
            window.info.borrow_mut().merge(&hints);
            Ok(())
        })
    }
    fn MPI_Win_get_info(p; win: Handle, info_used: *mut Handle) {
        on(p, win, |window| {
            let hints = window.info.borrow().clone();
            *info_used = p.add_info(hints);
            Ok(())
        })
    }
    fn MPI_Win_set_name(p; win: Handle, name: *const c_char) {
        on(p, win, |window| {
            let name = text(name).ok_or_else(|| MpiError::new(abi::MPI_ERR_ARG, "the name is null"))?;
            let end = name.char_indices().map(|(at, letter)| at + letter.len_utf8());
            let end = end.take_while(|&end| end < abi::MPI_MAX_OBJECT_NAME).last().unwrap_or(0);
            *window.name.borrow_mut() = name[..end].to_owned();
            Ok(())
        })
    }
    fn MPI_Win_get_name(p; win: Handle, name: *mut c_char, length: *mut c_int) {
        on(p, win, |window| {
            *length = put_text(name, abi::MPI_MAX_OBJECT_NAME, &window.name.borrow()) as c_int;
            Ok(())
        })
    }
}
