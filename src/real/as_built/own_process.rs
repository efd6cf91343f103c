//! Facts about the process of a rank, and its end by an error.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::time::Duration;

use mcpsim_core::rank::Rank;

use super::foreign::MpiLibrary;
use super::fork::end_at_once;

/// Prints an error message and ends the process.
pub fn refuse(what: &str) -> ! {
    let line = format!("error: {what}\n");
    // SAFETY: the text has the stated length.
    unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
    // Exit handlers of the program could call MPI again.
    end_at_once(1)
}

/// Returns the address range of the current thread's stack.
pub fn own_stack() -> (usize, usize) {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut start, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: `pthread_getattr_np` initialises the attributes of the current thread, which are destroyed after use.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) == 0 {
            libc::pthread_attr_getstack(attributes.as_ptr(), &mut start, &mut size);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
        }
    }
    (start as usize, start as usize + size)
}

/// Returns the number of the MPI library in [`MpiLibrary::ALL`] plus one.
pub fn own_library() -> u32 {
    let mut found = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the result has room, and its texts are valid while the library is loaded.
    let path = unsafe {
        if libc::dladdr(own_library as *const () as *const _, found.as_mut_ptr()) == 0 {
            return 0;
        }
        CStr::from_ptr(found.assume_init().dli_fname).to_string_lossy()
    };
    let index = MpiLibrary::ALL.iter().position(|library| path.ends_with(library.file()));
    index.map_or(0, |index| index as u32 + 1)
}

/// Waits until a debugger is attached to the process.
pub fn wait_for_debugger(rank: Rank) {
    let process = std::process::id();
    let line = format!("rank {rank} waits for a debugger: gdb -p {process}\n");
    let is_traced = || {
        let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        text.lines().any(|line| line.strip_prefix("TracerPid:").is_some_and(|number| number.trim() != "0"))
    };
    // SAFETY: the text has the stated length. Any process of the user may attach to this one.
    unsafe {
        libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY);
        libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len());
    }
    while !is_traced() {
        std::thread::sleep(Duration::from_millis(50));
    }
    // SAFETY: the debugger stops the process at this signal.
    unsafe { libc::raise(libc::SIGTRAP) };
}
