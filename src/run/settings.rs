//! Table of the settings of a simulation run. Command-line options and `--set run.…` override the `[run]` table of the
//! application file, which overrides the defaults.

mod heading;

use std::ffi::OsStr;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::Deserialize;
use toml::Value;

use crate::config::{Document, Override};
use crate::engine::{MOST_REQUESTS, RunOptions};
use crate::platform::Shape;
use crate::process::{Buffering, ComputeMode, HostClock, JobOptions, RanksAs, ShareMemory, StartMethod};
use crate::profile::Intervals;
use crate::units::{Bytes, SimSpan, SimTime};

use super::application::Application;
use super::error::PredictError;
use super::host;
use super::memory_bound::MemoryBound;
use super::request::{Details, RunRequest};
use super::shipped::Shipped;
use super::values::{
    BlockTimes, Model, PlacementChoice, buffering_of, clock_of, clock_text, compute_of, compute_text, data_of,
    data_text, intervals_of, model_of, natural, parse_buffering, parse_clock, parse_compute, parse_data,
    parse_intervals, parse_ranks_as, parse_share_memory, parse_stack, parse_start, parse_whole, part_of, positive,
    ranks_as_of, ranks_as_text, share_memory_of, share_memory_text, stack_of, start_of, start_text,
};

pub use heading::Heading;

/// Stack size of a simulated rank in bytes, equal to the default stack size of a process.
const DEFAULT_STACK: usize = 8 << 20;
/// Maximum number of worker threads. Each pair of worker threads needs some memory.
const MOST_WORKERS: u32 = 1024;

/// Settings of a simulation run, merged from all sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Shape of the simulated machine; by default the shape in the platform file.
    pub shape: Option<Shape>,
    /// Platform file; by default the built-in platform.
    pub platform: Option<PathBuf>,
    /// Number of simulated ranks; by default one per core.
    pub ranks: Option<u32>,
    /// True if several ranks may share a core.
    pub oversubscribe: bool,
    /// Mapping of ranks to cores.
    pub placement: PlacementChoice,
    /// Unit of the machine (such as node or socket) over which consecutive ranks are distributed, instead of
    /// `placement`.
    pub map_by: Option<String>,
    /// Greatest number of ranks on a node.
    pub ranks_per_node: Option<u32>,
    /// Number of cores of each rank, for threads of the rank.
    pub cores_per_rank: u32,
    /// Number of host threads; by default as many as make the run faster.
    pub workers: Option<u32>,
    /// Network model of the simulation.
    pub model: Model,
    /// Seed of all random draws in the simulation.
    pub seed: u64,
    /// Seed that the user explicitly requests. The requested seed overrides the seed that a trace contains.
    pub asked_seed: Option<u64>,
    /// Maximum virtual time of any rank.
    pub max_time: Option<SimSpan>,
    /// Maximum number of simulated events.
    pub max_events: Option<u64>,
    /// Maximum number of outstanding MPI requests per rank; by default a million.
    pub max_requests: Option<u32>,
    /// Maximum number of loop iterations of a rank without communication; by default the number that the application
    /// states.
    pub max_turns: Option<u64>,
    /// Upper bounds of the message size intervals in the profile.
    pub intervals: Intervals,
    /// True if messages are counted for each pair of ranks.
    pub pairs: bool,
    /// Details of the Outcome in addition to the prediction.
    pub details: Details,
    /// Fraction of a real program's compute time that is memory-bound; by default the whole compute time.
    pub memory_bound: Option<MemoryBound>,
    /// True if blocks of a real program's code take typical times instead of their measured times.
    pub typical: bool,
    /// File with the rates of BLAS functions that compute nothing.
    pub kernels: Option<PathBuf>,
    /// Options for executing a real program.
    pub job: JobOptions,
}

/// Setting of a simulation run, which is a key of the `[run]` table, a command-line option, and a key of `--set`.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Name of the setting's key in the `[run]` table.
    pub key: &'static str,
    /// Name of the setting's command-line option, with `-` for `_`. If this name differs from the key, the name is also
    /// accepted as a key.
    pub name: &'static str,
    /// Placeholder of the setting's value in `--help`. The placeholder is empty for a switch, which has no value.
    pub value: &'static str,
    /// Heading under which `--help` lists the setting.
    pub heading: Heading,
    /// Effect and default value of the setting, as `--help` prints them.
    pub help: &'static str,
    set: fn(&mut Given, &OsStr) -> Result<(), String>,
}

impl Setting {
    /// Parses the value `text` of the setting's option and stores the value in `given`. The text of a switch is
    /// ignored.
    ///
    /// # Errors
    /// The error is the expected form of the setting's value.
    pub fn set(&self, given: &mut Given, text: impl AsRef<OsStr>) -> Result<(), String> {
        (self.set)(given, text.as_ref())
    }

    /// Returns the name of the setting's command-line option, without the leading dashes.
    pub fn option(&self) -> String {
        self.name.replace('_', "-")
    }

    /// Returns true if the setting affects a run of `application`.
    pub(super) fn is_heeded(&self, application: &Application) -> bool {
        match application {
            Application::Real(_) => true,
            // The times of recorded program code depend on the slowdown between ranks on a CMP (socket).
            Application::Trace(_) if self.key == "memory_bound" => true,
            Application::Jobs(jobs) if jobs.has_program() => true,
            Application::Jobs(_) if self.key == "memory_bound" => true,
            Application::Described(_) | Application::Trace(_) | Application::Jobs(_) => {
                self.heading != Heading::Programs
            }
        }
    }

    /// Returns true if the setting's value may be a file name, which need not be UTF-8.
    pub fn is_path(&self) -> bool {
        self.value.contains("FILE")
    }

    /// Returns the setting with the key `key`.
    pub fn of(key: &str) -> Option<&'static Setting> {
        SETTINGS.iter().find(|setting| [setting.key, setting.name].contains(&key))
    }
}

/// The table of settings of a run. Each row defines a field of [`Given`], a key of the `[run]` table, and a
/// command-line option.
macro_rules! settings {
    (
        $($(#[$read:meta])* $key:ident $(($name:literal))?: $type:ty = $value:literal, $heading:ident, $parse:expr,
            $help:literal;)*
    ) => {
        /// Settings of a run that a `[run]` table or command-line options contain. A field is `None` if its setting has
        /// the default value.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Given {
            $(#[doc = $help] $(#[$read])* pub $key: Option<$type>,)*
        }

        impl Given {
            /// Returns these settings of a run. Settings that are absent in `self` are taken from `other`.
            #[must_use]
            pub fn over(self, other: Given) -> Given {
                Given { $($key: self.$key.or(other.$key),)* }
            }

            /// Returns the keys of the settings that have a value.
            pub fn keys(&self) -> Vec<&'static str> {
                [$(self.$key.is_some().then_some(stringify!($key)),)*].into_iter().flatten().collect()
            }
        }

        /// All settings of a run, in the order of `--help`.
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
    nct: Shape = "N,C,T", Machine, parsed,
        "Shape of the machine: N nodes, C CMPs (sockets) per node, T cores per CMP";
    platform: PathBuf = "FILE|NAME", Machine, path,
        "The simulated machine: a platform file, or a name from mcpsim list (default: default)";
    #[serde(deserialize_with = "model_of")]
    model: Model = "MODEL", Machine, parsed,
        "Network model: mcpsim (default), two-level (a simple baseline), or a textbook model: hockney, logp, loggp, xu-hwang";
    #[serde(deserialize_with = "positive")]
    ranks: u32 = "P", Ranks, whole_from_1, "Number of ranks (default: one per core)";
    oversubscribe: bool = "", Ranks, switch, "Allow more than one rank per core";
    placement: PathBuf = "block|cyclic|socket|FILE", Ranks, path,
        "Placement of ranks: block, cyclic, socket, or a file with one core per rank (default: block)";
    map_by: String = "PLACE", Ranks, parsed,
        "Place over which consecutive ranks are distributed: core, cmp, node, or a name from `places`";
    #[serde(deserialize_with = "positive")]
    ranks_per_node: u32 = "K", Ranks, whole_from_1, "Greatest number of ranks on a node (default: one per core)";
    #[serde(deserialize_with = "positive")]
    cores_per_rank: u32 = "K", Ranks, whole_from_1,
        "Number of cores of each rank, for the threads of the rank (default: 1)";
    #[serde(deserialize_with = "natural")]
    seed: u64 = "S", Run, whole_from_0, "Seed of all random numbers of the run (default: 1)";
    #[serde(deserialize_with = "positive")]
    workers: u32 = "W", Run, whole_from_1,
        "Number of host threads (default: chosen automatically)";
    max_time: SimSpan = "TIME", Run, parsed,
        "Stop with an error when a rank's simulated time exceeds TIME, such as \"10 s\"";
    #[serde(deserialize_with = "positive")]
    max_events: u64 = "N", Run, whole_from_1, "Stop with an error after N simulated events";
    #[serde(deserialize_with = "positive")]
    max_requests: u32 = "N", Run, whole_from_1,
        "Stop with an error if a rank has more than N outstanding requests (default: 1000000)";
    #[serde(deserialize_with = "positive", alias = "max_iterations")]
    max_turns ("max_iterations"): u64 = "N", Run, whole_from_1,
        "Stop with an error if a rank executes N loop iterations without communication";
    #[serde(deserialize_with = "intervals_of")]
    intervals: Intervals = "SIZES", Results, |text| utf8(text).and_then(parse_intervals),
        "Upper bounds of the size classes in the message profile, such as 256,4KiB,64KiB";
    pairs: bool = "", Results, switch,
        "Count messages between each pair of ranks (communication matrix of mcpsim report)";
    #[serde(deserialize_with = "compute_of")]
    compute: BlockTimes = "MODE", Programs, |text| utf8(text).and_then(parse_compute),
        "Time of the code between MPI calls: measure (default), typical, skip, or a fixed time";
    #[serde(deserialize_with = "clock_of")]
    clock: HostClock = "CLOCK", Programs, |text| utf8(text).and_then(parse_clock),
        "Clock that measures the program's code: cpu (default) or wall";
    #[serde(deserialize_with = "part_of")]
    memory_bound: MemoryBound = "PARTS", Programs, parsed,
        "Share of the code's time that is memory-bound, which ranks on the same CMP slow down: 0 to 1 (default: 1), or by MPI function: 0.4,MPI_Wait=0.6";
    #[serde(deserialize_with = "stack_of")]
    stack_size: Bytes = "SIZE", Programs, |text| utf8(text).and_then(parse_stack),
        "Stack size of each rank (default: 8 MiB)";
    #[serde(deserialize_with = "buffering_of")]
    buffering: Buffering = "MODE", Programs, |text| utf8(text).and_then(parse_buffering),
        "Buffering of MPI_Send: platform (default), or none (every send waits for its receive)";
    #[serde(deserialize_with = "data_of")]
    data: Bytes = "SIZE", Programs, |text| utf8(text).and_then(parse_data),
        "Longest message that carries its data: all (default), none, or a size";
    #[serde(deserialize_with = "share_memory_of")]
    share_memory: ShareMemory = "SIZE", Programs, |text| utf8(text).and_then(parse_share_memory),
        "Allocations of at least SIZE use the same memory for all ranks, so results are wrong (default: marked, only mcpsim_shared_malloc); none";
    kernels: PathBuf = "FILE", Programs, path,
        "Rates of BLAS functions, from mcpsim measure --kernels, for programs that were linked with --model-blas";
    #[serde(alias = "share_library")]
    share_libraries ("share_library"): Vec<String> = "NAMES", Programs, |text| utf8(text).map(names),
        "Libraries that all ranks share in one copy, such as libcrypto,libcurl";
    #[serde(deserialize_with = "ranks_as_of")]
    ranks_as: RanksAs = "WAY", Programs, |text| utf8(text).and_then(parse_ranks_as),
        "Execution of ranks: auto (default), fiber (programs of mcpsim cc), or process (programs as built)";
    #[serde(deserialize_with = "start_of")]
    start: StartMethod = "WAY", Programs, |text| utf8(text).and_then(parse_start),
        "Start of ranks as processes: auto (default), fork (in MPI_Init), or exec (once per rank)";
    #[serde(deserialize_with = "natural")]
    debug_rank: u64 = "R", Programs, whole_from_0,
        "Make rank R of a program as built wait for a debugger in MPI_Init";
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

/// A document that contains the `[run]` table, so errors name `run.seed`, not `seed`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Around {
    run: Given,
}

impl Settings {
    /// Merges the `[run]` table in `document`, which is a file in `directory`, the overrides of `run` keys in
    /// `overrides`, and the settings of the request.
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
        // A path in the file is relative to the file; a path in an option is relative to the current directory.
        let beside = |key: &str, path: &Path| {
            let typed = overrides.iter().any(|over| over.key[1] == key);
            if typed { path.to_owned() } else { directory.join(path) }
        };
        let Given { platform: typed_platform, placement: typed_placement, .. } = &request.given;
        let platform = typed_platform.clone().or_else(|| file.platform.as_ref().map(|path| beside("platform", path)));
        let kernels = request.given.kernels.clone();
        let kernels = kernels.or_else(|| file.kernels.as_ref().map(|path| beside("kernels", path)));
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
            map_by: given.map_by,
            ranks_per_node: given.ranks_per_node,
            cores_per_rank: given.cores_per_rank.unwrap_or(1),
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
            typical: given.compute == Some(BlockTimes::Typical),
            memory_bound: given.memory_bound,
            kernels,
            job: JobOptions {
                clock: given.clock.unwrap_or_default(),
                compute: given.compute.map_or_else(ComputeMode::default, BlockTimes::mode),
                stack_size: given.stack_size.map_or(DEFAULT_STACK, |size| size.get() as usize),
                checks: request.checks,
                buffering: given.buffering.unwrap_or_default(),
                most_data: given.data.unwrap_or(Bytes::MAX),
                share_memory: given.share_memory.unwrap_or_default(),
                shared: given.share_libraries.unwrap_or_default(),
                ranks_as: given.ranks_as.unwrap_or_default(),
                start: given.start.unwrap_or_default(),
                debugged: given.debug_rank.and_then(|rank| u32::try_from(rank).ok()),
                cores_per_rank: given.cores_per_rank.unwrap_or(1),
            },
        };
        settings.check_placement(&document, typed_placement.is_some())?;
        Ok(settings)
    }

    /// Rejects any single word that is not a placement, because such a word is more often a typing error than a file
    /// name.
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

    /// Returns the options that the simulation engine gets.
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
            load_over_time: self.details.load_over_time,
            cores_per_rank: self.cores_per_rank,
            mailboxes: None,
            restartable: true,
            host_clock: self.details.host_profile.then_some(host::nanoseconds),
        }
    }

    /// Returns the settings as a `[run]` table, from which the same settings can be read again. The platform is
    /// excluded, because the platform has its own table. Keys for real programs are included only if `real_program` is
    /// true.
    pub(crate) fn table(&self, real_program: bool) -> toml::Table {
        let integer = |number: u64| Value::Integer(i64::try_from(number).unwrap_or(i64::MAX));
        let placement = match &self.placement {
            // A list of cores that another host process has read has no file name and no table form.
            PlacementChoice::Block | PlacementChoice::Given(_) => "block".to_owned(),
            PlacementChoice::Cyclic => "cyclic".to_owned(),
            PlacementChoice::Socket => "socket".to_owned(),
            PlacementChoice::File(path) => absolute(path),
        };
        let real = |value: Value| real_program.then_some(value);
        let share_memory = real(share_memory_text(self.job.share_memory).into());
        let shared = self.job.shared.iter().map(|name| name.as_str().into()).collect();
        let bounds = self.intervals.bounds().iter().map(|bound| integer(bound.get())).collect();
        let entries = [
            ("nct", self.shape.map(|shape| format!("{},{},{}", shape.nodes, shape.cmps, shape.cores).into())),
            ("ranks", self.ranks.map(|ranks| integer(ranks.into()))),
            ("oversubscribe", Some(self.oversubscribe.into())),
            ("placement", Some(placement.into()).filter(|_| self.map_by.is_none() && self.ranks_per_node.is_none())),
            ("map_by", self.map_by.as_deref().map(Into::into)),
            ("ranks_per_node", self.ranks_per_node.map(|most| integer(most.into()))),
            ("cores_per_rank", Some(integer(self.cores_per_rank.into())).filter(|_| self.cores_per_rank > 1)),
            ("workers", self.workers.map(|workers| integer(workers.into()))),
            ("model", Some(self.model.name().into())),
            ("seed", Some(integer(self.seed))),
            ("max_time", self.max_time.map(|span| format!("{} ps", span.as_ps()).into())),
            ("max_events", self.max_events.map(integer)),
            ("max_requests", self.max_requests.map(|most| integer(most.into()))),
            ("max_turns", self.max_turns.map(integer)),
            ("intervals", Some(Value::Array(bounds))),
            ("pairs", Some(self.pairs.into())),
            ("compute", real(if self.typical { "typical".into() } else { compute_text(self.job.compute).into() })),
            ("clock", real(clock_text(self.job.clock).into())),
            ("memory_bound", self.memory_bound.as_ref().map(MemoryBound::value)),
            ("stack_size", real(self.job.stack_size.to_string().into())),
            ("buffering", real("none".into()).filter(|_| self.job.buffering == Buffering::None)),
            ("data", real(data_text(self.job.most_data).into()).filter(|_| self.job.most_data < Bytes::MAX)),
            ("kernels", self.kernels.as_deref().and_then(|path| real(absolute(path).into()))),
            ("share_memory", share_memory.filter(|_| self.job.share_memory != ShareMemory::Marked)),
            ("share_libraries", real(Value::Array(shared)).filter(|_| !self.job.shared.is_empty())),
            ("ranks_as", real(ranks_as_text(self.job.ranks_as).into()).filter(|_| self.job.ranks_as != RanksAs::Auto)),
            ("start", real(start_text(self.job.start).into()).filter(|_| self.job.start != StartMethod::Auto)),
        ];
        entries.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }
}

/// Returns the absolute form of a path for a table, which may be read from another directory.
fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or(path.to_owned()).display().to_string()
}

/// Returns the key of `over` under the name that the document uses for the key; a setting may have two names.
fn known_as(over: &Override, document: &Document) -> Vec<String> {
    let mut key = over.key.clone();
    let has = |name: &str| document.table().get("run").and_then(|run| run.get(name)).is_some();
    let names = key.get(1).and_then(|name| Setting::of(name)).map(|setting| [setting.key, setting.name]);
    if let Some(known) = names.into_iter().flatten().find(|name| has(name)) {
        known.clone_into(&mut key[1]);
    }
    key
}

/// Returns the machine of a program that the user started by its own name: one core, unless an environment variable
/// sets another shape.
fn direct_shape(variable: impl Fn(&str) -> Option<String>) -> Result<Shape, PredictError> {
    let text = variable("MCPSIM_NCT").filter(|text| !text.is_empty()).unwrap_or_else(|| "1,1,1".to_owned());
    text.parse().map_err(|error| PredictError::input(format!("MCPSIM_NCT: {error}")))
}

#[cfg(test)]
mod tests;
