//! A program with data of its own: what a rank runs.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use super::common::Common;
use super::error::{FileFault, ImageError};
use super::group::Arguments;
use super::space::InstanceMemory;
use super::tls::InstanceId;

/// A program with globals, statics and thread-local variables of its own, and the libraries that it opens. Dropping it
/// unmaps it: no code of it may run, and no pointer into it may be used, after that.
pub struct Instance {
    space: Arc<InstanceMemory>,
}

impl Instance {
    /// A new one, of which nothing has run but the resolvers of indirect functions.
    pub(super) fn new(common: &Arc<Common>, data: &dyn Fn(&str) -> Option<usize>) -> Result<Instance, ImageError> {
        for name in &common.program.fixups.owned_names {
            if data(name).is_none() {
                return Err(FileFault::Undefined(vec![name.clone()]).of(&common.program.modules[0].path));
            }
        }
        Ok(Instance { space: InstanceMemory::new(common, data)? })
    }

    /// What tells it from all others; see [`super::set_main`].
    pub fn id(&self) -> InstanceId {
        self.space.id
    }

    /// Runs the initialisers: those of the program's own libraries before those of what needs them, the program's last.
    ///
    /// # Safety
    /// Runs code of the program, once an instance. `argv` and `envp` are as for `main`. If the rank's thread-local
    /// variables are to be initialised, [`super::set_main`] was told of this instance.
    pub unsafe fn initialise(&self, argc: c_int, argv: *const *mut c_char, envp: *const *mut c_char) {
        // SAFETY: the caller's promise.
        unsafe { self.space.initialise(Arguments { count: argc, values: argv, environment: envp }) }
    }

    /// Runs what the program has registered with `atexit` and `on_exit`, which are told `code`, destructors, and the
    /// finalisers in the reverse order of the initialisers.
    ///
    /// # Safety
    /// Runs code of the program, once an instance, after [`Instance::initialise`] and with the same
    /// [`super::set_main`].
    pub unsafe fn finalise(&self, code: c_int) {
        // SAFETY: the caller's promise.
        unsafe { self.space.finalise(code) }
    }

    /// `on_exit`: has `function` called at the end with the exit code and `argument`.
    pub fn on_exit(&self, function: unsafe extern "C" fn(c_int, *mut c_void), argument: *mut c_void) {
        self.space.exits.on_exit(function, argument);
    }

    /// The address of a function or variable that the program or, failing that, a library of its own defines.
    pub fn symbol(&self, name: &str) -> Option<usize> {
        self.space.program()?.symbol(name)
    }

    /// The module that `address` is in and its address there, as in the module's file.
    pub fn contains(&self, address: usize) -> Option<(usize, usize)> {
        self.space.contains(address)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        self.space.clear();
    }
}
