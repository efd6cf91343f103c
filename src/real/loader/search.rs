//! Searches the libraries that a program needs, and selects the libraries that all ranks share.
//!
//! By default each rank has its own copy of a library. Ranks share the C library, the system's loader, runtimes that
//! must be unique in a host process, libraries of linear algebra, and libraries that the user names.

use std::fs;
use std::path::{Path, PathBuf};

use object::elf;

use super::elf::Elf;
use super::error::{FileFault, ImageError};
use super::library::{ModuleSource, Shared};

/// File name of the stub library with which programs are linked in place of an MPI library. The stub library is never
/// loaded.
pub const STUB: &str = "libmcpsim_mpi.so";

/// Default directories in which the system's loader searches libraries.
const STANDARD: [&str; 6] =
    ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];
/// Configuration file in which the system's loader finds further library directories.
const CONFIGURATION: &str = "/etc/ld.so.conf";

/// Libraries that must be unique in a host process. The C library keeps state per process, the unwinder must know all
/// code of the process, and the other libraries keep state in static thread-local storage.
const RUNTIME: [&str; 17] = [
    "ld-linux-x86-64.",
    "libBrokenLocale.",
    "libanl.",
    "libatomic.",
    "libc.",
    "libc_malloc_debug.",
    "libdl.",
    "libgcc_s.",
    "libgomp.",
    "libm.",
    "libmvec.",
    "libnss_",
    "libomp.",
    "libpthread.",
    "libresolv.",
    "librt.",
    "libutil.",
];

/// Libraries of linear algebra, whose only state is threads and work space. With per-rank copies of OpenBLAS, 512
/// ranks use eleven times the memory of a shared copy.
const ALGEBRA: [&str; 8] =
    ["libblas.", "libblas64.", "libblis", "libcblas.", "liblapack.", "liblapacke.", "libmkl_", "libopenblas"];

/// Libraries of networks and encryption. Libraries that read files from cloud storage need libraries of networks and
/// encryption, which have about thirty dependencies. For 512 ranks, per-rank copies of network and encryption
/// libraries would cost one second and one gigabyte. If the program does not need such a library directly, the
/// program has no state in the library, and ranks share the library.
const SERVICES: [&str; 8] =
    ["libcrypto.", "libcurl", "libgnutls.", "libgssapi_krb5.", "libkrb5.", "libldap", "libssh", "libssl."];

/// Returns true if ranks share the library `name` when only other libraries need the library.
pub(super) fn is_service(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    SERVICES.iter().any(|known| file.starts_with(known))
}

/// File name prefixes of other MPI libraries.
const OTHER_MPI: [&str; 9] = [
    "libmpi.so",
    "libmpi_cxx.so",
    "libmpi_mpifh.so",
    "libmpi_usempi",
    "libmpicxx.so",
    "libmpich",
    "libmpifort.so",
    "libopen-pal.so",
    "libopen-rte.so",
];

/// Returns true if a file with the name `name` belongs to another MPI.
pub(super) fn other_mpi(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    OTHER_MPI.iter().any(|other| file.starts_with(other))
}

pub(super) fn is_stub(name: &str) -> bool {
    Path::new(name).file_name().is_some_and(|file| file == STUB)
}

/// Libraries that ranks share by request of the user, as prefixes of file names such as `libopenblas`.
#[derive(Clone, Debug, Default)]
pub(super) struct Sharing(pub Vec<String>);

impl Sharing {
    /// Returns true if the user requested that ranks share the library at `path`.
    fn wants(&self, path: &Path) -> bool {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let ends = |rest: &str| rest.is_empty() || rest.starts_with(['.', '-']);
        self.0.iter().any(|name| file.strip_prefix(name.as_str()).is_some_and(ends))
    }
}

pub(super) enum Found {
    /// A library of which each rank has its own copy.
    Own(ModuleSource),
    /// A library that the system's loader opens once for all ranks. `told` is the file to report, and `None` for a
    /// library of the C library or of a compiler.
    Shared { name: String, told: Option<String> },
}

/// Search path for libraries that a file needs.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    paths: Vec<PathBuf>,
    /// The file whose needed libraries are searched.
    file: PathBuf,
}

impl Search {
    pub fn new(elf: &Elf, file: &Path) -> Result<Search, FileFault> {
        let origin = fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
        let origin = origin.parent().unwrap_or(Path::new("/")).to_owned();
        let mut paths = Vec::new();
        let mut add = |list: &str| {
            for path in list.split(':').filter(|path| !path.is_empty()) {
                let text = path.replace("${ORIGIN}", "$ORIGIN").replace("$ORIGIN", &origin.to_string_lossy());
                paths.push(PathBuf::from(text));
            }
        };
        let later = elf.names(elf::DT_RUNPATH)?;
        if later.is_empty() {
            elf.names(elf::DT_RPATH)?.iter().for_each(|list| add(list));
        }
        if let Some(user) = std::env::var_os("LD_LIBRARY_PATH") {
            add(&user.to_string_lossy());
        }
        later.iter().for_each(|list| add(list));
        Ok(Search { paths, file: file.to_owned() })
    }

    /// Finds the library `name`.
    pub fn look(&self, name: &str, sharing: &Sharing) -> Result<Found, ImageError> {
        let candidates: Vec<PathBuf> = match name.contains('/') {
            true => vec![PathBuf::from(name)],
            false => {
                let given = self.paths.iter().cloned();
                given.chain(STANDARD.map(PathBuf::from)).chain(configured()).map(|path| path.join(name)).collect()
            }
        };
        let runtime = name.rsplit('/').next().unwrap_or(name);
        let algebra = ALGEBRA.iter().any(|known| runtime.starts_with(known));
        let runtime = algebra || RUNTIME.iter().any(|known| runtime.starts_with(known));
        for candidate in candidates.iter().filter_map(|path| fs::canonicalize(path).ok()) {
            if runtime {
                let name = candidate.to_string_lossy().into_owned();
                return Ok(Found::Shared { told: algebra.then(|| name.clone()), name });
            }
            if let Some(source) = usable(&candidate)? {
                let path = candidate.to_string_lossy().into_owned();
                return Ok(match sharing.wants(Path::new(name)) || sharing.wants(&candidate) {
                    true => Found::Shared { name: path.clone(), told: Some(path) },
                    false => Found::Own(source),
                });
            }
        }
        if !runtime {
            // The system's loader may find the library in another directory. If the library is missing, the system's
            // loader provides the error text.
            let shared = Shared::open(name).map_err(|fault| fault.of(&self.file))?;
            if let Some(source) = shared.path().and_then(|path| usable(&path).transpose()).transpose()? {
                return Ok(Found::Own(source));
            }
        }
        Ok(Found::Shared { name: name.to_owned(), told: None })
    }
}

/// Returns the directories in the configuration file of the system's loader.
fn configured() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut read = |path: &Path| -> Vec<String> {
        let text = fs::read_to_string(path).unwrap_or_default();
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        let (included, directories): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with("include"));
        found.extend(directories.into_iter().filter(|line| line.starts_with('/')).map(PathBuf::from));
        included.iter().filter_map(|line| Some(line.strip_prefix("include")?.trim().to_owned())).collect()
    };
    for pattern in read(Path::new(CONFIGURATION)) {
        // Only patterns of the form "ld.so.conf.d/*.conf" are supported, which name all files of a directory with one
        // extension.
        let pattern = Path::new("/etc").join(pattern);
        let Some(directory) = pattern.parent() else { continue };
        let Ok(entries) = fs::read_dir(directory) else { continue };
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.sort();
        files.iter().filter(|file| file.extension() == pattern.extension()).for_each(|file| _ = read(file));
    }
    found
}

/// Reads the library at `path`. Returns `None` if the file cannot be read or is for another machine. The library
/// search then continues.
fn usable(path: &Path) -> Result<Option<ModuleSource>, ImageError> {
    let Ok(source) = ModuleSource::read(path) else { return Ok(None) };
    match Elf::parse(&source.bytes) {
        Ok(_) => Ok(Some(source)),
        Err(FileFault::NotElf | FileFault::OtherKind(_)) => Ok(None),
        Err(fault) => Err(fault.of(path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_names_a_shared_library_with_or_without_its_version() {
        let sharing = Sharing(vec!["libopenblas".to_owned(), "libx.so.1".to_owned()]);
        for (path, wanted) in [
            ("/usr/lib/libopenblas.so.0", true),
            ("libopenblas-r0.3.so", true),
            ("/a/libx.so.1", true),
            ("/a/libx.so.1.2", true),
            ("/a/libx.so.2", false),
            ("libopenblas2.so", false),
        ] {
            assert_eq!(sharing.wants(Path::new(path)), wanted, "{path}");
        }
    }

    #[test]
    fn other_mpis_are_known_by_their_names() {
        for name in ["libmpi.so.40", "libmpich.so.12", "libmpi_usempif08.so.40", "/usr/lib/libmpicxx.so"] {
            assert!(other_mpi(name), "{name}");
        }
        assert!(!other_mpi("libmpi4py.so") && !other_mpi(STUB));
    }
}
