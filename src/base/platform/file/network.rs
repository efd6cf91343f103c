//! Table `[network]` of a platform file: the topology of switches and links between nodes.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::config::{ConfigError, Document, Lines};
use crate::units::{Bandwidth, SimSpan};

use super::super::network::{
    Dragonfly, DragonflyRouting, FatTree, GroupSwitches, LinkLayer, LinkNetwork, MOST_LATENCIES, MOST_LINKS,
    SwitchGraph, SwitchTopology, Torus, TreeRouting,
};
use super::super::{Contention, Shape, UnreadKeys};
use super::link::LinkFile;
use super::values::PerLoad;

/// Greatest permitted number of levels of a fat tree, and of dimensions.
const MOST_LEVELS: usize = 8;

/// Greatest permitted number of cables and of nodes of a list, and of kinds of links.
const MOST_CABLES: usize = 1 << 22;
const MOST_KINDS: usize = 4096;

/// Table `[network]` of a platform file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkNetworkFile {
    topology: TopologyName,
    bandwidth: Option<PerLoad<Bandwidth>>,
    latency: Option<PerLoad<SimSpan>>,
    switch_latency: Option<SimSpan>,
    routing: Option<RoutingName>,
    seed: Option<u32>,
    down: Option<Vec<u32>>,
    up: Option<Vec<u32>>,
    parallel: Option<Vec<u32>>,
    dimensions: Option<Vec<u32>>,
    nodes_per_switch: Option<u32>,
    groups: Option<u32>,
    switches: Option<u32>,
    leaves: Option<u32>,
    spines: Option<u32>,
    local_links: Option<u32>,
    global_links: Option<u32>,
    planes: Option<u32>,
    file: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum TopologyName {
    Crossbar,
    FatTree,
    Torus,
    Mesh,
    Dragonfly,
    DragonflyPlus,
    Graph,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RoutingName {
    DModK,
    SModK,
    Random,
    Minimal,
    Valiant,
    Adaptive,
}

impl TopologyName {
    const fn name(self) -> &'static str {
        match self {
            TopologyName::Crossbar => "crossbar",
            TopologyName::FatTree => "fat_tree",
            TopologyName::Torus => "torus",
            TopologyName::Mesh => "mesh",
            TopologyName::Dragonfly => "dragonfly",
            TopologyName::DragonflyPlus => "dragonfly_plus",
            TopologyName::Graph => "graph",
        }
    }

    /// Keys of the topology.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            TopologyName::Crossbar => &[],
            TopologyName::FatTree => {
                &["bandwidth", "latency", "switch_latency", "planes", "routing", "seed", "down", "up", "parallel"]
            }
            TopologyName::Torus | TopologyName::Mesh => {
                &["bandwidth", "latency", "switch_latency", "planes", "dimensions", "parallel", "nodes_per_switch"]
            }
            TopologyName::Dragonfly => &[
                "bandwidth",
                "latency",
                "switch_latency",
                "planes",
                "routing",
                "seed",
                "groups",
                "switches",
                "nodes_per_switch",
                "local_links",
                "global_links",
            ],
            TopologyName::DragonflyPlus => &[
                "bandwidth",
                "latency",
                "switch_latency",
                "planes",
                "routing",
                "seed",
                "groups",
                "leaves",
                "spines",
                "nodes_per_switch",
                "local_links",
                "global_links",
            ],
            TopologyName::Graph => &["bandwidth", "latency", "switch_latency", "planes", "file"],
        }
    }
}

impl RoutingName {
    const fn name(self) -> &'static str {
        match self {
            RoutingName::DModK => "d_mod_k",
            RoutingName::SModK => "s_mod_k",
            RoutingName::Random => "random",
            RoutingName::Minimal => "minimal",
            RoutingName::Valiant => "valiant",
            RoutingName::Adaptive => "adaptive",
        }
    }
}

impl LinkNetworkFile {
    /// Creates the network; `None` for a crossbar. `between` is the level between nodes, whose factors also apply to
    /// links.
    pub fn network(
        &self,
        document: &Document,
        shape: Shape,
        between: &LinkFile,
    ) -> Result<Option<LinkNetwork>, ConfigError> {
        self.check_keys(document)?;
        let longer = |latency| between.latency_factor().of_span(latency + self.switch_latency.unwrap_or_default());
        let (topology, layers) = match self.topology {
            TopologyName::Crossbar => return Ok(None),
            TopologyName::FatTree => self.fat_tree(document)?,
            TopologyName::Torus | TopologyName::Mesh => self.torus(document)?,
            TopologyName::Dragonfly | TopologyName::DragonflyPlus => self.dragonfly(document)?,
            TopologyName::Graph => self.graph(document, &longer)?,
        };
        let layers = layers.into_iter().map(|layer| LinkLayer {
            latency: longer(layer.latency),
            bandwidth: layer.bandwidth.map(|of| between.bandwidth_factor().of_capacity(of)),
            ..layer
        });
        let planes = self.number(document, "planes", self.planes.or(Some(1)))?;
        let adapters = between.adapters();
        if planes > 1 && planes != adapters {
            let expected = format!("planes = {adapters}, one for each of the rails of [inter_node],");
            return Err(document.expected("network.planes", expected, planes));
        }
        let network = LinkNetwork::new(topology, layers.collect()).with_planes(planes);
        let network = network.ok_or_else(|| self.too_large(document))?;
        if network.rails() > 1 && (planes > 1 || network.rails() != adapters) {
            let expected = format!("a list with one switch per node, or {adapters} for the rails of [inter_node],");
            return Err(document.expected("network.file", expected, network.rails()));
        }
        if network.nodes() < shape.nodes {
            let expected = format!("a network of at least {} nodes, as in nct,", shape.nodes);
            return Err(document.expected("network", expected, format!("{} nodes", network.nodes())));
        }
        if network.classes() > MOST_LATENCIES {
            let expected = format!("latencies that give at most {MOST_LATENCIES} different latencies of paths");
            return Err(document.expected("network.latency", expected, "more"));
        }
        Ok(Some(network))
    }

    /// Returns the keys that have no effect under a contention model between nodes.
    pub fn unread(&self, contention: Contention) -> Option<UnreadKeys> {
        let stated = self.bandwidth.is_some() && contention != Contention::Fair;
        UnreadKeys::stated("network", &[("bandwidth", stated)])
    }

    fn check_keys(&self, document: &Document) -> Result<(), ConfigError> {
        let known = self.topology.keys();
        let stated = [
            ("bandwidth", self.bandwidth.is_some()),
            ("latency", self.latency.is_some()),
            ("switch_latency", self.switch_latency.is_some()),
            ("routing", self.routing.is_some()),
            ("seed", self.seed.is_some()),
            ("down", self.down.is_some()),
            ("up", self.up.is_some()),
            ("parallel", self.parallel.is_some()),
            ("dimensions", self.dimensions.is_some()),
            ("nodes_per_switch", self.nodes_per_switch.is_some()),
            ("groups", self.groups.is_some()),
            ("switches", self.switches.is_some()),
            ("leaves", self.leaves.is_some()),
            ("spines", self.spines.is_some()),
            ("local_links", self.local_links.is_some()),
            ("global_links", self.global_links.is_some()),
            ("planes", self.planes.is_some()),
            ("file", self.file.is_some()),
        ];
        match stated.into_iter().find(|(key, stated)| *stated && !known.contains(key)) {
            None => Ok(()),
            Some((key, _)) => {
                let name = self.topology.name();
                let expected = match known {
                    [] => format!("no other key with topology = \"{name}\","),
                    known => format!("one of {} with topology = \"{name}\",", known.join(", ")),
                };
                Err(document.expected("network", expected, format!("\"{key}\"")))
            }
        }
    }

    fn fat_tree(&self, document: &Document) -> Result<(SwitchTopology, Vec<LinkLayer>), ConfigError> {
        let down = self.numbers(document, "down", self.down.as_ref(), None)?;
        let [up, parallel] = [("up", &self.up), ("parallel", &self.parallel)]
            .map(|(key, of)| self.numbers(document, key, of.as_ref(), Some(down.len() - 1)));
        let routing = match self.routing {
            None | Some(RoutingName::DModK) => TreeRouting::Destination,
            Some(RoutingName::SModK) => TreeRouting::Source,
            Some(RoutingName::Random) => TreeRouting::Random,
            Some(other) => return Err(self.no_routing(document, "\"d_mod_k\", \"s_mod_k\" or \"random\"", other)),
        };
        let tree = FatTree::new(&down, &up?, &parallel?, routing, self.seed());
        let names = (1..down.len()).map(|level| match level {
            1 => "leaf to level 2".to_owned(),
            _ => format!("level {level} to {}", level + 1),
        });
        let tree = tree.ok_or_else(|| self.too_large(document))?;
        Ok((SwitchTopology::FatTree(tree), self.layers(document, names.collect())?))
    }

    fn torus(&self, document: &Document) -> Result<(SwitchTopology, Vec<LinkLayer>), ConfigError> {
        let sizes = self.numbers(document, "dimensions", self.dimensions.as_ref(), None)?;
        let parallel = self.numbers(document, "parallel", self.parallel.as_ref(), Some(sizes.len()))?;
        let nodes = self.number(document, "nodes_per_switch", self.nodes_per_switch.or(Some(1)))?;
        let torus = Torus::new(&sizes, &parallel, self.topology == TopologyName::Torus, nodes);
        let torus = torus.ok_or_else(|| self.too_large(document))?;
        let names = (1..=sizes.len()).map(|number| format!("dimension {number}")).collect();
        Ok((SwitchTopology::Torus(torus), self.layers(document, names)?))
    }

    fn dragonfly(&self, document: &Document) -> Result<(SwitchTopology, Vec<LinkLayer>), ConfigError> {
        let groups = self.number(document, "groups", self.groups)?;
        let nodes = self.number(document, "nodes_per_switch", self.nodes_per_switch)?;
        let switches = match self.topology {
            TopologyName::DragonflyPlus => GroupSwitches::LeafSpine {
                leaves: self.number(document, "leaves", self.leaves)?,
                spines: self.number(document, "spines", self.spines)?,
            },
            _ => GroupSwitches::AllToAll(self.number(document, "switches", self.switches)?),
        };
        let local = self.number(document, "local_links", self.local_links.or(Some(1)))?;
        let global = self.number(document, "global_links", self.global_links.or(Some(1)))?;
        let routing = match self.routing {
            None | Some(RoutingName::Minimal) => DragonflyRouting::Minimal,
            Some(RoutingName::Valiant) => DragonflyRouting::Valiant,
            Some(RoutingName::Adaptive) => DragonflyRouting::Adaptive,
            Some(other) => return Err(self.no_routing(document, "\"minimal\", \"valiant\" or \"adaptive\"", other)),
        };
        let dragonfly = Dragonfly::new(groups, switches, nodes, [local, global], (routing, self.seed()));
        let dragonfly = dragonfly.ok_or_else(|| self.too_large(document))?;
        let names = ["local", "global"].map(str::to_owned).into();
        Ok((SwitchTopology::Dragonfly(dragonfly), self.layers(document, names)?))
    }

    fn graph(
        &self,
        document: &Document,
        longer: &dyn Fn(SimSpan) -> SimSpan,
    ) -> Result<(SwitchTopology, Vec<LinkLayer>), ConfigError> {
        let Some(file) = &self.file else {
            return Err(document.missing("network", "file", "a list of nodes, switches and links"));
        };
        let usual = self.layers(document, vec![String::new()])?.remove(0);
        let path = Path::new(document.name()).parent().unwrap_or(Path::new("")).join(file);
        graph(&Lines::read(&path)?, &usual, longer)
    }

    fn seed(&self) -> u64 {
        self.seed.unwrap_or(1).into()
    }

    /// Returns the layers with the stated values: one value for all layers, or a list with a value per layer.
    fn layers(&self, document: &Document, names: Vec<String>) -> Result<Vec<LinkLayer>, ConfigError> {
        let count = names.len();
        let bandwidths = each(document, "bandwidth", self.bandwidth.as_ref(), count)?;
        let latencies = each(document, "latency", self.latency.as_ref(), count)?;
        let of = |(name, (bandwidth, latency)): (String, (Option<Bandwidth>, Option<SimSpan>))| LinkLayer {
            name,
            bandwidth,
            latency: latency.unwrap_or_default(),
        };
        Ok(names.into_iter().zip(bandwidths.into_iter().zip(latencies)).map(of).collect())
    }

    /// Returns a list of numbers of at least 1: the stated list, which has `length` entries if stated; otherwise ones.
    fn numbers(
        &self,
        document: &Document,
        key: &str,
        stated: Option<&Vec<u32>>,
        length: Option<usize>,
    ) -> Result<Vec<u32>, ConfigError> {
        let path = format!("network.{key}");
        let Some(stated) = stated else {
            let length = length.ok_or_else(|| document.missing("network", key, "a list of numbers such as [16, 4]"))?;
            return Ok(vec![1; length]);
        };
        let expected = match length {
            Some(length) if stated.len() != length => match length {
                1 => "a list of one number".to_owned(),
                _ => format!("a list of {length} numbers"),
            },
            _ if stated.is_empty() || stated.len() > MOST_LEVELS => format!("1 to {MOST_LEVELS} numbers"),
            _ if stated.contains(&0) => "numbers of at least 1".to_owned(),
            _ => return Ok(stated.clone()),
        };
        Err(document.expected(&path, expected, format!("{stated:?}")))
    }

    fn number(&self, document: &Document, key: &str, stated: Option<u32>) -> Result<u32, ConfigError> {
        match stated {
            None => Err(document.missing("network", key, "a number of at least 1")),
            Some(0) => Err(document.expected(&format!("network.{key}"), "a number of at least 1", 0)),
            Some(number) => Ok(number),
        }
    }

    fn no_routing(&self, document: &Document, expected: &str, found: RoutingName) -> ConfigError {
        let expected = format!("{expected} with topology = \"{}\"", self.topology.name());
        document.expected("network.routing", expected, format!("\"{}\"", found.name()))
    }

    fn too_large(&self, document: &Document) -> ConfigError {
        document.expected("network", format!("fewer than {MOST_LINKS} nodes and links"), "more")
    }
}

/// Returns the value of each of `count` layers.
fn each<T: Copy>(
    document: &Document,
    key: &str,
    stated: Option<&PerLoad<T>>,
    count: usize,
) -> Result<Vec<Option<T>>, ConfigError> {
    match stated {
        None => Ok(vec![None; count]),
        Some(PerLoad::All(value)) => Ok(vec![Some(*value); count]),
        Some(PerLoad::Each(values)) if values.len() == count => Ok(values.iter().copied().map(Some).collect()),
        Some(PerLoad::Each(values)) => {
            let expected = format!("one value, or {count}, as many as kinds of links");
            Err(document.expected(&format!("network.{key}"), expected, values.len()))
        }
    }
}

impl LinkNetwork {
    /// Reads a list of switches and links. Links without a stated bandwidth have no limit.
    ///
    /// # Errors
    /// A line has another form, or nodes have no path between them. The error names the line.
    pub fn of_list(name: &str, text: &str) -> Result<LinkNetwork, ConfigError> {
        let usual = LinkLayer { name: String::new(), bandwidth: None, latency: SimSpan::ZERO };
        let (topology, layers) = graph(&Lines::parse(name, text), &usual, &|latency| latency)?;
        Ok(LinkNetwork::new(topology, layers))
    }
}

/// Greatest number of adapters of a node in a list of switches and links.
const MOST_RAILS: usize = 16;

/// Statements of a list of switches and links.
const STATEMENTS: &str = "\"link SWITCH SWITCH [COUNT] [BANDWIDTH] [LATENCY]\", \"node NUMBER SWITCH…\" or \
    \"nodes FIRST-LAST SWITCH\"";

/// Reads a list of switches and links. Links have the properties `usual`, unless their line states others. `longer`
/// returns the latency of a link with the switch at its end.
fn graph(
    lines: &Lines,
    usual: &LinkLayer,
    longer: &dyn Fn(SimSpan) -> SimSpan,
) -> Result<(SwitchTopology, Vec<LinkLayer>), ConfigError> {
    let mut numbers: BTreeMap<String, u32> = BTreeMap::new();
    let mut names = Vec::new();
    let mut switch = |name: &str| {
        *numbers.entry(name.to_owned()).or_insert_with(|| {
            names.push(name.to_owned());
            names.len() as u32 - 1
        })
    };
    let mut layers: Vec<LinkLayer> = Vec::new();
    let mut cables = Vec::new();
    let mut switches_of: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    let mut rails = None;
    for (number, line) in lines.iter() {
        let wrong = |expected: &str| Err(lines.expected(number, expected, line));
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["link", from, to, rest @ ..] => {
                let ends = [switch(from), switch(to)];
                if ends[0] == ends[1] {
                    return wrong("a link between two switches");
                }
                let (mut count, mut layer) = (1, usual.clone());
                for word in rest {
                    if let Ok(stated) = word.parse::<u16>() {
                        count = stated;
                    } else if let Ok(bandwidth) = word.parse() {
                        layer.bandwidth = Some(bandwidth);
                    } else if let Ok(latency) = word.parse() {
                        layer.latency = latency;
                    } else {
                        return wrong("a number of links, a bandwidth such as 25GB/s, or a latency such as 100ns");
                    }
                }
                let known = layers.iter().position(|of| (of.bandwidth, of.latency) == (layer.bandwidth, layer.latency));
                let at = known.unwrap_or_else(|| {
                    let width = layer.bandwidth.map_or_else(|| "no limit".to_owned(), |of| of.to_string());
                    layers.push(LinkLayer { name: format!("{width}, {}", layer.latency), ..layer });
                    layers.len() - 1
                });
                if layers.len() > MOST_KINDS || cables.len() + usize::from(count) > MOST_CABLES {
                    return wrong(&format!("at most {MOST_KINDS} kinds of links and {MOST_CABLES} links"));
                }
                cables.extend((0..count).map(|_| (ends, at as u16)));
            }
            [word @ ("node" | "nodes"), range, names @ ..] if !names.is_empty() => {
                let (first, last) = range.split_once('-').filter(|_| *word == "nodes").unwrap_or((range, range));
                let (Ok(first), Ok(last)) = (first.parse::<u32>(), last.parse::<u32>()) else {
                    return wrong("the number of a node, or FIRST-LAST after \"nodes\",");
                };
                if first > last || last as usize >= MOST_CABLES {
                    return wrong(&format!("an ascending range of nodes below {MOST_CABLES}"));
                }
                if *rails.get_or_insert(names.len()) != names.len() || names.len() > MOST_RAILS {
                    return wrong("as many switches as other nodes have, one per adapter,");
                }
                let all: Vec<u32> = names.iter().map(|name| switch(name)).collect();
                for node in first..=last {
                    if switches_of.insert(node, all.clone()).is_some() {
                        return wrong("each node once");
                    }
                }
            }
            _ => return wrong(STATEMENTS),
        }
    }
    let of_nodes: Vec<&Vec<u32>> = (0..).map_while(|node| switches_of.get(&node)).collect();
    if of_nodes.len() < switches_of.len() || of_nodes.is_empty() {
        let expected = "consecutive numbers of nodes from 0";
        return Err(lines.expected_in_all(expected, format!("no node {}", of_nodes.len())));
    }
    let latencies = layers.iter().map(|layer| longer(layer.latency)).collect();
    let of_rail = |rail: usize| of_nodes.iter().map(|of| of[rail]).collect();
    let switches = (0..rails.unwrap_or(1)).map(of_rail).collect();
    let graph = SwitchGraph::new(names, switches, &cables, latencies);
    if let Some([from, to]) = graph.parted() {
        let expected = "a path of links between all nodes";
        return Err(lines.expected_in_all(expected, format!("none between nodes {from} and {to}")));
    }
    Ok((SwitchTopology::Graph(graph), layers))
}
