//! Tables `[places.NAME]` of a platform file: domains of cores within a CMP, groups of nodes, and costs of messages
//! within domains and groups.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;

use crate::config::{ConfigError, Document, Lines};
use crate::units::{Bandwidth, Bytes, SimSpan};

use super::super::{Contention, Domain, Level, Link, LinkNetwork, Members, NodeGroup, PairClasses, Places, Shape};
use super::link::{IntervalFile, LinkFile};
use super::values::PerLoad;

/// Names of the places that every machine has.
const RESERVED: [&str; 5] = ["core", "cmp", "socket", "node", "machine"];

/// Greatest permitted number of kinds of domains, and of kinds of groups.
const MOST_KINDS: usize = 8;

/// Table `[places.NAME]` of a platform file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlaceFile {
    /// Number of cores of a domain within a CMP.
    cores: Option<u32>,
    /// Number of nodes of a group, or name of the file that assigns nodes to groups.
    nodes: Option<NodesKey>,
    cache: Option<Bytes>,
    memory_bandwidth: Option<Bandwidth>,
    uplink_latency: Option<SimSpan>,
    uplink_bandwidth: Option<Bandwidth>,
    handshake: Option<SimSpan>,
    latency: Option<PerLoad<SimSpan>>,
    bandwidth: Option<PerLoad<Bandwidth>>,
    send_overhead: Option<PerLoad<SimSpan>>,
    recv_overhead: Option<PerLoad<SimSpan>>,
    send_bandwidth: Option<Bandwidth>,
    recv_bandwidth: Option<Bandwidth>,
    gap: Option<PerLoad<SimSpan>>,
    copy_bandwidth: Option<Bandwidth>,
    copy_count: Option<u32>,
    loads: Option<Vec<u32>>,
    interval: Option<Vec<IntervalFile>>,
}

/// Key `nodes` of a place: `nodes = 16` or `nodes = "FILE"`.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum NodesKey {
    Number(u32),
    File(String),
}

/// The places of a machine, and the costs of messages between cores whose least common place is one of these places.
pub(super) struct StatedPlaces<'a> {
    pub places: Places,
    /// Table of each kind of domain, then of each kind of group.
    files: Vec<&'a PlaceFile>,
}

/// Replaces a value of a level, and of the level's size intervals, by the value of a place.
macro_rules! replace {
    ($level:ident, $place:expr, $($key:ident)*) => {
        $(if $place.$key.is_some() {
            $level.$key.clone_from(&$place.$key);
            if $place.interval.is_none() {
                $level.interval.iter_mut().flatten().for_each(|interval| interval.$key = None);
            }
        })*
    };
}

impl<'a> StatedPlaces<'a> {
    /// Reads and checks all places of a machine of `shape`. `between` is the level between nodes. A relative file name
    /// is relative to the directory of the platform file.
    pub fn read(
        document: &Document,
        stated: &'a BTreeMap<String, PlaceFile>,
        shape: Shape,
        between: (&LinkFile, Contention),
        network: Option<LinkNetwork>,
    ) -> Result<StatedPlaces<'a>, ConfigError> {
        let (mut domains, mut groups) = (Vec::new(), Vec::new());
        for (name, place) in stated {
            if RESERVED.contains(&name.as_str()) {
                let expected = "a name other than core, cmp, socket, node and machine, which every machine has,";
                return Err(document.expected(&format!("places.{name}"), expected, format!("\"{name}\"")));
            }
            match (place.cores, &place.nodes) {
                (Some(cores), None) => domains.push((place.domain(document, name, cores, shape)?, place)),
                (None, Some(nodes)) => {
                    groups.push((place.group(document, name, nodes, shape, between)?, place));
                }
                (stated_cores, _) => {
                    let found = if stated_cores.is_some() { "both" } else { "neither" };
                    let expected = "\"cores\" for a domain within a CMP, or \"nodes\" for a group of nodes,";
                    return Err(document.expected(&format!("places.{name}"), expected, found));
                }
            }
        }
        if domains.len() > MOST_KINDS || groups.len() > MOST_KINDS {
            let expected = format!("at most {MOST_KINDS} kinds of domains and {MOST_KINDS} kinds of groups");
            return Err(document.expected("places", expected, domains.len().max(groups.len())));
        }
        if network.is_some() {
            let stated = groups.iter().find_map(|(group, place)| {
                let key = [
                    ("uplink_latency", place.uplink_latency.is_some()),
                    ("uplink_bandwidth", place.uplink_bandwidth.is_some()),
                    ("costs of messages", place.states_costs()),
                ];
                key.into_iter().find(|(_, stated)| *stated).map(|(key, _)| (group, key))
            });
            if let Some((group, key)) = stated {
                let expected = "either [network], or groups of nodes with uplinks or costs";
                return Err(document.expected(&format!("places.{}", group.name), expected, format!("both, by {key}")));
            }
        }
        domains.sort_by_key(|(domain, _)| domain.cores);
        // Of two nested kinds of groups, the kind with more groups has the smaller groups.
        groups.sort_by_key(|(group, _)| std::cmp::Reverse(count(group, shape.nodes)));
        for (key, has) in [
            ("cache", (|domain| domain.cache.is_some()) as fn(&Domain) -> bool),
            ("memory_bandwidth", |domain| domain.memory.is_some()),
        ] {
            let mut all = domains.iter().filter(|(domain, _)| has(domain));
            if let (Some((first, _)), Some((second, _))) = (all.next(), all.next()) {
                let expected = format!("one kind of domain with \"{key}\"");
                let found = format!("also places.{}", first.name);
                return Err(document.expected(&format!("places.{}.{key}", second.name), expected, found));
            }
        }
        for pair in domains.windows(2) {
            check_domains(document, &pair[0], &pair[1])?;
        }
        for pair in groups.windows(2) {
            check_groups(document, &pair[0].0, &pair[1].0, shape.nodes)?;
        }
        let files = domains.iter().map(|(_, place)| *place).chain(groups.iter().map(|(_, place)| *place)).collect();
        let places = Places {
            domains: domains.into_iter().map(|(domain, _)| domain).collect(),
            groups: groups.into_iter().map(|(group, _)| group).collect(),
            network: network.map(Arc::new),
            hosts: Vec::new(),
        };
        Ok(StatedPlaces { places, files })
    }

    /// Returns the costs of messages by the least common place of the two cores, if these costs differ from the costs
    /// of the levels.
    ///
    /// A place without stated costs has the costs of the next larger place, and the largest place has the costs of the
    /// level. The latencies of uplinks are added.
    pub fn classes(
        &self,
        document: &Document,
        shape: Shape,
        files: [&LinkFile; 3],
        links: &[Link; 3],
    ) -> Result<Option<PairClasses>, ConfigError> {
        let Places { domains, groups, network, .. } = &self.places;
        let names = domains.iter().map(|domain| &domain.name).chain(groups.iter().map(|group| &group.name));
        let names: Vec<&String> = names.collect();
        let of_network = network.as_ref().map_or(0, |network| network.classes());
        let has_latency = groups.iter().any(|group| group.uplink_latency > SimSpan::ZERO)
            || (0..of_network).any(|class| self.places.added_latency(domains.len() + class) > SimSpan::ZERO);
        if !self.files.iter().any(|place| place.states_costs()) && !has_latency {
            return Ok(None);
        }
        let mut of_classes = Vec::with_capacity(self.places.cost_classes());
        let kinds = [(Level::IntraCmp, 0..domains.len()), (Level::InterNode, domains.len()..names.len())];
        for (level, range) in kinds {
            let (file, usual) = (files[level as usize], &links[level as usize]);
            let mut larger = usual.clone();
            let mut of_level = Vec::new();
            for place in range.rev() {
                if self.files[place].states_costs() {
                    larger = self.files[place].link(document, (level, file), shape.cmps, names[place])?;
                }
                of_level.push(larger.clone());
            }
            of_classes.extend(of_level.into_iter().rev());
        }
        // Pairs of nodes without a common group have the link of the level between nodes, and so have all pairs of a
        // machine with a network.
        let between = &links[Level::InterNode as usize];
        match network {
            None => of_classes.push(between.clone()),
            Some(_) => {
                of_classes.truncate(domains.len());
                of_classes.resize(self.places.cost_classes(), between.clone());
            }
        }
        for (class, link) in of_classes.iter_mut().enumerate().skip(domains.len()) {
            *link = link.clone().with_added_latency(self.places.added_latency(class));
        }
        Ok(Some(PairClasses::of_places(shape, Arc::new(self.places.clone()), of_classes)))
    }
}

impl PlaceFile {
    fn domain(&self, document: &Document, name: &str, cores: u32, shape: Shape) -> Result<Domain, ConfigError> {
        let path = format!("places.{name}");
        if cores == 0 || !shape.cores.is_multiple_of(cores) {
            let expected = format!("a divisor of {}, the cores of a CMP", shape.cores);
            return Err(document.expected(&format!("{path}.cores"), expected, cores));
        }
        let of_groups = [
            ("uplink_latency", self.uplink_latency.map(|stated| stated.to_string())),
            ("uplink_bandwidth", self.uplink_bandwidth.map(|stated| stated.to_string())),
        ];
        for (key, found) in of_groups {
            if let Some(found) = found {
                let expected = format!("no \"{key}\", which only groups of nodes have,");
                return Err(document.expected(&format!("{path}.{key}"), expected, found));
            }
        }
        Ok(Domain { name: name.to_owned(), cores, cache: self.cache, memory: self.memory_bandwidth })
    }

    fn group(
        &self,
        document: &Document,
        name: &str,
        nodes: &NodesKey,
        shape: Shape,
        (between, contention): (&LinkFile, Contention),
    ) -> Result<NodeGroup, ConfigError> {
        let path = format!("places.{name}");
        let of_domains = [
            ("cache", self.cache.map(|stated| stated.to_string())),
            ("memory_bandwidth", self.memory_bandwidth.map(|stated| stated.to_string())),
            ("copy_bandwidth", self.copy_bandwidth.map(|stated| stated.to_string())),
            ("copy_count", self.copy_count.map(|stated| stated.to_string())),
        ];
        for (key, found) in of_domains {
            if let Some(found) = found {
                let expected = format!("no \"{key}\", which only domains within a CMP have,");
                return Err(document.expected(&format!("{path}.{key}"), expected, found));
            }
        }
        if let Some(found) = self.uplink_bandwidth.filter(|_| contention != Contention::Fair) {
            let expected =
                "contention = \"fair\" in [inter_node] with it, because transfers of many nodes share an uplink,";
            return Err(document.expected(&format!("{path}.uplink_bandwidth"), expected, found));
        }
        let members = match nodes {
            NodesKey::Number(0) => {
                return Err(document.expected(&format!("{path}.nodes"), "at least 1 node", 0));
            }
            NodesKey::Number(nodes) => Members::Blocks(*nodes),
            NodesKey::File(file) => {
                let path = Path::new(document.name()).parent().unwrap_or(Path::new("")).join(file);
                Members::List(listed(&Lines::read(&path)?, name, shape.nodes)?)
            }
        };
        let uplink_latency = self.uplink_latency.map_or(SimSpan::ZERO, |span| between.latency_factor().of_span(span));
        let uplink = self.uplink_bandwidth.map(|stated| between.bandwidth_factor().of_capacity(stated));
        Ok(NodeGroup { name: name.to_owned(), members, uplink_latency, uplink })
    }

    /// Returns true if the place states costs of messages.
    fn states_costs(&self) -> bool {
        let PlaceFile { send_overhead, recv_overhead, send_bandwidth, recv_bandwidth, gap, copy_bandwidth, .. } = self;
        [send_overhead, recv_overhead, gap].into_iter().any(Option::is_some)
            || self.handshake.is_some()
            || [*send_bandwidth, *recv_bandwidth, *copy_bandwidth].iter().any(Option::is_some)
            || self.latency.is_some()
            || self.bandwidth.is_some()
            || self.copy_count.is_some()
            || self.loads.is_some()
            || self.interval.is_some()
    }

    /// Returns the link of messages whose least common place is the place `name`, which lies within `level`. Size
    /// intervals of the place replace all size intervals of the level. Any other value of the place replaces the value
    /// of every size interval. Values that the place does not state are the values of the level.
    fn link(
        &self,
        document: &Document,
        (level, usual): (Level, &LinkFile),
        cmps: u32,
        name: &str,
    ) -> Result<Link, ConfigError> {
        let mut file = usual.clone();
        if self.interval.is_some() {
            file.interval.clone_from(&self.interval);
        }
        replace!(file, self, latency bandwidth send_overhead recv_overhead send_bandwidth recv_bandwidth gap
            copy_bandwidth copy_count loads);
        if self.handshake.is_some() || self.latency.is_some() || self.interval.is_some() {
            // Control messages cross the same distance as data, so the handshake of the level does not apply to the
            // messages of a place.
            file.handshake = self.handshake;
        }
        file.link_at(document, level, cmps, &format!("places.{name}"))
    }
}

/// Returns the number of groups of a kind on a machine of `nodes` nodes.
fn count(group: &NodeGroup, nodes: u32) -> usize {
    match &group.members {
        Members::Blocks(size) => nodes.div_ceil(*size) as usize,
        Members::List(of) => of.iter().max().map_or(0, |last| *last as usize + 1),
    }
}

/// Checks that domains of two kinds are nested. Two kinds of equal domains are two names of the same domains, of which
/// one states the costs of messages.
fn check_domains(
    document: &Document,
    (smaller, costs): &(Domain, &PlaceFile),
    (larger, larger_costs): &(Domain, &PlaceFile),
) -> Result<(), ConfigError> {
    if !larger.cores.is_multiple_of(smaller.cores) {
        let expected = format!("a multiple of {}, the cores of places.{},", smaller.cores, smaller.name);
        return Err(document.expected(&format!("places.{}.cores", larger.name), expected, larger.cores));
    }
    if smaller.cores == larger.cores && costs.states_costs() && larger_costs.states_costs() {
        let expected = format!("no costs of messages, which places.{} of the same cores states,", smaller.name);
        return Err(document.expected(&format!("places.{}", larger.name), expected, "costs"));
    }
    Ok(())
}

/// Checks that each group of the smaller kind lies in one group of the larger kind.
fn check_groups(document: &Document, smaller: &NodeGroup, larger: &NodeGroup, nodes: u32) -> Result<(), ConfigError> {
    let path = format!("places.{}.nodes", larger.name);
    if let (Members::Blocks(small), Members::Blocks(large)) = (&smaller.members, &larger.members) {
        if large.is_multiple_of(*small) && large > small {
            return Ok(());
        }
        let expected = format!("a multiple of {small}, the nodes of places.{}, and more,", smaller.name);
        return Err(document.expected(&path, expected, large));
    }
    let listed = [smaller, larger].into_iter().filter_map(|group| match &group.members {
        Members::Blocks(_) => None,
        Members::List(of) => Some(of.len() as u32),
    });
    // For each group of the smaller kind, the group of the larger kind that contains it, and the first node of the
    // smaller group.
    let mut around = BTreeMap::new();
    for node in 0..listed.min().unwrap_or(nodes) {
        let (first, large) = *around.entry(smaller.of(node)).or_insert((node, larger.of(node)));
        if large != larger.of(node) {
            let expected = format!("one group of {} around each group of {}", larger.name, smaller.name);
            let found = format!(
                "nodes {first} and {node}, which share a group of {} and no group of {}",
                smaller.name, larger.name
            );
            return Err(document.expected(&path, expected, found));
        }
    }
    Ok(())
}

/// Returns the group of each node from the column `place` of a list. The first line of the list names the columns, such
/// as `node switch group`. Each other line has the number of a node and the names of the node's groups.
fn listed(lines: &Lines, place: &str, nodes: u32) -> Result<Vec<u32>, ConfigError> {
    let mut all = lines.iter();
    let Some((number, head)) = all.next() else {
        return Err(lines.expected_in_all("a first line that names the columns, such as \"node switch group\"", "none"));
    };
    let columns: Vec<&str> = head.split_whitespace().collect();
    let column = columns.iter().skip(1).position(|name| *name == place);
    let Some(column) = column.filter(|_| columns[0] == "node").map(|column| column + 1) else {
        let expected = format!("columns \"node\" and \"{place}\", such as \"node {place}\"");
        return Err(lines.expected(number, expected, head));
    };
    let mut group_of: BTreeMap<u32, u32> = BTreeMap::new();
    let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
    for (number, line) in all {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.len() != columns.len() {
            return Err(lines.expected(number, format!("{} words, as in the first line,", columns.len()), line));
        }
        let node = words[0].parse::<u32>().ok().filter(|node| *node < Shape::MOST_CORES);
        let Some(node) = node else {
            return Err(lines.expected(number, "the number of a node, from 0,", words[0]));
        };
        let next = numbers.len() as u32;
        if group_of.insert(node, *numbers.entry(words[column]).or_insert(next)).is_some() {
            return Err(lines.expected(number, "each node once", line));
        }
    }
    // The list may have more nodes, for a larger shape of the machine.
    let listed: Vec<u32> = (0..).map_while(|node| group_of.get(&node).copied()).collect();
    if listed.len() < nodes as usize {
        let expected = format!("a line for each of the machine's {nodes} nodes");
        return Err(lines.expected_in_all(expected, format!("no node {}", listed.len())));
    }
    Ok(listed)
}
