//! Contribution of each effect of a machine: errors with one effect switched off, and with all.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::platform::Effect;

use super::{Calibrate, ErrorSummary, ValidatedPoint};

/// Contributions of the effects of a case's machine, except those calibrated on the case.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EffectsFound {
    /// Keys of effects that are calibrated on the case and therefore left out.
    pub left_out: Vec<String>,
    /// Machine as it is, without each effect, and without all: in this order.
    pub rows: Vec<EffectErrors>,
}

/// Errors without an effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectErrors {
    /// Key that is switched off; `nothing` and `all` for the machine as it is, and without all effects.
    pub without: String,
    /// Description of the machine without the effect.
    pub about: String,
    /// Errors over all predicted points.
    pub all: ErrorSummary,
    /// Errors of each group.
    pub groups: BTreeMap<String, ErrorSummary>,
    /// Prediction of each point, including given ones.
    pub predicted_s: Vec<f64>,
}

/// Returns whether a parameter states an effect of the machine, or corresponds to one in an application: its last word
/// names one.
pub(super) fn states_an_effect(calibrate: &Calibrate) -> bool {
    const OF_APPLICATIONS: [&str; 3] = ["slowdown", "capacity", "connect"];
    let last = calibrate.key.rsplit('.').next().unwrap_or_default();
    Effect::ALL.iter().any(|effect| effect.name() == last) || OF_APPLICATIONS.contains(&last)
}

/// Returns the requested rows of [`EffectsFound`]: their names and the effects that are switched off.
pub(super) fn wanted(present: &[Effect]) -> Vec<(&'static str, &'static str, Vec<Effect>)> {
    let mut all = vec![("nothing", "the machine as stated", Vec::new())];
    all.extend(present.iter().map(|effect| (effect.name(), effect.without(), vec![*effect])));
    if present.len() > 1 {
        all.push(("all", "links and rates alone", present.to_vec()));
    }
    all
}

impl EffectErrors {
    /// Returns the errors of `predicted_s` for `points`, grouped by `group`.
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
