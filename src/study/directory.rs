//! Directory that contains the files of a study.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{PredictError, write_whole};

/// Files that a study writes into its directory.
const WRITTEN: [&str; 6] = ["manifest.json", "points.jsonl", "study.csv", "summary.csv", "fit.csv", "study.json"];

/// Directory of a study, which exists and is writable.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Opens the directory of a study, and creates the directory if necessary.
    ///
    /// # Errors
    /// The directory cannot be created, or a file name of the study exists in the directory but is not a regular file.
    pub fn open(path: &Path) -> Result<Directory, PredictError> {
        let shown = path.display();
        fs::create_dir_all(path)
            .map_err(|error| PredictError::input(format!("--out {shown}: cannot create this directory: {error}")))?;
        let strange = |name: &str| path.join(name).exists() && !path.join(name).is_file();
        if let Some(name) = WRITTEN.into_iter().find(|name| strange(name)) {
            return Err(PredictError::input(format!("--out {shown}: expected {name} in this directory to be a file")));
        }
        Ok(Directory { path: path.to_owned() })
    }

    /// Returns the path of the file `name` in the study's directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the path of the subdirectory `name` in the study's directory, and creates the subdirectory if necessary.
    ///
    /// # Errors
    /// The subdirectory cannot be created.
    pub fn subdirectory(&self, name: &str) -> Result<PathBuf, PredictError> {
        let path = self.path(name);
        let failed = |error| PredictError::input(format!("{}: cannot create this directory: {error}", path.display()));
        fs::create_dir_all(&path).map_err(failed)?;
        Ok(path)
    }

    /// Returns the path of the study's directory as the user typed it.
    pub fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// Writes the file `name` in the study's directory atomically.
    ///
    /// # Errors
    /// The file of the study cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<(), PredictError> {
        let path = self.path(name);
        write_whole(&path, text).map_err(|error| PredictError::cannot_write(path.display(), &error))
    }
}
