//! Why a program cannot be loaded: the file, what is wrong with it and what to do.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file that cannot be loaded, and why.
#[derive(Debug)]
pub struct ImageError {
    /// The program, or the library of it that is at fault.
    pub path: PathBuf,
    /// What is wrong.
    pub fault: FileFault,
}

/// What is wrong with a file.
#[derive(Debug)]
pub enum FileFault {
    /// It cannot be read.
    Read(io::Error),
    /// It is no ELF file.
    NotElf,
    /// It is for another machine, or no shared object.
    OtherKind(String),
    /// It has no marker of `mcpsim cc`.
    NotAProgram,
    /// It was made by a version of `mcpsim cc` whose programs are of another format.
    OtherFormat(u32),
    /// Its parts contradict each other.
    Malformed(String),
    /// It needs what this loader does not do.
    Unsupported(String),
    /// It was compiled for the static thread-local storage model; the symbol, where it has a name.
    StaticTls(String),
    /// A library that it needs is not there.
    MissingLibrary {
        /// As the file names it.
        name: String,
        /// In the words of the system's loader, or our own.
        why: String,
    },
    /// What keeps ranks from having a library each for its own.
    Library(Box<FileFault>),
    /// It was linked with this library of another MPI.
    OtherMpi(String),
    /// Symbols that are defined nowhere.
    Undefined(Vec<String>),
    /// The system has no room for another instance.
    Map(io::Error),
    /// All ranks' instances need more mappings than a process can have.
    Mappings {
        /// What they need.
        needed: usize,
        /// What the system allows.
        limit: usize,
        /// The library that needs most.
        greatest: String,
    },
}

impl ImageError {
    /// Whether nothing is wrong with the file: the system has no room for another instance of it.
    pub fn is_for_room(&self) -> bool {
        matches!(self.fault, FileFault::Map(_))
    }

    /// This error of a library, of which all ranks may share one copy if they cannot have their own.
    pub(super) fn of_library(self) -> ImageError {
        match self.fault {
            FileFault::Unsupported(_) | FileFault::StaticTls(_) => {
                ImageError { fault: FileFault::Library(Box::new(self.fault)), path: self.path }
            }
            _ => self,
        }
    }

    /// Whether a program may meet it under a real MPI too: a library that is not there, or lacks something.
    pub(super) fn is_usual(&self) -> bool {
        matches!(
            self.fault,
            FileFault::Read(_) | FileFault::NotElf | FileFault::MissingLibrary { .. } | FileFault::Undefined(_)
        )
    }

    /// As the system's loader tells programs.
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

    /// The name by which the user can have the library shared.
    fn library(&self) -> String {
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        file.split(".so").next().unwrap_or_default().to_owned()
    }
}

impl FileFault {
    /// This fault, of the file at `path`.
    pub(super) fn of(self, path: &Path) -> ImageError {
        ImageError { path: path.to_owned(), fault: self }
    }
}

/// A contradiction in a file.
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

impl fmt::Display for FileFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileFault::Read(error) => write!(f, "cannot be read: {error}"),
            FileFault::NotElf => f.write_str("expected a program built by mcpsim cc; this is no ELF file"),
            FileFault::OtherKind(found) => write!(f, "expected a program built by mcpsim cc for x86-64; found {found}"),
            FileFault::NotAProgram => {
                f.write_str("not built by mcpsim cc: compile and link its sources with mcpsim cc or mcpsim cxx")
            }
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
                "was built for another MPI (it needs {library}), whose handles mean nothing here; build it with mcpsim cc"
            ),
            FileFault::Undefined(symbols) => {
                let shown = symbols[..symbols.len().min(8)].join(", ");
                write!(f, "undefined: {shown}")?;
                if symbols.len() > 8 {
                    write!(f, " and {} more", symbols.len() - 8)?;
                }
                Ok(())
            }
            FileFault::Mappings { needed, limit, greatest } => write!(
                f,
                "its ranks and their libraries need {needed} mappings of memory, and a process can have {limit} \
                 (vm.max_map_count); --share-library {greatest} has all ranks share one of them"
            ),
            FileFault::Map(error) => write!(f, "no room for another instance of the program: {error}"),
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
            "a: no room for another instance of the program: Cannot allocate memory (os error 12)"
        );
        assert!(!FileFault::NotElf.of(Path::new("a")).is_for_room());
    }
}
