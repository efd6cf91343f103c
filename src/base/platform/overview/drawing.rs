//! Switches and cables of a machine for a figure: those of the network, or the groups of nodes and their uplinks.

use std::collections::BTreeMap;

use super::super::{LinkNetwork, Platform};

/// Switches and cables of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineDrawing {
    /// Switches, or groups of nodes; the last group is the machine.
    pub switches: Vec<DrawnSwitch>,
    /// Cables between switches, or uplinks of groups.
    pub cables: Vec<DrawnCable>,
    /// Names of the kinds of cables, with latency and bandwidth.
    pub kinds: Vec<String>,
}

/// A switch, or a group of nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnSwitch {
    /// Name of the switch or group.
    pub name: String,
    /// Distance from the nodes.
    pub row: u32,
    /// Number of nodes that are attached to the switch itself.
    pub nodes: u32,
}

/// All parallel cables between two switches.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawnCable {
    /// Indices of both switches.
    pub ends: [usize; 2],
    /// Index of the kind of cable.
    pub kind: usize,
    /// Number of parallel cables.
    pub count: u32,
}

impl Platform {
    /// Returns the switches and cables of the machine, or its groups of nodes; `None` without both, or if there are more
    /// than `most` switches.
    pub fn drawing(&self, most: usize) -> Option<MachineDrawing> {
        match &self.places.network {
            Some(network) if network.switches() as usize <= most => Some(of_network(network, self.shape.nodes)),
            Some(_) => None,
            None => self.drawing_of_groups(most),
        }
    }

    fn drawing_of_groups(&self, most: usize) -> Option<MachineDrawing> {
        let groups = &self.places.groups;
        let mut drawing = MachineDrawing::default();
        // Index of each group by its kind and number.
        let mut found: BTreeMap<(usize, u32), usize> = BTreeMap::new();
        for node in 0..self.shape.nodes {
            let mut below = None;
            for (kind, group) in groups.iter().enumerate() {
                let (number, is_new) = (group.of(node), !found.contains_key(&(kind, group.of(node))));
                let at = *found.entry((kind, number)).or_insert(drawing.switches.len());
                if is_new {
                    let name = format!("{} {number}", group.name);
                    drawing.switches.push(DrawnSwitch { name, row: kind as u32, nodes: 0 });
                }
                drawing.switches[at].nodes += u32::from(kind == 0);
                if let Some(below) = below {
                    drawing.cables.push(DrawnCable { ends: [below, at], kind: kind - 1, count: 1 });
                }
                below = is_new.then_some(at);
                if !is_new {
                    break;
                }
            }
            if let Some(below) = below {
                // The index of the machine is not yet known.
                drawing.cables.push(DrawnCable { ends: [below, usize::MAX], kind: groups.len() - 1, count: 1 });
            }
            if drawing.switches.len() > most {
                return None;
            }
        }
        let machine = drawing.switches.len();
        drawing.switches.push(DrawnSwitch { name: "machine".to_owned(), row: groups.len() as u32, nodes: 0 });
        drawing.cables.iter_mut().for_each(|cable| cable.ends = cable.ends.map(|end| end.min(machine)));
        let texts = groups.iter().map(|group| {
            let bandwidth = group.uplink.map_or(String::new(), |bandwidth| format!(", {bandwidth}"));
            format!("uplinks of {}: {}{bandwidth}", group.name, group.uplink_latency)
        });
        drawing.kinds = texts.collect();
        (!groups.is_empty()).then_some(drawing)
    }
}

fn of_network(network: &LinkNetwork, nodes: u32) -> MachineDrawing {
    let switch = |switch: u32| DrawnSwitch { name: network.switch_name(switch), row: network.row(switch), nodes: 0 };
    let mut switches: Vec<DrawnSwitch> = (0..network.switches()).map(switch).collect();
    let of_plane = network.switches() / network.planes();
    for (node, plane) in (0..nodes).flat_map(|node| (0..network.planes()).map(move |plane| (node, plane))) {
        switches[(plane * of_plane + network.switch(node)) as usize].nodes += 1;
    }
    let mut counts: BTreeMap<([usize; 2], usize), u32> = BTreeMap::new();
    for link in network.links() {
        let Some([from, to]) = network.ends(link) else { continue };
        // Each cable has two links, one in each direction.
        if from < to {
            *counts.entry(([from as usize, to as usize], network.layer(link))).or_default() += 1;
        }
    }
    let cables = counts.into_iter().map(|((ends, kind), count)| DrawnCable { ends, kind, count });
    let kinds = network.layers().iter().map(|layer| {
        let bandwidth = layer.bandwidth.map_or(String::new(), |bandwidth| format!(", {bandwidth}"));
        format!("{}: {}{bandwidth}", layer.name, layer.latency)
    });
    MachineDrawing { switches, cables: cables.collect(), kinds: kinds.collect() }
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;

    #[test]
    fn groups_hang_below_the_next_larger_group() {
        // Seven nodes, two per switch and four per group.
        let drawing = tree().drawing(600).unwrap();
        let names: Vec<_> = drawing.switches.iter().map(|of| (of.name.as_str(), of.row, of.nodes)).collect();
        let expected = [
            ("switch 0", 0, 2),
            ("group 0", 1, 0),
            ("switch 1", 0, 2),
            ("switch 2", 0, 2),
            ("group 1", 1, 0),
            ("switch 3", 0, 1),
            ("machine", 2, 0),
        ];
        assert_eq!(names, expected);
        let ends: Vec<_> = drawing.cables.iter().map(|of| (of.ends, of.kind)).collect();
        assert_eq!(ends, [([0, 1], 0), ([1, 6], 1), ([2, 1], 0), ([3, 4], 0), ([4, 6], 1), ([5, 4], 0)]);
        assert_eq!((drawing.kinds.len(), tree().drawing(3)), (2, None));
    }
}
