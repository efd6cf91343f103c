//! Runs of real programs: builds and loads the program, gives its ranks to the engine, and passes on what they print.

use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use crate::cc::{Built, Code, ProgramFile};
use crate::engine::{Labels, Processes, RunOptions, Simulation};
use crate::loader::ImageError;
use crate::mpi::check_rules;
use crate::mpi_api::{self, RealProgram};
use crate::platform::{Platform, Site};
use crate::process::{self, ComputeMode, Endings, Job};
use crate::rank::{Ahead, Post, Rank};
use crate::trace::Header;

use super::configuration::Configuration;
use super::exit::{Exit, Failure};
use super::launch::{agree, is_launchers};
use super::printer::{Printer, Shared};
use super::record::{self, Recorded};
use super::run::{Manner, memory_shares, placed};

/// What a run of a real program gave.
pub(super) struct Ran {
    /// The prediction, and the trace if one was wanted.
    pub recorded: Recorded,
    /// How the process ends: as the first rank that ended with another code than 0.
    pub exit: Exit,
    /// What to tell the user besides.
    pub notes: Vec<String>,
}

/// Runs the real program of `configuration`.
///
/// `stdout_taken`: results go to stdout, and what the program prints to stderr.
pub(super) fn simulate(
    configuration: &Configuration,
    stdout_taken: bool,
    manner: Manner<'_>,
) -> Result<Option<Ran>, Failure> {
    let Manner { processes, .. } = manner;
    let settings = &configuration.settings;
    let (file, platform, sites, labels) = agree(processes, described(configuration))?;
    let built = agree(processes, built(&file, processes))?;
    let printer = Arc::new(Printer::new(settings.tag_output, stdout_taken, processes.is_first()));
    // Libraries that are loaded with the program read their variables then.
    process::set_variables(&file.environment);
    process::set_default_threads();
    let environment = processes.broadcast(|| environment(processes.count() > 1));
    // A single worker runs all code one after another anyway.
    let post = Arc::new(Post::new(sites.len() as u32));
    let options = RunOptions { restartable: false, post: Some(post.clone()), ..settings.options() };
    let simulation = Simulation::new(&platform, sites.clone(), options, labels);
    // Who runs ahead is in another call than the one that the engine sees.
    let ahead = (processes.count() > 1 || simulation.workers() > 1) && !manner.functions;
    let load = || -> Result<Job, Failure> {
        // Errors call the program what the user does.
        let path = built.path.display().to_string();
        let named = |error: ImageError| Failure::bad_input(error.to_string().replace(&path, &configuration.typed));
        let program = mpi_api::open(&built.path).map_err(named)?;
        let output = Box::new(Shared(printer.clone()));
        let memory = memory_shares(&platform, &sites);
        let share = |rank: Rank| memory.of(sites[rank as usize]);
        let started = process::Started { arguments: arguments(&file, &configuration.typed)?, environment };
        let options = settings.job.clone();
        Ok(Job::new(program, platform.clone(), sites.clone(), share, started, options, output))
    };
    let job = Arc::new(agree(processes, load())?);
    let program = |rank| RealProgram::new(job.clone(), rank);
    let is_measured = settings.job.compute == ComputeMode::Measure;
    let header = Header {
        factors: if is_measured { platform.core.code_factors(&sites) } else { Vec::new() },
        ..record::header(&platform, sites.len(), &file.name, settings.model.name(), settings.seed)
    };
    let ran = if ahead {
        let program = |rank| Ahead::new(Box::new(program(rank)), rank, post.clone());
        record::run(&simulation, &*printer, program, manner, &header)
    } else {
        record::run(&simulation, &*printer, program, manner, &header)
    };
    let endings = processes.gather(job.endings());
    let Some(recorded) = ran? else { return Ok(None) };
    let endings = Endings::merge(endings);
    let mut notes = Vec::new();
    let mut exit = Exit::Predicted;
    if let Some(&(rank, code)) = endings.codes.first() {
        exit = Exit::Program((code & 0xff) as u8);
        let others = match endings.codes.len() {
            1 => String::new(),
            ranks => format!(", and {} others with codes other than 0", ranks - 1),
        };
        notes.push(format!("rank {rank} ended with exit code {code}{others}"));
    }
    if let Some(&first) = endings.unfinalised.first() {
        notes.push(match endings.unfinalised.len() {
            1 => format!("rank {first} ended without MPI_Finalize"),
            ranks => format!("{ranks} ranks ended without MPI_Finalize, rank {first} first"),
        });
    }
    if let Some(&(rank, time)) = endings.in_vain.iter().max_by_key(|(rank, time)| (time, std::cmp::Reverse(*rank))) {
        let others = match endings.in_vain.len() {
            1 => String::new(),
            ranks => format!(", as did {} others for no longer", ranks - 1),
        };
        notes.push(format!(
            "rank {rank} polled in vain for {time} and went on by itself{others}: the prediction may be too long by that"
        ));
    }
    notes.extend(endings.leaks.iter().map(|(rank, what)| format!("rank {rank} has not freed {what}")));
    Ok(Some(Ran { recorded, exit, notes }))
}

/// The program's description, the machine, and where the ranks are on it.
fn described(configuration: &Configuration) -> Result<(ProgramFile, Arc<Platform>, Vec<Site>, Labels), Failure> {
    let settings = &configuration.settings;
    let source = configuration.platform()?;
    check_rules(&source.platform)?;
    let file = configuration.program()?;
    let (platform, sites) = placed(settings, source.platform, file.ranks)?;
    let labels = Labels {
        app: file.name.clone(),
        model: settings.model.name().to_owned(),
        seed: settings.seed,
        config: configuration.to_json()?,
    };
    Ok((file, Arc::new(platform), sites, labels))
}

/// The program, compiled if there are sources: by the first process only, whose file the others get.
fn built(file: &ProgramFile, processes: &Processes) -> Result<Built, Failure> {
    if processes.count() == 1 || matches!(file.code, Code::Binary(_)) {
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
        None if bytes.is_empty() => Err(Failure::said_elsewhere(Exit::BadInput)),
        None => Ok(Built::of(&bytes)?),
    }
}

/// `argv`: the program's name as the user gave it, and its arguments.
fn arguments(file: &ProgramFile, name: &str) -> Result<Vec<CString>, Failure> {
    std::iter::once(name)
        .chain(file.arguments.iter().map(String::as_str))
        .map(|text| CString::new(text).map_err(|_| Failure::bad_input(format!("argument {text:?}: a zero byte"))))
        .collect()
}

/// The environment that ranks get, as C has it: of the process that the user hears of, without what a launcher adds for
/// each process if one has started `several`.
fn environment(several: bool) -> Vec<CString> {
    let text = |(name, value): (OsString, OsString)| {
        let mut text = name.into_vec();
        text.push(b'=');
        text.extend(value.into_vec());
        CString::new(text).ok()
    };
    std::env::vars_os().filter(|(name, _)| !several || !is_launchers(name)).filter_map(text).collect()
}
