//! Arguments of `mcpsim sweep`: the options of a run that apply to many runs, and the axes.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser};

use crate::study::{Questions, StudyRequest};

use super::super::args::RunArgs;
use super::super::exit::Failure;
use super::super::host_cores;

/// Options of `mcpsim run` that `mcpsim sweep` also has. The other options of `mcpsim run` select which results of a
/// single run are displayed or written.
const OF_RUN: [&str; 25] = [
    "app",
    "arguments",
    "nct",
    "platform",
    "model",
    "ranks",
    "oversubscribe",
    "placement",
    "map_by",
    "ranks_per_node",
    "set",
    "seed",
    "max_time",
    "max_events",
    "max_requests",
    "max_turns",
    "intervals",
    "quiet",
    "compute",
    "clock",
    "memory_bound",
    "stack_size",
    "data",
    "share_memory",
    "repeats",
];

const APP: &str = "The study's file, or an application (a file or a name from mcpsim list) that --vary varies";

const EXAMPLES: &str = "\
Examples:
  The best shape of a machine of 16 cores: all (N,C,T) with N x C x T = 16
    mcpsim sweep --vary cores=16 npb-is
  Effect of a faster network: every combination of latency and bandwidth
    mcpsim sweep --vary platform.inter_node.latency=1us..50us:log5 \\
        --vary 'platform.inter_node.bandwidth=1 GB/s,5 GB/s' app.toml
  Weak scaling: two keys that vary together; five seeds per point
    mcpsim sweep --vary 'run.ranks=8,64 & app.n=128,256' --repeats 5 app.toml
  Speed-up, the number of ranks up to which doubling is 1.5 times as fast, and
  a fitted formula
    mcpsim sweep --vary run.ranks=1..10 --base run.ranks=1 --gain 1.5 \\
        --fit 'I=8720; Tv*I/n + I*t*(n>1)' ljj
  Run a study file with results in a directory; repeat the command to resume it
    mcpsim sweep --out is is-shapes

Values: 1,2,4  16,1,1;8,2,1  1..8  1..64:x2  10..90:+20  1us..50us:log5  1..9:lin5

Exit codes: 0 all points predicted, 1 some points failed (their rows say why),
2 bad input or usage, 70 a bug in mcpsim, 130 interrupted.";

/// Runs an application with many settings and finds the best
#[derive(Clone, Debug, Parser)]
pub(crate) struct SweepArgs {
    /// A key and its values, or several keys joined by & that vary together; repeatable
    #[arg(long, value_name = "KEY=VALUES[&KEY=VALUES]", help_heading = "Study")]
    pub vary: Vec<String>,

    /// Number of concurrent points (default: one per host core)
    #[arg(long, short, value_name = "N", help_heading = "Study")]
    pub jobs: Option<NonZeroUsize>,

    /// Directory of the study's results (default: NAME.study)
    #[arg(long, value_name = "DIR", help_heading = "Study")]
    pub out: Option<PathBuf>,

    /// Run a real program at every point, in place of replays of one recorded run
    #[arg(long, help_heading = "Study")]
    pub rerun: bool,

    /// The points with this value are the reference of speed-up and efficiency, such as run.ranks=1
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Questions")]
    pub base: Option<String>,

    /// Print the number of ranks up to which twice the ranks make the run at least FACTOR times as fast
    #[arg(long, value_name = "FACTOR", help_heading = "Questions")]
    pub gain: Option<f64>,

    /// A key app.… whose values are alternative methods for the same problem; repeatable
    #[arg(long, value_name = "KEY", help_heading = "Questions")]
    pub choice: Vec<String>,

    /// Fit to the times a formula of axis names, n (number of ranks) and unknowns
    #[arg(long, value_name = "FORMULA", help_heading = "Questions")]
    pub fit: Option<String>,

    /// List the points and stop
    #[arg(long, help_heading = "Study")]
    pub list: bool,

    /// Options of a single run.
    #[command(flatten)]
    pub run: RunArgs,
}

/// Returns clap's command, with help texts for studies.
pub(crate) fn command() -> Command {
    let command = SweepArgs::command()
        .name("mcpsim sweep")
        .about("Runs an application with many settings and finds the best")
        .override_usage("mcpsim sweep [OPTIONS] STUDY.toml|APP [-- ARGS]")
        .after_help("See --help for examples and exit codes.")
        .after_long_help(EXAMPLES);
    let command = command.mut_arg("app", |app| app.value_name("STUDY.toml|APP").help(APP).index(1));
    let command = command.mut_arg("arguments", |arguments| arguments.index(2));
    let command = command.mut_arg("repeats", |repeats| {
        repeats
            .help(
                "Number of runs per point, with consecutive \
                                   seeds from --seed on",
            )
            .help_heading("Study")
    });
    strangers().fold(command, |command, id| command.mut_arg(id, |argument| argument.hide(true)))
}

/// Returns the options of `mcpsim run` that `mcpsim sweep` does not have.
fn strangers() -> impl Iterator<Item = String> {
    let command = RunArgs::command();
    let ids: Vec<String> = command.get_arguments().map(|argument| argument.get_id().to_string()).collect();
    ids.into_iter().filter(|id| !OF_RUN.contains(&id.as_str()))
}

impl SweepArgs {
    /// Returns the request of a study.
    pub fn request(&self) -> Result<StudyRequest, Failure> {
        let run = self.run.request()?;
        let (choices, base, fit) = (self.choice.clone(), self.base.clone(), self.fit.clone());
        let questions = Questions { choices, base, gain: self.gain, fit };
        let (vary, repeats, rerun) = (self.vary.clone(), self.run.repeats, self.rerun);
        let kernels_of_host = Some(host_cores::kernels_of_host as fn() -> _);
        Ok(StudyRequest { run, vary, repeats, rerun, questions, kernels_of_host })
    }

    /// Converts the arguments that clap has matched. Options that `mcpsim sweep` does not have are errors.
    pub fn read(matches: &ArgMatches) -> Result<Result<Self, clap::Error>, Failure> {
        let typed = |id: &String| matches.value_source(id) == Some(ValueSource::CommandLine);
        if let Some(id) = strangers().find(typed) {
            let option = id.replace('_', "-");
            return Err(Failure::bad_input(format!("--{option} is an option of a single run, not of sweep")));
        }
        Ok(SweepArgs::from_arg_matches(matches))
    }

    /// Returns the directory in which the study is stored.
    pub fn directory(&self, name: &str) -> PathBuf {
        let safe = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' };
        let name: String = name.chars().map(safe).collect();
        self.out.clone().unwrap_or_else(|| Path::new(&format!("{name}.study")).to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<SweepArgs, String> {
        let words = std::iter::once("sweep").chain(line.split_whitespace());
        let matches = command().try_get_matches_from(words).map_err(|error| error.to_string())?;
        SweepArgs::read(&matches).map_err(|failure| failure.text)?.map_err(|error| error.to_string())
    }

    #[test]
    fn definitions_are_sound_and_help_fits_80_columns() {
        command().debug_assert();
        let text = command().render_long_help().to_string();
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(!text.contains("--json") && text.contains("--nct") && text.contains("Examples:"), "{text}");
    }

    #[test]
    fn options_of_a_single_run_are_refused_and_those_of_many_are_not() {
        let args = read("-j 3 --repeats 3 --vary app.n=1,2 --vary cores=4 --nct 4,2,2 --set app.k=1 app.toml").unwrap();
        assert_eq!((args.vary.len(), args.jobs, args.run.set.len()), (2, NonZeroUsize::new(3), 1));
        assert_eq!(args.run.repeats, Some(3));
        assert!(read("--map-by node --ranks-per-node 2 --data none --vary app.n=1,2 app.toml").is_ok());
        for option in ["--json x", "--profile x", "--pairs", "--per-rank", "--show-config", "--workers 2"] {
            let name = option.split_whitespace().next().unwrap();
            let error = read(&format!("{option} app.toml")).unwrap_err();
            assert_eq!(error, format!("{name} is an option of a single run, not of sweep"));
        }
        assert!(read("-j 0 app.toml").unwrap_err().contains("invalid value '0' for '--jobs <N>'"));
    }

    #[test]
    fn a_study_goes_to_a_directory_of_its_name() {
        let directory = |line: &str, name: &str| read(line).unwrap().directory(name);
        assert_eq!(directory("app.toml", "is shapes/1"), Path::new("is_shapes_1.study"));
        assert_eq!(directory("--out x/y app.toml", "is"), Path::new("x/y"));
    }
}
