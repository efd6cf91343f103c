//! Compiler wrapper `mpicc`, which builds programs for the module `loader`.
//!
//! The wrapper `mpicc` runs the system's compiler, which links the program as a shared object with an entry point.
//! The linker resolves all symbols of the shared object. The module `loader` loads the shared object once per rank of
//! the simulated program. The module `cc` contains neither a linker nor a C library.

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

/// Returns the cache directory, and advice for the user if the cache directory cannot be written. The cache directory
/// is the value of `MCPSIM_CACHE`, or the subdirectory `mcpsim` of the user's cache directory.
///
/// # Errors
/// The environment names no cache directory, and the temporary directory `mcpsim-UID` belongs to another user.
pub fn cache() -> Result<(std::path::PathBuf, &'static str), CcError> {
    sysroot::root(|name| std::env::var_os(name))
}

/// Programming language of a source file. The programming language selects the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C, compiled with the wrapper `mpicc`.
    C,
    /// C++, compiled with the wrapper `mpicxx`.
    Cxx,
}

impl Language {
    /// Returns the language that the wrapper `name`, such as `mpicc`, compiles.
    pub fn of_wrapper(name: &str) -> Option<Language> {
        match name {
            "mpicc" | "mcpsim-cc" => Some(Language::C),
            "mpicxx" | "mpic++" | "mpiCC" | "mcpsim-c++" | "mcpsim-cxx" => Some(Language::Cxx),
            _ => None,
        }
    }

    /// Returns the error that the wrapper `name` for Fortran prints. Without such wrappers in mcpsim, build systems
    /// would find the Fortran wrappers of another MPI.
    pub fn none_of_wrapper(name: &str) -> Option<CcError> {
        let fortran = ["mpifort", "mpif90", "mpif77"].contains(&name);
        fortran.then(|| {
            CcError::new(format!(
                "{name}: mcpsim compiles C and C++: build Fortran programs with the {name} of Open MPI or MPICH, and run \
                 them as built: mcpsim … ./PROGRAM"
            ))
        })
    }

    /// Returns the name of the environment variable that selects the compiler, and the default compiler.
    fn compiler(self) -> (&'static str, &'static str) {
        match self {
            Language::C => ("MCPSIM_CC", "cc"),
            Language::Cxx => ("MCPSIM_CXX", "c++"),
        }
    }
}

/// Symbol of the support archive. A reference to this symbol links all support functions into a program; see the
/// module `build`.
const OWN_MARKER: &str = "mcpsim_own";

/// Error of the compiler wrapper that occurs before the compiler starts.
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

/// Action that the arguments of the compiler wrapper request.
#[derive(Debug)]
pub enum WrapperRequest {
    /// Print a text without running the compiler.
    Show(String),
    /// Run the compiler. If the compiler fails, print the hint in the second field.
    Run(Command, Option<&'static str>),
}

/// Parses the arguments of the compiler wrapper and creates the support files.
///
/// # Errors
/// No compiler exists, or the cache directory cannot be written.
pub fn request(language: Language, arguments: &[OsString]) -> Result<WrapperRequest, CcError> {
    line::request(language, arguments)
}

/// Runs the compiler with the standard streams of the wrapper. Returns the compiler's exit code, or 128 plus the
/// number of the signal that ended the compiler.
///
/// # Errors
/// The compiler cannot be started.
pub fn run(mut compiler: Command) -> Result<i32, CcError> {
    let status = compiler.status().map_err(|error| line::not_started(&compiler, &error))?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}
