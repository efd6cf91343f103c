//! Call frame information of instances, made known to the unwinder so that C++ exceptions pass through them and
//! `backtrace` sees who called whom.
//!
//! The system's unwinder is told of each instance. One that is linked into a program asks the C library instead, and
//! gets its answer here.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use super::elf::Elf;
use super::loaded;

/// Names by which code that throws, catches, cleans up or looks who called it is known.
const UNWINDING: [&str; 6] = [
    "__gxx_personality_v0",
    "__gcc_personality_v0",
    "_Unwind_RaiseException",
    "_Unwind_Resume",
    "_Unwind_Backtrace",
    "backtrace",
];

/// Whether the module takes part in exceptions, or looks at its callers.
pub(super) fn unwinds(elf: &Elf) -> bool {
    elf.symbols().flatten().any(|symbol| UNWINDING.contains(&symbol.name))
}

/// The address in the file of the call frame information, if there is any and it is well-formed: the unwinder believes
/// all of it.
pub(super) fn find(elf: &Elf) -> Option<u64> {
    /// Version 1; a signed 32-bit number relative to its place.
    const EXPECTED: [u8; 2] = [1, 0x1b];
    let header = elf.frame_header?;
    if elf.at(header, 2).ok()? != EXPECTED {
        return None;
    }
    let start = (header + 4).wrapping_add_signed((elf.number(header + 4).ok()? as i32).into());
    let mut at = start;
    loop {
        match elf.number(at).ok()? {
            0 => return Some(start),
            u32::MAX => return None,
            length => at = at + 4 + u64::from(length),
        }
    }
}

struct Unwinder {
    register: unsafe extern "C" fn(*const c_void),
    deregister: unsafe extern "C" fn(*const c_void),
}

fn unwinder() -> Option<&'static Unwinder> {
    static FOUND: OnceLock<Option<Unwinder>> = OnceLock::new();
    let find = || {
        // SAFETY: the names are terminated; the functions have had these signatures since there was an unwinder.
        unsafe {
            let library = libc::dlopen(c"libgcc_s.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL);
            if library.is_null() {
                return None;
            }
            let register = libc::dlsym(library, c"__register_frame".as_ptr());
            let deregister = libc::dlsym(library, c"__deregister_frame".as_ptr());
            if register.is_null() || deregister.is_null() {
                return None;
            }
            Some(Unwinder {
                register: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_void)>(register),
                deregister: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(*const c_void)>(deregister),
            })
        }
    };
    FOUND.get_or_init(find).as_ref()
}

/// Makes what is at `address` known.
///
/// # Safety
/// [`find`] has found it there, and it stays until [`deregister`].
pub(super) unsafe fn register(address: usize) {
    if let Some(unwinder) = unwinder() {
        // SAFETY: the caller's promise.
        unsafe { (unwinder.register)(address as *const c_void) }
    }
}

/// Forgets what is at `address`.
///
/// # Safety
/// It was registered, and is still there.
pub(super) unsafe fn deregister(address: usize) {
    if let Some(unwinder) = unwinder() {
        // SAFETY: the caller's promise.
        unsafe { (unwinder.deregister)(address as *const c_void) }
    }
}

/// The answer to `_dl_find_object`.
#[repr(C)]
pub(super) struct Object {
    flags: u64,
    start: usize,
    end: usize,
    /// What the system's loader knows of it: nothing.
    link_map: usize,
    frame_table: usize,
    reserved: [u64; 7],
}

/// `_dl_find_object` of the programs.
///
/// # Safety
/// `result` may be written.
pub(super) unsafe extern "C" fn find_object(code: *mut c_void, result: *mut Object) -> c_int {
    if let Some(found) = loaded::module(code as usize) {
        let loaded::Mapped { start, end, frame_table } = found;
        // SAFETY: the caller's promise.
        unsafe { result.write(Object { flags: 0, start, end, link_map: 0, frame_table, reserved: [0; 7] }) };
        return 0;
    }
    // SAFETY: passed on as it came.
    system().map_or(-1, |find| unsafe { find(code, result) })
}

type Find = unsafe extern "C" fn(*mut c_void, *mut Object) -> c_int;

/// The C library's own, where it has one.
fn system() -> Option<Find> {
    static SYSTEM: OnceLock<Option<Find>> = OnceLock::new();
    *SYSTEM.get_or_init(|| {
        // SAFETY: the name is terminated; the C library documents this signature.
        unsafe {
            let found = libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr());
            (!found.is_null()).then(|| std::mem::transmute::<*mut c_void, Find>(found))
        }
    })
}

/// Code with its call frame information.
#[derive(Debug, Clone, Copy)]
pub struct UnwindCode {
    /// Its first address.
    pub start: usize,
    /// The address behind it.
    pub end: usize,
    /// The table by which its call frame information is searched (`.eh_frame_hdr`).
    pub table: usize,
}

/// The code that `address` is in, of an instance or a library of the system: takes no memory and waits for nothing.
pub fn code(address: usize) -> Option<UnwindCode> {
    if let Some(found) = loaded::module_at_once(address) {
        return Some(UnwindCode { start: found.start, end: found.end, table: found.frame_table });
    }
    let mut object = Object { flags: 0, start: 0, end: 0, link_map: 0, frame_table: 0, reserved: [0; 7] };
    // SAFETY: the function may be called with any address, in handlers of signals too.
    let found = unsafe { system()?(address as *mut c_void, &mut object) };
    (found == 0 && object.frame_table != 0).then_some(UnwindCode {
        start: object.start,
        end: object.end,
        table: object.frame_table,
    })
}
