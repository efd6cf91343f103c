//! The data fragments on a process, and who waits for those that are not there.

use smallvec::SmallVec;

use crate::rank::Rank;

use super::copies::TaskCopies;
use super::graph::Data;

/// Who waits for data; most have one waiter, which is kept beside the data.
pub(super) type Waiters = SmallVec<[u32; 8]>;

const NOBODY: u32 = u32::MAX;
const HERE: u32 = u32::MAX - 1;
/// A list with this bit is the number of a cell, any other its only member.
const LISTED: u32 = 1 << 31;

/// What a process knows of data: of that which is kept here in an array, of copies in a table.
#[derive(Debug, Default)]
pub(super) struct Store {
    kept: Vec<Entry>,
    copies: TaskCopies,
    /// Cells of the lists below, those that are free linked as well.
    cells: Vec<(u32, u32)>,
    free: Option<u32>,
}

/// Where a process keeps what it knows of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// It is kept here, as the process's data of this number.
    Kept(u32),
    /// It is kept elsewhere.
    Copy(Data),
}

/// What a process knows of a data fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Records of fragments that wait for it, the last first; or that it is [`HERE`].
    fragments: u32,
    /// Processes that have asked for it, the last first.
    processes: u32,
}

impl Entry {
    /// Nothing is known of it.
    pub const UNKNOWN: Entry = Entry { fragments: NOBODY, processes: NOBODY };
}

/// Whether data is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    Here,
    /// Somebody else waits for it already.
    Awaited,
    /// Nobody did so far.
    New,
}

impl Store {
    /// Of a process that keeps `kept` data fragments.
    pub fn new(kept: u32) -> Self {
        Store { kept: vec![Entry::UNKNOWN; kept as usize], ..Store::default() }
    }

    #[inline]
    fn entry(&mut self, place: Place) -> &mut Entry {
        match place {
            Place::Kept(number) => &mut self.kept[number as usize],
            Place::Copy(data) => self.copies.entry(data),
        }
    }

    /// The list `list` with `value` before its first.
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

    /// The fragment of `record` needs the data, and waits for it unless it is there.
    pub fn want(&mut self, place: Place, record: u32) -> Wanted {
        let head = self.entry(place).fragments;
        if head == HERE {
            return Wanted::Here;
        }
        self.entry(place).fragments = self.with(record, head);
        if head == NOBODY { Wanted::New } else { Wanted::Awaited }
    }

    /// `process` asks for data: whether it is there, or gets it when it is.
    pub fn ask(&mut self, place: Place, process: Rank) -> Wanted {
        let Entry { fragments, processes } = *self.entry(place);
        if fragments == HERE {
            return Wanted::Here;
        }
        self.entry(place).processes = self.with(process, processes);
        Wanted::Awaited
    }

    /// The data is there from now on: the records that waited for it and the processes that asked for it, in the order
    /// in which they came.
    pub fn put(&mut self, place: Place) -> (Waiters, Waiters) {
        let before = std::mem::replace(self.entry(place), Entry { fragments: HERE, processes: NOBODY });
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
            let place = if round == 1 { Place::Kept(0) } else { Place::Copy(10 + round) };
            assert_eq!(store.want(place, 4), Wanted::New);
            assert_eq!(store.want(place, 2), Wanted::Awaited);
            assert_eq!(store.ask(place, 7), Wanted::Awaited);
            assert_eq!(store.want(Place::Copy(100 + round), 9), Wanted::New);
            assert_eq!(store.ask(place, 0), Wanted::Awaited);
            assert_eq!(store.want(place, 9), Wanted::Awaited);
            let (records, processes) = store.put(place);
            assert_eq!((&records[..], &processes[..]), (&[4, 2, 9][..], &[7, 0][..]));
            assert_eq!((store.want(place, 5), store.ask(place, 5)), (Wanted::Here, Wanted::Here));
            let (records, processes) = store.put(place);
            assert!(records.is_empty() && processes.is_empty());
        }
        // Cells are used again: a list of one takes none, and the others had five at a time.
        assert_eq!(store.cells.len(), 5);
        let one = Store::new(1).put(Place::Kept(0));
        assert!(one.0.is_empty() && one.1.is_empty());
    }
}
