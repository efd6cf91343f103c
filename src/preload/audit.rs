//! Redirection of MPI libraries: the dynamic linker asks this module for the file of each library that it loads, also
//! for absolute paths, search paths in the program, and libraries that a program opens itself.

use std::ffi::{CStr, CString, OsStr, c_char, c_uint};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::soname;

/// Greatest version of the audit interface that this module knows.
const VERSION: c_uint = 2;

/// Environment variable with the directory of mcpsim's libraries.
const DIRECTORY: &str = "MCPSIM_LIBRARY_DIRECTORY";

/// Environment variable that is set if the program itself is linked with an MPI library.
const LINKED: &str = "MCPSIM_LINKED";

/// Beginnings of the file names of MPI libraries, with the libraries that replace them.
const REPLACED: [(&str, usize); 5] =
    [("libmpi.so.40", 0), ("libmpi.so.12", 1), ("libmpich.so.12", 1), ("libmpi_abi.so.0", 2), ("libmpi_abi.so.1", 2)];

/// File names of mcpsim's libraries.
const FILES: [&str; 3] = ["libmcpsim_openmpi.so", "libmcpsim_mpich.so", "libmcpsim_mpi_abi.so"];

/// Returns the paths of mcpsim's libraries that exist.
fn paths() -> &'static [Option<CString>; 3] {
    static PATHS: OnceLock<[Option<CString>; 3]> = OnceLock::new();
    PATHS.get_or_init(|| {
        FILES.map(|file| {
            let directory = std::env::var(DIRECTORY).ok()?;
            let path = format!("{directory}/{file}");
            std::path::Path::new(&path).is_file().then(|| CString::new(path).ok())?
        })
    })
}

/// Returns the index of the library of mcpsim that replaces a library with the file name `file`.
fn replacement(file: &[u8]) -> Option<usize> {
    let of = REPLACED.iter().find(|(start, _)| {
        let rest = file.strip_prefix(start.as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest[0] == b'.')
    });
    of.map(|&(_, index)| index)
}

/// Accepts the version of the audit interface that the dynamic linker offers, or an older version.
#[unsafe(no_mangle)]
pub extern "C" fn la_version(offered: c_uint) -> c_uint {
    offered.min(VERSION)
}

/// Returns the path of the library of mcpsim that replaces the library `name`, or `name`.
///
/// # Safety
/// `name` is a text that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn la_objsearch(name: *const c_char, _: *mut usize, _: c_uint) -> *mut c_char {
    // SAFETY: the dynamic linker passes a valid name.
    let text = unsafe { CStr::from_ptr(name) }.to_bytes();
    let path = Path::new(OsStr::from_bytes(text));
    let is_candidate = text.contains(&b'/');
    let file = path.file_name().unwrap_or_default().as_bytes();
    let found = match replacement(file) {
        _ if !file.starts_with(b"libmpi") => None,
        // A program that loads libraries itself may try those that are not installed.
        Some(index) if !(is_replaced(index) || is_candidate && path.exists()) => None,
        None if is_candidate => soname::of(path).and_then(|own| replacement(&own)),
        found => found,
    };
    let path = found.and_then(|index| {
        LOADED[index].store(true, Ordering::Relaxed);
        paths()[index].as_ref()
    });
    path.map_or(name.cast_mut(), |path| path.as_ptr().cast_mut())
}

/// Libraries of mcpsim that the process has loaded.
static LOADED: [AtomicBool; 3] = [const { AtomicBool::new(false) }; 3];

/// Returns true if an MPI library is replaced before its file is found: the program itself is linked with it, or the
/// process has loaded the library of mcpsim by another name.
fn is_replaced(index: usize) -> bool {
    std::env::var_os(LINKED).is_some() || LOADED[index].load(Ordering::Relaxed)
}
