//! Runs of traces.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::config::{ConfigError, Document, Override};
use crate::engine::{Labels, Simulation};
use crate::mpi::{DataCost, Process, check_rules};
use crate::platform::{Platform, Site};
use crate::rank::Rank;
use crate::trace::import::{Import, format_of};
use crate::trace::logs::{self, Logs, Machine};
use crate::trace::{Header, Trace, is_trace};

use super::args::first_bytes;
use super::configuration::Configuration;
use super::exit::Failure;
use super::launch::agree;
use super::record::{self, Recorded};
use super::run::{Manner, memory_shares, placed};

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

    /// Whether the file is a trace, by its beginning: mcpsim's, or that of another tool.
    pub fn is_at(path: &Path) -> bool {
        let start = first_bytes(path);
        is_trace(&start)
            || logs::is_run(&start)
            || logs::is_log(&start)
            || format_of(&String::from_utf8_lossy(&start)).is_some()
            || listed(path, &start).is_some()
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

    /// Its name in messages: as short as it can be.
    fn name(&self) -> String {
        let here = std::env::current_dir().unwrap_or_default();
        self.path.strip_prefix(&here).unwrap_or(&self.path).display().to_string()
    }

    /// Reads a trace of mcpsim's.
    pub fn read(&self) -> Result<Arc<Trace>, Failure> {
        match self.content()? {
            Content::Trace(trace) => Ok(trace),
            Content::Logs(_) | Content::Import(_) => {
                let name = self.name();
                Err(Failure::bad_input(format!(
                    "{name}: a trace of another tool: record a run of it, mcpsim --record FILE.trace {name}"
                )))
            }
        }
    }

    /// Reads the file of a run that was recorded under a real MPI; `None` if it is another trace.
    pub fn read_logs(&self) -> Result<Option<Logs>, Failure> {
        let start = first_bytes(&self.path);
        if !logs::is_run(&start) && !logs::is_log(&start) {
            return Ok(None);
        }
        match self.content()? {
            Content::Logs(logs) => Ok(Some(logs)),
            _ => Ok(None),
        }
    }

    fn content(&self) -> Result<Content, Failure> {
        let bytes = read_file(&self.path)?;
        let wrong = |what: String| Failure::bad_input(format!("{}: {what}", self.name()));
        if is_trace(&bytes) {
            return Trace::read(bytes).map(Arc::new).map(Content::Trace).map_err(|error| wrong(error.to_string()));
        }
        if logs::is_log(&bytes) {
            let what =
                "the log of a single rank: put those of all ranks together, mcpsim trace merge DIRECTORY -o FILE";
            return Err(wrong(what.to_owned()));
        }
        if logs::is_run(&bytes) {
            return Logs::read(&bytes).map(Content::Logs).map_err(|error| wrong(error.to_string()));
        }
        let list = listed(&self.path, &bytes);
        let bytes = match &list {
            // One file a rank, whose lines say the rank too.
            Some(files) => files.iter().map(|file| read_file(file)).collect::<Result<Vec<_>, _>>()?.join(&b'\n'),
            None => bytes,
        };
        let text = String::from_utf8(bytes).map_err(|_| wrong("expected a trace; found no text".to_owned()))?;
        let format = format_of(&text)
            .ok_or_else(|| wrong("not a mcpsim trace: the file does not start with \"MCPSIM\"".to_owned()))?;
        Import::read(format, &text).map(Content::Import).map_err(|error| wrong(error.to_string()))
    }
}

/// What a trace's file holds.
enum Content {
    Trace(Arc<Trace>),
    Logs(Logs),
    Import(Import),
}

/// The files that a list names, if it is one: of traces of single ranks, beside it.
fn listed(path: &Path, content: &[u8]) -> Option<Vec<PathBuf>> {
    let text = std::str::from_utf8(content).ok()?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let directory = path.parent().unwrap_or(Path::new(""));
    let files: Vec<PathBuf> = lines.map(|line| directory.join(line)).collect();
    let is_import = |file: &PathBuf| format_of(&String::from_utf8_lossy(&first_bytes(file))).is_some();
    files.first().is_some_and(is_import).then_some(files)
}

fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    let name = path.display();
    std::fs::read(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => Failure::bad_input(format!("{name}: no such file")),
        _ => Failure::bad_input(format!("cannot read {name}: {error}")),
    })
}

/// What a replay gave.
pub(super) struct Replayed {
    /// The prediction, and a trace of the replay if one was wanted.
    pub recorded: Recorded,
    /// What to tell the user besides.
    pub notes: Vec<String>,
}

/// Replays the trace of `configuration`.
pub(super) fn simulate(
    configuration: &Configuration,
    file: &TraceFile,
    manner: Manner<'_>,
) -> Result<Option<Replayed>, Failure> {
    let Loaded { content, platform, sites, header, labels } = agree(manner.processes, load(configuration, file))?;
    let simulation = Simulation::new(&platform, sites.clone(), configuration.settings.options(), labels);
    let mut notes = Vec::new();
    let recorded = match content {
        Content::Trace(trace) => {
            notes.extend(other_rates(trace.header(), &platform));
            let factors = platform.core.code_factors(&sites);
            let factor = |rank: Rank| trace.header().rescaled(rank, factors[rank as usize]);
            record::run(&simulation, &(), |rank| trace.program_with(rank, factor(rank)), manner, &header)
        }
        Content::Logs(logs) => {
            let memory = memory_shares(&platform, &sites);
            let (shared, factors) = (Arc::new(platform.clone()), platform.core.code_factors(&sites));
            let make = |rank: Rank| {
                let cost = DataCost::new(&platform.core, memory.of(sites[rank as usize]));
                logs.program(rank, &Machine { platform: shared.clone(), cost }, factors[rank as usize])
            };
            record::run(&simulation, &(), make, manner, &header)
        }
        Content::Import(import) => {
            let memory = memory_shares(&platform, &sites);
            let shared = Arc::new(platform.clone());
            let make = |rank: Rank| {
                let program = import.program(rank, &platform.core);
                Process::new(program, shared.clone(), memory.of(sites[rank as usize]))
            };
            record::run(&simulation, &(), make, manner, &header)
        }
    }?;
    Ok(recorded.map(|recorded| Replayed { recorded, notes }))
}

/// What does not follow the machine's rates, where these are others than the recorded ones.
fn other_rates(header: &Header, platform: &Platform) -> Option<String> {
    let keys = header.other_rates(&platform.core);
    let what = if header.factors.is_empty() { "work" } else { "combining and copying in collectives" };
    let other = keys.join(", another ");
    (!keys.is_empty())
        .then(|| format!("{what} takes the time that was recorded, although this machine has another {other}"))
}

/// A trace for a machine.
struct Loaded {
    content: Content,
    platform: Platform,
    sites: Vec<Site>,
    header: Header,
    labels: Labels,
}

fn load(configuration: &Configuration, file: &TraceFile) -> Result<Loaded, Failure> {
    let settings = &configuration.settings;
    let source = configuration.platform()?;
    check_rules(&source.platform)?;
    let name = file.name();
    let content = file.content()?;
    let (ranks, app, seed, recorded) = match &content {
        Content::Trace(trace) => {
            let header = trace.header();
            (header.ranks, header.app.clone(), header.seed, Some(header))
        }
        Content::Logs(logs) => {
            if let Some(fault) = logs.fault() {
                return Err(Failure::bad_input(format!("{name}: {fault}")));
            }
            (logs.ranks(), logs.info(0).program.clone(), settings.seed, None)
        }
        Content::Import(import) => {
            let stem = file.path.file_stem().map_or("trace".into(), |stem| stem.to_string_lossy());
            (import.ranks(), stem.into_owned(), settings.seed, None)
        }
    };
    if let Some(asked) = settings.ranks.filter(|asked| *asked != ranks) {
        return Err(Failure::bad_input(format!("--ranks {asked}: expected {ranks}, the ranks of {name}")));
    }
    let (platform, sites) = placed(settings, source.platform, Some(ranks))?;
    let model = settings.model.name();
    let labels = Labels { app: app.clone(), model: model.to_owned(), seed, config: configuration.to_json()? };
    let mut header = record::header(&platform, sites.len(), &app, model, seed);
    if let Some(recorded) = recorded {
        header.rates = recorded.rates;
        if !recorded.factors.is_empty() {
            header.factors = platform.core.code_factors(&sites);
        }
    } else if let Content::Logs(_) = content {
        header.factors = platform.core.code_factors(&sites);
    }
    Ok(Loaded { content, platform, sites, header, labels })
}
