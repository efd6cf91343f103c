//! What each effect of a machine is worth: errors with one of them switched off, and with all.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::platform::Effect;

use super::{Calibrate, ErrorSummary, ValidatedPoint};

/// What the effects of a case's machine are worth, with no key that is calibrated on the case.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct EffectsFound {
    /// Keys of effects that are calibrated on the case, which these predictions leave out.
    pub left_out: Vec<String>,
    /// The machine as it is, without each effect, and without all: in this order.
    pub rows: Vec<EffectErrors>,
}

/// The errors without an effect.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EffectErrors {
    /// The key that is switched off; `nothing` and `all` for the machine as it is, and that without any.
    pub without: String,
    /// What the machine is like then.
    pub about: String,
    /// Over all predicted points.
    pub all: ErrorSummary,
    /// Over those of each group.
    pub groups: BTreeMap<String, ErrorSummary>,
    /// What is predicted of each point, given ones too.
    pub predicted_s: Vec<f64>,
}

/// Whether a parameter states an effect of the machine, or stands for one in an application: its last word names one.
pub(super) fn states_an_effect(calibrate: &Calibrate) -> bool {
    const OF_APPLICATIONS: [&str; 2] = ["slowdown", "capacity"];
    let last = calibrate.key.rsplit('.').next().unwrap_or_default();
    Effect::ALL.iter().any(|effect| effect.name() == last) || OF_APPLICATIONS.contains(&last)
}

/// What is asked of a case: rows of [`EffectsFound`], as their names and what is switched off.
pub(super) fn wanted(present: &[Effect]) -> Vec<(&'static str, &'static str, Vec<Effect>)> {
    let mut all = vec![("nothing", "the machine as stated", Vec::new())];
    all.extend(present.iter().map(|effect| (effect.name(), effect.without(), vec![*effect])));
    if present.len() > 1 {
        all.push(("all", "links and rates alone", present.to_vec()));
    }
    all
}

impl EffectErrors {
    /// The errors of `predicted_s` for `points`, grouped by `group`.
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
