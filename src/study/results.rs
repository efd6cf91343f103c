//! What a study found: the one thing that tables and figures of studies are made of, and its JSON form.

use std::collections::BTreeMap;

use super::{InputHash, Measure, Regression, StudyPlan};
use crate::engine::{HostUse, Outcome};
use serde::{Deserialize, Serialize};

/// All points of a study in their order. README states the JSON form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The version of mcpsim.
    pub mcpsim: String,
    /// What the study is called.
    pub study: String,
    /// What varied, the last fastest.
    pub axes: Vec<AxisSteps>,
    /// What is asked of the results.
    #[serde(flatten)]
    pub asked: Asked,
    /// A result a point.
    pub points: Vec<PointResult>,
}

/// What a study is asked beside its points.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Keys of the application that change how it does the same work, so that their points are compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
    /// A key and its value, against which others speed up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<(String, String)>,
    /// By what factor a doubling of the ranks has to be faster to pay off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain: Option<f64>,
    /// A formula fitted to the times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<Regression>,
}

/// An axis as it is exported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AxisSteps {
    /// The keys that go together.
    pub keys: Vec<String>,
    /// At each step a value for each key.
    pub steps: Vec<Vec<String>>,
}

/// A point as it is exported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointResult {
    /// The value of each key.
    pub values: BTreeMap<String, String>,
    /// The values that are quantities as plain numbers in base units; the name has the unit: `app.dt_s`, `run.ranks`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<String, f64>,
    /// What the point was given, as a hash.
    pub key: String,
    /// The Outcome without `per_rank`, `pairs`, `config` and `host`; absent if the point failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Box<Outcome>>,
    /// Why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Results {
    /// The results of `plan`, of which `found` says what each point gave: its key, and an Outcome or why there is none.
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
                // What other points have too, and what is too much for a table of many, is left out.
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

    /// Whether there is a point for every step of every axis, each step with a value for each key: what was read from a
    /// file may be anything.
    ///
    /// # Errors
    /// What is wrong.
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

    /// The names of the columns that tell points apart, in the order of the axes.
    pub fn columns(&self) -> Vec<&str> {
        self.axes.iter().flat_map(|axis| &axis.keys).map(String::as_str).collect()
    }

    /// Each point's step on every axis, in the order of points.
    pub fn steps(&self, index: usize) -> Vec<usize> {
        let mut rest = index;
        let mut steps: Vec<usize> = self.axes.iter().rev().map(|axis| take_step(&mut rest, axis.steps.len())).collect();
        steps.reverse();
        steps
    }

    /// How many points have no prediction.
    pub fn failed(&self) -> usize {
        self.points.iter().filter(|point| point.outcome.is_none()).count()
    }
}

/// Adds the values of `column` as numbers, if all of them are quantities of one kind.
fn add_numbers(column: &str, points: &mut [PointResult]) {
    let Some((measure, numbers)) = Measure::of(points.iter().map(|point| point.values[column].as_str())) else {
        return;
    };
    let name = format!("{column}{}", measure.suffix());
    for (point, number) in points.iter_mut().zip(numbers) {
        point.numbers.insert(name.clone(), number);
    }
}

/// The step that a point's place has on the axis that varies fastest; leaves the place on the others.
fn take_step(place: &mut usize, steps: usize) -> usize {
    let step = *place % steps.max(1);
    *place /= steps.max(1);
    step
}

impl AxisSteps {
    /// Whether its points are repetitions of each other.
    pub fn is_seed(&self) -> bool {
        self.keys == ["run.seed"]
    }
}

impl PointResult {
    /// The predicted time in picoseconds.
    pub fn predicted_ps(&self) -> Option<u64> {
        self.outcome.as_ref().map(|outcome| outcome.predicted.as_ps())
    }

    /// How many ranks it had.
    pub fn ranks(&self) -> Option<u64> {
        self.outcome.as_ref().map(|outcome| outcome.ranks.into())
    }

    /// "platform.nct=4,2,2 app.n=64", in the order of `columns`.
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
