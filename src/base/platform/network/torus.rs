//! Tori and meshes of any number of dimensions.
//!
//! A path passes one dimension after another in the shorter direction. If both directions are equally short, it goes
//! upwards from even and downwards from odd coordinates. Traffic between all nodes then uses both directions equally.

use std::collections::BTreeSet;

use crate::units::SimSpan;

use super::{LinkLayer, MOST_LATENCIES, MOST_LINKS, Routes};

/// A torus or a mesh.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::platform) struct Torus {
    dimensions: Vec<TorusDimension>,
    switches: u32,
    nodes_per_switch: u32,
    /// Numbers of links per switch, including those that do not exist at the border of a mesh.
    slots: u32,
}

/// One dimension.
#[derive(Clone, Debug, PartialEq)]
struct TorusDimension {
    size: u32,
    /// Distance between the numbers of neighbours.
    stride: u32,
    wraps: bool,
    parallel: u32,
    first_slot: u32,
}

impl Torus {
    /// Creates a torus, or a mesh if not `wraps`. `parallel` has the number of links between neighbours for each of
    /// `sizes`. All numbers are at least 1. `None` if the network has too many links.
    pub fn new(sizes: &[u32], parallel: &[u32], wraps: bool, nodes_per_switch: u32) -> Option<Torus> {
        let (mut switches, mut slots) = (1_u64, 0_u64);
        let mut dimensions = Vec::new();
        for (size, parallel) in sizes.iter().zip(parallel) {
            dimensions.push(TorusDimension {
                size: *size,
                stride: switches as u32,
                // Two switches are neighbours in both directions of a ring of two, which has one link.
                wraps: wraps && *size > 2,
                parallel: *parallel,
                first_slot: slots as u32,
            });
            (switches, slots) = (switches * u64::from(*size), slots + 2 * u64::from(*parallel));
            if switches >= MOST_LINKS || slots >= MOST_LINKS {
                return None;
            }
        }
        let fits = switches * slots < MOST_LINKS && switches * u64::from(nodes_per_switch) < MOST_LINKS;
        fits.then_some(Torus { dimensions, switches: switches as u32, nodes_per_switch, slots: slots as u32 })
    }

    /// Returns the steps in one dimension from a switch to another, and whether they go upwards.
    fn steps(dimension: &TorusDimension, from: u32, to: u32) -> (u32, bool) {
        let [from, to] = [from, to].map(|switch| switch / dimension.stride % dimension.size);
        let up = if to >= from { to - from } else { to + dimension.size - from };
        match dimension.wraps {
            true if 2 * up == dimension.size => (up, from.is_multiple_of(2)),
            true if 2 * up < dimension.size => (up, true),
            true => (dimension.size - up, false),
            false => (from.abs_diff(to), to >= from),
        }
    }

    /// Returns the neighbour of a switch, if it has one.
    fn neighbour(dimension: &TorusDimension, switch: u32, up: bool) -> Option<u32> {
        let TorusDimension { size, stride, wraps, .. } = *dimension;
        let at = switch / stride % size;
        match (up, at) {
            (true, at) if at + 1 < size => Some(switch + stride),
            (true, _) => wraps.then(|| switch - at * stride),
            (false, 0) => wraps.then(|| switch + (size - 1) * stride),
            (false, _) => Some(switch - stride),
        }
    }

    fn dimension_of_link(&self, link: u32) -> usize {
        let slot = link % self.slots;
        self.dimensions.partition_point(|dimension| dimension.first_slot <= slot) - 1
    }
}

impl Routes for Torus {
    fn nodes(&self) -> u32 {
        self.switches * self.nodes_per_switch
    }

    fn switches(&self) -> u32 {
        self.switches
    }

    fn switch(&self, node: u32) -> u32 {
        node / self.nodes_per_switch
    }

    fn switch_name(&self, switch: u32) -> String {
        let places = self.dimensions.iter().map(|of| (switch / of.stride % of.size).to_string());
        format!("({})", places.collect::<Vec<_>>().join(","))
    }

    fn link_end(&self) -> u32 {
        self.switches * self.slots
    }

    fn ends(&self, link: u32) -> Option<[u32; 2]> {
        if link >= self.link_end() {
            return None;
        }
        let (switch, slot) = (link / self.slots, link % self.slots);
        let dimension = &self.dimensions[self.dimension_of_link(link)];
        let up = slot - dimension.first_slot < dimension.parallel;
        Some([switch, Torus::neighbour(dimension, switch, up)?])
    }

    fn layer(&self, link: u32) -> usize {
        self.dimension_of_link(link)
    }

    fn near(&self, link: u32) -> u32 {
        link / self.slots * self.nodes_per_switch
    }

    fn path(&self, from: u32, to: u32, step: &mut dyn FnMut(u32)) {
        let [mut at, end] = [from, to].map(|node| self.switch(node));
        for dimension in &self.dimensions {
            let (steps, up) = Torus::steps(dimension, at, end);
            let direction = if up { 0 } else { dimension.parallel };
            let slot = dimension.first_slot + direction + to % dimension.parallel;
            for _ in 0..steps {
                step(at * self.slots + slot);
                at = Torus::neighbour(dimension, at, up).expect("a path stays in the network");
            }
        }
    }

    fn latency(&self, from: u32, to: u32, of: &[LinkLayer]) -> SimSpan {
        let [from, to] = [from, to].map(|node| self.switch(node));
        let along = |(dimension, layer): (&TorusDimension, &LinkLayer)| {
            layer.latency * u64::from(Torus::steps(dimension, from, to).0)
        };
        self.dimensions.iter().zip(of).map(along).sum()
    }

    fn latencies(&self, of: &[LinkLayer]) -> BTreeSet<SimSpan> {
        let mut all = BTreeSet::from([SimSpan::ZERO]);
        for (dimension, layer) in self.dimensions.iter().zip(of) {
            let most = if dimension.wraps { dimension.size / 2 } else { dimension.size - 1 };
            let mut longer = BTreeSet::new();
            for (before, steps) in all.iter().flat_map(|before| (0..=most).map(move |steps| (before, steps))) {
                longer.insert(*before + layer.latency * u64::from(steps));
                if longer.len() > MOST_LATENCIES {
                    return longer;
                }
            }
            all = longer;
        }
        all
    }
}
