//! State of data fragments that other MPI processes store: a hash table by identifier of the data fragment, without
//! removal and iteration. The table uses open addressing with linear probing (Knuth, The Art of Computer Programming 3,
//! 6.4, algorithm L). Keys and values are stored together, so a look-up reads one cache line instead of two.

use super::graph::Data;
use super::store::DataState;

/// Key of an empty slot of the hash table. No data fragment has this identifier.
const EMPTY: Data = Data::MAX;

/// Hash table of the states of data fragments, by identifier of the data fragment.
#[derive(Debug, Default)]
pub(super) struct TaskCopies {
    /// Slots of the hash table. The number of slots is 0 or a power of two, and at most three quarters of the slots are
    /// in use.
    slots: Vec<(Data, DataState)>,
    used: usize,
}

impl TaskCopies {
    /// State of the data fragment `data`, which is initially unknown.
    #[inline]
    pub fn entry(&mut self, data: Data) -> &mut DataState {
        if self.used * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let at = find(&self.slots, data);
        let slot = &mut self.slots[at];
        if slot.0 == EMPTY {
            *slot = (data, DataState::UNKNOWN);
            self.used += 1;
        }
        &mut slot.1
    }

    #[cold]
    fn grow(&mut self) {
        let room = (2 * self.slots.len()).max(8);
        let before = std::mem::replace(&mut self.slots, vec![(EMPTY, DataState::UNKNOWN); room]);
        for slot in before.into_iter().filter(|slot| slot.0 != EMPTY) {
            let at = find(&self.slots, slot.0);
            self.slots[at] = slot;
        }
    }
}

/// Index of the hash-table slot of `data`, or of the slot into which `data` would be inserted. The table must have an
/// empty slot.
#[inline]
fn find(slots: &[(Data, DataState)], data: Data) -> usize {
    let mask = slots.len() - 1;
    // Fibonacci hashing: the upper bits of the product depend on all bits of the identifier.
    let hash = u64::from(data).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut at = (hash >> 32) as usize & mask;
    while slots[at].0 != data && slots[at].0 != EMPTY {
        at = (at + 1) & mask;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::super::store::{Availability, DataPlace, Store};

    #[test]
    fn copies_are_found_again_however_many_there_are() {
        let mut store = Store::new(0);
        let numbers = || (0..3000u32).map(|number| number.wrapping_mul(48) % (1 << 28));
        for (record, data) in (0..).zip(numbers()) {
            assert_eq!(store.want(DataPlace::Copy(data), record), Availability::New);
        }
        for (record, data) in (0..).zip(numbers()) {
            let (records, processes) = store.put(DataPlace::Copy(data));
            assert_eq!((&records[..], processes.len()), (&[record][..], 0));
        }
        assert!(numbers().all(|data| store.want(DataPlace::Copy(data), 0) == Availability::Here));
    }
}
