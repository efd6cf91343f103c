//! `mcpsim validate`: predicts runs whose times were measured, and prints the errors of the predictions.
//!
//! A validation case is a folder that contains `case.toml` and the files that `case.toml` names.

mod args;
mod host_load;
mod new;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::config::{Document, Override};
use crate::engine::Outcome;
use crate::platform::{Effect, Platform};
use crate::profile::{AppFigure, DominantPart};
use crate::report::{
    Figure, validation_csv, validation_figures, validation_json, validation_summary, validations_table,
};
use crate::run::{Given, Model, PredictError, Resolved, RunRequest, Sources};
use crate::study::validate::{Ask, Case, CasePoints, MeasuredTable, PredictedTime, Role, Validation, Wanted, assess};
use crate::study::{self, Limits, MemoryBudget, Programs, RankKind, Running, measures, simulate};

pub(super) use args::ValidateArgs;

use super::exit::{Exit, Failure};
use super::interrupt::{self, Listening};
use super::output;
use super::output::OutputTarget;
use super::sweep::limits;

/// Name of the file that defines a validation case.
const CASE: &str = "case.toml";

/// Folder in which `mcpsim validate --all` searches validation cases.
const FOLDER: &str = "validation";

/// Validates the requested cases. Returns the exit code of mcpsim.
pub(super) fn validate(args: &ValidateArgs) -> Result<u8, Failure> {
    if let Some(folder) = &args.new {
        return new::write_case(folder, &args.import, args.quiet);
    }
    let folders = if args.all { all(Path::new(FOLDER))? } else { args.cases.clone() };
    // Errors in the files of any validation case are reported before the first run.
    let mut cases = folders.iter().map(|folder| Prepared::load(folder, args)).collect::<Result<Vec<_>, _>>()?;
    if args.all {
        let notes = cases.iter().filter_map(|of| Some((&of.case.name, of.case.timed_on.as_ref()?)));
        let say = |(name, on)| format!("{name} is left out: its real program must be timed on {on}\n");
        let notes: String = notes.map(say).collect();
        cases.retain(|of| of.case.timed_on.is_none());
        if !args.quiet && !args.to_stdout() && !notes.is_empty() {
            output::print(&(notes + "\n"))?;
        }
    }
    let target =
        |option: &str, name: &Option<OsString>| name.as_ref().map(|name| OutputTarget::new(option, name)).transpose();
    let targets = [target("--json", &args.json)?, target("--csv", &args.csv)?];
    let host = Host::listening(limits(args.jobs))?;
    let mut found = Vec::new();
    for case in &cases {
        let validation = case.assess(&host, args)?;
        if !args.quiet && !args.to_stdout() {
            output::print(&(validation_summary(&validation, args.shown_points()) + "\n"))?;
        }
        found.push(validation);
    }
    if let Some(hint) = host.hint.lock().unwrap_or_else(PoisonError::into_inner).take() {
        let _ = writeln!(std::io::stderr(), "hint: {hint}");
    }
    if found.len() > 1 && !args.quiet && !args.to_stdout() {
        output::print(&validations_table(&found))?;
    }
    write(args, targets, &found)?;
    let over: Vec<&str> = found.iter().filter(|case| !case.passes()).map(|case| case.case.as_str()).collect();
    if over.is_empty() {
        return Ok(Exit::Predicted.code());
    }
    Err(Failure {
        exit: Exit::OverLimit,
        text: format!(
            "prediction errors are over the limit in: \
         {}",
            over.join(", ")
        ),
    })
}

/// Returns the validation cases in `folder`, which are the subfolders that contain a case file.
fn all(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let shown = folder.display();
    let entries = std::fs::read_dir(folder).map_err(|error| {
        Failure::bad_input(format!(
            "--all: expected the directory {shown} with cases, as in mcpsim's sources: {}",
            match error.kind() {
                ErrorKind::NotFound => "no such directory".to_owned(),
                _ => error.to_string(),
            }
        ))
    })?;
    let mut found: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.join(CASE).is_file()).collect();
    found.sort();
    if found.is_empty() {
        return Err(Failure::bad_input(format!("--all: no folder in {shown} has a {CASE}")));
    }
    Ok(found)
}

fn write(args: &ValidateArgs, targets: [Option<OutputTarget>; 2], found: &[Validation]) -> Result<(), Failure> {
    let [json, csv] = targets;
    if let Some(target) = json {
        let json = validation_json(found).map_err(|error| Failure::bad_input(format!("--json: {error}")))?;
        target.put(&json)?;
    }
    if let Some(target) = csv {
        target.put(&validation_csv(found))?;
    }
    let Some(directory) = &args.figures else { return Ok(()) };
    let figures: Vec<Figure> = found.iter().flat_map(validation_figures).collect();
    let drawn = super::report::draw(&figures, directory, &args.format)?;
    if args.quiet || args.to_stdout() { Ok(()) } else { output::print(&drawn) }
}

/// Number of times that program code is timed per prediction, an odd number. The prediction uses the median of these
/// times, as for measured runs.
const TURNS: usize = 3;

/// Host on which predictions are made.
struct Host {
    limits: Limits,
    stop: Arc<AtomicBool>,
    running: Running,
    programs: Programs,
    /// Note about load on the host, which is printed after all validation cases.
    hint: Mutex<Option<String>>,
    _listening: Listening,
}

impl Host {
    fn listening(limits: Limits) -> Result<Host, Failure> {
        let (stop, running) = (Arc::new(AtomicBool::new(false)), Running::default());
        let (stopping, cancelled) = (Arc::clone(&stop), running.clone());
        let _listening = interrupt::listen(true, move || {
            stopping.store(true, Ordering::Relaxed);
            cancelled.cancel();
        })?;
        let (programs, hint) = (Programs::default(), Mutex::default());
        Ok(Host { limits, stop, running, programs, hint, _listening })
    }

    /// Runs all configurations concurrently, and returns the predicted time of each run.
    fn run(&self, configurations: &[Resolved], labels: &[&str], case: &Case) -> Result<Vec<PredictedTime>, Failure> {
        let kind =
            |of: &Resolved| if of.application.program().is_some() { RankKind::Real } else { RankKind::Described };
        let memory = |of: &Resolved| MemoryBudget::of_run(of.ranks(), kind(of));
        let alone = configurations.iter().any(|of| of.application.program().is_some() && measures(of));
        let (runs, turns) = (configurations.len(), if alone { TURNS } else { 1 });
        let mut tasks: Vec<(usize, MemoryBudget)> =
            (0..turns).flat_map(|_| configurations.iter().map(memory)).enumerate().collect();
        // Runs that need much memory start first, so that no such run remains alone at the end.
        tasks.sort_by_key(|(task, memory)| (task / runs, std::cmp::Reverse(memory.bytes())));
        let limits = if alone { Limits { jobs: NonZeroUsize::MIN, ..self.limits } } else { self.limits };
        let mut found: BTreeMap<usize, Result<Outcome, PredictError>> = BTreeMap::new();
        let work = |task: usize| simulate(&configurations[task % runs], &self.programs, &self.running);
        study::run(&tasks, limits, &self.stop, work, |ended| {
            if ended.iter().any(|(_, result)| result.is_err()) {
                self.stop.store(true, Ordering::Relaxed);
            }
            found.extend(ended);
        });
        if self.running.cancelled() {
            return Err(Failure { exit: Exit::Interrupted, text: "interrupted".to_owned() });
        }
        let (mut seconds, mut dominant) = (vec![Vec::new(); runs], vec![None; runs]);
        for (task, result) in found {
            let predicted = result.map_err(Failure::from).and_then(|outcome| {
                dominant[task % runs] = DominantPart::of(&outcome.path);
                predicted(&outcome, case)
            });
            seconds[task % runs].push(predicted.map_err(|failure| at(labels[task % runs], failure))?);
        }
        if alone {
            let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
            let hint = host_load::hint(&seconds, host_load::load(), cores);
            let mut said = self.hint.lock().unwrap_or_else(PoisonError::into_inner);
            *said = hint.or_else(|| said.take());
        }
        let median = |mut seconds: Vec<f64>| {
            seconds.sort_by(f64::total_cmp);
            seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN)
        };
        let time = |(seconds, dominant)| PredictedTime { seconds: median(seconds), dominant };
        Ok(seconds.into_iter().zip(dominant).map(time).collect())
    }
}

/// Returns the predicted time that is compared with measured times: the time of the simulated run, or a time that the
/// application prints.
fn predicted(outcome: &Outcome, case: &Case) -> Result<f64, Failure> {
    let Some(name) = &case.result else { return Ok(outcome.predicted_s) };
    let wrong = |found: String| {
        let asks = format!("the key \"result\" of {} names a result of the application", case.file);
        Failure::bad_input(format!("{asks}: expected \"{name}\" in seconds above zero; found {found}"))
    };
    let Some(of) = outcome.results.iter().find(|of| of.name == *name) else {
        let shown: Vec<&str> = outcome.results.iter().map(|of| of.name.as_str()).collect();
        return Err(wrong(if shown.is_empty() { "no [results]".to_owned() } else { shown.join(", ") }));
    };
    match &of.found {
        AppFigure::Value(seconds) if of.unit == "s" && *seconds > 0.0 => Ok(*seconds),
        AppFigure::Value(value) => Err(wrong(format!("{value} {}", of.unit).trim_end().to_owned())),
        AppFigure::Error(why) => Err(wrong(why.clone())),
    }
}

/// Adds the label of a validated point to a failure.
fn at(label: &str, failure: Failure) -> Failure {
    if label.is_empty() { failure } else { Failure { text: format!("at {label}: {}", failure.text), ..failure } }
}

/// Validation case whose files were read.
struct Prepared {
    case: Case,
    table: MeasuredTable,
    points: CasePoints,
    sources: Sources,
    /// Communication models whose predictions are compared; mcpsim's own model is first.
    models: Vec<Model>,
}

impl Prepared {
    fn load(folder: &Path, args: &ValidateArgs) -> Result<Prepared, Failure> {
        let shown = folder.display();
        // The user may name a validation case by its folder or by its case file.
        let folder = if folder.ends_with(CASE) { folder.parent().unwrap_or(Path::new("")) } else { folder };
        let path = folder.join(CASE);
        if !path.is_file() {
            let what = if folder.is_dir() { "a folder without a" } else { "no folder with a" };
            return Err(Failure::bad_input(format!(
                "{shown}: {what} {CASE}: expected a validation case (see validation/README.md)"
            )));
        }
        let name = folder.canonicalize().ok().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        let mut case = Case::load(&Document::read(&path)?, &name.unwrap_or_else(|| "case".to_owned()))?;
        case.set.iter_mut().chain(case.when.iter_mut().flat_map(|when| &mut when.set)).for_each(|set| {
            place_beside(folder, set);
        });
        let measured = folder.join(&case.measured);
        let text = crate::config::read_text(&measured, "CSV in UTF-8")?;
        let table = MeasuredTable::parse(&measured.display().to_string(), &text)?;
        let mut points = CasePoints::new(&case, &table)?;
        for (column, cells) in &args.only {
            // Only columns that identify points can select points with `--only`.
            table.column(column, "--only")?;
            if !points.columns.contains(column) {
                let all = points.columns.join(", ");
                return Err(Failure::bad_input(format!("--only {column}: expected one of {all} in {}", case.name)));
            }
            points.only(column, cells);
        }
        let sources = request(folder, &case).read()?;
        let prepared = Prepared { case, table, points, sources, models: args.compared() };
        for point in &prepared.points.all {
            let label = point.label(&prepared.points.columns);
            for set in [point.set.clone(), [&point.set[..], &point.minus].concat()] {
                prepared.configure(prepared.models[0], &Ask { set, label: label.clone(), ..Ask::default() })?;
            }
        }
        Ok(prepared)
    }

    fn assess(&self, host: &Host, args: &ValidateArgs) -> Result<Validation, Failure> {
        let names: Vec<&str> = self.models.iter().map(|model| model.name()).collect();
        let present = self.effects()?;
        let wanted = Wanted { repeats: args.repeats, effects: args.effects.then_some(&present[..]) };
        assess(&self.case, &self.table, &self.points, &names, wanted, |model, asks| {
            let place = names.iter().position(|name| *name == model).expect("one of those that are compared");
            let model = self.models[place];
            // Points with equal inputs, which differ only in columns such as the date, share one simulation run.
            let mut runs: Vec<Ask> = Vec::new();
            let mut run_of = |ask: &Ask| {
                let same = runs.iter().position(|run| run.set == ask.set && run.without == ask.without);
                same.unwrap_or_else(|| {
                    runs.push(ask.clone());
                    runs.len() - 1
                })
            };
            let second = |ask: &Ask| Ask { set: [&ask.set[..], &ask.minus].concat(), ..ask.clone() };
            let of: Vec<(usize, Option<usize>)> =
                asks.iter().map(|ask| (run_of(ask), (!ask.minus.is_empty()).then(|| run_of(&second(ask))))).collect();
            let configurations = runs.iter().map(|ask| self.configure(model, ask)).collect::<Result<Vec<_>, _>>()?;
            let labels: Vec<&str> = runs.iter().map(|ask| ask.label.as_str()).collect();
            let times = host.run(&configurations, &labels, &self.case)?;
            let time = |(run, second): (usize, Option<usize>)| {
                let seconds = times[run].seconds - second.map_or(0.0, |second| times[second].seconds);
                PredictedTime { seconds, ..times[run] }
            };
            Ok::<_, Failure>(of.into_iter().map(time).collect())
        })
        .map_err(|failure| at(&self.case.name, failure))
    }

    /// Returns the effects of the simulated machines on which the points are predicted.
    fn effects(&self) -> Result<Vec<Effect>, Failure> {
        let mut machines: Vec<Platform> = Vec::new();
        for point in self.points.all.iter().filter(|point| point.role == Role::Predicted) {
            let ask = Ask { set: point.set.clone(), ..Ask::default() };
            let machine = self.configure(self.models[0], &ask)?.platform.platform;
            if !machines.contains(&machine) {
                machines.push(machine);
            }
        }
        let is_there = |effect: &Effect| machines.iter().any(|machine| machine.without(*effect).is_some());
        Ok(Effect::ALL.into_iter().filter(is_there).collect())
    }

    fn configure(&self, model: Model, ask: &Ask) -> Result<Resolved, Failure> {
        let mut configuration = self.sources.resolve(&ask.set).map_err(|failure| at(&ask.label, failure.into()))?;
        configuration.settings.workers = Some(1);
        configuration.settings.model = model;
        for effect in &ask.without {
            let machine = &mut configuration.platform.platform;
            *machine = machine.without(*effect).unwrap_or_else(|| machine.clone());
        }
        Ok(configuration)
    }
}

/// Resolves the path of a placement file relative to `folder`, the folder of the validation case.
fn place_beside(folder: &Path, set: &mut Override) {
    let named = set
        .value
        .as_str()
        .filter(|name| set.key == ["run", "placement"] && !["block", "cyclic", "socket"].contains(name));
    if let Some(name) = named {
        let path = folder.join(name).display().to_string();
        *set = Override { key: set.key.clone(), text: format!("run.placement={path}"), value: path.into() };
    }
}

/// Returns the settings that all runs of the validation case have in common. The files of the case are in `folder`.
fn request(folder: &Path, case: &Case) -> RunRequest {
    let platform = case.platform.as_ref().map(|platform| folder.join(platform));
    RunRequest::new(folder.join(&case.app)).with(Given { platform, ..Given::default() })
}
