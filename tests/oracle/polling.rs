//! Tests of programs that poll, cancel receives or idle. The results are compared with times computed by hand. Comments
//! give times in ns.

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
    // The head of the message arrives at 1000 ns. A receive that is cancelled at 999 ns does not match the message, and
    // the next receive matches it.
    let withdraw = |when| vec![Irecv(1), Compute(when), Cancel, Clock, WaitAll, Clock, Compute(5000), IprobeAny];
    let early = Saw::Cancelled(0);
    let saw = main_saw([Saw::Clock(at(999)), early, Saw::Clock(at(999)), Saw::Got(0, 1, 100)]);
    assert_eq!(run(&platform, &[withdraw(999), vec![Send(0, 100)]]).1, saw);
    // A receive that is cancelled at 1001 ns has already matched the message and completes normally.
    let saw = main_saw([Saw::Clock(at(1001)), Saw::Got(0, 1, 100), Saw::Clock(at(1100)), Saw::Nothing]);
    assert_eq!(run(&platform, &[withdraw(1001), vec![Send(0, 100)]]).1, saw);
}

#[test]
fn what_is_not_an_unmatched_receive_cannot_be_withdrawn() {
    let platform = machine([2, 1, 1], Contention::Ideal);
    // A cancelled send with the rendezvous protocol still completes: the request arrives at 1000 ns, the grant at 2000
    // ns, and the transfer ends at 3100 ns. An eager send is already complete.
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

/// Returns an action that polls the requests, or probes for messages if `probe` is true, one poll at a time. If `idle`
/// is given, the action idles for at most the time in `idle` instead.
fn polling(probe: bool, idle: Option<(u32, u64)>, free: bool) -> Do {
    Poll(Polling { probe, idle, free })
}

#[test]
fn an_idle_rank_goes_on_at_the_first_poll_that_sees_a_change_or_at_the_limit() {
    let mut platform = machine([2, 1, 1], Contention::Ideal);
    platform.core.poll = ns(30);
    // The head of the message of 100 bytes arrives at 1000 ns, and its last byte arrives at 1100 ns.
    let clock = |script: Vec<Do>| {
        let saw = run(&platform, &[script, vec![Send(0, 100)]]).1.into_iter();
        let clock = saw.filter_map(|(_, saw)| if let Saw::Clock(clock) = saw { Some(clock) } else { None });
        clock.max().unwrap().as_ps() / 1000
    };
    assert_eq!(clock(vec![Irecv(1), Idle(1_000_000), Clock]), 1110);
    assert_eq!(clock(vec![Irecv(1), Compute(5), Idle(1_000_000), Clock]), 1115);
    assert_eq!(clock(vec![Idle(1_000_000), Clock]), 1020);
    // Idling ends at the limit, rounded up to a whole poll.
    assert_eq!(clock(vec![Irecv(1), Idle(61), Clock]), 90);
    assert_eq!(clock(vec![Irecv(1), Idle(0), Clock]), 30);
    // Idling ends at once if a request of the rank has already completed. A change before the first idle action ends
    // the first idle action and not the second one.
    assert_eq!(clock(vec![Irecv(1), Compute(1050), Idle(1_000_000), Clock]), 1110);
    assert_eq!(clock(vec![Irecv(1), Compute(1500), Idle(300), Clock]), 1500);
    assert_eq!(clock(vec![Irecv(1), Compute(1500), Idle(300), Idle(300), Clock]), 1800);
    // Idle actions that have ended at their limits do not affect a later idle action, which ends at the change.
    assert_eq!(clock(vec![Irecv(1), Idle(600), Idle(300), Idle(900), Clock]), 1110);
    // The end of a strand is a change that ends idling.
    assert_eq!(clock(vec![Start(vec![Recv(1), Compute(50)]), Idle(1_000_000), Clock]), 1170);
}

#[test]
fn a_limit_that_passed_unused_does_not_hide_a_change_at_the_next() {
    let mut platform = machine([3, 1, 1], Contention::Ideal);
    platform.core.poll = ns(30);
    // The head of rank 2's message arrives at 1000 ns and ends the first idle action at 1020 ns, before the limit of
    // 1500 ns. The head of rank 1's message arrives at 1400 ns. The last byte arrives at 1800 ns, which is also the
    // limit of the second idle action.
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
    // A message that arrives late is not a deadlock.
    let late = vec![Compute(3_000_000_000_070), Send(0, 10), Send(1, 10)];
    let scripts = [vec![Irecv(2), polling(false, Some((2, 10_000_000_000)), false)], vec![Recv(2)], late];
    assert_eq!(run_with(&platform, &scripts, 2).unwrap().0.per_rank[0].clock, at(3_000_000_001_100));
}

/// Messages that another rank sends to the polling rank. Each message has the computing time before its send in steps
/// of the time grid, its size in tens of bytes, and true if it uses the rendezvous protocol.
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
        // All times are multiples of the cost of a poll or close to multiples, so that many events are simultaneous.
        let mut platform = machine([4, 1, 1], Contention::Share);
        platform.core.poll = ns(50);
        let me = if last { partners.len() as u32 } else { 0 };
        let rank = |partner: usize| partner as u32 + u32::from(!last);
        let mut owed: Vec<usize> = partners.iter().map(Vec::len).collect();
        if probe {
            // Probes find messages of any source, so the polling rank must not wait for a particular rank at the end.
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
