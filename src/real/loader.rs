//! Loader for compiled programs. Each rank has its own instance of the program. Each instance of the program has
//! separate global variables.
//!
//! The system's loader creates one copy of a library per process. The loader of mcpsim maps a shared object once per
//! rank. All ranks share the pages of code, and each rank has a private copy of the data. [`Image::open`] does the work
//! that is common to all ranks. [`Image::instance`] maps the files for one rank, copies the data and applies the
//! relocations.

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

pub use error::{AS_BUILT, FileFault, ImageError};
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

use mcpsim_core::rank::mappings_of_stacks;

/// Maximum number of modules (files with one copy per rank) per program of a run. The modules of program `n` are
/// numbered from `n * PROGRAM_MODULES`.
pub const PROGRAM_MODULES: usize = 1 << 24;

/// Name prefix of functions that a program provides to its libraries in place of the C library's functions.
pub const OWN_PREFIX: &str = "mcpsim_own_";

/// Source of replacement functions and variables, which take precedence over symbols of the system's libraries.
pub trait Host: Sync {
    /// Returns the address of the replacement function `name` that all ranks share.
    fn function(&self, name: &str) -> Option<usize>;

    /// Returns the names of variables that exist once per rank. [`Image::instance`] receives the addresses of the
    /// per-rank variables. An owned variable takes precedence over a [`Host::function`] of the same name.
    fn owned_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns true if `name` is one of [`Host::owned_names`].
    fn owned(&self, name: &str) -> bool {
        self.owned_names().contains(&name)
    }

    /// Handles a `dlopen` of a library that cannot have one copy per rank. The function may end the calling rank.
    fn refuse(&self, _error: &ImageError) {}
}

/// A program and its per-rank libraries. The loader reads the files once for all ranks.
pub struct Image {
    path: PathBuf,
    common: Arc<Common>,
    runtime: Option<Runtime>,
}

impl Image {
    /// Reads the program at `path`, whose identifier in the run is `number`, and opens the shared libraries that the
    /// program needs. Shared libraries remain open until the host process ends. A library whose file name starts with
    /// an element of `shared` is also shared among ranks.
    ///
    /// The program file must not change while instances exist, because the instances are mapped from the file.
    ///
    /// # Errors
    /// The file is not a program of `mcpsim cc`, the file is damaged, a library or symbol is missing, or the program
    /// needs an unsupported feature.
    pub fn open(path: &Path, host: &'static dyn Host, shared: &[String], number: usize) -> Result<Image, ImageError> {
        let sharing = Sharing(shared.to_vec());
        let program = ModuleParts::of_program(ModuleSource::read(path)?, host, &sharing)?;
        let program = ModuleParts { first: number * PROGRAM_MODULES, ..program };
        let common = Arc::new(Common::new(host, sharing, program));
        Ok(Image { path: path.to_owned(), common, runtime: Runtime::find() })
    }

    /// Checks that the host process can map `instances` instances of the program.
    ///
    /// # Errors
    /// The instances need more memory mappings than the operating system permits.
    pub fn check_room(&self, instances: usize) -> Result<(), ImageError> {
        let layout = &self.common.program.layout;
        let needed = instances.saturating_mul(layout.mappings()).saturating_add(mappings_of_stacks(instances));
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

    /// Returns the files of libraries that all ranks share, except the files of the C library and of compilers.
    pub fn shared(&self) -> Vec<String> {
        self.common.told()
    }

    /// Returns all loaded files: the program, per-rank libraries, libraries opened by ranks, and libraries that ranks
    /// share. Files of the C library and of compilers are omitted.
    pub fn files(&self) -> Vec<PathBuf> {
        self.common.files()
    }

    /// Returns the initial OpenMP state of a rank, if the OpenMP runtime is loaded.
    pub fn runtime(&self) -> Option<SavedRuntime> {
        self.runtime.map(SavedRuntime::new)
    }

    /// Creates an instance of the program for one rank. `data` returns the address of each variable for which
    /// [`Host::owned`] returns true.
    ///
    /// # Errors
    /// The host process has no memory for the instance, or `data` returns `None` for a variable.
    pub fn instance(&self, data: &dyn Fn(&str) -> Option<usize>) -> Result<Instance, ImageError> {
        Instance::new(&self.common, data)
    }

    /// Returns the file of the program.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the file of the module with the index `module` from [`Instance::contains`].
    pub fn module(&self, module: usize) -> Option<PathBuf> {
        self.common.module(module)
    }

    /// Returns the source position of an address in a module, such as `exchange at jacobi3d.c:120`, or
    /// `exchange+0x34` without debug information. The function is intended for crash reports, because each call reads
    /// the module's file again. For a return address, `offset` must be the return address minus 1.
    pub fn describe(&self, module: usize, offset: usize) -> String {
        match self.module(module) {
            Some(path) => locate::describe(&path, offset as u64),
            None => format!("{offset:#x}"),
        }
    }
}
