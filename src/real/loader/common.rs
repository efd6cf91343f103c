//! State of the loader that all ranks of a program share: the program's files and the files of libraries that ranks
//! open. The mapped memory of each rank is not part of the shared state.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Host;
use super::error::ImageError;
use super::library::{Known, ModuleSource};
use super::link::SearchScope;
use super::parts::ModuleParts;
use super::search::Sharing;

/// Loaded files that all ranks of a program share.
pub(super) struct Common {
    pub host: &'static dyn Host,
    pub sharing: Sharing,
    pub program: Arc<ModuleParts>,
    opened: Mutex<Opened>,
}

/// Libraries that ranks opened with `dlopen`.
struct Opened {
    /// Loaded libraries in the order of module identifiers.
    parts: Vec<Arc<ModuleParts>>,
    /// Module identifier for the next library that a rank opens with `dlopen`.
    next: usize,
    known: HashMap<Key, Arc<ModuleParts>>,
    /// Files of libraries that ranks have opened and that all ranks share, for reports.
    told: Vec<String>,
}

/// Key of a loaded library: the library's file and the link groups with which the file is linked.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    path: PathBuf,
    /// Identity of the library file. A file that replaces another file at the same path has another identity.
    file: [i64; 4],
    scope: Vec<usize>,
    first: usize,
    lazy: bool,
    deep: bool,
    apart: bool,
}

impl Common {
    pub fn new(host: &'static dyn Host, sharing: Sharing, program: ModuleParts) -> Common {
        let program = Arc::new(program);
        let next = program.first + program.modules.len();
        let opened = Mutex::new(Opened { parts: vec![program.clone()], next, known: HashMap::new(), told: Vec::new() });
        Common { host, sharing, program, opened }
    }

    fn opened(&self) -> MutexGuard<'_, Opened> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads the library at `path` with its dependencies, and links the loaded files with the link groups in `scope`.
    /// The library is loaded and linked once for all ranks.
    pub fn open(&self, path: &Path, scope: SearchScope) -> Result<Arc<ModuleParts>, ImageError> {
        let file = std::fs::metadata(path);
        let file = file.map_or([0; 4], |file| [file.dev() as i64, file.ino() as i64, file.mtime(), file.mtime_nsec()]);
        let numbers = scope.groups.iter().map(|parts| parts.first).collect();
        let key = Key {
            path: path.to_owned(),
            file,
            scope: numbers,
            first: scope.first,
            lazy: scope.lazy,
            deep: scope.deep,
            apart: scope.apart,
        };
        if let Some(known) = self.opened().known.get(&key) {
            return Ok(known.clone());
        }
        let loaded = |path: &Path| {
            let mut groups = scope.groups.iter().enumerate().skip(usize::from(scope.apart));
            groups.find_map(|(group, parts)| {
                let module = parts.modules.iter().position(|module| module.path == path)?;
                Some(Known { group, module })
            })
        };
        let mut parts = ModuleParts::new(ModuleSource::read(path)?, self.host, &self.sharing, scope, &loaded)?;
        let mut opened = self.opened();
        parts.first = opened.next;
        opened.next += parts.modules.len();
        let parts = Arc::new(parts);
        opened.parts.push(parts.clone());
        opened.known.insert(key, parts.clone());
        Ok(parts)
    }

    /// Returns the file of the module with the identifier `number`.
    pub fn module(&self, number: usize) -> Option<PathBuf> {
        let opened = self.opened();
        let parts = &opened.parts[opened.parts.partition_point(|parts| parts.first <= number).checked_sub(1)?];
        parts.modules.get(number - parts.first).map(|module| module.path.clone())
    }

    /// Stores the file of a shared library that a rank has opened. `file` is `None` if reports omit the library.
    pub fn opened_shared(&self, file: Option<String>) {
        if let Some(file) = file {
            let told = &mut self.opened().told;
            if !told.contains(&file) {
                told.push(file);
            }
        }
    }

    /// Returns the files of all modules and the shared libraries in [`Common::told`].
    pub fn files(&self) -> Vec<PathBuf> {
        let of_parts = |parts: &Arc<ModuleParts>| parts.modules.iter().map(|module| module.path.clone()).collect();
        let mut files: Vec<PathBuf> =
            self.opened().parts.iter().flat_map(|parts| -> Vec<_> { of_parts(parts) }).collect();
        files.extend(self.told().into_iter().map(PathBuf::from));
        files.sort();
        files.dedup();
        files
    }

    /// Returns the files of shared libraries, except the files of the C library and of compilers.
    pub fn told(&self) -> Vec<String> {
        let opened = self.opened();
        let of_parts = opened.parts.iter().flat_map(|parts| &parts.told);
        let mut told: Vec<String> = of_parts.chain(&opened.told).cloned().collect();
        told.sort();
        told.dedup();
        told
    }
}
