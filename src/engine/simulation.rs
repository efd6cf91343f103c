//! A run from its inputs to its [`Outcome`].

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::platform::{Partition, Platform, Site};
use crate::profile::{Intervals, MessageProfile, Pairs, TimeParts, Timeline, WhatIf};
use crate::rank::{Program, Rank};
use crate::units::{SimSpan, SimTime};

use super::desk::Desk;
use super::error::{Deadlock, RunError};
use super::event::EventKey;
use super::horizon::Horizon;
use super::network::Seat;
use super::outcome::{HostUse, IntervalMessages, LevelTotals, Outcome, PairMessages, RankTime};
use super::paths::{Path, path_parts};
use super::state::RankState;
use super::trail::Recording;
use super::transport::{Hub, Transport};
use super::walk::{Logs, trails, walk_back};
use super::worker::{End, Worker};

/// Above this many ranks the Outcome lists each rank's time only when asked to.
const LISTED_RANKS: usize = 65_536;
/// From this many ranks on, two workers are faster than one (measured, see benches/README.md).
const RANKS_FOR_WORKERS: usize = 1024;
/// Intervals of a timeline in all, if that leaves 16 a rank, and of one rank.
const MOST_INTERVALS: usize = 1 << 20;
const INTERVALS_A_RANK: usize = 4096;
/// Marks of the way back in all, if that leaves 16 a rank. One takes 40 bytes.
const MOST_MARKS: usize = 1 << 23;
/// More workers than hosts have cores only cost: what they share grows with the square of their number.
const MOST_WORKERS: u32 = 1024;

/// What a run is asked to do, besides the machine and the programs.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Host threads; `None` takes as many as pay off. Never more than 1024 or than there are nodes with ranks.
    pub workers: Option<u32>,
    /// End the run when a clock passes this.
    pub max_time: Option<SimTime>,
    /// End the run after this many events.
    pub max_events: Option<u64>,
    /// Size intervals of the message profile.
    pub intervals: Intervals,
    /// Record messages between pairs of ranks.
    pub pairs: bool,
    /// List every rank's time in the Outcome even above 65,536 ranks.
    pub per_rank: bool,
    /// Record the way back along the path that determined the predicted time.
    pub critical_path: bool,
    /// Record what ranks did over virtual time.
    pub timeline: bool,
    /// Programs may be made and run again from the start, as a trial of several workers may ask for. Where they may not, one
    /// worker is taken if their number is left open.
    pub restartable: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            workers: None,
            max_time: None,
            max_events: None,
            intervals: Intervals::default(),
            pairs: false,
            per_rank: false,
            critical_path: false,
            timeline: false,
            restartable: true,
        }
    }
}

impl RunOptions {
    /// What is recorded of each of so many ranks.
    pub(super) fn recording(&self, ranks: usize) -> Recording {
        let share = |all: usize, least: usize, most: usize| (all / ranks.max(1)).clamp(least, most);
        Recording {
            intervals: if self.timeline { share(MOST_INTERVALS, 16, INTERVALS_A_RANK) } else { 0 },
            marks: if self.critical_path { share(MOST_MARKS, 16, MOST_MARKS) } else { 0 },
        }
    }
}

/// What the Outcome says of its inputs.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// The application's name.
    pub app: String,
    /// `mcpsim` or `bigsim`.
    pub model: String,
    /// The seed of all random draws.
    pub seed: u64,
    /// Everything the run was given.
    pub config: serde_json::Value,
}

/// Seen and steered from another thread while a run goes on.
#[derive(Debug, Default)]
pub struct Progress {
    time: AtomicU64,
    messages: AtomicU64,
    events: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// The virtual time reached by the run.
    pub fn time(&self) -> SimTime {
        SimTime::from_ps(self.time.load(Ordering::Relaxed))
    }

    /// Messages delivered so far.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// A worker has reached `time` and delivered so many messages more.
    pub(super) fn report(&self, time: SimTime, delivered: u64) {
        self.time.store(time.as_ps(), Ordering::Relaxed);
        self.messages.fetch_add(delivered, Ordering::Relaxed);
    }

    /// A worker has handled so many events more: gives the number of all workers' events.
    pub(super) fn count_events(&self, handled: u64) -> u64 {
        self.events.fetch_add(handled, Ordering::Relaxed) + handled
    }

    /// The run begins again.
    pub(super) fn reset(&self) {
        self.time.store(0, Ordering::Relaxed);
        self.messages.store(0, Ordering::Relaxed);
        self.events.store(0, Ordering::Relaxed);
    }

    /// Whether the user has asked for the end.
    pub(super) fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Asks the run to end soon with [`RunError::Interrupted`].
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

/// A run: a machine, where the ranks are, and what is asked.
#[derive(Debug)]
pub struct Simulation<'a> {
    platform: &'a Platform,
    sites: Vec<Site>,
    options: RunOptions,
    labels: Labels,
}

impl<'a> Simulation<'a> {
    /// A run of as many ranks as there are `sites` on `platform`.
    pub fn new(platform: &'a Platform, sites: Vec<Site>, options: RunOptions, labels: Labels) -> Self {
        Simulation { platform, sites, options, labels }
    }

    /// How many workers the run will have, if they pay off: what was asked for, but never more than 1024 or than there are
    /// nodes, and only one on a platform without inter-node latency, which leaves no lookahead.
    pub fn workers(&self) -> u32 {
        if self.platform.lookahead() == SimSpan::ZERO {
            return 1;
        }
        let wanted = self.options.workers.unwrap_or_else(|| {
            let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
            if self.sites.len() < RANKS_FOR_WORKERS || !self.options.restartable { 1 } else { cores }
        });
        wanted.clamp(1, self.platform.shape.nodes.min(MOST_WORKERS))
    }

    /// Runs the programs that `make` gives, one a rank, to their end.
    ///
    /// Where the number of workers is left open, several begin; if their windows turn out to be too small to pay off, the run
    /// begins again with one, and `make` is called again, unless the programs are not restartable.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn run<P: Program>(&self, make: impl Fn(Rank) -> P + Sync, progress: &Progress) -> Result<Outcome, RunError> {
        let workers = self.workers();
        let trial = workers > 1 && self.options.workers.is_none() && self.options.restartable;
        let (findings, workers) = match self.attempt(&make, workers, trial, progress) {
            (Findings { end: End::TooSmall, .. }, _) => {
                progress.reset();
                self.attempt(&make, 1, false, progress)
            }
            found => found,
        };
        self.conclude(findings, workers, progress)
    }

    /// Runs with at most so many workers: what they found, and how many there were.
    fn attempt<P: Program>(
        &self,
        make: &(impl Fn(Rank) -> P + Sync),
        workers: u32,
        trial: bool,
        progress: &Progress,
    ) -> (Findings, u32) {
        let sites = occupied(&self.sites);
        let nodes = sites.iter().map(|site| site.node + 1).max().unwrap_or(1);
        let partition = Partition::new(nodes, &sites, workers);
        let workers = partition.workers();
        let (seats, owned) = seats(self.platform, &sites, &partition);
        drop(sites);
        let horizon = if workers == 1 { Horizon::unbounded() } else { Horizon::new(self.platform.lookahead()) };
        let work = |me: u32, mut transport: Transport<'_>| {
            let desk = Desk::new(self.platform, &seats, me, partition.nodes(me), workers, &self.options);
            let mut worker = Worker::new(desk, &owned[me as usize], make, self.options.max_events);
            let end = worker.work(&mut transport, horizon, trial, progress);
            Findings::of(worker, end)
        };
        if workers == 1 {
            return (work(0, Transport::Solo), 1);
        }
        let hub = Hub::new(workers);
        let findings = std::thread::scope(|scope| {
            let (hub, work) = (&hub, &work);
            let threads: Vec<_> =
                (1..workers).map(|me| scope.spawn(move || work(me, Transport::Threads(hub.transport(me))))).collect();
            let mut findings = vec![work(0, Transport::Threads(hub.transport(0)))];
            for thread in threads {
                findings.push(thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            findings
        });
        (Findings::merge(findings), workers)
    }

    fn conclude(&self, findings: Findings, workers: u32, progress: &Progress) -> Result<Outcome, RunError> {
        if let Some((_, error)) = findings.failure {
            return Err(error);
        }
        if progress.cancelled() && findings.end == End::Stopped {
            return Err(RunError::Interrupted { clock: findings.reached });
        }
        if !findings.waiting.is_empty() {
            let finished = self.sites.len() as u32 - findings.waiting.len() as u32;
            return Err(RunError::Deadlock(Deadlock { waiting: findings.waiting, finished }));
        }
        let Findings { mut times, last, mut timelines, logs, messages, pairs, unreceived, .. } = findings;
        times.sort_unstable_by_key(|&(rank, _, _)| rank);
        let predicted = times.iter().map(|&(_, clock, _)| clock).max().unwrap_or(SimTime::ZERO);
        let mean = mean_parts(&times);
        let row = |&(rank, clock, parts): &(Rank, SimTime, TimeParts)| {
            let Site { node, cmp, core } = self.sites[rank as usize];
            RankTime { rank, node, cmp, core, clock, parts }
        };
        let path = path_parts(last, &mean);
        let critical_path = last.filter(|_| self.options.critical_path);
        let critical_path = critical_path.map(|(clock, rank, _)| walk_back(&logs, rank, clock));
        timelines.sort_unstable_by_key(|&(rank, _)| rank);
        let listed = self.options.per_rank || times.len() <= LISTED_RANKS;
        let shape = self.platform.shape;
        Ok(Outcome {
            mcpsim: env!("CARGO_PKG_VERSION").to_owned(),
            predicted,
            predicted_s: predicted.as_seconds(),
            nct: [shape.nodes, shape.cmps, shape.cores],
            ranks: times.len() as u32,
            app: self.labels.app.clone(),
            platform: self.platform.name.clone(),
            model: self.labels.model.clone(),
            seed: self.labels.seed,
            messages: messages.total().into(),
            unreceived,
            levels: LevelTotals::from(&messages),
            profile: IntervalMessages::rows(&messages),
            mean_parts: mean,
            path,
            what_if: WhatIf::all(&path, |level| self.platform.link(level).law()),
            critical_path,
            timelines: timelines.into_iter().map(|(_, timeline)| timeline).collect(),
            per_rank: if listed { times.iter().map(row).collect() } else { Vec::new() },
            pairs: pairs.map(|pairs| pairs.sorted().into_iter().map(PairMessages::from).collect()),
            config: self.labels.config.clone(),
            host: HostUse { workers, processes: 1, ..HostUse::default() },
        })
    }
}

/// The same sites with only those nodes counted that have ranks: the others take no part in a run, and no room.
fn occupied(sites: &[Site]) -> Vec<Site> {
    let mut nodes: Vec<u32> = sites.iter().map(|site| site.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let number = |node: u32| nodes.partition_point(|&other| other < node) as u32;
    sites.iter().map(|&site| Site { node: number(site.node), ..site }).collect()
}

/// Each rank's seat, and each worker's ranks in increasing order with the number of ranks on their core.
fn seats(platform: &Platform, sites: &[Site], partition: &Partition) -> (Vec<Seat>, Vec<Vec<(Rank, u32)>>) {
    let mut owned = vec![Vec::new(); partition.workers() as usize];
    let shared = shared_cores(platform, sites);
    let seats = (0..)
        .zip(sites)
        .map(|(rank, site)| {
            let worker = partition.owner(site.node);
            let ranks: &mut Vec<(Rank, u32)> = &mut owned[worker as usize];
            ranks.push((rank, shared.get(site).copied().unwrap_or(1)));
            Seat {
                node: site.node,
                cmp: site.node * platform.shape.cmps + site.cmp,
                worker,
                local: ranks.len() as u32 - 1,
            }
        })
        .collect();
    (seats, owned)
}

/// The number of ranks on each core that has several.
fn shared_cores(platform: &Platform, sites: &[Site]) -> HashMap<Site, u32> {
    if sites.windows(2).all(|pair| pair[0] < pair[1]) && sites.len() as u64 <= platform.shape.total_cores() {
        return HashMap::new();
    }
    let mut ranks = HashMap::new();
    sites.iter().for_each(|site| *ranks.entry(*site).or_insert(0) += 1);
    ranks
}

/// What workers found, one's or all's.
struct Findings {
    failure: Option<(EventKey, RunError)>,
    end: End,
    reached: SimTime,
    times: Vec<(Rank, SimTime, TimeParts)>,
    /// The rank with the greatest clock, the lowest of equals, and its path.
    last: Option<(SimTime, Rank, Path)>,
    /// What ranks did over time, and the way back; where these were recorded.
    timelines: Vec<(Rank, Timeline)>,
    logs: Vec<Logs>,
    messages: MessageProfile,
    pairs: Option<Pairs>,
    unreceived: u64,
    waiting: Vec<super::error::Waiting>,
}

impl Findings {
    fn of<P: Program>(worker: Worker<'_, P>, end: End) -> Self {
        let waiting = if end == End::Quiet && worker.desk.unfinished > 0 { worker.waiting() } else { Vec::new() };
        let Worker { mut ranks, desk, .. } = worker;
        let (timelines, logs) = trails(&mut ranks, &desk);
        let last = ranks.iter().max_by_key(|state| (state.shared.main.clock, Reverse(state.shared.rank)));
        let last =
            last.map(|RankState { shared, .. }| (shared.main.clock, shared.rank, *desk.paths.get(shared.main.path)));
        Findings {
            failure: desk.failure,
            end,
            reached: desk.now.time,
            times: ranks.iter().map(|state| (state.shared.rank, state.shared.main.clock, state.shared.parts)).collect(),
            last,
            timelines,
            logs,
            messages: desk.messages,
            pairs: desk.pairs,
            unreceived: ranks.iter().map(|state| state.shared.matcher.unexpected() as u64).sum(),
            waiting,
        }
    }

    /// Of several failures the one at the earliest event counts.
    fn merge(findings: Vec<Findings>) -> Findings {
        let mut all = findings.into_iter();
        let mut merged = all.next().expect("there is a worker");
        for other in all {
            merged.failure = match (merged.failure, other.failure) {
                (Some(a), Some(b)) => Some(if b.0 < a.0 { b } else { a }),
                (a, b) => a.or(b),
            };
            merged.reached = merged.reached.max(other.reached);
            merged.times.extend(other.times);
            merged.timelines.extend(other.timelines);
            merged.logs.extend(other.logs);
            let order = |&(clock, rank, _): &(SimTime, Rank, Path)| (clock, Reverse(rank));
            merged.last = merged.last.into_iter().chain(other.last).max_by_key(order);
            merged.messages.merge(&other.messages);
            if let (Some(mine), Some(theirs)) = (&mut merged.pairs, other.pairs) {
                mine.merge(theirs);
            }
            merged.unreceived += other.unreceived;
            merged.waiting.extend(other.waiting);
        }
        merged.waiting.sort_unstable_by_key(|waiting| waiting.rank);
        merged
    }
}

/// The mean of every part over the ranks, rounded down.
fn mean_parts(times: &[(Rank, SimTime, TimeParts)]) -> TimeParts {
    let mean = |part: fn(&TimeParts) -> SimSpan| {
        let sum: u128 = times.iter().map(|(_, _, parts)| u128::from(part(parts).as_ps())).sum();
        SimSpan::from_ps((sum / times.len().max(1) as u128) as u64)
    };
    TimeParts {
        compute: mean(|parts| parts.compute),
        send: mean(|parts| parts.send),
        recv: mean(|parts| parts.recv),
        wait: mean(|parts| parts.wait),
        collective: mean(|parts| parts.collective),
    }
}
