//! `mcpsim sweep`: runs each point of a study once. Finished points of the study are stored on disk and are not run
//! again.
//!
//! Files in the directory of a study:
//!
//! ```text
//! manifest.json   written before the first run: the axes, and the key of each point, a hash of its inputs
//! points.jsonl    one line per finished point: its key, and the Outcome or the reason of a failure
//! study.csv       written after the last point: one row per point
//! summary.csv     the same results with one row for all seeds
//! fit.csv         after a fit: each point with the formula's value
//! study.json      all results with the Outcomes
//! traces/         recordings of a real program, one for all points at which its ranks behave alike
//! ```

mod args;

use std::io::Write;
use std::num::NonZeroUsize;

use crate::report::{
    count, regression_csv, regression_summary, study_csv, study_json, study_summary, study_summary_csv,
};
use crate::run::{ErrorKind, available_memory};
use crate::study::{
    self, Directory, Ended, InputHash, Limits, Observations, PointLog, PreparedPoint, RecordingNote, Regression,
    Results, Running, Study,
};

pub(super) use args::{SweepArgs, command};

use super::bar::Bar;
use super::exit::{Exit, Failure};
use super::interrupt;
use super::output;

/// Runs all points of the study. Returns the exit code of mcpsim.
pub(super) fn sweep(args: &SweepArgs) -> Result<u8, Failure> {
    args.run.tell_of_hidden();
    let study = Study::load(&args.request()?)?;
    study.check_base()?;
    if args.list {
        return output::print(&study.list()).map(|()| Exit::Predicted.code());
    }
    let limits = limits(args.jobs);
    let mut prepared = study.prepare(limits.jobs)?;
    let directory = Directory::open(&args.directory(&study.name))?;
    let running = Running::default();
    let cancelled = running.clone();
    let _listening = interrupt::listen(true, move || cancelled.cancel())?;
    let quiet = args.run.quiet;
    let say = |what: RecordingNote| {
        if !quiet {
            note(&recording_text(&what));
        }
    };
    study::record(&study, &mut prepared, &directory, limits, &running, &say)?;
    if !quiet && let Some(columns) = study.others_columns(&directory.path("manifest.json")) {
        let shown = directory.shown();
        note(&format!(
            "the table in {shown} has other axes ({columns}), and this sweep replaces it; --out DIR keeps \
                       both"
        ));
    }
    directory.write("manifest.json", &study.manifest(&prepared)?)?;
    let mut log = PointLog::open(&directory.path("points.jsonl"))?;
    let missing: Vec<&PreparedPoint> = missing(&prepared, &log);
    let told = prepared.len() - missing.len();
    if told > 0 && !missing.is_empty() && !quiet {
        let (all, told) = (count(prepared.len() as u64), count(told as u64));
        note(&format!("{told} of {all} points were run before, and their results are used again"));
    }
    run(&study, &missing, limits, &running, &mut log, quiet)?;
    if running.cancelled() {
        let ended = prepared.iter().filter(|point| log.outcome(point.key).is_some()).count();
        return Err(Failure {
            exit: Exit::Interrupted,
            text: format!(
                "interrupted after {} of {} points, whose results are in {}: repeat the same command to continue",
                count(ended as u64),
                count(prepared.len() as u64),
                directory.shown()
            ),
        });
    }
    let keys: Vec<InputHash> = prepared.iter().map(|point| point.key).collect();
    let mut found = log.into_results(&keys);
    let mut results = Results::new(&study.name, &study.plan, study.asked.clone(), |index| {
        (keys[index], found[index].take().unwrap_or_else(|| Err("the point was not run".to_owned())))
    });
    // The results of the study are written even if the fit of the formula fails; the error of the fit is reported
    // afterwards.
    let observations = Observations::of_study(&results);
    let fit = study
        .formula
        .as_ref()
        .map(|formula| formula.equation(&observations).and_then(|equation| Regression::fit(&equation, &observations)));
    let wrong = fit.as_ref().and_then(|fit| fit.as_ref().err().map(ToString::to_string));
    results.asked.fit = fit.and_then(Result::ok);
    let json = || {
        let json = study_json(&results).map_err(|error| Failure::bad_input(format!("study.json: {error}")))?;
        directory.write("study.json", &json).map_err(Failure::from)
    };
    std::thread::scope(|scope| {
        let writing = scope.spawn(json);
        directory.write("study.csv", &study_csv(&results))?;
        directory.write("summary.csv", &study_summary_csv(&results))?;
        if let Some(fit) = &results.asked.fit {
            directory.write("fit.csv", &regression_csv(fit))?;
        }
        writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })?;
    if !quiet {
        let fit = results.asked.fit.as_ref();
        let (text, file) =
            fit.map_or(Default::default(), |fit| (format!("\n{}", regression_summary(fit)), "fit.csv, "));
        let (summary, shown) = (study_summary(&results), directory.shown());
        output::print(&format!("{summary}{text}\n  in {shown}: study.csv, summary.csv, {file}study.json\n"))?;
    }
    if let Some(wrong) = wrong {
        return Err(Failure::bad_input(wrong));
    }
    Ok(if results.failed() > 0 { Exit::ProgramFailed } else { Exit::Predicted }.code())
}

/// Returns the points of the study that have no Outcome in the log. Of several points with equal input hashes only one
/// is included. Points that failed in an earlier sweep run again, because the cause may no longer exist.
fn missing<'a>(prepared: &'a [PreparedPoint], log: &PointLog) -> Vec<&'a PreparedPoint> {
    let mut seen = std::collections::BTreeSet::new();
    prepared.iter().filter(|point| log.outcome(point.key).is_none() && seen.insert(point.key)).collect()
}

/// Runs the points `points` of the study and appends the results to `log`.
fn run(
    study: &Study,
    points: &[&PreparedPoint],
    limits: Limits,
    running: &Running,
    log: &mut PointLog,
    quiet: bool,
) -> Result<(), Failure> {
    if points.is_empty() {
        return Ok(());
    }
    let mut bar = Bar::start(points.len(), "points", quiet);
    let mut failure = None;
    let tasks: Vec<_> = points.iter().enumerate().map(|(task, point)| (task, point.memory)).collect();
    let alone = points.iter().any(|point| point.measures);
    let limits = if alone { Limits { jobs: NonZeroUsize::MIN, ..limits } } else { limits };
    // The thread that runs a point also creates the log entry of the point.
    let work = |task: usize| match study.run(points[task], running) {
        Err(failure) if failure.kind() == ErrorKind::Interrupted => None,
        result => Some(Ended::new(points[task].key, result.map_err(|failure| Failure::from(failure).text))),
    };
    study::run(&tasks, limits, running.flag(), work, |ended| {
        let ended: Vec<Ended> = ended.into_iter().filter_map(|(_, ended)| ended).collect();
        let failed = ended.iter().filter(|ended| ended.has_failed()).count();
        bar.advance(ended.len(), failed);
        if let Err(error) = log.append(ended) {
            failure.get_or_insert(error);
            running.cancel();
        }
    });
    drop(bar);
    failure.map_or(Ok(()), |error| Err(error.into()))
}

/// Returns the limits of concurrently running points: the requested number, by default the number of cores, and the
/// free memory of the host.
pub(super) fn limits(jobs: Option<NonZeroUsize>) -> Limits {
    let cores = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    Limits { jobs: jobs.unwrap_or_else(cores), memory: available_memory().map(study::MemoryBudget::of_host) }
}

fn note(text: &str) {
    let _ = writeln!(std::io::stderr(), "note: {text}");
}

fn recording_text(what: &RecordingNote) -> String {
    match what {
        RecordingNote::Records { runs, points } => {
            let times = match runs {
                1 => "once".to_owned(),
                runs => format!("{} times", count(*runs as u64)),
            };
            let all = count(*points as u64);
            format!("the program runs {times} and is recorded; all {all} points replay the recording")
        }
        RecordingNote::Anew { path, why } => format!("{}: {why}; mcpsim records the program again", path.display()),
    }
}
