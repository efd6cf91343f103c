//! The lists of a matcher: short ones are scanned, long ones indexed once something is looked for by its key.

use std::collections::VecDeque;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::{ANY, Envelope, Want};

/// More entries than these make a long list.
const LONG: usize = 48;
/// Of so many, taking one from the front by moving the others costs more than a long list, which is not indexed for
/// that.
const MOVED: usize = 8;

/// Entries in order of their coming.
#[derive(Debug)]
pub(super) enum List<K, T> {
    Short(Vec<(K, T)>),
    Long(Box<LongList<K, T>>),
}

/// Entries by number; the index gives the numbers of each exact key, `wild` those of patterns with wildcards. Both are
/// empty until something is looked for by its key: who takes whatever comes needs neither.
#[derive(Debug)]
pub(super) struct LongList<K, T> {
    entries: VecDeque<Option<(K, T)>>,
    /// The number of `entries[0]`.
    first: u64,
    live: usize,
    indexed: bool,
    index: FxHashMap<Envelope, EntryNumbers>,
    wild: VecDeque<u64>,
}

/// The numbers of the entries of a key, in ascending order. Mostly there is one, which takes no room of its own.
#[derive(Debug)]
enum EntryNumbers {
    One(u64),
    Many(VecDeque<u64>),
}

impl EntryNumbers {
    fn first(&self) -> u64 {
        match self {
            EntryNumbers::One(number) => *number,
            EntryNumbers::Many(numbers) => *numbers.front().expect("a listed key has entries"),
        }
    }

    fn push(&mut self, number: u64) {
        match self {
            EntryNumbers::One(first) => *self = EntryNumbers::Many(VecDeque::from([*first, number])),
            EntryNumbers::Many(numbers) => numbers.push_back(number),
        }
    }

    /// Removes one that is there; true if it was the last.
    fn remove(&mut self, number: u64) -> bool {
        match self {
            EntryNumbers::One(only) => {
                debug_assert_eq!(*only, number);
                true
            }
            EntryNumbers::Many(numbers) => {
                // At the front, unless it is withdrawn: among equal keys the first is taken.
                let at = numbers.iter().position(|&other| other == number).expect("an exact entry is indexed");
                numbers.remove(at);
                numbers.is_empty()
            }
        }
    }
}

/// What both kinds of key can tell.
pub(super) trait Key: Copy {
    /// The envelope this key is equal to, if it has no wildcards.
    fn exact(&self) -> Option<Envelope>;
}

impl Key for Envelope {
    fn exact(&self) -> Option<Envelope> {
        Some(*self)
    }
}

impl Key for Want {
    #[inline]
    fn exact(&self) -> Option<Envelope> {
        (self.0.source != ANY && self.0.tag != ANY).then_some(self.0)
    }
}

impl<K: Key, T> List<K, T> {
    pub fn len(&self) -> usize {
        match self {
            List::Short(entries) => entries.len(),
            List::Long(long) => long.live,
        }
    }

    pub fn push(&mut self, key: K, value: T) {
        match self {
            List::Short(entries) if entries.len() < LONG => {
                // Most ranks of a large machine hold one or two: do not take room for four.
                if entries.capacity() == entries.len() && entries.len() < 4 {
                    entries.reserve_exact(1 + entries.len());
                }
                entries.push((key, value));
            }
            List::Short(_) => {
                self.lengthen();
                self.push(key, value);
            }
            List::Long(long) => long.push(key, value),
        }
    }

    fn lengthen(&mut self) {
        if let List::Short(entries) = self {
            let mut long = LongList::new();
            entries.drain(..).for_each(|(key, value)| long.push(key, value));
            *self = List::Long(Box::new(long));
        }
    }

    pub fn take_exact(&mut self, envelope: &Envelope) -> Option<(K, T)> {
        let taken = match self {
            List::Short(entries) => {
                let at = entries.iter().position(|(key, _)| key.exact().as_ref() == Some(envelope))?;
                return Some(entries.remove(at));
            }
            List::Long(long) => {
                let number = long.number_of(envelope)?;
                long.take(number)
            }
        };
        self.shorten();
        Some(taken)
    }

    pub fn take_first(&mut self, takes: impl Fn(&K) -> bool) -> Option<(K, T)> {
        if let List::Short(entries) = self {
            let at = entries.iter().position(|(key, _)| takes(key))?;
            if at + MOVED >= entries.len() {
                return Some(entries.remove(at));
            }
            self.lengthen();
        }
        let taken = match self {
            List::Short(_) => unreachable!("it has been made long"),
            List::Long(long) => {
                let at = long.entries.iter().position(|entry| entry.as_ref().is_some_and(|(key, _)| takes(key)))?;
                long.take(long.first + at as u64)
            }
        };
        self.shorten();
        Some(taken)
    }

    /// Removes the entry of this value.
    pub fn remove(&mut self, value: &T) -> bool
    where
        T: PartialEq,
    {
        let at = match self {
            List::Short(entries) => entries.iter().position(|(_, other)| other == value),
            List::Long(long) => {
                long.entries.iter().position(|entry| entry.as_ref().is_some_and(|(_, other)| other == value))
            }
        };
        let Some(at) = at else { return false };
        match self {
            List::Short(entries) => {
                entries.remove(at);
            }
            List::Long(long) => {
                long.take(long.first + at as u64);
                self.shorten();
            }
        }
        true
    }

    pub fn first(&self, takes: impl Fn(&K) -> bool) -> Option<(K, &T)> {
        match self {
            List::Short(entries) => entries.iter().find(|(key, _)| takes(key)).map(|(key, value)| (*key, value)),
            List::Long(long) => {
                long.entries.iter().flatten().find(|(key, _)| takes(key)).map(|(key, value)| (*key, value))
            }
        }
    }

    /// Calls `take` for each entry, in order.
    pub fn each(&self, mut take: impl FnMut(&K, &T)) {
        match self {
            List::Short(entries) => entries.iter().for_each(|(key, value)| take(key, value)),
            List::Long(long) => long.entries.iter().flatten().for_each(|(key, value)| take(key, value)),
        }
    }

    /// A long list that has emptied gives its room back.
    fn shorten(&mut self) {
        if self.len() == 0 {
            *self = List::Short(Vec::new());
        }
    }
}

impl<T> List<Want, T> {
    /// Takes the first receive that takes `envelope`.
    pub fn take_taking(&mut self, envelope: &Envelope) -> Option<(Want, T)> {
        let taken = match self {
            List::Short(entries) => {
                let at = entries.iter().position(|(want, _)| want.takes(envelope))?;
                return Some(entries.remove(at));
            }
            List::Long(long) => {
                let exact = long.number_of(envelope);
                let wild = long.wild.iter().copied().find(|&number| long.key(number).takes(envelope));
                let number = [exact, wild].into_iter().flatten().min()?;
                long.take(number)
            }
        };
        self.shorten();
        Some(taken)
    }
}

impl<K: Key, T> LongList<K, T> {
    fn new() -> Self {
        LongList {
            entries: VecDeque::new(),
            first: 0,
            live: 0,
            indexed: false,
            index: FxHashMap::default(),
            wild: VecDeque::new(),
        }
    }

    fn key(&self, number: u64) -> &K {
        let entry = &self.entries[(number - self.first) as usize];
        &entry.as_ref().expect("the index holds live entries only").0
    }

    fn push(&mut self, key: K, value: T) {
        if self.indexed {
            self.list(self.first + self.entries.len() as u64, key);
        }
        self.entries.push_back(Some((key, value)));
        self.live += 1;
    }

    /// Puts the key of entry `number` into the index.
    fn list(&mut self, number: u64, key: K) {
        match key.exact() {
            Some(envelope) => match self.index.entry(envelope) {
                Entry::Vacant(entry) => _ = entry.insert(EntryNumbers::One(number)),
                Entry::Occupied(mut entry) => entry.get_mut().push(number),
            },
            None => self.wild.push_back(number),
        }
    }

    /// The number of the first entry with exactly this key; from now on there is an index.
    fn number_of(&mut self, envelope: &Envelope) -> Option<u64> {
        if !self.indexed {
            self.indexed = true;
            self.index.reserve(self.live);
            for at in 0..self.entries.len() {
                if let Some(key) = self.entries[at].as_ref().map(|entry| entry.0) {
                    self.list(self.first + at as u64, key);
                }
            }
        }
        self.index.get(envelope).map(EntryNumbers::first)
    }

    fn take(&mut self, number: u64) -> (K, T) {
        let taken = self.entries[(number - self.first) as usize].take().expect("the entry is live");
        self.live -= 1;
        match taken.0.exact() {
            _ if !self.indexed => {}
            Some(envelope) => {
                let Entry::Occupied(mut entry) = self.index.entry(envelope) else {
                    unreachable!("an exact entry is indexed")
                };
                if entry.get_mut().remove(number) {
                    entry.remove();
                }
            }
            None => {
                // Most often at the front, from where removing is cheap.
                let at = self.wild.iter().position(|&other| other == number).expect("a wild entry is listed");
                self.wild.remove(at);
            }
        }
        while let Some(None) = self.entries.front() {
            self.entries.pop_front();
            self.first += 1;
        }
        if self.entries.len() > 2 * self.live + LONG {
            self.compact();
        }
        taken
    }

    /// Renumbers the live entries without holes: an old entry at the front must not keep the room of all after it.
    fn compact(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        *self = LongList { indexed: self.indexed, ..LongList::new() };
        entries.into_iter().flatten().for_each(|(key, value)| self.push(key, value));
    }
}
