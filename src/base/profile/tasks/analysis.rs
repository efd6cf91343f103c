//! Analysis of the logs of a task-based program: migrations of fragments, waits for data, and the times of fragments
//! and threads.

use serde::{Deserialize, Serialize};

use crate::units::{SimSpan, SimTime};

use super::log::picoseconds;
use super::log::{Left, Stage, TaskLog};
use super::series::{Series, most};
use super::spread::WaitingTimes;

/// Statistics of the computation fragments of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TaskAnalysis {
    /// Number of fragments that all processes executed.
    pub total: u64,
    /// Number of fragments that migrated to another process 0 times, once, twice, …
    pub distribs: Vec<u64>,
    /// Number of fragments that waited for input data.
    pub waited: u64,
    /// Virtual time at which the last process ended.
    #[serde(rename = "end_ps", deserialize_with = "picoseconds")]
    pub end: SimTime,
    /// Statistics of the times that fragments spent in each stage, in the order of stages.
    pub stages: Vec<StageTimes>,
    /// Lower bounds of the execution time of the program.
    pub bounds: Bounds,
    /// Statistics of the fragments per process.
    pub processes: Vec<ProcessTasks>,
    /// Number of fragments in each stage over time.
    pub series: Series,
    /// Times that fragments spent in the stages `Waiting` and `Ready`, by time of arrival in the stage.
    pub waiting: Vec<WaitingTimes>,
}

/// Statistics of the times that fragments spent in one stage. A fragment counts once per process on which it reached
/// the stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StageTimes {
    /// Stage of the fragments to which the times belong.
    pub stage: Stage,
    /// Number of visits of fragments to a process in which the fragment reached the stage.
    pub visits: u64,
    /// Sum of the times that fragments spent in the stage, in seconds.
    pub sum_s: f64,
    /// Mean time that a fragment spent in the stage.
    #[serde(rename = "mean_ps", deserialize_with = "picoseconds")]
    pub mean: SimSpan,
    /// Median time that a fragment spent in the stage.
    #[serde(rename = "median_ps", deserialize_with = "picoseconds")]
    pub median: SimSpan,
    /// 90th percentile of the times that fragments spent in the stage.
    #[serde(rename = "p90_ps", deserialize_with = "picoseconds")]
    pub p90: SimSpan,
    /// Longest time that a fragment spent in the stage.
    #[serde(rename = "most_ps", deserialize_with = "picoseconds")]
    pub most: SimSpan,
    /// Time at which 90 % of the fragment visits had arrived in the stage.
    #[serde(rename = "came_p90_ps", deserialize_with = "picoseconds")]
    pub came_p90: SimTime,
    /// Time of the last arrival of a fragment in the stage.
    #[serde(rename = "came_last_ps", deserialize_with = "picoseconds")]
    pub came_last: SimTime,
}

/// Lower bounds of the execution time of a task-based program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Bounds {
    /// Number of threads that execute fragments.
    pub threads: u64,
    /// Total execution time of the fragments in seconds, which a single thread needs at least.
    pub work_s: f64,
    /// `work_s` divided by the number of threads. No policy of the task manager can achieve a shorter time.
    pub least_s: f64,
}

/// Statistics of the fragments on one MPI process.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProcessTasks {
    /// Rank of the MPI process.
    pub process: u32,
    /// Number of threads of the process that execute fragments.
    pub threads: u32,
    /// Number of fragments that the process executed.
    pub executed: u64,
    /// Number of fragments that the process sent to other processes.
    pub sent: u64,
    /// Greatest number of fragments that the process had at a time.
    pub most_held: u64,
    /// Total time in which the threads of the process executed fragments.
    #[serde(rename = "useful_ps", deserialize_with = "picoseconds")]
    pub useful: SimSpan,
    /// Total time in which the threads of the process created fragments or took fragments from the queue. Includes the
    /// time of a task manager without its own thread.
    #[serde(rename = "overhead_ps", deserialize_with = "picoseconds")]
    pub overhead: SimSpan,
    /// Remaining time of the threads of the process, up to the end of the last process.
    #[serde(rename = "idle_ps", deserialize_with = "picoseconds")]
    pub idle: SimSpan,
    /// Working time of a task manager that has its own thread.
    #[serde(rename = "manager_ps", deserialize_with = "picoseconds")]
    pub manager: SimSpan,
}

impl TaskAnalysis {
    /// Analyses the `logs` of a run, one per process. Returns `None` without logs.
    pub fn of_run(logs: &[TaskLog]) -> Option<Box<TaskAnalysis>> {
        (!logs.is_empty()).then(|| Box::new(TaskAnalysis::from_logs(logs)))
    }

    /// Analyses `logs`, one per process. Fragments are identified by the integers from 0 on.
    pub fn from_logs(logs: &[TaskLog]) -> TaskAnalysis {
        let end = logs.iter().map(|log| log.ended).max().unwrap_or(SimTime::ZERO);
        let visits = || logs.iter().flat_map(|log| &log.visits);
        let count = visits().map(|visit| visit.fragment as usize + 1).max().unwrap_or(0);
        // For each fragment: number of migrations, whether the fragment waited, and whether it was executed.
        let mut seen = vec![(0u32, false, false); count];
        for visit in visits() {
            let (sent, waited, executed) = &mut seen[visit.fragment as usize];
            *sent += u32::from(visit.left == Left::Sent);
            *waited |= visit.waited;
            *executed |= visit.left == Left::Executed;
        }
        let executed = || seen.iter().filter(|(_, _, executed)| *executed);
        let most_sent = executed().map(|&(sent, ..)| sent as usize).max();
        let mut distribs = vec![0; most_sent.map_or(0, |most| most + 1)];
        executed().for_each(|&(sent, ..)| distribs[sent as usize] += 1);
        let threads: u64 = logs.iter().map(|log| u64::from(log.threads)).sum();
        let work_s = logs.iter().map(|log| u128::from(log.useful.as_ps())).sum::<u128>() as f64 / 1e12;
        TaskAnalysis {
            total: executed().count() as u64,
            distribs,
            waited: executed().filter(|(_, waited, _)| *waited).count() as u64,
            end,
            stages: Stage::ALL.map(|stage| StageTimes::from_logs(logs, stage)).into(),
            bounds: Bounds { threads, work_s, least_s: work_s / threads.max(1) as f64 },
            processes: logs.iter().map(|log| ProcessTasks::from_log(log, end)).collect(),
            series: Series::from_logs(logs, end),
            waiting: [Stage::Waiting, Stage::Ready].map(|stage| WaitingTimes::from_logs(logs, stage, end)).into(),
        }
    }
}

impl StageTimes {
    fn from_logs(logs: &[TaskLog], stage: Stage) -> StageTimes {
        let stays = logs.iter().flat_map(|log| &log.visits).filter_map(|visit| visit.stay(stage));
        let (mut came, mut lengths): (Vec<u64>, Vec<u64>) =
            stays.map(|(from, to)| (from.as_ps(), to.since(from).as_ps())).unzip();
        let sum: u128 = lengths.iter().map(|&length| u128::from(length)).sum();
        let visits = lengths.len();
        let rank = |share: usize| (visits * share).div_ceil(100).saturating_sub(1);
        let nth = |values: &mut Vec<u64>, share: usize| match values.is_empty() {
            true => 0,
            false => *values.select_nth_unstable(rank(share)).1,
        };
        StageTimes {
            stage,
            visits: visits as u64,
            sum_s: sum as f64 / 1e12,
            mean: SimSpan::from_ps((sum / visits.max(1) as u128) as u64),
            median: SimSpan::from_ps(nth(&mut lengths, 50)),
            p90: SimSpan::from_ps(nth(&mut lengths, 90)),
            most: SimSpan::from_ps(nth(&mut lengths, 100)),
            came_p90: SimTime::from_ps(nth(&mut came, 90)),
            came_last: SimTime::from_ps(nth(&mut came, 100)),
        }
    }
}

impl ProcessTasks {
    fn from_log(log: &TaskLog, end: SimTime) -> ProcessTasks {
        let manager = if log.own_thread { SimSpan::ZERO } else { log.manager };
        let overhead = log.overhead + manager;
        let whole = end.since(SimTime::ZERO) * u64::from(log.threads);
        let sent = log.visits.iter().filter(|visit| visit.left == Left::Sent).count() as u64;
        let (mut from, mut to): (Vec<u64>, Vec<u64>) =
            log.visits.iter().map(|visit| (visit.entered.as_ps(), visit.ended.as_ps())).unzip();
        ProcessTasks {
            process: log.process,
            threads: log.threads,
            executed: log.visits.len() as u64 - sent,
            sent,
            most_held: most(&mut from, &mut to).0,
            useful: log.useful,
            overhead,
            idle: whole.saturating_sub(log.useful + overhead),
            manager: if log.own_thread { log.manager } else { SimSpan::ZERO },
        }
    }
}
