//! The memory of a node that copies beyond the caches and blocks that compute share: max-min fair, rates change when
//! one begins or ends.
//!
//! Either is a flow: it goes at most at its core's pace, and moves so many bytes at each memory for each that it copies
//! or asks for. Flows with the same pace between the same memories are a class: all of them have the same rate, and the
//! class a clock of what each has got.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use smallvec::SmallVec;

/// Picoseconds a second: clocks count bytes a second times picoseconds.
const SECOND: u128 = 1_000_000_000_000;

/// Parts in which it is counted how much of a memory is used.
const PARTS: u64 = 1_000_000;

/// What a flow moves: at the memory of CMP `.0` of the node, or of the node itself after those, `.1` bytes for each of
/// its own.
pub(crate) type Moves = SmallVec<[(u32, u64); 3]>;

/// Owner of a flow: a number that the caller chooses, and a second one, such as [`COPY`].
pub(crate) type Owner = (u32, u32);

/// The core's copying.
pub(crate) const COPY: u32 = u32::MAX;

/// The flows under way on a node.
#[derive(Debug)]
pub(crate) struct Shares {
    /// Bytes a second of each memory: of the CMPs, then of the node.
    capacity: Vec<u64>,
    /// What is left of it while rates are found, and the weight of the flows that still rise.
    left: Vec<u64>,
    rising: Vec<u64>,
    /// How much of each was used: picoseconds in full times [`PARTS`], and its most at a time in these parts.
    used: Vec<(u128, u64)>,
    classes: Vec<Class>,
    /// Until when clocks are right.
    now: u64,
    /// Rates are to be found again.
    stale: bool,
    /// For how many times something was started, which orders flows that end at once.
    started: u64,
}

#[derive(Debug)]
struct Class {
    pace: u64,
    moves: Moves,
    rate: u64,
    clock: u128,
    /// What the clock shows when a flow has ended, its number, and whose it is.
    ends: BinaryHeap<Reverse<(u128, u64, Owner)>>,
    /// Its rate is found.
    is_set: bool,
}

impl Shares {
    /// Nothing under way at memories of these bytes a second.
    pub fn new(capacity: Vec<u64>) -> Self {
        let idle = vec![0; capacity.len()];
        let used = vec![(0, 0); idle.len()];
        let (left, rising) = (capacity.clone(), idle);
        Shares { capacity, left, rising, used, classes: Vec::new(), now: 0, stale: false, started: 0 }
    }

    /// A flow of `bytes` begins at `time`, which is not before what came last.
    pub fn begin(&mut self, time: u64, pace: u64, moves: Moves, bytes: u64, owner: Owner) {
        self.pass(time);
        let known = self.classes.iter().position(|class| class.pace == pace && class.moves == moves);
        let at = known.unwrap_or_else(|| self.new_class(pace, moves));
        let class = &mut self.classes[at];
        self.started += 1;
        class.ends.push(Reverse((class.clock + u128::from(bytes) * SECOND, self.started, owner)));
        self.stale = true;
    }

    /// A class without flows, in the place of another one that has none.
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

    /// Whose flows have ended at `time`, in the order in which these began.
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

    /// When the first of the flows ends if none begins before, and whose it is.
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

    /// Bytes a second of a memory.
    pub fn capacity(&self, memory: u32) -> u64 {
        self.capacity[memory as usize]
    }

    /// For how long each memory would have been used in full, and the most of it at a time in millionths.
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

    /// Progressive filling: all rates rise together, each until its pace or until a memory that it uses is full.
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
            // Of those that use a full memory none rises further.
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

    /// When copies end, each with its start in ns, pace and moves; all of 1000 bytes.
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
        // 2 GB/s of memory, two bytes moved for one: 1 GB/s of copies, as fast as one core.
        assert_eq!(ends(&[2], &[(0, 1, both.clone())]), [1000]);
        assert_eq!(ends(&[2], &[(0, 1, both.clone()), (0, 1, both.clone())]), [2000; 2]);
        // The second comes at 500: both have half until the first has its other 500 bytes at 1500, the second goes on
        // alone.
        assert_eq!(ends(&[2], &[(0, 1, both.clone()), (500, 1, both.clone())]), [1500, 2000]);
    }

    #[test]
    fn who_is_slower_than_its_share_leaves_the_rest_to_others() {
        let both = moves(&[(0, 1)]);
        // Of 4 GB/s the core of 1 GB/s takes 1, the two of 2 GB/s have 1.5 each, and 2 once the first has ended at 667.
        let found = ends(&[4], &[(0, 1, both.clone()), (0, 2, both.clone()), (0, 2, both.clone())]);
        assert_eq!(found, [1000, 667, 667]);
    }

    #[test]
    fn each_memory_on_the_way_counts_by_what_is_moved_there() {
        // From CMP 0 to CMP 1, read once and written twice: 2 GB/s of the second let one copy go at 1 GB/s, two at
        // half.
        let over = moves(&[(0, 1), (1, 2), (2, 3)]);
        assert_eq!(ends(&[2, 2, 100], &[(0, 5, over.clone())]), [1000]);
        assert_eq!(ends(&[2, 2, 100], &[(0, 5, over.clone()), (0, 5, over.clone())]), [2000; 2]);
        // The other way round at the same time: 3 of 2 GB/s are asked for by each GB/s of both.
        let back = moves(&[(1, 1), (0, 2), (2, 3)]);
        assert_eq!(ends(&[2, 2, 100], &[(0, 5, over.clone()), (0, 5, back.clone())]), [1500; 2]);
        // The node carries 3 GB/s: 6 are asked for.
        assert_eq!(ends(&[90, 90, 3], &[(0, 5, over), (0, 5, back)]), [2000; 2]);
    }

    /// Rates by the water-filling of one resource at a time, repeated until no level changes.
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
