//! Append-only journal of a measurement, from which an interrupted measurement resumes.
//!
//! The file has a line that describes the measurement, then the four matrices of each length as doubles. Data after the
//! last complete length come from an interrupted write and are overwritten.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::measure::matrices::MatrixError;

use super::super::super::exit::Failure;
use super::super::super::output::cannot_write;

pub(super) struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of the line.
    begin: u64,
    elements: usize,
    done: usize,
}

impl Journal {
    /// Opens the file at `path` for the measurement that `about` describes; creates it if necessary.
    pub fn open(path: &Path, about: &str, elements: usize) -> Result<Journal, Failure> {
        let shown = path.display();
        let failed = |error: std::io::Error| cannot_write(&path.display().to_string(), &error);
        let line = format!("mcpsim measure --pairs: {about}\n");
        let begin = line.len() as u64;
        let mut file = match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(path).map_err(failed)?;
                file.write_all(line.as_bytes()).map_err(|error| {
                    let _ = fs::remove_file(path);
                    failed(error)
                })?;
                file
            }
            other => other.map_err(failed)?,
        };
        let mut found = vec![0; line.len()];
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        if file.read_exact(&mut found).is_err() || found != line.as_bytes() {
            return Err(Failure::bad_input(format!(
                "{shown}: the rest of another measurement; give the same options to go on with it, or remove the file"
            )));
        }
        let length = file.metadata().map_err(failed)?.len();
        let done = (length - begin) / Self::bytes(elements);
        file.set_len(begin + done * Self::bytes(elements)).map_err(failed)?;
        Ok(Journal { path: path.to_owned(), file, begin, elements, done: done as usize })
    }

    /// Bytes of one length.
    fn bytes(elements: usize) -> u64 {
        4 * 8 * elements as u64
    }

    /// Number of complete lengths.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Adds a length.
    pub fn add(&mut self, matrices: &[Vec<f64>; 4]) -> Result<(), Failure> {
        let bytes: Vec<u8> = matrices.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
        let written = self.file.seek(SeekFrom::End(0)).and_then(|_| self.file.write_all(&bytes));
        written.map_err(|error| cannot_write(&self.path.display().to_string(), &error))?;
        self.done += 1;
        Ok(())
    }

    /// Reads a stored matrix.
    pub fn read(&mut self, length: usize, statistic: usize) -> Result<Vec<f64>, MatrixError> {
        let size = Self::bytes(self.elements) / 4;
        let mut bytes = vec![0; size as usize];
        let from = self.begin + length as u64 * 4 * size + statistic as u64 * size;
        let read = self.file.seek(SeekFrom::Start(from)).and_then(|_| self.file.read_exact(&mut bytes));
        read.map_err(|error| MatrixError::new(format!("{}: {error}", self.path.display())))?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    /// Deletes the file.
    pub fn remove(self) {
        let _ = fs::remove_file(self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_whole_is_there_when_it_is_opened_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.partial");
        let matrices = |value: f64| [0.0, 1.0, 2.0, 3.0].map(|statistic| vec![value + statistic; 4]);
        let mut journal = Journal::open(&path, "a", 4).unwrap();
        journal.add(&matrices(10.0)).unwrap();
        journal.add(&matrices(20.0)).unwrap();
        drop(journal);
        // Torn end.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(&[1; 70]).unwrap();
        let mut journal = Journal::open(&path, "a", 4).unwrap();
        assert_eq!(journal.done(), 2);
        journal.add(&matrices(30.0)).unwrap();
        assert_eq!((journal.read(1, 3).unwrap(), journal.read(2, 0).unwrap()), (vec![23.0; 4], vec![30.0; 4]));
        let error = Journal::open(&path, "b", 4).err().unwrap().text;
        assert!(
            error.ends_with(
                "the rest of another measurement; give the same options to go on with it, or remove the file"
            )
        );
        journal.remove();
        assert!(!path.exists());
    }
}
