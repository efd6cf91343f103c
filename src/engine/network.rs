//! What messages cost on the target's network under the load of the moment: eq. 3 of the MCPSim paper with contention.
//!
//! A transfer holds, while it is under way: within a CMP the CMP's port; between CMPs the node's interconnect; between
//! nodes the sender's NIC outwards from leaving, and the receiver's NIC inwards from the arrival of the head. Each port
//! belongs to the worker that owns its node. The load is judged once, when the transfer meets the port; later ones do
//! not slow it.

use serde::{Deserialize, Serialize};

use crate::platform::{Level, Link, LoadLaw, NodeFactors, PairClasses, Platform, Row, Site};
use crate::profile::{SharesChanged, TransferParts};
use crate::rank::Rank;
use crate::units::{Bytes, SimSpan, SimTime};

use super::port::Port;

/// Where a rank is, as the engine needs it: compact, because the destination's is looked up for every message.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankLocation {
    /// The node, counted over those that have ranks.
    pub node: u32,
    /// The CMP, counted over all of those nodes.
    pub cmp: u32,
    /// The worker that owns the node.
    pub worker: u32,
    /// The rank's number among that worker's ranks.
    pub local: u32,
}

impl RankLocation {
    /// How far apart two seats are.
    #[inline]
    pub fn level(a: RankLocation, b: RankLocation) -> Level {
        if a.node != b.node {
            Level::InterNode
        } else if a.cmp != b.cmp {
            Level::InterCmp
        } else {
            Level::IntraCmp
        }
    }
}

/// The ports of a worker's nodes.
#[derive(Debug)]
pub(super) struct Network<'a> {
    platform: &'a Platform,
    /// Costs by class of pairs, and the core of each rank; `None` where levels say it all.
    pairs: Option<(&'a PairClasses, Vec<u32>)>,
    /// By level, for the size asked for last: most messages are as long as the one before.
    alone: [AloneCosts; 3],
    first_node: u32,
    first_cmp: u32,
    cmps: Vec<Port>,
    interconnects: Vec<Port>,
    out: Vec<Port>,
    into: Vec<Port>,
    /// Heads may come later than the link says.
    delayed: bool,
    /// What the bytes of a transfer take longer through each node's adapter; empty where it is the same everywhere.
    adapters: Vec<f64>,
}

/// What a transfer takes that shares nothing with others.
#[derive(Clone, Copy, Debug)]
struct AloneCosts {
    size: Bytes,
    latency: SimSpan,
    bytes: SimSpan,
}

impl AloneCosts {
    fn new(link: &Link, size: Bytes) -> Self {
        AloneCosts::of_row(link.row(size), link.law(), size)
    }

    fn of_row(row: &Row, law: LoadLaw, size: Bytes) -> Self {
        AloneCosts { size, latency: row.latency_under(law, 1), bytes: row.bytes_under(law, 1, size) }
    }

    /// That of `size`.
    #[inline]
    fn of(&mut self, link: &Link, size: Bytes) -> AloneCosts {
        if self.size != size {
            *self = AloneCosts::new(link, size);
        }
        *self
    }

    /// Latency and time of the bytes under `load`.
    #[inline]
    fn under(self, law: LoadLaw, row: &Row, load: u32) -> (SimSpan, SimSpan) {
        if load == 1 {
            return (self.latency, self.bytes);
        }
        (row.latency_under(law, load), row.bytes_under(law, load, self.size))
    }
}

/// What a message on its way says of its departure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    /// When it left.
    pub left: SimTime,
    /// The load it saw there.
    pub load: u32,
}

/// A transfer that has met its sender's port.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    /// When its head gets to the receiver.
    pub head: SimTime,
    /// The load it saw.
    pub load: u32,
}

impl<'a> Network<'a> {
    /// Idle ports for `nodes` of `platform`.
    pub fn new(platform: &'a Platform, nodes: std::ops::Range<u32>, delayed: bool) -> Self {
        let count = nodes.len();
        let cmps = platform.shape.cmps;
        // Ports that no law asks for take no room: a machine may have a million cores.
        let ports = |level: Level, count: usize| match platform.link(level).law() {
            LoadLaw::Ideal | LoadLaw::Fair => Vec::new(),
            LoadLaw::Share | LoadLaw::Queue | LoadLaw::Measured => vec![Port::default(); count],
        };
        Network {
            platform,
            pairs: None,
            alone: Level::ALL.map(|level| AloneCosts::new(platform.link(level), Bytes::ZERO)),
            first_node: nodes.start,
            first_cmp: nodes.start * cmps,
            cmps: ports(Level::IntraCmp, count * cmps as usize),
            interconnects: ports(Level::InterCmp, count),
            out: ports(Level::InterNode, count),
            into: ports(Level::InterNode, count),
            delayed,
            adapters: Vec::new(),
        }
    }

    /// How nodes differ.
    pub fn nodes(&self) -> &'a NodeFactors {
        &self.platform.conditions.nodes
    }

    /// Nodes' adapters have these factors of the link's bandwidth.
    pub fn with_adapters(&mut self, factors: &[f64]) {
        self.adapters = factors.iter().map(|factor| factor.recip()).collect();
    }

    /// What the bytes of a transfer of a level take longer through the adapters of both nodes.
    #[inline]
    fn slower(&self, level: Level, nodes: [u32; 2]) -> Option<f64> {
        if self.adapters.is_empty() || level != Level::InterNode {
            return None;
        }
        let [a, b] = nodes.map(|node| self.adapters[node as usize]);
        Some(a.max(b))
    }

    /// Ranks are at these sites: what a message of two of them costs may be told by the class of their cores.
    pub fn with_ranks_at(&mut self, sites: &[Site]) {
        let platform = self.platform;
        self.pairs = platform.pairs.as_deref().map(|of| (of, sites.iter().map(|site| of.core(*site)).collect()));
    }

    /// What a message of `size` between two ranks of a level costs.
    #[inline]
    pub fn row(&self, from: Rank, to: Rank, level: Level, size: Bytes) -> &'a Row {
        if let Some((of, cores)) = &self.pairs
            && let Some(row) = of.row(cores[from as usize], cores[to as usize], level, size)
        {
            return row;
        }
        self.platform.link(level).row(size)
    }

    /// What a message of `size` that costs what `row` says takes alone.
    #[inline]
    fn alone(&mut self, level: Level, row: &Row, size: Bytes) -> AloneCosts {
        let link = self.platform.link(level);
        match self.pairs {
            Some(_) => AloneCosts::of_row(row, link.law(), size),
            None => self.alone[level as usize].of(link, size),
        }
    }

    /// The link between two seats.
    #[inline]
    pub fn link(&self, level: Level) -> &'a Link {
        self.platform.link(level)
    }

    /// What the time of a transfer is made of.
    pub fn parts(&mut self, (from, to): (Rank, Rank), level: Level, size: Bytes, time: SimSpan) -> TransferParts {
        let row = self.row(from, to, level, size);
        let AloneCosts { latency, bytes, .. } = self.alone(level, row, size);
        TransferParts::of_transfer(time, latency, bytes)
    }

    /// What the time of a transfer's head is made of.
    pub fn head_parts(&self, (from, to): (Rank, Rank), level: Level, size: Bytes, time: SimSpan) -> TransferParts {
        let law = self.platform.link(level).law();
        TransferParts::of_transfer(time, self.row(from, to, level, size).latency_under(law, 1), SimSpan::ZERO)
    }

    /// What passed its ports.
    pub fn passed(&self) -> PassedPorts {
        let mut passed = PassedPorts::default();
        let of_levels = [vec![&self.cmps], vec![&self.interconnects], vec![&self.out, &self.into]];
        for (sums, ports) in passed.0.iter_mut().zip(of_levels) {
            for port in ports.into_iter().flatten() {
                sums[0] += u128::from(port.passed);
                sums[1] += u128::from(port.changed);
            }
        }
        passed
    }

    /// A message of `size` leaves `from` at `time`.
    pub fn depart(&mut self, from: RankLocation, level: Level, row: &Row, size: Bytes, time: SimTime) -> Departure {
        let link = self.platform.link(level);
        let law = link.law();
        if matches!(law, LoadLaw::Ideal | LoadLaw::Fair) {
            return Departure { head: time + row.latency, load: 1 };
        }
        let slower = self.slower(level, [from.node; 2]);
        let alone = self.alone(level, row, size);
        let port = match level {
            Level::IntraCmp => &mut self.cmps[(from.cmp - self.first_cmp) as usize],
            Level::InterCmp => &mut self.interconnects[(from.node - self.first_node) as usize],
            Level::InterNode => &mut self.out[(from.node - self.first_node) as usize],
        };
        if law == LoadLaw::Queue {
            let start = port.queue(time, longer(occupation(row, size), slower));
            port.count_queued(time, start, size.get());
            return Departure { head: start + row.latency, load: 1 };
        }
        let load = port.load_at(time);
        let (latency, bytes) = alone.under(law, row, load);
        let head = time + latency;
        let end = head + longer(bytes, slower);
        port.count(time, end, size.get());
        port.hold_until(end);
        Departure { head, load }
    }

    /// The head of a message from the node `from` that set out by `flight` gets to `to` at `head`: gives the time of
    /// its end.
    pub fn arrive(
        &mut self,
        (from, to): (u32, RankLocation),
        level: Level,
        row: &Row,
        size: Bytes,
        flight: Flight,
        head: SimTime,
    ) -> SimTime {
        let Flight { left, load } = flight;
        let slower = self.slower(level, [from, to.node]);
        let link = self.platform.link(level);
        let law = link.law();
        let alone = self.alone(level, row, size);
        let delayed = self.delayed;
        let under = |load| {
            let (latency, bytes) = alone.under(law, row, load);
            let bytes = longer(bytes, slower);
            // What delays a head delays all that follows.
            if delayed { head + bytes } else { (left + latency + bytes).max(head) }
        };
        match (law, level) {
            (LoadLaw::Ideal | LoadLaw::Fair, _)
            | (LoadLaw::Share | LoadLaw::Measured, Level::IntraCmp | Level::InterCmp) => under(load),
            (LoadLaw::Share | LoadLaw::Measured, Level::InterNode) => {
                let port = &mut self.into[(to.node - self.first_node) as usize];
                let end = under(load.max(port.load_at(head)));
                port.count(head, end, size.get());
                port.hold_until(end);
                end
            }
            (LoadLaw::Queue, Level::IntraCmp | Level::InterCmp) => head + alone.bytes,
            (LoadLaw::Queue, Level::InterNode) => {
                let port = &mut self.into[(to.node - self.first_node) as usize];
                let start = port.queue(head, longer(occupation(row, size), slower));
                port.count_queued(head, start, size.get());
                start + longer(alone.bytes, slower)
            }
        }
    }
}

/// By level: the bytes that passed ports which judge load once, and those of transfers whose share changed meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PassedPorts([[u128; 2]; 3]);

impl PassedPorts {
    /// Adds those of other nodes.
    pub fn merge(&mut self, other: &PassedPorts) {
        for (mine, theirs) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            *mine += theirs;
        }
    }

    /// The levels with such transfers, whose laws are these.
    pub fn changed(&self, law: impl Fn(Level) -> LoadLaw) -> Vec<SharesChanged> {
        let judged_once = |level: &Level| !matches!(law(*level), LoadLaw::Ideal | LoadLaw::Fair);
        let part = |level: Level| {
            let [passed, changed] = self.0[level as usize];
            (changed > 0).then(|| SharesChanged { level, part: changed as f64 / passed as f64 })
        };
        Level::ALL.into_iter().filter(judged_once).filter_map(part).collect()
    }
}

/// A time so many times as long.
#[inline]
fn longer(span: SimSpan, slower: Option<f64>) -> SimSpan {
    slower.map_or(span, |factor| SimSpan::from_ps((span.as_ps() as f64 * factor).round() as u64))
}

/// How long a message occupies a port one after another: LogGP's g or (s · G), whichever is longer.
fn occupation(row: &Row, size: Bytes) -> SimSpan {
    row.gap.max(row.bandwidth.span(size, 1))
}
