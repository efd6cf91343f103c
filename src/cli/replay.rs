//! Runs of traces.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::{ConfigError, Document, Override};
use crate::engine::{Labels, Progress, Simulation};
use crate::mpi::check_rules;
use crate::trace::{Header, Trace};

use super::configuration::Configuration;
use super::exit::Failure;
use super::record::{self, Recorded};
use super::run::placed;

/// A trace as the application of a run: the table `trace` with the key `file`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TraceFile {
    /// The file.
    pub path: PathBuf,
}

impl TraceFile {
    /// What a file would say that names the trace at `path`.
    pub fn document(path: &Path) -> Result<Document, Failure> {
        let absolute = std::path::absolute(path).unwrap_or(path.to_owned());
        let file = TraceFile { path: absolute };
        Ok(Document::parse(&path.display().to_string(), &file.table().to_string())?)
    }

    /// Whether the application is a trace.
    pub fn is_in(document: &Document) -> bool {
        document.table().contains_key("trace")
    }

    /// Reads the table; a path is relative to `directory`.
    pub fn load(document: Document, directory: &Path, overrides: &[Override]) -> Result<TraceFile, ConfigError> {
        if let Some(over) = overrides.first() {
            let what = "a trace has no keys to set, what its ranks did is recorded";
            return Err(ConfigError::new(format!("--set {}: {what}", over.text)));
        }
        let other = document.table().keys().find(|key| *key != "trace" && *key != "name");
        if let Some(key) = other {
            let place = document.place(key);
            return Err(ConfigError::new(format!("unknown key \"{key}\", expected \"trace\" in {place}")));
        }
        let table = document.table()["trace"].as_table();
        let file = table.filter(|table| table.len() == 1).and_then(|table| table.get("file")?.as_str());
        match file {
            Some(file) => Ok(TraceFile { path: directory.join(file) }),
            None => Err(document.expected("trace", "a table with the key file", document.table()["trace"].clone())),
        }
    }

    /// The application's table.
    pub fn table(&self) -> toml::Table {
        let file = toml::Table::from_iter([("file".to_owned(), self.path.display().to_string().into())]);
        toml::Table::from_iter([("trace".to_owned(), file.into())])
    }

    /// Reads the trace.
    pub fn read(&self) -> Result<Trace, Failure> {
        let name = self.path.display();
        let bytes = std::fs::read(&self.path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Failure::bad_input(format!("{name}: no such file")),
            _ => Failure::bad_input(format!("cannot read {name}: {error}")),
        })?;
        Trace::read(bytes).map_err(|error| Failure::bad_input(format!("{name}: {error}")))
    }
}

/// Replays the trace of `configuration`.
pub(super) fn simulate(
    configuration: &Configuration,
    file: &TraceFile,
    progress: &Progress,
    recorded: bool,
) -> Result<Recorded, Failure> {
    let settings = &configuration.settings;
    let source = configuration.platform()?;
    check_rules(&source.platform)?;
    let trace = Arc::new(file.read()?);
    let Header { ranks, app, seed, scale, .. } = trace.header().clone();
    if let Some(asked) = settings.ranks.filter(|asked| *asked != ranks) {
        let name = file.path.display();
        return Err(Failure::bad_input(format!("--ranks {asked}: expected {ranks}, the ranks recorded in {name}")));
    }
    let (platform, sites) = placed(settings, source.platform, Some(ranks))?;
    let model = settings.model.name();
    let labels = Labels { app: app.clone(), model: model.to_owned(), seed, config: configuration.to_json()? };
    let header = Header { scale, ..record::header(&platform, sites.len(), &app, model, seed) };
    let simulation = Simulation::new(&platform, sites, settings.options(), labels);
    record::run(&simulation, |rank| trace.program(rank), progress, recorded.then_some(&header))
}
