//! Exit handlers of programs: `atexit` functions and destructors of C++ objects.
//!
//! The C library would run exit handlers at the end of the host process, after the rank's instance is unmapped. Each
//! instance therefore has its own list of exit handlers. Thread-local objects of a rank are destroyed when the rank's
//! instance ends. Thread-local objects of other threads are destroyed when the thread ends.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::loaded;
use super::tls;

/// An exit handler of a program with its argument.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExitFunction {
    function: ExitHandler,
    argument: *mut c_void,
    module: *mut c_void,
}

#[derive(Debug, Clone, Copy)]
enum ExitHandler {
    /// An exit handler registered with `__cxa_atexit`.
    Plain(unsafe extern "C" fn(*mut c_void)),
    /// An exit handler registered with `on_exit`.
    Code(unsafe extern "C" fn(c_int, *mut c_void)),
}

// SAFETY: the argument pointers are only passed to the exit handler that the program registered with the pointers.
unsafe impl Send for ExitFunction {}

impl ExitFunction {
    /// Calls the exit handler.
    ///
    /// # Safety
    /// The instance that registered the exit handler is mapped.
    pub unsafe fn run(self, code: c_int) {
        // SAFETY: the caller guarantees that the instance is mapped, so the code of the exit handler is mapped.
        unsafe {
            match self.function {
                ExitHandler::Plain(function) => function(self.argument),
                ExitHandler::Code(function) => function(code, self.argument),
            }
        }
    }
}

/// Exit handlers of a program instance.
#[derive(Debug, Default)]
pub(super) struct Exits {
    process: Mutex<Vec<ExitFunction>>,
    thread: Mutex<Vec<ExitFunction>>,
}

impl Exits {
    /// Runs all exit handlers in reverse order of registration. Exit handlers of thread-local objects run before all
    /// others.
    ///
    /// # Safety
    /// The instance is mapped, and the instance's rank runs on the calling thread.
    pub unsafe fn run(&self, code: c_int) {
        for list in [&self.thread, &self.process] {
            // The lock is released before each call, because an exit handler may register another exit handler.
            while let Some(exit) = { lock(list).pop() } {
                // SAFETY: the caller guarantees that the instance is mapped.
                unsafe { exit.run(code) }
            }
        }
    }

    /// Runs the exit handlers that modules in the address range `range` registered.
    ///
    /// # Safety
    /// The modules in `range` are mapped, and the rank that uses the modules runs on the calling thread.
    pub unsafe fn run_of(&self, range: &std::ops::Range<usize>) {
        for list in [&self.thread, &self.process] {
            let next = || {
                let mut list = lock(list);
                let last = list.iter().rposition(|exit| range.contains(&(exit.module as usize)))?;
                Some(list.remove(last))
            };
            while let Some(exit) = next() {
                // SAFETY: the caller guarantees that the modules are mapped.
                unsafe { exit.run(0) }
            }
        }
    }

    /// Registers an exit handler of `on_exit`.
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

/// Replacement of `__cxa_atexit` for programs. The program's `atexit` also calls `__cxa_atexit`.
pub(super) unsafe extern "C" fn at_exit(
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
    module: *mut c_void,
) -> c_int {
    match loaded::space(module as usize) {
        Some(space) => {
            lock(&space.exits.process).push(ExitFunction { function: ExitHandler::Plain(function), argument, module })
        }
        // SAFETY: the caller is a system library, which passes valid arguments for the system's `__cxa_atexit`.
        None => return unsafe { system_at_exit(function, argument, module) },
    }
    0
}

/// Replacement of `__cxa_finalize` for programs. The function runs the exit handlers that `module` registered.
pub(super) unsafe extern "C" fn finalize(module: *mut c_void) {
    let Some(space) = loaded::space(module as usize) else {
        if !module.is_null() {
            // SAFETY: the caller is a system library, which passes valid arguments for the system's `__cxa_finalize`.
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
        // SAFETY: the module itself calls `finalize`, so the module's instance is mapped.
        unsafe { exit.run(0) }
    }
}

/// Replacement of `__cxa_thread_atexit` and `__cxa_thread_atexit_impl` for programs.
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
