//! Expected times of messages, computed by hand. A byte takes 1 ns. Latencies are 10 ns within a CMP, 100 ns between
//! CMPs and 1000 ns between nodes. Comments give times in ns.

use crate::support::Do::*;
use crate::support::{Saw, at, clocks, link, machine, ns, row, run, run_placed, run_with, with_link};
use mcpsim::engine::RunError;
use mcpsim::platform::{Contention, Level, Link, LoadColumn, Placement, Platform, Row, Site};
use mcpsim::rank::SendMode;
use mcpsim::units::{Bandwidth, Bytes, SimTime};

#[test]
fn a_message_takes_latency_plus_bytes_over_bandwidth_at_each_level() {
    let platform = machine([2, 2, 2], Contention::Ideal);
    // Ranks 0 and 1 are on the same CMP, rank 2 is on the other CMP of the same node, and rank 4 is on the other node.
    for (to, latency) in [(1, 10), (2, 100), (4, 1000)] {
        let mut scripts = vec![Vec::new(); 5];
        scripts[0] = vec![Send(to, 500)];
        scripts[to as usize] = vec![Recv(0)];
        assert_eq!(clocks(&platform, &scripts)[to as usize], latency + 500);
        assert_eq!(clocks(&platform, &scripts)[0], 0, "an eager sender goes on after its overhead");
    }
}

#[test]
fn overheads_are_paid_before_leaving_and_after_the_arrival() {
    let costly = Row { send_overhead: ns(30), recv_overhead: ns(7), ..row(1000) };
    let platform = with_link(
        machine([2, 1, 1], Contention::Ideal),
        Level::InterNode,
        Link::new(Contention::Ideal, Bytes::MAX, ns(1000), vec![costly]),
    );
    // The message leaves at 30 ns and arrives at 30 + 1000 + 500 ns. Receiving it takes 7 ns.
    assert_eq!(clocks(&platform, &[vec![Send(1, 500)], vec![Recv(0)]]), [30, 1537]);
    // If the receive is posted after the message has arrived, it completes at max(1530, 2000) + 7 ns.
    assert_eq!(clocks(&platform, &[vec![Send(1, 500)], vec![Compute(2000), Recv(0)]]), [30, 2007]);
}

#[test]
fn what_a_message_holds_takes_the_cores_time_beside_their_overheads() {
    // The core times of the message include 2 ns per byte at the sender and 0.5 ns per byte at the receiver.
    let [send_bandwidth, recv_bandwidth] = [500_000_000, 2_000_000_000].map(Bandwidth::new);
    let costly = Row { send_overhead: ns(30), recv_overhead: ns(7), send_bandwidth, recv_bandwidth, ..row(1000) };
    let of = |eager| {
        let link = Link::new(Contention::Ideal, Bytes::new(eager), ns(1000), vec![costly.clone()]);
        with_link(machine([2, 1, 1], Contention::Ideal), Level::InterNode, link)
    };
    // The message leaves at 30 + 1000 ns and arrives 1000 + 500 later. Receiving it takes 7 + 250 ns.
    assert_eq!(clocks(&of(500), &[vec![Send(1, 500)], vec![Recv(0)]]), [1030, 2787]);
    assert_eq!(clocks(&of(500), &[vec![Send(1, 0)], vec![Recv(0)]]), [30, 1037]);
    // The request and the grant of the rendezvous take 1000 ns each. The sender learns of the end one control message
    // after the head has arrived.
    assert_eq!(clocks(&of(499), &[vec![Send(1, 500)], vec![Recv(0)]]), [5030, 4787]);
    // In an exchange, each core has the costs of a send and of a receive.
    assert_eq!(clocks(&of(500), &[vec![Exchange(1, 500, 1)], vec![Exchange(0, 500, 0)]]), [2787; 2]);
}

#[test]
fn posting_a_receive_takes_its_core_time_which_a_wait_hides() {
    let costly = || vec![Row { send_overhead: ns(30), recv_overhead: ns(7), ..row(10) }];
    let link = |eager| Link::new(Contention::Ideal, Bytes::new(eager), ns(10), costly());
    let mut platform = with_link(machine([1, 1, 2], Contention::Ideal), Level::IntraCmp, link(1000));
    platform.core.post_overhead = ns(40);
    // The message arrives at 30 + 10 + 10 ns. Posting the receive takes 40 ns, so the receive completes after the
    // message has arrived.
    assert_eq!(clocks(&platform, &[vec![Send(1, 10)], vec![Recv(0)]]), [30, 57]);
    // If the rank computes for 100 ns first, the receive is posted at 140 ns.
    assert_eq!(clocks(&platform, &[vec![Send(1, 10)], vec![Compute(100), Recv(0)]]), [30, 147]);
    // Four messages are sent in one direction. The sends end at 120 ns, and the messages have arrived by 140 ns.
    // Posting the receives takes until 160 ns, and completing them takes four times 7 ns.
    let sends = [vec![Isend(1, 10); 4], vec![WaitAll]].concat();
    let receives = |from| [vec![Irecv(from); 4], vec![WaitAll]].concat();
    assert_eq!(clocks(&platform, &[sends.clone(), receives(0)]), [120, 188]);
    // With four messages in each direction, each core needs 40 + 30 + 7 per message, because all messages arrive while
    // the core is busy.
    let both = |other| [vec![Irecv(other); 4], vec![Isend(other, 10); 4], vec![WaitAll]].concat();
    assert_eq!(clocks(&platform, &[both(1), both(0)]), [308; 2]);
    // An exchange posts its receive first, so its message leaves at 70 ns and arrives at 90 ns.
    assert_eq!(clocks(&platform, &[vec![Exchange(1, 10, 1)], vec![Exchange(0, 10, 0)]]), [97; 2]);
    // A rendezvous is granted when its receive is posted. The request arrives at 40 ns. The receive is posted at 140
    // ns, the grant arrives at 150 ns, and the data arrive 20 later.
    let mut late = with_link(platform, Level::IntraCmp, link(0));
    assert_eq!(clocks(&late, &[vec![Send(1, 10)], vec![Compute(100), Recv(0)]]), [170, 177]);
    late.core.post_overhead = ns(0);
    assert_eq!(clocks(&late, &[vec![Send(1, 10)], vec![Compute(100), Recv(0)]]), [130, 137]);
}

#[test]
fn a_size_on_a_border_belongs_to_the_lower_interval() {
    let small = Row { up_to: Bytes::new(100), ..row(1000) };
    let large = Row { above: Bytes::new(100), latency: ns(5000), ..row(0) };
    let platform = with_link(
        machine([2, 1, 1], Contention::Ideal),
        Level::InterNode,
        Link::new(Contention::Ideal, Bytes::MAX, ns(1000), vec![small, large]),
    );
    for (size, time) in [(0, 1000), (99, 1099), (100, 1100), (101, 5101)] {
        assert_eq!(clocks(&platform, &[vec![Send(1, size)], vec![Recv(0)]])[1], time, "{size} bytes");
    }
}

#[test]
fn a_rendezvous_pays_a_handshake_and_starts_when_both_are_there() {
    let platform = with_link(
        machine([2, 1, 1], Contention::Ideal),
        Level::InterNode,
        Link::new(Contention::Ideal, Bytes::new(100), ns(400), vec![row(1000)]),
    );
    // The request arrives at 400 ns and the grant arrives at 800 ns. The transfer takes 1000 + 600 ns, and the blocking
    // send returns at the end of the transfer.
    assert_eq!(clocks(&platform, &[vec![Send(1, 600)], vec![Recv(0)]]), [2400, 2400]);
    // A message whose size equals the threshold is still eager.
    assert_eq!(clocks(&platform, &[vec![Send(1, 100)], vec![Recv(0)]]), [0, 1100]);
    // If the receive is posted at 5000 ns, the grant arrives at 5400 ns and the transfer ends at 7000 ns.
    assert_eq!(clocks(&platform, &[vec![Send(1, 600)], vec![Compute(5000), Recv(0)]]), [7000, 7000]);
    // A nonblocking sender computes during the transfer.
    let overlap = [vec![Isend(1, 600), Compute(3000), WaitAll], vec![Recv(0)]];
    assert_eq!(clocks(&platform, &overlap), [3000, 2400]);
    // A synchronous send of any size uses the rendezvous protocol, and a buffered send never does. The sender of a
    // short transfer, which ends at 800 + 1000 + 50 ns, learns of the end one control message after the head has
    // arrived: 800 + 1000 + 400 ns.
    let mode = |mode| [vec![SendMode(1, 50, mode)], vec![Recv(0)]];
    assert_eq!(clocks(&platform, &mode(SendMode::Synchronous)), [2200, 1850]);
    let large = [vec![SendMode(1, 600, SendMode::Buffered)], vec![Recv(0)]];
    assert_eq!(clocks(&platform, &large), [0, 1600]);
}

/// Simulates messages of 600 bytes that `count` ranks send at the same time at the level `level`. Returns the times of
/// the messages.
fn three_at_once(law: Contention, level: Level, count: u32) -> Vec<u64> {
    let nct = match level {
        Level::IntraCmp => [1, 1, 6],
        Level::InterCmp => [1, 2, 3],
        Level::InterNode => [2, 1, 3],
    };
    let mut scripts = vec![Vec::new(); 6];
    for rank in 0..count {
        scripts[rank as usize] = vec![Send(rank + 3, 600)];
        scripts[rank as usize + 3] = vec![Recv(rank)];
    }
    clocks(&machine(nct, law), &scripts)[3..3 + count as usize].to_vec()
}

#[test]
fn transfers_that_share_a_resource_follow_the_load_law() {
    for (level, latency) in [(Level::IntraCmp, 10), (Level::InterCmp, 100), (Level::InterNode, 1000)] {
        let expect = |law, bytes: &[u64]| {
            let expected: Vec<u64> = bytes.iter().map(|bytes| latency + bytes).collect();
            assert_eq!(three_at_once(law, level, bytes.len() as u32), expected, "{law:?} {level:?}");
        };
        expect(Contention::Ideal, &[600, 600]);
        expect(Contention::Ideal, &[600, 600, 600]);
        // In the model `share`, the first message has the whole bandwidth, the second message half, and the third
        // message a third.
        expect(Contention::Share, &[600, 1200]);
        expect(Contention::Share, &[600, 1200, 1800]);
        // In the model `queue`, the second message waits 600 ns for the bytes of the first message.
        expect(Contention::Queue, &[600, 1200]);
        expect(Contention::Queue, &[600, 1200, 1800]);
    }
}

#[test]
fn a_queued_resource_is_held_for_the_gap_if_that_is_longer() {
    let gap = Row { gap: ns(900), ..row(1000) };
    let platform = with_link(
        machine([2, 1, 2], Contention::Queue),
        Level::InterNode,
        Link::new(Contention::Queue, Bytes::MAX, ns(1000), vec![gap]),
    );
    let scripts = [vec![Send(2, 600)], vec![Send(3, 600)], vec![Recv(0)], vec![Recv(1)]];
    assert_eq!(clocks(&platform, &scripts), [0, 0, 1600, 2500]);
}

#[test]
fn measured_columns_give_cost_by_load() {
    let gbs = |bytes_per_us: u64| Bandwidth::new(bytes_per_us * 1_000_000).unwrap();
    let columns = vec![
        LoadColumn { load: 1, latency: ns(1000), bandwidth: gbs(1000) },
        LoadColumn { load: 3, latency: ns(1400), bandwidth: gbs(500) },
    ];
    let measured = Row { columns, ..row(1000) };
    let platform = with_link(
        machine([2, 1, 3], Contention::Ideal),
        Level::InterNode,
        Link::new(Contention::Measured, Bytes::MAX, ns(1000), vec![measured]),
    );
    let mut scripts = vec![Vec::new(); 6];
    for rank in 0..3 {
        scripts[rank as usize] = vec![Send(rank + 3, 600)];
        scripts[rank as usize + 3] = vec![Recv(rank)];
    }
    // With load 1, a message takes 1000 + 600 ns. The times for load 2 are interpolated: 1200 + 900 ns. With load 3, a
    // message takes 1400 + 1200 ns.
    assert_eq!(clocks(&platform, &scripts)[3..], [1600, 2100, 2600]);
}

#[test]
fn the_receiving_nic_is_shared_by_senders_of_different_nodes() {
    let platform = machine([3, 1, 1], Contention::Share);
    // The heads of both messages arrive at 1000 ns. The second message has load 2 at the receiver and takes 1000 + 2 ·
    // 600 ns.
    let scripts = [vec![RecvAny, RecvAny], vec![Send(0, 600)], vec![Send(0, 600)]];
    let (outcome, saw) = run(&platform, &scripts);
    assert_eq!(outcome.predicted, at(2200));
    assert_eq!(saw, [(0, Saw::Got(0, 1, 600)), (0, Saw::Got(0, 2, 600))]);
}

#[test]
fn a_resource_is_free_again_at_the_end_of_a_transfer() {
    let platform = machine([2, 1, 2], Contention::Share);
    // The first transfer holds both network adapters until 1600 ns. The second message leaves at 1600 ns and therefore
    // does not share the adapters.
    let scripts = [vec![Send(2, 600)], vec![Compute(1600), Send(3, 600)], vec![Recv(0)], vec![Recv(1)]];
    assert_eq!(clocks(&platform, &scripts), [0, 1600, 1600, 3200]);
    // A message that leaves one nanosecond earlier shares both network adapters.
    let scripts = [vec![Send(2, 600)], vec![Compute(1599), Send(3, 600)], vec![Recv(0)], vec![Recv(1)]];
    assert_eq!(clocks(&platform, &scripts), [0, 1599, 1600, 3799]);
}

#[test]
fn a_small_message_does_not_overtake_a_large_one_of_the_same_pair() {
    let small = Row { up_to: Bytes::new(100), ..row(1000) };
    let large = Row { above: Bytes::new(100), ..row(9000) };
    for law in [Contention::Ideal, Contention::Share] {
        let platform = with_link(
            machine([2, 1, 1], Contention::Ideal),
            Level::InterNode,
            Link::new(law, Bytes::MAX, ns(1000), vec![small.clone(), large.clone()]),
        );
        // The large message of the sender is received first, although the head of the small message would arrive 8000
        // ns earlier.
        let scripts = [vec![Send(1, 500), Send(1, 1)], vec![RecvAny, Clock, RecvAny, Clock]];
        let (_, saw) = run(&platform, &scripts);
        let sizes: Vec<_> = saw.iter().filter(|(_, saw)| matches!(saw, Saw::Got(..))).cloned().collect();
        assert_eq!(sizes, [(1, Saw::Got(0, 0, 500)), (1, Saw::Got(0, 0, 1))]);
        assert_eq!(saw[1], (1, Saw::Clock(at(9500))));
    }
}

#[test]
fn a_wildcard_takes_the_message_whose_head_came_first() {
    let platform = machine([3, 1, 1], Contention::Ideal);
    let scripts = [vec![Compute(50_000), RecvAny, RecvAny], vec![Compute(10), Send(0, 1)], vec![Send(0, 9000)]];
    let (outcome, saw) = run(&platform, &scripts);
    // The head of the long message arrives at 1000 ns, and the head of the short message arrives at 1010 ns.
    assert_eq!(saw, [(0, Saw::Got(0, 2, 9000)), (0, Saw::Got(0, 1, 1))]);
    assert_eq!(outcome.predicted, at(50_000));
}

#[test]
fn tags_select_among_messages() {
    let platform = machine([2, 1, 1], Contention::Ideal);
    let scripts = [vec![SendTag(1, 10, 5), SendTag(1, 20, 6)], vec![RecvTag(0, 6), RecvTag(0, 5)]];
    assert_eq!(run(&platform, &scripts).1, [(1, Saw::Got(0, 0, 20)), (1, Saw::Got(0, 0, 10))]);
}

#[test]
fn waitall_takes_overheads_one_after_another_in_order_of_arrival() {
    let costly = Row { recv_overhead: ns(7), ..row(1000) };
    let platform = with_link(
        machine([3, 1, 1], Contention::Ideal),
        Level::InterNode,
        Link::new(Contention::Ideal, Bytes::MAX, ns(1000), vec![costly]),
    );
    // The message of rank 1 arrives at 1010 ns and the message of rank 2 arrives at 1012 ns. The first receive
    // completes at 1010 + 7 = 1017 ns, and the second receive 7 later.
    let scripts = [vec![Irecv(2), Irecv(1), WaitAll], vec![Send(0, 10)], vec![Send(0, 12)]];
    assert_eq!(clocks(&platform, &scripts)[0], 1024);
    // If the second message arrives later, its receive completes at max(1017, 3010) + 7 ns.
    let scripts = [vec![Irecv(2), Irecv(1), WaitAll], vec![Send(0, 10)], vec![Compute(2000), Send(0, 10)]];
    assert_eq!(clocks(&platform, &scripts)[0], 3017);
}

#[test]
fn waitany_takes_the_first_to_complete_even_if_another_head_came_first() {
    let platform = machine([3, 1, 1], Contention::Ideal);
    // The head of rank 2's message arrives at 1000 ns, and its last byte arrives at 6000 ns. The message of rank 1
    // arrives at 2100 ns.
    let scripts = [vec![Irecv(2), Irecv(1), WaitAny, Clock], vec![Compute(1000), Send(0, 100)], vec![Send(0, 5000)]];
    assert_eq!(run(&platform, &scripts).1, [(0, Saw::Got(1, 1, 100)), (0, Saw::Clock(at(2100)))]);
}

#[test]
fn a_test_sees_what_is_complete_at_its_time_and_a_failed_one_costs_a_poll() {
    let platform = machine([2, 1, 1], Contention::Ideal);
    // The message arrives at 1100 ns. The rank tests for the message at 1050 and 1150 ns.
    let scripts = [vec![Irecv(1), Compute(1050), Test, Clock, Test, Clock], vec![Send(0, 100)]];
    let saw = [Saw::Nothing, Saw::Clock(at(1150)), Saw::Got(0, 1, 100), Saw::Clock(at(1150))];
    assert_eq!(run(&platform, &scripts).1, saw.map(|saw| (0, saw)));
}

#[test]
fn probes_find_heads_and_leave_the_message() {
    let platform = machine([2, 1, 1], Contention::Ideal);
    let scripts = [vec![IprobeAny, ProbeAny, Clock, IprobeAny, RecvAny, Clock], vec![Send(0, 500)]];
    let got = || Saw::Got(0, 1, 500);
    let saw = [Saw::Nothing, got(), Saw::Clock(at(1000)), got(), got(), Saw::Clock(at(1500))];
    assert_eq!(run(&platform, &scripts).1, saw.map(|saw| (0, saw)));
}

#[test]
fn an_exchange_sends_and_receives_at_once() {
    let platform = machine([2, 1, 1], Contention::Ideal);
    let scripts = [vec![Exchange(1, 100, 1)], vec![Compute(300), Exchange(0, 200, 0)]];
    assert_eq!(clocks(&platform, &scripts), [1500, 1100]);
}

#[test]
fn a_rank_can_send_to_itself() {
    let platform = machine([1, 1, 1], Contention::Share);
    assert_eq!(clocks(&platform, &[vec![Send(0, 100), Recv(0)]]), [110]);
}

#[test]
fn a_strand_proceeds_by_itself() {
    let platform = machine([2, 1, 1], Contention::Ideal);
    // The strand sends at 0 ns and receives its answer at 2200 ns, while the rank computes until 2000 ns.
    let strand = Start(vec![Send(1, 100), Recv(1)]);
    let scripts = [vec![strand.clone(), Compute(2000), WaitAll], vec![Recv(0), Send(0, 100)]];
    assert_eq!(clocks(&platform, &scripts), [2200, 1100]);
    let scripts = [vec![strand, Compute(5000), WaitAll], vec![Recv(0), Send(0, 100)]];
    let (outcome, _) = run(&platform, &scripts);
    assert_eq!(outcome.per_rank[0].clock, at(5000));
    assert_eq!(outcome.per_rank[0].parts.compute, ns(5000));
}

#[test]
fn the_parts_of_a_rank_sum_to_its_clock() {
    let costly = Row { send_overhead: ns(30), recv_overhead: ns(7), ..row(1000) };
    let platform = with_link(
        machine([2, 1, 1], Contention::Ideal),
        Level::InterNode,
        Link::new(Contention::Ideal, Bytes::MAX, ns(1000), vec![costly]),
    );
    let scripts = [vec![Compute(11), Send(1, 500), Recv(1)], vec![Recv(0), Compute(5), Send(0, 3)]];
    let (outcome, _) = run(&platform, &scripts);
    let parts = outcome.per_rank[0].parts;
    assert_eq!((parts.compute, parts.send, parts.recv), (ns(11), ns(30), ns(7)));
    // The final clock of rank 0 is the sum of the costs in order: 11 + 30 + 1500 + 7 + 5 + 30 + 1003 + 7.
    assert_eq!(outcome.per_rank[0].clock, at(2593));
    for rank in &outcome.per_rank {
        assert_eq!(rank.clock.as_ps(), rank.parts.total().as_ps());
    }
}

#[test]
fn a_message_longer_than_its_receive_ends_the_run() {
    let platform = machine([2, 1, 1], Contention::Ideal);
    let error = run_with(&platform, &[vec![Send(1, 100)], vec![RecvUpTo(0, 99)]], 1).unwrap_err();
    assert_eq!(
        error.to_string(),
        "rank 1 at virtual time 1.000 us: message truncated: 100 bytes from rank 0, room for 99"
    );
    assert!(run_with(&platform, &[vec![Send(1, 100)], vec![RecvUpTo(0, 100)]], 1).is_ok());
}

#[test]
fn a_deadlock_names_who_waits_for_whom_since_when() {
    let platform = machine([2, 1, 2], Contention::Ideal);
    for workers in [1, 2] {
        let scripts = [vec![Compute(5), Recv(2)], vec![Recv(0)], vec![Recv(0)], vec![]];
        let RunError::Deadlock(deadlock) = run_with(&platform, &scripts, workers).unwrap_err() else { panic!() };
        assert_eq!(deadlock.finished, 1);
        assert_eq!(deadlock.cycle(), [0, 2, 0]);
        let rows: Vec<_> =
            deadlock.waiting.iter().map(|w| (w.rank, w.call.as_str(), w.awaits.join("; "), w.since)).collect();
        assert_eq!(
            rows,
            [
                (0, "recv", "a message from rank 2".to_owned(), at(5)),
                (1, "recv", "a message from rank 0".to_owned(), at(0)),
                (2, "recv", "a message from rank 0".to_owned(), at(0)),
            ]
        );
    }
}

#[test]
fn messages_nobody_receives_are_counted() {
    let platform = machine([2, 1, 1], Contention::Ideal);
    let (outcome, _) = run(&platform, &[vec![Send(1, 100), Send(1, 100)], vec![Recv(0)]]);
    assert_eq!((outcome.unreceived, outcome.messages.count), (1, 2));
}

#[test]
fn a_machine_without_inter_node_latency_runs_on_one_worker() {
    let platform = with_link(machine([2, 1, 1], Contention::Ideal), Level::InterNode, link(Contention::Ideal, 0));
    let scripts = [vec![Send(1, 100)], vec![Recv(0)]];
    let (outcome, _) = run_with(&platform, &scripts, 2).unwrap();
    assert_eq!((outcome.predicted, outcome.host.workers), (at(100), 1));
}

#[test]
fn ranks_on_one_core_take_turns_at_computing() {
    let platform = machine([2, 1, 1], Contention::Ideal);
    // Ranks 0 and 1 share the first core and need 2 · 100 ns. Rank 2 is alone on its core and needs 100 ns.
    let sites = Placement::Block.sites(platform.shape, 3, true).unwrap();
    let scripts = [vec![Compute(100)], vec![Compute(100)], vec![Compute(100)]];
    let (outcome, _) = run_placed(&platform, sites, &scripts, 1).unwrap();
    let clocks: Vec<_> = outcome.per_rank.iter().map(|rank| rank.clock).collect();
    assert_eq!(clocks, [at(200), at(200), at(100)]);
}

#[test]
fn a_strand_is_not_held_up_by_what_its_rank_sends_later() {
    let platform = two_latencies();
    // The strand answers rank 2 at 1000 ns. The main program has run ahead of virtual time and sends a slow message at
    // 50,000 ns.
    let scripts = [
        vec![Start(vec![Recv(2), Send(1, 0)]), Compute(50_000), Send(1, 500), WaitAll],
        vec![RecvAny, Clock, RecvAny, Clock],
        vec![Send(0, 0)],
    ];
    for workers in 1..=3 {
        let (_, saw) = run_with(&platform, &scripts, workers).unwrap();
        let clocks: Vec<_> = saw.iter().filter_map(|(_, saw)| clock(saw)).collect();
        assert_eq!(clocks, [at(2000), at(59_500)], "{workers} workers");
    }
}

#[test]
fn a_strand_does_not_overtake_itself_while_its_rank_runs_ahead() {
    let platform = two_latencies();
    let mut ahead = vec![Start(vec![Send(1, 500), Recv(2), Send(1, 0)]), Compute(50_000)];
    // The number of slow messages is so large that the engine removes heads of earlier messages from its list.
    ahead.extend((0..40).map(|_| Send(2, 500)));
    ahead.push(WaitAll);
    let mut receiver = vec![Send(0, 0)];
    receiver.extend((0..40).map(|_| Recv(0)));
    let scripts = [ahead, vec![Recv(0), Clock, Recv(0), Clock], receiver];
    for workers in 1..=3 {
        let (_, saw) = run_with(&platform, &scripts, workers).unwrap();
        let sizes: Vec<_> = saw
            .iter()
            .filter_map(|(rank, saw)| match saw {
                Saw::Got(_, _, size) if *rank == 1 => Some(*size),
                _ => None,
            })
            .collect();
        assert_eq!(sizes, [500, 0], "{workers} workers");
    }
}

fn clock(saw: &Saw) -> Option<SimTime> {
    match saw {
        Saw::Clock(clock) => Some(*clock),
        _ => None,
    }
}

/// Creates three nodes. Messages of more than 100 bytes have a latency of 9000 ns.
fn two_latencies() -> Platform {
    let small = Row { up_to: Bytes::new(100), ..row(1000) };
    let large = Row { above: Bytes::new(100), ..row(9000) };
    let slow = Link::new(Contention::Ideal, Bytes::MAX, ns(1000), vec![small, large]);
    with_link(machine([3, 1, 1], Contention::Ideal), Level::InterNode, slow)
}

#[test]
fn nodes_without_ranks_take_no_room() {
    // The engine must not allocate state for the network adapters of all 2^32 nodes, which would need hundreds of
    // gigabytes of memory.
    let platform = machine([u32::MAX, 1, 1], Contention::Share);
    let sites = [0, u32::MAX - 1].map(|node| Site { node, cmp: 0, core: 0 }).to_vec();
    for workers in [1, 2, 3] {
        let (outcome, _) = run_placed(&platform, sites.clone(), &[vec![Send(1, 100)], vec![Recv(0)]], workers).unwrap();
        assert_eq!(outcome.predicted, at(1100));
        assert_eq!((outcome.per_rank[1].node, outcome.host.workers), (u32::MAX - 1, workers.min(2)));
    }
}
