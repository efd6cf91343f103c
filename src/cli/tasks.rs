//! `mcpsim tasks`: analyses the code fragments that a task runtime has executed, from the exported data of a run or
//! from the logs of its processes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;

use crate::config::note_input;
use crate::profile::{LOG_FORMAT, TaskAnalysis, is_luna_log, read_task_logs};
use crate::report::{Exported, task_comparison, task_figures, task_summary};
use crate::study::Results;

use super::exit::Failure;
use super::output::{self, OutputTarget};
use super::report::{Format, draw};

const EXAMPLES: &str = "\
Examples:
  Print the waiting times of fragments, and how threads use their time
    mcpsim --json run.json lu-tasks
    mcpsim tasks run.json --figures figures
  Compare two managers of fragments
    mcpsim --json late.json --set app.tasks.unfold=late lu-tasks
    mcpsim tasks run.json late.json --figures figures
  Compare two managers in a study
    mcpsim sweep --out managers poisson-managers
    mcpsim tasks managers --figures figures
  Analyse one log per process; a runtime system can write such logs too
    mcpsim --task-logs logs lu-tasks
    mcpsim tasks logs";

/// Analyses the stages of fragments and the time use of threads
#[derive(Clone, Debug, Parser)]
#[command(name = "mcpsim tasks", override_usage = "mcpsim tasks RUN.json|LOGS... [OPTIONS]", term_width = 80, arg_required_else_help = true, after_help = EXAMPLES)]
pub(super) struct TasksArgs {
    /// The --json output of a run, a study's directory, a directory of logs,
    /// or the logs of one run; several runs are compared
    #[arg(value_name = "RUN.json|LOGS", required = true)]
    sources: Vec<PathBuf>,

    /// Write figures into this directory
    #[arg(long, value_name = "DIR")]
    figures: Option<PathBuf>,

    /// Formats of each figure
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', default_value = "svg,png")]
    format: Vec<Format>,

    /// Write the analysis as JSON: an object for one run, a list for several runs (- is stdout)
    #[arg(long, value_name = "FILE")]
    json: Option<OsString>,
}

/// Kind of a source of task data.
enum TaskSource {
    Outcome(Box<TaskAnalysis>),
    /// Points of a study. The name of a point contains the values that differ between the points.
    Study(Vec<(String, TaskAnalysis)>),
    Log(String),
}

/// Executes the command `mcpsim tasks`.
pub(super) fn tasks(args: &TasksArgs) -> Result<(), Failure> {
    let target = args.json.as_deref().map(|name| OutputTarget::new("--json", name)).transpose()?;
    let runs = read(&args.sources)?;
    let mut text: Vec<String> = runs.iter().map(|(name, tasks)| task_summary(name, tasks)).collect();
    if runs.len() > 1 {
        text.push(task_comparison(&runs));
    }
    if let Some(directory) = &args.figures {
        let figures = task_figures(&runs);
        if figures.is_empty() {
            return Err(Failure::bad_input("--figures: nothing to draw: no time passes in these runs"));
        }
        text.push(draw(&figures, directory, &args.format)?);
    }
    if let Some(target) = &target {
        let analyses: Vec<&TaskAnalysis> = runs.iter().map(|(_, tasks)| tasks).collect();
        let json = match analyses[..] {
            [one] => serde_json::to_string_pretty(one),
            _ => serde_json::to_string_pretty(&analyses),
        };
        let json = json.map_err(|error| Failure::bad_input(format!("--json: {error}")))?;
        target.put(&format!("{json}\n"))?;
        if *target == OutputTarget::Stdout {
            return Ok(());
        }
    }
    output::print(&text.join("\n"))
}

/// Returns the analysed run of each source in `sources`. Log files that are named individually together form one run.
fn read(sources: &[PathBuf]) -> Result<Vec<(String, TaskAnalysis)>, Failure> {
    let mut runs = Vec::new();
    let mut logs = Vec::new();
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    // Tables and figures have room only for short names of runs.
    let name = |path: &PathBuf| match stem(path) {
        Some(short) if sources.iter().filter(|other| stem(other).as_ref() == Some(&short)).count() == 1 => short,
        _ => path.display().to_string(),
    };
    for path in sources {
        let study = path.join("study.json");
        if path.is_dir() && !study.exists() {
            runs.push((name(path), of_logs(&in_directory(path)?)?));
            continue;
        }
        match source(if path.is_dir() { &study } else { path })? {
            TaskSource::Outcome(tasks) => runs.push((name(path), *tasks)),
            TaskSource::Study(points) => runs.extend(points),
            TaskSource::Log(text) => logs.push((path.display().to_string(), text)),
        }
    }
    if !logs.is_empty() {
        if !runs.is_empty() {
            let what = "logs and other files together: expected the directory of the logs, or only logs";
            return Err(Failure::bad_input(format!("{}: {what}", logs[0].0)));
        }
        let s = if logs.len() == 1 { "" } else { "s" };
        runs.push((format!("{} log{s}", logs.len()), of_logs(&logs)?));
    }
    Ok(runs)
}

fn of_logs(logs: &[(String, String)]) -> Result<TaskAnalysis, Failure> {
    read_task_logs(logs).map(|logs| TaskAnalysis::from_logs(&logs)).map_err(Failure::bad_input)
}

/// Returns the log files of a task runtime in a directory, in the order of their names: those in mcpsim's format or
/// those of the LuNA runtime system.
fn in_directory(directory: &Path) -> Result<Vec<(String, String)>, Failure> {
    let shown = directory.display();
    let wrong = |error: std::io::Error| Failure::bad_input(format!("{shown}: {error}"));
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_luna = name.strip_prefix("log.").is_some_and(|process| process.parse::<u32>().is_ok());
        if is_luna || name.starts_with("prof_") && name.ends_with(".json") {
            paths.push(path);
        }
    }
    paths.sort();
    if paths.is_empty() {
        return Err(Failure::bad_input(format!(
            "{shown}: the directory has no logs: expected files prof_00000.json, prof_00001.json, … or log.00, log.01, …"
        )));
    }
    paths.iter().map(|path| Ok((path.display().to_string(), text(path)?))).collect()
}

fn text(path: &Path) -> Result<String, Failure> {
    note_input(path);
    fs::read_to_string(path).map_err(|error| {
        let what = match error.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_owned(),
            _ => error.to_string(),
        };
        Failure::bad_input(format!("{}: {what}", path.display()))
    })
}

fn source(path: &Path) -> Result<TaskSource, Failure> {
    let name = path.display();
    let text = text(path)?;
    // A log of a task runtime may be long, and only the log reader knows the format of the log. The check for a log
    // file therefore reads only the start of the file.
    let is_own = text.get(..400).unwrap_or(&text).contains(LOG_FORMAT.split(' ').next().unwrap_or_default());
    if is_own || is_luna_log(&text) {
        return Ok(TaskSource::Log(text));
    }
    let expected = format!("the --json output of a run, a study.json, or a log with \"format\": \"{LOG_FORMAT}\"");
    match Exported::read(&name.to_string(), &text, &expected)? {
        Exported::Study(results) => of_study(&name.to_string(), *results).map(TaskSource::Study),
        Exported::Run(run) => run.tasks.map(TaskSource::Outcome).ok_or_else(|| {
            let what = "the run has no fragments: expected a run of an application with a [tasks] table";
            Failure::bad_input(format!("{name}: {what}"))
        }),
    }
}

/// Returns the task analysis of each point of a study, in the order of the points.
fn of_study(name: &str, results: Results) -> Result<Vec<(String, TaskAnalysis)>, Failure> {
    let keys: Vec<String> = results.columns().into_iter().map(str::to_owned).collect();
    let mut runs = Vec::new();
    for point in results.points {
        let value = |key: &String| point.values.get(key).map_or("", String::as_str);
        let words = keys.iter().map(|key| format!("{} {}", key.rsplit('.').next().unwrap_or(key), value(key)));
        let label = words.collect::<Vec<_>>().join(", ");
        let tasks = match (point.outcome, point.error) {
            (Some(outcome), _) => outcome.tasks,
            (None, error) => {
                let error = error.unwrap_or_default();
                return Err(Failure::bad_input(format!("{name}: {label}: no prediction: {error}")));
            }
        };
        let tasks = tasks.ok_or_else(|| {
            let what = "the run has no fragments: expected a run of an application with a [tasks] table";
            Failure::bad_input(format!("{name}: {label}: {what}"))
        })?;
        runs.push((label, *tasks));
    }
    if runs.is_empty() {
        return Err(Failure::bad_input(format!("{name}: expected a study with points; found no points")));
    }
    Ok(runs)
}
