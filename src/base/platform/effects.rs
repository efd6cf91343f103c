//! Effects of a machine other than links and rates. Each effect can be switched off.

use std::sync::Arc;

use crate::units::{Bandwidth, SimSpan};

use super::{
    CacheReplacement, Contention, Copies, CopyMemory, InNodeTransport, Level, Link, MemorySharing, NodeFactors, Noise,
    Occupancy, Platform, ProgressEngine, Protocol, Rails,
};

/// An effect that a platform may state and that changes predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effect {
    /// Contention between transfers. Without this effect every level is [`Contention::Ideal`].
    Contention,
    /// Cores are busy while they copy messages within a node, and eager messages between nodes.
    Copies,
    /// Messages within a node pass the network adapter of the node.
    Transport,
    /// Each message occupies an adapter or port for a minimum time.
    Gap,
    /// The costs of a message depend on the number of ranks on its nodes.
    RanksPerNode,
    /// Traffic in one direction of a network adapter slows traffic in the other direction.
    Duplex,
    /// Traffic from one node to another slows traffic in the opposite direction between the two nodes.
    PairDuplex,
    /// Nodes have more than one adapter.
    Rails,
    /// Copies use caches, and copies that exceed the caches share memory.
    Cache,
    /// A cache may hold a part of a buffer.
    CacheReplacement,
    /// Copies between CMPs of a node share the interconnect.
    Interconnect,
    /// The cores of a CMP and of a node share memory bandwidth in computation.
    Memory,
    /// Computation on data in caches has higher rates.
    InCache,
    /// The hardware threads of a core slow each other.
    Threads,
    /// A rank shares memory with the ranks that use memory at the time, instead of with all ranks placed on the CMP or
    /// node.
    MemorySharing,
    /// The costs of a message depend on the class of its pair of cores.
    Pairs,
    /// Transfers of many nodes share the uplinks of groups of nodes.
    Uplinks,
    /// Transfers share the links of a network.
    Links,
    /// The first message between two ranks sets up a connection.
    Connect,
    /// Messages that arrive before their receives are copied.
    UnexpectedCopy,
    /// The number of eager buffers is finite.
    Credits,
    /// Messages advance only within MPI calls, or by a thread that takes computing time.
    Progress,
    /// The operating system, the network and nodes cause noise.
    Noise,
    /// Nodes differ in their rates.
    Nodes,
}

impl Effect {
    /// All effects, in the order of reports: contention first.
    pub const ALL: [Effect; 24] = [
        Effect::Contention,
        Effect::Copies,
        Effect::Transport,
        Effect::Gap,
        Effect::RanksPerNode,
        Effect::Duplex,
        Effect::PairDuplex,
        Effect::Rails,
        Effect::Cache,
        Effect::CacheReplacement,
        Effect::Interconnect,
        Effect::Memory,
        Effect::InCache,
        Effect::Threads,
        Effect::MemorySharing,
        Effect::Pairs,
        Effect::Uplinks,
        Effect::Links,
        Effect::Connect,
        Effect::UnexpectedCopy,
        Effect::Credits,
        Effect::Progress,
        Effect::Noise,
        Effect::Nodes,
    ];

    /// Name of the key of the platform file that states the effect.
    pub const fn name(self) -> &'static str {
        match self {
            Effect::Contention => "contention",
            Effect::Copies => "copies",
            Effect::Transport => "transport",
            Effect::Gap => "gap",
            Effect::RanksPerNode => "ranks_per_node",
            Effect::Duplex => "duplex",
            Effect::PairDuplex => "pair_duplex",
            Effect::Rails => "rails",
            Effect::Cache => "cache",
            Effect::CacheReplacement => "cache_replacement",
            Effect::Interconnect => "inter_cmp.capacity",
            Effect::Memory => "memory_bandwidth",
            Effect::InCache => "in_cache",
            Effect::Threads => "sibling_slowdown",
            Effect::MemorySharing => "memory_sharing",
            Effect::Pairs => "pairs",
            Effect::Uplinks => "uplink_bandwidth",
            Effect::Links => "network.bandwidth",
            Effect::Connect => "connection_time",
            Effect::UnexpectedCopy => "unexpected_copy_bandwidth",
            Effect::Credits => "credits",
            Effect::Progress => "progress",
            Effect::Noise => "noise",
            Effect::Nodes => "nodes",
        }
    }

    /// Short description of a machine without the effect.
    pub const fn without(self) -> &'static str {
        match self {
            Effect::Contention => "no transfer slows another",
            Effect::Copies => "no core copies",
            Effect::Transport => "copies within nodes",
            Effect::Gap => "no gap between messages",
            Effect::RanksPerNode => "costs of the fewest ranks",
            Effect::Duplex => "directions are independent",
            Effect::PairDuplex => "so are those of a pair",
            Effect::Rails => "one adapter per node",
            Effect::Cache => "copies use no memory",
            Effect::CacheReplacement => "caches of whole buffers",
            Effect::Interconnect => "no limit between CMPs",
            Effect::Memory => "each core has its memory",
            Effect::InCache => "no block fits a cache",
            Effect::Threads => "siblings do not slow",
            Effect::MemorySharing => "memory by placed ranks",
            Effect::Pairs => "levels alone",
            Effect::Uplinks => "no limit above groups",
            Effect::Links => "no limit of links",
            Effect::Connect => "no connections",
            Effect::UnexpectedCopy => "buffers cost no copy",
            Effect::Credits => "unlimited buffers",
            Effect::Progress => "adapters make progress",
            Effect::Noise => "no noise",
            Effect::Nodes => "nodes are alike",
        }
    }
}

impl Platform {
    /// Returns the machine without `effect`; `None` if it does not have the effect.
    pub fn without(&self, effect: Effect) -> Option<Platform> {
        let mut other = self.clone();
        let links = |change: &dyn Fn(Link) -> Link| self.links.clone().map(change);
        let protocols = |change: fn(&mut Protocol)| {
            links(&|link| {
                let mut protocol = link.protocol();
                change(&mut protocol);
                link.with_protocol(protocol)
            })
        };
        let occupancies = |change: fn(&mut Occupancy)| {
            links(&|link| {
                let mut occupancy = link.occupancy().clone();
                change(&mut occupancy);
                link.occupying(occupancy)
            })
        };
        match effect {
            Effect::Contention => other.links = links(&|link| link.with_law(Contention::Ideal)),
            Effect::Copies => other.links = occupancies(|of| of.copies = Copies::None),
            Effect::Transport => {
                other.links = occupancies(|of| {
                    if of.transport == InNodeTransport::Adapter {
                        (of.transport, of.copies) = (InNodeTransport::Memory, Copies::Receiver);
                    }
                });
            }
            Effect::Gap => {
                let without = |link: Link| {
                    let occupancy = Occupancy { duplex_gap: None, ..link.occupancy().clone() };
                    link.without_gaps().occupying(occupancy)
                };
                other.links = links(&without);
            }
            Effect::RanksPerNode => other = other.at_ranks(1),
            Effect::Duplex => other.links = occupancies(|of| (of.duplex, of.duplex_gap) = (None, None)),
            Effect::PairDuplex => other.links = occupancies(|of| of.pair_duplex = None),
            Effect::Rails => other.links = occupancies(|of| of.rails = Rails::default()),
            Effect::Cache => {
                other.memory = self.memory.and_then(|of| of.interconnect).map(CopyMemory::of_interconnect);
            }
            Effect::CacheReplacement => {
                other.memory = self.memory.map(|of| CopyMemory { replacement: CacheReplacement::default(), ..of });
            }
            Effect::Interconnect => {
                let kept = self.memory.filter(CopyMemory::has_caches);
                other.memory = kept.map(|of| CopyMemory { interconnect: None, ..of });
                let link = &mut other.links[Level::InterCmp as usize];
                *link = link.clone().occupying(Occupancy { capacity: None, ..link.occupancy().clone() });
            }
            Effect::Memory => {
                (other.core.cmp_memory, other.core.node_memory) = (Bandwidth::MAX, Bandwidth::MAX);
                let places = Arc::make_mut(&mut other.places);
                places.domains.iter_mut().for_each(|domain| domain.memory = None);
            }
            Effect::Uplinks => {
                let places = Arc::make_mut(&mut other.places);
                places.groups.iter_mut().for_each(|group| group.uplink = None);
            }
            Effect::Links => {
                if let Some(network) = &mut Arc::make_mut(&mut other.places).network {
                    Arc::make_mut(network).remove_limits();
                }
            }
            Effect::InCache => other.core.in_cache = None,
            Effect::Threads => other.core.threads = other.core.threads.apart(),
            Effect::MemorySharing => other.core.memory_sharing = MemorySharing::Placed,
            Effect::Pairs => other.pairs = None,
            Effect::Connect => other.links = protocols(|of| of.connection_time = SimSpan::ZERO),
            Effect::UnexpectedCopy => other.links = protocols(|of| of.unexpected_copy_bandwidth = None),
            Effect::Credits => other.links = protocols(|of| of.credits = None),
            Effect::Progress => other.conditions.progress = ProgressEngine::Hardware,
            Effect::Noise => other.conditions.noise = Noise::default(),
            Effect::Nodes => other.conditions.nodes = NodeFactors::default(),
        }
        // Without a level with the `fair` contention model, settings that only this model reads have no effect.
        let heeded = match effect {
            Effect::Copies
            | Effect::Transport
            | Effect::Duplex
            | Effect::PairDuplex
            | Effect::Rails
            | Effect::Cache
            | Effect::CacheReplacement
            | Effect::Interconnect => Level::ALL.iter().any(|level| self.link(*level).contention() == Contention::Fair),
            _ => true,
        };
        (heeded && other != *self).then_some(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support;

    /// Returns the built-in machine with the settings `keys`.
    fn machine(keys: &[&str]) -> Platform {
        let text = include_str!("../../../configs/default.toml");
        let keys: Vec<String> = keys.iter().map(|key| format!("platform.{key}")).collect();
        test_support::load(text, &keys.iter().map(String::as_str).collect::<Vec<_>>())
    }

    #[test]
    fn a_machine_without_an_effect_is_that_which_does_not_state_it() {
        let plain = machine(&["inter_node.contention=fair"]);
        for (key, effect) in [
            ("inter_node.connection_time=5us", Effect::Connect),
            ("inter_cmp.unexpected_copy_bandwidth=\"1 GB/s\"", Effect::UnexpectedCopy),
            ("inter_node.credits=3", Effect::Credits),
            ("progress=call", Effect::Progress),
            ("noise.nodes.deviation=0.1", Effect::Noise),
            ("nodes=[{only=[0],rate=0.5}]", Effect::Nodes),
            ("intra_cmp.transport=adapter", Effect::Transport),
            ("inter_node.duplex=\"15 GB/s\"", Effect::Duplex),
            ("inter_node.pair_duplex=\"15 GB/s\"", Effect::PairDuplex),
            ("cmp.memory_sharing=fair", Effect::MemorySharing),
            ("inter_cmp.capacity=\"90 GB/s\"", Effect::Interconnect),
        ] {
            assert_eq!(plain.without(effect), None, "{key}");
            let stated = machine(&["inter_node.contention=fair", key]);
            assert!(stated != plain, "{key}");
            assert_eq!(stated.without(effect), Some(plain.clone()), "{key}");
            for other in Effect::ALL.into_iter().filter(|other| *other != effect) {
                assert!(stated.without(other) != Some(plain.clone()), "{key} by {}", other.name());
            }
        }
    }

    #[test]
    fn uplinks_and_memories_of_domains_can_be_switched_off() {
        let rack = "places.rack={nodes=2,uplink_bandwidth=\"9 GB/s\"}";
        let machine_with = machine(&["inter_node.contention=fair", rack]);
        let without = machine_with.without(Effect::Uplinks).unwrap();
        assert_eq!(without, machine(&["inter_node.contention=fair", "places.rack={nodes=2}"]));
        assert_eq!(without.without(Effect::Uplinks), None);
        let numa = machine(&["places.numa={cores=8,memory_bandwidth=\"9 GB/s\"}"]);
        let without = numa.without(Effect::Memory).unwrap();
        assert_eq!((without.places.memory(), without.core.cmp_memory), (None, Bandwidth::MAX));
    }

    #[test]
    fn ranks_per_node_and_caches_of_parts_can_be_switched_off() {
        let level = |ranks: &str| {
            let values = format!("contention=\"fair\",bandwidth=\"10 GB/s\",{ranks}");
            machine(&[&format!("inter_node={{{values}}}")])
        };
        // Without the effect, the costs are those of the fewest ranks.
        let without = level("ranks_per_node=[2,8],latency=[\"1us\",\"3us\"]").without(Effect::RanksPerNode).unwrap();
        assert_eq!(without, level("latency=\"1us\""));
        assert_eq!(without.without(Effect::RanksPerNode), None);
        let random = machine(&["intra_cmp.contention=fair", "cmp.cache_replacement=random"]);
        let whole = machine(&["intra_cmp.contention=fair"]);
        assert_eq!(random.without(Effect::CacheReplacement), Some(whole.clone()));
        assert_eq!(whole.without(Effect::CacheReplacement), None);
    }

    #[test]
    fn without_contention_every_level_is_ideal() {
        let machine = machine(&[]);
        let ideal = machine.without(Effect::Contention).unwrap();
        assert!(ideal.links.iter().all(|link| link.contention() == Contention::Ideal));
        assert_eq!(ideal.without(Effect::Contention), None);
    }
}
