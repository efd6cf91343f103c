//! Append-only journal file of a measurement of all rank pairs, from which an interrupted measurement is resumed.
//!
//! The journal starts with a line that describes the measurement. One record per message length follows: a checksum
//! (SipHash 2-4 of the record's index and data), and four time matrices as doubles. If a record is damaged or
//! incomplete, the file is truncated before the record. The message length of the record and all later message lengths
//! are measured again.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use siphasher::sip::SipHasher24;

use crate::matrices::MatrixError;

use super::super::super::exit::Failure;
use super::super::super::output::cannot_write;

pub(super) struct Journal {
    path: PathBuf,
    file: File,
    /// Length in bytes of the journal's first line, which describes the measurement.
    begin: u64,
    elements: usize,
    done: usize,
    /// Number of journal records that were removed by truncating the file.
    dropped: usize,
}

/// Size of the checksum of a journal record in bytes.
const CHECKSUM: u64 = 8;

impl Journal {
    /// Opens the journal at `path` of the measurement that `about` describes. Creates the file if necessary.
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
                "{shown}: this file has the results of an unfinished measurement with other options: give those \
                 options to continue it, or remove the file"
            )));
        }
        let records = file.metadata().map_err(failed)?.len().saturating_sub(begin).div_ceil(Self::bytes(elements));
        let mut record = vec![0; Self::bytes(elements) as usize];
        let mut done = 0;
        while done < records && file.read_exact(&mut record).is_ok() {
            let (sum, data) = record.split_at(CHECKSUM as usize);
            if sum != checksum(done, data) {
                break;
            }
            done += 1;
        }
        file.set_len(begin + done * Self::bytes(elements)).map_err(failed)?;
        let (done, dropped) = (done as usize, (records - done) as usize);
        Ok(Journal { path: path.to_owned(), file, begin, elements, done, dropped })
    }

    /// Returns the size in bytes of the journal record of one message length.
    fn bytes(elements: usize) -> u64 {
        CHECKSUM + 4 * 8 * elements as u64
    }

    /// Returns the number of message lengths whose journal records are complete.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Returns the number of journal records that were damaged or incomplete, or followed a damaged record.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Appends the journal record of one message length.
    pub fn add(&mut self, matrices: &[Vec<f64>; 4]) -> Result<(), Failure> {
        let bytes: Vec<u8> = matrices.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
        let record = [&checksum(self.done as u64, &bytes)[..], &bytes].concat();
        let written = self.file.seek(SeekFrom::End(0)).and_then(|_| self.file.write_all(&record));
        written.map_err(|error| cannot_write(&self.path.display().to_string(), &error))?;
        self.done += 1;
        Ok(())
    }

    /// Reads a time matrix from the journal.
    pub fn read(&mut self, length: usize, statistic: usize) -> Result<Vec<f64>, MatrixError> {
        let size = 8 * self.elements as u64;
        let mut bytes = vec![0; size as usize];
        let from = self.begin + length as u64 * Self::bytes(self.elements) + CHECKSUM + statistic as u64 * size;
        let read = self.file.seek(SeekFrom::Start(from)).and_then(|_| self.file.read_exact(&mut bytes));
        read.map_err(|error| MatrixError::new(format!("{}: {error}", self.path.display())))?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect())
    }

    /// Deletes the journal file.
    pub fn remove(self) {
        let _ = fs::remove_file(self.path);
    }
}

/// Returns the checksum of the journal record with the index `number`.
fn checksum(number: u64, data: &[u8]) -> [u8; CHECKSUM as usize] {
    SipHasher24::new_with_keys(number, 0).hash(data).to_le_bytes()
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
        // An interrupted write leaves an incomplete journal record.
        OpenOptions::new().append(true).open(&path).unwrap().write_all(&[1; 70]).unwrap();
        let mut journal = Journal::open(&path, "a", 4).unwrap();
        assert_eq!((journal.done(), journal.dropped()), (2, 1));
        journal.add(&matrices(30.0)).unwrap();
        assert_eq!((journal.read(1, 3).unwrap(), journal.read(2, 0).unwrap()), (vec![23.0; 4], vec![30.0; 4]));
        let error = Journal::open(&path, "b", 4).err().unwrap().text;
        assert!(error.ends_with(
            "of an unfinished measurement with other options: give those options to continue it, or remove the file"
        ));
        journal.remove();
        assert!(!path.exists());
    }

    #[test]
    fn a_damaged_record_is_measured_again_with_those_behind_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("x.partial");
        let mut journal = Journal::open(&path, "a", 4).unwrap();
        (0..3).for_each(|length| journal.add(&[(); 4].map(|()| vec![f64::from(length); 4])).unwrap());
        let whole = fs::read(&path).unwrap();
        let begin = journal.begin as usize;
        let record = (whole.len() - begin) / 3;
        for place in [begin + record, begin + record + 9, begin + 2 * record - 1] {
            let mut damaged = whole.clone();
            damaged[place] ^= 1;
            fs::write(&path, damaged).unwrap();
            let mut journal = Journal::open(&path, "a", 4).unwrap();
            assert_eq!((journal.done(), journal.dropped()), (1, 2), "{place}");
            assert_eq!(journal.read(0, 3).unwrap(), [0.0; 4]);
        }
        // A valid journal record at the position of another record also counts as damaged.
        let moved = [&whole[..begin], &whole[begin + record..]].concat();
        fs::write(&path, moved).unwrap();
        assert_eq!(Journal::open(&path, "a", 4).unwrap().done(), 0);
    }
}
