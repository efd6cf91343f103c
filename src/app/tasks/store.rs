//! The data fragments on a process, and who waits for those that are not there.

use rustc_hash::FxHashMap;

use crate::rank::Rank;

use super::graph::Data;

const NOWHERE: u32 = u32::MAX;
const HERE: u32 = u32::MAX - 1;

/// What a process knows of data: of that which is kept here in an array, of copies in a map that is looked up and never gone
/// through.
#[derive(Debug, Default)]
pub(super) struct Store {
    kept: Vec<Entry>,
    copies: FxHashMap<Data, Entry>,
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

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Records of fragments that wait for it, the last first; or that it is [`HERE`].
    fragments: u32,
    /// Processes that have asked for it, the last first.
    processes: u32,
}

const UNKNOWN: Entry = Entry { fragments: NOWHERE, processes: NOWHERE };

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
        Store { kept: vec![UNKNOWN; kept as usize], ..Store::default() }
    }

    #[inline]
    fn entry(&mut self, place: Place) -> &mut Entry {
        match place {
            Place::Kept(number) => &mut self.kept[number as usize],
            Place::Copy(data) => self.copies.entry(data).or_insert(UNKNOWN),
        }
    }

    fn cell(&mut self, value: u32, next: u32) -> u32 {
        if let Some(cell) = self.free {
            let (_, after) = std::mem::replace(&mut self.cells[cell as usize], (value, next));
            self.free = Some(after).filter(|&after| after != NOWHERE);
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
        let cell = self.cell(record, head);
        self.entry(place).fragments = cell;
        if head == NOWHERE { Wanted::New } else { Wanted::Awaited }
    }

    /// `process` asks for data: whether it is there, or gets it when it is.
    pub fn ask(&mut self, place: Place, process: Rank) -> Wanted {
        let Entry { fragments, processes } = *self.entry(place);
        if fragments == HERE {
            return Wanted::Here;
        }
        let cell = self.cell(process, processes);
        self.entry(place).processes = cell;
        Wanted::Awaited
    }

    /// The data is there from now on: puts the records that waited for it and the processes that asked for it into the lists,
    /// in the order in which they came.
    pub fn put(&mut self, place: Place, records: &mut Vec<u32>, processes: &mut Vec<Rank>) {
        records.clear();
        processes.clear();
        let before = std::mem::replace(self.entry(place), Entry { fragments: HERE, processes: NOWHERE });
        if before.fragments != HERE {
            self.take(before.fragments, records);
            self.take(before.processes, processes);
        }
    }

    fn take(&mut self, head: u32, into: &mut Vec<u32>) {
        let mut at = head;
        while at != NOWHERE {
            let cell = &mut self.cells[at as usize];
            into.push(cell.0);
            let next = std::mem::replace(&mut cell.1, self.free.unwrap_or(NOWHERE));
            self.free = Some(at);
            at = next;
        }
        into.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_is_told_in_order_and_once() {
        let mut store = Store::new(1);
        let (mut records, mut processes) = (Vec::new(), Vec::new());
        for round in 0..3 {
            let place = if round == 1 { Place::Kept(0) } else { Place::Copy(10 + round) };
            assert_eq!(store.want(place, 4), Wanted::New);
            assert_eq!(store.want(place, 2), Wanted::Awaited);
            assert_eq!(store.ask(place, 7), Wanted::Awaited);
            assert_eq!(store.want(Place::Copy(100 + round), 9), Wanted::New);
            store.put(place, &mut records, &mut processes);
            assert_eq!((&records[..], &processes[..]), (&[4, 2][..], &[7][..]));
            assert_eq!((store.want(place, 5), store.ask(place, 5)), (Wanted::Here, Wanted::Here));
            store.put(place, &mut records, &mut processes);
            assert!(records.is_empty() && processes.is_empty());
        }
        // Cells are used again: 3 lists of one that still wait, and the most that were there at a time.
        assert!(store.cells.len() <= 6, "{}", store.cells.len());
    }
}
