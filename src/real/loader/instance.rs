//! An instance of a program, which a rank runs.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use super::common::Common;
use super::error::{FileFault, ImageError};
use super::group::Arguments;
use super::space::InstanceMemory;
use super::tls::InstanceId;

/// A program with its own globals, statics and thread-local variables, and the libraries that it opens. A drop unmaps
/// it; afterwards no code of it may run and no pointer into it may be used.
pub struct Instance {
    space: Arc<InstanceMemory>,
}

impl Instance {
    /// Creates an instance and runs only the resolvers of indirect functions.
    pub(super) fn new(common: &Arc<Common>, data: &dyn Fn(&str) -> Option<usize>) -> Result<Instance, ImageError> {
        for name in &common.program.fixups.owned_names {
            if data(name).is_none() {
                return Err(FileFault::Undefined(vec![name.clone()]).of(&common.program.modules[0].path));
            }
        }
        Ok(Instance { space: InstanceMemory::new(common, data)? })
    }

    /// Returns the identifier of the instance; see [`super::set_main`].
    pub fn id(&self) -> InstanceId {
        self.space.id
    }

    /// Runs the initialisers: those of each library before those of its dependents, and those of the program last.
    ///
    /// # Safety
    /// Runs code of the program, once per instance. `argv` and `envp` are those of `main`. [`super::set_main`] was
    /// called for the instance if the rank's thread-local variables must be initialised.
    pub unsafe fn initialise(&self, argc: c_int, argv: *const *mut c_char, envp: *const *mut c_char) {
        // SAFETY: this function has the contract of the called function.
        unsafe { self.space.initialise(Arguments { count: argc, values: argv, environment: envp }) }
    }

    /// Runs `atexit` and `on_exit` functions with `code`, then destructors, then the finalisers in the reverse order of
    /// the initialisers.
    ///
    /// # Safety
    /// Runs code of the program, once per instance, after [`Instance::initialise`] and with the same
    /// [`super::set_main`].
    pub unsafe fn finalise(&self, code: c_int) {
        // SAFETY: this function has the contract of the called function.
        unsafe { self.space.finalise(code) }
    }

    /// `on_exit`: registers `function` for a call with the exit code and `argument`.
    pub fn on_exit(&self, function: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) {
        self.space.exits.on_exit(function, argument);
    }

    /// Returns the address of a function or variable of the program, or else of one of its own libraries.
    pub fn symbol(&self, name: &str) -> Option<usize> {
        self.space.program()?.symbol(name)
    }

    /// Returns the module that contains `address`, and the address in the module's file.
    pub fn contains(&self, address: usize) -> Option<(usize, usize)> {
        self.space.contains(address)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.space.clear();
    }
}
