//! Simulation of several jobs, and of the runs with which they are compared.

use std::collections::BTreeSet;
use std::io::Write;

use tempfile::NamedTempFile;

use crate::app::TargetMachine;
use crate::engine::{Labels, Outcome, Processes};
use crate::mpi::check_rules;
use crate::platform::Site;
use crate::profile::{AppFigure, AppResult};
use crate::run::application::Application;
use crate::run::conduct::{Conduct, Prediction, agree};
use crate::run::error::PredictError;
use crate::run::host::available_memory;
use crate::run::placement::check_memory;
use crate::run::request::Details;
use crate::run::resolved::Resolved;
use crate::run::settings::Settings;
use crate::run::trace_file::{Content, TraceFile};
use crate::run::values::PlacementChoice;

use super::delays::delay;
use super::placing::place_jobs;
use super::scenario::{JobCode, PlacedJob, Scenario, of_name};
use super::{JobComparison, JobSet, JobSpec, MOST_COMPARED};

/// Simulates the jobs of `set`, then each job alone, and all jobs without each job.
pub(in crate::run) fn simulate(
    run: &Resolved,
    set: &JobSet,
    conduct: Conduct<'_>,
) -> Result<Option<Prediction>, PredictError> {
    let mut notes = Vec::new();
    let placed = agree(conduct.processes, prepare(run, set, conduct.recorded));
    let (sites, contents) = placed?;
    let mut recordings = Recordings::default();
    let mut jobs = Vec::new();
    for ((number, job), (sites, content)) in (0..).zip(&set.jobs).zip(sites.into_iter().zip(contents)) {
        let start = job.start;
        let (code, app) = match content {
            Some(content) => code_of(run, job, &sites, Some(content)),
            None if job.application.program().is_some() => {
                let content = recordings.record(run, job, &sites, conduct)?;
                code_of(run, job, &sites, Some(content))
            }
            None => code_of(run, job, &sites, None),
        }?;
        jobs.push(PlacedJob { name: job.name.clone(), app, number, start, sites, code });
    }
    notes.extend(std::mem::take(&mut recordings.notes));
    let labels = Labels {
        app: jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>().join(" + "),
        model: run.settings.model.name().to_owned(),
        seed: run.settings.seed,
        config: run.to_json()?,
    };
    let of = |jobs: Vec<&PlacedJob>, details: Details, labels: Labels, conduct: Conduct<'_>| {
        let scenario = Scenario::new(run, jobs)?;
        let found = scenario.run(run, labels, conduct, details);
        found.map_err(|error| match error.simulation() {
            Some(_) => error.at(scenario.ranks_text()),
            None => error,
        })
    };
    let conduct = Conduct { recorded: false, ..conduct };
    let outcome = of(jobs.iter().collect(), run.settings.details, labels.clone(), conduct)?;
    let messages = |outcome: &Option<Outcome>| outcome.as_ref().map_or(0, |outcome| outcome.messages.count);
    let mut all_messages = messages(&outcome);
    let others = Labels { config: serde_json::Value::Null, ..labels };
    let of_some = |jobs: Vec<&PlacedJob>| {
        let sites: Vec<Site> = jobs.iter().flat_map(|job| &job.sites).copied().collect();
        on_enough_nodes(&sites, conduct, |conduct| of(jobs, Details::default(), others.clone(), conduct))
    };
    let compared = match set.compared {
        JobComparison::Each if jobs.len() > MOST_COMPARED => {
            notes.push(format!(
                "more than {MOST_COMPARED} jobs: each job is compared with its run alone, but not with runs without each \
                 other job"
            ));
            JobComparison::Alone
        }
        compared => compared,
    };
    let mut alone: Vec<Option<Outcome>> = Vec::new();
    let mut without: Vec<Option<Outcome>> = Vec::new();
    if jobs.len() > 1 && compared != JobComparison::None {
        for job in &jobs {
            let found = of_some(vec![job])?;
            all_messages += messages(&found);
            alone.push(found);
        }
        if compared == JobComparison::Each {
            for (at, job) in jobs.iter().enumerate() {
                let left = jobs.iter().filter(|other| other.number != job.number).collect();
                without.push(match jobs.len() {
                    2 => alone[1 - at].clone(),
                    _ => {
                        let found = of_some(left)?;
                        all_messages += messages(&found);
                        found
                    }
                });
            }
        }
    }
    let Some(mut outcome) = outcome else { return Ok(None) };
    outcome.host.all_messages = all_messages;
    compare(&mut outcome, &alone, &without);
    outcome.results = results(&outcome);
    Ok(Some(Prediction { outcome, trace: None, exit_code: recordings.exit_code, notes }))
}

/// Simulates ranks on `sites` with all host processes, or with the first one if the ranks have fewer nodes than there are
/// host processes. The first host process gets the result.
fn on_enough_nodes<T>(
    sites: &[Site],
    conduct: Conduct<'_>,
    simulate: impl FnOnce(Conduct<'_>) -> Result<Option<T>, PredictError>,
) -> Result<Option<T>, PredictError> {
    let nodes: BTreeSet<u32> = sites.iter().map(|site| site.node).collect();
    if nodes.len() >= conduct.processes.count() as usize {
        return simulate(conduct);
    }
    let found = match conduct.processes.is_first() {
        true => simulate(Conduct { processes: &Processes::one(), ..conduct }),
        false => Ok(None),
    };
    agree(conduct.processes, found)
}

/// Cores of the ranks of each job, and the content of each job's trace.
type Prepared = (Vec<Vec<Site>>, Vec<Option<Content>>);

/// Reads the traces of the jobs, and places the ranks.
fn prepare(run: &Resolved, set: &JobSet, recorded: bool) -> Result<Prepared, PredictError> {
    let settings = &run.settings;
    check_rules(&run.platform.platform)?;
    if recorded {
        return Err(PredictError::input(
            "--record, OTF2: expected one application, because a trace has one; found several jobs",
        ));
    }
    if let Some(ranks) = settings.ranks {
        return Err(PredictError::input(format!(
            "--ranks {ranks}: expected no number of ranks, because each job states its own"
        )));
    }
    if let PlacementChoice::File(path) = &settings.placement {
        let path = path.display();
        return Err(PredictError::input(format!(
            "--placement {path}: expected block, cyclic or socket; the placement of a job may be a file"
        )));
    }
    let content = |job: &JobSpec| match &job.application {
        Application::Trace(file) => file.content().map(Some),
        _ => Ok(None),
    };
    let contents = set.jobs.iter().map(content).collect::<Result<Vec<_>, _>>()?;
    let own = |(job, content): (&JobSpec, &Option<Content>)| match content {
        Some(content) => Some(ranks_of(content)),
        None => job.application.program().and_then(|program| program.all_ranks()),
    };
    let own: Vec<Option<u32>> = set.jobs.iter().zip(&contents).map(own).collect();
    let sites = place_jobs(set, settings, &run.platform.platform, &own)?;
    check_memory(sites.iter().map(|sites| sites.len() as u32).fold(0, u32::saturating_add), available_memory())?;
    let mut distinct: Vec<Site> = sites.iter().flatten().copied().collect();
    let all = distinct.len();
    distinct.sort_unstable();
    distinct.dedup();
    if let Some(job) = set.jobs.iter().find(|job| job.start.as_ps() > 0 && distinct.len() < all) {
        let name = &job.name;
        return Err(PredictError::input(format!(
            "job {name}: expected no start, because ranks of this run share cores, and a rank that has not started would \
             occupy its core"
        )));
    }
    Ok((sites, contents))
}

fn ranks_of(content: &Content) -> u32 {
    match content {
        Content::Trace(trace) => trace.header().ranks,
        Content::Logs(logs) => logs.ranks(),
        Content::Import(import) => import.ranks(),
    }
}

/// Returns the code of the ranks of a job, and the name of its application.
fn code_of(
    run: &Resolved,
    job: &JobSpec,
    sites: &[Site],
    content: Option<Content>,
) -> Result<(JobCode, String), PredictError> {
    if let Some(content) = content {
        let app = match (&content, job.application.program()) {
            (_, Some(program)) => program.title(),
            (Content::Trace(trace), _) => trace.header().app.clone(),
            (Content::Logs(logs), _) => logs.info(0).program.clone(),
            (Content::Import(_), _) => job.name.clone(),
        };
        return Ok((JobCode::Recorded(content), app));
    }
    let Application::Described(app) = &job.application else { unreachable!("other jobs have a recording") };
    let bound = app.bind(TargetMachine {
        ranks: sites.len() as u32,
        rates: run.platform.platform.core.clone(),
        seed: job.seed.unwrap_or(run.settings.seed),
        max_turns: run.settings.max_turns.unwrap_or(TargetMachine::DEFAULT_MAX_TURNS),
    })?;
    Ok((JobCode::Described(bound), app.name().to_owned()))
}

/// Recordings of the real programs among the jobs.
#[derive(Default)]
struct Recordings {
    notes: Vec<String>,
    /// First nonzero exit code of a program.
    exit_code: u8,
}

impl Recordings {
    /// Runs the real program of a job alone on the cores of the job, and returns the recording of the run.
    fn record(
        &mut self,
        run: &Resolved,
        job: &JobSpec,
        sites: &[Site],
        conduct: Conduct<'_>,
    ) -> Result<Content, PredictError> {
        let name = &job.name;
        let settings = Settings {
            ranks: Some(sites.len() as u32),
            placement: PlacementChoice::Given(sites.to_vec()),
            map_by: None,
            ranks_per_node: None,
            details: Details::default(),
            ..run.settings.clone()
        };
        let alone = Resolved {
            settings,
            platform: run.platform.clone(),
            platform_files: run.platform_files.clone(),
            application: job.application.clone(),
            typed: job.typed.clone(),
            name: run.name.clone(),
            unheeded: Vec::new(),
            ignored_rules: None,
        };
        let recorded = on_enough_nodes(sites, conduct, |conduct| alone.run_in(Conduct { recorded: true, ..conduct }))?;
        let (bytes, notes, exit_code) = match recorded {
            Some(Prediction { trace, notes, exit_code, .. }) => (trace.unwrap_or_default(), notes, exit_code),
            None => (Vec::new(), Vec::new(), 0),
        };
        self.notes.extend(notes.into_iter().map(|note| format!("job {name}: {note}")));
        self.exit_code = if self.exit_code == 0 { exit_code } else { self.exit_code };
        let bytes = conduct.processes.broadcast(|| bytes);
        let scratch =
            |error: std::io::Error| PredictError::input(format!("job {name}: cannot create a temporary file: {error}"));
        let written = || -> Result<NamedTempFile, std::io::Error> {
            let mut file = tempfile::Builder::new().suffix(".trace").tempfile()?;
            file.write_all(&bytes)?;
            Ok(file)
        };
        let content = written().map_err(scratch).and_then(|file| TraceFile { path: file.path().to_owned() }.content());
        agree(conduct.processes, content)
    }
}

/// Adds the comparisons with the runs of each job alone and the runs without each job.
fn compare(outcome: &mut Outcome, alone: &[Option<Outcome>], without: &[Option<Outcome>]) {
    let names: Vec<String> = outcome.jobs.iter().map(|job| job.name.clone()).collect();
    for (at, job) in outcome.jobs.iter_mut().enumerate() {
        if let Some(Some(alone)) = alone.get(at) {
            let alone = alone.jobs[0].outcome.predicted;
            job.alone = Some(alone);
            job.slowdown = (alone.as_ps() > 0).then(|| job.outcome.predicted.as_seconds() / alone.as_seconds());
        }
        for (by, run) in names.iter().zip(without).filter(|(by, _)| **by != job.name) {
            let Some(run) = run else { continue };
            job.delays.push(delay(by, &job.outcome, &of_name(run, &job.name).outcome));
        }
        job.delays.sort_by_key(|delay| std::cmp::Reverse(delay.delay_ps));
    }
}

/// Returns the time and the slowdown of each job as results, which studies show as columns.
fn results(outcome: &Outcome) -> Vec<AppResult> {
    let mut results = Vec::new();
    for job in &outcome.jobs {
        let of = |name: &str, value: f64, unit: &str| AppResult {
            name: format!("{}.{name}", job.name),
            found: AppFigure::Value(value),
            unit: unit.to_owned(),
        };
        results.push(of("time", job.outcome.predicted.as_seconds(), "s"));
        results.extend(job.slowdown.map(|slowdown| of("slowdown", slowdown, "")));
    }
    results
}
