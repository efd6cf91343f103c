//! Results of a study and their JSON form. The tables and figures of studies use only the type [`Results`].

use std::collections::BTreeMap;

use super::{InputHash, Measure, Regression, StudyPlan};
use crate::engine::{HostUse, Outcome};
use serde::{Deserialize, Serialize};

/// Results of all points of a study, in the order of the points. The README describes the JSON form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Results {
    /// Version of mcpsim that wrote the results.
    pub mcpsim: String,
    /// Name of the study.
    pub study: String,
    /// Axes of the study; the last axis varies fastest.
    pub axes: Vec<AxisSteps>,
    /// Questions about the results of the study.
    #[serde(flatten)]
    pub asked: Asked,
    /// Results of the study's points, one per point.
    pub points: Vec<PointResult>,
}

/// Questions of a study about its results.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Asked {
    /// Keys of the application that change the method but not the work, so points with different values are compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// Key and value that identify the base combination of the speed-up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<(String, String)>,
    /// Least speed-up per doubling of the number of ranks that counts as paying off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    /// Formula that was fitted to the predicted times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<Regression>,
}

/// Axis of a study in its exported form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct AxisSteps {
    /// Keys of the axis that vary together.
    pub keys: Vec<String>,
    /// Values of the axis's keys at each step.
    pub steps: Vec<Vec<String>>,
}

/// Point of a study in its exported form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PointResult {
    /// Value of each key at this point of the study.
    pub values: BTreeMap<String, String>,
    /// Values that are quantities, as plain numbers in base units. The suffix of the name states the unit: `app.dt_s`,
    /// `run.ranks`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<String, f64>,
    /// Hash of the inputs of the study's point.
    pub key: String,
    /// Outcome of the point without `per_rank`, `pairs`, `config` and `host`; absent if the point failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Box<Outcome>>,
    /// Reason why the study's point failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Results {
    /// Creates the results of `plan`. For each point, `found` contains the input hash and either an Outcome or the
    /// reason of a failure.
    pub fn new(
        study: &str,
        plan: &StudyPlan,
        asked: Asked,
        mut found: impl FnMut(usize) -> (InputHash, Result<Outcome, String>),
    ) -> Results {
        let columns = plan.columns();
        let axes = plan.axes().iter().map(|axis| AxisSteps {
            keys: axis.keys().to_vec(),
            steps: (0..axis.steps()).map(|step| axis.texts(step).collect()).collect(),
        });
        let point = |index: usize| {
            let (key, result) = found(index);
            let (outcome, error) = match result {
                // Large parts of the Outcome, and parts that all points have in common, are omitted from the results of
                // a study.
                Ok(outcome) => {
                    let outcome =
                        Outcome { config: serde_json::Value::Null, host: HostUse::default(), ..outcome.of_point() };
                    (Some(Box::new(outcome)), None)
                }
                Err(error) => (None, Some(error)),
            };
            let values = columns.iter().cloned().zip(plan.point(index).values).collect();
            PointResult { values, numbers: BTreeMap::new(), key: key.to_string(), outcome, error }
        };
        let mut points: Vec<PointResult> = (0..plan.points()).map(point).collect();
        columns.iter().for_each(|column| add_numbers(column, &mut points));
        let mcpsim = env!("CARGO_PKG_VERSION").to_owned();
        Results { mcpsim, study: study.to_owned(), axes: axes.collect(), asked, points }
    }

    /// Checks that the results have a point for every combination of axis steps, and a value for each key at every
    /// step. The check is necessary because a user may edit a results file.
    ///
    /// # Errors
    /// A point or a value is missing in the results of the study.
    pub fn check(&self) -> Result<(), String> {
        let points = self.axes.iter().try_fold(1usize, |all, axis| all.checked_mul(axis.steps.len()));
        if points != Some(self.points.len()) {
            return Err(format!("expected a point for every step of the axes; found {} points", self.points.len()));
        }
        let whole =
            |axis: &AxisSteps| !axis.keys.is_empty() && axis.steps.iter().all(|values| values.len() == axis.keys.len());
        match self.axes.iter().find(|axis| !whole(axis)) {
            Some(axis) => Err(format!("expected a value for each key of an axis; found others in {:?}", axis.keys)),
            None => Ok(()),
        }
    }

    /// Returns the names of the columns that identify points, in the order of the study's axes.
    pub fn columns(&self) -> Vec<&str> {
        self.axes.iter().flat_map(|axis| &axis.keys).map(String::as_str).collect()
    }

    /// For the point at `index`, returns the step (index of the values) on every axis of the study.
    pub fn steps(&self, index: usize) -> Vec<usize> {
        let mut rest = index;
        let mut steps: Vec<usize> = self.axes.iter().rev().map(|axis| take_step(&mut rest, axis.steps.len())).collect();
        steps.reverse();
        steps
    }

    /// Returns the number of the study's points without a prediction.
    pub fn failed(&self) -> usize {
        self.points.iter().filter(|point| point.outcome.is_none()).count()
    }
}

/// Adds the values of `column` as numbers if all values of the column are quantities of one kind.
fn add_numbers(column: &str, points: &mut [PointResult]) {
    let Some((measure, numbers)) = Measure::of(points.iter().map(|point| point.values[column].as_str())) else {
        return;
    };
    let name = format!("{column}{}", measure.suffix());
    for (point, number) in points.iter_mut().zip(numbers) {
        point.numbers.insert(name.clone(), number);
    }
}

/// Returns the step that a point's index has on the axis that varies fastest, and reduces the index to an index over
/// the remaining axes.
fn take_step(place: &mut usize, steps: usize) -> usize {
    let step = *place % steps.max(1);
    *place /= steps.max(1);
    step
}

impl AxisSteps {
    /// Returns true if the axis varies only the seed, so that its points are repetitions.
    pub fn is_seed(&self) -> bool {
        self.keys == ["run.seed"]
    }
}

impl PointResult {
    /// Returns the predicted time of the point in picoseconds.
    pub fn predicted_ps(&self) -> Option<u64> {
        self.outcome.as_ref().map(|outcome| outcome.predicted.as_ps())
    }

    /// Returns the number of ranks at the point.
    pub fn ranks(&self) -> Option<u64> {
        self.outcome.as_ref().map(|outcome| outcome.ranks.into())
    }

    /// Returns a label of the point such as "platform.nct=4,2,2 app.n=64", with the keys in the order of `columns`.
    pub fn label(&self, columns: &[&str]) -> String {
        let pair = |column: &&str| Some(format!("{column}={}", self.values.get(*column)?));
        columns.iter().filter_map(pair).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::study::Axis;
    use crate::units::SimTime;

    pub(in crate::study) fn results(axes: &[&str], times: &[Option<u64>]) -> Results {
        let plan = StudyPlan::new(axes.iter().map(|text| Axis::parse(text).unwrap()).collect()).unwrap();
        let found = |index: usize| {
            let host = HostUse { wall_s: 1.0, ..HostUse::default() };
            let config = serde_json::json!({ "run": {} });
            let outcome =
                |ps| Outcome { predicted: SimTime::from_ps(ps), ranks: 4, host, config, ..Outcome::default() };
            let outcome = times[index].map(outcome);
            (InputHash::of(&[]), outcome.ok_or_else(|| "deadlock".to_owned()))
        };
        Results::new("s", &plan, Asked::default(), found)
    }

    #[test]
    fn what_is_exported_reads_back_and_has_nothing_of_the_host() {
        let results = results(&["app.n=1,2 & app.m=3,4"], &[Some(7), None]);
        let text = serde_json::to_string(&results).unwrap();
        assert!(!text.contains("host") && !text.contains("config"), "{text}");
        assert_eq!(serde_json::from_str::<Results>(&text).unwrap(), results);
        assert_eq!(results.check(), Ok(()));
        assert_eq!(results.points[1].label(&results.columns()), "app.n=2 app.m=4");
    }
}
