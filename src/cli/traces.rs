//! `mcpsim trace`: shows the content of traces, and creates and checks traces of real MPI runs.

mod check;
mod compare;
mod library;
mod merge;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::run::TraceFile;
use crate::trace;

use super::exit::Failure;
use super::output::print;
use check::CheckArgs;
use compare::CompareArgs;
use library::LibArgs;
use merge::MergeArgs;

/// Records runs under a real MPI and analyses traces
#[derive(Clone, Debug, Parser)]
#[command(name = "mcpsim trace", term_width = 80, disable_help_subcommand = true)]
pub(super) struct TraceArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Clone, Debug, Subcommand)]
enum What {
    /// Print the facts of the recorded run and of the trace file
    Info(Of),
    /// Print the first calls of a rank
    Head {
        #[command(flatten)]
        of: Of,
        /// The rank whose calls are printed
        #[arg(long, value_name = "RANK", default_value_t = 0)]
        rank: u32,
        /// Number of calls to print
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
        calls: u64,
    },
    /// Print the number of calls of each kind, and their distribution over ranks
    Stats(Of),
    /// Compile the library that records programs under a real MPI
    Lib(LibArgs),
    /// Merge the logs of all ranks of a run into a trace
    Merge(MergeArgs),
    /// Replay a run recorded under a real MPI, and compare it with the measured times
    Check(CheckArgs),
    /// Compare two runs, measured or predicted, and print their differences
    Compare(CompareArgs),
}

#[derive(Args, Clone, Debug)]
struct Of {
    /// The trace
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Executes the command `mcpsim trace`.
pub(super) fn show(args: TraceArgs) -> Result<(), Failure> {
    let read = |of: Of| TraceFile { path: of.file }.read().map_err(Failure::from);
    let logs = |of: &Of| TraceFile { path: of.file.clone() }.read_logs().map_err(Failure::from);
    match args.what {
        What::Lib(args) => library::make(&args),
        What::Merge(args) => merge::merge(&args),
        What::Check(args) => check::check(&args),
        What::Compare(args) => compare::compare(&args),
        What::Info(of) => match logs(&of)? {
            Some(logs) => print(&logs.tell()),
            None => print(&trace::info(&*read(of)?)),
        },
        What::Stats(of) => match logs(&of)? {
            Some(logs) => print(&logs.statistics()),
            None => print(&trace::stats(&*read(of)?)),
        },
        What::Head { of, rank, calls } => {
            let name = of.file.display().to_string();
            let wrong_rank = |ranks: u32| {
                let what = format!("--rank {rank}: expected 0 to {}, a rank of {name}", ranks - 1);
                if rank >= ranks { Err(Failure::bad_input(what)) } else { Ok(()) }
            };
            if let Some(logs) = logs(&of)? {
                wrong_rank(logs.ranks())?;
                return print(&logs.head(rank, calls));
            }
            let trace = read(of)?;
            wrong_rank(trace.header().ranks)?;
            print(&trace::head(&trace, rank, calls))
        }
    }
}
