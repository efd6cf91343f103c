//! Interval of a prediction, computed from runs with noise, and the number of measured runs inside the interval.

use serde::Serialize;

use crate::config::Override;
use crate::engine::NextValue;

use super::assess::Ask;
use super::{MeasuredPoint, ValidatedPoint};

/// Prediction interval of a validated point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PointInterval {
    /// Number of simulated runs with noise.
    pub runs: u32,
    /// Mean of the predicted times, seconds.
    pub mean_s: f64,
    /// Standard deviation of the predicted times, seconds.
    pub deviation_s: f64,
    /// Bounds that contain a further predicted run with a probability of 95 %, seconds.
    pub interval_s: [f64; 2],
    /// Number of measured runs inside the prediction interval.
    pub measured_inside: usize,
}

/// Likely range of a point's measured runs, derived from the prediction errors of the other points of the validation
/// case. The range includes model errors as far as the other points show such errors. Measured times of the point do
/// not affect the point's range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LikelyRange {
    /// Bounds that contain 95 % of the measured runs if the point's errors are like those of the other points, seconds.
    pub interval_s: [f64; 2],
    /// Number of measured runs inside the likely range.
    pub measured_inside: usize,
}

/// Least number of other points from which a likely range is derived.
const LEAST_OTHERS: usize = 8;

impl LikelyRange {
    /// Returns the likely range of every point in `points`, whose measured runs are in `measured`; `None` with too few
    /// other predicted points.
    ///
    /// The method for likely ranges is split-conformal prediction (Vovk, Gammerman and Shafer 2005), excluding one
    /// point at a time. The bounds of a range are ratios of measured runs to predictions. Each of the n other points
    /// has a least and a greatest ratio; the bounds of the range are the ratios at position (n + 1) / 40 from below and
    /// from above.
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

/// Share of the measured runs inside the prediction intervals of predicted points.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Coverage {
    /// Number of predicted points that have a prediction interval.
    pub points: usize,
    /// Number of points whose median measured time is inside their prediction interval.
    pub points_inside: usize,
    /// Number of measured runs of the points with a prediction interval.
    pub runs: usize,
    /// Number of measured runs inside the prediction interval of their point.
    pub runs_inside: usize,
}

impl PointInterval {
    /// Computes the prediction interval of `point` from at least two predicted times in `predictions`.
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
    /// Returns the coverage of the prediction intervals from runs with noise; `None` without such intervals.
    pub(super) fn of_noise(points: &[ValidatedPoint]) -> Option<Coverage> {
        Coverage::of(points, |point| point.interval.map(|of| (of.interval_s, of.measured_inside)))
    }

    /// Returns the coverage of the likely ranges; `None` without likely ranges.
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

    /// Returns the share of measured runs inside their prediction intervals, percent.
    pub fn runs_percent(&self) -> f64 {
        self.runs_inside as f64 / self.runs as f64 * 100.0
    }

    /// Returns the share of points whose median measured time is inside their prediction interval, percent.
    pub fn points_percent(&self) -> f64 {
        self.points_inside as f64 / self.points as f64 * 100.0
    }
}

/// Returns `runs` run requests like `ask`, with the settings `noise` and the seeds from 0.
pub(super) fn noisy(ask: &Ask, noise: &[Override], runs: u32) -> Vec<Ask> {
    let seeded = |seed: u32| {
        let seed = Override::parse(&format!("run.seed={seed}")).expect("a key of a run");
        let set = ask.set.iter().chain(noise).cloned().chain([seed]).collect();
        Ask { set, ..ask.clone() }
    };
    (0..runs).map(seeded).collect()
}
