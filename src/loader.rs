//! A compiled program, loaded once a rank, each with globals of its own.
//!
//! The system's loader gives a process one copy of a library. This one maps a shared object as often as there are ranks: its
//! code from the file, where all share the memory, and its data for each. [`Image::open`] does once what is the same for
//! all; [`Image::instance`] maps, copies and relocates.

mod elf;
mod error;
mod exits;
mod frames;
mod instance;
mod layout;
mod library;
mod link;
mod loaded;
mod locate;
pub mod note;
mod parts;
mod runtime;
mod tls;
mod versions;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use error::{Fault, ImageError};
pub use frames::{Code, code};
pub use instance::Instance;
pub use library::STUB;
pub use loaded::place_at_once;
pub use note::{Kind, is_program};
pub use runtime::Kept;
pub use tls::{InstanceId, main_instance, set_main};

use library::Source;
use parts::Parts;
use runtime::Runtime;

/// Where undefined symbols of a program come from before the system's libraries are asked.
pub trait Host: Sync {
    /// The address of a function that is the same for all ranks.
    fn function(&self, name: &str) -> Option<usize>;

    /// Whether `name` is a variable of which each rank has its own: [`Image::instance`] is told its address. Asked before
    /// [`Host::function`].
    fn owned(&self, _name: &str) -> bool {
        false
    }
}

/// A program and the libraries that each rank has for its own, read once for all ranks.
pub struct Image {
    path: PathBuf,
    parts: Arc<Parts>,
    runtime: Option<Runtime>,
}

impl Image {
    /// Reads the program at `path`. Opens the system's libraries that it needs, for the rest of the process.
    ///
    /// The file must not change while instances are there: they are mapped from it.
    ///
    /// # Errors
    /// It is no program of `mcpsim cc`, or is damaged; a library or symbol is missing; it needs what the loader does not do.
    pub fn open(path: &Path, host: &dyn Host) -> Result<Image, ImageError> {
        let parts = Parts::new(Source::read(path)?, host)?;
        Ok(Image { path: path.to_owned(), parts: Arc::new(parts), runtime: Runtime::find() })
    }

    /// What the OpenMP runtime is to keep of a new rank, where there is one.
    pub fn runtime(&self) -> Option<Kept> {
        self.runtime.map(Kept::new)
    }

    /// A new instance. `data` gives the address of each variable that [`Host::owned`] has claimed.
    ///
    /// # Errors
    /// The process has no room for it, or `data` does not know a variable.
    pub fn instance(&self, data: &dyn Fn(&str) -> Option<usize>) -> Result<Instance, ImageError> {
        Instance::new(&self.parts, data)
    }

    /// The program's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of a module, by its index as [`Instance::contains`] gives it.
    pub fn module(&self, module: usize) -> Option<&Path> {
        self.parts.modules.get(module).map(|module| module.path.as_path())
    }

    /// The place in the source of an address in a module, as in `exchange at jacobi3d.c:120`; without debug information as
    /// in `exchange+0x34`. Reads the file again: meant for reports of crashes. Of a return address, give the byte before.
    pub fn describe(&self, module: usize, offset: usize) -> String {
        match self.module(module) {
            Some(path) => locate::describe(path, offset as u64),
            None => format!("{offset:#x}"),
        }
    }
}
