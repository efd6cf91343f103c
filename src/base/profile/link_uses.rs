//! Utilization of the links of a network over time: by kind of link, and of the busiest links.

use serde::{Deserialize, Serialize};

use crate::platform::{LinkIndex, LinkNetwork};
use crate::units::{Bytes, SimTime};

/// Greatest number of links in the list of the busiest links.
const MOST_LISTED: usize = 10;

/// Utilization of the links of a network. A link is one direction of a cable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NetworkUse {
    /// Messages between nodes that pass links.
    #[serde(default)]
    pub traffic: LinkTraffic,
    /// Links by kind; only kinds with traffic.
    pub layers: Vec<LayerUse>,
    /// The busiest links, the busiest first.
    pub busiest: Vec<BusyLink>,
}

/// Utilization of the links of one kind, from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LayerUse {
    /// Name of the kind of link.
    pub layer: String,
    /// Number of links with traffic.
    pub count: u64,
    /// Number of links of the kind, with and without traffic.
    #[serde(default)]
    pub links: u64,
    /// Mean utilization over time and over all links with traffic.
    pub mean: f64,
    /// Mean utilization over time of the busiest link.
    pub busiest: f64,
    /// Greatest utilization of one link at any time.
    pub greatest: f64,
}

/// A link with much traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BusyLink {
    /// Names of the two switches.
    pub link: String,
    /// Name of the kind of link.
    pub layer: String,
    /// Mean utilization over time, from 0 to 1.
    pub mean: f64,
    /// Greatest utilization at any time, from 0 to 1.
    pub greatest: f64,
}

/// Messages whose path has at least one link, if links limit transfers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LinkTraffic {
    /// Number of messages.
    pub messages: u64,
    /// Bytes of the messages.
    pub bytes: u64,
    /// Number of messages that queue at adapters because they are short. They do not occupy links.
    pub short_messages: u64,
    /// Bytes of these short messages.
    pub short_bytes: u64,
    /// Size of the longest of these short messages.
    pub longest_short_bytes: u64,
}

impl LinkTraffic {
    /// Adds a message.
    #[inline]
    pub fn add(&mut self, size: Bytes, is_short: bool) {
        self.messages += 1;
        self.bytes += size.get();
        if is_short {
            self.short_messages += 1;
            self.short_bytes += size.get();
            self.longest_short_bytes = self.longest_short_bytes.max(size.get());
        }
    }

    /// Adds the messages that another worker recorded.
    pub fn merge(&mut self, other: &LinkTraffic) {
        self.messages += other.messages;
        self.bytes += other.bytes;
        self.short_messages += other.short_messages;
        self.short_bytes += other.short_bytes;
        self.longest_short_bytes = self.longest_short_bytes.max(other.longest_short_bytes);
    }
}

/// Utilization of one link that a worker recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkUse {
    /// Number of the link.
    pub link: u32,
    /// Time in which the link would do the same work at full use, in picoseconds.
    pub in_full: u64,
    /// Greatest utilization in millionths.
    pub most: u32,
}

impl NetworkUse {
    /// Returns the utilization of the links `all` of `network` for a run that ends at `end`; `None` if no message
    /// passed a link.
    pub fn new(network: &LinkNetwork, all: &[LinkUse], traffic: LinkTraffic, end: SimTime) -> Option<NetworkUse> {
        let time = end.as_ps().max(1) as f64;
        let mut used: Vec<LinkUse> = all.iter().filter(|of| of.in_full > 0).copied().collect();
        used.sort_by_key(|of| (std::cmp::Reverse(of.in_full), of.link));
        let part = |in_full: u64| in_full as f64 / time;
        let millionths = |most: u32| f64::from(most) / 1e6;
        let layer_of = |of: &LinkUse| network.layer(LinkIndex(of.link));
        let counts = network.layer_counts();
        let layers = network.layers().iter().enumerate().filter_map(|(at, layer)| {
            let of_layer: Vec<&LinkUse> = used.iter().filter(|of| layer_of(of) == at).collect();
            let busiest = of_layer.first()?.in_full;
            let all = of_layer.iter().map(|of| u128::from(of.in_full)).sum::<u128>();
            Some(LayerUse {
                layer: layer.name.clone(),
                count: of_layer.len() as u64,
                links: counts[at],
                mean: all as f64 / time / of_layer.len() as f64,
                busiest: part(busiest),
                greatest: of_layer.iter().map(|of| millionths(of.most)).fold(0.0, f64::max),
            })
        });
        let layers: Vec<LayerUse> = layers.collect();
        let busiest = used.iter().take(MOST_LISTED).map(|of| BusyLink {
            link: network.link_name(LinkIndex(of.link)),
            layer: network.layers()[layer_of(of)].name.clone(),
            mean: part(of.in_full),
            greatest: millionths(of.most),
        });
        let busiest = busiest.collect();
        (!layers.is_empty() || traffic.messages > 0).then_some(NetworkUse { traffic, layers, busiest })
    }
}
