//! Call frame information of instances, registered with the unwinder for C++ exceptions and `backtrace`.
//!
//! The loader registers each instance with the unwinder of the system. An unwinder that is linked into a program
//! calls `_dl_find_object` instead, which the module `frames` replaces.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use super::elf::Elf;
use super::loaded;

/// Symbols that occur in a module only if the module throws or catches exceptions, runs destructors during unwinding,
/// or walks the stack.
const UNWINDING: [&str; 6] = [
    "__gxx_personality_v0",
    "__gcc_personality_v0",
    "_Unwind_RaiseException",
    "_Unwind_Resume",
    "_Unwind_Backtrace",
    "backtrace",
];

/// Returns true if the module uses exceptions or walks the stack.
pub(super) fn unwinds(elf: &Elf) -> bool {
    elf.symbols().flatten().any(|symbol| UNWINDING.contains(&symbol.name))
}

/// Returns the file address of the call frame information, if the information exists and is well-formed. The unwinder
/// itself does not check the information.
pub(super) fn find(elf: &Elf) -> Option<u64> {
    /// Expected first two bytes of the header of call frame information: version 1, and pointers encoded as signed
    /// 32-bit numbers relative to the position of the pointer.
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
        // SAFETY: the symbol names have a final zero, and the functions of libgcc have always had these signatures.
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

/// Registers the call frame information at `address`.
///
/// # Safety
/// [`find`] returned the information for the module, and the information remains mapped until [`deregister`].
pub(super) unsafe fn register(address: usize) {
    if let Some(unwinder) = unwinder() {
        // SAFETY: the caller guarantees that `find` has checked the information at `address`.
        unsafe { (unwinder.register)(address as *const c_void) }
    }
}

/// Deregisters the call frame information at `address`.
///
/// # Safety
/// The information at `address` was registered and is still mapped.
pub(super) unsafe fn deregister(address: usize) {
    if let Some(unwinder) = unwinder() {
        // SAFETY: the caller guarantees that the information at `address` was registered and is still mapped.
        unsafe { (unwinder.deregister)(address as *const c_void) }
    }
}

/// Result of `_dl_find_object`.
#[repr(C)]
pub(super) struct Object {
    flags: u64,
    start: usize,
    end: usize,
    /// Link map of the module in the system's loader. The link map is null for modules that mcpsim's loader mapped.
    link_map: usize,
    frame_table: usize,
    reserved: [u64; 7],
}

/// Replacement of `_dl_find_object` for programs.
///
/// # Safety
/// The pointer `result` is valid for writes.
pub(super) unsafe extern "C" fn find_object(code: *mut c_void, result: *mut Object) -> c_int {
    if let Some(found) = loaded::module(code as usize) {
        let loaded::Mapped { start, end, frame_table } = found;
        // SAFETY: the caller guarantees that The pointer `result` is valid for writes.
        unsafe { result.write(Object { flags: 0, start, end, link_map: 0, frame_table, reserved: [0; 7] }) };
        return 0;
    }
    // SAFETY: the program passes valid arguments for the system's `_dl_find_object`.
    system().map_or(-1, |find| unsafe { find(code, result) })
}

type Find = unsafe extern "C" fn(*mut c_void, *mut Object) -> c_int;

/// Returns the C library's `_dl_find_object`, if the C library has one.
fn system() -> Option<Find> {
    static SYSTEM: OnceLock<Option<Find>> = OnceLock::new();
    *SYSTEM.get_or_init(|| {
        // SAFETY: the symbol name has a final zero, and the C library documents the signature of `_dl_find_object`.
        unsafe {
            let found = libc::dlsym(libc::RTLD_DEFAULT, c"_dl_find_object".as_ptr());
            (!found.is_null()).then(|| std::mem::transmute::<*mut c_void, Find>(found))
        }
    })
}

/// Address range of code that has call frame information.
#[derive(Debug, Clone, Copy)]
pub struct UnwindCode {
    /// First address of the code.
    pub start: usize,
    /// Address after the last address of the code.
    pub end: usize,
    /// Address of the search table of call frame information (`.eh_frame_hdr`).
    pub table: usize,
}

/// Returns the code range that contains `address`, in an instance or in a system library. The function neither
/// allocates memory nor blocks.
pub fn code(address: usize) -> Option<UnwindCode> {
    if let Some(found) = loaded::module_at_once(address) {
        return Some(UnwindCode { start: found.start, end: found.end, table: found.frame_table });
    }
    let mut object = Object { flags: 0, start: 0, end: 0, link_map: 0, frame_table: 0, reserved: [0; 7] };
    // SAFETY: `_dl_find_object` accepts any address and is async-signal-safe.
    let found = unsafe { system()?(address as *mut c_void, &mut object) };
    (found == 0 && object.frame_table != 0).then_some(UnwindCode {
        start: object.start,
        end: object.end,
        table: object.frame_table,
    })
}
