//! Tests of the critical path: the parts of the predicted time are compared with values computed by hand. Comments give
//! times in ns.

use crate::support::Do::{self, *};
use crate::support::collectives::{Line, part, run_lines, same};
use crate::support::{Polling, at, machine, ns, row, run, run_as, run_with, with_link};
use mcpsim::engine::{Outcome, RunOptions};
use mcpsim::platform::{Collective, Contention, Level, Link, LoadColumn, Platform, Row};
use mcpsim::profile::{LevelParts, PathParts, TransferParts};
use mcpsim::rank::SendMode;
use mcpsim::units::{Bandwidth, Bytes, SimSpan};

/// Asserts that the critical path of the run has the parts `expected`, for one worker and for several workers.
fn made_of(platform: &Platform, scripts: &[Vec<Do>], expected: PathParts) -> Outcome {
    let (outcome, _) = run(platform, scripts);
    assert_eq!(outcome.path.total(), outcome.predicted.since(at(0)), "the parts sum to the predicted time");
    let path = outcome.path;
    // Imbalance is a part of the computation on the critical path.
    let path = PathParts { compute: path.compute + path.imbalance, imbalance: ns(0), ..path };
    assert_eq!(path, expected);
    for workers in 2..=platform.shape.nodes {
        let (other, _) = run_with(platform, scripts, workers).unwrap();
        assert_eq!((other.path, &other.what_if), (outcome.path, &outcome.what_if), "{workers} workers");
    }
    outcome
}

fn inter_node(parts: TransferParts) -> LevelParts {
    LevelParts { inter_node: parts, ..LevelParts::default() }
}

/// Returns the parts of a transfer: latency, bytes, contention and protocol, in nanoseconds.
fn parts(latency: u64, bytes: u64, contention: u64, protocol: u64) -> TransferParts {
    TransferParts { latency: ns(latency), bytes: ns(bytes), contention: ns(contention), protocol: ns(protocol) }
}

/// Creates two nodes with one core each. A send costs 20 ns and a receive costs 30 ns of core time. Messages of more
/// than `eager` bytes use the rendezvous protocol.
fn pair(eager: u64) -> Platform {
    let row = Row { send_overhead: ns(20), recv_overhead: ns(30), ..row(1000) };
    let link = Link::new(Contention::Ideal, Bytes::new(eager), ns(400), vec![row]);
    with_link(machine([2, 1, 1], Contention::Ideal), Level::InterNode, link)
}

#[test]
fn a_wait_that_another_task_ends_is_on_the_path_of_that_task() {
    // The strand computes for 500 ns and cancels the receive for which the program waits.
    let strand = vec![Compute(500), CancelNumber(0), Compute(100)];
    let scripts = [vec![IrecvAny, Start(strand), Compute(200), WaitAny, Compute(2000)], vec![]];
    // The time of a strand counts as reduction, because the strand is no thread.
    let expected = PathParts { compute: ns(2000), combine: ns(500), ..PathParts::default() };
    let outcome = made_of(&pair(1000), &scripts, expected);
    assert_eq!(outcome.predicted, at(2500));
}

#[test]
fn a_receive_that_waits_is_the_senders_path_and_the_transfer() {
    // The message leaves at 520 ns, arrives at 1620 ns and is received by 1650 ns. The 700 ns that rank 1 computes are
    // not on the critical path.
    let scripts = [vec![Compute(500), Send(1, 100)], vec![Compute(700), Recv(0)]];
    let expected = PathParts {
        compute: ns(500),
        send: ns(20),
        recv: ns(30),
        levels: inter_node(parts(1000, 100, 0, 0)),
        ..PathParts::default()
    };
    let outcome = made_of(&pair(1000), &scripts, expected);
    assert_eq!(outcome.predicted, at(1650));
}

#[test]
fn a_receive_that_comes_late_or_just_in_time_is_the_receivers_path() {
    for late in [1620, 2000] {
        let scripts = [vec![Compute(500), Send(1, 100)], vec![Compute(late), Recv(0)]];
        made_of(&pair(1000), &scripts, PathParts { compute: ns(late), recv: ns(30), ..PathParts::default() });
    }
}

#[test]
fn compute_beyond_the_mean_of_the_ranks_is_imbalance() {
    let outcome = run(&pair(1000), &[vec![Compute(500), Send(1, 100)], vec![Compute(100), Recv(0)]]).0;
    assert_eq!((outcome.path.compute, outcome.path.imbalance), (ns(300), ns(200)));
    let outcome = run(&pair(1000), &[vec![Compute(500), Send(1, 100)], vec![Compute(900), Recv(0)]]).0;
    assert_eq!((outcome.path.compute, outcome.path.imbalance), (ns(500), ns(0)), "less than the mean is no imbalance");
}

#[test]
fn a_rendezvous_waits_for_the_request_and_the_grant() {
    // The request leaves at 520 ns and arrives at 920 ns. The grant arrives at 1320 ns, and the transfer ends 1000 +
    // 500 ns later.
    let scripts = [vec![Compute(500), Send(1, 500)], vec![Compute(700), Recv(0)]];
    let levels = inter_node(parts(1000, 500, 0, 800));
    let expected = PathParts { compute: ns(500), send: ns(20), recv: ns(30), levels, ..PathParts::default() };
    assert_eq!(made_of(&pair(50), &scripts, expected).predicted, at(2850));
}

#[test]
fn a_rendezvous_whose_receive_comes_last_is_the_receivers_path_back_to_the_sender() {
    // The receive is posted at 2000 ns, the grant arrives at 2400 ns, and the transfer ends at 3900 ns at both ranks.
    // After the transfer the sender computes.
    let scripts = [vec![Compute(500), Send(1, 500), Compute(60)], vec![Compute(2000), Recv(0)]];
    let levels = inter_node(parts(1000, 500, 0, 400));
    let expected = PathParts { compute: ns(2060), levels, ..PathParts::default() };
    assert_eq!(made_of(&pair(50), &scripts, expected).predicted, at(3960));
    // The receive is posted at 920 ns, at the same time as the request arrives.
    let scripts = [vec![Compute(500), Send(1, 500), Compute(60)], vec![Compute(920), Recv(0)]];
    let expected = PathParts { compute: ns(980), ..expected };
    assert_eq!(made_of(&pair(50), &scripts, expected).predicted, at(2880));
}

#[test]
fn a_receive_posted_before_other_work_counts_from_where_it_was_posted() {
    // The request arrives at 420 ns, and the receive is posted at 600 ns. The grant arrives at 1000 ns, and the
    // transfer ends at 2500 ns. The receiver's computation ends at 1400 ns.
    let scripts = [vec![Send(1, 500)], vec![Compute(600), Irecv(0), Compute(800), WaitAll]];
    let levels = inter_node(parts(1000, 500, 0, 400));
    let expected = PathParts { compute: ns(600), recv: ns(30), levels, ..PathParts::default() };
    assert_eq!(made_of(&pair(50), &scripts, expected).predicted, at(2530));
    // An exchange posts its receive before the core spends the 20 ns of the send. The 20 ns of the send are therefore
    // not on the critical path.
    let scripts = [vec![Send(1, 500), Recv(1)], vec![Compute(600), Exchange(0, 10, 0)]];
    assert_eq!(made_of(&pair(50), &scripts, expected).predicted, at(2530));
}

#[test]
fn the_end_of_a_short_rendezvous_is_news_that_takes_a_handshake() {
    // The request of a synchronous message of 10 bytes leaves at 20 ns, and the grant arrives at 820 ns. The head
    // arrives at 1820 ns and the last byte at 1830 ns. The sender learns of the end at 2220 ns, one control message
    // after the head has arrived. The transfer of the bytes is therefore not on the sender's critical path.
    let scripts = [vec![IsendWith(1, 10, 0, SendMode::Synchronous), WaitAll, Compute(100)], vec![Recv(0)]];
    let levels = inter_node(parts(1000, 0, 0, 400 + 400 + 400));
    let expected = PathParts { compute: ns(100), send: ns(20), levels, ..PathParts::default() };
    assert_eq!(made_of(&pair(50), &scripts, expected).predicted, at(2320));
}

#[test]
fn shared_bandwidth_is_contention() {
    // Both messages leave at 0 ns and share the adapter. The first message takes 1000 + 500 ns, and the second message
    // takes 1000 + 2 × 500 ns.
    let platform = machine([2, 1, 2], Contention::Share);
    let scripts = [vec![Send(2, 500)], vec![Send(3, 500)], vec![Recv(0)], vec![Recv(1)]];
    let levels = inter_node(parts(1000, 500, 500, 0));
    assert_eq!(made_of(&platform, &scripts, PathParts { levels, ..PathParts::default() }).predicted, at(2000));
}

#[test]
fn waiting_for_a_port_is_contention() {
    // The second message waits 500 ns at the sender's adapter. The message does not wait at the receiver's adapter,
    // because the messages arrive one after the other.
    let platform = machine([2, 1, 2], Contention::Queue);
    let scripts = [vec![Send(2, 500)], vec![Send(3, 500)], vec![Recv(0)], vec![Recv(1)]];
    let levels = inter_node(parts(1000, 500, 500, 0));
    assert_eq!(made_of(&platform, &scripts, PathParts { levels, ..PathParts::default() }).predicted, at(2000));
}

#[test]
fn what_measured_loads_cost_more_is_contention() {
    // A single message takes 100 + 500 ns, and two concurrent messages take 150 + 1000 ns.
    let column = |load, latency, megabytes: u64| LoadColumn {
        load,
        latency: ns(latency),
        bandwidth: Bandwidth::new(megabytes * 1_000_000).unwrap(),
    };
    let row = Row { columns: vec![column(1, 100, 1000), column(2, 150, 500)], ..row(100) };
    let link = Link::new(Contention::Measured, Bytes::MAX, ns(100), vec![row]);
    let platform = with_link(machine([1, 2, 2], Contention::Ideal), Level::InterCmp, link);
    let scripts = [vec![Send(2, 500)], vec![Send(3, 500)], vec![Recv(0)], vec![Recv(1)]];
    let levels = LevelParts { inter_cmp: parts(100, 500, 550, 0), ..LevelParts::default() };
    assert_eq!(made_of(&platform, &scripts, PathParts { levels, ..PathParts::default() }).predicted, at(1150));
}

#[test]
fn a_message_that_may_not_overtake_is_held_up_by_contention() {
    // The message of 100 bytes has a latency of 1000 ns, and the message of 10 bytes has a latency of 200 ns. The head
    // of the second message may not arrive before 1000 ns, and its last byte arrives at the same time as the head.
    let rows = vec![Row { up_to: Bytes::new(50), ..row(200) }, Row { above: Bytes::new(50), ..row(1000) }];
    let link = Link::new(Contention::Ideal, Bytes::MAX, ns(200), rows);
    let platform = with_link(machine([2, 1, 1], Contention::Ideal), Level::InterNode, link);
    let scripts = [vec![SendTag(1, 100, 1), SendTag(1, 10, 2)], vec![RecvTag(0, 2)]];
    let levels = inter_node(parts(200, 10, 790, 0));
    assert_eq!(made_of(&platform, &scripts, PathParts { levels, ..PathParts::default() }).predicted, at(1000));
}

#[test]
fn of_several_requests_the_last_waited_for_counts_and_the_overheads_after_it() {
    // The message of rank 1 arrives at 1100 ns and the message of rank 2 arrives at 1120 ns. Rank 0 completes the first
    // receive at 1130 ns, so its core is busy when the second message arrives.
    let row = Row { recv_overhead: ns(30), ..row(1000) };
    let link = Link::new(Contention::Ideal, Bytes::MAX, ns(400), vec![row]);
    let platform = with_link(machine([3, 1, 1], Contention::Ideal), Level::InterNode, link);
    let receive = |first: u64, second: u64| {
        [vec![Irecv(1), Irecv(2), WaitAll], vec![Compute(first), Send(0, 100)], vec![Compute(second), Send(0, 100)]]
    };
    let levels = inter_node(parts(1000, 100, 0, 0));
    let expected = PathParts { recv: ns(60), levels, ..PathParts::default() };
    assert_eq!(made_of(&platform, &receive(0, 20), expected).predicted, at(1160));
    // If the second message arrives at 1140 ns, the core waits for it. Only the overhead of the second receive is on
    // the critical path.
    let expected = PathParts { compute: ns(40), recv: ns(30), levels, ..PathParts::default() };
    assert_eq!(made_of(&platform, &receive(0, 40), expected).predicted, at(1170));
    // If two messages arrive at the same time, the receive that is first in the list is completed first.
    let expected = PathParts { compute: ns(40), recv: ns(60), levels, ..PathParts::default() };
    assert_eq!(made_of(&platform, &receive(40, 40), expected).predicted, at(1200));
    let any = [vec![Irecv(1), Irecv(2), WaitAny], vec![Compute(70), Send(0, 100)], vec![Compute(50), Send(0, 100)]];
    let expected = PathParts { compute: ns(50), recv: ns(30), levels, ..PathParts::default() };
    assert_eq!(made_of(&platform, &any, expected).predicted, at(1180));
}

#[test]
fn a_probe_waits_for_the_latency_only() {
    let scripts = [vec![ProbeAny], vec![Compute(5), Send(0, 100)]];
    let expected =
        PathParts { compute: ns(5), send: ns(20), levels: inter_node(parts(1000, 0, 0, 0)), ..PathParts::default() };
    assert_eq!(made_of(&pair(1000), &scripts, expected).predicted, at(1025));
    let expected = PathParts { levels: inter_node(parts(0, 0, 0, 400)), ..expected };
    let scripts = [vec![ProbeAny, Recv(1)], vec![Compute(5), Send(0, 500)]];
    let (outcome, _) = run(&pair(50), &scripts);
    assert_eq!(outcome.path.levels.inter_node, parts(1000, 500, 0, 800));
    assert_eq!(outcome.path.send, expected.send);
}

#[test]
fn a_rank_that_polls_waits_for_what_it_finds_and_polls_from_there() {
    let mut platform = pair(1000);
    platform.core.poll = ns(70);
    // The message arrives at 1130 ns, and the poll at 17 × 70 = 1190 ns finds it.
    let levels = inter_node(parts(1000, 110, 0, 0));
    let expected = PathParts { send: ns(20), recv: ns(30), poll: ns(60), levels, ..PathParts::default() };
    for idle in [None, Some((3, 5000))] {
        let poll = Poll(Polling { probe: false, idle, free: false });
        let scripts = [vec![Irecv(1), poll], vec![Send(0, 110)]];
        assert_eq!(made_of(&platform, &scripts, expected).predicted, at(1220));
    }
    // A single test after a computation is not a wait, so the computation is on the critical path.
    let scripts = [vec![Irecv(1), Compute(2000), Test], vec![Send(0, 100)]];
    made_of(&platform, &scripts, PathParts { compute: ns(2000), recv: ns(30), ..PathParts::default() });
    // After an unsuccessful test, the critical path contains only the rank's own time.
    let scripts = [vec![Irecv(1), Test, Compute(3000), Test], vec![Send(0, 100)]];
    let expected = PathParts { compute: ns(3000), poll: ns(70), recv: ns(30), ..PathParts::default() };
    made_of(&platform, &scripts, expected);
}

#[test]
fn a_strand_is_waited_for_by_the_path_it_took() {
    // Both ranks start their strands at 10 ns. The message of rank 1's strand arrives at rank 0's strand at 10 + 20 +
    // 1100 ns, and the receive takes 30 ns.
    let strand = |lines: Vec<Do>| vec![Compute(10), Start(lines), Compute(100), WaitAll];
    let scripts = [strand(vec![Recv(1)]), strand(vec![Send(0, 100)])];
    let levels = inter_node(parts(1000, 100, 0, 0));
    let expected = PathParts { compute: ns(10), send: ns(20), recv: ns(30), levels, ..PathParts::default() };
    assert_eq!(made_of(&pair(1000), &scripts, expected).predicted, at(1160));
}

#[test]
fn a_reduction_combines_on_its_path() {
    // Two ranks reduce 1000 bytes to rank 0. The data arrive at 2000 ns. Combining 1000 bytes takes 125 flops and moves
    // 3000 bytes of memory, which takes 3000 ns.
    let call = |rank| Line::Collective(part(Collective::Reduce, rank, 2, same(1000)));
    let programs = [vec![call(0)], vec![Line::Compute(300), call(1)]];
    let outcome = run_lines(&machine([2, 1, 1], Contention::Ideal), &programs, 1).unwrap();
    let levels = inter_node(parts(1000, 1000, 0, 0));
    let expected =
        PathParts { compute: ns(150), imbalance: ns(150), combine: ns(3000), levels, ..PathParts::default() };
    assert_eq!((outcome.path, outcome.predicted), (expected, at(5300)));
}

#[test]
fn a_served_message_answers_by_the_path_it_came() {
    // The request leaves at 20 ns and is served at 1120 ns. The answer of 50 bytes leaves at 1140 ns and arrives at
    // 2190 ns.
    let scripts = [vec![Ask(1, 100, 1), Recv(1)], vec![]];
    let levels = inter_node(parts(2000, 150, 0, 0));
    let expected = PathParts { send: ns(40), recv: ns(30), levels, ..PathParts::default() };
    assert_eq!(made_of(&pair(1000), &scripts, expected).predicted, at(2220));
}

/// Returns the critical path followed backwards: its number of hops, and for each rank the rank's own time and the time
/// of messages in nanoseconds. The rank with the greatest time is first.
fn way_back(platform: &Platform, scripts: &[Vec<Do>]) -> (u64, Vec<(u32, u64, u64)>) {
    let options = RunOptions { workers: Some(2), critical_path: true, ..RunOptions::default() };
    let (outcome, _) = run_as(platform, scripts, options).unwrap();
    let way = outcome.critical_path.unwrap();
    assert_eq!(way.known, outcome.predicted.since(at(0)));
    let ns = |span: SimSpan| span.as_ps() / 1000;
    (way.hops, way.ranks.iter().map(|of| (of.rank, ns(of.share.own), ns(of.share.messages))).collect())
}

#[test]
fn the_way_back_follows_whoever_was_waited_for() {
    // Rank 0 computes for 500 ns and sends, which takes 20 ns. Rank 1 waits 1100 ns for the message, and the receive
    // takes 30 ns.
    let scripts = [vec![Compute(500), Send(1, 100)], vec![Compute(700), Recv(0)]];
    assert_eq!(way_back(&pair(1000), &scripts), (1, vec![(1, 30, 1100), (0, 520, 0)]));
    // The message arrives before the receive is posted, so no rank waits.
    let scripts = [vec![Compute(500), Send(1, 100)], vec![Compute(2000), Recv(0)]];
    assert_eq!(way_back(&pair(1000), &scripts), (0, vec![(1, 2030, 0)]));
    // The receive of a rendezvous is posted at 600 ns, the transfer ends at 2500 ns, and the sender computes
    // afterwards. The critical path contains 600 ns of rank 1, the grant and the transfer.
    let scripts = [vec![Send(1, 500), Compute(60)], vec![Compute(600), Irecv(0), Compute(800), WaitAll]];
    assert_eq!(way_back(&pair(50), &scripts), (1, vec![(0, 60, 1900), (1, 600, 0)]));
    // If the sender does not compute afterwards, the run ends with the receive, and the critical path never leaves rank
    // 1.
    let scripts = [vec![Send(1, 500)], vec![Compute(600), Irecv(0), Compute(800), WaitAll]];
    assert_eq!(way_back(&pair(50), &scripts), (0, vec![(1, 630, 1900)]));
}

#[test]
fn the_way_back_goes_through_strands_answers_and_polls() {
    // Rank 1 computes for 10 ns before its strand sends, which takes 20 ns. The strand of rank 0 waits 1100 ns for the
    // message, and the receive takes 30 ns.
    let strand = |lines: Vec<Do>| vec![Compute(10), Start(lines), Compute(100), WaitAll];
    let scripts = [strand(vec![Recv(1)]), strand(vec![Send(0, 100)])];
    assert_eq!(way_back(&pair(1000), &scripts), (1, vec![(0, 30, 1100), (1, 30, 0)]));
    // The request leaves at 20 ns and the answer arrives at 2190 ns. After the request, the critical path consists of
    // the time of messages, including the overhead of the answer.
    let scripts = [vec![Ask(1, 100, 1), Recv(1)], vec![]];
    assert_eq!(way_back(&pair(1000), &scripts), (0, vec![(0, 50, 2170)]));
    // The message arrives at 1130 ns, polling finds it at 1190 ns, and it is received by 1220 ns.
    let mut platform = pair(1000);
    platform.core.poll = ns(70);
    for idle in [None, Some((3, 5000))] {
        let poll = Poll(Polling { probe: false, idle, free: false });
        let scripts = [vec![Irecv(1), poll], vec![Send(0, 110)]];
        assert_eq!(way_back(&platform, &scripts), (1, vec![(0, 90, 1110), (1, 20, 0)]));
    }
}
