//! The settings of a run: defaults, under the `[run]` table of the application's file, under options and `--set run.…`.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Value;

use crate::config::{Document, Override};
use crate::engine::RunOptions;
use crate::platform::Shape;
use crate::process::ComputeMode;
use crate::process::HostClock;
use crate::process::JobOptions;
use crate::profile::Intervals;
use crate::units::{Bytes, SimSpan, SimTime};

use super::args::RunArgs;
use super::exit::Failure;
use super::host;
use super::shipped::Shipped;
use super::values::{
    Model, PlacementChoice, clock_of, clock_text, compute_of, compute_text, intervals_of, model_of, natural, positive,
    stack_of,
};

/// A rank's stack, as it is for a process by default, bytes.
const DEFAULT_STACK: usize = 8 << 20;
/// More threads than this are never of use, and every pair of them needs some memory.
const MOST_WORKERS: u32 = 1024;

/// How a run is to be made, from all sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// The shape of the machine, if not its file's.
    pub shape: Option<Shape>,
    /// The machine's file, if not the built-in one.
    pub platform: Option<PathBuf>,
    /// Target ranks; one a core if not given.
    pub ranks: Option<u32>,
    /// Whether ranks may share a core.
    pub oversubscribe: bool,
    /// Rank to core.
    pub placement: PlacementChoice,
    /// Host threads; as many as pay off if not given.
    pub workers: Option<u32>,
    /// Three levels or two.
    pub model: Model,
    /// The seed of all random draws.
    pub seed: u64,
    /// The limit of any rank's clock.
    pub max_time: Option<SimSpan>,
    /// The limit of events.
    pub max_events: Option<u64>,
    /// The limit of turns that loops take a rank without communication; the application's default if not given.
    pub max_turns: Option<u64>,
    /// Bounds of message sizes in the profile.
    pub intervals: Intervals,
    /// Count messages between pairs.
    pub pairs: bool,
    /// List every rank however many there are.
    pub per_rank: bool,
    /// Record the way back along the critical path.
    pub critical_path: bool,
    /// Profile by function.
    pub functions: bool,
    /// Record what ranks do over time.
    pub timeline: bool,
    /// How a real program is run.
    pub job: JobOptions,
    /// Say what workers did with the host's time.
    pub host_profile: bool,
    /// Prefix what a program prints by its rank.
    pub tag_output: bool,
    /// The program was started by itself: one rank, and nothing printed but what it prints.
    pub direct: bool,
}

/// The `[run]` table as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RunFile {
    nct: Option<Shape>,
    platform: Option<PathBuf>,
    #[serde(deserialize_with = "positive")]
    ranks: Option<u32>,
    oversubscribe: Option<bool>,
    placement: Option<PathBuf>,
    #[serde(deserialize_with = "positive")]
    workers: Option<u32>,
    #[serde(deserialize_with = "model_of")]
    model: Option<Model>,
    #[serde(deserialize_with = "natural")]
    seed: Option<u64>,
    max_time: Option<SimSpan>,
    #[serde(deserialize_with = "positive")]
    max_events: Option<u64>,
    #[serde(deserialize_with = "positive", alias = "max_iterations")]
    max_turns: Option<u64>,
    #[serde(deserialize_with = "intervals_of")]
    intervals: Option<Intervals>,
    pairs: Option<bool>,
    #[serde(deserialize_with = "compute_of")]
    compute: Option<ComputeMode>,
    #[serde(deserialize_with = "clock_of")]
    clock: Option<HostClock>,
    #[serde(deserialize_with = "stack_of")]
    stack_size: Option<Bytes>,
}

/// The document around it: errors then name `run.seed`, not `seed`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Around {
    run: RunFile,
}

impl Settings {
    /// Merges the `[run]` table that `document` consists of, which stands in a file of `directory`, the `overrides` of run,
    /// and the options.
    pub fn merge(
        mut document: Document,
        directory: &Path,
        overrides: &[Override],
        args: &RunArgs,
    ) -> Result<Settings, Failure> {
        for over in overrides {
            document.set(&over.key, over)?;
            refuse_twice(over, args)?;
        }
        let file = document.deserialize::<Around>()?.run;
        // A path of the file is relative to the file, one typed by the user to where the user is.
        let directory_for = |key: &str| {
            let typed = overrides.iter().any(|over| over.key[1] == key);
            if typed { Path::new("") } else { directory }
        };
        let platform = file.platform.map(|path| directory_for("platform").join(path));
        let placement = file.placement.map(|path| PlacementChoice::new(&path, directory_for("placement")));
        let typed_placement = args.placement.as_ref().map(|path| PlacementChoice::new(path, Path::new("")));
        let settings = Settings {
            shape: if args.direct {
                Some(direct_shape(|name| std::env::var(name).ok())?)
            } else {
                args.nct.or(file.nct)
            },
            platform: args.platform.clone().or(platform).map(|path| Shipped::Platform.resolve(&path)).transpose()?,
            ranks: args.ranks.or(file.ranks),
            oversubscribe: args.oversubscribe || file.oversubscribe.unwrap_or(false),
            placement: typed_placement.or(placement).unwrap_or_default(),
            workers: args.workers.or(file.workers),
            model: args.model.or(file.model).unwrap_or_default(),
            seed: args.seed.or(file.seed).unwrap_or(1),
            max_time: args.max_time.or(file.max_time),
            max_events: args.max_events.or(file.max_events),
            max_turns: args.max_turns.or(file.max_turns),
            intervals: args.intervals.clone().or(file.intervals).unwrap_or_default(),
            pairs: args.pairs || file.pairs.unwrap_or(false),
            per_rank: args.per_rank,
            critical_path: args.critical_path,
            functions: args.functions || args.histogram.is_some(),
            timeline: args.timeline.is_some(),
            job: JobOptions {
                clock: args.clock.or(file.clock).unwrap_or_default(),
                compute: args.compute.or(file.compute).unwrap_or_default(),
                stack_size: args.stack_size.or(file.stack_size).map_or(DEFAULT_STACK, |size| size.get() as usize),
                check_leaks: args.check_leaks,
            },
            host_profile: args.host_profile,
            tag_output: args.tag_output,
            direct: args.direct,
        };
        settings.check_placement(&document, args)?;
        Ok(settings)
    }

    /// A word that is neither of the two is most often a slip of the pen, not a file.
    fn check_placement(&self, document: &Document, args: &RunArgs) -> Result<(), Failure> {
        match &self.placement {
            PlacementChoice::File(path) if !path.exists() => {
                let place = match args.placement {
                    Some(_) => "--placement".to_owned(),
                    None => document.place("run.placement"),
                };
                let path = path.display();
                Err(Failure::bad_input(format!("expected block, cyclic or a file in {place}; no such file: {path}")))
            }
            _ => Ok(()),
        }
    }

    /// The part that the engine has to know.
    pub fn options(&self) -> RunOptions {
        RunOptions {
            workers: self.workers.map(|workers| workers.min(MOST_WORKERS)),
            max_time: self.max_time.map(|span| SimTime::ZERO + span),
            max_events: self.max_events,
            intervals: self.intervals.clone(),
            pairs: self.pairs,
            per_rank: self.per_rank,
            critical_path: self.critical_path,
            timeline: self.timeline,
            post: None,
            restartable: true,
            host_clock: self.host_profile.then_some(host::nanoseconds),
        }
    }

    /// The settings as a `[run]` table that reads back as the same, but for the platform, which has a table of its own;
    /// with those keys that only real programs have if `real_program`.
    pub fn table(&self, real_program: bool) -> toml::Table {
        let integer = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        let placement = match &self.placement {
            // What is given stands in no file, and in no table.
            PlacementChoice::Block | PlacementChoice::Given(_) => "block".to_owned(),
            PlacementChoice::Cyclic => "cyclic".to_owned(),
            // The table may be read from another directory.
            PlacementChoice::File(path) => std::path::absolute(path).unwrap_or(path.clone()).display().to_string(),
        };
        let real = |value: Value| real_program.then_some(value);
        let bounds = self.intervals.bounds().iter().map(|bound| integer(bound.get())).collect();
        let entries = [
            ("nct", self.shape.map(|shape| format!("{},{},{}", shape.nodes, shape.cmps, shape.cores).into())),
            ("ranks", self.ranks.map(|ranks| integer(ranks.into()))),
            ("oversubscribe", Some(self.oversubscribe.into())),
            ("placement", Some(placement.into())),
            ("workers", self.workers.map(|workers| integer(workers.into()))),
            ("model", Some(self.model.name().into())),
            ("seed", Some(integer(self.seed))),
            ("max_time", self.max_time.map(|span| format!("{} ps", span.as_ps()).into())),
            ("max_events", self.max_events.map(integer)),
            ("max_turns", self.max_turns.map(integer)),
            ("intervals", Some(Value::Array(bounds))),
            ("pairs", Some(self.pairs.into())),
            ("compute", real(compute_text(self.job.compute).into())),
            ("clock", real(clock_text(self.job.clock).into())),
            ("stack_size", real(self.job.stack_size.to_string().into())),
        ];
        entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }
}

/// The same setting by an option and by `--set` has no order between the two.
fn refuse_twice(over: &Override, args: &RunArgs) -> Result<(), Failure> {
    let option = match over.key[1].as_str() {
        "nct" if args.nct.is_some() => "--nct",
        "platform" if args.platform.is_some() => "--platform",
        "ranks" if args.ranks.is_some() => "--ranks",
        "oversubscribe" if args.oversubscribe => "--oversubscribe",
        "placement" if args.placement.is_some() => "--placement",
        "workers" if args.workers.is_some() => "--workers",
        "model" if args.model.is_some() => "--model",
        "seed" if args.seed.is_some() => "--seed",
        "max_time" if args.max_time.is_some() => "--max-time",
        "max_events" if args.max_events.is_some() => "--max-events",
        "max_turns" | "max_iterations" if args.max_turns.is_some() => "--max-iterations",
        "intervals" if args.intervals.is_some() => "--intervals",
        "pairs" if args.pairs => "--pairs",
        "compute" if args.compute.is_some() => "--compute",
        "clock" if args.clock.is_some() => "--clock",
        "stack_size" if args.stack_size.is_some() => "--stack-size",
        _ => return Ok(()),
    };
    Err(Failure::bad_input(format!("both {option} and --set {} are given: leave out one", over.text)))
}

/// The machine of a program that was started by its own name: one core, unless the user has set another.
fn direct_shape(variable: impl Fn(&str) -> Option<String>) -> Result<Shape, Failure> {
    let text = variable("MCPSIM_NCT").filter(|text| !text.is_empty()).unwrap_or_else(|| "1,1,1".to_owned());
    text.parse().map_err(|error| Failure::bad_input(format!("MCPSIM_NCT: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::{Parsed, parse};
    use crate::units::Bytes;

    fn merge(file: &str, line: &str) -> Result<Settings, String> {
        let arguments = std::iter::once("mcpsim").chain(line.split_whitespace()).chain(["a.toml"]);
        let args = match parse(arguments.map(Into::into).collect()) {
            Ok(Parsed::Run(args)) => args,
            other => panic!("{line}: {other:?}"),
        };
        let overrides: Vec<Override> = args.set.iter().map(|text| Override::parse(text).unwrap()).collect();
        let document = Document::parse("a.toml", file).unwrap();
        Settings::merge(document, Path::new("dir"), &overrides, &args).map_err(|failure| failure.text)
    }

    #[test]
    fn options_win_over_the_file_and_the_file_over_defaults() {
        let settings = merge("", "").unwrap();
        assert_eq!((settings.seed, settings.model, settings.ranks), (1, Model::Mcpsim, None));
        assert_eq!(settings.placement, PlacementChoice::Block);
        let file =
            "[run]\nseed = 5\nranks = 8\nmodel = \"bigsim\"\nplacement = \"cyclic\"\nnct = [4, 2, 2]\npairs = true";
        let settings = merge(file, "").unwrap();
        assert_eq!((settings.seed, settings.model, settings.ranks), (5, Model::Bigsim, Some(8)));
        assert_eq!((settings.placement, settings.pairs), (PlacementChoice::Cyclic, true));
        let settings = merge(file, "--seed 7 --ranks 4 --model mcpsim --placement block --nct 1,1,4").unwrap();
        assert_eq!((settings.seed, settings.model, settings.ranks), (7, Model::Mcpsim, Some(4)));
        assert_eq!(settings.shape, Some(Shape { nodes: 1, cmps: 1, cores: 4 }));
        let settings = merge(file, "--set run.seed=9 --set run.nct=8,1,1 --set run.pairs=false").unwrap();
        assert_eq!((settings.seed, settings.pairs), (9, false));
        assert_eq!(settings.shape, Some(Shape { nodes: 8, cmps: 1, cores: 1 }));
    }

    #[test]
    fn paths_in_the_file_are_beside_it_and_typed_ones_are_not() {
        let platform = |line: &str| merge("[run]\nplatform = \"x.toml\"", line).unwrap().platform.unwrap();
        assert_eq!(platform(""), PathBuf::from("dir/x.toml"));
        assert_eq!(platform("--platform y.toml"), PathBuf::from("y.toml"));
        assert_eq!(platform("--set run.platform=y.toml"), PathBuf::from("y.toml"));
    }

    #[test]
    fn limits_and_intervals_reach_the_engine() {
        let settings =
            merge("[run]\nintervals = [256, \"4 KiB\"]", "--max-time 1us --max-events 7 --workers 2").unwrap();
        let options = settings.options();
        assert_eq!(options.max_time, Some(SimTime::from_ps(1_000_000)));
        assert_eq!((options.max_events, options.workers), (Some(7), Some(2)));
        assert_eq!(options.intervals.bounds(), [Bytes::new(256), Bytes::new(4096)]);
    }

    #[test]
    fn the_table_reads_back_as_the_same_settings() {
        let line = "--nct 4,2,2 --ranks 9 --oversubscribe --placement cyclic --workers 3 --model bigsim --seed 77 \
                    --max-time 1.5ms --max-events 5 --max-turns 6 --intervals 1,2KiB --pairs";
        for line in [line, ""] {
            let settings = merge("", line).unwrap();
            let text =
                toml::to_string(&toml::Table::from_iter([("run".to_owned(), settings.table(false).into())])).unwrap();
            assert_eq!(merge(&text, ""), Ok(settings), "{text}");
        }
    }

    #[test]
    fn bad_values_of_the_run_table_name_key_place_and_what_was_expected() {
        let shape = "three whole numbers above zero such as [4, 2, 2]";
        let positive = "a whole number above zero that is not too large";
        for (file, error) in [
            ("run.nct = \"4,2\"", format!("expected {shape} in run.nct of a.toml; found \"4,2\"")),
            ("run.nct = [4, 2]", format!("expected {shape} in run.nct of a.toml; found [4, 2]")),
            ("run.ranks = 0", format!("expected {positive} in run.ranks of a.toml; found 0")),
            ("run.ranks = 5000000000", format!("expected {positive} in run.ranks of a.toml; found 5000000000")),
            (
                "run.workers = \"two or so\"",
                format!("expected {positive} in run.workers of a.toml; found \"two or so\""),
            ),
            ("run.seed = -1", "expected a whole number from 0 on in run.seed of a.toml; found -1".to_owned()),
            ("run.model = \"logp\"", "expected mcpsim or bigsim in run.model of a.toml; found \"logp\"".to_owned()),
            ("run.model = {}", "expected mcpsim or bigsim in run.model of a.toml; found a table".to_owned()),
            ("run.max_time = 7", "expected a time such as \"1.2 us\" in run.max_time of a.toml; found 7".to_owned()),
            ("run.pairs = 1", "expected a boolean in run.pairs of a.toml; found 1".to_owned()),
            (
                "run.intervals = [4, 2]",
                "expected sizes in increasing order, at most 1000, such as 256,4KiB,64KiB in run.intervals of a.toml; \
                 found [4, 2]"
                    .to_owned(),
            ),
            (
                "run.placement = \"blok\"",
                "expected block, cyclic or a file in run.placement of a.toml; no such file: dir/blok".to_owned(),
            ),
        ] {
            assert_eq!(merge(file, ""), Err(error));
        }
        let sed = merge("run.sed = 1", "");
        assert_eq!(sed.unwrap_err(), "unknown field \"sed\" in run.sed of a.toml, did you mean \"seed\"?");
        let colour = merge("run.colour = 1", "").unwrap_err();
        assert!(colour.starts_with("unknown field \"colour\", expected one of \"nct\""), "{colour}");
    }

    #[test]
    fn bad_values_typed_by_the_user_name_the_option() {
        for (line, error) in [
            (
                "--set run.ranks=x",
                "expected a whole number above zero that is not too large in --set run.ranks=x; found \"x\"",
            ),
            ("--seed 1 --set run.seed=2", "both --seed and --set run.seed=2 are given: leave out one"),
            ("--placement blok", "expected block, cyclic or a file in --placement; no such file: blok"),
            (
                "--set run.seed.x=2 --set run.seed=1 --set run.seed.x=2",
                "--set run.seed.x=2: \"run.seed\" of a.toml is no table of keys",
            ),
        ] {
            assert_eq!(merge("", line), Err(error.to_owned()));
        }
    }
}
