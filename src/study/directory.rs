//! Directory of a study.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{PredictError, write_whole};

/// Files that a study writes.
const WRITTEN: [&str; 6] = ["manifest.json", "points.jsonl", "study.csv", "summary.csv", "fit.csv", "study.json"];

/// Existing, writable directory.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Opens the directory, and creates it if necessary.
    ///
    /// # Errors
    /// If it cannot be created, or if one of the study's file names is not a regular file in it.
    pub fn open(path: &Path) -> Result<Directory, PredictError> {
        let shown = path.display();
        fs::create_dir_all(path)
            .map_err(|error| PredictError::input(format!("--out {shown}: cannot make this directory: {error}")))?;
        let strange = |name: &str| path.join(name).exists() && !path.join(name).is_file();
        if let Some(name) = WRITTEN.into_iter().find(|name| strange(name)) {
            return Err(PredictError::input(format!("--out {shown}: {name} in it is no file")));
        }
        Ok(Directory { path: path.to_owned() })
    }

    /// Path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Returns a subdirectory, and creates it if necessary.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn subdirectory(&self, name: &str) -> Result<PathBuf, PredictError> {
        let path = self.path(name);
        let failed = |error| PredictError::input(format!("{}: cannot make this directory: {error}", path.display()));
        fs::create_dir_all(&path).map_err(failed)?;
        Ok(path)
    }

    /// Path as typed by the user.
    pub fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// Writes a file atomically.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<(), PredictError> {
        let path = self.path(name);
        write_whole(&path, text).map_err(|error| PredictError::cannot_write(path.display(), &error))
    }
}
