//! Adapters under fair shares: how long a message holds one, and small messages that pass one after another.
//!
//! A message of s bytes holds an adapter for gap + s / capacity. One that is felt does so as a flow, which has as many
//! bytes more as the adapter carries in a gap. What is too small to be felt, or is mostly gap, queues on its way out
//! and in; where both directions share, at both together as well. Knows nothing of ranks.

use crate::platform::{Level, Platform, Rails, Row};
use crate::profile::Resource;
use crate::units::{Bandwidth, Bytes, SimSpan, SimTime};

use super::flows::Flows;
use super::network::RankLocation;
use super::port::Port;

/// The adapters of a worker's nodes.
#[derive(Debug, Default)]
pub(super) struct Adapters {
    /// Bytes a second of one, each way, and in both together.
    capacity: Option<Bandwidth>,
    duplex: Option<Bandwidth>,
    /// The least time between messages of both directions together.
    duplex_gap: Option<SimSpan>,
    rails: Rails,
    cmps: u32,
    first_node: u32,
    /// By rank of the worker: the adapter that its first message takes, where they take turns.
    first: Vec<u8>,
    out: Vec<Port>,
    into: Vec<Port>,
    both: Vec<Port>,
    carried: Carried,
}

/// For how long messages held each adapter: outwards, inwards, and both directions together where they share.
#[derive(Debug, Default)]
pub(super) struct Carried {
    pub out: Vec<SimSpan>,
    pub into: Vec<SimSpan>,
    pub both: Vec<SimSpan>,
}

impl Adapters {
    /// Those of `nodes`, which are of worker `me`.
    pub fn new(platform: &Platform, nodes: std::ops::Range<u32>, me: u32, seats: &[RankLocation]) -> Self {
        let occupancy = platform.link(Level::InterNode).occupancy();
        let rails = occupancy.rails.clone();
        let count = nodes.len() * rails.count as usize;
        let shared = if occupancy.duplex.is_some() || occupancy.duplex_gap.is_some() { count } else { 0 };
        let mut adapters = Adapters {
            capacity: occupancy.capacity,
            duplex: occupancy.duplex,
            duplex_gap: occupancy.duplex_gap,
            rails,
            cmps: platform.shape.cmps,
            first_node: nodes.start,
            first: Vec::new(),
            out: vec![Port::default(); count],
            into: vec![Port::default(); count],
            both: vec![Port::default(); shared],
            carried: Carried {
                out: vec![SimSpan::ZERO; count],
                into: vec![SimSpan::ZERO; count],
                both: vec![SimSpan::ZERO; shared],
            },
        };
        if adapters.take_turns() {
            // The ranks of a node begin with one adapter after the other.
            let mut seen = vec![0; nodes.len()];
            for seat in seats.iter().filter(|seat| seat.worker == me) {
                let seen = &mut seen[(seat.node - nodes.start) as usize];
                adapters.first.push((*seen % adapters.rails.count) as u8);
                *seen += 1;
            }
        }
        adapters
    }

    /// Whether a rank's messages take one adapter after the other.
    #[inline]
    pub fn take_turns(&self) -> bool {
        self.rails.count > 1 && self.rails.of_cmp.is_empty()
    }

    /// The adapter of a rank's message with this number, where they take turns.
    pub fn turn(&self, from: RankLocation, number: u32) -> u32 {
        (number + u32::from(self.first[from.local as usize])) % self.rails.count
    }

    /// The adapters of a message whose turn it is to take `turn`, if it is not its CMP that decides.
    pub fn rails_of(&self, from: RankLocation, to: RankLocation, turn: u32) -> [u8; 2] {
        let of = |seat: RankLocation| match self.rails.of_cmp.len() {
            0 => turn as u8,
            known => self.rails.of_cmp[(seat.cmp % self.cmps) as usize % known] as u8,
        };
        [of(from), of(to)]
    }

    /// How long a message holds an adapter in one direction: its gap, then its bytes.
    #[inline]
    pub fn held(&self, row: &Row, size: Bytes) -> SimSpan {
        row.gap + self.capacity.unwrap_or(row.bandwidth).span(size, 1)
    }

    /// The greatest rate of a message's flow, if it is one: the flow has as many bytes as the adapter carries while the
    /// message holds it, and alone takes as long as the bytes do at the pace of a ping-pong.
    ///
    /// None if it queues: it is too small to be felt, or holds the adapter for its gap more than for its bytes, or for
    /// longer than a ping-pong's bytes take, by less than a slot.
    #[inline]
    pub fn flow(&self, row: &Row, size: Bytes, slot: SimSpan) -> Option<u64> {
        let held = self.held(row, size);
        if held.as_ps() <= slot.as_ps() / 16 {
            return None;
        }
        let pace = row.bandwidth.get();
        let Some(capacity) = self.capacity.filter(|_| row.gap.as_ps() > 0) else { return Some(Flows::pace(pace)) };
        let capacity = u128::from(capacity.get());
        let more = capacity * u128::from(row.gap.as_ps()) / 1_000_000_000_000;
        let size = u128::from(size.get());
        // Less than a twentieth is left out: flows of large messages stay in one bundle.
        if more * 20 < size {
            return Some(Flows::pace(pace));
        }
        let faster = u128::from(pace) * (size + more) / size.max(1);
        let queues = more >= size || (faster > capacity && held <= slot);
        (!queues).then(|| Flows::pace(faster.min(capacity) as u64))
    }

    /// A message that queues leaves at `time`: when its adapter takes it.
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
        let (held, both) = (self.held(row, size), self.held_both(row, size));
        let at = self.port(from, rail);
        self.carried.out[at] += held;
        self.carry_both(at, both);
        let (start, one) = pass(&mut self.out[at], self.both.get_mut(at), time, held, both);
        (start, one.map(|one| if one { behind(row, held, Resource::AdapterOut) } else { Resource::Duplex }))
    }

    /// Its head gets there at `time`: when the adapter takes it.
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
        let (held, both) = (self.held(row, size), self.held_both(row, size));
        let at = self.port(to, rail);
        self.carried.into[at] += held;
        self.carry_both(at, both);
        let (start, one) = pass(&mut self.into[at], self.both.get_mut(at), time, held, both);
        (start, one.map(|one| if one { behind(row, held, Resource::AdapterIn) } else { Resource::Duplex }))
    }

    /// A message's flow leaves by an adapter.
    pub fn carry_out(&mut self, (from, to): (RankLocation, RankLocation), turn: u32, row: &Row, size: Bytes) {
        let [rail, _] = self.rails_of(from, to, turn);
        let (at, held) = (self.port(from, rail), self.held(row, size));
        self.carried.out[at] += held;
        self.carry_both(at, self.held_both(row, size));
    }

    /// It comes by one.
    pub fn carry_in(&mut self, (from, to): (RankLocation, RankLocation), turn: u32, row: &Row, size: Bytes) {
        let [_, rail] = self.rails_of(from, to, turn);
        let (at, held) = (self.port(to, rail), self.held(row, size));
        self.carried.into[at] += held;
        self.carry_both(at, self.held_both(row, size));
    }

    fn carry_both(&mut self, at: usize, held: SimSpan) {
        if let Some(both) = self.carried.both.get_mut(at) {
            *both += held;
        }
    }

    /// For how long messages held each adapter.
    pub fn carried(&self) -> &Carried {
        &self.carried
    }

    /// How long a message holds what both directions of an adapter have together: its gap and bytes as these share its
    /// bytes, and no less than the least time between two messages and its bytes.
    fn held_both(&self, row: &Row, size: Bytes) -> SimSpan {
        let shared = self.capacity.zip(self.duplex).map_or(SimSpan::ZERO, |(capacity, duplex)| {
            let one_way = u128::from(self.held(row, size).as_ps());
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

/// What a message waits for behind others like it, which hold the adapter for as long as it does.
fn behind(row: &Row, held: SimSpan, direction: Resource) -> Resource {
    if row.gap.as_ps() * 2 > held.as_ps() { Resource::Gap } else { direction }
}

/// A message comes at `time` to a direction of an adapter and to what both share, which queue apart: when it has passed
/// both queues, and, if it has waited, whether for the direction.
#[inline]
fn pass(
    one: &mut Port,
    both: Option<&mut Port>,
    time: SimTime,
    held: SimSpan,
    held_both: SimSpan,
) -> (SimTime, Option<bool>) {
    let start = one.queue(time, held);
    let past_both = both.map_or(start, |both| start.max(both.queue(time, held_both)));
    (past_both, (past_both > time).then_some(past_both == start))
}
