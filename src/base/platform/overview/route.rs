//! Resources that one message between two cores passes.

use serde::Serialize;

use crate::units::{Bandwidth, Bytes, SimSpan};

use super::super::{Contention, Level, Platform, Rails, Row, Site};
use super::{OVERVIEW_SIZES, PlaceCosts};

/// Message between two cores.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PairOverview {
    /// Core of the sender.
    pub from: Site,
    /// Core of the receiver.
    pub to: Site,
    /// Costs of the message, with the name of the least common place.
    pub costs: PlaceCosts,
    /// Resources that the message passes, from sender to receiver.
    pub resources: Vec<PassedResource>,
}

/// Resource that a message passes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassedResource {
    /// Kind of the resource.
    pub resource: RouteResource,
    /// Place of the resource, such as "node 3".
    pub at: String,
    /// Time that the resource adds to the message.
    #[serde(rename = "latency_ps", skip_serializing_if = "Option::is_none")]
    pub latency: Option<SimSpan>,
    /// Capacity in bytes per second; `None`: no limit of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<Bandwidth>,
    /// Size of a cache.
    #[serde(rename = "cache_bytes", skip_serializing_if = "Option::is_none")]
    pub cache: Option<Bytes>,
}

/// Kinds of resources, named as in the utilisation of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteResource {
    /// Core that copies.
    Core,
    /// Port of a CMP, for models that judge the load once.
    CmpPort,
    /// Port between the CMPs of a node, for models that judge the load once.
    NodePort,
    /// Cache that holds buffers of a copy.
    Cache,
    /// Memory of a domain.
    DomainMemory,
    /// Memory of a CMP.
    CmpMemory,
    /// Memory of a node.
    NodeMemory,
    /// Link between a CMP and the others of its node.
    Interconnect,
    /// Outgoing direction of an adapter.
    AdapterOut,
    /// Incoming direction of an adapter.
    AdapterIn,
    /// Both directions of an adapter together.
    Duplex,
    /// Both directions between two nodes together.
    PairDuplex,
    /// Uplink of a group, out of the group.
    UplinkOut,
    /// Uplink of a group, into the group.
    UplinkIn,
    /// Link between two switches of a network.
    Link,
}

/// Resources in the order of the message.
#[derive(Default)]
struct Route(Vec<PassedResource>);

impl Route {
    fn add(&mut self, resource: RouteResource, at: String, bandwidth: Option<Bandwidth>) {
        self.0.push(PassedResource { resource, at, latency: None, bandwidth, cache: None });
    }
}

impl Platform {
    /// Returns an overview of a message between two cores of the machine.
    pub(super) fn pair_overview(&self, from: Site, to: Site) -> PairOverview {
        let level = Level::between(from, to);
        let usual = self.link(level);
        let numbers = [from, to].map(|site| self.shape.number(site));
        let of_pair = self.pairs.as_ref().and_then(|pairs| pairs.link(numbers[0], numbers[1], level));
        let link = of_pair.unwrap_or(usual);
        let costs = self.costs(self.least_common_place(from, to), level, link);
        let row = link.row(OVERVIEW_SIZES[1]);
        let mut route = Route::default();
        match (level, usual.contention()) {
            (_, contention) if level == Level::InterNode || self.passes_adapters(level) => {
                self.by_adapters(&mut route, (level, contention), row, from, to);
            }
            (_, Contention::Fair) => self.within_node(&mut route, level, row, from, to),
            (_, Contention::Ideal) => {}
            (Level::IntraCmp, _) => route.add(RouteResource::CmpPort, cmp(from), None),
            (_, _) => route.add(RouteResource::NodePort, node(from), None),
        }
        PairOverview { from, to, costs, resources: route.0 }
    }

    fn by_adapters(
        &self,
        route: &mut Route,
        (level, contention): (Level, Contention),
        row: &Row,
        from: Site,
        to: Site,
    ) {
        let copies = self.link(level).occupancy().copies;
        let occupancy = self.link(Level::InterNode).occupancy();
        let is_fair = contention == Contention::Fair;
        let copy = Some(row.copy_bandwidth.unwrap_or(row.bandwidth));
        if is_fair && copies.by_sender() {
            route.add(RouteResource::Core, core(from), copy);
        }
        let [out, into] = [from, to].map(|site| adapter(site, &occupancy.rails, is_fair));
        let capacity = occupancy.capacity.filter(|_| is_fair);
        if contention != Contention::Ideal {
            route.add(RouteResource::AdapterOut, out.clone(), capacity);
        }
        if is_fair && occupancy.duplex.is_some() {
            route.add(RouteResource::Duplex, out, occupancy.duplex);
        }
        let left = self.places.left_groups(from.node, to.node);
        let out_of = left.clone().map(|group| (RouteResource::UplinkOut, group, from));
        let into_of = left.rev().map(|group| (RouteResource::UplinkIn, group, to));
        let mut uplinks: Vec<_> = out_of
            .chain(into_of)
            .filter(|(_, group, _)| group.uplink.is_some() || group.uplink_latency > SimSpan::ZERO)
            .map(|(resource, group, site)| PassedResource {
                resource,
                at: format!("{} {}", group.name, group.of(site.node)),
                latency: Some(group.uplink_latency),
                bandwidth: group.uplink,
                cache: None,
            })
            .collect();
        if let Some(network) = self.places.network.as_ref().filter(|_| level == Level::InterNode) {
            uplinks.extend(network.path(from.node, to.node).into_iter().map(|link| {
                let layer = &network.layers()[network.layer(link)];
                PassedResource {
                    resource: RouteResource::Link,
                    at: network.link_name(link),
                    latency: Some(layer.latency),
                    bandwidth: layer.bandwidth.filter(|_| is_fair),
                    cache: None,
                }
            }));
        }
        if is_fair && level == Level::InterNode && occupancy.pair_duplex.is_some() {
            let at = format!("nodes {}, {}", from.node.min(to.node), from.node.max(to.node));
            route.add(RouteResource::PairDuplex, at, occupancy.pair_duplex);
        }
        route.0.append(&mut uplinks);
        if is_fair && occupancy.duplex.is_some() {
            route.add(RouteResource::Duplex, into.clone(), occupancy.duplex);
        }
        if contention != Contention::Ideal {
            route.add(RouteResource::AdapterIn, into, capacity);
        }
        if is_fair && copies.by_receiver() {
            route.add(RouteResource::Core, core(to), copy);
        }
    }

    fn within_node(&self, route: &mut Route, level: Level, row: &Row, from: Site, to: Site) {
        let copies = self.link(level).occupancy().copies;
        let copy = Some(row.copy_bandwidth.unwrap_or(row.bandwidth));
        if copies.by_sender() {
            route.add(RouteResource::Core, core(from), copy);
        }
        let memory = self.heeded_memory();
        self.memories(route, from);
        if let Some(memory) = memory.filter(|_| level == Level::InterCmp) {
            for site in [from, to].into_iter().filter(|_| memory.interconnect.is_some()) {
                route.add(RouteResource::Interconnect, cmp(site), memory.interconnect);
            }
        }
        let before = route.0.len();
        self.memories(route, to);
        // Both cores may share a cache or a memory.
        let there = route.0.split_off(before);
        for passed in there {
            if !route.0.contains(&passed) {
                route.0.push(passed);
            }
        }
        if let Some(bandwidth) = memory.filter(|memory| memory.has_caches()).and_then(|memory| memory.node) {
            route.add(RouteResource::NodeMemory, node(from), Some(bandwidth));
        }
        if copies.by_receiver() {
            route.add(RouteResource::Core, core(to), copy);
        }
    }

    /// Adds the cache of a core, and the memories that copies beyond the cache use.
    fn memories(&self, route: &mut Route, site: Site) {
        let Some(memory) = self.heeded_memory().filter(|memory| memory.has_caches()) else { return };
        let domain = |domain: &super::super::Domain| {
            format!("{} {} of node {}", domain.name, domain.of(self.shape, site), site.node)
        };
        let at = self.places.cache().map_or_else(|| cmp(site), |(of, _)| domain(of));
        route.add(RouteResource::Cache, at, None);
        if let Some(cache) = route.0.last_mut() {
            cache.cache = Some(memory.cache);
        }
        if let Some((of, bandwidth)) = self.places.memory() {
            route.add(RouteResource::DomainMemory, domain(of), Some(bandwidth));
        }
        if let Some(bandwidth) = memory.cmp {
            route.add(RouteResource::CmpMemory, cmp(site), Some(bandwidth));
        }
    }
}

impl RouteResource {
    /// Returns the name in the report.
    pub const fn name(self) -> &'static str {
        match self {
            RouteResource::Core => "copying core",
            RouteResource::CmpPort => "port of a CMP",
            RouteResource::NodePort => "port between CMPs",
            RouteResource::Cache => "cache",
            RouteResource::DomainMemory => "memory of a domain",
            RouteResource::CmpMemory => "memory of a CMP",
            RouteResource::NodeMemory => "memory of a node",
            RouteResource::Interconnect => "interconnect",
            RouteResource::AdapterOut => "adapter, out",
            RouteResource::AdapterIn => "adapter, in",
            RouteResource::Duplex => "adapter, both directions",
            RouteResource::PairDuplex => "two nodes, both directions",
            RouteResource::UplinkOut => "uplink, out",
            RouteResource::UplinkIn => "uplink, in",
            RouteResource::Link => "link",
        }
    }
}

fn node(site: Site) -> String {
    format!("node {}", site.node)
}

fn cmp(site: Site) -> String {
    format!("CMP {}.{}", site.node, site.cmp)
}

fn core(site: Site) -> String {
    format!("core {}.{}.{}", site.node, site.cmp, site.core)
}

/// Returns the adapter of a core.
fn adapter(site: Site, rails: &Rails, is_fair: bool) -> String {
    match (rails.count, rails.of_cmp.len()) {
        (2.., 0) if is_fair => format!("node {}, {} in turn", site.node, rails.count),
        (2.., known) if is_fair => format!("node {}, adapter {}", site.node, rails.of_cmp[site.cmp as usize % known]),
        _ => node(site),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::tree;
    use super::*;

    fn site(node: u32, cmp: u32, core: u32) -> Site {
        Site { node, cmp, core }
    }

    fn passed(platform: &Platform, from: Site, to: Site) -> Vec<String> {
        let pair = platform.pair_overview(from, to);
        pair.resources.iter().map(|of| format!("{} {}", of.resource.name(), of.at)).collect()
    }

    #[test]
    fn a_message_passes_uplinks_on_the_way_up_and_on_the_way_down() {
        let platform = tree();
        let expected = [
            "adapter, out node 1, adapter 1",
            "adapter, both directions node 1, adapter 1",
            "uplink, out switch 0",
            "uplink, out group 0",
            "uplink, in group 1",
            "uplink, in switch 3",
            "adapter, both directions node 6, adapter 0",
            "adapter, in node 6, adapter 0",
        ];
        assert_eq!(passed(&platform, site(1, 1, 0), site(6, 0, 3)), expected);
        assert_eq!(platform.pair_overview(site(1, 1, 0), site(6, 0, 3)).costs.place, "machine");
        let near = passed(&platform, site(0, 0, 0), site(1, 0, 0));
        assert!(near.iter().all(|of| !of.starts_with("uplink")), "{near:?}");
        let within: Vec<_> =
            passed(&platform, site(0, 0, 0), site(2, 0, 0)).into_iter().filter(|of| of.starts_with("up")).collect();
        assert_eq!(within, ["uplink, out switch 0", "uplink, in switch 1"]);
    }

    #[test]
    fn a_copy_within_a_node_passes_caches_and_memories() {
        let platform = tree();
        let of_one = ["cache l3 3 of node 0", "memory of a CMP CMP 0.1", "copying core core 0.1.3"];
        assert_eq!(passed(&platform, site(0, 1, 2), site(0, 1, 3)), of_one);
        let of_two =
            ["cache l3 0 of node 0", "memory of a CMP CMP 0.0", "cache l3 1 of node 0", "copying core core 0.0.2"];
        assert_eq!(passed(&platform, site(0, 0, 0), site(0, 0, 2)), of_two);
        // The level between CMPs is ideal.
        assert_eq!(passed(&platform, site(0, 0, 0), site(0, 1, 0)), [""; 0]);
    }
}
