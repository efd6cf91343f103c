//! Comparison of the `fair` contention model with a simple max-min solver, for transfers between nodes of the machine
//! `default`, and for copies within a node. Each transfer has its own source and destination ranks, so cores do not
//! limit transfers.

#[path = "../support/maxmin.rs"]
mod maxmin;

use std::collections::BTreeMap;

use crate::support::Do::{Clock, Compute, Recv, Send};
use crate::support::{Log, Saw, Script};
use maxmin::{Flow, Transfer, ends, flows};
use mcpsim::config::Override;
use mcpsim::engine::{Labels, Progress, RunOptions, Simulation};
use mcpsim::platform::{Level, Platform, Site};
use mcpsim::rank::Rank;
use mcpsim::units::Bytes;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Returns the machine `default` with `nodes` nodes and `cores` cores, the contention model `fair`, and the settings
/// `more`.
fn machine(nodes: u32, cores: u32, more: &[&str]) -> Platform {
    let mut settings =
        vec!["platform.inter_node.contention=\"fair\"".to_owned(), format!("platform.nct=[{nodes},1,{cores}]")];
    let key = |setting: &str| if setting.starts_with("places") { "" } else { "inter_node." };
    settings.extend(more.iter().map(|setting| format!("platform.{}{setting}", key(setting))));
    let settings: Vec<Override> = settings.iter().map(|setting| Override::parse(setting).unwrap()).collect();
    Platform::load(Platform::default_document(), &settings).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the arrival time in seconds of each transfer in the engine, without the overheads of receives.
fn simulated(platform: &Platform, transfers: &[Transfer], workers: u32) -> Vec<f64> {
    let mut used = vec![0; platform.shape.nodes as usize];
    let mut sites = Vec::new();
    let mut scripts = Vec::new();
    for transfer in transfers {
        for node in [transfer.from, transfer.to] {
            let core = &mut used[node as usize];
            sites.push(Site { node, cmp: 0, core: *core });
            *core += 1;
        }
        let sender = scripts.len() as Rank;
        scripts.push(vec![Compute(transfer.start), Send(sender + 1, transfer.bytes)]);
        scripts.push(vec![Recv(sender), Clock]);
    }
    let log = Log::default();
    let make = |rank: Rank| Script::new(rank, scripts[rank as usize].clone(), log.clone());
    let options = RunOptions { workers: Some(workers), ..RunOptions::default() };
    Simulation::new(platform, sites, options, Labels::default()).run(make, &Progress::default()).unwrap();
    let clocks: BTreeMap<Rank, f64> = log
        .lock()
        .unwrap()
        .iter()
        .filter_map(|(rank, _, saw)| match saw {
            Saw::Clock(time) => Some((*rank, time.as_seconds())),
            _ => None,
        })
        .collect();
    let link = platform.link(Level::InterNode);
    let arrived = |index: usize| {
        let overhead = link.row(Bytes::new(transfers[index].bytes)).recv_overhead;
        clocks[&(2 * index as Rank + 1)] - overhead.as_seconds()
    };
    (0..transfers.len()).map(arrived).collect()
}

/// Deviations of the times of transfers in the engine from the times of the solver.
#[derive(Debug, Default)]
struct Errors {
    /// Relative errors of the durations of long transfers, which would take at least 20 latencies without other
    /// transfers.
    long: Vec<f64>,
    /// Relative errors, and errors in slots of virtual time, of the durations of shorter transfers.
    short: Vec<(f64, f64)>,
    /// Error of the time at which all transfers have ended, in units of 0.3 % or of two slots of virtual time,
    /// whichever is greater.
    end: f64,
    /// Greatest utilisation of a resource over at least 20 slots of virtual time, by transfers that began and ended
    /// within these slots.
    delivered: f64,
}

fn compare(platform: &Platform, transfers: &[Transfer]) -> Errors {
    let (capacities, flows) = flows(platform, transfers);
    let expected = ends(&capacities, &flows);
    let found = simulated(platform, transfers, 1);
    for workers in [2, 5] {
        assert_eq!(found, simulated(platform, transfers, workers), "the number of workers counts");
    }
    let latency = platform.link(Level::InterNode).rows().iter().map(|row| row.latency.as_seconds()).fold(1.0, f64::min);
    let slot = latency / 2.0;
    let mut errors = Errors::default();
    for (index, flow) in flows.iter().enumerate() {
        let row = platform.link(Level::InterNode).row(Bytes::new(transfers[index].bytes));
        let left = flow.start - row.latency.as_seconds();
        let off = found[index] - expected[index];
        let relative = off.abs() / (expected[index] - left);
        match row.latency.as_seconds() + flow.bytes / flow.pace >= 20.0 * latency {
            true => errors.long.push(relative),
            false => errors.short.push((relative, off.abs() / slot)),
        }
    }
    let last = |ends: &[f64]| ends.iter().copied().fold(0.0, f64::max);
    let (last, expected) = (last(&found), last(&expected));
    errors.end = (last - expected).abs() / (0.003 * expected).max(2.0 * slot);
    errors.delivered = delivered(&capacities, &flows, &found, 20.0 * slot);
    errors
}

fn delivered(capacities: &[f64], flows: &[Flow], ends: &[f64], least: f64) -> f64 {
    let mut most = 0.0f64;
    for (resource, capacity) in capacities.iter().enumerate().filter(|(_, capacity)| capacity.is_finite()) {
        let on: Vec<usize> = (0..flows.len()).filter(|flow| flows[*flow].uses.contains(&resource)).collect();
        for first in &on {
            let begin = flows[*first].start;
            let mut inside: Vec<usize> = on.iter().copied().filter(|flow| flows[*flow].start >= begin).collect();
            inside.sort_by(|a, b| ends[*a].total_cmp(&ends[*b]));
            let mut bytes = 0.0;
            for flow in inside {
                bytes += flows[flow].bytes;
                if ends[flow] - begin >= least {
                    most = most.max(bytes / (ends[flow] - begin) / capacity);
                }
            }
        }
    }
    most
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns the value that 99 % of the values do not exceed.
fn most_of(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get((values.len() * 99).div_ceil(100).saturating_sub(1)).copied().unwrap_or(0.0)
}

/// Asserts the error bounds that the contention model guarantees, for all sets of transfers `sets` on the machine with
/// the settings `more`.
fn holds(name: &str, nodes: u32, more: &[&str], sets: &[Vec<Transfer>]) {
    let mut all = Errors::default();
    for transfers in sets {
        let platform = machine(nodes, cores(transfers, nodes), more);
        let Errors { long, short, end, delivered } = compare(&platform, transfers);
        all.long.extend(long);
        all.short.extend(short);
        all.end = all.end.max(end);
        all.delivered = all.delivered.max(delivered);
    }
    let Errors { long, short, end, delivered } = all;
    let (long_mean, long_most) = (mean(&long) * 100.0, most_of(long.clone()) * 100.0);
    // The duration of a short transfer must be exact to two slots of virtual time or to 6 %, whichever is better.
    let short_most = most_of(short.iter().map(|(part, slots)| (part / 0.06).min(slots / 2.0)).collect());
    let told = format!(
        "{name}, {more:?}: {} long ones off by {long_mean:.2} % in the mean, 99 of 100 by {long_most:.2} %; {} short \
         ones at {short_most:.2} of what is allowed; the end of all at {end:.2} of it; delivered {delivered:.3} of a \
         capacity",
        long.len(),
        short.len(),
    );
    println!("{told}");
    // With uplinks, paths are longer and the engine needs more supersteps to compute shares, so the bound of short
    // transfers is wider.
    let most_short = if more.iter().any(|key| key.contains("uplink")) { 1.5 } else { 1.0 };
    assert!(long_mean <= 1.0 && long_most <= 6.0 && short_most <= most_short, "{told}");
    assert!(end <= 1.0 && delivered <= 1.02, "{told}");
}

/// Time spans in nanoseconds over which the starts of transfers are evenly distributed.
const SPREADS: [u64; 2] = [20_000, 100_000];

/// Settings of machines in which transfers share different resources: only adapters (two resources per path), also both
/// directions of an adapter together (four), also links of node pairs (five), uplinks of switches (four), or uplinks of
/// switches and groups with both directions of an adapter (eight).
const SHARED: [&[&str]; 5] = [
    &[],
    &["duplex=\"18 GB/s\""],
    &["duplex=\"18 GB/s\"", "pair_duplex=\"15 GB/s\""],
    &["places.switch={nodes=4,uplink_bandwidth=\"25 GB/s\"}"],
    &[
        "duplex=\"18 GB/s\"",
        "places.switch={nodes=2,uplink_bandwidth=\"20 GB/s\"}",
        "places.group={nodes=8,uplink_bandwidth=\"40 GB/s\"}",
    ],
];

fn random(count: usize, nodes: u32, spread: u64, seed: u64) -> Vec<Transfer> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut transfer = || {
        let from = random.random_range(0..nodes);
        let to = (from + random.random_range(1..nodes)) % nodes;
        // The sizes of transfers are 3 KB to 3 MB, evenly distributed by their logarithm.
        let bytes = 10f64.powf(random.random_range(3.477..6.477)) as u64;
        Transfer { from, to, start: random.random_range(0..spread), bytes }
    };
    (0..count).map(|_| transfer()).collect()
}

/// Returns `each` transfers from every node to the nodes that `near` returns for it.
fn around(nodes: u32, each: u32, bytes: u64, spread: u64, near: impl Fn(u32) -> Vec<u32>) -> Vec<Transfer> {
    let mut random = Pcg64Mcg::seed_from_u64(u64::from(nodes) + bytes);
    let mut all = Vec::new();
    for from in 0..nodes {
        for to in near(from) {
            all.extend((0..each).map(|_| Transfer { from, to, start: random.random_range(0..spread), bytes }));
        }
    }
    all
}

fn cores(transfers: &[Transfer], nodes: u32) -> u32 {
    let of = |node: u32| transfers.iter().filter(|of| of.from == node || of.to == node).count();
    (0..nodes).map(of).max().unwrap_or(1) as u32
}

fn on_all_machines(name: &str, sets: &[Vec<Transfer>]) {
    SHARED.iter().for_each(|more| holds(name, 16, more, sets));
}

#[test]
fn random_sets_are_shared_as_the_solver_says() {
    let set = |spread: u64| (1..=3).map(move |seed| random(300, 16, spread, seed));
    on_all_machines("random", &SPREADS.into_iter().flat_map(set).collect::<Vec<_>>());
}

#[test]
fn halos_are_shared_as_the_solver_says() {
    let near = |node: u32| {
        let (x, y) = (node / 4, node % 4);
        vec![(x + 1) % 4 * 4 + y, (x + 3) % 4 * 4 + y, x * 4 + (y + 1) % 4, x * 4 + (y + 3) % 4]
    };
    for bytes in [8 << 10, 64 << 10, 256 << 10] {
        let sets = SPREADS.map(|spread| around(16, 4, bytes, spread, near));
        on_all_machines(&format!("halo of {bytes} B"), &sets);
    }
}

#[test]
fn alltoalls_are_shared_as_the_solver_says() {
    let others = |node: u32| (0..16).filter(|other| *other != node).collect();
    on_all_machines("alltoall", &SPREADS.map(|spread| around(16, 1, 100_000, spread, others)));
}

#[test]
fn incasts_are_shared_as_the_solver_says() {
    // Half of the other nodes also send to other destinations.
    let into = |node: u32| match node {
        0 => vec![],
        1..8 => vec![0, node + 8],
        _ => vec![0],
    };
    on_all_machines("incast", &SPREADS.map(|spread| around(16, 4, 100_000, spread, into)));
}

#[test]
fn a_new_path_over_a_loaded_adapter_of_another_worker_is_shared_at_once() {
    // 60 transfers load the adapter of node 1, so one more changes their rate by less than the tolerance. Node 0 must
    // know this rate when its first transfer to node 1 starts, and must leave the rest of its adapter to its other one.
    let bytes = 200_000;
    let platform = machine(4, 61, &[]);
    for start in (50_000..52_000).step_by(100) {
        let mut transfers = vec![Transfer { from: 2, to: 1, start: 0, bytes }; 60];
        transfers.push(Transfer { from: 0, to: 3, start: 0, bytes: 10 * bytes });
        transfers.push(Transfer { from: 0, to: 1, start, bytes });
        let alone = simulated(&platform, &transfers, 1);
        assert_eq!(alone, simulated(&platform, &transfers, 4), "start at {start} ns");
    }
}

/// A copy between two cores of a node with two CMPs: cores of the sender and the receiver, numbered from 0.
#[derive(Clone, Copy, Debug)]
struct Copied {
    cores: [u32; 2],
    start: u64,
    bytes: u64,
}

/// Numbers of cores of a CMP, and of a domain with a memory of its own.
const CORES: [u32; 2] = [40, 10];

/// Returns a node without caches whose copies share memories of domains, CMPs and the node, and what is between CMPs.
fn node() -> Platform {
    let [cmp, domain] = CORES;
    let level = |name: &str, more: &str| {
        format!("platform.{name}={{contention=\"fair\",latency=\"500 ns\",bandwidth=\"8 GB/s\"{more}}}")
    };
    let settings = [
        format!("platform.nct=[1,2,{cmp}]"),
        level("intra_cmp", ""),
        level("inter_cmp", ",capacity=\"20 GB/s\""),
        format!("platform.places={{numa={{cores={domain},memory_bandwidth=\"30 GB/s\"}}}}"),
        "platform.cmp={memory_bandwidth=\"50 GB/s\",cache=\"1 MiB\",copy_traffic=3}".to_owned(),
        "platform.node={memory_bandwidth=\"80 GB/s\"}".to_owned(),
    ];
    let settings: Vec<Override> = settings.iter().map(|setting| Override::parse(setting).unwrap()).collect();
    let mut platform =
        Platform::load(Platform::default_document(), &settings).unwrap_or_else(|error| panic!("{error}"));
    platform.memory.as_mut().expect("the node states caches").cache = Bytes::ZERO;
    platform
}

/// Returns the arrival time in seconds of each copy in the engine.
fn copied(platform: &Platform, copies: &[Copied]) -> Vec<f64> {
    let site = |core: u32| Site { node: 0, cmp: core / CORES[0], core: core % CORES[0] };
    let sites = copies.iter().flat_map(|copy| copy.cores.map(site)).collect();
    let mut scripts = Vec::new();
    for copy in copies {
        let sender = scripts.len() as Rank;
        scripts.push(vec![Compute(copy.start), Send(sender + 1, copy.bytes)]);
        scripts.push(vec![Recv(sender)]);
    }
    let make = |rank: Rank| Script::new(rank, scripts[rank as usize].clone(), Log::default());
    let options = RunOptions { workers: Some(1), per_rank: true, ..RunOptions::default() };
    let outcome = Simulation::new(platform, sites, options, Labels::default()).run(make, &Progress::default()).unwrap();
    outcome.per_rank.iter().skip(1).step_by(2).map(|rank| rank.clock.as_seconds()).collect()
}

#[test]
fn copies_beyond_caches_share_memories_exactly_as_the_solver_says() {
    let [cmp, domain] = CORES;
    // Two CMPs, the node, each CMP outwards and inwards, and the domains of both CMPs.
    let domains = (2 * cmp / domain) as usize;
    let capacities = [[50e9, 50e9, 80e9].as_slice(), &[20e9; 4], &vec![30e9; domains]].concat();
    for seed in 1..=8 {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut cores: Vec<u32> = (0..2 * cmp).collect();
        (1..cores.len()).for_each(|last| cores.swap(last, random.random_range(0..=last)));
        let copies: Vec<Copied> = cores
            .chunks_exact(2)
            .map(|pair| Copied {
                cores: [pair[0], pair[1]],
                start: random.random_range(0..200_000),
                bytes: 10f64.powf(random.random_range(4.0..6.5)) as u64,
            })
            .collect();
        let flow = |copy: &Copied| {
            // Of each byte, the memory of the sender reads one, and that of the receiver reads one and writes one. A
            // resource that occurs twice has two bytes per byte of the flow.
            let [from, to] = copy.cores.map(|core| (core / cmp) as usize);
            let [near, far] = copy.cores.map(|core| 7 + (core / domain) as usize);
            let mut uses = vec![from, to, to, 2, 2, 2, near, far, far];
            if from != to {
                uses.extend([3 + from, 5 + to]);
            }
            Flow { start: copy.start as f64 * 1e-9 + 500e-9, bytes: copy.bytes as f64, pace: 8e9, uses }
        };
        let expected = ends(&capacities, &copies.iter().map(flow).collect::<Vec<_>>());
        for (found, expected) in copied(&node(), &copies).into_iter().zip(expected) {
            assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}, seed {seed}");
        }
    }
}

#[test]
fn the_solver_knows_what_is_known_by_hand() {
    let flow = |start: f64, bytes: f64, pace: f64, uses: &[usize]| Flow { start, bytes, pace, uses: uses.to_vec() };
    // Each flow has a rate of 1 byte per second while it is alone. While both flows exist, they share this rate.
    let two = [flow(0.0, 100.0, 9.0, &[0]), flow(50.0, 100.0, 9.0, &[0])];
    assert_eq!(ends(&[1.0], &two), [150.0, 200.0]);
    // One flow has a limited rate of its own, and the other flow gets the remaining bandwidth.
    let paced = [flow(0.0, 25.0, 0.25, &[0]), flow(0.0, 75.0, 9.0, &[0])];
    assert_eq!(ends(&[1.0], &paced), [100.0, 100.0]);
    // The flows form a chain: the middle flow shares a resource with each of the other two.
    let chain = [flow(0.0, 50.0, 9.0, &[0]), flow(0.0, 50.0, 9.0, &[0, 1]), flow(0.0, 150.0, 9.0, &[1])];
    assert_eq!(ends(&[1.0, 2.0], &chain), [100.0, 100.0, 100.0]);
}
