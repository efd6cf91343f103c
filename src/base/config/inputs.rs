//! List of the input files of this mcpsim process, so that mcpsim does not overwrite an input file with results.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Absolute paths of the input files, with symbolic links resolved. A path refers to the file that exists at this path
/// when the list is used.
static INPUTS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Records that this process reads the file at `path`. Devices, pipes and directories are not recorded.
pub fn note_input(path: &Path) {
    if let Some(path) = path.canonicalize().ok().filter(|path| path.is_file()) {
        INPUTS.lock().unwrap_or_else(PoisonError::into_inner).insert(path);
    }
}

/// Returns whether `path` is an input file of this process, possibly under another name.
pub fn is_input(path: &Path) -> bool {
    let identity = |path: &Path| fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let Some(file) = identity(path) else { return false };
    INPUTS.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|input| identity(input) == Some(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_is_known_by_every_name_of_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("input"), "").unwrap();
        fs::write(at("other"), "").unwrap();
        fs::hard_link(at("input"), at("hard")).unwrap();
        std::os::unix::fs::symlink(at("input"), at("soft")).unwrap();
        note_input(&at("soft"));
        note_input(&at("missing"));
        note_input(directory.path());
        for (name, input) in [("input", true), ("hard", true), ("soft", true), ("./input", true), ("other", false)] {
            assert_eq!(is_input(&at(name)), input, "{name}");
        }
        assert!(!is_input(&at("missing")) && !is_input(directory.path()));
        // A removed file is no longer an input file, even if another file gets its inode number.
        fs::remove_file(at("input")).unwrap();
        assert!(!is_input(&at("hard")));
    }
}
