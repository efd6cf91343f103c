//! Links of a network of switches: the resources on the path between two nodes.

use std::sync::Arc;

use smallvec::SmallVec;

use mcpsim_base::platform::{LinkIndex, LinkNetwork};
use mcpsim_base::units::Bandwidth;

use super::bundle_paths::ResourceKind;
use super::resources::ResourceId;

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

    /// Returns whether a message between two nodes passes links.
    pub fn crosses(&self, from: u32, to: u32) -> bool {
        let [from, to] = [from, to].map(|node| self.network.switch(self.numbers[node as usize]));
        from != to
    }

    /// Adds the links that a message between two nodes passes to the message's path. The worker that owns a node close
    /// to a link owns the link.
    pub(super) fn add(&self, from: u32, to: u32, path: &mut SmallVec<[ResourceId; 6]>) {
        let [from, to] = [from, to].map(|node| self.numbers[node as usize]);
        for link in self.network.path(from, to) {
            if self.capacity(link).is_some() {
                let near = self.network.near(link);
                let owner = self.numbers.partition_point(|number| *number <= near).saturating_sub(1);
                path.push(ResourceId::new(ResourceKind::Link, owner as u32, link.0));
            }
        }
    }

    /// Capacity of a link in bytes per second.
    pub(super) fn capacity(&self, link: LinkIndex) -> Option<Bandwidth> {
        self.network.layers()[self.network.layer(link)].bandwidth
    }
}
