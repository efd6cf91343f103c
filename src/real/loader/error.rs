//! Errors of loading a program. An error message names the file, the fault and a remedy.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A program or library file that cannot be loaded, with the reason.
#[derive(Debug)]
pub struct ImageError {
    /// Path of the program, or of the library that has the fault.
    pub path: PathBuf,
    /// Reason why the program or library file cannot be loaded.
    pub fault: FileFault,
}

/// Reason why a program or library file cannot be loaded.
#[derive(Debug)]
pub enum FileFault {
    /// The file cannot be read.
    Read(io::Error),
    /// The file is not an ELF file.
    NotElf,
    /// The file is for another machine or is not a shared object.
    OtherKind(String),
    /// The program file lacks the marker of `mcpsim cc`.
    NotAProgram,
    /// The file lacks the marker of `mcpsim cc`, but is linked with the stub library of `mcpsim cc`.
    OtherLinker,
    /// The file was made by a version of `mcpsim cc` with another program format.
    OtherFormat(u32),
    /// The contents of the program file are inconsistent. The text in the field describes the inconsistency.
    Malformed(String),
    /// The file needs a feature that the loader does not support.
    Unsupported(String),
    /// The file was compiled for the static thread-local storage model. The field is the name of the thread-local
    /// symbol, or empty if the symbol has no name.
    StaticTls(String),
    /// A library that the file needs is missing.
    MissingLibrary {
        /// Name of the missing library as stored in the file.
        name: String,
        /// Error text of the system's loader or of this loader.
        why: String,
    },
    /// The library cannot have one copy per rank, for the reason in the field.
    Library(Box<FileFault>),
    /// The file was linked with a library of another MPI. The field is the name of the other MPI's library.
    OtherMpi(String),
    /// The file refers to symbols that no library defines. The field contains the names of the undefined symbols.
    Undefined(Vec<String>),
    /// The operating system has no memory for another instance of the program.
    Map(io::Error),
    /// The instances of all ranks need more memory mappings than the operating system permits per process.
    Mappings {
        /// Number of memory mappings that the instances of all ranks need.
        needed: usize,
        /// Number of memory mappings that the operating system permits per process.
        limit: usize,
        /// Name of the library with the most memory mappings per instance.
        greatest: String,
    },
}

impl ImageError {
    /// Returns true if the file is valid but the operating system has no memory for another instance.
    pub fn is_for_room(&self) -> bool {
        matches!(self.fault, FileFault::Map(_))
    }

    /// Converts the error to [`FileFault::Library`], whose message suggests that all ranks share one copy of the
    /// library.
    pub(super) fn of_library(self) -> ImageError {
        match self.fault {
            FileFault::Unsupported(_) | FileFault::StaticTls(_) => {
                ImageError { fault: FileFault::Library(Box::new(self.fault)), path: self.path }
            }
            _ => self,
        }
    }

    /// Returns true if the error can also occur under a real MPI, because a library is missing or incomplete.
    pub(super) fn is_usual(&self) -> bool {
        matches!(
            self.fault,
            FileFault::Read(_) | FileFault::NotElf | FileFault::MissingLibrary { .. } | FileFault::Undefined(_)
        )
    }

    /// Returns the error text for the program's `dlerror`, in the wording of the system's loader.
    pub(super) fn for_program(&self) -> String {
        match &self.fault {
            FileFault::MissingLibrary { why, .. } => why.clone(),
            FileFault::Undefined(symbols) => {
                format!("{}: undefined symbol: {}", self.path.display(), symbols.first().map_or("", String::as_str))
            }
            FileFault::NotElf => format!("{}: invalid ELF header", self.path.display()),
            _ => self.to_string(),
        }
    }

    /// Returns the name that the user can pass to mcpsim to share the library among all ranks.
    fn library(&self) -> String {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        file.split(".so").next().unwrap_or_default().to_owned()
    }
}

impl FileFault {
    /// Returns the error for the file at `path` with the reason `self`.
    pub(super) fn of(self, path: &Path) -> ImageError {
        ImageError { path: path.to_owned(), fault: self }
    }
}

/// Returns an error for a file with inconsistent contents, described by `what`.
pub(super) fn malformed<T>(what: impl Into<String>) -> Result<T, FileFault> {
    Err(FileFault::Malformed(what.into()))
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.fault)?;
        match self.fault {
            FileFault::Library(_) => {
                write!(f, "; or have all ranks share one copy of it: --share-library {}", self.library())
            }
            _ => Ok(()),
        }
    }
}

/// Advice for programs that need what ranks as fibers do not have.
pub const AS_BUILT: &str = "build the program with the compiler wrapper of Open MPI or MPICH and run it as built, with a \
    process per rank: mpicc -o PROGRAM …, then mcpsim … ./PROGRAM";

/// Advice for programs that mcpsim cannot run, such as Fortran programs, python3, or executables without sources.
pub(super) const RECORD: &str = "; or record it as it is, under its own MPI: mcpsim trace lib --mpicc mpicc, then \
    mpirun -n N env LD_PRELOAD=./libmcpsim-trace.so PROGRAM, and predict the trace";

/// Description of an executable that loads no shared libraries, and the advice for it.
pub(super) const STATIC: &str = "a statically linked program, whose MPI library cannot be replaced: link it without \
    -static, or build it with mcpsim cc";

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileFault::Read(error) => write!(f, "cannot be read: {error}"),
            FileFault::NotElf => f.write_str(
                "expected a program built by mcpsim cc; found a file of another format \
                                              than ELF",
            ),
            FileFault::OtherKind(found) => {
                write!(f, "expected a program built by mcpsim cc for x86-64; found {found}")
            }
            FileFault::NotAProgram => {
                f.write_str("not built by mcpsim cc: compile and link its sources with mcpsim cc or mcpsim cxx")?;
                f.write_str(RECORD)
            }
            FileFault::OtherLinker => f.write_str(
                "has mcpsim's MPI but was linked without its wrapper: link it with mcpsim cc or mcpsim cxx (cargo: \
                 RUSTFLAGS=\"-C linker=mpicc\", where mpicc is that of mcpsim)",
            ),
            FileFault::OtherFormat(found) => write!(
                f,
                "was built by another version of mcpsim cc (format {found}, expected {}); build it again",
                super::note::FORMAT
            ),
            FileFault::Malformed(what) => write!(f, "is damaged: {what}"),
            FileFault::Unsupported(what) => f.write_str(what),
            FileFault::StaticTls(symbol) => {
                f.write_str("uses the static thread-local storage model")?;
                if !symbol.is_empty() {
                    write!(f, " for {symbol}")?;
                }
                f.write_str("; compile with -fPIC and without -ftls-model")
            }
            FileFault::MissingLibrary { name, why } => {
                write!(f, "needs the library {name}, which cannot be loaded: {why}")
            }
            FileFault::Library(fault) => write!(f, "each rank needs a copy of this library, which {fault}"),
            FileFault::OtherMpi(library) => write!(
                f,
                "was built for another MPI (it needs {library}), whose handles mean nothing here; build it with mcpsim cc{RECORD}"
            ),
            FileFault::Undefined(symbols) => {
                let shown = symbols[..symbols.len().min(8)].join(", ");
                write!(f, "undefined: {shown}")?;
                if symbols.len() > 8 {
                    write!(f, " and {} more", symbols.len() - 8)?;
                }
                let is_mpi = |name: &String| name.starts_with("MPI_") || name.starts_with("PMPI_");
                match symbols.iter().any(is_mpi) {
                    true => write!(f, "; ranks as fibers lack functions beyond MPI-3.1: {AS_BUILT}"),
                    false => Ok(()),
                }
            }
            FileFault::Mappings { needed, limit, greatest } => write!(
                f,
                "its ranks and their libraries need {needed} mappings of memory, and a process can have {limit} \
                 (vm.max_map_count); --share-library {greatest} has all ranks share one of them"
            ),
            FileFault::Map(error) => write!(
                f,
                "no room for another instance of the program: {error}: expected fewer ranks, more memory, or a greater \
                 vm.max_map_count (sysctl)"
            ),
        }
    }
}

impl Error for ImageError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.fault {
            FileFault::Read(error) | FileFault::Map(error) => Some(error),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_could_not_be_mapped_is_for_room() {
        let full = FileFault::Map(io::Error::from_raw_os_error(libc::ENOMEM)).of(Path::new("a"));
        assert!(full.is_for_room());
        assert_eq!(
            full.to_string(),
            "a: no room for another instance of the program: Cannot allocate memory (os error 12): expected fewer ranks, \
             more memory, or a greater vm.max_map_count (sysctl)"
        );
        assert!(!FileFault::NotElf.of(Path::new("a")).is_for_room());
    }
}
