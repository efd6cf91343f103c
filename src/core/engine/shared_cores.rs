//! Cores with more ranks than hardware threads.
//!
//! A rank that has the core keeps it until it waits, as if waiting ranks yield. The overheads of its messages, and the
//! copies and reductions of its collectives, run without interruption. Other ranks that could continue are queued.
//! Computation by programs differs: all ranks of the core share it at all times, and a computing rank releases the core
//! to ranks inside MPI.
//!
//! A rank whose wait is over may need a core that another rank had before. It gets the core one `context_switch` later,
//! or one switch after the other rank releases it. The switch counts as polling.
//!
//! Clocks run ahead of virtual time. So a rank on a shared core makes calls that need the core when the simulation
//! reaches its clock, and resumes at the end of a wait. All earlier requests for the core are then known. Overheads of
//! requests that were ready before the last request of a wait are charged late, together with it. Polls, waits for any
//! of several requests, and strands do not queue for the core.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::platform::{CoreRates, Site};
use crate::rank::{COMPLETE, Call, Rank};
use crate::units::{SimSpan, SimTime};

use super::calls::is_over_at;
use super::clock::TimeCategory;
use super::event::EventKind;
use super::lp::LogicalProcess;
use super::network::RankLocation;
use super::requests::RequestKind;
use super::state::{MAIN, TargetRank, Wait};

/// Shared cores of a worker's nodes.
#[derive(Debug)]
pub(super) struct SharedCores {
    /// Core of each of the worker's ranks, if it is shared.
    of: Vec<Option<u32>>,
    cores: Vec<SharedCore>,
}

#[derive(Clone, Debug)]
struct SharedCore {
    threads: Box<[CoreThread]>,
    /// Ranks that could continue; the first gets the next thread.
    line: VecDeque<LinedUp>,
    /// Time of a switch to a rank that has waited, if another rank had the thread.
    switch: SimSpan,
}

/// Rank that waits for a thread.
#[derive(Clone, Copy, Debug)]
struct LinedUp {
    rank: Rank,
    /// Turn in which the rank is woken.
    turn: u32,
    /// Whether the rank waited for something else before.
    has_waited: bool,
}

/// Hardware thread.
#[derive(Clone, Copy, Debug, Default)]
struct CoreThread {
    /// End of its assigned work.
    free: SimTime,
    /// Current rank of the thread.
    holder: Option<Rank>,
    /// Previous rank of the thread.
    last: Option<Rank>,
}

impl SharedCores {
    /// Creates the cores of worker `me` that have more ranks than hardware threads; `None` without such cores.
    pub fn new(seats: &[RankLocation], sites: &[Site], me: u32, rates: &CoreRates) -> Option<Box<SharedCores>> {
        let threads = rates.threads.count();
        let own = || seats.iter().zip(sites).filter(|(seat, _)| seat.worker == me);
        let core = |site: &Site| (site.node, site.cmp, site.core);
        let mut ranks: FxHashMap<_, u32> = FxHashMap::default();
        own().for_each(|(_, site)| *ranks.entry(core(site)).or_default() += 1);
        if ranks.values().all(|&ranks| ranks <= threads) {
            return None;
        }
        let mut numbers = FxHashMap::default();
        let mut of = vec![None; own().count()];
        for (seat, site) in own().filter(|(_, site)| ranks[&core(site)] > threads) {
            let next = numbers.len() as u32;
            of[seat.local as usize] = Some(*numbers.entry(core(site)).or_insert(next));
        }
        let threads = vec![CoreThread::default(); threads as usize].into_boxed_slice();
        let core = SharedCore { threads, line: VecDeque::new(), switch: rates.context_switch };
        Some(Box::new(SharedCores { of, cores: vec![core; numbers.len()] }))
    }
}

impl CoreThread {
    /// Assigns the thread to the rank, whose wait ended at `time`, after a switch if another rank had it last. Without
    /// a switch the thread remains free from its earlier time, for overheads of requests that were ready before the
    /// last request.
    fn change(&mut self, rank: Rank, time: SimTime, switch: SimSpan) {
        if switch > SimSpan::ZERO && self.last.is_some_and(|last| last != rank) {
            self.free = self.free.max(time) + switch;
        }
    }
}

impl SharedCore {
    fn held_by(&mut self, rank: Rank) -> Option<&mut CoreThread> {
        self.threads.iter_mut().find(|thread| thread.holder == Some(rank))
    }

    /// Returns whether the rank has a thread, and assigns a free one if necessary.
    fn take(&mut self, rank: Rank) -> bool {
        self.held_by(rank).is_some() || self.take_free(rank).is_some()
    }

    /// Assigns a free thread to the rank: the rank's last thread if that avoids a switch, otherwise the one that is
    /// free first.
    fn take_free(&mut self, rank: Rank) -> Option<&mut CoreThread> {
        let switches = self.switch > SimSpan::ZERO;
        let free = self.threads.iter_mut().filter(|thread| thread.holder.is_none());
        let first = free.min_by_key(|thread| (switches && thread.last != Some(rank), thread.free))?;
        first.holder = Some(rank);
        Some(first)
    }

    fn line_up(&mut self, next: LinedUp) {
        match self.line.iter_mut().find(|known| known.rank == next.rank) {
            Some(known) => *known = next,
            None => self.line.push_back(next),
        }
    }
}

impl LogicalProcess<'_> {
    /// Returns whether the task needs a shared core. Only the rank's program queues for the core; the strands of a rank
    /// use it concurrently.
    #[inline(always)]
    pub fn shares_core(&self, rank: Rank, task: u32) -> bool {
        self.effects.shares_cores && task == MAIN && self.number_of_core(rank).is_some()
    }

    /// Returns the number of the rank's core, if it is shared.
    #[cold]
    fn number_of_core(&self, rank: Rank) -> Option<usize> {
        let core = self.shared_cores.as_ref()?.of[self.seats[rank as usize].local as usize];
        core.map(|core| core as usize)
    }

    /// Returns the rank's core, if it is shared.
    fn shared_core(&mut self, rank: Rank) -> Option<&mut SharedCore> {
        let core = self.number_of_core(rank)?;
        Some(&mut self.shared_cores.as_deref_mut()?.cores[core])
    }
}

impl TargetRank {
    /// Delays the task until the rank's core has `span` for it. The delay counts as polling.
    #[cold]
    pub fn await_core(&mut self, lp: &mut LogicalProcess<'_>, task: u32, span: SimSpan) {
        if span == SimSpan::ZERO || task != MAIN {
            return;
        }
        let (rank, clock) = (self.rank, self.main.clock);
        let Some(core) = lp.shared_core(rank) else { return };
        let thread = match core.held_by(rank) {
            Some(thread) => thread,
            None => core.threads.iter_mut().min_by_key(|thread| thread.free).expect("a core has threads"),
        };
        let start = clock.max(thread.free);
        thread.free = start + span;
        self.poll_until(lp, start);
    }

    /// Delays the rank's program, which has its core, until the thread is free.
    pub fn await_turn(&mut self, lp: &mut LogicalProcess<'_>) {
        let (rank, now) = (self.rank, lp.now.time);
        if let Some(thread) = lp.shared_core(rank).and_then(|core| core.held_by(rank)) {
            let start = now.max(thread.free);
            self.poll_until(lp, start);
        }
    }

    fn poll_until(&mut self, lp: &mut LogicalProcess<'_>, start: SimTime) {
        let waited = start.since(self.main.clock);
        if waited > SimSpan::ZERO {
            lp.paths.change(&mut self.main.path).poll += waited;
            self.pass(MAIN, TimeCategory::Poll, waited);
            self.mark(MAIN);
        }
    }

    /// Returns the number of ranks that share the core while the task computes. A collective has a hardware thread to
    /// itself, so this is at most the number of threads; otherwise it is the number of ranks.
    #[inline(always)]
    pub fn turns_at_core(&self, lp: &LogicalProcess<'_>, task: u32) -> u32 {
        match lp.effects.shares_cores && task == MAIN && self.main.collective.is_some() {
            true => self.sharing.min(lp.threads.as_ref().map_or(1, |threads| threads.count())),
            false => self.sharing,
        }
    }
}

/// Returns whether the call would request the rank's shared core before the simulation reaches its clock.
pub(super) fn asks_core_early(target: &mut TargetRank, lp: &LogicalProcess<'_>, task: u32, call: &Call) -> bool {
    target.control(task).clock > lp.now.time && asks_core(target, call) && lp.shares_core(target.rank, task)
}

/// Returns whether the rank's program executes the call now: it has the shared core or does not need it. Otherwise the
/// call is executed when the rank has the core.
pub(super) fn makes_on_core(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, call: &mut Call) -> bool {
    let rank = target.rank;
    if !asks_core(target, call) {
        if matches!(call, Call::Compute(_) | Call::Code(_) | Call::Work(_) | Call::Data(_)) {
            leave_core(target, lp);
        }
        return true;
    }
    let Some(core) = lp.shared_core(rank) else { return true };
    if core.take(rank) {
        target.await_turn(lp);
        return true;
    }
    let call = Box::new(std::mem::replace(call, Call::Yield));
    let turn = target.begin_wait(MAIN, Wait::OwnTime(call));
    core.line_up(LinedUp { rank, turn, has_waited: false });
    false
}

/// Postpones the end of a wait at `time` if the task needs a shared core. Returns true if an event will resume the
/// task.
pub(super) fn put_off_end(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, time: SimTime) -> bool {
    let (rank, turn) = (target.rank, target.control(task).turn);
    if !lp.shares_core(rank, task) {
        return false;
    }
    if time > lp.now.time {
        lp.push(target, time, rank, || EventKind::Wake { task, turn });
        return true;
    }
    // A receiver on this core that has copied the message precedes its sender.
    let waited = lp.shared_core(rank).is_some_and(|core| core.held_by(rank).is_none());
    if waited && time == lp.now.time && ends_by_send(target, time) {
        lp.push(target, time + SimSpan::from_ps(1), rank, || EventKind::Wake { task, turn });
        return true;
    }
    let now = lp.now.time;
    let core = lp.shared_core(rank).expect("it shares its core");
    let switch = core.switch;
    if core.held_by(rank).is_some() {
        return false;
    }
    if let Some(thread) = core.take_free(rank) {
        thread.change(rank, now, switch);
        return false;
    }
    core.line_up(LinedUp { rank, turn, has_waited: true });
    true
}

/// Returns whether the last request that the rank's program waited for, at `time`, was its own send.
fn ends_by_send(target: &mut TargetRank, time: SimTime) -> bool {
    let TargetRank { main, requests, .. } = target;
    let Wait::All { requests: ids, .. } = &main.wait else { return false };
    let mut last = ids.iter().filter(|&&id| id != COMPLETE).map(|&id| requests.get(id));
    last.all(|request| request.ready < time || matches!(request.kind, RequestKind::Send | RequestKind::Granted))
}

/// Releases the rank's shared core if its program waits.
#[inline(always)]
pub(super) fn leave_core_to_wait(target: &mut TargetRank, lp: &mut LogicalProcess<'_>) {
    if lp.effects.shares_cores && waits(target) {
        leave_core(target, lp);
    }
}

/// Returns whether the rank's program waits for more than its own time.
#[cold]
fn waits(target: &mut TargetRank) -> bool {
    match &target.main.wait {
        Wait::Nothing | Wait::OwnTime(_) | Wait::Parked(_) => false,
        Wait::Block(_) => target.main.collective.is_none(),
        Wait::All { left: 0, .. } => is_over_at(target, MAIN) > target.main.clock,
        _ => true,
    }
}

/// Releases the rank's core at its clock, if it has the core. The first queued rank continues.
fn leave_core(target: &mut TargetRank, lp: &mut LogicalProcess<'_>) {
    let (rank, clock) = (target.rank, target.main.clock);
    let Some(core) = lp.shared_core(rank) else { return };
    let (next, switch) = (core.line.front().copied(), core.switch);
    let Some(thread) = core.held_by(rank) else { return };
    thread.free = thread.free.max(clock);
    (thread.last, thread.holder) = (Some(rank), next.map(|next| next.rank));
    if let Some(LinedUp { rank: next, turn, has_waited }) = next {
        if has_waited {
            thread.change(next, clock, switch);
        }
        core.line.pop_front();
        lp.push(target, clock.max(lp.now.time), next, || EventKind::Wake { task: MAIN, turn });
    }
}

/// Returns whether the rank's program needs the core for the call: for message overheads, or for copies and reductions
/// of collectives. Calls that always wait for their own time, such as tests, are excluded.
fn asks_core(target: &TargetRank, call: &Call) -> bool {
    match call {
        Call::Send(_)
        | Call::Isend(_)
        | Call::Recv(_)
        | Call::Irecv(_)
        | Call::Exchange(..)
        | Call::WaitAll(_)
        | Call::Complete(_) => true,
        Call::Compute(_) | Call::Data(_) => target.main.collective.is_some(),
        _ => false,
    }
}
