//! What a process records: every visit of a fragment, from its arrival to its end or its leaving.

use serde::{Deserialize, Deserializer, Serialize};

use crate::units::{SimSpan, SimTime};

/// The stages, in the order in which fragments go through them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// On a process that may pass it on.
    Distribution,
    /// On the process that executes it, without all of its data.
    Waiting,
    /// With all of its data, without a thread.
    Ready,
    /// On a thread, which executes or unfolds it.
    Execution,
}

impl Stage {
    /// All, in order.
    pub const ALL: [Stage; 4] = [Stage::Distribution, Stage::Waiting, Stage::Ready, Stage::Execution];

    /// As reports call it.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Distribution => "distribution",
            Stage::Waiting => "waiting for data",
            Stage::Ready => "ready queue",
            Stage::Execution => "execution",
        }
    }
}

/// How a visit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Left {
    /// It has been executed.
    Executed,
    /// It was sent to another process.
    Sent,
}

/// A fragment on a process. What it did not reach is [`SimTime::NEVER`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    /// Its number, the same on all processes.
    pub fragment: u32,
    /// It had to wait for data.
    pub waited: bool,
    /// How the visit ended.
    pub left: Left,
    /// When it entered the distribution stage.
    pub entered: SimTime,
    /// When it left that stage for the next: it stays here.
    pub settled: SimTime,
    /// When all of its data was there.
    pub ready: SimTime,
    /// When it got a thread first.
    pub started: SimTime,
    /// When it was executed or sent.
    pub ended: SimTime,
}

impl Visit {
    /// The times at which it was in `stage`: from, to.
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

/// What a process records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskLog {
    /// The process.
    pub process: u32,
    /// Its threads that execute fragments.
    pub threads: u32,
    /// The manager has a thread of its own.
    pub own_thread: bool,
    /// When the process ended.
    pub ended: SimTime,
    /// Time that threads executed fragments.
    pub useful: SimSpan,
    /// Time that threads unfolded fragments and took them from the queue.
    pub overhead: SimSpan,
    /// Time that the manager worked, its messages included.
    pub manager: SimSpan,
    /// The visits, in the order in which they ended.
    pub visits: Vec<Visit>,
    /// The fragments' names, by visit; empty unless asked for.
    pub names: Vec<String>,
}

impl TaskLog {
    /// The mean time that threads beside their managers worked.
    pub fn mean_of_threads(logs: &[TaskLog]) -> SimSpan {
        let apart = || logs.iter().filter(|log| log.own_thread);
        let work: u128 = apart().map(|log| u128::from((log.useful + log.overhead).as_ps())).sum();
        let threads: u128 = apart().map(|log| u128::from(log.threads)).sum();
        SimSpan::from_ps((work / threads.max(1)) as u64)
    }
}

/// Times in JSON are whole picoseconds.
pub(super) fn picoseconds<'de, T: From<Picoseconds>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    u64::deserialize(deserializer).map(|ps| T::from(Picoseconds(ps)))
}

/// A whole number of them.
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
