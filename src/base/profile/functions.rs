//! Number, bytes and time of the calls of ranks, by function.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::kinds::MessageSort;
use crate::units::{SimSpan, picoseconds};

/// Calls of a function by one rank or by all ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FunctionCalls {
    /// Number of calls of the function.
    pub calls: u64,
    /// Number of bytes that the calls sent, including messages of collectives.
    pub bytes: u64,
    /// Total time of the calls, including time in which ranks waited.
    #[serde(rename = "time_ps", deserialize_with = "picoseconds")]
    pub time: SimSpan,
    /// Time of the shortest call of the function.
    #[serde(rename = "least_ps", deserialize_with = "picoseconds")]
    pub least: SimSpan,
    /// Time of the longest call of the function.
    #[serde(rename = "most_ps", deserialize_with = "picoseconds")]
    pub most: SimSpan,
}

impl FunctionCalls {
    /// Adds a call that took `time`. The caller of this function adds the bytes of the call separately.
    pub fn record(&mut self, time: SimSpan) {
        *self += FunctionCalls { calls: 1, bytes: 0, time, least: time, most: time };
    }

    /// Mean time per call of the function.
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
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.time += other.time;
    }
}

/// Calls of a rank, by function.
pub type RankCalls = BTreeMap<String, FunctionCalls>;

/// Calls and sent messages of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankProfile {
    /// Calls of the rank by function.
    pub calls: RankCalls,
    /// Calls of the rank by function and source position, if requested. An unknown source position is an empty text.
    pub sites: BTreeMap<(String, String), FunctionCalls>,
    /// Number of sent messages by type, level of the machine and size.
    pub sent: BTreeMap<MessageSort, u64>,
}

/// Calls of one function in a run, by all ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FunctionProfile {
    /// Name of the function.
    pub function: String,
    /// Sum of the calls over all ranks.
    #[serde(flatten)]
    pub total: FunctionCalls,
    /// Calls per rank, for the ranks that called the function.
    pub per_rank: Vec<RankFunction>,
}

/// Calls of a function from one source position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SiteProfile {
    /// Called function, or statement of a described application.
    pub function: String,
    /// Source position, such as "main at ring.c:42" or "main\[0\].do\[1\] at app.toml:12"; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Sum of the calls over all ranks.
    #[serde(flatten)]
    pub total: FunctionCalls,
    /// Calls per rank, for the ranks that called the function from this position.
    pub per_rank: Vec<RankFunction>,
}

/// Calls of a function by one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RankFunction {
    /// Rank that calls the function.
    pub rank: u32,
    /// Calls of the function by this rank.
    #[serde(flatten)]
    pub calls: FunctionCalls,
}

/// Sums the calls over all ranks by function, greatest time first.
pub fn function_profiles(ranks: &[(u32, RankProfile)]) -> Vec<FunctionProfile> {
    let of_rank = |(rank, profile): &'_ (u32, RankProfile)| (*rank, profile.calls.clone());
    let all = summed(ranks.iter().map(of_rank));
    all.into_iter().map(|(function, total, per_rank)| FunctionProfile { function, total, per_rank }).collect()
}

/// Sums the calls over all ranks by function and source position, greatest time first.
pub fn site_profiles(ranks: &[(u32, RankProfile)]) -> Vec<SiteProfile> {
    let of_rank = |(rank, profile): &'_ (u32, RankProfile)| (*rank, profile.sites.clone());
    let site = |((function, site), total, per_rank): ((String, String), _, _)| SiteProfile {
        function,
        site: Some(site).filter(|site| !site.is_empty()),
        total,
        per_rank,
    };
    summed(ranks.iter().map(of_rank)).into_iter().map(site).collect()
}

/// Sums the calls over all ranks for each key. The key with the greatest time is first. Also returns the calls of each
/// rank.
fn summed<K: Ord>(
    ranks: impl Iterator<Item = (u32, BTreeMap<K, FunctionCalls>)>,
) -> Vec<(K, FunctionCalls, Vec<RankFunction>)> {
    let mut found: BTreeMap<K, (FunctionCalls, Vec<RankFunction>)> = BTreeMap::new();
    for (rank, calls) in ranks {
        for (key, calls) in calls {
            let (total, per_rank) = found.entry(key).or_default();
            *total += calls;
            per_rank.push(RankFunction { rank, calls });
        }
    }
    let mut all: Vec<_> = found.into_iter().map(|(key, (total, per_rank))| (key, total, per_rank)).collect();
    all.iter_mut().for_each(|(.., per_rank)| per_rank.sort_by_key(|of| of.rank));
    // A stable sort keeps functions with equal times in the order of their names.
    all.sort_by_key(|(_, total, _)| std::cmp::Reverse(total.time));
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
        let ranks: Vec<_> =
            ranks.into_iter().map(|(rank, calls)| (rank, RankProfile { calls, ..RankProfile::default() })).collect();
        let found = function_profiles(&ranks);
        let names: Vec<&str> = found.iter().map(|one| &one.function[..]).collect();
        assert_eq!(names, ["MPI_Recv", "MPI_Send"]);
        let send = &found[1];
        assert_eq!(send.total, FunctionCalls { calls: 3, bytes: 0, time: ns(10), least: ns(2), most: ns(5) });
        assert_eq!(send.per_rank.iter().map(|of| of.rank).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(send.total.mean(), SimSpan::from_ps(3333));
    }
}
