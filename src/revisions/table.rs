//! Results of a test over revisions: one row per revision and argument set. Every result row is compared with the last
//! earlier row that has results.

use serde::{Deserialize, Serialize};

use mcpsim_core::engine::Outcome;

use super::{Commit, GateResult, RevisionChange, RevisionRequest, Verdict};

/// All result rows of a test over revisions and the parameters of their comparison, in the exported form.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RevisionTable {
    /// Version of mcpsim that wrote the table.
    pub mcpsim: String,
    /// Tested program with its arguments.
    pub run: String,
    /// True if the times come from real runs on the host.
    pub real: bool,
    /// Significance level: a change counts if chance alone causes such a change with a lower probability.
    pub alpha: f64,
    /// Least change of a value that counts, in percent.
    pub least_percent: f64,
    /// True if only revisions that a bisection needs were run.
    pub bisected: bool,
    /// Result of the bisection: the first revision that differs from the oldest revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_change: Option<String>,
    /// Results of the gates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<GateResult>,
    /// Result rows in the order of revisions.
    pub revisions: Vec<RevisionRow>,
}

/// Results of a revision with one argument set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RevisionRow {
    /// Revision whose results the row contains.
    pub commit: Commit,
    /// Arguments of the program in this row, in addition to those of the command.
    pub arguments: String,
    /// Time of each run of the revision in seconds.
    pub times_s: Vec<f64>,
    /// Number of messages in each simulated run of the revision.
    pub messages: Vec<f64>,
    /// Bytes of the messages in each simulated run of the revision.
    pub bytes: Vec<f64>,
    /// Change of the time against the last earlier revision that has results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_change: Option<RevisionChange>,
    /// Change of the number of messages against the last earlier revision that has results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages_change: Option<RevisionChange>,
    /// Change of the number of bytes against the last earlier revision that has results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_change: Option<RevisionChange>,
    /// Reason why the row has no results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl RevisionRow {
    pub(crate) fn new(commit: &Commit, arguments: &str) -> RevisionRow {
        RevisionRow {
            commit: commit.clone(),
            arguments: arguments.to_owned(),
            times_s: Vec::new(),
            messages: Vec::new(),
            bytes: Vec::new(),
            time_change: None,
            messages_change: None,
            bytes_change: None,
            error: None,
        }
    }

    pub(crate) fn failed(commit: &Commit, arguments: &str, error: &str) -> RevisionRow {
        RevisionRow { error: Some(error.to_owned()), ..RevisionRow::new(commit, arguments) }
    }

    /// Adds the results of a run to the revision's row; a real run adds only its time.
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        self.times_s.push(outcome.predicted.as_ps() as f64 / 1e12);
        if outcome.ranks > 0 {
            self.messages.push(outcome.messages.count as f64);
            self.bytes.push(outcome.messages.bytes as f64);
        }
    }

    /// Records that a run has failed, and drops the results of the revision's other runs, which are no valid sample
    /// without the failed run.
    pub(crate) fn fail(&mut self, error: &str) {
        *self = RevisionRow::failed(&self.commit, &self.arguments, error);
    }

    /// Returns the mean time of the revision's runs in seconds.
    pub fn mean_s(&self) -> Option<f64> {
        mean(&self.times_s)
    }

    /// Returns the mean number of messages of the revision's runs.
    pub fn mean_messages(&self) -> Option<f64> {
        mean(&self.messages)
    }

    /// Returns the mean number of bytes of the revision's runs.
    pub fn mean_bytes(&self) -> Option<f64> {
        mean(&self.bytes)
    }

    /// Returns the standard deviation of the times of the revision's runs in seconds.
    pub fn deviation_s(&self) -> Option<f64> {
        let mean = self.mean_s()?;
        let squares: f64 = self.times_s.iter().map(|time| (time - mean).powi(2)).sum();
        (self.times_s.len() > 1).then(|| (squares / (self.times_s.len() - 1) as f64).sqrt())
    }

    /// Iterates over the changes of values, each with the name of the value.
    pub fn changes(&self) -> impl Iterator<Item = (&'static str, RevisionChange)> {
        let all = [("time", self.time_change), ("messages", self.messages_change), ("bytes", self.bytes_change)];
        all.into_iter().filter_map(|(what, change)| Some((what, change?)))
    }
}

fn mean(sample: &[f64]) -> Option<f64> {
    (!sample.is_empty()).then(|| sample.iter().sum::<f64>() / sample.len() as f64)
}

impl RevisionTable {
    pub(crate) fn new(request: &RevisionRequest) -> RevisionTable {
        RevisionTable {
            mcpsim: env!("CARGO_PKG_VERSION").to_owned(),
            run: request.run.clone(),
            real: request.real,
            alpha: request.alpha,
            least_percent: request.least_percent,
            bisected: request.bisect,
            first_change: None,
            gates: Vec::new(),
            revisions: Vec::new(),
        }
    }

    /// Returns true if the results of two revisions differ beyond noise.
    pub(crate) fn differ(request: &RevisionRequest, a: &RevisionRow, b: &RevisionRow) -> bool {
        let samples = [(&a.times_s, &b.times_s), (&a.messages, &b.messages), (&a.bytes, &b.bytes)];
        samples.into_iter().any(|(a, b)| {
            let change = RevisionChange::of(a, b, request.alpha, request.least_percent, 1);
            change.is_some_and(|change| matches!(change.verdict, Verdict::More | Verdict::Less))
        })
    }

    /// Compares every result row with the last earlier row that has results for the same arguments.
    pub(crate) fn judge(&mut self) {
        let mut pairs = Vec::new();
        for after in 0..self.revisions.len() {
            let ran = |row: &RevisionRow| !row.times_s.is_empty();
            let same = |row: &RevisionRow| row.arguments == self.revisions[after].arguments;
            let before = (0..after).rev().find(|&before| ran(&self.revisions[before]) && same(&self.revisions[before]));
            if let Some(before) = before.filter(|_| ran(&self.revisions[after])) {
                pairs.push((before, after));
            }
        }
        let comparisons = pairs.len();
        for (before, after) in pairs {
            let change = |sample: fn(&RevisionRow) -> &Vec<f64>| {
                let (before, after) = (sample(&self.revisions[before]), sample(&self.revisions[after]));
                RevisionChange::of(before, after, self.alpha, self.least_percent, comparisons)
            };
            let changes = (change(|row| &row.times_s), change(|row| &row.messages), change(|row| &row.bytes));
            let row = &mut self.revisions[after];
            (row.time_change, row.messages_change, row.bytes_change) = changes;
        }
    }

    /// Returns the number of result rows with an error.
    pub fn failed(&self) -> usize {
        self.revisions.iter().filter(|row| row.error.is_some()).count()
    }
}
