//! End of the process of a rank. The exit function is registered when the library is loaded, so that it runs after all
//! exit functions and destructors of the program. They may call MPI_Finalize.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Function of the MPI library that reports the end of the rank.
static ENDED: AtomicUsize = AtomicUsize::new(0);
/// Identifier of the rank's process.
static PROCESS: AtomicUsize = AtomicUsize::new(0);

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
    let function = ENDED.load(Ordering::Acquire);
    // A child that shares the memory of the rank's process is not the rank.
    // SAFETY: the system call has no requirement.
    let process = unsafe { libc::syscall(libc::SYS_getpid) };
    if function != 0 && process == PROCESS.load(Ordering::Acquire) as libc::c_long {
        // SAFETY: `mcpsim_register_end` stores a function with this signature.
        unsafe { std::mem::transmute::<usize, extern "C" fn(c_int)>(function)(code) }
    }
}

macro_rules! ends {
    ($($name:ident)*) => {
        $(
            /// Reports the end of the rank, and ends the process without exit functions.
            #[unsafe(no_mangle)]
            pub extern "C" fn $name(code: c_int) -> ! {
                ended(code, std::ptr::null_mut());
                // SAFETY: the system call ends the process.
                unsafe { libc::syscall(libc::SYS_exit_group, code) };
                loop {}
            }
        )*
    };
}

ends! { _exit _Exit }

/// Registers the function that reports the end of the rank. The MPI library calls it when the process becomes a rank.
#[unsafe(no_mangle)]
pub extern "C" fn mcpsim_register_end(function: extern "C" fn(c_int)) {
    PROCESS.store(std::process::id() as usize, Ordering::Release);
    ENDED.store(function as *const () as usize, Ordering::Release);
}
