//! Loader for compiled programs with one instance per rank. Each instance has its own global variables.
//!
//! The system's loader gives a process one copy of a library. This loader maps a shared object once per rank: code is
//! mapped from the file and shared, data is private to each rank. [`Image::open`] does the work that is common to all
//! ranks; [`Image::instance`] maps, copies and relocates.

mod backtrace;
mod common;
mod dl;
mod elf;
mod error;
mod exits;
mod exports;
mod frames;
mod group;
mod instance;
mod layout;
mod library;
mod link;
mod loaded;
mod locate;
pub mod note;
mod parts;
mod runtime;
mod search;
mod space;
mod tls;
mod versions;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use error::{FileFault, ImageError};
pub use frames::{UnwindCode, code};
pub use instance::Instance;
pub use loaded::place_at_once;
pub use note::{FileKind, is_program};
pub use runtime::SavedRuntime;
pub use search::STUB;
pub use tls::{InstanceId, main_instance, set_main};

use common::Common;
use library::ModuleSource;
use parts::ModuleParts;
use runtime::Runtime;
use search::Sharing;

/// Distance between the first module numbers of two programs in a run. Program `n` has modules from `n` times this.
pub const PROGRAM_MODULES: usize = 1 << 24;

/// Name prefix of functions that a program provides to its libraries in place of the C library's functions.
pub const OWN_PREFIX: &str = "mcpsim_own_";

/// Source of symbols that takes precedence over the system's libraries.
pub trait Host: Sync {
    /// Returns the address of a function that is common to all ranks.
    fn function(&self, name: &str) -> Option<usize>;

    /// Returns the names of variables of which each rank has its own. [`Image::instance`] receives their addresses.
    /// They take precedence over [`Host::function`].
    fn owned_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns true if `name` is one of [`Host::owned_names`].
    fn owned(&self, name: &str) -> bool {
        self.owned_names().contains(&name)
    }

    /// Called when a program opens a library that cannot be loaded per rank. May end the rank.
    fn refuse(&self, _error: &ImageError) {}
}

/// A program and its per-rank libraries, read once for all ranks.
pub struct Image {
    path: PathBuf,
    common: Arc<Common>,
    runtime: Option<Runtime>,
}

impl Image {
    /// Reads the program at `path`, with number `number` in the run. Opens the shared libraries that it needs for the
    /// rest of the process, including libraries whose file name starts with an entry of `shared`.
    ///
    /// The file must not change while instances exist, because they are mapped from it.
    ///
    /// # Errors
    /// The file is not a program of `mcpsim cc` or is damaged, a library or symbol is missing, or the program needs an
    /// unsupported feature.
    pub fn open(path: &Path, host: &'static dyn Host, shared: &[String], number: usize) -> Result<Image, ImageError> {
        let sharing = Sharing(shared.to_vec());
        let program = ModuleParts::of_program(ModuleSource::read(path)?, host, &sharing)?;
        let program = ModuleParts { first: number * PROGRAM_MODULES, ..program };
        let common = Arc::new(Common::new(host, sharing, program));
        Ok(Image { path: path.to_owned(), common, runtime: Runtime::find() })
    }

    /// Checks that the process can have this number of instances.
    ///
    /// # Errors
    /// The instances need more memory mappings than the system permits.
    pub fn check_room(&self, instances: usize) -> Result<(), ImageError> {
        let layout = &self.common.program.layout;
        // A stack and its guard page.
        let needed = instances.saturating_mul(layout.mappings() + 2);
        let limit =
            std::fs::read_to_string("/proc/sys/vm/max_map_count").ok().and_then(|text| text.trim().parse().ok());
        match limit {
            Some(limit) if needed > limit && self.common.program.modules.len() > 1 => {
                let greatest =
                    layout.most_mappings().and_then(|module| self.module(self.common.program.first + module));
                let greatest = greatest.unwrap_or_default();
                let greatest = greatest.file_name().unwrap_or_default().to_string_lossy();
                let greatest = greatest.split(".so").next().unwrap_or_default().to_owned();
                Err(FileFault::Mappings { needed, limit, greatest }.of(&self.path))
            }
            _ => Ok(()),
        }
    }

    /// Returns the files of shared libraries, except those of the C library or a compiler.
    pub fn shared(&self) -> Vec<String> {
        self.common.told()
    }

    /// Returns all loaded files: the program, per-rank libraries, libraries opened by ranks, and shared libraries
    /// except those of the C library or a compiler.
    pub fn files(&self) -> Vec<PathBuf> {
        self.common.files()
    }

    /// Returns the state of the OpenMP runtime for a new rank, if the runtime is loaded.
    pub fn runtime(&self) -> Option<SavedRuntime> {
        self.runtime.map(SavedRuntime::new)
    }

    /// Creates an instance. `data` returns the address of each variable claimed by [`Host::owned`].
    ///
    /// # Errors
    /// The process has no memory for the instance, or `data` does not know a variable.
    pub fn instance(&self, data: &dyn Fn(&str) -> Option<usize>) -> Result<Instance, ImageError> {
        Instance::new(&self.common, data)
    }

    /// Returns the file of the program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file of a module with an index from [`Instance::contains`].
    pub fn module(&self, module: usize) -> Option<PathBuf> {
        self.common.module(module)
    }

    /// Returns the source position of an address in a module, such as `exchange at jacobi3d.c:120`, or `exchange+0x34`
    /// without debug information. The function reads the file again and is intended for crash reports. For a return
    /// address, pass the preceding byte.
    pub fn describe(&self, module: usize, offset: usize) -> String {
        match self.module(module) {
            Some(path) => locate::describe(&path, offset as u64),
            None => format!("{offset:#x}"),
        }
    }
}
