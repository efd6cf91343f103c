//! Tests of the automatic choice of the number of workers.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::support::machine;
use mcpsim::engine::{Labels, Outcome, Progress, RunOptions, Simulation};
use mcpsim::platform::{Contention, Placement};
use mcpsim::rank::{Call, Describe, Message, Pattern, Program, Rank, Reply, SendMode, Source, TagPattern};
use mcpsim::units::Bytes;

const RANKS: u32 = 1024;

/// Program of a rank that passes on a token in a ring, or that exchanges messages with both neighbours at once.
struct Ring {
    rank: Rank,
    turns: u32,
    token: bool,
    sent: bool,
}

impl Program for Ring {
    fn next(&mut self, _: Reply<'_>) -> Call {
        let (next, before) = ((self.rank + 1) % RANKS, (self.rank + RANKS - 1) % RANKS);
        let message = Message {
            to: next,
            context: 0,
            tag: 0,
            size: Bytes::new(8),
            mode: SendMode::Standard,
            payload: None,
            buffer: Default::default(),
        };
        let pattern = Pattern {
            from: Source::Rank(before),
            context: 0,
            tag: TagPattern::Any,
            capacity: Bytes::MAX,
            buffer: Default::default(),
        };
        if self.turns == 0 {
            return Call::Finish;
        }
        if !self.token {
            self.turns -= 1;
            return Call::Exchange(message, pattern);
        }
        // Rank 0 sends before it receives; all other ranks receive first.
        let sends = self.sent == (self.rank != 0);
        if self.sent {
            self.turns -= 1;
        }
        self.sent = !self.sent;
        if sends { Call::Send(message) } else { Call::Recv(pattern) }
    }
}

impl Describe for Ring {}

/// Returns the Outcome, and how many programs were created.
fn run(token: bool, turns: u32, workers: Option<u32>) -> (Outcome, u32) {
    run_as(token, turns, workers, true)
}

fn run_as(token: bool, turns: u32, workers: Option<u32>, restartable: bool) -> (Outcome, u32) {
    let platform = machine([64, 1, 16], Contention::Share);
    // For a token, neighbours in the ring are on the same node. For exchanges, neighbours are on different nodes, so
    // each iteration takes a whole window of virtual time.
    let placement = if token { Placement::Block } else { Placement::Cyclic };
    let sites = placement.sites(platform.shape, RANKS, false).unwrap();
    let made = AtomicU32::new(0);
    let make = |rank| {
        made.fetch_add(1, Ordering::Relaxed);
        Ring { rank, turns, token, sent: false }
    };
    let options = RunOptions { workers, restartable, ..RunOptions::default() };
    let simulation = Simulation::new(&platform, sites, options, Labels::default());
    let outcome = simulation.run(make, &Progress::default()).unwrap();
    (outcome, made.into_inner())
}

fn several_cores() -> bool {
    std::thread::available_parallelism().is_ok_and(|cores| cores.get() > 1)
}

#[test]
fn a_run_whose_windows_hold_next_to_nothing_begins_again_with_one_worker() {
    // Only one message of the run is in flight at a time. The run has more than a thousand windows of virtual time, and
    // in each window the token passes a few ranks.
    let (alone, _) = run(true, 60, Some(1));
    let (free, made) = run(true, 60, None);
    assert_eq!(alone.messages.count, u64::from(60 * RANKS));
    assert_eq!(made, if several_cores() { 2 * RANKS } else { RANKS });
    assert_eq!(free.host.workers, 1);
    assert_eq!(free, alone);
}

#[test]
fn programs_that_cannot_begin_again_are_made_once() {
    let (alone, _) = run(true, 60, Some(1));
    for (workers, had) in [(None, 1), (Some(2), 2)] {
        let (outcome, made) = run_as(true, 60, workers, false);
        assert_eq!((made, outcome.host.workers), (RANKS, had));
        assert_eq!(outcome.per_rank, alone.per_rank);
    }
}

#[test]
fn a_run_whose_windows_hold_enough_keeps_its_workers() {
    let (alone, _) = run(false, 1500, Some(1));
    let (free, made) = run(false, 1500, None);
    assert_eq!(made, RANKS);
    assert_eq!(free.host.workers > 1, several_cores());
    assert_eq!(free.per_rank, alone.per_rank);
}
