//! What the records of all processes say: how often fragments migrated, how many had to wait, where their time and that
//! of the threads went.

use serde::{Deserialize, Serialize};

use crate::units::{SimSpan, SimTime};

use super::log::picoseconds;
use super::log::{Left, Stage, TaskLog};
use super::series::{Series, most};
use super::spread::WaitingTimes;

/// What became of fragments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TaskAnalysis {
    /// Fragments that were executed.
    pub total: u64,
    /// How many migrated from process to process 0 times, once, twice, …
    pub distribs: Vec<u64>,
    /// How many had to wait for data.
    pub waited: u64,
    /// When the last process ended.
    #[serde(rename = "end_ps", deserialize_with = "picoseconds")]
    pub end: SimTime,
    /// Time in each stage, in order.
    pub stages: Vec<StageTimes>,
    /// What the threads of all processes could and did.
    pub bounds: Bounds,
    /// By process.
    pub processes: Vec<ProcessTasks>,
    /// Fragments over time.
    pub series: Series,
    /// Stays against arrivals, of the stages waiting and ready.
    pub waiting: Vec<WaitingTimes>,
}

/// Time in a stage, over all visits of fragments that came to it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageTimes {
    /// The stage.
    pub stage: Stage,
    /// How many came to it.
    pub visits: u64,
    /// The sum of their stays, in seconds.
    pub sum_s: f64,
    /// The mean stay.
    #[serde(rename = "mean_ps", deserialize_with = "picoseconds")]
    pub mean: SimSpan,
    /// Half of the stays are no longer.
    #[serde(rename = "median_ps", deserialize_with = "picoseconds")]
    pub median: SimSpan,
    /// 90 of 100 stays are no longer.
    #[serde(rename = "p90_ps", deserialize_with = "picoseconds")]
    pub p90: SimSpan,
    /// The longest stay.
    #[serde(rename = "most_ps", deserialize_with = "picoseconds")]
    pub most: SimSpan,
    /// When 90 of 100 had come.
    #[serde(rename = "came_p90_ps", deserialize_with = "picoseconds")]
    pub came_p90: SimTime,
    /// When the last came.
    #[serde(rename = "came_last_ps", deserialize_with = "picoseconds")]
    pub came_last: SimTime,
}

/// What threads could and did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// Threads that execute fragments.
    pub threads: u64,
    /// The sum of all fragments' times, in seconds: what one thread would take at least.
    pub work_s: f64,
    /// That over the number of threads: no manager can be faster.
    pub least_s: f64,
}

/// What a process did.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProcessTasks {
    /// The process.
    pub process: u32,
    /// Its threads that execute fragments.
    pub threads: u32,
    /// Fragments it executed.
    pub executed: u64,
    /// Fragments it sent to others.
    pub sent: u64,
    /// The most fragments it had at a time.
    pub most_held: u64,
    /// Time that its threads executed fragments.
    #[serde(rename = "useful_ps", deserialize_with = "picoseconds")]
    pub useful: SimSpan,
    /// Time that they unfolded fragments and took them from the queue, and that of a manager without a thread of its
    /// own.
    #[serde(rename = "overhead_ps", deserialize_with = "picoseconds")]
    pub overhead: SimSpan,
    /// The rest of their time up to the end of all processes.
    #[serde(rename = "idle_ps", deserialize_with = "picoseconds")]
    pub idle: SimSpan,
    /// Time that a manager with a thread of its own worked.
    #[serde(rename = "manager_ps", deserialize_with = "picoseconds")]
    pub manager: SimSpan,
}

impl TaskAnalysis {
    /// What `logs` of a run say; none where there are no logs.
    pub fn of_run(logs: &[TaskLog]) -> Option<Box<TaskAnalysis>> {
        (!logs.is_empty()).then(|| Box::new(TaskAnalysis::of(logs)))
    }

    /// What `logs`, one a process, say of fragments numbered from 0.
    pub fn of(logs: &[TaskLog]) -> TaskAnalysis {
        let end = logs.iter().map(|log| log.ended).max().unwrap_or(SimTime::ZERO);
        let visits = || logs.iter().flat_map(|log| &log.visits);
        let count = visits().map(|visit| visit.fragment as usize + 1).max().unwrap_or(0);
        // By fragment: how often it was sent, and whether it waited.
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
            stages: Stage::ALL.map(|stage| StageTimes::of(logs, stage)).into(),
            bounds: Bounds { threads, work_s, least_s: work_s / threads.max(1) as f64 },
            processes: logs.iter().map(|log| ProcessTasks::of(log, end)).collect(),
            series: Series::of(logs, end),
            waiting: [Stage::Waiting, Stage::Ready].map(|stage| WaitingTimes::of(logs, stage, end)).into(),
        }
    }
}

impl StageTimes {
    fn of(logs: &[TaskLog], stage: Stage) -> StageTimes {
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
    fn of(log: &TaskLog, end: SimTime) -> ProcessTasks {
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
