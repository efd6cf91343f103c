//! The directory of a study.

use std::fs;
use std::path::{Path, PathBuf};

use crate::run::{PredictError, write_whole};

/// What a study writes.
const WRITTEN: [&str; 6] = ["manifest.json", "points.jsonl", "study.csv", "summary.csv", "fit.csv", "study.json"];

/// A directory that is there and can be written.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// Makes it if it is not there.
    ///
    /// # Errors
    /// It cannot be made, or what a study writes is something else than a file in it.
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

    /// A file of it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// A directory in it, made if it is not there.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn subdirectory(&self, name: &str) -> Result<PathBuf, PredictError> {
        let path = self.path(name);
        let failed = |error| PredictError::input(format!("{}: cannot make this directory: {error}", path.display()));
        fs::create_dir_all(&path).map_err(failed)?;
        Ok(path)
    }

    /// As the user knows it.
    pub fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// Writes a file whole or not at all.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn write(&self, name: &str, text: &str) -> Result<(), PredictError> {
        let path = self.path(name);
        write_whole(&path, text).map_err(|error| PredictError::cannot_write(path.display(), &error))
    }
}
