//! Studies of descriptions and traces.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcpsim::report;
use mcpsim::run::{ErrorKind, PredictError, available_memory};
use mcpsim::study::{self, InputHash, Limits, MemoryBudget, Questions, Results, Running, Study, StudyRequest};
use pyo3::prelude::*;

use crate::request::{Asked, has_program};
use crate::{background, failure};

/// Arguments of a study in addition to those of its runs.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct AskedStudy {
    /// Axes, each `KEY=VALUES`.
    vary: Vec<String>,
    repeats: Option<u32>,
    jobs: Option<usize>,
    base: Option<String>,
    gain: Option<f64>,
    choices: Vec<String>,
}

/// Texts of a study's results: `study.csv`, `summary.csv`, `study.json`, and the printed summary.
type Texts = (String, String, String, String);

/// Runs all points of a study. Returns None if a point runs a real program, which the `mcpsim` command runs.
///
/// The function `tick` is called several times per second, with the numbers of finished and planned points.
#[pyfunction]
#[pyo3(signature = (asked, study, tick=None))]
pub fn sweep(
    py: Python<'_>,
    asked: Asked,
    study: AskedStudy,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<Option<Texts>> {
    let running = Running::default();
    let cancelled = running.clone();
    let points = Arc::new(Points::default());
    let seen = Arc::clone(&points);
    let work = move || predict(&asked, study, &running, &points);
    let tick = || match &tick {
        Some(tick) => tick.call1((seen.ended.load(Ordering::Relaxed), seen.all.load(Ordering::Relaxed))).map(|_| ()),
        None => Ok(()),
    };
    let ran = background::run(py, work, || cancelled.cancel(), tick)?;
    ran.map_err(|error| failure::exception(py, &error))
}

/// Progress of a study: numbers of finished and planned points.
#[derive(Default)]
struct Points {
    ended: AtomicUsize,
    all: AtomicUsize,
}

fn predict(
    asked: &Asked,
    asked_study: AskedStudy,
    running: &Running,
    points: &Points,
) -> Result<Option<Texts>, PredictError> {
    let AskedStudy { vary, repeats, jobs, base, gain, choices } = asked_study;
    let questions = Questions { choices, base, gain, fit: None };
    // Studies of real programs run as commands.
    let run = asked.request()?;
    let study = Study::load(&StudyRequest { run, vary, repeats, rerun: false, questions, kernels_of_host: None })?;
    study.check_base()?;
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let jobs = jobs.and_then(NonZeroUsize::new).unwrap_or_else(cores);
    let prepared = study.prepare(jobs)?;
    let first = study.configure(&study.plan.point(0))?;
    if has_program(&first.application) || prepared.iter().any(|point| point.replay.is_some()) {
        return Ok(None);
    }
    points.all.store(prepared.len(), Ordering::Relaxed);
    let limits = Limits { jobs, memory: available_memory().map(MemoryBudget::of_host) };
    let tasks: Vec<_> = prepared.iter().enumerate().map(|(task, point)| (task, point.memory)).collect();
    let mut found = BTreeMap::new();
    let work = |task: usize| study.run(&prepared[task], running);
    study::run(&tasks, limits, running.flag(), work, |ended| {
        points.ended.fetch_add(ended.len(), Ordering::Relaxed);
        found.extend(ended);
    });
    if running.cancelled() || found.values().any(is_interrupted) {
        return Err(PredictError::Interrupted);
    }
    let keys: Vec<InputHash> = prepared.iter().map(|point| point.key).collect();
    let results = Results::new(&study.name, &study.plan, study.asked.clone(), |index| {
        let ran = found.remove(&index).unwrap_or(Err(PredictError::Interrupted));
        (keys[index], ran.map_err(|error| error.told(report::failure)))
    });
    let json = report::study_json(&results).map_err(|error| PredictError::input(format!("study.json: {error}")))?;
    Ok(Some((report::study_csv(&results), report::study_summary_csv(&results), json, report::study_summary(&results))))
}

fn is_interrupted<T>(ran: &Result<T, PredictError>) -> bool {
    ran.as_ref().is_err_and(|error| error.kind() == ErrorKind::Interrupted)
}
