//! What programs want done at their end: `atexit` functions and destructors of C++ objects.
//!
//! The C library would keep them to the end of the process, when the instance is gone. So each instance keeps
//! its own. A rank's thread-local objects end with its instance, those of other threads with
//! their threads.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::loaded;
use super::tls;

/// A function to call at an end.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExitFunction {
    function: ExitHandler,
    argument: *mut c_void,
    module: *mut c_void,
}

#[derive(Debug, Clone, Copy)]
enum ExitHandler {
    /// Of `__cxa_atexit`.
    Plain(unsafe extern "C" fn(*mut c_void)),
    /// Of `on_exit`.
    Code(unsafe extern "C" fn(c_int, *mut c_void)),
}

// SAFETY: the pointers are only passed on to the function of the program that gave them.
unsafe impl Send for ExitFunction {}

impl ExitFunction {
    /// # Safety
    /// The instance that registered it is there.
    pub unsafe fn run(self, code: c_int) {
        // SAFETY: the caller's promise.
        unsafe {
            match self.function {
                ExitHandler::Plain(function) => function(self.argument),
                ExitHandler::Code(function) => function(code, self.argument),
            }
        }
    }
}

/// What is to be done at the end of an instance.
#[derive(Debug, Default)]
pub(super) struct Exits {
    process: Mutex<Vec<ExitFunction>>,
    thread: Mutex<Vec<ExitFunction>>,
}

impl Exits {
    /// Runs all, the last registered first: objects of the rank's thread, then the others.
    ///
    /// # Safety
    /// The instance is there, and its rank runs on this thread.
    pub unsafe fn run(&self, code: c_int) {
        for list in [&self.thread, &self.process] {
            // One by one, without the lock: a function may register others.
            while let Some(exit) = { lock(list).pop() } {
                // SAFETY: the caller's promise.
                unsafe { exit.run(code) }
            }
        }
    }

    /// Runs what modules in this range of addresses have registered.
    ///
    /// # Safety
    /// They are there, and their rank runs on this thread.
    pub unsafe fn run_of(&self, range: &std::ops::Range<usize>) {
        for list in [&self.thread, &self.process] {
            let next = || {
                let mut list = lock(list);
                let last = list.iter().rposition(|exit| range.contains(&(exit.module as usize)))?;
                Some(list.remove(last))
            };
            while let Some(exit) = next() {
                // SAFETY: the caller's promise.
                unsafe { exit.run(0) }
            }
        }
    }

    /// `on_exit`.
    pub fn on_exit(&self, function: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) {
        lock(&self.process).push(ExitFunction {
            function: ExitHandler::Code(function),
            argument,
            module: std::ptr::null_mut(),
        });
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

unsafe extern "C" {
    #[link_name = "__cxa_atexit"]
    fn system_at_exit(function: unsafe extern "C" fn(*mut c_void), argument: *mut c_void, module: *mut c_void)
    -> c_int;
    #[link_name = "__cxa_finalize"]
    fn system_finalize(module: *mut c_void);
}

/// `__cxa_atexit` of the programs; `atexit` is made of it.
pub(super) unsafe extern "C" fn at_exit(
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
    module: *mut c_void,
) -> c_int {
    match loaded::space(module as usize) {
        Some(space) => {
            lock(&space.exits.process).push(ExitFunction { function: ExitHandler::Plain(function), argument, module })
        }
        // SAFETY: it comes from a library of the system, which passes what the system's function wants.
        None => return unsafe { system_at_exit(function, argument, module) },
    }
    0
}

/// `__cxa_finalize` of the programs: runs what a module has registered.
pub(super) unsafe extern "C" fn finalize(module: *mut c_void) {
    let Some(space) = loaded::space(module as usize) else {
        if !module.is_null() {
            // SAFETY: as in `at_exit`.
            unsafe { system_finalize(module) }
        }
        return;
    };
    let next = || {
        let mut list = lock(&space.exits.process);
        let last = list.iter().rposition(|exit| exit.module == module)?;
        Some(list.remove(last))
    };
    while let Some(exit) = next() {
        // SAFETY: the module calls, so the instance is there.
        unsafe { exit.run(0) }
    }
}

/// `__cxa_thread_atexit` and `__cxa_thread_atexit_impl` of the programs.
pub(super) unsafe extern "C" fn at_thread_exit(
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
    module: *mut c_void,
) -> c_int {
    let Some(space) = loaded::space(module as usize) else { return -1 };
    let exit = ExitFunction { function: ExitHandler::Plain(function), argument, module };
    match tls::main_instance() == Some(space.id) {
        true => lock(&space.exits.thread).push(exit),
        false => tls::at_thread_end(space.id, exit),
    }
    0
}
