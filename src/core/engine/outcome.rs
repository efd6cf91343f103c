//! The result of a run: the one thing that is exported, and all that reports read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::mistake::Mistake;
use super::repeats::Repeats;
use crate::platform::UnreadKeys;
use crate::profile::{
    AppResult, BlockUse, CollectiveUse, ContentionLevels, CopyUse, CriticalPath, Efficiencies, FunctionProfile,
    KindMessages, LatencyTolerance, MessageCell, MessageProfile, MessageSort, OtherAlgorithm, PathParts, ResourceUse,
    SharesChanged, SiteProfile, TaskAnalysis, TaskLog, TimeParts, Timeline, TimerSums, UnreceivedMessage,
    UnwaitedRequests, WhatIf,
};
use crate::units::{SimSpan, SimTime, picoseconds};

/// What a run predicts and how it came about. README states the JSON form; times are picoseconds, sizes bytes.
///
/// What is exported reads back as the same Outcome, but for the fields that are not a part of the JSON form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The version of mcpsim.
    pub mcpsim: String,
    /// The greatest clock of any rank.
    #[serde(rename = "predicted_ps")]
    pub predicted: SimTime,
    /// The same in seconds.
    pub predicted_s: f64,
    /// Nodes, CMPs a node, cores a CMP.
    pub nct: [u32; 3],
    /// Hardware threads a core.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub threads: u32,
    /// What the application works out from its timers, in the order in which it names them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<AppResult>,
    /// What its timers held; not a part of the JSON form.
    #[serde(skip)]
    pub timers: TimerSums,
    /// Target ranks.
    pub ranks: u32,
    /// The application's name.
    pub app: String,
    /// The platform's name.
    pub platform: String,
    /// `mcpsim` or `bigsim`.
    pub model: String,
    /// The seed of all random draws.
    pub seed: u64,
    /// All point-to-point messages, those of collectives included.
    pub messages: Totals,
    /// Sent messages that no receive took.
    pub unreceived: u64,
    /// The first of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first_unreceived: Vec<UnreceivedMessage>,
    /// Requests of a described application that no rank waited for, by the statements that started them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unwaited: Vec<UnwaitedRequests>,
    /// Messages by level.
    pub levels: LevelTotals,
    /// Messages by size interval and level.
    pub profile: Vec<IntervalMessages>,
    /// Where the ranks' time went, the mean over all of them.
    pub mean_parts: TimeParts,
    /// Collectives by call and algorithm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<CollectiveUse>,
    /// What other algorithms of collectives would change, if asked for; the fastest run first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_algorithms: Option<Vec<OtherAlgorithm>>,
    /// What the predicted time is made of.
    pub path: PathParts,
    /// What the contention on the path was for, where messages share over time what they occupy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<ContentionLevels>,
    /// How much of what messages share over time was used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub utilisation: Vec<ResourceUse>,
    /// Transfers whose shares changed while they were under way, where a law judges them once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares_changed: Vec<SharesChanged>,
    /// What changes of the machine would save to first order, the most first.
    pub what_if: Vec<WhatIf>,
    /// Whose the path was and in which calls, if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_path: Option<CriticalPath>,
    /// The POP efficiencies, if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efficiencies: Option<Efficiencies>,
    /// How much more latency the run bears, if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_tolerance: Option<Vec<LatencyTolerance>>,
    /// Calls by function, if asked for; the function with the most time first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<Vec<FunctionProfile>>,
    /// Calls by their places in the program, if asked for; the place with the most time first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sites: Option<Vec<SiteProfile>>,
    /// Messages by what sent them and by level, with the calls by function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<KindMessages>>,
    /// How many messages of each kind, level and size were sent, with the calls by function; not a part of the JSON
    /// form.
    #[serde(skip)]
    pub sent: BTreeMap<MessageSort, u64>,
    /// How many messages of each size were sent, with the calls by function.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<BTreeMap<u64, u64>>,
    /// What became of fragments, if the application has some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Box<TaskAnalysis>>,
    /// What each process recorded of its fragments; not a part of the JSON form.
    #[serde(skip)]
    pub task_logs: Vec<TaskLog>,
    /// What each rank did over time, if asked for; not a part of the JSON form.
    #[serde(skip)]
    pub timelines: Vec<Timeline>,
    /// The names of the calls and statements that timelines number; not a part of the JSON form.
    #[serde(skip)]
    pub places: Vec<String>,
    /// Each rank's place, clock and parts; left out above 65,536 ranks unless asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_rank: Vec<RankTime>,
    /// Messages between pairs, if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Vec<PairMessages>>,
    /// What copies within nodes found, where the platform states caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<CopyUse>,
    /// What blocks that compute found, where memory is shared over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockUse>,
    /// Keys of the platform that nothing reads, as its laws are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread_keys: Vec<UnreadKeys>,
    /// How a real program ended, if not as MPI wants it, and what its ranks shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Box<ProgramEnd>>,
    /// Mistakes of the program's MPI calls that did not end the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
    /// Other runs that differ in their seeds only, if asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Repeats>,
    /// Everything the run was given; left out of the results of studies.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub config: serde_json::Value,
    /// What the run took of the host; all that may differ between equal runs. Left out of the results of studies.
    #[serde(default, skip_serializing_if = "HostUse::is_none")]
    pub host: HostUse,
}

impl Outcome {
    /// What a study keeps of a run: nothing that grows with ranks, nothing that is not exported.
    #[must_use]
    pub fn of_point(self) -> Outcome {
        let (per_rank, pairs, sent) = (Vec::new(), None, BTreeMap::new());
        let (task_logs, timelines, places) = (Vec::new(), Vec::new(), Vec::new());
        let timers = TimerSums::default();
        Outcome { per_rank, pairs, sent, task_logs, timers, timelines, places, ..self }
    }
}

/// How the ranks of a program ended, and what they shared; of a program whose ranks ended as MPI wants it and shared
/// nothing there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramEnd {
    /// What mcpsim exits with: the first code that is not 0, or 1 for ranks that never called MPI_Finalize.
    pub exit_code: u8,
    /// Exit codes other than 0, by rank.
    pub codes: BTreeMap<u32, i32>,
    /// Ranks that never called MPI_Finalize.
    pub unfinalised: Vec<u32>,
    /// The files of libraries that ranks had no copies of, without those that are part of the C library or a
    /// compiler's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_libraries: Vec<String>,
}

/// Count and bytes of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// How many.
    pub count: u64,
    /// Their sizes' sum.
    pub bytes: u64,
}

/// Count, bytes and transfer time of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Messages {
    /// How many.
    pub count: u64,
    /// Their sizes' sum.
    pub bytes: u64,
    /// The sum of their transfer times.
    #[serde(rename = "time_ps", deserialize_with = "picoseconds", default)]
    pub time: SimSpan,
}

/// Messages by level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct LevelTotals {
    pub intra_cmp: Messages,
    pub inter_cmp: Messages,
    pub inter_node: Messages,
}

/// Messages of sizes in `(above, up_to]`, the first interval with size 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntervalMessages {
    /// The greatest size below.
    pub above: u64,
    /// The greatest size in it; null in the last.
    pub up_to: Option<u64>,
    /// The messages.
    #[serde(flatten)]
    pub levels: LevelTotals,
}

/// A rank's place, clock and parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankTime {
    /// The rank.
    pub rank: u32,
    /// Its node.
    pub node: u32,
    /// Its CMP within the node.
    pub cmp: u32,
    /// Its core within the CMP.
    pub core: u32,
    /// Its clock at the end.
    #[serde(rename = "clock_ps")]
    pub clock: SimTime,
    /// Where its time went.
    #[serde(flatten)]
    pub parts: TimeParts,
}

/// Messages from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairMessages {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// How many.
    pub count: u64,
    /// Their sizes' sum.
    pub bytes: u64,
}

/// What a run took of the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostUse {
    /// Wall-clock seconds of the simulation itself.
    pub wall_s: f64,
    /// Simulated messages a second.
    pub messages_per_s: f64,
    /// Worker threads of all processes.
    pub workers: u32,
    /// Host processes.
    pub processes: u32,
    /// The greatest resident set of each process, added up.
    pub peak_rss_bytes: u64,
    /// What workers did with their time, if asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profile: Vec<HostTime>,
}

impl HostUse {
    fn is_none(&self) -> bool {
        *self == HostUse::default()
    }
}

/// What a worker did with its time, in nanoseconds of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostTime {
    /// The worker, numbered over all processes.
    pub worker: u32,
    /// Its process.
    pub process: u32,
    /// Handling events.
    #[serde(rename = "windows_ns")]
    pub windows: u64,
    /// In the ranks' own code.
    #[serde(rename = "code_ns")]
    pub code: u64,
    /// Handing over events to other workers and taking theirs.
    #[serde(rename = "exchange_ns")]
    pub exchange: u64,
    /// Waiting for other workers.
    #[serde(rename = "idle_ns")]
    pub idle: u64,
}

impl From<MessageCell> for Totals {
    fn from(cell: MessageCell) -> Self {
        Totals { count: cell.count, bytes: cell.bytes }
    }
}

impl From<MessageCell> for Messages {
    fn from(cell: MessageCell) -> Self {
        Messages { count: cell.count, bytes: cell.bytes, time: cell.time }
    }
}

impl From<&MessageProfile> for LevelTotals {
    fn from(profile: &MessageProfile) -> Self {
        use crate::platform::Level::{InterCmp, InterNode, IntraCmp};
        LevelTotals {
            intra_cmp: profile.level(IntraCmp).into(),
            inter_cmp: profile.level(InterCmp).into(),
            inter_node: profile.level(InterNode).into(),
        }
    }
}

impl IntervalMessages {
    /// The rows of `profile`, smallest sizes first.
    pub fn rows(profile: &MessageProfile) -> Vec<IntervalMessages> {
        use crate::platform::Level::{InterCmp, InterNode, IntraCmp};
        let row = |index| {
            let (above, up_to) = profile.intervals().limits(index);
            IntervalMessages {
                above: above.get(),
                up_to: up_to.map(crate::units::Bytes::get),
                levels: LevelTotals {
                    intra_cmp: profile.cell(index, IntraCmp).into(),
                    inter_cmp: profile.cell(index, InterCmp).into(),
                    inter_node: profile.cell(index, InterNode).into(),
                },
            }
        };
        (0..profile.intervals().count()).map(row).collect()
    }
}

impl From<(u32, u32, u64, u64)> for PairMessages {
    fn from((from, to, count, bytes): (u32, u32, u64, u64)) -> Self {
        PairMessages { from, to, count, bytes }
    }
}

fn one() -> u32 {
    1
}

fn is_one(threads: &u32) -> bool {
    *threads == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{AppFigure, Change, FunctionCalls, PathShare, RankShare, SiteShare, StepSource};

    #[test]
    fn an_outcome_reads_back_from_its_json() {
        let span = SimSpan::from_ps;
        let messages = Messages { count: 3, bytes: 1 << 60, time: span(7) };
        let totals = Totals { count: 1, bytes: 2 };
        let parts = TimeParts { compute: span(5), ..TimeParts::default() };
        let share = PathShare { own: span(4), messages: span(6) };
        let mut outcome = Outcome {
            mcpsim: "0.1.0".to_owned(),
            predicted: SimTime::from_ps(u64::MAX / 3),
            predicted_s: 0.1 + 0.2,
            nct: [4, 2, 2],
            threads: 1,
            ranks: 16,
            app: "a \"b\"".to_owned(),
            platform: "p".to_owned(),
            model: "mcpsim".to_owned(),
            seed: u64::MAX,
            messages: totals,
            unreceived: 1,
            first_unreceived: vec![UnreceivedMessage {
                left: SimTime::from_ps(1),
                from: 2,
                to: 3,
                tag: 4,
                bytes: 5,
                site: None,
            }],
            unwaited: Vec::new(),
            mistakes: Vec::new(),
            levels: LevelTotals { inter_node: messages, ..LevelTotals::default() },
            profile: vec![IntervalMessages {
                above: 0,
                up_to: None,
                levels: LevelTotals { inter_cmp: messages, ..LevelTotals::default() },
            }],
            mean_parts: parts,
            collectives: Vec::new(),
            other_algorithms: None,
            path: PathParts { imbalance: span(9), ..PathParts::default() },
            what_if: vec![WhatIf {
                level: crate::platform::Level::InterNode,
                change: Change::LatencyHalved,
                saved: span(2),
            }],
            contention: None,
            utilisation: Vec::new(),
            shares_changed: Vec::new(),
            tasks: None,
            task_logs: Vec::new(),
            timers: TimerSums::default(),
            results: vec![
                AppResult { name: "b_eff".into(), found: AppFigure::Value(0.1 + 0.2), unit: "B/s".into() },
                AppResult { name: "none".into(), found: AppFigure::Error("1 / 0".into()), unit: "s".into() },
            ],
            program: None,
            critical_path: None,
            efficiencies: None,
            latency_tolerance: None,
            functions: None,
            sites: None,
            kinds: None,
            sent: BTreeMap::new(),
            sizes: None,
            timelines: Vec::new(),
            places: Vec::new(),
            per_rank: Vec::new(),
            pairs: None,
            copies: None,
            blocks: None,
            unread_keys: Vec::new(),
            repeats: None,
            config: serde_json::json!({ "run": { "seed": 1 } }),
            host: HostUse { wall_s: 1.0 / 3.0, ..HostUse::default() },
        };
        let read = |outcome: &Outcome| serde_json::from_str::<Outcome>(&serde_json::to_string(outcome).unwrap());
        assert_eq!(read(&outcome).unwrap(), outcome);
        outcome.critical_path = Some(CriticalPath {
            known: span(8),
            hops: 2,
            ranks: vec![RankShare { rank: 1, share }],
            sites: vec![SiteShare {
                site: "main[0]".to_owned(),
                source: StepSource { operation: Some("send".to_owned()), line: None },
                share,
            }],
        });
        outcome.sizes = Some([(8, 3), (1 << 40, 1)].into());
        let total = FunctionCalls { calls: 2, time: span(6), ..FunctionCalls::default() };
        outcome.functions =
            Some(vec![FunctionProfile { function: "MPI_Send".to_owned(), total, per_rank: Vec::new() }]);
        outcome.per_rank = vec![RankTime { rank: 0, node: 1, cmp: 2, core: 3, clock: SimTime::from_ps(4), parts }];
        outcome.pairs = Some(vec![PairMessages { from: 0, to: 1, count: 2, bytes: 3 }]);
        outcome.copies = Some(CopyUse { count: 3, waited: span(7), ..CopyUse::default() });
        outcome.host.profile = vec![HostTime { worker: 1, ..HostTime::default() }];
        assert_eq!(read(&outcome).unwrap(), outcome);
    }
}
