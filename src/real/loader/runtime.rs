//! Saves and restores the thread-local state of the OpenMP runtime when ranks are suspended and resumed.
//!
//! All ranks of a worker run on one host thread. The thread-local variables of the OpenMP runtime (libgomp) contain
//! the thread's team, nesting level, thread number and settings, and the pool of waiting threads. A rank may be
//! suspended inside a parallel region, and each rank has its own settings. The loader therefore saves the bytes of
//! the thread-local variables per rank, and libgomp treats each rank as a separate thread. libgomp is loaded once per
//! host process, because its variables have fixed offsets in the storage of a thread.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, c_int, c_void};
use std::ptr;

/// Prefix of the file name of the OpenMP runtime.
const OPENMP: &[u8] = b"libgomp.so";

/// Location of the thread-local variables of the OpenMP runtime.
#[derive(Clone, Copy, Debug)]
pub struct Runtime {
    /// Module identifier that `__tls_get_addr` uses for the OpenMP runtime.
    module: usize,
    size: usize,
    /// Address of the variables' initial values, which occupy `filled` bytes. The remaining bytes of the variables
    /// are zero.
    image: usize,
    filled: usize,
}

/// Saved thread-local variables of the OpenMP runtime. While the rank is suspended, the saved bytes are the rank's
/// variables. While the rank runs, the saved bytes are the variables of the host thread.
#[derive(Debug)]
pub struct SavedRuntime {
    runtime: Runtime,
    bytes: UnsafeCell<Box<[u8]>>,
}

thread_local! {
    /// Module identifier of the OpenMP runtime, and address of its variables on the current host thread.
    static PLACE: Cell<(usize, *mut u8)> = const { Cell::new((0, ptr::null_mut())) };
}

/// Argument of the system's `__tls_get_addr`.
#[repr(C)]
struct Variable {
    module: usize,
    offset: usize,
}

impl Runtime {
    /// Returns the OpenMP runtime of the host process, if the OpenMP runtime is loaded.
    pub fn find() -> Option<Runtime> {
        unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: libc::size_t, found: *mut c_void) -> c_int {
            // SAFETY: `dl_iterate_phdr` passes a description that is valid during the call, and the pointer to `found`.
            let (info, found) = unsafe { (&*info, &mut *found.cast::<Option<Runtime>>()) };
            if info.dlpi_name.is_null() || info.dlpi_tls_modid == 0 {
                return 0;
            }
            // SAFETY: `dlpi_name` is not null and is zero-terminated.
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
        // SAFETY: `look` expects a pointer to an `Option<Runtime>`, and `found` lives until `dl_iterate_phdr` returns.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
        found
    }

    /// Returns the address of the OpenMP runtime's variables on the current host thread.
    fn place(&self) -> *mut u8 {
        let (module, place) = PLACE.get();
        if module == self.module {
            return place;
        }
        // SAFETY: the name is zero-terminated, and `__tls_get_addr` has always had this signature. Programs use
        // mcpsim's replacement, but `dlsym` finds the system's function.
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
    /// Creates the OpenMP state of a thread that has not called the OpenMP runtime yet.
    pub fn new(runtime: Runtime) -> SavedRuntime {
        let mut bytes = vec![0; runtime.size].into_boxed_slice();
        // SAFETY: the OpenMP runtime is never unloaded, and `find` computed the size of the initial values.
        let image = unsafe { std::slice::from_raw_parts(runtime.image as *const u8, runtime.filled) };
        bytes[..runtime.filled].copy_from_slice(image);
        SavedRuntime { runtime, bytes: UnsafeCell::new(bytes) }
    }

    /// Exchanges the saved variables with the variables of the current host thread. The caller must exchange the
    /// variables whenever the rank is resumed or suspended.
    // `swap` is not inlined, because a fiber may continue on another host thread, where a cached address of a
    // thread-local variable would be wrong.
    #[inline(never)]
    pub fn swap(&self) {
        // SAFETY: the saved bytes and the thread-local variables have the same size. Only the thread that runs the
        // rank uses the saved bytes and the thread's own variables.
        unsafe {
            let bytes: &mut [u8] = &mut *self.bytes.get();
            ptr::swap_nonoverlapping(self.runtime.place(), bytes.as_mut_ptr(), self.runtime.size);
        }
    }

    /// Ends the OpenMP threads that wait for the rank's next parallel region. The call must happen while the rank
    /// runs. The result is false if the rank is inside a parallel region.
    pub fn end_threads(&self) -> bool {
        const SOFT: c_int = 1;
        // SAFETY: the names are zero-terminated, and `omp_pause_resource_all` has had this signature since OpenMP 5.0.
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
