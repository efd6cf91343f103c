//! Bundles: flows between the same two adapters with the same pace. Resources count bundles by weight. A bundle stores
//! its flows in the order of their ends.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use mcpsim_base::profile::UplinkKind;

/// Identifier of a bundle, equal at every worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BundleKey {
    /// Node of the sender.
    pub from: u32,
    /// Node of the receiver.
    pub to: u32,
    /// Greatest rate of each flow in bytes per second.
    pub pace: u64,
    /// Adapter of the sender and of the receiver.
    pub rails: [u8; 2],
    /// Whether flows take the longer path of an adaptive routing.
    pub detour: bool,
}

impl Hash for BundleKey {
    /// Hashes two words, because the lookup of a bundle per message must be fast.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.detour) << 63 | u64::from(self.from) << 32 | u64::from(self.to));
        state.write_u64(self.pace ^ u64::from(u16::from_le_bytes(self.rails)) << 48);
    }
}

/// Index of a bundle at a worker, from the announcement of a flow of the bundle until the flow ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BundleIndex(NonZeroU32);

impl BundleIndex {
    pub(super) fn new(number: u32) -> Self {
        BundleIndex(NonZeroU32::MIN.saturating_add(number))
    }

    pub(super) fn number(self) -> u32 {
        self.0.get() - 1
    }
}

/// Marks a bundle bound to its own pace.
pub(super) const PACE: u32 = u32::MAX;
/// Marks a bundle whose home is another worker, which alone knows the limiting resource.
pub(super) const ELSEWHERE: u32 = u32::MAX - 1;

/// Bundles that pass a resource of this worker. The home of a bundle is the worker of the receiving node.
#[derive(Debug, Default)]
pub(super) struct Bundles {
    numbers: FxHashMap<BundleKey, u32>,
    /// The bundle that was looked up last.
    last: Option<u32>,
    free: Vec<u32>,
    pub key: Vec<BundleKey>,
    pub path: Vec<SmallVec<[u32; 6]>>,
    /// Other workers that own resources of the path.
    pub others: Vec<SmallVec<[u32; 2]>>,
    pub pace: Vec<u64>,
    pub weight: Vec<i64>,
    /// Number of announced or ended flows that have not yet changed the weight.
    pub pending: Vec<u32>,
    /// Position of the bundle in the list of each resource of its path; empty without weight.
    pub places: Vec<SmallVec<[u32; 6]>>,
    pub touched: Vec<bool>,
    /// The limiting resource, [`PACE`] or [`ELSEWHERE`].
    pub bound: Vec<u32>,
    pub home: Vec<Home>,
}

/// State of a bundle at its home.
#[derive(Debug, Default)]
pub(super) struct Home {
    /// Amount that each flow has transferred, minus the clock of the limiting resource.
    pub offset: i128,
    /// Amount transferred at the end of each flow, and ticket of the flow.
    pub ends: FlowOrder,
    /// Version of the entry of the next end. Older entries are stale.
    pub version: u32,
    /// Loss of each flow up to `since`, when it had transferred `mark`.
    pub lost: LostBytes,
    pub since: u64,
    pub mark: i128,
}

/// Flows of a bundle in the order of their ends: amount transferred at the end, and ticket. Flows of equal size end in
/// the order of their starts and need no heap.
#[derive(Debug, Default)]
pub(super) struct FlowOrder {
    in_order: VecDeque<(i128, u32)>,
    others: BinaryHeap<Reverse<(i128, u32)>>,
}

/// Number of flows from which the list of a bundle grows fourfold, because it will probably become much longer.
const MANY: usize = 16;

impl FlowOrder {
    pub fn is_empty(&self) -> bool {
        self.in_order.is_empty() && self.others.is_empty()
    }

    #[inline]
    pub fn push(&mut self, end: (i128, u32)) {
        match self.in_order.back() {
            Some(last) if *last > end => self.others.push(Reverse(end)),
            _ => {
                let (length, room) = (self.in_order.len(), self.in_order.capacity());
                if length == room && length >= MANY {
                    self.in_order.reserve_exact(3 * length);
                }
                self.in_order.push_back(end);
            }
        }
    }

    /// Returns the first flow to end.
    #[inline]
    pub fn first(&self) -> Option<(i128, u32)> {
        match (self.in_order.front(), self.others.peek()) {
            (Some(first), Some(Reverse(other))) => Some(*first.min(other)),
            (first, other) => first.or(other.map(|Reverse(other)| other)).copied(),
        }
    }

    /// Removes the first flow to end.
    #[inline]
    pub fn pop(&mut self) -> Option<(i128, u32)> {
        match (self.in_order.front(), self.others.peek()) {
            (Some(first), Some(Reverse(other))) if other < first => self.others.pop().map(|Reverse(other)| other),
            (None, _) => self.others.pop().map(|Reverse(other)| other),
            _ => self.in_order.pop_front(),
        }
    }
}

/// Loss of the flows of a bundle relative to their pace, in bytes per second times picoseconds. The parts are the
/// losses at an outgoing adapter, at an incoming adapter, at both directions together, and at each kind of uplinks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LostBytes(pub [i128; LostBytes::UPLINKS + UplinkKind::COUNT]);

impl LostBytes {
    /// Number of parts before those of the kinds of uplinks.
    pub const UPLINKS: usize = 3;
}

impl Bundles {
    #[inline]
    pub fn get(&mut self, key: &BundleKey) -> Option<u32> {
        // Ranks of a node often send to the same node one after another.
        if let Some(last) = self.last
            && self.key[last as usize] == *key
        {
            return Some(last);
        }
        let found = self.numbers.get(key).copied();
        self.last = found.or(self.last);
        found
    }

    /// Adds a bundle with the path `path`. The workers `others` own resources of the path too.
    pub fn add(&mut self, key: BundleKey, path: SmallVec<[u32; 6]>, others: SmallVec<[u32; 2]>, home: bool) -> u32 {
        let number = self.free.pop().unwrap_or(self.key.len() as u32);
        let at = number as usize;
        let bound = if home { PACE } else { ELSEWHERE };
        if at == self.key.len() {
            self.key.push(key);
            self.path.push(path);
            self.others.push(others);
            self.pace.push(key.pace);
            self.weight.push(0);
            self.pending.push(0);
            self.places.push(SmallVec::new());
            self.touched.push(false);
            self.bound.push(bound);
            self.home.push(Home::default());
        } else {
            (self.key[at], self.path[at], self.others[at]) = (key, path, others);
            (self.pace[at], self.weight[at], self.bound[at]) = (key.pace, 0, bound);
        }
        self.numbers.insert(key, number);
        self.last = Some(number);
        number
    }

    /// Returns true if a bundle has active or announced flows.
    pub fn has_flows(&self, number: u32) -> bool {
        let at = number as usize;
        self.weight[at] != 0 || self.pending[at] > 0 || !self.home[at].ends.is_empty()
    }

    /// Removes a bundle without flows.
    pub fn remove(&mut self, number: u32) {
        self.numbers.remove(&self.key[number as usize]);
        self.last = self.last.filter(|last| *last != number);
        // Versions are never reused, because stale entries of this bundle may remain.
        self.home[number as usize].version += 1;
        self.free.push(number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_come_in_the_order_of_their_ends_whatever_the_order_they_start_in() {
        let (mut order, mut heap, mut x) = (FlowOrder::default(), BinaryHeap::new(), 1_u64);
        for ticket in 0..3000_u32 {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let end = (i128::from(ticket / 4) + i128::from(x >> 60), ticket % 7);
            order.push(end);
            heap.push(Reverse(end));
            if x >> 33 & 1 == 0 {
                assert_eq!(order.first(), heap.peek().map(|Reverse(end)| *end));
                assert_eq!(order.pop(), heap.pop().map(|Reverse(end)| end));
            }
        }
        while let Some(Reverse(end)) = heap.pop() {
            assert_eq!(order.pop(), Some(end));
        }
        assert!(order.is_empty() && order.pop().is_none());
    }
}
