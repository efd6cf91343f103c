//! Numbers of fragments in each stage over time.

use serde::{Deserialize, Serialize};

use crate::units::{SimSpan, SimTime};

use super::log::picoseconds;
use super::log::{Stage, TaskLog};

/// Number of time steps into which the run is divided.
pub(super) const STEPS: usize = 200;

/// Greatest number of processes for which the numbers of fragments over time are computed per process.
pub(super) const MOST_APART: usize = 64;

/// Numbers of fragments over time, in time steps of equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Series {
    /// Length of a time step.
    #[serde(rename = "step_ps", deserialize_with = "picoseconds")]
    pub step: SimSpan,
    /// For each stage in order, the number of fragments in the stage on all processes.
    pub stages: Vec<StageSeries>,
    /// Number of fragments in any stage on all processes.
    pub held: StageSeries,
    /// For each process, the numbers of fragments in the stages `Waiting` and `Ready`. The list is empty for more than
    /// 64 processes.
    pub processes: Vec<[Vec<f64>; 2]>,
}

/// Number of fragments over time, with its maximum.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct StageSeries {
    /// For each time step, mean number of fragments.
    pub mean: Vec<f64>,
    /// Greatest number of fragments at the same time.
    pub most: u64,
    /// First time at which the greatest number of fragments was reached.
    #[serde(rename = "most_at_ps", deserialize_with = "picoseconds")]
    pub most_at: SimTime,
}

/// Computes how many intervals cover each instant, integrated over each time step.
#[derive(Clone, Debug)]
pub(super) struct Counter {
    step: u64,
    /// For each time step, the change of the number of intervals within the step.
    change: Vec<i64>,
    /// For each time step, the picoseconds of intervals that begin within the step, minus the picoseconds of intervals
    /// that end within the step.
    partial: Vec<i128>,
}

impl Counter {
    pub fn new(end: SimTime, steps: usize) -> Self {
        let step = end.as_ps().div_ceil(steps as u64).max(1);
        Counter { step, change: vec![0; steps], partial: vec![0; steps] }
    }

    /// Adds an interval from `from` to `to`. `from` and `to` must not be after the end of the last time step.
    pub fn add(&mut self, from: SimTime, to: SimTime) {
        self.edge(from, 1);
        self.edge(to, -1);
    }

    fn edge(&mut self, at: SimTime, sign: i64) {
        let at = at.as_ps();
        let index = ((at / self.step) as usize).min(self.change.len() - 1);
        self.change[index] += sign;
        self.partial[index] += i128::from(sign) * (i128::from(self.step) * (index as i128 + 1) - i128::from(at));
    }

    /// For each time step, the integral of the number of intervals over time, in picoseconds.
    pub fn integrals(&self) -> impl Iterator<Item = i128> {
        let mut before = 0i64;
        self.change.iter().zip(&self.partial).map(move |(change, partial)| {
            let integral = i128::from(before) * i128::from(self.step) + partial;
            before += change;
            integral
        })
    }

    fn means(&self) -> Vec<f64> {
        // Numbers are rounded to six decimals, because more decimals would only enlarge the files.
        let short = |x: f64| (x * 1e6).round() / 1e6;
        self.integrals().map(|integral| short(integral as f64 / self.step as f64)).collect()
    }
}

/// Greatest number of simultaneous intervals, and the first time at which it is reached. At equal times, ends precede
/// beginnings.
pub(super) fn most(from: &mut [u64], to: &mut [u64]) -> (u64, SimTime) {
    from.sort_unstable();
    to.sort_unstable();
    let (mut ended, mut best, mut at) = (0, 0, 0);
    for (begun, &time) in from.iter().enumerate() {
        while to[ended] <= time && ended < begun {
            ended += 1;
        }
        if begun + 1 - ended > best {
            (best, at) = (begun + 1 - ended, time);
        }
    }
    (best as u64, SimTime::from_ps(at))
}

impl Series {
    /// Computes the numbers of fragments over time in all `logs` up to `end`.
    pub(super) fn from_logs(logs: &[TaskLog], end: SimTime) -> Series {
        let one = |of: &dyn Fn(&super::log::Visit) -> Option<(SimTime, SimTime)>| {
            let mut counter = Counter::new(end, STEPS);
            let (mut from, mut to) = (Vec::new(), Vec::new());
            for (begun, ended) in logs.iter().flat_map(|log| &log.visits).filter_map(of).filter(|(a, b)| a < b) {
                counter.add(begun, ended);
                from.push(begun.as_ps());
                to.push(ended.as_ps());
            }
            let (most, most_at) = most(&mut from, &mut to);
            StageSeries { mean: counter.means(), most, most_at }
        };
        let apart = if logs.len() <= MOST_APART { logs } else { &[] };
        let of_process = |log: &TaskLog| {
            [Stage::Waiting, Stage::Ready].map(|stage| {
                let mut counter = Counter::new(end, STEPS);
                let stays = log.visits.iter().filter_map(|visit| visit.stay(stage));
                stays.for_each(|(from, to)| counter.add(from, to));
                counter.means()
            })
        };
        Series {
            step: SimSpan::from_ps(end.as_ps().div_ceil(STEPS as u64).max(1)),
            stages: Stage::ALL.map(|stage| one(&|visit| visit.stay(stage))).into(),
            held: one(&|visit| Some((visit.entered, visit.ended))),
            processes: apart.iter().map(of_process).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_integral_over_steps_is_the_sum_of_lengths_exactly() {
        let at = SimTime::from_ps;
        let mut counter = Counter::new(at(1003), 7);
        let intervals = [(0, 1003), (5, 5), (17, 400), (143, 144), (1002, 1003), (144, 288), (700, 1003)];
        intervals.iter().for_each(|&(from, to)| counter.add(at(from), at(to)));
        let lengths: u64 = intervals.iter().map(|(from, to)| to - from).sum();
        assert_eq!(counter.integrals().sum::<i128>(), i128::from(lengths));
        // The third time step is from 288 to 432. The third time step has two intervals, one of which ends at 400.
        assert_eq!(counter.integrals().nth(2), Some(144 + 400 - 288));
    }

    #[test]
    fn the_most_at_a_time_is_found_with_its_time() {
        // At time 20 one interval ends and another begins, so the number of intervals remains two.
        let (most, at) = most(&mut [0, 10, 20, 30], &mut [20, 40, 25, 50]);
        assert_eq!((most, at.as_ps()), (2, 10));
        assert_eq!(super::most(&mut [], &mut []).0, 0);
    }
}
