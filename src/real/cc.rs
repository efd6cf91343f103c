//! The compiler wrapper: behaves like `mpicc`, and makes programs that `image` can load.
//!
//! The system's compiler does the work. What it links, `image` loads once a rank: a shared object with an entry point
//! of its own, all of whose symbols are known when it is linked. Neither a linker nor a C library is part of this.

mod arguments;
mod build;
mod header;
mod line;
mod program;
mod sysroot;

use std::ffi::OsString;
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

pub use header::{HOST_FUNCTIONS, functions};
pub use program::{Built, CodeOrigin, ProgramFile};

/// The directory of what is made once and kept: `MCPSIM_CACHE`, or `mcpsim` in the user's cache directory; and what to
/// do if it cannot be written.
///
/// # Errors
/// If the only place left is another user's.
pub fn cache() -> Result<(std::path::PathBuf, &'static str), CcError> {
    sysroot::root(|name| std::env::var_os(name))
}

/// What a source is written in, and so which compiler is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// `mpicc`.
    C,
    /// `mpicxx`.
    Cxx,
}

impl Language {
    /// The language of a wrapper that is called by this name, as `mpicc` is.
    pub fn of_wrapper(name: &str) -> Option<Language> {
        match name {
            "mpicc" | "mcpsim-cc" => Some(Language::C),
            "mpicxx" | "mpic++" | "mpiCC" | "mcpsim-c++" | "mcpsim-cxx" => Some(Language::Cxx),
            _ => None,
        }
    }

    /// Why a wrapper of this name compiles nothing, if it is one of Fortran. Without it, build systems would find that
    /// of another MPI.
    pub fn none_of_wrapper(name: &str) -> Option<CcError> {
        let fortran = ["mpifort", "mpif90", "mpif77"].contains(&name);
        fortran
            .then(|| CcError::new(format!("{name}: mcpsim compiles C and C++, not Fortran: describe the application")))
    }

    /// The environment's variable that names the compiler, and the compiler if it is not set.
    fn compiler(self) -> (&'static str, &'static str) {
        match self {
            Language::C => ("MCPSIM_CC", "cc"),
            Language::Cxx => ("MCPSIM_CXX", "c++"),
        }
    }
}

/// What programs are linked for, so that they have all support functions: see `build`.
const OWN_MARKER: &str = "mcpsim_own";

/// Why the compiler was not asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CcError {
    text: String,
}

impl CcError {
    fn new(text: impl Into<String>) -> Self {
        CcError { text: text.into() }
    }
}

impl fmt::Display for CcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for CcError {}

/// What the arguments ask the wrapper for.
#[derive(Debug)]
pub enum WrapperRequest {
    /// To print this text.
    Show(String),
    /// To run the compiler so; and what to say if it fails.
    Run(Command, Option<&'static str>),
}

/// Understands the arguments of the wrapper, and has what they need made.
///
/// # Errors
/// If there is no compiler, or the cache cannot be written.
pub fn request(language: Language, arguments: &[OsString]) -> Result<WrapperRequest, CcError> {
    line::request(language, arguments)
}

/// Runs the compiler, with the streams of this process; returns its exit code, 128 and more if a signal ended it.
///
/// # Errors
/// If it cannot be started.
pub fn run(mut compiler: Command) -> Result<i32, CcError> {
    let status = compiler.status().map_err(|error| line::not_started(&compiler, &error))?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}
