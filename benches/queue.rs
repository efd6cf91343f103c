//! Comparison of the event queue with the `priority-queue` crate and the standard binary heap, in the hold model (Jones
//! 1986): the number of pending events is constant, and in each step the earliest event is removed and a later event is
//! inserted.
//!
//! `cargo bench --bench queue` prints nanoseconds per step, as the median of five runs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

use mcpsim::units::SimTime;
use priority_queue::PriorityQueue;

// The source file names the package of these modules.
extern crate mcpsim as mcpsim_base;

/// Source file of the queue, which is not a public part of the library.
#[path = "../src/engine/queue.rs"]
#[allow(dead_code)]
mod queue;

/// Prefetching module, which the queue uses.
#[path = "../src/engine/prefetch.rs"]
mod prefetch;

/// The part of the engine's event module that the queue uses.
mod event {
    pub use mcpsim::engine::EventKey;

    /// Event as large as the engine's events, with the fields that the tests of the queue use.
    #[allow(dead_code)]
    #[derive(Clone, Copy, Debug)]
    #[repr(align(64))]
    pub enum EventKind {
        Wake { task: u32, turn: u32 },
        Other([u64; 5]),
    }

    #[derive(Clone, Copy, Debug)]
    #[allow(dead_code)]
    pub struct Event {
        pub key: EventKey,
        pub body: EventKind,
    }
}

use event::{EventKey, EventKind};

#[global_allocator]
static ALLOCATOR: mcpsim::cli::ReportingAllocator = mcpsim::cli::ReportingAllocator;

/// Queue for the hold model: each step removes the earliest event and inserts another event.
trait Hold {
    fn put(&mut self, key: EventKey, body: EventKind);
    fn take(&mut self) -> EventKey;
}

impl Hold for queue::EventQueue {
    fn put(&mut self, key: EventKey, body: EventKind) {
        self.push(key, || body);
    }

    fn take(&mut self) -> EventKey {
        self.pop_before(SimTime::NEVER).expect("events are pending").key
    }
}

/// The key is unique, and is both the item and its priority.
impl Hold for PriorityQueue<(u32, u32), ByKey> {
    fn put(&mut self, key: EventKey, body: EventKind) {
        self.push((key.from, key.sequence), ByKey(Reverse(key), body));
    }

    fn take(&mut self) -> EventKey {
        self.pop().expect("events are pending").1.0.0
    }
}

/// Binary heap of events with their keys.
impl Hold for BinaryHeap<ByKey> {
    fn put(&mut self, key: EventKey, body: EventKind) {
        self.push(ByKey(Reverse(key), body));
    }

    fn take(&mut self) -> EventKey {
        self.pop().expect("events are pending").0.0
    }
}

/// Event that is ordered only by its key; the earliest event is the greatest.
#[derive(Clone, Copy)]
struct ByKey(Reverse<EventKey>, #[allow(dead_code)] EventKind);

impl PartialEq for ByKey {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for ByKey {}

impl PartialOrd for ByKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ByKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

/// Random number generator without a dependency; each queue gets the same numbers.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

fn nanoseconds(make: fn() -> Box<dyn Hold>, pending: u32) -> f64 {
    let turns = 2_000_000;
    let mut runs: Vec<f64> = (0..5)
        .map(|_| {
            let mut queue = make();
            let mut numbers = Numbers(88_172_645_463_325_252);
            let body = EventKind::Other([0; 5]);
            let key = |time: u64, rank: u32, sequence: u32| EventKey {
                time: SimTime::from_ps(time),
                to: rank,
                from: rank,
                sequence,
            };
            // Delays have the lengths that occur in a run: some that of an overhead, most that of a latency, some that
            // of a large transfer.
            let delay =
                |number: u64| [200_000, 1_500_000, 1_500_000, 12_000_000][(number % 4) as usize] + number % 50_000;
            (0..pending).for_each(|rank| queue.put(key(delay(numbers.next()), rank, 0), body));
            let start = Instant::now();
            for turn in 0..turns {
                let EventKey { time, to, .. } = queue.take();
                queue.put(key(time.as_ps() + delay(numbers.next()), to, turn + 1), body);
            }
            start.elapsed().as_secs_f64() * 1e9 / f64::from(turns)
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    runs[2]
}

fn main() {
    println!("{:>10} {:>14} {:>14} {:>14}", "pending", "event queue", "binary heap", "priority-queue");
    for pending in [64, 4096, 65_536, 1_048_576] {
        let ours = nanoseconds(|| Box::new(queue::EventQueue::default()), pending);
        let heap = nanoseconds(|| Box::new(BinaryHeap::new()), pending);
        let crates = nanoseconds(|| Box::new(PriorityQueue::new()), pending);
        println!("{pending:>10} {ours:>11.0} ns {heap:>11.0} ns {crates:>11.0} ns");
    }
}
