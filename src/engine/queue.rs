//! The pending events of a worker: a monotone priority queue.
//!
//! Events are never earlier than the last one taken, which a radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990) turns into
//! sequential memory traffic: a bucket holds the times that first differ from `last` in one certain bit. The lowest bucket
//! is sorted as a whole once it is small, instead of being split down to single times, and becomes the run that events are
//! taken from; what is pushed into the time span of the run goes to a small binary heap beside it.
//!
//! ```text
//!   taken ──┬── run   (sorted, next event at the end)      times ≤ last
//!           └── near  (binary heap)                        times ≤ last
//!   buckets[i]: times > last whose highest bit that differs from last is bit i
//! ```

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::units::SimTime;

use super::event::{Event, EventKey};

/// A bucket of at most this many events is sorted rather than split.
const SORTED_AT_ONCE: usize = 512;
/// A bucket that held more than this gives its memory back when it empties.
const KEPT_CAPACITY: usize = 4096;

/// The pending events of a worker, taken in order of their keys.
#[derive(Debug)]
pub struct EventQueue {
    run: Vec<Event>,
    near: BinaryHeap<Earliest>,
    last: u64,
    buckets: [Vec<Event>; 64],
    /// Bit i is set if buckets[i] holds events.
    occupied: u64,
    len: usize,
}

/// Makes the standard heap give the earliest event.
#[derive(Debug)]
struct Earliest(Event);

impl PartialEq for Earliest {
    fn eq(&self, other: &Self) -> bool {
        self.0.key == other.0.key
    }
}

impl Eq for Earliest {}

impl PartialOrd for Earliest {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Earliest {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.key.cmp(&self.0.key)
    }
}

impl Default for EventQueue {
    fn default() -> Self {
        EventQueue {
            run: Vec::new(),
            near: BinaryHeap::new(),
            last: 0,
            buckets: [const { Vec::new() }; 64],
            occupied: 0,
            len: 0,
        }
    }
}

impl EventQueue {
    /// Adds an event, which must not be earlier than the last one taken.
    #[inline]
    pub fn push(&mut self, event: Event) {
        self.len += 1;
        let time = event.key.time.as_ps();
        if time <= self.last {
            self.near.push(Earliest(event));
        } else {
            self.put(event, time);
        }
    }

    #[inline]
    fn put(&mut self, event: Event, time: u64) {
        let bucket = 63 - (time ^ self.last).leading_zeros() as usize;
        self.buckets[bucket].push(event);
        self.occupied |= 1 << bucket;
    }

    /// The key of the earliest event.
    #[inline]
    pub fn first(&mut self) -> Option<EventKey> {
        if self.run.is_empty() && self.near.is_empty() {
            self.refill();
        }
        match (self.run.last(), self.near.peek()) {
            (Some(run), Some(near)) => Some(run.key.min(near.0.key)),
            (Some(event), None) | (None, Some(Earliest(event))) => Some(event.key),
            (None, None) => None,
        }
    }

    /// Takes the earliest event if it happens before `end`.
    #[inline]
    pub fn pop_before(&mut self, end: SimTime) -> Option<Event> {
        let first = self.first()?;
        if first.time >= end {
            return None;
        }
        self.len -= 1;
        match self.near.peek() {
            Some(near) if near.0.key == first => self.near.pop().map(|earliest| earliest.0),
            _ => self.run.pop(),
        }
    }

    /// The number of events.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Moves the earliest events into the run. Keeps the meaning of the other buckets: `last` changes only in the bits
    /// below the one that the lowest bucket stands for.
    fn refill(&mut self) {
        while self.run.is_empty() && self.occupied != 0 {
            let bucket = self.occupied.trailing_zeros() as usize;
            self.occupied &= self.occupied - 1;
            let mut events = std::mem::take(&mut self.buckets[bucket]);
            if events.len() <= SORTED_AT_ONCE {
                // The bucket's whole span is now within the run's: its times have the bits of `last` above `bucket`.
                let span = (1u64 << bucket) | ((1u64 << bucket) - 1);
                self.last |= span;
                std::mem::swap(&mut self.run, &mut events);
            } else {
                self.last = events.iter().map(|event| event.key.time.as_ps()).min().expect("an occupied bucket");
                for event in events.drain(..) {
                    let time = event.key.time.as_ps();
                    if time == self.last {
                        self.run.push(event);
                    } else {
                        self.put(event, time);
                    }
                }
            }
            if events.capacity() <= KEPT_CAPACITY && self.buckets[bucket].capacity() == 0 {
                events.clear();
                self.buckets[bucket] = events;
            }
        }
        self.run.sort_unstable_by(|a, b| b.key.cmp(&a.key));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::event::Body;

    fn event(time: u64, to: u32, sequence: u32) -> Event {
        let key = EventKey { time: SimTime::from_ps(time), to, from: 0, sequence };
        Event { key, body: Body::Wake { task: 0, turn: 0 } }
    }

    proptest! {
        /// Pushes lie ahead of the time taken last by spans of all magnitudes, zero included.
        #[test]
        fn events_come_in_order_of_their_keys(
            steps in prop::collection::vec((0..4u8, 0..64u32, any::<u64>(), 0..4u32), 1..3000),
        ) {
            let mut queue = EventQueue::default();
            let mut reference = std::collections::BTreeMap::new();
            let mut now = 0u64;
            for (sequence, (action, bits, noise, to)) in (0..).zip(steps) {
                if action == 0 {
                    let expected = reference.pop_first().map(|((time, to, sequence), ())| (time, to, sequence));
                    prop_assert_eq!(queue.first().is_some(), expected.is_some());
                    let taken = queue.pop_before(SimTime::NEVER);
                    let taken = taken.map(|e| (e.key.time.as_ps(), e.key.to, e.key.sequence));
                    prop_assert_eq!(taken, expected);
                    now = taken.map_or(now, |(time, _, _)| time);
                } else {
                    let time = now.saturating_add(noise.checked_shr(bits).unwrap_or(0)).min(u64::MAX - 1);
                    queue.push(event(time, to, sequence));
                    reference.insert((time, to, sequence), ());
                }
                prop_assert_eq!(queue.len(), reference.len());
            }
        }
    }

    #[test]
    fn many_events_at_few_times_come_in_order() {
        let mut queue = EventQueue::default();
        for sequence in 0..100_000u32 {
            queue.push(event(u64::from(sequence % 7) << 40, sequence.wrapping_mul(2_654_435_761), sequence));
        }
        let mut before = None;
        while let Some(event) = queue.pop_before(SimTime::NEVER) {
            assert!(before < Some(event.key));
            before = Some(event.key);
        }
        assert_eq!(queue.len(), 0);
    }

    #[test]
    fn nothing_is_taken_at_or_past_the_end_of_the_window() {
        let mut queue = EventQueue::default();
        queue.push(event(5, 0, 0));
        assert!(queue.pop_before(SimTime::from_ps(5)).is_none());
        assert!(queue.pop_before(SimTime::from_ps(6)).is_some());
    }
}
