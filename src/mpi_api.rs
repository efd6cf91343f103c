//! The MPI functions of real programs: their chapters, the objects behind their handles, and how collectives and
//! windows move data.
//!
//! `process` is a rank as its MPI functions see it, `calls` are these functions. What needs no rank stands in `mpi`.

mod attribute;
mod calls;
mod collective;
mod comm;
mod error;
mod handler;
mod handles;
mod held;
mod leaks;
mod payloads;
mod process;
mod request;
mod types;
mod window;

use std::path::Path;

use crate::loader::{self, Image, ImageError};
use crate::process::clib;

/// A rank of a real program.
pub type RealProgram = crate::process::RealProgram<process::MpiProcess>;

/// What programs find in mcpsim before the system's libraries are asked.
struct MpiHost;

impl loader::Host for MpiHost {
    fn function(&self, name: &str) -> Option<usize> {
        calls::find(name).or_else(|| clib::find(name))
    }

    fn owned_names(&self) -> &'static [&'static str] {
        &clib::VARIABLES
    }

    fn refuse(&self, error: &ImageError) {
        clib::refuse(error);
    }
}

/// Opens the program at `path`, which `mcpsim cc` made. All ranks share one copy of the libraries whose files' names
/// begin with one of `shared`.
///
/// # Errors
/// What is wrong with the file, and functions that nobody has.
pub fn open(path: &Path, shared: &[String]) -> Result<Image, ImageError> {
    Image::open(path, &MpiHost, shared)
}
