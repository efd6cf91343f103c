//! The settings of a run, in one table: defaults, under the `[run]` table of the application's file, under options and
//! `--set run.…`.

use std::ffi::OsStr;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;
use toml::Value;

use crate::config::{Document, Override};
use crate::engine::{MOST_REQUESTS, RunOptions};
use crate::platform::Shape;
use crate::process::{Buffering, ComputeMode, HostClock, JobOptions};
use crate::profile::Intervals;
use crate::units::{Bytes, SimSpan, SimTime};

use super::application::Application;
use super::error::PredictError;
use super::host;
use super::request::{Details, RunRequest};
use super::shipped::Shipped;
use super::values::{
    MemoryBound, Model, PlacementChoice, buffering_of, clock_of, clock_text, compute_of, compute_text, intervals_of,
    model_of, natural, parse_buffering, parse_clock, parse_compute, parse_intervals, parse_stack, parse_whole, part_of,
    positive, stack_of,
};

/// A rank's stack, as it is for a process by default, bytes.
const DEFAULT_STACK: usize = 8 << 20;
/// More threads than this are never of use, and every pair of them needs some memory.
const MOST_WORKERS: u32 = 1024;

/// How a run is to be made, from all sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
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
    /// The same where it was asked for: it then holds for a trace in place of the recorded one.
    pub asked_seed: Option<u64>,
    /// The limit of any rank's clock.
    pub max_time: Option<SimSpan>,
    /// The limit of events.
    pub max_events: Option<u64>,
    /// The limit of outstanding requests of a rank; a million if not given.
    pub max_requests: Option<u32>,
    /// The limit of turns that loops take a rank without communication; the application's default if not given.
    pub max_turns: Option<u64>,
    /// Bounds of message sizes in the profile.
    pub intervals: Intervals,
    /// Count messages between pairs.
    pub pairs: bool,
    /// What the outcome tells beside.
    pub details: Details,
    /// The part of a real program's time that memory bounds; all of it if not given.
    pub memory_bound: Option<MemoryBound>,
    /// How a real program is run.
    pub job: JobOptions,
}

/// Under which heading of `--help` a setting stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heading {
    /// The target machine.
    Machine,
    /// How many ranks, and where.
    Ranks,
    /// The simulation.
    Run,
    /// What is told.
    Results,
    /// Real programs only.
    Programs,
}

impl Heading {
    /// As it is printed.
    pub fn text(self) -> &'static str {
        match self {
            Heading::Machine => "Machine",
            Heading::Ranks => "Ranks",
            Heading::Run => "Run",
            Heading::Results => "Results",
            Heading::Programs => "Real programs",
        }
    }
}

/// A setting of a run: a key of the `[run]` table, an option, a key of `--set`.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its key in `[run]`.
    pub key: &'static str,
    /// Its name as an option, with `-` for `_`; where that is not its key, it is a key as well.
    pub name: &'static str,
    /// What a value looks like in `--help`; empty for a switch, which takes none.
    pub value: &'static str,
    /// Where it stands in `--help`.
    pub heading: Heading,
    /// What it does, and its default.
    pub help: &'static str,
    set: fn(&mut Given, &OsStr) -> Result<(), String>,
}

impl Setting {
    /// Puts the value that an option's `text` stands for into `given`; a switch is on, whatever the text.
    ///
    /// # Errors
    /// What was expected.
    pub fn set(&self, given: &mut Given, text: impl AsRef<OsStr>) -> Result<(), String> {
        (self.set)(given, text.as_ref())
    }

    /// Its name as an option, without the dashes before it.
    pub fn option(&self) -> String {
        self.name.replace('_', "-")
    }

    /// Whether a run of `application` heeds it.
    pub(super) fn is_heeded(&self, application: &Application) -> bool {
        match application {
            Application::Real(_) => true,
            // The times of its code follow what ranks on a CMP cost each other.
            Application::Trace(_) if self.key == "memory_bound" => true,
            Application::Described(_) | Application::Trace(_) => self.heading != Heading::Programs,
        }
    }

    /// Whether a value may be a file's name, which need not be UTF-8.
    pub fn is_path(&self) -> bool {
        self.value.contains("FILE")
    }

    /// The setting of this key.
    pub fn of(key: &str) -> Option<&'static Setting> {
        SETTINGS.iter().find(|setting| [setting.key, setting.name].contains(&key))
    }
}

/// The table of settings: from each row come a field of [`Given`], a key of `[run]`, and an option.
macro_rules! settings {
    (
        $($(#[$read:meta])* $key:ident $(($name:literal))?: $type:ty = $value:literal, $heading:ident, $parse:expr,
            $help:literal;)*
    ) => {
        /// Settings that are given, whether in a `[run]` table or by options; what is not has its default.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Given {
            $(#[doc = $help] $(#[$read])* pub $key: Option<$type>,)*
        }

        impl Given {
            /// These, and where they leave open what `other` has.
            #[must_use]
            pub fn over(self, other: Given) -> Given {
                Given { $($key: self.$key.or(other.$key),)* }
            }

            /// The keys that are given.
            pub fn keys(&self) -> Vec<&'static str> {
                [$(self.$key.is_some().then_some(stringify!($key)),)*].into_iter().flatten().collect()
            }
        }

        /// All settings, in the order of `--help`.
        pub const SETTINGS: &[Setting] = &[$(Setting {
            key: stringify!($key),
            name: [$($name,)? stringify!($key)][0],
            value: $value,
            heading: Heading::$heading,
            help: $help,
            set: |given, text| {
                let parse: fn(&OsStr) -> Result<$type, String> = $parse;
                given.$key = Some(parse(text)?);
                Ok(())
            },
        },)*];
    };
}

settings! {
    nct: Shape = "N,C,T", Machine, parsed, "Nodes, CMPs (sockets) a node, cores a CMP";
    platform: PathBuf = "FILE|NAME", Machine, path,
        "The target machine: a file, or a name that mcpsim list shows (default: default)";
    #[serde(deserialize_with = "model_of")]
    model: Model = "MODEL", Machine, parsed,
        "mcpsim, bigsim (two levels), or a textbook's: hockney, logp, loggp (default: mcpsim)";
    #[serde(deserialize_with = "positive")]
    ranks: u32 = "P", Ranks, whole_from_1, "Target ranks (default: one a core)";
    oversubscribe: bool = "", Ranks, switch, "Allow several ranks on a core";
    placement: PathBuf = "block|cyclic|socket|FILE", Ranks, path,
        "Rank to core: block, cyclic, socket, or a file of one core a line (default: block)";
    #[serde(deserialize_with = "natural")]
    seed: u64 = "S", Run, whole_from_0, "Seed of every random draw (default: 1)";
    #[serde(deserialize_with = "positive")]
    workers: u32 = "W", Run, whole_from_1, "Host threads (default: as many as pay off)";
    max_time: SimSpan = "TIME", Run, parsed, "End at the call when a rank's clock has passed this, such as \"10 s\"";
    #[serde(deserialize_with = "positive")]
    max_events: u64 = "N", Run, whole_from_1, "End after this many events";
    #[serde(deserialize_with = "positive")]
    max_requests: u32 = "N", Run, whole_from_1, "End at more requests of a rank (default: 1000000)";
    #[serde(deserialize_with = "positive", alias = "max_iterations")]
    max_turns ("max_iterations"): u64 = "N", Run, whole_from_1,
        "End when loops take a rank this many iterations without communication";
    #[serde(deserialize_with = "intervals_of")]
    intervals: Intervals = "SIZES", Results, |text| utf8(text).and_then(parse_intervals),
        "Bounds of the profile's message sizes, such as 256,4KiB,64KiB";
    pairs: bool = "", Results, switch, "Count messages between each pair of ranks";
    #[serde(deserialize_with = "compute_of")]
    compute: ComputeMode = "MODE", Programs, |text| utf8(text).and_then(parse_compute),
        "What its own code costs: measure (default), skip, or a time a block";
    #[serde(deserialize_with = "clock_of")]
    clock: HostClock = "CLOCK", Programs, |text| utf8(text).and_then(parse_clock),
        "What measures it: cpu (default) or wall";
    #[serde(deserialize_with = "part_of")]
    memory_bound: MemoryBound = "PART", Programs, parsed,
        "How much of its time memory bounds, so that ranks slow it: 0 to 1 (default: 1)";
    #[serde(deserialize_with = "stack_of")]
    stack_size: Bytes = "SIZE", Programs, |text| utf8(text).and_then(parse_stack),
        "Stack of each rank (default: 8 MiB)";
    #[serde(deserialize_with = "buffering_of")]
    buffering: Buffering = "MODE", Programs, |text| utf8(text).and_then(parse_buffering),
        "Standard sends: platform (default), or none: each waits for its receive";
    #[serde(alias = "share_library")]
    share_libraries ("share_library"): Vec<String> = "NAMES", Programs, |text| utf8(text).map(names),
        "Libraries of which all ranks share one copy, such as libcrypto,libcurl";
}

fn names(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

fn utf8(text: &OsStr) -> Result<&str, String> {
    text.to_str().ok_or_else(|| "expected valid UTF-8".to_owned())
}

fn parsed<T: FromStr<Err: Display>>(text: &OsStr) -> Result<T, String> {
    utf8(text)?.parse().map_err(|error: T::Err| error.to_string())
}

fn path(text: &OsStr) -> Result<PathBuf, String> {
    Ok(PathBuf::from(text))
}

fn switch(_: &OsStr) -> Result<bool, String> {
    Ok(true)
}

fn whole_from_0(text: &OsStr) -> Result<u64, String> {
    parse_whole(utf8(text)?, 0)
}

fn whole_from_1<T: TryFrom<i64>>(text: &OsStr) -> Result<T, String> {
    parse_whole(utf8(text)?, 1)
}

/// The document around it: errors then name `run.seed`, not `seed`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Around {
    run: Given,
}

impl Settings {
    /// Merges the `[run]` table that `document` consists of, which stands in a file of `directory`, the `overrides` of
    /// run, and what the request gives.
    pub(super) fn merge(
        mut document: Document,
        directory: &Path,
        overrides: &[Override],
        request: &RunRequest,
    ) -> Result<Settings, PredictError> {
        for over in overrides {
            document.set(&known_as(over, &document), over)?;
        }
        let file = document.deserialize::<Around>()?.run;
        // A path of the file is relative to the file, one typed by the user to where the user is.
        let beside = |key: &str, path: &Path| {
            let typed = overrides.iter().any(|over| over.key[1] == key);
            if typed { path.to_owned() } else { directory.join(path) }
        };
        let Given { platform: typed_platform, placement: typed_placement, .. } = &request.given;
        let platform = typed_platform.clone().or_else(|| file.platform.as_ref().map(|path| beside("platform", path)));
        let placement = match (typed_placement, &file.placement) {
            (Some(path), _) => PlacementChoice::new(path, Path::new("")),
            (None, Some(path)) if PlacementChoice::is_word(path) => PlacementChoice::new(path, directory),
            (None, Some(path)) => PlacementChoice::File(beside("placement", path)),
            (None, None) => PlacementChoice::default(),
        };
        let given = request.given.clone().over(file);
        let details = request.details;
        let settings = Settings {
            shape: match request.direct {
                true => Some(direct_shape(|name| std::env::var(name).ok())?),
                false => given.nct,
            },
            platform: platform.map(|path| Shipped::Platform.named(&path)).transpose()?,
            ranks: given.ranks,
            oversubscribe: given.oversubscribe.unwrap_or(false),
            placement,
            workers: given.workers,
            model: given.model.unwrap_or_default(),
            seed: given.seed.unwrap_or(1),
            asked_seed: given.seed,
            max_time: given.max_time,
            max_events: given.max_events,
            max_requests: given.max_requests,
            max_turns: given.max_turns,
            intervals: given.intervals.unwrap_or_default(),
            pairs: given.pairs.unwrap_or(false),
            details,
            memory_bound: given.memory_bound,
            job: JobOptions {
                clock: given.clock.unwrap_or_default(),
                compute: given.compute.unwrap_or_default(),
                stack_size: given.stack_size.map_or(DEFAULT_STACK, |size| size.get() as usize),
                checks: request.checks,
                buffering: given.buffering.unwrap_or_default(),
                shared: given.share_libraries.unwrap_or_default(),
            },
        };
        settings.check_placement(&document, typed_placement.is_some())?;
        Ok(settings)
    }

    /// A word that is neither of the two is most often a slip of the pen, not a file.
    fn check_placement(&self, document: &Document, typed: bool) -> Result<(), PredictError> {
        match &self.placement {
            PlacementChoice::File(path) if !path.exists() => {
                let place = match typed {
                    true => "--placement".to_owned(),
                    false => document.place("run.placement"),
                };
                let path = path.display();
                Err(PredictError::input(format!(
                    "expected block, cyclic, socket or a file in {place}; no such file: {path}"
                )))
            }
            _ => Ok(()),
        }
    }

    /// The part that the engine has to know.
    pub(crate) fn options(&self) -> RunOptions {
        RunOptions {
            workers: self.workers.map(|workers| workers.min(MOST_WORKERS)),
            max_time: self.max_time.map(|span| SimTime::ZERO + span),
            max_events: self.max_events,
            max_requests: self.max_requests.unwrap_or(MOST_REQUESTS),
            intervals: self.intervals.clone(),
            pairs: self.pairs,
            per_rank: self.details.per_rank,
            critical_path: self.details.critical_path,
            latency_tolerance: self.details.latency_tolerance,
            timeline: self.details.timeline,
            mailboxes: None,
            restartable: true,
            host_clock: self.details.host_profile.then_some(host::nanoseconds),
        }
    }

    /// The settings as a `[run]` table that reads back as the same, but for the platform, which has a table of its own;
    /// with those keys that only real programs have if `real_program`.
    pub(crate) fn table(&self, real_program: bool) -> toml::Table {
        let integer = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        let placement = match &self.placement {
            // What is given stands in no file, and in no table.
            PlacementChoice::Block | PlacementChoice::Given(_) => "block".to_owned(),
            PlacementChoice::Cyclic => "cyclic".to_owned(),
            PlacementChoice::Socket => "socket".to_owned(),
            // The table may be read from another directory.
            PlacementChoice::File(path) => std::path::absolute(path).unwrap_or(path.clone()).display().to_string(),
        };
        let real = |value: Value| real_program.then_some(value);
        let shared = self.job.shared.iter().map(|name| name.as_str().into()).collect();
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
            ("max_requests", self.max_requests.map(|most| integer(most.into()))),
            ("max_turns", self.max_turns.map(integer)),
            ("intervals", Some(Value::Array(bounds))),
            ("pairs", Some(self.pairs.into())),
            ("compute", real(compute_text(self.job.compute).into())),
            ("clock", real(clock_text(self.job.clock).into())),
            ("memory_bound", self.memory_bound.map(|part| part.of_one().into())),
            ("stack_size", real(self.job.stack_size.to_string().into())),
            ("buffering", real("none".into()).filter(|_| self.job.buffering == Buffering::None)),
            ("share_libraries", real(Value::Array(shared)).filter(|_| !self.job.shared.is_empty())),
        ];
        entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }
}

/// The key of `over` by the name that the document has for it, if it has one: a setting may have two.
fn known_as(over: &Override, document: &Document) -> Vec<String> {
    let mut key = over.key.clone();
    let has = |name: &str| document.table().get("run").and_then(|run| run.get(name)).is_some();
    let names = key.get(1).and_then(|name| Setting::of(name)).map(|setting| [setting.key, setting.name]);
    if let Some(known) = names.into_iter().flatten().find(|name| has(name)) {
        known.clone_into(&mut key[1]);
    }
    key
}

/// The machine of a program that was started by its own name: one core, unless the user has set another.
fn direct_shape(variable: impl Fn(&str) -> Option<String>) -> Result<Shape, PredictError> {
    let text = variable("MCPSIM_NCT").filter(|text| !text.is_empty()).unwrap_or_else(|| "1,1,1".to_owned());
    text.parse().map_err(|error| PredictError::input(format!("MCPSIM_NCT: {error}")))
}

#[cfg(test)]
mod tests;
