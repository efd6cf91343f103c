//! End of the process of a rank. The exit function is registered when the library is loaded, so that it runs after all
//! exit functions and destructors of the program. They may call MPI_Finalize.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Function of the MPI library that reports the end of the rank.
static ENDED: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    /// Registers a function that receives the exit code of the process at its end.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// Function that the dynamic linker calls when it has loaded the library.
#[used]
#[unsafe(link_section = ".init_array")]
static REGISTER: extern "C" fn() = register;

extern "C" fn register() {
    // SAFETY: the function has the required signature and needs no argument.
    unsafe { on_exit(ended, std::ptr::null_mut()) };
}

extern "C" fn ended(code: c_int, _: *mut c_void) {
    match ENDED.load(Ordering::Acquire) {
        0 => {}
        // SAFETY: `mcpsim_register_end` stores a function with this signature.
        function => unsafe { std::mem::transmute::<usize, extern "C" fn(c_int)>(function)(code) },
    }
}

/// Registers the function that reports the end of the rank. The MPI library calls it when the process becomes a rank.
#[unsafe(no_mangle)]
pub extern "C" fn mcpsim_register_end(function: extern "C" fn(c_int)) {
    ENDED.store(function as *const () as usize, Ordering::Release);
}
