//! Tests of the platform files of measured machines, as `Platform::load` reads them.

use super::*;
use mcpsim_core::platform::{Contention, Platform};
use mcpsim_core::units::Bytes;

fn row(up_to: Option<u64>, columns: &[(f64, f64)]) -> RowFit {
    let (send_overhead, recv_overhead, gap) = (1e-7, 2e-7, 3e-7);
    RowFit {
        up_to,
        columns: columns.to_vec(),
        send_overhead,
        recv_overhead,
        gap,
        flat: false,
        copy: None,
        by_ranks: Vec::new(),
    }
}

fn fit(level: Level, loads: &[u32]) -> LinkFit {
    let columns: Vec<(f64, f64)> = loads.iter().map(|load| (1e-6 * f64::from(*load), 1e-9)).collect();
    LinkFit {
        level,
        eager: Some(4096),
        handshake: 5e-7,
        loads: loads.to_vec(),
        ranks: Vec::new(),
        rows: vec![row(Some(4096), &columns), row(None, &columns)],
        errors: vec![(0, 0.01), (8, -0.03)],
        occupancy: None,
        effects: MeasuredEffects::default(),
    }
}

fn measured(links: Vec<LinkFit>) -> MeasuredMachine {
    let speed = Speed {
        flops: 2e9,
        wide_flops: 40e9,
        instructions: 3e9,
        memory: 1e10,
        cmp_memory: Some(1.5e10),
        memory_by_ranks: vec![(1, 1e10), (2, 1.5e10)],
        slowdowns: vec![("stencil".into(), vec![1.0, 1.2])],
    };
    let provenance = vec!["Measured\nby a test".to_owned()];
    let shape = Shape { nodes: 1, cmps: 1, cores: 2 };
    MeasuredMachine {
        name: "a \"b\"".into(),
        provenance,
        shape,
        speed,
        links,
        samples: Samples::default(),
        cores: MeasuredCores::default(),
        library: MeasuredLibrary::default(),
        domains: Vec::new(),
        states_noise: false,
    }
}

fn read(text: &str) -> Platform {
    test_support::load(text, &[])
}

#[test]
fn what_is_written_is_read_back() {
    let text = measured(vec![fit(Level::IntraCmp, &[1, 2]), fit(Level::InterNode, &[1])]).text();
    let platform = read(&text);
    assert_eq!((platform.name.as_str(), platform.shape), ("a \"b\"", Shape { nodes: 1, cmps: 1, cores: 2 }));
    let link = platform.link(Level::IntraCmp);
    assert_eq!((link.contention(), link.eager_threshold().get()), (Contention::Measured, 4096));
    assert_eq!(link.handshake(), SimSpan::from_ns(500));
    let row = link.row(Bytes::new(8));
    assert_eq!((row.send_overhead, row.recv_overhead), (SimSpan::from_ns(100), SimSpan::from_ns(200)));
    assert_eq!(row.latency_under(Contention::Measured, 2), SimSpan::from_us(2));
    assert_eq!(row.bandwidth.get(), 1_000_000_000);
    assert_eq!(platform.link(Level::InterNode).contention(), Contention::Share);
    assert_eq!(platform.core.slowdown, [1.0, 1.2]);
    // The network level between the CMPs of a node was not measured.
    assert!(text.contains("# NOT MEASURED: no ranks use this level. Values are those of intra_cmp"), "{text}");
    assert!(text.starts_with("# Measured by a test\n"), "{text}");
    assert!(text.contains("off by 2.0 % on average and by -3.0 % at most (8 B)"), "{text}");
}

#[test]
fn a_level_further_away_stands_in_where_no_nearer_one_does() {
    let platform = read(&measured(vec![fit(Level::InterNode, &[1])]).text());
    assert_eq!(platform.link(Level::IntraCmp).handshake(), SimSpan::from_ns(500));
}

#[test]
fn what_an_adapter_carries_stands_between_nodes_only_and_bounds_every_pace() {
    let mut between = fit(Level::InterNode, &[1]);
    between.rows[0].columns = vec![(8e-6, 0.0)];
    between.occupancy =
        Some(MeasuredOccupancy { capacity: Some(1e9), duplex: Some(1.5e9), ..MeasuredOccupancy::default() });
    let platform = read(&measured(vec![between]).text());
    let link = platform.link(Level::InterNode);
    assert_eq!(link.occupancy().capacity.map(|rate| rate.get()), Some(1_000_000_000));
    // A message of 4096 B took 8 us, including 4.096 us in the adapter.
    let row = link.row(Bytes::new(4096));
    assert_eq!((row.latency, row.bandwidth.get()), (SimSpan::from_ns(3904), 1_000_000_000));
    assert_eq!(platform.link(Level::IntraCmp).contention(), Contention::Fair);
}

#[test]
fn what_is_between_cmps_stands_there_only() {
    let mut across = fit(Level::InterCmp, &[1]);
    let copy = Some(2e9);
    let found = |across: &LinkFit| {
        let platform = read(&measured(vec![across.clone()]).text());
        assert_eq!(platform.link(Level::IntraCmp).occupancy().capacity, None);
        platform.link(Level::InterCmp).occupancy().capacity.map(|rate| rate.get())
    };
    for (rate, stated) in [(Some(5e9), Some(5_000_000_000)), (None, None), (Some(1.9e9), None)] {
        across.occupancy = Some(MeasuredOccupancy { between_cmps: rate, copy, ..MeasuredOccupancy::default() });
        assert_eq!(found(&across), stated, "no less than a core copies");
    }
}

#[test]
fn a_copy_rate_that_a_faster_ping_pong_raises_is_noted() {
    let mut near = fit(Level::IntraCmp, &[1]);
    let text = |near: &LinkFit| measured(vec![near.clone()]).text();
    let note = "# copy_bandwidth of 2 intervals: RAISED from 500.0 MB/s to the bandwidth of the ping-pong";
    near.occupancy = Some(MeasuredOccupancy { copy: Some(0.5e9), ..MeasuredOccupancy::default() });
    near.rows[0].columns = vec![(1e-6, 1e-9)];
    assert!(text(&near).contains(note), "{}", text(&near));
    near.rows.iter_mut().for_each(|row| row.columns = vec![(1e-6, 4e-9)]);
    assert!(!text(&near).contains("RAISED"));
    // A copy rate from windows is at least the rate of the ping-pong.
    near.rows[1].copy = Some(4e-9);
    let note =
        "# copy_bandwidth of 1 interval: RAISED from the rate in windows of few to the bandwidth of the ping-pong";
    assert!(text(&near).contains(note), "{}", text(&near));
    near.rows[1].copy = Some(3e-9);
    assert!(!text(&near).contains("RAISED"));
}

#[test]
fn intervals_in_which_no_cost_of_bytes_was_seen_say_so() {
    let mut between = fit(Level::InterNode, &[1]);
    between.rows[0] = RowFit { flat: true, ..row(Some(4096), &[(8e-6, 1e-12)]) };
    let told = |link: &LinkFit| {
        let text = measured(vec![link.clone()]).text();
        read(&text);
        text.lines().filter(|line| line.ends_with("},  # no cost of bytes was seen: this bandwidth or more")).count()
    };
    // The text occurs once in the network level of the interval, and once in each of the two levels copied from this
    // level.
    assert_eq!(told(&between), 3);
    between.occupancy = Some(MeasuredOccupancy { capacity: Some(1e9), ..MeasuredOccupancy::default() });
    // The capacity of the adapter is lower, so the bandwidth between nodes is known.
    assert_eq!(told(&between), 2);
    assert_eq!(told(&fit(Level::InterNode, &[1])), 0);
}

#[test]
fn a_handshake_that_was_not_visible_is_assumed_and_said() {
    let mut between = fit(Level::InterNode, &[1]);
    // Messages of 8 B take 1.3 us; a twentieth of this time is 65 ns.
    between.rows = vec![row(Some(4096), &[(1e-6, 1e-9)]), row(None, &[(2e-6, 1e-9)])];
    between.handshake = 0.0;
    let text = measured(vec![between]).text();
    assert!(text.contains("# handshake: ASSUMED, a twentieth of the time of the smallest messages"), "{text}");
    let platform = read(&text);
    let link = platform.link(Level::InterNode);
    assert_eq!(link.handshake(), SimSpan::from_ns(65));
    // The sum of two control messages and the latency of larger messages does not change.
    let latencies = [8, 4097].map(|size| link.row(Bytes::new(size)).latency);
    assert_eq!(latencies, [SimSpan::from_ns(1000), SimSpan::from_ns(1870)]);
    assert!(platform.lookahead() > SimSpan::ZERO);
    assert!(!measured(vec![fit(Level::InterNode, &[1])]).text().contains("handshake: ASSUMED"));
}

#[test]
fn costs_that_vanish_still_make_a_file() {
    let mut none = fit(Level::IntraCmp, &[1]);
    none.rows[0].columns = vec![(0.0, 0.0)];
    none.handshake = 0.0;
    let platform = read(&measured(vec![none]).text());
    assert_eq!(platform.link(Level::IntraCmp).row(Bytes::new(1)).latency, SimSpan::from_ns(1));
}
