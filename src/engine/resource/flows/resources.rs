//! What transfers share: adapters in each direction, both directions of one, of a pair of nodes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use super::bundle_paths::ResourceKind;

/// A flow's weight; that of one which starts within a slot is less in this slot.
pub(in crate::resource) const UNIT: u64 = 256;
/// More than any wire carries, and little enough for sums.
pub(super) const MOST: u64 = 1 << 50;

/// A resource, by a number that is the same at every worker: its kind, its node, its rail or the other node. The node of
/// an uplink is the first node of its group, that of a link is close to the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ResourceId(pub u64);

impl ResourceId {
    pub fn new(kind: ResourceKind, node: u32, other: u32) -> Self {
        debug_assert!(node < 1 << 30 && other < 1 << 30);
        ResourceId((kind as u64) << 60 | u64::from(node) << 30 | u64::from(other))
    }

    pub fn kind(self) -> ResourceKind {
        ResourceKind::ALL[(self.0 >> 60) as usize]
    }

    /// The rail, the other node, the kind of group of an uplink, or the number of a link.
    pub fn other(self) -> u32 {
        self.0 as u32 & ((1 << 30) - 1)
    }

    /// The node whose worker owns it.
    pub fn node(self) -> u32 {
        (self.0 >> 30) as u32 & ((1 << 30) - 1)
    }
}

/// The resources a worker has heard of, its own and others', by its own numbers for them.
///
/// The level is the rate that a flow may have there, in bytes a second. The clock is what each flow that is bound to
/// the resource has got since time began: bytes a second times picoseconds.
#[derive(Debug, Default)]
pub(super) struct Resources {
    numbers: FxHashMap<ResourceId, u32>,
    pub id: Vec<ResourceId>,
    pub own: Vec<bool>,
    pub capacity: Vec<u64>,
    pub level: Vec<u64>,
    /// The level as looks read it.
    pub rate: Vec<f64>,
    /// As `rate`, but 0 if it is to be judged already, or by another worker only.
    pub asks: Vec<f64>,
    /// The level by which others were judged last.
    pub told: Vec<u64>,
    clock: Vec<i128>,
    set: Vec<u64>,
    /// The sum of its bundles' weights.
    pub weight: Vec<u64>,
    /// Its level has moved in this slot so that others feel it.
    pub moved: Vec<bool>,
    pub on: Vec<Vec<Member>>,
    /// What of its capacity is used, judged last; and over time: bytes a second times picoseconds, the most, and since
    /// when.
    pub used: Vec<Used>,
    pub ends: Vec<FlowEnds>,
}

/// A bundle on a resource: what judging the resource looks at, side by side. All of it are whole numbers; as
/// floating-point numbers they are compared and multiplied two at a time, see [`exact`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub pace: f64,
    pub weight: f64,
    /// The other resource of the bundle's path, or [`MANY`].
    pub other: u32,
    pub bundle: u32,
}

/// The bundle's path has not just two resources.
pub(super) const MANY: u32 = u32::MAX;

/// How much of a resource is used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    pub now: u64,
    pub most: u64,
    pub since: u64,
    pub sum: u128,
}

/// The bundles bound to a resource by where its clock will be when their next flows end.
#[derive(Debug, Default)]
pub(super) struct FlowEnds {
    pub marks: BinaryHeap<Reverse<(i128, u32, u32)>>,
    /// Its first end is to be found again.
    pub stale: bool,
}

impl Resources {
    /// The number of a resource, which is new if nobody has asked for it before.
    pub fn number(&mut self, id: ResourceId, capacity: u64, own: bool) -> u32 {
        if let Some(&number) = self.numbers.get(&id) {
            return number;
        }
        let number = self.id.len() as u32;
        self.numbers.insert(id, number);
        self.id.push(id);
        self.own.push(own);
        self.capacity.push(capacity.min(MOST));
        self.level.push(capacity.min(MOST));
        self.rate.push(exact(capacity.min(MOST)));
        self.asks.push(if own { exact(capacity.min(MOST)) } else { 0.0 });
        self.told.push(capacity.min(MOST));
        self.clock.push(0);
        self.set.push(0);
        self.weight.push(0);
        self.moved.push(false);
        self.on.push(Vec::new());
        self.used.push(Used::default());
        self.ends.push(FlowEnds::default());
        number
    }

    /// What its clock shows at `time`.
    #[inline]
    pub fn clock_at(&self, p: u32, time: u64) -> i128 {
        let p = p as usize;
        self.clock[p] + i128::from(self.level[p]) * i128::from(time as i64 - self.set[p] as i64)
    }

    /// When its clock gets to `mark`.
    #[inline]
    pub fn time_of(&self, p: u32, mark: i128) -> u64 {
        let p = p as usize;
        let left = (mark - self.clock[p]).max(0) as u128;
        self.set[p].saturating_add(divided(left, self.level[p]))
    }

    /// From `time` on the level is `level`.
    pub fn set_level(&mut self, p: u32, level: u64, time: u64) {
        let clock = self.clock_at(p, time);
        let p = p as usize;
        self.clock[p] = clock;
        self.set[p] = time;
        self.level[p] = level;
        self.rate[p] = exact(level);
        if self.asks[p] > 0.0 {
            self.asks[p] = self.rate[p];
        }
    }

    /// From `time` on so much of it is used.
    pub fn use_of(&mut self, p: u32, now: u64, time: u64) {
        let used = &mut self.used[p as usize];
        if time > used.since {
            used.sum += u128::from(used.now) * u128::from(time - used.since);
            used.most = used.most.max(used.now);
        }
        (used.now, used.since) = (now, time);
    }
}

/// A whole number below 2^53 as a floating-point number, which is exactly the same.
#[inline(always)]
pub(super) fn exact(number: u64) -> f64 {
    debug_assert!(number <= 1 << 53);
    number as i64 as f64
}

/// The lesser of two numbers, in one instruction: none is NaN.
#[inline(always)]
pub(super) fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// `left / rate`, rounded up.
#[inline]
pub(super) fn divided(left: u128, rate: u64) -> u64 {
    match u64::try_from(left) {
        Ok(left) => left.div_ceil(rate),
        Err(_) => u64::try_from(left.div_ceil(u128::from(rate))).unwrap_or(u64::MAX),
    }
}
