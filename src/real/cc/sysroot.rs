//! Support files with which programs are compiled and linked. The system's compiler creates the support files once,
//! and a cache directory stores the files.
#![allow(unsafe_code)]

use std::ffi::OsString;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use siphasher::sip128::{Hasher128, SipHasher24};

use super::header::HEADERS;
use super::{CcError, Language, build, line};

/// Directory that contains the support files: headers, start object, support archive and stub library.
#[derive(Debug)]
pub(super) struct SupportFiles {
    directory: PathBuf,
}

impl SupportFiles {
    /// Returns the directory that contains the headers.
    pub fn include(&self) -> PathBuf {
        self.directory.join("include")
    }

    /// Returns the directory that contains the support archive and the stub library.
    pub fn lib(&self) -> PathBuf {
        self.directory.join("lib")
    }

    /// Returns the path of the start object, which contains the entry point of a program that a user starts without
    /// mcpsim.
    pub fn start(&self) -> PathBuf {
        self.lib().join("mcpsim_start.o")
    }

    /// Returns the path of the support archive, which contains replacements of C library functions and the start
    /// object.
    pub fn support(&self) -> PathBuf {
        self.lib().join("libmcpsim_support.a")
    }

    /// Returns the path of the object with the BLAS functions that compute nothing.
    pub fn blas(&self) -> PathBuf {
        self.lib().join("mcpsim_blas.o")
    }

    /// Returns the path of the stub library, which defines all functions of the simulator for the linker.
    pub fn stubs(&self) -> PathBuf {
        self.lib().join("libmcpsim_mpi.so")
    }

    /// Returns the support files for the current C compiler. Missing or modified support files are created again.
    ///
    /// # Errors
    /// The cache directory cannot be written, or the compiler fails.
    pub fn ready() -> Result<SupportFiles, CcError> {
        let compiler = line::compiler(Language::C);
        let own = std::env::current_exe().map_err(|error| {
            CcError::new(format!(
                "cannot find the path of the mcpsim \
        executable: {error}"
            ))
        })?;
        let (root, hint) = root(|name| std::env::var_os(name))?;
        let directory = root.join(format!("{}-{:016x}", env!("CARGO_PKG_VERSION"), key(&compiler, &own)));
        let kit = SupportFiles { directory };
        if !kit.is_complete() {
            kit.make(&root, &compiler, &own).map_err(|error| match error {
                MakeError::Cache(error) => {
                    CcError::new(format!("cannot write the cache {}: {error}; {hint}", root.display()))
                }
                MakeError::Compiler(error) => error,
            })?;
        }
        Ok(kit)
    }

    /// Returns true if all support files exist and are unmodified.
    fn is_complete(&self) -> bool {
        let noted = fs::read_to_string(self.digests()).ok();
        noted.is_some_and(|noted| self.digest().is_ok_and(|found| found == noted))
    }

    /// Returns the path of the file that contains the digests of the other support files.
    fn digests(&self) -> PathBuf {
        self.directory.join("digests")
    }

    /// Computes the digests of the support files. Each line of the result contains the digest and the name of one file.
    fn digest(&self) -> std::io::Result<String> {
        let headers = HEADERS.iter().map(|(name, _)| self.include().join(name));
        let files = headers.chain([self.start(), self.support(), self.blas(), self.stubs()]);
        let line = |file: PathBuf| {
            let mut hasher = SipHasher24::new();
            hasher.write(&fs::read(&file)?);
            let name = file.file_name().unwrap_or_default().display();
            Ok(format!("{:032x}  {name}\n", hasher.finish128().as_u128()))
        };
        files.map(line).collect()
    }

    /// Creates the support files in a temporary directory and moves the directory to its final path. Other host
    /// processes wait for a lock and then use the created files.
    fn make(&self, root: &Path, compiler: &[OsString], own: &Path) -> Result<(), MakeError> {
        fs::create_dir_all(root)?;
        let lock = fs::File::create(root.join(".lock"))?;
        // On file systems without locks, several host processes may create the files, and the rename below keeps the
        // files of the first host process.
        let _ = lock.lock();
        if self.is_complete() {
            return Ok(());
        }
        let aside = tempfile::Builder::new().prefix(".making-").tempdir_in(root)?;
        let kit = SupportFiles { directory: aside.path().join("kit") };
        fs::create_dir_all(kit.include())?;
        fs::create_dir_all(kit.lib())?;
        for (name, text) in HEADERS {
            fs::write(kit.include().join(name), text)?;
        }
        let work = aside.path().join("work");
        fs::create_dir_all(&work)?;
        build::write_sources(&work)?;
        build::all(&kit, &work, compiler, own).map_err(MakeError::Compiler)?;
        fs::write(kit.digests(), kit.digest()?)?;
        if !self.is_complete() {
            // The existing directory may be damaged or partly deleted, and is moved away.
            match fs::rename(&self.directory, aside.path().join("broken")) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        match fs::rename(&kit.directory, &self.directory) {
            Err(_) if self.is_complete() => Ok(()),
            result => Ok(result?),
        }
    }
}

enum MakeError {
    Cache(std::io::Error),
    Compiler(CcError),
}

impl From<std::io::Error> for MakeError {
    fn from(error: std::io::Error) -> Self {
        MakeError::Cache(error)
    }
}

/// Returns the cache directory, and advice for the user if the cache directory cannot be written.
pub(super) fn root(variable: impl Fn(&str) -> Option<OsString>) -> Result<(PathBuf, &'static str), CcError> {
    const SET: &str = "set MCPSIM_CACHE to a directory that can be written";
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = variable("MCPSIM_CACHE") {
        let path = std::path::absolute(&path).unwrap_or(path);
        return Ok((path, "MCPSIM_CACHE names it"));
    }
    if let Some(path) = variable("XDG_CACHE_HOME").filter(|path| path.is_absolute()) {
        return Ok((path.join("mcpsim"), SET));
    }
    if let Some(home) = variable("HOME").filter(|path| path.is_absolute()) {
        return Ok((home.join(".cache/mcpsim"), SET));
    }
    // A subdirectory of the world-writable temporary directory is used only if the subdirectory belongs to the
    // current user. SAFETY: `geteuid` has no preconditions.
    let user = unsafe { libc::geteuid() };
    let path = std::env::temp_dir().join(format!("mcpsim-{user}"));
    let owned = || -> std::io::Result<bool> {
        if fs::create_dir(&path).is_ok() {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
        }
        let found = fs::symlink_metadata(&path)?;
        Ok(found.is_dir() && found.uid() == user && found.mode() & 0o022 == 0)
    };
    match owned() {
        Ok(true) => Ok((path, SET)),
        _ => Err(CcError::new(format!(
            "cannot use {} as a cache: the directory belongs to another user; {SET}",
            path.display()
        ))),
    }
}

/// Returns a hash of all data from which the support files are created.
fn key(compiler: &[OsString], own: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    HEADERS.hash(&mut hasher);
    build::SOURCES.hash(&mut hasher);
    build::FLAGS.hash(&mut hasher);
    crate::loader::OWN_PREFIX.hash(&mut hasher);
    own.hash(&mut hasher);
    compiler.hash(&mut hasher);
    let found = compiler.iter().filter_map(find).filter_map(|path| fs::metadata(path).ok());
    found.for_each(|file| (file.len(), file.mtime(), file.mtime_nsec()).hash(&mut hasher));
    hasher.finish()
}

/// Returns the executable file of the program `command`, found in `PATH` by the rules of a shell.
fn find(command: &OsString) -> Option<PathBuf> {
    if Path::new(command).components().count() > 1 {
        return Some(command.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(command)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_the_environment_says() {
        let at = |pairs: &[(&str, &str)]| {
            let variable = |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
            root(variable).unwrap().0
        };
        let all = [("MCPSIM_CACHE", "/a"), ("XDG_CACHE_HOME", "/b"), ("HOME", "/c")];
        assert_eq!(at(&all), Path::new("/a"));
        assert_eq!(at(&all[1..]), Path::new("/b/mcpsim"));
        assert_eq!(at(&all[2..]), Path::new("/c/.cache/mcpsim"));
        assert_eq!(
            at(&[("MCPSIM_CACHE", ""), ("XDG_CACHE_HOME", "relative"), ("HOME", "/c")]),
            Path::new("/c/.cache/mcpsim")
        );
        assert!(at(&[("MCPSIM_CACHE", "relative")]).is_absolute());
    }

    #[test]
    fn a_file_that_is_cut_changed_or_gone_makes_a_kit_incomplete() {
        let directory = tempfile::tempdir().unwrap();
        let kit = SupportFiles { directory: directory.path().join("kit") };
        fs::create_dir_all(kit.include()).unwrap();
        fs::create_dir_all(kit.lib()).unwrap();
        let headers = HEADERS.iter().map(|(name, _)| kit.include().join(name));
        let files: Vec<PathBuf> = headers.chain([kit.start(), kit.support(), kit.blas(), kit.stubs()]).collect();
        files.iter().for_each(|file| fs::write(file, "0123456789").unwrap());
        assert!(!kit.is_complete(), "without digests");
        fs::write(kit.digests(), kit.digest().unwrap()).unwrap();
        assert!(kit.is_complete());
        for file in &files {
            for damaged in ["", "01234", "0123456788"] {
                fs::write(file, damaged).unwrap();
                assert!(!kit.is_complete(), "{} with \"{damaged}\"", file.display());
            }
            fs::remove_file(file).unwrap();
            assert!(!kit.is_complete(), "without {}", file.display());
            fs::write(file, "0123456789").unwrap();
            assert!(kit.is_complete());
        }
    }

    #[test]
    fn another_compiler_or_another_mcpsim_has_another_kit() {
        let key = |compiler: &str, own: &str| super::key(&[compiler.into()], Path::new(own));
        assert_eq!(key("cc", "/a"), key("cc", "/a"));
        assert_ne!(key("cc", "/a"), key("cc", "/b"));
        assert_ne!(key("cc", "/a"), key("no-such-cc", "/a"));
    }
}
