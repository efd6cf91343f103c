//! A rank's environment variables. Threads that are no rank's see those of the process, with which every rank begins.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use super::error;
use super::refused::refuse;
use crate::process::{Function, NamedFunction};
use crate::process::{Process, current};

pub const FUNCTIONS: &[NamedFunction] = &[
    ("getenv", Function(getenv as *const ())),
    ("secure_getenv", Function(getenv as *const ())),
    ("__secure_getenv", Function(getenv as *const ())),
    ("setenv", Function(setenv as *const ())),
    ("unsetenv", Function(unsetenv as *const ())),
    ("putenv", Function(putenv as *const ())),
    ("clearenv", Function(clearenv as *const ())),
];

/// A rank's `environ`.
#[derive(Debug, Default)]
pub struct Environment {
    environ: Cell<*mut *mut c_char>,
    /// What `environ` points to, unless the program has set it to something else.
    list: RefCell<Vec<*mut c_char>>,
}

impl Environment {
    /// Where the variable `environ` is.
    pub fn address(&self) -> usize {
        self.environ.as_ptr() as usize
    }

    /// The entry of `name`, and its value.
    ///
    /// # Safety
    /// What the program has put into its environment are strings.
    unsafe fn find(&self, name: &[u8]) -> Option<(usize, *mut c_char)> {
        let list = self.environ.get();
        if list.is_null() {
            return None;
        }
        // SAFETY: the list ends with a null.
        unsafe {
            (0..).map_while(|index| Some((index, *list.add(index))).filter(|entry| !entry.1.is_null())).find_map(
                |(index, entry)| {
                    let value = CStr::from_ptr(entry).to_bytes().strip_prefix(name)?.strip_prefix(b"=")?;
                    Some((index, value.as_ptr().cast_mut().cast()))
                },
            )
        }
    }

    /// Changes the list of entries.
    ///
    /// # Safety
    /// As for [`Environment::find`].
    unsafe fn change(&self, change: impl FnOnce(&mut Vec<*mut c_char>)) {
        let mut list = self.list.borrow_mut();
        let now = self.environ.get();
        if now.is_null() || now != list.as_mut_ptr() {
            list.clear();
            let mut next = now;
            // SAFETY: the list ends with a null.
            while !next.is_null() && unsafe { !(*next).is_null() } {
                // SAFETY: as above.
                unsafe {
                    list.push(*next);
                    next = next.add(1);
                }
            }
        } else {
            list.pop();
        }
        change(&mut list);
        list.push(ptr::null_mut());
        self.environ.set(list.as_mut_ptr());
    }

    /// Makes `entry` that of `name`. The C library has one time zone for all ranks.
    unsafe fn put(&self, name: &[u8], entry: *mut c_char) {
        // SAFETY: `entry` is the caller's string.
        check_zone(name, || unsafe { CStr::from_ptr(entry) }.to_bytes().get(b"TZ=".len()..));
        // SAFETY: as for `find`.
        unsafe {
            let known = self.find(name);
            self.change(|list| match known {
                Some((index, _)) => list[index] = entry,
                None => list.push(entry),
            });
        }
    }
}

/// Ends the rank if the change of the variable `name` to `value` is a change of the time zone of the process.
fn check_zone<'a>(name: &[u8], value: impl FnOnce() -> Option<&'a [u8]>) {
    if name == b"TZ" && std::env::var_os("TZ").as_ref().map(|zone| zone.as_bytes()) != value() {
        refuse("a change of the time zone (TZ)");
    }
}

/// The rank's environment.
pub fn environment(p: &Process) -> *mut *mut c_char {
    p.variables.environment.environ.get()
}

/// The value of a variable of the rank that runs.
pub fn value<'a>(name: &CStr) -> Option<&'a CStr> {
    // SAFETY: what is in a rank's environment are strings.
    unsafe {
        let (_, value) = current()?.variables.environment.find(name.to_bytes())?;
        Some(CStr::from_ptr(value))
    }
}

/// Gives the rank an environment.
pub fn set_environment(p: &Process, environment: *mut *mut c_char) {
    p.variables.environment.environ.set(environment);
}

/// Sets variables of the whole process, for libraries that look at them when they are loaded.
pub fn set_variables<'a>(variables: impl IntoIterator<Item = (&'a String, &'a String)>) {
    for (name, value) in variables {
        // SAFETY: before a run no other thread of mcpsim reads the environment.
        unsafe { std::env::set_var(name, value) };
    }
}

/// A rank is one core: OpenMP and the libraries of linear algebra, which also heed this variable, get one thread unless
/// the user wants more. With more, ranks that take turns on the host would each leave threads behind that spin.
pub fn set_default_threads() {
    const THREADS: &str = "OMP_NUM_THREADS";
    if std::env::var_os(THREADS).is_none() {
        // SAFETY: as in [`set_variables`].
        unsafe { std::env::set_var(THREADS, "1") };
    }
}

unsafe extern "C" fn getenv(name: *const c_char) -> *mut c_char {
    // SAFETY: the caller's string.
    unsafe {
        match current() {
            Some(p) => {
                let found = p.variables.environment.find(CStr::from_ptr(name).to_bytes());
                found.map_or(ptr::null_mut(), |(_, value)| value)
            }
            None => libc::getenv(name),
        }
    }
}

/// The rank and the name, if that can be one.
unsafe fn named<'a>(name: *const c_char) -> Result<(&'a Process, &'a [u8]), c_int> {
    if name.is_null() {
        return Err(libc::EINVAL);
    }
    // SAFETY: the caller's string.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes();
    let p = current().ok_or(libc::ENOMEM)?;
    if name.is_empty() || name.contains(&b'=') { Err(libc::EINVAL) } else { Ok((p, name)) }
}

unsafe extern "C" fn setenv(name: *const c_char, value: *const c_char, overwrite: c_int) -> c_int {
    // SAFETY: the caller's strings.
    unsafe {
        let (p, name) = match named(name) {
            Ok(named) => named,
            Err(number) => return error(number),
        };
        let environment = &p.variables.environment;
        if overwrite == 0 && environment.find(name).is_some() {
            return 0;
        }
        let value = if value.is_null() { c"" } else { CStr::from_ptr(value) };
        // The entry stays: the program may keep what getenv gave it.
        let entry = libc::malloc(name.len() + value.count_bytes() + 2).cast::<u8>();
        if entry.is_null() {
            return error(libc::ENOMEM);
        }
        ptr::copy_nonoverlapping(name.as_ptr(), entry, name.len());
        *entry.add(name.len()) = b'=';
        ptr::copy_nonoverlapping(value.as_ptr().cast(), entry.add(name.len() + 1), value.count_bytes() + 1);
        environment.put(name, entry.cast());
        0
    }
}

unsafe extern "C" fn unsetenv(name: *const c_char) -> c_int {
    // SAFETY: the caller's string.
    unsafe {
        match named(name) {
            Ok((p, name)) => {
                let environment = &p.variables.environment;
                check_zone(name, || None);
                while let Some((index, _)) = environment.find(name) {
                    environment.change(|list| _ = list.remove(index));
                }
                0
            }
            Err(number) => error(number),
        }
    }
}

unsafe extern "C" fn putenv(entry: *mut c_char) -> c_int {
    let Some(p) = current() else { return error(libc::ENOMEM) };
    // SAFETY: the caller's string, which becomes part of the environment.
    unsafe {
        let text = CStr::from_ptr(entry).to_bytes();
        match text.iter().position(|&byte| byte == b'=') {
            Some(0) => error(libc::EINVAL),
            Some(end) => {
                p.variables.environment.put(&text[..end], entry);
                0
            }
            None => unsetenv(entry),
        }
    }
}

unsafe extern "C" fn clearenv() -> c_int {
    if let Some(p) = current() {
        p.variables.environment.environ.set(ptr::null_mut());
    }
    0
}
