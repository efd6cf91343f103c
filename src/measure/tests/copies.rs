//! Tests that core overheads and copies within a node are recovered from windows of few messages, by message size.

use mcpsim_core::platform::{Contention, Copies, Level, Link, Occupancy, Placement, Platform, Row, Shape};
use mcpsim_core::units::{Bandwidth, Bytes, SimSpan};

use super::{machine, measured_machine, row, written_platform};
use crate::*;

const SHAPE: Shape = Shape { nodes: 1, cmps: 1, cores: 2 };
const EAGER: u64 = 4096;

/// Creates a link within a node on which the receiving core copies messages.
fn within(eager: Bytes, handshake: SimSpan, rows: Vec<Row>) -> Link {
    let copied = Occupancy { copies: Copies::Receiver, ..Occupancy::default() };
    Link::new(Contention::Fair, eager, handshake, rows).occupying(copied)
}

/// Creates a link within a node. Messages up to 4 KiB take 150 ns on the receiver's core, or are copied at 10 GB/s.
/// Larger messages take 1,200 ns, or are copied at 12 GB/s; messages above 200,000 B are copied at 9 GB/s. Single
/// messages have a bandwidth of 4 to 8 GB/s.
fn link() -> Link {
    let copying = |row: Row, gigabytes: u64| {
        let copy_bandwidth = Bandwidth::new(gigabytes * 1_000_000_000);
        Row { copy_bandwidth, ..row }
    };
    let rows = vec![
        copying(row(0, EAGER, 250, 4000, [100, 150]), 10),
        copying(row(EAGER, 200_000, 900, 8000, [100, 1200]), 12),
        copying(row(200_000, u64::MAX, 900, 8000, [100, 1200]), 9),
    ];
    within(Bytes::new(EAGER), SimSpan::from_ns(200), rows)
}

fn plan() -> CampaignPlan {
    let levels = vec![LevelPlan { level: Level::IntraCmp, pairs: vec![RankPair { first: 0, second: 1 }] }];
    CampaignPlan { levels, most_bytes: 4 << 20, budget: 1.0, window: WINDOW }
}

fn measured(link: Link) -> Samples {
    simulate(&machine(SHAPE, link), Placement::Block.sites(SHAPE, 2, false).unwrap(), &plan()).unwrap()
}

/// Writes the platform file for `samples` and reads it again. Also returns the text of the file.
fn written(samples: &Samples) -> (Platform, String) {
    let fit = LinkFit::of(samples, Level::IntraCmp, &Corrections::default()).unwrap().fair(samples);
    written_platform(&measured_machine(SHAPE, fit, samples))
}

/// Returns the greatest relative deviation between `samples` of a test and the same test on the platform `written`.
fn off(samples: &Samples, written: &Platform, test: Test) -> f64 {
    let sites = Placement::Block.sites(SHAPE, 2, false).unwrap();
    let again = simulate(written, sites, &plan()).unwrap();
    let ratios = samples.ratios_to(&again).into_iter().filter(|(series, _)| series.test == test);
    ratios.map(|(_, ratio)| (ratio - 1.0).abs()).fold(0.0, f64::max)
}

#[test]
fn overheads_and_copies_by_size_come_back() {
    let samples = measured(link());
    let (platform, text) = written(&samples);
    let stated = link();
    // A derived table row has the true value of the resource that limits the row. Borders between table rows are
    // between measured message sizes.
    let found = |bytes: u64| platform.link(Level::IntraCmp).row(Bytes::new(bytes)).clone();
    let near = |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.01, "{found} {expected}\n{text}");
    for bytes in [8, 512, 1024, 8192] {
        let expected = stated.row(Bytes::new(bytes)).recv_overhead.as_seconds();
        near(found(bytes).recv_overhead.as_seconds(), expected);
    }
    for bytes in [3072, 65_536, 196_608, 1 << 18, 4 << 20] {
        let expected = stated.row(Bytes::new(bytes)).copy_bandwidth.unwrap().get() as f64;
        near(found(bytes).copy_bandwidth.unwrap().get() as f64, expected);
    }
    // Windows of 64 messages and of other numbers of messages have the measured times, and the times of single messages
    // do not change.
    let windows = [Test::Window, Test::ShortWindow, Test::PingPong].map(|test| off(&samples, &platform, test));
    assert!(windows.iter().all(|off| *off < 0.01), "{windows:?}\n{text}");
}

#[test]
fn a_fixed_part_and_bytes_of_each_message_are_a_few_rows() {
    // The core time of a message of s bytes is 1,700 ns + s / 13 GB/s. Table rows cover an eighth of a power of two
    // each.
    let mut rows = vec![row(0, EAGER, 250, 4000, [100, 150])];
    for eighth in 96..192 {
        let up_to = 2f64.powf((eighth + 1) as f64 / 8.0);
        let each = 1.7e-6 + 2f64.powf((eighth as f64 + 0.5) / 8.0) / 13e9;
        let end = if eighth == 191 { u64::MAX } else { up_to as u64 };
        let receives = (each * 1e9) as u64;
        // A single message takes 6,000 ns and has a bandwidth of 10 GB/s.
        let above = rows.last().unwrap().up_to.get();
        let copy_bandwidth = Bandwidth::new((up_to / each) as u64);
        rows.push(Row {
            copy_bandwidth,
            ..row(above, end, 6000 - receives.min(5000), 10_000, [100, receives.min(5000)])
        });
    }
    let stated = within(Bytes::new(EAGER), SimSpan::from_ns(200), rows);
    let samples = measured(stated);
    let (platform, text) = written(&samples);
    assert!(platform.link(Level::IntraCmp).rows().len() < 20, "{text}");
    let [windows, alone] = [Test::Window, Test::PingPong].map(|test| off(&samples, &platform, test));
    assert!(windows < 0.1 && alone < 0.01, "{windows} {alone}\n{text}");
}

#[test]
fn rows_that_windows_agree_with_stay_as_they_are() {
    let rows = vec![row(0, u64::MAX, 250, 4000, [100, 150])];
    let samples = measured(within(Bytes::MAX, SimSpan::from_ns(1), rows));
    let fit = LinkFit::of(&samples, Level::IntraCmp, &Corrections::default()).unwrap();
    let fair = fit.clone().fair(&samples);
    let same = |one: &RowFit, other: &RowFit| {
        (one.recv_overhead, one.columns[0], one.copy) == (other.recv_overhead, other.columns[0], None)
    };
    assert!(fair.rows.len() == 1 && same(&fair.rows[0], &fit.rows[0]), "{fair:?}");
    assert!(!samples.of(Level::IntraCmp, Test::ShortWindow).is_empty());
}
