//! The user's C library with the five functions of a message layer, loaded at run time. `mcpsim_layer.h` specifies the
//! functions.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::port::PairLayer;

type Start = unsafe extern "C" fn(c_int, *const c_char) -> c_int;
type Send = unsafe extern "C" fn(*const c_void, usize) -> c_int;
type Recv = unsafe extern "C" fn(*mut c_void, usize) -> c_int;
type Wait = unsafe extern "C" fn() -> c_int;
type End = unsafe extern "C" fn();

/// Layer library of the user that is loaded but not started. The library is never unloaded.
pub(super) struct LoadedLayer {
    path: PathBuf,
    start: Start,
    functions: LayerFunctions,
}

/// Functions of a started layer library.
#[derive(Clone, Copy)]
struct LayerFunctions {
    send: Send,
    recv: Recv,
    wait: Wait,
    end: End,
}

/// Started layer library. The library's end function is called when this value is dropped.
pub(super) struct LayerLibrary(LayerFunctions);

impl LoadedLayer {
    /// Loads the layer library in the file `path`.
    ///
    /// # Errors
    /// The layer library cannot be loaded, or lacks a function.
    pub fn load(path: &Path) -> Result<LoadedLayer, String> {
        let refused = |what: &str| refused(path, what);
        let file = CString::new(path.as_os_str().as_bytes()).map_err(|_| {
            refused(
                "expected a file name without a \
        zero byte",
            )
        })?;
        // SAFETY: the name ends in a zero byte. Loading runs the library's constructors, as the user requests.
        let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            // SAFETY: after a failure of `dlopen` the error text is valid until the next callof `dlerror`, and is
            // copied before that.
            let why = unsafe { libc::dlerror() };
            let why = if why.is_null() {
                "cannot be loaded".into()
            } else {
                unsafe { CStr::from_ptr(why) }.to_string_lossy()
            };
            return Err(refused(&why));
        }
        let find = |name: &CStr| {
            // SAFETY: the handle is that of a loaded library, and the name ends in a zero byte.
            let found = unsafe { libc::dlsym(handle, name.as_ptr()) };
            let shown = name.to_string_lossy();
            if found.is_null() {
                Err(refused(&format!(
                    "the library has no function {shown}, which mcpsim measure --layer header \
                                      declares"
                )))
            } else {
                Ok(found)
            }
        };
        let (start, send, recv) =
            (find(c"mcpsim_layer_start")?, find(c"mcpsim_layer_send")?, find(c"mcpsim_layer_recv")?);
        let (wait, end) = (find(c"mcpsim_layer_wait")?, find(c"mcpsim_layer_end")?);
        // SAFETY: the header specifies the type of each function that `dlsym` has looked up; the library is never
        // unloaded.
        let (start, functions) = unsafe {
            let functions = LayerFunctions {
                send: std::mem::transmute::<*mut c_void, Send>(send),
                recv: std::mem::transmute::<*mut c_void, Recv>(recv),
                wait: std::mem::transmute::<*mut c_void, Wait>(wait),
                end: std::mem::transmute::<*mut c_void, End>(end),
            };
            (std::mem::transmute::<*mut c_void, Start>(start), functions)
        };
        Ok(LoadedLayer { path: path.to_owned(), start, functions })
    }

    /// Starts the layer library as rank `rank`. Ranks 0 and 1 get the same address.
    ///
    /// # Errors
    /// The layer library reports that it cannot start.
    pub fn start(self, rank: i32, address: &str) -> Result<LayerLibrary, String> {
        let refused = |what: &str| refused(&self.path, what);
        let address = CString::new(address).map_err(|_| refused("expected an address without a zero byte"))?;
        // SAFETY: the header specifies the type of `start`; the address lives until the call returns.
        match unsafe { (self.start)(rank, address.as_ptr()) } {
            0 => Ok(LayerLibrary(self.functions)),
            code => Err(refused(&format!(
                "mcpsim_layer_start failed on rank {rank}: expected it to return 0; it \
                                          returned {code}"
            ))),
        }
    }
}

fn refused(path: &Path, what: &str) -> String {
    format!("--layer {}: {what}", path.display())
}

impl PairLayer for LayerLibrary {
    fn transfer(&mut self, out: &[&[u8]], into: &mut [&mut [u8]]) -> Result<(), String> {
        let well = |what: &str, code: c_int| {
            if code == 0 {
                Ok(())
            } else {
                Err(format!(
                    "{what} failed: expected it \
        to return 0; it returned {code}"
                ))
            }
        };
        for data in into.iter_mut() {
            // SAFETY: the memory is valid and not otherwise used until the wait below has returned.
            well("mcpsim_layer_recv", unsafe { (self.0.recv)(data.as_mut_ptr().cast(), data.len()) })?;
        }
        for data in out {
            // SAFETY: the data are valid and unchanged until the wait below has returned.
            well("mcpsim_layer_send", unsafe { (self.0.send)(data.as_ptr().cast(), data.len()) })?;
        }
        // SAFETY: the header `mcpsim_layer.h` specifies this call without arguments.
        well("mcpsim_layer_wait", unsafe { (self.0.wait)() })
    }
}

impl Drop for LayerLibrary {
    fn drop(&mut self) {
        // SAFETY: no send or receive is pending between transfers.
        unsafe { (self.0.end)() }
    }
}
