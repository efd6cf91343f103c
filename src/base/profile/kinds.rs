//! Messages of a run by origin: sent by point-to-point calls, or by a certain collective.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::RankProfile;
use crate::platform::Level;

/// Name of the messages that point-to-point calls send.
pub const POINT_TO_POINT: &str = "point-to-point";

/// Class of messages in a histogram: messages with the same origin, level of the machine and size.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MessageSort {
    /// [`POINT_TO_POINT`], or the name of the collective that sent the messages.
    pub kind: String,
    /// Level of the machine that connects sender and receiver.
    pub level: Level,
    /// Size of each message in bytes.
    pub bytes: u64,
}

/// Messages with the same origin and level of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KindMessages {
    /// [`POINT_TO_POINT`], or the name of the collective that sent the messages.
    pub kind: String,
    /// Level of the machine that connects sender and receiver.
    pub level: Level,
    /// Number of messages with this origin and level.
    pub count: u64,
    /// Sum of the sizes of the messages in bytes.
    pub bytes: u64,
}

/// Number of messages in a run by origin, level of the machine and size.
pub fn message_sorts(ranks: &[(u32, RankProfile)]) -> BTreeMap<MessageSort, u64> {
    let mut all: BTreeMap<MessageSort, u64> = BTreeMap::new();
    for (sort, count) in ranks.iter().flat_map(|(_, rank)| &rank.sent) {
        match all.get_mut(sort) {
            Some(sum) => *sum += count,
            None => _ = all.insert(sort.clone(), *count),
        }
    }
    all
}

/// Number of messages in a run by size.
pub fn message_sizes(sorts: &BTreeMap<MessageSort, u64>) -> BTreeMap<u64, u64> {
    let mut all = BTreeMap::new();
    sorts.iter().for_each(|(sort, count)| *all.entry(sort.bytes).or_default() += count);
    all
}

/// Messages in a run by origin and level of the machine, in the order of the origins' names.
pub fn message_kinds(sorts: &BTreeMap<MessageSort, u64>) -> Vec<KindMessages> {
    let mut all: Vec<KindMessages> = Vec::new();
    for (MessageSort { kind, level, bytes }, count) in sorts {
        let bytes = bytes.saturating_mul(*count);
        match all.last_mut().filter(|last| (&last.kind, last.level) == (kind, *level)) {
            Some(last) => (last.count, last.bytes) = (last.count + count, last.bytes.saturating_add(bytes)),
            None => all.push(KindMessages { kind: kind.clone(), level: *level, count: *count, bytes }),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorts_of_ranks_add_up_to_sizes_and_to_kinds() {
        let sort = |kind: &str, level, bytes| MessageSort { kind: kind.to_owned(), level, bytes };
        let rank = |sent: &[(MessageSort, u64)]| RankProfile {
            sent: sent.iter().cloned().collect(),
            ..RankProfile::default()
        };
        let (near, far) = (Level::IntraCmp, Level::InterNode);
        let first = rank(&[(sort(POINT_TO_POINT, near, 8), 2), (sort("MPI_Bcast", far, 8), 1)]);
        let second = rank(&[(sort(POINT_TO_POINT, near, 8), 1), (sort(POINT_TO_POINT, near, 100), 4)]);
        let sorts = message_sorts(&[(0, first), (1, second)]);
        assert_eq!(message_sizes(&sorts), BTreeMap::from([(8, 4), (100, 4)]));
        let kinds: Vec<_> =
            message_kinds(&sorts).into_iter().map(|of| (of.kind, of.level, of.count, of.bytes)).collect();
        assert_eq!(kinds, [("MPI_Bcast".to_owned(), far, 1, 8), (POINT_TO_POINT.to_owned(), near, 7, 424)]);
    }
}
