//! What copies within a node find: caches that hold their buffers, or memory, which the copies beyond caches share, and
//! with them the blocks that compute, where the platform says so; between CMPs also what these have to each other.
//!
//! A copy reads a buffer of the sender's and writes one of the receiver's. A buffer that its CMP's caches do not hold
//! is read from, or written to, that CMP's memory. If there is one such, the copy goes at most at the core's pace and
//! at its max-min fair share of the memories it uses; its end is known when it comes. All that a node's copies share
//! belongs to the worker of the node.
//!
//! Which buffers are used again is known from what messages say. A rank of a real program states which of its buffers a
//! message is in (`stated`). Otherwise, between two ranks, each context and tag has a buffer at either end. The receives
//! of a collective, as they are posted, have one each at either end, the same in every call.
//!
//! Real code uses caches, too: what passes through them while a block of it computes drives out what lay there.

mod ahead;
mod blocks;
mod buffers;
mod caches;
mod nodes;
mod stated;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use rustc_hash::FxHashMap;

use mcpsim_base::platform::{CopyMemory, Level, Platform, Row, Site};
use mcpsim_base::profile::{CopyUse, Resource};
use mcpsim_base::rank::{DataBlock, Pattern, Rank, RequestId};
use mcpsim_base::units::{Bandwidth, Bytes, SimSpan, SimTime};

use super::delays::Delays;
use super::event::{EventKey, EventKind};
use super::lp::LogicalProcess;
use super::network::RankLocation;
use super::paths::PathSlot;
pub(super) use super::resource::shares::COPY;
use super::resource::shares::Moves;
use super::state::TargetRank;
use ahead::CopyAhead;
pub(super) use ahead::landed;
pub(super) use blocks::{SharedBlock, begin_block, begin_code, begin_data, compute, end_block, flow};
pub(super) use buffers::BufferPair;
use caches::{BufferKey, Cache, parts};
pub(super) use nodes::NodeMemory;
use nodes::{NO_LIMIT, domain_memory};
use stated::StatedBuffers;
pub(super) use stated::StatedPair;

/// Of a cache's size, what the least buffer has that is asked for: smaller ones count as held.
const FELT: u64 = 1 << 16;
/// The same of what a block of code moves, or a rank copies or combines in a collective: there are many short ones,
/// which drive out nothing.
const FELT_OF_CODE: u64 = 1 << 10;

/// The least message that is asked whether others slow it between CMPs.
const LEAST_CROSSING: u64 = 1 << 10;

/// The data of a rank's own code, beside the buffers of messages.
const OF_CODE: BufferKey = 1 << 63;

/// A copy by the core of a rank.
#[derive(Clone, Copy, Debug)]
pub(super) struct CopyJob {
    /// Whose message it is.
    pub from: Rank,
    pub tag: u32,
    pub buffers: BufferPair,
    /// What its two ranks state of their buffers.
    pub stated: StatedPair,
    pub size: Bytes,
    /// It begins no earlier.
    pub start: SimTime,
    pub takes: CopyFor,
}

/// What a copy is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum CopyFor {
    /// An eager message, whose bytes are there at `end`; NEVER, if that was not known when the copy began.
    Receive { recv: RequestId, end: SimTime },
    /// A granted transfer that left, and whose path is under way, since `times`; its head came by the event `head`, and
    /// its bytes are there at `end`.
    Transfer {
        head: EventKey,
        send: RequestId,
        recv: RequestId,
        path: PathSlot,
        times: (SimTime, SimTime),
        end: SimTime,
    },
}

/// A copy with its end and what held it up.
pub(super) type EndedCopy = (CopyJob, SimTime, Delays);

/// What is done with a copy.
#[derive(Clone, Copy, Debug)]
enum Begun {
    /// It ends then, and was held up by this.
    Ends(SimTime, Delays),
    /// It goes through memory.
    UnderWay,
}

/// Caches and waiting copies of a worker's nodes.
#[derive(Debug)]
pub(super) struct Memory {
    limits: CopyMemory,
    /// For each level, whether messages pass adapters.
    by_adapter: [bool; 3],
    first_node: u32,
    cmps: u32,
    /// Caches of the worker's nodes: one per CMP, or per domain with a cache of its own.
    caches: Vec<Cache>,
    /// For each rank of the worker, the number of its cache.
    cache_of: Vec<u32>,
    /// For each rank of the worker, its domain's memory among the shares of its node; empty without such domains.
    domain_memory: Vec<u32>,
    /// For each cache, blocks of code that have not used the cache yet, with start, rank and moved bytes. Ranks run ahead.
    code: Vec<BinaryHeap<Reverse<(SimTime, Rank, u64)>>>,
    /// Of each rank: the copies of its core that wait; of one that is under way, it is the first.
    cores: Vec<CoreCopies>,
    /// What ranks state of the buffers of messages that have not been copied.
    stated: StatedBuffers,
    /// Receives of which the copy began before the last byte's time was known.
    ahead: FxHashMap<(Rank, RequestId), CopyAhead>,
    used: CopyUse,
    /// What was moved at the memory of each CMP.
    moved: Vec<u64>,
}

#[derive(Debug, Default)]
struct CoreCopies {
    waiting: VecDeque<CopyJob>,
    /// One is under way, or the first is to begin later.
    busy: bool,
    /// When the one under way began.
    since: SimTime,
    /// How long it would take if nobody shared memory with it.
    lone: SimSpan,
    /// Whether it moves anything at memory.
    is_beyond_caches: bool,
}

impl Memory {
    /// For `nodes`, which are of worker `me`; none if the platform states no caches, or no level within a node shares
    /// fairly.
    pub fn new(
        platform: &Platform,
        nodes: std::ops::Range<u32>,
        me: u32,
        seats: &[RankLocation],
        sites: &[Site],
    ) -> Option<Memory> {
        let limits = platform.heeded_memory()?;
        let (shape, nodes_of_worker) = (platform.shape, nodes.len());
        let cmps = shape.cmps;
        let own: Vec<(&RankLocation, Site)> =
            seats.iter().zip(sites.iter().copied()).filter(|(seat, _)| seat.worker == me).collect();
        let domain = platform.places.cache().map(|(domain, _)| domain);
        let per_node = domain.map_or(cmps, |domain| domain.per_node(shape));
        let of_node = |site: Site| domain.map_or(site.cmp, |domain| domain.of(shape, site));
        let cache_of = own.iter().map(|(seat, site)| (seat.node - nodes.start) * per_node + of_node(*site)).collect();
        let caches = nodes.len() as u32 * per_node;
        let own = own.len();
        Some(Memory {
            limits,
            by_adapter: Level::ALL.map(|level| platform.passes_adapters(level)),
            first_node: nodes.start,
            cmps,
            caches: (0..caches).map(|_| Cache::new(limits.cache.get(), limits.replacement)).collect(),
            cache_of,
            domain_memory: domain_memory(platform, me, seats, sites),
            code: (0..caches).map(|_| BinaryHeap::new()).collect(),
            cores: (0..own).map(|_| CoreCopies::default()).collect(),
            stated: StatedBuffers::default(),
            ahead: FxHashMap::default(),
            used: CopyUse { cmp_bytes_per_s: limits.cmp.map_or(0, Bandwidth::get), ..CopyUse::default() },
            moved: vec![0; nodes_of_worker * cmps as usize],
        })
    }

    /// What copies have found up to now.
    pub fn used(&self) -> CopyUse {
        CopyUse { busiest_bytes: self.moved.iter().copied().max().unwrap_or(0), ..self.used }
    }

    /// Returns the number of the cache of a rank.
    fn cache(&self, seat: RankLocation) -> usize {
        self.cache_of[seat.local as usize] as usize
    }

    /// A block of the rank's code begins at `clock`, which is not before `now`, and takes `span`. Its data are a
    /// buffer, as large as what the longest such block moves, and no larger than the caches.
    fn compute(&mut self, rank: Rank, seat: RankLocation, [now, clock]: [SimTime; 2], span: SimSpan) {
        let size = self.limits.cache.get();
        let moved = (self.limits.code as f64 * span.as_seconds()).min(size as f64) as u64;
        if moved > size / FELT_OF_CODE {
            let cache = self.cache(seat);
            self.pass_code(cache, now);
            self.code[cache].push(Reverse((clock, rank, moved)));
        }
    }

    /// Applies the blocks of code that have begun by `now` to their cache.
    fn pass_code(&mut self, cache: usize, now: SimTime) {
        while let Some(&Reverse((time, rank, moved))) = self.code[cache].peek()
            && time <= now
        {
            self.code[cache].pop();
            self.caches[cache].touch(OF_CODE | u64::from(rank), moved);
        }
    }

    /// Whether caches feel the copy of a message.
    fn feels(&self, size: Bytes) -> bool {
        size.get() > self.limits.cache.get() / FELT
    }

    /// Whether a message between these seats shares what is between CMPs.
    fn crosses(&self, from: RankLocation, to: RankLocation, size: Bytes) -> bool {
        let is_between = RankLocation::level(from, to) == Level::InterCmp && !self.passes_adapter(from, to);
        is_between && self.limits.interconnect.is_some() && size.get() >= LEAST_CROSSING
    }

    /// Returns whether a message between two ranks passes adapters, which write it to a buffer of the library.
    fn passes_adapter(&self, from: RankLocation, to: RankLocation) -> bool {
        self.by_adapter[RankLocation::level(from, to) as usize]
    }

    /// Whether a copy between these seats is looked at when it begins.
    fn waits(&self, from: RankLocation, to: RankLocation, size: Bytes) -> bool {
        self.feels(size) || self.crosses(from, to, size)
    }

    /// Uses both buffers: what is moved from and to memory for each byte, nothing if both are in caches.
    fn moves(&mut self, me: Rank, job: &CopyJob, count: u32, now: SimTime, [from, to]: [RankLocation; 2]) -> Moves {
        let &CopyJob { from: sender, tag, buffers, stated, size, .. } = job;
        let mut moves = Moves::new();
        if !self.feels(size) {
            return moves;
        }
        let written = stated.written(me).unwrap_or_else(|| buffers.at(me, sender, tag, true));
        let [reads, writes] = self.limits.traffic.parts();
        let sum = if !self.passes_adapter(from, to) {
            let read = stated.read(sender).unwrap_or_else(|| buffers.at(sender, me, tag, false));
            // What is written of a shared segment, and read again, goes where the buffer on that side goes.
            let [more_writes, more_reads] = if count == 2 { [writes, reads] } else { [0; 2] };
            let used = [((from, read), reads + more_writes), ((to, written), writes + more_reads)];
            self.touch(&used, size, now, &mut moves)
        } else {
            // The adapter has put the bytes into a buffer of the library, which goes where the receiver's goes.
            self.touch(&[((to, written), reads + writes)], size, now, &mut moves)
        };
        if !moves.is_empty() {
            self.used.begin_through_memory(size, sum);
        }
        moves
    }

    /// Whether caches feel what a rank copies or combines.
    fn feels_own(&self, size: Bytes) -> bool {
        size.get() > self.limits.cache.get() / FELT_OF_CODE
    }

    /// What a rank moves for each byte that it copies or combines. What it combines has just come, and is in caches;
    /// the other operand is read and then written.
    fn own_moves(&mut self, me: Rank, seat: RankLocation, block: DataBlock, now: SimTime) -> Moves {
        let buffers = BufferPair::of_own(block.context);
        let [read, written] = [false, true].map(|receives| (seat, buffers.at(me, me, 0, receives)));
        let mut moves = Moves::new();
        let [reads, writes] = self.limits.traffic.parts();
        match block.combines {
            false => self.touch(&[(read, reads), (written, writes)], block.size, now, &mut moves),
            true => self.touch(&[(written, 2)], block.size, now, &mut moves),
        };
        moves
    }

    /// Uses `size` bytes of buffers, each of a CMP and with what is moved from and to memory for each byte that caches
    /// do not hold: adds these, and tells the sum of what is moved.
    fn touch(
        &mut self,
        used: &[((RankLocation, BufferKey), u64)],
        size: Bytes,
        now: SimTime,
        moves: &mut Moves,
    ) -> u64 {
        for ((seat, _), _) in used {
            self.pass_code(self.cache(*seat), now);
        }
        let cmps = self.cmps;
        let domains = &self.domain_memory;
        let mut add = |seat: RankLocation, weight: u64| {
            let of_domain = domains.get(seat.local as usize).copied();
            for memory in [seat.cmp % cmps, cmps].into_iter().chain(of_domain) {
                match moves.iter_mut().find(|(known, _)| *known == memory) {
                    Some((_, known)) => *known += weight,
                    None => moves.push((memory, weight)),
                }
            }
        };
        for &((seat, key), weight) in used {
            let cache = self.cache(seat);
            let missing = self.caches[cache].touch(key, size.get());
            if missing > 0 {
                add(seat, weight * missing);
            }
        }
        moves.sort_unstable();
        let first = (used[0].0.0.node - self.first_node) * self.cmps;
        let mut sum = 0u64;
        for &(memory, weight) in moves.iter().filter(|(memory, _)| *memory < self.cmps) {
            let moved = size.get().saturating_mul(weight) / parts(self.limits.replacement);
            let of_cmp = &mut self.moved[(first + memory) as usize];
            *of_cmp = of_cmp.saturating_add(moved);
            sum = sum.saturating_add(moved);
        }
        sum
    }
}

impl LogicalProcess<'_> {
    /// What copies within nodes find, where the platform says it.
    #[inline]
    pub fn memory(&mut self) -> Option<&mut Memory> {
        self.fair.as_deref_mut().and_then(|fair| fair.memory.as_mut())
    }

    /// Returns the buffers of a receive that `task` posts.
    #[inline]
    pub fn buffers(&mut self, target: &mut TargetRank, task: u32, pattern: &Pattern) -> BufferPair {
        let context = pattern.context;
        if self.memory().is_none() {
            return BufferPair::of_context(context);
        }
        let control = target.control(task);
        if control.collective.is_none() && control.computes {
            return BufferPair::of_context(context);
        }
        if pattern.buffer.is_stated() {
            return BufferPair::common(context, pattern.buffer);
        }
        control.receives = control.receives.wrapping_add(1);
        BufferPair::of_collective(context, control.receives)
    }

    /// Returns whether the rank's core copies a message at once, without regard to caches and memory.
    pub fn copies_at_once(&mut self, from: Rank, target: &TargetRank, size: Bytes) -> bool {
        let (from, to) = (self.seats[from as usize], self.seats[target.rank as usize]);
        self.memory().is_none_or(|memory| !memory.cores[to.local as usize].busy && !memory.waits(from, to, size))
    }

    /// The rank's core copies a message when it gets to it: its end and what held it up, if that is known.
    #[inline]
    pub fn copy(&mut self, target: &mut TargetRank, row: &Row, job: &CopyJob) -> Option<(SimTime, Delays)> {
        match self.memory() {
            None => Some(copied_by_core(target, row, job.size, job.start)),
            Some(_) => self.copy_by_caches(target, row, job),
        }
    }

    fn copy_by_caches(&mut self, target: &mut TargetRank, row: &Row, job: &CopyJob) -> Option<(SimTime, Delays)> {
        let (from, to) = (self.seats[job.from as usize], self.seats[target.rank as usize]);
        let memory = self.memory().expect("there are caches");
        let core = &mut memory.cores[to.local as usize];
        if core.busy {
            core.waiting.push_back(*job);
            return None;
        }
        let begins = job.start.max(target.copied());
        // Buffers are used when they are copied, not when messages come: what is copied until then decides.
        let later = memory.waits(from, to, job.size) && begins > self.now.time;
        if !later {
            return match self.begin_copy(target, row, job) {
                Begun::Ends(end, delays) => Some((end, delays)),
                Begun::UnderWay => {
                    let core = &mut self.memory().expect("there are caches").cores[to.local as usize];
                    core.busy = true;
                    core.waiting.push_front(*job);
                    None
                }
            };
        }
        let core = &mut self.memory().expect("there are caches").cores[to.local as usize];
        core.busy = true;
        core.waiting.push_back(*job);
        let rank = target.rank;
        self.push(target, begins, rank, || EventKind::CopyTurn);
        None
    }

    /// The core gets to a copy, at the end of the one before.
    fn begin_copy(&mut self, target: &mut TargetRank, row: &Row, job: &CopyJob) -> Begun {
        let now = self.now.time;
        let (from, to) = (self.seats[job.from as usize], self.seats[target.rank as usize]);
        let memory = self.memory().expect("there are caches");
        let mut moves = memory.moves(target.rank, job, row.copy_count, now, [from, to]);
        if memory.feels(job.size) {
            let begins = job.start.max(target.copied());
            memory.used.begin(job.size, begins.since(job.start));
        }
        let (is_beyond_caches, crosses) = (!moves.is_empty(), memory.crosses(from, to, job.size));
        if crosses {
            self.node_memory.as_ref().expect("copies share what is between CMPs").cross(from, to, &mut moves);
        }
        if moves.is_empty() {
            let (end, delays) = copied_by_core(target, row, job.size, job.start);
            return Begun::Ends(end, delays);
        }
        let pace = row.copy_bandwidth.unwrap_or(row.bandwidth).get().min(NO_LIMIT);
        let shares = self.node_memory.as_mut().expect("copies share memory");
        let lone = shares.lone(to, pace, &moves, job.size);
        let memory = self.fair.as_deref_mut().and_then(|fair| fair.memory.as_mut()).expect("there are caches");
        let core = &mut memory.cores[to.local as usize];
        (core.since, core.lone, core.is_beyond_caches) = (now, lone, is_beyond_caches);
        let shares = self.node_memory.as_mut().expect("copies share memory");
        shares.begin_copy(to, now, pace, moves, job.size.get(), (target.rank, COPY));
        Begun::UnderWay
    }

    /// Begins the copies that wait at the rank's core until one takes time that is not known. Adds the copies with known
    /// ends to `known`.
    pub fn next_copies(&mut self, target: &mut TargetRank, known: &mut Vec<EndedCopy>) {
        let to = self.seats[target.rank as usize];
        loop {
            let now = self.now.time;
            let seats = self.seats;
            let memory = self.memory().expect("there are caches");
            let core = &mut memory.cores[to.local as usize];
            core.busy = false;
            let Some(&job) = core.waiting.front() else { return };
            let from = seats[job.from as usize];
            let begins = job.start.max(target.copied());
            if begins > now && memory.waits(from, to, job.size) {
                memory.cores[to.local as usize].busy = true;
                let rank = target.rank;
                self.push(target, begins, rank, || EventKind::CopyTurn);
                return;
            }
            let row = self.network.received_row(job.from, target.rank, RankLocation::level(from, to), job.size);
            let begun = self.begin_copy(target, row, &job);
            let core = &mut self.memory().expect("there are caches").cores[to.local as usize];
            match begun {
                Begun::Ends(end, delays) => {
                    core.waiting.pop_front();
                    known.push((job, end, delays));
                }
                Begun::UnderWay => {
                    core.busy = true;
                    return;
                }
            }
        }
    }

    /// The copy of the rank that went through memory, and what held it up.
    pub fn ended_copy(&mut self, target: &mut TargetRank) -> (CopyJob, Delays) {
        let (now, seat) = (self.now.time, self.seats[target.rank as usize]);
        target.occupied().copies.end_at(now);
        let seats = self.seats;
        let core = &mut self.memory().expect("there are caches").cores[seat.local as usize];
        let job = core.waiting.pop_front().expect("it was under way");
        let (taken, since, lone) = (now.since(core.since), core.since, core.lone);
        let is_beyond_caches = core.is_beyond_caches;
        target.occupied().copying += taken;
        let level = RankLocation::level(seats[job.from as usize], seat);
        let row = self.network.received_row(job.from, target.rank, level, job.size);
        let alone = row.copy(job.size);
        let delays = held_by_core(row, job.size, since.since(job.start));
        if !is_beyond_caches {
            return (job, delays.and(Resource::Interconnect, taken.saturating_sub(alone)));
        }
        self.memory().expect("there are caches").used.slowed += taken.saturating_sub(alone);
        // What it lost between CMPs is not told from what it lost at memory.
        let delays = delays
            .and(Resource::Cache, lone.saturating_sub(alone))
            .and(Resource::Memory, taken.saturating_sub(lone.max(alone)));
        (job, delays)
    }
}

/// The core copies a message from caches: the end, and what held it up.
pub(super) fn copied_by_core(target: &mut TargetRank, row: &Row, size: Bytes, ready: SimTime) -> (SimTime, Delays) {
    let (start, end) = target.copy(row.copy(size), ready);
    (end, held_by_core(row, size, start.since(ready)))
}

/// Returns the delay of a copy that has waited for its core and may take longer than the bytes of a ping-pong.
pub(super) fn held_by_core(row: &Row, size: Bytes, waited: SimSpan) -> Delays {
    let slower = match row.copy_bandwidth {
        Some(_) => row.copy(size).saturating_sub(row.bandwidth.span(size, 1)),
        None => SimSpan::ZERO,
    };
    Delays::default().and(Resource::Core, waited + slower)
}
