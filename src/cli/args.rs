//! The arguments: what can be typed, and what `--help` teaches.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Command, CommandFactory, FromArgMatches, Parser};

use crate::cc::Language;
use crate::config::did_you_mean;
use crate::platform::Shape;
use crate::process::ComputeMode;
use crate::process::HostClock;
use crate::profile::Intervals;
use crate::units::{Bytes, SimSpan};

use super::cluster::ClusterArgs;
use super::exit::{Exit, Failure};
use super::measure::MeasureArgs;
use super::report::ReportArgs;
use super::shipped::{self, Shipped};
use super::sweep::{self, SweepArgs};
use super::traces::{self, Asked, TraceArgs};
use super::validate::ValidateArgs;
use super::values::{Model, parse_clock, parse_compute, parse_intervals, parse_stack, parse_whole};

/// All that may stand before the options.
const COMMANDS: [&str; 10] = ["run", "cc", "cxx", "sweep", "report", "trace", "validate", "measure", "cluster", "list"];

/// The commands whose arguments are a compiler's.
const COMPILERS: [(&str, Language); 2] = [("cc", Language::C), ("cxx", Language::Cxx)];

const EXAMPLES: &str = "\
Commands (each has its own --help; cc and cxx take the compiler's options):
  [run] APP   predict an application, a program or a trace: this help
  cc, cxx     compile and link MPI programs in C and C++, as mpicc does
  sweep       predict an application with many settings
  report      draw figures of exported outcomes and studies
  trace       tell what is in a trace
  validate    compare predictions with measured runs
  measure     measure a machine, and write its platform file
  cluster     find which pairs of ranks are alike, in matrices of their times
  list        list the machines and applications that come with mcpsim

Examples:
  Predict a program on the default machine, then on 4 nodes of 2 CMPs of 2 cores
    mcpsim jacobi3d
    mcpsim --nct 4,2,2 workloads/jacobi3d.toml
  A machine of your own, half of its cores used, ranks dealt out node by node
    mcpsim --platform my.toml --ranks 8 --placement cyclic app.toml
  What would a faster network buy? What would a larger problem take?
    mcpsim --set platform.inter_node.latency=1us app.toml
    mcpsim --set app.n=1024 app.toml
  Everything about the run for a script, and the message profile for a plot
    mcpsim --quiet --json out.json --profile out.csv app.toml
  Keep the merged configuration, and run it again as it was
    mcpsim --nct 64,2,16 --show-config app.toml > whole.toml
    mcpsim whole.toml
  Many settings, and figures of what they predict (see mcpsim sweep --help)
    mcpsim sweep --vary cores=16 app.toml
    mcpsim report app.study --figures figures

Exit codes: 0 predicted, 1 the program failed, 2 bad input or usage, 3 deadlock,
4 the program crashed, 70 a bug in mcpsim, 130 interrupted.";

/// Predicts how long an MPI program would take on a multi-core cluster, and why
#[derive(Clone, Debug, Parser)]
#[command(
    name = "mcpsim",
    version,
    override_usage = "mcpsim [run] [OPTIONS] APP [-- ARGS]",
    term_width = 80,
    arg_required_else_help = true,
    after_help = "See --help for examples and exit codes.",
    after_long_help = EXAMPLES
)]
pub(super) struct RunArgs {
    /// The application: a TOML file that says what ranks do, a program that
    /// mcpsim cc made, a trace, or a name that mcpsim list shows
    #[arg(value_name = "APP")]
    pub app: PathBuf,

    /// Arguments of a real program; a described application takes none (use --set)
    #[arg(value_name = "ARGS", allow_hyphen_values = true, hide = true)]
    pub arguments: Vec<OsString>,

    /// Nodes, CMPs (sockets) a node, cores a CMP
    #[arg(long, value_name = "N,C,T", help_heading = "Machine")]
    pub nct: Option<Shape>,

    /// The target machine: a file, or a name that mcpsim list shows
    #[arg(long, value_name = "FILE|NAME", help_heading = "Machine")]
    pub platform: Option<PathBuf>,

    /// Three levels, or the two-level baseline (default: mcpsim)
    #[arg(long, value_name = "mcpsim|bigsim", value_parser = |text: &str| text.parse::<Model>(), help_heading = "Machine")]
    pub model: Option<Model>,

    /// Target ranks (default: one a core)
    #[arg(long, value_name = "P", allow_negative_numbers = true, value_parser = |text: &str| parse_whole::<u32>(text, 1), help_heading = "Ranks")]
    pub ranks: Option<u32>,

    /// Allow several ranks on a core
    #[arg(long, help_heading = "Ranks")]
    pub oversubscribe: bool,

    /// Rank to core: block, cyclic, or a file of one core a line (default: block)
    #[arg(long, value_name = "block|cyclic|FILE", help_heading = "Ranks")]
    pub placement: Option<PathBuf>,

    /// Override a key of platform, app or run; may be repeated
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Run")]
    pub set: Vec<String>,

    /// Seed of every random draw (default: 1)
    #[arg(long, value_name = "S", allow_negative_numbers = true, value_parser = |text: &str| parse_whole::<u64>(text, 0), help_heading = "Run")]
    pub seed: Option<u64>,

    /// Host threads (default: as many as pay off)
    #[arg(long, value_name = "W", allow_negative_numbers = true, value_parser = |text: &str| parse_whole::<u32>(text, 1), help_heading = "Run")]
    pub workers: Option<u32>,

    /// End at the call when a rank's clock has passed this, such as "10 s"
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Run")]
    pub max_time: Option<SimSpan>,

    /// End after this many events
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = |text: &str| parse_whole::<u64>(text, 1), help_heading = "Run")]
    pub max_events: Option<u64>,

    /// End when loops take a rank this many iterations without communication
    #[arg(long = "max-iterations", alias = "max-turns", value_name = "N", allow_negative_numbers = true, value_parser = |text: &str| parse_whole::<u64>(text, 1), help_heading = "Run")]
    pub max_turns: Option<u64>,

    /// Write the whole outcome as JSON (- is stdout)
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub json: Option<OsString>,

    /// Write the message profile as CSV (- is stdout)
    #[arg(long, value_name = "FILE.csv", help_heading = "Results")]
    pub profile: Option<OsString>,

    /// Record what ranks do, to be replayed: mcpsim FILE.trace
    #[arg(long, value_name = "FILE.trace", help_heading = "Results")]
    pub record: Option<OsString>,

    /// Bounds of the profile's message sizes, such as 256,4KiB,64KiB
    #[arg(long, value_name = "SIZES", value_parser = parse_intervals, help_heading = "Results")]
    pub intervals: Option<Intervals>,

    /// Count messages between each pair of ranks
    #[arg(long, help_heading = "Results")]
    pub pairs: bool,

    /// List every rank in the outcome even above 65,536 ranks
    #[arg(long, help_heading = "Results")]
    pub per_rank: bool,

    /// Profile calls by function: how many, bytes, times, per rank and in total
    #[arg(long, help_heading = "Results")]
    pub functions: bool,

    /// Write how many messages of each exact size were sent, count:size a line (- is stdout)
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub histogram: Option<OsString>,

    /// Tell the critical path's ranks and calls
    #[arg(long, help_heading = "Results")]
    pub critical_path: bool,

    /// Write what ranks did over time (.json: Perfetto, .paje: Paje)
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub timeline: Option<OsString>,

    /// Say what workers did with the host's time
    #[arg(long, help_heading = "Results")]
    pub host_profile: bool,

    /// Print the merged configuration as TOML and stop
    #[arg(long, help_heading = "Results")]
    pub show_config: bool,

    /// Print errors only
    #[arg(long, short, help_heading = "Results")]
    pub quiet: bool,

    /// What its own code costs: measure (default), skip, or a time a block
    #[arg(long, value_name = "MODE", value_parser = parse_compute, help_heading = "Real programs")]
    pub compute: Option<ComputeMode>,

    /// What measures it: cpu (default) or wall
    #[arg(long, value_name = "CLOCK", value_parser = parse_clock, help_heading = "Real programs")]
    pub clock: Option<HostClock>,

    /// Stack of each rank (default: 8 MiB)
    #[arg(long, value_name = "SIZE", value_parser = parse_stack, help_heading = "Real programs")]
    pub stack_size: Option<Bytes>,

    /// List what ranks have not freed at their end
    #[arg(long, help_heading = "Real programs")]
    pub check_leaks: bool,

    /// Prefix what ranks print by their number
    #[arg(long, help_heading = "Real programs")]
    pub tag_output: bool,

    /// A program that was started by its own name: one rank, its output and its exit code only
    #[arg(long, hide = true)]
    pub direct: bool,
}

/// What the arguments ask for.
#[derive(Debug)]
pub(super) enum Parsed {
    /// This text on stdout.
    Help(String),
    /// A run.
    Run(Box<RunArgs>),
    /// What is in a trace.
    Trace(TraceArgs),
    /// A study.
    Sweep(Box<SweepArgs>),
    /// A report of what was exported.
    Report(ReportArgs),
    /// Compare with measured runs.
    Validate(Box<ValidateArgs>),
    /// Measure the machine.
    Measure(Box<MeasureArgs>),
    /// Cluster pairs.
    Cluster(Box<ClusterArgs>),
    /// The compiler, with these arguments.
    Compile(Language, Vec<OsString>),
}

/// Reads the arguments, the first of which is the program's name.
pub(super) fn parse(mut arguments: Vec<OsString>) -> Result<Parsed, Failure> {
    let name = arguments.first().and_then(|name| Path::new(name).file_name()?.to_str());
    if let Some(language) = name.and_then(Language::of_wrapper) {
        return Ok(Parsed::Compile(language, arguments.split_off(1)));
    }
    let first = arguments.get(1).and_then(|argument| argument.to_str()).unwrap_or_default();
    if let Some((_, language)) = COMPILERS.into_iter().find(|(name, _)| *name == first) {
        return Ok(Parsed::Compile(language, arguments.split_off(2)));
    }
    if first == "trace" {
        return Ok(match traces::parse(&arguments[2..])? {
            Asked::Help(text) => Parsed::Help(text),
            Asked::Trace(args) => Parsed::Trace(args),
        });
    }
    if first == "sweep" {
        arguments.remove(1);
        return parse_sweep(arguments);
    }
    if first == "report" {
        arguments.remove(1);
        return understood(ReportArgs::try_parse_from(arguments), Parsed::Report);
    }
    if first == "validate" {
        arguments.remove(1);
        if arguments.len() == 1 {
            return Err(Failure::bad_input(
                "no case given: mcpsim validate CASE, or --all; see mcpsim validate --help",
            ));
        }
        return understood(ValidateArgs::try_parse_from(arguments), |args| Parsed::Validate(Box::new(args)));
    }
    if first == "measure" {
        arguments.remove(1);
        return understood(MeasureArgs::try_parse_from(arguments), |args| Parsed::Measure(Box::new(args)));
    }
    if first == "cluster" {
        arguments.remove(1);
        return understood(ClusterArgs::try_parse_from(arguments), |args| Parsed::Cluster(Box::new(args)));
    }
    if first == "help" && !Path::new(first).exists() {
        arguments.remove(1);
        arguments.truncate(2);
        arguments.push("--help".into());
        return parse(arguments);
    }
    if first == "list" && arguments.len() == 2 {
        return Ok(Parsed::Help(shipped::list()));
    }
    if first == "run" {
        arguments.remove(1);
    }
    separate_programs_arguments(&mut arguments, &RunArgs::command());
    let args = match RunArgs::command().try_get_matches_from(arguments) {
        Ok(matches) => RunArgs::from_arg_matches(&matches),
        Err(error) => Err(error),
    };
    let args = match args {
        Ok(args) => args,
        Err(error) => return understood(Err::<RunArgs, _>(error), |args| Parsed::Run(Box::new(args))),
    };
    check_command(&args)?;
    Ok(Parsed::Run(Box::new(args)))
}

/// What clap made of the arguments: they ask for something, for help, or are wrong.
fn understood<T>(args: Result<T, clap::Error>, parsed: impl FnOnce(T) -> Parsed) -> Result<Parsed, Failure> {
    match args {
        Ok(args) => Ok(parsed(args)),
        Err(error) if error.exit_code() == 0 => Ok(Parsed::Help(error.to_string())),
        Err(error) => Err(usage(&error)),
    }
}

/// The arguments of a study, the first of which is the program's name.
fn parse_sweep(mut arguments: Vec<OsString>) -> Result<Parsed, Failure> {
    let command = sweep::command();
    separate_programs_arguments(&mut arguments, &command);
    let args = match command.try_get_matches_from(arguments) {
        Ok(matches) => SweepArgs::read(&matches)?,
        Err(error) => Err(error),
    };
    understood(args, |args| Parsed::Sweep(Box::new(args)))
}

/// What follows a real program is its own, options included: says so to clap.
fn separate_programs_arguments(arguments: &mut Vec<OsString>, command: &Command) {
    let takes_value = |argument: &str| {
        let mut options = command.get_arguments().filter(|option| option.get_action().takes_values());
        options.any(|option| {
            option.get_long().is_some_and(|long| argument.strip_prefix("--") == Some(long))
                || option
                    .get_short()
                    .is_some_and(|short| argument.strip_prefix('-') == Some(short.encode_utf8(&mut [0; 4])))
        })
    };
    let mut at = 1;
    while let Some(argument) = arguments.get(at) {
        match argument.to_str() {
            Some("--") => return,
            Some(option) if takes_value(option) => at += 2,
            Some(option) if option.starts_with('-') => at += 1,
            _ => {
                if is_elf(Path::new(argument)) && arguments.get(at + 1).is_some_and(|next| next != "--") {
                    arguments.insert(at + 1, "--".into());
                }
                return;
            }
        }
    }
}

/// Whether the file is machine code, by its first bytes.
pub(super) fn is_elf(path: &Path) -> bool {
    first_bytes(path).starts_with(b"\x7fELF")
}

/// The first bytes of a file, of which there may be less.
pub(super) fn first_bytes(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    // What cannot be read shows when all of it is.
    let file = std::fs::File::open(path).ok().filter(|file| file.metadata().is_ok_and(|of| of.is_file()));
    let _ = file.map(|file| std::io::Read::read_to_end(&mut std::io::Read::take(file, 4096), &mut bytes));
    bytes
}

/// clap's message without its own "error: "; without arguments it is the help, which has none.
pub(super) fn usage(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
    let missing = error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    let text = if missing { format!("no application given\n\n{text}") } else { text.to_owned() };
    Failure { exit: Exit::BadInput, text }
}

/// A command's name where the application is expected: options came first.
fn check_command(args: &RunArgs) -> Result<(), Failure> {
    match args.app.to_str() {
        Some(name @ ("run" | "sweep" | "report" | "validate" | "measure" | "cluster")) if !args.app.exists() => {
            let what = match name {
                "measure" => "-o FILE",
                "cluster" => "FILE.nc",
                "report" => "RUN.json",
                "validate" => "CASE",
                _ => "APP",
            };
            Err(Failure::bad_input(format!("\"{name}\" stands before the options: mcpsim {name} [OPTIONS] {what}")))
        }
        Some("trace") if !args.app.exists() => {
            Err(Failure::bad_input("\"trace\" stands before all options: mcpsim trace info FILE"))
        }
        Some(name @ ("cc" | "cxx")) if !args.app.exists() => {
            Err(Failure::bad_input(format!("\"{name}\" stands before all options, which are the compiler's")))
        }
        Some(name) if Shipped::Application.has(name) => Ok(()),
        Some(name) if !args.app.exists() => match did_you_mean(name, COMMANDS) {
            hint if hint.is_empty() => Ok(()),
            hint => Err(Failure::bad_input(format!("{name}: no such file{hint}"))),
        },
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(args.nct, Some(Shape { nodes: 4, cmps: 2, cores: 2 }), "{line}");
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
    fn definitions_are_sound() {
        RunArgs::command().debug_assert();
    }

    #[test]
    fn help_fits_80_columns_and_shows_examples() {
        for (option, most) in [("-h", 70), ("--help", 170), ("help", 170), ("help sweep", 170)] {
            let Ok(Parsed::Help(text)) = parsed(option) else { panic!("no help") };
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
            assert!(text.lines().count() <= most, "{text}");
            assert_eq!(text.contains("Examples:"), option != "-h", "{text}");
        }
    }

    #[test]
    fn wrong_usage_says_what_and_exits_with_2() {
        for (line, start) in [
            ("", "no application given\n\nPredicts how long"),
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
            ("--model logp a.toml", "invalid value 'logp' for '--model <mcpsim|bigsim>': expected mcpsim or bigsim"),
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
            ("validate", "no case given: mcpsim validate CASE, or --all"),
            ("--colour a.toml", "unexpected argument '--colour' found"),
            ("--quiet cc prog.c", "\"cc\" stands before all options, which are the compiler's"),
            ("--quiet measure", "\"measure\" stands before the options: mcpsim measure [OPTIONS] -o FILE"),
            ("--quiet cluster", "\"cluster\" stands before the options: mcpsim cluster [OPTIONS] FILE.nc"),
            ("--quiet validate", "\"validate\" stands before the options: mcpsim validate [OPTIONS] CASE"),
            ("--quiet run app.toml", "\"run\" stands before the options"),
            ("--quiet sweep", "\"sweep\" stands before the options: mcpsim sweep [OPTIONS] APP"),
        ] {
            let failure = parsed(line).unwrap_err();
            assert!(failure.text.starts_with(start), "{line}: {}", failure.text);
            assert_eq!(failure.exit, Exit::BadInput, "{line}");
        }
    }
}
