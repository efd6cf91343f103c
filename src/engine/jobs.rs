//! Several jobs in one simulation: their ranks, the results of each job, and the delays that jobs cause each other.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use mcpsim_base::profile::{
    CollectiveCounter, CollectiveProfile, MessageProfile, TimeParts, TimerSums, Unreceived, Unwaited,
};
use mcpsim_base::rank::{Program, Rank};
use mcpsim_base::units::SimTime;

use super::delays::Charges;
use super::lp::LogicalProcess;
use super::outcome::Outcome;
use super::paths::Path;
use super::simulation::RunOptions;
use super::state::RankState;

/// Ranks of one of several jobs in a simulation. The jobs have consecutive ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobRanks {
    /// Name of the job.
    pub name: String,
    /// Name of the job's application.
    pub app: String,
    /// Rank of the simulation that is rank 0 of the job.
    pub first: Rank,
    /// Number of ranks of the job.
    pub count: u32,
    /// Virtual time at which the ranks of the job start.
    pub start: SimTime,
    /// Number of the job, by which the random draws of the machine's noise differ between jobs. Job 0 has the draws of
    /// a run without jobs.
    pub number: u32,
}

impl JobRanks {
    /// Returns the number by which the noise of a rank of the simulation is drawn.
    pub(super) fn draw(&self, rank: Rank) -> u32 {
        // The factor is odd, so different jobs have different offsets.
        (rank - self.first).wrapping_add(self.number.wrapping_mul(0x9e37_79b1))
    }
}

/// Returns the job of `rank`; `None` in a simulation without jobs.
pub(super) fn job_of(jobs: &[JobRanks], rank: Rank) -> Option<&JobRanks> {
    jobs.get(jobs.partition_point(|job| job.first <= rank).checked_sub(1)?)
}

/// Result of one of several jobs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct JobOutcome {
    /// Name of the job.
    pub name: String,
    /// Rank of the simulation that is rank 0 of the job.
    pub first_rank: u32,
    /// Nodes on which the job has ranks, such as "0-3,8".
    pub nodes: String,
    /// Virtual time at which the job started.
    #[serde(rename = "start_ps")]
    pub start: SimTime,
    /// Virtual time at which the last rank of the job ended.
    #[serde(rename = "end_ps")]
    pub end: SimTime,
    /// Time of the job from its start to its end, if no other job runs.
    #[serde(default, rename = "alone_ps", skip_serializing_if = "Option::is_none")]
    pub alone: Option<SimTime>,
    /// Time of the job divided by its time alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowdown: Option<f64>,
    /// Effects of the other jobs on the time of this job, the longest delay first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delays: Vec<JobDelay>,
    /// Prediction of the job. Its times start at the start of the job, and its ranks are ranks of the job.
    pub outcome: Outcome,
}

/// Delay of a job that another job causes: the time of the job minus its time in a run without the other job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct JobDelay {
    /// Name of the other job.
    pub by: String,
    /// Time of the job in the run without the other job.
    #[serde(rename = "without_ps")]
    pub without: SimTime,
    /// Delay in picoseconds; negative if the other job makes this job faster.
    pub delay_ps: i64,
    /// Parts of the delay, by part of the critical path and resource, the longest first. The parts sum to the delay.
    pub parts: Vec<DelayPart>,
}

/// Part of a delay: the difference of one part of the critical path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct DelayPart {
    /// Part of the critical path, such as `inter_node.contention.uplink`.
    pub part: String,
    /// Difference in picoseconds.
    pub ps: i64,
}

/// Statistics of a worker's messages and collectives by job.
#[derive(Debug)]
pub(super) struct JobStatistics {
    jobs: Vec<JobRanks>,
    counts: Vec<(MessageProfile, CollectiveCounter)>,
}

impl JobStatistics {
    /// Creates the statistics of `jobs`; `None` for a simulation without jobs.
    pub fn new(jobs: &[JobRanks], options: &RunOptions) -> Option<Box<JobStatistics>> {
        let empty = || (MessageProfile::new(options.intervals.clone()), CollectiveCounter::default());
        let counts = jobs.iter().map(|_| empty()).collect();
        (!jobs.is_empty()).then(|| Box::new(JobStatistics { jobs: jobs.to_vec(), counts }))
    }

    /// Returns the statistics of the job of `rank`.
    #[cold]
    pub fn of(&mut self, rank: Rank) -> &mut (MessageProfile, CollectiveCounter) {
        let job = self.jobs.partition_point(|job| job.first <= rank) - 1;
        &mut self.counts[job]
    }

    /// Returns the sums over all jobs.
    pub fn totals(&self, options: &MessageProfile) -> (MessageProfile, CollectiveProfile) {
        let (mut messages, mut collectives) = (options.clone(), CollectiveProfile::default());
        for (of_job, counter) in &self.counts {
            messages.merge(of_job);
            collectives.merge(counter.profile());
        }
        (messages, collectives)
    }
}

/// Results of the ranks of one job at one worker or, after [`JobFindings::merge`], at all workers.
#[derive(Serialize, Deserialize)]
pub(super) struct JobFindings {
    pub times: Vec<(Rank, SimTime, TimeParts)>,
    /// Greatest clock of a rank of the job, this rank (of several the lowest), and the rank's path.
    pub last: Option<(SimTime, Rank, Path)>,
    pub charges: Option<Charges>,
    pub messages: MessageProfile,
    pub collectives: CollectiveProfile,
    pub unreceived: Unreceived,
    pub unwaited: Unwaited,
    pub timers: TimerSums,
}

impl JobFindings {
    /// Collects the results of each job from the ranks of a worker, which are in increasing order.
    pub fn of_jobs<P: Program>(ranks: &[RankState<P>], lp: &LogicalProcess<'_>) -> Vec<JobFindings> {
        let Some(statistics) = &lp.statistics.jobs else { return Vec::new() };
        let of_job = |(job, (messages, collectives)): (&JobRanks, &(MessageProfile, CollectiveCounter))| {
            let at = |rank: Rank| ranks.partition_point(|state| state.target.rank < rank);
            let ranks = &ranks[at(job.first)..at(job.first + job.count)];
            let (mut timers, mut unwaited) = (TimerSums::default(), Unwaited::default());
            for state in ranks {
                state.program.sum_timers(&mut timers);
                state.program.sum_unwaited(&mut unwaited);
            }
            let last = ranks.iter().max_by_key(|state| (state.target.main.clock, Reverse(state.target.rank)));
            let path = |state: &RankState<P>| {
                (state.target.main.clock, state.target.rank, *lp.paths.get(state.target.main.path))
            };
            let time = |state: &RankState<P>| (state.target.rank, state.target.main.clock, state.target.parts);
            JobFindings {
                times: ranks.iter().map(time).collect(),
                charges: last.and_then(|state| lp.paths.charges(state.target.main.path)),
                last: last.map(path),
                messages: messages.clone(),
                collectives: collectives.profile(),
                unreceived: super::findings::unreceived(ranks),
                unwaited,
                timers,
            }
        };
        statistics.jobs.iter().zip(&statistics.counts).map(of_job).collect()
    }

    /// Adds the results of another worker.
    pub fn merge(&mut self, other: JobFindings) {
        self.times.extend(other.times);
        let order = |&(clock, rank, _): &(SimTime, Rank, Path)| (clock, Reverse(rank));
        let last = self.last.into_iter().chain(other.last).max_by_key(order);
        if last.map(|last| last.1) != self.last.map(|last| last.1) {
            self.charges = other.charges;
        }
        self.last = last;
        self.messages.merge(&other.messages);
        self.collectives.merge(other.collectives);
        self.unreceived.merge(other.unreceived);
        self.unwaited.merge(other.unwaited);
        self.timers.merge(other.timers);
    }
}
