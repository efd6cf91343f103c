//! Lists of receives or messages in a matcher. Short lists are scanned. Long lists get a hash index at the first
//! look-up by key.

use std::collections::VecDeque;

use super::index::{IndexSlot, KeyIndex, NONE};
use super::wild::{WildKinds, WildOrder};
use super::{Envelope, Want};

/// Greatest number of entries of a short list.
const LONG: usize = 48;
/// Initial capacity of a long list in entries. A smaller capacity would cause more reallocations, which move entries
/// out of the host's caches.
const FIRST_ROOM: usize = 4 * LONG;
/// Length of a short list above which removing the first entry costs more than a long list would, because the other
/// entries move. A list that became long for this reason gets no hash index.
const MOVED: usize = 8;

/// List of receives or messages in the order of arrival.
#[derive(Debug)]
pub(super) enum List<K, T> {
    Short(Vec<(K, T)>),
    Long(Box<LongList<K, T>>),
}

/// A long list. Entries have consecutive sequence numbers, which wrap around. `index` contains the first entry of each
/// key, `wild` the order of messages by keys with wildcards. Both are empty until the first look-up that needs them, so
/// a caller that takes entries only in order does not pay for them.
#[derive(Debug)]
pub(super) struct LongList<K, T> {
    entries: VecDeque<ListEntry<K, T>>,
    /// Sequence number of `entries[0]`.
    first: u32,
    live: usize,
    indexed: bool,
    index: KeyIndex,
    /// Kinds of wildcards of the keys in `index`.
    kinds: WildKinds,
    wild: WildOrder,
}

/// An entry of a list, with the sequence number of the next entry of the same key. The first entry of a key also stores
/// the sequence number of the key's last entry.
#[derive(Debug)]
pub(super) struct ListEntry<K, T> {
    kept: Option<(K, T)>,
    next: u32,
    last: u32,
}

impl<K, T> ListEntry<K, T> {
    /// Returns the value of an entry that is still in the list.
    #[inline]
    pub fn value(&self) -> Option<&T> {
        self.kept.as_ref().map(|(_, value)| value)
    }
}

/// Common interface of the keys of messages (envelopes) and of the keys of receives (patterns).
pub(super) trait MatchKey: Copy {
    /// Envelope equal to this key. Wildcards are written as [`super::ANY`].
    fn envelope(&self) -> Envelope;
}

impl MatchKey for Envelope {
    #[inline]
    fn envelope(&self) -> Envelope {
        *self
    }
}

impl MatchKey for Want {
    #[inline]
    fn envelope(&self) -> Envelope {
        self.0
    }
}

impl<K: MatchKey, T> List<K, T> {
    pub fn len(&self) -> usize {
        match self {
            List::Short(entries) => entries.len(),
            List::Long(long) => long.live,
        }
    }

    /// Adds an entry to the list. The entry is constructed in place.
    #[inline(always)]
    pub fn push(&mut self, entry: impl FnOnce() -> (K, T)) {
        match self {
            List::Short(entries) if entries.len() < LONG && entries.len() < entries.capacity() => entries.push(entry()),
            _ => {
                let (key, value) = entry();
                self.push_beyond(key, value);
            }
        }
    }

    /// Like [`List::push`], for a list that is long or must grow.
    #[inline(never)]
    fn push_beyond(&mut self, key: K, value: T) {
        match self {
            List::Short(entries) if entries.len() < LONG => {
                // Most ranks of a large machine have one, two or six entries in a list, so greater capacities would waste
                // memory.
                if entries.capacity() == entries.len() && entries.len() < 4 {
                    entries.reserve_exact(if entries.is_empty() { 1 } else { entries.len().max(2) });
                }
                entries.push((key, value));
            }
            List::Short(_) => {
                self.lengthen();
                self.push_beyond(key, value);
            }
            List::Long(long) => long.push(key, value),
        }
    }

    fn lengthen(&mut self) {
        if let List::Short(entries) = self {
            let mut long = LongList::new();
            long.entries.reserve(FIRST_ROOM);
            entries.drain(..).for_each(|(key, value)| long.push(key, value));
            *self = List::Long(Box::new(long));
        }
    }

    /// Removes the list entry with the value `value`.
    pub fn remove(&mut self, value: &T) -> bool
    where
        T: PartialEq,
    {
        let at = match self {
            List::Short(entries) => entries.iter().position(|(_, other)| other == value),
            List::Long(long) => long.position(|(_, other)| other == value),
        };
        let Some(at) = at else { return false };
        match self {
            List::Short(entries) => {
                entries.remove(at);
            }
            List::Long(long) => {
                long.take(long.number(at));
                self.shorten();
            }
        }
        true
    }

    /// Calls `take` for each entry of the list, in the order of arrival.
    pub fn each(&self, mut take: impl FnMut(&K, &T)) {
        match self {
            List::Short(entries) => entries.iter().for_each(|(key, value)| take(key, value)),
            List::Long(long) => {
                let live = long.entries.iter().filter_map(|entry| entry.kept.as_ref());
                live.for_each(|(key, value)| take(key, value));
            }
        }
    }

    /// Slot of the hash index that a look-up of `envelope` reads first, if the list has a hash index.
    pub fn slot(&self, envelope: &Envelope) -> Option<&IndexSlot> {
        match self {
            List::Short(_) => None,
            List::Long(long) => long.index.slot(envelope),
        }
    }

    /// Entry that a look-up of `envelope` reads first, if the list has a hash index. The entry may belong to another
    /// key.
    #[inline]
    pub fn guess(&self, envelope: &Envelope) -> Option<&ListEntry<K, T>> {
        match self {
            List::Short(_) => None,
            List::Long(long) => long.entries.get(long.at(long.index.guess(envelope)?)),
        }
    }

    /// Releases the memory of an empty long list.
    fn shorten(&mut self) {
        if self.len() == 0 {
            *self = List::Short(Vec::new());
        }
    }
}

impl<T> List<Envelope, T> {
    /// Removes and returns the first message with the envelope `envelope`.
    pub fn take_exact(&mut self, envelope: &Envelope) -> Option<(Envelope, T)> {
        let taken = match self {
            List::Short(entries) => {
                let at = entries.iter().position(|(key, _)| key == envelope)?;
                return Some(entries.remove(at));
            }
            List::Long(long) => {
                let slot = long.slot_of(envelope)?;
                long.take_at(slot)
            }
        };
        self.shorten();
        Some(taken)
    }

    /// Removes and returns the first message that the pattern `want`, which has wildcards, accepts.
    pub fn take_wild(&mut self, want: Want) -> Option<(Envelope, T)> {
        if let List::Short(entries) = self {
            let at = entries.iter().position(|(key, _)| want.takes(key))?;
            if at + MOVED >= entries.len() {
                return Some(entries.remove(at));
            }
            self.lengthen();
        }
        let taken = match self {
            List::Short(_) => unreachable!("it has been made long"),
            List::Long(long) => {
                let number = long.first_for(want)?;
                long.take(number)
            }
        };
        self.shorten();
        Some(taken)
    }

    /// Returns the first message that the pattern `want` accepts.
    pub fn first(&mut self, want: Want) -> Option<(Envelope, &T)> {
        match self {
            List::Short(entries) => entries.iter().find(|(key, _)| want.takes(key)).map(|(key, value)| (*key, value)),
            List::Long(long) => {
                let number = long.first_for(want)?;
                let at = long.at(number);
                long.entries[at].kept.as_ref().map(|(key, value)| (*key, value))
            }
        }
    }
}

impl<T> LongList<Envelope, T> {
    /// Returns the sequence number of the first message that the pattern `want` accepts.
    fn first_for(&mut self, want: Want) -> Option<u32> {
        let (first, entries) = (self.first, &self.entries);
        let kept = |at: usize| entries.get(at).and_then(|entry| entry.kept.as_ref());
        let near = (0..entries.len().min(LONG)).find(|&at| kept(at).is_some_and(|(key, _)| want.takes(key)));
        if near.is_some() || entries.len() <= LONG {
            return near.map(|at| self.number(at));
        }
        if want.kind().is_none() {
            let slot = self.slot_of(&want.0)?;
            return Some(self.index.first(slot));
        }
        let keys = (0..).zip(entries).filter_map(|(at, entry)| Some((first.wrapping_add(at), entry.kept.as_ref()?.0)));
        self.wild.first(want, keys, |number| kept(number.wrapping_sub(first) as usize).is_some())
    }
}

impl<T> List<Want, T> {
    /// Removes and returns the first receive that accepts a message with `envelope`.
    #[inline(always)]
    pub fn take_taking(&mut self, envelope: &Envelope) -> Option<(Want, T)> {
        match self {
            List::Short(entries) => {
                let at = entries.iter().position(|(want, _)| want.takes(envelope))?;
                Some(entries.remove(at))
            }
            List::Long(long) => {
                let taken = long.take_taking(envelope)?;
                self.shorten();
                Some(taken)
            }
        }
    }
}

impl<T> LongList<Want, T> {
    #[inline(never)]
    fn take_taking(&mut self, envelope: &Envelope) -> Option<(Want, T)> {
        let exact = self.slot_of(envelope);
        let wild = self.kinds.of(envelope).filter_map(|key| self.find(&key));
        let slot = exact.into_iter().chain(wild).min_by_key(|&slot| self.at(self.index.first(slot)))?;
        Some(self.take_at(slot))
    }
}

impl<K: MatchKey, T> LongList<K, T> {
    fn new() -> Self {
        LongList {
            entries: VecDeque::new(),
            first: 0,
            live: 0,
            indexed: false,
            index: KeyIndex::default(),
            kinds: WildKinds::default(),
            wild: WildOrder::default(),
        }
    }

    /// Position in the list of the entry with sequence number `number`.
    #[inline]
    fn at(&self, number: u32) -> usize {
        number.wrapping_sub(self.first) as usize
    }

    /// Sequence number of the entry at position `at` in the list.
    fn number(&self, at: usize) -> u32 {
        self.first.wrapping_add(at as u32)
    }

    fn position(&self, is: impl Fn(&(K, T)) -> bool) -> Option<usize> {
        self.entries.iter().position(|entry| entry.kept.as_ref().is_some_and(&is))
    }

    fn key(&self, number: u32) -> &K {
        let entry = &self.entries[self.at(number)];
        &entry.kept.as_ref().expect("the index holds live entries only").0
    }

    fn push(&mut self, key: K, value: T) {
        let number = self.number(self.entries.len());
        // The value `NONE` is never used as a sequence number.
        if number == NONE {
            self.compact();
            return self.push(key, value);
        }
        self.entries.push_back(ListEntry { kept: Some((key, value)), next: NONE, last: number });
        if self.indexed {
            self.list(number, key);
        }
        self.wild.push(number, &key.envelope(), self.live);
        self.live += 1;
    }

    /// Adds the key of the entry with sequence number `number` to the hash index.
    fn list(&mut self, number: u32, key: K) {
        let envelope = key.envelope();
        self.kinds.add(&envelope);
        match self.find(&envelope) {
            None => self.index.insert(&envelope, number),
            Some(slot) => {
                let first = self.at(self.index.first(slot));
                let last = std::mem::replace(&mut self.entries[first].last, number);
                let last = self.at(last);
                self.entries[last].next = number;
            }
        }
    }

    /// Slot of the key `envelope` in the hash index.
    #[inline]
    fn find(&self, envelope: &Envelope) -> Option<usize> {
        self.index.find(envelope, |number| self.key(number).envelope() == *envelope)
    }

    /// Slot of exactly the key `envelope` in the hash index. The first call creates the hash index.
    fn slot_of(&mut self, envelope: &Envelope) -> Option<usize> {
        if !self.indexed {
            self.indexed = true;
            self.index.reserve(self.live);
            for at in 0..self.entries.len() {
                if let Some(key) = self.entries[at].kept.as_ref().map(|entry| entry.0) {
                    self.list(self.number(at), key);
                }
            }
        }
        self.find(envelope)
    }

    /// Removes and returns the first entry of the key in the index slot `slot`.
    fn take_at(&mut self, slot: usize) -> (K, T) {
        let number = self.index.first(slot);
        self.unlist_first(slot);
        self.take_out(number)
    }

    fn take(&mut self, number: u32) -> (K, T) {
        if self.indexed {
            let envelope = self.key(number).envelope();
            self.unlist(number, &envelope);
        }
        self.take_out(number)
    }

    /// Removes and returns the entry with sequence number `number`, which must not be in the hash index.
    fn take_out(&mut self, number: u32) -> (K, T) {
        let at = self.at(number);
        let taken = self.entries[at].kept.take().expect("the entry is live");
        self.live -= 1;
        // Before this removal, the first entry was still in the list. The list can therefore begin with removed entries
        // only if the first entry was removed now.
        if at == 0 {
            while let Some(ListEntry { kept: None, .. }) = self.entries.front() {
                self.entries.pop_front();
                self.first = self.first.wrapping_add(1);
            }
        }
        if self.entries.len() > 2 * self.live + LONG {
            self.compact();
        }
        taken
    }

    /// Removes the first entry of the key in the index slot `slot` from the hash index.
    fn unlist_first(&mut self, slot: usize) {
        let ListEntry { next, last, .. } = self.entries[self.at(self.index.first(slot))];
        if next == NONE {
            self.index.remove(slot);
        } else {
            self.index.set_first(slot, next);
            let next = self.at(next);
            self.entries[next].last = last;
        }
    }

    /// Removes the entry with sequence number `number` and key `envelope` from the hash index.
    fn unlist(&mut self, number: u32, envelope: &Envelope) {
        let slot = self.find(envelope).expect("an entry is indexed");
        let first = self.index.first(slot);
        if first == number {
            // In the common case, the entry is the first entry of its key. Other entries are removed only if a receive
            // is withdrawn.
            return self.unlist_first(slot);
        }
        let next = self.entries[self.at(number)].next;
        let mut before = first;
        while self.entries[self.at(before)].next != number {
            before = self.entries[self.at(before)].next;
        }
        let (at, first) = (self.at(before), self.at(first));
        self.entries[at].next = next;
        if next == NONE {
            self.entries[first].last = before;
        }
    }

    /// Gives the entries in the list consecutive sequence numbers. Otherwise an old entry at the front would prevent
    /// the reuse of the memory of all later removed entries.
    fn compact(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        *self = LongList { indexed: self.indexed, ..LongList::new() };
        entries.into_iter().filter_map(|entry| entry.kept).for_each(|(key, value)| self.push(key, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_end_begin_anew() {
        let mut long = LongList { first: NONE - 2, ..LongList::new() };
        let envelope = |source| Envelope { context: 1, source, tag: 7 };
        assert_eq!(long.slot_of(&envelope(0)), None);
        (0..5).for_each(|value| long.push(Want(envelope(value % 2)), value));
        for (source, value) in [(1, 1), (0, 0), (0, 2), (1, 3), (0, 4)] {
            let slot = long.slot_of(&envelope(source)).unwrap();
            assert_eq!(long.take_at(slot).1, value);
        }
        assert_eq!((long.live, long.entries.len(), long.slot_of(&envelope(0))), (0, 0, None));
    }
}
