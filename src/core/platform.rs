//! The target machine as pure values: its shape, what its cores do a second, and what a message costs at each level.
//!
//! Nothing here knows of clocks, events or ranks' programs.

mod baseline;
mod conditions;
mod effects;
mod file;
mod ideal;
mod level;
mod link;
mod memory;
mod node_map;
mod nodes;
mod noise;
mod occupancy;
mod pairs;
mod partition;
mod placement;
mod protocol;
mod rates;
mod rules;
mod selection;
mod shape;
mod shares;
mod textbook;
mod threads;
mod unread;

pub use baseline::{Baseline, BaselineLink};
pub use conditions::{Conditions, ProgressEngine};
pub use effects::Effect;
pub use file::PlatformSource;
pub use level::{Level, Site};
pub use link::{Link, LoadColumn, LoadLaw, Row};
pub use memory::{CopyMemory, CopyTraffic};
pub use node_map::{NodeMap, RegularNodes};
pub use nodes::NodeFactors;
pub use noise::{NetworkNoise, Noise, NoiseLaw, Spread, SystemNoise};
pub use occupancy::{Copies, Occupancy, Rails, Tolerance};
pub use pairs::{NO_CLASS, PairClasses};
pub use partition::Partition;
pub use placement::{Placement, PlacementError, cores_of};
pub use protocol::Protocol;
pub use rates::{CacheRates, CoreRates, MemoryLaw, MemoryPart, Work};
pub use rules::{Algorithm, Collective, CollectiveRule, CollectiveRules, Library, Method, Volume};
pub use selection::{Branch, Condition, Selection, SelectionContext};
pub use shape::{Shape, ShapeError};
pub use shares::MemoryShares;
pub use textbook::{Hockney, LOGP_BYTES, LogGp, LogP, Textbook, message_sizes};
pub use threads::HardwareThreads;
pub use unread::UnreadKeys;

use std::sync::Arc;

use crate::units::SimSpan;

/// Where there is next to no latency between nodes, rates are still not judged more often than this.
const LEAST_SLOT: SimSpan = SimSpan::from_ns(10);

/// A target machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    /// What the file calls it.
    pub name: String,
    /// Nodes, CMPs a node, cores a CMP.
    pub shape: Shape,
    /// What a core does a second.
    pub core: CoreRates,
    /// The link of each level, in the order of [`Level::ALL`].
    pub links: [Link; 3],
    /// Caches and memory that copies within a node pass, if they count.
    pub memory: Option<CopyMemory>,
    /// Which algorithm a collective uses.
    pub collectives: CollectiveRules,
    /// What its ranks meet besides: progress, noise, nodes unlike others.
    pub conditions: Conditions,
    /// What the file states of the two-level baseline.
    pub baseline: Baseline,
    /// Costs by class of pairs of cores instead of their levels', where the machine fits no shape.
    pub pairs: Option<Arc<PairClasses>>,
    /// What the file states and nothing reads, as the laws are.
    pub unread: Vec<UnreadKeys>,
}

impl Platform {
    /// Tells its libraries where ranks are: a rank at each of `sites`.
    pub fn spread_ranks(&mut self, sites: &[Site]) {
        self.collectives.nodes = Some(Arc::new(NodeMap::of(sites)));
    }

    /// How many ranks it has places for: one a hardware thread.
    pub fn places(&self) -> u32 {
        (self.shape.total_cores() as u32).saturating_mul(self.core.threads.count())
    }

    /// What copies within a node find of caches and memory, where a level there shares fairly.
    pub fn heeded_memory(&self) -> Option<CopyMemory> {
        let is_fair = |level| self.link(level).law() == LoadLaw::Fair;
        let stated = self.memory?;
        let interconnect = stated.interconnect.filter(|_| is_fair(Level::InterCmp));
        let counts =
            interconnect.is_some() || stated.has_caches() && (is_fair(Level::IntraCmp) || is_fair(Level::InterCmp));
        counts.then_some(CopyMemory { interconnect, ..stated })
    }

    /// The link a message crosses at `level`.
    pub fn link(&self, level: Level) -> &Link {
        &self.links[level as usize]
    }

    /// The same machine with other numbers of nodes, CMPs and cores.
    ///
    /// What a core, a CMP and a node have (rates, memory bandwidth, links) stays as it is. Classes of pairs of
    /// cores that are others then are lost.
    pub fn with_shape(&self, shape: Shape) -> Platform {
        let pairs = self.pairs.as_ref().and_then(|pairs| pairs.on(shape)).map(Arc::new);
        Platform { shape, pairs, ..self.clone() }
    }

    /// The least latency of a message at `level`, control messages included.
    pub fn least_latency(&self, level: Level) -> SimSpan {
        let usual = self.link(level).least_latency();
        self.pairs.as_ref().and_then(|pairs| pairs.least_latency(level)).map_or(usual, |of_pairs| of_pairs.min(usual))
    }

    /// What the host time of each rank's own code is multiplied by; see [`CoreRates::code_factors`].
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

    /// What code on `node` takes longer where `ranks`, at least one, share a CMP.
    pub fn slowdown_of(&self, node: u32, ranks: usize) -> f64 {
        match self.conditions.nodes.slowdown(node) {
            Some(own) => own.get(ranks - 1).or(own.last()).copied().unwrap_or(1.0),
            None => self.core.slowdown_of(ranks),
        }
    }

    /// The same machine for code whose time memory bounds only in part, of 1.
    pub fn with_memory_bound(mut self, part: f64) -> Platform {
        self.core.slowdown = CoreRates::bound_by_memory(&self.core.slowdown, part);
        for own in &mut self.conditions.nodes.slowdown {
            *own = CoreRates::bound_by_memory(own, part);
        }
        if let Some(memory) = &mut self.memory {
            memory.code = (memory.code as f64 * part) as u64;
        }
        self
    }

    /// The least time between a message's leaving a node and any effect of it at another: the least inter-node latency,
    /// handshakes included. Workers may be that far apart in virtual time.
    pub fn lookahead(&self) -> SimSpan {
        let between = self.link(Level::InterNode);
        let least = self.least_latency(Level::InterNode);
        match between.law() {
            LoadLaw::Ideal | LoadLaw::Share | LoadLaw::Queue | LoadLaw::Measured => least,
            // All workers know of a transfer before the slot in which it starts.
            LoadLaw::Fair if self.slot() * 2 <= least => least - self.slot(),
            // Less than two slots: a transfer may count from a slot after its start.
            LoadLaw::Fair => least,
        }
    }

    /// The time between two moments at which rates are judged anew, where the network shares fairly: as stated, or
    /// half the least latency between nodes.
    pub fn slot(&self) -> SimSpan {
        let between = self.link(Level::InterNode);
        let half = SimSpan::from_ps(self.least_latency(Level::InterNode).as_ps() / 2);
        between.occupancy().slot.unwrap_or(half).max(LEAST_SLOT)
    }
}

/// The machine that a text states, for tests.
#[cfg(test)]
pub(crate) fn stated(text: &str, overrides: &[&str]) -> Platform {
    use crate::config::{Document, Override};
    let overrides: Vec<_> = overrides.iter().map(|over| Override::parse(over).unwrap()).collect();
    Platform::load(Document::parse("x.toml", text).unwrap(), &overrides).unwrap()
}
