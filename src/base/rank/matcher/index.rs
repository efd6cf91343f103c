//! Hash index that finds the first list entry of each key. The index uses open addressing and is small enough for the
//! host's caches. The list entries store the keys; the index does not.

use super::Envelope;

/// Value of an index slot without a list entry.
pub(super) const NONE: u32 = u32::MAX;

/// Hash index of a list of messages or receives: the first list entry of each key.
#[derive(Debug, Default)]
pub(super) struct KeyIndex {
    /// Slots of the hash table. The number of slots is a power of two, and at most half of the slots are in use.
    slots: Vec<IndexSlot>,
    used: usize,
}

/// Slot of the hash table for one key. The slot is free if `first` is [`NONE`].
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexSlot {
    hash: u32,
    first: u32,
}

const FREE: IndexSlot = IndexSlot { hash: 0, first: NONE };

/// Hash that depends on all bits of `envelope`.
#[inline]
fn hash(envelope: &Envelope) -> u32 {
    let x = u64::from(envelope.source) << 32 | u64::from(envelope.tag ^ envelope.context.rotate_left(16));
    let x = (x ^ x >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (x >> 32) as u32
}

impl KeyIndex {
    /// Enlarges the hash table to a total of `keys` keys.
    pub fn reserve(&mut self, keys: usize) {
        let room = (2 * keys).next_power_of_two().max(16);
        if room <= self.slots.len() {
            return;
        }
        for slot in std::mem::replace(&mut self.slots, vec![FREE; room]) {
            if slot.first != NONE {
                self.put(slot);
            }
        }
    }

    fn put(&mut self, slot: IndexSlot) {
        let mask = self.slots.len() - 1;
        let mut at = slot.hash as usize & mask;
        while self.slots[at].first != NONE {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }

    /// Finds the slot of the key equal to `envelope`. `has` returns whether a list entry has this envelope.
    #[inline]
    pub fn find(&self, envelope: &Envelope, has: impl Fn(u32) -> bool) -> Option<usize> {
        let (hash, mask) = (hash(envelope), self.slots.len().checked_sub(1)?);
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.first == NONE {
                return None;
            }
            if slot.hash == hash && has(slot.first) {
                return Some(at);
            }
            at = (at + 1) & mask;
        }
    }

    /// Slot of the hash table that a look-up of `envelope` reads first.
    #[inline]
    pub fn slot(&self, envelope: &Envelope) -> Option<&IndexSlot> {
        self.slots.get(hash(envelope) as usize & self.slots.len().checked_sub(1)?)
    }

    /// List entry that may be the first list entry of the key equal to `envelope`.
    #[inline]
    pub fn guess(&self, envelope: &Envelope) -> Option<u32> {
        self.slot(envelope).map(|slot| slot.first).filter(|first| *first != NONE)
    }

    /// First list entry of the key in slot `at`.
    #[inline]
    pub fn first(&self, at: usize) -> u32 {
        self.slots[at].first
    }

    /// Sets the first list entry of the key in slot `at`.
    pub fn set_first(&mut self, at: usize, first: u32) {
        self.slots[at].first = first;
    }

    /// Inserts a new key into the hash table.
    pub fn insert(&mut self, envelope: &Envelope, first: u32) {
        self.used += 1;
        self.reserve(self.used);
        self.put(IndexSlot { hash: hash(envelope), first });
    }

    /// Removes the key in slot `at`. Following keys are moved to earlier slots, so that look-ups still find these keys.
    pub fn remove(&mut self, at: usize) {
        self.used -= 1;
        let mask = self.slots.len() - 1;
        let (mut hole, mut next) = (at, (at + 1) & mask);
        while self.slots[next].first != NONE {
            let wanted = self.slots[next].hash as usize & mask;
            if next.wrapping_sub(wanted) & mask >= next.wrapping_sub(hole) & mask {
                self.slots[hole] = self.slots[next];
                hole = next;
            }
            next = (next + 1) & mask;
        }
        self.slots[hole] = FREE;
    }
}
