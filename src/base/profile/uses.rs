//! Utilization of shared resources over time.

use serde::{Deserialize, Serialize};

use crate::platform::Level;
use crate::units::SimTime;

use super::{LinkTraffic, LinkUse, RecordedLoad};

/// Types of shared resources that messages use. Computing blocks use some of these resources, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SharedKind {
    /// Cores of ranks while they copy messages.
    Core,
    /// Outgoing direction of the network adapter of each node.
    AdapterOut,
    /// Incoming direction of the network adapter of each node.
    AdapterIn,
    /// Both directions of each network adapter together.
    Duplex,
    /// Both directions between each pair of nodes together.
    PairDuplex,
    /// Memory bandwidth of each CMP.
    CmpMemory,
    /// Memory bandwidth of each node.
    NodeMemory,
    /// Links from CMPs to the other CMPs of their node, separately for each direction.
    Interconnect,
    /// Memory bandwidth of each domain within a CMP.
    DomainMemory,
    /// Uplinks of groups of nodes in the direction out of the groups; only uplinks with traffic.
    UplinkOut,
    /// Uplinks of groups of nodes in the direction into the groups; only uplinks with traffic.
    UplinkIn,
    /// Links of a network of switches, separately for each direction; only links with traffic.
    Link,
}

impl SharedKind {
    const ALL: [SharedKind; 12] = [
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
        SharedKind::Link,
    ];

    /// Name of the type in tables and figures.
    pub const fn name(self) -> &'static str {
        match self {
            SharedKind::Core => "cores, copying",
            SharedKind::AdapterOut => "adapters, out",
            SharedKind::AdapterIn => "adapters, in",
            SharedKind::Duplex => "adapters, both ways",
            SharedKind::PairDuplex => "pairs of nodes, both ways",
            SharedKind::CmpMemory => "memory of CMPs",
            SharedKind::NodeMemory => "memory of nodes",
            SharedKind::Interconnect => "between CMPs, each way",
            SharedKind::DomainMemory => "memory of domains",
            SharedKind::UplinkOut => "uplinks of places, out",
            SharedKind::UplinkIn => "uplinks of places, in",
            SharedKind::Link => "links of the network",
        }
    }
}

/// Utilization of all resources of one type, from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ResourceUse {
    /// Type of the resources in this row.
    pub resource: SharedKind,
    /// Number of resources of the type; for pairs of nodes, only pairs with traffic.
    pub count: u64,
    /// Mean utilization over time and over all resources of the type.
    pub mean: f64,
    /// Mean utilization over time of the busiest resource.
    pub busiest: f64,
    /// Greatest utilization of one resource at any time. Absent for cores, whose utilization is always 0 or 1, and for
    /// adapters if small messages pass one after another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub greatest: Option<f64>,
}

/// Transfers whose share of bandwidth would have changed during the transfer. The contention model of the transfers
/// determines the share only at the start of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SharesChanged {
    /// Level of the machine to which the transfers belong.
    pub level: Level,
    /// Fraction of the level's bytes through ports that these transfers moved.
    pub part: f64,
}

/// Utilization of shared resources that a worker recorded. The utilization of a run is the sum over its workers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uses {
    kinds: [KindUse; SharedKind::ALL.len()],
    /// Links of a network with traffic.
    links: Vec<LinkUse>,
    /// Messages that passed links.
    traffic: LinkTraffic,
    /// Loads over time, if recorded.
    series: Vec<RecordedLoad>,
}

/// Utilization of the resources of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct KindUse {
    count: u64,
    /// Sum over all resources of the time in which the resource would do the same work at full use, in picoseconds.
    /// `busiest` is this time for the busiest resource.
    all: u128,
    busiest: u64,
    /// Greatest utilization of a resource of the type, in millionths.
    most: u32,
}

impl Uses {
    /// Adds a resource that would need `in_full` picoseconds for its work at full use.
    pub fn add(&mut self, kind: SharedKind, in_full: u64) {
        let kind = &mut self.kinds[kind as usize];
        kind.count += 1;
        kind.all += u128::from(in_full);
        kind.busiest = kind.busiest.max(in_full);
    }

    /// Adds a link of a network.
    pub fn add_link(&mut self, of: LinkUse) {
        self.add(SharedKind::Link, of.in_full);
        self.at_most(SharedKind::Link, of.most);
        self.links.push(of);
    }

    /// Returns the links of a network with traffic.
    pub fn links(&self) -> &[LinkUse] {
        &self.links
    }

    /// Adds messages that passed links of a network.
    pub fn add_traffic(&mut self, of: &LinkTraffic) {
        self.traffic.merge(of);
    }

    /// Returns the messages that passed links of a network.
    pub fn traffic(&self) -> LinkTraffic {
        self.traffic
    }

    /// Adds the load of a resource over time.
    pub fn add_series(&mut self, of: RecordedLoad) {
        self.series.push(of);
    }

    /// Returns the loads over time.
    pub fn series(&self) -> &[RecordedLoad] {
        &self.series
    }

    /// Returns the number of resources of a type.
    pub fn count(&self, kind: SharedKind) -> u64 {
        self.kinds[kind as usize].count
    }

    /// Records that a resource of type `kind` had a utilization of `millionths` at some time.
    pub fn at_most(&mut self, kind: SharedKind, millionths: u32) {
        let kind = &mut self.kinds[kind as usize];
        kind.most = kind.most.max(millionths);
    }

    /// Adds the utilization that another worker recorded.
    pub fn merge(&mut self, other: &Uses) {
        for (mine, theirs) in self.kinds.iter_mut().zip(&other.kinds) {
            mine.count += theirs.count;
            mine.all += theirs.all;
            mine.busiest = mine.busiest.max(theirs.busiest);
            mine.most = mine.most.max(theirs.most);
        }
        self.links.extend_from_slice(&other.links);
        self.traffic.merge(&other.traffic);
        self.series.extend_from_slice(&other.series);
    }

    /// Returns the utilization of each type of resource that was used, for a run that ends at `end`.
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
