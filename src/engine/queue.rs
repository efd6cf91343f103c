//! Pending event set of a worker, implemented as a monotone priority queue.
//!
//! A pushed event is never earlier than the last event taken. A radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990) uses
//! this property for sequential memory access. All times in a bucket have the same highest digit of four bits that
//! differs from `last`, with the same position and value. While the lowest buckets are small, they are sorted together
//! and become the run: the sorted events that are taken next. Small buckets are not split down to single times. Events
//! that are pushed into the time span of the run are stored in a small binary heap. If the heap grows, its events and
//! the run return to buckets. An entry of a bucket is not moved until the bucket is split. The run may be refilled
//! before it is empty, so that the next events can be prefetched.
//!
//! ```text
//!   taken ──┬── run   (sorted, next event at the end)      times ≤ last
//!           └── near  (binary heap)                        times ≤ last
//!   buckets[i][d]: times > last whose highest digit that differs from last is digit i, and is d
//! ```

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use mcpsim_base::rank::Rank;
use mcpsim_base::units::SimTime;

use super::event::{Event, EventKey, EventKind};
use super::prefetch::prefetch;

/// Buckets of at most this number of events are sorted, and larger buckets are split.
const SORTED_AT_ONCE: usize = 20;
/// Number of entries of the binary heap above which the entries return to buckets.
const MOST_NEAR: usize = 32;
/// Number of entries in each piece of a bucket of the queue.
const PIECE: usize = 64;
/// Greatest number of empty pieces that the queue keeps for reuse. Millions of events at equal times empty as many
/// pieces at once.
const MOST_SPARE: usize = 1024;
/// Number of bits of a digit, and number of digits of a time.
const DIGIT: usize = 4;
const DIGITS: usize = 64 / DIGIT;
/// Number of event bodies in each chunk of the slab.
const CHUNK: usize = 512;

/// Pending events of a worker, taken in the order of the events' keys.
#[derive(Debug)]
pub struct EventQueue {
    run: Vec<QueueEntry>,
    /// Remaining entries of the run while the run is refilled; the allocation is reused.
    left: Vec<QueueEntry>,
    near: BinaryHeap<QueueEntry>,
    /// Length of `near` above which its entries return to buckets.
    most_near: usize,
    last: u64,
    /// Time of the last event taken.
    taken: u64,
    buckets: [[Bucket; 1 << DIGIT]; DIGITS],
    /// Empty pieces of buckets, for reuse. The piece of a bucket that was emptied last is reused first, because it is
    /// in the caches.
    spare: Vec<Vec<QueueEntry>>,
    /// Bit d of occupied[i] is set if buckets[i][d] holds events. Bit i of `levels` is set if any of buckets[i] holds
    /// events.
    occupied: [u16; DIGITS],
    levels: u16,
    len: usize,
    bodies: Slab,
    /// Minimum length of the run, if the queue has this number of events and no event is pushed into the time span of
    /// the run.
    known: usize,
}

/// Key of an event, and index of the event's body in the slab of bodies. Entries are small, because the queue moves and
/// compares them.
#[derive(Clone, Copy, Debug)]
struct QueueEntry {
    time: u64,
    /// Destination and source rank of the event.
    ranks: u64,
    sequence: u32,
    slot: u32,
}

/// Entries of a bucket in pieces, so that no entry moves when the bucket grows.
#[derive(Debug, Default)]
struct Bucket {
    /// The last entries of the bucket, at most [`PIECE`].
    top: Vec<QueueEntry>,
    /// The other entries of the bucket, [`PIECE`] in each vector.
    full: Vec<Vec<QueueEntry>>,
}

/// Bodies of pending events by slot, in chunks, so that no body moves when the slab grows.
#[derive(Debug, Default)]
struct Slab {
    chunks: Vec<Box<[EventKind; CHUNK]>>,
    free: Vec<u32>,
}

impl QueueEntry {
    /// Returns the destination and the source rank of the event.
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
    /// Orders later events as less, so that the standard heap and the end of a sorted vector give the earliest event.
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let (mine, theirs) = ((self.time, self.ranks), (other.time, other.ranks));
        theirs.cmp(&mine).then_with(|| (other.sequence.wrapping_sub(self.sequence) as i32).cmp(&0))
    }
}

impl PartialOrd for QueueEntry {
    /// Compares entries for sorting: time and ranks are compared as one number, which decides most comparisons.
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
            most_near: MOST_NEAR,
            last: 0,
            taken: 0,
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
    /// Adds an event to the queue. The event must not be earlier than the last event taken.
    ///
    /// The body of the event is constructed at its final address. A copy directly after the writes of the body's fields
    /// would cause a store-forwarding stall, which takes longer than the other work of a push.
    #[inline(always)]
    pub fn push(&mut self, key: EventKey, body: impl Fn() -> EventKind) {
        let EventKey { time, to, from, sequence } = key;
        let slot = self.bodies.put(body);
        let entry = QueueEntry { time: time.as_ps(), ranks: u64::from(to) << 32 | u64::from(from), sequence, slot };
        if self.len == 0 {
            // The only event of the queue is the whole run.
            self.last = entry.time;
            self.run.push(entry);
        } else if entry.time <= self.last {
            self.near.push(entry);
            if self.near.len() > self.most_near {
                self.widen();
            }
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

    /// Returns the time of the earliest event of the queue.
    #[inline(always)]
    pub fn first_time(&mut self) -> SimTime {
        self.refill_if_short();
        let of = |entry: Option<&QueueEntry>| entry.map_or(u64::MAX, |entry| entry.time);
        SimTime::from_ps(of(self.run.last()).min(of(self.near.peek())))
    }

    /// Returns the key of the earliest event of the queue.
    pub fn first_key(&mut self) -> Option<EventKey> {
        self.first_time();
        // The greater of two queue entries is the earlier event.
        self.run.last().max(self.near.peek()).map(QueueEntry::key)
    }

    /// Removes and returns the earliest event of the queue, if its time is before `end`.
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
        self.taken = entry.time;
        Some(Event { key: entry.key(), body: self.bodies.take(entry.slot) })
    }

    /// Returns destination, source and body of the event that will probably be taken next. Prefetches the body of the
    /// event that follows the next event.
    #[inline(always)]
    pub fn foresee(&self) -> Option<([Rank; 2], &EventKind)> {
        self.foresee_body(1);
        let next = self.run.last().or(self.near.peek())?;
        Some((next.both(), self.bodies.get(next.slot)))
    }

    /// Returns destination, source and body of the event that will probably be taken after `by` other events, if known.
    #[inline(always)]
    pub fn ahead(&self, by: usize) -> Option<([Rank; 2], &EventKind)> {
        let entry = &self.run[self.run.len().checked_sub(by + 1)?];
        Some((entry.both(), self.bodies.get(entry.slot)))
    }

    /// Prefetches the body of the event that will probably be taken after `by` other events.
    #[inline(always)]
    pub fn foresee_body(&self, by: usize) {
        if let Some(at) = self.run.len().checked_sub(by + 1) {
            prefetch(self.bodies.get(self.run[at].slot), usize::MAX);
        }
    }

    /// Sets the number of next events that the queue usually knows in advance.
    pub fn know(&mut self, events: usize) {
        self.known = events;
    }

    #[inline(always)]
    fn refill_if_short(&mut self) {
        if self.run.len() <= self.known && self.near.is_empty() && self.levels != 0 {
            self.refill();
        }
    }

    /// Moves the earliest events of the queue into the run. The other buckets remain valid: `last` changes only in the
    /// digit of the lowest buckets and in lower digits. The new value of this digit is less than the digits of the
    /// other buckets.
    #[inline(never)]
    fn refill(&mut self) {
        // The remaining entries of the run precede all events that are moved into the run.
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
            self.last = times.clone().min().expect("an occupied bucket");
            if full.len() > MOST_SPARE {
                // Doubling the run would need much memory for a long time.
                self.run.reserve_exact(times.filter(|&time| time == self.last).count());
            }
            // Entries are moved in the order in which they were pushed; sorting is fast for entries that are already in
            // order.
            for mut piece in full.into_iter().chain([top]) {
                for &entry in &piece {
                    if entry.time == self.last {
                        self.run.push(entry);
                    } else {
                        self.put(entry);
                    }
                }
                piece.clear();
                if self.spare.len() < MOST_SPARE {
                    self.spare.push(piece);
                }
            }
        }
        self.run.sort();
        self.run.append(&mut self.left);
        if self.left.capacity() > MOST_SPARE * PIECE {
            self.left = Vec::new();
        }
    }

    /// Returns the entries of the heap and of the run to buckets, because most new events are in the time span of the run.
    /// The buckets of the levels below the highest digit in which `taken` and `last` differ are filled anew.
    #[cold]
    #[inline(never)]
    fn widen(&mut self) {
        let level = match self.taken ^ self.last {
            0 => 0,
            differing => (63 - differing.leading_zeros() as usize) / DIGIT,
        };
        let in_lower: usize = self.buckets[..level].iter().flatten().map(Bucket::len).sum();
        // The cost of a move is proportional to the number of pushes since the last move.
        if self.taken == self.last || self.run.len() + in_lower > 2 * self.near.len() {
            self.most_near *= 2;
            return;
        }
        self.most_near = MOST_NEAR;
        self.last = self.taken;
        let mut moved = std::mem::take(&mut self.near).into_vec();
        moved.append(&mut self.run);
        for bucket in self.buckets[..level].iter_mut().flatten() {
            bucket.full.drain(..).for_each(|mut piece| moved.append(&mut piece));
            moved.append(&mut bucket.top);
        }
        self.occupied[..level].fill(0);
        self.levels &= u16::MAX << level;
        for &entry in &moved {
            if entry.time == self.last {
                self.run.push(entry);
            } else {
                self.put(entry);
            }
        }
        self.run.sort();
        moved.clear();
        self.near = moved.into();
    }

    /// Moves the first buckets of `level`, the lowest level with events, into the run while the number of moved events
    /// is small.
    fn take_small(&mut self, level: usize) {
        // Mask of the digits below the digit of this level: the time span of each moved bucket is now within the time
        // span of the run.
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
        // Buckets are moved in order of time, and the run ends with the next event, so little sorting remains.
        self.run.reverse();
    }

    /// Marks a bucket of the queue as empty.
    #[inline]
    fn empty(&mut self, level: usize, digit: usize) {
        self.occupied[level] &= !(1 << digit);
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
    }
}

// The path is stated because a bench includes this file.
#[cfg(test)]
#[path = "queue/tests.rs"]
mod tests;
