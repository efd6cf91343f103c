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

mod bundle_paths;
mod bundles;
mod ends;
pub(super) mod filling;
mod grid;
mod judge;
pub(super) mod limit_counts;
mod links;
mod pending_flows;
pub(super) mod resources;
mod tournament_tree;
mod uplinks;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use mcpsim_base::platform::Occupancy;
use mcpsim_base::units::{SimSpan, SimTime};

pub(crate) use bundle_paths::ResourceKind;
pub(crate) use bundles::{BundleIndex, BundleKey, LostBytes};
use bundles::{Bundles, ELSEWHERE, PACE};
pub(crate) use grid::SlotGrid;
pub(crate) use judge::SUPERSTEPS;
pub(crate) use links::NetworkLinks;
use pending_flows::PendingFlows;
use resources::{MANY, MOST, Member, ResourceId, Resources, UNIT, divided, exact};
use tournament_tree::TournamentTree;
pub(crate) use uplinks::GroupUplinks;

/// What a worker tells another of flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum FlowUpdate {
    /// A flow will start at `head` and counts from `slot`, both in picoseconds.
    Starts { bundle: BundleKey, slot: u64, head: u64 },
    /// A flow ends before the next slot.
    Ends { bundle: BundleKey },
    /// A resource has another level.
    Level { resource: u64, level: u64 },
}

/// What of the machine flows need.
#[derive(Clone, Debug)]
pub(crate) struct FlowConfig {
    /// The first node of each worker.
    pub first_node: Vec<u32>,
    /// This worker.
    pub me: u32,
    pub occupancy: Occupancy,
    pub grid: SlotGrid,
    /// Levels that move by less than this part of a thousand are not told.
    pub tolerance: u64,
    /// Kinds of groups of nodes, smallest first.
    pub groups: Vec<GroupUplinks>,
    /// Links of a network of switches.
    pub links: Option<NetworkLinks>,
}

impl FlowConfig {
    /// Whether all bundles pass two resources and no more.
    #[inline(always)]
    fn crosses_two(&self) -> bool {
        self.occupancy.duplex.is_none() && self.occupancy.pair_duplex.is_none() && !self.has_uplinks()
    }

    /// Whether groups of nodes have uplinks with a capacity, or a network has links with a capacity.
    fn has_uplinks(&self) -> bool {
        self.links.is_some() || uplinks::any(&self.groups)
    }
}

/// The flows that pass a worker's resources.
#[derive(Debug)]
pub(crate) struct Flows {
    wires: FlowConfig,
    resources: Resources,
    bundles: Bundles,
    /// Flows to come by the slot from which they count: their bundles, and when they start.
    announced: PendingFlows,
    /// The bundles of flows that end before the next slot.
    ended: Vec<u32>,
    /// Flows that have not counted in full, and what is missing.
    ripening: Vec<(u32, i64)>,
    /// Own resources to be judged.
    dirty: Vec<u32>,
    /// Bundles that weigh more or less than before.
    touched: Vec<u32>,
    /// Bundles that weigh something again, and resources whose levels have moved: what is bound to what may change.
    placed: Vec<u32>,
    moved: Vec<u32>,
    /// Resources whose first ends are to be found again.
    stale: Vec<u32>,
    /// The first ends of resources' bundles, and of bundles bound to their pace.
    due: TournamentTree,
    paced: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// A slot by when something has changed.
    wake: u64,
    /// What is to be told to the worker.
    outbox: Vec<(u32, FlowUpdate)>,
    levels: Vec<(u32, u64)>,
    moves: Vec<(u32, u64)>,
    /// Limits and weights of the bundles on the resource that is judged; kept for its room.
    limits: Vec<(u64, u64)>,
    pub counts: FlowCounts,
}

/// What is known of a flow when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowStart {
    /// It ends then, before the next slot; what it takes longer than alone is lost at this part of [`LostBytes`].
    Ends(SimTime, Option<usize>),
    /// [`Flows::settle`] will tell. The flows of its bundle had lost so much before.
    Goes(LostBytes),
}

/// A flow whose end is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedFlow {
    pub end: SimTime,
    pub ticket: u32,
    /// What the flows of its bundle have lost by then, and their pace.
    pub lost: LostBytes,
    pub pace: u64,
}

/// What it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FlowCounts {
    pub slots: u64,
    pub supersteps: u64,
    /// Slots that were left before levels had settled.
    pub unsettled: u64,
}

impl Flows {
    pub fn new(wires: FlowConfig) -> Self {
        Flows {
            wires,
            resources: Resources::default(),
            bundles: Bundles::default(),
            announced: PendingFlows::default(),
            ended: Vec::new(),
            ripening: Vec::new(),
            dirty: Vec::new(),
            touched: Vec::new(),
            placed: Vec::new(),
            moved: Vec::new(),
            stale: Vec::new(),
            due: TournamentTree::default(),
            paced: BinaryHeap::new(),
            wake: u64::MAX,
            outbox: Vec::new(),
            levels: Vec::new(),
            moves: Vec::new(),
            limits: Vec::new(),
            counts: FlowCounts::default(),
        }
    }

    /// Returns whether groups of nodes have uplinks with a capacity, or a network has links with a capacity.
    pub fn has_uplinks(&self) -> bool {
        self.wires.has_uplinks()
    }

    /// The pace of a flow that takes `alone`: a rate of whole bytes a second.
    pub fn pace(bandwidth: u64) -> u64 {
        bandwidth.min(MOST)
    }

    /// A flow of this bundle, which left this worker's node at `left`, starts at `head`: gives the slot from which it
    /// counts, and the bundle.
    pub fn announce(&mut self, bundle: BundleKey, left: SimTime, head: SimTime) -> (SimTime, BundleIndex) {
        let (slot, head) = (self.wires.grid.counted(left, head), head.as_ps());
        let j = self.will_start(bundle, slot, head);
        for &worker in &self.bundles.others[j as usize] {
            self.outbox.push((worker, FlowUpdate::Starts { bundle, slot, head }));
        }
        (SimTime::from_ps(slot), BundleIndex::new(j))
    }

    /// Returns the index of a bundle.
    pub fn index(&mut self, bundle: BundleKey) -> BundleIndex {
        BundleIndex::new(self.bundle(bundle))
    }

    fn will_start(&mut self, bundle: BundleKey, slot: u64, head: u64) -> u32 {
        let j = self.bundle(bundle);
        self.bundles.pending[j as usize] += 1;
        self.announced.add(slot, (j, head));
        j
    }

    fn has_ended(&mut self, j: u32) {
        self.bundles.pending[j as usize] += 1;
        self.ended.push(j);
    }

    /// Takes what others have told, but for levels.
    pub fn hear(&mut self, news: FlowUpdate) {
        match news {
            FlowUpdate::Starts { bundle, slot, head } => {
                self.will_start(bundle, slot, head);
            }
            FlowUpdate::Ends { bundle } => {
                let j = self.bundle(bundle);
                self.has_ended(j);
            }
            FlowUpdate::Level { resource, level } => {
                let number = self.number(ResourceId(resource));
                self.levels.push((number, level));
            }
        }
    }

    /// Whether others are to be told anything.
    #[inline(always)]
    pub fn has_news(&self) -> bool {
        !self.outbox.is_empty()
    }

    /// What is to be told to others since this was asked last.
    pub fn outbox(&mut self) -> std::vec::Drain<'_, (u32, FlowUpdate)> {
        self.outbox.drain(..)
    }

    /// A flow starts at `now` at this, its receiver's worker, and takes `alone` by itself: gives its end, if that is
    /// known already. Otherwise [`Flows::settle`] gives its ticket when it is. Also gives the slot at which there is
    /// something to do because of the flow.
    pub fn start(&mut self, bundle: BundleIndex, now: SimTime, alone: SimSpan, ticket: u32) -> (FlowStart, SimTime) {
        let now = now.as_ps();
        let j = bundle.number();
        let at = j as usize;
        let begins = self.bundles.home[at].ends.is_empty();
        if begins {
            self.bind(j, now);
        }
        let pace = self.bundles.pace[at];
        let work = i128::from(alone.as_ps()) * i128::from(pace);
        let bound = self.bundles.bound[at];
        let end = match bound {
            PACE => now.saturating_add(alone.as_ps()),
            p => now.saturating_add(divided(work as u128, self.resources.level[p as usize])),
        };
        let next = self.wires.grid.after(now);
        if end < next {
            self.end(j, next);
            return (FlowStart::Ends(SimTime::from_ps(end), self.part(bound)), SimTime::from_ps(next));
        }
        let value = self.value(j, now);
        let mark = value + work;
        let ends = &mut self.bundles.home[at].ends;
        let first = ends.first().is_none_or(|(other, _)| mark < other);
        ends.push((mark, ticket));
        if first {
            self.offer(j);
            self.look_again(bound);
        }
        let lost = if begins { LostBytes::default() } else { self.lost_at(j, now, value) };
        (FlowStart::Goes(lost), SimTime::from_ps(self.wires.grid.floor(end)))
    }

    /// The next slot at which there is something to do; NEVER if there is none.
    pub fn next_slot(&mut self) -> SimTime {
        let announced = self.announced.first();
        let paced = self.first_paced().map_or(u64::MAX, |(end, _)| end);
        let ending = match self.due.first().min(paced) {
            u64::MAX => u64::MAX,
            time => self.wires.grid.floor(time),
        };
        SimTime::from_ps(announced.min(ending).min(self.wake))
    }

    /// All that happens before the slot at `time` has happened: counts what has started and ended.
    pub fn open(&mut self, time: SimTime) {
        let time = time.as_ps();
        let slot = self.wires.grid.slot();
        self.wake = u64::MAX;
        self.counts.slots += 1;
        let mut ripening = std::mem::take(&mut self.ripening);
        for (j, missing) in ripening.drain(..) {
            self.weigh(j, missing);
        }
        self.ripening = ripening;
        let mut ended = std::mem::take(&mut self.ended);
        for j in ended.drain(..) {
            self.bundles.pending[j as usize] -= 1;
            self.weigh(j, -(UNIT as i64));
        }
        self.ended = ended;
        while let Some(mut flows) = self.announced.take_until(time) {
            // Those that end in this slot tell nobody before: the next looks after them.
            self.wake = time.saturating_add(slot);
            for (j, head) in flows.drain(..) {
                self.bundles.pending[j as usize] -= 1;
                let late = head.saturating_sub(time).min(slot - 1);
                let missing = (UNIT * late / slot) as i64;
                self.weigh(j, UNIT as i64 - missing);
                if missing > 0 {
                    self.ripening.push((j, missing));
                }
            }
            self.announced.keep_room(flows);
        }
        let mut touched = std::mem::take(&mut self.touched);
        for j in touched.drain(..) {
            self.bundles.touched[j as usize] = false;
            self.settle_place(j);
        }
        self.touched = touched;
    }

    /// Levels have settled at the slot at `time`: gives the flows that end before the next slot, each with its end.
    pub fn settle(&mut self, time: SimTime, ended: &mut Vec<EndedFlow>) {
        let time = time.as_ps();
        let next = time.saturating_add(self.wires.grid.slot());
        let mut placed = std::mem::take(&mut self.placed);
        for j in placed.drain(..) {
            self.bind_anew(j, time);
        }
        self.placed = placed;
        let mut moved = std::mem::take(&mut self.moved);
        for &p in &moved {
            self.bind_all(p, time);
        }
        for p in moved.drain(..) {
            self.resources.moved[p as usize] = false;
        }
        self.moved = moved;
        let mut stale = std::mem::take(&mut self.stale);
        for p in stale.drain(..) {
            self.look(p);
        }
        self.stale = stale;
        while let Some(p) = self.due.before(next) {
            while let Some(j) = self.first_before(p, next) {
                let end = self.resources.time_of(p, self.next_mark(j));
                ended.push(self.end_first(j, end.max(time), next));
            }
            self.look(p);
        }
        while let Some((end, j)) = self.first_paced()
            && end < next
        {
            ended.push(self.end_first(j, end.max(time), next));
        }
        if !self.ripening.is_empty() || !self.dirty.is_empty() {
            self.wake = self.wake.min(next);
        }
    }

    /// Returns the use of each own resource: the resource, the time at full use in picoseconds, and the greatest use at a
    /// time in millionths.
    pub fn used(&self) -> impl Iterator<Item = (ResourceId, u64, u32)> + '_ {
        (0..self.resources.id.len()).filter(|&p| self.resources.own[p]).map(|p| {
            let (used, capacity) = (&self.resources.used[p], u128::from(self.resources.capacity[p]));
            let most = (u128::from(used.most) * 1_000_000).div_ceil(capacity).min(1_000_000);
            (self.resources.id[p], u64::try_from(used.sum / capacity).unwrap_or(u64::MAX), most as u32)
        })
    }

    /// The next flow of a bundle ends at `end`.
    fn end_first(&mut self, j: u32, end: u64, next: u64) -> EndedFlow {
        let (_, ticket) = self.bundles.home[j as usize].ends.pop().expect("a bundle that ends has a flow");
        let (lost, pace) = (self.lost(j, end), self.bundles.pace[j as usize]);
        self.end(j, next);
        self.offer(j);
        EndedFlow { end: SimTime::from_ps(end), ticket, lost, pace }
    }

    /// A flow of this bundle, which is at home here, ends before the slot `next`, where its share is given back.
    fn end(&mut self, j: u32, next: u64) {
        let bundle = self.bundles.key[j as usize];
        for &worker in &self.bundles.others[j as usize] {
            self.outbox.push((worker, FlowUpdate::Ends { bundle }));
        }
        self.has_ended(j);
        self.wake = self.wake.min(next);
    }

    /// The number of a bundle, which is new if it has no flows.
    fn bundle(&mut self, key: BundleKey) -> u32 {
        if let Some(number) = self.bundles.get(&key) {
            return number;
        }
        let path = self.path(&key);
        let mut others = SmallVec::new();
        for owner in path.iter().map(|&id| self.owner(id)) {
            if owner != self.wires.me && !others.contains(&owner) {
                others.push(owner);
            }
        }
        let path = path.into_iter().map(|id| self.number(id)).collect();
        let home = self.worker_of(key.to) == self.wires.me;
        self.bundles.add(key, path, others, home)
    }

    /// A bundle weighs more or less by `change`.
    fn weigh(&mut self, j: u32, change: i64) {
        let at = j as usize;
        self.bundles.weight[at] += change;
        if !self.bundles.touched[at] {
            self.bundles.touched[at] = true;
            self.touched.push(j);
        }
    }

    /// A bundle stands among those of its resources while it weighs anything, and is known while it has flows.
    fn settle_place(&mut self, j: u32) {
        let at = j as usize;
        let weight = u64::try_from(self.bundles.weight[at]).unwrap_or(0);
        for h in 0..self.bundles.path[at].len() {
            self.dirt(self.bundles.path[at][h]);
        }
        let placed = !self.bundles.places[at].is_empty();
        for h in 0..self.bundles.path[at].len() {
            let p = self.bundles.path[at][h] as usize;
            let on = &mut self.resources.on[p];
            if placed {
                let place = self.bundles.places[at][h] as usize;
                self.resources.weight[p] -= std::mem::replace(&mut on[place].weight, exact(weight)) as u64;
                if weight == 0 {
                    on.swap_remove(place);
                    if let Some(moved) = on.get(place) {
                        let moved = moved.bundle as usize;
                        let of = self.bundles.path[moved].iter().position(|&other| other as usize == p);
                        self.bundles.places[moved][of.expect("it passes the resource")] = place as u32;
                    }
                }
            } else if weight > 0 {
                self.bundles.places[at].push(on.len() as u32);
                let path = &self.bundles.path[at];
                let other = if path.len() == 2 { path[1 - h] } else { MANY };
                let (pace, weight) = (exact(self.bundles.pace[at]), exact(weight));
                on.push(Member { pace, weight, other, bundle: j });
            }
            self.resources.weight[p] += weight;
        }
        if weight == 0 {
            self.bundles.places[at].clear();
        } else if !placed && self.bundles.bound[at] != ELSEWHERE {
            self.placed.push(j);
        }
        if !self.bundles.has_flows(j) {
            self.bundles.remove(j);
        }
    }
}
