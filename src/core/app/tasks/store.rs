//! Data fragments on a process, and the waiters for missing ones.

use smallvec::SmallVec;

use crate::rank::Rank;

use super::copies::TaskCopies;
use super::graph::Data;

/// Waiters for data. Usually there is one, which is stored with the data.
pub(super) type Waiters = SmallVec<[u32; 8]>;

const NOBODY: u32 = u32::MAX;
const HERE: u32 = u32::MAX - 1;
/// A list with this bit is the number of a cell; any other value is its only member.
const LISTED: u32 = 1 << 31;

/// Data known to a process: an array for data stored here, a table for copies.
#[derive(Debug, Default)]
pub(super) struct Store {
    kept: Vec<DataState>,
    copies: TaskCopies,
    /// Cells of the lists below; free cells are linked, too.
    cells: Vec<(u32, u32)>,
    free: Option<u32>,
}

/// Place where a process stores the state of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataPlace {
    /// Stored here, with this number among the process's data.
    Kept(u32),
    /// Stored on another process.
    Copy(Data),
}

/// State of a data fragment on a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataState {
    /// Records of waiting fragments, the last first, or [`HERE`].
    fragments: u32,
    /// Processes that have requested it, the last first.
    processes: u32,
}

impl DataState {
    /// State without information.
    pub const UNKNOWN: DataState = DataState { fragments: NOBODY, processes: NOBODY };
}

/// Availability of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Availability {
    Here,
    /// Requested already.
    Awaited,
    /// Requested for the first time.
    New,
}

impl Store {
    /// Creates the store of a process that stores `kept` data fragments.
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

    /// Prepends `value` to the list `list`.
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

    /// Requests the data for the fragment of `record`, which waits for missing data.
    pub fn want(&mut self, place: DataPlace, record: u32) -> Availability {
        let head = self.entry(place).fragments;
        if head == HERE {
            return Availability::Here;
        }
        self.entry(place).fragments = self.with(record, head);
        if head == NOBODY { Availability::New } else { Availability::Awaited }
    }

    /// Requests the data for `process`. Returns whether they are available; otherwise they are sent later.
    pub fn ask(&mut self, place: DataPlace, process: Rank) -> Availability {
        let DataState { fragments, processes } = *self.entry(place);
        if fragments == HERE {
            return Availability::Here;
        }
        self.entry(place).processes = self.with(process, processes);
        Availability::Awaited
    }

    /// Makes the data available. Returns the waiting records and the requesting processes, in the order of their
    /// requests.
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
        // Cells are reused: a list with one member needs none, and the others had five at a time.
        assert_eq!(store.cells.len(), 5);
        let one = Store::new(1).put(DataPlace::Kept(0));
        assert!(one.0.is_empty() && one.1.is_empty());
    }
}
