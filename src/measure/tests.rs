//! Tests that measurements on simulated machines recover the parameters of the machines.

use mcpsim_core::platform::{
    Contention, Copies, CopyMemory, CoreRates, Level, Link, LoadColumn, Occupancy as Holds, Placement, Platform, Row,
    Shape,
};
use mcpsim_core::units::{Bandwidth, Bytes, SimSpan};
use test_support::gigabytes;

use super::*;

mod caches;
mod copies;
mod effects;
mod shared_cores;

/// Creates a measured machine with one measured network level.
fn measured_machine(shape: Shape, fit: LinkFit, samples: &Samples) -> MeasuredMachine {
    MeasuredMachine {
        name: "m".into(),
        provenance: Vec::new(),
        shape,
        speed: Speed { flops: 1e9, instructions: 1e9, memory: 1e9, ..Speed::default() },
        links: vec![fit],
        samples: samples.clone(),
        cores: MeasuredCores::default(),
        library: MeasuredLibrary::default(),
        domains: Vec::new(),
        states_noise: false,
    }
}

/// Writes the platform file of the measured machine and reads it; also returns the text of the file.
fn written_platform(measured: &MeasuredMachine) -> (Platform, String) {
    let text = measured.text();
    (test_support::load(&text, &[]), text)
}

/// Creates a table row of message costs with round numbers; times are in ns.
fn row(above: u64, up_to: u64, latency: u64, bytes_per_us: u64, overheads: [u64; 2]) -> Row {
    Row {
        above: Bytes::new(above),
        up_to: Bytes::new(up_to),
        latency: SimSpan::from_ns(latency),
        bandwidth: Bandwidth::new(bytes_per_us * 1_000_000).unwrap(),
        send_overhead: SimSpan::from_ns(overheads[0]),
        recv_overhead: SimSpan::from_ns(overheads[1]),
        ..Row::default()
    }
}

fn machine(shape: Shape, link: Link) -> Platform {
    let core = CoreRates { cmp_memory: gigabytes(1), node_memory: gigabytes(1), ..test_support::rates() };
    test_support::platform([shape.nodes, shape.cmps, shape.cores], core, [link.clone(), link.clone(), link])
}

/// Measures the network level `level` on a machine that has `link` at all levels.
fn found(level: Level, link: Link) -> (Samples, LinkFit) {
    let shape = match level {
        Level::IntraCmp => Shape { nodes: 1, cmps: 1, cores: 2 },
        Level::InterCmp => Shape { nodes: 1, cmps: 2, cores: 1 },
        Level::InterNode => Shape { nodes: 2, cmps: 1, cores: 1 },
    };
    let pairs = vec![RankPair { first: 0, second: 1 }];
    let plan =
        CampaignPlan { levels: vec![LevelPlan { level, pairs }], most_bytes: 1 << 20, budget: 1.0, window: WINDOW };
    let samples = simulate(&machine(shape, link), Placement::Block.sites(shape, 2, false).unwrap(), &plan).unwrap();
    let fit = LinkFit::of(&samples, level, &Corrections::default()).unwrap();
    (samples, fit)
}

#[test]
fn a_measurement_that_is_late_ends_with_fewer_samples() {
    let rows = vec![row(0, u64::MAX, 700, 1000, [120, 80])];
    let link = Link::new(Contention::Ideal, Bytes::MAX, SimSpan::from_ns(1), rows);
    let shape = Shape { nodes: 2, cmps: 1, cores: 1 };
    let levels = vec![LevelPlan { level: Level::InterNode, pairs: vec![RankPair { first: 0, second: 1 }] }];
    let machine = machine(shape, link);
    let samples = |budget: f64| {
        let plan = CampaignPlan { levels: levels.clone(), most_bytes: 1 << 10, budget, window: WINDOW };
        simulate(&machine, Placement::Block.sites(shape, 2, false).unwrap(), &plan).unwrap()
    };
    let (in_time, late) = (samples(60.0), samples(1e-9));
    let doubted = [&in_time, &late].map(|samples| {
        let fit = LinkFit::of(samples, Level::InterNode, &Corrections::default()).unwrap();
        doubts(samples, &[fit])
    });
    let [in_time, late] = [&in_time, &late].map(|of| of.of(Level::InterNode, Test::PingPong));
    assert!(in_time.len() == late.len() && in_time.iter().all(|of| of.seconds.len() == 10));
    assert!(late.iter().all(|of| of.seconds.len() == 5));
    let count = late.len();
    let expected = format!(
        "{count} of {count} ping-pongs have fewer than 10 samples, because twice the duration \
                            --time was over"
    );
    assert_eq!(doubted, [vec![], vec![expected]]);
}

fn near(found: f64, ns: f64) {
    assert!((found * 1e9 - ns).abs() < 0.01 * ns + 0.01, "{} ns, expected {ns} ns", found * 1e9);
}

#[test]
fn logp_parameters_and_the_threshold_come_back() {
    // Messages take o_s = 120 ns, L = 700 ns, o_r = 80 ns and 1 ns per byte up to 5000 B. Above 5000 B, L is 1500 ns,
    // one byte takes 0.25 ns, and a handshake takes 400 ns.
    let rows = vec![row(0, 5000, 700, 1000, [120, 80]), row(5000, u64::MAX, 1500, 4000, [120, 80])];
    for level in Level::ALL {
        let link = Link::new(Contention::Ideal, Bytes::new(5000), SimSpan::from_ns(400), rows.clone());
        let (_, fit) = found(level, link);
        assert_eq!((fit.eager, fit.rows.len()), (Some(5000), 2), "{fit:?}");
        near(fit.handshake, 400.0);
        for (row, latency, byte) in [(&fit.rows[0], 700.0, 1.0), (&fit.rows[1], 1500.0, 0.25)] {
            near(row.send_overhead, 120.0);
            near(row.recv_overhead, 80.0);
            near(row.columns[0].0, latency);
            near(row.columns[0].1, byte);
        }
        // The sender's core is slower than the receiver's core.
        near(fit.rows[0].gap, 120.0);
        let (mean, most, _) = fit.error();
        assert!(mean < 1e-6 && most.abs() < 1e-6);
    }
}

#[test]
fn the_gap_is_that_of_the_slowest_part() {
    // The receiver's core takes 300 ns per message, the sender's core 50 ns.
    let link =
        Link::new(Contention::Ideal, Bytes::MAX, SimSpan::from_ns(1), vec![row(0, u64::MAX, 900, 8000, [50, 300])]);
    let (_, fit) = found(Level::InterNode, link);
    assert_eq!(fit.eager, None);
    near(fit.rows[0].send_overhead, 50.0);
    near(fit.rows[0].recv_overhead, 300.0);
    near(fit.rows[0].gap, 300.0);
    // Each message occupies the adapter for 2 us.
    let slow = Row { gap: SimSpan::from_us(2), ..row(0, u64::MAX, 900, 8000, [50, 300]) };
    let (_, fit) = found(Level::InterNode, Link::new(Contention::Queue, Bytes::MAX, SimSpan::from_ns(1), vec![slow]));
    near(fit.rows[0].gap, 2000.0);
}

#[test]
fn transfers_at_a_time_cost_what_the_columns_say() {
    let column = |load, latency, bytes_per_us: u64| LoadColumn {
        load,
        latency: SimSpan::from_ns(latency),
        bandwidth: Bandwidth::new(bytes_per_us * 1_000_000).unwrap(),
    };
    // A single message takes 100 + 500 ns and 1 ns per byte. Two concurrent transfers take 1.5 times as long.
    let both =
        Row { columns: vec![column(1, 500, 1000), column(2, 800, 667)], ..row(0, u64::MAX, 500, 1000, [60, 40]) };
    let (samples, fit) =
        found(Level::IntraCmp, Link::new(Contention::Measured, Bytes::MAX, SimSpan::from_ns(1), vec![both]));
    assert_eq!(fit.loads, [1, 2, 4, 8, 16]);
    let [one, two, four, ..] = fit.rows[0].columns[..] else { panic!("{fit:?}") };
    near(one.1, 1.0);
    assert!((two.1 / one.1 - 1.5).abs() < 0.05 && (two.0 / one.0 - 1.6).abs() < 0.1, "{fit:?}");
    assert!(four.1 > 1.2 * two.1, "{fit:?}");
    // If the same tests take half as long on the fitted platform, the table columns for concurrent transfers become
    // twice as slow.
    let mut half = samples.clone();
    half.series.iter_mut().flat_map(|series| &mut series.seconds).for_each(|seconds| *seconds /= 2.0);
    let once = Corrections::default().refined(&samples, &half);
    let slower = |corrections: &Corrections| {
        let refined = LinkFit::of(&samples, Level::IntraCmp, corrections).unwrap();
        refined.rows[0].columns[1].1 / two.1
    };
    assert!((slower(&once) - 2.0).abs() < 1e-6);
    // A correction factor that does not lengthen the tests is withdrawn and not repeated.
    let twice = once.refined(&samples, &half);
    assert!((slower(&twice) - 1.0).abs() < 1e-6);
    assert!((slower(&twice.refined(&samples, &half)) - 1.0).abs() < 1e-6);
    assert!((samples.distance(&half) - 2f64.ln()).abs() < 1e-9);
}

#[test]
fn windows_and_rings_are_measured_too() {
    // The link transfers messages one after another at 1 ns per byte. A window of messages of s bytes takes s ns per
    // message, for any latency.
    let link =
        Link::new(Contention::Queue, Bytes::MAX, SimSpan::from_ns(1), vec![row(0, u64::MAX, 500, 1000, [10, 10])]);
    let shape = Shape { nodes: 2, cmps: 1, cores: 1 };
    let sites = Placement::Block.sites(shape, 2, false).unwrap();
    let rings = simulate_rings(&machine(shape, link.clone()), sites, 1 << 20).unwrap();
    let (samples, _) = found(Level::InterNode, link);
    let series = samples.of(Level::InterNode, Test::Window);
    let large = series.iter().find(|series| series.bytes == 1 << 20).unwrap();
    let each = large.seconds[0] / f64::from(large.count);
    assert!((each * 1e9 / f64::from(1 << 20) - 1.0).abs() < 0.01, "{each}");
    // Two ranks send two messages each in both directions at 1 GB/s: large messages reach 2 GB/s, small messages less.
    let effective = Effective::of(&rings, 2).unwrap();
    assert!((0.5e9..2e9).contains(&effective.bandwidth), "{effective:?}");
    // Each exchange has two messages of 1 MiB in each direction.
    assert!((effective.at_most[0] / 2e9 - 1.0).abs() < 0.01 && effective.at_most[0] == effective.at_most[1]);
    assert!((0.2e-6..1.2e-6).contains(&effective.latency), "{effective:?}");
}

#[test]
fn collectives_of_a_simulated_machine_grow_with_its_ranks() {
    use mcpsim_core::platform::Collective;

    let link =
        Link::new(Contention::Ideal, Bytes::MAX, SimSpan::from_ns(1), vec![row(0, u64::MAX, 900, 1000, [50, 50])]);
    let shape = Shape { nodes: 8, cmps: 1, cores: 1 };
    let sites = Placement::Block.sites(shape, 8, false).unwrap();
    let plan = CollectiveTests { most_bytes: 4096, repeats: 1, budget: 1.0 };
    let timed = simulate_collectives(&machine(shape, link), sites, &plan).unwrap();
    let fits = CollectiveFit::all(&timed);
    assert_eq!(fits.len(), 8);
    for fit in &fits {
        assert_eq!(fit.by_ranks.iter().map(|of| of.0).collect::<Vec<_>>(), [2, 4, 8], "{fit:?}");
        assert!(fit.start.unwrap().slope > 0.0 || fit.collective == Collective::Gather, "{fit:?}");
    }
    // A broadcast between two ranks is one message of 1 us and 1 ns per byte.
    let bcast = fits.iter().find(|fit| fit.collective == Collective::Bcast).unwrap();
    let (_, two, _) = bcast.by_ranks[0];
    assert!((two.start / 1e-6 - 1.0).abs() < 0.001 && (two.per_byte / 1e-9 - 1.0).abs() < 0.001, "{two:?}");
}

#[test]
fn noise_at_the_end_of_the_sizes_promises_no_bandwidth_that_was_never_seen() {
    // A message takes 1 µs and 1 ns per byte. The messages of the two greatest sizes take equal times, which other
    // users of the machine may cause.
    let time = |bytes: u64| if bytes < 1 << 19 { 1e-6 + 1e-9 * bytes as f64 } else { 1.5e-3 };
    let sizes = [0, 64, 1024, 16_384, 65_536, 1 << 18, 1 << 19, 1 << 20];
    let series = |bytes| SampleSeries {
        level: Some(Level::IntraCmp),
        test: Test::PingPong,
        bytes,
        load: 1,
        count: 2,
        seconds: vec![time(bytes); 3],
    };
    let eager = vec![(Level::IntraCmp, None)];
    let samples = Samples { series: sizes.map(series).into(), eager, ..Samples::default() };
    let fit = LinkFit::of(&samples, Level::IntraCmp, &Corrections::default()).unwrap();
    let (_, per_byte) = fit.rows.last().unwrap().columns[0];
    // The best measured bandwidth is just below 1 GB/s.
    assert!(1.0 / per_byte <= 1.5e9, "{} B/s", 1.0 / per_byte);
}

/// Measures the occupancy of resources on a machine with the link `link`. All pairs share the link, which connects the
/// machine's two nodes or is inside the only node.
fn occupied(level: Level, pairs: u32, link: Link) -> MeasuredOccupancy {
    fitted(level, pairs, link, None).occupancy.unwrap()
}

/// Measures a machine that has the memory `memory` between its CMPs.
fn fitted(level: Level, pairs: u32, link: Link, memory: Option<CopyMemory>) -> LinkFit {
    let shape = match level {
        Level::InterNode => Shape { nodes: 2, cmps: 1, cores: pairs },
        Level::InterCmp => Shape { nodes: 1, cmps: 2, cores: pairs },
        Level::IntraCmp => Shape { nodes: 1, cmps: 1, cores: 2 * pairs },
    };
    let pairs: Vec<RankPair> = (0..pairs).map(|first| RankPair { first, second: first + pairs }).collect();
    let ranks = 2 * pairs.len() as u32;
    let plan =
        CampaignPlan { levels: vec![LevelPlan { level, pairs }], most_bytes: 4 << 20, budget: 1.0, window: WINDOW };
    let sites = Placement::Block.sites(shape, ranks, false).unwrap();
    let samples = simulate(&Platform { memory, ..machine(shape, link) }, sites, &plan).unwrap();
    LinkFit::of(&samples, level, &Corrections::default()).unwrap().fair(&samples)
}

/// Creates a link of the `fair` contention model: a single message has a latency of 1 us and a bandwidth of 1 GB/s, and
/// takes 100 ns on the sender's and on the receiver's core.
fn fair(holds: Holds, gap: u64, copy: Option<u64>) -> Link {
    let bandwidth = |gigabytes: u64| Bandwidth::new(gigabytes * 1_000_000_000);
    let row = Row {
        gap: SimSpan::from_ns(gap),
        copy_bandwidth: copy.and_then(bandwidth),
        copy_count: 1,
        ..row(0, u64::MAX, 800, 1000, [100, 100])
    };
    Link::new(Contention::Fair, Bytes::MAX, SimSpan::from_ns(1), vec![row]).occupying(holds)
}

#[test]
fn windows_tell_what_adapters_carry() {
    let rate = |gigabytes: u64| Bandwidth::new(gigabytes * 1_000_000_000);
    let off = |found: Option<f64>, expected: f64| (found.unwrap() / expected - 1.0).abs();
    // The wire has 3 GB/s, of which one message uses a third, and 4 GB/s in both directions together. The gap of 600 ns
    // per message exceeds the overheads of the cores.
    let holds = Holds { capacity: rate(3), duplex: rate(4), ..Holds::default() };
    let found = occupied(Level::InterNode, 8, fair(holds, 600, None));
    assert!(off(found.capacity, 3e9) < 0.02 && off(found.duplex, 4e9) < 0.03, "{found:?}");
    let [first, second] = found.gaps.unwrap();
    assert!((first / 600e-9 - 1.0).abs() < 0.1 && (second / 600e-9 - 1.0).abs() < 0.1, "{found:?}");
    // Both directions of an adapter are independent, and adapters do not slow small messages down.
    let found = occupied(Level::InterNode, 2, fair(Holds { capacity: rate(3), ..Holds::default() }, 0, None));
    assert_eq!((found.duplex, found.gaps, found.copy), (None, None, None));
}

#[test]
fn tests_of_several_pairs_tell_what_busy_nodes_cost() {
    // With eight ranks per node a message takes 140 ns on each core instead of 100 ns, and its latency is 1300 ns
    // instead of 800 ns.
    let link = fair(Holds { capacity: Bandwidth::new(3_000_000_000), ..Holds::default() }, 0, None);
    let alone = link.rows()[0].clone();
    let busy = row(0, u64::MAX, 1300, 1000, [140, 140]);
    let link = link.with_rows_by_ranks(vec![(1, vec![alone]), (8, vec![busy])]);
    let fit = fitted(Level::InterNode, 8, link, None);
    assert_eq!(fit.ranks, [1, 2, 4, 8]);
    let costs = &fit.rows[0].by_ranks;
    let near = |found: f64, expected: f64| (found / expected - 1.0).abs() < 0.03;
    assert!(near(costs[3].send_overhead / costs[0].send_overhead, 1.4), "{costs:?}");
    assert!(near(costs[3].latency - costs[0].latency, 500e-9), "{costs:?}");
    assert!(costs.iter().all(|costs| costs.gap == 0.0), "{costs:?}");
}

#[test]
fn windows_tell_what_a_core_copies() {
    // A single message has a bandwidth of 1 GB/s, but a core copies four times as fast.
    let holds = Holds { copies: Copies::Receiver, ..Holds::default() };
    for level in [Level::IntraCmp, Level::InterCmp] {
        let found = occupied(level, 2, fair(holds.clone(), 0, Some(4)));
        assert!((found.copy.unwrap() / 4e9 - 1.0).abs() < 0.02, "{found:?}");
        assert_eq!((found.capacity, found.duplex, found.gaps), (None, None, None));
    }
}

#[test]
fn windows_tell_what_is_between_cmps() {
    let holds = Holds { copies: Copies::Receiver, ..Holds::default() };
    let found = |level, pairs, gigabytes: u64| {
        let memory = Bandwidth::new(gigabytes * 1_000_000_000).map(CopyMemory::of_interconnect);
        fitted(level, pairs, fair(holds.clone(), 0, None), memory).occupancy.unwrap().between_cmps
    };
    // Eight cores copy 1 GB/s each; the bandwidth from one CMP to the other is 3 GB/s.
    let rate = found(Level::InterCmp, 8, 3).unwrap();
    assert!((rate / 3e9 - 1.0).abs() < 0.02, "{rate}");
    // If the bandwidth between CMPs is equal to the demand of all pairs, or exceeds the demand of one pair, the samples
    // show no limit.
    assert_eq!(found(Level::InterCmp, 8, 8), None);
    assert_eq!(found(Level::InterCmp, 1, 3), None);
    assert_eq!(found(Level::IntraCmp, 8, 3), None);
}
