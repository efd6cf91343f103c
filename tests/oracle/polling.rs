//! Results of programs that poll, cancel receives or idle, compared with times computed by hand.

use crate::support::Do::{self, *};
use crate::support::{Polling, Saw, at, machine, ns, run, run_with};
use mcpsim::platform::Contention;
use mcpsim::rank::SendMode;
use proptest::prelude::*;

fn main_saw<const N: usize>(saw: [Saw; N]) -> Vec<(u32, Saw)> {
    saw.into_iter().map(|saw| (0, saw)).collect()
}

#[test]
fn a_receive_without_a_message_can_be_withdrawn() {
    let platform = machine([2, 1, 1], Contention::Ideal);
    // The head arrives at 1000: the receive cancelled at 999 does not match it, and the next one does.
    let withdraw = |when| vec![Irecv(1), Compute(when), Cancel, Clock, WaitAll, Clock, Compute(5000), IprobeAny];
    let early = Saw::Cancelled(0);
    let saw = main_saw([Saw::Clock(at(999)), early, Saw::Clock(at(999)), Saw::Got(0, 1, 100)]);
    assert_eq!(run(&platform, &[withdraw(999), vec![Send(0, 100)]]).1, saw);
    // Cancelled at 1001, the receive completes normally.
    let saw = main_saw([Saw::Clock(at(1001)), Saw::Got(0, 1, 100), Saw::Clock(at(1100)), Saw::Nothing]);
    assert_eq!(run(&platform, &[withdraw(1001), vec![Send(0, 100)]]).1, saw);
}

#[test]
fn what_is_not_an_unmatched_receive_cannot_be_withdrawn() {
    let platform = machine([2, 1, 1], Contention::Ideal);
    // A rendezvous: request at 1000, answer at 2000, end at 3100. An eager send is already complete.
    let sender = |mode| vec![IsendWith(1, 100, 0, mode), Cancel, WaitAll, Clock];
    let (outcome, saw) = run(&platform, &[sender(SendMode::Synchronous), vec![Recv(0)]]);
    assert_eq!(saw[..2], main_saw([Saw::Got(0, 0, 0), Saw::Clock(at(4000))]));
    assert_eq!(outcome.per_rank[1].clock, at(3100));
    let (_, saw) = run(&platform, &[sender(SendMode::Standard), vec![Recv(0)]]);
    assert_eq!(saw[..2], main_saw([Saw::Got(0, 0, 0), Saw::Clock(at(0))]));
}

#[test]
fn a_failed_test_costs_a_poll_or_nothing() {
    let mut platform = machine([2, 1, 1], Contention::Ideal);
    platform.core.poll = ns(30);
    let scripts = [vec![Irecv(1), Look, Clock, Test, Clock, IprobeAny, Clock, WaitAll], vec![Send(0, 100)]];
    let saw = main_saw([
        Saw::Nothing,
        Saw::Clock(at(0)),
        Saw::Nothing,
        Saw::Clock(at(30)),
        Saw::Nothing,
        Saw::Clock(at(60)),
        Saw::Got(0, 1, 100),
    ]);
    assert_eq!(run(&platform, &scripts).1, saw);
}

/// Polls the requests, or for messages, step by step; or idles for at most the given time.
fn polling(probe: bool, idle: Option<(u32, u64)>, free: bool) -> Do {
    Poll(Polling { probe, idle, free })
}

#[test]
fn an_idle_rank_goes_on_at_the_first_poll_that_sees_a_change_or_at_the_limit() {
    let mut platform = machine([2, 1, 1], Contention::Ideal);
    platform.core.poll = ns(30);
    // The message of 100 bytes arrives at 1100, its head at 1000.
    let clock = |script: Vec<Do>| {
        let saw = run(&platform, &[script, vec![Send(0, 100)]]).1.into_iter();
        let clock = saw.filter_map(|(_, saw)| if let Saw::Clock(clock) = saw { Some(clock) } else { None });
        clock.max().unwrap().as_ps() / 1000
    };
    assert_eq!(clock(vec![Irecv(1), Idle(1_000_000), Clock]), 1110);
    assert_eq!(clock(vec![Irecv(1), Compute(5), Idle(1_000_000), Clock]), 1115);
    assert_eq!(clock(vec![Idle(1_000_000), Clock]), 1020);
    // At the limit, rounded up to a whole poll.
    assert_eq!(clock(vec![Irecv(1), Idle(61), Clock]), 90);
    assert_eq!(clock(vec![Irecv(1), Idle(0), Clock]), 30);
    // A later idling still sees an earlier completion; an earlier change ends the first idling, not the second.
    assert_eq!(clock(vec![Irecv(1), Compute(1050), Idle(1_000_000), Clock]), 1110);
    assert_eq!(clock(vec![Irecv(1), Compute(1500), Idle(300), Clock]), 1500);
    assert_eq!(clock(vec![Irecv(1), Compute(1500), Idle(300), Idle(300), Clock]), 1800);
    // A limit in between does not reset this.
    assert_eq!(clock(vec![Irecv(1), Idle(600), Idle(300), Idle(900), Clock]), 1110);
    // The end of a strand is a change.
    assert_eq!(clock(vec![Start(vec![Recv(1), Compute(50)]), Idle(1_000_000), Clock]), 1170);
}

#[test]
fn a_limit_that_passed_unused_does_not_hide_a_change_at_the_next() {
    let mut platform = machine([3, 1, 1], Contention::Ideal);
    platform.core.poll = ns(30);
    // Rank 2's head at 1000 ends the first at 1020, before its limit of 1500. Rank 1's head arrives at 1400 and
    // determines the arrival of its message at 1800, the limit of the second.
    let scripts = [vec![Irecv(1), Idle(1500), Idle(780), Clock], vec![Compute(400), Send(0, 400)], vec![Send(0, 0)]];
    assert_eq!(run(&platform, &scripts).1, main_saw([Saw::Clock(at(1800))]));
}

#[test]
fn ranks_that_idle_for_each_other_are_a_deadlock() {
    let platform = machine([3, 1, 1], Contention::Ideal);
    let idler = |peer| vec![Irecv(peer), Compute(70), polling(false, Some((2, 10_000_000_000)), false)];
    for workers in 1..=3 {
        let scripts = [idler(1), idler(0), vec![Compute(3_000_000_000_000)]];
        let error = run_with(&platform, &scripts, workers).unwrap_err();
        let mcpsim::engine::RunError::Deadlock(deadlock) = error else { panic!("{error}") };
        let waiting: Vec<_> =
            deadlock.waiting.iter().map(|waiting| (waiting.rank, waiting.call.clone(), waiting.since)).collect();
        assert_eq!(waiting, [(0, "polling".to_owned(), at(270)), (1, "polling".to_owned(), at(270))]);
        assert_eq!(deadlock.finished, 1);
    }
    // A late message is not a deadlock.
    let late = vec![Compute(3_000_000_000_070), Send(0, 10), Send(1, 10)];
    let scripts = [vec![Irecv(2), polling(false, Some((2, 10_000_000_000)), false)], vec![Recv(2)], late];
    assert_eq!(run_with(&platform, &scripts, 2).unwrap().0.per_rank[0].clock, at(3_000_000_001_100));
}

/// Actions of another rank for the polling one: grid steps computed, tens of bytes sent, and whether it is a
/// rendezvous.
type Sends = Vec<(u64, u64, bool)>;

fn sends() -> impl Strategy<Value = Sends> {
    prop::collection::vec((0..40u64, 0..60u64, prop::bool::ANY), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn idling_is_polling_step_by_step(
        partners in prop::collection::vec(sends(), 1..4),
        order in prop::collection::vec((0..3usize, 0..30u64, 1..4usize), 1..8),
        (after, span, probe, strands, last) in (1..4u32, 1..3000u64, prop::bool::ANY, prop::bool::ANY, prop::bool::ANY),
        workers in 1..4u32,
    ) {
        // All times are on the grid of polls or slightly next to it, so that many are simultaneous.
        let mut platform = machine([4, 1, 1], Contention::Share);
        platform.core.poll = ns(50);
        let me = if last { partners.len() as u32 } else { 0 };
        let rank = |partner: usize| partner as u32 + u32::from(!last);
        let mut owed: Vec<usize> = partners.iter().map(Vec::len).collect();
        if probe {
            // Messages found by probes may have any source, so no rank may be awaited at the end.
            owed.iter_mut().skip(1).for_each(|count| *count = 0);
        }
        let script = |look: Do| {
            let mut owed = owed.clone();
            let mut lines = Vec::new();
            for &(from, wait, count) in &order {
                let from = from % owed.len();
                let count = count.min(owed[from]);
                owed[from] -= count;
                lines.push(Compute(wait * 50));
                if count == 0 {
                    continue;
                }
                match (probe, strands) {
                    (true, _) => {}
                    (false, true) => lines.push(Start(vec![Recv(rank(from)); count])),
                    (false, false) => lines.extend(vec![Irecv(rank(from)); count]),
                }
                lines.extend(vec![look.clone(); if probe { count } else { 1 }]);
                lines.push(Clock);
            }
            owed.iter().enumerate().for_each(|(from, &count)| lines.extend(vec![Recv(rank(from)); count]));
            lines
        };
        let sender = |(sends, &count): (&Sends, &usize)| {
            let mode = |rendezvous| if rendezvous { SendMode::Synchronous } else { SendMode::Standard };
            let lines = |&(wait, size, late)| [Compute(wait * 50), SendMode(me, size * 10, mode(late))];
            sends[..count].iter().flat_map(lines).collect::<Vec<Do>>()
        };
        let result = |look: Do, workers: u32| {
            let mut scripts: Vec<Vec<Do>> = partners.iter().zip(&owed).map(sender).collect();
            scripts.insert(me as usize, script(look));
            let (outcome, saw) = run_with(&platform, &scripts, workers).unwrap();
            (outcome.per_rank, saw)
        };
        let steps = result(polling(probe, None, false), 1);
        prop_assert_eq!(&result(polling(probe, Some((after, span)), false), workers), &steps);
        if !probe {
            prop_assert_eq!(&result(polling(probe, Some((1, span)), true), workers), &steps);
        }
    }
}
