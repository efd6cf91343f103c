//! `backtrace_symbols` (`<execinfo.h>`) for programs. The C library's `backtrace_symbols` does not find files that
//! mcpsim's loader has mapped.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Write;

use super::dl;

/// Returns the address of the replacement function `name` if the module `backtrace` implements the function.
pub(super) fn function(name: &str) -> Option<usize> {
    Some(match name {
        "backtrace_symbols" => symbols as *const () as usize,
        "backtrace_symbols_fd" => symbols_to as *const () as usize,
        _ => return None,
    })
}

/// Formats an address as the C library does: `file(function+0x1f) [0x7f0012345678]`.
fn line(address: *const c_void) -> String {
    // SAFETY: zero is a valid `Dl_info`.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    let mut line = String::new();
    // SAFETY: `dladdr` accepts any address.
    if unsafe { dl::address(address, &mut info) } != 0 && !info.dli_fname.is_null() {
        // SAFETY: `dladdr` stores pointers to zero-terminated strings, which remain valid while the file is loaded.
        let text = |text: *const c_char| unsafe { CStr::from_ptr(text) }.to_string_lossy();
        let (name, start) = match info.dli_sname.is_null() {
            true => (String::new().into(), info.dli_fbase as usize),
            false => (text(info.dli_sname), info.dli_saddr as usize),
        };
        let distance = (address as usize).wrapping_sub(start) as isize;
        let sign = if distance < 0 { '-' } else { '+' };
        // The C format "%#tx" omits `0x` for zero.
        let zero = if distance == 0 { "" } else { "0x" };
        _ = write!(line, "{}({name}{sign}{zero}{:x}) ", text(info.dli_fname), distance.unsigned_abs());
    }
    _ = write!(line, "[{address:p}]");
    line
}

/// `backtrace_symbols`: returns an array of strings in one allocation, which the program frees.
unsafe extern "C" fn symbols(addresses: *const *mut c_void, count: c_int) -> *mut *mut c_char {
    let count = usize::try_from(count).unwrap_or(0);
    // SAFETY: `backtrace_symbols` and `backtrace_symbols_fd` require the program to pass an array of `count` addresses.
    let lines: Vec<String> = (0..count).map(|index| line(unsafe { *addresses.add(index) })).collect();
    let pointers = count * size_of::<*mut c_char>();
    let length = pointers + lines.iter().map(|line| line.len() + 1).sum::<usize>();
    // SAFETY: the allocation has room for the pointers and for every text with a terminating zero.
    unsafe {
        let block = libc::malloc(length.max(1));
        if block.is_null() {
            return std::ptr::null_mut();
        }
        let mut place = block.cast::<u8>().add(pointers);
        for (index, line) in lines.iter().enumerate() {
            block.cast::<*mut u8>().add(index).write(place);
            place.copy_from_nonoverlapping(line.as_ptr(), line.len());
            place.add(line.len()).write(0);
            place = place.add(line.len() + 1);
        }
        block.cast()
    }
}

/// `backtrace_symbols_fd`: writes one line of text per address to a file descriptor.
unsafe extern "C" fn symbols_to(addresses: *const *mut c_void, count: c_int, file: c_int) {
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: `backtrace_symbols` and `backtrace_symbols_fd` require the program to pass an array of `count`
        // addresses.
        let mut text = line(unsafe { *addresses.add(index) });
        text.push('\n');
        // SAFETY: `text` has `text.len()` bytes, which `write` only reads.
        unsafe { libc::write(file, text.as_ptr().cast(), text.len()) };
    }
}
