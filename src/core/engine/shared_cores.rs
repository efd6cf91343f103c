//! Cores with more ranks than hardware threads: what messages take of them goes one at a time, in the order in which it
//! is asked for.
//!
//! Clocks run ahead of virtual time. So a rank that shares its core makes calls that ask the core when the simulation
//! has got to its clock, and what ends a wait is asked for when that is over. Then others have asked for what they take
//! before. Of several overheads at once the second may be asked for early, and those of requests that were ready before
//! the last are asked for late, with it: who asked meanwhile goes first. What strands take is not asked for.

use rustc_hash::FxHashMap;

use crate::platform::Site;
use crate::rank::{Call, Rank};
use crate::units::{SimSpan, SimTime};

use super::clock::Spent;
use super::event::EventKind;
use super::lp::LogicalProcess;
use super::network::RankLocation;
use super::state::{MAIN, TargetRank};

/// The cores of a worker's nodes that ranks share.
#[derive(Debug)]
pub(super) struct SharedCores {
    /// The core of each of the worker's ranks, if that is one of these.
    of: Vec<Option<u32>>,
    /// Since when each of a core's hardware threads is free.
    free: Vec<Box<[SimTime]>>,
}

impl SharedCores {
    /// Those of the worker `me` that have more ranks than `threads`; none, if there is no such core.
    pub fn new(seats: &[RankLocation], sites: &[Site], me: u32, threads: u32) -> Option<Box<SharedCores>> {
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
        let free = vec![vec![SimTime::ZERO; threads as usize].into_boxed_slice(); numbers.len()];
        Some(Box::new(SharedCores { of, free }))
    }
}

impl LogicalProcess<'_> {
    /// Whether the task asks its rank's core, as more ranks share that than it has hardware threads. Only the rank's
    /// own program does: strands of a rank take of its core beside each other, shared or not.
    #[inline(always)]
    pub fn shares_core(&self, rank: Rank, task: u32) -> bool {
        self.effects.shares_cores && task == MAIN && self.shared_core(rank).is_some()
    }

    /// The rank's core, if it shares that.
    #[cold]
    fn shared_core(&self, rank: Rank) -> Option<usize> {
        let core = self.shared_cores.as_ref()?.of[self.seats[rank as usize].local as usize];
        core.map(|core| core as usize)
    }
}

impl TargetRank {
    /// The task waits until the rank's core has `span` for it. That counts as polling.
    #[cold]
    pub fn await_core(&mut self, lp: &mut LogicalProcess<'_>, task: u32, span: SimSpan) {
        if span == SimSpan::ZERO || task != MAIN {
            return;
        }
        let Some(core) = lp.shared_core(self.rank) else { return };
        let cores = lp.shared_cores.as_deref_mut().expect("it is one of them");
        let free = cores.free[core].iter_mut().min().expect("a core has threads");
        let clock = self.main.clock;
        let start = clock.max(*free);
        *free = start + span;
        let waited = start.since(clock);
        if waited > SimSpan::ZERO {
            lp.paths.change(&mut self.main.path).poll += waited;
            self.pass(task, Spent::Poll, waited);
        }
    }
}

/// Whether the call would ask its rank's core, which others share, before the simulation has got to its clock.
pub(super) fn asks_core_early(target: &mut TargetRank, lp: &LogicalProcess<'_>, task: u32, call: &Call) -> bool {
    target.control(task).clock > lp.now.time && asks_core(call) && lp.shares_core(target.rank, task)
}

/// The task's wait is over at `time`: true if it ends by an event then, as its completion asks a shared core.
pub(super) fn put_off_end(target: &mut TargetRank, lp: &mut LogicalProcess<'_>, task: u32, time: SimTime) -> bool {
    let (rank, turn) = (target.rank, target.control(task).turn);
    let is_later = time > lp.now.time && lp.shares_core(rank, task);
    if is_later {
        lp.push(target, time, rank, || EventKind::Wake { task, turn });
    }
    is_later
}

/// Whether the call may ask the core for what a message takes while it is made. Calls that wait for their own time in
/// any case, such as tests, are left out.
fn asks_core(call: &Call) -> bool {
    matches!(
        call,
        Call::Send(_)
            | Call::Isend(_)
            | Call::Recv(_)
            | Call::Irecv(_)
            | Call::Exchange(..)
            | Call::WaitAll(_)
            | Call::Complete(_)
    )
}
