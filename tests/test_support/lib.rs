//! Simulated machines of round numbers for tests and benches, whose times can be computed by hand.
//!
//! The package `test_support` has no programs and no events. The unit tests of `mcpsim-base` include this file as a
//! module: a separate package would use other types of `mcpsim-base` than the unit tests.

use mcpsim_base::config::{Document, Override};
use mcpsim_base::platform::{CollectiveRules, Contention, CoreRates, Level, Link, Platform, Row, Shape};
use mcpsim_base::units::{Bandwidth, Bytes, Rate, SimSpan};

/// Returns a time span of `count` nanoseconds.
pub fn ns(count: u64) -> SimSpan {
    SimSpan::from_ns(count)
}

/// Returns a bandwidth of `count` GB/s; 1 GB/s is 1 ns per byte.
pub fn gigabytes(count: u64) -> Bandwidth {
    Bandwidth::new(count * 1_000_000_000).expect("above zero")
}

/// Creates a table row of message costs for all sizes, with 1 GB/s and a latency of `latency` ns.
pub fn row(latency: u64) -> Row {
    Row { latency: ns(latency), bandwidth: gigabytes(1), ..Row::default() }
}

/// Creates a link with one table row of message costs; all messages are eager.
pub fn link(law: Contention, latency: u64) -> Link {
    Link::new(law, Bytes::MAX, ns(latency), vec![row(latency)])
}

/// Returns the rates of a core: 1 Gflop/s, 1 Ginstr/s and 1 GB/s of memory bandwidth, and no other limit.
pub fn rates() -> CoreRates {
    let rate = Rate::new(1e9).expect("above zero");
    CoreRates {
        flops: rate,
        instructions: rate,
        memory: gigabytes(1),
        cmp_memory: gigabytes(1_000_000),
        node_memory: gigabytes(1_000_000),
        memory_sharing: Default::default(),
        in_cache: None,
        poll: CoreRates::POLL,
        post_overhead: SimSpan::ZERO,
        context_switch: SimSpan::ZERO,
        time_slice: SimSpan::from_us(3000),
        scale_factor: Default::default(),
        slowdown: vec![1.0],
        threads: Default::default(),
    }
}

/// Creates a simulated machine with the cores `core` and the links `links`.
pub fn platform(nct: [u32; 3], core: CoreRates, links: [Link; 3]) -> Platform {
    Platform {
        name: "tiny".to_owned(),
        shape: Shape { nodes: nct[0], cmps: nct[1], cores: nct[2] },
        core,
        links,
        collectives: CollectiveRules::default(),
        conditions: Default::default(),
        memory: None,
        baseline: Default::default(),
        pairs: None,
        places: Default::default(),
        unread: Vec::new(),
    }
}

/// Creates a simulated machine with latencies of 10, 100 and 1000 ns, and 1 ns per byte on every network level.
pub fn machine(nct: [u32; 3], law: Contention) -> Platform {
    platform(nct, rates(), [link(law, 10), link(law, 100), link(law, 1000)])
}

/// Replaces the link of the network level `level` in the platform.
pub fn with_link(mut platform: Platform, level: Level, link: Link) -> Platform {
    platform.links[level as usize] = link;
    platform
}

/// Loads a platform file with the text `text` and the overrides `overrides`.
///
/// # Panics
/// The function panics if the text or an override is wrong.
pub fn load(text: &str, overrides: &[&str]) -> Platform {
    let overrides: Vec<_> = overrides.iter().map(|over| Override::parse(over).expect("an override")).collect();
    let document = Document::parse("x.toml", text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Platform::load(document, &overrides).unwrap_or_else(|error| panic!("{error}\n{text}"))
}
