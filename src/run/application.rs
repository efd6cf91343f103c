//! What is run: decided once, when a request is resolved.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use crate::app::App;
use crate::cc::ProgramFile;
use crate::config::{Document, Override};

use super::error::PredictError;
use super::trace_file::TraceFile;

/// What is run.
#[derive(Clone, Debug)]
pub enum Application {
    /// A description of what ranks do.
    Described(Arc<App>),
    /// A real program.
    Real(Box<ProgramFile>),
    /// A trace of what ranks did.
    Trace(TraceFile),
}

impl Application {
    /// Reads the application's document, in which relative paths begin at `directory`.
    pub(super) fn load(document: Document, directory: &Path, overrides: &[Override]) -> Result<Self, PredictError> {
        if ProgramFile::is_in(&document) {
            return Ok(Application::Real(Box::new(ProgramFile::load(document, directory, overrides)?)));
        }
        if TraceFile::is_in(&document) {
            return Ok(Application::Trace(TraceFile::load(document, directory, overrides)?));
        }
        Ok(Application::Described(Arc::new(App::load(document, overrides)?)))
    }

    /// The merged table, which reads back as the same application.
    pub(super) fn table(&self) -> toml::Table {
        match self {
            Application::Real(program) => toml::Table::from_iter([("program".to_owned(), program.config())]),
            Application::Trace(file) => file.table(),
            Application::Described(app) => {
                let mut table = app.config();
                // An application without a name has its file's, which is another when the tables are read back.
                table.insert("name".to_owned(), app.name().into());
                table
            }
        }
    }

    /// The real program, if it is one.
    pub fn program(&self) -> Option<&ProgramFile> {
        match self {
            Application::Real(program) => Some(program),
            _ => None,
        }
    }
}

/// Whether the file is machine code, by its first bytes.
pub(crate) fn is_elf(path: &Path) -> bool {
    first_bytes(path).starts_with(b"\x7fELF")
}

/// The first bytes of a file, of which there may be less.
pub(crate) fn first_bytes(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What cannot be read shows when all of it is. A pipe is not opened: that waits for who writes into it.
    let file = path.is_file().then(|| File::open(path).ok()).flatten();
    let _ = file.map(|file| file.take(4096).read_to_end(&mut bytes));
    bytes
}
