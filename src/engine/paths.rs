//! Critical paths to the virtual times of tasks and messages, stored as sums of the parts of each path.
//!
//! Tasks, messages and requests hold slots of the table of paths, and several holders may share a slot. A holder that
//! changes a shared path gets a copy. Send overheads are not stored, because they are the length of a path minus its
//! other parts. So all messages that a task sends without other actions in between share one slot.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

use mcpsim_base::platform::Level;
use mcpsim_base::profile::{PathParts, TransferParts};
use mcpsim_base::rank::Rank;
use mcpsim_base::units::{SimSpan, SimTime};

use super::activity::ClockPoint;
use super::chunked_vec::ChunkedVec;
use super::delays::{Charges, Delays};
use super::prefetch::prefetch;

/// Index of a critical path in [`Paths`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PathSlot(u32);

impl PathSlot {
    /// Path slot that refers to no critical path.
    pub const NONE: PathSlot = PathSlot(u32::MAX);
}

/// Sums of the parts of a critical path, without send overheads; the size is two cache lines.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[repr(align(64))]
pub(super) struct Path {
    pub levels: [TransferParts; 3],
    pub compute: SimSpan,
    pub combine: SimSpan,
    pub recv: SimSpan,
    pub poll: SimSpan,
}

impl Path {
    /// Returns the parts of the critical path, which ends at `time`; `imbalance` is included in compute.
    pub fn parts(&self, time: SimTime) -> PathParts {
        let Path { levels: [intra_cmp, inter_cmp, inter_node], compute, combine, recv, poll } = *self;
        let levels = mcpsim_base::profile::LevelParts { intra_cmp, inter_cmp, inter_node };
        let parts = PathParts { compute, combine, recv, poll, levels, ..PathParts::default() };
        let send = time.since(SimTime::ZERO).as_ps().checked_sub(parts.total().as_ps());
        PathParts { send: SimSpan::from_ps(send.expect("a path is no longer than its time")), ..parts }
    }
}

/// All critical paths of a worker, by path slot.
#[derive(Debug, Default)]
pub(super) struct Paths {
    kept: Vec<Path>,
    holders: Vec<u32>,
    free: Vec<u32>,
    /// Paths have origins or charges, which are stored in separate vectors.
    beside: bool,
    /// For each path, the last clock of a task on the path, if recorded. The time of this point is the departure of a
    /// message from the task, or NEVER before a message departs.
    origins: Option<Vec<ClockPoint>>,
    /// Contention of each path by resource, in the `fair` contention model.
    charged: Option<Vec<Charges>>,
    /// Delayed transfers, which have slots of their own, with the delays, which are read rarely.
    delayed: Vec<Delayed>,
    delays: ChunkedVec<Delays>,
    free_delayed: Vec<u32>,
    /// Recent extensions of paths that many holders share.
    common: Vec<CommonWay>,
}

/// A delayed transfer that will extend the critical path in the path slot `base`.
#[derive(Clone, Copy, Debug)]
struct Delayed {
    base: PathSlot,
    holders: u32,
}

/// An extension of one critical path to another critical path by given parts. The extension is a holder of both paths.
#[derive(Clone, Copy, Debug)]
struct CommonWay {
    from: PathSlot,
    to: PathSlot,
    level: Level,
    parts: TransferParts,
}

/// Number of recent extensions that are stored.
const COMMON: usize = 1024;
/// Origin of a path without a recorded clock of a task.
const NOBODYS: ClockPoint = ClockPoint { rank: 0, serial: 0, time: SimTime::NEVER };

impl PathSlot {
    /// Bit of a path slot that marks a delayed transfer.
    const DELAYED: u32 = 1 << 31;

    /// Returns the index of the delayed transfer, if the slot refers to a delayed transfer.
    #[inline(always)]
    fn delayed(self) -> Option<usize> {
        (self.0 & Self::DELAYED != 0).then_some((self.0 & !Self::DELAYED) as usize)
    }
}

impl Paths {
    /// Creates an empty set with room for `room` paths. `recording` selects whether origins are stored, and `charging`
    /// whether contention is stored by resource.
    pub fn new(recording: bool, charging: bool, room: usize) -> Self {
        Paths {
            kept: Vec::with_capacity(room),
            beside: recording || charging,
            origins: recording.then(Vec::new),
            charged: charging.then(Vec::new),
            ..Paths::default()
        }
    }

    /// Stores the critical path `path` in a new path slot with one holder (a task, message or request).
    pub fn put(&mut self, path: Path) -> PathSlot {
        let slot = self.room();
        self.kept[slot] = path;
        if let Some(charged) = &mut self.charged {
            charged[slot] = Charges::default();
        }
        PathSlot(slot as u32)
    }

    /// Returns the contention on the critical path by resource, if known.
    pub fn charges(&self, slot: PathSlot) -> Option<Charges> {
        Some(self.charged.as_ref()?[self.resolved(slot)])
    }

    /// Sets the contention on the critical path by resource, if recorded.
    pub fn set_charges(&mut self, slot: PathSlot, charges: Charges) {
        if let Some(charged) = &mut self.charged {
            charged[slot.0 as usize] = charges;
        }
    }

    /// Records that the computing block at the end of the critical path waited for memory for the time `waited`, and that
    /// twice the memory bandwidth would shorten the block by `saved`.
    pub fn wait_for_memory(&mut self, slot: &mut PathSlot, waited: SimSpan, saved: SimSpan) {
        self.change(slot);
        if let Some(charged) = &mut self.charged {
            charged[slot.0 as usize].wait_for_memory(waited, saved);
        }
    }

    /// Marks the message that holds the path slot `slot` as a delayed transfer. When the path crosses the transfer, the
    /// contention of the transfer is charged to `delays`.
    #[inline(always)]
    pub fn delay(&mut self, slot: &mut PathSlot, delays: &Delays) {
        if !delays.is_none() && self.charged.is_some() {
            self.delay_by(slot, *delays);
        }
    }

    /// Marks a message as [`Paths::delay`], if delays exist and contention is charged.
    #[inline(never)]
    fn delay_by(&mut self, slot: &mut PathSlot, delays: Delays) {
        if let Some(at) = slot.delayed() {
            if self.delayed[at].holders == 1 {
                self.delays[at] = delays;
                return;
            }
            self.settle(slot);
        }
        let delayed = Delayed { base: *slot, holders: 1 };
        let at = match self.free_delayed.pop() {
            Some(at) => {
                (self.delayed[at as usize], self.delays[at as usize]) = (delayed, delays);
                at
            }
            None => {
                self.delayed.push(delayed);
                self.delays.push(delays);
                self.delayed.len() as u32 - 1
            }
        };
        *slot = PathSlot(at | PathSlot::DELAYED);
    }

    /// Limits the delays of a transfer to the delay of its head; later delays are not charged.
    pub fn forget_after_head(&mut self, slot: &mut PathSlot) {
        if slot.delayed().is_some() {
            let delays = self.delays(*slot).to_head();
            self.settle(slot);
            self.delay(slot, &delays);
        }
    }

    /// Returns the delays of the transfer that holds the path slot `slot`.
    #[inline]
    pub fn delays(&self, slot: PathSlot) -> Delays {
        slot.delayed().map_or(Delays::default(), |at| self.delays[at])
    }

    /// Removes the delays of the transfer that holds the path slot `slot`, and gives the transfer the slot of its path.
    fn settle(&mut self, slot: &mut PathSlot) {
        let Some(at) = slot.delayed() else { return };
        let Delayed { base, holders, .. } = &mut self.delayed[at];
        *holders -= 1;
        let (was_last, number) = (*holders == 0, slot.0 & !PathSlot::DELAYED);
        *slot = *base;
        if was_last {
            self.free_delayed.push(number);
        } else {
            self.share(*slot);
        }
    }

    /// Prefetches the critical path in the path slot `slot`, if any.
    #[inline(always)]
    pub fn foresee(&self, slot: PathSlot) {
        if let Some(path) = self.kept.get(slot.0 as usize) {
            prefetch(path, usize::MAX);
        }
    }

    /// Prefetches the data that the release of the path slot `slot` needs, if any.
    #[inline(always)]
    pub fn foresee_release(&self, slot: PathSlot) {
        match slot.delayed() {
            None => prefetch(&self.holders[slot.0 as usize], 1),
            Some(at) => {
                if let Some(delayed) = self.delayed.get(at) {
                    prefetch(delayed, 1);
                }
            }
        }
    }

    /// Returns the index of the critical path in the path slot `slot`, also for a delayed transfer.
    #[inline]
    fn resolved(&self, slot: PathSlot) -> usize {
        slot.delayed().map_or(slot, |at| self.delayed[at].base).0 as usize
    }

    /// Allocates a path slot for a critical path with one holder (a task, message or request).
    #[inline]
    fn room(&mut self) -> usize {
        match self.free.pop() {
            Some(slot) => {
                self.holders[slot as usize] = 1;
                slot as usize
            }
            None => self.more_room(),
        }
    }

    #[cold]
    fn more_room(&mut self) -> usize {
        self.kept.push(Path::default());
        self.holders.push(1);
        if let Some(origins) = &mut self.origins {
            origins.push(NOBODYS);
        }
        if let Some(charged) = &mut self.charged {
            charged.push(Charges::default());
        }
        self.kept.len() - 1
    }

    /// Adds a holder (a task, message or request) to the critical path in the path slot `slot`.
    #[inline]
    pub fn share(&mut self, slot: PathSlot) -> PathSlot {
        match slot.delayed() {
            None => self.holders[slot.0 as usize] += 1,
            Some(at) => self.delayed[at].holders += 1,
        }
        slot
    }

    /// Removes a holder (a task, message or request) from the critical path in the path slot `slot`.
    #[inline(always)]
    pub fn release(&mut self, slot: PathSlot) {
        // The path slot `NONE` also has the bit that marks delayed transfers.
        if slot.delayed().is_some() {
            return self.release_delayed(slot);
        }
        let holders = &mut self.holders[slot.0 as usize];
        *holders -= 1;
        if *holders == 0 {
            self.free.push(slot.0);
        }
    }

    /// Removes a holder of a path slot as [`Paths::release`], for a delayed transfer and for `NONE`.
    #[inline(never)]
    fn release_delayed(&mut self, slot: PathSlot) {
        let Some(at) = slot.delayed().filter(|_| slot != PathSlot::NONE) else { return };
        self.delayed[at].holders -= 1;
        if self.delayed[at].holders == 0 {
            self.free_delayed.push(at as u32);
            self.release(self.delayed[at].base);
        }
    }

    pub fn get(&self, slot: PathSlot) -> &Path {
        &self.kept[self.resolved(slot)]
    }

    /// Returns the critical path in the path slot `slot` and removes a holder from the path.
    pub fn take(&mut self, slot: PathSlot) -> Path {
        let path = *self.get(slot);
        self.release(slot);
        path
    }

    /// Returns the holder's path for changes. If the path is shared, the holder gets a copy of the path.
    #[inline(always)]
    pub fn change(&mut self, slot: &mut PathSlot) -> &mut Path {
        if slot.delayed().is_some() || self.holders[slot.0 as usize] > 1 {
            self.part(slot);
        }
        &mut self.kept[slot.0 as usize]
    }

    /// Makes a holder the only holder of its critical path; other holders keep a copy of the path.
    #[inline(never)]
    fn part(&mut self, slot: &mut PathSlot) {
        if slot.delayed().is_some() {
            self.settle(slot);
        }
        let shared = slot.0 as usize;
        if self.holders[shared] > 1 {
            self.holders[shared] -= 1;
            let own = self.room();
            self.kept.copy_within(shared..=shared, own);
            *slot = PathSlot(own as u32);
            if self.beside {
                self.copy_beside(shared, own);
            }
        }
    }

    /// Copies the origin and the charged contention of a critical path to another path slot.
    fn copy_beside(&mut self, from: usize, own: usize) {
        if let Some(origins) = &mut self.origins {
            origins[own] = origins[from];
        }
        if let Some(charged) = &mut self.charged {
            charged[own] = charged[from];
        }
    }

    /// Extends the critical path in `slot` by a message of `level` that left at `left`.
    #[inline(always)]
    pub fn cross(&mut self, slot: &mut PathSlot, level: Level, left: SimTime, parts: TransferParts) {
        if self.beside {
            return self.cross_beside(slot, level, left, parts);
        }
        self.change(slot).levels[level as usize] += parts;
    }

    /// Extends the critical path as [`Paths::cross`], if paths have origins or charges.
    #[inline(never)]
    fn cross_beside(&mut self, slot: &mut PathSlot, level: Level, left: SimTime, parts: TransferParts) {
        let delays = self.delays(*slot);
        self.change(slot).levels[level as usize] += parts;
        if !delays.is_none()
            && let Some(charged) = &mut self.charged
        {
            charged[slot.0 as usize].charge(level, parts.contention, &delays);
        }
        if let Some(origins) = &mut self.origins {
            let origin = &mut origins[slot.0 as usize];
            if origin.time == SimTime::NEVER {
                origin.time = left;
            }
        }
    }

    /// Extends a critical path as [`Paths::cross`]. Many holders share the path and probably extend it alike.
    pub fn cross_alike(&mut self, slot: &mut PathSlot, level: Level, left: SimTime, parts: TransferParts) {
        // If only a task's clock and one message hold the path, no other holder extends the path.
        let is_alone = slot.delayed().is_some() || self.holders[slot.0 as usize] <= 2;
        if is_alone || self.origins.is_some() {
            return self.cross(slot, level, left, parts);
        }
        if self.common.is_empty() {
            let (from, to) = (PathSlot::NONE, PathSlot::NONE);
            self.common = vec![CommonWay { from, to, level, parts }; COMMON];
        }
        let at = (slot.0 as usize * Level::ALL.len() + level as usize) % COMMON;
        let CommonWay { from, to, .. } = self.common[at];
        if from == *slot && self.common[at].level == level && self.common[at].parts == parts {
            self.share(to);
            self.replace(slot, to);
            return;
        }
        self.release(from);
        self.release(to);
        let from = self.share(*slot);
        self.cross(slot, level, left, parts);
        let to = self.share(*slot);
        self.common[at] = CommonWay { from, to, level, parts };
    }

    /// Records the clock of the task `serial` of `rank` as the last clock of the path.
    pub fn claim(&mut self, slot: &mut PathSlot, rank: Rank, serial: u32) {
        self.change(slot);
        self.set_origin(*slot, ClockPoint { rank, serial, time: SimTime::NEVER });
    }

    /// Returns the last clock of a task on the critical path, if recorded.
    #[inline]
    pub fn origin(&self, slot: PathSlot) -> Option<ClockPoint> {
        self.origins.as_ref().map(|origins| origins[self.resolved(slot)])
    }

    /// Sets the last clock of a task on the critical path, if recorded.
    pub fn set_origin(&mut self, slot: PathSlot, origin: ClockPoint) {
        if let Some(origins) = &mut self.origins {
            origins[slot.0 as usize] = origin;
        }
    }

    /// Releases the critical path of `own`, and sets `own` to `other`, whose holder `own` becomes.
    #[inline]
    pub fn replace(&mut self, own: &mut PathSlot, other: PathSlot) {
        self.release(*own);
        *own = other;
    }
}
