//! Throughput with the contention model `fair` compared with `share`, on the built-in machine with 16 ranks per node.
//!
//! `cargo bench --bench fair [-- FILTER] [--workers W]` prints messages per second with both models, as the median of
//! three alternating runs each. Without FILTER it also prints the deviation of the `fair` model from a simple max-min
//! solver, for transfers of the same traffic between 64 nodes.

#[path = "../tests/support/maxmin.rs"]
mod maxmin;

use std::time::Instant;

use maxmin::{Transfer, ends, flows};
use mcpsim::config::Override;
use mcpsim::engine::{Labels, Progress, RunOptions, Simulation};
use mcpsim::platform::{Level, Placement, Platform, Shape, Site};
use mcpsim::rank::{
    Call, Describe, Message, Pattern, Program, Rank, Reply, ReplyKind, Requests, SendMode, Source, TagPattern,
};
use mcpsim::units::{Bytes, SimSpan};

#[global_allocator]
static ALLOCATOR: mcpsim::cli::ReportingAllocator = mcpsim::cli::ReportingAllocator;

fn platform(nodes: u32, law: &str) -> Platform {
    let cores = if nodes == 64 { 1 } else { 8 };
    let law = Override::parse(&format!("platform.inter_node.contention={law}")).expect("an override");
    let platform = Platform::load(Platform::default_document(), &[law]).expect("the built-in machine");
    platform.with_shape(Shape { nodes, cmps: if cores == 1 { 1 } else { 2 }, cores })
}

fn message(to: Rank, size: u64) -> Message {
    Message {
        to,
        context: 0,
        tag: 0,
        size: Bytes::new(size),
        mode: SendMode::Standard,
        payload: None,
        buffer: Default::default(),
    }
}

fn from(rank: Rank) -> Pattern {
    Pattern {
        from: Source::Rank(rank),
        context: 0,
        tag: TagPattern::Tag(0),
        capacity: Bytes::MAX,
        buffer: Default::default(),
    }
}

/// Returns a pseudo-random number below `end`, which depends only on the rank and the round.
fn noise(rank: Rank, round: u32, end: u64) -> u64 {
    let mut x = (u64::from(rank) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
        ^ u64::from(round).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    x ^= x >> 29;
    x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (x ^ x >> 32) % end
}

/// Rank that, in each round, computes for up to `skew`, posts receives from all `sources`, sends to all `targets`, and
/// waits.
struct Rounds {
    rank: Rank,
    sources: Vec<Rank>,
    targets: Vec<Rank>,
    bytes: u64,
    skew: SimSpan,
    rounds: u32,
    step: usize,
    requests: Requests,
}

impl Program for Rounds {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        if let ReplyKind::Started(id) = reply.kind {
            self.requests.push(id);
        }
        let step = self.step;
        self.step += 1;
        let (sources, targets) = (self.sources.len(), self.targets.len());
        match step {
            0 if self.rounds == 0 => Call::Finish,
            0 => Call::Compute(SimSpan::from_ps(noise(self.rank, self.rounds, self.skew.as_ps().max(1)))),
            _ if step <= sources => Call::Irecv(from(self.sources[step - 1])),
            _ if step <= sources + targets => Call::Isend(message(self.targets[step - 1 - sources], self.bytes)),
            _ => {
                self.step = 0;
                self.rounds -= 1;
                Call::Complete(std::mem::take(&mut self.requests))
            }
        }
    }
}

impl Describe for Rounds {}

/// Returns a rank that exchanges messages with six neighbours in a periodic cube.
fn halo(rank: Rank, side: u32, bytes: u64, skew: u64, rounds: u32) -> Rounds {
    let (x, y, z) = (rank % side, rank / side % side, rank / side / side);
    let at = |x: u32, y: u32, z: u32| (x % side) + (y % side) * side + (z % side) * side * side;
    let back = side - 1;
    let targets = vec![
        at(x + 1, y, z),
        at(x + back, y, z),
        at(x, y + 1, z),
        at(x, y + back, z),
        at(x, y, z + 1),
        at(x, y, z + back),
    ];
    let sources = targets.clone();
    Rounds { rank, sources, targets, bytes, skew: SimSpan::from_us(skew), rounds, step: 0, requests: Requests::new() }
}

fn linear(rank: Rank, ranks: u32, bytes: u64, skew: u64) -> Rounds {
    let targets: Vec<Rank> = (1..ranks).map(|by| (rank + by) % ranks).collect();
    let sources = (1..ranks).map(|by| (rank + ranks - by) % ranks).collect();
    Rounds {
        rank,
        sources,
        targets,
        bytes,
        skew: SimSpan::from_us(skew),
        rounds: 1,
        step: 0,
        requests: Requests::new(),
    }
}

fn incast(rank: Rank, senders: u32, rounds: u32) -> Rounds {
    let (sources, targets) = match rank {
        0 => ((1..=senders).map(|sender| sender * 16).collect(), Vec::new()),
        _ if rank.is_multiple_of(16) && rank / 16 <= senders => (Vec::new(), vec![0]),
        _ => (Vec::new(), Vec::new()),
    };
    let requests = Requests::new();
    Rounds { rank, sources, targets, bytes: 100_000, skew: SimSpan::from_us(20), rounds, step: 0, requests }
}

/// Rank that makes pairwise exchanges after a delayed start.
struct Pairwise {
    rank: Rank,
    size: u32,
    step: u32,
    bytes: u64,
}

impl Program for Pairwise {
    fn next(&mut self, _: Reply<'_>) -> Call {
        let distance = self.step;
        self.step += 1;
        if distance == 0 {
            return Call::Compute(SimSpan::from_ns(noise(self.rank, 0, 100_000)));
        }
        if distance >= self.size {
            return Call::Finish;
        }
        let to = (self.rank + distance) % self.size;
        Call::Exchange(message(to, self.bytes), from((self.rank + self.size - distance) % self.size))
    }
}

impl Describe for Pairwise {}

fn bench<P: Program>(name: &str, nodes: u32, make: impl Fn(Rank) -> P + Sync) {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let workers =
        args.iter().position(|arg| arg == "--workers").map_or(1, |at| args[at + 1].parse().expect("a number"));
    if args.first().is_some_and(|filter| !filter.starts_with('-') && !name.contains(filter.as_str())) {
        return;
    }
    let platforms = ["share", "fair"].map(|law| platform(nodes, law));
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..3 {
        for (platform, rates) in platforms.iter().zip(&mut rates) {
            let ranks = platform.shape.nodes * platform.shape.cmps * platform.shape.cores;
            let sites = Placement::Block.sites(platform.shape, ranks, false).expect("as many cores");
            let options = RunOptions { workers: Some(workers), ..RunOptions::default() };
            let simulation = Simulation::new(platform, sites, options, Labels::default());
            let start = Instant::now();
            let outcome = simulation.run(&make, &Progress::default()).expect("the benchmark runs");
            rates.push(outcome.messages.count as f64 / start.elapsed().as_secs_f64() / 1e6);
        }
    }
    let [share, fair] = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    });
    let ratio = fair / share;
    println!("{name:<44} {workers} worker(s)  share {share:6.2}  fair {fair:6.2} M msg/s  {ratio:5.2}");
}

/// Rank that sends one message after a delay of its own, or receives one message.
struct Once(Vec<Call>);

impl Program for Once {
    fn next(&mut self, _: Reply<'_>) -> Call {
        self.0.pop().unwrap_or(Call::Finish)
    }
}

impl Describe for Once {}

/// Prints the deviations of transfer durations from the solver's. Each transfer is between two ranks of its own, so
/// that transfers share only adapters.
fn errors(name: &str, nodes: u32, transfers: &[Transfer]) {
    let mut used = vec![0; nodes as usize];
    let mut site = |node: u32| {
        used[node as usize] += 1;
        Site { node, cmp: 0, core: used[node as usize] - 1 }
    };
    let sites: Vec<Site> = transfers.iter().flat_map(|of| [site(of.from), site(of.to)]).collect();
    let cores = *used.iter().max().expect("there are nodes");
    let platform = platform(64, "fair").with_shape(Shape { nodes, cmps: 1, cores });
    let make = |rank: Rank| {
        let Transfer { start, bytes, .. } = transfers[rank as usize / 2];
        let sends = vec![Call::Send(message(rank + 1, bytes)), Call::Compute(SimSpan::from_ns(start))];
        Once(if rank.is_multiple_of(2) { sends } else { vec![Call::Recv(from(rank - 1))] })
    };
    let options = RunOptions { workers: Some(1), per_rank: true, ..RunOptions::default() };
    let simulation = Simulation::new(&platform, sites, options, Labels::default());
    let outcome = simulation.run(make, &Progress::default()).expect("the transfers are made");

    let link = platform.link(Level::InterNode);
    let (capacities, flows) = flows(&platform, transfers);
    let expected = ends(&capacities, &flows);
    let row = |of: &Transfer| link.row(Bytes::new(of.bytes));
    let found = outcome.per_rank.iter().skip(1).step_by(2).zip(transfers);
    let found: Vec<f64> =
        found.map(|(rank, of)| rank.clock.as_seconds() - row(of).recv_overhead.as_seconds()).collect();
    let latency = link.rows().iter().map(|row| row.latency.as_seconds()).fold(1.0, f64::min);
    let sorted = |of: &dyn Fn(usize) -> f64| {
        let mut all: Vec<f64> = (0..transfers.len()).map(of).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let off = |at: usize| (found[at] - expected[at]).abs();
    let parts = sorted(&|at| {
        let left = flows[at].start - row(&transfers[at]).latency.as_seconds();
        100.0 * off(at) / (expected[at] - left)
    });
    let slots = sorted(&|at| off(at) / (latency / 2.0));
    let last = |ends: &[f64]| ends.iter().copied().fold(0.0, f64::max);
    let most = transfers.len() * 99 / 100;
    println!(
        "{name:<36} {:>5} transfers: off by {:.2} %, 99 of 100 by {:.2} % or {:.2} slots; the end of all by {:.2} %",
        parts.len(),
        parts.iter().sum::<f64>() / parts.len() as f64,
        parts[most],
        slots[most],
        100.0 * (last(&found) / last(&expected) - 1.0).abs(),
    );
}

/// Returns the messages of one round of a halo exchange between the first 64 nodes. The exchange has 4,096 ranks, 16
/// per node.
fn halo_transfers(skew: u64) -> Vec<Transfer> {
    let node = |rank: Rank| rank / 16;
    let of = |rank: Rank| {
        let start = noise(rank, 1, skew * 1000);
        let targets = halo(rank, 16, 8192, skew, 1).targets;
        targets.into_iter().map(move |to| Transfer { from: node(rank), to: node(to), start, bytes: 8192 })
    };
    (0..64 * 16).flat_map(of).filter(|of| of.from != of.to && of.to < 64).collect()
}

/// Returns one transfer from each of 64 nodes to each other node.
fn alltoall_transfers() -> Vec<Transfer> {
    let to = |from: u32| (1..64).map(move |by| (from, (from + by) % 64));
    let of = |(from, to)| Transfer { from, to, start: noise(from, 1, 20_000), bytes: 100_000 };
    (0..64).flat_map(to).map(of).collect()
}

fn main() {
    bench("halo, 4096 ranks, 8 KiB, skew 20 us", 256, |rank| halo(rank, 16, 8192, 20, 10));
    bench("halo, 4096 ranks, 8 KiB, skew 100 us", 256, |rank| halo(rank, 16, 8192, 100, 10));
    bench("halo, 4096 ranks, 8 B, skew 20 us", 256, |rank| halo(rank, 16, 8, 20, 20));
    bench("pairwise alltoall, 1024 ranks, 100 KB", 65, |rank| Pairwise {
        rank,
        size: if rank < 1024 { 1024 } else { 0 },
        step: 0,
        bytes: 100_000,
    });
    bench("linear alltoall, 256 ranks, 100 KB", 16, |rank| linear(rank, 256, 100_000, 20));
    bench("linear alltoall, 64 nodes, 100 KB", 64, |rank| linear(rank, 64, 100_000, 20));
    bench("incast of 1023", 1024, |rank| incast(rank, 1023, 3));
    bench("incast of 15", 16, |rank| incast(rank, 15, 200));
    let filter = std::env::args().skip(1).find(|arg| arg != "--bench");
    if filter.is_some_and(|filter| !filter.starts_with('-')) {
        return;
    }
    errors("halo, 8 KiB, skew 20 us, 64 nodes", 64, &halo_transfers(20));
    errors("halo, 8 KiB, skew 100 us, 64 nodes", 64, &halo_transfers(100));
    errors("linear alltoall, 64 nodes, 100 KB", 64, &alltoall_transfers());
    let incast = |from: u32| Transfer { from, to: 0, start: noise(from, 1, 20_000), bytes: 100_000 };
    errors("incast of 63, 100 KB", 64, &(1..64).map(incast).collect::<Vec<_>>());
}
