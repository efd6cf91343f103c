//! `mcpsim trace compare`: comparison of two runs, measured or predicted.

use std::path::{Path, PathBuf};

use clap::Args;

use super::check::measured_calls;
use crate::cli::exit::Failure;
use crate::cli::output::{cannot_write, print};
use crate::config::read_text;
use crate::report::{TimedCall, calls_of_timeline, differences, perfetto_beside, wrapped};
use crate::run::{TraceFile, write_whole};

#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct CompareArgs {
    /// The --timeline FILE.json output of a run, or the trace of a real run
    #[arg(value_name = "A")]
    first: PathBuf,
    /// The timeline or the trace of the other run
    #[arg(value_name = "B")]
    second: PathBuf,
    /// Write both runs into one timeline for Perfetto
    #[arg(long, value_name = "FILE.json")]
    timeline: Option<PathBuf>,
}

/// Prints the differences between two runs, and writes a timeline of both runs if the user requests it.
pub(in crate::cli) fn compare(args: &CompareArgs) -> Result<(), Failure> {
    let [first, second] = [&args.first, &args.second].map(|path| calls(path));
    let (first, second) = (first?, second?);
    let (a, b) = (args.first.display().to_string(), args.second.display().to_string());
    if first.len() != second.len() {
        let (here, there) = (first.len(), second.len());
        return Err(Failure::bad_input(format!(
            "{a} has {here} ranks and {b} has {there} ranks: expected two runs \
                                               with the same number of ranks"
        )));
    }
    let runs = [(&a[..], &first[..]), (&b[..], &second[..])];
    if let Some(path) = &args.timeline {
        write_whole(path, perfetto_beside(&runs)).map_err(|error| cannot_write(&path.display().to_string(), &error))?;
    }
    let is_recorded = [&args.first, &args.second].iter().any(|path| !is_timeline(path));
    let note = if is_recorded { wrapped(RECORDED, 6) } else { String::new() };
    print(&(differences(runs) + &note))
}

/// Note that states from when on the call times of recorded runs are valid.
const RECORDED: &str = "note: times of a recorded run count from the first MPI_Init and include \
    MPI_Finalize and the time of recording, as \"passed\" of mcpsim trace info does. Times of a \
    predicted run count from its start";

/// Returns true if `path` has the name of a file that `--timeline` writes.
fn is_timeline(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "json")
}

/// Returns the MPI calls of each rank in the timeline or trace at `path`.
fn calls(path: &Path) -> Result<Vec<Vec<TimedCall>>, Failure> {
    if is_timeline(path) {
        let text = read_text(path, "the output of --timeline FILE.json")?;
        return Ok(calls_of_timeline(&path.display().to_string(), &text)?);
    }
    let Some(logs) = (TraceFile { path: path.to_owned() }).read_logs()? else {
        return Err(Failure::bad_input(format!(
            "{}: expected a run recorded under a real MPI, or the --timeline FILE.json output of a run",
            path.display()
        )));
    };
    Ok(measured_calls(&logs))
}
