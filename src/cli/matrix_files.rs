//! Files of time matrices: opening by name, and atomic writing by renaming a temporary file.

use std::cell::RefCell;
use std::fs::{self, File, Permissions};
use std::io::{BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::config::note_input;
use crate::matrices::{Compressed, Matrices, MatrixError, SeekRead, SeekWrite};
use crate::run::check_no_input;

use super::exit::Failure;
use super::output::cannot_write;

/// Opens a file for reading.
fn input(path: &Path) -> Result<Box<dyn SeekRead>, Failure> {
    let wrong = |what: String| Failure::bad_input(format!("{}: {what}", path.display()));
    note_input(path);
    let file = File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => wrong("no such file".to_owned()),
        _ => wrong(error.to_string()),
    })?;
    if file.metadata().is_ok_and(|of| of.is_dir()) {
        return Err(wrong("is a directory, expected a file of matrices".to_owned()));
    }
    Ok(Box::new(file))
}

/// Adds the name of the matrix file to an error.
pub(super) fn in_file(path: &Path) -> impl Fn(MatrixError) -> Failure + '_ {
    |error| Failure::bad_input(format!("{}: {error}", path.display()))
}

/// Opens the time matrices in a file.
pub(super) fn matrices(path: &Path) -> Result<Matrices, Failure> {
    Matrices::open(input(path)?).map_err(in_file(path))
}

/// Returns the names of the two compressed matrix files with the prefix `prefix`.
pub(super) fn pair_of(prefix: &Path) -> [PathBuf; 2] {
    ["_info.nc", "_data.nc"].map(|end| with_end(prefix, end))
}

/// Returns the path with `end` appended to the path's characters.
pub(super) fn with_end(prefix: &Path, end: &str) -> PathBuf {
    let mut name = prefix.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

/// Opens the two compressed matrix files with the prefix `prefix`.
pub(super) fn compressed(prefix: &Path) -> Result<Compressed, Failure> {
    let [info, data] = pair_of(prefix);
    Compressed::open(input(&info)?, input(&data)?)
        .map_err(|error| Failure::bad_input(format!("{} and {}: {error}", info.display(), data.display())))
}

/// Reads the host name of each rank from the text file that belongs to `path`, which is PREFIX_median.nc or the file of
/// another statistic. Returns an empty list if the text file does not exist.
///
/// # Errors
/// The file of host names cannot be read, or is empty.
pub(super) fn hosts(path: &Path) -> Result<Vec<String>, Failure> {
    let name = path.to_str().unwrap_or_default();
    let prefix =
        ["_average.nc", "_median.nc", "_deviation.nc", "_min.nc"].iter().find_map(|end| name.strip_suffix(end));
    let Some(path) = prefix.map(|prefix| format!("{prefix}_hosts.txt")) else { return Ok(Vec::new()) };
    note_input(Path::new(&path));
    match fs::read_to_string(&path) {
        Ok(text) if text.is_empty() => Err(Failure::bad_input(format!(
            "{path}: the file is empty; expected one line \
        with a host name for each rank"
        ))),
        Ok(text) => Ok(text.lines().map(str::to_owned).collect()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Failure::bad_input(format!("{path}: cannot read the host names of the ranks: {error}"))),
    }
}

/// Matrix file that is being written. The second owner of the file checks for write errors.
#[derive(Clone, Debug)]
struct SharedFile(Rc<RefCell<BufWriter<File>>>);

impl Write for SharedFile {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.borrow_mut().flush()
    }
}

impl Seek for SharedFile {
    fn seek(&mut self, to: SeekFrom) -> std::io::Result<u64> {
        self.0.borrow_mut().seek(to)
    }
}

/// Returns the directory in which a new file is created.
pub(super) fn directory_of(path: &Path) -> Result<&Path, Failure> {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if directory.is_dir() {
        return Ok(directory);
    }
    let (path, directory) = (path.display(), directory.display());
    Err(Failure::bad_input(format!("cannot write {path}: no such directory: {directory}")))
}

/// Writes temporary files with `write`, which gets one writer per file, and then renames the temporary files.
pub(super) fn put<const N: usize, T>(
    paths: [&Path; N],
    write: impl FnOnce([Box<dyn SeekWrite>; N]) -> Result<T, MatrixError>,
) -> Result<T, Failure> {
    let mut beside = Vec::new();
    let mut writers = Vec::new();
    for path in paths {
        let failed = |error: std::io::Error| cannot_write(&path.display().to_string(), &error);
        check_no_input(path).map_err(failed)?;
        let directory = directory_of(path)?;
        let mode = fs::metadata(path).map_or(Permissions::from_mode(0o666), |old| old.permissions());
        let mut builder = tempfile::Builder::new();
        let file =
            builder.prefix(".mcpsim-").suffix(".tmp").permissions(mode).tempfile_in(directory).map_err(failed)?;
        writers.push(SharedFile(Rc::new(RefCell::new(BufWriter::new(file.as_file().try_clone().map_err(failed)?)))));
        beside.push(file);
    }
    let boxed = std::array::from_fn(|index| Box::new(writers[index].clone()) as Box<dyn SeekWrite>);
    let found = write(boxed).map_err(|error| Failure::bad_input(format!("{}: {error}", paths[0].display())))?;
    for ((path, mut writer), file) in paths.into_iter().zip(writers).zip(beside) {
        let failed = |error: std::io::Error| cannot_write(&path.display().to_string(), &error);
        writer.flush().map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        file.persist(path).map_err(|error| failed(error.error))?;
    }
    Ok(found)
}
