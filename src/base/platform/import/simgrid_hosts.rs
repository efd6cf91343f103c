//! XML files of SimGrid whose zone has hosts, routers, links and routes.
//!
//! SimGrid's routes are lists of links without switches between them. The switches are the ends that consecutive links
//! have in common. The result is a list of switches and links, on which paths have the fewest links. Explicit routes
//! of other lengths are errors.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write as _;

use roxmltree::{Document, Node};

use crate::config::ConfigError;
use crate::units::{Bandwidth, SimSpan};

use super::simgrid::{bandwidth, latency};
use super::{ImportedPlaces, hosts_key, shown};

/// Greatest number of hosts in a file whose explicit routes are compared with paths.
const MOST_COMPARED: usize = 4096;

/// A zone with the name of its file.
pub(super) struct Zone<'a> {
    pub name: &'a str,
    pub document: &'a Document<'a>,
    pub root: Node<'a, 'a>,
}

/// A link of the file.
#[derive(Clone, Debug)]
struct XmlLink {
    bandwidth: Option<Bandwidth>,
    latency: SimSpan,
    /// Points at both ends, once a route passes the link.
    ends: [Option<usize>; 2],
}

/// A route between two points.
struct XmlRoute<'a> {
    node: Node<'a, 'a>,
    points: [usize; 2],
    links: Vec<usize>,
}

/// Points of a zone as sets that are merged.
#[derive(Default)]
struct Points(Vec<usize>);

impl Points {
    fn add(&mut self) -> usize {
        self.0.push(self.0.len());
        self.0.len() - 1
    }

    fn find(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn merge(&mut self, a: usize, b: usize) {
        let [a, b] = [self.find(a), self.find(b)];
        self.0[a.max(b)] = a.min(b);
    }

    fn same(&mut self, a: usize, b: usize) -> bool {
        self.find(a) == self.find(b)
    }
}

/// Switches and links that result from the routes.
struct SwitchCables {
    /// Name of each host, and its switch.
    hosts: Vec<(String, usize)>,
    /// Ends and link of each cable.
    cables: Vec<([usize; 2], usize)>,
    /// Link of a host to its switch, if all hosts have equal links to switches.
    adapter: Option<usize>,
}

impl<'a> Zone<'a> {
    fn expected(&self, node: Node<'_, '_>, expected: &str, found: impl std::fmt::Display) -> ConfigError {
        let line = self.document.text_pos_at(node.range().start).row;
        ConfigError::new(format!("{}:{line}: expected {expected}; found {found}", self.name))
    }

    fn needed(&self, node: Node<'a, 'a>, key: &str) -> Result<&'a str, ConfigError> {
        let tag = node.tag_name().name();
        node.attribute(key).ok_or_else(|| self.expected(node, &format!("{key}=\"…\" in <{tag}>"), "none"))
    }

    /// Converts the zone. `list` is the name of the list of switches and links.
    pub fn convert(&self, list: &str) -> Result<ImportedPlaces, ConfigError> {
        let hosts: Vec<Node<'_, '_>> = self.all("host").collect();
        let zone = hosts.first().and_then(|host| host.parent()).unwrap_or(self.root);
        if hosts.is_empty() {
            return Err(self.expected(self.root, "one element <cluster>, or a zone with <host>,", "none"));
        }
        let unread = ["peer", "cabinet", "zoneRoute", "ASroute", "bypassRoute", "bypassZoneRoute", "backbone"];
        if let Some(other) = self.root.descendants().find(|node| unread.contains(&node.tag_name().name())) {
            let found = format!("<{}>", other.tag_name().name());
            return Err(self.expected(other, "hosts, routers, links and routes of one zone", found));
        }
        if let Some(host) = hosts.iter().find(|host| host.parent() != Some(zone)) {
            return Err(self.expected(*host, "all hosts in one zone", "a host of another zone"));
        }
        let mut notes = Vec::new();
        let mut points = Points::default();
        let mut ids: HashMap<&str, usize> = HashMap::new();
        for node in hosts.iter().copied().chain(self.all("router")) {
            if ids.insert(self.needed(node, "id")?, points.add()).is_some() {
                return Err(self.expected(node, "an id that no other host or router has", "a second one"));
            }
        }
        let cores = self.cores(&hosts)?;
        let (mut links, numbers) = self.links(&mut notes)?;
        let routes = self.routes(&ids, &numbers, &mut notes)?;
        for route in &routes {
            walk(route, &mut links, &mut points);
        }
        let names: Vec<&str> = hosts.iter().map(|host| host.attribute("id").unwrap_or("")).collect();
        let graph = joined(&names, &links, &mut points, &mut notes);
        let is_explicit = zone.attribute("routing").is_none_or(|routing| routing == "Full");
        let shortest = Shortest::new(&graph, &links, points.0.len());
        if is_explicit && names.len() <= MOST_COMPARED {
            self.compare(&routes, &shortest, &graph, names.len())?;
        } else {
            notes.push("paths have the fewest links, and the least latency among such paths".to_owned());
        }
        let nearest = match graph.adapter.map(|link| &links[link]) {
            Some(link) => (link.latency * 2 + shortest.nearest(&graph).0, link.bandwidth),
            None => shortest.nearest(&graph),
        };
        Ok(self.written(&graph, &links, (list, cores, nearest), notes))
    }

    fn all(&self, tag: &'static str) -> impl Iterator<Item = Node<'a, 'a>> + use<'a> {
        self.root.descendants().filter(move |node| node.has_tag_name(tag))
    }

    fn cores(&self, hosts: &[Node<'a, 'a>]) -> Result<u32, ConfigError> {
        let mut found = None;
        for host in hosts {
            let text = host.attribute("core").unwrap_or("1");
            let number = text.parse::<u32>().ok().filter(|cores| (1..=1 << 16).contains(cores));
            let number = number.ok_or_else(|| self.expected(*host, "a number of cores such as core=\"4\"", text))?;
            if *found.get_or_insert(number) != number {
                return Err(self.expected(*host, "as many cores as the other hosts have", text));
            }
        }
        Ok(found.unwrap_or(1))
    }

    fn links(&self, notes: &mut Vec<String>) -> Result<(Vec<XmlLink>, HashMap<&'a str, usize>), ConfigError> {
        let (mut links, mut numbers) = (Vec::new(), HashMap::new());
        let (mut shared, mut unlimited) = (0, 0);
        for node in self.all("link") {
            let wrong = |expected: &str, text: &str| self.expected(node, expected, format!("\"{text}\""));
            let text = self.needed(node, "bandwidth")?;
            let bandwidth = bandwidth(text).ok_or_else(|| wrong("a bandwidth such as bandwidth=\"1GBps\"", text))?;
            let text = node.attribute("latency").unwrap_or("0");
            let latency = latency(text).ok_or_else(|| wrong("a time such as latency=\"5us\"", text))?;
            let policy = node.attribute("sharing_policy").unwrap_or("SHARED");
            shared += u32::from(policy == "SHARED");
            unlimited += u32::from(policy == "FATPIPE");
            let bandwidth = Some(bandwidth).filter(|_| policy != "FATPIPE");
            if numbers.insert(self.needed(node, "id")?, links.len()).is_some() {
                return Err(self.expected(node, "an id that no other link has", "a second one"));
            }
            links.push(XmlLink { bandwidth, latency, ends: [None; 2] });
        }
        if shared > 0 {
            notes.push(format!("{shared} links are SHARED in SimGrid: here both directions are independent"));
        }
        if unlimited > 0 {
            notes.push(format!("{unlimited} links are FATPIPE: they have no limit"));
        }
        Ok((links, numbers))
    }

    fn routes(
        &self,
        ids: &HashMap<&str, usize>,
        links: &HashMap<&str, usize>,
        notes: &mut Vec<String>,
    ) -> Result<Vec<XmlRoute<'a>>, ConfigError> {
        let (mut routes, mut loopbacks) = (Vec::new(), 0);
        for node in self.all("route") {
            let point = |key| {
                let id = self.needed(node, key)?;
                let known = ids.get(id).copied();
                known.ok_or_else(|| self.expected(node, &format!("a host or router as {key}"), format!("\"{id}\"")))
            };
            let points = [point("src")?, point("dst")?];
            let mut passed = Vec::new();
            for link in node.children().filter(|child| child.has_tag_name("link_ctn")) {
                let id = self.needed(link, "id")?;
                let known = links.get(id).copied();
                passed.push(known.ok_or_else(|| self.expected(link, "the id of a link", format!("\"{id}\"")))?);
            }
            if points[0] == points[1] {
                loopbacks += 1;
            } else if passed.is_empty() {
                return Err(self.expected(node, "<link_ctn id=\"…\"/> in a route", "none"));
            } else {
                routes.push(XmlRoute { node, points, links: passed });
            }
        }
        if loopbacks > 0 {
            notes.push(format!("{loopbacks} routes of hosts to themselves are left out"));
        }
        Ok(routes)
    }

    /// Checks that explicit routes between hosts have the links of the shortest paths.
    fn compare(
        &self,
        routes: &[XmlRoute<'_>],
        shortest: &Shortest,
        graph: &SwitchCables,
        hosts: usize,
    ) -> Result<(), ConfigError> {
        let is_cable: HashSet<usize> = graph.cables.iter().map(|(_, link)| *link).collect();
        let mut from: BTreeMap<usize, Vec<&XmlRoute<'_>>> = BTreeMap::new();
        for route in routes.iter().filter(|route| route.points.iter().all(|point| *point < hosts)) {
            from.entry(route.points[0]).or_default().push(route);
        }
        for (start, routes) in from {
            let distances = shortest.from(graph.hosts[start].1);
            for route in routes {
                let passed = route.links.iter().filter(|link| is_cable.contains(link)).count() as u32;
                let (hops, _, choices) = distances[graph.hosts[route.points[1]].1];
                if hops != passed || choices > 1 {
                    let found = format!("a route of {} links that is not the only shortest one", route.links.len());
                    return Err(self.expected(route.node, "routes with the fewest links", found));
                }
            }
        }
        Ok(())
    }

    fn written(
        &self,
        graph: &SwitchCables,
        links: &[XmlLink],
        (list, cores, nearest): (&str, u32, (SimSpan, Option<Bandwidth>)),
        mut notes: Vec<String>,
    ) -> ImportedPlaces {
        let name = shown(self.name);
        let mut rows = format!("# Switches and links of {name}\n");
        for (at, (host, switch)) in graph.hosts.iter().enumerate() {
            let _ = writeln!(rows, "node {at} s{switch} # {}", shown(host));
        }
        for ([from, to], link) in &graph.cables {
            let XmlLink { bandwidth, latency, .. } = &links[*link];
            let bandwidth = bandwidth.map_or(String::new(), |of| format!(" {}B/s", of.get()));
            let _ = writeln!(rows, "link s{from} s{to}{bandwidth} {}ps", latency.as_ps());
        }
        let (latency, bandwidth) = nearest;
        let latency = latency.max(SimSpan::from_ns(1));
        let between = bandwidth.map_or_else(String::new, |of| format!("bandwidth = \"{} B/s\"\n", of.get()));
        if bandwidth.is_none() {
            notes.push("no link limits transfers: add bandwidth to [inter_node]".to_owned());
        }
        let hosts = graph.hosts.len();
        let names = hosts_key(graph.hosts.iter().map(|(host, _)| host.as_str()));
        let toml = format!(
            "# {hosts} hosts of SimGrid, from {name}\nnct = [{hosts}, 1, {cores}]\n{names}\n[inter_node]\ncontention = \"fair\"\n\
             latency = \"{} ps\"\n{between}\n[network]\ntopology = \"graph\"\nfile = \"{list}\"\n",
            latency.as_ps()
        );
        notes.push("factors of SMPI by message size, and the rates of cores, are left out: measure them".to_owned());
        ImportedPlaces { toml, list: Some(rows), notes }
    }
}

/// Attaches the links of a route to each other, so that they connect its two points.
fn walk(route: &XmlRoute<'_>, links: &mut [XmlLink], points: &mut Points) {
    let [mut at, end] = route.points;
    for (number, link) in route.links.iter().enumerate() {
        let ends = links[*link].ends.map(|point| point.unwrap_or_else(|| points.add()));
        links[*link].ends = ends.map(Some);
        let is_last = number + 1 == route.links.len();
        let enters_second = points.same(at, ends[1]) && !points.same(at, ends[0])
            || (is_last && points.same(end, ends[0]) && !points.same(at, ends[0]));
        let [enter, leave] = if enters_second { [ends[1], ends[0]] } else { ends };
        points.merge(at, enter);
        at = leave;
    }
    points.merge(at, end);
}

/// Returns the switches and links. A host with one link to a switch is a node of this switch, if all hosts have such
/// links of equal bandwidth and latency; otherwise each host has a switch of its own.
fn joined(names: &[&str], links: &[XmlLink], points: &mut Points, notes: &mut Vec<String>) -> SwitchCables {
    let mut cables = Vec::new();
    let mut loops = 0;
    for (number, link) in links.iter().enumerate() {
        if let [Some(from), Some(to)] = link.ends {
            let ends = [points.find(from), points.find(to)];
            if ends[0] == ends[1] {
                loops += 1;
            } else {
                cables.push((ends, number));
            }
        }
    }
    if loops > 0 {
        notes.push(format!("{loops} links that all routes of a switch pass (backbones) are left out"));
    }
    let own: Vec<usize> = (0..names.len()).map(|host| points.find(host)).collect();
    let attached = attached(&own, &cables, links);
    let adapter = attached.as_ref().and_then(|attached| attached.first().map(|(_, link)| *link));
    let switches = match &attached {
        Some(attached) => {
            let of_hosts: HashSet<usize> = attached.iter().map(|(_, link)| *link).collect();
            cables.retain(|(_, link)| !of_hosts.contains(link));
            attached.iter().map(|(switch, _)| *switch).collect()
        }
        None => own,
    };
    let hosts = names.iter().zip(switches).map(|(name, switch)| ((*name).to_owned(), switch)).collect();
    SwitchCables { hosts, cables, adapter }
}

/// Returns the switch of each host and the link to it, if each host has one link, these links are equal, and no host is
/// at their other ends.
fn attached(hosts: &[usize], cables: &[([usize; 2], usize)], links: &[XmlLink]) -> Option<Vec<(usize, usize)>> {
    let mut of_point: HashMap<usize, Vec<(usize, usize)>> = HashMap::new();
    for ([from, to], link) in cables {
        of_point.entry(*from).or_default().push((*to, *link));
        of_point.entry(*to).or_default().push((*from, *link));
    }
    let all: HashSet<usize> = hosts.iter().copied().collect();
    let own = |host: &usize| match of_point.get(host).map(Vec::as_slice) {
        Some([(switch, link)]) if !all.contains(switch) => Some((*switch, *link)),
        _ => None,
    };
    let found: Vec<(usize, usize)> = hosts.iter().map(own).collect::<Option<_>>()?;
    let costs = |link: usize| (links[link].bandwidth, links[link].latency);
    let first = costs(found.first()?.1);
    (first.0.is_some() && found.iter().all(|(_, link)| costs(*link) == first)).then_some(found)
}

/// Shortest paths between the switches.
struct Shortest {
    next: Vec<Vec<(usize, SimSpan)>>,
    bandwidths: Vec<Vec<Option<Bandwidth>>>,
}

impl Shortest {
    fn new(graph: &SwitchCables, links: &[XmlLink], points: usize) -> Shortest {
        let (mut next, mut bandwidths) = (vec![Vec::new(); points], vec![Vec::new(); points]);
        for ([from, to], link) in &graph.cables {
            for (from, to) in [(*from, *to), (*to, *from)] {
                next[from].push((to, links[*link].latency));
                bandwidths[from].push(links[*link].bandwidth);
            }
        }
        Shortest { next, bandwidths }
    }

    /// Returns for each switch the number of links from `start`, their latency, and the number of such paths.
    fn from(&self, start: usize) -> Vec<(u32, SimSpan, u32)> {
        let mut all = vec![(u32::MAX, SimSpan::ZERO, 0_u32); self.next.len()];
        all[start] = (0, SimSpan::ZERO, 1);
        let (mut ring, mut hops) = (vec![start], 0);
        while !ring.is_empty() {
            hops += 1;
            let mut further = Vec::new();
            for switch in ring {
                let (_, latency, choices) = all[switch];
                for (to, more) in &self.next[switch] {
                    let found = &mut all[*to];
                    let longer = latency + *more;
                    if found.0 == u32::MAX {
                        *found = (hops, longer, choices);
                        further.push(*to);
                    } else if found.0 == hops && longer < found.1 {
                        *found = (hops, longer, choices);
                    } else if found.0 == hops && longer == found.1 {
                        found.2 = found.2.saturating_add(choices);
                    }
                }
            }
            ring = further;
        }
        all
    }

    /// Returns the least latency between two hosts, and the greatest bandwidth of a link of a host.
    fn nearest(&self, graph: &SwitchCables) -> (SimSpan, Option<Bandwidth>) {
        let latency = graph.hosts.iter().take(64).filter_map(|(_, start)| {
            let all = self.from(*start);
            let same = graph.hosts.iter().filter(|(_, other)| other == start).count();
            let others = graph.hosts.iter().filter(|(_, other)| other != start && all[*other].0 != u32::MAX);
            others.map(|(_, other)| all[*other].1).chain((same > 1).then_some(SimSpan::ZERO)).min()
        });
        let widest = graph.hosts.iter().flat_map(|(_, switch)| self.bandwidths[*switch].iter().flatten()).max();
        (latency.min().unwrap_or_default(), widest.copied())
    }
}
