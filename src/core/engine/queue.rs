//! The pending events of a worker: a monotone priority queue.
//!
//! Events are never earlier than the last one taken, which a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990) turns
//! into sequential memory traffic: a bucket holds the times that first differ from `last` in one certain digit of four
//! bits, by what this digit is. The lowest buckets are sorted as a whole while they are small, instead of being split
//! down to single times, and become the run that events are taken from; what is pushed into the time span of the run
//! goes to a small binary heap beside it. What is moved into a bucket stays where it is until the bucket is split, and
//! the run may be filled up before it is empty, so that what comes next can be brought into the caches.
//!
//! ```text
//!   taken ──┬── run   (sorted, next event at the end)      times ≤ last
//!           └── near  (binary heap)                        times ≤ last
//!   buckets[i][d]: times > last whose highest digit that differs from last is digit i, and is d
//! ```

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::rank::Rank;
use crate::units::SimTime;

use super::event::{Event, EventKey, EventKind};
use super::prefetch::prefetch;

/// A bucket of at most this many events is sorted rather than split.
const SORTED_AT_ONCE: usize = 20;
/// So many events of a bucket are kept side by side.
const PIECE: usize = 64;
/// Bits of a digit, and how many digits a time has.
const DIGIT: usize = 4;
const DIGITS: usize = 64 / DIGIT;
/// So many bodies are kept side by side.
const CHUNK: usize = 512;

/// The pending events of a worker, taken in order of their keys.
#[derive(Debug)]
pub struct EventQueue {
    run: Vec<QueueEntry>,
    /// What is left of the run while it is filled up; kept for its room.
    left: Vec<QueueEntry>,
    near: BinaryHeap<QueueEntry>,
    last: u64,
    buckets: [[Bucket; 1 << DIGIT]; DIGITS],
    /// Empty pieces of buckets. What has been emptied last is filled first: it is in the caches.
    spare: Vec<Vec<QueueEntry>>,
    /// Bit d is set in occupied[i] if buckets[i][d] holds events, and bit i in `levels` if any of buckets[i] does.
    occupied: [u16; DIGITS],
    levels: u16,
    len: usize,
    bodies: Slab,
    /// So many events the run has at least, if there are so many and none is pushed into its span.
    known: usize,
}

/// A key and where the event's body is: what is moved and compared is kept small.
#[derive(Clone, Copy, Debug)]
struct QueueEntry {
    time: u64,
    /// Destination, then source.
    ranks: u64,
    sequence: u32,
    slot: u32,
}

/// The events of a bucket: a list of all would be moved each time it grows.
#[derive(Debug, Default)]
struct Bucket {
    /// The last of them, at most [`PIECE`].
    top: Vec<QueueEntry>,
    /// The others, so many each.
    full: Vec<Vec<QueueEntry>>,
}

/// The bodies of pending events by slot, in pieces: a list of all would be moved each time it grows.
#[derive(Debug, Default)]
struct Slab {
    chunks: Vec<Box<[EventKind; CHUNK]>>,
    free: Vec<u32>,
}

impl QueueEntry {
    /// Destination and source.
    #[inline(always)]
    fn both(&self) -> [Rank; 2] {
        [(self.ranks >> 32) as Rank, self.ranks as Rank]
    }

    fn key(&self) -> EventKey {
        EventKey {
            time: SimTime::from_ps(self.time),
            to: (self.ranks >> 32) as u32,
            from: self.ranks as u32,
            sequence: self.sequence,
        }
    }
}

impl Ord for QueueEntry {
    /// The later event is the lesser, so that the standard heap and the end of a sorted run give the earliest.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let (mine, theirs) = ((self.time, self.ranks), (other.time, other.ranks));
        theirs.cmp(&mine).then_with(|| (other.sequence.wrapping_sub(self.sequence) as i32).cmp(&0))
    }
}

impl PartialOrd for QueueEntry {
    /// What sorting asks for: most entries differ in what is one number here.
    #[inline(always)]
    fn lt(&self, other: &Self) -> bool {
        let wide = |entry: &Self| u128::from(entry.time) << 64 | u128::from(entry.ranks);
        let (mine, theirs) = (wide(self), wide(other));
        mine > theirs || (mine == theirs && self.cmp(other).is_lt())
    }

    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for QueueEntry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for QueueEntry {}

impl Slab {
    #[inline(always)]
    fn put(&mut self, body: impl Fn() -> EventKind) -> u32 {
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => self.more_room(body()),
        };
        self.chunks[slot as usize / CHUNK][slot as usize % CHUNK] = body();
        slot
    }

    #[cold]
    #[inline(never)]
    fn more_room(&mut self, any: EventKind) -> u32 {
        let first = (self.chunks.len() * CHUNK) as u32;
        self.chunks.push(vec![any; CHUNK].try_into().expect("a chunk"));
        self.free.extend((first + 1..first + CHUNK as u32).rev());
        first
    }

    #[inline(always)]
    fn get(&self, slot: u32) -> &EventKind {
        &self.chunks[slot as usize / CHUNK][slot as usize % CHUNK]
    }

    #[inline(always)]
    fn take(&mut self, slot: u32) -> EventKind {
        self.free.push(slot);
        *self.get(slot)
    }
}

impl Bucket {
    fn len(&self) -> usize {
        self.full.len() * PIECE + self.top.len()
    }

    #[inline(always)]
    fn push(&mut self, entry: QueueEntry, spare: &mut Vec<Vec<QueueEntry>>) {
        if self.top.len() == self.top.capacity() {
            self.begin_piece(spare);
        }
        self.top.push(entry);
    }

    #[inline(never)]
    fn begin_piece(&mut self, spare: &mut Vec<Vec<QueueEntry>>) {
        let piece = spare.pop().unwrap_or_else(|| Vec::with_capacity(PIECE));
        let top = std::mem::replace(&mut self.top, piece);
        if !top.is_empty() {
            self.full.push(top);
        }
    }
}

impl Default for EventQueue {
    fn default() -> Self {
        EventQueue {
            run: Vec::new(),
            left: Vec::new(),
            near: BinaryHeap::new(),
            last: 0,
            buckets: Default::default(),
            spare: Vec::new(),
            occupied: [0; DIGITS],
            levels: 0,
            len: 0,
            bodies: Slab::default(),
            known: 0,
        }
    }
}

impl EventQueue {
    /// Adds an event, which must not be earlier than the last one taken.
    ///
    /// The body is made where it stays: copying what was just written piece by piece stalls the processor for longer
    /// than the rest of a push takes.
    #[inline(always)]
    pub fn push(&mut self, key: EventKey, body: impl Fn() -> EventKind) {
        let EventKey { time, to, from, sequence } = key;
        let slot = self.bodies.put(body);
        let entry = QueueEntry { time: time.as_ps(), ranks: u64::from(to) << 32 | u64::from(from), sequence, slot };
        if self.len == 0 {
            // Alone, it is the whole run.
            self.last = entry.time;
            self.run.push(entry);
        } else if entry.time <= self.last {
            self.near.push(entry);
        } else {
            self.put(entry);
        }
        self.len += 1;
    }

    #[inline]
    fn put(&mut self, entry: QueueEntry) {
        let level = (63 - (entry.time ^ self.last).leading_zeros() as usize) / DIGIT;
        let digit = (entry.time >> (level * DIGIT)) as usize % (1 << DIGIT);
        self.buckets[level][digit].push(entry, &mut self.spare);
        self.occupied[level] |= 1 << digit;
        self.levels |= 1 << level;
    }

    /// The time of the earliest event.
    #[inline(always)]
    pub fn first_time(&mut self) -> SimTime {
        self.refill_if_short();
        let of = |entry: Option<&QueueEntry>| entry.map_or(u64::MAX, |entry| entry.time);
        SimTime::from_ps(of(self.run.last()).min(of(self.near.peek())))
    }

    /// The key of the earliest event.
    pub fn first_key(&mut self) -> Option<EventKey> {
        self.first_time();
        // The greater entry is the earlier event.
        self.run.last().max(self.near.peek()).map(QueueEntry::key)
    }

    /// Takes the earliest event if it happens before `end`.
    #[inline(always)]
    pub fn pop_before(&mut self, end: SimTime) -> Option<Event> {
        self.refill_if_short();
        let entry = match (self.run.last(), self.near.peek()) {
            (None, None) => return None,
            (Some(run), near) if near.is_none_or(|near| near < run) => {
                if run.time >= end.as_ps() {
                    return None;
                }
                self.run.pop()?
            }
            (_, near) => {
                if near?.time >= end.as_ps() {
                    return None;
                }
                self.near.pop()?
            }
        };
        self.len -= 1;
        Some(Event { key: entry.key(), body: self.bodies.take(entry.slot) })
    }

    /// The next event, most likely, after one has been taken: for whom and from whom it is, and its body. That of the
    /// event behind it is brought into the caches.
    #[inline(always)]
    pub fn foresee(&self) -> Option<([Rank; 2], &EventKind)> {
        self.foresee_body(1);
        let next = self.run.last().or(self.near.peek())?;
        Some((next.both(), self.bodies.get(next.slot)))
    }

    /// As [`EventQueue::foresee`], of the event that comes after so many others, if that is known.
    #[inline(always)]
    pub fn ahead(&self, by: usize) -> Option<([Rank; 2], &EventKind)> {
        let entry = &self.run[self.run.len().checked_sub(by + 1)?];
        Some((entry.both(), self.bodies.get(entry.slot)))
    }

    /// Brings the body of the event that comes after so many others into the caches.
    #[inline(always)]
    pub fn foresee_body(&self, by: usize) {
        if let Some(at) = self.run.len().checked_sub(by + 1) {
            prefetch(self.bodies.get(self.run[at].slot), usize::MAX);
        }
    }

    /// From now on so many events are known beforehand, as a rule.
    pub fn know(&mut self, events: usize) {
        self.known = events;
    }

    #[inline(always)]
    fn refill_if_short(&mut self) {
        if self.run.len() <= self.known && self.near.is_empty() && self.levels != 0 {
            self.refill();
        }
    }

    /// Moves the earliest events into the run. Keeps the meaning of the other buckets: `last` changes only in the
    /// digits below the one that the lowest buckets stand for, and in this one to what is less than in the others.
    #[inline(never)]
    fn refill(&mut self) {
        // What is left of the run comes before all that is moved.
        std::mem::swap(&mut self.run, &mut self.left);
        while self.run.is_empty() && self.levels != 0 {
            let level = self.levels.trailing_zeros() as usize;
            let digit = self.occupied[level].trailing_zeros() as usize;
            if self.buckets[level][digit].len() <= SORTED_AT_ONCE {
                self.take_small(level);
                break;
            }
            let Bucket { top, full } = std::mem::take(&mut self.buckets[level][digit]);
            self.empty(level, digit);
            let times = full.iter().flatten().chain(&top).map(|entry| entry.time);
            self.last = times.min().expect("an occupied bucket");
            // In the order in which they were pushed: what is in order then is sorted at once.
            for mut piece in full.into_iter().chain([top]) {
                for &entry in &piece {
                    if entry.time == self.last {
                        self.run.push(entry);
                    } else {
                        self.put(entry);
                    }
                }
                piece.clear();
                self.spare.push(piece);
            }
        }
        self.run.sort();
        self.run.append(&mut self.left);
    }

    /// Moves the first buckets of a level, the lowest that has any, into the run, as long as they are small together.
    fn take_small(&mut self, level: usize) {
        // The digits below: the span of each bucket is now within the run's.
        let span = (1u64 << (level * DIGIT)) - 1;
        while self.occupied[level] != 0 {
            let digit = self.occupied[level].trailing_zeros() as usize;
            let bucket = &mut self.buckets[level][digit];
            if self.run.len() + bucket.len() > SORTED_AT_ONCE {
                break;
            }
            let entries = &mut bucket.top;
            entries.iter().for_each(|entry| prefetch(self.bodies.get(entry.slot), usize::MAX));
            self.last = entries[0].time | span;
            self.run.append(entries);
            self.empty(level, digit);
        }
        // Buckets come in order of their times, and the run ends with the next event: little is left to sort.
        self.run.reverse();
    }

    /// A bucket has no events any more.
    #[inline]
    fn empty(&mut self, level: usize, digit: usize) {
        self.occupied[level] &= !(1 << digit);
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn push(queue: &mut EventQueue, time: u64, to: u32, sequence: u32) {
        let key = EventKey { time: SimTime::from_ps(time), to, from: 0, sequence };
        queue.push(key, || EventKind::Wake { task: 0, turn: 0 });
    }

    proptest! {
        /// Pushes lie ahead of the time taken last by spans of all magnitudes, zero included.
        #[test]
        fn events_come_in_order_of_their_keys(
            steps in prop::collection::vec((0..4u8, 0..64u32, any::<u64>(), 0..4u32), 1..3000),
            known in 0..10usize,
        ) {
            let mut queue = EventQueue::default();
            queue.know(known);
            let mut reference = std::collections::BTreeMap::new();
            let mut now = 0u64;
            for (sequence, (action, bits, noise, to)) in (0..).zip(steps) {
                if action == 0 {
                    let expected = reference.pop_first().map(|((time, to, sequence), ())| (time, to, sequence));
                    prop_assert_eq!(queue.first_time() != SimTime::NEVER, expected.is_some());
                    let taken = queue.pop_before(SimTime::NEVER);
                    let taken = taken.map(|e| (e.key.time.as_ps(), e.key.to, e.key.sequence));
                    prop_assert_eq!(taken, expected);
                    now = taken.map_or(now, |(time, _, _)| time);
                } else {
                    let time = now.saturating_add(noise.checked_shr(bits).unwrap_or(0)).min(u64::MAX - 1);
                    push(&mut queue, time, to, sequence);
                    reference.insert((time, to, sequence), ());
                }
                prop_assert_eq!(queue.len, reference.len());
            }
        }
    }

    #[test]
    fn many_events_at_few_times_come_in_order() {
        let mut queue = EventQueue::default();
        for sequence in 0..100_000u32 {
            push(&mut queue, u64::from(sequence % 7) << 40, sequence.wrapping_mul(2_654_435_761), sequence);
        }
        let mut before = None;
        while let Some(event) = queue.pop_before(SimTime::NEVER) {
            assert!(before < Some(event.key));
            before = Some(event.key);
        }
        assert_eq!(queue.len, 0);
    }

    #[test]
    fn nothing_is_taken_at_or_past_the_end_of_the_window() {
        let mut queue = EventQueue::default();
        push(&mut queue, 5, 0, 0);
        assert!(queue.pop_before(SimTime::from_ps(5)).is_none());
        assert!(queue.pop_before(SimTime::from_ps(6)).is_some());
    }
}
