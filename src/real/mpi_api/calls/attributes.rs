//! Attributes of communicators, datatypes and windows (MPI-3.1, section 6.7).
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::rc::Rc;

use crate::mpi_api::attribute::{
    AttributeKey, Attributes, CopyFunction, Copying, DeleteFunction, Holder, OfWindow, find, put, take,
};
use crate::mpi_api::error::{MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use crate::process::Function;
use mcpsim_core::mpi::abi::{self, Handle};

impl MpiProcess {
    /// Returns the attributes of the window of `handle`.
    ///
    /// # Errors
    /// MPI_ERR_WIN if the handle is not a valid window.
    pub fn of_window(&self, handle: Handle) -> MpiResult<Rc<OfWindow>> {
        self.attributes.windows.borrow().get(&handle).cloned().ok_or_else(|| {
            let what = match handle {
                abi::MPI_WIN_NULL => "the window is MPI_WIN_NULL".to_owned(),
                _ => format!("{handle:#x} is no handle of a window"),
            };
            MpiError::new(abi::MPI_ERR_WIN, what)
        })
    }

    fn with_attributes<R>(&self, of: Holder, handle: Handle, act: impl FnOnce(&mut Attributes) -> R) -> MpiResult<R> {
        Ok(match of {
            Holder::Comm => act(&mut self.comm(handle)?.attributes.borrow_mut()),
            Holder::Type => act(&mut self.types.borrow_mut().notes(handle)?.attributes),
            Holder::Win => act(&mut self.of_window(handle)?.attributes.borrow_mut()),
        })
    }
}

fn on(of: Holder, handle: Handle) -> impl Fn(MpiError) -> MpiError {
    move |error| match of {
        Holder::Comm => error.on_comm(handle),
        Holder::Type => error,
        Holder::Win => error.on_win(handle),
    }
}

unsafe fn create(
    p: &MpiProcess,
    of: Holder,
    copy: usize,
    delete: usize,
    key: *mut c_int,
    extra: *mut c_void,
) -> MpiResult {
    // SAFETY: MPI requires the program to pass addresses of functions with these signatures. The special values were
    // handled above, and a null pointer becomes `None`.
    let (copy, delete) = unsafe {
        let copy = match copy {
            abi::MPI_NULL_COPY_FN => Copying::Never,
            abi::MPI_DUP_FN => Copying::Always,
            function => Copying::Ask(std::mem::transmute::<usize, CopyFunction>(function)),
        };
        (copy, std::mem::transmute::<usize, Option<DeleteFunction>>(delete))
    };
    // SAFETY: MPI requires the program to pass a valid pointer for the result, and `mpi_functions!` rejects null.
    unsafe { *key = p.attributes.add(AttributeKey { of, copy, delete, extra, freed: false }) };
    Ok(())
}

unsafe fn free(p: &MpiProcess, of: Holder, key: *mut c_int) -> MpiResult {
    // SAFETY: MPI requires the program to pass a valid pointer to a key.
    unsafe {
        p.attributes.free(of, *key)?;
        *key = abi::MPI_KEYVAL_INVALID;
    }
    Ok(())
}

fn set(p: &MpiProcess, of: Holder, handle: Handle, key: c_int, value: usize) -> MpiResult {
    let before = p.with_attributes(of, handle, |list| find(list, key))?;
    p.attributes.usable(of, key).map_err(on(of, handle))?;
    if let Some(before) = before {
        p.delete_attribute(handle, key, before).map_err(on(of, handle))?;
    }
    p.with_attributes(of, handle, |list| put(list, key, value))?;
    Ok(())
}

unsafe fn get(
    p: &MpiProcess,
    of: Holder,
    handle: Handle,
    key: c_int,
    value: *mut usize,
    flag: *mut c_int,
) -> MpiResult {
    let found = match of {
        Holder::Comm if p.attributes.predefined(key).is_some() => {
            p.comm(handle)?;
            p.attributes.predefined(key).map(|value| value.as_ptr() as usize)
        }
        Holder::Win if (abi::MPI_WIN_BASE..=abi::MPI_WIN_MODEL).contains(&key) => {
            find(&p.of_window(handle)?.predefined, key)
        }
        _ => {
            let found = p.with_attributes(of, handle, |list| find(list, key))?;
            if found.is_none() {
                p.attributes.usable(of, key).map_err(on(of, handle))?;
            }
            found
        }
    };
    // SAFETY: MPI requires the program to pass valid pointers for both results.
    unsafe {
        *flag = c_int::from(found.is_some());
        if let Some(found) = found {
            *value = found;
        }
    }
    Ok(())
}

fn delete(p: &MpiProcess, of: Holder, handle: Handle, key: c_int) -> MpiResult {
    let found = p.with_attributes(of, handle, |list| find(list, key))?;
    let value = match found {
        Some(value) => value,
        None => {
            p.attributes.usable(of, key).map_err(on(of, handle))?;
            let what = format!("the object has no attribute with key {key}");
            return Err(on(of, handle)(MpiError::new(abi::MPI_ERR_KEYVAL, what)));
        }
    };
    // If the delete function returns an error, the attribute is not deleted.
    p.delete_attribute(handle, key, value).map_err(on(of, handle))?;
    p.with_attributes(of, handle, |list| take(list, key))?;
    Ok(())
}

mpi_functions! {
    fn MPI_Comm_create_keyval(p; copy: usize, delete: usize, key: *mut c_int, extra: *mut c_void) {
        create(p, Holder::Comm, copy, delete, key, extra)
    }
    fn MPI_Comm_free_keyval(p; key: *mut c_int) {
        free(p, Holder::Comm, key)
    }
    fn MPI_Comm_set_attr(p; comm: Handle, key: c_int, value: usize) {
        set(p, Holder::Comm, comm, key, value)
    }
    fn MPI_Comm_get_attr(p; comm: Handle, key: c_int, value: *mut usize, flag: *mut c_int) {
        get(p, Holder::Comm, comm, key, value, flag)
    }
    fn MPI_Comm_delete_attr(p; comm: Handle, key: c_int) {
        delete(p, Holder::Comm, comm, key)
    }
    fn MPI_Type_create_keyval(p; copy: usize, delete: usize, key: *mut c_int, extra: *mut c_void) {
        create(p, Holder::Type, copy, delete, key, extra)
    }
    fn MPI_Type_free_keyval(p; key: *mut c_int) {
        free(p, Holder::Type, key)
    }
    fn MPI_Type_set_attr(p; datatype: Handle, key: c_int, value: usize) {
        set(p, Holder::Type, datatype, key, value)
    }
    fn MPI_Type_get_attr(p; datatype: Handle, key: c_int, value: *mut usize, flag: *mut c_int) {
        get(p, Holder::Type, datatype, key, value, flag)
    }
    fn MPI_Type_delete_attr(p; datatype: Handle, key: c_int) {
        delete(p, Holder::Type, datatype, key)
    }
    fn MPI_Win_create_keyval(p; copy: usize, delete: usize, key: *mut c_int, extra: *mut c_void) {
        create(p, Holder::Win, copy, delete, key, extra)
    }
    fn MPI_Win_free_keyval(p; key: *mut c_int) {
        free(p, Holder::Win, key)
    }
    fn MPI_Win_set_attr(p; win: Handle, key: c_int, value: usize) {
        set(p, Holder::Win, win, key, value)
    }
    fn MPI_Win_get_attr(p; win: Handle, key: c_int, value: *mut usize, flag: *mut c_int) {
        get(p, Holder::Win, win, key, value, flag)
    }
    fn MPI_Win_delete_attr(p; win: Handle, key: c_int) {
        delete(p, Holder::Win, win, key)
    }
}

/// Deprecated attribute functions of MPI-1, with the current functions.
pub const OLD_NAMES: &[(&str, Function)] = &[
    ("MPI_Keyval_create", Function(MPI_Comm_create_keyval as *const ())),
    ("MPI_Keyval_free", Function(MPI_Comm_free_keyval as *const ())),
    ("MPI_Attr_put", Function(MPI_Comm_set_attr as *const ())),
    ("MPI_Attr_get", Function(MPI_Comm_get_attr as *const ())),
    ("MPI_Attr_delete", Function(MPI_Comm_delete_attr as *const ())),
];
