//! Request of a simulation run: an application, overrides of keys in the application and platform files, settings, and
//! details of the Outcome.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cc::ProgramFile;
use crate::config::{Document, Override, note_input};
use crate::platform::{Noise, Platform, PlatformSource};
use crate::process::Checks;

use super::application::{Application, interpreter, is_program, on_search_path};
use super::collective_rules::with_rules;
use super::error::PredictError;
use super::mistake;
use super::resolved::{RULES, Resolved, file_keys};
use super::settings::{Given, SETTINGS, Setting, Settings};
use super::shipped::Shipped;
use super::trace_file::TraceFile;

/// TOML tables in a complete configuration, as `--show-config` prints it.
const TABLES: [&str; 3] = ["run", "platform", "app"];

/// Request of a simulation run.
///
/// ```
/// # fn main() -> Result<(), mcpsim::run::PredictError> {
/// use mcpsim::run::{Given, RunRequest};
///
/// let ring = r#"
///     main = [{ send = { to = "(rank + 1) % size", bytes = 8 } }, { recv = { from = "(rank - 1) % size" } }]
/// "#;
/// let request = RunRequest::of_text("ring", ring)?;
/// let near = request.clone().set("run.nct=1,1,4")?.resolve()?.run()?;
/// let far = request.with(Given { nct: "4,1,1".parse().ok(), ..Given::default() }).resolve()?.run()?;
/// assert_eq!((near.ranks, near.messages.count), (4, 4));
/// assert!(near.predicted < far.predicted);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct RunRequest {
    /// Application file, or the file name that error messages use for `text`.
    pub app: PathBuf,
    /// Arguments of a real program, which replace the arguments in the application file.
    pub arguments: Vec<OsString>,
    /// Keys of `run`, `platform` and `app` that override the keys in the files, in order.
    pub set: Vec<Override>,
    /// Settings of the run from command-line options, which have the highest priority.
    pub given: Given,
    /// Details that the Outcome contains in addition to the prediction.
    pub details: Details,
    /// Mistakes in the MPI calls of a real program that the run checks for.
    pub checks: Checks,
    /// True if the user started a real program by its own name. The simulated machine then has one core, unless the
    /// environment selects another machine.
    pub direct: bool,
    /// Text of the application in TOML, if no file contains the application.
    pub text: Option<String>,
}

/// Optional details of the Outcome of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    /// List of all ranks, even if the run has many ranks.
    pub per_rank: bool,
    /// Profile of MPI calls by function, and of messages by exact size.
    pub functions: bool,
    /// Profile of MPI calls by source position.
    pub sites: bool,
    /// Ranks and calls on the critical path.
    pub critical_path: bool,
    /// Increases of network latency that make the run longer by 1, 2 and 5 %.
    pub latency_tolerance: bool,
    /// Timelines of the states of all ranks.
    pub timeline: bool,
    /// Load of links, adapters and cores over time.
    #[serde(default)]
    pub load_over_time: bool,
    /// Use of host time by worker threads.
    pub host_profile: bool,
    /// Log of code fragments for each simulated process of a task runtime.
    pub task_logs: bool,
}

impl RunRequest {
    /// Creates a request for the application in the file `app`. The file is a TOML description, a program that `mcpsim
    /// cc` has compiled, or a trace.
    pub fn new(app: impl Into<PathBuf>) -> Self {
        RunRequest {
            app: app.into(),
            arguments: Vec::new(),
            set: Vec::new(),
            given: Given::default(),
            details: Details::default(),
            checks: Checks::default(),
            direct: false,
            text: None,
        }
    }

    /// Creates a request for the application that `text` describes. Error messages use `name` as the file name.
    ///
    /// # Errors
    /// The text of the application is not valid TOML.
    pub fn of_text(name: &str, text: &str) -> Result<Self, PredictError> {
        Document::parse(name, text)?;
        Ok(RunRequest { text: Some(text.to_owned()), ..RunRequest::new(name) })
    }

    /// Overrides a key, as the option `--set` does. An example is `"platform.inter_node.latency=1 us"`.
    ///
    /// # Errors
    /// The text is not of the form KEY=VALUE, or the key does not start with `run`, `platform` or `app`.
    pub fn set(mut self, text: &str) -> Result<Self, PredictError> {
        self.set.push(Override::parse(text)?);
        Ok(self)
    }

    /// Returns the request with the settings `given`, which override the settings of the request.
    #[must_use]
    pub fn with(mut self, given: Given) -> Self {
        self.given = given.over(std::mem::take(&mut self.given));
        self
    }

    /// Reads the files of the request, and merges the settings from all sources.
    ///
    /// # Errors
    /// A file, a key or a setting of the request is invalid.
    pub fn resolve(&self) -> Result<Resolved, PredictError> {
        self.read()?.resolve(&[])
    }

    /// Reads the application file for several runs that differ in the values of keys.
    ///
    /// # Errors
    /// The application file is invalid, or the request contains a setting twice.
    pub fn read(&self) -> Result<Sources, PredictError> {
        let request = self.located()?;
        let app = &request.app;
        let file = if let Some(text) = &self.text {
            Document::parse(&app.display().to_string(), text)?
        } else if is_program(app) {
            note_input(app);
            of_binary(app)?
        } else if TraceFile::is_at(app) {
            TraceFile::document(app)?
        } else {
            mistake::by_form(app)?;
            let document = Document::read(app)?;
            mistake::by_keys(&document)?;
            document
        };
        self.refuse_twice()?;
        Ok(Sources { request, file })
    }

    /// Replaces the name of a machine or application that is shipped with mcpsim by the path of its file, the name of an
    /// installed program by the path of the program, and a script by its interpreter with the script as first argument.
    fn located(&self) -> Result<RunRequest, PredictError> {
        let mut request = self.clone();
        if self.text.is_none() {
            request.app = match Shipped::Application.resolve(&self.app) {
                Err(error) => on_search_path(&self.app).ok_or(error)?,
                found => found?,
            };
            if let Some(interpreter) = interpreter(&request.app) {
                let script = request.app;
                request.app = on_search_path(Path::new(interpreter)).ok_or_else(|| {
                    PredictError::input(format!(
                        "{}: its interpreter {interpreter} is not in a directory of PATH",
                        script.display()
                    ))
                })?;
                request.arguments.insert(0, script.into());
            }
        }
        if let Some(platform) = &self.given.platform {
            request.given.platform = Some(Shipped::Platform.resolve(platform)?);
        }
        Ok(request)
    }

    /// Rejects a setting that both a command-line option and `--set` contain, because their priority is undefined.
    pub(super) fn refuse_twice(&self) -> Result<(), PredictError> {
        let given = self.given.keys();
        let twice = |over: &Override| match over.key[0] == "run" {
            true => Setting::of(&over.key[1]).filter(|setting| given.contains(&setting.key)),
            false => None,
        };
        match self.set.iter().find_map(|over| Some((over, twice(over)?))) {
            None => Ok(()),
            Some((over, setting)) => {
                let (option, text) = (setting.option(), &over.text);
                Err(PredictError::input(format!("--{option} and --set {text} set the same key: leave out one of them")))
            }
        }
    }
}

/// A request whose application file was read. Several runs of the request may differ in the values of keys.
#[derive(Clone, Debug)]
pub struct Sources {
    request: RunRequest,
    file: Document,
}

impl Sources {
    /// Returns the request with located files, and the application file.
    pub(super) fn into_parts(self) -> (RunRequest, Document) {
        (self.request, self.file)
    }

    /// Merges the settings of the request. The keys `more` are applied after the keys of the request.
    ///
    /// # Errors
    /// A file, a key or a setting of the request is invalid.
    pub fn resolve(&self, more: &[Override]) -> Result<Resolved, PredictError> {
        let Sources { request, mut file } = self.clone();
        let overrides = [&request.set[..], more].concat();
        let of =
            |what: &str| -> Vec<Override> { overrides.iter().filter(|over| over.key[0] == what).cloned().collect() };
        let mut run = file.clone();
        file.table().keys().filter(|key| *key != "run").for_each(|key| {
            run.take(key);
        });
        file.take("run");
        let (app, own_platform) = match is_whole(&file) {
            true => (part(&mut file, "app", "app.")?, part(&mut file, "platform", "platform.")?),
            false => (Some(file), None),
        };
        let directory = request.app.parent().unwrap_or(Path::new(""));
        let mut app = app.expect("a whole configuration has an app");
        request.check(&app)?;
        if !request.arguments.is_empty() {
            set_arguments(&mut app, &request.arguments)?;
        }
        let settings = Settings::merge(run, directory, &of("run"), &request)?;
        let document = match &settings.platform {
            Some(path) => {
                let document = Document::read(path)?;
                mistake::machine_by_keys(&document)?;
                document
            }
            None => own_platform.unwrap_or_else(Platform::default_document),
        };
        let own_directory = Path::new(document.name()).parent().unwrap_or(Path::new("")).to_owned();
        let mut platform = PlatformSource::load(document, &of("platform"))?;
        let beside = settings.platform.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        let mut table = platform.table.clone();
        let platform_files = file_keys(&mut table).into_iter().map(|(key, file)| {
            let directory = if key == RULES { beside } else { &own_directory };
            let file = directory.join(file.as_str().unwrap_or_default());
            (key, std::path::absolute(&file).unwrap_or(file))
        });
        let platform_files = platform_files.collect();
        let (machine, ignored_rules) = with_rules(platform.platform, beside)?;
        platform.platform = machine;
        let platform = match settings.shape {
            Some(shape) => {
                let machine = platform.platform.name.clone();
                let wrong = |error| PredictError::input(format!("machine {machine} with nct {shape}: {error}"));
                platform.with_shape(shape).map_err(wrong)?
            }
            None => platform,
        };
        let is_seeded = request.given.seed.is_some() || overrides.iter().any(|over| over.key[..] == ["run", "seed"]);
        let draws = platform.platform.conditions.noise != Noise::default();
        if TraceFile::is_in(&app) && is_seeded && !draws {
            let (name, machine) = (request.app.display(), "the machine has no noise");
            return Err(PredictError::input(format!(
                "--seed: expected no seed, because the trace {name} has no random numbers and {machine}"
            )));
        }
        let name = app.name().to_owned();
        let application = Application::load(app, directory, &of("app"))?;
        let typed = overrides.iter().filter(|over| over.key[0] == "run").map(|over| over.key[1].as_str());
        let given: Vec<&str> = request.given.keys().into_iter().chain(typed).collect();
        let is_given = |setting: &&Setting| [setting.key, setting.name].iter().any(|name| given.contains(name));
        let unheeded = SETTINGS.iter().filter(is_given).filter(|setting| !setting.is_heeded(&application)).collect();
        let typed = request.app.to_string_lossy().into_owned();
        Ok(Resolved { settings, platform, platform_files, application, typed, name, unheeded, ignored_rules })
    }
}

impl RunRequest {
    /// Rejects settings that do not apply to the kind of the application.
    fn check(&self, app: &Document) -> Result<(), PredictError> {
        let name = self.app.display();
        match self.arguments.first() {
            Some(first) if !ProgramFile::is_in(app) => {
                let first = first.display();
                let why = match TraceFile::is_in(app) {
                    true => format!("the trace {name} has no arguments"),
                    false => {
                        format!(
                            "the described application {name} has no arguments; change its keys with --set \
                                 app.KEY=VALUE"
                        )
                    }
                };
                Err(PredictError::input(format!("unexpected argument \"{first}\": {why}")))
            }
            _ => Ok(()),
        }
    }
}

/// Returns the description of an application that is a compiled program file.
fn of_binary(app: &Path) -> Result<Document, PredictError> {
    let path = std::path::absolute(app).unwrap_or(app.to_owned());
    let text = path
        .to_str()
        .ok_or_else(|| PredictError::input(format!("{}: expected a path that is valid UTF-8", app.display())))?;
    let name = path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    let program = toml::Table::from_iter([("name".to_owned(), name.into()), ("binary".to_owned(), text.into())]);
    let table = toml::Table::from_iter([("program".to_owned(), toml::Value::Table(program))]);
    Ok(Document::parse(&app.display().to_string(), &table.to_string())?)
}

/// Replaces the program's arguments in the application file by the arguments of the request.
pub(super) fn set_arguments(app: &mut Document, arguments: &[OsString]) -> Result<(), PredictError> {
    let words: Result<Vec<toml::Value>, PredictError> = arguments
        .iter()
        .map(|argument| match argument.to_str() {
            Some(text) => Ok(text.into()),
            None => Err(PredictError::input(format!("argument \"{}\": expected valid UTF-8", argument.display()))),
        })
        .collect();
    let list = toml::Value::Array(words?);
    let over = Override::parse(&format!("app.program.arguments={list}"))?;
    Ok(app.set(&over.key[1..], &over)?)
}

/// Returns true if the file was written by `--show-config`: the file has a table `app`, and otherwise only the tables
/// `run` and `platform`.
fn is_whole(file: &Document) -> bool {
    let table = file.table();
    table.get("app").is_some_and(toml::Value::is_table) && table.keys().all(|key| TABLES.contains(&key.as_str()))
}

/// Returns one table of a complete configuration as a separate document. Error messages name the file and the table.
fn part(file: &mut Document, key: &str, below: &'static str) -> Result<Option<Document>, PredictError> {
    let name = format!("{}, table {key}", file.name());
    match file.take(key) {
        None => Ok(None),
        Some(toml::Value::Table(table)) => {
            let text = toml::to_string(&table).map_err(|error| PredictError::input(format!("{name}: {error}")))?;
            Ok(Some(Document::parse(&name, &text)?.part_of(file.text().clone(), below)))
        }
        Some(other) => Err(file.expected(key, "a table", other).into()),
    }
}

#[cfg(test)]
impl RunRequest {
    /// Returns the request of a run of `app` with the settings and `--set` options in the command line `line`.
    pub(super) fn typed(app: impl Into<PathBuf>, line: &str) -> RunRequest {
        let mut request = RunRequest::new(app);
        let mut words = line.split_whitespace();
        while let Some(word) = words.next() {
            let key = word.trim_start_matches("--").replace('-', "_");
            match Setting::of(&key) {
                Some(setting) if setting.value.is_empty() => setting.set(&mut request.given, "").unwrap(),
                Some(setting) => setting.set(&mut request.given, words.next().unwrap()).unwrap(),
                None if key == "set" => request.set.push(Override::parse(words.next().unwrap()).unwrap()),
                None => panic!("{word}"),
            }
        }
        request
    }
}
