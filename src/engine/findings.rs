//! Results of the workers of a run, in a form that can be merged and sent between host processes.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use mcpsim_base::profile::{
    BlockUse, CodeTimes, CollectiveProfile, CopyUse, MessageProfile, Pairs, SharedKind, TaskLog, ThreadSum, ThreadTime,
    TimeParts, TimerSums, Unreceived, Unwaited, Uses,
};
use mcpsim_base::rank::{Program, Rank};
use mcpsim_base::units::{SimSpan, SimTime};

use super::backtrack::{ClockLogs, NamedTimelines, trails};
use super::delays::Charges;
use super::error::{RunError, Waiting};
use super::event::EventKey;
use super::jobs::JobFindings;
use super::lp::LogicalProcess;
use super::memory::Memory;
use super::network::PassedPorts;
use super::outcome::{HostTime, Messages};
use super::paths::Path;
use super::place_messages;
use super::queue::EventQueue;
use super::rank_times::{of_ranks, of_threads, thread_fields};
use super::state::RankState;
use super::worker::{Worker, WorkerEnd};

/// Results of one worker or, after [`Findings::merge`], of all workers.
#[derive(Serialize, Deserialize)]
pub(super) struct Findings {
    pub failure: Option<(EventKey, RunError)>,
    pub end: WorkerEnd,
    /// The user has interrupted the run.
    pub cancelled: bool,
    pub reached: SimTime,
    pub times: Vec<(Rank, SimTime, TimeParts)>,
    #[serde(with = "thread_fields")]
    pub threads: Vec<ThreadTime>,
    /// Times of all threads of each rank that has started threads.
    pub rank_threads: Vec<ThreadSum>,
    /// Greatest clock of a rank, this rank (of several the lowest), and the rank's path.
    pub last: Option<(SimTime, Rank, Path)>,
    /// Contention on the path of the last rank by resource, in the `fair` contention model.
    pub charges: Option<Charges>,
    /// Use of shared resources, in the `fair` contention model.
    pub uses: Option<Uses>,
    /// Traffic through the ports of contention models that fix the load of a transfer when the transfer starts.
    pub passed: PassedPorts,
    /// Timelines of the ranks, and activity logs for backtracking, if recorded.
    pub timelines: Vec<NamedTimelines>,
    pub logs: Vec<ClockLogs>,
    pub messages: MessageProfile,
    pub pairs: Option<Pairs>,
    /// Messages by the least common place of sender and receiver; empty if the platform states no places.
    pub by_place: Vec<Messages>,
    pub collectives: CollectiveProfile,
    pub unreceived: Unreceived,
    pub unwaited: Unwaited,
    pub copies: Option<CopyUse>,
    pub blocks: BlockUse,
    pub waiting: Vec<Waiting>,
    pub host_times: Vec<HostTime>,
    /// Records of ranks that execute the fragments of task programs.
    pub tasks: Vec<TaskLog>,
    /// Values of the timers that the ranks' programs started.
    pub timers: TimerSums,
    /// Times of real code of some ranks.
    pub code: Vec<(Rank, CodeTimes)>,
    /// Results of each job, in a simulation of several jobs.
    pub jobs: Vec<JobFindings>,
}

impl Findings {
    /// Collects the results of `worker`, whose window loop ended with `end`.
    pub fn of<P: Program>(worker: Worker<'_, P>, end: WorkerEnd, cancelled: bool) -> Self {
        let waiting = if end == WorkerEnd::Quiet && worker.lp.unfinished > 0 { worker.waiting() } else { Vec::new() };
        let Worker { mut ranks, mut lp, .. } = worker;
        // The memory of the queue is free for the results.
        lp.queue = EventQueue::default();
        let mut threads = of_threads(&mut ranks, std::mem::take(&mut lp.recording.threads));
        let (timelines, logs) = trails(&mut ranks, &mut threads, &lp);
        let tasks = ranks.iter_mut().filter_map(|state| task_log(state)).collect();
        let mut timers = TimerSums::default();
        let mut unwaited = Unwaited::default();
        // The timers and statements of several jobs are different.
        for state in ranks.iter().filter(|_| lp.statistics.jobs.is_none()) {
            state.program.sum_timers(&mut timers);
            state.program.sum_unwaited(&mut unwaited);
        }
        let jobs = JobFindings::of_jobs(&ranks, &lp);
        let (messages, collectives) = lp.statistics.totals();
        let last = ranks.iter().max_by_key(|state| (state.target.main.clock, Reverse(state.target.rank)));
        let charges = last.and_then(|state| lp.paths.charges(state.target.main.path));
        let uses = uses(&ranks, &lp);
        let last =
            last.map(|RankState { target, .. }| (target.main.clock, target.rank, *lp.paths.get(target.main.path)));
        let copies = lp.fair.as_deref().and_then(|fair| fair.memory.as_ref()).map(Memory::used);
        let host_times = lp.meter.map(|meter| meter.time).into_iter().collect();
        Findings {
            failure: lp.failure,
            end,
            cancelled,
            reached: lp.now.time,
            times: ranks.iter().map(|state| (state.target.rank, state.target.main.clock, state.target.parts)).collect(),
            threads: threads.into_iter().map(|record| record.time).collect(),
            rank_threads: of_ranks(&ranks),
            last,
            charges,
            uses,
            passed: lp.network.passed(),
            timelines,
            logs,
            messages,
            pairs: lp.statistics.pairs,
            by_place: lp.statistics.by_place.map_or(Vec::new(), |counter| counter.into_counts()),
            collectives,
            unreceived: unreceived(&ranks),
            unwaited,
            copies,
            blocks: lp.statistics.blocks,
            code: lp.statistics.code.into_times().collect(),
            waiting,
            host_times,
            tasks,
            timers,
            jobs,
        }
    }

    /// Merges the results of several workers. If several workers failed, the failure with the earliest event is kept.
    pub fn merge(findings: Vec<Findings>) -> Findings {
        let mut all = findings.into_iter();
        let mut merged = all.next().expect("there is a worker");
        for other in all {
            merged.failure = match (merged.failure, other.failure) {
                (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
                (a, b) => a.or(b),
            };
            merged.cancelled |= other.cancelled;
            merged.reached = merged.reached.max(other.reached);
            merged.times.extend(other.times);
            merged.threads.extend(other.threads);
            merged.rank_threads.extend(other.rank_threads);
            merged.timelines.extend(other.timelines);
            merged.code.extend(other.code);
            merged.logs.extend(other.logs);
            let order = |&(clock, rank, _): &(SimTime, Rank, Path)| (clock, Reverse(rank));
            // The ranks of two workers differ, so of two ranks with equal clocks the lower rank is the same for any
            // number of workers.
            let last = merged.last.into_iter().chain(other.last).max_by_key(order);
            if last.map(|last| last.1) != merged.last.map(|last| last.1) {
                merged.charges = other.charges;
            }
            merged.last = last;
            merged.passed.merge(&other.passed);
            if let (Some(mine), Some(theirs)) = (&mut merged.uses, &other.uses) {
                mine.merge(theirs);
            }
            merged.messages.merge(&other.messages);
            if let (Some(mine), Some(theirs)) = (&mut merged.pairs, other.pairs) {
                mine.merge(theirs);
            }
            place_messages::merge(&mut merged.by_place, &other.by_place);
            merged.collectives.merge(other.collectives);
            merged.unreceived.merge(other.unreceived);
            merged.unwaited.merge(other.unwaited);
            if let (Some(mine), Some(theirs)) = (&mut merged.copies, other.copies) {
                mine.merge(theirs);
            }
            merged.blocks.merge(other.blocks);
            merged.waiting.extend(other.waiting);
            merged.host_times.extend(other.host_times);
            merged.tasks.extend(other.tasks);
            merged.timers.merge(other.timers);
            merged.jobs.iter_mut().zip(other.jobs).for_each(|(mine, theirs)| mine.merge(theirs));
        }
        merged.waiting.sort_unstable_by_key(|waiting| (waiting.rank, waiting.thread));
        merged
    }
}

/// Collects the messages that have arrived at the ranks and that no receive has matched.
pub(super) fn unreceived<P: Program>(ranks: &[RankState<P>]) -> Unreceived {
    let mut found = Unreceived::default();
    for RankState { target, program, .. } in ranks {
        target.matcher.each_unexpected(|sent, arrived| {
            let sender = || program.sender(sent, arrived.size);
            found.add(sent.source, target.rank, sent.tag, (arrived.left, arrived.size), sender);
        });
    }
    found
}

/// Returns the use of shared resources, if a level of the machine uses the `fair` contention model.
fn uses<P>(ranks: &[RankState<P>], lp: &LogicalProcess<'_>) -> Option<Uses> {
    if lp.fair.is_none() && lp.node_memory.is_none() {
        return None;
    }
    let mut uses = Uses::default();
    ranks.iter().for_each(|state| {
        uses.add(SharedKind::Core, state.target.occupied.as_ref().map_or(0, |of| of.copying.as_ps()))
    });
    if let Some(fair) = &lp.fair {
        fair.add_uses(&mut uses);
    }
    if let Some(memory) = &lp.node_memory {
        memory.add_uses(&mut uses);
    }
    Some(uses)
}

/// Returns the rank's record of fragments of a task program, with the busy time of the rank's task manager.
fn task_log<P: Program>(state: &mut RankState<P>) -> Option<TaskLog> {
    let mut log = *state.program.task_log()?;
    let parts = state.target.parts;
    let manager = parts.compute + parts.send + parts.recv;
    // If the task manager has no thread of its own, its thread also executes fragments.
    let threads = if log.own_thread { SimSpan::ZERO } else { log.useful + log.overhead };
    log.manager = SimSpan::from_ps(manager.as_ps().saturating_sub(threads.as_ps()));
    Some(log)
}
