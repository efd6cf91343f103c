//! The memories of a worker's nodes, and what is between their CMPs: what copies and blocks that compute share there.
//!
//! Of a node's shares the first are the memories of its CMPs, then comes the node's, then what each CMP sends to the
//! others, then what each gets from them, then the memories of domains.

use std::cmp::Ordering;

use mcpsim_base::platform::{CopyMemory, Level, MemorySharing, Platform, Row, Site};
use mcpsim_base::profile::{SharedKind, Uses};
use mcpsim_base::rank::Rank;
use mcpsim_base::units::{Bandwidth, Bytes, SimSpan, SimTime};

use super::super::event::EventKind;
use super::super::lp::LogicalProcess;
use super::super::network::RankLocation;
use super::super::resource::code_clock::CodeClock;
use super::super::resource::shares::{Moves, Owner, Shares};
use super::super::state::TargetRank;
use super::caches::parts;

/// More than any memory moves.
pub(super) const NO_LIMIT: u64 = 1 << 50;

/// Where copies have a limit of their own, what a block weighs for each byte it moves; copies weigh more.
const WEIGHT: u64 = 1 << 10;

/// The memories of a worker's nodes.
#[derive(Debug)]
pub(in super::super) struct NodeMemory {
    first_node: u32,
    /// CMPs a node.
    cmps: u32,
    nodes: Vec<NodeShares>,
    /// Of each CMP: blocks that compute there may be slowed by others, or may slow these.
    shared: Vec<bool>,
    /// For each rank of the worker, its domain's memory among the shares of its node; empty without such domains.
    domain_memory: Vec<u32>,
    /// So many nodes' next events are to be found again.
    changed: u32,
}

#[derive(Debug)]
struct NodeShares {
    shares: Shares,
    /// What a block weighs for each byte it moves, and a copy at a CMP's memory and at the node's.
    block_weight: u64,
    copy_weights: [u64; 2],
    /// What this node's memory has of what the platform states.
    factor: f64,
    /// The code of each CMP's ranks, where these slow each other.
    code: Vec<Option<CodeClock>>,
    /// Whether its ranks can fill what is between its CMPs.
    is_crossed: bool,
    /// The first share of a domain.
    first_domain: u32,
    /// The event that comes next, and its number.
    next: SimTime,
    version: u32,
    changed: bool,
}

fn rate(limit: Option<Bandwidth>) -> u64 {
    limit.map_or(NO_LIMIT, |limit| limit.get().min(NO_LIMIT))
}

/// What each CMP of a node may send to the others, then what each may get from them; nothing where it is not limited.
fn between_cmps(copies: Option<CopyMemory>, cmps: u32) -> impl Iterator<Item = u64> {
    let stated = copies.and_then(|copies| copies.interconnect);
    stated.into_iter().flat_map(move |capacity| std::iter::repeat_n(rate(Some(capacity)), 2 * cmps as usize))
}

/// Capacity of each domain's memory of a node; empty without such domains.
fn of_domains(platform: &Platform) -> impl Iterator<Item = u64> {
    let stated = platform.places.memory().map(|(domain, bandwidth)| (domain.per_node(platform.shape), bandwidth));
    stated.into_iter().flat_map(|(count, bandwidth)| std::iter::repeat_n(rate(Some(bandwidth)), count as usize))
}

/// Returns, for each rank of worker `me`, the number of its domain's memory among the shares of its node; nothing
/// without such domains.
pub(super) fn domain_memory(platform: &Platform, me: u32, seats: &[RankLocation], sites: &[Site]) -> Vec<u32> {
    let Some((domain, _)) = platform.places.memory() else { return Vec::new() };
    let (shape, copies) = (platform.shape, platform.heeded_memory());
    let first = shape.cmps + 1 + between_cmps(copies, shape.cmps).count() as u32;
    let own = seats.iter().zip(sites).filter(|(seat, _)| seat.worker == me);
    own.map(|(_, site)| first + domain.of(shape, *site)).collect()
}

/// The greatest rate at which a core copies messages of these levels, each counted so many times.
fn most_paces(platform: &Platform, levels: &[Level], times: fn(&Row) -> u32) -> u64 {
    let rows = levels.iter().flat_map(|level| platform.link(*level).rows());
    let pace = |row: &Row| row.copy_bandwidth.unwrap_or(row.bandwidth).get().saturating_mul(times(row).into());
    rows.map(pace).max().unwrap_or(0)
}

/// Whether the ranks of a node, so many on each CMP, can fill what is between these.
fn is_crossed(platform: &Platform, ranks: &[u64]) -> bool {
    let Some(capacity) = platform.heeded_memory().and_then(|copies| copies.interconnect) else { return false };
    let all: u64 = ranks.iter().sum();
    // Receivers copy: what a CMP gets its own ranks do, what it sends those of the others.
    let most = ranks.iter().filter(|&&own| own < all).map(|&own| own.max(all - own)).max().unwrap_or(0);
    u128::from(most) * u128::from(most_paces(platform, &[Level::InterCmp], |_| 1)) > capacity.get().into()
}

impl NodeMemory {
    /// Of `nodes`, which are of worker `me`; none if neither copies nor blocks share memory over time.
    pub fn new(
        platform: &Platform,
        nodes: std::ops::Range<u32>,
        me: u32,
        seats: &[RankLocation],
        sites: &[Site],
    ) -> Option<Box<NodeMemory>> {
        let (copies, contention) = (platform.heeded_memory(), platform.core.memory_sharing);
        if copies.is_none() && contention == MemorySharing::Placed {
            return None;
        }
        let (first_node, cmps) = (nodes.start, platform.shape.cmps);
        let mut memory = NodeMemory {
            first_node,
            cmps,
            nodes: Vec::new(),
            shared: Vec::new(),
            domain_memory: domain_memory(platform, me, seats, sites),
            changed: 0,
        };
        if contention == MemorySharing::Placed {
            let stated = copies.expect("copies share memory");
            let mut capacity = vec![rate(stated.cmp); cmps as usize];
            capacity.push(rate(stated.node));
            capacity.extend(between_cmps(Some(stated), cmps));
            let first_domain = capacity.len();
            capacity.extend(of_domains(platform));
            let mut ranks = vec![0; nodes.len() * cmps as usize];
            for seat in seats.iter().filter(|seat| seat.worker == me) {
                ranks[(seat.cmp - first_node * cmps) as usize] += 1;
            }
            let parts = parts(stated.replacement);
            capacity.iter_mut().for_each(|capacity| *capacity *= parts);
            let of_node = |ranks: &[u64]| NodeShares {
                is_crossed: is_crossed(platform, ranks),
                ..NodeShares::new(capacity.clone(), first_domain, parts, [1, 1], 1.0)
            };
            memory.nodes = ranks.chunks(cmps as usize).map(of_node).collect();
            return Some(Box::new(memory));
        }
        let mut places: Vec<(RankLocation, Site)> =
            seats.iter().copied().zip(sites.iter().copied()).filter(|(seat, _)| seat.worker == me).collect();
        places.sort_unstable_by_key(|(_, site)| *site);
        for ranks in places.chunk_by(|(a, _), (b, _)| a.node == b.node) {
            memory.add(platform, copies, ranks);
        }
        Some(Box::new(memory))
    }

    /// The next node, which has ranks at these places, in order.
    fn add(&mut self, platform: &Platform, copies: Option<CopyMemory>, ranks: &[(RankLocation, Site)]) {
        let rates = &platform.core;
        // Site of each core, and number of hardware threads that compute there, less their mutual slowdown.
        let cores: Vec<(Site, f64)> = ranks
            .chunk_by(|(_, a), (_, b)| a == b)
            .map(|core| {
                let ranks = core.len() as u32;
                (core[0].1, f64::from(rates.threads.busy(ranks)) / rates.threads.factor(ranks))
            })
            .collect();
        let factor = platform.conditions.nodes.memory(ranks[0].1.node);
        let limit = |stated: Bandwidth| ((rate(Some(stated)) as f64 * factor) as u64).clamp(1, NO_LIMIT);
        let (of_cmp, of_node) = (limit(rates.cmp_memory), limit(rates.node_memory));
        // Copies alone fill a memory at their own limit.
        let weight = |memory: u64, limit: Option<Bandwidth>| {
            let copies = rate(limit).min(memory);
            ((WEIGHT as f64 * memory as f64 / copies as f64).round() as u64).clamp(WEIGHT, WEIGHT << 16)
        };
        let copy_weights =
            copies.map_or([WEIGHT; 2], |copies| [weight(of_cmp, copies.cmp), weight(of_node, copies.node)]);
        // What a core can ask for at most, by its block and by its copies.
        let most_copied = copies.filter(CopyMemory::has_caches).map_or(0.0, |stated| {
            let moved: u64 = stated.traffic.parts().iter().sum();
            let copies = |level: &Level| platform.link(*level).occupancy().copies.by_receiver();
            let copied: Vec<Level> = Level::ALL.into_iter().filter(copies).collect();
            (most_paces(platform, &copied, |row| row.copy_count) * moved) as f64
        });
        let heavier = |weight: u64| weight as f64 / WEIGHT as f64;
        let computing = rates.memory.get() as f64 * factor;
        let sites: Vec<Site> = ranks.iter().map(|(_, site)| *site).collect();
        let all = rates.threads.places(&sites).len() as f64;
        let asking = |cmp: Option<u32>| -> f64 {
            cores.iter().filter(|core| cmp.is_none_or(|cmp| core.0.cmp == cmp)).map(|core| core.1).sum()
        };
        let node_is_full = asking(None) * computing + all * most_copied * heavier(copy_weights[1]) > of_node as f64;
        let first = self.shared.len() as u32;
        self.shared.resize((first + self.cmps) as usize, false);
        let copied = all * most_copied * heavier(copy_weights[0]);
        // CMP of each domain, and number of hardware threads that compute in the domain.
        let mut in_domains: Vec<(u32, f64)> = Vec::new();
        if let Some((domain, _)) = platform.places.memory() {
            in_domains = (0..domain.per_node(platform.shape))
                .map(|at| (at * domain.cores / platform.shape.cores, 0.0))
                .collect();
            for (site, threads) in &cores {
                in_domains[domain.of(platform.shape, *site) as usize].1 += threads;
            }
        }
        let of_domain = platform.places.memory().map_or(NO_LIMIT, |(_, bandwidth)| limit(bandwidth));
        for cmp in 0..self.cmps {
            let asked = asking(Some(cmp)) * computing + copied;
            let domain_is_full =
                in_domains.iter().any(|(of, threads)| *of == cmp && threads * computing + copied > of_domain as f64);
            self.shared[(first + cmp) as usize] = node_is_full || domain_is_full || asked > of_cmp as f64;
        }
        let mut capacity = vec![of_cmp * WEIGHT; self.cmps as usize];
        capacity.push(of_node * WEIGHT);
        capacity.extend(between_cmps(copies, self.cmps).map(|capacity| capacity * WEIGHT));
        let first_domain = capacity.len();
        capacity.extend(in_domains.iter().map(|_| of_domain * WEIGHT));
        let parts = copies.map_or(1, |copies| parts(copies.replacement));
        capacity.iter_mut().for_each(|capacity| *capacity = capacity.saturating_mul(parts));
        let mut node = NodeShares::new(capacity, first_domain, WEIGHT * parts, copy_weights, factor);
        let mut of_cmps = vec![0; self.cmps as usize];
        ranks.iter().for_each(|(_, site)| of_cmps[site.cmp as usize] += 1);
        node.is_crossed = is_crossed(platform, &of_cmps);
        node.code = (0..self.cmps)
            .map(|cmp| {
                let here = ranks.iter().filter(|(_, site)| site.cmp == cmp).count();
                CodeClock::new(here, |computing| platform.slowdown_of(ranks[0].1.node, computing))
            })
            .collect();
        self.nodes.push(node);
    }

    fn node(&mut self, seat: RankLocation) -> &mut NodeShares {
        &mut self.nodes[(seat.node - self.first_node) as usize]
    }

    /// Whether a block that computes there may be slowed by others, or may slow these.
    pub fn is_shared(&self, seat: RankLocation) -> bool {
        let cmp = seat.cmp - self.first_node * self.cmps;
        self.shared.get(cmp as usize).copied().unwrap_or(false)
    }

    /// What this node's memory has of what the platform states.
    pub fn factor(&self, seat: RankLocation) -> f64 {
        self.nodes[(seat.node - self.first_node) as usize].factor
    }

    /// A copy from one CMP to another adds what it moves between these, if others can slow it there.
    pub fn cross(&self, from: RankLocation, to: RankLocation, moves: &mut Moves) {
        if self.nodes[(to.node - self.first_node) as usize].is_crossed {
            let cmps = self.cmps;
            moves.push((cmps + 1 + from.cmp % cmps, 1));
            moves.push((2 * cmps + 1 + to.cmp % cmps, 1));
        }
    }

    /// A copy of `bytes` by the core of `rank`, which moves this at memories for each byte, begins at `time`.
    pub fn begin_copy(&mut self, seat: RankLocation, time: SimTime, pace: u64, moves: Moves, bytes: u64, owner: Owner) {
        let cmps = self.cmps;
        let node = self.node(seat);
        let mut moves = moves;
        for (memory, weight) in &mut moves {
            *weight *= node.copy_weight(*memory, cmps);
        }
        node.begin(time, pace, moves, bytes, owner);
        self.change(seat);
    }

    /// How long a copy at this pace that moves this takes if it has the memories for itself.
    pub fn lone(&mut self, seat: RankLocation, pace: u64, moves: &Moves, size: Bytes) -> SimSpan {
        let cmps = self.cmps;
        let node = self.node(seat);
        let rate =
            |&(memory, weight): &(u32, u64)| node.shares.capacity(memory) / (weight * node.copy_weight(memory, cmps));
        let rate = moves.iter().map(rate).fold(pace, u64::min);
        Bandwidth::new(rate.max(1)).map_or(SimSpan::ZERO, |rate| rate.span(size, 1))
    }

    /// How much of its memories was used.
    pub fn add_uses(&self, uses: &mut Uses) {
        for node in &self.nodes {
            // What has no limit is not used up.
            let is_limited = |memory: u32| node.shares.capacity(memory) < NO_LIMIT.saturating_mul(node.block_weight);
            for (memory, (in_full, most)) in (0..).zip(node.shares.used()).filter(|(memory, _)| is_limited(*memory)) {
                let kind = match memory.cmp(&self.cmps) {
                    Ordering::Less => SharedKind::CmpMemory,
                    Ordering::Equal => SharedKind::NodeMemory,
                    Ordering::Greater if memory >= node.first_domain => SharedKind::DomainMemory,
                    Ordering::Greater => SharedKind::Interconnect,
                };
                uses.add(kind, in_full);
                uses.at_most(kind, most);
            }
        }
    }

    /// A block that moves `bytes` at most at this pace begins at `time`.
    pub fn begin_block(&mut self, seat: RankLocation, time: SimTime, pace: u64, bytes: u64, owner: Owner) {
        let (cmps, of_domain) = (self.cmps, self.domain_memory.get(seat.local as usize).copied());
        let node = self.node(seat);
        let weight = node.block_weight;
        let mut moves = Moves::from_slice(&[(seat.cmp % cmps, weight), (cmps, weight)]);
        moves.extend(of_domain.map(|memory| (memory, weight)));
        node.begin(time, pace, moves, bytes, owner);
        self.change(seat);
    }

    /// Whether code there may be slowed by others' code.
    pub fn slows_code(&self, seat: RankLocation) -> bool {
        let node = &self.nodes[(seat.node - self.first_node) as usize];
        node.code.get((seat.cmp % self.cmps) as usize).is_some_and(Option::is_some)
    }

    /// A block of code that takes `alone` by itself begins at `time`.
    pub fn begin_code(&mut self, seat: RankLocation, time: SimTime, alone: SimSpan, owner: Owner) {
        let cmps = self.cmps;
        let node = self.node(seat);
        let code = node.code[(seat.cmp % cmps) as usize].as_mut().expect("code is slowed there");
        code.begin(time.as_ps(), alone.as_ps(), owner);
        self.change(seat);
    }

    /// Something of the node has begun or ended.
    fn change(&mut self, seat: RankLocation) {
        self.changed += u32::from(!std::mem::replace(&mut self.node(seat).changed, true));
    }

    /// The first rank of those whose flows have no end.
    pub fn endless(&mut self) -> Option<Rank> {
        self.nodes.iter_mut().filter_map(NodeShares::first_end).map(|(_, (rank, _))| rank).min()
    }
}

impl NodeShares {
    /// Creates a node whose shares from `first_domain` on are those of domains.
    fn new(capacity: Vec<u64>, first_domain: usize, block_weight: u64, copy_weights: [u64; 2], factor: f64) -> Self {
        let first_domain = first_domain as u32;
        let shares = Shares::new(capacity);
        let (code, next, is_crossed) = (Vec::new(), SimTime::NEVER, false);
        NodeShares {
            first_domain,
            shares,
            block_weight,
            copy_weights,
            factor,
            code,
            is_crossed,
            next,
            version: 0,
            changed: false,
        }
    }

    /// Returns the weight of a copy at a share per byte moved there. The memory of a domain is a part of the memory of its
    /// CMP.
    fn copy_weight(&self, share: u32, cmps: u32) -> u64 {
        match share.cmp(&cmps) {
            Ordering::Less => self.copy_weights[0],
            Ordering::Greater if share >= self.first_domain => self.copy_weights[0],
            Ordering::Equal => self.copy_weights[1],
            Ordering::Greater => self.block_weight,
        }
    }

    /// When the first of what is under way ends, and whose it is.
    fn first_end(&mut self) -> Option<(u64, Owner)> {
        let code = self.code.iter().flatten().filter_map(CodeClock::next);
        code.chain(self.shares.next()).min()
    }

    fn begin(&mut self, time: SimTime, pace: u64, moves: Moves, bytes: u64, owner: Owner) {
        self.shares.begin(time.as_ps(), pace.clamp(1, NO_LIMIT), moves, bytes, owner);
    }
}

impl LogicalProcess<'_> {
    /// Whether the rank's code may be slowed, or its data count. What it runs inside of collectives goes on by itself.
    #[inline]
    pub fn follows_code(&self, target: &TargetRank) -> bool {
        self.node_memory.is_some() && target.main.collective.is_none()
    }

    /// Whether others may slow the rank's code.
    pub fn slows_code(&self, target: &TargetRank) -> bool {
        self.node_memory.as_deref().is_some_and(|memory| memory.slows_code(self.seats[target.rank as usize]))
    }

    /// Whose flows of the rank's node have ended now, if the event `version` is still meant.
    pub fn ended_flows(&mut self, rank: Rank, version: u32) -> Vec<Owner> {
        let (now, seat) = (self.now.time, self.seats[rank as usize]);
        let memory = self.node_memory.as_mut().expect("something shares memory");
        if memory.node(seat).version != version {
            return Vec::new();
        }
        memory.change(seat);
        let node = memory.node(seat);
        node.next = SimTime::NEVER;
        let mut ended = node.shares.ended(now.as_ps());
        node.code.iter_mut().flatten().for_each(|code| code.ended(now.as_ps(), &mut ended));
        ended
    }

    /// Flows of the rank's node have begun or ended: says when the next ends.
    #[inline(always)]
    pub fn settle_memory(&mut self, target: &mut TargetRank) {
        if self.node_memory.as_ref().is_some_and(|memory| memory.changed > 0) {
            self.settle_shares(target);
        }
    }

    #[inline(never)]
    fn settle_shares(&mut self, target: &mut TargetRank) {
        let seat = self.seats[target.rank as usize];
        let Some(memory) = &mut self.node_memory else { return };
        let node = memory.node(seat);
        if !std::mem::take(&mut node.changed) {
            return;
        }
        memory.changed -= 1;
        let node = memory.node(seat);
        // An event that comes too early finds nothing, and says when the next ends.
        if let Some((end, (rank, _))) = node.first_end()
            && SimTime::from_ps(end) < node.next
        {
            node.version = node.version.wrapping_add(1);
            node.next = SimTime::from_ps(end);
            let (time, version) = (node.next, node.version);
            self.push(target, time, rank, || EventKind::CopiesEnd { version });
        }
    }
}
