//! Exit handlers of programs: `atexit` functions and destructors of C++ objects.
//!
//! The C library would run them at the end of the process, after the instance is unmapped. Each instance therefore has
//! its own list. Thread-local objects of a rank are destroyed with its instance, those of other threads with their
//! threads.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::loaded;
use super::tls;

/// An exit handler.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExitFunction {
    function: ExitHandler,
    argument: *mut c_void,
    module: *mut c_void,
}

#[derive(Debug, Clone, Copy)]
enum ExitHandler {
    /// A handler of `__cxa_atexit`.
    Plain(unsafe extern "C" fn(*mut c_void)),
    /// A handler of `on_exit`.
    Code(unsafe extern "C" fn(c_int, *mut c_void)),
}

// SAFETY: the pointers are only passed to the function that the program registered with them.
unsafe impl Send for ExitFunction {}

impl ExitFunction {
    /// Calls the handler.
    ///
    /// # Safety
    /// The instance that registered the handler is mapped.
    pub unsafe fn run(self, code: c_int) {
        // SAFETY: the instance is mapped by the contract of this function, so its function can be called.
        unsafe {
            match self.function {
                ExitHandler::Plain(function) => function(self.argument),
                ExitHandler::Code(function) => function(code, self.argument),
            }
        }
    }
}

/// Exit handlers of an instance.
#[derive(Debug, Default)]
pub(super) struct Exits {
    process: Mutex<Vec<ExitFunction>>,
    thread: Mutex<Vec<ExitFunction>>,
}

impl Exits {
    /// Runs all handlers in reverse order of registration: objects of the rank's thread first, then the others.
    ///
    /// # Safety
    /// The instance is mapped, and its rank runs on this thread.
    pub unsafe fn run(&self, code: c_int) {
        for list in [&self.thread, &self.process] {
            // The lock is released before each call, because a handler may register others.
            while let Some(exit) = { lock(list).pop() } {
                // SAFETY: the instance is mapped by the contract of this function.
                unsafe { exit.run(code) }
            }
        }
    }

    /// Runs the handlers registered by modules in this address range.
    ///
    /// # Safety
    /// The modules are mapped, and their rank runs on this thread.
    pub unsafe fn run_of(&self, range: &std::ops::Range<usize>) {
        for list in [&self.thread, &self.process] {
            let next = || {
                let mut list = lock(list);
                let last = list.iter().rposition(|exit| range.contains(&(exit.module as usize)))?;
                Some(list.remove(last))
            };
            while let Some(exit) = next() {
                // SAFETY: the modules are mapped by the contract of this function.
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

/// `__cxa_atexit` of programs, also used by `atexit`.
pub(super) unsafe extern "C" fn at_exit(
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
    module: *mut c_void,
) -> c_int {
    match loaded::space(module as usize) {
        Some(space) => {
            lock(&space.exits.process).push(ExitFunction { function: ExitHandler::Plain(function), argument, module })
        }
        // SAFETY: the caller is a library of the system, which passes valid arguments for the system's function.
        None => return unsafe { system_at_exit(function, argument, module) },
    }
    0
}

/// `__cxa_finalize` of programs: runs the handlers registered by a module.
pub(super) unsafe extern "C" fn finalize(module: *mut c_void) {
    let Some(space) = loaded::space(module as usize) else {
        if !module.is_null() {
            // SAFETY: the caller is a library of the system, which passes valid arguments for the system's function.
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
        // SAFETY: the module is the caller, so the instance is mapped.
        unsafe { exit.run(0) }
    }
}

/// `__cxa_thread_atexit` and `__cxa_thread_atexit_impl` of programs.
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
