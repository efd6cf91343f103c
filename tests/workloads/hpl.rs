//! High-Performance Linpack: sizes of the parts that ranks own, and the statements of the MCPSim paper on its messages.

use std::collections::BTreeMap;

use super::{messages, number, outcome};

#[test]
fn most_messages_are_small_and_most_bytes_are_in_large_ones_as_the_paper_found() {
    // The paper states for N = 4096, NB = 64 on shape (4,2,2): most messages have 256 B to 4 KB, most volume is in
    // messages of 16 to 256 KB.
    let outcome = outcome("hpl", "app.n=4096 app.nb=64", "--nct 4,2,2 --intervals 256,4KiB,16KiB,256KiB");
    let (count, bytes) = messages(&outcome);
    let row = |above: u64, key: &str| -> u64 {
        let rows = outcome["profile"].as_array().unwrap();
        let row = rows.iter().find(|row| row["above"] == above).unwrap();
        ["intra_cmp", "inter_cmp", "inter_node"].iter().map(|level| number(&row[level][key])).sum()
    };
    let small = row(256, "count");
    let large = row(16 << 10, "bytes");
    assert!(small > count / 2, "{small} of {count} messages");
    assert!(large > bytes / 2, "{large} of {bytes} bytes");
}

#[test]
fn every_pivot_is_a_binary_exchange_of_two_rows_and_four_numbers() {
    // Two rows of 16 columns and four numbers are 288 B, a size that no other message has. A column of four ranks sends
    // two such messages per rank.
    let pivots = |sets: &str, ranks: u32| {
        let options = format!("--nct 1,1,{ranks} --intervals 287,288");
        let outcome = outcome("hpl", &format!("app.n=96 app.nb=16 {sets}"), &options);
        number(&outcome["profile"][1]["intra_cmp"]["count"])
    };
    assert_eq!(pivots("app.p=4", 8), 96 * 4 * 2);
    // Of three ranks, two exchange messages, and the third rank exchanges its data with one of these two.
    assert_eq!(pivots("app.p=3", 6), 96 * (2 + 2));
    assert_eq!(pivots("app.p=1", 6), 0);
}

#[test]
fn only_the_cluster_of_the_root_sends_all_pivot_rows() {
    // There are four rows of ranks and one column. The panels leave 49, 33, 17 and 1 columns, in total 100 columns of
    // 16 numbers. In the binary exchange the root first sends all data and three ranks a quarter, then two ranks send
    // all and two send half: 4.75 times the data. Spreading sends 1 and rolling 3 times the data.
    let bytes = |way: &str| {
        let outcome = outcome("hpl", &format!("app.n=64 app.nb=16 app.p=4 app.swapping={way}"), "--nct 1,1,4");
        number(&outcome["messages"]["bytes"])
    };
    assert_eq!(bytes("binary_exchange") - bytes("long_swap"), 3 * 100 * 16 * 8 / 4);
    assert_eq!(bytes("mix"), bytes("binary_exchange"), "at most 64 columns");
}

#[test]
fn every_ring_brings_the_panel_to_every_column_once() {
    let messages = |sets: &str| {
        let outcome = outcome("hpl", &format!("app.n=200 app.nb=16 app.p=1 {sets}"), "--nct 2,1,4");
        assert_eq!(number(&outcome["unreceived"]), 0);
        outcome["messages"].clone()
    };
    let ring = messages("");
    // There are 13 panels, and 12 sums are passed on at the end.
    assert_eq!(number(&ring["count"]), 13 * 7 + 12);
    for depth in 0..2 {
        for way in ["one_ring", "one_ring_m", "two_ring", "two_ring_m"] {
            assert_eq!(messages(&format!("app.broadcasting={way} app.depth={depth}")), ring, "{way}, depth {depth}");
        }
    }
}

#[test]
fn by_rows_messages_go_between_nodes_and_by_columns_they_stay() {
    let between = |pmap: &str| {
        let outcome = outcome("hpl", &format!("app.n=512 app.pmap={pmap}"), "--nct 4,2,2");
        number(&outcome["levels"]["inter_node"]["count"]) as f64 / number(&outcome["messages"]["count"]) as f64
    };
    let (rows, columns) = (between("row_major"), between("column_major"));
    assert!(rows > 0.96 && columns < 0.04, "{rows}, {columns}");
}

#[test]
fn factoring_ahead_hides_a_panel_behind_the_update() {
    let time = |depth: u32| {
        let sets = format!("app.n=2048 app.p=2 app.broadcasting=two_ring app.depth={depth}");
        number(&outcome("hpl", &sets, "--nct 4,2,2")["predicted_ps"])
    };
    assert!(time(1) < time(0));
}

#[test]
fn panels_are_the_rows_that_a_rank_owns() {
    // With three columns of ranks, messages to the right belong to panels, and messages to the left to the back
    // substitution.
    let (n, nb, p, q) = (101u64, 8, 2, 3);
    let outcome = outcome("hpl", &format!("app.n={n} app.nb={nb} app.p={p} app.q={q}"), "--nct 1,1,6 --pairs");
    let mut expected: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for k in 0..n.div_ceil(nb) {
        let width = nb.min(n - k * nb);
        for row in 0..p {
            let below = (k * nb + width..n).filter(|i| i / nb % p == row).count() as u64;
            // Panels are passed from their owner to the right, but not back to the owner.
            for hop in 0..q - 1 {
                let column = (k + hop) % q;
                let pair = (row * q + column, row * q + (column + 1) % q);
                *expected.entry(pair).or_default() += 8 * (below * width + width * width + width + 1);
            }
        }
    }
    let sent: BTreeMap<(u64, u64), u64> = outcome["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| ((number(&pair["from"]), number(&pair["to"])), number(&pair["bytes"])))
        .filter(|(pair, _)| expected.contains_key(pair))
        .collect();
    assert_eq!(sent, expected);
}

/// Settings with which blocks cost only their floating-point operations, at 1 Gflop/s. Each of six ranks has as much
/// memory bandwidth as a single rank.
const ONLY_FLOPS: &str = "app.dgemm_start=0 app.panel_efficiency=1 platform.core.flops=1Gflop/s \
                          platform.core.memory_bandwidth=1000000GB/s platform.cmp.memory_bandwidth=6000000GB/s";

fn work(sets: &str, options: &str) -> f64 {
    let outcome = outcome("hpl", &format!("{ONLY_FLOPS} {sets}"), options);
    outcome["per_rank"].as_array().unwrap().iter().map(|rank| number(&rank["compute_ps"]) as f64 / 1000.0).sum()
}

#[test]
fn the_work_is_that_of_gauss_and_columns_divide_it() {
    // HPL counts 2/3 n³ + 3/2 n² operations. The model counts half of a panel's columns per pivot, which is one column
    // too many: 1 / 32 of a small part.
    let n = 512.0_f64;
    let alone = work("app.n=512 app.nb=32", "--nct 1,1,1");
    let gauss = 2.0 / 3.0 * n.powi(3) + 1.5 * n * n;
    assert!((alone / gauss - 1.0).abs() < 0.01, "{alone} flops, expected {gauss}");
    // Each column has an owner, whether or not the blocks divide evenly. Rounding to picoseconds is at most half a
    // picosecond per block: 0.0005 operations.
    for n in [511, 512, 520] {
        let sets = format!("app.n={n} app.nb=32");
        let (alone, shared) = (work(&sets, "--nct 1,1,1"), work(&format!("{sets} app.p=1"), "--nct 1,1,6"));
        assert!((alone - shared).abs() < 1.0, "{n}: {alone} flops alone, {shared} by six");
    }
}
