//! Thread-local state of a shared library that must follow the rank.
//!
//! All ranks of a worker run on one host thread. The OpenMP runtime (libgomp) stores in thread-local variables the
//! team, level, number and settings of the thread, and the threads that wait for it. A rank may be suspended inside a
//! parallel region and has its own settings. The bytes of these variables are therefore saved per rank, and the library
//! sees each rank as a separate thread. The library is loaded once, because its variables have fixed offsets in the
//! thread's storage.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, c_int, c_void};
use std::ptr;

/// Prefix of the library's file name.
const OPENMP: &[u8] = b"libgomp.so";

/// The thread-local variables of the OpenMP runtime.
#[derive(Clone, Copy, Debug)]
pub struct Runtime {
    /// Module number of the variables in thread-local storage.
    module: usize,
    size: usize,
    /// Address of the initial values and their size; the other bytes are zero.
    image: usize,
    filled: usize,
}

/// Saved runtime variables: those of the rank while it does not run, and those of the host thread while it runs.
#[derive(Debug)]
pub struct SavedRuntime {
    runtime: Runtime,
    bytes: UnsafeCell<Box<[u8]>>,
}

thread_local! {
    /// Address of a module's variables on this thread.
    static PLACE: Cell<(usize, *mut u8)> = const { Cell::new((0, ptr::null_mut())) };
}

/// Argument of the system's `__tls_get_addr`.
#[repr(C)]
struct Variable {
    module: usize,
    offset: usize,
}

impl Runtime {
    /// Returns the runtime of this process, if it is loaded.
    pub fn find() -> Option<Runtime> {
        unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: libc::size_t, found: *mut c_void) -> c_int {
            // SAFETY: the loader passes a description that is valid during the call, and the pointer given by `find`.
            let (info, found) = unsafe { (&*info, &mut *found.cast::<Option<Runtime>>()) };
            if info.dlpi_name.is_null() || info.dlpi_tls_modid == 0 {
                return 0;
            }
            // SAFETY: the name is not null and has a final zero.
            let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
            if !name.rsplit(|&byte| byte == b'/').next().is_some_and(|file| file.starts_with(OPENMP)) {
                return 0;
            }
            // SAFETY: the description contains the address and number of the program headers.
            let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
            if let Some(header) = headers.iter().find(|header| header.p_type == libc::PT_TLS) {
                *found = Some(Runtime {
                    module: info.dlpi_tls_modid,
                    size: header.p_memsz as usize,
                    image: (info.dlpi_addr + header.p_vaddr) as usize,
                    filled: header.p_filesz as usize,
                });
            }
            0
        }
        let mut found: Option<Runtime> = None;
        // SAFETY: `look` accepts a pointer to this `Option`, which lives during the call.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
        found
    }

    /// Returns the address of the variables on this thread.
    fn place(&self) -> *mut u8 {
        let (module, place) = PLACE.get();
        if module == self.module {
            return place;
        }
        // SAFETY: the name has a final zero, and the function has always had this signature. Programs use mcpsim's
        // replacement, but this lookup finds the system's function.
        let place = unsafe {
            let function = libc::dlsym(libc::RTLD_DEFAULT, c"__tls_get_addr".as_ptr());
            assert!(!function.is_null(), "the system's loader has thread-local variables");
            let function: unsafe extern "C" fn(*const Variable) -> *mut u8 = std::mem::transmute(function);
            function(&Variable { module: self.module, offset: 0 })
        };
        PLACE.set((self.module, place));
        place
    }
}

impl SavedRuntime {
    /// Creates the state of a thread that has not called the library yet.
    pub fn new(runtime: Runtime) -> SavedRuntime {
        let mut bytes = vec![0; runtime.size].into_boxed_slice();
        // SAFETY: the library is never unloaded.
        let image = unsafe { std::slice::from_raw_parts(runtime.image as *const u8, runtime.filled) };
        bytes[..runtime.filled].copy_from_slice(image);
        SavedRuntime { runtime, bytes: UnsafeCell::new(bytes) }
    }

    /// Exchanges the saved state with the state of this thread. Must be called whenever the rank's code starts or
    /// stops.
    // Not inlined: a fiber may continue on another thread, where a cached address of a thread-local variable would be
    // wrong.
    #[inline(never)]
    pub fn swap(&self) {
        // SAFETY: both ranges have the same size and no other user: the cell belongs to the thread that runs the rank.
        unsafe {
            let bytes: &mut [u8] = &mut *self.bytes.get();
            ptr::swap_nonoverlapping(self.runtime.place(), bytes.as_mut_ptr(), self.runtime.size);
        }
    }

    /// Ends the threads that wait for this rank's next parallel region, while the rank runs. Returns false inside a
    /// parallel region.
    pub fn end_threads(&self) -> bool {
        const SOFT: c_int = 1;
        // SAFETY: the names have a final zero, and the function has had this signature since OpenMP 5.0.
        unsafe {
            let library = libc::dlopen(c"libgomp.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
            if library.is_null() {
                return false;
            }
            let function = libc::dlsym(library, c"omp_pause_resource_all".as_ptr());
            if function.is_null() {
                return false;
            }
            let function: unsafe extern "C" fn(c_int) -> c_int = std::mem::transmute(function);
            function(SOFT) == 0
        }
    }
}
