//! Tests of the pair tests on simulated machines of known costs.

use mcpsim_core::engine::Progress;
use mcpsim_core::platform::Placement;

use super::*;
use mcpsim_matrices::cluster::levels_of_pairs;
use mcpsim_matrices::{PairTest, Parameters};

/// Machine with latencies of 1, 2 and 5 µs, 1 GB/s, 100 ns per send and 200 ns per receive.
const MACHINE: &str = r#"
name = "known"
nct = [2, 2, 2]
[core]
flops = "1 Gflop/s"
instructions = "1 Ginstr/s"
memory_bandwidth = "10 GB/s"
[intra_cmp]
latency = "1 us"
bandwidth = "1 GB/s"
send_overhead = "100 ns"
recv_overhead = "200 ns"
[inter_cmp]
latency = "2 us"
bandwidth = "1 GB/s"
send_overhead = "100 ns"
recv_overhead = "200 ns"
[inter_node]
latency = "5 us"
bandwidth = "1 GB/s"
send_overhead = "100 ns"
recv_overhead = "200 ns"
"#;

fn plan(ranks: u32, test: PairTest) -> PairPlan {
    let parameters = Parameters {
        ranks,
        test,
        begin: 1000,
        end: 1001,
        step: 1,
        repeats: 5,
        noise_bytes: 1000,
        noise_messages: 1,
        noise_ranks: 2,
    };
    PairPlan { parameters, nodes: None, jitter: None }
}

fn measured(plan: &PairPlan, bytes: u64) -> MeasuredPairs {
    let platform = test_support::load(MACHINE, &[]);
    let sites = Placement::Block.sites(platform.shape, plan.parameters.ranks, false).unwrap();
    simulate_length(&platform, sites, plan, bytes, &Progress::default()).unwrap()
}

/// Returns the median and the minimum of the samples of rank x with rank y among eight ranks, nanoseconds.
fn at(measured: &MeasuredPairs, x: usize, y: usize) -> [f64; 2] {
    [1, 3].map(|statistic| (measured.matrices[statistic][x * 8 + y] * 1e9 * 1e3).round() / 1e3)
}

#[test]
fn each_test_takes_what_its_calls_cost() {
    // A message takes L, and its bytes take 1 µs. The sample of the test one_to_one takes, from the departure of the
    // confirmation: L + 4 B + o_r at the sender, then o_s + L + 1000 B + o_r.
    let one = measured(&plan(8, PairTest::OneToOne), 1000);
    assert_eq!(at(&one, 0, 1)[0], 1000.0 + 4.0 + 200.0 + 100.0 + 1000.0 + 1000.0 + 200.0);
    assert_eq!(at(&one, 2, 0)[0], 2000.0 + 4.0 + 200.0 + 100.0 + 2000.0 + 1000.0 + 200.0);
    assert_eq!(at(&one, 7, 1)[0], 5000.0 + 4.0 + 200.0 + 100.0 + 5000.0 + 1000.0 + 200.0);
    assert_eq!(at(&one, 3, 3), [0.0, 0.0]);
    // When both ranks send, the transfers take o_s + L + bytes + o_r = 2.3 µs, if both begin at once. In the first
    // sample the partner begins L + o_r later, so rank x waits longer by L + o_r. In the next sample the partner waits
    // for rank x, and so on. Of five samples three take 3.5 µs and two take 1.1 µs.
    let swap = measured(&plan(8, PairTest::AsyncOneToOne), 1000);
    assert_eq!([at(&swap, 0, 1), at(&swap, 7, 6)], [[3500.0, 1100.0]; 2]);
    assert!(at(&swap, 5, 5)[0] > 0.0);
    // A round trip takes twice as long as one message.
    let back = measured(&plan(8, PairTest::SendRecvAndRecvSend), 1000);
    assert_eq!([at(&back, 0, 1)[0], at(&back, 2, 0)[0]], [4600.0, 6600.0]);
}

#[test]
fn one_sided_tests_take_the_way_there_and_back() {
    // A put takes o_s for the data and o_s for the unlock message. The unlock message follows the data and takes L and
    // 5 B more. The answer of the target's adapter takes o_s, L, 1 B and o_r. The bytes of the unlock message share the
    // link with the data only between nodes.
    let put = measured(&plan(8, PairTest::Put), 1000);
    let get = measured(&plan(8, PairTest::Get), 1000);
    for (x, y, latency) in [(0, 1, 1000.0), (0, 2, 2000.0), (0, 4, 5000.0)] {
        let least = 2.0 * latency + 1000.0;
        for found in [at(&put, x, y)[0], at(&get, x, y)[0]] {
            assert!(found > least && found < least + 1500.0, "{found} of {least}");
        }
    }
    assert_eq!(at(&put, 3, 3), [0.0, 0.0]);
}

#[test]
fn the_kinds_of_pairs_are_the_levels_in_each_test_of_pairs() {
    let platform = test_support::load(MACHINE, &[]);
    let levels = levels_of_pairs(&platform, 8).unwrap();
    let tests =
        [PairTest::OneToOne, PairTest::AsyncOneToOne, PairTest::SendRecvAndRecvSend, PairTest::Put, PairTest::Get];
    for test in tests {
        let found = measured(&plan(8, test), 1000);
        let medians = &found.matrices[1];
        for (element, level) in levels.iter().enumerate() {
            let first = levels.iter().position(|other| other == level).unwrap();
            assert!((medians[element] - medians[first]).abs() < 1e-12, "{} {element}", test.name());
        }
        let mut all: Vec<i64> = medians.iter().map(|median| (median * 1e12).round() as i64).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 4, "{}: {all:?}", test.name());
    }
}

#[test]
fn tests_of_all_ranks_give_times_for_all() {
    for test in [PairTest::AllToAll, PairTest::Bcast] {
        let found = measured(&plan(8, test), 1000);
        for (element, median) in found.matrices[1].iter().enumerate() {
            assert!(*median > 0.0 && *median < 1e-3, "{} {element}: {median}", test.name());
        }
    }
    // The root of the broadcast ends when its messages have left, and the last receivers wait longest.
    let found = measured(&plan(8, PairTest::Bcast), 1000);
    assert!(found.matrices[1][0] < found.matrices[1][7 * 8]);
}

#[test]
fn noise_makes_messages_take_longer() {
    for (test, alone) in [(PairTest::Noise, PairTest::AsyncOneToOne), (PairTest::NoiseBlocking, PairTest::OneToOne)] {
        // The machine shares bandwidth between nodes, so noise slows pairs of different nodes down.
        let mut noisy = plan(8, test);
        noisy.parameters.noise_ranks = 6;
        noisy.parameters.noise_messages = 4;
        noisy.parameters.noise_bytes = 100_000;
        let (noisy, alone) = (measured(&noisy, 100_000), measured(&plan(8, alone), 100_000));
        if test == PairTest::Noise {
            // Ranks 3 and 7 are the last ranks of their nodes to begin the test.
            assert!(at(&noisy, 3, 7)[0] > 1.2 * at(&alone, 3, 7)[0], "{:?} {:?}", at(&noisy, 3, 7), at(&alone, 3, 7));
        }
        assert!(noisy.matrices[1][1] > 0.0);
    }
}

#[test]
fn pairs_of_other_nodes_at_the_same_time_change_nothing() {
    for test in [PairTest::OneToOne, PairTest::Put] {
        let alone = plan(8, test);
        let together = PairPlan { nodes: Some(vec![0, 0, 1, 1, 2, 2, 3, 3]), ..alone.clone() };
        let platform = test_support::load(MACHINE, &[]);
        let platform = platform.with_shape("4,1,2".parse().unwrap());
        let sites = Placement::Block.sites(platform.shape, 8, false).unwrap();
        let [one, both] = [&alone, &together]
            .map(|plan| simulate_length(&platform, sites.clone(), plan, 1000, &Progress::default()).unwrap());
        assert_eq!(one.check, None);
        let check = both.check.unwrap();
        assert!(check.pairs >= 8 && check.greatest < 1e-9, "{check:?}");
        for (alone, together) in one.matrices[1].iter().zip(&both.matrices[1]) {
            assert!((alone - together).abs() < 1e-12);
        }
    }
}

#[test]
fn jitter_spreads_samples_and_is_the_same_in_each_run() {
    let mut jittery = plan(4, PairTest::OneToOne);
    jittery.parameters.repeats = 100;
    let exact = measured(&jittery, 1000);
    jittery.jitter = Some((0.05, 7));
    let [one, other] = [measured(&jittery, 1000), measured(&jittery, 1000)];
    assert_eq!(one, other);
    let ratio = one.matrices[1][1] / exact.matrices[1][1];
    assert!((ratio - 1.0).abs() < 0.03 && ratio != 1.0, "{ratio}");
    let spread = one.matrices[2][1] / one.matrices[0][1];
    assert!((0.03..0.07).contains(&spread), "{spread}");
}
