//! Max-min shares of the memories of a node. Rates change when a flow begins or ends.
//!
//! A flow is a copy beyond the caches or a computing block. Its rate is at most its pace, which is that of its core.
//! For each of its own bytes, a flow uses a fixed amount of each memory, its weight there. The caller chooses the unit
//! of weights and capacities, such as a byte. Flows with the same pace and the same weights form a class and have the
//! same rate. The clock of a class is the integral of its rate.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use smallvec::SmallVec;

/// Picoseconds per second. The unit of clocks is bytes per second times picoseconds.
const SECOND: u128 = 1_000_000_000_000;

/// Unit of the use of a memory: parts of its capacity.
const PARTS: u64 = 1_000_000;

/// Weights of a flow: index of a memory, and weight of the flow there. A memory is that of a CMP, the node or a domain,
/// or a direction of the connection between CMPs.
pub(crate) type Moves = SmallVec<[(u32, u64); 3]>;

/// Owner of a flow: two numbers that the caller chooses. The second one may be [`COPY`].
pub(crate) type Owner = (u32, u32);

/// Second number of the owner of a copy.
pub(crate) const COPY: u32 = u32::MAX;

/// Active flows of a node and the memories that they share.
#[derive(Debug)]
pub(crate) struct Shares {
    /// Capacity of each memory, in units of weights per second.
    capacity: Vec<u64>,
    /// Unused capacity of each memory.
    left: Vec<u64>,
    /// Total weight of the flows at each memory whose rates still rise, while rates are computed.
    rising: Vec<u64>,
    /// Use of each memory: the integral over picoseconds and the maximum, both in [`PARTS`] of the capacity.
    used: Vec<(u128, u64)>,
    classes: Vec<Class>,
    /// Time in picoseconds to which clocks have been advanced.
    now: u64,
    /// True if rates must be computed again.
    stale: bool,
    /// Number of started flows. Flows that end at the same time are ordered by start.
    started: u64,
}

#[derive(Debug)]
struct Class {
    pace: u64,
    moves: Moves,
    rate: u64,
    clock: u128,
    /// Clock at the end of each flow, number of the flow, and owner.
    ends: BinaryHeap<Reverse<(u128, u64, Owner)>>,
    /// True if the rate has been computed.
    is_set: bool,
}

impl Shares {
    /// Creates idle memories with the capacities `capacity`, in units of weights per second.
    pub fn new(capacity: Vec<u64>) -> Self {
        let idle = vec![0; capacity.len()];
        let used = vec![(0, 0); idle.len()];
        let (left, rising) = (capacity.clone(), idle);
        Shares { capacity, left, rising, used, classes: Vec::new(), now: 0, stale: false, started: 0 }
    }

    /// Starts a flow of `bytes` at `time`. Times of calls must not decrease.
    pub fn begin(&mut self, time: u64, pace: u64, moves: Moves, bytes: u64, owner: Owner) {
        self.pass(time);
        let known = self.classes.iter().position(|class| class.pace == pace && class.moves == moves);
        let at = known.unwrap_or_else(|| self.new_class(pace, moves));
        let class = &mut self.classes[at];
        self.started += 1;
        class.ends.push(Reverse((class.clock + u128::from(bytes) * SECOND, self.started, owner)));
        self.stale = true;
    }

    /// Adds a class without flows. It may replace another class without flows.
    fn new_class(&mut self, pace: u64, moves: Moves) -> usize {
        let class = Class { pace, moves, rate: 0, clock: 0, ends: BinaryHeap::new(), is_set: false };
        match self.classes.iter().position(|class| class.ends.is_empty()) {
            Some(at) => {
                self.classes[at] = class;
                at
            }
            None => {
                self.classes.push(class);
                self.classes.len() - 1
            }
        }
    }

    /// Removes the flows that have ended at `time`. Returns their owners in the order of the starts.
    pub fn ended(&mut self, time: u64) -> Vec<Owner> {
        self.pass(time);
        let mut ended: Vec<(u64, Owner)> = Vec::new();
        for class in &mut self.classes {
            while let Some(&Reverse((mark, number, owner))) = class.ends.peek()
                && mark <= class.clock
            {
                class.ends.pop();
                ended.push((number, owner));
            }
        }
        self.stale |= !ended.is_empty();
        ended.sort_unstable();
        ended.into_iter().map(|(_, owner)| owner).collect()
    }

    /// Returns the end and the owner of the flow that ends first, if no further flow begins before.
    pub fn next(&mut self) -> Option<(u64, Owner)> {
        if std::mem::take(&mut self.stale) {
            self.find_rates();
        }
        let first = self.classes.iter().filter_map(|class| {
            let &Reverse((mark, number, owner)) = class.ends.peek()?;
            let left = mark.saturating_sub(class.clock).div_ceil(u128::from(class.rate));
            let end = self.now.saturating_add(u64::try_from(left).unwrap_or(u64::MAX));
            Some((end, number, owner))
        });
        first.min().map(|(end, _, owner)| (end, owner))
    }

    /// Capacity of a memory, in units of weights per second.
    pub fn capacity(&self, memory: u32) -> u64 {
        self.capacity[memory as usize]
    }

    /// Returns the use of each memory: the time at full use in picoseconds, and the greatest use at a time in
    /// millionths.
    pub fn used(&self) -> impl Iterator<Item = (u64, u32)> + '_ {
        self.used.iter().map(|&(sum, most)| (u64::try_from(sum / u128::from(PARTS)).unwrap_or(u64::MAX), most as u32))
    }

    fn pass(&mut self, time: u64) {
        debug_assert!(time >= self.now, "a memory's time went backwards");
        let passed = u128::from(time.saturating_sub(self.now));
        if passed > 0 {
            if std::mem::take(&mut self.stale) {
                self.find_rates();
            }
            for class in self.classes.iter_mut().filter(|class| !class.ends.is_empty()) {
                class.clock += u128::from(class.rate) * passed;
            }
            for (used, (left, capacity)) in self.used.iter_mut().zip(self.left.iter().zip(&self.capacity)) {
                let part = u128::from(capacity - left) * u128::from(PARTS) / u128::from((*capacity).max(1));
                *used = (used.0 + part * passed, used.1.max(part as u64));
            }
        }
        self.now = self.now.max(time);
    }

    /// Computes all rates by progressive filling. All rates rise together, each up to the pace of the class or until
    /// one of its memories is full.
    fn find_rates(&mut self) {
        self.left.copy_from_slice(&self.capacity);
        self.rising.fill(0);
        for class in &mut self.classes {
            class.is_set = class.ends.is_empty();
            for &(memory, weight) in &class.moves {
                self.rising[memory as usize] += weight * class.ends.len() as u64;
            }
        }
        loop {
            let paces = self.classes.iter().filter(|class| !class.is_set).map(|class| class.pace);
            let Some(slowest) = paces.min() else { return };
            let fullest = |memory: usize| match self.rising[memory] {
                0 => u64::MAX,
                rising => self.left[memory] / rising,
            };
            let level = (0..self.capacity.len()).map(fullest).min().unwrap_or(u64::MAX);
            let rate = level.min(slowest).max(1);
            // The rates of classes that use a full memory are final.
            let full: SmallVec<[bool; 9]> =
                (0..self.capacity.len()).map(|memory| level <= slowest && fullest(memory) == level).collect();
            for class in self.classes.iter_mut().filter(|class| !class.is_set) {
                let is_bound = class.pace <= rate || class.moves.iter().any(|&(memory, _)| full[memory as usize]);
                if is_bound {
                    (class.rate, class.is_set) = (rate, true);
                    for &(memory, weight) in &class.moves {
                        let weight = weight * class.ends.len() as u64;
                        self.rising[memory as usize] -= weight;
                        self.left[memory as usize] = self.left[memory as usize].saturating_sub(weight * rate);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::flows::filling::filled;
    use super::super::flows::limit_counts::LimitCounts;
    use super::super::flows::resources::UNIT;
    use super::*;

    const NS: u64 = 1000;
    const GB: u64 = 1_000_000_000;

    fn moves(of: &[(u32, u64)]) -> Moves {
        Moves::from_slice(of)
    }

    /// Returns the end in ns of each copy of 1000 bytes. A copy has a start in ns, a pace in GB/s and weights.
    fn ends(capacity: &[u64], copies: &[(u64, u64, Moves)]) -> Vec<u64> {
        let mut shares = Shares::new(capacity.iter().map(|capacity| capacity * GB).collect());
        let mut ends = vec![0; copies.len()];
        let mut starts = (0..).zip(copies).peekable();
        loop {
            let first = shares.next();
            match (starts.peek(), first) {
                (Some((rank, (start, pace, moves))), first) if first.is_none_or(|(end, _)| start * NS <= end) => {
                    shares.begin(start * NS, pace * GB, moves.clone(), 1000, (*rank, COPY));
                    starts.next();
                }
                (_, Some((end, _))) => {
                    shares.ended(end).into_iter().for_each(|(rank, _)| ends[rank as usize] = (end + NS / 2) / NS);
                }
                (_, None) => return ends,
            }
        }
    }

    #[test]
    fn copies_share_a_memory_while_they_are_under_way() {
        let both = moves(&[(0, 2)]);
        // The memory moves 2 GB/s, two bytes per copied byte. This gives copies of 1 GB/s, the pace of one core.
        assert_eq!(ends(&[2], &[(0, 1, both.clone())]), [1000]);
        assert_eq!(ends(&[2], &[(0, 1, both.clone()), (0, 1, both.clone())]), [2000; 2]);
        // The second copy starts at 500. Both have half the rate until the first ends at 1500. The second then has the
        // full rate.
        assert_eq!(ends(&[2], &[(0, 1, both.clone()), (500, 1, both.clone())]), [1500, 2000]);
    }

    #[test]
    fn who_is_slower_than_its_share_leaves_the_rest_to_others() {
        let both = moves(&[(0, 1)]);
        // Of 4 GB/s, the core of 1 GB/s has 1 GB/s, and the two cores of 2 GB/s have 1.5 GB/s each. They end at 667.
        let found = ends(&[4], &[(0, 1, both.clone()), (0, 2, both.clone()), (0, 2, both.clone())]);
        assert_eq!(found, [1000, 667, 667]);
    }

    #[test]
    fn each_memory_on_the_way_counts_by_what_is_moved_there() {
        // A copy from CMP 0 to CMP 1 reads once and writes twice. The 2 GB/s of CMP 1 are one copy of 1 GB/s or two
        // copies of 0.5 GB/s.
        let over = moves(&[(0, 1), (1, 2), (2, 3)]);
        assert_eq!(ends(&[2, 2, 100], &[(0, 5, over.clone())]), [1000]);
        assert_eq!(ends(&[2, 2, 100], &[(0, 5, over.clone()), (0, 5, over.clone())]), [2000; 2]);
        // With a copy in each direction, 1 GB/s of both needs 3 GB/s of each CMP, which has 2 GB/s.
        let back = moves(&[(1, 1), (0, 2), (2, 3)]);
        assert_eq!(ends(&[2, 2, 100], &[(0, 5, over.clone()), (0, 5, back.clone())]), [1500; 2]);
        // With 1 GB/s, both copies together need 6 GB/s of the node, which has 3 GB/s.
        assert_eq!(ends(&[90, 90, 3], &[(0, 5, over), (0, 5, back)]), [2000; 2]);
    }

    /// Returns the rates by water-filling of one resource at a time, repeated until no level changes.
    fn rates_by_levels(capacity: &[u64], flows: &[(u64, Moves)]) -> Vec<u64> {
        let mut levels = capacity.to_vec();
        let limit = |levels: &[u64], (pace, moves): &(u64, Moves), but: u32| {
            let others = moves.iter().filter(|(memory, _)| *memory != but);
            others.map(|(memory, _)| levels[*memory as usize]).fold(*pace, u64::min)
        };
        for _ in 0..100 {
            let before = levels.clone();
            for memory in 0..capacity.len() as u32 {
                let of =
                    |flow: &(u64, Moves)| flow.1.iter().find(|(known, _)| *known == memory).map(|(_, weight)| *weight);
                let on: Vec<(u64, u64)> = flows
                    .iter()
                    .filter_map(|flow| of(flow).map(|weight| (limit(&levels, flow, memory), weight * UNIT)))
                    .collect();
                let weight = on.iter().map(|(_, weight)| weight).sum();
                let last = levels[memory as usize];
                let sides = |level| LimitCounts::of(level, on.iter().copied());
                levels[memory as usize] = filled(capacity[memory as usize], weight, last, sides).0;
            }
            if levels == before {
                break;
            }
        }
        flows.iter().map(|flow| limit(&levels, flow, u32::MAX)).collect()
    }

    #[test]
    fn all_rates_at_once_are_those_of_one_resource_at_a_time() {
        let mut x = 1_u64;
        let mut some = |end: u64| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 33) % end
        };
        for _ in 0..500 {
            let capacity: Vec<u64> = (0..1 + some(5)).map(|_| 1_000_000 + some(9_000_000)).collect();
            let flows: Vec<(u64, Moves)> = (0..1 + some(12))
                .map(|_| {
                    let of = (0..capacity.len() as u32).filter(|_| some(2) == 0).collect::<Vec<_>>();
                    (1000 + some(4_000_000), of.into_iter().map(|memory| (memory, 1 + some(3))).collect())
                })
                .collect();
            let mut shares = Shares::new(capacity.clone());
            for (number, (pace, moves)) in (0..).zip(&flows) {
                shares.begin(0, *pace, moves.clone(), 1000, (number, COPY));
            }
            shares.find_rates();
            let class = |flow: &(u64, Moves)| {
                let known = shares.classes.iter().find(|class| class.pace == flow.0 && class.moves == flow.1);
                known.expect("each flow has a class").rate
            };
            let by_levels = rates_by_levels(&capacity, &flows);
            for (flow, by_level) in flows.iter().zip(by_levels) {
                // Rates are rounded down at each resource.
                assert!(
                    class(flow).abs_diff(by_level) <= 40,
                    "{} for {by_level}: {capacity:?}, {flows:?}",
                    class(flow)
                );
            }
        }
    }
}
