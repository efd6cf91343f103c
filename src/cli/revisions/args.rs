//! Arguments of `mcpsim revisions`, and the file that may contain the same options.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Parser;

use crate::cc;
use crate::config::{Document, note_input};
use crate::revisions::{Gate, RevisionFile, RevisionRequest};
use crate::run::Shipped;

use super::super::exit::Failure;

const EXAMPLES: &str = "\
Examples:
  The predicted time on 4 nodes for each revision since v1.0
    mcpsim revisions --repo ~/solver --build 'make CC=\"mcpsim cc\"' \\
        --run './solver 100' --nct 4,2,2 v1.0..main
  Find the first revision that differs; only the needed revisions are built and run
    mcpsim revisions --bisect --repo . --run app.toml v1.0..main
  Measure real runs by the time that the program prints
    mcpsim revisions --real --run 'mpirun -n 4 ./solver 100' \\
        --time-after 'time:' --build make --repeats 10 v1.0 main
  Fail if the newest revision is predicted to be 5 % slower than the oldest
    mcpsim revisions --repo . --run app.toml --repeats 1 \\
        --gate 'predicted_time < 1.05' --junit gate.xml origin/main HEAD

Exit codes: 0 all revisions ran, 1 some did not (their rows say why), 2 bad
input or usage, 5 a gate does not hold, 70 a bug in mcpsim, 130 interrupted.";

/// Runs one test on many revisions of a program and reports changes
#[derive(Clone, Debug, Parser)]
#[command(name = "mcpsim revisions", override_usage = "mcpsim revisions --repo DIR [--build CMD] --run CMD [OPTIONS] REV...|A..B", term_width = 80, after_help = EXAMPLES)]
pub(crate) struct RevisionsArgs {
    /// Revisions and ranges, the oldest first; a range includes its first revision
    #[arg(value_name = "REV|A..B")]
    revisions: Vec<String>,

    /// The git repository, which is only read (default: .)
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,

    /// A TOML file with these options
    #[arg(long, value_name = "TEST.toml")]
    file: Option<PathBuf>,

    /// The command that builds a revision, run by a shell in its work tree
    #[arg(long, value_name = "CMD")]
    build: Option<String>,

    /// The program and its arguments, as for mcpsim run; with --real any command
    #[arg(long, value_name = "CMD")]
    run: Option<String>,

    /// Further program arguments; repeatable: each revision runs once per --args
    #[arg(long = "args", value_name = "ARGS", allow_hyphen_values = true)]
    arguments: Vec<String>,

    /// Runs per revision (default: 5); each simulated run has its own seed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeats: Option<u32>,

    /// Run the command on this host and measure its time
    #[arg(long)]
    real: bool,

    /// With --real: take the time in seconds that the program prints after TEXT
    #[arg(long, value_name = "TEXT", requires = "real")]
    time_after: Option<String>,

    /// Shape of the simulated machine: N nodes, C CMPs (sockets) per node, T cores per CMP
    #[arg(long, value_name = "N,C,T", help_heading = "Simulated runs")]
    nct: Option<String>,

    /// The simulated machine: a platform file, or a name from mcpsim list
    #[arg(long, value_name = "FILE", help_heading = "Simulated runs")]
    platform: Option<PathBuf>,

    /// Number of ranks
    #[arg(long, value_name = "N", help_heading = "Simulated runs")]
    ranks: Option<u32>,

    /// Override one key of the platform, the application or the run; repeatable
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Simulated runs")]
    set: Vec<String>,

    /// Seed of the first run
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Simulated runs")]
    seed: u64,

    /// Greatest duration of a build in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0)]
    build_timeout: f64,

    /// Greatest duration of a run in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600.0)]
    run_timeout: f64,

    /// Probability of reporting a false change, over all comparisons
    #[arg(long, value_name = "P", default_value_t = 0.01)]
    alpha: f64,

    /// Ignore changes smaller than PERCENT %
    #[arg(long, value_name = "PERCENT", default_value_t = 0.5)]
    least: f64,

    /// Run only the revisions that are needed to find the first revision that differs
    #[arg(long)]
    bisect: bool,

    /// Fail if the newest revision exceeds the oldest by this factor: predicted_time, messages or bytes < FACTOR;
    /// repeatable
    #[arg(long, value_name = "VALUE < FACTOR", conflicts_with = "bisect")]
    pub gate: Vec<Gate>,

    /// Write the results of the gates as XML of JUnit
    #[arg(long, value_name = "FILE.xml", requires = "gate")]
    pub junit: Option<PathBuf>,

    /// Write the results of the gates and the changes as Markdown
    #[arg(long, value_name = "FILE.md", requires = "gate")]
    pub markdown: Option<PathBuf>,

    /// Directory of the results
    #[arg(long, value_name = "DIR", default_value = "revisions")]
    pub out: PathBuf,

    /// Draw time, messages and volume by revision into this directory
    #[arg(long, value_name = "DIR")]
    pub figures: Option<PathBuf>,

    /// List the revisions and stop
    #[arg(long)]
    pub list: bool,

    /// Print errors only
    #[arg(long, short)]
    pub quiet: bool,
}

impl RevisionsArgs {
    /// Returns the request of a test over the revisions of a program.
    pub fn request(&self) -> Result<RevisionRequest, Failure> {
        let (file, directory) = match &self.file {
            Some(path) => {
                (RevisionFile::load(&Document::read(path)?)?, path.parent().unwrap_or(Path::new("")).to_owned())
            }
            None => (RevisionFile::default(), PathBuf::new()),
        };
        let relative = |path: PathBuf| directory.join(path);
        let repo = self.repo.clone().or(file.repo.map(relative)).unwrap_or_else(|| PathBuf::from("."));
        let run = self.run.clone().or(file.run);
        let run = match run {
            Some(run) => run,
            // Listing the revisions needs no program.
            None if self.list => String::new(),
            None => {
                return Err(Failure::bad_input(
                    "no --run option is given: expected --run CMD, such as --run \
                                                   './app 100'",
                ));
            }
        };
        let real = self.real || file.real;
        let pick = |typed: &[String], stated: Vec<String>| if typed.is_empty() { stated } else { typed.to_vec() };
        let platform = self.platform.clone().or(file.platform.map(relative));
        let (mut options, mut given) = (Vec::new(), Vec::new());
        let mut option =
            |name: &str, value: Option<String>| options.extend(value.map(|value| format!("{name}={value}")));
        option("--nct", self.nct.clone().or(file.nct));
        option("--ranks", self.ranks.or(file.ranks).map(|ranks| ranks.to_string()));
        if let Some(path) = platform {
            let located = Shipped::Platform.resolve(&path);
            let path = located.map_err(|error| Failure::bad_input(format!("--platform {error}")))?;
            let shown = path.display().to_string();
            note_input(&path);
            given = std::fs::read(&path).map_err(|error| Failure::bad_input(format!("--platform {shown}: {error}")))?;
            let whole =
                path.canonicalize().map_err(|error| Failure::bad_input(format!("--platform {shown}: {error}")))?;
            option("--platform", Some(whole.display().to_string()));
        }
        for set in pick(&self.set, file.set) {
            option("--set", Some(set));
        }
        if real && !options.is_empty() {
            let option = options[0].split('=').next().unwrap_or_default();
            return Err(Failure::bad_input(format!("{option} applies to simulated runs only, not with --real")));
        }
        let timeout = |name: &str, seconds: f64| {
            Duration::try_from_secs_f64(seconds)
                .ok()
                .filter(|time| !time.is_zero())
                .ok_or_else(|| Failure::bad_input(format!("--{name} {seconds}: expected seconds above zero")))
        };
        Ok(RevisionRequest {
            repo,
            build: self.build.clone().or(file.build),
            run,
            revisions: pick(&self.revisions, file.revisions),
            arguments: pick(&self.arguments, file.arguments),
            repeats: self.repeats.or(file.repeats).unwrap_or(5),
            real,
            time_after: self.time_after.clone().or(file.time_after),
            options,
            given,
            seed: self.seed,
            build_timeout: timeout("build-timeout", self.build_timeout)?,
            run_timeout: timeout("run-timeout", self.run_timeout)?,
            alpha: self.alpha,
            least_percent: self.least,
            bisect: self.bisect,
            cache: cc::cache()?.0,
            mcpsim: std::env::current_exe().map_err(|error| {
                Failure::bad_input(format!(
                    "cannot find the path of the mcpsim executable: \
                {error}"
                ))
            })?,
        })
    }
}
