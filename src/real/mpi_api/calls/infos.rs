//! Functions for info objects (MPI-3.1, chapter 9, and section 6.4.4 for communicators).
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int};

use crate::mpi_api::error::{self, MpiError, MpiResult};
use crate::mpi_api::process::MpiProcess;
use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::info::Info;

fn bad_info(handle: Handle) -> MpiError {
    let what = match handle {
        abi::MPI_INFO_NULL => "the info object is MPI_INFO_NULL".to_owned(),
        abi::MPI_INFO_ENV => "MPI_INFO_ENV cannot be changed".to_owned(),
        _ => format!("{handle:#x} is no handle of an info object"),
    };
    MpiError::new(abi::MPI_ERR_INFO, what)
}

/// Returns the bytes of a string argument of an MPI function.
unsafe fn bytes<'a>(text: *const c_char, name: &str, class: c_int) -> MpiResult<&'a [u8]> {
    error::expect(!text.is_null(), class, || format!("{name} is null"))?;
    // SAFETY: the text is not null, and MPI requires the program to pass a zero-terminated string.
    Ok(unsafe { CStr::from_ptr(text) }.to_bytes())
}

/// Writes `text` as a zero-terminated string to `buffer`. Text that does not fit into `room` bytes is truncated.
unsafe fn put(buffer: *mut c_char, room: usize, text: &[u8]) {
    let length = text.len().min(room.saturating_sub(1));
    if room > 0 {
        // SAFETY: `length + 1` is at most `room`, and MPI requires the program to pass a buffer of `room` bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), length);
            *buffer.add(length) = 0;
        }
    }
}

/// Returns the contents of MPI_INFO_ENV: the parameters with which the simulated program was started (MPI-3.1,
/// section 10.3.4).
fn environment(p: &MpiProcess) -> Info {
    let mut info = Info::default();
    let mut set = |key: &str, value: &[u8]| {
        // Parameters of the program start that exceed the maximum length of info values are omitted.
        let _ = info.set(key.as_bytes(), value);
    };
    let words: Vec<&[u8]> = p.program().arguments.iter().map(|word| word.to_bytes()).collect();
    if let Some((command, arguments)) = words.split_first() {
        set("command", command);
        set("argv", &arguments.join(&b' '));
    }
    set("maxprocs", p.program().ranks.to_string().as_bytes());
    set("host", p.node_name().as_bytes());
    set("arch", std::env::consts::ARCH.as_bytes());
    set("thread_level", b"MPI_THREAD_FUNNELED");
    info
}

impl MpiProcess {
    /// Returns a copy of the info object of `handle`.
    ///
    /// # Errors
    /// MPI_ERR_INFO if the handle is not a valid info object.
    pub fn info(&self, handle: Handle) -> MpiResult<Info> {
        if handle == abi::MPI_INFO_ENV {
            return Ok(environment(self));
        }
        self.infos.borrow().get(handle).cloned().ok_or_else(|| bad_info(handle))
    }

    /// Returns a copy of the info object `handle`. The result is an empty info object if the handle is MPI_INFO_NULL.
    ///
    /// # Errors
    /// MPI_ERR_INFO if the handle is not a valid info object.
    pub fn info_argument(&self, handle: Handle) -> MpiResult<Info> {
        if handle == abi::MPI_INFO_NULL { Ok(Info::default()) } else { self.info(handle) }
    }

    /// Adds an info object to the rank's table and returns the handle of the info object.
    pub fn add_info(&self, info: Info) -> Handle {
        self.infos.borrow_mut().insert(info)
    }

    /// Calls `look` with the info object of `handle`. `with_info` avoids a copy of the info object if possible.
    fn with_info<R>(&self, handle: Handle, look: impl FnOnce(&Info) -> MpiResult<R>) -> MpiResult<R> {
        match self.infos.borrow().get(handle) {
            Some(info) => look(info),
            None => look(&self.info(handle)?),
        }
    }

    fn change_info(&self, handle: Handle, change: impl FnOnce(&mut Info) -> MpiResult) -> MpiResult {
        change(self.infos.borrow_mut().get_mut(handle).ok_or_else(|| bad_info(handle))?)
    }
}

mpi_functions! {
    fn MPI_Info_create(p; info: *mut Handle) {
        *info = p.add_info(Info::default());
        Ok(())
    }
    fn MPI_Info_create_env(p; _argc: c_int, _argv: *mut *mut c_char, info: *mut Handle) {
        *info = p.add_info(environment(p));
        Ok(())
    }
    fn MPI_Info_dup(p; info: Handle, new: *mut Handle) {
        *new = p.add_info(p.info(info)?);
        Ok(())
    }
    fn MPI_Info_free(p; info: *mut Handle) {
        p.infos.borrow_mut().remove(*info).ok_or_else(|| bad_info(*info))?;
        *info = abi::MPI_INFO_NULL;
        Ok(())
    }
    fn MPI_Info_set(p; info: Handle, key: *const c_char, value: *const c_char) {
        let key = bytes(key, "the key", abi::MPI_ERR_INFO_KEY)?;
        let value = bytes(value, "the value", abi::MPI_ERR_INFO_VALUE)?;
        p.change_info(info, |info| Ok(info.set(key, value)?))
    }
    fn MPI_Info_delete(p; info: Handle, key: *const c_char) {
        let key = bytes(key, "the key", abi::MPI_ERR_INFO_KEY)?;
        p.change_info(info, |info| Ok(info.delete(key)?))
    }
    fn MPI_Info_get(
        p; info: Handle, key: *const c_char, valuelen: c_int, value: *mut c_char, flag: *mut c_int,
    ) {
        let key = bytes(key, "the key", abi::MPI_ERR_INFO_KEY)?;
        let length = error::count(valuelen, "the length of the value")?;
        p.with_info(info, |info| {
            let found = info.get(key)?;
            *flag = c_int::from(found.is_some());
            if let Some(found) = found {
                // The program's buffer has room for a terminating zero in addition to the number of bytes in the
                // length argument (MPI-3.1, chapter 9).
                put(value, length + 1, found);
            }
            Ok(())
        })
    }
    fn MPI_Info_get_string(
        p; info: Handle, key: *const c_char, buflen: *mut c_int, value: *mut c_char, flag: *mut c_int,
    ) {
        let key = bytes(key, "the key", abi::MPI_ERR_INFO_KEY)?;
        let room = error::count(*buflen, "the length of the buffer")?;
        p.with_info(info, |info| {
            let found = info.get(key)?;
            *flag = c_int::from(found.is_some());
            if let Some(found) = found {
                put(value, room, found);
                *buflen = found.len() as c_int + 1;
            }
            Ok(())
        })
    }
    fn MPI_Info_get_valuelen(p; info: Handle, key: *const c_char, valuelen: *mut c_int, flag: *mut c_int) {
        let key = bytes(key, "the key", abi::MPI_ERR_INFO_KEY)?;
        p.with_info(info, |info| {
            let found = info.get(key)?;
            *flag = c_int::from(found.is_some());
            if let Some(found) = found {
                *valuelen = found.len() as c_int;
            }
            Ok(())
        })
    }
    fn MPI_Info_get_nkeys(p; info: Handle, nkeys: *mut c_int) {
        *nkeys = p.with_info(info, |info| Ok(info.keys()))? as c_int;
        Ok(())
    }
    fn MPI_Info_get_nthkey(p; info: Handle, n: c_int, key: *mut c_char) {
        p.with_info(info, |info| {
            put(key, abi::MPI_MAX_INFO_KEY, info.nth_key(n)?);
            Ok(())
        })
    }
    fn MPI_Comm_set_info(p; comm: Handle, info: Handle) {
        let object = p.comm(comm)?;
        let hints = p.info_argument(info).map_err(|error| error.on_comm(comm))?;
        object.info.borrow_mut().merge(&hints);
        Ok(())
    }
    fn MPI_Comm_get_info(p; comm: Handle, info: *mut Handle) {
        let hints = p.comm(comm)?.info.borrow().clone();
        *info = p.add_info(hints);
        Ok(())
    }
}
