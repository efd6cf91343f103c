//! Kinds of resources, the resources that the flows of a bundle pass, their capacities, and the workers that own them.

use smallvec::SmallVec;

use mcpsim_base::platform::{LinkIndex, Occupancy};
use mcpsim_base::profile::{SharedKind, UplinkKind};

use super::bundles::{BundleKey, LostBytes};
use super::links::NetworkLinks;
use super::resources::{MOST, ResourceId};
use super::{Flows, uplinks};

/// Kind of a resource that flows share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResourceKind {
    /// An adapter, outwards.
    Out,
    /// An adapter, inwards.
    In,
    /// An adapter in both directions.
    Duplex,
    /// Two nodes, in both directions.
    Pair,
    /// The uplink of a group of nodes, away from the group.
    UplinkOut,
    /// The uplink of a group of nodes, into the group.
    UplinkIn,
    /// A link of a network of switches, in one direction.
    Link,
}

impl ResourceKind {
    pub(super) const ALL: [ResourceKind; 7] = [
        ResourceKind::Out,
        ResourceKind::In,
        ResourceKind::Duplex,
        ResourceKind::Pair,
        ResourceKind::UplinkOut,
        ResourceKind::UplinkIn,
        ResourceKind::Link,
    ];

    /// Returns whether the resource is an adapter, which also small messages outside of flows occupy.
    pub fn is_adapter(self) -> bool {
        matches!(self, ResourceKind::Out | ResourceKind::In | ResourceKind::Duplex)
    }

    /// Returns the row of reports for the use of such resources; `None`: each link has a row.
    pub fn reported(self) -> Option<SharedKind> {
        match self {
            ResourceKind::Out => Some(SharedKind::AdapterOut),
            ResourceKind::In => Some(SharedKind::AdapterIn),
            ResourceKind::Duplex => Some(SharedKind::Duplex),
            ResourceKind::Pair => Some(SharedKind::PairDuplex),
            ResourceKind::UplinkOut => Some(SharedKind::UplinkOut),
            ResourceKind::UplinkIn => Some(SharedKind::UplinkIn),
            ResourceKind::Link => None,
        }
    }

    /// Returns the kind under which loads over time are recorded; `None`: they are not. Queued messages use the resources
    /// of both directions too, and their use is not recorded.
    pub fn recorded(self) -> Option<SharedKind> {
        match self {
            ResourceKind::Duplex | ResourceKind::Pair => None,
            ResourceKind::Link => Some(SharedKind::Link),
            kind => kind.reported(),
        }
    }
}

impl Flows {
    /// Returns the part of [`LostBytes`] that has the losses of flows at a resource.
    pub(super) fn lost_at_resource(&self, id: ResourceId) -> usize {
        let kind = match id.kind() {
            ResourceKind::Out => return 0,
            ResourceKind::In => return 1,
            ResourceKind::Duplex | ResourceKind::Pair => return 2,
            ResourceKind::UplinkOut | ResourceKind::UplinkIn => UplinkKind::new(id.other() as usize),
            ResourceKind::Link => {
                let links = self.wires.links.as_ref();
                links.map_or(UplinkKind::new(0), |links| links.kind(LinkIndex(id.other())))
            }
        };
        LostBytes::UPLINKS + kind.index()
    }

    /// Returns the resources that the flows of a bundle pass.
    pub(super) fn path(&self, bundle: &BundleKey) -> SmallVec<[ResourceId; 6]> {
        let BundleKey { from, to, rails: [out, into], .. } = *bundle;
        let mut path = SmallVec::new();
        path.push(ResourceId::new(ResourceKind::Out, from, out.into()));
        path.push(ResourceId::new(ResourceKind::In, to, into.into()));
        if self.wires.occupancy.duplex.is_some() {
            path.push(ResourceId::new(ResourceKind::Duplex, from, out.into()));
            path.push(ResourceId::new(ResourceKind::Duplex, to, into.into()));
        }
        if from == to {
            return path;
        }
        if self.wires.occupancy.pair_duplex.is_some() {
            path.push(ResourceId::new(ResourceKind::Pair, from.min(to), from.max(to)));
        }
        uplinks::add(&self.wires.groups, from, to, &mut path);
        if let Some(links) = &self.wires.links {
            links.add(bundle, &mut path);
        }
        path
    }

    /// Returns the number of a resource. A new resource gets the next number.
    pub(super) fn number(&mut self, id: ResourceId) -> u32 {
        if let Some(number) = self.resources.number(id) {
            return number;
        }
        let Occupancy { capacity, duplex, pair_duplex, .. } = &self.wires.occupancy;
        let of_link = |links: &NetworkLinks| links.capacity(LinkIndex(id.other()));
        let capacity = match id.kind() {
            ResourceKind::Out | ResourceKind::In => capacity,
            ResourceKind::Link => &self.wires.links.as_ref().and_then(of_link),
            ResourceKind::Duplex => duplex,
            ResourceKind::Pair => pair_duplex,
            ResourceKind::UplinkOut | ResourceKind::UplinkIn => &self.wires.groups[id.other() as usize].capacity,
        };
        let capacity = capacity.map_or(MOST, |capacity| capacity.get());
        let own = self.owner(id) == self.wires.me;
        let number = self.resources.add(id, capacity, own);
        self.due.add(number);
        number
    }

    pub(super) fn owner(&self, id: ResourceId) -> u32 {
        self.worker_of(id.node())
    }

    pub(super) fn worker_of(&self, node: u32) -> u32 {
        match self.wires.first_node.len() {
            1 => 0,
            _ => self.wires.first_node.partition_point(|&first| first <= node) as u32 - 1,
        }
    }
}
