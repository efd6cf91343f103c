//! Points of a study: the inputs of each point, the input hash of the point, and the run of the point.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};

use crate::cc::ProgramFile;
use crate::config::{Document, Override, note_input};
use crate::engine::{Outcome, Processes};
use crate::measure::Figures;
use crate::run::{
    Application, Conduct, PlacementChoice, PredictError, Resolved, RunRequest, Setting, Shipped, Sources, TraceFile,
    host_scale, is_program, placed, silent,
};

use super::child::{self, Programs};
use super::running::Running;
use super::{
    Asked, Axis, FitFormula, InputHash, Limits, MemoryBudget, Point, Questions, RankKind, StudyFile, StudyPlan,
};

/// Request of a study by the user.
#[derive(Clone, Debug)]
pub struct StudyRequest {
    /// Study file or application, and the inputs that all runs of the study have in common.
    pub run: RunRequest,
    /// Further axes of the study, each as `KEY=VALUES`.
    pub vary: Vec<String>,
    /// Number of seeds with which each point of the study runs.
    pub repeats: Option<u32>,
    /// True if real programs run at every point of the study. Otherwise the points replay a recording.
    pub rerun: bool,
    /// Questions about the results of the study, which add columns or tables to the output.
    pub questions: Questions,
    /// Returns the kernel times of this host, and whether other load makes them doubtful. The times give the factor of
    /// machines with `scale_factor = "auto"`, once for all points of the study.
    pub kernels_of_host: Option<fn() -> (Figures, bool)>,
}

/// Study whose file was read and which is ready to run.
#[derive(Debug)]
pub struct Study {
    /// Name of the study.
    pub name: String,
    /// Plan of the study's points.
    pub plan: StudyPlan,
    /// Questions about the results of the study.
    pub asked: Asked,
    /// Formula that is fitted to the results of the study.
    pub formula: Option<FitFormula>,
    sources: Sources,
    /// Settings in the study file that apply to all points of the study.
    set: Vec<Override>,
    programs: Programs,
    /// True if real programs run at every point of the study.
    rerun: bool,
    kernels_of_host: Option<fn() -> (Figures, bool)>,
    host: OnceLock<(Figures, bool)>,
}

/// A point of a study with its resolved inputs.
#[derive(Clone, Debug)]
pub struct PreparedPoint {
    /// Index of the point in the plan of the study.
    pub index: usize,
    /// Hash of all inputs of the point. The hash includes the trace once the trace exists.
    pub key: InputHash,
    /// Hash of all inputs of the point except the trace.
    pub given: InputHash,
    /// Estimated host memory of the point's run.
    pub memory: MemoryBudget,
    /// True if the run of the point times program code on the host, so that concurrent work would disturb the times.
    pub measures: bool,
    /// Recording that a point of a real program replays. Points share a recording if the program behaves the same at
    /// these points.
    pub replay: Option<ReplayedTrace>,
}

/// Trace that several points of a study replay.
#[derive(Clone, Debug)]
pub struct ReplayedTrace {
    /// Hash of all inputs that affect the behaviour of the recorded ranks.
    pub group: InputHash,
    /// File of the trace, or the reason why recording the trace failed.
    pub trace: Result<PathBuf, PredictError>,
}

impl Study {
    /// Reads the study file, or creates a study of an application from the arguments of the command and the axes in
    /// them.
    ///
    /// # Errors
    /// The study file, the application or a setting is invalid.
    pub fn load(args: &StudyRequest) -> Result<Study, PredictError> {
        let mut run = args.run.clone();
        run.app = located(&run.app)?;
        let file = match is_program(&run.app) || TraceFile::is_at(&run.app) {
            true => None,
            false => Some(Document::read(&run.app)?).filter(StudyFile::is_in),
        };
        let file = file.map(|document| StudyFile::load(&document)).transpose()?;
        let typed = args.vary.iter().map(|text| Axis::parse(text)).collect::<Result<Vec<_>, _>>()?;
        let stem = run.app.file_stem().map_or("study".into(), |stem| stem.to_string_lossy().into_owned());
        let (mut name, mut axes, mut set, mut repeats) = (stem, Vec::new(), Vec::new(), args.repeats);
        let mut questions = args.questions.clone();
        if let Some(file) = file {
            let directory = run.app.parent().unwrap_or(Path::new("")).to_owned();
            let study = std::mem::take(&mut run.app);
            run.app = of_file(Shipped::Application, &directory, &file.app, "app", &study)?;
            let platform = |path: PathBuf| of_file(Shipped::Platform, &directory, &path, "platform", &study);
            run.given.platform = match run.given.platform {
                None => file.platform.map(platform).transpose()?,
                typed => typed,
            };
            name = file.name.unwrap_or(name);
            axes = file.axes;
            set = file.set;
            repeats = repeats.or(file.repeats);
            questions = questions.or(file.questions);
        }
        // An axis in the arguments of the command replaces the axis of the study file with the same keys.
        axes.retain(|axis| !typed.iter().any(|other| other.keys() == axis.keys()));
        axes.extend(typed);
        let (asked, formula) = questions.read()?;
        let sources = run.read()?;
        let set: Vec<Override> = set.into_iter().map(of_run).filter(|over| !is_typed(over, &run)).collect();
        if let Some(count) = repeats {
            axes.push(Axis::seeds(sources.resolve(&set)?.settings.seed, count));
        }
        let plan = StudyPlan::new(axes)?;
        refuse_both(&plan, &set, &run)?;
        let (programs, host) = (Programs::default(), OnceLock::new());
        let StudyRequest { rerun, kernels_of_host, .. } = *args;
        Ok(Study { name, plan, asked, formula, sources, set, programs, rerun, kernels_of_host, host })
    }

    /// Checks that the requested base of the speed-up is a value of an axis.
    ///
    /// # Errors
    /// The base of the speed-up is not a value of any axis; the message lists the values that vary.
    pub fn check_base(&self) -> Result<(), PredictError> {
        let Some((key, value)) = &self.asked.base else { return Ok(()) };
        let wrong = |what: String| Err(PredictError::input(format!("--base {key}={value}: {what}")));
        let place = |axis: &Axis| axis.keys().iter().position(|known| known == key);
        let Some((axis, column)) = self.plan.axes().iter().find_map(|axis| Some((axis, place(axis)?))) else {
            let columns = self.plan.columns().join(", ");
            return wrong(format!("{key} does not vary; the varied keys are {columns}"));
        };
        let values: Vec<String> = (0..axis.steps()).filter_map(|step| axis.texts(step).nth(column)).collect();
        match values.contains(value) {
            true => Ok(()),
            false => wrong(format!("expected one of the values {}", values.join(" "))),
        }
    }

    /// Returns a list of the study's points, one line per point.
    pub fn list(&self) -> String {
        let columns = self.plan.columns();
        let line = |index: usize| {
            let values = self.plan.point(index).values;
            let pairs = columns.iter().zip(values).map(|(column, value)| format!("{column}={value}"));
            pairs.collect::<Vec<_>>().join("  ") + "\n"
        };
        (0..self.plan.points()).map(line).collect()
    }

    /// Resolves the inputs of every point of the study. Reports all errors that can be found without a run.
    pub fn prepare(&self, jobs: NonZeroUsize) -> Result<Vec<PreparedPoint>, PredictError> {
        let tasks: Vec<_> =
            (0..self.plan.points()).map(|index| (index, MemoryBudget::of_run(0, RankKind::Described))).collect();
        let mut found = BTreeMap::new();
        let work = |index: usize| self.prepared(&self.plan.point(index));
        let limits = Limits { jobs, memory: None };
        super::run(&tasks, limits, &AtomicBool::new(false), work, |ended| found.extend(ended));
        found.into_values().collect()
    }

    fn prepared(&self, point: &Point) -> Result<PreparedPoint, PredictError> {
        let configuration = self.configure(point)?;
        let at = |failure| self.at(point, failure);
        let given = self.key(&configuration).map_err(at)?;
        let is_real = configuration.application.program().is_some();
        let replayed = is_real && !self.rerun;
        let replay = match replayed {
            true => {
                let group = self.group(&configuration).map_err(at)?;
                Some(ReplayedTrace { group, trace: Err(PredictError::input("the program was not recorded")) })
            }
            false => None,
        };
        let runs = is_real && !replayed;
        let kind = if runs { RankKind::Real } else { RankKind::Described };
        let memory = MemoryBudget::of_run(configuration.ranks(), kind);
        let measures = runs && child::measures(&configuration);
        Ok(PreparedPoint { index: point.index, key: given, given, memory, measures, replay })
    }

    /// Resolves the inputs of the run at a point of the study.
    ///
    /// # Errors
    /// An input of the point is invalid; the message names the point.
    pub fn configure(&self, point: &Point) -> Result<Resolved, PredictError> {
        let mut overrides = [self.set.clone(), overrides(point)].concat();
        let resolve = |set: &[Override]| self.sources.resolve(set).map_err(|failure| self.at(point, failure));
        let mut configuration = resolve(&overrides)?;
        if let Some(factor) = self.host_factor(&configuration) {
            overrides
                .push(Override::parse(&format!("platform.core.scale_factor={factor}")).expect("a key of the core"));
            configuration = resolve(&overrides)?;
        }
        configuration.settings.workers = Some(1);
        configuration.settings.pairs = false;
        Ok(configuration)
    }

    /// Returns the factor on the host's times, if the point times a program for a machine with `scale_factor = "auto"`.
    fn host_factor(&self, configuration: &Resolved) -> Option<f64> {
        let kernels = self.kernels_of_host.filter(|_| configuration.is_scaled_by_host())?;
        let (figures, is_loaded) = self.host.get_or_init(kernels);
        host_scale(figures, &configuration.platform.platform.core, *is_loaded).map(|scale| scale.middle())
    }

    /// Adds the label of the study's point to an error.
    fn at(&self, point: &Point, failure: PredictError) -> PredictError {
        let pairs =
            self.plan.columns().into_iter().zip(&point.values).map(|(column, value)| format!("{column}={value}"));
        let pairs: Vec<String> = pairs.collect();
        if pairs.is_empty() { failure } else { failure.at(pairs.join(" ")) }
    }

    /// Returns the hash of all inputs of the run that `configuration` describes, and of the mcpsim version.
    fn key(&self, configuration: &Resolved) -> Result<InputHash, PredictError> {
        let config = configuration.to_json()?.to_string();
        let placement = match &configuration.settings.placement {
            PlacementChoice::File(path) => read(path)?,
            _ => Vec::new(),
        };
        let program = match configuration.application.program() {
            Some(program) => self.hashes(program)?,
            None => String::new(),
        };
        let trace = match &configuration.application {
            Application::Trace(file) => read(&file.path)?,
            Application::Jobs(set) if set.has_program() => {
                return Err(PredictError::input(
                    "a study of jobs: expected no real program, because each point would run it again; record it with \
                     --record, and use the trace",
                ));
            }
            Application::Jobs(set) => {
                let read = |(_, path): (String, PathBuf)| read(&path);
                set.trace_files().into_iter().map(read).collect::<Result<Vec<_>, _>>()?.concat()
            }
            _ => Vec::new(),
        };
        Ok(InputHash::of(&[
            ("mcpsim", env!("CARGO_PKG_VERSION").as_bytes()),
            ("config", config.as_bytes()),
            ("placement", &placement),
            ("program", program.as_bytes()),
            ("trace", &trace),
        ]))
    }

    /// Returns the hash of the program's code, or of the code of all programs if the application file names several.
    fn hashes(&self, program: &ProgramFile) -> Result<String, PredictError> {
        program.all().map(|one| Ok(self.programs.built(one)?.hash.to_string())).collect()
    }

    /// Returns the hash of all inputs that affect the behaviour of a real program's ranks. Points with equal hashes
    /// replay the same trace.
    ///
    /// The hashed inputs are the program, the program's arguments, the number of ranks, and the factors that scale the
    /// times of the program's code. The hash excludes the network and the algorithms of collectives, because the
    /// machine of the replay determines them.
    fn group(&self, configuration: &Resolved) -> Result<InputHash, PredictError> {
        let program = program_of(configuration)?;
        let hash = self.hashes(program)?;
        let source = &configuration.platform;
        let rates = format!("{:?}", ["core", "cmp", "node"].map(|table| source.table.get(table)));
        // If the ranks cannot be placed on the machine, each point of the study reports the error when it runs.
        let factors = placed(&configuration.settings, source.platform.clone(), program.ranks)
            .map_or(Vec::new(), |(platform, sites)| platform.code_factors(&sites));
        let job = format!("{:?} {:?}", configuration.settings.job, configuration.settings.seed);
        let call = format!("{:?} {:?} {factors:?} {job}", program.arguments, program.environment);
        Ok(InputHash::of(&[
            ("mcpsim", env!("CARGO_PKG_VERSION").as_bytes()),
            ("program", hash.as_bytes()),
            ("rates", rates.as_bytes()),
            ("call", call.as_bytes()),
            ("ranks", configuration.ranks().to_string().as_bytes()),
        ]))
    }

    /// Returns the axes in `manifest`, which describes a stored study, if these axes differ from the axes of the
    /// current study.
    pub fn others_columns(&self, manifest: &Path) -> Option<String> {
        let manifest: Value = serde_json::from_str(&std::fs::read_to_string(manifest).ok()?).ok()?;
        let columns: Vec<&str> = manifest.get("columns")?.as_array()?.iter().filter_map(Value::as_str).collect();
        (self.plan.columns() != columns).then(|| columns.join(", "))
    }

    /// Runs the real program of a study's point and records a trace into `path`.
    pub fn record(&self, point: &PreparedPoint, path: &Path, running: &Running) -> Result<(), PredictError> {
        let configuration = self.configure(&self.plan.point(point.index))?;
        child::record(&configuration, &*self.programs.built(program_of(&configuration)?)?, path, running)
    }

    /// Returns true if recording the point times program code on the host.
    pub fn measures(&self, point: &PreparedPoint) -> bool {
        self.configure(&self.plan.point(point.index)).is_ok_and(|configuration| child::measures(&configuration))
    }

    /// Runs a point of the study and returns the Outcome of the run, reduced to the data that a study stores.
    pub fn run(&self, prepared: &PreparedPoint, running: &Running) -> Result<Outcome, PredictError> {
        let configuration = self.configure(&self.plan.point(prepared.index))?;
        if self.key(&configuration)? != prepared.given {
            return Err(PredictError::input("an input file of this point has changed since the sweep began"));
        }
        let configuration = match &prepared.replay {
            Some(replay) => configuration.replaying(&replay.trace.clone()?),
            None => configuration,
        };
        simulate(&configuration, &self.programs, running)
    }

    /// Returns the text of the study's manifest, which is written before the first run.
    pub fn manifest(&self, prepared: &[PreparedPoint]) -> Result<String, PredictError> {
        let point = |point: &PreparedPoint| json!({ "values": self.plan.point(point.index).values, "key": point.key.to_string() });
        let manifest = json!({
            "mcpsim": env!("CARGO_PKG_VERSION"),
            "study": self.name,
            "columns": self.plan.columns(),
            "points": prepared.iter().map(point).collect::<Vec<_>>(),
        });
        let text = serde_json::to_string_pretty(&manifest);
        text.map(|text| text + "\n").map_err(|error| PredictError::input(format!("manifest.json: {error}")))
    }
}

/// Returns the real program that a run simulates.
fn program_of(run: &Resolved) -> Result<&ProgramFile, PredictError> {
    run.application.program().ok_or_else(|| PredictError::input("expected a real program"))
}

/// Simulates `run` as a point of a study and returns the Outcome of the run, reduced to the data that a study stores.
///
/// # Errors
/// The run of the study's point yields no prediction.
pub fn simulate(run: &Resolved, programs: &Programs, running: &Running) -> Result<Outcome, PredictError> {
    if let Some(program) = run.application.program() {
        return child::run(run, &*programs.built(program)?, running);
    }
    let progress = running.enter();
    let console = silent();
    let conduct = Conduct { progress: &progress, processes: &Processes::one(), recorded: false, console: &console };
    let ran = run.run_in(conduct);
    running.leave(&progress);
    let prediction = ran?.expect("one process has the result");
    Ok(prediction.outcome.of_point())
}

fn read(path: &PathBuf) -> Result<Vec<u8>, PredictError> {
    note_input(path);
    std::fs::read(path).map_err(|error| PredictError::input(format!("{}: {error}", path.display())))
}

fn overrides(point: &Point) -> Vec<Override> {
    point.overrides.iter().cloned().map(of_run).collect()
}

/// Resolves the path of a study or application in the arguments of the command, which may be the name of a shipped
/// file.
fn located(typed: &Path) -> Result<PathBuf, PredictError> {
    match typed.to_str().is_some_and(|name| Shipped::Study.has(name)) {
        true => Shipped::Study.resolve(typed),
        false => Shipped::Application.resolve(typed),
    }
}

/// Resolves the path of a file under the key `key` in the study file `study`. The path is relative to the study file,
/// or is the name of a shipped file.
fn of_file(what: Shipped, directory: &Path, named: &Path, key: &str, study: &Path) -> Result<PathBuf, PredictError> {
    let beside = directory.join(named);
    let path = if beside.exists() { beside } else { named.to_owned() };
    what.resolve(&path).map_err(|error| PredictError::input(format!("{}: {key}: {error}", study.display())))
}

/// Replaces the key of the platform for the machine's shape by the key of the run, which has priority.
fn of_run(mut over: Override) -> Override {
    if over.key == ["platform", "nct"] {
        "run".clone_into(&mut over.key[0]);
    }
    over
}

/// Returns true if the arguments of the command contain another value for a setting of the study file.
fn is_typed(over: &Override, run: &RunRequest) -> bool {
    let setting = |key: &[String]| Setting::of(key.get(1)?).filter(|_| key[0] == "run");
    let given = || setting(&over.key).is_some_and(|setting| run.given.keys().contains(&setting.key));
    given() || run.set.iter().cloned().map(of_run).any(|typed| typed.key == over.key)
}

/// Rejects a key that is both an axis and a setting of a study, because such a key would not vary.
fn refuse_both(plan: &StudyPlan, set: &[Override], run: &RunRequest) -> Result<(), PredictError> {
    let shape = |key: &str| if key == "platform.nct" { "run.nct".to_owned() } else { key.to_owned() };
    let columns: Vec<String> = plan.columns().iter().map(|key| shape(key)).collect();
    let typed = run.set.iter().chain(set).map(|over| over.key.join("."));
    let given = run.given.keys().into_iter().map(|key| format!("run.{key}"));
    let arguments = (!run.arguments.is_empty()).then(|| "app.program.arguments".to_owned());
    for key in typed.chain(given).chain(arguments) {
        if columns.contains(&shape(&key)) {
            return Err(PredictError::input(format!(
                "{key} both varies and has a fixed setting: leave out \
                                                    one of them"
            )));
        }
    }
    Ok(())
}
