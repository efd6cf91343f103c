//! Application of a simulation run. The kind of the application is determined once, when a request is resolved.

use std::fs::{File, Metadata};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use crate::app::App;
use crate::cc::ProgramFile;
use crate::config::{Document, Override, schema_part};

use super::error::PredictError;
use super::jobs::JobSet;
use super::settings::{Given, SETTINGS};
use super::trace_file::TraceFile;

/// Kinds of applications that a simulation run can have.
#[derive(Clone, Debug)]
pub enum Application {
    /// Application whose rank behaviour a TOML file describes.
    Described(Arc<App>),
    /// Real MPI program, whose code runs during the simulation.
    Real(Box<ProgramFile>),
    /// Recorded trace of a run, which is replayed.
    Trace(TraceFile),
    /// Several jobs side by side, each with an application of its own.
    Jobs(Arc<JobSet>),
}

impl Application {
    /// Returns the JSON Schema of application files: descriptions, programs and jobs.
    pub fn schema() -> serde_json::Value {
        let mut schema = App::schema(settings_schema());
        schema["properties"]["program"] = program_schema();
        if let serde_json::Value::Object(keys) = JobSet::schema() {
            for (key, value) in keys {
                schema["properties"][key] = value;
            }
        }
        schema
    }

    /// Reads the application from its TOML document. Relative paths start at `directory`.
    pub(super) fn load(document: Document, directory: &Path, overrides: &[Override]) -> Result<Self, PredictError> {
        if ProgramFile::is_in(&document) {
            return Ok(Application::Real(Box::new(ProgramFile::load(document, directory, overrides)?)));
        }
        if TraceFile::is_in(&document) {
            return Ok(Application::Trace(TraceFile::load(document, directory, overrides)?));
        }
        if JobSet::is_in(&document) {
            return Ok(Application::Jobs(Arc::new(JobSet::load(document, directory, overrides)?)));
        }
        Ok(Application::Described(Arc::new(App::load(document, overrides)?)))
    }

    /// Returns the application as a merged TOML table, from which the same application can be read again.
    pub(super) fn table(&self) -> toml::Table {
        match self {
            Application::Real(program) => toml::Table::from_iter([("program".to_owned(), program.config())]),
            Application::Trace(file) => file.table(),
            Application::Jobs(jobs) => jobs.table(),
            Application::Described(app) => {
                let mut table = app.config();
                // The default name is derived from the file name, which differs if the TOML table is read from another
                // file.
                table.insert("name".to_owned(), app.name().into());
                table
            }
        }
    }

    /// Returns the real program, if the application is a real program.
    pub fn program(&self) -> Option<&ProgramFile> {
        match self {
            Application::Real(program) => Some(program),
            _ => None,
        }
    }
}

/// Returns the schema of the table `[run]`.
fn settings_schema() -> serde_json::Value {
    let mut schema = schema_part::<Given>();
    for setting in SETTINGS {
        if schema["properties"][setting.key].is_object() {
            schema["properties"][setting.key]["description"] = setting.help.into();
        }
    }
    schema
}

/// Returns the schema of a table `[program]` or a list of such tables.
fn program_schema() -> serde_json::Value {
    let text = json!({ "type": "string" });
    let words = json!({ "type": "array", "items": { "type": ["string", "integer", "number"] } });
    let one = |key: &str| match key {
        "source" => json!({ "anyOf": [text, { "type": "array", "items": text }] }),
        "flags" | "libraries" | "arguments" => words.clone(),
        "environment" => {
            json!({ "type": "object", "additionalProperties": { "type": ["string", "integer", "number"] } })
        }
        "ranks" => json!({ "type": "integer", "minimum": 1 }),
        _ => text.clone(),
    };
    let keys: serde_json::Map<_, _> = ProgramFile::KEYS.iter().map(|key| ((*key).to_owned(), one(key))).collect();
    let table = json!({ "type": "object", "properties": keys, "additionalProperties": false });
    json!({ "anyOf": [table, { "type": "array", "items": table }] })
}

/// Returns true if the first bytes of the file are those of machine code (ELF).
pub(crate) fn is_elf(path: &Path) -> bool {
    first_bytes(path).starts_with(b"\x7fELF")
}

/// Returns true if the file is a program: machine code (ELF), or a script that names its interpreter.
pub(crate) fn is_program(path: &Path) -> bool {
    let bytes = first_bytes(path);
    let is_table = path.extension().is_some_and(|ending| ending == "toml");
    let names_interpreter = || bytes.strip_prefix(b"#!").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"/"));
    bytes.starts_with(b"\x7fELF") || (!is_table && names_interpreter())
}

/// Interpreters of scripts by the endings of their names.
const INTERPRETERS: [(&str, &str); 5] =
    [("py", "python3"), ("R", "Rscript"), ("r", "Rscript"), ("jl", "julia"), ("sh", "sh")];

/// Returns the interpreter that starts the script `path`, if the system cannot start the script itself: the script names
/// no interpreter or is not executable.
pub(super) fn interpreter(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?;
    let (_, interpreter) = INTERPRETERS.into_iter().find(|(of, _)| *of == ending)?;
    let mode = path.metadata().ok().filter(Metadata::is_file)?.permissions().mode();
    (mode & 0o111 == 0 || !is_program(path)).then_some(interpreter)
}

/// Returns the executable file that the shell would start for the name `name` without directory.
pub(super) fn on_search_path(name: &Path) -> Option<PathBuf> {
    let is_bare = name.parent() == Some(Path::new(""));
    let all = std::env::var_os("PATH").filter(|_| is_bare)?;
    let is_executable =
        |path: &PathBuf| path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
    std::env::split_paths(&all).map(|directory| directory.join(name)).find(is_executable)
}

/// Returns the first bytes of a file.
pub(crate) fn first_bytes(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    // Another function reports an unreadable file when it reads the whole file. A pipe is not opened, because opening
    // it would block until another process opens it for writing.
    let file = path.is_file().then(|| File::open(path).ok()).flatten();
    let _ = file.map(|file| file.take(4096).read_to_end(&mut bytes));
    bytes
}
