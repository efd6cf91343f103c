//! Tests of served messages: the adapter of the receiving rank answers a served message without the rank's program. The
//! results are compared with times computed by hand. Comments give times in ns.

use crate::support::Do::{self, *};
use crate::support::{ANSWER, ECHO, HAND_ON, Saw, TAKE, at, machine, ns, row, run_with, with_link};
use mcpsim::platform::{Contention, Level, Link, Platform, Row};
use mcpsim::units::Bytes;

/// Creates three nodes on which a send costs 30 ns, a receive costs 7 ns and a poll costs 100 ns of core time.
fn costly(law: Contention) -> Platform {
    let row = Row { send_overhead: ns(30), recv_overhead: ns(7), ..row(1000) };
    with_link(machine([3, 1, 1], law), Level::InterNode, Link::new(law, Bytes::ZERO, ns(1000), vec![row]))
}

/// Returns the final clocks of the ranks in nanoseconds, and the observations of the programs. Asserts that one, two
/// and three workers give the same results.
fn run(platform: &Platform, scripts: &[Vec<Do>]) -> (Vec<u64>, Vec<(u32, Saw)>) {
    let result = |workers| {
        let (outcome, saw) = run_with(platform, scripts, workers).unwrap();
        assert_eq!(outcome.unreceived, 0);
        (outcome.per_rank.iter().map(|rank| rank.clock.as_ps() / 1000).collect(), saw)
    };
    let one = result(1);
    (2..=3).for_each(|workers| assert_eq!(result(workers), one));
    one
}

#[test]
fn a_message_is_served_at_its_end_whatever_its_receiver_does() {
    let platform = costly(Contention::Ideal);
    // The message leaves at 30 ns and arrives at 1130 ns. A served message leaves at once, although no message of this
    // platform is small enough to be eager. The answer leaves at 1160 ns and arrives at 2210 ns, and receiving it takes
    // 7 ns.
    let ask = vec![Ask(1, 100, ANSWER), Clock, Recv(1)];
    let served = (1, Saw::Served(at(1130), 0, 100));
    for (other, end) in [(vec![Compute(10_000)], 10_000), (vec![], 0), (vec![Compute(1130)], 1130)] {
        let (clocks, saw) = run(&platform, &[ask.clone(), other]);
        assert_eq!(clocks, [2217, end]);
        assert_eq!(saw, [(0, Saw::Clock(at(30))), (0, Saw::Got(0, 1, 50)), served.clone()]);
    }
    // The served rank waits for a message of rank 2 with the rendezvous protocol. The request arrives at 1030 ns, the
    // grant arrives at 2030 ns, and the transfer ends at 3040 ns.
    let (clocks, _) = run(&platform, &[ask.clone(), vec![Recv(2)], vec![Send(1, 10)]]);
    assert_eq!(clocks, [2217, 3047, 4030]);
    // If the served rank idles, the served message ends idling at the next poll.
    let (clocks, _) = run(&platform, &[ask.clone(), vec![Compute(20), Idle(5000)]]);
    assert_eq!(clocks, [2217, 1220]);
    // A message that was served before the rank idles ends the first idle action at once, and does not end the second
    // idle action.
    let (clocks, _) = run(&platform, &[ask, vec![Compute(2000), Idle(5000), Idle(300)]]);
    assert_eq!(clocks, [2217, 2300]);
}

#[test]
fn messages_of_a_pair_are_served_in_order() {
    let platform = costly(Contention::Ideal);
    // The large message of rank 0 arrives completely at 6030 ns and the small message of rank 0 at 1070 ns. The message
    // of rank 2 is served without waiting for the messages of rank 0.
    let (_, saw) = run(&platform, &[vec![Ask(1, 5000, TAKE), Ask(1, 10, TAKE)], vec![], vec![Ask(1, 20, TAKE)]]);
    let served = [(1050, 2, 20), (6030, 0, 5000), (6030, 0, 10)];
    assert_eq!(saw, served.map(|(time, from, size)| (1, Saw::Served(at(time), from, size))));
}

#[test]
fn answers_may_be_served_too() {
    let platform = costly(Contention::Ideal);
    // The message from rank 0 to rank 1 arrives at 1130 ns. The message from rank 1 to rank 2 leaves at 1160 ns and
    // arrives at 2260 ns. The answer of rank 2 to rank 1 leaves at 2290 ns and arrives at 3340 ns.
    let (clocks, saw) = run(&platform, &[vec![Ask(1, 100, HAND_ON)], vec![Recv(2)], vec![]]);
    assert_eq!(clocks, [30, 3347, 0]);
    let served = [(1, Saw::Served(at(1130), 0, 100)), (2, Saw::Served(at(2260), 1, 100))];
    assert_eq!(saw[0], (1, Saw::Got(0, 2, 50)));
    assert_eq!(saw[1..], served);
    let (_, saw) = run(&platform, &[vec![Ask(1, 100, ECHO)], vec![]]);
    assert_eq!(saw, [(0, Saw::Served(at(2260), 1, 100)), (1, Saw::Served(at(1130), 0, 100))]);
}

#[test]
fn a_rank_serves_itself() {
    // A message of a rank to itself takes 10 + 100 ns, and the answer takes 10 + 50 ns.
    let (clocks, saw) = run(&machine([1, 1, 1], Contention::Ideal), &[vec![Ask(0, 100, ANSWER), Recv(0)]]);
    assert_eq!(clocks, [170]);
    assert_eq!(saw, [(0, Saw::Got(0, 0, 50)), (0, Saw::Served(at(110), 0, 100))]);
}

#[test]
fn answers_meet_ports_and_are_counted_as_messages() {
    let platform = costly(Contention::Queue);
    // The messages of both senders leave at 30 ns, and the heads of the messages arrive at the same adapter at 1030 ns.
    // The adapter serves the messages at 1130 and 1230 ns. The answers leave at 1160 and 1260 ns and arrive at 2210 and
    // 2310 ns.
    let scripts = [vec![], vec![Ask(0, 100, ANSWER), Recv(0)], vec![Ask(0, 100, ANSWER), Recv(0)]];
    assert_eq!(run(&platform, &scripts).0, [0, 2217, 2317]);
    let (outcome, _) = run_with(&platform, &scripts, 1).unwrap();
    assert_eq!((outcome.messages.count, outcome.messages.bytes), (4, 300));
    assert_eq!(outcome.per_rank[0].parts.total(), ns(0));
}
