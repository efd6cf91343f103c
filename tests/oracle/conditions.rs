//! Expected times with additional conditions of the platform, computed by hand. The conditions are connection set-up,
//! copies of unexpected messages, credits, progress, noise, and unequal nodes. A byte takes 1 ns. Latencies are 10 ns
//! within a CMP, 100 ns between CMPs and 1000 ns between nodes. Comments give times in ns.

#[path = "conditions/order.rs"]
mod order;

use crate::support::Do::*;
use crate::support::{ANSWER, Do, Log, Saw, Script, at, clocks, machine, ns, row, run_with, with_link};
use mcpsim::engine::{Labels, Progress, RunOptions, Simulation};
use mcpsim::platform::{
    Contention, Copies, Level, Link, NetworkNoise, NodeFactors, NoiseDistribution, Occupancy, Placement, Platform,
    ProgressEngine, Protocol, Spread, SystemNoise,
};
use mcpsim::rank::SendMode;
use mcpsim::units::{Bandwidth, Bytes};

/// Creates two nodes with one core each. Messages of up to 100 bytes are eager, and control messages take 400 ns.
fn pair() -> Platform {
    network(machine([2, 1, 1], Contention::Ideal), Protocol::default())
}

fn network(platform: Platform, protocol: Protocol) -> Platform {
    let law = platform.link(Level::InterNode).contention();
    let link = Link::new(law, Bytes::new(100), ns(400), vec![row(1000)]);
    with_link(platform, Level::InterNode, link.with_protocol(protocol))
}

fn with(protocol: Protocol) -> Platform {
    network(pair(), protocol)
}

fn progress(progress: ProgressEngine) -> Platform {
    let mut platform = pair();
    platform.conditions.progress = progress;
    platform
}

const HALF: ProgressEngine = ProgressEngine::Thread { share: 0.5 };

#[test]
fn the_first_message_of_a_pair_waits_for_its_connection() {
    for law in [Contention::Ideal, Contention::Share, Contention::Queue, Contention::Fair] {
        let protocol = Protocol { connection_time: ns(5000), ..Protocol::default() };
        let platform = network(machine([3, 1, 1], law), protocol);
        let expect =
            |scripts: &[Vec<Do>], expected: &[u64]| assert_eq!(clocks(&platform, scripts), expected, "{law:?}");
        expect(&[vec![Send(1, 50)], vec![Recv(0)]], &[0, 6050]);
        // The second message of the pair is sent while the connection is set up, and does not overtake the first
        // message. A later message uses the existing connection.
        let twice = [vec![Send(1, 0), Send(1, 0)], vec![Recv(0), Recv(0)]];
        expect(&twice, &[0, 6000]);
        let later = [vec![Send(1, 50), Compute(20_000), Send(1, 50)], vec![Recv(0), Recv(0)]];
        expect(&later, &[20_000, 21_050]);
        // The answer uses the connection of the first message. Another pair of ranks needs a separate connection.
        expect(&[vec![Send(1, 50), Recv(1)], vec![Recv(0), Send(0, 50)]], &[7100, 6050]);
        let third = [vec![Send(1, 0)], vec![Recv(0), Send(2, 0)], vec![Recv(1)]];
        expect(&third, &[0, 6000, 12_000]);
        // If two messages in opposite directions leave at the same time, each message sets up a connection.
        expect(&[vec![Exchange(1, 50, 1)], vec![Exchange(0, 50, 0)]], &[6050, 6050]);
        // The request of a rendezvous is the first message of the connection and arrives at 5400 ns. The grant arrives
        // at 5800 ns, and the transfer takes 1000 + 600 ns.
        expect(&[vec![Send(1, 600)], vec![Recv(0)]], &[7400, 7400]);
    }
}

#[test]
fn an_eager_message_that_comes_before_its_receive_is_copied() {
    let platform = with(Protocol { unexpected_copy_bandwidth: Bandwidth::new(500_000_000), ..Protocol::default() });
    // The message arrives at 1050 ns. If the receive was posted before, no data is copied. If the receive is posted
    // later, copying the 50 bytes takes 100 ns.
    assert_eq!(clocks(&platform, &[vec![Send(1, 50)], vec![Recv(0)]]), [0, 1050]);
    assert_eq!(clocks(&platform, &[vec![Send(1, 50)], vec![Compute(2000), Recv(0)]]), [0, 2100]);
    let posted = |first: Vec<Do>| clocks(&platform, &[vec![Send(1, 50)], [first, vec![WaitAll]].concat()])[1];
    assert_eq!(posted(vec![Compute(2000), Irecv(0)]), 2100);
    assert_eq!(posted(vec![Irecv(0), Compute(2000)]), 2000);
    // The data of a rendezvous are sent after the receive is posted and are written to the receive buffer without a
    // copy. The transfer ends at 2000 + 400 + 1000 + 600 ns.
    assert_eq!(clocks(&platform, &[vec![Send(1, 600)], vec![Compute(2000), Recv(0)]]), [4000, 4000]);
}

#[test]
fn an_eager_message_without_a_credit_is_a_rendezvous() {
    let platform = with(Protocol { credits: Some(2), ..Protocol::default() });
    let sends = |count| vec![Send(1, 50); count];
    let receives = |count| vec![Recv(0); count];
    assert_eq!(clocks(&platform, &[sends(2), [vec![Compute(10_000)], receives(2)].concat()]), [0, 10_000]);
    // The third message has no credit and waits for its receive at 10000 ns. The grant arrives at 10400 ns, and the
    // transfer takes 1000 + 50 ns. The sender is informed of the end at 10400 + 1000 + 400 ns.
    assert_eq!(clocks(&platform, &[sends(3), [vec![Compute(10_000)], receives(3)].concat()]), [11_800, 11_450]);
    // The first two messages are received at 1050 ns, and their credits return at 1450 ns. At 1450 ns the credits
    // return too late for a third message that is sent at once: its request arrives at 1000 ns after the first two
    // messages, the receive is posted at 1050 ns, and the grant arrives at 1450 ns. The credits are in time for a
    // message at 2000 ns.
    assert_eq!(clocks(&platform, &[sends(3), receives(3)]), [2850, 2500]);
    let later = [sends(2), vec![Compute(2000)], sends(2)].concat();
    assert_eq!(clocks(&platform, &[later, receives(4)]), [2000, 3050]);
    // The main program sends at 0 ns and the strand sends at 500 ns. The message at 0 ns uses the only credit,
    // regardless of the order in which the simulator executes the two sends.
    let one = with(Protocol { credits: Some(1), ..Protocol::default() });
    let sender = vec![StartApart(vec![Compute(500), Send(1, 50)]), Send(1, 50), WaitAll];
    let receiver = vec![StartApart(vec![Recv(0)]), Recv(0), WaitAll];
    // The request of the strand's message arrives at 1000 ns, after the first message. The grant arrives at 1400 ns,
    // and the transfer takes 1000 + 50 ns. The sender is informed of the end at 2800 ns.
    assert_eq!(clocks(&one, &[sender, receiver]), [2800, 2450]);
    // A buffered send needs no credit.
    let buffered = vec![SendMode(1, 50, SendMode::Buffered); 3];
    assert_eq!(clocks(&platform, &[buffered, receives(3)]), [0, 1050]);
}

#[test]
fn an_answer_of_an_adapter_has_the_credit_that_its_receiver_gives_back() {
    let one = with(Protocol { credits: Some(1), ..Protocol::default() });
    let asks = vec![Ask(1, 8, ANSWER), Recv(1), Recv(1)];
    // The answer leaves at 1008 ns and arrives at 2058 ns. The credit of the answer returns at 2458 ns, so a message at
    // 5000 ns leaves at once.
    assert_eq!(clocks(&one, &[asks, vec![Compute(5000), Send(0, 50)]]), [6050, 5000]);
    // Answers of an adapter need no credits, so both answers leave as soon as their requests are served.
    let twice = vec![Ask(1, 8, ANSWER), Ask(1, 8, ANSWER), Irecv(1), Irecv(1), WaitAll];
    assert_eq!(clocks(&one, &[twice, vec![]]), [2058, 0]);
}

#[test]
fn a_request_does_not_overtake_a_small_message_that_has_yet_to_leave() {
    // In the `fair` contention model, the small message arrives after 1000 ns and the request would arrive after 400
    // ns. The request must not overtake the small message and arrives at 1000 ns. The grant arrives at 1400 ns, and the
    // 600 bytes arrive at 3000 ns.
    let platform = network(machine([2, 1, 1], Contention::Fair), Protocol::default());
    let scripts = [vec![Isend(1, 0), Isend(1, 600), WaitAll], vec![Recv(0), Recv(0)]];
    let (outcome, saw) = run_with(&platform, &scripts, 1).unwrap();
    let received: Vec<&Saw> = saw.iter().filter(|(rank, _)| *rank == 1).map(|(_, saw)| saw).collect();
    assert_eq!(received, [&Saw::Got(0, 0, 0), &Saw::Got(0, 0, 600)]);
    assert_eq!(outcome.predicted, at(3000));
}

#[test]
fn a_rendezvous_waits_for_the_next_call_where_calls_make_progress() {
    use ProgressEngine::{Call, Hardware};
    // The request arrives at 400 ns, while the receiver computes, and is granted only when the receiver calls MPI.
    let receiver = [vec![Send(1, 600)], vec![Irecv(0), Compute(5000), WaitAll]];
    assert_eq!(clocks(&progress(Hardware), &receiver), [2400, 5000]);
    assert_eq!(clocks(&progress(Call), &receiver), [7000, 7000], "granted at 5000");
    // MPI_Test between the computations costs 100 ns for the poll and grants the request, so the transfer starts at
    // 2400 ns.
    let look = vec![Irecv(0), Compute(2000), Test, Compute(3000), WaitAll];
    assert_eq!(clocks(&progress(Call), &[vec![Send(1, 600)], look]), [4000, 5100]);
    // Any MPI call grants the request, even a call for another message.
    let other = vec![Irecv(0), Compute(2000), Send(0, 10), Compute(3000), WaitAll];
    assert_eq!(clocks(&progress(Call), &[vec![Send(1, 600), Recv(1)], other]), [4000, 5000]);
    // The grant arrives at 800 ns, while the sender computes. The transfer starts when the sender calls MPI at 3000 ns.
    let sender = [vec![Isend(1, 600), Compute(3000), WaitAll], vec![Recv(0)]];
    assert_eq!(clocks(&progress(Hardware), &sender), [3000, 2400]);
    assert_eq!(clocks(&progress(Call), &sender), [4600, 4600]);
    // A rank that has ended is inside MPI_Finalize and therefore makes progress.
    let ended = [vec![Isend(1, 600)], vec![Compute(5000), Recv(0)]];
    assert_eq!(clocks(&progress(Call), &ended), [0, 7000]);
}

#[test]
fn an_exchange_overlaps_with_computing_as_progress_allows() {
    let script = |other| vec![Irecv(other), Isend(other, 600), Compute(10_000), WaitAll];
    let ends = |kind| clocks(&progress(kind), &[script(1), script(0)]);
    assert_eq!(ends(ProgressEngine::Hardware), [10_000; 2]);
    // The request of the rendezvous is granted at 10000 ns, and the transfer ends at 10400 + 1000 + 600 ns.
    assert_eq!(ends(ProgressEngine::Call), [12_000; 2]);
    // The progress thread uses half of the core, so computing takes twice as long.
    assert_eq!(ends(HALF), [20_000; 2]);
    assert_eq!(ends(ProgressEngine::Thread { share: 0.2 }), [12_500; 2]);
}

#[test]
fn a_strand_goes_on_in_calls_where_calls_make_progress() {
    let steps = |other| StartApart(vec![Exchange(other, 50, other), Exchange(other, 50, other)]);
    let script = |other| vec![steps(other), Compute(10_000), WaitAll];
    let ends = |kind| clocks(&progress(kind), &[script(1), script(0)]);
    assert_eq!(ends(ProgressEngine::Hardware), [10_000; 2]);
    // The first exchange of the collective ends at 1050 ns, and the second exchange starts at 10000 ns.
    assert_eq!(ends(ProgressEngine::Call), [11_050; 2]);
    // MPI_Test at 2000 ns starts the second exchange, which ends at 3050 ns. The rank of the collective notices the end
    // at 10100 ns.
    let looks = |other| vec![steps(other), Compute(2000), Test, Compute(8000), WaitAll];
    assert_eq!(clocks(&progress(ProgressEngine::Call), &[looks(1), looks(0)]), [10_100; 2]);
}

#[test]
fn a_core_copies_in_calls_where_calls_make_progress() {
    let copies = Occupancy { copies: Copies::Receiver, ..Occupancy::default() };
    let near = Link::new(Contention::Fair, Bytes::new(600), ns(10), vec![row(10)]).occupying(copies);
    let mut platform = with_link(machine([1, 1, 2], Contention::Fair), Level::IntraCmp, near);
    let eager = [vec![Send(1, 500)], vec![Irecv(0), Compute(5000), WaitAll]];
    assert_eq!(clocks(&platform, &eager), [0, 5000], "from 10 to 510");
    platform.conditions.progress = ProgressEngine::Call;
    assert_eq!(clocks(&platform, &eager), [0, 5500]);
    // With a rendezvous, the request arrives at 10 ns and is granted at 5000 ns. The grant reaches the sender at 5010
    // ns, and the data are copied from 5020 to 5720 ns.
    let large = [vec![Send(1, 700)], vec![Irecv(0), Compute(5000), WaitAll]];
    assert_eq!(clocks(&platform, &large), [5720, 5720]);
    // The request of the rendezvous is granted at once at 50 ns, and the head of the data arrives at 70 ns. The copy
    // begins at 5050 ns, when the receiver calls MPI, and is part of the receiver's critical path from this time on.
    let granted = [vec![Send(1, 700)], vec![Compute(50), Irecv(0), Compute(5000), WaitAll]];
    let (outcome, _) = run_with(&platform, &granted, 1).unwrap();
    assert_eq!(outcome.predicted, at(5750));
    let (path, near) = (outcome.path, outcome.path.levels.intra_cmp);
    let computes = path.compute + path.imbalance;
    assert_eq!([computes, near.latency, near.bytes, near.contention], [5050, 10, 690, 0].map(ns));
}

#[test]
fn a_slow_node_shows() {
    let mut platform = machine([2, 1, 1], Contention::Share);
    platform.conditions.nodes = NodeFactors { rate: vec![1.0, 0.5], ..NodeFactors::default() };
    assert_eq!(clocks(&platform, &[vec![Compute(1000)], vec![Compute(1000)]]), [1000, 2000]);
    // One CMP of the slow node is even slower than the other CMPs of the node.
    let mut of_cmps = machine([2, 2, 1], Contention::Share);
    let cmp_rate = [((1, 1), 0.5)].into();
    of_cmps.conditions.nodes = NodeFactors { rate: vec![1.0, 0.5], cmp_rate, ..NodeFactors::default() };
    assert_eq!(clocks(&of_cmps, &vec![vec![Compute(1000)]; 4]), [1000, 1000, 2000, 4000]);
    platform.conditions.nodes = NodeFactors { adapter: vec![1.0, 0.5, 1.0], ..NodeFactors::default() };
    platform.shape.nodes = 3;
    // A message of 500 bytes through the slow adapter takes 1000 ns in either direction.
    let scripts = [vec![Send(1, 500)], vec![Recv(0), Send(2, 500)], vec![Recv(1)]];
    assert_eq!(clocks(&platform, &scripts), [0, 2000, 4000]);
    let scripts = [vec![Send(2, 500)], vec![], vec![Recv(0)]];
    assert_eq!(clocks(&platform, &scripts), [0, 0, 1500]);
}

/// Returns the mean and the standard deviation in ns of the predicted time over 1000 runs with different seeds.
fn over_seeds(platform: &Platform, scripts: &[Vec<Do>]) -> (f64, f64) {
    let sites = Placement::Block.sites(platform.shape, scripts.len() as u32, false).unwrap();
    let end = |seed| {
        let make = |rank: u32| Script::new(rank, scripts[rank as usize].clone(), Log::default());
        let labels = Labels { seed, ..Labels::default() };
        let simulation = Simulation::new(platform, sites.clone(), RunOptions::default(), labels);
        simulation.run(make, &Progress::default()).unwrap().predicted.as_ps() as f64 / 1000.0
    };
    let ends: Vec<f64> = (0..1000).map(end).collect();
    let mean = ends.iter().sum::<f64>() / 1000.0;
    (mean, (ends.iter().map(|end| (end - mean).powi(2)).sum::<f64>() / 999.0).sqrt())
}

/// Asserts that the mean of the predicted times is within three standard errors of the expected mean, and that the
/// standard deviation is within three of its standard errors (1 / √2000) of the expected deviation.
fn near((mean, deviation): (f64, f64), expected: (f64, f64)) {
    let off = (mean - expected.0).abs();
    assert!(off < 3.0 * expected.1 / 1000f64.sqrt(), "mean {mean}, expected {}", expected.0);
    assert!(
        (deviation / expected.1 - 1.0).abs() < 3.0 / 2000f64.sqrt(),
        "deviation {deviation}, expected {}",
        expected.1
    );
}

#[test]
fn noise_has_the_mean_and_the_deviation_that_are_stated() {
    for distribution in [NoiseDistribution::Normal, NoiseDistribution::Lognormal] {
        let mut platform = machine([2, 1, 1], Contention::Share);
        let spread = |deviation| Spread { distribution, deviation };
        // 10 ms of work are interrupted by one detour of 10 us per millisecond of elapsed time, so the work takes 10 /
        // (1 - 0.01) ms. The lengths of the 10.1 detours have a standard deviation of 5 us each. The number of detours
        // varies by one, which adds a deviation of 3 us.
        let noise = SystemNoise { period: ns(1_000_000), length: ns(10_000), spread: spread(0.5) };
        platform.conditions.noise.system = Some(noise);
        let expected = (10_101_010.0, (10.1f64 * 5000.0 * 5000.0 + 3000.0 * 3000.0).sqrt());
        near(over_seeds(&platform, &[vec![Compute(10_000_000)]]), expected);
        // The run takes 1500 ns without noise. Noise adds 500 + 0.1 × 1500 ns.
        platform.conditions.noise.system = None;
        let noise = NetworkNoise { delay: ns(500), part: 0.1, spread: spread(0.2) };
        platform.conditions.noise.network = Some(noise);
        near(over_seeds(&platform, &[vec![Send(1, 500)], vec![Recv(0)]]), (2150.0, 130.0));
        platform.conditions.noise.network = None;
        platform.conditions.noise.nodes = Some(spread(0.05));
        near(over_seeds(&platform, &[vec![Compute(1_000_000)]]), (1_000_000.0, 50_000.0));
    }
}

#[test]
fn outcomes_are_the_same_for_any_number_of_workers() {
    let script = |rank: u32| {
        let (next, before) = ((rank + 1) % 8, (rank + 7) % 8);
        let mut lines = Vec::new();
        for round in 0..20u64 {
            let size = [0, 50, 600, 90][(round % 4) as usize];
            lines.extend([Irecv(before), Isend(next, size), Compute(700 * (1 + u64::from(rank) % 3)), WaitAll]);
            lines.extend([StartApart(vec![Exchange(next, 60, before)]), Send(next, 10), Compute(900), Recv(before)]);
            lines.push(WaitAll);
        }
        lines
    };
    let scripts: Vec<Vec<Do>> = (0..8).map(script).collect();
    for law in [Contention::Ideal, Contention::Share, Contention::Queue, Contention::Fair] {
        for kind in [ProgressEngine::Hardware, ProgressEngine::Call, HALF] {
            let protocol = Protocol {
                connection_time: ns(3000),
                credits: Some(1),
                unexpected_copy_bandwidth: Bandwidth::new(400_000_000),
            };
            let mut platform = network(machine([4, 1, 2], law), protocol);
            let spread = Spread { distribution: NoiseDistribution::Lognormal, deviation: 0.7 };
            platform.conditions.progress = kind;
            platform.conditions.noise.system = Some(SystemNoise { period: ns(5000), length: ns(300), spread });
            platform.conditions.noise.network = Some(NetworkNoise { delay: ns(100), part: 0.2, spread });
            platform.conditions.noise.nodes = Some(spread);
            platform.conditions.nodes.rate = vec![1.0, 0.8, 1.0, 1.1];
            let (alone, _) = run_with(&platform, &scripts, 1).unwrap();
            for workers in [2, 3, 4] {
                let (several, _) = run_with(&platform, &scripts, workers).unwrap();
                assert_eq!(several.per_rank, alone.per_rank, "{law:?}, {kind:?}, {workers} workers");
                assert_eq!(several.path, alone.path);
            }
        }
    }
}
