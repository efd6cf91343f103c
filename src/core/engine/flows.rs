//! Transfers that share what they pass for as long as they are under way: flows over paths of resources, max-min fair.
//!
//! Knows nothing of ranks and messages: a flow has a bundle, a start, the time that it takes alone, and a ticket.
//!
//! Each resource has a level, the rate that a flow may have there; a flow goes at the least of its path's levels and
//! its pace. Levels change at slots only, see [`SlotGrid`]. All workers hear of a flow before the slot in which it
//! starts, and count it from there, in that slot by the part of it that remains. A flow that ends leaves its share
//! unused until the next slot. At a slot, those resources whose flows have changed find their level by water-filling,
//! from the levels of others as they are; those whose flows feel a level that has moved by more than a tolerance do so
//! in the next superstep, until none does. Then each flow that ends before the next slot is known, and when. Every sum
//! is one of whole numbers, so that no order counts.
//!
//! ```text
//!         slot              slot              slot              slot
//!  ─────────┼─────────────────┼─────────────────┼─────────────────┼────▶
//!   left    │ counted  head───┼─────────────────┼────end          │ given back
//!     └─────┴────────────▶    │                 │ end is known    │
//! ```

mod bundles;
mod ends;
mod grid;
mod judge;
mod resources;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use crate::platform::Occupancy;
use crate::units::{SimSpan, SimTime};

pub(super) use bundles::{BundleKey, Losses};
use bundles::{Bundles, PACE};
pub(super) use grid::SlotGrid;
pub(super) use judge::SUPERSTEPS;
pub(super) use resources::ResourceKind;
use resources::{MOST, ResourceId, Resources, UNIT, divided};

/// What a worker tells another of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum News {
    /// A flow will start at `head` and counts from `slot`, both in picoseconds.
    Starts { bundle: BundleKey, slot: u64, head: u64 },
    /// A flow ends before the next slot.
    Ends { bundle: BundleKey },
    /// A resource has another level.
    Level { resource: u64, level: u64 },
}

/// What of the machine flows need.
#[derive(Clone, Debug)]
pub(super) struct Wires {
    /// The first node of each worker.
    pub first_node: Vec<u32>,
    /// This worker.
    pub me: u32,
    pub occupancy: Occupancy,
    pub grid: SlotGrid,
    /// Levels that move by less than this part of a thousand are not told.
    pub tolerance: u64,
}

/// The flows that pass a worker's resources.
#[derive(Debug)]
pub(super) struct Flows {
    wires: Wires,
    resources: Resources,
    bundles: Bundles,
    /// Flows to come by the slot from which they count.
    announced: BTreeMap<u64, Vec<(BundleKey, u64)>>,
    /// Flows that end before the next slot.
    ended: Vec<BundleKey>,
    /// Flows that have not counted in full, and what is missing.
    ripening: Vec<(u32, i64)>,
    /// Own resources to be judged.
    dirty: Vec<u32>,
    touched: Vec<u32>,
    felt: Vec<u32>,
    stale: Vec<u32>,
    /// What is about to end: of a resource's bundles or of a bundle by itself.
    due: BinaryHeap<Reverse<(u64, Due, u32)>>,
    /// A slot by when something has changed.
    wake: u64,
    /// What is to be told to the worker.
    outbox: Vec<(u32, News)>,
    limits: Vec<(u64, u64)>,
    levels: Vec<(u32, u64)>,
    moves: Vec<(u32, u64)>,
    pub counts: FlowCounts,
}

/// What is known of a flow when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowStart {
    /// It ends then, before the next slot; what it takes longer than alone is lost at this part of [`Losses`].
    Ends(SimTime, Option<usize>),
    /// [`Flows::settle`] will tell. The flows of its bundle had lost so much before.
    Goes(Losses),
}

/// A flow whose end is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EndedFlow {
    pub end: SimTime,
    pub ticket: u32,
    /// What the flows of its bundle have lost by then, and their pace.
    pub lost: Losses,
    pub pace: u64,
}

/// What it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FlowCounts {
    pub slots: u64,
    pub supersteps: u64,
    /// Slots that were left before levels had settled.
    pub unsettled: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Resource(u32),
    Bundle(u32),
}

impl Flows {
    pub fn new(wires: Wires) -> Self {
        Flows {
            wires,
            resources: Resources::default(),
            bundles: Bundles::default(),
            announced: BTreeMap::new(),
            ended: Vec::new(),
            ripening: Vec::new(),
            dirty: Vec::new(),
            touched: Vec::new(),
            felt: Vec::new(),
            stale: Vec::new(),
            due: BinaryHeap::new(),
            wake: u64::MAX,
            outbox: Vec::new(),
            limits: Vec::new(),
            levels: Vec::new(),
            moves: Vec::new(),
            counts: FlowCounts::default(),
        }
    }

    /// The time between two slots.
    #[inline]
    pub fn slot(&self) -> SimSpan {
        SimSpan::from_ps(self.wires.grid.slot())
    }

    /// The pace of a flow that takes `alone`: a rate of whole bytes a second.
    pub fn pace(bandwidth: u64) -> u64 {
        bandwidth.min(MOST)
    }

    /// A flow of this bundle, which left at `left`, starts at `head`: gives the slot from which it counts.
    pub fn announce(&mut self, bundle: BundleKey, left: SimTime, head: SimTime) -> SimTime {
        let (slot, head) = (self.wires.grid.counted(left, head), head.as_ps());
        let mut told: SmallVec<[u32; 4]> = SmallVec::new();
        for id in self.path(&bundle) {
            let owner = self.owner(id);
            if told.contains(&owner) {
                continue;
            }
            told.push(owner);
            match owner == self.wires.me {
                true => self.announced.entry(slot).or_default().push((bundle, head)),
                false => self.outbox.push((owner, News::Starts { bundle, slot, head })),
            }
        }
        SimTime::from_ps(slot)
    }

    /// Takes what others have told, but for levels.
    pub fn hear(&mut self, news: News) {
        match news {
            News::Starts { bundle, slot, head } => self.announced.entry(slot).or_default().push((bundle, head)),
            News::Ends { bundle } => {
                self.ended.push(bundle);
            }
            News::Level { resource, level } => {
                let number = self.number(ResourceId(resource));
                self.levels.push((number, level));
            }
        }
    }

    /// What is to be told to others since this was asked last.
    pub fn outbox(&mut self) -> std::vec::Drain<'_, (u32, News)> {
        self.outbox.drain(..)
    }

    /// A flow starts at `now` at this, its receiver's worker, and takes `alone` by itself: gives its end, if that is
    /// known already. Otherwise [`Flows::settle`] gives its ticket when it is.
    pub fn start(&mut self, bundle: BundleKey, now: SimTime, alone: SimSpan, ticket: u32) -> FlowStart {
        let now = now.as_ps();
        let j = self.bundle(bundle);
        let at = j as usize;
        if self.bundles.home[at].ends.is_empty() {
            self.bind(j, now, true);
        }
        let pace = self.bundles.pace[at];
        let work = i128::from(alone.as_ps()) * i128::from(pace);
        let bound = self.bundles.home[at].bound;
        let end = match bound {
            PACE => now.saturating_add(alone.as_ps()),
            p => now.saturating_add(divided(work as u128, self.resources.level[p as usize])),
        };
        let next = self.wires.grid.after(now);
        if end < next {
            self.end(j, next);
            return FlowStart::Ends(SimTime::from_ps(end), self.part(bound));
        }
        let mark = self.value(j, now) + work;
        let ends = &mut self.bundles.home[at].ends;
        let first = ends.peek().is_none_or(|&Reverse((other, _))| mark < other);
        ends.push(Reverse((mark, ticket)));
        if first {
            self.offer(j);
            self.look_again(bound);
        }
        FlowStart::Goes(self.lost(j, now))
    }

    /// The next slot at which there is something to do; NEVER if there is none.
    pub fn next_slot(&mut self) -> SimTime {
        let announced = self.announced.keys().next().copied().unwrap_or(u64::MAX);
        let ending = loop {
            match self.due.peek() {
                Some(&Reverse((time, due, version))) if self.is_meant(due, version) => {
                    break if time == u64::MAX { time } else { self.wires.grid.floor(time) };
                }
                Some(_) => drop(self.due.pop()),
                None => break u64::MAX,
            }
        };
        SimTime::from_ps(announced.min(ending).min(self.wake))
    }

    /// All that happens before the slot at `time` has happened: counts what has started and ended.
    pub fn open(&mut self, time: SimTime) {
        let time = time.as_ps();
        let slot = self.wires.grid.slot();
        self.wake = u64::MAX;
        self.counts.slots += 1;
        for (j, missing) in std::mem::take(&mut self.ripening) {
            self.weigh(j, missing);
        }
        for bundle in std::mem::take(&mut self.ended) {
            let j = self.bundle(bundle);
            self.weigh(j, -(UNIT as i64));
        }
        while let Some(first) = self.announced.first_entry()
            && *first.key() <= time
        {
            let flows = first.remove();
            // Those that end in this slot tell nobody before: the next looks after them.
            self.wake = time.saturating_add(slot);
            for (bundle, head) in flows {
                let j = self.bundle(bundle);
                let late = head.saturating_sub(time).min(slot - 1);
                let missing = (UNIT * late / slot) as i64;
                self.weigh(j, UNIT as i64 - missing);
                if missing > 0 {
                    self.ripening.push((j, missing));
                }
            }
        }
        for j in std::mem::take(&mut self.touched) {
            self.bundles.touched[j as usize] = false;
            self.settle_place(j);
        }
    }

    /// Levels have settled at the slot at `time`: gives the flows that end before the next slot, each with its end.
    pub fn settle(&mut self, time: SimTime, ended: &mut Vec<EndedFlow>) {
        let time = time.as_ps();
        let next = time.saturating_add(self.wires.grid.slot());
        for j in std::mem::take(&mut self.felt) {
            self.bundles.felt[j as usize] = false;
            if self.bundles.is_home[j as usize] && !self.bundles.home[j as usize].ends.is_empty() {
                self.bind(j, time, false);
            }
        }
        for p in std::mem::take(&mut self.stale) {
            self.look(p);
        }
        while let Some(&Reverse((end, due, version))) = self.due.peek()
            && end < next
        {
            self.due.pop();
            if !self.is_meant(due, version) {
                continue;
            }
            let j = match due {
                Due::Bundle(j) => j,
                Due::Resource(p) => match self.first_before(p, next) {
                    Some(j) => j,
                    None => {
                        self.look(p);
                        continue;
                    }
                },
            };
            let end = match due {
                Due::Bundle(_) => end,
                Due::Resource(p) => self.resources.time_of(p, self.next_mark(j)),
            };
            let Reverse((_, ticket)) = self.bundles.home[j as usize].ends.pop().expect("a bundle that ends has a flow");
            let end = end.max(time);
            let (lost, pace) = (self.lost(j, end), self.bundles.pace[j as usize]);
            ended.push(EndedFlow { end: SimTime::from_ps(end), ticket, lost, pace });
            self.end(j, next);
            self.offer(j);
            if let Due::Resource(p) = due {
                self.look(p);
            }
        }
        if !self.ripening.is_empty() || !self.dirty.is_empty() {
            self.wake = self.wake.min(next);
        }
    }

    /// How much of own resources is used: of which kind, for how long one would have been used in full, and its most at
    /// a time in millionths.
    pub fn used(&self) -> impl Iterator<Item = (ResourceKind, u64, u32)> + '_ {
        (0..self.resources.id.len()).filter(|&p| self.resources.own[p]).map(|p| {
            let (used, capacity) = (&self.resources.used[p], u128::from(self.resources.capacity[p]));
            let most = (u128::from(used.most) * 1_000_000).div_ceil(capacity).min(1_000_000);
            (self.resources.id[p].kind(), u64::try_from(used.sum / capacity).unwrap_or(u64::MAX), most as u32)
        })
    }

    /// A flow of this bundle ends before the slot `next`, where its share is given back.
    fn end(&mut self, j: u32, next: u64) {
        let bundle = self.bundles.key[j as usize];
        let mut told: SmallVec<[u32; 4]> = SmallVec::new();
        for at in 0..self.bundles.path[j as usize].len() {
            let p = self.bundles.path[j as usize][at];
            let owner = self.owner(self.resources.id[p as usize]);
            if !told.contains(&owner) {
                told.push(owner);
                match owner == self.wires.me {
                    true => self.ended.push(bundle),
                    false => self.outbox.push((owner, News::Ends { bundle })),
                }
            }
        }
        self.wake = self.wake.min(next);
    }

    /// The number of a bundle, which is new if it has no flows.
    fn bundle(&mut self, key: BundleKey) -> u32 {
        if let Some(number) = self.bundles.get(&key) {
            return number;
        }
        let path = self.path(&key);
        let path = path.into_iter().map(|id| self.number(id)).collect();
        let home = self.worker_of(key.to) == self.wires.me;
        self.bundles.add(key, path, home)
    }

    /// What the flows of a bundle pass.
    fn path(&self, bundle: &BundleKey) -> SmallVec<[ResourceId; 6]> {
        let BundleKey { from, to, rails: [out, into], .. } = *bundle;
        let mut path = SmallVec::new();
        path.push(ResourceId::new(ResourceKind::Out, from, out.into()));
        path.push(ResourceId::new(ResourceKind::In, to, into.into()));
        if self.wires.occupancy.duplex.is_some() {
            path.push(ResourceId::new(ResourceKind::Duplex, from, out.into()));
            path.push(ResourceId::new(ResourceKind::Duplex, to, into.into()));
        }
        if self.wires.occupancy.pair_duplex.is_some() {
            path.push(ResourceId::new(ResourceKind::Pair, from.min(to), from.max(to)));
        }
        path
    }

    fn number(&mut self, id: ResourceId) -> u32 {
        let Occupancy { capacity, duplex, pair_duplex, .. } = &self.wires.occupancy;
        let capacity = match id.kind() {
            ResourceKind::Out | ResourceKind::In => capacity,
            ResourceKind::Duplex => duplex,
            ResourceKind::Pair => pair_duplex,
        };
        let capacity = capacity.map_or(MOST, |capacity| capacity.get());
        let own = self.owner(id) == self.wires.me;
        self.resources.number(id, capacity, own)
    }

    fn owner(&self, id: ResourceId) -> u32 {
        self.worker_of(id.node())
    }

    fn worker_of(&self, node: u32) -> u32 {
        match self.wires.first_node.len() {
            1 => 0,
            _ => self.wires.first_node.partition_point(|&first| first <= node) as u32 - 1,
        }
    }

    /// A bundle weighs more or less by `change`.
    fn weigh(&mut self, j: u32, change: i64) {
        let at = j as usize;
        self.bundles.weight[at] += change;
        if !self.bundles.touched[at] {
            self.bundles.touched[at] = true;
            self.touched.push(j);
        }
        for &p in self.bundles.path[at].as_slice() {
            let p = p as usize;
            self.resources.weight[p] += change;
            if self.resources.own[p] && !self.resources.dirty[p] {
                self.resources.dirty[p] = true;
                self.dirty.push(p as u32);
            }
        }
    }

    /// A bundle stands among those of its resources while it weighs anything, and is known while it has flows.
    fn settle_place(&mut self, j: u32) {
        let at = j as usize;
        let (weight, placed) = (self.bundles.weight[at], !self.bundles.places[at].is_empty());
        if weight > 0 && !placed {
            for h in 0..self.bundles.path[at].len() {
                let on = &mut self.resources.on[self.bundles.path[at][h] as usize];
                self.bundles.places[at].push(on.len() as u32);
                on.push((j, h as u32));
            }
            self.feel(j);
        } else if weight <= 0 && placed {
            for h in 0..self.bundles.path[at].len() {
                let on = &mut self.resources.on[self.bundles.path[at][h] as usize];
                let place = self.bundles.places[at][h] as usize;
                on.swap_remove(place);
                if let Some(&(moved, of)) = on.get(place) {
                    self.bundles.places[moved as usize][of as usize] = place as u32;
                }
            }
            self.bundles.places[at].clear();
        }
        if weight == 0 && self.bundles.home[at].ends.is_empty() {
            self.bundles.remove(j);
        }
    }

    fn feel(&mut self, j: u32) {
        if self.bundles.is_home[j as usize] && !self.bundles.felt[j as usize] {
            self.bundles.felt[j as usize] = true;
            self.felt.push(j);
        }
    }
}
