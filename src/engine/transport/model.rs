//! Model check of the barrier and the exchange with `loom` under all interleavings of threads. The source files are the
//! same as in mcpsim, compiled with loom's types.
//!
//! In the model a sleeping thread sleeps until another thread wakes it; no timeout ends a sleep. A thread that no
//! thread wakes is a deadlock, which the model check detects.

// The model check uses only some of the items in the checked source files.
#![allow(dead_code)]

#[allow(clippy::duplicate_mod)]
#[path = "barrier.rs"]
mod barrier;
#[allow(clippy::duplicate_mod)]
#[path = "threads.rs"]
mod threads;

use loom::sync::Arc;
use loom::thread;

use super::{Batch, GlobalBound, LocalBound};
use barrier::Barrier;
use mcpsim_base::units::SimTime;
use threads::ExchangeBuffers;

/// Synchronisation types of `loom`.
mod sync {
    pub use loom::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering, fence};
    pub use loom::sync::{Condvar, Mutex};
}

/// Backoff of a thread that sleeps without spinning first.
mod backoff {
    use std::time::Duration;

    pub struct Backoff;

    impl Backoff {
        pub fn new(_: u32) -> Self {
            Backoff
        }

        pub fn renew(&mut self) {}

        pub fn wait(&mut self, nap: impl FnOnce(Duration)) {
            nap(Duration::ZERO);
        }
    }
}

/// Explores interleavings of threads with at most `preemptions` preemptions; switches at waits are not counted.
fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

#[test]
fn nobody_passes_the_gate_alone_and_nobody_is_left_asleep() {
    for (threads, rounds, preemptions) in [(2, 2, 3), (3, 1, 2)] {
        explore(preemptions, move || {
            let barrier = Arc::new(Barrier::new(threads, threads));
            let came = Arc::new(loom::sync::atomic::AtomicUsize::new(0));
            let pass = move |barrier: &Barrier, came: &loom::sync::atomic::AtomicUsize| {
                for round in 0..rounds {
                    came.fetch_add(1, sync::Ordering::Relaxed);
                    assert!(barrier.wait(round, &mut || false));
                    assert!(came.load(sync::Ordering::Relaxed) >= threads * (round + 1), "round {round}");
                }
            };
            let others: Vec<_> = (1..threads)
                .map(|_| {
                    let (barrier, came) = (barrier.clone(), came.clone());
                    thread::spawn(move || pass(&barrier, &came))
                })
                .collect();
            pass(&barrier, &came);
            others.into_iter().for_each(|other| other.join().unwrap());
        });
    }
}

#[test]
fn a_gate_that_is_torn_down_lets_go_who_waits_or_will_wait() {
    explore(3, || {
        let barrier = Arc::new(Barrier::new(3, 3));
        let waits = || {
            let barrier = barrier.clone();
            thread::spawn(move || assert!(!barrier.wait(0, &mut || false)))
        };
        let waiting = [waits(), waits()];
        barrier.tear_down();
        waiting.into_iter().for_each(|waiting| waiting.join().unwrap());
    });
}

/// Returns the values that worker `me` contributes to the exchange of a round.
fn bound(me: u64, round: u64) -> LocalBound {
    let at = |time| SimTime::from_ps(100 * round + time);
    let (queued, sent, slot) = (at(10 + me), at(20 + me), at(30 - me));
    LocalBound { queued, sent, handled: 1 + me, slot, until: at(40 + me), again: me == 1, stop: false }
}

#[test]
fn workers_agree_on_what_both_said_in_the_same_round() {
    explore(2, || {
        let buffers = Arc::new(ExchangeBuffers::new(2, 2, None));
        let work = |buffers: &ExchangeBuffers, me: u32| {
            let mut transport = buffers.transport(me);
            for round in 0..3 {
                let mut outgoing = [Batch::default(), Batch::default()];
                let mut incoming = Batch::default();
                let own = bound(me.into(), round);
                let agreed = transport.exchange(own, &mut outgoing, &mut incoming, &mut || false);
                let [first, second] = [bound(0, round), bound(1, round)];
                let others = if me == 0 { second.queued } else { first.queued };
                let (slot, until) = (second.slot, first.until);
                assert_eq!(
                    agreed,
                    GlobalBound { others, handled: 3, slot, until, again: true, stop: false },
                    "round {round}"
                );
            }
        };
        let other = {
            let buffers = buffers.clone();
            thread::spawn(move || work(&buffers, 1))
        };
        work(&buffers, 0);
        other.join().unwrap();
    });
}
