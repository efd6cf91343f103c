//! What a validation found: the one thing that its tables, figures and JSON are made of.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Coverage, EffectsFound, LikelyRange, Limit, OrderFound, Plot, PointInterval};

/// A case, judged. README states the JSON form.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Validation {
    /// The version of mcpsim.
    pub mcpsim: String,
    /// The case's name.
    pub case: String,
    /// What it shows.
    pub about: String,
    /// What the comments of the measured runs tell.
    pub measured: BTreeMap<String, String>,
    /// Where the parameters are from.
    pub provenance: BTreeMap<String, String>,
    /// The error allowed.
    pub limit: Option<Limit>,
    /// The columns that are shown: those that set keys or group.
    pub columns: Vec<String>,
    /// What is drawn over what.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plot: Option<Plot>,
    /// The models, mcpsim's own first.
    pub models: Vec<ModelErrors>,
    /// The points, predicted and given, in the order of the table.
    pub points: Vec<ValidatedPoint>,
    /// Points left out: how many, and why.
    pub left_out: BTreeMap<String, usize>,
    /// How much of what was measured the intervals of predictions hold, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage: Option<Coverage>,
    /// The same of the ranges by the errors of other points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub likely: Option<Coverage>,
    /// What each effect of the machine is worth, where that is asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects: Option<EffectsFound>,
}

/// How well a model predicts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ModelErrors {
    /// Its name.
    pub model: String,
    /// What was worked out for it.
    pub calibrated: Vec<Calibrated>,
    /// Over all predicted points.
    pub all: ErrorSummary,
    /// Over those of each group.
    pub groups: BTreeMap<String, ErrorSummary>,
    /// Whether it orders the predicted points of a group as they were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<OrderFound>,
}

/// A parameter worked out from measured runs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibrated {
    /// The key.
    pub key: String,
    /// The columns whose values have one of their own.
    pub by: BTreeMap<String, String>,
    /// The value, as it is set.
    pub value: String,
    /// How many points it is from.
    pub points: usize,
    /// The root of the mean square of what is left of their relative errors, in percent.
    pub residual_percent: f64,
}

/// Relative errors of several points, in percent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ErrorSummary {
    /// How many.
    pub points: usize,
    /// The mean of the absolute values.
    pub mean_percent: f64,
    /// The greatest absolute value.
    pub max_percent: f64,
    /// The mean with signs: what all have in common.
    pub bias_percent: f64,
}

/// A point, judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ValidatedPoint {
    /// Its cells by column.
    pub values: BTreeMap<String, String>,
    /// Whether something was calibrated on it: then it does not count.
    pub given: bool,
    /// The median of its measured runs.
    pub measured_s: f64,
    /// The least.
    pub measured_min_s: f64,
    /// The greatest.
    pub measured_max_s: f64,
    /// How many there are.
    pub runs: usize,
    /// What each model predicts, in the order of the models.
    pub predicted_s: Vec<f64>,
    /// The interval of mcpsim's own prediction, where the case states noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<PointInterval>,
    /// Where its runs are likely to lie by the errors of the case's other points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub likely: Option<LikelyRange>,
}

impl ErrorSummary {
    /// Over `errors` in percent.
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
    /// By how much a model is off: predicted / measured − 1, in percent.
    pub fn error_percent(&self, model: usize) -> f64 {
        (self.predicted_s[model] / self.measured_s - 1.0) * 100.0
    }

    /// How far the measured runs lie from their median at most, in percent.
    pub fn spread_percent(&self) -> f64 {
        let off = |seconds: f64| (seconds / self.measured_s - 1.0).abs() * 100.0;
        off(self.measured_min_s).max(off(self.measured_max_s))
    }
}

impl Validation {
    /// Whether mcpsim's own model keeps to the limit; where none is stated it does.
    pub fn passes(&self) -> bool {
        let Some(limit) = self.limit else { return true };
        let judged = match limit.max_spread_percent {
            None => self.models[0].all,
            Some(most) => self.errors_where_quiet(0, most),
        };
        judged.points > 0 && judged.mean_percent <= limit.mean_percent && judged.max_percent <= limit.max_percent
    }

    /// The errors of a model over predicted points of several runs that lie up to `most` percent from their median.
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
        // All; those whose runs lie near; none, which is no success.
        for (most, passes) in [(None, false), (Some(50.0), false), (Some(10.0), true)] {
            validation.limit = Some(Limit { mean_percent: 3.0, max_percent: 3.0, max_spread_percent: most });
            assert_eq!(validation.passes(), passes, "{most:?}");
        }
        validation.points.remove(0);
        assert!(!validation.passes());
    }
}
