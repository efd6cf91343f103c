//! `mcpsim measure`: measures the machine on which its ranks run, and writes a platform file.
//!
//! All ranks execute the module `cli::measure`; the first rank prints and writes files.

mod args;
mod compute;
mod conclude;
#[cfg(feature = "mpi")]
mod datatypes;
mod host;
mod host_facts;
mod import;
mod kernels;
mod layers;
#[cfg(feature = "mpi")]
mod own_data;
mod pages;
mod pairs;
#[cfg(feature = "mpi")]
mod port;
mod program;
#[cfg(feature = "mpi")]
mod ranks;
mod speed;
mod together;

use crate::engine::Processes;
use crate::run::agree;

pub(super) use args::MeasureArgs;
use args::WrittenContention;
pub(super) use host::{HostLoad, processor, today};
pub(super) use speed::time_kernels as kernel_times;

use super::exit::{Exit, Failure};
use super::interrupt;

/// Valid values of the greatest message size in bytes. All messages of a window, at this size, must fit in memory.
const SIZES: std::ops::RangeInclusive<u64> = 1024..=1 << 30;

/// Measures the machine as the arguments of each rank request. The arguments are an error if the command line is
/// invalid.
pub(super) fn measure(args: Result<&MeasureArgs, Failure>, processes: &Processes) -> Result<u8, Failure> {
    let checked = args.and_then(|args| check(args).map(|()| args));
    let args = agree(processes, checked)?;
    // Launchers handle the signals of several processes, and `mcpsim measure --layer` starts its second host process
    // itself.
    if processes.count() == 1 && args.layer.layer.is_none() {
        interrupt::end_by_signals(true)?;
    }
    if args.compute {
        if processes.count() > 1 {
            let why = "mcpsim measure --compute works in one process: start it without an MPI launcher";
            return agree(processes, Err(Failure::bad_input(why)));
        }
        return compute::compute(args).map(|()| Exit::Predicted.code());
    }
    if args.kernels {
        if processes.count() > 1 {
            let why = "mcpsim measure --kernels works in one process: start it without an MPI launcher";
            return agree(processes, Err(Failure::bad_input(why)));
        }
        return kernels::measure(args).map(|()| Exit::Predicted.code());
    }
    if !args.program.program.is_empty() {
        if processes.count() > 1 {
            let why = "mcpsim measure --program works in one process: start it without an MPI launcher";
            return agree(processes, Err(Failure::bad_input(why)));
        }
        return program::measure(args).map(|()| Exit::Predicted.code());
    }
    if !args.import.is_empty() {
        if processes.count() > 1 {
            let why = "mcpsim measure --import works in one process: start it without an MPI launcher";
            return agree(processes, Err(Failure::bad_input(why)));
        }
        return import::import(args).map(|()| Exit::Predicted.code());
    }
    if args.layer.layer.is_some() {
        if processes.count() > 1 {
            let why = "mcpsim measure --layer starts its two ranks itself: start it without an MPI launcher";
            return agree(processes, Err(Failure::bad_input(why)));
        }
        return layers::measure(args).map(|()| Exit::Predicted.code());
    }
    if args.together.any() && (processes.count() > 1 || args.pairs.simulate.is_some()) {
        return together::measure(args, processes).map(|()| Exit::Predicted.code());
    }
    if args.pairs.pairs && (processes.count() > 1 || args.pairs.simulate.is_some()) {
        return pairs::measure(args, processes).map(|()| Exit::Predicted.code());
    }
    if processes.count() == 1 {
        return Err(Failure::bad_input(alone()));
    }
    #[cfg(feature = "mpi")]
    return ranks::measure(args, processes).map(|()| Exit::Predicted.code());
    #[cfg(not(feature = "mpi"))]
    unreachable!("a build without MPI has one process")
}

fn check(args: &MeasureArgs) -> Result<(), Failure> {
    if !SIZES.contains(&args.max_size.get()) {
        return Err(Failure::bad_input(format!("--max-size: expected 1 KiB to 1 GiB; found {}", args.max_size)));
    }
    if args.time.as_seconds() < 0.1 {
        return Err(Failure::bad_input(format!("--time: expected 100 ms or more; found {}", args.time)));
    }
    if args.pairs.simulate.is_some() && !args.pairs.pairs && !args.together.any() {
        return Err(Failure::bad_input(
            "--simulate: expected one of --pairs, --collectives and --b-eff in the same \
                                       command",
        ));
    }
    if args.name.as_deref() == Some("") || args.node.as_deref() == Some("") {
        return Err(Failure::bad_input("--name and --node: expected a name; found empty text"));
    }
    Ok(())
}

/// Returns the reason why a single host process cannot measure.
fn alone() -> String {
    let how = "mpirun -n 2 mcpsim measure -o here.toml, or more ranks, one per core";
    if cfg!(feature = "mpi") {
        format!(
            "mcpsim measure needs two or more ranks, which exchange messages; run {how}. Only --compute works \
                 with one process"
        )
    } else {
        format!(
            "mcpsim measure needs MPI, which this build lacks: build with cargo build --release \
             --features mpi, which needs an MPI library and libclang (see docs/guide/many-hosts.md), then run {how}. \
             --compute works without MPI"
        )
    }
}
