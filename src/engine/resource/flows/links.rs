//! Links of a network of switches: the resources on the path between two nodes.

use std::sync::Arc;

use smallvec::SmallVec;

use mcpsim_base::platform::{LinkIndex, LinkNetwork};
use mcpsim_base::profile::UplinkKind;
use mcpsim_base::units::{Bandwidth, SimSpan};

use super::Flows;
use super::bundle_paths::ResourceKind;
use super::bundles::BundleKey;
use super::resources::{MOST, ResourceId};

/// The links that limit transfers, and the nodes that have ranks.
#[derive(Clone, Debug)]
pub(crate) struct NetworkLinks {
    network: Arc<LinkNetwork>,
    /// Number of each simulated node in the machine.
    numbers: Vec<u32>,
}

impl NetworkLinks {
    /// Returns the links of a network; `None` if no link limits a transfer. `numbers` has the number of each simulated
    /// node in the machine.
    pub fn new(network: &Arc<LinkNetwork>, numbers: &[u32]) -> Option<NetworkLinks> {
        let has_limits = network.has_limits() && !numbers.is_empty();
        has_limits.then(|| NetworkLinks { network: network.clone(), numbers: numbers.to_vec() })
    }

    /// Returns whether a message between the first adapters of two nodes passes links.
    pub fn crosses(&self, from: u32, to: u32) -> bool {
        let [from, to] = [from, to].map(|node| self.network.switch(self.numbers[node as usize]));
        from != to
    }

    /// Returns whether the path of a transfer depends on loads.
    pub fn is_adaptive(&self) -> bool {
        self.network.is_adaptive()
    }

    /// Returns the resources of the longer path of a bundle, and the latency that this path has in addition; `None` if
    /// there is one path.
    pub(super) fn detour(&self, bundle: &BundleKey) -> Option<(SmallVec<[ResourceId; 6]>, SimSpan)> {
        let [from, to] = [bundle.from, bundle.to].map(|node| self.numbers[node as usize]);
        let (path, longer) = self.network.detour(bundle.rails[0].into(), from, to)?;
        Some((path.into_iter().map(|link| self.resource(link)).collect(), longer))
    }

    /// Adds the links that the flows of a bundle pass to the path of the bundle. The worker that owns a node close
    /// to a link owns the link.
    pub(super) fn add(&self, bundle: &BundleKey, path: &mut SmallVec<[ResourceId; 6]>) {
        let [from, to] = [bundle.from, bundle.to].map(|node| self.numbers[node as usize]);
        let plane = bundle.rails[0].into();
        let detour = self.network.detour(plane, from, to).filter(|_| bundle.detour);
        let links = detour.map_or_else(|| self.network.path_of_rails(bundle.rails, from, to), |(links, _)| links);
        let links = links.into_iter().filter(|link| self.capacity(*link).is_some());
        path.extend(links.map(|link| self.resource(link)));
    }

    fn resource(&self, link: LinkIndex) -> ResourceId {
        let near = self.network.near(link);
        let owner = self.numbers.partition_point(|number| *number <= near).saturating_sub(1);
        ResourceId::new(ResourceKind::Link, owner as u32, link.0)
    }

    /// Kind of a link.
    pub(super) fn kind(&self, link: LinkIndex) -> UplinkKind {
        UplinkKind::new(self.network.layer(link))
    }

    /// Capacity of a link in bytes per second.
    pub(super) fn capacity(&self, link: LinkIndex) -> Option<Bandwidth> {
        self.network.layers()[self.network.layer(link)].bandwidth
    }
}

impl Flows {
    /// Returns the links of a network that limit transfers.
    pub fn links(&self) -> Option<&NetworkLinks> {
        self.wires.links.as_ref()
    }

    /// Returns the additional latency of the longer path of a bundle if an adaptive routing prefers this path: the least
    /// level of its links, as agreed at the last slot, per link of the path is greater.
    pub fn detour(&self, bundle: &BundleKey) -> Option<SimSpan> {
        let links = self.wires.links.as_ref().filter(|links| links.is_adaptive())?;
        let (detour, longer) = links.detour(bundle)?;
        let mut shortest = SmallVec::new();
        links.add(bundle, &mut shortest);
        let level = |id: &ResourceId| {
            let capacity = || links.capacity(LinkIndex(id.other())).map_or(MOST, |capacity| capacity.get());
            self.resources.level_of(*id).unwrap_or_else(capacity)
        };
        let least = |path: &[ResourceId]| u128::from(path.iter().map(level).min().unwrap_or(MOST));
        let prefers = least(&detour) * shortest.len() as u128 > least(&shortest) * detour.len() as u128;
        prefers.then_some(longer)
    }
}
