//! Runs of real programs: builds and loads the program, gives its ranks to the engine, and passes on what they print.

use std::ffi::CString;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::ffi::OsStringExt;
use std::sync::Arc;

use crate::capi::cc::ProgramFile;
use crate::capi::{self, Job, Output, RealProgram, Stream};
use crate::engine::{Labels, Progress, RunOptions, Simulation};
use crate::mpi::check_rules;
use crate::rank::{Ahead, Post, Rank};
use crate::trace::Header;

use super::configuration::Configuration;
use super::exit::{Exit, Failure};
use super::record::{self, Recorded};
use super::run::{memory_shares, placed};

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
    progress: &Progress,
    recorded: bool,
) -> Result<Ran, Failure> {
    let settings = &configuration.settings;
    let source = configuration.platform()?;
    check_rules(&source.platform)?;
    let file = configuration.program()?;
    let (platform, sites) = placed(settings, source.platform, file.ranks)?;
    let memory = memory_shares(&platform, &sites);
    let labels = Labels {
        app: file.name.clone(),
        model: settings.model.name().to_owned(),
        seed: settings.seed,
        config: configuration.to_json()?,
    };
    let built = file.build()?;
    // Libraries that are loaded with the program read their variables then.
    capi::set_variables(&file.environment);
    capi::set_default_threads();
    // Errors call the program what the user does.
    let path = built.path.display().to_string();
    let named = |error: capi::ImageError| Failure::bad_input(error.to_string().replace(&path, &configuration.typed));
    let program = capi::open(&built.path).map_err(named)?;
    let platform = Arc::new(platform);
    let output = Box::new(Printer { tagged: settings.tag_output, to_stderr: stdout_taken });
    let share = |rank: Rank| memory.of(sites[rank as usize]);
    let started = capi::Started { arguments: arguments(&file, &configuration.typed)?, environment: environment() };
    let options = RunOptions { restartable: false, ..settings.options() };
    let header = Header {
        scale: Some(platform.core.scale_factor),
        ..record::header(&platform, sites.len(), &file.name, settings.model.name(), settings.seed)
    };
    let simulation = Simulation::new(&platform, sites.clone(), options, labels);
    // A single worker runs all code one after another anyway.
    let ahead = simulation.workers() > 1;
    let options = capi::JobOptions { ahead, ..settings.job.clone() };
    let job = Job::new(program, platform.clone(), sites.clone(), share, started, options, output);
    let job = Arc::new(job);
    let header = recorded.then_some(&header);
    let program = |rank| RealProgram::new(job.clone(), rank);
    let recorded = if ahead {
        let post = Arc::new(Post::new(sites.len() as u32));
        let program = |rank| Ahead::new(Box::new(program(rank)), rank, post.clone());
        record::run(&simulation, program, progress, header)?
    } else {
        record::run(&simulation, program, progress, header)?
    };
    let endings = job.endings();
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
    notes.extend(endings.leaks.iter().map(|(rank, what)| format!("rank {rank} has not freed {what}")));
    Ok(Ran { recorded, exit, notes })
}

/// `argv`: the program's name as the user gave it, and its arguments.
fn arguments(file: &ProgramFile, name: &str) -> Result<Vec<CString>, Failure> {
    std::iter::once(name)
        .chain(file.arguments.iter().map(String::as_str))
        .map(|text| CString::new(text).map_err(|_| Failure::bad_input(format!("argument {text:?}: a zero byte"))))
        .collect()
}

/// The environment as C has it.
fn environment() -> Vec<CString> {
    let text = |(name, value): (OsString, OsString)| {
        let mut text = name.into_vec();
        text.push(b'=');
        text.extend(value.into_vec());
        CString::new(text).ok()
    };
    std::env::vars_os().filter_map(text).collect()
}

/// Prints what ranks print, line by line.
struct Printer {
    tagged: bool,
    to_stderr: bool,
}

impl Output for Printer {
    fn write(&self, rank: Rank, stream: Stream, bytes: &[u8]) {
        let tagged = self.tagged.then(|| tag(rank, stream, bytes));
        let bytes = tagged.as_deref().unwrap_or(bytes);
        // A reader that has gone away has seen what it wanted; a full disk is the program's own affair.
        let _ = match stream {
            Stream::Out if !self.to_stderr => {
                let mut out = io::stdout().lock();
                out.write_all(bytes).and_then(|()| out.flush())
            }
            _ => io::stderr().lock().write_all(bytes),
        };
    }
}

/// `bytes` with the rank at the beginning of each line.
fn tag(rank: Rank, stream: Stream, bytes: &[u8]) -> Vec<u8> {
    let stream = match stream {
        Stream::Out => "out",
        Stream::Err => "err",
    };
    let mut tagged = Vec::with_capacity(bytes.len() + 16);
    for line in bytes.split_inclusive(|&byte| byte == b'\n') {
        let _ = write!(tagged, "[{rank}:{stream}] ");
        tagged.extend_from_slice(line);
    }
    tagged
}
