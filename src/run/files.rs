//! Atomic writing of result files.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::config::is_input;

/// Checks that a result may be written to `path`.
///
/// # Errors
/// The existing file at `path` is an input of this host process.
pub(crate) fn check_no_input(path: &Path) -> io::Result<()> {
    match is_input(path) {
        true => Err(io::Error::other("expected another file to write, because this command also reads this file")),
        false => Ok(()),
    }
}

/// Writes `content` to a temporary file next to `path`, flushes the temporary file, and renames it to `path`. A reader
/// of `path` sees either the old file or the complete new file.
///
/// # Errors
/// The function returns errors of the operating system, and an error if the existing file at `path` is an input of this
/// host process.
pub fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    check_no_input(path)?;
    // Renaming would replace a symbolic link, so the link is resolved first.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let old = fs::metadata(path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return OpenOptions::new().write(true).open(path)?.write_all(content.as_ref());
    }
    let mode = old.map_or(Permissions::from_mode(0o666), |old| old.permissions());
    let mut beside =
        tempfile::Builder::new().prefix(".mcpsim-").suffix(".tmp").permissions(mode).tempfile_in(directory_of(path))?;
    beside.write_all(content.as_ref())?;
    beside.as_file().sync_all()?;
    beside.persist(path)?;
    // The rename is durable only after the directory is flushed. Some file systems cannot flush directories; the error
    // of such a file system is ignored.
    let _ = File::open(directory_of(path)).and_then(|directory| directory.sync_all());
    Ok(())
}

/// Returns the directory that contains a file.
pub(crate) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_stays_and_the_file_it_stands_for_is_replaced_with_its_permissions() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("file"), directory.path().join("link"));
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write_whole(&link, b"new").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
