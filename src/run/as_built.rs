//! Simulation runs of MPI programs as built, with one operating-system process per rank.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::as_built::{ForeignProgram, Launched, Launcher, Pinned, RankSetup};
use crate::cc::{CodeOrigin, ProgramFile};
use crate::engine::{RankPrograms, RunOptions, Screen, Simulation};
use crate::loader::{self, FileKind};
use crate::platform::MemoryShares;
use crate::process::{
    ComputeMode, Endings, Job, JobProgram, ProcessNumbers, RanksAs, ShareMemory, StartMethod, Started,
};
use crate::rank::{Mailboxes, Program, Rank, RunAhead};
use crate::trace::Header;
use crate::units::Bytes;

use super::conduct::{Conduct, Prediction, agree};
use super::error::PredictError;
use super::host::{available_memory, processor_name};
use super::memory_bound::MemoryBound;
use super::real::{Printed, arguments, conclude, described, environment, explained, notes, with_variables};
use super::record;
use super::resolved::{RULES, Resolved};

/// Note on the calls that `--check` does not compare.
const NOT_COMPARED: &str = "--check: arguments of collectives were not compared, because ranks are processes; mcpsim cc \
                            builds a program whose collectives are compared";
/// Host memory of a rank's process beside the program's own.
const MEMORY_PER_RANK: u64 = 256 << 10;

/// Returns true if the ranks of the program `file` run as processes: `mcpsim cc` has not built the program, and it can
/// load an MPI library that mcpsim replaces.
///
/// # Errors
/// The run has several programs, the program cannot be started, or the user requires the other execution.
pub(super) fn runs_as_processes(run: &Resolved, file: &ProgramFile) -> Result<bool, PredictError> {
    let (name, ranks_as) = (&run.typed, run.settings.job.ranks_as);
    let input = |what: &str| Err(PredictError::input(format!("{name}: {what}")));
    let as_fibers = || match ranks_as {
        RanksAs::Process => input(
            "--ranks-as process: mcpsim compiles this program for ranks as fibers: expected a program that the compiler \
             wrapper of Open MPI or MPICH has built",
        ),
        RanksAs::Auto | RanksAs::Fiber => Ok(false),
    };
    let CodeOrigin::Binary(path) = &file.code else { return as_fibers() };
    let Ok(bytes) = std::fs::read(path) else { return Ok(false) };
    match loader::is_program(&bytes) {
        FileKind::Program => return as_fibers(),
        FileKind::OtherFormat(_) => return Ok(false),
        FileKind::Unmarked | FileKind::NotElf => {}
    }
    if ForeignProgram::of(&bytes) == ForeignProgram::Unsupported {
        return Ok(false);
    }
    if ranks_as == RanksAs::Fiber {
        return input(
            "--ranks-as fiber: this program was not compiled by mcpsim: expected a program that mcpsim cc or mcpsim cxx \
             has built",
        );
    }
    if file.others.is_some() {
        return input("expected one program; several programs as built cannot yet run together");
    }
    if let ShareMemory::From(_) = run.settings.job.share_memory {
        return input(
            "--share-memory: ranks of this program are processes, which share no memory: expected a program that mcpsim cc \
             or mcpsim cxx has built",
        );
    }
    if run.settings.job.checks.heap {
        return input(
            "--check-heap: ranks of this program are processes, whose memory mcpsim does not check: expected a program that \
             mcpsim cc or mcpsim cxx has built, or the program under valgrind",
        );
    }
    check_start(path, &bytes).map_err(|what| PredictError::input(format!("{name}: {what}")))?;
    Ok(true)
}

/// Checks that the host has memory for `ranks` processes.
fn check_memory(ranks: usize) -> Result<(), PredictError> {
    let needed = Bytes::new(ranks as u64 * MEMORY_PER_RANK);
    match available_memory().filter(|available| *available < needed) {
        Some(available) => Err(PredictError::input(format!(
            "{ranks} ranks as processes need at least {needed} of memory, and the host has {available}: expected fewer \
             ranks, or mcpsim on several hosts by mpirun"
        ))),
        None => Ok(()),
    }
}

/// Returns true if the program file is linked with an MPI library.
fn is_linked(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| matches!(ForeignProgram::of(&bytes), ForeignProgram::Linked(_)))
}

/// Returns true if the program file contains the names of functions that start threads with clocks of their own.
fn may_have_threads(path: &Path) -> bool {
    let Ok(bytes) = std::fs::read(path) else { return false };
    let has = |name: &[u8]| bytes.windows(name.len()).any(|part| part == name);
    has(b"GOMP_parallel") || has(b"MPI_Init_thread") && (has(b"pthread_create") || has(b"_M_start_thread"))
}

/// Checks that the system can start the program at `path` with the libraries of mcpsim.
fn check_start(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let mode = path.metadata().map_or(0, |file| file.permissions().mode());
    if mode & 0o111 == 0 {
        return Err("expected an executable file: change its mode with chmod +x".to_owned());
    }
    if mode & 0o6000 != 0 {
        return Err("expected a program without the set-user-ID and set-group-ID bits, because the dynamic linker \
                    ignores the libraries of mcpsim for such programs: run a copy without these bits"
            .to_owned());
    }
    let interpreter = bytes.strip_prefix(b"#!").and_then(|rest| {
        let line = rest.split(|&byte| byte == b'\n').next()?;
        line.trim_ascii().split(u8::is_ascii_whitespace).next().map(|word| OsStr::from_bytes(word).to_owned())
    });
    match interpreter.map(PathBuf::from) {
        Some(interpreter) if !interpreter.is_file() => {
            Err(format!("the interpreter {} of the script does not exist", interpreter.display()))
        }
        _ => Ok(()),
    }
}

/// Returns the file that the program name `path` denotes: the shell's search for names without a slash.
fn found(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// Simulates the program of `run`.
pub(super) fn simulate(
    run: &Resolved,
    file: &ProgramFile,
    conduct: Conduct<'_>,
) -> Result<Option<Prediction>, PredictError> {
    let Conduct { processes, console, .. } = conduct;
    let settings = &run.settings;
    let CodeOrigin::Binary(path) = &file.code else { unreachable!("a program as built is a file") };
    let (platform, sites, labels) = agree(processes, described(run, file))?;
    if let Some(rank) = settings.job.debugged.filter(|&rank| rank as usize >= sites.len()) {
        return Err(PredictError::input(format!("--debug-rank {rank}: expected a rank below {}", sites.len())));
    }
    let mailboxes = Arc::new(Mailboxes::new(sites.len() as u32));
    let options = RunOptions { restartable: false, mailboxes: Some(mailboxes.clone()), ..settings.options() };
    let simulation = Simulation::new(&platform, sites.clone(), options, labels);
    let details = settings.details;
    let ahead = (processes.count() > 1 || simulation.workers() > 1) && !details.functions && !details.sites;
    // Requests of a rank that runs ahead belong to one thread.
    let ahead = ahead && !may_have_threads(path);
    let states_buffers = conduct.recorded || platform.heeded_memory().is_some_and(|copies| copies.has_caches());
    let program = JobProgram {
        image: None,
        arguments: arguments(file, &run.typed)?,
        environment: with_variables(&environment(processes.count() > 1), file),
        directory: None,
        ranks: sites.len() as u32,
    };
    let memory = MemoryShares::new(&platform, &sites);
    let share = |rank: Rank| memory.part(sites[rank as usize]);
    let started =
        Started { numbers: ProcessNumbers::of(std::process::id() as i32), states_buffers, lends: false, kernels: None };
    let output = Box::new(Printed(console.clone()));
    let job = Job::new(vec![program], platform.clone(), sites.clone(), share, started, settings.job.clone(), output);
    let job = Arc::new(job);
    let mut setup = RankSetup::new(platform_text(run)?, sites.clone(), &settings.job);
    setup.memory_bound = settings.memory_bound.as_ref().map(MemoryBound::of_one);
    setup.states_buffers = states_buffers;
    setup.has_threads = !ahead;
    let alternates = processes.count() == 1 && simulation.workers() == 1 && settings.cores_per_rank == 1;
    setup.runs_ahead = alternates;
    let pinned = alternates.then(Pinned::to_one_core).flatten();
    let is_linked = is_linked(path);
    let start = match settings.job.start {
        // A launcher or interpreter reads the environment itself before it starts the program.
        StartMethod::Auto if !is_linked => StartMethod::Exec,
        start => start,
    };
    let ranks = simulation.own_ranks(processes);
    agree(processes, check_memory(ranks.len()))?;
    let launcher = Launcher { program: &found(path), is_linked, setup, job: job.clone(), ranks, start };
    let launched = launcher.start().map_err(|error| PredictError::input(error.to_string()));
    let launched: Launched = agree(processes, launched)?;
    let is_measured = settings.job.compute == ComputeMode::Measure;
    let header = Header {
        factors: if is_measured { platform.code_factors(&sites) } else { Vec::new() },
        ..record::header(&platform, sites.len(), &file.title(), settings.model.name(), settings.seed)
    };
    let screen: &dyn Screen = &**console;
    let in_advance =
        |rank| -> Box<dyn Program> { Box::new(RunAhead::new(launched.program(rank), rank, mailboxes.clone())) };
    let programs: &dyn RankPrograms = if ahead { &in_advance } else { &launched };
    let ran = record::run(&simulation, screen, programs, (conduct, details), &header);
    let library = launched.library();
    // The processes end, and their output is complete.
    let codes = launched.end();
    // The simulator ends the processes of a failed run with codes of its own.
    if processes.broadcast(|| ran.is_ok()) {
        codes.into_iter().for_each(|(rank, code)| job.script_ended(rank, code));
    }
    drop(pinned);
    let endings = Endings::merge(processes.gather(job.endings()));
    let ran = explained(ran, &endings, processes);
    let Some((mut outcome, trace)) = ran? else { return Ok(None) };
    if is_measured && !platform.core.scale_factor.is_stated() {
        outcome.host.stands_for_target = Some(processor_name());
    }
    outcome.host.ranks_as = Some("processes".to_owned());
    outcome.host.mpi_library = library.map(|library| library.name().to_owned());
    let exit_code = conclude(&mut outcome, &endings, settings.job.checks);
    let mut notes = notes(&endings, settings.job.most_data);
    if settings.job.checks.calls {
        notes.push(NOT_COMPARED.to_owned());
    }
    Ok(Some(Prediction { outcome, trace, exit_code, notes }))
}

/// Returns the text of the run's platform with absolute paths, and the text of its file of selection rules.
fn platform_text(run: &Resolved) -> Result<(String, Option<String>), PredictError> {
    let tables = run.portable_tables();
    let table = tables.get("platform").and_then(toml::Value::as_table).cloned().unwrap_or_default();
    let text = toml::to_string(&table).map_err(|error| PredictError::input(format!("the platform: {error}")))?;
    let rules = run.platform_files.iter().find(|(key, _)| key == RULES);
    let read = |path: &PathBuf| {
        std::fs::read_to_string(path).map_err(|error| PredictError::input(format!("{}: {error}", path.display())))
    };
    Ok((text, rules.map(|(_, path)| read(path)).transpose()?))
}
