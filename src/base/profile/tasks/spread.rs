//! Times that fragments spend in a stage, by time of arrival in the stage.

use serde::{Deserialize, Serialize};

use crate::units::{SimSpan, SimTime};

use super::log::picoseconds;
use super::log::{Stage, TaskLog};

/// Number of time steps into which the arrival times of fragments are divided.
const BINS: usize = 50;

/// Greatest number of sampled fragments per stage in figures.
const SAMPLES: usize = 1500;

/// Times that fragments spend in one stage, by time of arrival in the stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct WaitingTimes {
    /// Stage of the fragments to which the times belong.
    pub stage: Stage,
    /// Statistics of the fragments that arrived in each time step.
    pub bins: Vec<ArrivalBin>,
    /// Sample of the fragments: every n-th fragment in the order in which they left the stage on each process.
    pub samples: Vec<Sample>,
}

/// Fragments that arrived in a stage within one time step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ArrivalBin {
    /// Number of fragments that arrived in the time step.
    pub count: u64,
    /// Mean time that a fragment spent in the stage.
    #[serde(rename = "mean_ps", deserialize_with = "picoseconds")]
    pub mean: SimSpan,
    /// Longest time that a fragment spent in the stage.
    #[serde(rename = "most_ps", deserialize_with = "picoseconds")]
    pub most: SimSpan,
}

/// Time that one fragment spent in a stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Sample {
    /// Time at which the fragment arrived in the stage.
    #[serde(rename = "arrival_ps", deserialize_with = "picoseconds")]
    pub arrival: SimTime,
    /// Time that the fragment spent in the stage.
    #[serde(rename = "stay_ps", deserialize_with = "picoseconds")]
    pub stay: SimSpan,
}

impl WaitingTimes {
    /// Computes the times that fragments spent in `stage`. For the stage `Waiting`, includes only fragments that waited
    /// for missing input data.
    pub(super) fn from_logs(logs: &[TaskLog], stage: Stage, end: SimTime) -> WaitingTimes {
        let stays = || {
            let visits = logs.iter().flat_map(|log| &log.visits);
            visits.filter(|visit| stage != Stage::Waiting || visit.waited).filter_map(|visit| visit.stay(stage))
        };
        let step = u128::from(end.as_ps().div_ceil(BINS as u64).max(1));
        let mut bins = vec![ArrivalBin::default(); BINS];
        let mut sums = vec![0u128; BINS];
        let mut total = 0;
        for (from, to) in stays() {
            let index = ((u128::from(from.as_ps()) / step) as usize).min(BINS - 1);
            let bin = &mut bins[index];
            bin.count += 1;
            bin.most = bin.most.max(to.since(from));
            sums[index] += u128::from(to.since(from).as_ps());
            total += 1;
        }
        for (bin, sum) in bins.iter_mut().zip(sums) {
            bin.mean = SimSpan::from_ps((sum / u128::from(bin.count.max(1))) as u64);
        }
        let every = usize::max(1, (total as usize).div_ceil(SAMPLES));
        let sample = |(from, to): (SimTime, SimTime)| Sample { arrival: from, stay: to.since(from) };
        WaitingTimes { stage, bins, samples: stays().step_by(every).map(sample).collect() }
    }
}
