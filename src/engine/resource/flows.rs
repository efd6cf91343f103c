//! Max-min shares of transfers between nodes: flows over paths of resources.
//!
//! This module does not use ranks or messages. A flow has a bundle, a start, the time that it takes alone, and a
//! ticket.
//!
//! Each resource has a level, the greatest rate of a flow there. The rate of a flow is the least of its pace and the
//! levels of its path. Levels change only at slots, see [`SlotGrid`]. All workers receive the announcement of a flow
//! before the slot in which it starts. They count the flow from this slot, where its weight is the part of the slot
//! that remains. The share of a flow that ends remains unused until the next slot.
//!
//! At a slot, each resource whose flows have changed computes its level by water-filling from the current levels of
//! other resources. If a level moves by more than a tolerance, resources whose flows it limits compute their levels in
//! the next superstep. Supersteps end when no level moves further. All flows that end before the next slot are then
//! known, with their ends. Sums are integer sums, so the results are independent of the order of summation.
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
mod subscribers;
mod tournament_tree;
mod updates;
mod uplinks;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use mcpsim_base::platform::Occupancy;
use mcpsim_base::profile::UseSeries;
use mcpsim_base::units::{SimSpan, SimTime};

pub(crate) use bundles::{BundleIndex, BundleKey, LostBytes};
use bundles::{Bundles, ELSEWHERE, PACE};
pub(crate) use grid::SlotGrid;
pub(crate) use judge::SUPERSTEPS;
pub(crate) use links::NetworkLinks;
use pending_flows::PendingFlows;
use resources::{MANY, MOST, Member, ResourceId, Resources, UNIT, divided, exact};
use subscribers::Subscribers;
use tournament_tree::TournamentTree;
pub(crate) use updates::FlowUpdate;
pub(crate) use uplinks::GroupUplinks;

/// Parameters of flows.
#[derive(Clone, Debug)]
pub(crate) struct FlowConfig {
    /// The first node of each worker.
    pub first_node: Vec<u32>,
    /// Index of this worker.
    pub me: u32,
    pub occupancy: Occupancy,
    pub grid: SlotGrid,
    /// Greatest change of a level, in thousandths, that has no effect on other resources.
    pub tolerance: u64,
    /// Kinds of groups of nodes, smallest first.
    pub groups: Vec<GroupUplinks>,
    /// Links of a network of switches.
    pub links: Option<NetworkLinks>,
    /// Whether the use of resources over time is recorded.
    pub records: bool,
}

impl FlowConfig {
    /// Returns true if each bundle passes exactly two resources.
    #[inline(always)]
    fn crosses_two(&self) -> bool {
        self.occupancy.duplex.is_none() && self.occupancy.pair_duplex.is_none() && !self.has_uplinks()
    }

    /// Returns true if groups of nodes have uplinks with a capacity, or a network has links with a capacity.
    fn has_uplinks(&self) -> bool {
        self.links.is_some() || uplinks::any(&self.groups)
    }
}

/// The flows that pass a worker's resources.
#[derive(Debug)]
pub(crate) struct Flows {
    wires: FlowConfig,
    resources: Resources,
    subscribers: Subscribers,
    bundles: Bundles,
    /// Announced flows by the slot from which they count: bundle and start.
    announced: PendingFlows,
    /// Bundles of flows that end before the next slot, one entry per flow.
    ended: Vec<u32>,
    /// Bundles of flows that started within the slot, and the missing part of their weights.
    ripening: Vec<(u32, i64)>,
    /// Own resources whose levels must be computed.
    dirty: Vec<u32>,
    /// Bundles whose weights have changed.
    touched: Vec<u32>,
    /// Bundles that have a weight again. Their limiting resource may change.
    placed: Vec<u32>,
    /// Resources whose levels have moved. The limiting resource of their bundles may change.
    moved: Vec<u32>,
    /// Resources whose first ends must be computed again.
    stale: Vec<u32>,
    /// First end of the bundles bound to each resource.
    due: TournamentTree,
    /// First ends of bundles bound to their pace.
    paced: BinaryHeap<Reverse<(u64, u32, u32)>>,
    /// Next slot at which weights or levels must be updated.
    wake: u64,
    /// Messages to other workers, with the receiving worker.
    outbox: Vec<(u32, FlowUpdate)>,
    levels: Vec<(u32, u64)>,
    moves: Vec<(u32, u64)>,
    /// Limits and weights of the bundles on one resource. The buffer is reused.
    limits: Vec<(u64, u64)>,
    pub counts: FlowCounts,
}

/// Knowledge about a flow at its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlowStart {
    /// The flow ends at this time, before the next slot. Its delay belongs to this part of [`LostBytes`].
    Ends(SimTime, Option<usize>),
    /// [`Flows::settle`] will return the end. The value is the loss of the flows of the bundle before the start.
    Goes(LostBytes),
}

/// A flow whose end is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EndedFlow {
    pub end: SimTime,
    pub ticket: u32,
    /// Loss of the flows of the bundle at the end of the flow.
    pub lost: LostBytes,
    /// Pace of the bundle in bytes per second.
    pub pace: u64,
}

/// Numbers of slots and supersteps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FlowCounts {
    pub slots: u64,
    pub supersteps: u64,
    /// Number of slots that ended before levels had settled.
    pub unsettled: u64,
}

impl Flows {
    pub fn new(wires: FlowConfig) -> Self {
        Flows {
            resources: Resources::new(wires.records),
            subscribers: Subscribers::default(),
            wires,
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

    /// Returns the recorded use of each own resource over time, as time at full use.
    pub fn series(&self) -> impl Iterator<Item = (ResourceId, UseSeries)> + '_ {
        let series = self.resources.series.iter().flatten().enumerate().filter(|(p, _)| self.resources.own[*p]);
        series.map(|(p, series)| (self.resources.id[p], series.at_full_use(self.resources.capacity[p])))
    }

    /// Returns the pace of flows over a link with this bandwidth in bytes per second.
    pub fn pace(bandwidth: u64) -> u64 {
        bandwidth.min(MOST)
    }

    /// Announces a flow that left a node of this worker at `left` and starts at `head`. Returns the slot from which the
    /// flow counts, and the bundle.
    pub fn announce(&mut self, bundle: BundleKey, left: SimTime, head: SimTime) -> (SimTime, BundleIndex) {
        // All resources of a flow within a node belong to this worker, so no announcement is sent.
        let slot = match bundle.from == bundle.to {
            true => self.wires.grid.counted_at_once(left, head),
            false => self.wires.grid.counted(left, head),
        };
        let head = head.as_ps();
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

    /// Starts a flow at `now` that takes `alone` alone. This worker is the receiver's. Returns the end of the flow if
    /// it is known; otherwise [`Flows::settle`] returns the ticket later. Also returns the next slot that the flow
    /// needs.
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

    /// Returns the next slot that must be handled; NEVER if no such slot exists.
    pub fn next_slot(&mut self) -> SimTime {
        let announced = self.announced.first();
        let paced = self.first_paced().map_or(u64::MAX, |(end, _)| end);
        let ending = match self.due.first().min(paced) {
            u64::MAX => u64::MAX,
            time => self.wires.grid.floor(time),
        };
        SimTime::from_ps(announced.min(ending).min(self.wake))
    }

    /// Begins the slot at `time`: updates weights by the flows that have started and ended. All earlier events must
    /// have been handled.
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
            // Flows that end in this slot are not announced in time. The next slot handles their ends.
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

    /// Ends the slot at `time` after levels have settled. Adds the flows that end before the next slot to `ended`.
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

    /// Returns the use of each own resource: the resource, the time at full use in picoseconds, and the greatest use at
    /// a time in millionths.
    pub fn used(&self) -> impl Iterator<Item = (ResourceId, u64, u32)> + '_ {
        (0..self.resources.id.len()).filter(|&p| self.resources.own[p]).map(|p| {
            let (used, capacity) = (&self.resources.used[p], u128::from(self.resources.capacity[p]));
            let most = (u128::from(used.most) * 1_000_000).div_ceil(capacity).min(1_000_000);
            (self.resources.id[p], u64::try_from(used.sum / capacity).unwrap_or(u64::MAX), most as u32)
        })
    }

    /// Ends the next flow of a bundle at `end`.
    fn end_first(&mut self, j: u32, end: u64, next: u64) -> EndedFlow {
        let (_, ticket) = self.bundles.home[j as usize].ends.pop().expect("a bundle that ends has a flow");
        let (lost, pace) = (self.lost(j, end), self.bundles.pace[j as usize]);
        self.end(j, next);
        self.offer(j);
        EndedFlow { end: SimTime::from_ps(end), ticket, lost, pace }
    }

    /// Announces that a flow of a bundle of this worker ends before the slot `next`, which releases the flow's share.
    fn end(&mut self, j: u32, next: u64) {
        let bundle = self.bundles.key[j as usize];
        for &worker in &self.bundles.others[j as usize] {
            self.outbox.push((worker, FlowUpdate::Ends { bundle }));
        }
        self.has_ended(j);
        self.wake = self.wake.min(next);
    }

    /// Returns the number of a bundle. A bundle without flows gets a new number.
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
        let path: SmallVec<[u32; 6]> = path.into_iter().map(|id| self.number(id)).collect();
        self.subscribe(&key, &path, &others);
        let home = self.worker_of(key.to) == self.wires.me;
        self.bundles.add(key, path, others, home)
    }

    /// Changes the weight of a bundle by `change`.
    fn weigh(&mut self, j: u32, change: i64) {
        let at = j as usize;
        self.bundles.weight[at] += change;
        if !self.bundles.touched[at] {
            self.bundles.touched[at] = true;
            self.touched.push(j);
        }
    }

    /// Updates the lists of a bundle's resources, which contain the bundle while it has a weight. Removes a bundle
    /// without flows.
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
                        // A flow within a node passes the port of both directions of its adapter twice.
                        let (moved, last) = (moved.bundle as usize, on.len() as u32);
                        let known = self.bundles.path[moved].iter().zip(&mut self.bundles.places[moved]);
                        let at_last = known.filter(|(other, at)| **other as usize == p && **at == last);
                        at_last.for_each(|(_, at)| *at = place as u32);
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
