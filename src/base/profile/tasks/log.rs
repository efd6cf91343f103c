//! Log of one MPI process of a task-based program. The log contains every visit of a fragment to the process, from the
//! fragment's arrival to its execution or departure.

use serde::{Deserialize, Deserializer, Serialize};

use crate::units::{SimSpan, SimTime};

/// Stages of a computation fragment on an MPI process, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The fragment is on a process that may still send it to another process.
    Distribution,
    /// The fragment is on the process that will execute it, and waits for missing input data.
    Waiting,
    /// The fragment has all input data and waits for a free thread.
    Ready,
    /// A thread executes the fragment, or creates the fragments that a structured fragment describes.
    Execution,
}

impl Stage {
    /// All stages, in the order in which fragments pass them.
    pub const ALL: [Stage; 4] = [Stage::Distribution, Stage::Waiting, Stage::Ready, Stage::Execution];

    /// Name of the stage in reports.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Distribution => "distribution",
            Stage::Waiting => "waiting for data",
            Stage::Ready => "ready queue",
            Stage::Execution => "execution",
        }
    }
}

/// How the visit of a fragment to a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Left {
    /// The process executed the fragment.
    Executed,
    /// The process sent the fragment to another process.
    Sent,
}

/// Visit of a fragment to an MPI process. The times of stages that the fragment did not reach are [`SimTime::NEVER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    /// Identifier of the fragment, which is the same on all processes.
    pub fragment: u32,
    /// Whether the fragment waited for input data.
    pub waited: bool,
    /// How the visit of the fragment to the process ended.
    pub left: Left,
    /// Time at which the fragment arrived in the distribution stage.
    pub entered: SimTime,
    /// Time at which the fragment left the distribution stage for execution on this process.
    pub settled: SimTime,
    /// Time at which the last input data of the fragment became available.
    pub ready: SimTime,
    /// Time at which a thread first started the fragment.
    pub started: SimTime,
    /// Time at which the process had executed the fragment or sent the fragment to another process.
    pub ended: SimTime,
}

impl Visit {
    /// Time of arrival in `stage` and time of departure from it; `None` if the fragment did not reach the stage.
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

/// Log of one MPI process of a task-based program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLog {
    /// Rank of the MPI process.
    pub process: u32,
    /// Number of threads of the process that execute fragments.
    pub threads: u32,
    /// Whether the task manager has its own thread.
    pub own_thread: bool,
    /// Virtual time at which the process ended.
    pub ended: SimTime,
    /// Total time in which threads executed fragments.
    pub useful: SimSpan,
    /// Total time in which threads created fragments or took fragments from the queue.
    pub overhead: SimSpan,
    /// Working time of the task manager, including the time for messages.
    pub manager: SimSpan,
    /// Visits of fragments, in the order in which the visits ended.
    pub visits: Vec<Visit>,
    /// Names of the fragments, one per visit; empty unless requested.
    pub names: Vec<String>,
}

impl TaskLog {
    /// Mean working time of the task managers that have their own thread.
    pub fn mean_of_threads(logs: &[TaskLog]) -> SimSpan {
        let apart = || logs.iter().filter(|log| log.own_thread);
        let work: u128 = apart().map(|log| u128::from((log.useful + log.overhead).as_ps())).sum();
        let threads: u128 = apart().map(|log| u128::from(log.threads)).sum();
        SimSpan::from_ps((work / threads.max(1)) as u64)
    }
}

/// Reads a time in JSON, an integer number of picoseconds.
pub(super) fn picoseconds<'de, T: From<Picoseconds>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    u64::deserialize(deserializer).map(|ps| T::from(Picoseconds(ps)))
}

/// An integer number of picoseconds.
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
