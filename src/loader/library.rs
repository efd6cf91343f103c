//! The libraries that a program needs: which of them each rank has for its own, and which are the system's.
//!
//! A library is a rank's own if it calls MPI, or if it is found by a path of the program or of the user outside the
//! system's directories. The runtime libraries of compilers and the C library are the system's wherever they are.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_void};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::elf;

use super::elf::Elf;
use super::error::{Fault, ImageError};

/// The library that programs are linked with in place of an MPI library; it is never loaded.
pub const STUB: &str = "libmcpsim_mpi.so";

/// Where the system keeps its libraries.
const SYSTEM: [&str; 6] = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/lib32", "/usr/lib32"];
/// Where the system's loader looks beyond paths; a library there that calls MPI must not be given to it.
const STANDARD: [&str; 7] = [
    "/usr/local/lib",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
];
/// Libraries of which a process can have but one.
const RUNTIME: [&str; 14] = [
    "ld-linux-x86-64.",
    "libc.",
    "libm.",
    "libmvec.",
    "libpthread.",
    "libdl.",
    "librt.",
    "libgcc_s.",
    "libstdc++.",
    "libgomp.",
    "libgfortran.",
    "libquadmath.",
    "libatomic.",
    "libomp.",
];

/// A file that each rank has for its own.
pub(super) struct Source {
    pub path: PathBuf,
    pub file: File,
    pub bytes: Vec<u8>,
    /// The sources it needs, by their index.
    pub needs: Vec<usize>,
}

/// A library that all ranks share, opened for the rest of the process.
#[derive(Clone, Copy)]
pub(super) struct Shared(pub *mut c_void);

// SAFETY: the handle stays valid and the functions that take it may be called from any thread.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// A program with everything it needs.
pub(super) struct Libraries {
    /// The program first, then its own libraries, breadth first.
    pub sources: Vec<Source>,
    /// In the order in which they are needed.
    pub shared: Vec<Shared>,
}

impl Source {
    pub fn read(path: &Path) -> Result<Source, ImageError> {
        let read = || {
            // Others may have no end, or wait for somebody to write.
            if !fs::metadata(path)?.is_file() {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
            }
            let mut file = File::open(path)?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok((file, bytes))
        };
        let (file, bytes) = read().map_err(|error| Fault::Read(error).of(path))?;
        Ok(Source { path: path.to_owned(), file, bytes, needs: Vec::new() })
    }
}

impl Libraries {
    /// `program` and what it needs.
    pub fn find(program: Source) -> Result<Libraries, ImageError> {
        let mut found = Libraries { sources: vec![program], shared: Vec::new() };
        let mut opened: Vec<String> = Vec::new();
        let mut open = VecDeque::from([0]);
        while let Some(index) = open.pop_front() {
            let source = &found.sources[index];
            let path = source.path.clone();
            let fault = |fault: Fault| fault.of(&path);
            let elf = Elf::parse(&source.bytes).map_err(fault)?;
            let needed: Vec<String> =
                elf.names(elf::DT_NEEDED).map_err(fault)?.into_iter().map(str::to_owned).collect();
            let search = Search::new(&elf, &path).map_err(fault)?;
            for name in needed {
                if is_stub(&name) {
                    continue;
                }
                match search.look(&name)? {
                    Found::Own(library) => {
                        let known = found.sources.iter().position(|source| source.path == library.path);
                        let library = known.unwrap_or_else(|| {
                            found.sources.push(library);
                            open.push_back(found.sources.len() - 1);
                            found.sources.len() - 1
                        });
                        found.sources[index].needs.push(library);
                    }
                    Found::Shared(name) if opened.contains(&name) => {}
                    Found::Shared(name) => {
                        found.shared.push(Shared::open(&name).map_err(fault)?);
                        opened.push(name);
                    }
                }
            }
        }
        Ok(found)
    }

    /// The indices of the sources such that each comes after those it needs, as far as they do not need each other.
    pub fn order(&self) -> Vec<usize> {
        let mut order = Vec::new();
        let mut seen = vec![false; self.sources.len()];
        let mut open = vec![(0, 0)];
        seen[0] = true;
        while let Some((index, next)) = open.pop() {
            let Some(&need) = self.sources[index].needs.get(next) else {
                order.push(index);
                continue;
            };
            open.push((index, next + 1));
            if !std::mem::replace(&mut seen[need], true) {
                open.push((need, 0));
            }
        }
        order
    }
}

impl Shared {
    fn open(name: &str) -> Result<Shared, Fault> {
        let missing = |why: String| Fault::MissingLibrary { name: name.to_owned(), why };
        // Without a name, the system's loader gives this program itself.
        let text = CString::new(name).ok().filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| missing("the name is damaged".into()))?;
        // SAFETY: initialisers of the system's libraries run, as in any process that uses them.
        let handle = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        if handle.is_null() {
            // SAFETY: dlerror gives a string of this thread, or null.
            let why = unsafe { libc::dlerror() };
            let why = if why.is_null() { "".into() } else { unsafe { CStr::from_ptr(why) }.to_string_lossy() };
            return Err(missing(why.into_owned()));
        }
        Ok(Shared(handle))
    }

    /// The address of `name`, of this version if the library has it.
    pub fn symbol(self, name: &CStr, version: Option<&CStr>) -> Option<usize> {
        // SAFETY: the handle is open, the names are terminated.
        let address = unsafe {
            let versioned = version.map(|version| libc::dlvsym(self.0, name.as_ptr(), version.as_ptr()));
            match versioned {
                Some(found) if !found.is_null() => found,
                _ => libc::dlsym(self.0, name.as_ptr()),
            }
        };
        (!address.is_null()).then_some(address as usize)
    }
}

fn is_stub(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|file| file == STUB)
}

enum Found {
    Own(Source),
    /// What the system's loader is to open.
    Shared(String),
}

/// Where the libraries that a file needs are looked for.
struct Search {
    paths: Vec<PathBuf>,
}

impl Search {
    fn new(elf: &Elf, file: &Path) -> Result<Search, Fault> {
        let origin = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let origin = origin.parent().unwrap_or(Path::new("/")).to_owned();
        let mut paths = Vec::new();
        let mut add = |list: &[u8]| {
            for path in list.split(|&byte| byte == b':').filter(|path| !path.is_empty()) {
                let text = String::from_utf8_lossy(path);
                let text = text.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", &origin.to_string_lossy());
                paths.push(PathBuf::from(text));
            }
        };
        let later = elf.names(elf::DT_RUNPATH)?;
        if later.is_empty() {
            elf.names(elf::DT_RPATH)?.iter().for_each(|list| add(list.as_bytes()));
        }
        if let Some(user) = std::env::var_os("LD_LIBRARY_PATH") {
            add(user.as_bytes());
        }
        later.iter().for_each(|list| add(list.as_bytes()));
        Ok(Search { paths })
    }

    fn look(&self, name: &str) -> Result<Found, ImageError> {
        let candidates: Vec<PathBuf> = match name.contains('/') {
            true => vec![PathBuf::from(name)],
            false => self.paths.iter().map(|path| path.join(name)).collect(),
        };
        let runtime = RUNTIME.iter().any(|runtime| name.starts_with(runtime));
        for candidate in candidates.iter().filter_map(|path| fs::canonicalize(path).ok()) {
            if runtime {
                return Ok(Found::Shared(candidate.to_string_lossy().into_owned()));
            }
            let outside = !SYSTEM.iter().any(|system| candidate.starts_with(system));
            if let Some(source) = usable(&candidate)?
                && (outside || calls_mpi(&source))
            {
                return Ok(Found::Own(source));
            }
        }
        if !runtime && !name.contains('/') {
            for candidate in STANDARD.iter().filter_map(|path| fs::canonicalize(Path::new(path).join(name)).ok()) {
                if let Some(source) = usable(&candidate)? {
                    return Ok(if calls_mpi(&source) { Found::Own(source) } else { Found::Shared(name.to_owned()) });
                }
            }
        }
        Ok(Found::Shared(name.to_owned()))
    }
}

/// The library at `path`; none if it cannot be read or is for another machine, in which case the search goes on.
fn usable(path: &Path) -> Result<Option<Source>, ImageError> {
    let Ok(source) = Source::read(path) else { return Ok(None) };
    match Elf::parse(&source.bytes) {
        Ok(_) => Ok(Some(source)),
        Err(Fault::NotElf | Fault::OtherKind(_)) => Ok(None),
        Err(fault) => Err(fault.of(path)),
    }
}

fn calls_mpi(source: &Source) -> bool {
    let Ok(elf) = Elf::parse(&source.bytes) else { return false };
    let stub = elf.names(elf::DT_NEEDED).is_ok_and(|names| names.iter().any(|name| is_stub(name)));
    let is_mpi = |name: &str| name.starts_with("MPI_") || name.starts_with("PMPI_");
    stub || elf.symbols().flatten().any(|symbol| !symbol.defined && is_mpi(symbol.name))
}
