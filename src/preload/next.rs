//! Definitions of functions in libraries that follow this one in search order.

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the address of the next definition of the function `name`, which is that of the C library. `known` stores the
/// address.
pub fn next(known: &AtomicUsize, name: &CStr) -> usize {
    match known.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: the name ends with a zero byte.
            let found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } as usize;
            known.store(found, Ordering::Relaxed);
            found
        }
        found => found,
    }
}

/// Calls the next definition of a function with the types of the arguments and of the result.
macro_rules! call_next {
    ($name:literal($($argument:expr => $type:ty),*) -> $result:ty) => {{
        static NEXT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let function: unsafe extern "C" fn($($type),*) -> $result =
            std::mem::transmute($crate::next::next(&NEXT, $name));
        function($($argument),*)
    }};
}
pub(crate) use call_next;
