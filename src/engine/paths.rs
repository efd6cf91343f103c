//! The paths that determined where tasks and messages are in virtual time, as the parts they are made of.
//!
//! A path stands in a slot that tasks, messages and requests share, and is copied when one of several holders changes
//! it. The send overheads are not stored: they are what the other parts leave of the time at which the path is asked
//! for. So all messages that a task sends without doing anything else in between share one slot.

use serde::{Deserialize, Serialize};

use crate::platform::Level;
use crate::profile::{PathParts, TimeParts, TransferParts};
use crate::rank::Rank;
use crate::units::{SimSpan, SimTime};

use super::activity::ClockPoint;

/// Where a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PathSlot(u32);

impl PathSlot {
    /// There is none.
    pub const NONE: PathSlot = PathSlot(u32::MAX);
}

/// A path without its send overheads: two cache lines.
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
    /// Its parts when it has got to `time`; those of `imbalance` count as compute.
    pub fn parts(&self, time: SimTime) -> PathParts {
        let Path { levels: [intra_cmp, inter_cmp, inter_node], compute, combine, recv, poll } = *self;
        let levels = crate::profile::LevelParts { intra_cmp, inter_cmp, inter_node };
        let parts = PathParts { compute, combine, recv, poll, levels, ..PathParts::default() };
        let send = time.since(SimTime::ZERO).as_ps().checked_sub(parts.total().as_ps());
        PathParts { send: SimSpan::from_ps(send.expect("a path is no longer than its time")), ..parts }
    }
}

/// A worker's paths by slot.
#[derive(Debug, Default)]
pub(super) struct Paths {
    kept: Vec<Path>,
    holders: Vec<u32>,
    free: Vec<u32>,
    /// Whose clock each path was last, where that is recorded. Its time is when it left that clock; NEVER if it has
    /// not.
    origins: Option<Vec<ClockPoint>>,
}

/// Of a path of which nobody has said whose it is.
const NOBODYS: ClockPoint = ClockPoint { rank: 0, serial: 0, time: SimTime::NEVER };

impl Paths {
    /// No paths yet; `recording` whose they were.
    pub fn new(recording: bool) -> Self {
        Paths { origins: recording.then(Vec::new), ..Paths::default() }
    }

    /// Keeps `path` for one holder.
    pub fn put(&mut self, path: Path) -> PathSlot {
        let slot = self.room();
        self.kept[slot] = path;
        PathSlot(slot as u32)
    }

    /// A slot for one holder.
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
        self.kept.len() - 1
    }

    /// One more holder.
    #[inline]
    pub fn share(&mut self, slot: PathSlot) -> PathSlot {
        self.holders[slot.0 as usize] += 1;
        slot
    }

    /// One holder less.
    #[inline]
    pub fn release(&mut self, slot: PathSlot) {
        if slot != PathSlot::NONE {
            let holders = &mut self.holders[slot.0 as usize];
            *holders -= 1;
            if *holders == 0 {
                self.free.push(slot.0);
            }
        }
    }

    pub fn get(&self, slot: PathSlot) -> &Path {
        &self.kept[slot.0 as usize]
    }

    /// Gives back a path for good, of which there may be other holders.
    pub fn take(&mut self, slot: PathSlot) -> Path {
        self.release(slot);
        self.kept[slot.0 as usize]
    }

    /// The holder of `slot` goes on by itself.
    #[inline]
    pub fn change(&mut self, slot: &mut PathSlot) -> &mut Path {
        let mut own = slot.0 as usize;
        if self.holders[own] > 1 {
            self.holders[own] -= 1;
            let shared = own;
            own = self.room();
            self.kept.copy_within(shared..=shared, own);
            if let Some(origins) = &mut self.origins {
                origins[own] = origins[shared];
            }
            *slot = PathSlot(own as u32);
        }
        &mut self.kept[own]
    }

    /// The holder of `slot` goes on by a message of `level` that left at `left`.
    #[inline]
    pub fn cross(&mut self, slot: &mut PathSlot, level: Level, left: SimTime, parts: TransferParts) {
        self.change(slot).levels[level as usize] += parts;
        if let Some(origins) = &mut self.origins {
            let origin = &mut origins[slot.0 as usize];
            if origin.time == SimTime::NEVER {
                origin.time = left;
            }
        }
    }

    /// The path is that of a task's clock from here on.
    pub fn claim(&mut self, slot: &mut PathSlot, rank: Rank, serial: u32) {
        self.change(slot);
        self.set_origin(*slot, ClockPoint { rank, serial, time: SimTime::NEVER });
    }

    /// Whose clock it was last, if that is recorded.
    #[inline]
    pub fn origin(&self, slot: PathSlot) -> Option<ClockPoint> {
        self.origins.as_ref().map(|origins| origins[slot.0 as usize])
    }

    /// Says whose clock it was last, if that is recorded.
    pub fn set_origin(&mut self, slot: PathSlot, origin: ClockPoint) {
        if let Some(origins) = &mut self.origins {
            origins[slot.0 as usize] = origin;
        }
    }

    /// The holder of `own` goes on from `other`, which has a holder less.
    #[inline]
    pub fn replace(&mut self, own: &mut PathSlot, other: PathSlot) {
        self.release(*own);
        *own = other;
    }
}

/// What the predicted time is made of. Of the local blocks on the path, those beyond what a rank has in the mean are
/// imbalance: with work dealt out evenly, the path would have no more than the mean.
pub(super) fn path_parts(last: Option<(SimTime, Rank, Path)>, mean: &TimeParts) -> PathParts {
    let Some((clock, _, path)) = last else { return PathParts::default() };
    let parts = path.parts(clock);
    let compute = parts.compute.min(mean.compute);
    PathParts { compute, imbalance: parts.compute - compute, ..parts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_path_is_copied_when_one_holder_goes_on() {
        let mut paths = Paths::default();
        let mut mine = paths.put(Path::default());
        let yours = paths.share(mine);
        paths.change(&mut mine).compute += SimSpan::from_ps(5);
        assert_ne!(mine, yours);
        assert_eq!(paths.get(yours).compute, SimSpan::ZERO);
        let same = mine;
        paths.change(&mut mine).recv += SimSpan::from_ps(2);
        assert_eq!(same, mine, "its only holder changes it in place");
        let parts = paths.get(mine).parts(SimTime::from_ps(10));
        assert_eq!((parts.compute.as_ps(), parts.recv.as_ps(), parts.send.as_ps()), (5, 2, 3));
        assert_eq!(parts.total(), SimSpan::from_ps(10));
    }

    #[test]
    fn a_slot_without_holders_is_used_again() {
        let mut paths = Paths::default();
        let first = paths.put(Path::default());
        let second = paths.share(first);
        paths.release(first);
        assert_ne!(paths.put(Path::default()), second);
        paths.release(second);
        paths.release(PathSlot::NONE);
        assert_eq!(paths.put(Path::default()), second);
    }
}
