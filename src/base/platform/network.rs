//! Networks of switches and links above the nodes: topologies, and the path of links between two nodes.
//!
//! A node is attached to one switch. Its own link to the switch is its adapter, which belongs to the level between
//! nodes; the links of a network connect switches. Each direction of a cable is a link of its own. A path is a function
//! of the two nodes and the seed. It is computed, not stored.

mod dragonfly;
mod fat_tree;
mod graph;
#[cfg(test)]
mod tests;
mod torus;

use std::collections::BTreeSet;

use smallvec::SmallVec;

use crate::units::{Bandwidth, SimSpan};

pub(super) use dragonfly::{Dragonfly, DragonflyRouting, GroupSwitches};
pub(super) use fat_tree::{FatTree, TreeRouting};
pub(super) use graph::SwitchGraph;
pub(super) use torus::Torus;

/// Greatest permitted number of links and of nodes of a network.
pub(super) const MOST_LINKS: u64 = 1 << 26;

/// Greatest permitted number of different latencies of paths.
pub(super) const MOST_LATENCIES: usize = 4096;

/// A link of a network, in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LinkIndex(pub u32);

/// Links that a message passes, from sender to receiver.
pub type LinkPath = SmallVec<[LinkIndex; 8]>;

/// Links of one kind, such as those of one dimension of a torus.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkLayer {
    /// Name in reports.
    pub name: String,
    /// Bytes per second in each direction; `None`: no limit.
    pub bandwidth: Option<Bandwidth>,
    /// Time that a message needs for a link and the switch at its end.
    pub latency: SimSpan,
}

/// Switches and links between the nodes of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkNetwork {
    topology: SwitchTopology,
    layers: Vec<LinkLayer>,
    /// Number of equal networks. The adapters of a node are attached to one plane each.
    planes: u32,
    /// Latencies of the paths of each pair of nodes, in ascending order without duplicates.
    latencies: Vec<SimSpan>,
}

/// Arrangement of switches and links.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SwitchTopology {
    FatTree(FatTree),
    Torus(Torus),
    Dragonfly(Dragonfly),
    Graph(SwitchGraph),
}

/// Methods that each topology has. A layer is an index into the layers of the network.
pub(super) trait Routes {
    /// Number of nodes.
    fn nodes(&self) -> u32;
    /// Number of switches.
    fn switches(&self) -> u32;
    /// Switch of a node.
    fn switch(&self, node: u32) -> u32;
    /// Distance of a switch from the nodes in figures.
    fn row(&self, _switch: u32) -> u32 {
        0
    }
    /// Name of a switch in reports.
    fn switch_name(&self, switch: u32) -> String;
    /// Upper bound of the numbers of links.
    fn link_end(&self) -> u32;
    /// Switches at both ends of a link; `None` if no link has the number.
    fn ends(&self, link: u32) -> Option<[u32; 2]>;
    /// Layer of a link.
    fn layer(&self, link: u32) -> usize;
    /// A node close to the link.
    fn near(&self, link: u32) -> u32;
    /// Calls `step` for each link of a path.
    fn path(&self, from: u32, to: u32, step: &mut dyn FnMut(u32));
    /// Number of adapters of a node that may have different switches.
    fn rails(&self) -> u32 {
        1
    }
    /// Calls `step` for each link of a path between two adapters of nodes.
    fn path_of_rails(&self, _rails: [u8; 2], from: u32, to: u32, step: &mut dyn FnMut(u32)) {
        self.path(from, to, step);
    }
    /// Calls `step` for each link of the other path that a transfer may take; never without such a path.
    fn detour(&self, _from: u32, _to: u32, _step: &mut dyn FnMut(u32)) {}
    /// Whether transfers may take another path.
    fn is_adaptive(&self) -> bool {
        false
    }
    /// Latency of a path, where links of a layer have the latencies `of`.
    fn latency(&self, from: u32, to: u32, of: &[LinkLayer]) -> SimSpan;
    /// Latencies of the paths of each pair of nodes. Latencies of absent pairs may be included. The set is
    /// incomplete if it has more than [`MOST_LATENCIES`] entries.
    fn latencies(&self, of: &[LinkLayer]) -> BTreeSet<SimSpan>;
}

impl SwitchTopology {
    fn routes(&self) -> &dyn Routes {
        match self {
            SwitchTopology::FatTree(tree) => tree,
            SwitchTopology::Torus(torus) => torus,
            SwitchTopology::Dragonfly(dragonfly) => dragonfly,
            SwitchTopology::Graph(graph) => graph,
        }
    }
}

impl LinkNetwork {
    /// Creates a network whose links have the properties `layers`.
    pub(super) fn new(topology: SwitchTopology, layers: Vec<LinkLayer>) -> LinkNetwork {
        let latencies = topology.routes().latencies(&layers).into_iter().collect();
        LinkNetwork { topology, layers, planes: 1, latencies }
    }

    /// Returns the network with `planes` equal planes; `None` if it has too many links.
    pub(super) fn with_planes(self, planes: u32) -> Option<LinkNetwork> {
        let routes = self.topology.routes();
        let links = u64::from(planes) * u64::from(routes.link_end().max(routes.switches()));
        (links < MOST_LINKS).then_some(LinkNetwork { planes, ..self })
    }

    /// Number of planes. The adapters of a node are attached to one plane each.
    pub fn planes(&self) -> u32 {
        self.planes
    }

    /// Returns the plane of a link, and the number of the link within the plane.
    fn within_plane(&self, link: LinkIndex) -> [u32; 2] {
        let end = self.topology.routes().link_end().max(1);
        [link.0 / end, link.0 % end]
    }

    /// Returns the plane of a switch, and the number of the switch within the plane.
    fn switch_within_plane(&self, switch: u32) -> [u32; 2] {
        let end = self.topology.routes().switches().max(1);
        [switch / end, switch % end]
    }

    /// Number of nodes that the network can connect.
    pub fn nodes(&self) -> u32 {
        self.topology.routes().nodes()
    }

    /// Number of switches.
    pub fn switches(&self) -> u32 {
        self.topology.routes().switches() * self.planes
    }

    /// Number of the switch of a node, of the first plane.
    pub fn switch(&self, node: u32) -> u32 {
        self.topology.routes().switch(node)
    }

    /// Name of a switch.
    pub fn switch_name(&self, switch: u32) -> String {
        let [plane, switch] = self.switch_within_plane(switch);
        let name = self.topology.routes().switch_name(switch);
        if self.planes > 1 { format!("{name} of plane {plane}") } else { name }
    }

    /// Kinds of links.
    pub fn layers(&self) -> &[LinkLayer] {
        &self.layers
    }

    /// Number of the layer of a link.
    pub fn layer(&self, link: LinkIndex) -> usize {
        self.topology.routes().layer(self.within_plane(link)[1])
    }

    /// Returns all links.
    pub fn links(&self) -> impl Iterator<Item = LinkIndex> + '_ {
        let end = self.topology.routes().link_end() * self.planes;
        (0..end).map(LinkIndex).filter(|link| self.ends(*link).is_some())
    }

    /// Returns the number of links of each layer.
    pub fn layer_counts(&self) -> Vec<u64> {
        let mut counts = vec![0; self.layers.len()];
        self.links().for_each(|link| counts[self.layer(link)] += 1);
        counts
    }

    /// Returns the distance of a switch from the nodes: 0 for a switch with nodes, if only these have the least
    /// distance.
    pub fn row(&self, switch: u32) -> u32 {
        self.topology.routes().row(self.switch_within_plane(switch)[1])
    }

    /// Returns the switches at the beginning and at the end of a link; `None` if no link has the number.
    pub fn ends(&self, link: LinkIndex) -> Option<[u32; 2]> {
        let ([plane, within], routes) = (self.within_plane(link), self.topology.routes());
        let ends = routes.ends(within).filter(|_| plane < self.planes)?;
        Some(ends.map(|switch| plane * routes.switches() + switch))
    }

    /// Returns the name of a link in reports: its two switches.
    pub fn link_name(&self, link: LinkIndex) -> String {
        let names = self.ends(link).map(|ends| ends.map(|switch| self.switch_name(switch)));
        names.map_or_else(|| format!("link {}", link.0), |[from, to]| format!("{from} to {to}"))
    }

    /// Returns a node close to the link.
    pub fn near(&self, link: LinkIndex) -> u32 {
        self.topology.routes().near(self.within_plane(link)[1])
    }

    /// Returns whether a link limits the transfers that pass it.
    pub fn has_limits(&self) -> bool {
        self.layers.iter().any(|layer| layer.bandwidth.is_some())
    }

    /// Removes the limits of the links.
    pub fn remove_limits(&mut self) {
        self.layers.iter_mut().for_each(|layer| layer.bandwidth = None);
    }

    /// Doubles the limits of the links of the layers for which `doubles` returns true.
    pub fn double_limits(&mut self, doubles: impl Fn(usize) -> bool) {
        let layers = self.layers.iter_mut().enumerate().filter(|(at, _)| doubles(*at));
        layers.for_each(|(_, layer)| layer.bandwidth = layer.bandwidth.map(|of| of.times(2)));
    }

    /// Returns the links that a message from one node to another passes; none if both nodes have the same switch.
    pub fn path(&self, from: u32, to: u32) -> LinkPath {
        self.path_of_rails([0, 0], from, to)
    }

    /// Returns the links that a message passes between two adapters of nodes. The adapter of the sender determines the
    /// plane.
    pub fn path_of_rails(&self, rails: [u8; 2], from: u32, to: u32) -> LinkPath {
        let routes = self.topology.routes();
        let (mut path, first) = (LinkPath::new(), u32::from(rails[0]) % self.planes * routes.link_end());
        routes.path_of_rails(rails, from, to, &mut |link| path.push(LinkIndex(first + link)));
        path
    }

    /// Returns the number of adapters of a node that may have different switches of one plane.
    pub(super) fn rails(&self) -> u32 {
        self.topology.routes().rails()
    }

    /// Returns whether transfers may take a path of another length than [`LinkNetwork::path`].
    pub fn is_adaptive(&self) -> bool {
        self.topology.routes().is_adaptive()
    }

    /// Returns the longer path that a transfer may take in a plane, and the latency that it has in addition; `None` if
    /// there is one path.
    pub fn detour(&self, plane: u32, from: u32, to: u32) -> Option<(LinkPath, SimSpan)> {
        let routes = self.topology.routes();
        let (mut path, first) = (LinkPath::new(), plane % self.planes * routes.link_end());
        routes.detour(from, to, &mut |link| path.push(LinkIndex(first + link)));
        let latency: SimSpan = path.iter().map(|link| self.layers[self.layer(*link)].latency).sum();
        (!path.is_empty()).then(|| (path, latency.saturating_sub(self.latency(from, to))))
    }

    /// Returns the latency of each link, and of each switch but the first, on the path between two nodes.
    pub fn latency(&self, from: u32, to: u32) -> SimSpan {
        self.topology.routes().latency(from, to, &self.layers)
    }

    /// Number of classes of pairs of nodes. All pairs of a class have paths of the same latency.
    pub fn classes(&self) -> usize {
        self.latencies.len()
    }

    /// Returns the class of a pair of nodes.
    #[inline]
    pub fn class(&self, from: u32, to: u32) -> usize {
        let latency = self.latency(from, to);
        self.latencies.binary_search(&latency).unwrap_or_else(|above| above.min(self.latencies.len() - 1))
    }

    /// Returns the latency that the paths of a class have in addition to that of the nearest pair of nodes.
    pub fn added_latency(&self, class: usize) -> SimSpan {
        self.latencies[class].saturating_sub(self.nearest())
    }

    /// Latency of the path between the nearest two nodes: those of one switch, or those of neighbouring switches.
    fn nearest(&self) -> SimSpan {
        let routes = self.topology.routes();
        match &self.topology {
            SwitchTopology::Graph(_) => self.latencies[0],
            _ if routes.nodes() > 1 => routes.latency(0, 1, &self.layers),
            _ => SimSpan::ZERO,
        }
    }
}

/// Returns a pseudo-random number for a seed and three values: the finalizer of SplitMix64, once per value.
fn mixed(seed: u64, values: [u64; 3]) -> u64 {
    values.into_iter().fold(seed, |state, value| {
        let mut z = state ^ value.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31).wrapping_add(0x9e37_79b9_7f4a_7c15)
    })
}
