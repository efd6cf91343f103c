//! How much of what messages share was used over time.

use serde::{Deserialize, Serialize};

use crate::platform::Level;
use crate::units::SimTime;

/// What messages occupy, and blocks that share memory with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedKind {
    /// Cores of ranks, copying.
    Core,
    /// Adapters, outwards.
    AdapterOut,
    /// Adapters, inwards.
    AdapterIn,
    /// Both directions of an adapter together.
    Duplex,
    /// Both directions between two nodes together.
    PairDuplex,
    /// The memory of CMPs.
    CmpMemory,
    /// The memory of nodes.
    NodeMemory,
    /// What CMPs have to the others of their node, in either direction.
    Interconnect,
}

impl SharedKind {
    const ALL: [SharedKind; 8] = [
        SharedKind::Core,
        SharedKind::AdapterOut,
        SharedKind::AdapterIn,
        SharedKind::Duplex,
        SharedKind::PairDuplex,
        SharedKind::CmpMemory,
        SharedKind::NodeMemory,
        SharedKind::Interconnect,
    ];
}

/// How much of the resources of a kind was used, as parts of one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceUse {
    /// Which kind.
    pub resource: SharedKind,
    /// How many there are; of pairs of nodes, those between which there was something.
    pub count: u64,
    /// The mean over time and over all of them.
    pub mean: f64,
    /// The mean over time of the one used most.
    pub busiest: f64,
    /// The most of one at any time; absent where that is not known: cores copy or do not, small messages pass an
    /// adapter one after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greatest: Option<f64>,
}

/// Transfers of a level whose share changed while they were under way, under a law that judges it once.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharesChanged {
    /// Where.
    pub level: Level,
    /// The part of the bytes that passed ports.
    pub part: f64,
}

/// The uses that a worker has seen; a run's are the sum of its workers'.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uses {
    kinds: [KindUse; SharedKind::ALL.len()],
}

/// The use of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct KindUse {
    count: u64,
    /// For how many picoseconds it would have been used in full: all of them, and the busiest.
    all: u128,
    busiest: u64,
    /// In millionths.
    most: u32,
}

impl Uses {
    /// A resource that would have been used in full for so many picoseconds.
    pub fn add(&mut self, kind: SharedKind, in_full: u64) {
        let kind = &mut self.kinds[kind as usize];
        kind.count += 1;
        kind.all += u128::from(in_full);
        kind.busiest = kind.busiest.max(in_full);
    }

    /// One of the kind was used up to so many millionths at some time.
    pub fn at_most(&mut self, kind: SharedKind, millionths: u32) {
        let kind = &mut self.kinds[kind as usize];
        kind.most = kind.most.max(millionths);
    }

    /// Adds those of another worker.
    pub fn merge(&mut self, other: &Uses) {
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.count += theirs.count;
            mine.all += theirs.all;
            mine.busiest = mine.busiest.max(theirs.busiest);
            mine.most = mine.most.max(theirs.most);
        }
    }

    /// Those kinds that were used at all in a run that ends at `end`.
    pub fn rows(&self, end: SimTime) -> Vec<ResourceUse> {
        let time = end.as_ps().max(1) as f64;
        let used = SharedKind::ALL.into_iter().zip(&self.kinds).filter(|(_, kind)| kind.all > 0);
        let row = |(resource, kind): (SharedKind, &KindUse)| ResourceUse {
            resource,
            count: kind.count,
            mean: kind.all as f64 / time / kind.count as f64,
            busiest: kind.busiest as f64 / time,
            greatest: (kind.most > 0).then(|| f64::from(kind.most) / 1e6),
        };
        used.map(row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_add_up_and_what_was_not_used_has_no_row() {
        let (mut one, mut other) = (Uses::default(), Uses::default());
        one.add(SharedKind::Core, 0);
        one.add(SharedKind::AdapterOut, 300);
        other.add(SharedKind::AdapterOut, 100);
        other.at_most(SharedKind::AdapterOut, 750_000);
        one.merge(&other);
        let row =
            ResourceUse { resource: SharedKind::AdapterOut, count: 2, mean: 0.2, busiest: 0.3, greatest: Some(0.75) };
        assert_eq!(one.rows(SimTime::from_ps(1000)), [row]);
    }
}
