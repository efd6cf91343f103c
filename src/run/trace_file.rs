//! Trace that is the application of a simulation run, and the file of the trace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::{ConfigError, Document, Override, foreign_directory, foreign_file, moved_list, note_input};
use crate::trace::import::{ImportedTrace, format_of};
use crate::trace::logs::{self, Logs};
use crate::trace::otf2::TRACE;
use crate::trace::{Trace, TraceError, is_trace};

use super::application::first_bytes;
use super::error::PredictError;
use super::otf2;

/// Trace as an application: the table `trace` of an application file, with the key `file`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFile {
    /// Path of the trace file.
    pub path: PathBuf,
}

impl TraceFile {
    /// Returns the application document that names the trace at `path`.
    ///
    /// # Errors
    /// TOML cannot represent the path of the trace.
    pub fn document(path: &Path) -> Result<Document, PredictError> {
        let absolute = std::path::absolute(path).unwrap_or(path.to_owned());
        let file = TraceFile { path: absolute };
        Ok(Document::parse(&path.display().to_string(), &file.table().to_string())?)
    }

    /// Returns true if the first bytes of the file are those of a trace of mcpsim or of another tool.
    pub fn is_at(path: &Path) -> bool {
        let start = first_bytes(path);
        is_trace(&start)
            || logs::is_run(&start)
            || logs::is_log(&start)
            || otf2::is_anchor(&start)
            || format_of(&String::from_utf8_lossy(&start)).is_some()
            || listed(path, &start).is_some()
    }

    /// Returns true if the application in `document` is a trace.
    pub fn is_in(document: &Document) -> bool {
        document.table().contains_key("trace")
    }

    /// Reads the application table of a trace. The key `app.trace.file` in `overrides` replaces the trace file. A
    /// relative path starts at `directory`.
    ///
    /// # Errors
    /// The application table or an override has keys that traces do not have.
    pub fn load(mut document: Document, directory: &Path, overrides: &[Override]) -> Result<TraceFile, ConfigError> {
        for over in overrides {
            if over.key != ["app", "trace", "file"] {
                let what = "expected app.trace.file, which is the only key of a trace, because its operations are \
                            recorded";
                return Err(ConfigError::new(format!("--set {}: {what}", over.text)));
            }
            document.set(&over.key[1..], over)?;
        }
        let other = document.table().keys().find(|key| *key != "trace" && *key != "name");
        if let Some(key) = other {
            let place = document.place(key);
            return Err(ConfigError::new(format!("unknown key \"{key}\", expected \"trace\" in {place}")));
        }
        let table = document.table()["trace"].as_table();
        let file = table.filter(|table| table.len() == 1).and_then(|table| table.get("file")?.as_str());
        match file {
            Some(file) => {
                let path = directory.join(file);
                note_input(&path);
                Ok(TraceFile { path })
            }
            None => Err(document.expected("trace", "a table with the key file", document.table()["trace"].clone())),
        }
    }

    /// Returns the application table of the trace.
    pub fn table(&self) -> toml::Table {
        let file = toml::Table::from_iter([("file".to_owned(), self.path.display().to_string().into())]);
        toml::Table::from_iter([("trace".to_owned(), file.into())])
    }

    /// Returns the files of the trace with their roles. An OTF2 archive or a list of traces consists of several files.
    pub(super) fn files(&self) -> Vec<(String, PathBuf)> {
        let start = first_bytes(&self.path);
        let mut files = vec![self.path.clone()];
        if otf2::is_anchor(&start) {
            let archive = self.path.with_extension("");
            let locations = std::fs::read_dir(&archive).into_iter().flatten().flatten();
            files.extend(locations.map(|entry| entry.path()).filter(|path| path.is_file()));
            files.extend(Some(self.path.with_extension("def")).filter(|path| path.is_file()));
        } else if listed(&self.path, &start).is_some() {
            let content = std::fs::read(&self.path).unwrap_or_default();
            files.extend(listed(&self.path, &content).unwrap_or_default());
        }
        files.into_iter().map(|path| (format!("trace {}", path.display()), path)).collect()
    }

    /// Returns the shortest name of the trace, for error messages.
    pub(super) fn name(&self) -> String {
        let here = std::env::current_dir().unwrap_or_default();
        self.path.strip_prefix(&here).unwrap_or(&self.path).display().to_string()
    }

    /// Reads a trace in mcpsim's format.
    ///
    /// # Errors
    /// The trace file is invalid, or a trace of another tool.
    pub fn read(&self) -> Result<Arc<Trace>, PredictError> {
        match self.content()? {
            Content::Trace(trace) => Ok(trace),
            Content::Import(import) => {
                let (name, ranks) = (self.name(), import.ranks());
                Err(PredictError::input(format!(
                    "{name}: the file is a trace of another tool; expected a trace of mcpsim, which a run of this \
                     file records: \
                     mcpsim --nct 1,1,{ranks} --record FILE.trace {name}"
                )))
            }
            Content::Logs(_) => Err(PredictError::input(format!(
                "{}: a run that was recorded under a real MPI; expected a trace that --record wrote",
                self.name()
            ))),
        }
    }

    /// Reads the trace of a run that was recorded under a real MPI library. Returns `None` if the file is a trace of
    /// another kind.
    ///
    /// # Errors
    /// The trace file is invalid.
    pub fn read_logs(&self) -> Result<Option<Logs>, PredictError> {
        let start = first_bytes(&self.path);
        if !logs::is_run(&start) && !logs::is_log(&start) {
            return Ok(None);
        }
        match self.content()? {
            Content::Logs(logs) => Ok(Some(logs)),
            _ => Ok(None),
        }
    }

    pub(super) fn content(&self) -> Result<Content, PredictError> {
        if otf2::is_anchor(&first_bytes(&self.path)) {
            note_input(&self.path);
            let own = self.path.with_extension("").join(TRACE);
            if own.is_file() {
                let wrong = |error: TraceError| PredictError::input(format!("{}: {error}", own.display()));
                return Trace::read(read_file(&own)?).map(Arc::new).map(Content::Trace).map_err(wrong);
            }
            return otf2::read(&self.path, &self.name()).map(Content::Import);
        }
        let bytes = read_file(&self.path)?;
        let wrong = |what: String| PredictError::input(format!("{}: {what}", self.name()));
        if is_trace(&bytes) {
            return Trace::read(bytes).map(Arc::new).map(Content::Trace).map_err(|error| wrong(error.to_string()));
        }
        if logs::is_log(&bytes) {
            let what = "the file is the log of one rank: merge the logs of all ranks with mcpsim trace merge DIRECTORY -o \
                 FILE";
            return Err(wrong(what.to_owned()));
        }
        if logs::is_run(&bytes) {
            return Logs::read(&bytes).map(Content::Logs).map_err(|error| wrong(error.to_string()));
        }
        let list = listed(&self.path, &bytes);
        let bytes = match &list {
            // If every rank has its own trace file, the lines of each file contain the rank, so the files can be
            // concatenated.
            Some(files) => files.iter().map(|file| read_file(file)).collect::<Result<Vec<_>, _>>()?.join(&b'\n'),
            None => bytes,
        };
        let foreign = |content: &[u8]| foreign_file(&self.name(), content).map(PredictError::input);
        let text = String::from_utf8(bytes).map_err(|error| {
            foreign(error.as_bytes()).unwrap_or_else(|| wrong("expected a trace; found no text".to_owned()))
        })?;
        let format = format_of(&text).ok_or_else(|| {
            let moved = || moved_list(&self.path, &text).map(PredictError::input);
            let other = || wrong("not a mcpsim trace: the file does not start with \"MCPSIM\"".to_owned());
            foreign(text.as_bytes()).or_else(moved).unwrap_or_else(other)
        })?;
        ImportedTrace::read(format, &text).map(Content::Import).map_err(|error| wrong(error.to_string()))
    }
}

/// Content of a trace file.
pub(super) enum Content {
    Trace(Arc<Trace>),
    Logs(Logs),
    Import(ImportedTrace),
}

/// Returns the files that `content` lists, if it is a list of traces of single ranks. Relative paths in the list start
/// at the directory of the list.
fn listed(path: &Path, content: &[u8]) -> Option<Vec<PathBuf>> {
    let text = std::str::from_utf8(content).ok()?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let directory = path.parent().unwrap_or(Path::new(""));
    let files: Vec<PathBuf> = lines.map(|line| directory.join(line)).collect();
    let is_import = |file: &PathBuf| format_of(&String::from_utf8_lossy(&first_bytes(file))).is_some();
    files.first().is_some_and(is_import).then_some(files)
}

fn read_file(path: &Path) -> Result<Vec<u8>, PredictError> {
    let name = path.display();
    note_input(path);
    std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => PredictError::input(format!("{name}: no such file")),
        std::io::ErrorKind::IsADirectory => PredictError::input(
            foreign_directory(path).unwrap_or_else(|| format!("{name}: is a directory, expected a trace")),
        ),
        _ => PredictError::input(format!("cannot read {name}: {error}")),
    })
}
