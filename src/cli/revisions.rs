//! `mcpsim revisions`: runs the same test on many revisions of a program.

mod args;

use std::io::Write;

use crate::report::{
    count, gates_junit, gates_markdown, gates_summary, revision_figures, revisions_csv, revisions_summary,
};
use crate::revisions::{Commit, RevisionError, RevisionNote, RevisionTest, RunLog};
use crate::study::{Directory, Ended, InputHash, PointLog, Running};

pub(super) use args::RevisionsArgs;

use super::exit::{Exit, Failure};
use super::interrupt;
use super::output;
use super::report::{Format, draw};
use crate::engine::Outcome;
use crate::run::{PredictError, write_whole};

/// Runs the test on all revisions of the program. Returns the exit code of mcpsim.
pub(super) fn revisions(args: &RevisionsArgs) -> Result<u8, Failure> {
    let request = args.request()?;
    let running = Running::default();
    let test = RevisionTest::load(&request, running.flag()).map_err(failure)?;
    if args.list {
        let line = |commit: &Commit| format!("{}  {}  {}\n", commit.short(), commit.date, commit.subject);
        let text: String = test.commits().iter().map(line).collect();
        return output::print(&text).map(|()| Exit::Predicted.code());
    }
    if request.bisect && test.commits().len() < 2 {
        return Err(Failure::bad_input("--bisect: expected at least two revisions, such as v1.0..main"));
    }
    let directory = Directory::open(&args.out)?;
    let cancelled = running.clone();
    let _listening = interrupt::listen(true, move || cancelled.cancel())?;
    let say = |what: &RevisionNote| {
        if !args.quiet {
            let _ = writeln!(std::io::stderr(), "note: {}", note(what));
        }
    };
    let mut log = PointLog::open(&directory.path("runs.jsonl"))?;
    let mut table = match test.run(&mut log, &say) {
        Err(RevisionError::Interrupted) => {
            let shown = directory.shown();
            let text = format!("interrupted: the finished runs are in {shown}; repeat the same command to continue");
            return Err(Failure { exit: Exit::Interrupted, text });
        }
        result => result.map_err(failure)?,
    };
    table.gates = args.gate.iter().flat_map(|gate| gate.judge(&table)).collect();
    let json = serde_json::to_string_pretty(&table);
    let json = json.map_err(|error| Failure::bad_input(format!("revisions.json: {error}")))?;
    directory.write("revisions.json", &(json + "\n"))?;
    directory.write("revisions.csv", &revisions_csv(&table))?;
    if !args.quiet {
        let shown = directory.shown();
        let summary = revisions_summary(&table) + &gates_summary(&table);
        output::print(&format!("{summary}\n  in {shown}: revisions.csv, revisions.json\n"))?;
    }
    for (path, text) in [(&args.junit, gates_junit(&table)), (&args.markdown, gates_markdown(&table))] {
        if let Some(path) = path {
            write_whole(path, text).map_err(|error| PredictError::cannot_write(path.display(), &error))?;
        }
    }
    if let Some(figures) = &args.figures {
        let drawn = revision_figures(&table);
        if drawn.is_empty() {
            return Err(Failure::bad_input("--figures: nothing to draw: no revision has a result"));
        }
        output::print(&draw(&drawn, figures, &[Format::Svg, Format::Png])?)?;
    }
    Ok(match table.failed() {
        1.. => Exit::ProgramFailed,
        0 if table.gates.iter().any(|result| !result.holds) => Exit::OverLimit,
        0 => Exit::Predicted,
    }
    .code())
}

impl RunLog for PointLog {
    fn outcome(&self, key: InputHash) -> Option<&Outcome> {
        PointLog::outcome(self, key)
    }

    fn append(&mut self, key: InputHash, outcome: Outcome) -> Result<(), RevisionError> {
        let written = PointLog::append(self, vec![Ended::new(key, Ok(outcome))]);
        written.map_err(|error| RevisionError::Input(error.told(ToString::to_string)))
    }
}

fn failure(error: RevisionError) -> Failure {
    Failure::from(match error {
        RevisionError::Input(text) => PredictError::Input(text),
        RevisionError::Program(text) => PredictError::Program(text),
        RevisionError::Interrupted => PredictError::Interrupted,
    })
}

fn note(what: &RevisionNote) -> String {
    match what {
        RevisionNote::Dirty(files) => {
            let s = if *files == 1 { " has" } else { "s have" };
            format!("{} file{s} uncommitted changes, which are not tested", count(*files as u64))
        }
        RevisionNote::Builds(commit) => format!("{} is built: {}", commit.short(), commit.subject),
        RevisionNote::Runs(commit, runs) => {
            let s = if *runs == 1 { "" } else { "s" };
            format!("{}: {} run{s}", commit.short(), count(*runs as u64))
        }
    }
}
