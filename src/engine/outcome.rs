//! The result of a run, which mcpsim exports as JSON. All reports read only this result.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::place_messages::PlaceMessages;
use super::{
    host_scale::HostScale, jobs::JobOutcome, mistake::Mistake, path_times::PathTimes, program_end::ProgramEnd,
    rank_times::RankTime, repeats::Repeats,
};
use mcpsim_base::platform::{NarrowUplink, UnreadKeys};
use mcpsim_base::profile::{
    AppResult, Basis, BlockUse, CollectiveUse, ContentionLevels, CopyUse, CriticalPath, Efficiencies, FunctionProfile,
    HostNoise, HybridEfficiencies, KindMessages, LatencyTolerance, LoadOverTime, MessageCell, MessageProfile,
    MessageSort, NetworkUse, OtherAlgorithm, PathParts, ResourceUse, SharesChanged, SiteProfile, TaskAnalysis, TaskLog,
    ThreadSum, ThreadTime, TimeParts, Timeline, TimerSums, UnreceivedMessage, UnwaitedRequests, UplinkContention,
    WhatIf,
};
use mcpsim_base::units::{SimSpan, SimTime, picoseconds};

/// Prediction of a run and its explanation. README states the JSON form. In JSON, times are picoseconds, and sizes are
/// bytes.
///
/// An Outcome that was exported and read again is unchanged, except for fields that are not part of the JSON form.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Outcome {
    /// Version of mcpsim that executed the run.
    pub mcpsim: String,
    /// Predicted time of the program: the greatest final clock of any rank.
    #[serde(rename = "predicted_ps")]
    pub predicted: SimTime,
    /// Predicted time in seconds.
    pub predicted_s: f64,
    /// Number of nodes, of CMPs per node, and of cores per CMP.
    pub nct: [u32; 3],
    /// Number of hardware threads per core.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub threads: u32,
    /// Results that the application computes from its timers, in the order of their names in the application file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<AppResult>,
    /// Values of the application's timers; not part of the JSON form.
    #[serde(skip)]
    pub timers: TimerSums,
    /// Number of ranks of the program.
    pub ranks: u32,
    /// Name of the application.
    pub app: String,
    /// Name of the platform.
    pub platform: String,
    /// Model of the machine: `mcpsim`, `two-level` or a textbook model.
    pub model: String,
    /// Seed of all random draws.
    pub seed: u64,
    /// Number and bytes of all point-to-point messages, including the messages of collectives.
    pub messages: Totals,
    /// Number of sent messages that no receive matched.
    pub unreceived: u64,
    /// The first messages that no receive matched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub first_unreceived: Vec<UnreceivedMessage>,
    /// Requests of a described application that no rank waited for, by the statement that started the request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unwaited: Vec<UnwaitedRequests>,
    /// Messages by level: within a CMP, between CMPs of a node, between nodes.
    pub levels: LevelTotals,
    /// Messages by size interval and level.
    pub profile: Vec<IntervalMessages>,
    /// Time of the ranks divided into computation, communication and so on, as the mean over all ranks.
    pub mean_parts: TimeParts,
    /// Number of collectives by MPI call and algorithm.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub collectives: Vec<CollectiveUse>,
    /// Predicted times with other collective algorithms, if requested; the fastest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_algorithms: Option<Vec<OtherAlgorithm>>,
    /// Predicted time divided into the parts of the critical path.
    pub path: PathParts,
    /// Contention on the critical path by resource, if messages share resources over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contention: Option<ContentionLevels>,
    /// Contention on the critical path by kind of uplink or link; only kinds with contention.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uplink_contention: Vec<UplinkContention>,
    /// Utilisation of the resources that messages share over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub utilisation: Vec<ResourceUse>,
    /// Utilisation of the links of a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<NetworkUse>,
    /// Load of resources over virtual time, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_over_time: Option<Box<LoadOverTime>>,
    /// Transfers whose share of bandwidth would have changed in flight, if the contention model fixes the share at the
    /// start of a transfer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shares_changed: Vec<SharesChanged>,
    /// First-order savings of predicted time by changes of the machine, the greatest saving first.
    pub what_if: Vec<WhatIf>,
    /// Ranks and calls on the critical path, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub critical_path: Option<CriticalPath>,
    /// Parallel efficiencies as defined by POP, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub efficiencies: Option<Efficiencies>,
    /// Efficiencies of MPI and of threads, if ranks have threads with clocks of their own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hybrid: Option<HybridEfficiencies>,
    /// Additional network latency that the program tolerates, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_tolerance: Option<Vec<LatencyTolerance>>,
    /// MPI calls by function, if requested; the function with the most time first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<Vec<FunctionProfile>>,
    /// MPI calls by call site in the program, if requested; the call site with the most time first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sites: Option<Vec<SiteProfile>>,
    /// Call paths of the program's own functions, with " > " between functions, if calls by function were requested and
    /// the program is compiled with `-finstrument-functions`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub call_paths: BTreeMap<String, PathTimes>,
    /// Messages by operation and level, if calls by function were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<KindMessages>>,
    /// Number of messages of each kind, level and size, if calls by function were requested; not part of the JSON form.
    #[serde(skip)]
    pub sent: BTreeMap<MessageSort, u64>,
    /// Number of messages of each size, if calls by function were requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<BTreeMap<u64, u64>>,
    /// Analysis of the task program, if the application states fragments of a task program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Box<TaskAnalysis>>,
    /// Records of the fragments of the task program by simulated MPI process; not part of the JSON form.
    #[serde(skip)]
    pub task_logs: Vec<TaskLog>,
    /// Activity of each rank over time, if requested; not part of the JSON form.
    #[serde(skip)]
    pub timelines: Vec<Timeline>,
    /// Names of the calls and statements in timelines; not part of the JSON form.
    #[serde(skip)]
    pub places: Vec<String>,
    /// Location, final clock and parts of the time of each rank; omitted above 65,536 ranks unless requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_rank: Vec<RankTime>,
    /// Times of threads with clocks of their own, by rank and thread: the first 256 that each rank has started.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub per_thread: Vec<ThreadTime>,
    /// Times of all threads of each rank, if ranks have threads with clocks of their own; omitted as `per_rank`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rank_threads: Vec<ThreadSum>,
    /// Messages by the least common place of the sender's and the receiver's core, if the platform states places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_place: Vec<PlaceMessages>,
    /// Messages by pair of ranks, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pairs: Option<Vec<PairMessages>>,
    /// Use of caches by copies within nodes, if the platform states caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<CopyUse>,
    /// Use of memory by computing blocks, if memory is shared over time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<BlockUse>,
    /// Keys of the platform file that the chosen contention models do not read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread_keys: Vec<UnreadKeys>,
    /// Uplinks with less bandwidth than a message between nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub narrow_uplinks: Vec<NarrowUplink>,
    /// Exit codes of a real program that did not end as the MPI standard requires, and libraries that its ranks shared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Box<ProgramEnd>>,
    /// Errors in the program's MPI calls that did not end the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mistakes: Vec<Mistake>,
    /// Predictions of runs with other seeds, if requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<Repeats>,
    /// Origins of the parameters that determine the prediction, and the likely range of measured times; omitted from
    /// the results of studies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// Results of each job, in a simulation of several jobs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobOutcome>,
    /// Complete configuration of the run; omitted from the results of studies.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub config: serde_json::Value,
    /// Host resources of the run, omitted from the results of studies. Only this field may differ between equal runs.
    #[serde(default, skip_serializing_if = "HostUse::is_none")]
    pub host: HostUse,
}

impl Outcome {
    /// Returns the Outcome as a study keeps it: without fields that grow with the number of ranks, and without fields
    /// that are not exported.
    #[must_use]
    pub fn of_point(mut self) -> Outcome {
        let (per_rank, per_thread, rank_threads, pairs, sent) = Default::default();
        let (task_logs, timelines, places, timers) = Default::default();
        let of_job = |job: JobOutcome| JobOutcome { outcome: job.outcome.of_point(), ..job };
        let jobs = std::mem::take(&mut self.jobs).into_iter().map(of_job).collect();
        let small = Outcome { per_rank, per_thread, rank_threads, pairs, sent, ..self };
        Outcome { jobs, task_logs, timers, timelines, places, basis: None, ..small }
    }
}

/// Number and total bytes of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Totals {
    /// Number of messages.
    pub count: u64,
    /// Sum of the sizes of the messages in bytes.
    pub bytes: u64,
}

/// Number, total bytes and total transfer time of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Messages {
    /// Number of messages.
    pub count: u64,
    /// Sum of the sizes of the messages in bytes.
    pub bytes: u64,
    /// Sum of the transfer times of the messages.
    #[serde(rename = "time_ps", deserialize_with = "picoseconds", default)]
    pub time: SimSpan,
}

/// Messages by level: within a CMP, between CMPs of a node, between nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[allow(missing_docs)]
pub struct LevelTotals {
    pub intra_cmp: Messages,
    pub inter_cmp: Messages,
    pub inter_node: Messages,
}

/// Messages whose size is in `(above, up_to]`; the first interval includes size 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct IntervalMessages {
    /// Exclusive lower limit of the message size in bytes.
    pub above: u64,
    /// Inclusive upper limit of the message size in bytes; null in the last interval.
    pub up_to: Option<u64>,
    /// The messages of the size interval by level.
    #[serde(flatten)]
    pub levels: LevelTotals,
}

/// Messages from one rank to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PairMessages {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// Number of messages.
    pub count: u64,
    /// Sum of the sizes of the messages in bytes.
    pub bytes: u64,
}

/// Host resources of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostUse {
    /// Wall-clock time of the simulation in seconds.
    pub wall_s: f64,
    /// Number of simulated messages per second of wall-clock time.
    pub messages_per_s: f64,
    /// Number of messages of all simulations of the prediction; 0 if the prediction has one simulation.
    #[serde(skip)]
    pub all_messages: u64,
    /// Number of worker threads of all host processes.
    pub workers: u32,
    /// Number of host processes.
    pub processes: u32,
    /// Sum of the greatest resident set sizes of the host processes in bytes; 0 if unknown, for example with folded
    /// memory, whose pages the system counts once per block.
    pub peak_rss_bytes: u64,
    /// Name of the host's processor, if the host timed the program's code and the machine states no `scale_factor`: the
    /// prediction then assumes that target cores are as fast as host cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_for_target: Option<String>,
    /// Execution of the ranks of a real program: "fibers" or "processes".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ranks_as: Option<String>,
    /// MPI library whose binary interface the program of ranks as processes uses, such as "Open MPI 4".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mpi_library: Option<String>,
    /// Range of factors on the times of the program's code, if the machine states `scale_factor = "auto"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<HostScale>,
    /// Scatter of the times of equal blocks of real code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<HostNoise>,
    /// Host time of each worker by activity, if requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub profile: Vec<HostTime>,
}

impl HostUse {
    fn is_none(&self) -> bool {
        *self == HostUse::default()
    }
}

/// Host time of a worker by activity, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HostTime {
    /// Number of the worker among the workers of all host processes.
    pub worker: u32,
    /// Host process of the worker.
    pub process: u32,
    /// Host time of handling events.
    #[serde(rename = "windows_ns")]
    pub windows: u64,
    /// Host time of executing the code of ranks.
    #[serde(rename = "code_ns")]
    pub code: u64,
    /// Host time of exchanging events with other workers.
    #[serde(rename = "exchange_ns")]
    pub exchange: u64,
    /// Host time of waiting for other workers.
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
        use mcpsim_base::platform::Level::{InterCmp, InterNode, IntraCmp};
        LevelTotals {
            intra_cmp: profile.level(IntraCmp).into(),
            inter_cmp: profile.level(InterCmp).into(),
            inter_node: profile.level(InterNode).into(),
        }
    }
}

impl IntervalMessages {
    /// Returns the message profile by size interval, smallest sizes first.
    pub fn rows(profile: &MessageProfile) -> Vec<IntervalMessages> {
        use mcpsim_base::platform::Level::{InterCmp, InterNode, IntraCmp};
        let row = |index| {
            let (above, up_to) = profile.intervals().limits(index);
            IntervalMessages {
                above: above.get(),
                up_to: up_to.map(mcpsim_base::units::Bytes::get),
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
    use mcpsim_base::profile::{AppFigure, Change, FunctionCalls, PathShare, RankShare, SiteShare, StepSource};

    #[test]
    fn an_outcome_reads_back_from_its_json() {
        let span = SimSpan::from_ps;
        let messages = Messages { count: 3, bytes: 1 << 60, time: span(7) };
        let totals = Totals { count: 1, bytes: 2 };
        let parts = TimeParts { compute: span(5), ..TimeParts::default() };
        let share = PathShare { own: span(4), messages: span(6) };
        let what_if = WhatIf { exact: Some(SimTime::from_ps(3)), ..WhatIf::new(None, Change::LatencyHalved, span(2)) };
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
            what_if: vec![what_if],
            contention: None,
            uplink_contention: Vec::new(),
            links: None,
            load_over_time: None,
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
            sizes: Some([(8, 3), (1 << 40, 1)].into()),
            timelines: Vec::new(),
            places: Vec::new(),
            per_rank: Vec::new(),
            per_thread: Vec::new(),
            rank_threads: Vec::new(),
            hybrid: None,
            by_place: Vec::new(),
            pairs: None,
            copies: None,
            blocks: None,
            unread_keys: Vec::new(),
            narrow_uplinks: Vec::new(),
            repeats: None,
            basis: None,
            call_paths: BTreeMap::new(),
            jobs: Vec::new(),
            config: serde_json::json!({ "run": { "seed": 1 } }),
            host: HostUse { wall_s: 1.0 / 3.0, ..HostUse::default() },
        };
        let read = |outcome: &Outcome| serde_json::from_str::<Outcome>(&serde_json::to_string(outcome).unwrap());
        assert_eq!(read(&outcome).unwrap(), outcome);
        outcome.critical_path = Some(CriticalPath {
            known: span(8),
            hops: 2,
            ranks: vec![RankShare { rank: 1, thread: Some(2), share }],
            sites: vec![SiteShare {
                site: "main[0]".to_owned(),
                source: StepSource { operation: Some("send".to_owned()), line: None },
                share,
            }],
        });
        let total = FunctionCalls { calls: 2, time: span(6), ..FunctionCalls::default() };
        outcome.functions =
            Some(vec![FunctionProfile { function: "MPI_Send".to_owned(), total, per_rank: Vec::new() }]);
        outcome.per_rank = vec![RankTime { rank: 0, node: 1, cmp: 2, core: 3, clock: SimTime::from_ps(4), parts }];
        let (start, end) = (SimTime::from_ps(5), SimTime::from_ps(6));
        outcome.per_thread = vec![ThreadTime { rank: 0, thread: 1, start, end, parts, thread_wait: span(3) }];
        outcome.rank_threads = vec![ThreadSum::of_main(0, &parts, span(1))];
        outcome.hybrid =
            HybridEfficiencies::of_run(end, 2, &[ThreadSum { compute: span(4), ..outcome.rank_threads[0] }]);
        outcome.pairs = Some(vec![PairMessages { from: 0, to: 1, count: 2, bytes: 3 }]);
        outcome.copies = Some(CopyUse { count: 3, waited: span(7), ..CopyUse::default() });
        outcome.host.profile = vec![HostTime { worker: 1, ..HostTime::default() }];
        assert_eq!(read(&outcome).unwrap(), outcome);
    }
}
