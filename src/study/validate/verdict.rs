//! Results of a validation case. The tables, figures and JSON output use only the type [`Validation`].

use std::collections::BTreeMap;

use serde::Serialize;

use crate::profile::DominantPart;

use super::{Coverage, EffectsFound, LikelyRange, Limit, MeasuredPoint, OrderFound, Plot, PointInterval, Role};

/// Results of a validation case. The README describes the JSON form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Validation {
    /// Version of mcpsim that wrote the results.
    pub mcpsim: String,
    /// Name of the validation case.
    pub case: String,
    /// Purpose of the validation case.
    pub about: String,
    /// Comments in the table of measured runs.
    pub measured: BTreeMap<String, String>,
    /// Source of each parameter's value.
    pub provenance: BTreeMap<String, String>,
    /// Allowed error of the validation case.
    pub limit: Option<Limit>,
    /// Columns that result tables show: columns that set keys or group errors.
    pub columns: Vec<String>,
    /// Content of the figures of the validation case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plot: Option<Plot>,
    /// Prediction errors of the communication models; mcpsim's own model is first.
    pub models: Vec<ModelErrors>,
    /// Points that are compared or used for calibration, in the order of the table of measured runs.
    pub points: Vec<ValidatedPoint>,
    /// Number of points that are not used, by the reason.
    pub left_out: BTreeMap<String, usize>,
    /// Share of measured runs inside the prediction intervals, if the case has intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Share of measured runs inside the likely ranges of their points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub likely: Option<Coverage>,
    /// Contribution of each machine effect to the accuracy of predictions, if the user requests these contributions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects: Option<EffectsFound>,
}

/// Prediction errors of one communication model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelErrors {
    /// Name of the communication model.
    pub model: String,
    /// Parameters that were calibrated for the communication model.
    pub calibrated: Vec<Calibrated>,
    /// Prediction errors over all compared points.
    pub all: ErrorSummary,
    /// Prediction errors over each group of points.
    pub groups: BTreeMap<String, ErrorSummary>,
    /// Agreement of the model's order of points with the measured order, within groups of points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<OrderFound>,
}

/// A parameter calibrated on measured runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibrated {
    /// Setting that gets the calibrated value.
    pub key: String,
    /// Columns and cells of the table for which this value of the parameter applies.
    pub by: BTreeMap<String, String>,
    /// Calibrated value of the parameter with its unit.
    pub value: String,
    /// Number of points on which the parameter was calibrated.
    pub points: usize,
    /// Root mean square of the relative errors that remain at the calibration points, in percent.
    pub residual_percent: f64,
}

/// Summary of the relative prediction errors of several points, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ErrorSummary {
    /// Number of points in the summary.
    pub points: usize,
    /// Mean of the absolute prediction errors.
    pub mean_percent: f64,
    /// Greatest absolute prediction error.
    pub max_percent: f64,
    /// Mean of the signed prediction errors, which is the common bias.
    pub bias_percent: f64,
}

/// Results of a validated point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValidatedPoint {
    /// Table cells that identify the point, by column.
    pub values: BTreeMap<String, String>,
    /// True if the point was used for calibration; the error statistics then exclude it.
    pub given: bool,
    /// Median of the point's measured times, seconds.
    pub measured_s: f64,
    /// Least measured time of the point, seconds.
    pub measured_min_s: f64,
    /// Greatest measured time of the point, seconds.
    pub measured_max_s: f64,
    /// Number of measured runs of the point.
    pub runs: usize,
    /// Predicted time of the point with each communication model in seconds, in the order of the models.
    pub predicted_s: Vec<f64>,
    /// Prediction interval of mcpsim's own model, if the validation case states noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<PointInterval>,
    /// Likely range of the point's measured runs, derived from the prediction errors of the other points in the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub likely: Option<LikelyRange>,
    /// Part that dominates the predicted critical path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dominant: Option<DominantPart>,
}

/// Predicted time of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PredictedTime {
    /// Predicted time in seconds.
    pub seconds: f64,
    /// Part that dominates the critical path, if known.
    pub dominant: Option<DominantPart>,
}

impl PredictedTime {
    /// Returns the seconds of the predicted times.
    pub(super) fn seconds<E>(times: Result<Vec<PredictedTime>, E>) -> Result<Vec<f64>, E> {
        times.map(|times| times.into_iter().map(|time| time.seconds).collect())
    }
}

impl ErrorSummary {
    /// Summarises the prediction errors `errors` in percent.
    pub fn over(errors: impl IntoIterator<Item = f64>) -> ErrorSummary {
        let errors: Vec<f64> = errors.into_iter().collect();
        let mean = |sum: f64| if errors.is_empty() { 0.0 } else { sum / errors.len() as f64 };
        ErrorSummary {
            points: errors.len(),
            mean_percent: mean(errors.iter().map(|error| error.abs()).sum()),
            max_percent: errors.iter().fold(0.0, |most, error| most.max(error.abs())),
            bias_percent: mean(errors.iter().sum()),
        }
    }
}

impl ValidatedPoint {
    /// Returns the measured point without a prediction.
    pub(super) fn unpredicted(point: &MeasuredPoint) -> ValidatedPoint {
        ValidatedPoint {
            values: point.cells.clone(),
            given: point.role == Role::Given,
            measured_s: point.median(),
            measured_min_s: point.seconds[0],
            measured_max_s: point.seconds[point.seconds.len() - 1],
            runs: point.seconds.len(),
            predicted_s: Vec::new(),
            interval: None,
            likely: None,
            dominant: None,
        }
    }

    /// Returns the relative error of a communication model's predicted time: predicted / measured − 1, in percent.
    pub fn error_percent(&self, model: usize) -> f64 {
        (self.predicted_s[model] / self.measured_s - 1.0) * 100.0
    }

    /// Returns the largest deviation of the point's measured runs from their median, in percent.
    pub fn spread_percent(&self) -> f64 {
        let off = |seconds: f64| (seconds / self.measured_s - 1.0).abs() * 100.0;
        off(self.measured_min_s).max(off(self.measured_max_s))
    }
}

impl Validation {
    /// Returns true if the prediction errors of mcpsim's own model are within the allowed error; true if the case
    /// allows any error.
    pub fn passes(&self) -> bool {
        let Some(limit) = self.limit else { return true };
        let judged = match limit.max_spread_percent {
            None => self.models[0].all,
            Some(most) => self.errors_where_quiet(0, most),
        };
        judged.points > 0 && judged.mean_percent <= limit.mean_percent && judged.max_percent <= limit.max_percent
    }

    /// Returns the prediction errors of a model over compared points whose measured runs, at least two, deviate by at
    /// most `most` percent from their median.
    pub fn errors_where_quiet(&self, model: usize, most: f64) -> ErrorSummary {
        let quiet = |point: &&ValidatedPoint| !point.given && point.runs > 1 && point.spread_percent() <= most;
        ErrorSummary::over(self.points.iter().filter(quiet).map(|point| point.error_percent(model)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_summed_up_by_mean_greatest_and_bias() {
        let all = ErrorSummary::over([-4.0, 1.0, 3.0, 2.0]);
        assert_eq!(all, ErrorSummary { points: 4, mean_percent: 2.5, max_percent: 4.0, bias_percent: 0.5 });
        assert_eq!(ErrorSummary::over([]).mean_percent, 0.0);
    }

    #[test]
    fn an_error_is_relative_to_the_median_measured() {
        let point = ValidatedPoint {
            values: BTreeMap::new(),
            given: false,
            measured_s: 2.0,
            measured_min_s: 1.9,
            measured_max_s: 2.2,
            runs: 3,
            predicted_s: vec![2.5, 1.0],
            interval: None,
            likely: None,
            dominant: None,
        };
        assert_eq!((point.error_percent(0), point.error_percent(1)), (25.0, -50.0));
        assert!((point.spread_percent() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_is_demanded_of_points_whose_runs_lie_too_far_apart() {
        let point = |error: f64, spread: f64, given| ValidatedPoint {
            values: BTreeMap::new(),
            given,
            measured_s: 1.0,
            measured_min_s: 1.0,
            measured_max_s: 1.0 + spread,
            runs: 2,
            predicted_s: vec![1.0 + error],
            interval: None,
            likely: None,
            dominant: None,
        };
        let points = vec![point(0.02, 0.0, false), point(0.5, 0.3, false), point(0.7, 0.0, true)];
        let errors = points.iter().filter(|point| !point.given).map(|point| point.error_percent(0));
        let models = vec![ModelErrors {
            model: "mcpsim".into(),
            calibrated: vec![],
            all: ErrorSummary::over(errors),
            groups: BTreeMap::new(),
            order: None,
        }];
        let mut validation = Validation {
            mcpsim: String::new(),
            case: String::new(),
            about: String::new(),
            measured: BTreeMap::new(),
            provenance: BTreeMap::new(),
            limit: None,
            columns: vec![],
            plot: None,
            models,
            points,
            left_out: BTreeMap::new(),
            coverage: None,
            likely: None,
            effects: None,
        };
        assert!(validation.passes(), "no limit is stated");
        // The limits of the error apply to all points, or only to points with a small spread. A validation whose limits
        // apply to no point does not pass.
        for (most, passes) in [(None, false), (Some(50.0), false), (Some(10.0), true)] {
            validation.limit = Some(Limit { mean_percent: 3.0, max_percent: 3.0, max_spread_percent: most });
            assert_eq!(validation.passes(), passes, "{most:?}");
        }
        validation.points.remove(0);
        assert!(!validation.passes());
    }
}
