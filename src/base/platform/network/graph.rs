//! Networks whose switches and links are listed.
//!
//! A path has the fewest links, and the least latency among such paths. If several paths remain, the number of the
//! receiving node chooses at each switch. Distances to a switch are computed when a path to the switch is first needed.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use crate::units::SimSpan;

use super::{LinkLayer, Routes};

/// A list of switches and links.
#[derive(Clone, Debug)]
pub(in crate::platform) struct SwitchGraph {
    names: Vec<String>,
    /// Switch of each node's first adapter.
    switch_of: Vec<u32>,
    /// Switches of the further adapters of each node, by adapter; empty if all adapters of a node have one switch.
    further: Vec<Vec<u32>>,
    /// Switches at the ends of each link, in ascending order of the first switch, and the layer of the link.
    links: Vec<([u32; 2], u16)>,
    /// Number of the first link of each switch; one more entry than switches.
    first_link: Vec<u32>,
    /// Latency of a link of each layer.
    of_layer: Vec<SimSpan>,
    /// Distances from all switches to a switch, once computed.
    distances: Vec<OnceLock<Box<[Distance]>>>,
}

/// Number of links of the shortest path, and its latency.
type Distance = (u32, SimSpan);

/// Distance of a switch that no path reaches.
const NONE: Distance = (u32::MAX, SimSpan::ZERO);

impl PartialEq for SwitchGraph {
    fn eq(&self, other: &SwitchGraph) -> bool {
        (&self.names, &self.switch_of, &self.further, &self.links)
            == (&other.names, &other.switch_of, &other.further, &other.links)
    }
}

impl SwitchGraph {
    /// Creates a network. `switches_of` has the switches of each adapter of all nodes, at least those of the first
    /// adapters, and `cables` the two switches of each cable and its layer.
    pub fn new(
        names: Vec<String>,
        mut switches_of: Vec<Vec<u32>>,
        cables: &[([u32; 2], u16)],
        of_layer: Vec<SimSpan>,
    ) -> SwitchGraph {
        let both = cables.iter().flat_map(|([a, b], layer)| [([*a, *b], *layer), ([*b, *a], *layer)]);
        let mut links: Vec<_> = both.collect();
        links.sort_by_key(|([from, to], _)| (*from, *to));
        let mut first_link = vec![0; names.len() + 1];
        links.iter().for_each(|([from, _], _)| first_link[*from as usize + 1] += 1);
        for switch in 0..names.len() {
            first_link[switch + 1] += first_link[switch];
        }
        let distances = vec![OnceLock::new(); names.len()];
        let further = switches_of.split_off(1);
        let switch_of = switches_of.remove(0);
        SwitchGraph { names, switch_of, further, links, first_link, of_layer, distances }
    }

    /// Returns two nodes without a path between them, if such nodes exist.
    pub fn parted(&self) -> Option<[u32; 2]> {
        let first = *self.switch_of.first()?;
        let all = self.compute(first);
        let nodes = [&self.switch_of].into_iter().chain(&self.further).flat_map(|of| (0..).zip(of));
        let far = nodes.into_iter().find(|(_, switch)| all[**switch as usize] == NONE)?;
        Some([0, far.0])
    }

    /// Returns the switch of an adapter of a node.
    fn switch_of_rail(&self, node: u32, rail: u8) -> u32 {
        let of = usize::from(rail).checked_sub(1).and_then(|at| self.further.get(at)).unwrap_or(&self.switch_of);
        of[node as usize]
    }

    fn links_of(&self, switch: u32) -> std::ops::Range<u32> {
        self.first_link[switch as usize]..self.first_link[switch as usize + 1]
    }

    fn to(&self, switch: u32) -> &[Distance] {
        self.distances[switch as usize].get_or_init(|| self.compute(switch))
    }

    /// Returns the distance of each switch from `start`, which are the same in both directions.
    fn compute(&self, start: u32) -> Box<[Distance]> {
        let mut all = vec![NONE; self.names.len()];
        all[start as usize] = (0, SimSpan::ZERO);
        let (mut ring, mut next, mut hops) = (vec![start], Vec::new(), 0);
        while !ring.is_empty() {
            hops += 1;
            for switch in ring.drain(..) {
                let latency = all[switch as usize].1;
                for link in self.links_of(switch) {
                    let ([_, to], layer) = self.links[link as usize];
                    let longer = latency + self.of_layer[usize::from(layer)];
                    let found = &mut all[to as usize];
                    if *found == NONE {
                        *found = (hops, longer);
                        next.push(to);
                    } else if found.0 == hops && longer < found.1 {
                        found.1 = longer;
                    }
                }
            }
            std::mem::swap(&mut ring, &mut next);
        }
        all.into()
    }
}

impl Routes for SwitchGraph {
    fn nodes(&self) -> u32 {
        self.switch_of.len() as u32
    }

    fn switches(&self) -> u32 {
        self.names.len() as u32
    }

    fn switch(&self, node: u32) -> u32 {
        self.switch_of[node as usize]
    }

    fn switch_name(&self, switch: u32) -> String {
        self.names[switch as usize].clone()
    }

    fn link_end(&self) -> u32 {
        self.links.len() as u32
    }

    fn ends(&self, link: u32) -> Option<[u32; 2]> {
        self.links.get(link as usize).map(|(ends, _)| *ends)
    }

    fn layer(&self, link: u32) -> usize {
        self.links[link as usize].1.into()
    }

    fn near(&self, link: u32) -> u32 {
        let ([from, _], _) = self.links[link as usize];
        (u64::from(from) * u64::from(self.nodes()) / self.names.len() as u64) as u32
    }

    fn path(&self, from: u32, to: u32, step: &mut dyn FnMut(u32)) {
        self.path_of_rails([0, 0], from, to, step);
    }

    fn rails(&self) -> u32 {
        self.further.len() as u32 + 1
    }

    fn path_of_rails(&self, rails: [u8; 2], from: u32, to: u32, step: &mut dyn FnMut(u32)) {
        let (mut at, end) = (self.switch_of_rail(from, rails[0]), self.switch_of_rail(to, rails[1]));
        let all = self.to(end);
        while at != end {
            let (hops, latency) = all[at as usize];
            let nearer = |link: &u32| {
                let ([_, next], layer) = self.links[*link as usize];
                let (left, rest) = all[next as usize];
                left < hops && rest + self.of_layer[usize::from(layer)] == latency
            };
            let choices = self.links_of(at).filter(nearer);
            let count = choices.clone().count();
            let Some(link) = choices.clone().nth(to as usize % count.max(1)) else { return };
            step(link);
            at = self.links[link as usize].0[1];
        }
    }

    fn latency(&self, from: u32, to: u32, _: &[LinkLayer]) -> SimSpan {
        self.to(self.switch(to))[self.switch(from) as usize].1
    }

    fn latencies(&self, _: &[LinkLayer]) -> BTreeSet<SimSpan> {
        let mut nodes = vec![0_u32; self.names.len()];
        self.switch_of.iter().for_each(|switch| nodes[*switch as usize] += 1);
        let mut all = BTreeSet::new();
        for start in (0..self.switches()).filter(|switch| nodes[*switch as usize] > 0) {
            let others = self.compute(start);
            let others = others.iter().zip(&nodes).enumerate();
            all.extend(others.filter_map(|(switch, (distance, nodes))| {
                let least = if switch == start as usize { 2 } else { 1 };
                (*nodes >= least && *distance != NONE).then_some(distance.1)
            }));
        }
        if all.is_empty() {
            all.insert(SimSpan::ZERO);
        }
        all
    }
}
