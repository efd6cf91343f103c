//! Command line of mcpsim: parses arguments, resolves settings, runs the simulation, and prints or writes the results.
//!
//! Only the module `cli` prints. Few other modules access files.

mod args;
mod bar;
mod bug;
mod cluster;
mod collectives;
mod commands;
mod doctor;
mod exit;
mod host_cores;
mod init;
mod interrupt;
mod launch;
mod launcher;
mod manual;
mod matrix_files;
mod measure;
mod memory;
mod models;
mod otf2;
mod output;
mod place;
mod platform;
mod printer;
mod processes;
mod progress;
mod report;
mod revisions;
mod schema;
mod setting_args;
mod sweep;
mod tasks;
mod traces;
mod validate;
mod watch;

use std::ffi::{OsString, c_int};
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use crate::cc::{self, Language, WrapperRequest};
use crate::engine::{Outcome, Processes, Progress, RunError};
use crate::process;
use crate::run::{Application, Conduct, Console, PredictError, Prediction, Resolved, Stopwatch, agree};

use commands::Parsed;
pub use exit::Exit;
use exit::Failure;
use launch::RunMessage;
pub use memory::ReportingAllocator;
use output::Outputs;
use printer::Printer;
use processes::end_process_soon;
use progress::ProgressLine;
use watch::Watch;

/// Runs mcpsim with the arguments of this process.
pub fn main() -> ExitCode {
    bug::install_hook();
    process::survive_size_limit();
    let code = match args::parse(std::env::args_os().collect()) {
        Ok(Parsed::Compile(language, arguments)) => compile(language, &arguments).unwrap_or_else(failed),
        parsed => match launch::join(&parsed, |name| std::env::var(name).ok()) {
            Ok(processes) => {
                let code = command(parsed, &processes).unwrap_or_else(failed);
                if code == Exit::Interrupted.code() {
                    // After an interruption the MPI launcher may not wait until all host processes have ended
                    // regularly.
                    end_process_soon(code.into());
                }
                code
            }
            Err(failure) => failed(failure),
        },
    };
    ExitCode::from(code)
}

/// Prints the error message of a failed command, unless another host process prints the message. Returns the exit code
/// of the failed command.
fn failed(failure: Failure) -> u8 {
    if !failure.text.is_empty() {
        complain(&failure.text);
    }
    failure.exit.code()
}

/// Executes the mcpsim command in all host processes that a launcher has started. Returns the exit code on the first
/// host process, which alone knows the exit code.
fn command(parsed: Result<Parsed, Failure>, processes: &Processes) -> Result<u8, Failure> {
    if processes.broadcast(|| matches!(parsed, Ok(Parsed::Measure(_)))) {
        let args = match &parsed {
            Ok(Parsed::Measure(args)) => Ok(&**args),
            Ok(_) => Err(Failure::bad_input("expected mcpsim measure in all processes or in none")),
            Err(failure) => Err(failure.clone()),
        };
        return measure::measure(args, processes);
    }
    agree(processes, interrupt::end_by_signals(processes.is_first()))?;
    if !processes.is_first() {
        let brief: Option<RunMessage> = processes.broadcast(|| None);
        if let Some(brief) = brief {
            // The first host process prints the errors of all host processes.
            let (recorded, tagged) = (brief.recorded, brief.tagged);
            let _ = agree(processes, brief.open()).and_then(|run| {
                predict(&RequestedRun { run, recorded, tagged, further: FurtherRuns::None, outputs: None }, processes)
            });
        }
        return Ok(Exit::Predicted.code());
    }
    let todo = parsed.and_then(|parsed| begin(parsed, processes.count() > 1));
    processes.broadcast(|| match &todo {
        Ok(NextAction::Run(_, brief)) => brief.clone(),
        _ => None,
    });
    match todo? {
        NextAction::Run(asked, _) => {
            // The other host processes read the facts of their own host, such as processor files, from their own disks.
            agree(processes, Ok::<(), Failure>(()))?;
            predict(&asked, processes)
        }
        NextAction::Ended(code) => Ok(code),
    }
}

/// Runs the C or C++ compiler and returns the exit code of the compiler.
fn compile(language: Language, arguments: &[OsString]) -> Result<u8, Failure> {
    match cc::request(language, arguments)? {
        WrapperRequest::Show(text) => output::print(&text).map(|()| 0),
        WrapperRequest::Run(compiler, hint) => {
            let code = cc::run(compiler)?;
            if let Some(hint) = hint.filter(|_| code != 0) {
                let _ = writeln!(std::io::stderr(), "mcpsim: {hint}");
            }
            Ok(u8::try_from(code).unwrap_or(u8::MAX))
        }
    }
}

/// Run that the user requests, with the destinations of the run's results.
struct RequestedRun {
    run: Resolved,
    recorded: bool,
    /// True if each output line of a rank is prefixed with the number of the rank.
    tagged: bool,
    /// Further simulation runs that the options require.
    further: FurtherRuns,
    /// Destinations of the run's results; `None` except on the first host process.
    outputs: Option<Outputs>,
}

/// Simulation runs that options require in addition to the requested run.
#[derive(Clone, Copy, Debug)]
enum FurtherRuns {
    None,
    /// Simulation runs with other seeds. The number of `Seeds` is the total number of runs.
    Seeds(u32),
    /// A simulation run on a machine with an ideal network.
    IdealNetwork,
    /// Simulation runs with other algorithms of MPI collectives.
    OtherAlgorithms,
    /// Simulation runs on the machines of what-if questions.
    WhatIf,
}

/// Work that remains for a command after mcpsim has read the command's arguments and input files.
enum NextAction {
    /// Simulate the requested run. The message, if any, sends the run's description to the other host processes.
    Run(Box<RequestedRun>, Option<RunMessage>),
    /// No work remains; the exit code of the command is known.
    Ended(u8),
}

/// Executes a command that needs only one process, or reads the input of a run. With `several` host processes, the
/// first host process also prepares the message to the other host processes.
fn begin(parsed: Parsed, several: bool) -> Result<NextAction, Failure> {
    let alone = |what: &str| match several {
        true => Err(Failure::bad_input(format!("{what} works in one process: start it without an MPI launcher"))),
        false => Ok(()),
    };
    let done = |()| NextAction::Ended(Exit::Predicted.code());
    let args = match parsed {
        Parsed::Help(text) => return output::print(&text).map(done),
        Parsed::Compile(..) | Parsed::Measure(_) => return Ok(done(())),
        Parsed::Alone(command) => {
            alone(&format!("mcpsim {}", command.name))?;
            return (command.act)().map(NextAction::Ended);
        }
        Parsed::Run(args) => args,
    };
    if !args.direct {
        args.tell_of_hidden();
    }
    if let (false, Some(option)) = (args.quiet || args.direct, &args.passed_on) {
        let name = args.app.display();
        let _ = writeln!(
            std::io::stderr(),
            "note: {option} stands after {name} and goes to it: options of mcpsim stand before the program (-- hides this)"
        );
    }
    let run = args.request()?.resolve()?;
    if args.show_config {
        return output::print(&run.to_toml()?).map(done);
    }
    let quiet = args.quiet || args.direct;
    let outputs = Outputs::new(args.json.as_deref(), args.profile.as_deref(), quiet)?
        .with_timeline(args.timeline.as_deref())?
        .and_trace(args.record.as_deref())?
        .and_histogram(args.histogram.as_deref())?
        .and_task_logs(args.task_logs.as_deref())?
        .with_tables(args.report.clone().unwrap_or_default());
    if args.task_logs.is_some() {
        alone("--task-logs")?;
    }
    if args.check {
        alone("--check")?;
    }
    if args.repeats.is_some() {
        alone("--repeats")?;
    }
    if args.efficiencies {
        alone("--efficiencies")?;
    }
    if args.other_algorithms {
        alone("--other-algorithms")?;
    }
    if args.what_if.is_some() {
        alone("--what-if exact")?;
    }
    outputs.check_apart()?;
    let has_fragments = matches!(&run.application, Application::Described(app) if app.has_fragments());
    let recorded = args.record.is_some() || outputs.have_archive() && !has_fragments;
    let brief = several.then(|| RunMessage::of(&run, recorded, args.tag_output)).transpose()?;
    let asked = RequestedRun {
        run,
        recorded,
        tagged: args.tag_output,
        further: match args.repeats.filter(|runs| *runs > 1) {
            Some(runs) => FurtherRuns::Seeds(runs),
            None if args.efficiencies => FurtherRuns::IdealNetwork,
            None if args.other_algorithms => FurtherRuns::OtherAlgorithms,
            None if args.what_if.is_some() => FurtherRuns::WhatIf,
            None => FurtherRuns::None,
        },
        outputs: Some(outputs),
    };
    Ok(NextAction::Run(Box::new(asked), brief))
}

fn predict(asked: &RequestedRun, processes: &Processes) -> Result<u8, Failure> {
    let RequestedRun { run, recorded, tagged, further, outputs } = asked;
    let quiet = outputs.as_ref().is_none_or(Outputs::are_quiet);
    let progress = Arc::new(Progress::default());
    let cancelled = Arc::clone(&progress);
    let _listening = agree(processes, interrupt::listen(processes.is_first(), move || cancelled.cancel()))?;
    let line = ProgressLine::start(&progress, quiet);
    let (scale, doubts) = host_cores::scale(run, processes);
    let scaled = scale.as_ref().map(|scale| run.clone().with_scale_factor(scale.middle()));
    let run = scaled.as_ref().unwrap_or(run);
    let stopwatch = Stopwatch::start();
    let is_real = matches!(run.application, Application::Real(_));
    if is_real {
        process::on_fatal(fatal);
    }
    let watch = is_real.then(|| Watch::start(&progress));
    let stdout_taken = outputs.as_ref().is_some_and(Outputs::take_stdout);
    let mut printer = Printer::new(*tagged, stdout_taken, processes.is_first());
    if outputs.as_ref().is_some_and(|outputs| !outputs.have_files()) {
        printer = printer.cancelling(Arc::clone(&progress));
    }
    let printer = Arc::new(printer);
    let console: Arc<dyn Console> = Arc::<Printer>::clone(&printer);
    let conduct = Conduct { progress: &progress, processes, recorded: *recorded, console: &console };
    let ran = match further {
        FurtherRuns::None => match scale.clone().filter(|_| processes.count() == 1) {
            Some(scale) => run.scaled_in(conduct, scale),
            None => run.run_in(conduct),
        },
        FurtherRuns::Seeds(count) => run.repeat_in(conduct, *count),
        FurtherRuns::IdealNetwork => run.efficiencies_in(conduct),
        FurtherRuns::OtherAlgorithms => run.other_algorithms_in(conduct),
        FurtherRuns::WhatIf => run.what_if_in(conduct),
    };
    drop(line);
    drop(watch);
    if let (Err(PredictError::Simulation(RunError::Interrupted { clock })), true) = (&ran, printer.has_cancelled()) {
        let text = format!("stdout was closed at virtual time {clock}, and no result goes to a file: ended there");
        return Err(Failure { exit: Exit::Interrupted, text });
    }
    if let (Err(error), Some(outputs)) = (&ran, outputs) {
        outputs.write_end(error, Exit::without_prediction(error))?;
    }
    let (Some(prediction), Some(outputs)) = (ran?, outputs) else { return Ok(Exit::Predicted.code()) };
    let Prediction { mut outcome, trace, exit_code, mut notes } = prediction;
    stopwatch.stop(&mut outcome);
    notes.extend(doubts);
    if let Some(scale) = scale {
        outcome.host.scale.get_or_insert(scale);
    }
    notes.extend(fewer_workers(run.settings.workers, &outcome));
    // If `--quiet` suppresses the prediction, the notes explain a nonzero exit code.
    if !quiet || exit_code != 0 {
        notes.iter().for_each(|note| _ = writeln!(std::io::stderr(), "note: {note}"));
    }
    outputs.write(&outcome, trace.as_deref())?;
    Ok(exit_code)
}

/// Ends the host process after a fatal error. If a signal caused the error, the exit code depends on the signal.
fn fatal(message: &str, signal: Option<c_int>) -> ! {
    complain(message);
    interrupt::end_at_once(signal.map_or(Exit::ProgramFailed, Exit::crashed).code().into())
}

/// Returns a note if the run used fewer worker threads than the user requested.
fn fewer_workers(asked: Option<u32>, outcome: &Outcome) -> Option<String> {
    let had = outcome.host.workers / outcome.host.processes.max(1);
    let asked = asked.filter(|&asked| asked > had)?;
    let nodes = outcome.nct[0];
    let why = if outcome.host.workers + outcome.host.processes > nodes {
        format!("a worker has whole nodes, and there are {nodes}")
    } else {
        "a latency or the handshake of inter_node is 0, so nodes cannot be simulated apart".to_owned()
    };
    Some(format!("{had} instead of {asked} workers: {why}"))
}

/// Prints an error to stderr. No other function prints errors. Errors of writing to a closed stderr are ignored.
///
/// A long line of the error, such as a quotation from a file, is truncated.
fn complain(text: &str) {
    const LONGEST: usize = 4000;
    let cut = |line: &str| match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    };
    let lines: Vec<String> = text.split('\n').map(cut).collect();
    // The error message is written by one system call, so the lines of several host processes on one terminal do not
    // mix.
    let told = format!("error: {}\n", lines.join("\n"));
    let _ = std::io::stderr().write_all(told.as_bytes());
}
