//! Utilization of shared resources over time.

use serde::{Deserialize, Serialize};

use crate::platform::Level;
use crate::units::SimTime;

/// Kinds of resources that messages use, some of which computing blocks use too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SharedKind {
    /// Cores of ranks while they copy messages.
    Core,
    /// Outgoing direction of network adapters.
    AdapterOut,
    /// Incoming direction of network adapters.
    AdapterIn,
    /// Both directions of each network adapter together.
    Duplex,
    /// Both directions between each pair of nodes together.
    PairDuplex,
    /// Memory of each CMP.
    CmpMemory,
    /// Memory of each node.
    NodeMemory,
    /// Links from CMPs to the other CMPs of their node, separately for each direction.
    Interconnect,
    /// Memories of domains within CMPs.
    DomainMemory,
    /// Uplinks of groups of nodes, out of the groups; only those with traffic.
    UplinkOut,
    /// Uplinks of groups of nodes, into the groups; only those with traffic.
    UplinkIn,
}

impl SharedKind {
    const ALL: [SharedKind; 11] = [
        SharedKind::Core,
        SharedKind::AdapterOut,
        SharedKind::AdapterIn,
        SharedKind::Duplex,
        SharedKind::PairDuplex,
        SharedKind::CmpMemory,
        SharedKind::NodeMemory,
        SharedKind::Interconnect,
        SharedKind::DomainMemory,
        SharedKind::UplinkOut,
        SharedKind::UplinkIn,
    ];
}

/// Utilization of the resources of one kind, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResourceUse {
    /// Kind of the resources in this row.
    pub resource: SharedKind,
    /// Number of resources; for pairs of nodes, only pairs with traffic.
    pub count: u64,
    /// Mean utilization over time and over all resources of the kind.
    pub mean: f64,
    /// Mean utilization over time of the busiest resource.
    pub busiest: f64,
    /// Greatest utilization of one resource at any time. Absent for cores, which either copy or do not, and for
    /// adapters if small messages pass one after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greatest: Option<f64>,
}

/// Transfers whose share of bandwidth would have changed during the transfer, under a contention model that determines
/// the share only at the start.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharesChanged {
    /// Level of the transfers.
    pub level: Level,
    /// Fraction of the level's bytes through ports that such transfers moved.
    pub part: f64,
}

/// Utilization recorded by a worker. The utilization of a run is the sum over its workers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uses {
    kinds: [KindUse; SharedKind::ALL.len()],
}

/// Utilization of the resources of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct KindUse {
    count: u64,
    /// Equivalent time of full use in picoseconds, summed over all resources. `busiest` is that of the busiest
    /// resource.
    all: u128,
    busiest: u64,
    /// Greatest utilization of a resource of the kind, in millionths.
    most: u32,
}

impl Uses {
    /// Adds a resource with an equivalent time of full use of `in_full` picoseconds.
    pub fn add(&mut self, kind: SharedKind, in_full: u64) {
        let kind = &mut self.kinds[kind as usize];
        kind.count += 1;
        kind.all += u128::from(in_full);
        kind.busiest = kind.busiest.max(in_full);
    }

    /// Records that a resource of `kind` had a utilization of `millionths` at some time.
    pub fn at_most(&mut self, kind: SharedKind, millionths: u32) {
        let kind = &mut self.kinds[kind as usize];
        kind.most = kind.most.max(millionths);
    }

    /// Adds the utilization of another worker.
    pub fn merge(&mut self, other: &Uses) {
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.count += theirs.count;
            mine.all += theirs.all;
            mine.busiest = mine.busiest.max(theirs.busiest);
            mine.most = mine.most.max(theirs.most);
        }
    }

    /// Returns the utilization of each kind of resource that was used, for a run that ends at `end`.
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
