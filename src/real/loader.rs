//! A compiled program, loaded once a rank, each with globals of its own.
//!
//! The system's loader gives a process one copy of a library. This one maps a shared object as often as there are
//! ranks: its code from the file, where all share the memory, and its data for each. [`Image::open`] does once what is
//! the same for all; [`Image::instance`] maps, copies and relocates.

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

/// The modules of program number `n` of a run are numbered from `n` times this.
pub const PROGRAM_MODULES: usize = 1 << 24;

/// How the names of functions begin that each program has for its libraries: as if the C library had them.
pub const OWN_PREFIX: &str = "mcpsim_own_";

/// Where undefined symbols of a program come from before the system's libraries are asked.
pub trait Host: Sync {
    /// The address of a function that is the same for all ranks.
    fn function(&self, name: &str) -> Option<usize>;

    /// The variables of which each rank has its own: [`Image::instance`] is told their addresses. Asked before
    /// [`Host::function`].
    fn owned_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether `name` is one of [`Host::owned_names`].
    fn owned(&self, name: &str) -> bool {
        self.owned_names().contains(&name)
    }

    /// A program has opened a library that cannot be loaded as each rank would need it: may end the rank.
    fn refuse(&self, _error: &ImageError) {}
}

/// A program and the libraries that each rank has for its own, read once for all ranks.
pub struct Image {
    path: PathBuf,
    common: Arc<Common>,
    runtime: Option<Runtime>,
}

impl Image {
    /// Reads the program at `path`, which is number `number` of the run's programs. Opens what all ranks share of the
    /// libraries that it needs, for the rest of the process: among them those whose file's name begins with one of `shared`.
    ///
    /// The file must not change while instances are there: they are mapped from it.
    ///
    /// # Errors
    /// It is no program of `mcpsim cc`, or is damaged; a library or symbol is missing; it needs what the loader does
    /// not do.
    pub fn open(path: &Path, host: &'static dyn Host, shared: &[String], number: usize) -> Result<Image, ImageError> {
        let sharing = Sharing(shared.to_vec());
        let program = ModuleParts::of_program(ModuleSource::read(path)?, host, &sharing)?;
        let program = ModuleParts { first: number * PROGRAM_MODULES, ..program };
        let common = Arc::new(Common::new(host, sharing, program));
        Ok(Image { path: path.to_owned(), common, runtime: Runtime::find() })
    }

    /// Whether a process can have so many instances.
    ///
    /// # Errors
    /// If they need more mappings of memory than the system allows.
    pub fn check_room(&self, instances: usize) -> Result<(), ImageError> {
        let layout = &self.common.program.layout;
        // A stack, and the page below it.
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

    /// The files of libraries that all ranks share, without those that are part of the C library or a compiler's.
    pub fn shared(&self) -> Vec<String> {
        self.common.told()
    }

    /// The files that are loaded: the program, libraries of its own and those that ranks have opened, and shared ones
    /// without those that are part of the C library or a compiler's.
    pub fn files(&self) -> Vec<PathBuf> {
        self.common.files()
    }

    /// What the OpenMP runtime is to keep of a new rank, where there is one.
    pub fn runtime(&self) -> Option<SavedRuntime> {
        self.runtime.map(SavedRuntime::new)
    }

    /// A new instance. `data` gives the address of each variable that [`Host::owned`] has claimed.
    ///
    /// # Errors
    /// The process has no room for it, or `data` does not know a variable.
    pub fn instance(&self, data: &dyn Fn(&str) -> Option<usize>) -> Result<Instance, ImageError> {
        Instance::new(&self.common, data)
    }

    /// The program's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The file of a module, by its index as [`Instance::contains`] gives it.
    pub fn module(&self, module: usize) -> Option<PathBuf> {
        self.common.module(module)
    }

    /// The place in the source of an address in a module, as in `exchange at jacobi3d.c:120`; without debug information
    /// as in `exchange+0x34`. Reads the file again: meant for reports of crashes. Of a return address, give the byte
    /// before.
    pub fn describe(&self, module: usize, offset: usize) -> String {
        match self.module(module) {
            Some(path) => locate::describe(&path, offset as u64),
            None => format!("{offset:#x}"),
        }
    }
}
