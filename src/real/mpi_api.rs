//! Implements the MPI functions of simulated programs with sources, the objects that MPI handles refer to, and the
//! data movement of collectives and windows.
//!
//! The module `process` defines the simulated rank on which the functions in `calls` operate. MPI code that does not
//! depend on a rank is in `mcpsim_core::mpi`.

mod attribute;
mod calls;
mod collective;
mod comm;
mod compare;
mod error;
mod handler;
mod handles;
mod held;
mod leaks;
pub(crate) mod payloads;
mod process;
mod request;
mod request_handles;
mod types;
mod window;

pub use calls::{end_unsupported, find, group_sizes, unsupported};
pub(crate) use process::MpiProcess;

use std::path::Path;
use std::sync::Arc;

use mcpsim_core::engine::{PreparedRun, RankPrograms, RunResult};
use mcpsim_core::rank::{Program, Rank};

use crate::loader::{self, Image, ImageError};
use crate::process::{Job, JobOptions, ShareMemory, clib, folded, heap};

/// A rank that runs a compiled program.
pub type RealProgram = crate::process::RealProgram<process::MpiProcess>;

/// The ranks of a job, as the simulation engine runs them. The engine is instantiated in the package `real` because
/// this package is always compiled with optimisation.
pub struct RealRanks(Arc<Job>);

impl RealRanks {
    /// Creates the ranks of `job`.
    pub fn new(job: Arc<Job>) -> Self {
        RealRanks(job)
    }
}

impl RankPrograms for RealRanks {
    fn program(&self, rank: Rank) -> Box<dyn Program> {
        Box::new(RealProgram::new(self.0.clone(), rank))
    }

    fn run_prepared(&self, prepared: PreparedRun<'_>) -> RunResult {
        prepared.run(|rank| RealProgram::new(self.0.clone(), rank))
    }
}

/// Provides mcpsim's replacement functions and variables to programs, in place of the symbols of system libraries.
enum MpiHost {
    /// The C library allocates memory.
    Plain,
    /// The memory functions of programs allocate blocks with guard bytes (`--check-heap`).
    Guarded,
    /// The memory functions of programs allocate folded blocks (`--share-memory`).
    Folded,
}

impl loader::Host for MpiHost {
    fn function(&self, name: &str) -> Option<usize> {
        let memory = || match self {
            MpiHost::Plain => None,
            MpiHost::Guarded => heap::find(name),
            MpiHost::Folded => folded::find(name),
        };
        calls::find(name).or_else(memory).or_else(|| clib::find(name))
    }

    fn owned_names(&self) -> &'static [&'static str] {
        &clib::VARIABLES
    }

    fn refuse(&self, error: &ImageError) {
        clib::refuse(error);
    }
}

/// Opens the program at `path`, which `mcpsim cc` has built. All ranks share one copy of each library whose file name
/// starts with an element of `options.shared`.
///
/// # Errors
/// The program file cannot be loaded, or the program uses a function that no library defines.
pub fn open(path: &Path, options: &JobOptions, number: usize) -> Result<Image, ImageError> {
    let host = match options.share_memory {
        _ if options.checks.heap => &MpiHost::Guarded,
        ShareMemory::From(_) => &MpiHost::Folded,
        ShareMemory::Marked | ShareMemory::None => &MpiHost::Plain,
    };
    Image::open(path, host, &options.shared, number)
}
