//! Tests that additional costs of messages are recovered from simulated machines and written to the platform file.

use mcpsim_core::platform::{
    Conditions, Contention, Level, Link, NodeFactors, Noise, NoiseDistribution, Occupancy, Placement, Platform,
    ProgressEngine, Protocol, Shape, Spread, SystemNoise,
};
use mcpsim_core::units::{Bandwidth, Bytes, SimSpan};

use super::{machine, measured_machine, near, row, written_platform};
use crate::*;

const PAIRS: u32 = 4;

/// Measures a machine of two nodes with the link `link` and four pairs of ranks between the nodes. Also returns the
/// platform written from the samples.
fn written(link: Link, progress: ProgressEngine) -> (Samples, MeasuredEffects, Platform, String) {
    let shape = Shape { nodes: 2, cmps: 1, cores: PAIRS };
    let pairs = (0..PAIRS).map(|first| RankPair { first, second: first + PAIRS }).collect();
    let levels = vec![LevelPlan { level: Level::InterNode, pairs }];
    let plan = CampaignPlan { levels, most_bytes: 1 << 18, budget: 1.0, window: WINDOW };
    let mut platform = machine(shape, link);
    platform.conditions = Conditions { progress, ..Conditions::default() };
    let sites = Placement::Block.sites(shape, 2 * PAIRS, false).unwrap();
    let samples = simulate(&platform, sites, &plan).unwrap();
    let fit = LinkFit::of(&samples, Level::InterNode, &Corrections::default()).unwrap().fair(&samples);
    let effects = fit.effects;
    let (read, text) = written_platform(&measured_machine(shape, fit, &samples));
    (samples, effects, read, text)
}

/// Creates a link on which a single message has a latency of 1 us and a bandwidth of 1 GB/s, is eager up to 8 KiB, and
/// takes 100 ns on each rank's core.
fn link() -> Link {
    let capacity = Bandwidth::new(2_000_000_000);
    let rows = vec![row(0, u64::MAX, 800, 1000, [100, 100])];
    Link::new(Contention::Fair, Bytes::new(8192), SimSpan::from_ns(900), rows)
        .occupying(Occupancy { capacity, ..Occupancy::default() })
}

fn with(change: impl Fn(&mut Protocol)) -> Link {
    let mut protocol = link().protocol();
    change(&mut protocol);
    link().with_protocol(protocol)
}

#[test]
fn a_machine_without_effects_has_none() {
    let (_, effects, platform, text) = written(link(), ProgressEngine::Hardware);
    assert_eq!(
        (effects.connection_time, effects.unexpected_copy_bandwidth, effects.credits),
        (None, None, None),
        "{text}"
    );
    assert_eq!((effects.progresses, platform.conditions.progress), (Some(true), ProgressEngine::Hardware), "{text}");
}

#[test]
fn the_cost_of_a_first_message_comes_back() {
    let (_, effects, platform, text) =
        written(with(|of| of.connection_time = SimSpan::from_us(40)), ProgressEngine::Hardware);
    near(effects.connection_time.unwrap(), 40_000.0);
    let stated = platform.link(Level::InterNode).protocol().connection_time;
    assert!((stated.as_seconds() / 40e-6 - 1.0).abs() < 0.01, "{text}");
}

#[test]
fn the_rate_of_unexpected_copies_comes_back() {
    let rate = Bandwidth::new(3_000_000_000);
    let (_, effects, platform, text) =
        written(with(|of| of.unexpected_copy_bandwidth = rate), ProgressEngine::Hardware);
    assert!((effects.unexpected_copy_bandwidth.unwrap() / 3e9 - 1.0).abs() < 0.02, "{effects:?}");
    let stated = platform.link(Level::InterNode).protocol().unexpected_copy_bandwidth.unwrap().get() as f64;
    assert!((stated / 3e9 - 1.0).abs() < 0.02, "{text}");
}

#[test]
fn the_number_of_eager_messages_under_way_comes_back() {
    for credits in [1, 7, 64, 600] {
        let (_, effects, platform, text) = written(with(|of| of.credits = Some(credits)), ProgressEngine::Hardware);
        assert_eq!(effects.credits, Some(credits));
        let stated = platform.link(Level::InterNode).protocol().credits;
        assert_eq!(stated, Some(credits), "{text}");
    }
}

#[test]
fn who_makes_progress_comes_back() {
    let (_, effects, platform, text) = written(link(), ProgressEngine::Call);
    assert_eq!((effects.progresses, platform.conditions.progress), (Some(false), ProgressEngine::Call), "{text}");
}

#[test]
fn many_senders_to_one_reach_what_its_adapter_carries() {
    let (samples, _, _, text) = written(link(), ProgressEngine::Hardware);
    let incast = samples.of(Level::InterNode, Test::Incast);
    let loads: Vec<u32> = incast.iter().filter(|of| of.bytes == 1 << 18).map(|of| of.load).collect();
    assert_eq!(loads, [2, 4]);
    let all = incast.last().unwrap();
    let rate = f64::from(all.load * all.count) * all.bytes as f64 / all.seconds[0];
    assert!((rate / 2e9 - 1.0).abs() < 0.05, "{rate}");
    assert!(text.contains("# Incast: 4 ranks that send to one rank reach 1.9"), "{text}");
}

/// Measures pieces of computation on four nodes with one rank each.
fn worked(conditions: Conditions, pieces: u32) -> MeasuredCores {
    let shape = Shape { nodes: 4, cmps: 1, cores: 1 };
    let mut platform = machine(shape, link());
    platform.conditions = conditions;
    let sites = Placement::Block.sites(shape, 4, false).unwrap();
    simulate_cores(&platform, sites, vec![0, 1, 2, 3], pieces).unwrap()
}

#[test]
fn what_the_system_takes_from_a_core_comes_back() {
    let spread = Spread { distribution: NoiseDistribution::Normal, deviation: 0.2 };
    let noise = SystemNoise { period: SimSpan::from_us(1000), length: SimSpan::from_us(25), spread };
    let noise = Noise { system: Some(noise), ..Noise::default() };
    let cores = worked(Conditions { noise, ..Conditions::default() }, 40_000);
    let found = cores.detours.unwrap();
    assert!((found.period / 1e-3 - 1.0).abs() < 0.01, "{found:?}");
    assert!((found.length / 25e-6 - 1.0).abs() < 0.05 && (found.deviation / 0.2 - 1.0).abs() < 0.15, "{found:?}");
    assert_eq!(cores.nodes, None, "detours make no node slower: medians count");
    // A platform file with the measured noise as keys models the same machine; comments in the file do not change
    // predictions.
    let text = |stated| {
        let text = cores.text(stated);
        let file = format!("{}\n{text}", include_str!("../../../configs/default.toml"));
        test_support::load(&file, &[])
    };
    let system = text(true).conditions.noise.system.unwrap();
    assert!((system.period.as_seconds() / found.period - 1.0).abs() < 1e-3, "{system:?}");
    assert_eq!(text(false).conditions.noise.system, None);
    // Without system noise the samples contain no detours.
    assert_eq!(worked(Conditions::default(), 2000), MeasuredCores::default());
}

#[test]
fn nodes_that_compute_more_slowly_come_back() {
    let nodes = NodeFactors { rate: vec![1.0, 1.0, 0.8, 1.0], ..NodeFactors::default() };
    let cores = worked(Conditions { nodes, ..Conditions::default() }, 200);
    let rates = cores.nodes.clone().unwrap();
    assert!(rates.iter().zip([1.0, 1.0, 0.8, 1.0]).all(|(found, stated)| (found - stated).abs() < 1e-6), "{rates:?}");
    let file = format!("{}\n{}", include_str!("../../../configs/default.toml"), cores.text(false));
    let file = file.replace("nct = [16, 2, 16]", "nct = [4, 2, 4]");
    let platform = test_support::load(&file, &[]);
    assert_eq!(platform.conditions.nodes.rate, [1.0, 1.0, 0.8, 1.0], "{file}");
}
