//! Contribution of each machine effect to the accuracy of predictions: errors with one effect switched off, and with
//! all effects switched off.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::platform::Effect;

use super::{Calibrate, ErrorSummary, ValidatedPoint};

/// Contributions of the machine effects in a validation case, except effects that are calibrated on the case.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EffectsFound {
    /// Keys of effects that are not assessed, because the case calibrates them.
    pub left_out: Vec<String>,
    /// Prediction errors with all machine effects, without each effect, and without all effects, in this order.
    pub rows: Vec<EffectErrors>,
}

/// Prediction errors of a validation case with a machine effect switched off.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectErrors {
    /// Key of the effect that is switched off; `nothing` if all effects are on, and `all` if all effects are off.
    pub without: String,
    /// Description of the machine without the effect.
    pub about: String,
    /// Prediction errors over all compared points.
    pub all: ErrorSummary,
    /// Prediction errors over each group of points.
    pub groups: BTreeMap<String, ErrorSummary>,
    /// Predicted time of each point in seconds, including the points used for calibration.
    pub predicted_s: Vec<f64>,
}

/// Returns true if a calibrated parameter sets a machine effect or a corresponding application setting. The last word
/// of the parameter's key names the effect.
pub(super) fn states_an_effect(calibrate: &Calibrate) -> bool {
    const OF_APPLICATIONS: [&str; 3] = ["slowdown", "capacity", "connect"];
    let last = calibrate.key.rsplit('.').next().unwrap_or_default();
    Effect::ALL.iter().any(|effect| effect.name() == last) || OF_APPLICATIONS.contains(&last)
}

/// Returns the rows of [`EffectsFound`] to compute: the name and description of each row, and the effects that are
/// switched off.
pub(super) fn wanted(present: &[Effect]) -> Vec<(&'static str, &'static str, Vec<Effect>)> {
    let mut all = vec![("nothing", "the machine as stated", Vec::new())];
    all.extend(present.iter().map(|effect| (effect.name(), effect.without(), vec![*effect])));
    if present.len() > 1 {
        all.push(("all", "links and rates alone", present.to_vec()));
    }
    all
}

impl EffectErrors {
    /// Returns the errors of the predicted times `predicted_s` of `points`, grouped by the column `group`.
    pub(super) fn of(
        (without, about): (&str, &str),
        points: &[ValidatedPoint],
        group: Option<&String>,
        predicted_s: Vec<f64>,
    ) -> EffectErrors {
        let mut groups: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut all = Vec::new();
        for (point, seconds) in points.iter().zip(&predicted_s).filter(|(point, _)| !point.given) {
            let error = (seconds / point.measured_s - 1.0) * 100.0;
            all.push(error);
            if let Some(column) = group {
                groups.entry(point.values[column].clone()).or_default().push(error);
            }
        }
        let groups = groups.into_iter().map(|(group, errors)| (group, ErrorSummary::over(errors))).collect();
        let all = ErrorSummary::over(all);
        EffectErrors { without: without.to_owned(), about: about.to_owned(), all, groups, predicted_s }
    }
}
