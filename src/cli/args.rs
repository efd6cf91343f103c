//! Arguments of the command line: their syntax, and the texts that `--help` prints.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser, ValueEnum};

use crate::cc::Language;
use crate::config::{Override, did_you_mean};
use crate::process::Checks;
use crate::report::ReportTables;
use crate::run::{COMMAND_LINE, Details, RunRequest, Shipped, is_program, jobs_text};

use super::commands::{Parsed, SUBCOMMANDS, command, read_run};
use super::exit::{self, Exit, Failure};
use super::launcher::{self, Launch};
use super::setting_args::SettingArgs;
use super::sweep;

/// Commands whose arguments are passed to a compiler.
const COMPILERS: [(&str, Language); 2] = [("cc", Language::C), ("cxx", Language::Cxx)];

/// Answers to what-if questions in addition to the first-order savings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum WhatIfAnswers {
    /// Simulations of the changed machines.
    Exact,
}

const EXAMPLES: &str = include_str!("args/examples.txt");

/// Predicts how long an MPI program would take on a multi-core cluster, and why
#[derive(Clone, Debug, Parser)]
#[command(
    name = "mcpsim",
    version,
    override_usage = "mcpsim [run] [OPTIONS] APP [-- ARGS]\n       mcpsim COMMAND …",
    term_width = 80,
    arg_required_else_help = true,
    after_long_help = EXAMPLES
)]
pub(crate) struct RunArgs {
    /// The application: a TOML description, a program of mcpsim cc, Open MPI 4
    /// or MPICH, a script, a trace, or a name from mcpsim list
    #[arg(value_name = "APP", required_unless_present = "job", default_value = COMMAND_LINE, hide_default_value = true)]
    pub app: PathBuf,

    /// Arguments of a real program; a described application has none (use --set)
    #[arg(value_name = "ARGS", allow_hyphen_values = true, hide = true)]
    pub arguments: Vec<OsString>,

    /// The settings of a run.
    #[command(flatten)]
    pub settings: SettingArgs,
    /// Run an application as one of several jobs, such as a.toml:ranks=64:nodes=4; repeatable
    #[arg(long, value_name = "JOB", conflicts_with = "app", hide_short_help = true, help_heading = "Ranks")]
    pub job: Vec<String>,

    /// Override a key of the platform, the application or the run; repeatable
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Run")]
    pub set: Vec<String>,

    /// Run N times (in a sweep, each point N times), with consecutive seeds from --seed on
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000), help_heading = "Run")]
    pub repeats: Option<u32>,

    /// Write the whole outcome as JSON (- is stdout)
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub json: Option<OsString>,

    /// Write the message profile as CSV: messages by size class and level (- is stdout)
    #[arg(long, value_name = "FILE.csv", help_heading = "Results")]
    pub profile: Option<OsString>,

    /// Record the operations of all ranks as a trace, which mcpsim FILE.trace replays
    #[arg(long, value_name = "FILE.trace", help_heading = "Results")]
    pub record: Option<OsString>,

    /// List every rank in the JSON outcome, even with more than 65,536 ranks
    #[arg(long, help_heading = "Results")]
    pub per_rank: bool,

    /// Profile MPI calls by function: count, bytes and times, per rank and in total
    #[arg(long, help_heading = "Results")]
    pub functions: bool,

    /// Profile MPI calls by source position as well as by function
    #[arg(long, help_heading = "Results")]
    pub sites: bool,

    /// Write message counts by exact size, one count:size per line (- is stdout; .csv: also kind, level)
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub histogram: Option<OsString>,

    /// Print the POP efficiencies, which need one more simulation, on an ideal network
    #[arg(long, conflicts_with = "repeats", hide_short_help = true, help_heading = "Results")]
    pub efficiencies: bool,

    /// Simulate the longest collectives with other algorithms, and print the changes of the predicted time
    #[arg(long, conflicts_with_all = ["repeats", "efficiencies"], hide_short_help = true, help_heading = "Results")]
    pub other_algorithms: bool,

    /// Simulate the changed machines of the table "what if" as well, and print both savings
    #[arg(long, value_name = "exact", conflicts_with_all = ["repeats", "efficiencies", "other_algorithms"])]
    #[arg(help_heading = "Results")]
    pub what_if: Option<WhatIfAnswers>,

    /// Print the additional network latency that makes the run 1, 2 and 5 % longer
    #[arg(long, hide_short_help = true, help_heading = "Results")]
    pub latency_tolerance: bool,

    /// Print the ranks and MPI calls on the critical path
    #[arg(long, help_heading = "Results")]
    pub critical_path: bool,

    /// Write the timeline of all ranks (.json: Perfetto, .paje: Paje, .otf2: OTF2)
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub timeline: Option<OsString>,

    /// Add the load of links, adapters and ranks over time to the JSON outcome; see mcpsim report
    #[arg(long, hide_short_help = true, help_heading = "Results")]
    pub load_over_time: bool,

    /// Write the fragment log of each process into DIR/prof_?????.json
    #[arg(long, value_name = "DIR", help_heading = "Results")]
    pub task_logs: Option<PathBuf>,

    /// Print how mcpsim's worker threads spent the host's time
    #[arg(long, help_heading = "Results")]
    pub host_profile: bool,

    /// Print the merged configuration as TOML and stop
    #[arg(long, help_heading = "Results")]
    pub show_config: bool,

    /// Tables to print: short (one screen), full, or names such as levels,counts
    #[arg(long, value_name = "TABLES", value_parser = ReportTables::parse, conflicts_with = "quiet", help_heading = "Results")]
    pub report: Option<ReportTables>,

    /// Print errors only
    #[arg(long, short, help_heading = "Results")]
    pub quiet: bool,

    /// List the requests, communicators and other MPI objects that the program has not freed at its end
    #[arg(long, help_heading = "Real programs")]
    pub check_leaks: bool,

    /// Check MPI calls for errors; the exit code is 1 if a call has an error
    #[arg(long, help_heading = "Real programs")]
    pub check: bool,

    /// Report ranks that write past a heap block or into a freed block; exit code 1 if the run continues
    #[arg(long, hide_short_help = true, help_heading = "Real programs")]
    pub check_heap: bool,

    /// Prefix each output line of the program with its rank
    #[arg(long, help_heading = "Real programs")]
    pub tag_output: bool,

    /// First argument of the simulated program that is spelled as an option of mcpsim.
    #[arg(skip)]
    pub passed_on: Option<String>,

    /// Text of a TOML application file that is equivalent to a launcher's command line.
    #[arg(skip)]
    pub text: Option<String>,

    /// The program was started by its own name: one rank; only its output and its exit code
    #[arg(long, hide = true)]
    pub direct: bool,
}

impl RunArgs {
    /// Prints a note if a file of the user has the name of a shipped file and is used instead of it, unless `--quiet`
    /// is set.
    pub fn tell_of_hidden(&self) {
        if !self.quiet && Shipped::Application.is_hidden_by(&self.app) {
            let name = self.app.display();
            let note =
                format!("note: the file {name} of this directory is used instead of the shipped application {name}");
            let _ = writeln!(std::io::stderr(), "{note}");
        }
    }

    /// Returns the request of a run that the arguments describe.
    pub fn request(&self) -> Result<RunRequest, Failure> {
        let set = self.set.iter().map(|text| Override::parse(text)).collect::<Result<Vec<_>, _>>()?;
        Ok(RunRequest {
            arguments: self.arguments.clone(),
            set,
            given: self.settings.given.clone(),
            details: Details {
                per_rank: self.per_rank,
                functions: self.functions || self.histogram.is_some(),
                sites: self.sites,
                critical_path: self.critical_path,
                latency_tolerance: self.latency_tolerance,
                timeline: self.timeline.is_some(),
                load_over_time: self.load_over_time,
                host_profile: self.host_profile,
                task_logs: self.task_logs.is_some(),
            },
            checks: Checks { leaks: self.check_leaks || self.check, calls: self.check, heap: self.check_heap },
            direct: self.direct,
            text: if self.job.is_empty() { self.text.clone() } else { Some(jobs_text(&self.job)?) },
            ..RunRequest::new(&self.app)
        })
    }
}

/// Parses the arguments of the command line. The first argument is the name of mcpsim's program file.
pub(super) fn parse(mut arguments: Vec<OsString>) -> Result<Parsed, Failure> {
    let name = arguments.first().and_then(|name| Path::new(name).file_name()?.to_str());
    if let Some(language) = name.and_then(Language::of_wrapper) {
        return Ok(Parsed::Compile(language, arguments.split_off(1)));
    }
    if let Some(error) = name.and_then(Language::none_of_wrapper) {
        return Err(Failure::bad_input(error.to_string()));
    }
    let mut launched = None;
    let launch = name.and_then(|name| launcher::read(name, &arguments[1..], |name| std::env::var(name).ok()));
    match launch.transpose()? {
        Some(Launch::Show(text)) => return Ok(Parsed::Help(text)),
        Some(Launch::Run(run)) => {
            exit::stand_for_program();
            let name = name.unwrap_or_default().to_owned();
            run.tell_ignored(&name);
            arguments = run.words;
            launched = run.text.map(|text| (name, text));
        }
        None => {}
    }
    let word = |at: usize| arguments.get(at).and_then(|argument| argument.to_str()).unwrap_or_default();
    let compiler = |word: &str| COMPILERS.into_iter().find(|(name, _)| *name == word).map(|(_, language)| language);
    match (word(1), compiler(word(1)), compiler(word(2))) {
        // All arguments of `mcpsim cc` and `mcpsim cxx` are passed to the compiler, including `--` and `--help`.
        (_, Some(language), _) => return Ok(Parsed::Compile(language, arguments.split_off(2))),
        ("help", _, Some(language)) => return Ok(Parsed::Compile(language, vec!["--help".into()])),
        ("validate", ..) if arguments.len() == 2 => {
            return Err(Failure::bad_input(
                "no validation case is given: expected mcpsim validate CASE, or --all; see mcpsim validate --help",
            ));
        }
        _ => {}
    }
    let passed_on = separate_programs_arguments(&mut arguments);
    let matches = match command().try_get_matches_from(arguments) {
        Ok(matches) => matches,
        Err(error) if error.exit_code() == 0 => return Ok(Parsed::Help(error.to_string())),
        Err(error) => return Err(usage(&error)),
    };
    match matches.subcommand() {
        Some((name, matches)) => {
            let row = SUBCOMMANDS.iter().find(|row| row.name == name);
            (row.expect("clap knows no others").read)(matches)
        }
        None => read_run(&matches),
    }
    .map(|parsed| match parsed {
        Parsed::Run(mut args) => {
            args.passed_on = passed_on;
            if let Some((name, text)) = launched {
                (args.app, args.text) = (name.into(), Some(text));
            }
            if args.direct {
                exit::stand_for_program();
            }
            Parsed::Run(args)
        }
        other => other,
    })
}

/// Inserts a `--` that separates the arguments of a real program, including its options, from the options of mcpsim.
/// Before the program's name, `-np` means `-n`, as in launchers. Returns the first option after the program's name that
/// is spelled like an option of mcpsim; `None` if the user typed `--`.
fn separate_programs_arguments(arguments: &mut Vec<OsString>) -> Option<String> {
    let (mut at, command) = match arguments.get(1).and_then(|word| word.to_str()) {
        Some("run") => (2, RunArgs::command()),
        Some("sweep") => (2, sweep::command()),
        Some(word) if SUBCOMMANDS.iter().any(|row| row.name == word) => return None,
        _ => (1, RunArgs::command()),
    };
    let takes_value = |argument: &str| {
        let mut options = command.get_arguments().filter(|option| option.get_action().takes_values());
        options.any(|option| {
            option.get_long().is_some_and(|long| argument.strip_prefix("--") == Some(long))
                || option
                    .get_short()
                    .is_some_and(|short| argument.strip_prefix('-') == Some(short.encode_utf8(&mut [0; 4])))
        })
    };
    while let Some(argument) = arguments.get(at) {
        match argument.to_str() {
            Some("--") => return None,
            Some("-np") => {
                arguments[at] = "-n".into();
                at += 2;
            }
            Some(option) if takes_value(option) => at += 2,
            Some(option) if option.starts_with('-') => at += 1,
            _ => {
                if is_program(Path::new(argument)) && arguments.get(at + 1).is_some_and(|next| next != "--") {
                    let own = arguments[at + 1..].iter().filter_map(|word| word.to_str());
                    // Short options, and switches such as --quiet, are also common in other programs.
                    let known =
                        |word: &&str| word.starts_with("--") && takes_value(word.split('=').next().unwrap_or(word));
                    let passed_on = own.clone().find(known).map(str::to_owned);
                    arguments.insert(at + 1, "--".into());
                    return passed_on;
                }
                return None;
            }
        }
    }
    None
}

/// Returns the error message of the argument parser clap without the prefix "error: ". If there are no arguments, the
/// message is the help text, which has no prefix.
pub(super) fn usage(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let missing = error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    // The help text of a run starts with a summary of mcpsim. The help texts of other commands list the command's
    // arguments in the usage line.
    let what = match text.contains("mcpsim [run]") {
        true => "no application is given: expected mcpsim [OPTIONS] APP",
        false => "the command needs an argument, as its usage shows",
    };
    let text = if missing { format!("{what}\n\n{text}") } else { text.to_owned() };
    Failure { exit: Exit::BadInput, text }
}

/// Rejects the name of an mcpsim command where the name of an application is expected. The name of a command is taken
/// for the application if options precede it.
pub(super) fn check_command(args: &RunArgs) -> Result<(), Failure> {
    let Some(name) = args.app.to_str().filter(|_| !args.app.exists()) else { return Ok(()) };
    match SUBCOMMANDS.iter().find(|row| row.name == name) {
        Some(row) if COMPILERS.iter().any(|(name, _)| *name == row.name) => {
            let why = "because all options belong to the compiler";
            Err(Failure::bad_input(format!("the command \"{name}\" must precede all options, {why}")))
        }
        Some(row) => {
            let usage = row.usage;
            let what = format!("the command \"{name}\" must precede the options: mcpsim {name} {usage}");
            Err(Failure::bad_input(what.trim_end()))
        }
        None if Shipped::Application.has(name) => Ok(()),
        None if name.contains(['.', '/']) => Ok(()),
        None => match did_you_mean(name, SUBCOMMANDS.iter().map(|row| row.name)) {
            hint if hint.is_empty() => Ok(()),
            hint => Err(Failure::bad_input(format!("{name}: no such file{hint}"))),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Shape;

    fn parsed(line: &str) -> Result<Parsed, Failure> {
        parse(std::iter::once("mcpsim").chain(line.split_whitespace()).map(OsString::from).collect())
    }

    fn run(line: &str) -> RunArgs {
        match parsed(line) {
            Ok(Parsed::Run(args)) => *args,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn run_may_be_left_out() {
        for line in
            ["--nct 4,2,2 app.toml", "run --nct 4,2,2 app.toml", "app.toml --nct=4,2,2", "--nct 4,2,2 -- app.toml"]
        {
            let args = run(line);
            assert_eq!(args.app, PathBuf::from("app.toml"), "{line}");
            assert_eq!(args.settings.given.nct, Some(Shape { nodes: 4, cmps: 2, cores: 2 }), "{line}");
        }
    }

    #[test]
    fn a_compilers_arguments_are_its_own() {
        for (line, language) in [
            ("mcpsim cc --help -o run a.c", Language::C),
            ("mcpsim cxx --help -o run a.c", Language::Cxx),
            ("/usr/bin/mpicc --help -o run a.c", Language::C),
            ("mpic++ --help -o run a.c", Language::Cxx),
            ("mcpsim-c++ --help -o run a.c", Language::Cxx),
        ] {
            match parse(line.split_whitespace().map(OsString::from).collect()) {
                Ok(Parsed::Compile(found, arguments)) => {
                    assert_eq!(found, language, "{line}");
                    assert_eq!(arguments, ["--help", "-o", "run", "a.c"], "{line}");
                }
                other => panic!("{line}: {other:?}"),
            }
        }
    }

    #[test]
    fn the_number_of_ranks_may_be_given_as_to_a_launcher() {
        for line in ["-n 8 app.toml", "-np 8 app.toml", "run -np 8 app.toml", "-n=8 app.toml"] {
            assert_eq!(run(line).settings.given.ranks, Some(8), "{line}");
        }
        assert_eq!(run("app.toml -- -np 8").arguments, ["-np", "8"]);
        assert!(matches!(parsed("sweep -np 8 app.toml"), Ok(Parsed::Alone(_))));
    }

    #[test]
    fn no_command_is_meant_by_the_name_of_a_file() {
        assert_eq!(run("jo.trace").app, PathBuf::from("jo.trace"));
        assert_eq!(run("./swep").app, PathBuf::from("./swep"));
    }

    #[test]
    fn help_fits_80_columns_and_shows_examples() {
        // `--help` of a compiler wrapper is passed to the compiler.
        let own = |name: &&str| !COMPILERS.iter().any(|(compiler, _)| compiler == name);
        for name in SUBCOMMANDS.iter().map(|row| row.name).filter(own) {
            let Ok(Parsed::Help(text)) = parsed(&format!("help {name}")) else { panic!("no help of {name}") };
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
        for (option, most) in [("-h", 142), ("--help", 271), ("help", 271), ("help sweep", 180)] {
            let Ok(Parsed::Help(text)) = parsed(option) else { panic!("no help") };
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert!(text.lines().count() <= most, "{text}");
            assert_eq!(text.contains("Examples:"), option != "-h", "{text}");
            assert_eq!(text.contains(" more options, examples and exit codes."), option == "-h", "{text}");
        }
    }

    #[test]
    fn wrong_usage_says_what_and_exits_with_2() {
        for (line, start) in [
            ("", "no application is given: expected mcpsim [OPTIONS] APP\n\nPredicts how long"),
            (
                "--nct 4,2 a.toml",
                "invalid value '4,2' for '--nct <N,C,T>': expected three whole numbers above zero such as 4,2,2; found",
            ),
            (
                "--nct 0,1,1 a.toml",
                "invalid value '0,1,1' for '--nct <N,C,T>': expected three whole numbers above zero",
            ),
            ("--ranks 0 a.toml", "invalid value '0' for '--ranks <P>': expected a whole number above zero; found 0"),
            (
                "--ranks 4294967296 a.toml",
                "invalid value '4294967296' for '--ranks <P>': expected a whole number up to 4294967295; found 4294967296",
            ),
            (
                "--workers x a.toml",
                "invalid value 'x' for '--workers <W>': expected a whole number above zero; found \"x\"",
            ),
            (
                "--model logq a.toml",
                "invalid value 'logq' for '--model <MODEL>': expected mcpsim, two-level, hockney, logp, loggp or xu-hwang",
            ),
            (
                "--seed -1 a.toml",
                "invalid value '-1' for '--seed <S>': expected a whole number that is not negative; found -1",
            ),
            (
                "--seed abc a.toml",
                "invalid value 'abc' for '--seed <S>': expected a whole number that is not negative; found \"abc\"",
            ),
            ("--max-time 7 a.toml", "invalid value '7' for '--max-time <TIME>': expected a time such as \"1.2 us\""),
            (
                "--intervals 4KiB,1KiB a.toml",
                "invalid value '4KiB,1KiB' for '--intervals <SIZES>': expected sizes in increasing order",
            ),
            (
                "--intervals x a.toml",
                "invalid value 'x' for '--intervals <SIZES>': expected a size such as \"64 KiB\" or 65536",
            ),
            ("swep", "swep: no such file, did you mean \"sweep\"?"),
            ("trace", "the command needs an argument, as its usage shows\n\nRecords runs"),
            ("models", "the command needs an argument, as its usage shows\n\nFits"),
            ("validate", "no validation case is given: expected mcpsim validate CASE, or --all"),
            ("--colour a.toml", "unexpected argument '--colour' found"),
            (
                "--quiet cc prog.c",
                "the command \"cc\" must precede all options, because all options belong to the \
              compiler",
            ),
            ("--quiet measure", "the command \"measure\" must precede the options: mcpsim measure [OPTIONS] -o FILE"),
            ("--quiet cluster", "the command \"cluster\" must precede the options: mcpsim cluster [OPTIONS] FILE.nc"),
            ("--quiet validate", "the command \"validate\" must precede the options: mcpsim validate [OPTIONS] CASE"),
            ("--quiet run app.toml", "the command \"run\" must precede the options"),
            ("--quiet sweep", "the command \"sweep\" must precede the options: mcpsim sweep [OPTIONS] APP"),
        ] {
            let failure = parsed(line).unwrap_err();
            assert!(failure.text.starts_with(start), "{line}: {}", failure.text);
            assert_eq!(failure.exit, Exit::BadInput, "{line}");
        }
    }
}
