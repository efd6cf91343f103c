//! Places of a machine between the paper's three levels: domains of cores within a CMP, and groups of nodes.
//!
//! The places of a machine form a tree: core, domains (such as L3 and NUMA), CMP, node, groups (such as switches),
//! machine. The costs of a message depend on the least common place of its two cores: the smallest place that contains
//! both cores.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::units::{Bandwidth, Bytes, SimSpan, counted};

use super::{Level, LinkNetwork, Shape, Site};

/// Domains of cores and groups of nodes of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places {
    /// Kinds of domains within a CMP, smallest first. Each domain is contained in one domain of the next kind.
    pub domains: Vec<Domain>,
    /// Kinds of groups of nodes, smallest first. Each group is contained in one group of the next kind.
    pub groups: Vec<NodeGroup>,
    /// Switches and links between nodes, if the machine states them.
    pub network: Option<Arc<LinkNetwork>>,
    /// Names of the nodes in the order of their numbers; empty if the machine does not state them.
    pub hosts: Vec<String>,
}

/// A kind of domain within a CMP, such as the cores that share an L3 cache.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// Name of the kind of place in the platform file.
    pub name: String,
    /// Number of consecutive cores of a domain.
    pub cores: u32,
    /// Bytes of the last-level cache of a domain, if each domain has a cache of its own.
    pub cache: Option<Bytes>,
    /// Bytes per second of the memory of a domain, if each domain has a memory of its own.
    pub memory: Option<Bandwidth>,
}

/// A kind of group of nodes, such as the nodes of a switch.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeGroup {
    /// Name of the kind of place in the platform file.
    pub name: String,
    /// Assignment of nodes to groups.
    pub members: Members,
    /// Time that a message takes on the uplink from a group to the next larger place, and also on the way back.
    pub uplink_latency: SimSpan,
    /// Bytes per second from a group to the nodes outside the group, and also from outside into the group; `None`: no
    /// limit.
    pub uplink: Option<Bandwidth>,
}

/// Uplink with a lower bandwidth than a single message between nodes, which is legal but unusual.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NarrowUplink {
    /// Name of the kind of place in the platform file.
    pub place: String,
    /// Bandwidth of the uplink in bytes per second.
    pub uplink_bytes_per_s: u64,
    /// Greatest bandwidth of a message between nodes in bytes per second.
    pub message_bytes_per_s: u64,
}

/// Assignment of nodes to the groups of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Members {
    /// Each group has this number of consecutive nodes.
    Blocks(u32),
    /// List of the group of each node.
    List(Vec<u32>),
}

/// Reason why a machine of some shape cannot have the stated places.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacesError {
    /// The number of cores of a CMP is not a multiple of the number of cores of a domain.
    Cores {
        /// Name of the kind of place in the platform file.
        place: String,
        /// Number of cores of a domain.
        cores: u32,
        /// Number of cores of a CMP.
        of: u32,
    },
    /// The network connects fewer nodes than the machine has.
    Network {
        /// Number of nodes of the network.
        connected: u32,
        /// Number of nodes of the machine.
        nodes: u32,
    },
    /// The list of host names has fewer names than the machine has nodes.
    Hosts {
        /// Number of names.
        named: u32,
        /// Number of nodes of the machine.
        nodes: u32,
    },
    /// The list of groups has fewer nodes than the machine.
    Nodes {
        /// Name of the kind of place in the platform file.
        place: String,
        /// Number of nodes in the list.
        listed: u32,
        /// Number of nodes of the machine.
        nodes: u32,
    },
}

impl fmt::Display for PlacesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlacesError::Cores { place, cores, of } => {
                let (cores, of) = (counted(*cores, "core"), counted(*of, "core"));
                write!(f, "places.{place} has {cores}: expected a divisor of the {of} of a CMP")
            }
            PlacesError::Network { connected, nodes } => {
                let (connected, nodes) = (counted(*connected, "node"), counted(*nodes, "node"));
                write!(f, "the network has {connected}: expected all {nodes} of the machine")
            }
            PlacesError::Hosts { named, nodes } => {
                let (named, nodes) = (counted(*named, "name"), counted(*nodes, "node"));
                write!(f, "the key hosts has {named}: expected all {nodes} of the machine")
            }
            PlacesError::Nodes { place, listed, nodes } => {
                let (listed, nodes) = (counted(*listed, "node"), counted(*nodes, "node"));
                write!(f, "the list of places.{place} has {listed}: expected all {nodes} of the machine")
            }
        }
    }
}

impl std::error::Error for PlacesError {}

impl Domain {
    /// Returns the number of domains of this kind per node.
    pub fn per_node(&self, shape: Shape) -> u32 {
        shape.cmps * (shape.cores / self.cores)
    }

    /// Returns the number of the domain of a core within the core's node.
    #[inline]
    pub fn of(&self, shape: Shape, site: Site) -> u32 {
        (site.cmp * shape.cores + site.core) / self.cores
    }
}

impl NodeGroup {
    /// Returns the number of the group of a node.
    #[inline]
    pub fn of(&self, node: u32) -> u32 {
        match &self.members {
            Members::Blocks(nodes) => node / nodes,
            Members::List(of) => of[node as usize],
        }
    }
}

impl Places {
    /// Returns whether the machine has neither domains nor groups.
    pub fn is_empty(&self) -> bool {
        self.domains.is_empty() && self.groups.is_empty()
    }

    /// Checks that a machine of `shape` can have these domains and groups.
    ///
    /// # Errors
    /// The cores of a domain do not divide the cores of a CMP, or a list of groups lacks nodes of the machine.
    pub fn check(&self, shape: Shape) -> Result<(), PlacesError> {
        if let Some(wrong) = self.domains.iter().find(|domain| !shape.cores.is_multiple_of(domain.cores)) {
            let place = wrong.name.clone();
            return Err(PlacesError::Cores { place, cores: wrong.cores, of: shape.cores });
        }
        if let Some(network) = self.network.as_ref().filter(|network| network.nodes() < shape.nodes) {
            return Err(PlacesError::Network { connected: network.nodes(), nodes: shape.nodes });
        }
        if !self.hosts.is_empty() && self.hosts.len() < shape.nodes as usize {
            return Err(PlacesError::Hosts { named: self.hosts.len() as u32, nodes: shape.nodes });
        }
        for group in &self.groups {
            if let Members::List(of) = &group.members
                && of.len() < shape.nodes as usize
            {
                let (place, listed) = (group.name.clone(), of.len() as u32);
                return Err(PlacesError::Nodes { place, listed, nodes: shape.nodes });
            }
        }
        Ok(())
    }

    /// Returns the kind of domain with a last-level cache of its own; at most one kind has such a cache.
    pub fn cache(&self) -> Option<(&Domain, Bytes)> {
        self.domains.iter().find_map(|domain| Some((domain, domain.cache?)))
    }

    /// Returns the kind of domain with a memory of its own; at most one kind has such a memory.
    pub fn memory(&self) -> Option<(&Domain, Bandwidth)> {
        self.domains.iter().find_map(|domain| Some((domain, domain.memory?)))
    }

    /// Returns the number of classes of pairs of cores: one per kind of domain, one per kind of group, and one for
    /// pairs of nodes without a common group.
    pub fn classes(&self) -> usize {
        self.domains.len() + self.groups.len() + 1
    }

    /// Returns the class of the least common place of two cores at `level`. The cores are given by their numbers in a
    /// machine of `shape`. The classes of domains come first, then the classes of groups, then the class of the
    /// machine. `None`: the least common place of the two cores is their CMP or their node.
    #[inline]
    pub fn class(&self, shape: Shape, from: u32, to: u32, level: Level) -> Option<usize> {
        match level {
            // The cores of a CMP are a multiple of the cores of a domain, so equal quotients mean the same domain of
            // the same CMP.
            Level::IntraCmp => self.domains.iter().position(|domain| from / domain.cores == to / domain.cores),
            Level::InterCmp => None,
            Level::InterNode => {
                let [from, to] = [from, to].map(|core| core / (shape.cmps * shape.cores));
                Some(self.domains.len() + self.left_groups(from, to).count())
            }
        }
    }

    /// Returns the number of classes of pairs of cores by cost. With a network, the latency of the path determines the
    /// class of two cores of different nodes; otherwise the classes are those of [`Places::class`].
    pub fn cost_classes(&self) -> usize {
        self.network.as_ref().map_or(self.classes(), |network| self.domains.len() + network.classes())
    }

    /// Returns the class of two cores by cost; see [`Places::class`] for the arguments.
    #[inline]
    pub fn cost_class(&self, shape: Shape, from: u32, to: u32, level: Level) -> Option<usize> {
        match &self.network {
            Some(network) if level == Level::InterNode => {
                let [from, to] = [from, to].map(|core| core / (shape.cmps * shape.cores));
                Some(self.domains.len() + network.class(from, to))
            }
            _ => self.class(shape, from, to, level),
        }
    }

    /// Returns the kinds of groups that a message between two nodes leaves and enters, smallest groups first: those
    /// without a group that contains both nodes.
    #[inline]
    pub fn left_groups(&self, from: u32, to: u32) -> impl DoubleEndedIterator<Item = &NodeGroup> + Clone {
        let common = self.groups.iter().position(|group| group.of(from) == group.of(to));
        self.groups[..common.unwrap_or(self.groups.len())].iter()
    }

    /// Returns the names of the kinds of uplinks that limit transfers, with the index of the kind of group or of the
    /// layer of links.
    pub fn uplink_names(&self) -> Vec<(usize, &str)> {
        let layers = self.network.iter().flat_map(|network| network.layers().iter().enumerate());
        let layers = layers.filter(|(_, layer)| layer.bandwidth.is_some()).map(|(at, layer)| (at, layer.name.as_str()));
        let groups = self.groups.iter().enumerate().filter(|(_, group)| group.uplink.is_some());
        layers.chain(groups.map(|(at, group)| (at, group.name.as_str()))).collect()
    }

    /// Returns whether uplinks, or links and switches, add latency to messages, and no path depends on loads.
    pub fn has_hop_latency(&self) -> bool {
        let adaptive = self.network.as_ref().is_some_and(|network| network.is_adaptive());
        !adaptive && (self.domains.len()..self.cost_classes()).any(|class| self.added_latency(class) > SimSpan::ZERO)
    }

    /// Returns the latency that uplinks or links add to a message between nodes of the class `class` by cost. The message
    /// leaves and enters one group of each smaller kind.
    pub fn added_latency(&self, class: usize) -> SimSpan {
        if let Some(network) = &self.network {
            return network.added_latency(class - self.domains.len());
        }
        let left = &self.groups[..class - self.domains.len()];
        left.iter().map(|group| group.uplink_latency).sum::<SimSpan>() * 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(name: &str, members: Members, latency: u64) -> NodeGroup {
        NodeGroup { name: name.to_owned(), members, uplink_latency: SimSpan::from_ns(latency), uplink: None }
    }

    fn domain(cores: u32) -> Domain {
        Domain { name: format!("of{cores}"), cores, cache: None, memory: None }
    }

    /// Returns places with two switches of two nodes in one group, and one switch in another group. The CMPs have 4
    /// cores in two L3 domains.
    fn places() -> Places {
        let groups =
            vec![group("switch", Members::Blocks(2), 100), group("group", Members::List(vec![0, 0, 0, 0, 1, 1]), 1000)];
        Places { domains: vec![domain(2)], groups, ..Places::default() }
    }

    #[test]
    fn the_class_of_a_pair_is_its_least_common_place() {
        let (places, shape) = (places(), Shape { nodes: 6, cmps: 2, cores: 4 });
        let class = |from: u32, to: u32| {
            let level = Level::between(shape.site(from.into()), shape.site(to.into()));
            places.class(shape, from, to, level)
        };
        // The first two cores share an L3 domain, the next two share only their CMP, and the last two are on two CMPs.
        assert_eq!([(0, 1), (1, 2), (3, 4)].map(|(from, to)| class(from, to)), [Some(0), None, None]);
        // Nodes have 8 cores. Nodes 0 and 1 share a switch, nodes 0 and 2 share a group, and nodes 0 and 4 share
        // neither.
        assert_eq!([8, 16, 39, 32, 47].map(|to| class(0, to)), [Some(1), Some(2), Some(3), Some(3), Some(3)]);
        assert_eq!(class(32, 40), Some(1));
        assert_eq!([1, 2, 3].map(|class| places.added_latency(class).as_ps()), [0, 200_000, 2_200_000]);
        assert_eq!(places.classes(), 4);
    }

    #[test]
    fn every_pair_of_a_machine_without_some_kinds_has_the_class_of_a_walk_up_the_tree() {
        let shape = Shape { nodes: 8, cmps: 1, cores: 8 };
        for mask in 0..16_u32 {
            let has = |bit: u32| mask >> bit & 1 == 1;
            let domains: Vec<_> = [2, 4].into_iter().enumerate().filter(|(at, _)| has(*at as u32)).collect();
            let groups: Vec<_> = [2, 4].into_iter().enumerate().filter(|(at, _)| has(*at as u32 + 2)).collect();
            let places = Places {
                domains: domains.iter().map(|(_, cores)| domain(*cores)).collect(),
                groups: groups.iter().map(|(_, nodes)| group("g", Members::Blocks(*nodes), 1)).collect(),
                ..Places::default()
            };
            for (from, to) in (0..64_u32).flat_map(|from| (0..64).map(move |to| (from, to))) {
                let level = Level::between(shape.site(from.into()), shape.site(to.into()));
                let expected = if level == Level::InterNode {
                    let (mut a, mut b, mut class) = (from / 8, to / 8, domains.len());
                    let mut before = 1;
                    for (_, nodes) in &groups {
                        (a, b) = (a / (nodes / before), b / (nodes / before));
                        if a == b {
                            break;
                        }
                        (before, class) = (*nodes, class + 1);
                    }
                    Some(class)
                } else {
                    domains.iter().position(|(_, cores)| from % 8 / cores == to % 8 / cores)
                };
                assert_eq!(places.class(shape, from, to, level), expected, "{mask} {from} {to}");
            }
        }
    }

    #[test]
    fn places_that_do_not_fit_a_shape_are_refused() {
        let check = |nodes, cores| places().check(Shape { nodes, cmps: 2, cores }).map_err(|error| error.to_string());
        assert_eq!(check(6, 4), Ok(()));
        assert_eq!(check(3, 8), Ok(()));
        assert_eq!(check(6, 3), Err("places.of2 has 2 cores: expected a divisor of the 3 cores of a CMP".to_owned()));
        assert_eq!(
            check(7, 4),
            Err("the list of places.group has 6 nodes: expected all 7 nodes of the machine".to_owned())
        );
    }
}
