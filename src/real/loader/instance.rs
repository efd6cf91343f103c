//! Instance of a program: the copy of the program that one rank runs.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use super::common::Common;
use super::error::{FileFault, ImageError};
use super::group::Arguments;
use super::space::InstanceMemory;
use super::tls::InstanceId;

/// The copy of a program that one rank runs: global, static and thread-local variables, and the libraries that the rank
/// opens. Dropping the instance unmaps its memory. After the drop, no code of the instance may run and no pointer into
/// its memory may be used.
pub struct Instance {
    space: Arc<InstanceMemory>,
}

impl Instance {
    /// Creates an instance of a program. Of the program's code, only resolvers of indirect functions run.
    pub(super) fn new(common: &Arc<Common>, data: &dyn Fn(&str) -> Option<usize>) -> Result<Instance, ImageError> {
        for name in &common.program.fixups.owned_names {
            if data(name).is_none() {
                return Err(FileFault::Undefined(vec![name.clone()]).of(&common.program.modules[0].path));
            }
        }
        Ok(Instance { space: InstanceMemory::new(common, data)? })
    }

    /// Returns the identifier of the program instance; see [`super::set_main`].
    pub fn id(&self) -> InstanceId {
        self.space.id
    }

    /// Runs the initialisers of all libraries and of the program. Initialisers of a library run before the initialisers
    /// of its dependents, and the program's initialisers run last.
    ///
    /// # Safety
    /// The function runs code of the program and must be called once per instance. `argv` and `envp` are valid
    /// arguments of `main`. If the initialisers use the rank's thread-local variables, [`super::set_main`] was called
    /// for the instance.
    pub unsafe fn initialise(&self, argc: c_int, argv: *const *mut c_char, envp: *const *mut c_char) {
        // SAFETY: the caller guarantees the conditions in the section Safety, which `space.initialise` also requires.
        unsafe { self.space.initialise(Arguments { count: argc, values: argv, environment: envp }) }
    }

    /// Runs `atexit` and `on_exit` functions with `code`, then destructors, then the finalisers in the reverse order of
    /// the initialisers.
    ///
    /// # Safety
    /// The function runs code of the program and must be called once per instance, after [`Instance::initialise`].
    /// [`super::set_main`] was called for the instance, as for [`Instance::initialise`].
    pub unsafe fn finalise(&self, code: c_int) {
        // SAFETY: the caller guarantees the conditions in the section Safety, which `space.finalise` also requires.
        unsafe { self.space.finalise(code) }
    }

    /// `on_exit`: registers `function`, which receives the exit code and `argument` at the exit of the program.
    pub fn on_exit(&self, function: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) {
        self.space.exits.on_exit(function, argument);
    }

    /// Returns the address of the function or variable `name` of the program. If the program does not define `name`,
    /// the function searches the per-rank libraries.
    pub fn symbol(&self, name: &str) -> Option<usize> {
        self.space.program()?.symbol(name)
    }

    /// Returns the index of the module that contains `address`, and the corresponding address in the module's file.
    pub fn contains(&self, address: usize) -> Option<(usize, usize)> {
        self.space.contains(address)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.space.clear();
    }
}
