//! What programs that look for messages, withdraw receives or idle see, against times derived by hand.

mod support;

use mcpsim::platform::LoadLaw;

use support::Do::*;
use support::{Saw, at, machine, ns, run};

fn main_saw<const N: usize>(saw: [Saw; N]) -> Vec<(u32, Saw)> {
    saw.into_iter().map(|saw| (0, saw)).collect()
}

#[test]
fn a_receive_without_a_message_can_be_withdrawn() {
    let platform = machine([2, 1, 1], LoadLaw::Ideal);
    // The head comes at 1000: the receive withdrawn at 999 has not got it, and the next one gets it.
    let withdraw = |when| vec![Irecv(1), Compute(when), Cancel, Clock, WaitAll, Clock, Compute(5000), IprobeAny];
    let early = Saw::Cancelled(0);
    let saw = main_saw([Saw::Clock(at(999)), early, Saw::Clock(at(999)), Saw::Got(0, 1, 100)]);
    assert_eq!(run(&platform, &[withdraw(999), vec![Send(0, 100)]]).1, saw);
    // Withdrawn at 1001 it completes as if nothing had been withdrawn.
    let saw = main_saw([Saw::Clock(at(1001)), Saw::Got(0, 1, 100), Saw::Clock(at(1100)), Saw::Nothing]);
    assert_eq!(run(&platform, &[withdraw(1001), vec![Send(0, 100)]]).1, saw);
}

#[test]
fn what_is_not_an_unmatched_receive_cannot_be_withdrawn() {
    let platform = machine([2, 1, 1], LoadLaw::Ideal);
    // A rendezvous: request at 1000, answer at 2000, end at 3100. An eager send is complete already.
    let mode = mcpsim::rank::SendMode::Synchronous;
    let sender = |mode| vec![IsendWith(1, 100, 0, mode), Cancel, WaitAll, Clock];
    let (outcome, saw) = run(&platform, &[sender(mode), vec![Recv(0)]]);
    assert_eq!(saw[..2], main_saw([Saw::Got(0, 0, 0), Saw::Clock(at(4000))]));
    assert_eq!(outcome.per_rank[1].clock, at(3100));
    let (_, saw) = run(&platform, &[sender(mcpsim::rank::SendMode::Standard), vec![Recv(0)]]);
    assert_eq!(saw[..2], main_saw([Saw::Got(0, 0, 0), Saw::Clock(at(0))]));
}

#[test]
fn a_failed_test_costs_a_poll_or_nothing() {
    let mut platform = machine([2, 1, 1], LoadLaw::Ideal);
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
