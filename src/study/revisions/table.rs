//! What a test over revisions found: a row a revision and arguments, each compared with the last before it that ran.

use serde::{Deserialize, Serialize};

use crate::engine::Outcome;

use super::{Commit, RevisionChange, RevisionRequest, Verdict};

/// All rows, and how they were judged. This is what is exported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RevisionTable {
    /// The version of mcpsim.
    pub mcpsim: String,
    /// The program with its arguments.
    pub run: String,
    /// Whether times are those of real runs.
    pub real: bool,
    /// A change is one if chance alone would make it less often than this.
    pub alpha: f64,
    /// Smaller changes are none, in percent.
    pub least_percent: f64,
    /// Whether only some revisions were run, to find the first change.
    pub bisected: bool,
    /// The first revision that differs from the first of all, where that was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_change: Option<String>,
    /// The revisions in their order.
    pub revisions: Vec<RevisionRow>,
}

/// A revision with its arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RevisionRow {
    /// The revision.
    pub commit: Commit,
    /// The arguments beside those of the command.
    pub arguments: String,
    /// The time of each run in seconds.
    pub times_s: Vec<f64>,
    /// The messages of each simulated run.
    pub messages: Vec<f64>,
    /// Their bytes.
    pub bytes: Vec<f64>,
    /// Against the last revision before it that ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_change: Option<RevisionChange>,
    /// As for times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages_change: Option<RevisionChange>,
    /// As for times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_change: Option<RevisionChange>,
    /// Why it has not run as often as asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl RevisionRow {
    pub(super) fn new(commit: &Commit, arguments: &str) -> RevisionRow {
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

    pub(super) fn failed(commit: &Commit, arguments: &str, error: &str) -> RevisionRow {
        RevisionRow { error: Some(error.to_owned()), ..RevisionRow::new(commit, arguments) }
    }

    /// Adds what a run gave; of a real one, which has no ranks here, the time alone.
    pub(super) fn add(&mut self, outcome: &Outcome) {
        self.times_s.push(outcome.predicted.as_ps() as f64 / 1e12);
        if outcome.ranks > 0 {
            self.messages.push(outcome.messages.count as f64);
            self.bytes.push(outcome.messages.bytes as f64);
        }
    }

    /// A run failed: the others are no sample of it.
    pub(super) fn fail(&mut self, error: &str) {
        *self = RevisionRow::failed(&self.commit, &self.arguments, error);
    }

    /// The mean time in seconds.
    pub fn mean_s(&self) -> Option<f64> {
        mean(&self.times_s)
    }

    /// The mean number of messages.
    pub fn mean_messages(&self) -> Option<f64> {
        mean(&self.messages)
    }

    /// The mean number of bytes.
    pub fn mean_bytes(&self) -> Option<f64> {
        mean(&self.bytes)
    }

    /// The standard deviation of the times in seconds.
    pub fn deviation_s(&self) -> Option<f64> {
        let mean = self.mean_s()?;
        let squares: f64 = self.times_s.iter().map(|time| (time - mean).powi(2)).sum();
        (self.times_s.len() > 1).then(|| (squares / (self.times_s.len() - 1) as f64).sqrt())
    }

    /// Its changes with what they are of.
    pub fn changes(&self) -> impl Iterator<Item = (&'static str, RevisionChange)> {
        let all = [("time", self.time_change), ("messages", self.messages_change), ("bytes", self.bytes_change)];
        all.into_iter().filter_map(|(what, change)| Some((what, change?)))
    }
}

fn mean(sample: &[f64]) -> Option<f64> {
    (!sample.is_empty()).then(|| sample.iter().sum::<f64>() / sample.len() as f64)
}

impl RevisionTable {
    pub(super) fn new(request: &RevisionRequest) -> RevisionTable {
        RevisionTable {
            mcpsim: env!("CARGO_PKG_VERSION").to_owned(),
            run: request.run.clone(),
            real: request.real,
            alpha: request.alpha,
            least_percent: request.least_percent,
            bisected: request.bisect,
            first_change: None,
            revisions: Vec::new(),
        }
    }

    /// Whether two rows differ beyond noise.
    pub(super) fn differ(request: &RevisionRequest, a: &RevisionRow, b: &RevisionRow) -> bool {
        let samples = [(&a.times_s, &b.times_s), (&a.messages, &b.messages), (&a.bytes, &b.bytes)];
        samples.into_iter().any(|(a, b)| {
            let change = RevisionChange::of(a, b, request.alpha, request.least_percent, 1);
            change.is_some_and(|change| matches!(change.verdict, Verdict::More | Verdict::Less))
        })
    }

    /// Compares each row with the last before it of the same arguments that ran.
    pub(super) fn judge(&mut self) {
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

    /// How many rows have an error.
    pub fn failed(&self) -> usize {
        self.revisions.iter().filter(|row| row.error.is_some()).count()
    }
}
