//! The interval of a prediction: what runs with the machine's noise say of one more, and what was measured of that.

use serde::Serialize;

use crate::config::Override;
use crate::engine::NextValue;

use super::assess::Ask;
use super::{MeasuredPoint, ValidatedPoint};

/// The interval of a point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PointInterval {
    /// How many runs it is from.
    pub runs: u32,
    /// The mean of their predictions, s.
    pub mean_s: f64,
    /// Their standard deviation, s.
    pub deviation_s: f64,
    /// The bounds between which one more run would lie in 95 of 100 cases, s.
    pub interval_s: [f64; 2],
    /// How many of the measured runs lie between them.
    pub measured_inside: usize,
}

/// Where runs of a point lie by the errors of the case's other points: what the model leaves out is in it, as far as
/// these show it. Nothing measured of the point itself is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LikelyRange {
    /// The bounds between which 95 of 100 runs of the other points would lie, s.
    pub interval_s: [f64; 2],
    /// How many of the measured runs lie between them.
    pub measured_inside: usize,
}

/// Of fewer other points nothing is told.
const LEAST_OTHERS: usize = 8;

impl LikelyRange {
    /// That of each of `points`, measured as in `measured`; none where few others are predicted.
    ///
    /// Split-conformal prediction (Vovk, Gammerman and Shafer 2005) with each point left out once: of the others'
    /// least and greatest runs over their predictions, the values of rank (n + 1) / 40 from below and from above.
    pub(super) fn of(points: &[ValidatedPoint], measured: &[&MeasuredPoint]) -> Vec<Option<LikelyRange>> {
        let range = |place: usize| {
            let others = (0..points.len()).filter(|&other| other != place && !points[other].given);
            let ratios = |seconds: fn(&ValidatedPoint) -> f64| {
                let ratio = |other: usize| seconds(&points[other]) / points[other].predicted_s[0];
                let mut all: Vec<f64> = others.clone().map(ratio).collect();
                all.sort_by(f64::total_cmp);
                all
            };
            let (least, greatest) = (ratios(|point| point.measured_min_s), ratios(|point| point.measured_max_s));
            if points[place].given || least.len() < LEAST_OTHERS {
                return None;
            }
            let beyond = ((least.len() + 1) / 40).saturating_sub(1);
            let predicted = points[place].predicted_s[0];
            let [from, to] = [predicted * least[beyond], predicted * greatest[greatest.len() - 1 - beyond]];
            let measured_inside = measured[place].seconds.iter().filter(|run| from <= **run && **run <= to).count();
            Some(LikelyRange { interval_s: [from, to], measured_inside })
        };
        (0..points.len()).map(range).collect()
    }
}

/// How much of what was measured the intervals of predicted points hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Coverage {
    /// Predicted points with an interval.
    pub points: usize,
    /// Those whose median lies in it.
    pub points_inside: usize,
    /// Measured runs of these points.
    pub runs: usize,
    /// Those that lie in their point's interval.
    pub runs_inside: usize,
}

impl PointInterval {
    /// What `predictions`, two at least, say of the runs of `point`.
    pub(super) fn of(predictions: &[f64], point: &MeasuredPoint) -> PointInterval {
        let next = NextValue::of(predictions);
        let inside = |seconds: f64| next.interval[0] <= seconds && seconds <= next.interval[1];
        PointInterval {
            runs: predictions.len() as u32,
            mean_s: next.mean,
            deviation_s: next.deviation,
            interval_s: next.interval,
            measured_inside: point.seconds.iter().filter(|seconds| inside(**seconds)).count(),
        }
    }
}

impl Coverage {
    /// Of the intervals of runs with noise; none where no point has one.
    pub(super) fn of_noise(points: &[ValidatedPoint]) -> Option<Coverage> {
        Coverage::of(points, |point| point.interval.map(|of| (of.interval_s, of.measured_inside)))
    }

    /// Of the ranges by the errors of other points; none where no point has one.
    pub(super) fn of_likely(points: &[ValidatedPoint]) -> Option<Coverage> {
        Coverage::of(points, |point| point.likely.map(|of| (of.interval_s, of.measured_inside)))
    }

    fn of(
        points: &[ValidatedPoint],
        interval: impl Fn(&ValidatedPoint) -> Option<([f64; 2], usize)>,
    ) -> Option<Coverage> {
        let mut found = Coverage { points: 0, points_inside: 0, runs: 0, runs_inside: 0 };
        for (point, ([from, to], inside)) in points.iter().filter_map(|point| Some((point, interval(point)?))) {
            found.points += 1;
            found.points_inside += usize::from(from <= point.measured_s && point.measured_s <= to);
            found.runs += point.runs;
            found.runs_inside += inside;
        }
        (found.points > 0).then_some(found)
    }

    /// The part of the measured runs that lie in intervals, percent.
    pub fn runs_percent(&self) -> f64 {
        self.runs_inside as f64 / self.runs as f64 * 100.0
    }

    /// The part of the medians that do, percent.
    pub fn points_percent(&self) -> f64 {
        self.points_inside as f64 / self.points as f64 * 100.0
    }
}

/// The runs of `ask` with what `noise` sets, and seeds from 0 on.
pub(super) fn noisy(ask: &Ask, noise: &[Override], runs: u32) -> Vec<Ask> {
    let seeded = |seed: u32| {
        let seed = Override::parse(&format!("run.seed={seed}")).expect("a key of a run");
        let set = ask.set.iter().chain(noise).cloned().chain([seed]).collect();
        Ask { set, ..ask.clone() }
    };
    (0..runs).map(seeded).collect()
}
