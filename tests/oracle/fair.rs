//! Expected times in the `fair` contention model, computed by hand. A byte takes 1 ns. Latencies are 10 ns within a
//! CMP, 100 ns between CMPs and 1000 ns between nodes. Bandwidth shares are constant during slots of virtual time with
//! a length of 500 ns. Comments give times in ns unless they state another unit.

#[path = "fair/solver.rs"]
mod solver;

use crate::support::Do::*;
use crate::support::{self, Do, Log, Script, clocks, machine, ns, row, run_with, with_link};
use mcpsim::engine::{Labels, Progress, RunOptions, Simulation};
use mcpsim::platform::{Contention, Copies, Level, Link, Occupancy, Platform, Rails, Row, Tolerance};
use mcpsim::units::{Bandwidth, Bytes};

/// Creates `count` nodes with one core each.
fn nodes(count: u32) -> Platform {
    machine([count, 1, 1], Contention::Fair)
}

fn rate(gigabytes: f64) -> Option<Bandwidth> {
    Bandwidth::new((gigabytes * 1e9) as u64)
}

/// Changes the resources that messages between nodes occupy.
fn with_adapters(platform: Platform, change: impl Fn(&mut Occupancy)) -> Platform {
    let link = platform.link(Level::InterNode).clone();
    let mut occupancy = link.occupancy().clone();
    change(&mut occupancy);
    with_link(platform, Level::InterNode, link.occupying(occupancy))
}

/// Asserts that each time in ns is within `within` ns of the expected time.
fn near(found: &[u64], expected: &[u64], within: u64) {
    let far = found.iter().zip(expected).any(|(found, expected)| found.abs_diff(*expected) > within);
    assert!(!far && found.len() == expected.len(), "{found:?}, expected {expected:?}");
}

#[test]
fn alone_a_message_takes_what_the_ping_pong_says_to_the_picosecond() {
    for size in [0, 1, 8, 30, 499, 500, 501, 12_345, 1_000_003, 100_000_000] {
        assert_eq!(clocks(&nodes(2), &[vec![Send(1, size)], vec![Recv(0)]]), [0, 1000 + size], "{size}");
        // The departure times and the rate are not round numbers.
        let odd = Row { bandwidth: Bandwidth::new(777_777_777).unwrap(), ..row(1000) };
        for law in [Contention::Ideal, Contention::Fair] {
            let link = Link::new(law, Bytes::new(1000), ns(300), vec![odd.clone()]);
            let platform = with_link(machine([2, 1, 1], law), Level::InterNode, link);
            let scripts = [vec![Compute(1237), Send(1, size), Compute(7)], vec![Recv(0)]];
            let (outcome, _) = run_with(&platform, &scripts, 1).unwrap();
            let ideal = with_link(
                platform,
                Level::InterNode,
                Link::new(Contention::Ideal, Bytes::new(1000), ns(300), vec![odd.clone()]),
            );
            let (expected, _) = run_with(&ideal, &scripts, 1).unwrap();
            assert_eq!(outcome.per_rank, expected.per_rank, "{size}");
        }
    }
}

#[test]
fn two_transfers_that_overlap_share_for_as_long_as_they_do() {
    // Ranks 0 and 1 send to rank 2 through the adapter of rank 2, which has 1 GB/s. The first message has 100 MB and
    // starts at 0 ns. The second message starts at 10 us.
    let ends = |second: u64| {
        let scripts = [
            vec![Isend(2, 100_000_000), WaitAll],
            vec![Compute(10_000), Isend(3, 0), Send(2, second)],
            vec![Irecv(0), Irecv(1), WaitAny, Clock, WaitAny, Clock],
            vec![],
        ];
        let (_, saw) = run_with(&nodes(4), &scripts, 1).unwrap();
        saw.iter()
            .filter_map(|(_, saw)| match saw {
                support::Saw::Clock(time) => Some(time.as_ps() / 1000),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    // If both messages have 100 MB, each message has half of the bandwidth from 10 us on. The first message ends 10 us
    // before 200 ms, and the second message ends at 200 ms.
    near(&ends(100_000_000), &[199_991_000, 200_001_000], 2000);
    // A second message of 1 MB has half of the bandwidth for 2 ms. The message of 100 MB ends when all 101 MB have been
    // transferred.
    near(&ends(1_000_000), &[2_011_000, 101_001_000], 2000);
}

#[test]
fn those_that_meet_at_one_node_share_its_adapter() {
    for senders in [2u64, 7, 40] {
        let mut scripts: Vec<Vec<Do>> = (0..senders).map(|_| vec![Send(senders as u32, 100_000)]).collect();
        let mut last: Vec<Do> = (0..senders).map(|from| Irecv(from as u32)).collect();
        last.push(WaitAll);
        scripts.push(last);
        let end = clocks(&nodes(senders as u32 + 1), &scripts)[senders as usize];
        near(&[end], &[1000 + senders * 100_000], 500);
    }
}

#[test]
fn in_a_chain_each_end_has_its_own_share() {
    // Rank 0 sends to ranks 2 and 3, and rank 1 sends to rank 3. Two flows share the adapter of rank 0, and two flows
    // share the adapter of rank 3. All three flows have half of the bandwidth of an adapter.
    let scripts = [
        vec![Isend(2, 1_000_000), Isend(3, 1_000_000), WaitAll],
        vec![Send(3, 500_000)],
        vec![Recv(0)],
        vec![Irecv(0), Irecv(1), WaitAll],
    ];
    let found = clocks(&nodes(4), &scripts);
    // The flow of 500 kB ends at 1 ms. The two flows of rank 0 still share 1 GB/s, so their 1 MB each end at 2 ms.
    near(&found[2..], &[2_001_000, 2_001_000], 1000);
    // With a third flow from rank 0, each flow of rank 0 has a third of the bandwidth. At rank 3, the flow of rank 1
    // has the remaining two thirds.
    let scripts = [
        vec![Isend(2, 1_000_000), Isend(3, 1_000_000), Isend(4, 1_000_000), WaitAll],
        vec![Send(3, 1_000_000)],
        vec![Recv(0)],
        vec![Irecv(0), Recv(1), Clock, WaitAll],
        vec![Recv(0)],
    ];
    let (outcome, saw) = run_with(&nodes(5), &scripts, 1).unwrap();
    let clock = saw.iter().find_map(|(_, saw)| match saw {
        support::Saw::Clock(time) => Some(time.as_ps() / 1000),
        _ => None,
    });
    near(&[clock.unwrap()], &[1_501_000], 1000);
    near(&[outcome.per_rank[4].clock.as_ps() / 1000], &[3_001_000], 1000);
}

#[test]
fn a_wider_wire_carries_several_messages_each_at_its_pace() {
    // A message has at most 1 GB/s, and the adapter has 4 GB/s. Four concurrent messages take as long as one message,
    // and eight messages take twice as long.
    let platform = with_adapters(nodes(2), |wire| wire.capacity = rate(4.0));
    let window = |count: usize| {
        let mut send = vec![Isend(1, 100_000); count];
        send.push(WaitAll);
        let mut receive = vec![Irecv(0); count];
        receive.push(WaitAll);
        clocks(&platform, &[send, receive])[1]
    };
    assert_eq!([1, 4].map(window), [101_000; 2]);
    near(&[window(8), window(40)], &[201_000, 1_001_000], 500);
}

#[test]
fn an_adapter_that_carries_less_than_a_message_alone_bounds_it() {
    // A message has at most 1 GB/s, and the adapter has 0.5 GB/s. A message of 1 MB takes 2 ms, and two messages take 4
    // ms. The other contention models ignore the capacity of the adapter.
    for (contention, alone) in [("fair", 2001), ("ideal", 1001), ("share", 1001), ("queue", 1001), ("measured", 1001)] {
        let costs = match contention {
            "measured" => "loads = [1, 2]\nlatency = [\"1 us\", \"1 us\"]\nbandwidth = [\"1 GB/s\", \"0.6 GB/s\"]",
            _ => "latency = \"1 us\"\nbandwidth = \"1 GB/s\"",
        };
        let text = format!(
            "name = \"narrow\"\nnct = [2, 1, 2]\n[core]\nflops = \"1 Gflop/s\"\ninstructions = \"1 Ginstr/s\"\n\
             memory_bandwidth = \"1 GB/s\"\n[intra_cmp]\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\n\
             [inter_cmp]\nlatency = \"1 us\"\nbandwidth = \"1 GB/s\"\n[inter_node]\ncontention = \"{contention}\"\n\
             {costs}\ncapacity = \"0.5 GB/s\"\n"
        );
        let platform = test_support::load(&text, &[]);
        let one = clocks(&platform, &[vec![Send(2, 1_000_000)], vec![], vec![Recv(0)], vec![]]);
        near(&[one[2]], &[alone * 1000], 1);
        if contention == "fair" {
            let pair = |to| vec![Send(to, 1_000_000)];
            let two = clocks(&platform, &[pair(2), pair(3), vec![Recv(0)], vec![Recv(1)]]);
            near(&two[2..], &[4_001_000; 2], 1000);
        }
    }
}

#[test]
fn both_directions_share_what_they_have_together() {
    // Ranks 0 and 1 send 1 MB to each other.
    let both = [vec![Irecv(1), Isend(1, 1_000_000), WaitAll], vec![Irecv(0), Isend(0, 1_000_000), WaitAll]];
    assert_eq!(clocks(&nodes(2), &both), [1_001_000; 2]);
    // An adapter has 1.25 GB/s for both directions together, so each direction has 0.625 GB/s.
    let duplex = with_adapters(nodes(3), |wire| wire.duplex = rate(1.25));
    near(&clocks(&duplex, &both), &[1_601_000; 2], 500);
    // In a ring of three nodes, rank 0 sends to rank 1, rank 1 to rank 2 and rank 2 to rank 0. Each adapter sends one
    // message and receives one message, as in the exchange of two ranks.
    let ring = |to: u32, from: u32| vec![Irecv(from), Isend(to, 1_000_000), WaitAll];
    near(&clocks(&duplex, &[ring(1, 2), ring(2, 0), ring(0, 1)]), &[1_601_000; 3], 500);
    // With a limit of 1 GB/s per pair of nodes, the two messages of a pair share 1 GB/s. The messages of the ring do
    // not share this limit.
    let pair = with_adapters(nodes(3), |wire| wire.pair_duplex = rate(1.0));
    near(&clocks(&pair, &both), &[2_001_000; 2], 500);
    assert_eq!(clocks(&pair, &[ring(1, 2), ring(2, 0), ring(0, 1)]), [1_001_000; 3]);
}

#[test]
fn messages_divide_among_rails() {
    // Two ranks of a node with two adapters send one message each. The first message uses one adapter, and the second
    // message uses the other adapter.
    let turns = with_adapters(machine([2, 1, 2], Contention::Fair), |wire| {
        wire.rails = Rails { count: 2, of_cmp: Vec::new() };
    });
    let scripts = [vec![Send(2, 100_000)], vec![Send(3, 100_000)], vec![Recv(0)], vec![Recv(1)]];
    assert_eq!(clocks(&turns, &scripts)[2..], [101_000; 2]);
    let send = vec![Isend(1, 100_000), Isend(1, 100_000), WaitAll];
    let scripts = [send, vec![Irecv(0), Irecv(0), WaitAll]];
    near(&[clocks(&nodes(2), &scripts)[1]], &[201_000], 500);
    let rails = with_adapters(nodes(2), |wire| wire.rails = Rails { count: 2, of_cmp: Vec::new() });
    assert_eq!(clocks(&rails, &scripts)[1], 101_000);
    // The node has two CMPs with one core each. Each CMP has a separate adapter, or both CMPs share one adapter.
    for (of_cmp, end) in [(vec![0, 1], 101_000), (vec![0, 0], 201_000)] {
        let platform = machine([2, 2, 1], Contention::Fair);
        let platform = with_adapters(platform, |wire| wire.rails = Rails { count: 2, of_cmp: of_cmp.clone() });
        let scripts = [vec![Send(2, 100_000)], vec![Send(3, 100_000)], vec![Recv(0)], vec![Recv(1)]];
        near(&clocks(&platform, &scripts)[2..], &[end; 2], 500);
    }
}

/// Creates nodes whose adapters have 1 GB/s and a gap of `gap` ns per message.
fn spaced(count: u32, gap: u64) -> Platform {
    let spaced = Row { gap: ns(gap), ..row(1000) };
    with_link(nodes(count), Level::InterNode, Link::new(Contention::Fair, Bytes::MAX, ns(1000), vec![spaced]))
}

#[test]
fn a_small_message_holds_an_adapter_for_its_gap_and_its_bytes_out_and_in() {
    // A message that holds an adapter for at most a sixteenth of a slot of 500 ns does not share bandwidth with other
    // messages. The messages of this test hold an adapter for a gap of 20 ns and 8 bytes.
    let platform = spaced(4, 20);
    // Outgoing messages leave at 0, 28 and 56 ns.
    let scripts = [vec![Send(1, 8), Send(2, 8), Send(3, 8)], vec![Recv(0)], vec![Recv(0)], vec![Recv(0)]];
    assert_eq!(clocks(&platform, &scripts)[1..], [1008, 1036, 1064]);
    // Three messages arrive at the same adapter at 1000 ns.
    let mut incast = vec![vec![Send(3, 8)]; 3];
    incast.push(vec![Irecv(0), Irecv(1), Irecv(2), WaitAll]);
    assert_eq!(clocks(&platform, &incast)[3], 1000 + 2 * 28 + 8);
    // Without a gap, messages hold the adapter only for their bytes.
    assert_eq!(clocks(&nodes(4), &scripts)[1..], [1008, 1016, 1024]);
    // Requests and grants of a rendezvous are control messages and do not hold an adapter. Rank 1 sends its grant to
    // rank 0 at 1000 ns without waiting.
    let link = Link::new(Contention::Fair, Bytes::new(4), ns(1000), vec![Row { gap: ns(20), ..row(1000) }]);
    let platform = with_link(nodes(2), Level::InterNode, link);
    assert_eq!(
        clocks(&platform, &[vec![Isend(1, 8), Isend(1, 8), WaitAll], vec![Irecv(0), Irecv(0), WaitAll]])[1],
        3036
    );
}

#[test]
fn both_directions_hold_what_an_adapter_has_together() {
    // A gap of 20 ns and 8 bytes at 1 GB/s hold a direction of the adapter for 28 ns. At the adapter's 1.4 GB/s for
    // both directions together, the message counts for 20 ns.
    let duplex = with_adapters(spaced(2, 20), |wire| wire.duplex = rate(1.4));
    let window = |peer: u32, count: usize| {
        let mut lines = vec![Irecv(peer); count];
        lines.extend(vec![Isend(peer, 8); count]);
        lines.push(WaitAll);
        lines
    };
    // If all messages have the same direction, the direction limits them to 28 ns per message. With messages in both
    // directions, a pair of messages takes 2 x 20 ns.
    let mut send = vec![Isend(1, 8); 100];
    send.push(WaitAll);
    let mut receive = vec![Irecv(0); 100];
    receive.push(WaitAll);
    assert_eq!(clocks(&duplex, &[send, receive])[1], 1000 + 99 * 28 + 8);
    near(&clocks(&duplex, &[window(1, 100), window(0, 100)]), &[1000 + 100 * 40; 2], 1100);
    assert_eq!(clocks(&spaced(2, 20), &[window(1, 100), window(0, 100)]), [1000 + 99 * 28 + 8; 2]);
}

#[test]
fn a_felt_message_holds_an_adapter_for_its_gap_and_its_bytes() {
    // A single message takes as long as in a ping-pong without other messages. The message has at most 0.5 GB/s and the
    // adapter has 2 GB/s, so a gap of 900 ns counts as 1800 bytes.
    let row = Row { gap: ns(900), bandwidth: rate(0.5).unwrap(), ..row(1000) };
    let link = Link::new(Contention::Fair, Bytes::MAX, ns(1000), vec![row]);
    let platform = with_link(nodes(2), Level::InterNode, link);
    let platform = with_adapters(platform, |wire| wire.capacity = rate(2.0));
    let window = |count: usize| {
        let mut send = vec![Isend(1, 10_000); count];
        send.push(WaitAll);
        let mut receive = vec![Irecv(0); count];
        receive.push(WaitAll);
        clocks(&platform, &[send, receive])[1]
    };
    assert_eq!(window(1), 21_000);
    // Each message of the sequence holds the adapter for 900 ns and 5000 ns, so a hundred messages hold the adapter for
    // 590 us.
    near(&[window(100)], &[591_000], 600);
    // A gap that counts as less than a twentieth of the message's bytes is ignored, as 1,800 of 200,000 bytes.
    let scripts = [vec![Isend(1, 200_000); 10], vec![Irecv(0); 10]].map(|mut lines| {
        lines.push(WaitAll);
        lines
    });
    near(&[clocks(&platform, &scripts)[1]], &[1_001_000], 600);
}

/// Creates a node on which cores copy the data of messages, as `copies` states. Messages of up to `eager` bytes are
/// eager.
fn copying(copies: Copies, eager: u64) -> Platform {
    let mut platform = machine([1, 1, 4], Contention::Fair);
    let link = Link::new(Contention::Fair, Bytes::new(eager), ns(10), vec![row(10)]);
    platform.links[0] = link.occupying(Occupancy { copies, ..Occupancy::default() });
    platform
}

#[test]
fn a_window_within_a_node_goes_at_a_cores_speed() {
    let window = |count: usize| {
        let mut send = vec![Isend(1, 1000); count];
        send.push(WaitAll);
        let mut receive = vec![Irecv(0); count];
        receive.push(WaitAll);
        [send, receive]
    };
    for eager in [0, 5000] {
        let handshakes = if eager == 0 { 20 } else { 0 };
        for count in [1, 2, 64] {
            let end = 10 + 1000 * count + handshakes;
            assert_eq!(clocks(&copying(Copies::Receiver, eager), &window(count as usize))[1], end);
            assert_eq!(clocks(&copying(Copies::None, eager), &window(count as usize))[1], 1010 + handshakes);
        }
    }
}

#[test]
fn a_message_that_waited_for_its_receive_is_copied_then() {
    // The head of the message arrives at 10 ns. The receive is posted at 5000 ns, and the data are copied until 6000
    // ns.
    let platform = copying(Copies::Receiver, 5000);
    assert_eq!(clocks(&platform, &[vec![Send(1, 1000)], vec![Compute(5000), Recv(0)]])[1], 6000);
    // A second message arrives at 3010 ns. The receive of the second message is already posted, so the second message
    // is copied first, until 4010 ns. The first message is copied after its receive is posted.
    let scripts = [
        vec![Send(1, 1000)],
        vec![IrecvTag(2, 5), Compute(5000), Irecv(0), WaitAll],
        vec![Compute(3000), SendTag(1, 1000, 5)],
    ];
    assert_eq!(clocks(&platform, &scripts)[1], 6000);
    // If the second message arrives at 4510 ns, it is copied until 5510 ns, and the first message is copied until 6510
    // ns.
    let scripts = [
        vec![Send(1, 1000)],
        vec![IrecvTag(2, 5), Compute(5000), Irecv(0), WaitAll],
        vec![Compute(4500), SendTag(1, 1000, 5)],
    ];
    assert_eq!(clocks(&platform, &scripts)[1], 6510);
}

#[test]
fn a_sender_that_copies_goes_on_after_it() {
    let platform = copying(Copies::Sender, 5000);
    // If the sender's core copies the data, the send returns after 1000 ns. The message still takes 1010 ns.
    assert_eq!(clocks(&platform, &[vec![Send(1, 1000)], vec![Recv(0)]]), [1000, 1010]);
    // If the rank sends two messages at once, the second message is copied from 1000 to 2000 ns and arrives at 2010 ns.
    let scripts = [vec![Isend(1, 1000), Isend(2, 1000), WaitAll], vec![Recv(0)], vec![Recv(0)]];
    assert_eq!(clocks(&platform, &scripts)[..3], [2000, 1010, 2010]);
}

#[test]
fn any_number_of_workers_finds_the_same() {
    let mut platform = with_adapters(machine([6, 1, 2], Contention::Fair), |wire| {
        wire.duplex = rate(1.5);
        wire.pair_duplex = rate(1.2);
    });
    platform.links[0] = copying(Copies::Receiver, 5000).links[0].clone();
    let scripts: Vec<Vec<Do>> = (0..12u32)
        .map(|me| {
            let mut lines = vec![Compute(u64::from(me * 7919 % 3001))];
            lines.extend((1..12).map(|by| Irecv((me + 12 - by) % 12)));
            lines.extend((1..12).map(|by| Isend((me + by) % 12, u64::from(me * by) * 997 + 10)));
            lines.push(WaitAll);
            lines
        })
        .collect();
    let (one, _) = run_with(&platform, &scripts, 1).unwrap();
    for workers in [2, 3, 6] {
        let (several, _) = run_with(&platform, &scripts, workers).unwrap();
        assert_eq!(one.per_rank, several.per_rank, "{workers} workers");
        assert_eq!((one.path, one.levels), (several.path, several.levels));
    }
}
