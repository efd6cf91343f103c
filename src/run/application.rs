//! Application of a run; its kind is decided once, when a request is resolved.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use crate::app::App;
use crate::cc::ProgramFile;
use crate::config::{Document, Override};

use super::error::PredictError;
use super::trace_file::TraceFile;

/// Application.
#[derive(Clone, Debug)]
pub enum Application {
    /// Described behaviour of ranks.
    Described(Arc<App>),
    /// Real program.
    Real(Box<ProgramFile>),
    /// Recorded trace.
    Trace(TraceFile),
}

impl Application {
    /// Reads the application's document; relative paths start at `directory`.
    pub(super) fn load(document: Document, directory: &Path, overrides: &[Override]) -> Result<Self, PredictError> {
        if ProgramFile::is_in(&document) {
            return Ok(Application::Real(Box::new(ProgramFile::load(document, directory, overrides)?)));
        }
        if TraceFile::is_in(&document) {
            return Ok(Application::Trace(TraceFile::load(document, directory, overrides)?));
        }
        Ok(Application::Described(Arc::new(App::load(document, overrides)?)))
    }

    /// Returns the merged table, which reads back as the same application.
    pub(super) fn table(&self) -> toml::Table {
        match self {
            Application::Real(program) => toml::Table::from_iter([("program".to_owned(), program.config())]),
            Application::Trace(file) => file.table(),
            Application::Described(app) => {
                let mut table = app.config();
                // The default name is that of the file, which differs when the table is read back.
                table.insert("name".to_owned(), app.name().into());
                table
            }
        }
    }

    /// Returns the real program, if it is one.
    pub fn program(&self) -> Option<&ProgramFile> {
        match self {
            Application::Real(program) => Some(program),
            _ => None,
        }
    }
}

/// Returns whether the file is machine code, by its first bytes.
pub(crate) fn is_elf(path: &Path) -> bool {
    first_bytes(path).starts_with(b"\x7fELF")
}

/// Returns up to the first bytes of a file.
pub(crate) fn first_bytes(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    // An unreadable file is reported when it is read as a whole. A pipe is not opened, because that would block until
    // there is a writer.
    let file = path.is_file().then(|| File::open(path).ok()).flatten();
    let _ = file.map(|file| file.take(4096).read_to_end(&mut bytes));
    bytes
}
