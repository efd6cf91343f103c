//! Resources that flows share: directions of adapters, both directions of an adapter or of a pair of nodes, uplinks and
//! links.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::FxHashMap;

use mcpsim_base::profile::UseSeries;

use super::bundle_paths::ResourceKind;

/// Weight of a flow. A flow that starts within a slot has less weight in this slot.
pub(in crate::resource) const UNIT: u64 = 256;
/// Greatest rate in bytes per second. It exceeds the rate of any link, and sums do not overflow.
pub(super) const MOST: u64 = 1 << 50;

/// Identifier of a resource, equal at every worker: kind, node, and a further number. The node of an uplink is the
/// first node of its group. The node of a link is close to the link.
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

    /// The node whose worker owns the resource.
    pub fn node(self) -> u32 {
        (self.0 >> 30) as u32 & ((1 << 30) - 1)
    }
}

/// Resources that a worker owns or has received messages about, by the worker's own numbers.
///
/// The level is the greatest rate of a flow in bytes per second. The clock is the integral of the level over
/// picoseconds, which is the progress of each flow bound to the resource.
#[derive(Debug, Default)]
pub(super) struct Resources {
    numbers: FxHashMap<ResourceId, u32>,
    pub id: Vec<ResourceId>,
    pub own: Vec<bool>,
    pub capacity: Vec<u64>,
    pub level: Vec<u64>,
    /// Level as a floating-point number.
    pub rate: Vec<f64>,
    /// `rate`, or 0 if the resource is already marked for the next superstep or belongs to another worker.
    pub asks: Vec<f64>,
    /// Level from which the levels of other resources were computed last.
    pub told: Vec<u64>,
    clock: Vec<i128>,
    set: Vec<u64>,
    /// Total weight of the bundles on the resource.
    pub weight: Vec<u64>,
    /// True if the level has moved by more than the tolerance in this slot.
    pub moved: Vec<bool>,
    pub on: Vec<Vec<Member>>,
    /// Use of the capacity.
    pub used: Vec<Used>,
    /// Use over time in bytes, if recorded.
    pub series: Option<Vec<UseSeries>>,
    pub ends: Vec<FlowEnds>,
}

/// Bundle on a resource, with the values that the computation of the level reads. The values are whole numbers, stored
/// as floating-point numbers for vector instructions, see [`exact`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    pub pace: f64,
    pub weight: f64,
    /// The other resource of the bundle's path, or [`MANY`].
    pub other: u32,
    pub bundle: u32,
}

/// Marks a bundle whose path does not have exactly two resources.
pub(super) const MANY: u32 = u32::MAX;

/// Use of a resource: present and greatest rate in bytes per second, time of the last change in picoseconds, and the
/// integral of the rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Used {
    pub now: u64,
    pub most: u64,
    pub since: u64,
    pub sum: u128,
}

/// Bundles bound to a resource, by the clock at which their next flows end.
#[derive(Debug, Default)]
pub(super) struct FlowEnds {
    pub marks: BinaryHeap<Reverse<(i128, u32, u32)>>,
    /// True if the first end must be computed again.
    pub stale: bool,
}

impl Resources {
    /// Creates an empty set of resources, which may record their use over time.
    pub fn new(records: bool) -> Resources {
        Resources { series: records.then(Vec::new), ..Resources::default() }
    }

    /// Returns the number of a resource; `None` if the resource is new.
    pub fn number(&self, id: ResourceId) -> Option<u32> {
        self.numbers.get(&id).copied()
    }

    /// Adds a resource and returns its number.
    pub fn add(&mut self, id: ResourceId, capacity: u64, own: bool) -> u32 {
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
        self.series.iter_mut().for_each(|series| series.push(UseSeries::default()));
        self.ends.push(FlowEnds::default());
        number
    }

    /// Returns the level of a resource; `None` if no flow has passed it.
    pub fn level_of(&self, id: ResourceId) -> Option<u64> {
        self.number(id).map(|number| self.level[number as usize])
    }

    /// Returns the clock of a resource at `time`.
    #[inline]
    pub fn clock_at(&self, p: u32, time: u64) -> i128 {
        let p = p as usize;
        self.clock[p] + i128::from(self.level[p]) * i128::from(time as i64 - self.set[p] as i64)
    }

    /// Returns the time at which the clock of a resource reaches `mark`.
    #[inline]
    pub fn time_of(&self, p: u32, mark: i128) -> u64 {
        let p = p as usize;
        let left = (mark - self.clock[p]).max(0) as u128;
        self.set[p].saturating_add(divided(left, self.level[p]))
    }

    /// Sets the level from `time` on.
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

    /// Sets the used rate to `now` from `time` on.
    pub fn use_of(&mut self, p: u32, now: u64, time: u64) {
        let used = &mut self.used[p as usize];
        if time > used.since {
            used.sum += u128::from(used.now) * u128::from(time - used.since);
            used.most = used.most.max(used.now);
            if let Some(series) = &mut self.series {
                series[p as usize].add(used.since, time, used.now);
            }
        }
        (used.now, used.since) = (now, time);
    }
}

/// Converts a whole number up to 2^53 to an equal floating-point number.
#[inline(always)]
pub(super) fn exact(number: u64) -> f64 {
    debug_assert!(number <= 1 << 53);
    number as i64 as f64
}

/// Returns the lesser of two numbers that are not NaN, in one instruction.
#[inline(always)]
pub(super) fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// Returns `left / rate`, rounded up.
#[inline]
pub(super) fn divided(left: u128, rate: u64) -> u64 {
    match u64::try_from(left) {
        Ok(left) => left.div_ceil(rate),
        Err(_) => u64::try_from(left.div_ceil(u128::from(rate))).unwrap_or(u64::MAX),
    }
}
