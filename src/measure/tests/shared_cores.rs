//! Tests that the context switch of a shared core is derived from ping-pongs, and is not part of any latency.

use mcpsim_core::platform::{Contention, Level, Link, Platform, Shape};
use mcpsim_core::units::{Bytes, SimSpan};

use super::{machine, measured_machine, row, written_platform};
use crate::*;

const SHAPE: Shape = Shape { nodes: 1, cmps: 1, cores: 1 };

/// Returns the places of two ranks that are bound to one core, and of a third, idle rank on the same core.
fn places() -> Vec<HostPlace> {
    vec![HostPlace { node: 0, package: 0, cpu: Some(3) }; 3]
}

fn plan() -> CampaignPlan {
    let levels = vec![LevelPlan { level: Level::IntraCmp, pairs: vec![RankPair { first: 0, second: 1 }] }];
    CampaignPlan { levels, most_bytes: 1 << 16, budget: 1.0, window: WINDOW }
}

/// Creates a platform whose ranks share a core. Messages take 100 ns and 1 ns per byte, and a context switch to the
/// other rank takes 5 us.
fn shared() -> Platform {
    let link =
        Link::new(Contention::Fair, Bytes::MAX, SimSpan::from_ns(100), vec![row(0, u64::MAX, 100, 1000, [0, 0])]);
    let mut platform = machine(SHAPE, link);
    platform.core.context_switch = SimSpan::from_us(5);
    platform
}

/// Runs the message tests on a platform.
fn tested(platform: &Platform) -> Samples {
    simulate(platform, sites(&places(), SHAPE).expect("a core is enough"), &plan()).unwrap()
}

/// Writes the platform file for `samples` and reads it again.
fn written(samples: &Samples) -> (Platform, String) {
    let plan = plan();
    assert!(plan.levels[0].shares_cpu(&places()));
    let fit = LinkFit::of(samples, Level::IntraCmp, &Corrections::default()).unwrap().fair(samples).on_shared_core();
    written_platform(&measured_machine(SHAPE, fit, samples))
}

#[test]
fn what_passes_on_a_shared_core_comes_back_and_makes_the_same_tests_take_as_long() {
    let samples = tested(&shared());
    assert!((samples.median(Level::IntraCmp, Test::PingPong, 1) - 5.1e-6).abs() < 1e-8);
    let (platform, text) = written(&samples);
    // The measured context switch includes the core time of the message.
    let switch = platform.core.context_switch.as_seconds();
    assert!((switch / 5.1e-6 - 1.0).abs() < 0.01, "{text}");
    assert!(text.contains("\n# context_switch: ") && text.contains("\ncontext_switch = \"5.1"), "{text}");
    let row = &platform.link(Level::IntraCmp).rows()[0];
    assert!(row.latency <= SimSpan::from_ns(1) && row.bandwidth.get().abs_diff(1_000_000_000) < 10_000_000, "{text}");
    let again = tested(&platform);
    for (series, ratio) in samples.ratios_to(&again) {
        let passes = matches!(series.test, Test::PingPong | Test::Window);
        assert!(!passes || (ratio - 1.0).abs() < 0.03, "{series:?}: {ratio}");
    }
}

#[test]
fn where_a_row_has_less_than_the_switch_its_receiver_waits_in_its_overhead() {
    let samples = tested(&shared());
    let fit = LinkFit::of(&samples, Level::IntraCmp, &Corrections::default()).unwrap().fair(&samples);
    let with = |up_to, latency: f64, recv_overhead: f64| RowFit {
        up_to,
        columns: vec![(latency, 1e-9)],
        recv_overhead,
        ..fit.rows[0].clone()
    };
    let rows = vec![with(Some(64), 5e-6, 1e-6), with(Some(4096), 4.5e-6, 1e-6), with(None, 1e-6, 3e-6)];
    let shared = LinkFit { rows, ..fit }.on_shared_core();
    let found: Vec<(f64, f64)> = shared.rows.iter().map(|row| (row.columns[0].0, row.recv_overhead)).collect();
    assert!(shared.effects.context_switch == Some(5e-6) && found[0] == (1e-9, 1e-6), "{found:?}");
    assert!(found[1].0 == 1e-9 && (found[1].1 - 0.5e-6).abs() < 1e-12 && found[2] == (1e-9, 0.0), "{found:?}");
}

#[test]
fn ranks_that_are_not_bound_to_one_cpu_share_no_core() {
    let apart = [Some(0), Some(1), None].map(|cpu| HostPlace { node: 0, package: 0, cpu });
    assert!(!plan().levels[0].shares_cpu(&apart));
    let level = LevelPlan { level: Level::InterNode, ..plan().levels[0].clone() };
    assert!(!level.shares_cpu(&places()), "of another level");
    assert_eq!(sites(&apart, SHAPE), None);
}
