//! Append-only log file of the finished points of a study.
//!
//! A killed host process leaves at most one incomplete line in the log file. Such a line is not valid JSON and is
//! skipped. A log line starts with a checksum of the remaining line, so an edited line causes an error instead of a
//! wrong result. The log file is locked while a sweep has opened it, so two sweeps cannot use the same directory.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::InputHash;
use crate::engine::Outcome;
use crate::run::PredictError;

/// Result of a study's point in the log file.
#[derive(Clone, Debug, PartialEq)]
enum LogEntry {
    /// Prediction of the run at the study's point.
    Predicted(Box<Outcome>),
    /// Reason why the study's point has no prediction.
    Failed(String),
}

/// Log entry of a finished point of a study.
#[derive(Clone, Debug)]
pub struct Ended {
    key: InputHash,
    entry: LogEntry,
    /// Text line of the study's point in the log file.
    line: String,
}

/// Start of each line in the log file; the checksum of the line follows.
const CHECK: &str = "{\"check\":\"";

/// Returns the checksum of the remainder of a log line.
fn checksum(rest: &[u8]) -> InputHash {
    InputHash::of(&[("line", rest)])
}

impl Ended {
    /// Creates the log entry of the study's point with the input hash `key` and its result.
    pub fn new(key: InputHash, result: Result<Outcome, String>) -> Ended {
        match result {
            Ok(outcome) => Ended::with(key, LogEntry::Predicted(Box::new(outcome))),
            Err(why) => Ended::with(key, LogEntry::Failed(why)),
        }
    }

    fn with(key: InputHash, entry: LogEntry) -> Ended {
        let line = match &entry {
            LogEntry::Predicted(outcome) => format!("\"key\":\"{key}\",\"outcome\":{}}}", json!(outcome)),
            LogEntry::Failed(error) => format!("\"key\":\"{key}\",\"error\":{}}}", json!(error)),
        };
        Ended { key, entry, line: format!("{CHECK}{}\",{line}\n", checksum(line.as_bytes())) }
    }

    /// Returns true if the study's point has no prediction.
    pub fn has_failed(&self) -> bool {
        matches!(self.entry, LogEntry::Failed(_))
    }
}

/// Results of all finished points of a study, and the log file that stores them.
#[derive(Debug)]
pub struct PointLog {
    path: PathBuf,
    file: File,
    entries: BTreeMap<InputHash, LogEntry>,
}

impl PointLog {
    /// Reads the log file at `path`, if it exists, and opens the file for appending. The log file is locked until the
    /// [`PointLog`] is dropped.
    ///
    /// # Errors
    /// The log file cannot be read or written, another host process holds the lock, or a line was edited.
    pub fn open(path: &Path) -> Result<PointLog, PredictError> {
        let failed = |error: io::Error| PredictError::input(format!("{}: {error}", path.display()));
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => PredictError::input(format!(
                "{}: another sweep is writing this file; wait until that sweep ends, or name another directory with \
                 --out",
                path.display()
            )),
            TryLockError::Error(error) => failed(error),
        })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed)?;
        if bytes.last().is_some_and(|&last| last != b'\n') {
            file.write_all(b"\n").map_err(|error| PredictError::cannot_write(path.display(), &error))?;
        }
        let mut entries = BTreeMap::new();
        for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
            let changed = |what| PredictError::input(format!("{}:{}: {what}", path.display(), index + 1));
            entries.extend(entry(line).map_err(changed)?);
        }
        Ok(PointLog { path: path.to_owned(), file, entries })
    }

    /// Returns the Outcome of the study's point with the input hash `key`, if the point has a prediction.
    pub fn outcome(&self, key: InputHash) -> Option<&Outcome> {
        match self.entries.get(&key) {
            Some(LogEntry::Predicted(outcome)) => Some(outcome),
            _ => None,
        }
    }

    /// Returns the results of the study's points with the input hashes `keys`; a hash may occur several times.
    pub fn into_results(mut self, keys: &[InputHash]) -> Vec<Option<Result<Outcome, String>>> {
        let mut left: BTreeMap<InputHash, u32> = BTreeMap::new();
        keys.iter().for_each(|&key| *left.entry(key).or_default() += 1);
        let mut result = |key: &InputHash| {
            let left = left.get_mut(key).expect("it was counted");
            *left -= 1;
            let entry = if *left == 0 { self.entries.remove(key) } else { self.entries.get(key).cloned() };
            entry.map(|entry| match entry {
                LogEntry::Predicted(outcome) => Ok(*outcome),
                LogEntry::Failed(error) => Err(error),
            })
        };
        keys.iter().map(&mut result).collect()
    }

    /// Appends finished points to the log file and flushes the log entries to disk.
    ///
    /// # Errors
    /// The log file cannot be written.
    pub fn append(&mut self, ended: Vec<Ended>) -> Result<(), PredictError> {
        let mut text = String::new();
        for Ended { key, entry, line } in ended {
            text.push_str(&line);
            self.entries.insert(key, entry);
        }
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(|error| PredictError::cannot_write(self.path.display(), &error))
    }
}

/// Content of a log line after its checksum: an Outcome, or the reason of a failure.
#[derive(Deserialize)]
struct LogLine {
    key: String,
    outcome: Option<Box<Outcome>>,
    error: Option<String>,
}

/// Parses a log line. Returns `None` if the line is incomplete or of another form, and an error if the line is complete
/// but was edited.
fn entry(line: &[u8]) -> Result<Option<(InputHash, LogEntry)>, &'static str> {
    let whole = serde_json::from_slice::<IgnoredAny>(line).is_ok();
    let Some(rest) = line.strip_prefix(CHECK.as_bytes()).filter(|_| whole) else { return Ok(None) };
    let stated = rest.get(..32).and_then(|digits| std::str::from_utf8(digits).ok()).and_then(InputHash::parse);
    match stated {
        // A quotation mark and a comma separate the checksum from the content of a log line.
        Some(stated) if rest.get(34..).is_some_and(|rest| checksum(rest) == stated) => Ok(content(line)),
        _ => Err("this point was changed after it was written; delete the line to run the point again"),
    }
}

/// Parses the JSON content of a log line.
fn content(line: &[u8]) -> Option<(InputHash, LogEntry)> {
    let LogLine { key, outcome, error } = serde_json::from_slice(line).ok()?;
    let key = InputHash::parse(&key)?;
    Some((key, outcome.map(LogEntry::Predicted).or(error.map(LogEntry::Failed))?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::SimTime;

    fn key(name: &str) -> InputHash {
        InputHash::of(&[("name", name.as_bytes())])
    }

    #[test]
    fn whatever_of_the_last_line_is_missing_the_others_are_there_and_more_can_follow() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("points.jsonl");
        let outcome = Outcome { predicted: SimTime::from_ps(7), app: "a\nb".to_owned(), ..Outcome::default() };
        let first = Ended::new(key("a"), Ok(outcome.clone()));
        let second = Ended::new(key("b"), Err("deadlock:\n  rank 0".to_owned()));
        PointLog::open(&path).unwrap().append(vec![first, second]).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let line = 1 + whole.iter().position(|&byte| byte == b'\n').unwrap();
        for end in line..=whole.len() {
            std::fs::write(&path, &whole[..end]).unwrap();
            // The newline is not part of a log line's content, so a line without a newline is complete.
            let expected = if end + 1 >= whole.len() { Some(Err("deadlock:\n  rank 0".to_owned())) } else { None };
            let found = PointLog::open(&path).unwrap().into_results(&[key("b"), key("b"), key("c")]);
            assert_eq!(found, [expected.clone(), expected, None], "{end} of {}", whole.len());
            let mut log = PointLog::open(&path).unwrap();
            assert_eq!(log.outcome(key("a")), Some(&outcome));
            log.append(vec![Ended::new(key("b"), Ok(outcome.clone()))]).unwrap();
            drop(log);
            let again = PointLog::open(&path).unwrap();
            assert_eq!((again.outcome(key("a")), again.outcome(key("b"))), (Some(&outcome), Some(&outcome)));
        }
    }

    #[test]
    fn a_point_that_was_changed_and_a_second_sweep_are_errors() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("points.jsonl");
        let mut log = PointLog::open(&path).unwrap();
        log.append(vec![Ended::new(key("a"), Ok(Outcome { ranks: 70, ..Outcome::default() }))]).unwrap();
        let error = PointLog::open(&path).unwrap_err().to_string();
        assert!(error.contains("points.jsonl: another sweep is writing this file"), "{error}");
        drop(log);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace(":70,", ":71,")).unwrap();
        let error = PointLog::open(&path).unwrap_err().to_string();
        assert!(error.contains("points.jsonl:1: this point was changed after it was written"), "{error}");
    }

    #[test]
    fn lines_that_are_something_else_are_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("points.jsonl");
        std::fs::write(
            &path,
            b"\xff\xfe\n{}\n{\"key\":\"1\"}\n[]\n\n{\"key\":\"00000000000000000000000000000000\",\"outcome\":{}}\n",
        )
        .unwrap();
        assert!(PointLog::open(&path).unwrap().entries.is_empty());
    }
}
