//! What a shared library keeps of the thread that calls it, where that must follow the rank.
//!
//! All ranks of a worker run on one host thread. The OpenMP runtime (libgomp) keeps in thread-local variables which
//! team the thread is in, at which level, its number, its settings and the threads that wait for it. A rank may be
//! suspended inside of a parallel region, and has settings of its own: so what the library keeps is put aside with the
//! rank, byte by byte, and the library meets each rank as a thread of its own. The library is loaded once, as its
//! variables are at fixed places of the thread.
#![allow(unsafe_code)]

use std::cell::{Cell, UnsafeCell};
use std::ffi::{CStr, c_int, c_void};
use std::ptr;

/// The name of the library's file begins so.
const OPENMP: &[u8] = b"libgomp.so";

/// The thread-local variables of the OpenMP runtime.
#[derive(Clone, Copy, Debug)]
pub struct Runtime {
    /// Its number among the modules that have such variables.
    module: usize,
    size: usize,
    /// The first values are here, so many bytes; the others are zero.
    image: usize,
    filled: usize,
}

/// What the runtime keeps of a rank while it does not run; while it does, what it keeps of the host thread.
#[derive(Debug)]
pub struct SavedRuntime {
    runtime: Runtime,
    bytes: UnsafeCell<Box<[u8]>>,
}

thread_local! {
    /// Where the variables of a module are on this thread.
    static PLACE: Cell<(usize, *mut u8)> = const { Cell::new((0, ptr::null_mut())) };
}

/// What the system's `__tls_get_addr` is asked for.
#[repr(C)]
struct Variable {
    module: usize,
    offset: usize,
}

impl Runtime {
    /// That of the library in this process, if there is one.
    pub fn find() -> Option<Runtime> {
        unsafe extern "C" fn look(info: *mut libc::dl_phdr_info, _: libc::size_t, found: *mut c_void) -> c_int {
            // SAFETY: the loader gives a description of a module that stays while it is looked at, and what `find` has
            // given.
            let (info, found) = unsafe { (&*info, &mut *found.cast::<Option<Runtime>>()) };
            if info.dlpi_name.is_null() || info.dlpi_tls_modid == 0 {
                return 0;
            }
            // SAFETY: as above.
            let name = unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes();
            if !name.rsplit(|&byte| byte == b'/').next().is_some_and(|file| file.starts_with(OPENMP)) {
                return 0;
            }
            // SAFETY: as above.
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
        // SAFETY: `look` does with the last argument what is right for it.
        unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut found).cast()) };
        found
    }

    /// Where its variables are on this thread.
    fn place(&self) -> *mut u8 {
        let (module, place) = PLACE.get();
        if module == self.module {
            return place;
        }
        // SAFETY: the name is terminated; the function has had this signature since there are such variables. Programs
        // are given one of this project, but the name here finds the system's.
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
    /// As of a thread that has not called the library yet.
    pub fn new(runtime: Runtime) -> SavedRuntime {
        let mut bytes = vec![0; runtime.size].into_boxed_slice();
        // SAFETY: the library is never unloaded.
        let image = unsafe { std::slice::from_raw_parts(runtime.image as *const u8, runtime.filled) };
        bytes[..runtime.filled].copy_from_slice(image);
        SavedRuntime { runtime, bytes: UnsafeCell::new(bytes) }
    }

    /// Exchanges what is kept of the rank and of this thread. To be called whenever the rank's code begins to run or
    /// stops.
    // Not inlined: a fiber may go on in another thread, where the address of a thread-local that a caller kept is
    // wrong.
    #[inline(never)]
    pub fn swap(&self) {
        // SAFETY: both are as long, and nobody else looks at them: the rank's are behind a cell of the one thread that
        // runs it.
        unsafe {
            let bytes: &mut [u8] = &mut *self.bytes.get();
            ptr::swap_nonoverlapping(self.runtime.place(), bytes.as_mut_ptr(), self.runtime.size);
        }
    }

    /// Ends the threads that wait for this rank's next parallel region, while it runs: false if it is inside of one.
    pub fn end_threads(&self) -> bool {
        const SOFT: c_int = 1;
        // SAFETY: the names are terminated; the function has had this signature since OpenMP 5.0.
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
