//! What a study found: the one thing that tables and figures of studies are made of, and its JSON form.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Key, Plan};

/// All points of a study in their order. README states the JSON form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The version of mcpsim.
    pub mcpsim: String,
    /// What the study is called.
    pub study: String,
    /// What varied, the last fastest.
    pub axes: Vec<AxisSteps>,
    /// A result a point.
    pub points: Vec<PointResult>,
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
    /// What the point was given, as a hash.
    pub key: String,
    /// The Outcome without `per_rank`, `pairs`, `config` and `host`; absent if the point failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Value>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What an Outcome has that other points of a study have too, or that is too much for a table of many.
const LEFT_OUT: [&str; 4] = ["per_rank", "pairs", "config", "host"];

impl Results {
    /// The results of `plan`, of which `found` says what each point gave: its key, and an Outcome's JSON or why there is none.
    pub fn new(study: &str, plan: &Plan, found: impl Fn(usize) -> (Key, Result<Value, String>)) -> Results {
        let columns = plan.columns();
        let axes = plan.axes().iter().map(|axis| AxisSteps {
            keys: axis.keys().to_vec(),
            steps: (0..axis.steps()).map(|step| axis.texts(step).collect()).collect(),
        });
        let point = |index: usize| {
            let (key, result) = found(index);
            let (outcome, error) = match result {
                Ok(mut outcome) => {
                    if let Some(map) = outcome.as_object_mut() {
                        map.retain(|name, _| !LEFT_OUT.contains(&name.as_str()));
                    }
                    (Some(outcome), None)
                }
                Err(error) => (None, Some(error)),
            };
            let values = columns.iter().cloned().zip(plan.point(index).values).collect();
            PointResult { values, key: key.to_string(), outcome, error }
        };
        Results {
            mcpsim: env!("CARGO_PKG_VERSION").to_owned(),
            study: study.to_owned(),
            axes: axes.collect(),
            points: (0..plan.points()).map(point).collect(),
        }
    }

    /// Whether there is a point for every step of every axis, each step with a value for each key: what was read from a file may
    /// be anything.
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

    /// The point with the least predicted time, the first of equals.
    pub fn best(&self) -> Option<usize> {
        let times = self.points.iter().enumerate().filter_map(|(index, point)| Some((point.predicted_ps()?, index)));
        times.min().map(|(_, index)| index)
    }

    /// How many points have no prediction.
    pub fn failed(&self) -> usize {
        self.points.iter().filter(|point| point.outcome.is_none()).count()
    }
}

impl PointResult {
    /// The predicted time in picoseconds.
    pub fn predicted_ps(&self) -> Option<u64> {
        self.outcome.as_ref()?.get("predicted_ps")?.as_u64()
    }

    /// "platform.nct=4,2,2 app.n=64", in the order of `columns`.
    pub fn label(&self, columns: &[&str]) -> String {
        let pair = |column: &&str| Some(format!("{column}={}", self.values.get(*column)?));
        columns.iter().filter_map(pair).collect::<Vec<_>>().join(" ")
    }
}
