//! Cores with more ranks than hardware threads.
//!
//! A rank that has got the core keeps it until it waits, as one does whose waiting neighbours yield: what its messages
//! take, and what its collectives copy and combine, goes on in one piece. Others that could go on meanwhile are put in
//! a line. What programs compute themselves is no such piece: it is shared among all ranks of the core at all times,
//! and leaves the core to what others do in MPI.
//!
//! A rank whose wait is over gets a core that another has had before a `context_switch` later, or that much after the
//! other has left it. It counts as polling.
//!
//! Clocks run ahead of virtual time. So a rank that shares its core makes calls that ask the core when the simulation
//! has got to its clock, and goes on after a wait when that is over. Then others have asked before for what comes
//! before. Overheads of requests that were ready before the last of a wait are asked for late, with it. Polls, waits
//! for any of several requests and strands take what they take beside all of this.

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

/// The cores of a worker's nodes that ranks share.
#[derive(Debug)]
pub(super) struct SharedCores {
    /// The core of each of the worker's ranks, if that is one of these.
    of: Vec<Option<u32>>,
    cores: Vec<SharedCore>,
}

#[derive(Clone, Debug)]
struct SharedCore {
    threads: Box<[CoreThread]>,
    /// The ranks that would go on: the first gets the next thread.
    line: VecDeque<LinedUp>,
    /// What passes until a rank that has waited goes on where another has been.
    switch: SimSpan,
}

/// A rank that waits for a thread.
#[derive(Clone, Copy, Debug)]
struct LinedUp {
    rank: Rank,
    /// The turn in which it is woken.
    turn: u32,
    /// Whether it has waited for something else before.
    has_waited: bool,
}

/// A hardware thread.
#[derive(Clone, Copy, Debug, Default)]
struct CoreThread {
    /// The end of what it has been given to do.
    free: SimTime,
    /// The rank that has it.
    holder: Option<Rank>,
    /// The rank that had it last.
    last: Option<Rank>,
}

impl SharedCores {
    /// Those of the worker `me` that have more ranks than hardware threads; none, if there is no such core.
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
    /// Goes to the rank, whose wait is over at `time`: later by the switch from another rank, if one had it last. Without
    /// a switch it stays free from before, for overheads of requests that were ready before the last of the wait.
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

    /// Whether the rank has a thread, now at the latest.
    fn take(&mut self, rank: Rank) -> bool {
        self.held_by(rank).is_some() || self.take_free(rank).is_some()
    }

    /// The thread that the rank, which has none, gets now: one that it need not be switched to, if it had that last, else
    /// the one that is free first.
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
    /// Whether the task asks its rank's core, as more ranks share that than it has hardware threads. Only the rank's
    /// own program does: strands of a rank take of its core beside each other, shared or not.
    #[inline(always)]
    pub fn shares_core(&self, rank: Rank, task: u32) -> bool {
        self.effects.shares_cores && task == MAIN && self.number_of_core(rank).is_some()
    }

    /// The number of the rank's core, if it shares that.
    #[cold]
    fn number_of_core(&self, rank: Rank) -> Option<usize> {
        let core = self.shared_cores.as_ref()?.of[self.seats[rank as usize].local as usize];
        core.map(|core| core as usize)
    }

    /// The rank's core, if it shares that.
    fn shared_core(&mut self, rank: Rank) -> Option<&mut SharedCore> {
        let core = self.number_of_core(rank)?;
        Some(&mut self.shared_cores.as_deref_mut()?.cores[core])
    }
}

impl TargetRank {
    /// The task waits until the rank's core has `span` for it. That counts as polling.
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

    /// The rank's program, which has its core, goes on no sooner than it has.
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

    /// How many ranks take turns at the core while the task computes. A collective has a hardware thread to itself: then
    /// as many as there are threads. Otherwise all.
    #[inline(always)]
    pub fn turns_at_core(&self, lp: &LogicalProcess<'_>, task: u32) -> u32 {
        match lp.effects.shares_cores && task == MAIN && self.main.collective.is_some() {
            true => self.sharing.min(lp.threads.as_ref().map_or(1, |threads| threads.count())),
            false => self.sharing,
        }
    }
}

/// Whether the call would ask its rank's core, which others share, before the simulation has got to its clock.
pub(super) fn asks_core_early(target: &mut TargetRank, lp: &LogicalProcess<'_>, task: u32, call: &Call) -> bool {
    target.control(task).clock > lp.now.time && asks_core(target, call) && lp.shares_core(target.rank, task)
}

/// Whether the rank's program makes the call now: it has the core, which others share, or needs none for it. Otherwise
/// it makes it when it has.
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

/// The task's wait is over at `time`: true if it goes on by an event, as it needs a core that others share.
pub(super) fn put_off_end(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, time: SimTime) -> bool {
    let (rank, turn) = (target.rank, target.control(task).turn);
    if !lp.shares_core(rank, task) {
        return false;
    }
    if time > lp.now.time {
        lp.push(target, time, rank, || EventKind::Wake { task, turn });
        return true;
    }
    // A receiver on this core, which has copied the message, comes before its sender.
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

/// Whether the last of what the rank's program waited for, at `time`, was a message of its own.
fn ends_by_send(target: &mut TargetRank, time: SimTime) -> bool {
    let TargetRank { main, requests, .. } = target;
    let Wait::All { requests: ids, .. } = &main.wait else { return false };
    let mut last = ids.iter().filter(|&&id| id != COMPLETE).map(|&id| requests.get(id));
    last.all(|request| request.ready < time || matches!(request.kind, RequestKind::Send | RequestKind::Granted))
}

/// Leaves the core that the rank shares to others, if its program waits for something else.
#[inline(always)]
pub(super) fn leave_core_to_wait(target: &mut TargetRank, lp: &mut LogicalProcess<'_>) {
    if lp.effects.shares_cores && waits(target) {
        leave_core(target, lp);
    }
}

/// Whether the rank's program waits, and not only for the simulation to get to its clock.
#[cold]
fn waits(target: &mut TargetRank) -> bool {
    match &target.main.wait {
        Wait::Nothing | Wait::OwnTime(_) | Wait::Parked(_) => false,
        Wait::Block(_) => target.main.collective.is_none(),
        Wait::All { left: 0, .. } => is_over_at(target, MAIN) > target.main.clock,
        _ => true,
    }
}

/// The rank leaves its core at its clock, if it has that: the first of those that wait for it goes on.
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

/// Whether the rank's program needs the core for the call: for what messages take of it, or for what collectives copy
/// and combine. Calls that wait for their own time in any case, such as tests, are left out.
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
