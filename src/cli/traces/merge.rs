//! `mcpsim trace merge`: merges the log files of a run's ranks into one trace file.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::exit::Failure;
use crate::cli::output::{cannot_write, print};
use crate::config::note_input;
use crate::run::write_whole;
use crate::trace::logs::{self, Logs};

#[derive(Args, Clone, Debug)]
pub(in crate::cli) struct MergeArgs {
    /// The logs of all ranks, or the directory with these logs
    #[arg(value_name = "LOG|DIRECTORY", required = true)]
    logs: Vec<PathBuf>,

    /// The trace to write
    #[arg(long, short, value_name = "FILE.trace")]
    output: PathBuf,
}

/// Merges the log files of all ranks into one trace file.
pub(in crate::cli) fn merge(args: &MergeArgs) -> Result<(), Failure> {
    let mut files = Vec::new();
    for path in &args.logs {
        if path.is_dir() {
            files.extend(within(path)?);
        } else {
            files.push(path.clone());
        }
    }
    if files.is_empty() {
        let name = args.logs[0].display();
        return Err(Failure::bad_input(format!("{name}: the directory has no logs: expected files 0.log, 1.log, …")));
    }
    let read = |path: &PathBuf| {
        let name = path.display().to_string();
        note_input(path);
        let bytes = std::fs::read(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Failure::bad_input(format!("{name}: no such file")),
            _ => Failure::bad_input(format!("cannot read {name}: {error}")),
        })?;
        Ok((name, bytes))
    };
    let logs = files.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
    let whole = logs::merge(&logs).map_err(|error| Failure::bad_input(error.to_string()))?;
    let name = args.output.display().to_string();
    let run = Logs::read(&whole).map_err(|error| Failure::bad_input(error.to_string()))?;
    write_whole(&args.output, &whole).map_err(|error| cannot_write(&name, &error))?;
    let fault = run.fault().map_or(String::new(), |fault| format!("; {fault}"));
    print(&format!("{name}: {} ranks{fault}\n", run.ranks()))
}

/// Returns the log files of ranks in a directory.
fn within(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let cannot = |error: std::io::Error| Failure::bad_input(format!("cannot read {}: {error}", directory.display()));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(cannot)? {
        let path = entry.map_err(cannot)?.path();
        if path.extension().is_some_and(|extension| extension == "log") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
