//! Expected times of ranks on hardware threads of one core and of ranks that share a core, computed by hand. A core
//! moves 1 byte per ns. Comments give times in ns.

use crate::support::Do::*;
use crate::support::collectives::{Line, line_clocks, part_by, same};
use crate::support::{Do, machine, ns, row, run_placed, run_placed_as, with_link};
use mcpsim::engine::{RunError, RunOptions};
use mcpsim::platform::{
    Algorithm, Collective, Contention, HardwareThreads, Level, Link, MemoryShares, MemorySharing, Placement, Platform,
    Row, Site,
};
use mcpsim::rank::SendMode::Synchronous;
use mcpsim::units::{Bandwidth, Bytes};

/// Creates nodes with one CMP. The cores have two hardware threads. If both threads of a core are busy, each thread is
/// slowed by a factor of 1.6.
fn threaded(cores: u32) -> Platform {
    let mut platform = machine([1, 1, cores], Contention::Ideal);
    platform.core.threads = HardwareThreads::new(2, vec![1.6]).unwrap();
    platform
}

/// Returns the final clocks in ns of ranks that are placed on the cores of the machine in order.
fn clocks(platform: &Platform, scripts: &[&[Do]], oversubscribe: bool) -> Vec<u64> {
    let (ranks, threads) = (scripts.len() as u32, platform.core.threads.count());
    let sites = Placement::Block.sites_by_threads(platform.shape, threads, ranks, oversubscribe).unwrap();
    let scripts: Vec<Vec<Do>> = scripts.iter().map(|script| script.to_vec()).collect();
    let (outcome, _) = run_placed(platform, sites, &scripts, 1).unwrap();
    outcome.per_rank.iter().map(|rank| rank.clock.as_ps() / 1000).collect()
}

#[test]
fn computing_is_slower_beside_a_busy_sibling() {
    let node = threaded(2);
    let computes: &[Do] = &[Compute(1000)];
    assert_eq!(clocks(&node, &[computes; 2], false), [1000; 2], "a core each");
    // The third rank shares a core with the first rank, and the second rank is alone on its core.
    assert_eq!(clocks(&node, &[computes; 3], false), [1600, 1000, 1600]);
    assert_eq!(clocks(&node, &[&[Code(1000)], &[Code(500)], &[Code(500)]], false), [1600, 500, 800]);
    assert_eq!(clocks(&node, &[computes; 4], false), [1600; 4]);
    // Six ranks run on four hardware threads. The three ranks of a core share the core's two threads.
    assert_eq!(clocks(&node, &[computes; 6], true), [2400; 6]);
}

#[test]
fn without_threads_ranks_on_a_core_take_turns() {
    let node = machine([1, 1, 1], Contention::Ideal);
    assert_eq!(clocks(&node, &[&[Compute(1000)], &[Compute(10)]], true), [2000, 20]);
}

#[test]
fn siblings_share_the_memory_of_their_cmp_and_slow_only_their_core() {
    // The two threads of a core need 1/1.6 bytes per ns each, which is 1.25 together. The memory of the CMP moves 1.5
    // bytes per ns and does not limit the two threads.
    let mut node = threaded(1);
    node.core.memory_sharing = MemorySharing::Fair;
    let cmp = |bytes_per_us: u64| Bandwidth::new(bytes_per_us * 1_000_000).unwrap();
    node.core.cmp_memory = cmp(1500);
    let block: &[Do] = &[Work(0, 1000)];
    assert_eq!(clocks(&node, &[block; 2], false), [1600; 2]);
    // If the CMP has 1 byte per ns, each thread has half. The slowdowns by the core and by memory are not multiplied.
    node.core.cmp_memory = cmp(1000);
    assert_eq!(clocks(&node, &[block; 2], false), [2000; 2]);
    assert_eq!(clocks(&node, &[&[Work(1000, 10)], &[Work(1000, 10)]], false), [1600; 2], "arithmetic");
    // With `MemorySharing::Placed` the result is the same, because the remaining rate of each rank is slowed by a
    // factor of 1.6.
    node.core.memory_sharing = MemorySharing::Placed;
    let sites = vec![Site { node: 0, cmp: 0, core: 0 }; 2];
    let memory = |node: &_, sites: &[Site]| -> Vec<f64> {
        MemoryShares::of_ranks(node, sites).iter().map(|part| part.bandwidth).collect()
    };
    assert_eq!(memory(&node, &sites), [0.8e9; 2]);
    node.core.cmp_memory = cmp(1500);
    assert_eq!(memory(&node, &sites), [1e9; 2]);
    assert_eq!(memory(&node, &sites[..1]), [1e9]);
}

/// Creates nodes with one core each. A send costs 30 ns and a receive costs 40 ns of core time.
fn costly(nodes: u32, law: Contention) -> Platform {
    let row = Row { send_overhead: ns(30), recv_overhead: ns(40), ..row(1000) };
    with_link(machine([nodes, 1, 1], law), Level::InterNode, Link::new(law, Bytes::MAX, ns(1000), vec![row]))
}

#[test]
fn messages_of_ranks_that_share_a_core_take_of_it_one_after_the_other() {
    let sends: [&[Do]; 4] = [&[Send(2, 10)], &[Send(3, 10)], &[Recv(0)], &[Recv(1)]];
    // The second message leaves at 60 ns and arrives at 1070 ns. At 1070 ns the receiver of the first message uses the
    // core, until 1080 ns.
    assert_eq!(clocks(&costly(2, Contention::Fair), &sends, true), [30, 60, 1080, 1120]);
    assert_eq!(clocks(&costly(2, Contention::Ideal), &sends, true), [30, 30, 1080, 1080], "other laws know no turns");
    let apart = machine([2, 1, 2], Contention::Fair);
    let apart = with_link(apart, Level::InterNode, costly(2, Contention::Fair).links[2].clone());
    assert_eq!(clocks(&apart, &sends, true), [30, 30, 1080, 1090], "a core each; the adapter carries 10 B in 10 ns");
    // A rank uses its core until the rank waits. The second rank requests the core at 20 ns, because computing on the
    // shared core takes twice as long, and receives the core at 60 ns.
    let twice: [&[Do]; 4] = [&[Send(2, 10), Send(2, 10)], &[Compute(10), Send(3, 10)], &[Recv(0), Recv(0)], &[Recv(1)]];
    assert_eq!(clocks(&costly(2, Contention::Fair), &twice, true), [60, 90, 1120, 1160]);
    // If the first rank computes between its sends, it releases the core, and the second rank receives the core at 30
    // ns.
    let between: [&[Do]; 4] =
        [&[Send(2, 10), Compute(5), Send(2, 10)], &[Send(3, 10)], &[Recv(0), Recv(0)], &[Recv(1)]];
    assert_eq!(clocks(&costly(2, Contention::Fair), &between, true), [90, 60, 1160, 1120]);
    // A wait for several requests uses the core when the last request is ready. Of two waiting ranks, the rank that
    // began to wait earlier receives the core first.
    let all: [&[Do]; 4] =
        [&[Isend(2, 10), Isend(3, 10), WaitAll], &[], &[Irecv(0), WaitAll], &[Compute(100), Irecv(0), WaitAll]];
    assert_eq!(clocks(&costly(2, Contention::Fair), &all, true), [60, 0, 1080, 1120]);
    // A rank that has not waited continues on the shared core at exactly the same picosecond.
    let sites = Placement::Block.sites(costly(2, Contention::Fair).shape, 4, true).unwrap();
    let scripts: Vec<Vec<Do>> = all.iter().map(|script| script.to_vec()).collect();
    let (outcome, _) = run_placed(&costly(2, Contention::Fair), sites, &scripts, 1).unwrap();
    assert_eq!(outcome.per_rank[0].clock.as_ps(), 60_000);
}

#[test]
fn all_overheads_of_a_wait_take_of_a_shared_core() {
    // The messages leave at 30, 60, 90 and 120 ns. The two messages of the first receiver have arrived by 1070 ns, and
    // this receiver uses the core from 1040 to 1120 ns. The second receiver requests the core for both receives when
    // its messages have arrived, at 1130 ns.
    let two = |to| vec![Isend(to, 10), Isend(to, 10), WaitAll];
    let both = |from| vec![Irecv(from), Irecv(from), WaitAll];
    let scripts = [two(2), two(3), both(0), both(1)];
    let scripts: Vec<&[Do]> = scripts.iter().map(Vec::as_slice).collect();
    assert_eq!(clocks(&costly(2, Contention::Fair), &scripts, true), [60, 120, 1120, 1200]);
}

#[test]
fn strands_take_of_a_core_as_they_do_where_it_is_not_shared() {
    let scripts: [&[Do]; 4] =
        [&[Start(vec![Send(2, 10)]), Start(vec![Send(2, 10)]), WaitAll], &[], &[Recv(0), Recv(0)], &[]];
    let shared = clocks(&costly(2, Contention::Fair), &scripts, true);
    assert_eq!(shared[0], 30, "beside each other");
}

#[test]
fn an_exchange_on_a_shared_core_posts_its_receive_before_it_sends() {
    // Messages of 100 B and more use the rendezvous protocol. A control message takes 1000 ns.
    let mut platform = costly(2, Contention::Fair);
    let rows = platform.links[2].rows().to_vec();
    platform.links[2] = Link::new(Contention::Fair, Bytes::new(99), ns(1000), rows);
    // Both ranks have computed until 10,000 ns. The second rank receives the core at 10,030 ns and grants the request.
    // The data leave at 11,030 ns and arrive at 13,030 ns. The second rank's own message leaves at 10,060 ns, and the
    // core of its receiver is busy from 11,040 to 11,080 ns.
    let scripts: [&[Do]; 4] = [
        &[Compute(5000), Send(2, 10)],
        &[Compute(5000), Exchange(3, 1, 3)],
        &[Recv(0)],
        &[Isend(1, 1000), Recv(1), WaitAll],
    ];
    assert_eq!(clocks(&platform, &scripts, true), [10_030, 13_070, 11_080, 13_030]);
}

/// Changes the platform so that messages of 100 B and more between ranks of one core use the rendezvous protocol.
fn near(platform: Platform) -> Platform {
    with_link(platform, Level::IntraCmp, Link::new(Contention::Fair, Bytes::new(99), ns(100), vec![row(100)]))
}

#[test]
fn who_has_sent_goes_on_when_its_receiver_on_the_same_core_waits() {
    // The request arrives at 100 ns, the grant arrives at 200 ns, and the data arrive from 300 to 500 ns. The receiver
    // has then copied the data, and its own send takes until 530 ns.
    let scripts: [&[Do]; 4] = [&[Send(1, 200)], &[Recv(0), Send(2, 10)], &[Recv(1)], &[]];
    assert_eq!(clocks(&near(costly(2, Contention::Fair)), &scripts, true), [530, 530, 1580, 0]);
    // The test repeats the run with exchanged rank numbers.
    let scripts: [&[Do]; 4] = [&[Recv(1), Send(2, 10)], &[Send(0, 200)], &[Recv(0)], &[]];
    assert_eq!(clocks(&near(costly(2, Contention::Fair)), &scripts, true), [530, 530, 1580, 0]);
}

#[test]
fn what_a_collective_combines_has_the_core_alone() {
    let line = |rank| Line::Collective(part_by(Algorithm::Linear, Collective::Reduce, rank, 2, same(90)));
    let programs: Vec<_> = (0..2).map(|rank| vec![line(rank)]).collect();
    // The 90 bytes to combine arrive at 190 ns, and combining takes 3 ns per byte. The sender of these bytes has
    // already ended.
    assert_eq!(line_clocks(&near(machine([1, 1, 1], Contention::Fair)), &programs), [190 + 270, 0]);
}

#[test]
fn too_many_requests_of_a_rank_that_shares_its_core_are_told() {
    let platform = costly(2, Contention::Fair);
    let sends: Vec<Do> = (0..9).map(|_| IsendWith(2, 10, 0, Synchronous)).collect();
    let scripts = [sends, vec![], vec![Recv(0)], vec![]];
    let sites = Placement::Block.sites(platform.shape, 4, true).unwrap();
    let options = RunOptions { max_requests: 7, ..RunOptions::default() };
    let error = run_placed_as(&platform, sites, &scripts, options).unwrap_err();
    assert!(matches!(error, RunError::MaxRequests { rank: 0, limit: 7, .. }), "{error}");
}

#[test]
fn waiting_for_a_shared_core_is_waiting() {
    let sends: Vec<Vec<Do>> = vec![vec![Send(2, 10)], vec![Send(3, 10)], vec![Recv(0)], vec![Recv(1)]];
    let platform = costly(2, Contention::Fair);
    let sites = Placement::Block.sites(platform.shape, 4, true).unwrap();
    let (outcome, _) = run_placed(&platform, sites, &sends, 1).unwrap();
    let waited: Vec<_> = outcome.per_rank.iter().map(|rank| rank.parts.wait).collect();
    assert_eq!(waited, [ns(0), ns(30), ns(1040), ns(1080)]);
    assert_eq!((outcome.path.poll, outcome.path.send, outcome.path.recv), (ns(40), ns(30), ns(40)));
}

#[test]
fn a_rank_that_has_waited_has_a_shared_core_a_switch_later() {
    let mut platform = costly(2, Contention::Fair);
    platform.core.context_switch = ns(5);
    let sends: [&[Do]; 4] = [&[Send(2, 10)], &[Send(3, 10)], &[Recv(0)], &[Recv(1)]];
    // The second sender has not waited, so it gets the core without a context switch. The second message arrives at
    // 1070 ns, while the receiver of the first message uses the core from 1045 to 1085 ns.
    assert_eq!(clocks(&platform, &sends, true), [30, 60, 1085, 1130]);
    // A receiver that does not wait continues at once, in this test at 5000 ns, when both messages have arrived.
    let late: [&[Do]; 4] = [&[Send(2, 10), Send(2, 10)], &[], &[Compute(2500), Recv(0), Recv(0)], &[]];
    assert_eq!(clocks(&platform, &late, true), [60, 0, 5080, 0]);
    // A rank that is queued for the core does not count as waiting, as the second rank from 20 ns on. The receiver of
    // the second rank polled last. The other receiver therefore uses the core from 1045 to 1125 ns, and the receiver of
    // the second rank from 1130 ns.
    let line: [&[Do]; 4] = [&[Send(2, 10), Send(2, 10)], &[Compute(10), Send(3, 10)], &[Recv(0), Recv(0)], &[Recv(1)]];
    assert_eq!(clocks(&platform, &line, true), [60, 90, 1125, 1170]);
    // Two ranks of one core send a message to each other in turn. Each message has a latency of 100 ns and takes 1 ns
    // per byte. The second rank has polled last and receives at once. The first rank receives after a context switch.
    let to_and_fro: [&[Do]; 2] = [&[Send(1, 10), Recv(1)], &[Recv(0), Send(0, 10)]];
    let mut one = near(costly(1, Contention::Fair));
    one.core.context_switch = ns(5);
    assert_eq!(clocks(&one, &to_and_fro, true), [225, 110]);
    // The critical path counts the context switch as polling, and no other value includes it.
    let scripts: Vec<Vec<Do>> = to_and_fro.iter().map(|script| script.to_vec()).collect();
    let sites = Placement::Block.sites(one.shape, 2, true).unwrap();
    let (outcome, _) = run_placed(&one, sites, &scripts, 1).unwrap();
    assert_eq!(outcome.path.poll, ns(5));
    // If the core has two hardware threads, each of the two ranks always has one thread.
    one.core.threads = HardwareThreads::new(2, vec![1.0]).unwrap();
    let third: [&[Do]; 3] = [&[], &[Send(2, 10), Recv(2)], &[Recv(1), Send(1, 10)]];
    assert_eq!(clocks(&one, &third, true), [0, 220, 110]);
    // If the ranks have separate cores, or with another contention model, no context switch occurs.
    let mut apart = near(machine([1, 1, 2], Contention::Fair));
    apart.core.context_switch = ns(5);
    assert_eq!(clocks(&apart, &to_and_fro, true), [220, 110]);
    let mut ideal = costly(2, Contention::Ideal);
    ideal.core.context_switch = ns(5);
    assert_eq!(clocks(&ideal, &sends, true), [30, 30, 1080, 1080]);
}

#[test]
fn as_many_messages_as_hardware_threads_take_of_a_core_at_a_time() {
    let mut platform = costly(2, Contention::Fair);
    platform.core.threads = HardwareThreads::new(2, vec![1.6]).unwrap();
    let scripts: [&[Do]; 6] = [&[Send(3, 8)], &[Send(4, 8)], &[Send(5, 8)], &[Recv(0)], &[Recv(1)], &[Recv(2)]];
    let sent = clocks(&platform, &scripts, true);
    assert_eq!(sent[..3], [30, 30, 60]);
}

#[test]
fn turns_at_cores_are_the_same_for_any_number_of_workers() {
    let mut platform = near(costly(6, Contention::Fair));
    platform.core.context_switch = ns(3);
    let exchange = |rank: u32| -> Vec<Do> {
        let of = |by: u32| (rank + by) % 18;
        let round = [Compute(u64::from(rank * 7 % 40)), Irecv(of(13)), Irecv(of(11)), Isend(of(5), 100)];
        let more = [Isend(of(7), 3000), WaitAll, Exchange(of(4), 20, of(14)), Exchange(of(17), 200, of(1))];
        let round = [round.as_slice(), more.as_slice()].concat();
        vec![round; 3].concat()
    };
    let scripts: Vec<Vec<Do>> = (0..18).map(exchange).collect();
    let run = |workers: u32| {
        let sites = Placement::Block.sites(platform.shape, 18, true).unwrap();
        let (outcome, _) = run_placed(&platform, sites, &scripts, workers).unwrap();
        let mut json = serde_json::to_value(&outcome).unwrap();
        json.as_object_mut().unwrap().remove("host");
        json
    };
    let alone = run(1);
    assert_eq!(run(2), alone);
    assert_eq!(run(6), alone);
}
