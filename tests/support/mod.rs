//! Tiny machines and scripted programs, from which expected times can be worked out by hand.
#![allow(dead_code)]

use std::sync::{Arc, Mutex};

use mcpsim::engine::{Labels, Outcome, Progress, RunError, RunOptions, Simulation};
use mcpsim::platform::{CollectiveRules, CoreRates, Level, Link, LoadLaw, Placement, Platform, Row, Shape};
use mcpsim::rank::{
    Call, Completion, Message, Pattern, Program, Rank, Reply, ReplyKind, RequestId, SendMode, Source, TagPattern,
};
use mcpsim::units::{Bandwidth, Bytes, Rate, SimSpan, SimTime};

/// Nanoseconds.
pub fn ns(count: u64) -> SimSpan {
    SimSpan::from_ns(count)
}

/// The instant `count` nanoseconds after the start.
pub fn at(count: u64) -> SimTime {
    SimTime::ZERO + ns(count)
}

/// A row for all sizes: 1 GB/s is 1 ns a byte.
pub fn row(latency: u64) -> Row {
    Row {
        above: Bytes::ZERO,
        up_to: Bytes::MAX,
        latency: ns(latency),
        bandwidth: Bandwidth::new(1_000_000_000).unwrap(),
        send_overhead: SimSpan::ZERO,
        recv_overhead: SimSpan::ZERO,
        gap: SimSpan::ZERO,
        columns: Vec::new(),
    }
}

/// A link with one row, everything eager.
pub fn link(law: LoadLaw, latency: u64) -> Link {
    Link::new(law, Bytes::MAX, ns(latency), vec![row(latency)])
}

/// A machine whose latencies are 10, 100 and 1000 ns, with 1 ns a byte everywhere.
pub fn machine(nct: [u32; 3], law: LoadLaw) -> Platform {
    Platform {
        name: "tiny".to_owned(),
        shape: Shape { nodes: nct[0], cmps: nct[1], cores: nct[2] },
        core: rates(),
        links: [link(law, 10), link(law, 100), link(law, 1000)],
        collectives: CollectiveRules::default(),
        baseline: Default::default(),
    }
}

/// 1 Gflop/s, 1 Ginstr/s, 1 GB/s of memory for a core, no other limit.
pub fn rates() -> CoreRates {
    let memory = Bandwidth::new(1_000_000_000).unwrap();
    let plenty = Bandwidth::new(1_000_000_000_000_000).unwrap();
    CoreRates {
        flops: Rate::new(1e9).unwrap(),
        instructions: Rate::new(1e9).unwrap(),
        memory,
        cmp_memory: plenty,
        node_memory: plenty,
        scale_factor: 1.0,
        slowdown: vec![1.0],
    }
}

/// Replaces the link of `level`.
pub fn with_link(mut platform: Platform, level: Level, link: Link) -> Platform {
    platform.links[level as usize] = link;
    platform
}

/// A line of a script.
#[derive(Clone, Debug)]
pub enum Do {
    Compute(u64),
    Send(Rank, u64),
    SendTag(Rank, u64, u32),
    SendMode(Rank, u64, SendMode),
    Recv(Rank),
    RecvTag(Rank, u32),
    RecvAny,
    RecvUpTo(Rank, u64),
    Isend(Rank, u64),
    Irecv(Rank),
    IrecvTag(Rank, u32),
    IrecvAny,
    Exchange(Rank, u64, Rank),
    /// Waits for all requests started since the last wait.
    WaitAll,
    /// Waits for one of them.
    WaitAny,
    /// Tests them all.
    Test,
    ProbeAny,
    IprobeAny,
    /// Starts a strand of its own lines.
    Start(Vec<Do>),
    /// Notes the clock.
    Clock,
}

/// What a script saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saw {
    /// The clock at a [`Do::Clock`].
    Clock(SimTime),
    /// The index, source and size of what completed.
    Got(u32, Rank, u64),
    /// A test or probe that found nothing.
    Nothing,
}

/// A program that follows a script.
pub struct Script {
    rank: Rank,
    lines: std::vec::IntoIter<Do>,
    requests: Vec<RequestId>,
    tested: bool,
    log: Arc<Mutex<Vec<(Rank, Saw)>>>,
}

fn message(to: Rank, size: u64, tag: u32, mode: SendMode) -> Message {
    Message { to, context: 0, tag, size: Bytes::new(size), mode, payload: None }
}

fn pattern(from: Option<Rank>, tag: Option<u32>) -> Pattern {
    Pattern {
        from: from.map_or(Source::Any, Source::Rank),
        context: 0,
        tag: tag.map_or(TagPattern::Any, TagPattern::Tag),
        capacity: Bytes::MAX,
    }
}

impl Program for Script {
    fn next(&mut self, reply: Reply<'_>) -> Call {
        match reply.kind {
            ReplyKind::Started(id) => self.requests.push(id),
            ReplyKind::Completed(completed) => {
                let mut log = self.log.lock().unwrap();
                if completed.is_empty() {
                    log.push((self.rank, Saw::Nothing));
                }
                let saw = |c: &Completion| Saw::Got(c.index, c.source, c.size.get());
                log.extend(completed.iter().map(|c| (self.rank, saw(c))));
                if self.tested && completed.len() == self.requests.len() {
                    self.requests.clear();
                }
            }
            ReplyKind::Begin | ReplyKind::Done => {}
        }
        self.tested = false;
        loop {
            let Some(line) = self.lines.next() else { return Call::Finish };
            return match line {
                Do::Compute(time) => Call::Compute(ns(time)),
                Do::Send(to, size) => Call::Send(message(to, size, 0, SendMode::Standard)),
                Do::SendTag(to, size, tag) => Call::Send(message(to, size, tag, SendMode::Standard)),
                Do::SendMode(to, size, mode) => Call::Send(message(to, size, 0, mode)),
                Do::Recv(from) => Call::Recv(pattern(Some(from), None)),
                Do::RecvTag(from, tag) => Call::Recv(pattern(Some(from), Some(tag))),
                Do::RecvAny => Call::Recv(pattern(None, None)),
                Do::RecvUpTo(from, size) => {
                    Call::Recv(Pattern { capacity: Bytes::new(size), ..pattern(Some(from), None) })
                }
                Do::Isend(to, size) => Call::Isend(message(to, size, 0, SendMode::Standard)),
                Do::Irecv(from) => Call::Irecv(pattern(Some(from), None)),
                Do::IrecvTag(from, tag) => Call::Irecv(pattern(Some(from), Some(tag))),
                Do::IrecvAny => Call::Irecv(pattern(None, None)),
                Do::Exchange(to, size, from) => {
                    Call::Exchange(message(to, size, 0, SendMode::Standard), pattern(Some(from), None))
                }
                Do::WaitAll => Call::WaitAll(self.requests.drain(..).collect()),
                Do::WaitAny => Call::WaitAny(self.requests.iter().copied().collect()),
                Do::Test => {
                    self.tested = true;
                    Call::Test { requests: self.requests.iter().copied().collect(), all: true }
                }
                Do::ProbeAny => Call::Probe(pattern(None, None)),
                Do::IprobeAny => Call::Iprobe(pattern(None, None)),
                Do::Start(lines) => Call::Start(Box::new(Script {
                    rank: self.rank,
                    lines: lines.into_iter(),
                    requests: Vec::new(),
                    tested: false,
                    log: self.log.clone(),
                })),
                Do::Clock => {
                    self.log.lock().unwrap().push((self.rank, Saw::Clock(reply.clock)));
                    continue;
                }
            };
        }
    }
}

/// Runs a script a rank, block-placed, by `workers` workers.
pub fn run_with(
    platform: &Platform,
    scripts: &[Vec<Do>],
    workers: u32,
) -> Result<(Outcome, Vec<(Rank, Saw)>), RunError> {
    let sites = Placement::Block.sites(platform.shape, scripts.len() as u32, false).unwrap();
    let options = RunOptions { workers: Some(workers), pairs: true, ..RunOptions::default() };
    let log = Arc::new(Mutex::new(Vec::new()));
    let make = |rank: Rank| Script {
        rank,
        lines: scripts[rank as usize].clone().into_iter(),
        requests: Vec::new(),
        tested: false,
        log: log.clone(),
    };
    let outcome = Simulation::new(platform, sites, options, Labels::default()).run(make, &Progress::default())?;
    let mut saw = log.lock().unwrap().clone();
    saw.sort_by_key(|(rank, _)| *rank);
    Ok((outcome, saw))
}

/// Runs a script a rank on one worker.
///
/// # Panics
/// If the run fails.
pub fn run(platform: &Platform, scripts: &[Vec<Do>]) -> (Outcome, Vec<(Rank, Saw)>) {
    run_with(platform, scripts, 1).expect("the scripts run to their end")
}

/// The ranks' clocks at the end, in nanoseconds.
pub fn clocks(platform: &Platform, scripts: &[Vec<Do>]) -> Vec<u64> {
    run(platform, scripts).0.per_rank.iter().map(|rank| rank.clock.as_ps() / 1000).collect()
}
