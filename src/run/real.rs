//! Simulation runs of real MPI programs. The module `run::real` builds and loads the program, passes its ranks to the
//! engine, and forwards the ranks' output.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use crate::cc::{Built, CodeOrigin, ProgramFile};
use crate::engine::{
    Deadlock, KernelCalls, Labels, Mistake, Outcome, Processes, ProgramEnd, RankPrograms, RunError, RunOptions, Screen,
    Simulation,
};
use crate::loader::ImageError;
use crate::mpi::check_rules;
use crate::mpi_api::{self, RealRanks};
use crate::platform::{MemoryShares, Platform, Site, Textbook};
use crate::process::{self, Checks, ComputeMode, Endings, Job, JobProgram, Output, ShareMemory, Stream};
use crate::rank::{Mailboxes, Program, Rank, RunAhead};
use crate::trace::Header;
use crate::units::Bytes;

use super::as_built;
use super::conduct::{Conduct, Console, Prediction, agree};
use super::error::{ErrorKind, PredictError};
use super::host::processor_name;
use super::inputs::{self, Presence};
use super::kernels;
use super::placement::placed;
use super::record;
use super::resolved::Resolved;
use super::values::{Model, data_text};

/// Maximum number of mistakes in MPI calls that notes report.
const MOST_NOTES: usize = 20;
/// Prefixes of environment variables that launchers set for each MPI process separately.
const LAUNCHERS: [&str; 9] = ["OMPI_", "OPAL_", "ORTE_", "PMI_", "PMIX_", "PRTE_", "MV2_", "HYD", "MPI_LOCAL"];

/// Lock that is held while a real program runs, because signal handlers, the environment and the state of the C library
/// are global to the host process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Waits until no other real program runs in this host process. Calls `waits` before it blocks.
fn alone(waits: impl FnOnce()) -> MutexGuard<'static, ()> {
    match ONE_AT_A_TIME.try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => {
            waits();
            ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }
}

/// Adapter that passes the output of simulated ranks to the console.
pub(super) struct Printed(pub(super) Arc<dyn Console>);

impl Output for Printed {
    fn write(&self, rank: Rank, stream: Stream, bytes: &[u8]) {
        self.0.write(rank, stream, bytes);
    }
}

/// Simulates the real program of `run`. If another real program runs in this host process, the function waits for the
/// end of that program and adds a note.
pub(super) fn simulate(
    run: &Resolved,
    file: &ProgramFile,
    conduct: Conduct<'_>,
) -> Result<Option<Prediction>, PredictError> {
    if as_built::runs_as_processes(run, file)? {
        return as_built::simulate(run, file, conduct);
    }
    if let (true, ShareMemory::From(_)) = (run.settings.job.checks.heap, run.settings.job.share_memory) {
        return Err(PredictError::input(
            "--share-memory and --check-heap: expected one of them, because both replace the program's memory",
        ));
    }
    let mut queued = false;
    let _alone = alone(|| queued = true);
    let Conduct { processes, console, .. } = conduct;
    let settings = &run.settings;
    let (platform, sites, labels) = agree(processes, described(run, file))?;
    let built = file.all().map(|file| agree(processes, built(file, processes))).collect::<Result<Vec<_>, _>>()?;
    // Libraries that are loaded with the program read environment variables when they are loaded. The variables with
    // one value for all programs are therefore set first.
    process::set_variables(common_variables(file));
    process::set_default_threads();
    // The first host process reserves the identifiers for all host processes.
    let mut numbers = None;
    let several = file.others.is_some();
    let (environment, parent) = processes.broadcast(|| {
        let parent = numbers.insert(process::ProcessNumbers::claim(sites.len())).parent;
        (environment(processes.count() > 1), parent)
    });
    let numbers = numbers.unwrap_or_else(|| process::ProcessNumbers::of(parent));
    let mailboxes = Arc::new(Mailboxes::new(sites.len() as u32));
    let options = RunOptions { restartable: false, mailboxes: Some(mailboxes.clone()), ..settings.options() };
    let simulation = Simulation::new(&platform, sites.clone(), options, labels);
    // Ranks run ahead of the engine only with several worker threads, because a single worker thread executes all
    // program code sequentially. Blocks of code without virtual time do not separate the ranks in virtual time, so the
    // workers execute them concurrently anyway, and running ahead would only double the processor time of messages. A
    // rank that runs ahead is in a later call than the call that the engine processes, so profiles of MPI calls prevent
    // running ahead.
    let details = settings.details;
    let workers = simulation.workers();
    let has_time = settings.job.compute != ComputeMode::Skip;
    let ahead = (processes.count() > 1 || workers > 1) && has_time && !details.functions && !details.sites;
    // The cost of copies depends on whether caches contain the buffers, in this run or in a replay of the run's trace.
    let states_buffers = conduct.recorded || platform.heeded_memory().is_some_and(|copies| copies.has_caches());
    let main = file;
    let load = || -> Result<Job, PredictError> {
        let load = |(number, (file, built)): (usize, (&ProgramFile, &Built))| -> Result<JobProgram, PredictError> {
            // Error messages name the program as the user typed the name.
            let typed = &typed_name(file, main, run);
            let path = built.path.display().to_string();
            let named = |error: ImageError| PredictError::input(error.to_string().replace(&path, typed));
            let image = mpi_api::open(&built.path, &settings.job, number).map_err(named)?;
            let ranks = file.ranks.filter(|_| several).unwrap_or(sites.len() as u32);
            image.check_room((ranks as usize).div_ceil(processes.count() as usize)).map_err(named)?;
            let arguments = arguments(file, typed)?;
            let environment = with_variables(&environment, file);
            let directory = file.directory.as_ref().map(|path| CString::new(path.as_os_str().as_bytes()));
            let directory = directory.transpose().map_err(|_| {
                PredictError::input(
                    "program.directory: expected a \
            path without a zero byte",
                )
            })?;
            Ok(JobProgram { image: Some(image), arguments, environment, directory, ranks })
        };
        let programs = file.all().zip(&built).enumerate().map(load).collect::<Result<Vec<_>, _>>()?;
        let output = Box::new(Printed(console.clone()));
        let memory = MemoryShares::new(&platform, &sites);
        let share = |rank: Rank| memory.part(sites[rank as usize]);
        let kernels = settings.kernels.as_deref().map(kernels::read).transpose()?;
        let lends = processes.count() == 1 && workers == 1;
        let started = process::Started { numbers, states_buffers, lends, kernels };
        let options = settings.job.clone();
        Ok(Job::new(programs, platform.clone(), sites.clone(), share, started, options, output))
    };
    let job = Arc::new(agree(processes, load())?);
    let titles: Vec<(PathBuf, String)> =
        file.all().zip(&built).map(|(program, built)| (built.path.clone(), typed_name(program, file, run))).collect();
    let files = || {
        job.programs
            .iter()
            .filter_map(|program| program.image.as_ref())
            .flat_map(|image| image.files())
            .collect::<Vec<_>>()
    };
    let loaded = files();
    inputs::compare(processes, || named(&loaded, &titles), Presence::Everywhere)?;
    let programs = RealRanks::new(job.clone());
    let is_measured = settings.job.compute == ComputeMode::Measure;
    let header = Header {
        factors: if is_measured { platform.code_factors(&sites) } else { Vec::new() },
        ..record::header(&platform, sites.len(), &file.title(), settings.model.name(), settings.seed)
    };
    let screen: &dyn Screen = &**console;
    let in_advance =
        |rank| -> Box<dyn Program> { Box::new(RunAhead::new(programs.program(rank), rank, mailboxes.clone())) };
    let programs: &dyn RankPrograms = if ahead { &in_advance } else { &programs };
    let ran = record::run(&simulation, screen, programs, (conduct, details), &header);
    let endings = Endings::merge(processes.gather(job.endings()));
    let opened = || files().into_iter().filter(|file| !loaded.contains(file)).collect::<Vec<_>>();
    inputs::compare(processes, || named(&opened(), &titles), Presence::WhereOpened)?;
    let ran = explained(ran, &endings, processes);
    let Some((mut outcome, trace)) = ran? else { return Ok(None) };
    if is_measured && !platform.core.scale_factor.is_stated() {
        outcome.host.stands_for_target = Some(processor_name());
    }
    outcome.host.ranks_as = Some("fibers".to_owned());
    let exit_code = conclude(&mut outcome, &endings, settings.job.checks);
    let waited = queued.then(|| {
        "this run waited for another real program: one process runs real programs one at a \
                                 time"
            .to_owned()
    });
    let notes = waited.into_iter().chain(notes(&endings, settings.job.most_data)).collect();
    Ok(Some(Prediction { outcome, trace, exit_code, notes }))
}

/// Stores the results of the ranks in `outcome`, and returns the exit code of the program.
pub(super) fn conclude(outcome: &mut Outcome, endings: &Endings, checks: Checks) -> u8 {
    outcome.mistakes.clone_from(&endings.mistakes);
    outcome.call_paths.clone_from(&endings.paths);
    // Launchers of real jobs also treat ranks that never call MPI_Finalize as a failure.
    let unfinalised = u8::from(!endings.unfinalised.is_empty());
    let mistaken = u8::from((checks.calls || checks.heap) && !endings.mistakes.is_empty());
    let exit_code = endings.codes.first().map_or(unfinalised.max(mistaken), |(_, code)| (code & 0xff) as u8);
    if exit_code != 0 || !endings.shared.is_empty() || endings.folded.is_some() || !endings.kernels.is_empty() {
        let (codes, unfinalised) = (endings.codes.iter().copied().collect(), endings.unfinalised.clone());
        let (shared_libraries, folded_memory) = (endings.shared.clone(), endings.folded);
        let modelled_kernels = endings.kernels.clone();
        if folded_memory.is_some() {
            outcome.host.peak_rss_bytes = 0;
        }
        outcome.program = Some(Box::new(ProgramEnd {
            exit_code,
            codes,
            unfinalised,
            shared_libraries,
            folded_memory,
            modelled_kernels,
        }));
    }
    exit_code
}

/// Adds the mistakes of the ranks, the ranks without MPI_Finalize and the exit codes to the error of a run.
pub(super) fn explained<T>(
    ran: Result<T, PredictError>,
    endings: &Endings,
    processes: &Processes,
) -> Result<T, PredictError> {
    let (unfinalised, codes) = processes.broadcast(|| (endings.unfinalised.clone(), endings.codes.clone()));
    let ran = ran.map_err(|error| match error {
        PredictError::Simulation(RunError::Deadlock(deadlock)) => {
            PredictError::Simulation(RunError::Deadlock(Deadlock { unfinalised, codes, ..deadlock }))
        }
        other => other,
    });
    // Host processes other than the first have no list of mistakes and print nothing.
    ran.map_err(|error| match endings.mistakes.is_empty() {
        true => error,
        false => PredictError::WithMistakes { mistakes: endings.mistakes.clone(), error: Box::new(error) },
    })
}

/// Returns notes on the ends of ranks and on mistakes of the program, and on messages without data. `most_data` is the
/// size of the longest message that carries its data.
pub(super) fn notes(endings: &Endings, most_data: Bytes) -> Vec<String> {
    let mut notes = Vec::new();
    if most_data < Bytes::MAX {
        let which = match most_data {
            Bytes::ZERO => "messages".to_owned(),
            most => format!("messages longer than {most}"),
        };
        notes.push(format!(
            "--data {}: {which} carried no data. Results of the program are wrong; the prediction is right if messages \
             and computation do not depend on these data",
            data_text(most_data)
        ));
    }
    if let Some(folded) = endings.folded {
        notes.push(format!(
            "{} of the ranks' memory are folded to {} of the host: results of the program are wrong; the prediction is \
             right if messages and computation do not depend on these data",
            Bytes::new(folded.bytes),
            Bytes::new(folded.host_bytes)
        ));
    }
    if !endings.kernels.is_empty() {
        let mut all = KernelCalls::default();
        endings.kernels.values().for_each(|calls| all += *calls);
        notes.push(format!(
            "{}{} of BLAS functions computed nothing and took {} over all ranks from the table of --kernels: results \
             of the program are wrong; the prediction is right if messages and computation do not depend on these data",
            all.calls,
            if all.calls == 1 { " call" } else { " calls" },
            all.time
        ));
    }
    if let Some(&(rank, code)) = endings.codes.first() {
        let others = match endings.codes.len() {
            1 => String::new(),
            ranks => format!(", and {} other ranks with codes other than 0", ranks - 1),
        };
        notes.push(format!("rank {rank} ended with exit code {code}{others}"));
    }
    if let Some(&first) = endings.unfinalised.first() {
        let who = match endings.unfinalised.len() {
            1 => format!("rank {first} ended without MPI_Finalize"),
            ranks => format!("{ranks} ranks ended without MPI_Finalize, rank {first} first"),
        };
        notes.push(format!("{who}: the exit code is 1, as an MPI launcher would take this for a failure"));
    }
    if let Some(&(rank, time)) = endings.in_vain.iter().max_by_key(|(rank, time)| (time, std::cmp::Reverse(*rank))) {
        let others = match endings.in_vain.len() {
            1 => String::new(),
            ranks => format!(", as did {} other ranks for at most this time", ranks - 1),
        };
        notes.push(format!(
            "rank {rank} polled without success for {time} and then stopped polling by itself{others}: the \
             predicted time may be too long by this amount"
        ));
    }
    if let Some((block, rank)) = endings.early_wakes {
        notes.push(format!(
            "rank {rank} ended a wait of its threads by futex, as barriers of C++20 do, after a measured block of {block}: \
             such waits may end too early by the length of the block. A call of MPI_Wtime before the barrier avoids this"
        ));
    }
    if endings.unguarded > 0 {
        let count = endings.unguarded;
        notes.push(format!(
            "--check-heap: {count} memory blocks were not checked, because the number of guarded \
                            blocks at a time is limited"
        ));
    }
    let lines = Mistake::lines(&endings.mistakes);
    let more = lines.len().saturating_sub(MOST_NOTES);
    notes.extend(lines.into_iter().take(MOST_NOTES));
    if more > 0 {
        notes.push(format!("and {more} other mistakes, which --json lists"));
    }
    notes
}

/// Returns the name of `program` in error messages: the word that the user typed for a single program, otherwise the
/// name in the program list of `main`.
fn typed_name(program: &ProgramFile, main: &ProgramFile, run: &Resolved) -> String {
    if main.others.is_none() { run.typed.clone() } else { program.name.clone() }
}

/// Returns the names of the loaded files. `programs` contains the path and the name of each program. The name of a
/// library excludes its directory, which may differ between hosts.
fn named(files: &[PathBuf], programs: &[(PathBuf, String)]) -> Vec<(String, PathBuf)> {
    let mut named: Vec<(String, PathBuf)> = Vec::new();
    let mut distinct: Vec<&PathBuf> = Vec::new();
    for file in files {
        if distinct.contains(&file) {
            continue;
        }
        distinct.push(file);
        let name = match programs.iter().find(|(path, _)| path == file) {
            Some((_, title)) => format!("program {title}"),
            None => format!("library {}", file.file_name().unwrap_or_default().to_string_lossy()),
        };
        let same = named.iter().filter(|(other, _)| other.split(" (").next() == Some(&name)).count();
        let name = if same == 0 { name } else { format!("{name} ({})", same + 1) };
        named.push((name, file.clone()));
    }
    named
}

/// Returns the simulated machine, the cores of the program's ranks, and the labels of MPI calls.
pub(super) fn described(
    run: &Resolved,
    file: &ProgramFile,
) -> Result<(Arc<Platform>, Vec<Site>, Labels), PredictError> {
    let settings = &run.settings;
    check_rules(&run.platform.platform)?;
    if settings.model == Model::Textbook(Textbook::XuHwang) {
        let text = "--model xu-hwang: expected a description or a trace; found a program, whose collectives carry data";
        return Err(PredictError::input(text));
    }
    let (platform, sites) = placed(settings, run.platform.platform.clone(), file.all_ranks())?;
    if let (Some(_), Some(ranks)) = (&file.others, file.all_ranks().filter(|&ranks| ranks as usize != sites.len())) {
        let (asked, name) = (sites.len(), file.title());
        return Err(PredictError::input(format!(
            "--ranks {asked}: expected {ranks}, the sum of the ranks of the \
                                                programs {name}"
        )));
    }
    let labels = Labels {
        app: file.title(),
        model: settings.model.name().to_owned(),
        seed: settings.seed,
        config: run.to_json()?,
    };
    Ok((Arc::new(platform), sites, labels))
}

/// Returns the program, which is compiled if the application names sources. Only the first host process compiles the
/// program and sends the executable to the other host processes.
fn built(file: &ProgramFile, processes: &Processes) -> Result<Built, PredictError> {
    if processes.count() == 1 || matches!(file.code, CodeOrigin::Binary(_)) {
        return Ok(file.build()?);
    }
    let mut built = None;
    let bytes = processes.broadcast(|| {
        let bytes = match built.insert(file.build()) {
            Ok(built) => std::fs::read(&built.path).ok(),
            Err(_) => None,
        };
        bytes.unwrap_or_default()
    });
    match built {
        Some(built) => Ok(built?),
        None if bytes.is_empty() => Err(PredictError::Elsewhere { kind: ErrorKind::Input, text: String::new() }),
        None => Ok(Built::of(&bytes)?),
    }
}

/// Returns `argv`: the program's name as the user typed it, and its arguments.
pub(super) fn arguments(file: &ProgramFile, name: &str) -> Result<Vec<CString>, PredictError> {
    std::iter::once(name)
        .chain(file.arguments.iter().map(String::as_str))
        .map(|text| {
            CString::new(text).map_err(|_| {
                PredictError::input(format!(
                    "argument {text:?}: expected text \
        without a zero byte"
                ))
            })
        })
        .collect()
}

/// Returns the environment of ranks as C strings. If a launcher has started `several` host processes, variables of the
/// launcher are removed.
pub(super) fn environment(several: bool) -> Vec<CString> {
    let text = |(name, value): (OsString, OsString)| {
        let mut text = name.into_vec();
        text.push(b'=');
        text.extend(value.into_vec());
        CString::new(text).ok()
    };
    std::env::vars_os().filter(|(name, _)| !several || !is_launchers(name)).filter_map(text).collect()
}

/// Returns the environment variables that have the same value for all programs of `file`.
fn common_variables(file: &ProgramFile) -> impl Iterator<Item = (&String, &String)> {
    let shared = |(name, value): &(&String, &String)| file.all().all(|of| of.environment.get(*name) == Some(*value));
    file.environment.iter().filter(shared)
}

/// Returns the environment `environment` with the variables of the program `file`, which replace variables of the same
/// name.
pub(super) fn with_variables(environment: &[CString], file: &ProgramFile) -> Vec<CString> {
    let is_own = |entry: &&CString| {
        let name = entry.to_bytes().split(|&byte| byte == b'=').next().unwrap_or_default();
        std::str::from_utf8(name).is_ok_and(|name| file.environment.contains_key(name))
    };
    let own = file.environment.iter().filter_map(|(name, value)| CString::new(format!("{name}={value}")).ok());
    environment.iter().filter(|entry| !is_own(entry)).cloned().chain(own).collect()
}

/// Returns true if launchers set the environment variable for each MPI process separately.
fn is_launchers(name: &OsString) -> bool {
    LAUNCHERS.iter().any(|prefix| name.as_encoded_bytes().starts_with(prefix.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_real_program_waits_for_the_first_and_says_so() {
        let first = alone(|| ());
        let (said, hears) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            let second = scope.spawn(move || drop(alone(|| said.send("waits").unwrap())));
            assert_eq!(hears.recv(), Ok("waits"));
            assert!(!second.is_finished());
            drop(first);
        });
    }

    #[test]
    fn a_launchers_variables_are_told_from_a_users() {
        for (name, launchers) in
            [("OMPI_COMM_WORLD_RANK", true), ("PMI_FD", true), ("HOME", false), ("OMP_NUM_THREADS", false)]
        {
            assert_eq!(is_launchers(&name.into()), launchers, "{name}");
        }
    }
}
