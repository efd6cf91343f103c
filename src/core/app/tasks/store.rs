//! Data fragments on an MPI process, and the fragments and processes that wait for missing data.

use smallvec::SmallVec;

use crate::rank::Rank;

use super::copies::TaskCopies;
use super::graph::Data;

/// Records of waiting fragments, or ranks of waiting processes.
pub(super) type Waiters = SmallVec<[u32; 8]>;

const NOBODY: u32 = u32::MAX;
const HERE: u32 = u32::MAX - 1;
/// Bit that marks a list of several items. The other bits are then the index of the list's first cell in
/// `Store::cells`. A value without this bit is the only item of its list.
const LISTED: u32 = 1 << 31;

/// Data fragments known to an MPI process: an array for data that the process stores, and a table for copies of other
/// data.
#[derive(Debug, Default)]
pub(super) struct Store {
    kept: Vec<DataState>,
    copies: TaskCopies,
    /// Cells of the linked lists of waiting fragments and processes. Free cells form a list, too.
    cells: Vec<(u32, u32)>,
    free: Option<u32>,
}

/// Where an MPI process keeps the state of a data fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataPlace {
    /// This process stores the data fragment. The integer is the index among the data fragments of this process.
    Kept(u32),
    /// Another process stores the data fragment.
    Copy(Data),
}

/// State of a data fragment on an MPI process.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataState {
    /// List of the records of fragments that wait for the data, the last record first; or [`HERE`] if the data are
    /// available.
    fragments: u32,
    /// List of the processes that have requested the data, the last process first.
    processes: u32,
}

impl DataState {
    /// State of data of which the process has no information.
    pub const UNKNOWN: DataState = DataState { fragments: NOBODY, processes: NOBODY };
}

/// Availability of a data fragment on an MPI process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Availability {
    Here,
    /// The data are missing and this process has already requested them.
    Awaited,
    /// The data are missing and this process must request them now.
    New,
}

impl Store {
    /// Creates the data store of a process that stores `kept` data fragments.
    pub fn new(kept: u32) -> Self {
        Store { kept: vec![DataState::UNKNOWN; kept as usize], ..Store::default() }
    }

    #[inline]
    fn entry(&mut self, place: DataPlace) -> &mut DataState {
        match place {
            DataPlace::Kept(number) => &mut self.kept[number as usize],
            DataPlace::Copy(data) => self.copies.entry(data),
        }
    }

    /// Prepends `value` to the linked list `list`.
    fn with(&mut self, value: u32, list: u32) -> u32 {
        debug_assert!(value < LISTED);
        if list == NOBODY {
            return value;
        }
        let next = if list & LISTED == 0 { LISTED | self.cell(list, NOBODY) } else { list };
        LISTED | self.cell(value, next)
    }

    fn cell(&mut self, value: u32, next: u32) -> u32 {
        if let Some(cell) = self.free {
            let (_, after) = std::mem::replace(&mut self.cells[cell as usize], (value, next));
            self.free = Some(after).filter(|&after| after != NOBODY);
            return cell;
        }
        self.cells.push((value, next));
        self.cells.len() as u32 - 1
    }

    /// Requests the data at `place` for the fragment of record `record`. The fragment waits if the data are missing.
    pub fn want(&mut self, place: DataPlace, record: u32) -> Availability {
        let head = self.entry(place).fragments;
        if head == HERE {
            return Availability::Here;
        }
        self.entry(place).fragments = self.with(record, head);
        if head == NOBODY { Availability::New } else { Availability::Awaited }
    }

    /// Requests the data at `place` for the process `process`. Returns whether the data are available; unavailable data
    /// are sent to the process later.
    pub fn ask(&mut self, place: DataPlace, process: Rank) -> Availability {
        let DataState { fragments, processes } = *self.entry(place);
        if fragments == HERE {
            return Availability::Here;
        }
        self.entry(place).processes = self.with(process, processes);
        Availability::Awaited
    }

    /// Makes the data at `place` available. Returns the records of the waiting fragments and the ranks of the
    /// requesting processes, in the order of their requests.
    pub fn put(&mut self, place: DataPlace) -> (Waiters, Waiters) {
        let before = std::mem::replace(self.entry(place), DataState { fragments: HERE, processes: NOBODY });
        match before.fragments {
            HERE => (Waiters::new(), Waiters::new()),
            fragments => (self.take(fragments), self.take(before.processes)),
        }
    }

    fn take(&mut self, list: u32) -> Waiters {
        let mut found = Waiters::new();
        if list == NOBODY {
            return found;
        }
        if list & LISTED == 0 {
            found.push(list);
            return found;
        }
        let mut at = list;
        while at != NOBODY {
            let number = at & !LISTED;
            let cell = &mut self.cells[number as usize];
            found.push(cell.0);
            at = std::mem::replace(&mut cell.1, self.free.unwrap_or(NOBODY));
            self.free = Some(number);
        }
        found.reverse();
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_told_in_order_and_once() {
        let mut store = Store::new(1);
        for round in 0..3 {
            let place = if round == 1 { DataPlace::Kept(0) } else { DataPlace::Copy(10 + round) };
            assert_eq!(store.want(place, 4), Availability::New);
            assert_eq!(store.want(place, 2), Availability::Awaited);
            assert_eq!(store.ask(place, 7), Availability::Awaited);
            assert_eq!(store.want(DataPlace::Copy(100 + round), 9), Availability::New);
            assert_eq!(store.ask(place, 0), Availability::Awaited);
            assert_eq!(store.want(place, 9), Availability::Awaited);
            let (records, processes) = store.put(place);
            assert_eq!((&records[..], &processes[..]), (&[4, 2, 9][..], &[7, 0][..]));
            assert_eq!((store.want(place, 5), store.ask(place, 5)), (Availability::Here, Availability::Here));
            let (records, processes) = store.put(place);
            assert!(records.is_empty() && processes.is_empty());
        }
        // Cells of linked lists are reused. A list with one item needs no cell, and the other lists had at most five
        // cells at a time.
        assert_eq!(store.cells.len(), 5);
        let one = Store::new(1).put(DataPlace::Kept(0));
        assert!(one.0.is_empty() && one.1.is_empty());
    }
}
