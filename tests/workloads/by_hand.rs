//! Messages and times of workloads, compared with values computed by hand.

use super::{messages, number, outcome};

/// Machine for 16 ranks, which use every level. A three-dimensional grid of 16 ranks is 4 × 2 × 2.
const MACHINE: &str = "--nct 4,2,2";
const P: u64 = 16;

fn totals(workload: &str, sets: &str) -> (u64, u64) {
    messages(&outcome(workload, sets, MACHINE))
}

#[test]
fn a_ring_has_a_message_a_rank_and_round() {
    assert_eq!(totals("ring", "app.rounds=3 app.bytes=100"), (3 * P, 3 * P * 100));
}

#[test]
fn a_ping_pong_has_two_messages_an_iteration() {
    assert_eq!(totals("pingpong", "app.iterations=7 app.bytes=5"), (14, 70));
}

#[test]
fn a_dissemination_barrier_has_log2_of_the_ranks_messages_a_rank() {
    assert_eq!(totals("barrier", "app.iterations=5"), (5 * P * 4, 0));
}

#[test]
fn an_alltoall_above_the_smallest_sizes_has_a_message_a_pair() {
    assert_eq!(totals("alltoall", "app.iterations=2"), (2 * P * (P - 1), 2 * P * (P - 1) * 1024));
}

#[test]
fn short_allreduces_have_log2_of_the_ranks_messages_a_rank() {
    // The sizes 4, 8 and 16 B are sent twice each, and a barrier precedes each size.
    let (count, bytes) = (3 * P * 4 + 3 * 2 * P * 4, 2 * P * 4 * (4 + 8 + 16));
    assert_eq!(totals("allreduce", "app.iterations=2 app.most=16"), (count, bytes));
}

#[test]
fn halo3d_has_six_messages_a_rank_and_iteration() {
    assert_eq!(totals("halo3d", "app.iterations=2 app.bytes=10"), (2 * 6 * P, 2 * 6 * P * 10));
}

/// Number of cuts between the parts of a 4 × 2 × 2 grid without wrap-around: 3, 1 and 1 per dimension. The cuts of the
/// three dimensions are crossed by 4, 8 and 8 pairs of ranks.
const CUTS: u64 = 3 + 1 + 1;
const PAIRS: u64 = 3 * 4 + 8 + 8;

#[test]
fn jacobi3d_sends_both_sides_of_every_cut_and_an_allreduce() {
    let (n, iterations) = (30, 2);
    let count = iterations * (2 * PAIRS + P * 4);
    let bytes = iterations * (2 * CUTS * n * n * 8 + P * 4 * 8);
    assert_eq!(totals("jacobi3d", "app.n=30 app.iterations=2"), (count, bytes));
}

#[test]
fn heat3d_sends_both_sides_of_every_cut_and_gathers_the_room() {
    let n = 16;
    let gathered = 4 * n * n * n * (P - 1) / P;
    // Data are gathered after the first step and at the end; poles and cubes are also gathered at the beginning.
    let sends = |pairs, cuts, times| (3 * 2 * pairs + times * (P - 1), 3 * 2 * cuts * n * n * 4 + times * gathered);
    for exchange in ["blocking", "nonblocking"] {
        let totals = |split: &str| {
            totals("heat3d", &format!("app.room_size=16 app.steps=3 app.split={split} app.exchange={exchange}"))
        };
        assert_eq!(totals("cubes"), sends(PAIRS, CUTS, 3));
        assert_eq!(totals("poles"), sends(3 * 4 + 3 * 4, 3 + 3, 3));
        assert_eq!(totals("slabs"), sends(15, 15, 2));
    }
}

#[test]
fn the_integer_sort_exchanges_counts_and_all_keys_but_its_own() {
    // Class S has 2^16 keys and 512 buckets. The allreduce of 2068 B is not short: each rank sends 2 log2 P messages,
    // in which the data except a P-th part are sent once in each direction. The alltoall of 4 B uses Bruck's algorithm:
    // half of the blocks are sent log2 P times.
    let iterations = 3;
    let count = P * 8 + P * 4 + P * (P - 1);
    let bytes = 2 * (4 * 517) * (P - 1) + P * 4 * (4 * P / 2) + 4 * (1 << 16) * (P - 1) / P;
    assert_eq!(totals("npb-is", "app.iterations=2"), (iterations * count, iterations * bytes));
}

#[test]
fn a_master_answers_every_request_and_ends_every_worker_once() {
    let tasks = 100;
    let (requests, workers) = (tasks + P - 1, P - 1);
    let totals = totals("master-worker", "app.tasks=100 app.task_bytes=1000 app.result_bytes=10");
    assert_eq!(totals, (2 * requests, requests * 10 + (requests - workers) * 1000));
    // A task takes 1 ms on average, and 15 workers execute tasks. Requests and orders take microseconds.
    let alone = outcome("master-worker", "app.tasks=10000", "--nct 1,1,1");
    let seconds = alone["predicted_s"].as_f64().unwrap();
    assert!((seconds - 10.0).abs() < 0.4, "four standard deviations of 10,000 exponential draws; found {seconds}");
}

#[test]
fn the_effective_bandwidth_sends_to_both_neighbours_in_every_pattern_and_size() {
    let lmax = 65536.0_f64;
    let (mut count, mut bytes) = (0, 0);
    for i in 0..=20 {
        let size =
            if i <= 12 { 1 << i } else { (4096.0 * (lmax / 4096.0).powf(f64::from(i - 12) / 8.0)).round() as u64 };
        let loops = (65536 / size).clamp(1, 2);
        count += P * 4 + loops * 2 * P; // and a barrier
        bytes += loops * 2 * P * size;
    }
    for method in ["sendrecv", "nonblocking"] {
        let totals = totals("b_eff", &format!("app.lmax=65536 app.loops=2 app.method={method}"));
        assert_eq!(totals, (12 * count, 12 * bytes));
    }
}

#[test]
fn the_effective_bandwidth_of_two_ranks_is_that_of_the_best_method() {
    // Both ranks send 64 B to each other, to the right and to the left, at 1 us + 64 B / (1 GB/s) = 1.064 us per
    // message. Concurrent messages take this time for all four; MPI_Sendrecv sends them sequentially; MPI_Alltoallv
    // sends 128 B in one message, in 1.128 us. The best method sends 4 · 64 B in 1.064 us.
    let platform = "platform.inter_node.contention=ideal platform.inter_node.latency=1us platform.inter_node.bandwidth=1GB/s \
                    platform.inter_node.send_overhead=0s platform.inter_node.recv_overhead=0s";
    let sets = |method: &str| {
        format!("app.first_size=6 app.last_size=6 app.first_pattern=4 app.loops=7 app.method={method} {platform}")
    };
    let rings = |method: &str| {
        let outcome = outcome("b_eff", &sets(method), "--nct 2,1,1");
        let results = outcome["results"].as_array().unwrap();
        assert_eq!((results.len(), results[0]["name"].as_str()), (1, Some("rings")), "{results:?}");
        assert_eq!(results[0]["unit"].as_str(), Some("B/s"));
        results[0]["value"].as_f64().unwrap()
    };
    for (method, seconds) in
        [("nonblocking", 1.064e-6), ("sendrecv", 2.128e-6), ("alltoallv", 1.128e-6), ("all", 1.064e-6)]
    {
        let expected = 4.0 * 64.0 / seconds;
        let found = rings(method);
        assert!((found / expected - 1.0).abs() < 1e-9, "{method}: {found} instead of {expected}");
    }
}

#[test]
fn primes_are_counted_with_one_allreduce_evenly_or_with_the_last_rank_waited_for() {
    let compute = |sets: &str| -> Vec<u64> {
        let outcome = outcome("prime", sets, MACHINE);
        assert_eq!(messages(&outcome), (P * 4, P * 4 * 8));
        outcome["per_rank"].as_array().unwrap().iter().map(|r| number(&r["compute_ps"])).collect()
    };
    let (even, blocks) = (compute(""), compute("app.split=blocks"));
    assert!(even.windows(2).all(|pair| pair[0] == pair[1]), "{even:?}");
    assert!(blocks.windows(2).all(|pair| pair[0] < pair[1]), "{blocks:?}");
    // The total work is equal, except that the remainder at the end of a share is evaluated at other points.
    let (even, blocks) = (even.iter().sum::<u64>() as f64, blocks.iter().sum::<u64>() as f64);
    assert!((even / blocks - 1.0).abs() < 1e-3, "{even} {blocks}");
}

/// Platform without contention, on which an exchange of 64 B takes 201 us + 64 B / (64 MB/s) = 202 us, as the
/// application's authors derive.
const JINR: &str = "platform.inter_node.contention=ideal platform.inter_node.latency=201us \
                    platform.inter_node.bandwidth=64MB/s platform.inter_node.send_overhead=0s \
                    platform.inter_node.recv_overhead=0s";

/// Returns the predicted time T = Tv · I / n + I · t, in picoseconds.
fn closed_form(steps: u64, ranks: u64) -> f64 {
    let step = 7937.241e12 / 8_720_000.0;
    let exchange = if ranks > 1 { 202e6 } else { 0.0 };
    steps as f64 * (step / ranks as f64 + exchange)
}

#[test]
fn josephson_junctions_take_what_the_closed_form_says() {
    let steps = 300;
    for ranks in [1, 2, 3, 10] {
        let sets = format!("{JINR} app.sd=0 app.steps={steps}");
        let outcome = outcome("ljj", &sets, &format!("--nct {ranks},1,1"));
        assert_eq!(messages(&outcome), (2 * (ranks - 1) * steps, 2 * (ranks - 1) * steps * 64));
        // Clocks are whole picoseconds, so each step is rounded by at most half a picosecond.
        let off = number(&outcome["predicted_ps"]) as f64 - closed_form(steps, ranks);
        assert!(off.abs() <= 0.5 * steps as f64 + 1.0, "{ranks} ranks are off by {off} ps");
    }
    // The authors measured 5731.212 s on two processes. t is rounded to 1 us, and a step takes about 660 us.
    assert!((closed_form(8_720_000, 2) / 5731.212e12 - 1.0).abs() < 1e-3);
}

#[test]
fn random_steps_of_josephson_junctions_take_longer_than_their_mean() {
    // Each rank waits for the neighbour that is later.
    let outcome = outcome("ljj", &format!("{JINR} app.sd=0.05 app.steps=300"), "--nct 10,1,1");
    let ratio = number(&outcome["predicted_ps"]) as f64 / closed_form(300, 10);
    assert!(ratio > 1.0 && ratio < 1.05, "{ratio}");
}
