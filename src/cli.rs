//! The command line: a straight pipeline from arguments over settings and a run to printed and written results.
//!
//! The only module that prints, and one of the few that touch files.

mod args;
mod bug;
mod configuration;
mod copies;
mod exit;
mod host;
mod interrupt;
mod output;
mod progress;
mod real;
mod record;
mod replay;
mod report;
mod run;
mod settings;
mod sweep;
mod traces;
mod validate;
mod values;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use crate::capi;
use crate::capi::cc::{self, Language, Request};
use crate::engine::{Outcome, Progress};

use args::{Parsed, RunArgs};
use configuration::Configuration;
pub use exit::Exit;
use exit::Failure;
use host::Stopwatch;
use output::Outputs;
use progress::ProgressLine;

/// Runs the program on the arguments of the process.
pub fn main() -> ExitCode {
    bug::install_hook();
    let code = command(std::env::args_os().collect()).unwrap_or_else(|failure| {
        complain(&failure.text);
        failure.exit.code()
    });
    ExitCode::from(code)
}

/// Does what is asked; returns the exit code.
fn command(arguments: Vec<OsString>) -> Result<u8, Failure> {
    match args::parse(arguments)? {
        Parsed::Help(text) => output::print(&text)?,
        Parsed::Run(args) => return predict(&args),
        Parsed::Trace(args) => traces::show(args)?,
        Parsed::Sweep(args) => return sweep::sweep(&args),
        Parsed::Report(args) => report::report(&args)?,
        Parsed::Validate(args) => return validate::validate(&args),
        Parsed::Compile(language, arguments) => return compile(language, &arguments),
    }
    Ok(Exit::Predicted.code())
}

/// Runs the compiler, whose exit code this is.
fn compile(language: Language, arguments: &[OsString]) -> Result<u8, Failure> {
    match cc::request(language, arguments)? {
        Request::Show(text) => output::print(&text).map(|()| 0),
        Request::Run(compiler) => Ok(u8::try_from(cc::run(compiler)?).unwrap_or(u8::MAX)),
    }
}

fn predict(args: &RunArgs) -> Result<u8, Failure> {
    copies::refuse_several(|name| std::env::var(name).ok())?;
    let configuration = Configuration::load(args)?;
    if args.show_config {
        return output::print(&configuration.to_toml()?).map(|()| Exit::Predicted.code());
    }
    let quiet = args.quiet || args.direct;
    let outputs = Outputs::new(args.json.as_deref(), args.profile.as_deref(), quiet)?
        .with_timeline(args.timeline.as_deref())?
        .and_trace(args.record.as_deref())?;
    let progress = Arc::new(Progress::default());
    let cancelled = Arc::clone(&progress);
    interrupt::listen(move || cancelled.cancel())?;
    let line = ProgressLine::start(&progress, quiet);
    let stopwatch = Stopwatch::start();
    let (mut exit, mut notes) = (Exit::Predicted, Vec::new());
    let recorded = args.record.is_some();
    let ran = if configuration.is_program() {
        capi::on_fatal(fatal);
        real::simulate(&configuration, outputs.take_stdout(), &progress, recorded).map(|ran| {
            (exit, notes) = (ran.exit, ran.notes);
            ran.recorded
        })
    } else if let Some(file) = configuration.trace() {
        file.and_then(|file| replay::simulate(&configuration, &file, &progress, recorded))
    } else {
        run::simulate(&configuration, &progress, recorded)
    };
    drop(line);
    let (mut outcome, trace) = ran?;
    stopwatch.stop(&mut outcome);
    notes.extend(fewer_workers(configuration.settings.workers, &outcome));
    if !quiet {
        notes.iter().for_each(|note| _ = writeln!(std::io::stderr(), "note: {note}"));
    }
    outputs.write(&outcome, trace.as_deref())?;
    Ok(exit.code())
}

/// Ends the process for a program that leaves no other way.
fn fatal(message: &str, code: i32) -> ! {
    complain(message);
    std::process::exit(code)
}

/// Why there were fewer workers than asked for.
fn fewer_workers(asked: Option<u32>, outcome: &Outcome) -> Option<String> {
    let had = outcome.host.workers;
    let asked = asked.filter(|&asked| asked > had)?;
    let nodes = outcome.nct[0];
    let why = if had == nodes {
        format!("a worker has whole nodes, and there are {nodes}")
    } else {
        "messages between nodes take no time, so nothing can be simulated apart".to_owned()
    };
    Some(format!("{had} instead of {asked} workers: {why}"))
}

/// Prints an error to stderr, the one place where that is done; a closed stderr is nobody's concern.
///
/// A line that quotes something endless from a file is cut.
fn complain(text: &str) {
    const LONGEST: usize = 4000;
    let cut = |line: &str| match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    };
    let lines: Vec<String> = text.split('\n').map(cut).collect();
    let _ = writeln!(std::io::stderr(), "error: {}", lines.join("\n"));
}
