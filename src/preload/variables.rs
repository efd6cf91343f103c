//! Launcher variables of a process that may fork all ranks in MPI_Init. The environment contains them only after the
//! fork. A program that reads such a variable before cannot be forked.

use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Environment variable with the launcher variables of the first rank, one per line.
const VARIABLES: &str = "MCPSIM_RANK_VARIABLES";

/// True if the program has read a value that depends on the rank.
static HAS_READ: AtomicBool = AtomicBool::new(false);
/// True if the process has forked all ranks, is a forked rank, or has become a rank itself.
static IS_DECIDED: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    /// Environment of the process: texts of the form NAME=VALUE, and a null pointer at the end.
    static environ: *const *mut c_char;
}

/// Returns the value of the environment variable `name`, or null.
fn value(name: &[u8]) -> *mut c_char {
    // SAFETY: the environment is null or a list of texts that ends with a null pointer.
    unsafe {
        let mut next = environ;
        while !next.is_null() && !(*next).is_null() {
            let rest = CStr::from_ptr(*next).to_bytes().strip_prefix(name);
            if rest.is_some_and(|rest| rest.first() == Some(&b'=')) {
                return (*next).add(name.len() + 1);
            }
            next = next.add(1);
        }
    }
    std::ptr::null_mut()
}

fn variables() -> &'static [(CString, CString)] {
    static ALL: OnceLock<Vec<(CString, CString)>> = OnceLock::new();
    ALL.get_or_init(|| {
        let found = value(VARIABLES.as_bytes());
        if found.is_null() {
            return Vec::new();
        }
        // SAFETY: the value is a text that ends with a zero byte.
        let text = unsafe { CStr::from_ptr(found) }.to_string_lossy();
        let pairs = text.lines().filter_map(|line| line.split_once('='));
        pairs.filter_map(|(name, value)| Some((CString::new(name).ok()?, CString::new(value).ok()?))).collect()
    })
}

/// Notes that the program reads a value that depends on the rank.
pub fn note_read() {
    if !IS_DECIDED.load(Ordering::Relaxed) {
        HAS_READ.store(true, Ordering::Relaxed);
    }
}

fn lookup(name: *const c_char) -> *mut c_char {
    // SAFETY: the caller passes a text that ends with a zero byte.
    let name = unsafe { CStr::from_ptr(name) };
    if !IS_DECIDED.load(Ordering::Relaxed)
        && let Some((_, value)) = variables().iter().find(|(known, _)| known.as_c_str() == name)
    {
        note_read();
        return value.as_ptr().cast_mut();
    }
    value(name.to_bytes())
}

#[unsafe(no_mangle)]
pub extern "C" fn getenv(name: *const c_char) -> *mut c_char {
    lookup(name)
}

#[unsafe(no_mangle)]
pub extern "C" fn secure_getenv(name: *const c_char) -> *mut c_char {
    lookup(name)
}

/// Returns 1 if the program has read a value that depends on the rank.
#[unsafe(no_mangle)]
pub extern "C" fn mcpsim_has_read_rank() -> c_int {
    c_int::from(HAS_READ.load(Ordering::Relaxed))
}

/// Adds the launcher variables of the first rank to the environment.
#[unsafe(no_mangle)]
pub extern "C" fn mcpsim_set_rank_variables() -> c_int {
    IS_DECIDED.store(true, Ordering::Relaxed);
    for (name, value) in variables() {
        // SAFETY: the texts end with a zero byte.
        unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 1) };
    }
    0
}

/// Makes the forked process read its place again.
#[unsafe(no_mangle)]
pub extern "C" fn mcpsim_forked() -> c_int {
    IS_DECIDED.store(true, Ordering::Relaxed);
    crate::identity::read_again();
    0
}
