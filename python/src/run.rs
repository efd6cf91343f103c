//! One run of a description or a trace.

use std::sync::Arc;

use mcpsim::engine::{Outcome, Processes, Progress};
use mcpsim::profile::{Arrow, NO_PLACE};
use mcpsim::report;
use mcpsim::run::{Conduct, PredictError, Prediction, Stopwatch, silent};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::request::{Asked, has_program};
use crate::{background, failure};

/// Result of a run.
#[pyclass(frozen, module = "mcpsim._native")]
pub struct Simulated {
    outcome: Outcome,
    trace: Option<Vec<u8>>,
    notes: Vec<String>,
}

/// Interval of a timeline: rank, start and end in picoseconds, activity, and call or statement.
type IntervalRow<'o> = (usize, u64, u64, &'static str, Option<&'o str>);

#[pymethods]
impl Simulated {
    /// The outcome as the JSON text that `mcpsim --json` writes.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        report::json(&self.outcome).map_err(|error| failure::wrong(py, error.to_string()))
    }

    /// The report that mcpsim prints.
    fn report(&self) -> String {
        report::summary(&self.outcome, &report::ReportTables::default())
    }

    /// The notes that mcpsim prints to stderr.
    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    /// The content of the trace file, if the run was recorded.
    fn trace<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        self.trace.as_ref().map(|bytes| PyBytes::new(py, bytes))
    }

    /// The activities of each rank over time.
    fn intervals(&self) -> Vec<IntervalRow<'_>> {
        let place = |place: u32| self.outcome.places.get(place as usize).filter(|_| place != NO_PLACE);
        let mut rows = Vec::new();
        for (rank, timeline) in self.outcome.timelines.iter().enumerate() {
            rows.extend(timeline.intervals().map(|(start, interval)| {
                let name = place(interval.place).map(String::as_str);
                (rank, start.as_ps(), interval.until.as_ps(), interval.state.name(), name)
            }));
        }
        rows
    }

    /// The messages in the timelines: sender, receiver, start and arrival in picoseconds, and bytes.
    fn arrows(&self) -> Vec<(u32, usize, u64, u64, u64)> {
        let mut rows = Vec::new();
        for (to, timeline) in self.outcome.timelines.iter().enumerate() {
            let row = |arrow: &Arrow| (arrow.from, to, arrow.left.as_ps(), arrow.came.as_ps(), arrow.bytes);
            rows.extend(timeline.arrows.items().iter().map(row));
        }
        rows
    }
}

/// Runs a description or a trace. Returns None for a real program, which the `mcpsim` command runs.
///
/// `further` names runs in addition to the requested run: `repeats`, `efficiencies` or `other_algorithms`. The function
/// `tick` is called several times per second, with the virtual time in seconds and the number of messages.
#[pyfunction]
#[pyo3(signature = (asked, *, record=false, further=None, repeats=1, tick=None))]
pub fn simulate(
    py: Python<'_>,
    asked: Asked,
    record: bool,
    further: Option<String>,
    repeats: u32,
    tick: Option<Bound<'_, PyAny>>,
) -> PyResult<Option<Simulated>> {
    let progress = Arc::new(Progress::default());
    let (seen, cancelled) = (Arc::clone(&progress), Arc::clone(&progress));
    let work = move || predict(&asked, record, further.as_deref(), repeats, &progress);
    let tick = || match &tick {
        Some(tick) => tick.call1((seen.time().as_ps() as f64 / 1e12, seen.messages())).map(|_| ()),
        None => Ok(()),
    };
    let ran = background::run(py, work, || cancelled.cancel(), tick)?;
    ran.map_err(|error| failure::exception(py, &error))
}

fn predict(
    asked: &Asked,
    recorded: bool,
    further: Option<&str>,
    repeats: u32,
    progress: &Progress,
) -> Result<Option<Simulated>, PredictError> {
    let run = asked.request()?.resolve()?;
    if has_program(&run.application) {
        return Ok(None);
    }
    let stopwatch = Stopwatch::start();
    let (processes, console) = (Processes::one(), silent());
    let conduct = Conduct { progress, processes: &processes, recorded, console: &console };
    let ran = match further {
        Some("repeats") => run.repeat_in(conduct, repeats),
        Some("efficiencies") => run.efficiencies_in(conduct),
        Some("other_algorithms") => run.other_algorithms_in(conduct),
        _ => run.run_in(conduct),
    };
    let Prediction { mut outcome, trace, notes, .. } = ran?.expect("the first process has the result");
    stopwatch.stop(&mut outcome);
    Ok(Some(Simulated { outcome, trace, notes }))
}
