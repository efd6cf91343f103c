//! Throughput of the engine without applications: rank programs are small state machines, so the cost is that of
//! matching, events and ports.
//!
//! `cargo bench --bench engine [-- FILTER] [--workers W]` prints messages per second, as the median of five runs.

use std::time::Instant;

use mcpsim::engine::{Labels, Progress, RunOptions, Simulation};
use mcpsim::platform::{Contention, CoreRates, Link, Placement, Platform, Row};
use mcpsim::rank::{
    Call, Describe, Message, Pattern, Program, Rank, Reply, ReplyKind, Requests, SendMode, Source, TagPattern,
};
use mcpsim::units::{Bytes, Rate, SimSpan};
use test_support::{gigabytes, ns, rates};

#[global_allocator]
static ALLOCATOR: mcpsim::cli::ReportingAllocator = mcpsim::cli::ReportingAllocator;

fn platform(nct: [u32; 3]) -> Platform {
    let link = |latency: u64, gbs: u64, overhead: u64| {
        let row = Row {
            latency: ns(latency),
            bandwidth: gigabytes(gbs),
            send_overhead: ns(overhead),
            recv_overhead: ns(overhead),
            ..Row::default()
        };
        Link::new(Contention::Share, Bytes::new(65536), ns(latency), vec![row])
    };
    let core = CoreRates {
        flops: Rate::new(1e10).unwrap(),
        instructions: Rate::new(3e9).unwrap(),
        memory: gigabytes(10),
        cmp_memory: gigabytes(10),
        node_memory: gigabytes(10),
        ..rates()
    };
    test_support::platform(nct, core, [link(300, 8, 100), link(600, 5, 100), link(1500, 12, 200)])
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

/// Rank that exchanges messages with six neighbours in a periodic cube: all at once, followed by a wait.
struct Halo {
    neighbours: [Rank; 6],
    turns: u32,
    step: u8,
    requests: Requests,
}

impl Halo {
    fn new(rank: Rank, side: u32, turns: u32) -> Self {
        let (x, y, z) = (rank % side, rank / side % side, rank / side / side);
        let at = |x: u32, y: u32, z: u32| (x % side) + (y % side) * side + (z % side) * side * side;
        let back = side - 1;
        let neighbours = [
            at(x + 1, y, z),
            at(x + back, y, z),
            at(x, y + 1, z),
            at(x, y + back, z),
            at(x, y, z + 1),
            at(x, y, z + back),
        ];
        Halo { neighbours, turns, step: 0, requests: Requests::new() }
    }
}

impl Program for Halo {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        if let ReplyKind::Started(id) = reply.kind {
            self.requests.push(id);
        }
        let step = self.step;
        self.step += 1;
        match step {
            0 if self.turns == 0 => Call::Finish,
            0..=5 => Call::Irecv(from(self.neighbours[step as usize])),
            6..=11 => Call::Isend(message(self.neighbours[step as usize - 6], 8192)),
            12 => Call::Complete(std::mem::take(&mut self.requests)),
            _ => {
                self.step = 0;
                self.turns -= 1;
                Call::Compute(SimSpan::from_us(10))
            }
        }
    }
}

impl Describe for Halo {}

/// Rank in a ring that passes on a single token, or one token per rank.
struct Ring {
    rank: Rank,
    size: u32,
    turns: u32,
    all: bool,
    step: u8,
}

impl Program for Ring {
    fn next(&mut self, _: Reply<'_>) -> Call {
        let right = (self.rank + 1) % self.size;
        let left = (self.rank + self.size - 1) % self.size;
        let sends_first = self.all || self.rank == 0;
        self.step += 1;
        if self.step > 2 {
            self.step = 1;
            self.turns -= 1;
        }
        if self.turns == 0 {
            return Call::Finish;
        }
        if (self.step == 1) == sends_first { Call::Send(message(right, 8)) } else { Call::Recv(from(left)) }
    }
}

impl Describe for Ring {}

/// Rank that makes pairwise exchanges: log2 p for a dissemination barrier, or p − 1 for an alltoall.
struct Exchanges {
    rank: Rank,
    size: u32,
    step: u32,
    doubling: bool,
    bytes: u64,
}

impl Program for Exchanges {
    fn next(&mut self, _: Reply<'_>) -> Call {
        let distance = if self.doubling { 1 << self.step } else { self.step + 1 };
        if distance >= self.size {
            return Call::Finish;
        }
        self.step += 1;
        let to = (self.rank + distance) % self.size;
        Call::Exchange(message(to, self.bytes), from((self.rank + self.size - distance) % self.size))
    }
}

impl Describe for Exchanges {}

fn bench<P: Program>(name: &str, nct: [u32; 3], workers: u32, make: impl Fn(Rank) -> P + Sync) {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let wanted = args.iter().position(|arg| arg == "--workers").map(|at| args[at + 1].clone());
    if wanted.is_some_and(|wanted| wanted != workers.to_string())
        || args.first().is_some_and(|filter| !filter.starts_with('-') && !name.contains(filter))
    {
        return;
    }
    let platform = platform(nct);
    let ranks = nct.iter().product();
    let runs = if ranks > 100_000 { 1 } else { 5 };
    let mut rates: Vec<f64> = (0..runs)
        .map(|_| {
            let sites = Placement::Block.sites(platform.shape, ranks, false).unwrap();
            let options = RunOptions { workers: Some(workers), ..RunOptions::default() };
            let simulation = Simulation::new(&platform, sites, options, Labels::default());
            let start = Instant::now();
            let outcome = simulation.run(&make, &Progress::default()).expect("the benchmark runs");
            outcome.messages.count as f64 / start.elapsed().as_secs_f64() / 1e6
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    println!("{name:<40} {workers} worker(s)  {:8.2} M msg/s", rates[rates.len() / 2]);
}

fn main() {
    for workers in [1, 2] {
        bench("ring, one token, 1024 ranks", [64, 2, 8], workers, |rank| Ring {
            rank,
            size: 1024,
            turns: 500,
            all: false,
            step: 0,
        });
        bench("ring, all at once, 1024 ranks", [64, 2, 8], workers, |rank| Ring {
            rank,
            size: 1024,
            turns: 1000,
            all: true,
            step: 0,
        });
        bench("halo, 64 ranks", [4, 2, 8], workers, |rank| Halo::new(rank, 4, 4000));
        bench("halo, 4096 ranks", [256, 2, 8], workers, |rank| Halo::new(rank, 16, 80));
        bench("alltoall, 1 KB, 1024 ranks", [64, 2, 8], workers, |rank| Exchanges {
            rank,
            size: 1024,
            step: 0,
            doubling: false,
            bytes: 1024,
        });
        bench("barrier, 1048576 ranks", [65536, 2, 8], workers, |rank| Exchanges {
            rank,
            size: 1 << 20,
            step: 0,
            doubling: true,
            bytes: 0,
        });
    }
}
