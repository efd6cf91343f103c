//! How long fragments stay in a stage by when they came to it.

use serde::{Deserialize, Serialize};

use crate::units::{SimSpan, SimTime};

use super::log::picoseconds;
use super::log::{Stage, TaskLog};

/// Steps of the times of arrival.
const BINS: usize = 50;

/// Fragments that a figure shows of a stage.
const SAMPLES: usize = 1500;

/// Stays in a stage against arrivals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitingTimes {
    /// The stage.
    pub stage: Stage,
    /// Stays by arrival, over equal steps of time.
    pub bins: Vec<ArrivalBin>,
    /// Some of the stays, taken at equal distances in the order in which they ended on each process.
    pub samples: Vec<Sample>,
}

/// Stays of those that came within a step of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArrivalBin {
    /// How many.
    pub count: u64,
    /// The mean of their stays.
    #[serde(rename = "mean_ps", deserialize_with = "picoseconds")]
    pub mean: SimSpan,
    /// The longest.
    #[serde(rename = "most_ps", deserialize_with = "picoseconds")]
    pub most: SimSpan,
}

/// A stay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// When the fragment came to the stage.
    #[serde(rename = "arrival_ps", deserialize_with = "picoseconds")]
    pub arrival: SimTime,
    /// How long it stayed.
    #[serde(rename = "stay_ps", deserialize_with = "picoseconds")]
    pub stay: SimSpan,
}

impl WaitingTimes {
    /// The stays in `stage`; of those that found their data there, none in the stage of waiting.
    pub(super) fn of(logs: &[TaskLog], stage: Stage, end: SimTime) -> WaitingTimes {
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
