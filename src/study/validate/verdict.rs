//! Results of a validation; tables, figures and JSON use only these.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Coverage, EffectsFound, LikelyRange, Limit, OrderFound, Plot, PointInterval};

/// Assessed case. README describes the JSON form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Validation {
    /// Version of mcpsim.
    pub mcpsim: String,
    /// Name of the case.
    pub case: String,
    /// Purpose of the case.
    pub about: String,
    /// Comments of the measured runs.
    pub measured: BTreeMap<String, String>,
    /// Source of each parameter.
    pub provenance: BTreeMap<String, String>,
    /// Allowed error.
    pub limit: Option<Limit>,
    /// Shown columns: those that set keys or group.
    pub columns: Vec<String>,
    /// Plot of the figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plot: Option<Plot>,
    /// Models, mcpsim's own first.
    pub models: Vec<ModelErrors>,
    /// Points, predicted and given, in the order of the table.
    pub points: Vec<ValidatedPoint>,
    /// Number of points left out, by reason.
    pub left_out: BTreeMap<String, usize>,
    /// Part of the measurements inside the intervals of predictions, if there are intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// Coverage of the ranges by the errors of other points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub likely: Option<Coverage>,
    /// Contribution of each effect of the machine, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects: Option<EffectsFound>,
}

/// Errors of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelErrors {
    /// Name of the model.
    pub model: String,
    /// Parameters calibrated for it.
    pub calibrated: Vec<Calibrated>,
    /// Errors over all predicted points.
    pub all: ErrorSummary,
    /// Errors of each group.
    pub groups: BTreeMap<String, ErrorSummary>,
    /// Order of the predicted points of a group by the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<OrderFound>,
}

/// Parameter calibrated on measured runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibrated {
    /// Key.
    pub key: String,
    /// Columns whose values have separate values of the parameter.
    pub by: BTreeMap<String, String>,
    /// Value as set.
    pub value: String,
    /// Number of points used.
    pub points: usize,
    /// Root mean square of their remaining relative errors, in percent.
    pub residual_percent: f64,
}

/// Relative errors of several points, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ErrorSummary {
    /// Number of points.
    pub points: usize,
    /// Mean of the absolute values.
    pub mean_percent: f64,
    /// Greatest absolute value.
    pub max_percent: f64,
    /// Mean of the signed values: the common bias.
    pub bias_percent: f64,
}

/// Assessed point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValidatedPoint {
    /// Cells by column.
    pub values: BTreeMap<String, String>,
    /// True if it was used for calibration; then it does not count.
    pub given: bool,
    /// Median of its measured runs.
    pub measured_s: f64,
    /// Least measured time.
    pub measured_min_s: f64,
    /// Greatest measured time.
    pub measured_max_s: f64,
    /// Number of measured runs.
    pub runs: usize,
    /// Prediction of each model, in the order of the models.
    pub predicted_s: Vec<f64>,
    /// Interval of mcpsim's own prediction, if the case states noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<PointInterval>,
    /// Likely range of its runs by the errors of the case's other points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub likely: Option<LikelyRange>,
}

impl ErrorSummary {
    /// Summarises `errors` in percent.
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
    /// Relative error of a model: predicted / measured − 1, in percent.
    pub fn error_percent(&self, model: usize) -> f64 {
        (self.predicted_s[model] / self.measured_s - 1.0) * 100.0
    }

    /// Largest deviation of the measured runs from their median, in percent.
    pub fn spread_percent(&self) -> f64 {
        let off = |seconds: f64| (seconds / self.measured_s - 1.0).abs() * 100.0;
        off(self.measured_min_s).max(off(self.measured_max_s))
    }
}

impl Validation {
    /// Returns whether mcpsim's own model keeps the limit; true without a limit.
    pub fn passes(&self) -> bool {
        let Some(limit) = self.limit else { return true };
        let judged = match limit.max_spread_percent {
            None => self.models[0].all,
            Some(most) => self.errors_where_quiet(0, most),
        };
        judged.points > 0 && judged.mean_percent <= limit.mean_percent && judged.max_percent <= limit.max_percent
    }

    /// Returns the errors of a model over predicted points with several runs that deviate at most `most` percent from
    /// their median.
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
        // The cases are all points, only points with a small spread, and no points, which is not a success.
        for (most, passes) in [(None, false), (Some(50.0), false), (Some(10.0), true)] {
            validation.limit = Some(Limit { mean_percent: 3.0, max_percent: 3.0, max_spread_percent: most });
            assert_eq!(validation.passes(), passes, "{most:?}");
        }
        validation.points.remove(0);
        assert!(!validation.passes());
    }
}
