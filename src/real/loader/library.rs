//! Finds the libraries that a program or library file needs, directly or indirectly. Each library occurs once in the
//! list of libraries.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::ffi::{CStr, CString, c_void};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use object::elf;

use super::elf::Elf;
use super::error::{FileFault, ImageError};
use super::search::{Found, Search, Sharing, is_service, is_stub, other_mpi};

/// A program or library file of which each rank has its own copy.
pub(super) struct ModuleSource {
    pub path: PathBuf,
    pub file: File,
    pub bytes: Vec<u8>,
    /// Indices of the per-rank files that the file needs.
    pub needs: Vec<usize>,
    /// Previously loaded modules that the file needs.
    pub known: Vec<Known>,
}

/// A previously loaded module: the module's link group and the module's index in the link group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub group: usize,
    pub module: usize,
}

/// A library that all ranks share. The library remains open until the host process ends.
#[derive(Clone, Copy)]
pub(super) struct Shared(pub *mut c_void);

// SAFETY: the library is never closed, so the handle remains valid. `dlsym` and `dlinfo` may be called from any thread.
unsafe impl Send for Shared {}
// SAFETY: the library is never closed, so the handle remains valid. `dlsym` and `dlinfo` may be called from any thread.
unsafe impl Sync for Shared {}

/// First fields of a `dlopen` handle, which programs may read (`struct link_map`).
#[repr(C)]
#[derive(Debug)]
pub(super) struct LinkMap {
    pub address: usize,
    pub name: *const std::ffi::c_char,
    pub dynamic: usize,
    pub next: *mut LinkMap,
    pub previous: *mut LinkMap,
}

/// A program, or a library opened by a rank, with all dependencies.
pub(super) struct Libraries {
    /// The program or opened library, followed by its per-rank dependencies in breadth-first order.
    pub sources: Vec<ModuleSource>,
    /// Dependencies that ranks share, in the order in which files need the dependencies.
    pub shared: Vec<Shared>,
    /// Files of the shared dependencies that reports list. Files of the C library and of compilers are omitted.
    pub told: Vec<String>,
}

impl ModuleSource {
    pub fn read(path: &Path) -> Result<ModuleSource, ImageError> {
        let read = || {
            // A read of a device or a pipe could block or never end.
            if !fs::metadata(path)?.is_file() {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
            }
            let mut file = File::open(path)?;
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok((file, bytes))
        };
        let (file, bytes) = read().map_err(|error| FileFault::Read(error).of(path))?;
        Ok(ModuleSource { path: path.to_owned(), file, bytes, needs: Vec::new(), known: Vec::new() })
    }
}

impl Libraries {
    /// Finds the dependencies of the file `first`. `loaded` returns the previously loaded module with a path.
    pub fn find(
        first: ModuleSource,
        sharing: &Sharing,
        loaded: &dyn Fn(&Path) -> Option<Known>,
    ) -> Result<Libraries, ImageError> {
        let mut found = Libraries { sources: vec![first], shared: Vec::new(), told: Vec::new() };
        let mut opened: Vec<String> = Vec::new();
        let mut open = VecDeque::from([0]);
        while let Some(index) = open.pop_front() {
            let source = &found.sources[index];
            let path = source.path.clone();
            let fault = |fault: FileFault| fault.of(&path);
            let elf = Elf::parse(&source.bytes).map_err(fault)?;
            let needed: Vec<String> =
                elf.names(elf::DT_NEEDED).map_err(fault)?.into_iter().map(str::to_owned).collect();
            if let Some(other) = needed.iter().find(|name| other_mpi(name)) {
                return Err(fault(FileFault::OtherMpi(other.clone())));
            }
            let search = Search::new(&elf, &path).map_err(fault)?;
            for name in needed.iter().filter(|name| !is_stub(name)) {
                let looked = match search.look(name, sharing)? {
                    Found::Own(library) if found.is_behind(index, name, &library.path, loaded) => {
                        let name = library.path.to_string_lossy().into_owned();
                        Found::Shared { told: Some(name.clone()), name }
                    }
                    other => other,
                };
                match looked {
                    Found::Own(library) => {
                        if let Some(known) = loaded(&library.path) {
                            found.sources[index].known.push(known);
                            continue;
                        }
                        let known = found.sources.iter().position(|source| source.path == library.path);
                        let library = known.unwrap_or_else(|| {
                            found.sources.push(library);
                            open.push_back(found.sources.len() - 1);
                            found.sources.len() - 1
                        });
                        found.sources[index].needs.push(library);
                    }
                    Found::Shared { name, .. } if opened.contains(&name) => {}
                    Found::Shared { name, told } => {
                        found.shared.push(Shared::open(&name).map_err(fault)?);
                        found.told.extend(told);
                        opened.push(name);
                    }
                }
            }
        }
        // Replacements of C library functions may use the mathematics library, even if no file of the program needs
        // that library.
        if let Ok(mathematics) = Shared::open("libm.so.6") {
            found.shared.push(mathematics);
        }
        Ok(found)
    }

    /// Returns true if ranks share the library `name` at `path` because it is a service library that the program does
    /// not need directly. `index` identifies the source that needs the library.
    fn is_behind(&self, index: usize, name: &str, path: &Path, loaded: &dyn Fn(&Path) -> Option<Known>) -> bool {
        let own = || self.sources.iter().any(|source| source.path == path) || loaded(path).is_some();
        index > 0 && is_service(name) && !is_service(&self.sources[index].path.to_string_lossy()) && !own()
    }

    /// Returns the indices of the files in initialisation order. A file follows the files that it needs, except in
    /// dependency cycles.
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
    /// Opens the library `name` and makes its symbols visible to all other system libraries.
    pub fn open(name: &str) -> Result<Shared, FileFault> {
        Shared::open_as(name, libc::RTLD_NOW | libc::RTLD_GLOBAL)
    }

    /// Opens the library `name` with the `dlopen` flags `flags`.
    pub fn open_as(name: &str, flags: libc::c_int) -> Result<Shared, FileFault> {
        let missing = |why: String| FileFault::MissingLibrary { name: name.to_owned(), why };
        // For an empty name, `dlopen` would return the executable of mcpsim.
        let text = CString::new(name).ok().filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| missing("the name is damaged".into()))?;
        // SAFETY: `text` is zero-terminated, and initialisers of system libraries may run in any process.
        let handle = unsafe { libc::dlopen(text.as_ptr(), flags) };
        if handle.is_null() {
            // SAFETY: `dlerror` returns null or a zero-terminated string that is valid on this thread until the next
            // call.
            let why = unsafe { libc::dlerror() };
            let why = if why.is_null() { "".into() } else { unsafe { CStr::from_ptr(why) }.to_string_lossy() };
            return Err(missing(why.into_owned()));
        }
        Ok(Shared(handle))
    }

    /// Returns the library `name` if the host process has loaded the library.
    pub fn find(name: &str) -> Option<Shared> {
        let text = CString::new(name).ok()?;
        // SAFETY: `text` is zero-terminated. With `RTLD_NOLOAD`, `dlopen` loads no library and runs no initialiser.
        let handle = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
        (!handle.is_null()).then_some(Shared(handle))
    }

    /// Returns the path of the library's file.
    pub fn path(self) -> Option<PathBuf> {
        let mut map = std::ptr::null_mut::<LinkMap>();
        // SAFETY: the library is never closed, so the link map and the name in the link map remain valid.
        unsafe {
            if libc::dlinfo(self.0, libc::RTLD_DI_LINKMAP, (&raw mut map).cast()) != 0 || map.is_null() {
                return None;
            }
            fs::canonicalize(CStr::from_ptr((*map).name).to_string_lossy().as_ref()).ok()
        }
    }

    /// Returns the address of the symbol `name`. If `version` is not `None`, the symbol with this version is
    /// preferred.
    pub fn symbol(self, name: &CStr, version: Option<&CStr>) -> Option<usize> {
        // SAFETY: the library is never closed, so the handle is valid, and a `CStr` is zero-terminated.
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
