//! Simulation of cores with more ranks than hardware threads.
//!
//! A rank that has the core keeps the core until the rank waits, as if waiting ranks yield. The overheads of its
//! messages, and the copies and reductions of its collectives, run without interruption. Other ranks that could
//! continue are queued for the core. Computation by programs differs: all ranks of the core share it at all times, and
//! a computing rank releases the core to ranks inside MPI.
//!
//! A rank whose wait is over may need a core that another rank used before. The rank gets the core one `context_switch`
//! later, or one `context_switch` after the other rank releases the core. The context switch counts as polling.
//!
//! The clocks of ranks run ahead of the simulated time. So a rank on a shared core makes calls that need the core when
//! the simulation reaches the rank's clock, and resumes when the simulation reaches the end of a wait. All earlier
//! requests of other ranks for the core are then known. If a rank waits for several MPI requests, the overheads of the
//! earlier requests are charged together with the overhead of the last request. Polls, waits for any of several MPI
//! requests, and strands do not queue for the core.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use mcpsim_base::platform::{CoreRates, Site};
use mcpsim_base::rank::{COMPLETE, Call, Rank};
use mcpsim_base::units::{SimSpan, SimTime};

use super::calls::is_over_at;
use super::clock::TimeCategory;
use super::event::EventKind;
use super::lp::LogicalProcess;
use super::network::RankLocation;
use super::requests::RequestKind;
use super::state::{MAIN, TargetRank, Wait};

/// Shared cores of the nodes of a worker.
#[derive(Debug)]
pub(super) struct SharedCores {
    /// Index of the shared core of each of the worker's ranks; `None` for a rank with a core of its own.
    of: Vec<Option<u32>>,
    cores: Vec<SharedCore>,
}

#[derive(Clone, Debug)]
struct SharedCore {
    threads: Box<[CoreThread]>,
    /// Ranks that could continue and are queued for the core; the first rank in the queue gets the next free hardware
    /// thread.
    line: VecDeque<LinedUp>,
    /// Time of a context switch to a rank that has waited, if another rank used the hardware thread before.
    switch: SimSpan,
}

/// Rank that is queued for a hardware thread.
#[derive(Clone, Copy, Debug)]
struct LinedUp {
    rank: Rank,
    /// Turn of the rank's program that ends when the rank gets the thread.
    turn: u32,
    /// Whether the rank waited for a message or request before it was queued.
    has_waited: bool,
}

/// Hardware thread of a shared core.
#[derive(Clone, Copy, Debug, Default)]
struct CoreThread {
    /// End of the work that was assigned to the hardware thread.
    free: SimTime,
    /// Rank that has the hardware thread.
    holder: Option<Rank>,
    /// Rank that last had the hardware thread.
    last: Option<Rank>,
}

impl SharedCores {
    /// Creates the shared cores of worker `me`; `None` if no core of the worker has more ranks than hardware threads.
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
    /// Assigns the hardware thread to the rank, whose wait ended at `time`, after a context switch if another rank had
    /// the thread last. Without a context switch the thread remains free from its earlier time, for overheads of MPI
    /// requests that were ready before the last request.
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

    /// Returns whether the rank has a hardware thread of the core, and assigns a free thread if necessary.
    fn take(&mut self, rank: Rank) -> bool {
        self.held_by(rank).is_some() || self.take_free(rank).is_some()
    }

    /// Assigns a free hardware thread to the rank: the rank's last thread if this avoids a context switch, otherwise
    /// the thread that is free first.
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
    /// Returns whether the task needs a shared core to make calls. Only the program of a rank queues for the core; the
    /// strands of the rank use the core concurrently.
    #[inline(always)]
    pub fn shares_core(&self, rank: Rank, task: u32) -> bool {
        self.effects.shares_cores && task == MAIN && self.number_of_core(rank).is_some()
    }

    /// Returns the index of the rank's shared core, if the rank shares a core.
    #[cold]
    fn number_of_core(&self, rank: Rank) -> Option<usize> {
        let core = self.shared_cores.as_ref()?.of[self.seats[rank as usize].local as usize];
        core.map(|core| core as usize)
    }

    /// Returns the rank's shared core, if the rank shares a core.
    fn shared_core(&mut self, rank: Rank) -> Option<&mut SharedCore> {
        let core = self.number_of_core(rank)?;
        Some(&mut self.shared_cores.as_deref_mut()?.cores[core])
    }
}

impl TargetRank {
    /// Delays the task until the rank's core has the time `span` for the task. The delay counts as polling.
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

    /// Returns the number of ranks by which the task's computation on its core is slowed. A collective has a hardware
    /// thread to itself, so for a collective this number is at most the number of hardware threads; otherwise it is the
    /// number of ranks on the core.
    #[inline(always)]
    pub fn turns_at_core(&self, lp: &LogicalProcess<'_>, task: u32) -> u32 {
        match lp.effects.shares_cores && task == MAIN && self.main.collective.is_some() {
            true => self.sharing.min(lp.core.threads.as_ref().map_or(1, |threads| threads.count())),
            false => self.sharing,
        }
    }
}

/// Returns whether the call would request the rank's shared core before the simulation has reached the rank's clock.
pub(super) fn asks_core_early(target: &mut TargetRank, lp: &LogicalProcess<'_>, task: u32, call: &Call) -> bool {
    target.control(task).clock > lp.now.time && asks_core(target, call) && lp.shares_core(target.rank, task)
}

/// Returns whether the rank's program executes the call at once, because it has the shared core or does not need it.
/// Otherwise the program executes the call when the rank gets the core.
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

/// Postpones the end of the task's wait at `time` if the task needs a shared core. Returns true if an event will resume
/// the task.
pub(super) fn put_off_end(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, time: SimTime) -> bool {
    let (rank, turn) = (target.rank, target.control(task).turn);
    if !lp.shares_core(rank, task) {
        return false;
    }
    if time > lp.now.time {
        lp.push(target, time, rank, || EventKind::Wake { task, turn });
        return true;
    }
    // A receiver on the same core that has copied the message continues before the sender of the message.
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

/// Returns whether the request that ended the wait of the rank's program at `time` was a send of this rank.
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

/// Returns whether the rank's program waits for an event other than the simulation reaching its clock.
#[cold]
fn waits(target: &mut TargetRank) -> bool {
    match &target.main.wait {
        Wait::Nothing | Wait::OwnTime(_) | Wait::Parked(_) => false,
        Wait::Block(_) => target.main.collective.is_none(),
        Wait::All { left: 0, .. } => is_over_at(target, MAIN) > target.main.clock,
        _ => true,
    }
}

/// Releases the rank's core at the rank's clock, if the rank has the core. The first rank in the queue of the core then
/// continues.
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
/// of collectives. Calls that always wait until the simulation reaches the rank's clock, such as tests, are excluded.
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
