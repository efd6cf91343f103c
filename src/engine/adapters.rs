//! Network adapters in the `fair` contention model: the time for which each message occupies an adapter, and the queues
//! of small messages.
//!
//! A message of s bytes holds an adapter for gap + s / capacity. A message that affects other messages becomes a flow
//! with a rate that changes over time. A message that is too small to affect other messages, or whose occupancy is
//! mostly gap, queues in the adapters of its sender and receiver. If both directions of an adapter share capacity, the
//! message also queues in the port that both directions share.

use std::cell::Cell;

use mcpsim_base::platform::{Level, Platform, Rails, Row};
use mcpsim_base::profile::{Resource, UseSeries};
use mcpsim_base::units::{Bandwidth, Bytes, SimSpan, SimTime};

use super::network::RankLocation;
use super::resource::fifo::Fifo;
use super::resource::flows::Flows;

/// The adapters of a worker's nodes.
#[derive(Debug, Default)]
pub(super) struct Adapters {
    /// Bytes per second of one adapter, in each direction and in both directions together.
    capacity: Option<Bandwidth>,
    duplex: Option<Bandwidth>,
    /// Least time between two messages that use an adapter in either direction.
    duplex_gap: Option<SimSpan>,
    rails: Rails,
    /// Whether each adapter of a node is attached to its own plane of a network.
    has_planes: bool,
    cmps: u32,
    first_node: u32,
    /// Adapter of the first message of each rank of the worker, if the messages of a rank use the adapters of the node
    /// in turn.
    first: Vec<u8>,
    out: Vec<Fifo>,
    into: Vec<Fifo>,
    both: Vec<Fifo>,
    carried: Carried,
    /// Use over time by queued messages, out and in, if recorded.
    queued: Option<[Vec<UseSeries>; 2]>,
    slot: SimSpan,
    /// Use by the last message, because most messages are as large as the message before.
    last: Cell<AdapterUse>,
}

/// Use of adapters by a message of a given size and row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AdapterUse {
    size: Bytes,
    bandwidth: u64,
    gap: SimSpan,
    /// Time for which the message holds an adapter in one direction, and in both directions together.
    held: SimSpan,
    both: SimSpan,
    /// Greatest rate of the message's flow; `None` if the message queues.
    pub pace: Option<u64>,
}

/// Total time for which each adapter was occupied: outward, inward, and in both directions together if both directions
/// share capacity.
#[derive(Debug, Default)]
pub(super) struct Carried {
    pub out: Vec<SimSpan>,
    pub into: Vec<SimSpan>,
    pub both: Vec<SimSpan>,
}

impl Adapters {
    /// Creates the adapters of the nodes `nodes`, which belong to worker `me`.
    pub fn new(
        platform: &Platform,
        nodes: std::ops::Range<u32>,
        me: u32,
        seats: &[RankLocation],
        records: bool,
    ) -> Self {
        let occupancy = platform.link(Level::InterNode).occupancy();
        let rails = occupancy.rails.clone();
        let count = nodes.len() * rails.count as usize;
        let shared = if occupancy.duplex.is_some() || occupancy.duplex_gap.is_some() { count } else { 0 };
        let mut adapters = Adapters {
            capacity: occupancy.capacity,
            duplex: occupancy.duplex,
            duplex_gap: occupancy.duplex_gap,
            rails,
            has_planes: platform.places.network.as_ref().is_some_and(|network| network.planes() > 1),
            cmps: platform.shape.cmps,
            first_node: nodes.start,
            first: Vec::new(),
            out: vec![Fifo::default(); count],
            into: vec![Fifo::default(); count],
            both: vec![Fifo::default(); shared],
            carried: Carried {
                out: vec![SimSpan::ZERO; count],
                into: vec![SimSpan::ZERO; count],
                both: vec![SimSpan::ZERO; shared],
            },
            queued: records.then(|| [vec![UseSeries::default(); count], vec![UseSeries::default(); count]]),
            slot: platform.slot(),
            last: Cell::default(),
        };
        if adapters.take_turns() {
            // Consecutive ranks of a node begin with consecutive adapters.
            let mut seen = vec![0; nodes.len()];
            for seat in seats.iter().filter(|seat| seat.worker == me) {
                let seen = &mut seen[(seat.node - nodes.start) as usize];
                adapters.first.push((*seen % adapters.rails.count) as u8);
                *seen += 1;
            }
        }
        adapters
    }

    /// Returns whether the messages of a rank use the adapters of the rank's node in turn.
    #[inline]
    pub fn take_turns(&self) -> bool {
        self.rails.count > 1 && self.rails.of_cmp.is_empty()
    }

    /// Returns the adapter for message number `number` of a rank, if the messages of a rank use the adapters in turn.
    pub fn turn(&self, from: RankLocation, number: u32) -> u32 {
        (number + u32::from(self.first[from.local as usize])) % self.rails.count
    }

    /// Returns the adapters of a message at the sender's node and at the receiver's node. If the CMP of the rank does
    /// not determine the adapter, `turn` selects the adapter.
    pub fn rails_of(&self, from: RankLocation, to: RankLocation, turn: u32) -> [u8; 2] {
        let of = |seat: RankLocation| match self.rails.of_cmp.len() {
            0 => turn as u8,
            known => self.rails.of_cmp[(seat.cmp % self.cmps) as usize % known] as u8,
        };
        // A message stays in the plane of its sender's adapter.
        [of(from), if self.has_planes { of(from) } else { of(to) }]
    }

    /// Returns the use of adapters by a message.
    #[inline]
    pub fn use_by(&self, row: &Row, size: Bytes) -> AdapterUse {
        let last = self.last.get();
        match (last.size, last.bandwidth, last.gap) == (size, row.bandwidth.get(), row.gap) {
            true => last,
            false => self.other_use(row, size),
        }
    }

    #[cold]
    fn other_use(&self, row: &Row, size: Bytes) -> AdapterUse {
        // A message holds an adapter for the gap plus the bytes divided by the capacity.
        let held = row.gap + self.capacity.unwrap_or(row.bandwidth).span(size, 1);
        let both = if self.both.is_empty() { SimSpan::ZERO } else { self.held_both(held, size) };
        let pace = self.pace(row, size, held);
        let found = AdapterUse { size, bandwidth: row.bandwidth.get(), gap: row.gap, held, both, pace };
        self.last.set(found);
        found
    }

    /// Returns the greatest rate of the network flow by which a message is simulated. The flow has as many bytes as the
    /// adapter carries while the message holds it. A flow without contention takes as long as the bytes of the message
    /// take at the bandwidth of a ping-pong.
    ///
    /// Returns `None` if the message queues at the adapters instead. A message queues if it is too small to affect
    /// other messages, or if its gap is longer than its bytes take. A message also queues if it holds the adapter for
    /// at most one slot of virtual time, but longer than its bytes take in a ping-pong.
    fn pace(&self, row: &Row, size: Bytes, held: SimSpan) -> Option<u64> {
        let slot = self.slot;
        if held.as_ps() <= slot.as_ps() / 16 {
            return None;
        }
        let pace = row.bandwidth.get();
        let Some(capacity) = self.capacity.filter(|_| row.gap.as_ps() > 0) else { return Some(Flows::pace(pace)) };
        let capacity = u128::from(capacity.get());
        let more = capacity * u128::from(row.gap.as_ps()) / 1_000_000_000_000;
        let size = u128::from(size.get());
        // Additional bytes are ignored below a twentieth of the message, so that the flows of large messages stay in
        // one bundle.
        if more * 20 < size {
            return Some(Flows::pace(pace));
        }
        let faster = u128::from(pace) * (size + more) / size.max(1);
        let queues = more >= size || (faster > capacity && held <= slot);
        (!queues).then(|| Flows::pace(faster.min(capacity) as u64))
    }

    /// Queues a message that leaves its sender at `time`; returns the time at which the sender's adapter accepts the
    /// message.
    pub fn send(
        &mut self,
        from: RankLocation,
        to: RankLocation,
        turn: u32,
        row: &Row,
        size: Bytes,
        time: SimTime,
    ) -> (SimTime, Option<Resource>) {
        let [rail, _] = self.rails_of(from, to, turn);
        let AdapterUse { held, both, .. } = self.use_by(row, size);
        let at = self.port(from, rail);
        self.carried.out[at] += held;
        self.carry_both(at, both);
        let (start, one) = pass(&mut self.out[at], self.both.get_mut(at), time, held, both);
        self.record(0, at, start, held);
        (start, one.map(|one| if one { behind(row, held, Resource::AdapterOut) } else { Resource::Duplex }))
    }

    /// Queues a message whose head arrives at the receiver's node at `time`; returns the time at which the receiver's
    /// adapter accepts the message.
    pub fn receive(
        &mut self,
        from: RankLocation,
        to: RankLocation,
        turn: u32,
        row: &Row,
        size: Bytes,
        time: SimTime,
    ) -> (SimTime, Option<Resource>) {
        let [_, rail] = self.rails_of(from, to, turn);
        let AdapterUse { held, both, .. } = self.use_by(row, size);
        let at = self.port(to, rail);
        self.carried.into[at] += held;
        self.carry_both(at, both);
        let (start, one) = pass(&mut self.into[at], self.both.get_mut(at), time, held, both);
        self.record(1, at, start, held);
        (start, one.map(|one| if one { behind(row, held, Resource::AdapterIn) } else { Resource::Duplex }))
    }

    /// Adds the time for which the flow of an outgoing message occupies an adapter to the adapter's total.
    pub fn carry_out(&mut self, (from, to): (RankLocation, RankLocation), turn: u32, row: &Row, size: Bytes) {
        let [rail, _] = self.rails_of(from, to, turn);
        let (at, AdapterUse { held, both, .. }) = (self.port(from, rail), self.use_by(row, size));
        self.carried.out[at] += held;
        self.carry_both(at, both);
    }

    /// Adds the time for which the flow of an incoming message occupies an adapter to the adapter's total.
    pub fn carry_in(&mut self, (from, to): (RankLocation, RankLocation), turn: u32, row: &Row, size: Bytes) {
        let [_, rail] = self.rails_of(from, to, turn);
        let (at, AdapterUse { held, both, .. }) = (self.port(to, rail), self.use_by(row, size));
        self.carried.into[at] += held;
        self.carry_both(at, both);
    }

    fn carry_both(&mut self, at: usize, held: SimSpan) {
        if let Some(both) = self.carried.both.get_mut(at) {
            *both += held;
        }
    }

    fn record(&mut self, direction: usize, at: usize, start: SimTime, held: SimSpan) {
        if let Some(queued) = &mut self.queued {
            queued[direction][at].add(start.as_ps(), (start + held).as_ps(), 1);
        }
    }

    /// Returns the recorded use over time by queued messages: 0 (out) or 1 (in), node, adapter of the node, and use.
    pub fn queued(&self) -> impl Iterator<Item = (usize, u32, u32, &UseSeries)> + '_ {
        let both = self.queued.iter().flatten().enumerate();
        both.flat_map(move |(direction, all)| {
            all.iter().enumerate().map(move |(at, series)| {
                let (node, rail) = (at as u32 / self.rails.count, at as u32 % self.rails.count);
                (direction, self.first_node + node, rail, series)
            })
        })
    }

    /// Returns the total time for which each adapter was occupied.
    pub fn carried(&self) -> &Carried {
        &self.carried
    }

    /// Returns the time for which a message holds the port that both directions of an adapter share. This time is the
    /// gap plus the bytes divided by the shared capacity, and at least the duplex gap plus the bytes.
    fn held_both(&self, held: SimSpan, size: Bytes) -> SimSpan {
        let shared = self.capacity.zip(self.duplex).map_or(SimSpan::ZERO, |(capacity, duplex)| {
            let one_way = u128::from(held.as_ps());
            let both = one_way * u128::from(capacity.get()) / u128::from(duplex.get());
            SimSpan::from_ps(u64::try_from(both).unwrap_or(u64::MAX))
        });
        let bytes = |duplex: Bandwidth| duplex.span(size, 1);
        self.duplex_gap.map_or(shared, |gap| shared.max(gap + self.duplex.map_or(SimSpan::ZERO, bytes)))
    }

    fn port(&self, seat: RankLocation, rail: u8) -> usize {
        ((seat.node - self.first_node) * self.rails.count) as usize + usize::from(rail)
    }
}

/// Returns the resource that delays a queued message behind messages with the same occupancy.
fn behind(row: &Row, held: SimSpan, direction: Resource) -> Resource {
    if row.gap.as_ps() * 2 > held.as_ps() { Resource::Gap } else { direction }
}

/// Passes a message that arrives at `time` through the queue of one direction of an adapter, and through the queue that
/// both directions share. Returns the time at which the message has passed both queues. If the message waited, it also
/// returns whether the queue of the direction caused the wait.
#[inline]
fn pass(
    one: &mut Fifo,
    both: Option<&mut Fifo>,
    time: SimTime,
    held: SimSpan,
    held_both: SimSpan,
) -> (SimTime, Option<bool>) {
    let start = one.queue(time, held);
    let past_both = both.map_or(start, |both| start.max(both.queue(time, held_both)));
    (past_both, (past_both > time).then_some(past_both == start))
}
