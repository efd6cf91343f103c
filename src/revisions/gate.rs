//! Gates: conditions on the newest revision of a test, relative to the oldest. A continuous integration job fails if a
//! condition does not hold.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{RevisionRow, RevisionTable};

/// Value of a revision that a gate compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GatedValue {
    Time,
    Messages,
    Bytes,
}

impl GatedValue {
    const ALL: [GatedValue; 3] = [GatedValue::Time, GatedValue::Messages, GatedValue::Bytes];

    fn name(self) -> &'static str {
        match self {
            GatedValue::Time => "predicted_time",
            GatedValue::Messages => "messages",
            GatedValue::Bytes => "bytes",
        }
    }

    fn of(self, row: &RevisionRow) -> Option<f64> {
        match self {
            GatedValue::Time => row.mean_s(),
            GatedValue::Messages => row.mean_messages(),
            GatedValue::Bytes => row.mean_bytes(),
        }
    }
}

/// Condition such as `predicted_time < 1.05`: the value of the newest revision is less than 1.05 times the value of the
/// oldest revision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    value: GatedValue,
    /// True for `<=`, false for `<`.
    or_equal: bool,
    most: f64,
}

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Gate, String> {
        let expected = || {
            let names = GatedValue::ALL.map(GatedValue::name).join(", ");
            format!("expected VALUE < FACTOR or VALUE <= FACTOR with one of {names}, such as predicted_time < 1.05")
        };
        let (name, factor) = text.split_once('<').ok_or_else(expected)?;
        let (or_equal, factor) = factor.strip_prefix('=').map_or((false, factor), |factor| (true, factor));
        let value = GatedValue::ALL.into_iter().find(|value| value.name() == name.trim()).ok_or_else(expected)?;
        let most: f64 = factor.trim().parse().map_err(|_| expected())?;
        if !(most.is_finite() && most > 0.0) {
            return Err(format!("expected a factor above zero such as 1.05; found {}", factor.trim()));
        }
        Ok(Gate { value, or_equal, most })
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <{} {}", self.value.name(), if self.or_equal { "=" } else { "" }, self.most)
    }
}

/// Result of a gate for one argument set of the program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateResult {
    /// The condition.
    pub gate: String,
    /// Arguments of the program, in addition to those of the command.
    pub arguments: String,
    /// Oldest and newest revision.
    pub revisions: [String; 2],
    /// Values of the oldest and the newest revision; times in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub values: Option<[f64; 2]>,
    /// Value of the newest revision divided by the value of the oldest revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<f64>,
    /// True if the condition holds.
    pub holds: bool,
    /// Reason why the revisions cannot be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Gate {
    /// Compares the newest revision of `table` with the oldest, for each argument set of the program.
    pub fn judge(&self, table: &RevisionTable) -> Vec<GateResult> {
        let mut results: Vec<GateResult> = Vec::new();
        for first in &table.revisions {
            if results.iter().any(|result| result.arguments == first.arguments) {
                continue;
            }
            let same = |row: &&RevisionRow| row.arguments == first.arguments;
            let last = table.revisions.iter().rfind(same).unwrap_or(first);
            results.push(self.compare(first, last));
        }
        results
    }

    fn compare(&self, first: &RevisionRow, last: &RevisionRow) -> GateResult {
        let value = |row: &RevisionRow| {
            self.value.of(row).ok_or_else(|| {
                let why = row.error.clone().unwrap_or_else(|| format!("a run without simulation has no {self}"));
                format!("{}: {why}", row.commit.short())
            })
        };
        let values = value(first).and_then(|old| Ok([old, value(last)?]));
        let ratio = values.as_ref().ok().map(|[old, new]| if old == new { 1.0 } else { new / old });
        let holds = ratio.is_some_and(|ratio| ratio < self.most || self.or_equal && ratio == self.most);
        GateResult {
            gate: self.to_string(),
            arguments: first.arguments.clone(),
            revisions: [first, last].map(|row| row.commit.short()),
            ratio: ratio.filter(|ratio| ratio.is_finite()),
            holds,
            error: values.as_ref().err().cloned(),
            values: values.ok(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Commit, RevisionRequest};

    fn row(hash: &str, arguments: &str, times_s: &[f64]) -> RevisionRow {
        let (hash, date, subject) = (hash.to_owned(), String::new(), String::new());
        let row = RevisionRow::new(&Commit { hash, date, subject }, arguments);
        RevisionRow { times_s: times_s.to_vec(), ..row }
    }

    #[test]
    fn the_newest_revision_is_compared_with_the_oldest() {
        let mut table = RevisionTable::new(&RevisionRequest::default());
        table.revisions = vec![row("a", "", &[1.0, 3.0]), row("b", "", &[9.0]), row("c", "", &[2.1])];
        let holds = |text: &str| {
            let results = text.parse::<Gate>().unwrap().judge(&table);
            assert_eq!((results.len(), results[0].values), (1, Some([2.0, 2.1])));
            results[0].holds
        };
        assert!(holds("predicted_time < 1.06"));
        assert!(!holds("predicted_time<1.05"));
        assert!(holds("predicted_time <= 1.05"));
    }

    #[test]
    fn each_argument_set_is_compared_and_a_revision_without_result_fails() {
        let mut table = RevisionTable::new(&RevisionRequest::default());
        let mut failed = row("b", "2", &[]);
        failed.fail("the build ended with code 1");
        table.revisions = vec![row("a", "1", &[1.0]), row("a", "2", &[1.0]), row("b", "1", &[0.5]), failed];
        let results = "predicted_time < 1.05".parse::<Gate>().unwrap().judge(&table);
        assert_eq!((results[0].ratio, results[0].holds), (Some(0.5), true));
        assert_eq!((results[1].ratio, results[1].holds), (None, false));
        assert_eq!(results[1].error.as_deref(), Some("b: the build ended with code 1"));
    }

    #[test]
    fn equal_zeros_have_the_ratio_one_and_anything_above_zero_fails() {
        let of = |old: f64, new: f64| {
            let mut table = RevisionTable::new(&RevisionRequest::default());
            table.revisions =
                [old, new].map(|count| RevisionRow { messages: vec![count], ..row("a", "", &[1.0]) }).into();
            let results = "messages <= 1".parse::<Gate>().unwrap().judge(&table);
            (results[0].ratio, results[0].holds)
        };
        assert_eq!(of(0.0, 0.0), (Some(1.0), true));
        assert_eq!(of(0.0, 5.0), (None, false));
    }

    #[test]
    fn wrong_conditions_are_refused() {
        for text in ["predicted_time", "time < 1", "predicted_time > 1", "bytes < much"] {
            let error = text.parse::<Gate>().unwrap_err();
            assert!(error.starts_with("expected VALUE < FACTOR or VALUE <= FACTOR"), "{error}");
        }
        assert_eq!("bytes < 0".parse::<Gate>().unwrap_err(), "expected a factor above zero such as 1.05; found 0");
        assert_eq!("bytes <= 2".parse::<Gate>().unwrap().to_string(), "bytes <= 2");
    }
}
