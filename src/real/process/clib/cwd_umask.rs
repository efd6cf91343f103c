//! A rank's working directory and mask of new files' rights (umask).
//!
//! The kernel keeps both for a thread, once that has said that it shares them with no other. A rank that has changed
//! them is given them whenever its code runs, and the host thread has its own back when it stops. So all that programs
//! do with files goes by them, and so do the children that they start.
#![allow(unsafe_code)]

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::process::{Function, NamedFunction, Process, current};
use mcpsim_core::rank::FailureKind;

pub const FUNCTIONS: &[NamedFunction] = &[
    ("chdir", Function(chdir as *const ())),
    ("fchdir", Function(fchdir as *const ())),
    ("umask", Function(umask as *const ())),
];

/// What a rank has of its own.
#[derive(Debug)]
pub struct FileContext {
    /// A descriptor of the directory; negative if it is that of the process.
    directory: Cell<c_int>,
    mask: Cell<Option<libc::mode_t>>,
    /// Whether the thread has them now.
    is_set: Cell<bool>,
    is_own: Cell<bool>,
}

impl Default for FileContext {
    fn default() -> Self {
        FileContext {
            directory: Cell::new(-1),
            mask: Cell::new(None),
            is_set: Cell::new(false),
            is_own: Cell::new(false),
        }
    }
}

/// What the process has.
struct Common {
    directory: c_int,
    mask: libc::mode_t,
}

static COMMON: OnceLock<Common> = OnceLock::new();
/// Threads that have run ranks.
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_APART: Cell<bool> = const { Cell::new(false) };
}

/// A thread begins to run ranks.
pub fn count_thread() {
    THREADS.fetch_add(1, Ordering::Relaxed);
}

/// Makes this thread's directory and mask its own; what is wrong if it cannot.
fn apart() -> Result<&'static Common, String> {
    if !IS_APART.get() {
        // SAFETY: no memory is involved.
        let done = unsafe { libc::unshare(libc::CLONE_FS) } == 0;
        if !done && THREADS.load(Ordering::Relaxed) > 1 {
            let error = std::io::Error::last_os_error();
            return Err(format!(
                "a rank cannot have a working directory or umask of its own on several workers here, as the system does not \
                 let threads have theirs (unshare: {error}): use --workers 1"
            ));
        }
        IS_APART.set(true);
    }
    // SAFETY: the path is a string; the mask is put back at once, and no other thread shares it or is there.
    Ok(COMMON.get_or_init(|| unsafe {
        let directory = libc::open(c".".as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC);
        let mask = libc::umask(0o022);
        libc::umask(mask);
        Common { directory, mask }
    }))
}

impl FileContext {
    /// The rank's code begins to run on this thread, or stops.
    pub fn swap(&self) {
        if !self.is_own.get() {
            return;
        }
        let Ok(common) = apart() else { return };
        let set = !self.is_set.get();
        self.is_set.set(set);
        // SAFETY: descriptors of directories that stay open.
        unsafe {
            if self.directory.get() >= 0 {
                libc::fchdir(if set { self.directory.get() } else { common.directory });
            }
            if let Some(mask) = self.mask.get() {
                libc::umask(if set { mask } else { common.mask });
            }
        }
    }

    /// Takes what the thread has now for the rank's.
    fn take_directory(&self) {
        // SAFETY: the path is a string.
        let new = unsafe { libc::open(c".".as_ptr(), libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC) };
        if new >= 0 {
            self.close();
            self.directory.set(new);
        }
    }

    fn close(&self) {
        if self.directory.get() >= 0 {
            // SAFETY: the rank's own.
            unsafe { libc::close(self.directory.get()) };
        }
    }
}

impl Drop for FileContext {
    fn drop(&mut self) {
        self.close();
    }
}

/// The rank that calls, whose thread is apart from others from now on.
fn own<'a>(name: &str) -> Option<&'a Process> {
    let p = current()?;
    if let Err(what) = separate(p) {
        p.fail_at(name.to_owned(), FailureKind::Error, what);
    }
    Some(p)
}

/// Separates the thread of `p`, which runs, from others.
fn separate(p: &Process) -> Result<(), String> {
    apart()?;
    p.variables.place.is_own.set(true);
    p.variables.place.is_set.set(true);
    p.variables.has_surroundings();
    Ok(())
}

/// Makes `directory` that of `p`, whose code begins to run.
///
/// # Errors
/// The directory is not there, or threads of this system share theirs.
pub fn enter(p: &Process, directory: &CStr) -> Result<(), String> {
    separate(p)?;
    // SAFETY: the path is a string.
    if unsafe { libc::chdir(directory.as_ptr()) } != 0 {
        return Err(format!("{}: {}", directory.to_string_lossy(), std::io::Error::last_os_error()));
    }
    p.variables.place.take_directory();
    Ok(())
}

unsafe extern "C" fn chdir(path: *const c_char) -> c_int {
    let p = own("chdir");
    // SAFETY: the caller's string.
    let done = unsafe { libc::chdir(path) };
    if let (0, Some(p)) = (done, p) {
        p.variables.place.take_directory();
    }
    done
}

unsafe extern "C" fn fchdir(descriptor: c_int) -> c_int {
    let p = own("fchdir");
    // SAFETY: any number may be given.
    let done = unsafe { libc::fchdir(descriptor) };
    if let (0, Some(p)) = (done, p) {
        p.variables.place.take_directory();
    }
    done
}

unsafe extern "C" fn umask(mask: libc::mode_t) -> libc::mode_t {
    if let Some(p) = own("umask") {
        p.variables.place.mask.set(Some(mask & 0o777));
    }
    // SAFETY: any mask may be given.
    unsafe { libc::umask(mask) }
}
