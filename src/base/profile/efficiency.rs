//! Efficiency of a run by the metrics of the POP centre of excellence, and latency tolerance of a run.

use serde::{Deserialize, Serialize};

use super::{PathParts, TimeParts};
use crate::platform::Level;
use crate::units::{SimSpan, SimTime, picoseconds};

/// POP efficiencies of a run, from 0 to 1. *Useful* time of a rank is the time of its own code outside collectives. If
/// ranks have threads with clocks of their own, it is the time of the main thread outside of MPI, so the values are those
/// of the factor `mpi` of [`super::HybridEfficiencies`].
///
/// parallel = load balance × communication; communication = serialization × transfer
/// (POP Standard Metrics for Parallel Performance Analysis; Rosas, Giménez, Labarta 2014).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Efficiencies {
    /// Mean useful time of the ranks divided by the predicted time.
    pub parallel: f64,
    /// Mean useful time of the ranks divided by the greatest useful time of a rank.
    pub load_balance: f64,
    /// Greatest useful time of a rank divided by the predicted time.
    pub communication: f64,
    /// Greatest useful time of a rank divided by the predicted time with an ideal network. Shows the loss because ranks
    /// wait for each other.
    pub serialization: f64,
    /// Predicted time with an ideal network divided by the predicted time. Shows the loss because of the network.
    pub transfer: f64,
    /// Share of computing in which the ranks do not wait for memory; `parallel` counts this waiting as useful time.
    #[serde(default = "whole")]
    pub memory: f64,
    /// Predicted time with an ideal network.
    #[serde(rename = "ideal_ps", deserialize_with = "picoseconds")]
    pub ideal: SimSpan,
}

/// Factor without waiting.
fn whole() -> f64 {
    1.0
}

impl Efficiencies {
    /// Computes the efficiencies of a run with the predicted time `predicted`. `ideal` is the predicted time with an
    /// ideal network. `ranks` are the time parts of the run's ranks. Returns `None` if no time passes or no rank
    /// computes.
    pub fn from_run<'a>(
        predicted: SimTime,
        ideal: SimTime,
        ranks: impl IntoIterator<Item = &'a TimeParts>,
    ) -> Option<Efficiencies> {
        let (mut useful, mut waits) = (Vec::new(), 0u128);
        for parts in ranks {
            useful.push(parts.compute.as_ps());
            waits += u128::from(parts.memory.as_ps());
        }
        let most = *useful.iter().max()? as f64;
        let sum = useful.iter().map(|ps| u128::from(*ps)).sum::<u128>();
        let mean = sum as f64 / useful.len() as f64;
        let (predicted, ideal_ps) = (predicted.as_ps() as f64, ideal.as_ps() as f64);
        if most == 0.0 || predicted == 0.0 || ideal_ps == 0.0 {
            return None;
        }
        Some(Efficiencies {
            parallel: mean / predicted,
            load_balance: mean / most,
            communication: most / predicted,
            serialization: most / ideal_ps,
            transfer: ideal_ps / predicted,
            memory: 1.0 - waits as f64 / sum as f64,
            ideal: SimSpan::from_ps(ideal.as_ps()),
        })
    }
}

/// Increase of the latencies of one level of the machine that prolongs a run by a given percentage, if the critical
/// path does not change. The critical path of the modified run could only be longer, so this increase is an upper
/// bound.
///
/// The latency tolerance of LLAMP (Shen et al. 2024), computed from the derivative of the predicted time along the
/// critical path. All latencies of the level, including those of control messages, grow by the same factor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LatencyTolerance {
    /// Level of the messages whose latencies grow.
    pub level: Level,
    /// Increase of the predicted time in percent.
    pub longer_percent: u32,
    /// Relative increase of the latencies: 0.5 means an increase by half.
    pub more: f64,
    /// Increase of the latency of the smallest messages of the level.
    #[serde(rename = "added_ps", deserialize_with = "picoseconds")]
    pub added: SimSpan,
}

impl LatencyTolerance {
    /// Increases of the predicted time in percent for which mcpsim reports the latency tolerance.
    pub const PERCENT: [u32; 3] = [1, 2, 5];

    /// Computes the latency tolerances for all levels with latency on the critical path, from near to far. `latency`
    /// returns the latency of a level's smallest messages.
    pub fn all(path: &PathParts, predicted: SimTime, latency: impl Fn(Level) -> SimSpan) -> Vec<LatencyTolerance> {
        let of_level = |level: Level| {
            let parts = path.level(level);
            let on_path = (parts.latency + parts.protocol).as_ps() as f64;
            let latency = latency(level).as_ps() as f64;
            Self::PERCENT.into_iter().filter(move |_| on_path > 0.0).map(move |longer_percent| {
                let more = f64::from(longer_percent) / 100.0 * predicted.as_ps() as f64 / on_path;
                // The conversion of a float to an integer saturates.
                let added = SimSpan::from_ps((more * latency).round() as u64);
                LatencyTolerance { level, longer_percent, more, added }
            })
        };
        Level::ALL.into_iter().flat_map(of_level).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{LevelParts, TransferParts};

    #[test]
    fn efficiencies_are_products_of_what_they_consist_of() {
        let rank = |ps| TimeParts { compute: SimSpan::from_ps(ps), ..TimeParts::default() };
        let of = |ranks: &[TimeParts]| Efficiencies::from_run(SimTime::from_ps(1000), SimTime::from_ps(900), ranks);
        let found = of(&[rank(400), rank(800)]).unwrap();
        assert_eq!((found.parallel, found.load_balance, found.communication), (0.6, 0.75, 0.8));
        assert_eq!((found.serialization, found.transfer), (800.0 / 900.0, 0.9));
        assert!((found.parallel - found.load_balance * found.communication).abs() < 1e-12);
        assert!((found.communication - found.serialization * found.transfer).abs() < 1e-12);
        assert_eq!(found.memory, 1.0);
        let waiting = TimeParts { memory: SimSpan::from_ps(300), ..rank(800) };
        assert_eq!(of(&[rank(400), waiting]).unwrap().memory, 0.75);
        assert_eq!(of(&[rank(0)]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn tolerances_are_read_off_the_path() {
        let ps = SimSpan::from_ps;
        let inter_node =
            TransferParts { latency: ps(90), protocol: ps(10), bytes: ps(400), ..TransferParts::default() };
        let path = PathParts {
            compute: ps(500),
            levels: LevelParts { inter_node, ..LevelParts::default() },
            ..PathParts::default()
        };
        let found = LatencyTolerance::all(&path, SimTime::from_ps(1000), |_| ps(30));
        let row = |of: &LatencyTolerance| (of.level, of.longer_percent, of.more, of.added.as_ps());
        let far = Level::InterNode;
        assert_eq!(found.iter().map(row).collect::<Vec<_>>(), [(far, 1, 0.1, 3), (far, 2, 0.2, 6), (far, 5, 0.5, 15)]);
        assert_eq!(LatencyTolerance::all(&PathParts::default(), SimTime::from_ps(1), |_| ps(1)), []);
    }
}
