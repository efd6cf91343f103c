//! Expected times of messages within a node that pass the adapter of the node, computed by hand. A byte takes 1 ns on
//! every link and adapter. Latencies are 10 ns within a CMP and 1000 ns between nodes, so a slot of virtual time has 500
//! ns. Comments give times in ns.

use crate::support::Do::{self, *};
use crate::support::{clocks, machine, ns, row, run_with, with_link};
use mcpsim::platform::{Contention, Copies, InNodeTransport, Level, Link, Occupancy, Platform, Row};
use mcpsim::units::{Bandwidth, Bytes};

fn rate(gigabytes: f64) -> Option<Bandwidth> {
    Bandwidth::new((gigabytes * 1e9) as u64)
}

/// Creates two nodes of four cores. Messages within a node have the costs `within` and pass the adapter. `change` sets
/// the resources that messages between nodes occupy.
fn adapters(within: Row, eager: u64, copies: Copies, change: impl Fn(&mut Occupancy)) -> Platform {
    let occupancy = Occupancy { copies, transport: InNodeTransport::Adapter, ..Occupancy::default() };
    let link = Link::new(Contention::Fair, Bytes::new(eager), ns(10), vec![within]).occupying(occupancy);
    let platform = with_link(machine([2, 1, 4], Contention::Fair), Level::IntraCmp, link);
    let between = platform.link(Level::InterNode).clone();
    let mut occupancy = Occupancy { capacity: rate(1.0), ..between.occupancy().clone() };
    change(&mut occupancy);
    with_link(platform, Level::InterNode, between.occupying(occupancy))
}

/// Asserts that each time in ns is within a slot of the expected time.
fn near(found: &[u64], expected: &[u64]) {
    let far = found.iter().zip(expected).any(|(found, expected)| found.abs_diff(*expected) > 500);
    assert!(!far && found.len() == expected.len(), "{found:?}, expected {expected:?}");
}

/// Returns the ends of two messages of 100,000 bytes between the stated ranks.
fn two(platform: &Platform, pairs: [(u32, u32); 2]) -> Vec<u64> {
    let mut scripts: Vec<Vec<Do>> = vec![Vec::new(); 8];
    for (from, to) in pairs {
        scripts[from as usize].push(Send(to, 100_000));
        scripts[to as usize].push(Recv(from));
    }
    let ends = clocks(platform, &scripts);
    let (outcome, _) = run_with(platform, &scripts, 2).unwrap();
    assert!(outcome.per_rank.iter().map(|rank| rank.clock.as_ps() / 1000).eq(ends.iter().copied()), "two workers");
    pairs.iter().map(|(_, to)| ends[*to as usize]).collect()
}

#[test]
fn messages_within_a_node_share_the_adapter_with_each_other_and_with_messages_between_nodes() {
    for (eager, handshakes) in [(u64::MAX, 0), (0, 20)] {
        let node = adapters(row(10), eager, Copies::None, |_| {});
        // Alone a message takes latency and bytes.
        let alone = clocks(&node, &[vec![Send(1, 5000)], vec![Recv(0)]]);
        assert_eq!(alone[1], 5010 + handshakes);
        // Two pairs of a node share its adapter from the first slot on. By then each message has 490 bytes, or 470 with
        // control messages.
        let before = 490 - handshakes;
        assert_eq!(two(&node, [(0, 1), (2, 3)]), [500 + 2 * (100_000 - before); 2]);
        // A message within node 0 has 990 bytes before the first byte of a message to node 1 needs the adapter.
        near(&two(&node, [(0, 1), (2, 4)]), &[1000 + 2 * 99_010, 200_010]);
        // Messages within two nodes do not affect each other.
        assert_eq!(two(&node, [(0, 1), (4, 5)]), [100_010 + handshakes; 2]);
    }
    // The same messages through memory do not share.
    let memory = adapters(row(10), u64::MAX, Copies::None, |_| {});
    let memory = memory.without(mcpsim::platform::Effect::Transport).unwrap();
    assert_eq!(two(&memory, [(0, 1), (2, 3)]), [100_010; 2]);
}

#[test]
fn a_message_within_a_node_passes_the_port_of_both_directions_twice() {
    // The port of both directions has 1.5 bytes per ns, and each byte passes the port out and in: 0.75 bytes per ns.
    let duplex = adapters(row(10), u64::MAX, Copies::None, |of| of.duplex = rate(1.5));
    // Before the first slot at 500 each message has 490 bytes.
    assert_eq!(two(&duplex, [(0, 1), (4, 5)]), [500 + 99_510 * 4 / 3; 2]);
    assert_eq!(two(&duplex, [(0, 1), (2, 3)]), [500 + 99_510 * 8 / 3; 2]);
    // The message within node 0 has two parts of the port and the message to node 1 one part: 0.5 bytes per ns each.
    near(&two(&duplex, [(0, 1), (2, 4)]), &[1000 + 2 * 99_257, 200_257]);
}

#[test]
fn small_messages_queue_in_both_directions_of_the_adapter() {
    // Ten messages of 8 bytes with a gap of 50 leave every 58, and the last byte of the last arrives 10 + 8 later.
    let gap = Row { gap: ns(50), ..row(10) };
    let scripts = |from: u32, to: u32| {
        let mut scripts: Vec<Vec<Do>> = vec![Vec::new(); 8];
        scripts[from as usize] = [vec![Isend(to, 8); 10], vec![WaitAll]].concat();
        scripts[to as usize] = [vec![Irecv(from); 10], vec![WaitAll]].concat();
        scripts
    };
    let node = adapters(gap, u64::MAX, Copies::None, |_| {});
    assert_eq!(clocks(&node, &scripts(0, 1))[1], 9 * 58 + 18);
    // A second pair of the node doubles the number of messages in the queue.
    let mut both = scripts(0, 1);
    both[2] = [vec![Isend(3, 8); 10], vec![WaitAll]].concat();
    both[3] = [vec![Irecv(2); 10], vec![WaitAll]].concat();
    let ends = clocks(&node, &both);
    assert_eq!(ends[1].max(ends[3]), 19 * 58 + 18);
}

#[test]
fn cores_copy_eager_messages_only() {
    // The receiver's core copies at 1 byte per ns, from the head on: two messages of 4000 bytes end at 10 + 4000 and
    // 4000 later. A rendezvous message takes two control messages of 10 and no copy, but shares the adapter.
    let messages = |size| {
        let send = vec![Isend(1, size), Isend(1, size), WaitAll];
        vec![send, vec![Irecv(0), Irecv(0), WaitAll]]
    };
    let eager = adapters(row(10), u64::MAX, Copies::Receiver, |of| of.capacity = rate(100.0));
    assert_eq!(clocks(&eager, &messages(4000))[1], 8010);
    let rendezvous = adapters(row(10), 0, Copies::Receiver, |of| of.capacity = rate(100.0));
    assert_eq!(clocks(&rendezvous, &messages(4000))[1], 4030);
}
