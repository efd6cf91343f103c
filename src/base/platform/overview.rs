//! Overview of a machine: its places from core to machine, and the costs of messages by least common place.

mod drawing;
mod route;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::units::{Bandwidth, Bytes, SimSpan};

use super::{Contention, Level, LinkLayer, LinkNetwork, Platform, Shape, Site};
pub use drawing::{DrawnCable, DrawnSwitch, MachineDrawing};
pub use route::{PairOverview, PassedResource, RouteResource};

/// Sizes of the messages of an overview.
pub const OVERVIEW_SIZES: [Bytes; 2] = [Bytes::new(8), Bytes::new(1 << 20)];

/// Overview of a machine.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlatformOverview {
    /// Name of the machine.
    pub platform: String,
    /// Shape of the machine.
    pub nct: Shape,
    /// Hardware threads per core.
    pub threads: u32,
    /// All kinds of places, smallest first.
    pub places: Vec<PlaceOverview>,
    /// Costs of messages by least common place, smallest place first. Places that are never the least common place of
    /// two cores are absent.
    pub costs: Vec<PlaceCosts>,
    /// Network of switches and links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkOverview>,
    /// Number of measured classes of pairs, whose latencies and bandwidths replace those in `costs`.
    pub measured_classes: usize,
    /// Message between two cores, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<PairOverview>,
}

/// A kind of place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlaceOverview {
    /// Name: `core`, `cmp`, `node`, `machine`, or the name in the file.
    pub place: String,
    /// Number of places of this kind in the machine.
    pub count: u64,
    /// Number of cores per place.
    pub cores: LeastMost,
    /// Number of nodes per place; `None` within a node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<LeastMost>,
    /// Size of the last-level cache.
    #[serde(rename = "cache_bytes", skip_serializing_if = "Option::is_none")]
    pub cache: Option<Bytes>,
    /// Memory bandwidth in bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bandwidth: Option<Bandwidth>,
    /// Latency of the uplink.
    #[serde(rename = "uplink_latency_ps", skip_serializing_if = "Option::is_none")]
    pub uplink_latency: Option<SimSpan>,
    /// Bandwidth of the uplink per direction, in bytes per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uplink_bandwidth: Option<Bandwidth>,
}

/// Network of switches and links.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NetworkOverview {
    /// Number of nodes that the network can connect.
    pub nodes: u32,
    /// Number of switches.
    pub switches: u32,
    /// Latency of the longest path in addition to the latency between the nearest nodes.
    #[serde(rename = "longest_added_latency_ps")]
    pub longest: SimSpan,
    /// Links by kind.
    pub layers: Vec<LayerOverview>,
}

/// Links of one kind. A link is one direction of a cable.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerOverview {
    /// Name of the kind of link.
    pub layer: String,
    /// Number of links.
    pub links: u64,
    /// Latency of a link and of the switch at its end.
    #[serde(rename = "latency_ps")]
    pub latency: SimSpan,
    /// Bandwidth of a link in bytes per second; `None`: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
}

/// Least and greatest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LeastMost {
    /// Least value.
    pub least: u64,
    /// Greatest value.
    pub most: u64,
}

/// Costs of the messages whose least common place is of one kind.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlaceCosts {
    /// Name of the place.
    pub place: String,
    /// Level of the messages.
    pub level: Level,
    /// Contention model.
    pub contention: Contention,
    /// Greatest size of an eager message.
    #[serde(rename = "eager_threshold_bytes")]
    pub eager_threshold: Bytes,
    /// Time of a control message.
    #[serde(rename = "handshake_ps")]
    pub handshake: SimSpan,
    /// Costs of one message of each of [`OVERVIEW_SIZES`].
    pub messages: Vec<MessageCosts>,
}

/// Costs of one message without contention.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MessageCosts {
    /// Size of the message.
    pub bytes: Bytes,
    /// Whether the message needs a rendezvous.
    pub rendezvous: bool,
    /// Latency, with that of uplinks.
    #[serde(rename = "latency_ps")]
    pub latency: SimSpan,
    /// Bandwidth in bytes per second.
    pub bandwidth: Bandwidth,
    /// Time of the sender's core.
    #[serde(rename = "send_overhead_ps")]
    pub send_overhead: SimSpan,
    /// Time of the receiver's core.
    #[serde(rename = "recv_overhead_ps")]
    pub recv_overhead: SimSpan,
}

impl LeastMost {
    fn both(value: u64) -> Self {
        LeastMost { least: value, most: value }
    }
}

impl Platform {
    /// Returns an overview of the machine, and of a message between the two cores of `pair`, which the machine must
    /// have.
    pub fn overview(&self, pair: Option<[Site; 2]>) -> PlatformOverview {
        let is_measured = self.pairs.as_ref().filter(|pairs| pairs.are_measured());
        PlatformOverview {
            platform: self.name.clone(),
            nct: self.shape,
            threads: self.core.threads.count(),
            places: self.place_overviews(),
            costs: self.examples().into_iter().map(|[from, to]| self.costs_between(from, to)).collect(),
            network: self.places.network.as_deref().map(network_overview),
            measured_classes: is_measured.map_or(0, |pairs| pairs.count()),
            pair: pair.map(|[from, to]| self.pair_overview(from, to)),
        }
    }

    /// Returns the name of the least common place of two cores.
    pub fn least_common_place(&self, from: Site, to: Site) -> &str {
        let (places, level) = (&self.places, Level::between(from, to));
        let domains = places.domains.len();
        match places.class(self.shape, self.shape.number(from), self.shape.number(to), level) {
            Some(class) if class < domains => &places.domains[class].name,
            Some(class) => places.groups.get(class - domains).map_or("machine", |group| &group.name),
            None if level == Level::IntraCmp => "cmp",
            None => "node",
        }
    }

    fn place_overviews(&self) -> Vec<PlaceOverview> {
        let Shape { nodes, cmps, cores } = self.shape;
        let plain = |place: &str, count: u64, cores: u64| PlaceOverview {
            place: place.to_owned(),
            count,
            cores: LeastMost::both(cores),
            nodes: None,
            cache: None,
            memory_bandwidth: None,
            uplink_latency: None,
            uplink_bandwidth: None,
        };
        let limit = |bandwidth: Bandwidth| Some(bandwidth).filter(|bandwidth| *bandwidth < Bandwidth::MAX);
        let all_cores = self.shape.total_cores();
        let core = PlaceOverview { memory_bandwidth: limit(self.core.memory), ..plain("core", all_cores, 1) };
        let domains = self.places.domains.iter().map(|domain| PlaceOverview {
            cache: domain.cache,
            memory_bandwidth: domain.memory,
            ..plain(&domain.name, all_cores / u64::from(domain.cores), domain.cores.into())
        });
        let of_copies = self.memory.filter(|memory| memory.has_caches()).map(|memory| memory.cache);
        let cache = of_copies.or(self.core.in_cache.as_ref().map(|cache| cache.size));
        let cmp = PlaceOverview {
            cache: cache.filter(|_| self.places.cache().is_none()),
            memory_bandwidth: limit(self.core.cmp_memory),
            ..plain("cmp", u64::from(nodes) * u64::from(cmps), cores.into())
        };
        let of_node = self.shape.cores_in_node();
        let node =
            PlaceOverview { memory_bandwidth: limit(self.core.node_memory), ..plain("node", nodes.into(), of_node) };
        let groups = self.places.groups.iter().map(|group| {
            let mut sizes: BTreeMap<u32, u64> = BTreeMap::new();
            (0..nodes).for_each(|node| *sizes.entry(group.of(node)).or_default() += 1);
            let least = sizes.values().min().copied().unwrap_or(0);
            let most = sizes.values().max().copied().unwrap_or(0);
            PlaceOverview {
                cores: LeastMost { least: least * of_node, most: most * of_node },
                nodes: Some(LeastMost { least, most }),
                uplink_latency: Some(group.uplink_latency).filter(|span| *span > SimSpan::ZERO),
                uplink_bandwidth: group.uplink,
                ..plain(&group.name, sizes.len() as u64, 0)
            }
        });
        let machine = PlaceOverview { nodes: Some(LeastMost::both(nodes.into())), ..plain("machine", 1, all_cores) };
        [core].into_iter().chain(domains).chain([cmp, node]).chain(groups).chain([machine]).collect()
    }

    /// Returns one pair of cores for each kind of place that is the least common place of two cores, smallest place first.
    fn examples(&self) -> Vec<[Site; 2]> {
        let Shape { nodes, cmps, cores } = self.shape;
        let first = Site { node: 0, cmp: 0, core: 0 };
        let mut pairs = Vec::new();
        let mut within = 1;
        for larger in self.places.domains.iter().map(|domain| domain.cores).chain([cores]) {
            if larger > within {
                pairs.push([first, Site { core: within, ..first }]);
            }
            within = larger;
        }
        if cmps > 1 {
            pairs.push([first, Site { cmp: 1, ..first }]);
        }
        let groups = &self.places.groups;
        for kind in 0..=groups.len() {
            // First node of each group of this kind. A later node of the group that is in another smaller group is at
            // the other end.
            let mut firsts: BTreeMap<u32, u32> = BTreeMap::new();
            let smaller = |node: u32| kind.checked_sub(1).map_or(node, |below| groups[below].of(node));
            let found = (0..nodes).find_map(|node| {
                let group = groups.get(kind).map_or(0, |group| group.of(node));
                let start = *firsts.entry(group).or_insert(node);
                (smaller(start) != smaller(node)).then_some([start, node])
            });
            pairs.extend(found.map(|pair| pair.map(|node| Site { node, ..first })));
        }
        pairs
    }

    /// Returns the costs of messages with the least common place of two cores.
    fn costs_between(&self, from: Site, to: Site) -> PlaceCosts {
        let level = Level::between(from, to);
        let usual = self.link(level);
        let places = self.pairs.as_ref().filter(|pairs| !pairs.are_measured());
        let of_pair = places.and_then(|pairs| pairs.link(self.shape.number(from), self.shape.number(to), level));
        self.costs(self.least_common_place(from, to), level, of_pair.unwrap_or(usual))
    }

    fn costs(&self, place: &str, level: Level, link: &super::Link) -> PlaceCosts {
        let usual = self.link(level);
        let contention = usual.contention();
        let messages = OVERVIEW_SIZES.map(|bytes| {
            let row = link.row(bytes);
            MessageCosts {
                bytes,
                rendezvous: bytes > usual.eager_threshold(),
                latency: row.latency_under(contention, 1),
                bandwidth: row.bandwidth,
                send_overhead: row.sending(bytes),
                recv_overhead: row.receiving(bytes),
            }
        });
        PlaceCosts {
            place: place.to_owned(),
            level,
            contention,
            eager_threshold: usual.eager_threshold(),
            handshake: link.handshake(),
            messages: messages.into(),
        }
    }
}

fn network_overview(network: &LinkNetwork) -> NetworkOverview {
    let layer = |(layer, links): (&LinkLayer, u64)| LayerOverview {
        layer: layer.name.clone(),
        links,
        latency: layer.latency,
        bandwidth: layer.bandwidth,
    };
    NetworkOverview {
        nodes: network.nodes(),
        switches: network.switches(),
        longest: network.added_latency(network.classes() - 1),
        layers: network.layers().iter().zip(network.layer_counts()).map(layer).collect(),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Document;

    use super::*;

    /// A machine of 8 nodes with two CMPs of 4 cores, L3 domains of 2 cores, switches of 2 nodes and groups of 4 nodes.
    pub(super) fn tree() -> Platform {
        let text = r#"
name = "tree"
nct = [7, 2, 4]
[core]
flops = "1 Gflop/s"
instructions = "1 Ginstr/s"
memory_bandwidth = "1 GB/s"
[cmp]
memory_bandwidth = "3 GB/s"
[intra_cmp]
contention = "fair"
latency = "10 ns"
bandwidth = "1 GB/s"
[inter_cmp]
latency = "100 ns"
bandwidth = "1 GB/s"
[inter_node]
contention = "fair"
capacity = "2 GB/s"
duplex = "3 GB/s"
eager_threshold = "1 KiB"
latency = "1 us"
bandwidth = "1 GB/s"
rails = { count = 2, cmp = [0, 1] }
[places.l3]
cores = 2
cache = "1 MiB"
latency = "4 ns"
[places.switch]
nodes = 2
uplink_latency = "100 ns"
[places.group]
nodes = 4
uplink_latency = "250 ns"
uplink_bandwidth = "5 GB/s"
"#;
        Platform::load(Document::parse("tree.toml", text).unwrap(), &[]).unwrap()
    }

    #[test]
    fn places_are_counted_from_core_to_machine() {
        let places = tree().overview(None).places;
        let found: Vec<_> =
            places.iter().map(|of| (of.place.as_str(), of.count, of.cores.least, of.cores.most)).collect();
        let expected = [
            ("core", 56, 1, 1),
            ("l3", 28, 2, 2),
            ("cmp", 14, 4, 4),
            ("node", 7, 8, 8),
            ("switch", 4, 8, 16),
            ("group", 2, 24, 32),
            ("machine", 1, 56, 56),
        ];
        assert_eq!(found, expected);
        assert_eq!([1, 2].map(|at: usize| places[at].cache), [Some(Bytes::new(1 << 20)), None]);
        assert_eq!(places[2].memory_bandwidth, Bandwidth::new(3_000_000_000));
        assert_eq!(places[5].uplink_bandwidth, Bandwidth::new(5_000_000_000));
        assert_eq!(places[4].uplink_bandwidth, None);
    }

    #[test]
    fn a_network_is_counted_by_kind_of_link() {
        let text = crate::platform::Platform::default_document().text().to_string();
        let text =
            format!("{text}\n[network]\ntopology = \"fat_tree\"\ndown = [16, 64]\nup = [8]\nlatency = \"50 ns\"\n");
        let platform = Platform::load(Document::parse("tree.toml", &text).unwrap(), &[]).unwrap();
        let network = platform.overview(None).network.expect("a network");
        assert_eq!((network.nodes, network.switches, network.longest), (1024, 64 + 8, SimSpan::from_ns(100)));
        assert_eq!(network.layers.iter().map(|layer| layer.links).collect::<Vec<_>>(), [2 * 64 * 8]);
    }

    #[test]
    fn costs_are_those_of_the_least_common_place() {
        let costs = tree().overview(None).costs;
        let found: Vec<_> =
            costs.iter().map(|of| (of.place.as_str(), of.messages[0].latency.as_ps() / 1000, of.contention)).collect();
        let expected = [
            ("l3", 4, Contention::Fair),
            ("cmp", 10, Contention::Fair),
            ("node", 100, Contention::Ideal),
            ("switch", 1000, Contention::Fair),
            ("group", 1200, Contention::Fair),
            ("machine", 1700, Contention::Fair),
        ];
        assert_eq!(found, expected);
        assert_eq!(costs[5].messages.iter().map(|of| of.rendezvous).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn a_place_that_two_cores_never_share_has_no_costs() {
        let names = |shape| {
            let costs = tree().with_shape(shape).overview(None).costs;
            costs.into_iter().map(|of| of.place).collect::<Vec<_>>()
        };
        assert_eq!(names(Shape { nodes: 1, cmps: 1, cores: 2 }), ["l3"]);
        assert_eq!(names(Shape { nodes: 1, cmps: 2, cores: 4 }), ["l3", "cmp", "node"]);
        assert_eq!(names(Shape { nodes: 3, cmps: 1, cores: 2 }), ["l3", "switch", "group"]);
    }
}
