//! What ranks' calls took, by function.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::{SimSpan, picoseconds};

/// The calls of a function: of a rank, or of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionCalls {
    /// How many.
    pub calls: u64,
    /// What they sent, the messages of collectives included.
    pub bytes: u64,
    /// The rank's time in them, waiting included.
    #[serde(rename = "time_ps", deserialize_with = "picoseconds")]
    pub time: SimSpan,
    /// The shortest.
    #[serde(rename = "least_ps", deserialize_with = "picoseconds")]
    pub least: SimSpan,
    /// The longest.
    #[serde(rename = "most_ps", deserialize_with = "picoseconds")]
    pub most: SimSpan,
}

impl FunctionCalls {
    /// Adds a call that took `time`; what it sent is added apart.
    pub fn record(&mut self, time: SimSpan) {
        *self += FunctionCalls { calls: 1, bytes: 0, time, least: time, most: time };
    }

    /// The mean of a call's time.
    pub fn mean(&self) -> SimSpan {
        SimSpan::from_ps(self.time.as_ps().checked_div(self.calls).unwrap_or(0))
    }
}

impl std::ops::AddAssign for FunctionCalls {
    fn add_assign(&mut self, other: FunctionCalls) {
        self.least = match (self.calls, other.calls) {
            (_, 0) => self.least,
            (0, _) => other.least,
            _ => self.least.min(other.least),
        };
        self.most = self.most.max(other.most);
        self.calls += other.calls;
        self.bytes += other.bytes;
        self.time += other.time;
    }
}

/// The calls of a rank.
pub type RankCalls = BTreeMap<String, FunctionCalls>;

/// What is counted of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankProfile {
    /// Its calls.
    pub calls: RankCalls,
    /// How many messages of each size it sent.
    pub sizes: BTreeMap<u64, u64>,
}

/// How many messages of each size the ranks of a run sent.
pub fn message_sizes(ranks: &[(u32, RankProfile)]) -> BTreeMap<u64, u64> {
    let mut all = BTreeMap::new();
    for (size, count) in ranks.iter().flat_map(|(_, rank)| &rank.sizes) {
        *all.entry(*size).or_default() += count;
    }
    all
}

/// A function of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionProfile {
    /// Its name.
    pub function: String,
    /// Of all ranks.
    #[serde(flatten)]
    pub total: FunctionCalls,
    /// Of each rank that called it.
    pub per_rank: Vec<RankFunction>,
}

/// The calls that a rank made of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankFunction {
    /// The rank.
    pub rank: u32,
    /// Its calls.
    #[serde(flatten)]
    pub calls: FunctionCalls,
}

/// The functions of a run, the one with the most time first, from the calls of its ranks.
pub fn function_profiles(ranks: Vec<(u32, RankProfile)>) -> Vec<FunctionProfile> {
    let mut found: BTreeMap<String, FunctionProfile> = BTreeMap::new();
    for (rank, profile) in ranks {
        for (function, calls) in profile.calls {
            let one = found.entry(function).or_insert_with_key(|function| FunctionProfile {
                function: function.clone(),
                total: FunctionCalls::default(),
                per_rank: Vec::new(),
            });
            one.total += calls;
            one.per_rank.push(RankFunction { rank, calls });
        }
    }
    let mut all: Vec<FunctionProfile> = found.into_values().collect();
    all.iter_mut().for_each(|one| one.per_rank.sort_by_key(|of| of.rank));
    all.sort_by(|a, b| b.total.time.cmp(&a.total.time).then_with(|| a.function.cmp(&b.function)));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_add_up_and_the_most_time_comes_first() {
        let ns = SimSpan::from_ns;
        let rank = |name: &str, times: &[u64]| {
            let mut calls = FunctionCalls::default();
            times.iter().for_each(|&time| calls.record(ns(time)));
            (name.to_owned(), calls)
        };
        let ranks = vec![
            (1, RankCalls::from([rank("MPI_Send", &[3, 5]), rank("MPI_Recv", &[100])])),
            (0, RankCalls::from([rank("MPI_Send", &[2])])),
        ];
        let ranks =
            ranks.into_iter().map(|(rank, calls)| (rank, RankProfile { calls, ..RankProfile::default() })).collect();
        let found = function_profiles(ranks);
        let names: Vec<&str> = found.iter().map(|one| &one.function[..]).collect();
        assert_eq!(names, ["MPI_Recv", "MPI_Send"]);
        let send = &found[1];
        assert_eq!(send.total, FunctionCalls { calls: 3, bytes: 0, time: ns(10), least: ns(2), most: ns(5) });
        assert_eq!(send.per_rank.iter().map(|of| of.rank).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(send.total.mean(), SimSpan::from_ps(3333));
    }
}
