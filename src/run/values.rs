//! Parsers of setting values that are more complex than a number. Command-line options and `[run]` keys use the same
//! parser.

use std::path::{Path, PathBuf};

use serde::de::{Deserialize, Deserializer, Error, Unexpected};

use crate::platform::{Site, Textbook};
use crate::process::{Buffering, ComputeMode, HostClock, RanksAs, ShareMemory, StartMethod};
use crate::profile::Intervals;
use crate::units::{Bytes, UnitError};

use super::memory_bound::MemoryBound;

/// Model of the simulated machine's network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Model {
    /// Model with three network levels: intra-CMP, inter-CMP, inter-node.
    #[default]
    Mcpsim,
    /// Model with two network levels, within a node and between nodes: the baseline model of the MCPSim paper.
    TwoLevel,
    /// Textbook model, in which all processors are equally far apart.
    Textbook(Textbook),
}

impl Model {
    /// All network models; mcpsim's own model is first.
    pub const ALL: [Model; 6] = [
        Model::Mcpsim,
        Model::TwoLevel,
        Model::Textbook(Textbook::Hockney),
        Model::Textbook(Textbook::LogP),
        Model::Textbook(Textbook::LogGp),
        Model::Textbook(Textbook::XuHwang),
    ];

    /// Returns the name of the network model in files and in the Outcome.
    pub fn name(self) -> &'static str {
        match self {
            Model::Mcpsim => "mcpsim",
            Model::TwoLevel => "two-level",
            Model::Textbook(Textbook::Hockney) => "hockney",
            Model::Textbook(Textbook::LogP) => "logp",
            Model::Textbook(Textbook::LogGp) => "loggp",
            Model::Textbook(Textbook::XuHwang) => "xu-hwang",
        }
    }
}

/// Former name of [`Model::TwoLevel`], which remains readable.
const FORMER: &str = "bigsim";

impl std::str::FromStr for Model {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = if text == FORMER { Model::TwoLevel.name() } else { text };
        let model = Model::ALL.into_iter().find(|model| model.name() == name);
        model.ok_or_else(|| format!("expected {MODELS}"))
    }
}

/// Assignment of ranks to cores that the user selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PlacementChoice {
    /// Consecutive ranks are placed on consecutive cores.
    #[default]
    Block,
    /// Consecutive ranks are placed on different nodes, round robin.
    Cyclic,
    /// Consecutive ranks are placed on different sockets of a node, round robin.
    Socket,
    /// A file lists the cores of the ranks.
    File(PathBuf),
    /// Another host process has read the list of cores.
    Given(Vec<Site>),
}

impl PlacementChoice {
    /// Parses the placement `block`, `cyclic`, `socket` or a file name. A relative path starts at `directory`.
    pub fn new(text: &Path, directory: &Path) -> Self {
        match text.to_str() {
            Some("block") => PlacementChoice::Block,
            Some("cyclic") => PlacementChoice::Cyclic,
            Some("socket") => PlacementChoice::Socket,
            _ => PlacementChoice::File(directory.join(text)),
        }
    }

    /// Returns true if the text is a placement keyword and not a file name.
    pub(super) fn is_word(text: &Path) -> bool {
        ["block", "cyclic", "socket"].iter().any(|word| text == Path::new(word))
    }
}

/// Parses a whole number of at least `least`, which is 0 or 1, up to the limits of `T` and TOML.
pub(crate) fn parse_whole<T: TryFrom<i64>>(text: &str, least: i64) -> Result<T, String> {
    let range = if least > 0 { "above zero" } else { "that is not negative" };
    let number: i128 = text.parse().map_err(|_| format!("expected a whole number {range}; found \"{text}\""))?;
    if number < least.into() {
        return Err(format!("expected a whole number {range}; found {number}"));
    }
    let most = if size_of::<T>() == size_of::<u32>() { u32::MAX.into() } else { i64::MAX };
    let number = i64::try_from(number).ok().and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| format!("expected a whole number up to {most}; found {text}"))
}

/// Times of the code between MPI calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockTimes {
    /// Each block takes the time that this mode states.
    Own(ComputeMode),
    /// Each block takes the time that is typical of equal measured blocks.
    Typical,
}

impl BlockTimes {
    /// Mode of the run of the program.
    pub(super) fn mode(self) -> ComputeMode {
        match self {
            BlockTimes::Own(mode) => mode,
            BlockTimes::Typical => ComputeMode::Measure,
        }
    }
}

/// Parses the treatment of compute times: "measure", "typical", "skip" or a time.
pub(super) fn parse_compute(text: &str) -> Result<BlockTimes, String> {
    match text {
        "measure" => Ok(BlockTimes::Own(ComputeMode::Measure)),
        "typical" => Ok(BlockTimes::Typical),
        "skip" => Ok(BlockTimes::Own(ComputeMode::Skip)),
        time => time
            .parse()
            .map(|span| BlockTimes::Own(ComputeMode::Fixed(span)))
            .map_err(|_| "expected measure, typical, skip, or the time of each block such as \"1 us\"".to_owned()),
    }
}

/// Returns the text of a compute mode as files contain it.
pub(super) fn compute_text(mode: ComputeMode) -> String {
    match mode {
        ComputeMode::Measure => "measure".to_owned(),
        ComputeMode::Skip => "skip".to_owned(),
        ComputeMode::Fixed(span) => format!("{} ps", span.as_ps()),
    }
}

/// Parses the clock that times program code: "cpu" or "wall".
pub(super) fn parse_clock(text: &str) -> Result<HostClock, String> {
    match text {
        "cpu" => Ok(HostClock::Cpu),
        "wall" => Ok(HostClock::Wall),
        _ => Err("expected cpu or wall".to_owned()),
    }
}

/// Parses the buffering of sends: "platform" or "none".
pub(super) fn parse_buffering(text: &str) -> Result<Buffering, String> {
    match text {
        "platform" => Ok(Buffering::Platform),
        "none" => Ok(Buffering::None),
        _ => Err("expected platform or none".to_owned()),
    }
}

/// Parses the size of the longest message that carries its data: "all", "none" or a size.
pub(super) fn parse_data(text: &str) -> Result<Bytes, String> {
    match text {
        "all" => Ok(Bytes::MAX),
        "none" => Ok(Bytes::ZERO),
        size => size.parse().map_err(|_| "expected all, none or a size such as \"1 KiB\"".to_owned()),
    }
}

/// Returns the text of the size of the longest message that carries its data, as files contain it.
pub(super) fn data_text(most: Bytes) -> String {
    match most {
        Bytes::MAX => "all".to_owned(),
        Bytes::ZERO => "none".to_owned(),
        size => format!("{} B", size.get()),
    }
}

/// Parses the memory that is folded: "marked", "none" or a size.
pub(super) fn parse_share_memory(text: &str) -> Result<ShareMemory, String> {
    match text {
        "marked" => Ok(ShareMemory::Marked),
        "none" => Ok(ShareMemory::None),
        size => match size.parse() {
            Ok(size) if size >= LEAST_FOLDED => Ok(ShareMemory::From(size)),
            _ => Err("expected marked, none or a size from 4 KiB on such as \"1 MiB\"".to_owned()),
        },
    }
}

/// Least size of folded blocks: a page.
const LEAST_FOLDED: Bytes = Bytes::new(4096);

/// Returns the text of the memory that is folded, as files contain it.
pub(super) fn share_memory_text(share: ShareMemory) -> String {
    match share {
        ShareMemory::Marked => "marked".to_owned(),
        ShareMemory::None => "none".to_owned(),
        ShareMemory::From(size) => format!("{} B", size.get()),
    }
}

/// Parses the execution of ranks: "auto", "fiber" or "process".
pub(super) fn parse_ranks_as(text: &str) -> Result<RanksAs, String> {
    match text {
        "auto" => Ok(RanksAs::Auto),
        "fiber" => Ok(RanksAs::Fiber),
        "process" => Ok(RanksAs::Process),
        _ => Err("expected auto, fiber or process".to_owned()),
    }
}

/// Returns the text of an execution of ranks as files contain it.
pub(super) fn ranks_as_text(ranks_as: RanksAs) -> &'static str {
    match ranks_as {
        RanksAs::Auto => "auto",
        RanksAs::Fiber => "fiber",
        RanksAs::Process => "process",
    }
}

/// Parses the start of ranks that are processes: "auto", "fork" or "exec".
pub(super) fn parse_start(text: &str) -> Result<StartMethod, String> {
    match text {
        "auto" => Ok(StartMethod::Auto),
        "fork" => Ok(StartMethod::Fork),
        "exec" => Ok(StartMethod::Exec),
        _ => Err("expected auto, fork or exec".to_owned()),
    }
}

/// Returns the text of a start of processes as files contain it.
pub(super) fn start_text(start: StartMethod) -> &'static str {
    match start {
        StartMethod::Auto => "auto",
        StartMethod::Fork => "fork",
        StartMethod::Exec => "exec",
    }
}

/// Returns the text of a host clock as files contain it.
pub(super) fn clock_text(clock: HostClock) -> &'static str {
    match clock {
        HostClock::Cpu => "cpu",
        HostClock::Wall => "wall",
    }
}

/// Parses the stack size of a rank.
pub(super) fn parse_stack(text: &str) -> Result<Bytes, String> {
    const EXPECTED: &str = "expected a size from 16 KiB to 64 GiB, such as \"8 MiB\"";
    let size: Bytes = text.parse().map_err(|_| EXPECTED.to_owned())?;
    if (16 << 10..=64 << 30).contains(&size.get()) { Ok(size) } else { Err(EXPECTED.to_owned()) }
}

/// Defines a reader of a `[run]` key that uses the parser of the command-line option.
macro_rules! as_option {
    ($name:ident, $parse:ident, $type:ty, $expected:literal) => {
        pub(super) fn $name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<$type>, D::Error> {
            checked(deserializer, $expected, |value| match value {
                toml::Value::String(text) => $parse(text).ok(),
                _ => None,
            })
            .map(Some)
        }
    };
}

as_option!(compute_of, parse_compute, BlockTimes, "\"measure\", \"typical\", \"skip\" or a time such as \"1 us\"");
as_option!(clock_of, parse_clock, HostClock, "\"cpu\" or \"wall\"");
as_option!(buffering_of, parse_buffering, Buffering, "\"platform\" or \"none\"");
as_option!(data_of, parse_data, Bytes, "\"all\", \"none\" or a size such as \"1 KiB\"");
as_option!(
    share_memory_of,
    parse_share_memory,
    ShareMemory,
    "\"marked\", \"none\" or a size from 4 KiB on such as \"1 MiB\""
);
as_option!(ranks_as_of, parse_ranks_as, RanksAs, "\"auto\", \"fiber\" or \"process\"");
as_option!(start_of, parse_start, StartMethod, "\"auto\", \"fork\" or \"exec\"");
as_option!(stack_of, parse_stack, Bytes, "a size from 16 KiB to 64 GiB such as \"8 MiB\"");

const INTERVALS: &str = "sizes in increasing order, at most 1000, such as 256,4KiB,64KiB";
const MODELS: &str = "mcpsim, two-level, hockney, logp, loggp or xu-hwang";

/// Parses the bounds of message size intervals, such as "256,4KiB,64KiB".
pub(super) fn parse_intervals(text: &str) -> Result<Intervals, String> {
    let bounds: Result<Vec<Bytes>, UnitError> = text.split(',').map(|part| part.trim().parse()).collect();
    let bounds = bounds.map_err(|error| error.to_string())?;
    Intervals::new(bounds).map_err(|_| format!("expected {INTERVALS}"))
}

/// Reads a value of the `[run]` table. An error has the form of other errors in files.
fn checked<'de, D, T>(deserializer: D, expected: &str, read: impl Fn(&toml::Value) -> Option<T>) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
{
    let value = toml::Value::deserialize(deserializer)?;
    read(&value).ok_or_else(|| match &value {
        toml::Value::Table(_) => D::Error::invalid_type(Unexpected::Map, &expected),
        value => D::Error::invalid_value(Unexpected::Other(&value.to_string()), &expected),
    })
}

/// Reads a number from 1 to the limit of its type in the `[run]` table.
pub(super) fn positive<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    checked(deserializer, "a whole number above zero that is not too large", |value| {
        value.as_integer().filter(|&number| number > 0).and_then(|number| T::try_from(number).ok()).map(Some)
    })
}

/// Reads a number of at least 0 in the `[run]` table.
pub(super) fn natural<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    checked(deserializer, "a whole number from 0 on", |value| {
        value.as_integer().and_then(|number| u64::try_from(number).ok()).map(Some)
    })
}

/// Reads message size intervals from the text "256,4KiB" or the array [256, "4KiB"].
pub(super) fn intervals_of<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Intervals>, D::Error> {
    checked(deserializer, INTERVALS, |value| parse_intervals(&as_list(value)?).ok().map(Some))
}

/// Reads the name of a network model.
pub(super) fn model_of<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Model>, D::Error> {
    checked(deserializer, MODELS, |value| value.as_str()?.parse().ok().map(Some))
}

/// Reads memory-bound parts.
pub(super) fn part_of<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<MemoryBound>, D::Error> {
    checked(deserializer, MemoryBound::expected(), |value| MemoryBound::of_value(value).map(Some))
}

/// Returns the comma-separated form of a TOML text, number, or array.
fn as_list(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Array(list) => {
            let parts = list.iter().map(|part| if part.is_array() { None } else { as_list(part) });
            Some(parts.collect::<Option<Vec<_>>>()?.join(","))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placement_is_a_word_or_a_file_beside_the_one_that_names_it() {
        let place = |text: &str| PlacementChoice::new(Path::new(text), Path::new("dir"));
        assert_eq!(place("cyclic"), PlacementChoice::Cyclic);
        assert_eq!(place("socket"), PlacementChoice::Socket);
        assert_eq!(place("./block"), PlacementChoice::File(PathBuf::from("dir/./block")));
        assert_eq!(place("/x/ranks"), PlacementChoice::File(PathBuf::from("/x/ranks")));
    }
}
