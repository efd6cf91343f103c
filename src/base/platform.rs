//! The target machine as pure values: its shape, the rates of its cores, and the costs of messages at each level.
//!
//! Independent of clocks, events and the programs of ranks.

mod baseline;
mod collective_times;
mod conditions;
mod effects;
mod file;
mod host_list;
mod ideal;
mod import;
mod level;
mod link;
mod map_by;
mod memory;
mod network;
mod node_map;
mod nodes;
mod noise;
mod occupancy;
mod overview;
mod pairs;
mod partition;
mod placement;
mod places;
mod protocol;
mod rank_file;
mod rates;
mod rules;
mod selection;
mod shape;
mod shares;
mod textbook;
mod threads;
mod unread;

pub use baseline::{Baseline, BaselineLink};
pub use collective_times::CollectiveTimes;
pub use conditions::{Conditions, ProgressEngine};
pub use effects::Effect;
pub use file::{Origins, ParameterOrigin, PlatformSource};
pub use host_list::expand as expand_hosts;
pub use import::{ImportedPlaces, import_places};
pub use level::{Level, Site};
pub use link::{Contention, Link, LoadColumn, Row};
pub use map_by::MapBy;
pub use memory::{CacheReplacement, CopyMemory, CopyTraffic};
pub use network::{LinkIndex, LinkLayer, LinkNetwork, LinkPath};
pub use node_map::{NodeMap, RegularNodes};
pub use nodes::NodeFactors;
pub use noise::{NetworkNoise, Noise, NoiseDistribution, Spread, SystemNoise};
pub use occupancy::{Copies, InNodeTransport, Occupancy, Rails, Tolerance};
pub use overview::{
    DrawnCable, DrawnSwitch, LayerOverview, LeastMost, MachineDrawing, MessageCosts, NetworkOverview, OVERVIEW_SIZES,
    PairOverview, PassedResource, PlaceCosts, PlaceOverview, PlatformOverview, RouteResource,
};
pub use pairs::{NO_CLASS, PairClasses};
pub use partition::Partition;
pub use placement::{Placement, PlacementError, cores_of};
pub use places::{Domain, Members, NarrowUplink, NodeGroup, Places, PlacesError};
pub use protocol::Protocol;
pub use rates::{CacheRates, CoreRates, MemoryPart, MemorySharing, ScaleFactor, Work};
pub use rules::{Algorithm, Collective, CollectiveRule, CollectiveRules, Library, Method, Volume};
pub use selection::{Branch, Condition, Selection, SelectionContext};
pub use shape::{Shape, ShapeError};
pub use shares::MemoryShares;
pub use textbook::{Hockney, LOGP_BYTES, LogGp, LogP, Textbook, message_sizes};
pub use threads::HardwareThreads;
pub use unread::UnreadKeys;

use std::sync::Arc;

use crate::units::{Bandwidth, SimSpan};

/// Least length of a slot, for networks with almost no latency between nodes.
const LEAST_SLOT: SimSpan = SimSpan::from_ns(10);

/// A target machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    /// Name in the file.
    pub name: String,
    /// Numbers of nodes, CMPs per node and cores per CMP.
    pub shape: Shape,
    /// Rates of a core.
    pub core: CoreRates,
    /// The link of each level, in the order of [`Level::ALL`].
    pub links: [Link; 3],
    /// Caches and memory used by copies within a node, if modelled.
    pub memory: Option<CopyMemory>,
    /// Selection of the algorithms of collectives.
    pub collectives: CollectiveRules,
    /// Other conditions: progress, noise, unequal nodes.
    pub conditions: Conditions,
    /// Parameters of the two-level baseline stated in the file.
    pub baseline: Baseline,
    /// Costs by class of pairs of cores instead of by level: measured classes, or those of `places`.
    pub pairs: Option<Arc<PairClasses>>,
    /// Domains of cores within a CMP, and groups of nodes.
    pub places: Arc<Places>,
    /// Keys of the file that the chosen contention models do not use.
    pub unread: Vec<UnreadKeys>,
}

impl Platform {
    /// Sets the node of each rank for the MPI library, from the places `sites` of the ranks, and the costs of messages
    /// for the number of ranks on the fullest node.
    pub fn spread_ranks(&mut self, sites: &[Site]) {
        self.collectives.nodes = Some(Arc::new(NodeMap::from_sites(sites)));
        if self.links.iter().all(|link| link.rows_by_ranks().is_empty()) {
            return;
        }
        let mut on_node = vec![0; self.shape.nodes as usize];
        sites.iter().for_each(|site| on_node[site.node as usize] += 1);
        let most = on_node.into_iter().max().unwrap_or(1);
        *self = self.at_ranks(most);
    }

    /// Returns the machine with the costs of messages on nodes of `ranks` ranks.
    pub fn at_ranks(&self, ranks: u32) -> Platform {
        let links = self.links.clone().map(|link| link.at_ranks(ranks));
        let pairs = self.pairs.as_ref().map(|pairs| Arc::new(pairs.at_ranks(ranks)));
        Platform { links, pairs, ..self.clone() }
    }

    /// Greatest number of ranks without oversubscription: one per hardware thread.
    pub fn most_ranks(&self) -> u32 {
        (self.shape.total_cores() as u32).saturating_mul(self.core.threads.count())
    }

    /// Caches and memory used by copies within a node, if a level within a node uses [`Contention::Fair`].
    pub fn heeded_memory(&self) -> Option<CopyMemory> {
        let is_fair = |level| self.link(level).contention() == Contention::Fair;
        let stated = self.memory?;
        let interconnect = stated.interconnect.filter(|_| is_fair(Level::InterCmp));
        let counts =
            interconnect.is_some() || stated.has_caches() && (is_fair(Level::IntraCmp) || is_fair(Level::InterCmp));
        counts.then_some(CopyMemory { interconnect, ..stated })
    }

    /// Link of messages at `level`.
    pub fn link(&self, level: Level) -> &Link {
        &self.links[level as usize]
    }

    /// Uplinks of groups of nodes with less bandwidth than the fastest message between nodes.
    pub fn narrow_uplinks(&self) -> Vec<NarrowUplink> {
        let of_level = self.link(Level::InterNode).rows().iter().map(|row| row.bandwidth.get()).max();
        let message_bytes_per_s = of_level.unwrap_or(0);
        let narrow = |group: &NodeGroup| {
            let uplink_bytes_per_s = group.uplink?.get();
            let is_narrow = uplink_bytes_per_s < message_bytes_per_s;
            is_narrow.then(|| NarrowUplink { place: group.name.clone(), uplink_bytes_per_s, message_bytes_per_s })
        };
        self.places.groups.iter().filter_map(narrow).collect()
    }

    /// Returns the machine with other numbers of nodes, CMPs and cores.
    ///
    /// Properties of a core, CMP and node (rates, memory bandwidth, links) do not change. Classes of pairs and places
    /// that do not fit the new shape are dropped; [`Places::check`] says whether they fit.
    pub fn with_shape(&self, shape: Shape) -> Platform {
        let pairs = self.pairs.as_ref().and_then(|pairs| pairs.on(shape)).map(Arc::new);
        let places = if self.places.check(shape).is_ok() { self.places.clone() } else { Arc::default() };
        Platform { shape, pairs, places, ..self.clone() }
    }

    /// Least latency of a message at `level`, including control messages.
    pub fn least_latency(&self, level: Level) -> SimSpan {
        let usual = self.link(level).least_latency();
        self.pairs.as_ref().and_then(|pairs| pairs.least_latency(level)).map_or(usual, |of_pairs| of_pairs.min(usual))
    }

    /// Returns the bytes per second at which a core copies data within its caches: as fast as it copies large messages
    /// within the CMP. `None` if the machine does not model caches or copies.
    pub fn cached_copy_rate(&self) -> Option<Bandwidth> {
        self.heeded_memory().filter(CopyMemory::has_caches)?;
        let link = self.link(Level::IntraCmp);
        let is_fair = link.contention() == Contention::Fair && link.occupancy().copies.by_receiver();
        let row = link.rows().last().filter(|_| is_fair)?;
        let rate = row.copy_bandwidth.unwrap_or(row.bandwidth);
        Bandwidth::new(rate.get().saturating_mul(row.copy_count.into()))
    }

    /// Returns whether messages of a level share network adapters over time.
    pub fn passes_adapters(&self, level: Level) -> bool {
        let by_adapter =
            level == Level::InterNode || self.link(level).occupancy().transport == InNodeTransport::Adapter;
        by_adapter && [level, Level::InterNode].iter().all(|level| self.link(*level).contention() == Contention::Fair)
    }

    /// Factors on the host time of each rank's own code; see [`CoreRates::code_factors`].
    pub fn code_factors(&self, sites: &[Site]) -> Vec<f64> {
        let nodes = &self.conditions.nodes;
        let usual = self.core.code_factors(sites);
        if nodes.slowdown.is_empty() {
            return usual;
        }
        let own = |node: u32| {
            let own = nodes.slowdown(node)?.to_vec();
            let core = CoreRates { slowdown: own, ..self.core.clone() };
            let here: Vec<Site> = sites.iter().filter(|site| site.node == node).copied().collect();
            Some(core.code_factors(&here))
        };
        let mut factors = usual;
        for node in 0..self.shape.nodes {
            let Some(own) = own(node) else { continue };
            let places = (0..sites.len()).filter(|&rank| sites[rank].node == node);
            places.zip(own).for_each(|(rank, factor)| factors[rank] = factor);
        }
        factors
    }

    /// Slowdown of code on `node` if `ranks`, at least one, share a CMP.
    pub fn slowdown_of(&self, node: u32, ranks: usize) -> f64 {
        match self.conditions.nodes.slowdown(node) {
            Some(own) => own.get(ranks - 1).or(own.last()).copied().unwrap_or(1.0),
            None => self.core.slowdown_of(ranks),
        }
    }

    /// Returns the machine for code whose time memory bounds only in this part, from 0 to 1. If the machine states no
    /// slowdown, the slowdown follows from the memory bandwidths of a core and of a CMP.
    pub fn with_memory_bound(mut self, part: f64) -> Platform {
        if self.core.slowdown.iter().all(|factor| *factor == 1.0) {
            self.core.slowdown = (1..=self.shape.cores).map(|ranks| self.core.streaming_slowdown(ranks)).collect();
        }
        self.core.slowdown = CoreRates::bound_by_memory(&self.core.slowdown, part);
        for own in &mut self.conditions.nodes.slowdown {
            *own = CoreRates::bound_by_memory(own, part);
        }
        if let Some(memory) = &mut self.memory {
            memory.code = (memory.code as f64 * part) as u64;
        }
        self
    }

    /// Least time between the departure of a message from a node and any effect of it at another node: the least
    /// inter-node latency, including handshakes. The clocks of workers may differ by this time.
    pub fn lookahead(&self) -> SimSpan {
        let between = self.link(Level::InterNode);
        let least = self.least_latency(Level::InterNode);
        match between.contention() {
            Contention::Ideal | Contention::Share | Contention::Queue | Contention::Measured => least,
            // All workers know of a transfer before the slot in which it starts.
            Contention::Fair if self.slot() * 2 <= least => least - self.slot(),
            // With a latency below two slots, a transfer takes part in the shares from one slot after its start.
            Contention::Fair => least,
        }
    }

    /// Time between two computations of transfer rates in a fair network: as stated, or half the least latency
    /// between nodes.
    pub fn slot(&self) -> SimSpan {
        let between = self.link(Level::InterNode);
        let half = SimSpan::from_ps(self.least_latency(Level::InterNode).as_ps() / 2);
        between.occupancy().slot.unwrap_or(half).max(LEAST_SLOT)
    }
}
