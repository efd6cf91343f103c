//! Record of a process: every visit of a fragment, from its arrival to its end or departure.

use serde::{Deserialize, Deserializer, Serialize};

use crate::units::{SimSpan, SimTime};

/// Stages, in the order in which fragments pass them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// On a process that may send it to another.
    Distribution,
    /// On the process that executes it, with data missing.
    Waiting,
    /// With all data, waiting for a thread.
    Ready,
    /// On a thread that executes or unfolds it.
    Execution,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Stage; 4] = [Stage::Distribution, Stage::Waiting, Stage::Ready, Stage::Execution];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Distribution => "distribution",
            Stage::Waiting => "waiting for data",
            Stage::Ready => "ready queue",
            Stage::Execution => "execution",
        }
    }
}

/// End of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Left {
    /// Execution.
    Executed,
    /// Migration to another process.
    Sent,
}

/// Visit of a fragment at a process. Times that it did not reach are [`SimTime::NEVER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    /// Number of the fragment, the same on all processes.
    pub fragment: u32,
    /// Whether it waited for data.
    pub waited: bool,
    /// End of the visit.
    pub left: Left,
    /// Arrival in the distribution stage.
    pub entered: SimTime,
    /// Departure from that stage to the next: it stays on this process.
    pub settled: SimTime,
    /// Availability of its last data.
    pub ready: SimTime,
    /// First start on a thread.
    pub started: SimTime,
    /// Execution or migration.
    pub ended: SimTime,
}

impl Visit {
    /// Start and end of its stay in `stage`.
    pub fn stay(&self, stage: Stage) -> Option<(SimTime, SimTime)> {
        let (from, to) = match stage {
            Stage::Distribution => (self.entered, self.settled),
            Stage::Waiting => (self.settled, self.ready),
            Stage::Ready => (self.ready, self.started),
            Stage::Execution => (self.started, self.ended),
        };
        (from != SimTime::NEVER).then(|| (from, to.min(self.ended)))
    }
}

/// Record of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLog {
    /// Process.
    pub process: u32,
    /// Number of its threads that execute fragments.
    pub threads: u32,
    /// Whether the manager has a thread of its own.
    pub own_thread: bool,
    /// End of the process.
    pub ended: SimTime,
    /// Time of threads in the execution of fragments.
    pub useful: SimSpan,
    /// Time of threads in unfolding fragments and taking them from the queue.
    pub overhead: SimSpan,
    /// Working time of the manager, including its messages.
    pub manager: SimSpan,
    /// Visits, in the order of their ends.
    pub visits: Vec<Visit>,
    /// Names of the fragments by visit; empty unless requested.
    pub names: Vec<String>,
}

impl TaskLog {
    /// Mean working time of managers with a thread of their own.
    pub fn mean_of_threads(logs: &[TaskLog]) -> SimSpan {
        let apart = || logs.iter().filter(|log| log.own_thread);
        let work: u128 = apart().map(|log| u128::from((log.useful + log.overhead).as_ps())).sum();
        let threads: u128 = apart().map(|log| u128::from(log.threads)).sum();
        SimSpan::from_ps((work / threads.max(1)) as u64)
    }
}

/// Reads a time in JSON, a whole number of picoseconds.
pub(super) fn picoseconds<'de, T: From<Picoseconds>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    u64::deserialize(deserializer).map(|ps| T::from(Picoseconds(ps)))
}

/// A whole number of picoseconds.
pub(super) struct Picoseconds(u64);

impl From<Picoseconds> for SimSpan {
    fn from(Picoseconds(ps): Picoseconds) -> Self {
        SimSpan::from_ps(ps)
    }
}

impl From<Picoseconds> for SimTime {
    fn from(Picoseconds(ps): Picoseconds) -> Self {
        SimTime::from_ps(ps)
    }
}
