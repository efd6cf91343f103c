//! What a process knows of data that is kept elsewhere: a table that only grows, looked up by number and never gone
//! through. Open addressing with linear probing (Knuth, The Art of Computer Programming 3, 6.4, algorithm L): a lookup
//! meets one cache line, where a table whose keys are apart from its entries meets two.

use super::graph::Data;
use super::store::Entry;

/// No data has this number.
const EMPTY: Data = Data::MAX;

/// Entries by the number of their data.
#[derive(Debug, Default)]
pub(super) struct TaskCopies {
    /// As many as a power of two, or none yet; at most three quarters are in use.
    slots: Vec<(Data, Entry)>,
    used: usize,
}

impl TaskCopies {
    /// What is known of `data`; nothing at first.
    #[inline]
    pub fn entry(&mut self, data: Data) -> &mut Entry {
        if self.used * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let at = find(&self.slots, data);
        let slot = &mut self.slots[at];
        if slot.0 == EMPTY {
            *slot = (data, Entry::UNKNOWN);
            self.used += 1;
        }
        &mut slot.1
    }

    #[cold]
    fn grow(&mut self) {
        let room = (2 * self.slots.len()).max(8);
        let before = std::mem::replace(&mut self.slots, vec![(EMPTY, Entry::UNKNOWN); room]);
        for slot in before.into_iter().filter(|slot| slot.0 != EMPTY) {
            let at = find(&self.slots, slot.0);
            self.slots[at] = slot;
        }
    }
}

/// The slot of `data`, or the one where it would be; there is an empty one.
#[inline]
fn find(slots: &[(Data, Entry)], data: Data) -> usize {
    let mask = slots.len() - 1;
    // Fibonacci hashing: the upper bits of the product depend on all bits of the number.
    let hash = u64::from(data).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut at = (hash >> 32) as usize & mask;
    while slots[at].0 != data && slots[at].0 != EMPTY {
        at = (at + 1) & mask;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::super::store::{Place, Store, Wanted};

    #[test]
    fn copies_are_found_again_however_many_there_are() {
        let mut store = Store::new(0);
        let numbers = || (0..3000u32).map(|number| number.wrapping_mul(48) % (1 << 28));
        for (record, data) in (0..).zip(numbers()) {
            assert_eq!(store.want(Place::Copy(data), record), Wanted::New);
        }
        for (record, data) in (0..).zip(numbers()) {
            let (records, processes) = store.put(Place::Copy(data));
            assert_eq!((&records[..], processes.len()), (&[record][..], 0));
        }
        assert!(numbers().all(|data| store.want(Place::Copy(data), 0) == Wanted::Here));
    }
}
