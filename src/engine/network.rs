//! Message costs on the network of the target machine at the current load: eq. 3 of the MCPSim paper with contention.
//!
//! A transfer holds ports while it is in flight. Within a CMP a transfer holds the CMP's port; between CMPs of a node
//! it holds the node's interconnect. Between nodes a transfer holds the sender's NIC outward from its departure, and
//! the receiver's NIC inward from the arrival of its head. A port belongs to the worker that owns the node of the port.
//! The load of a port is determined once, when a transfer reaches the port; later transfers do not slow this transfer.

use serde::{Deserialize, Serialize};

use mcpsim_base::platform::{Contention, Level, Link, NodeFactors, PairClasses, Platform, Row, Site};
use mcpsim_base::profile::{SharesChanged, TransferParts};
use mcpsim_base::rank::Rank;
use mcpsim_base::units::{Bytes, SimSpan, SimTime};

use super::departure::{Departure, Passage};
use super::resource::once::Port;

/// Location of a rank, and the worker that owns the rank. The struct is compact, because each message reads the
/// location of its destination.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankLocation {
    /// Number of the node among the nodes that have ranks.
    pub node: u32,
    /// Number of the CMP among the CMPs of all nodes that have ranks.
    pub cmp: u32,
    /// Worker that owns the node.
    pub worker: u32,
    /// Number of the rank among the worker's ranks.
    pub local: u32,
}

impl RankLocation {
    /// Returns the level of messages between two ranks.
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

/// Ports of a worker's nodes.
#[derive(Debug)]
pub(super) struct Network<'a> {
    platform: &'a Platform,
    /// Costs by class of pairs of cores, and the core of each rank; `None` if costs depend on the level only.
    pairs: Option<(&'a PairClasses, Vec<u32>)>,
    /// For each level, costs of the last message size, because most messages have the size of the previous message. The
    /// field is unused with classes of pairs.
    last: [LastSize<'a>; 3],
    first_node: u32,
    first_cmp: u32,
    cmps: Vec<Port>,
    interconnects: Vec<Port>,
    out: Vec<Port>,
    into: Vec<Port>,
    /// Heads of messages may arrive later than the link states.
    delayed: bool,
    /// Slowdown factor of each node's adapter; empty if all adapters are equal.
    adapters: Vec<f64>,
}

/// Latency of a transfer without contention, and transfer time of its bytes.
#[derive(Clone, Copy, Debug)]
struct AloneCosts {
    size: Bytes,
    latency: SimSpan,
    bytes: SimSpan,
}

/// Costs of the last message size on a level's link.
#[derive(Clone, Copy, Debug)]
struct LastSize<'a> {
    row: &'a Row,
    alone: AloneCosts,
    /// Transfer time of the bytes at the bandwidth of the row, and time of a copy by a core.
    only_bytes: SimSpan,
    copy: SimSpan,
    /// Transfer time of the bytes at each small load under `share`; zero until the time is computed.
    shared: [SimSpan; KEPT_LOADS],
}

/// Loads below this limit are frequent, and their transfer times are stored.
const KEPT_LOADS: usize = 32;

impl<'a> LastSize<'a> {
    fn new(link: &'a Link, size: Bytes) -> Self {
        let row = link.row(size);
        let alone = AloneCosts::of_row(row, link.contention(), size);
        let (only_bytes, copy) = (row.bandwidth.span(size, 1), row.copy(size));
        LastSize { row, alone, only_bytes, copy, shared: [SimSpan::ZERO; KEPT_LOADS] }
    }

    /// Returns the latency, and the transfer time of the bytes, at `load` for the costs `alone` and `row`.
    #[inline(always)]
    fn under(&mut self, alone: AloneCosts, contention: Contention, row: &Row, load: u32) -> (SimSpan, SimSpan) {
        if load == 1 {
            return (alone.latency, alone.bytes);
        }
        if contention != Contention::Share || alone.size != self.alone.size || load as usize >= KEPT_LOADS {
            return alone.under_load(contention, row, load);
        }
        let kept = &mut self.shared[load as usize];
        if *kept == SimSpan::ZERO {
            *kept = alone.under_load(contention, row, load).1;
        }
        (row.latency, *kept)
    }
}

impl AloneCosts {
    fn of_row(row: &Row, contention: Contention, size: Bytes) -> Self {
        AloneCosts { size, latency: row.latency_under(contention, 1), bytes: row.bytes_under(contention, 1, size) }
    }

    /// Returns the latency, and the transfer time of the bytes, of a transfer with these costs at `load`.
    #[inline(never)]
    fn under_load(self, contention: Contention, row: &Row, load: u32) -> (SimSpan, SimSpan) {
        (row.latency_under(contention, load), row.bytes_under(contention, load, self.size))
    }
}

impl<'a> Network<'a> {
    /// Creates idle ports for the nodes `nodes` of `platform`.
    pub fn new(platform: &'a Platform, nodes: std::ops::Range<u32>, delayed: bool) -> Self {
        let count = nodes.len();
        let cmps = platform.shape.cmps;
        // Ports are allocated only for contention models that use ports, because a machine may have a million cores.
        let ports = |level: Level, count: usize| match platform.link(level).contention() {
            Contention::Ideal | Contention::Fair => Vec::new(),
            Contention::Share | Contention::Queue | Contention::Measured => vec![Port::default(); count],
        };
        Network {
            platform,
            pairs: None,
            last: Level::ALL.map(|level| LastSize::new(platform.link(level), Bytes::ZERO)),
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

    /// Returns the factors by which nodes differ from the nodes of the platform file.
    pub fn nodes(&self) -> &'a NodeFactors {
        &self.platform.conditions.nodes
    }

    /// Sets the factor of each node's adapter on the bandwidth of the link between nodes.
    pub fn with_adapters(&mut self, factors: &[f64]) {
        self.adapters = factors.iter().map(|factor| factor.recip()).collect();
    }

    /// Returns the slowdown factor of a transfer of a level, from the adapters of sender and receiver.
    #[inline(always)]
    fn slower(&self, level: Level, nodes: [u32; 2]) -> Option<f64> {
        if self.adapters.is_empty() { None } else { self.slower_of(level, nodes) }
    }

    #[cold]
    fn slower_of(&self, level: Level, nodes: [u32; 2]) -> Option<f64> {
        let [a, b] = nodes.map(|node| self.adapters[node as usize]);
        (level == Level::InterNode).then_some(a.max(b))
    }

    /// Sets the cores of all ranks, which determine the class of each pair of ranks.
    pub fn with_ranks_at(&mut self, sites: &[Site]) {
        let platform = self.platform;
        self.pairs = platform.pairs.as_deref().map(|of| (of, sites.iter().map(|site| of.core(*site)).collect()));
        if self.pairs.is_some() {
            // No message has the size `Bytes::MAX`, so the first message computes its costs.
            self.last = Level::ALL.map(|level| LastSize::new(platform.link(level), Bytes::MAX));
        }
    }

    /// Returns the costs of a message of `size` between two ranks of a level.
    #[inline(always)]
    pub fn row(&mut self, from: Rank, to: Rank, level: Level, size: Bytes) -> &'a Row {
        if from == to
            && let Some(row) = self.row_to_self(level, size)
        {
            return row;
        }
        let last = &self.last[level as usize];
        if last.alone.size == size { last.row } else { self.other_row(from, to, level, size) }
    }

    /// Returns the costs of a message of `size` that a rank sends to itself, if they are not those of other messages.
    #[cold]
    fn row_to_self(&self, level: Level, size: Bytes) -> Option<&'a Row> {
        let platform = self.platform;
        if self.pairs.is_some() { None } else { platform.link(level).row_to_self(size) }
    }

    #[cold]
    fn other_row(&mut self, from: Rank, to: Rank, level: Level, size: Bytes) -> &'a Row {
        match self.pairs {
            None => {
                let asked = LastSize::new(self.platform.link(level), size);
                self.last[level as usize] = asked;
                asked.row
            }
            Some(_) => self.row_of_pair(from, to, level, size),
        }
    }

    fn row_of_pair(&self, from: Rank, to: Rank, level: Level, size: Bytes) -> &'a Row {
        self.link_of_pair(from, to, level).unwrap_or(self.platform.link(level)).row(size)
    }

    /// Returns the same as [`Network::row`], but does not store the costs for the next message.
    #[inline(always)]
    pub fn received_row(&self, from: Rank, to: Rank, level: Level, size: Bytes) -> &'a Row {
        if self.pairs.is_some() {
            return self.row_of_pair(from, to, level, size);
        }
        if from == to
            && let Some(row) = self.row_to_self(level, size)
        {
            return row;
        }
        let last = &self.last[level as usize];
        if last.alone.size == size { last.row } else { self.platform.link(level).row(size) }
    }

    /// Returns the time of a control message between two ranks of a level.
    #[inline(always)]
    pub fn handshake(&self, from: Rank, to: Rank, level: Level) -> SimSpan {
        let of_pair = if self.pairs.is_some() { self.link_of_pair(from, to, level) } else { None };
        of_pair.unwrap_or(self.platform.link(level)).handshake()
    }

    fn link_of_pair(&self, from: Rank, to: Rank, level: Level) -> Option<&'a Link> {
        let (of, cores) = self.pairs.as_ref()?;
        let [from, to] = [from, to].map(|rank| cores[rank as usize]);
        of.link(from, to, level)
    }

    /// Returns the costs of a message of `size` without contention.
    #[inline(always)]
    fn alone(&self, level: Level, row: &Row, size: Bytes) -> AloneCosts {
        let last = &self.last[level as usize].alone;
        if last.size == size { *last } else { self.other_alone(level, row, size) }
    }

    /// Returns the transfer time of the bytes of a message without contention, for the costs `row` of the message.
    #[inline(always)]
    pub fn bytes_alone(&self, level: Level, row: &Row, size: Bytes) -> SimSpan {
        let last = &self.last[level as usize];
        if last.alone.size == size && std::ptr::eq(last.row, row) {
            last.only_bytes
        } else {
            row.bandwidth.span(size, 1)
        }
    }

    /// Returns the time in which a core copies a message, for the costs `row` of the message.
    #[inline(always)]
    pub fn copy_alone(&self, level: Level, row: &Row, size: Bytes) -> SimSpan {
        let last = &self.last[level as usize];
        if last.alone.size == size && std::ptr::eq(last.row, row) { last.copy } else { row.copy(size) }
    }

    #[cold]
    fn other_alone(&self, level: Level, row: &Row, size: Bytes) -> AloneCosts {
        AloneCosts::of_row(row, self.platform.link(level).contention(), size)
    }

    /// Returns the link of a level.
    #[inline]
    pub fn link(&self, level: Level) -> &'a Link {
        self.platform.link(level)
    }

    /// Divides the time of a transfer into latency, transfer of the bytes and contention.
    #[inline(always)]
    pub fn parts(&mut self, (from, to): (Rank, Rank), level: Level, size: Bytes, time: SimSpan) -> TransferParts {
        let last = self.last[level as usize].alone;
        let AloneCosts { latency, bytes, .. } = match last.size == size && from != to {
            true => last,
            false => self.alone_of(from, to, level, size),
        };
        TransferParts::of_transfer(time, latency, bytes)
    }

    #[cold]
    fn alone_of(&mut self, from: Rank, to: Rank, level: Level, size: Bytes) -> AloneCosts {
        let row = self.row(from, to, level, size);
        match from == to {
            true => self.other_alone(level, row, size),
            false => self.alone(level, row, size),
        }
    }

    /// Divides the time from the departure of a transfer to the arrival of its head into latency and contention.
    pub fn head_parts(&mut self, (from, to): (Rank, Rank), level: Level, size: Bytes, time: SimSpan) -> TransferParts {
        let contention = self.platform.link(level).contention();
        TransferParts::of_transfer(time, self.row(from, to, level, size).latency_under(contention, 1), SimSpan::ZERO)
    }

    /// Returns the traffic through the ports of this worker.
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

    /// Starts the transfer of a message of `size` that leaves `from` at `time`.
    #[inline(always)]
    pub fn depart(&mut self, from: RankLocation, level: Level, row: &Row, size: Bytes, time: SimTime) -> Departure {
        let link = self.platform.link(level);
        let contention = link.contention();
        if matches!(contention, Contention::Ideal | Contention::Fair) {
            return Departure { head: time + row.latency, passage: Passage::of_port(1) };
        }
        let slower = self.slower(level, [from.node; 2]);
        let alone = self.alone(level, row, size);
        let port = match level {
            Level::IntraCmp => &mut self.cmps[(from.cmp - self.first_cmp) as usize],
            Level::InterCmp => &mut self.interconnects[(from.node - self.first_node) as usize],
            Level::InterNode => &mut self.out[(from.node - self.first_node) as usize],
        };
        if contention == Contention::Queue {
            let start = port.queue(time, longer(occupation(row, size), slower), size.get());
            return Departure { head: start + row.latency, passage: Passage::of_port(1) };
        }
        let load = port.load_at(time);
        let (latency, bytes) = self.last[level as usize].under(alone, contention, row, load);
        let head = time + latency;
        let end = head + longer(bytes, slower);
        port.hold(time, end, size.get());
        Departure { head, passage: Passage::of_port(load) }
    }

    /// Returns the arrival time of the last byte of a message between two nodes, or within a node. The message departed
    /// at `left`, when the sender's port had the load `load`, and its head arrives at `head`.
    #[inline(always)]
    pub fn arrive(
        &mut self,
        nodes: [u32; 2],
        level: Level,
        row: &Row,
        size: Bytes,
        (left, load): (SimTime, u32),
        head: SimTime,
    ) -> SimTime {
        let contention = self.platform.link(level).contention();
        let alone = self.alone(level, row, size);
        let slower = self.slower(level, nodes);
        let into = (level == Level::InterNode).then(|| (nodes[1] - self.first_node) as usize);
        if contention == Contention::Queue {
            let Some(into) = into else { return head + alone.bytes };
            let port = &mut self.into[into];
            let start = port.queue(head, longer(occupation(row, size), slower), size.get());
            return start + longer(alone.bytes, slower);
        }
        let (is_shared, delayed) = (matches!(contention, Contention::Share | Contention::Measured), self.delayed);
        let mut port = into.filter(|_| is_shared).map(|into| &mut self.into[into]);
        let load = port.as_mut().map_or(load, |port| load.max(port.load_at(head)));
        let (latency, bytes) = self.last[level as usize].under(alone, contention, row, load);
        let bytes = longer(bytes, slower);
        // A delay of a message's head delays all bytes of the message.
        let end = if delayed { head + bytes } else { (left + latency + bytes).max(head) };
        if let Some(port) = port {
            port.hold(head, end, size.get());
        }
        end
    }
}

/// For each level, bytes that passed ports whose contention model fixes the load of a transfer at its start, and bytes
/// of transfers whose share would have changed in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PassedPorts([[u128; 2]; 3]);

impl PassedPorts {
    /// Adds the traffic through the ports of other nodes.
    pub fn merge(&mut self, other: &PassedPorts) {
        for (mine, theirs) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            *mine += theirs;
        }
    }

    /// Returns the levels with transfers whose share would have changed in flight. `contention` returns the contention
    /// model of a level.
    pub fn changed(&self, contention: impl Fn(Level) -> Contention) -> Vec<SharesChanged> {
        let judged_once = |level: &Level| !matches!(contention(*level), Contention::Ideal | Contention::Fair);
        let part = |level: Level| {
            let [passed, changed] = self.0[level as usize];
            (changed > 0).then(|| SharesChanged { level, part: changed as f64 / passed as f64 })
        };
        Level::ALL.into_iter().filter(judged_once).filter_map(part).collect()
    }
}

/// Multiplies a time by a slowdown factor, if any.
#[inline]
fn longer(span: SimSpan, slower: Option<f64>) -> SimSpan {
    slower.map_or(span, |factor| SimSpan::from_ps((span.as_ps() as f64 * factor).round() as u64))
}

/// Returns the time for which a queued message occupies a port: LogGP's g or (s · G), whichever is longer, for a
/// message of s bytes.
fn occupation(row: &Row, size: Bytes) -> SimSpan {
    row.gap.max(row.bandwidth.span(size, 1))
}
