//! Table of mcpsim's subcommands. Each row of the table has clap's parser, the texts of the help, completions and man
//! pages, and the function that executes the subcommand.
//!
//! A new subcommand needs a file with its arguments, and a row in this table of subcommands.

use std::ffi::OsString;
use std::fmt;

use clap::{Arg, ArgMatches, Command, CommandFactory, FromArgMatches};

use crate::cc::Language;
use crate::run::list;

use super::args::{RunArgs, check_command, usage};
use super::cluster::{self, ClusterArgs};
use super::collectives::{self, CollectivesArgs};
use super::doctor::{self, DoctorArgs};
use super::exit::{Exit, Failure};
use super::init::{self, InitArgs};
use super::manual::{CompletionArgs, ManualArgs};
use super::measure::MeasureArgs;
use super::models::{self, ModelsArgs};
use super::place::{self, PlaceArgs};
use super::platform::{self, PlatformArgs};
use super::report::{self, ReportArgs};
use super::revisions::{self, RevisionsArgs};
use super::schema::{self, SchemaArgs};
use super::sweep::{self, SweepArgs};
use super::tasks::{self, TasksArgs};
use super::traces::{self, TraceArgs};
use super::validate::{self, ValidateArgs};

/// Command of mcpsim whose arguments were parsed.
#[derive(Debug)]
pub(super) enum Parsed {
    /// Text, such as a help text, to print on stdout.
    Help(String),
    /// Simulation run of an application.
    Run(Box<RunArgs>),
    /// Measurement of the machine on which mcpsim runs.
    Measure(Box<MeasureArgs>),
    /// C or C++ compiler to call, with its arguments.
    Compile(Language, Vec<OsString>),
    /// Command that needs only one host process.
    Alone(Alone),
}

/// Command that needs only one host process: the command's name, and the function that executes the command and returns
/// the exit code.
pub(super) struct Alone {
    pub name: &'static str,
    pub act: Box<dyn FnOnce() -> Result<u8, Failure>>,
}

impl fmt::Debug for Alone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "mcpsim {}", self.name)
    }
}

/// Subcommand of mcpsim.
pub(super) struct Subcommand {
    /// Name of the subcommand, which precedes the subcommand's options on the command line.
    pub name: &'static str,
    /// Usage text after the subcommand's name. The usage text is printed if a user types options before the name.
    pub usage: &'static str,
    command: fn() -> Command,
    /// Converts the arguments that clap has matched to a parsed command of mcpsim.
    pub read: fn(&ArgMatches) -> Result<Parsed, Failure>,
}

/// All subcommands of mcpsim, in the order of `--help`.
pub(super) const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand { name: "run", usage: "[OPTIONS] APP", command: run, read: |matches| read_run(matches) },
    Subcommand {
        name: "sweep",
        usage: "[OPTIONS] APP",
        command: sweep::command,
        read: |matches| {
            let args = understood(SweepArgs::read(matches)?)?;
            Ok(alone("sweep", move || sweep::sweep(&args)))
        },
    },
    Subcommand {
        name: "validate",
        usage: "[OPTIONS] CASE",
        command: ValidateArgs::command,
        read: |matches| {
            let args: ValidateArgs = args(matches)?;
            Ok(alone("validate", move || validate::validate(&args)))
        },
    },
    Subcommand {
        name: "report",
        usage: "[OPTIONS] RUN.json",
        command: ReportArgs::command,
        read: |matches| {
            let args: ReportArgs = args(matches)?;
            Ok(alone("report", move || report::report(&args).map(done)))
        },
    },
    Subcommand {
        name: "revisions",
        usage: "--run CMD REV|A..B",
        command: RevisionsArgs::command,
        read: |matches| {
            let args: RevisionsArgs = args(matches)?;
            Ok(alone("revisions", move || revisions::revisions(&args)))
        },
    },
    Subcommand {
        name: "trace",
        usage: "info FILE",
        command: TraceArgs::command,
        read: |matches| {
            let args: TraceArgs = args(matches)?;
            Ok(alone("trace", move || traces::show(args).map(done)))
        },
    },
    Subcommand {
        name: "tasks",
        usage: "[OPTIONS] RUN.json",
        command: TasksArgs::command,
        read: |matches| {
            let args: TasksArgs = args(matches)?;
            Ok(alone("tasks", move || tasks::tasks(&args).map(done)))
        },
    },
    Subcommand {
        name: "measure",
        usage: "[OPTIONS] -o FILE",
        command: MeasureArgs::command,
        read: |matches| Ok(Parsed::Measure(Box::new(args(matches)?))),
    },
    Subcommand {
        name: "cluster",
        usage: "[OPTIONS] FILE.nc",
        command: ClusterArgs::command,
        read: |matches| {
            let args: ClusterArgs = args(matches)?;
            Ok(alone("cluster", move || cluster::cluster(&args).map(done)))
        },
    },
    Subcommand {
        name: "place",
        usage: "[OPTIONS] APP",
        command: PlaceArgs::command,
        read: |matches| {
            let args: PlaceArgs = args(matches)?;
            Ok(alone("place", move || place::place(&args).map(done)))
        },
    },
    Subcommand {
        name: "platform",
        usage: "show FILE|NAME",
        command: PlatformArgs::command,
        read: |matches| {
            let args: PlatformArgs = args(matches)?;
            Ok(alone("platform", move || platform::platform(&args).map(done)))
        },
    },
    Subcommand {
        name: "models",
        usage: "[OPTIONS] PLATFORM|SAMPLES.csv",
        command: ModelsArgs::command,
        read: |matches| {
            let args: ModelsArgs = args(matches)?;
            Ok(alone("models", move || models::models(&args).map(done)))
        },
    },
    Subcommand {
        name: "collectives",
        usage: "[OPTIONS]",
        command: CollectivesArgs::command,
        read: |matches| {
            let args: CollectivesArgs = args(matches)?;
            Ok(alone("collectives", move || collectives::collectives(&args).map(done)))
        },
    },
    Subcommand {
        name: "list",
        usage: "",
        command: || Command::new("list").about("Lists the machines and applications that come with mcpsim"),
        read: |_| Ok(Parsed::Help(list())),
    },
    Subcommand {
        name: "init",
        usage: "machine|app|study",
        command: InitArgs::command,
        read: |matches| {
            let args: InitArgs = args(matches)?;
            Ok(alone("init", move || init::init(&args).map(done)))
        },
    },
    Subcommand {
        name: "schema",
        usage: "platform|app|study|case|outcome",
        command: SchemaArgs::command,
        read: |matches| {
            let args: SchemaArgs = args(matches)?;
            Ok(alone("schema", move || schema::schema(&args).map(done)))
        },
    },
    Subcommand {
        name: "doctor",
        usage: "",
        command: DoctorArgs::command,
        read: |matches| {
            let args: DoctorArgs = args(matches)?;
            Ok(alone("doctor", move || doctor::doctor(&args).map(done)))
        },
    },
    Subcommand {
        name: "cc",
        usage: "",
        command: || compiler("Compiles and links MPI programs in C, as mpicc does"),
        read: |matches| Ok(Parsed::Compile(Language::C, compilers(matches))),
    },
    Subcommand {
        name: "cxx",
        usage: "",
        command: || compiler("Compiles and links MPI programs in C++, as mpicxx does"),
        read: |matches| Ok(Parsed::Compile(Language::Cxx, compilers(matches))),
    },
    Subcommand {
        name: "completions",
        usage: "SHELL",
        command: CompletionArgs::command,
        read: |matches| {
            let args: CompletionArgs = args(matches)?;
            Ok(alone("completions", move || args.print().map(done)))
        },
    },
    Subcommand {
        name: "man",
        usage: "[DIR]",
        command: ManualArgs::command,
        read: |matches| {
            let args: ManualArgs = args(matches)?;
            Ok(alone("man", move || args.write().map(done)))
        },
    },
];

/// Returns clap's description of the whole command line: the arguments of a simulation run, and the subcommands.
pub(super) fn command() -> Command {
    let own = RunArgs::command().args_conflicts_with_subcommands(true).subcommand_negates_reqs(true);
    let hidden = own.get_arguments().filter(|arg| arg.is_hide_short_help_set()).count();
    let own = own.after_help(format!("--help has {hidden} more options, examples and exit codes."));
    SUBCOMMANDS.iter().fold(own, |all, row| all.subcommand((row.command)().name(row.name).term_width(80)))
}

/// Returns the parsed command for the arguments of a simulation run.
pub(super) fn read_run(matches: &ArgMatches) -> Result<Parsed, Failure> {
    let args: RunArgs = args(matches)?;
    check_command(&args)?;
    Ok(Parsed::Run(Box::new(args)))
}

fn run() -> Command {
    RunArgs::command().about("Predicts an application, a program or a trace; default command").version(None)
}

fn compiler(about: &'static str) -> Command {
    let arguments = Arg::new("arguments").value_name("ARGS").help("Arguments of the compiler").num_args(0..);
    Command::new("cc")
        .about(about)
        .disable_help_flag(true)
        .arg(arguments.value_parser(clap::value_parser!(OsString)).allow_hyphen_values(true).trailing_var_arg(true))
}

fn compilers(matches: &ArgMatches) -> Vec<OsString> {
    matches.get_many::<OsString>("arguments").into_iter().flatten().cloned().collect()
}

fn args<T: FromArgMatches>(matches: &ArgMatches) -> Result<T, Failure> {
    understood(T::from_arg_matches(matches))
}

fn understood<T>(args: Result<T, clap::Error>) -> Result<T, Failure> {
    args.map_err(|error| usage(&error))
}

fn alone(name: &'static str, act: impl FnOnce() -> Result<u8, Failure> + 'static) -> Parsed {
    Parsed::Alone(Alone { name, act: Box::new(act) })
}

fn done((): ()) -> u8 {
    Exit::Predicted.code()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_are_sound() {
        command().debug_assert();
    }

    #[test]
    fn every_subcommand_says_what_it_does() {
        let silent = |row: &&Subcommand| (row.command)().get_about().is_none();
        assert_eq!(SUBCOMMANDS.iter().find(silent).map(|row| row.name), None);
    }
}
