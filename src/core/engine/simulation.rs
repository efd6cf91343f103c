//! A run from its inputs to its [`Outcome`].

#[cfg(feature = "mpi")]
mod processes;
mod programs;
mod worker_setup;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::platform::{Platform, Site};
use crate::profile::{ContentionLevels, Intervals, LatencyTolerance, TaskAnalysis, TaskLog, TimeParts, WhatIf};
use crate::rank::{Mailboxes, Program, Rank};
use crate::units::{SimSpan, SimTime};

use super::activity::ActivityLimits;
use super::backtrack::{all_timelines, walk_back};
use super::error::{Deadlock, RunError};
use super::findings::Findings;
use super::outcome::{HostUse, IntervalMessages, LevelTotals, Outcome, PairMessages, RankTime};
use super::paths::path_parts;
use super::processes::{Processes, Screen};
use super::transport::{ExchangeBuffers, Transport};
use super::worker::WorkerEnd;
pub use programs::{PreparedRun, RankPrograms, RunResult};
use worker_setup::{WorkerSetup, in_threads};

/// Above this many ranks the Outcome lists each rank's time only when asked to.
const LISTED_RANKS: usize = 65_536;
/// From this many ranks on, two workers are faster than one (measured, see benches/README.md).
const RANKS_FOR_WORKERS: usize = 1024;
/// More workers than hosts have cores only cost: what they share grows with the square of their number.
const MOST_WORKERS: u32 = 1024;

/// Intervals of a timeline in all, if that leaves 16 a rank, and of one rank.
const MOST_INTERVALS: usize = 1 << 20;
const INTERVALS_A_RANK: usize = 4096;
/// Marks of the way back in all, if that leaves 16 a rank. One takes 40 bytes.
const MOST_MARKS: usize = 1 << 23;

/// The outstanding requests that a rank may have unless another limit is given; they take some 200 MB.
pub const MOST_REQUESTS: u32 = 1_000_000;

/// What a run is asked to do, besides the machine and the programs.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Host threads of a process; `None` takes as many as pay off. Never more than 1024 or than there are nodes with
    /// ranks.
    pub workers: Option<u32>,
    /// End the run when a clock passes this.
    pub max_time: Option<SimTime>,
    /// End the run after this many events.
    pub max_events: Option<u64>,
    /// End the run when a rank has more requests outstanding.
    pub max_requests: u32,
    /// Size intervals of the message profile.
    pub intervals: Intervals,
    /// Record messages between pairs of ranks.
    pub pairs: bool,
    /// List every rank's time in the Outcome even above 65,536 ranks.
    pub per_rank: bool,
    /// Record the way back along the path that determined the predicted time.
    pub critical_path: bool,
    /// Tell how much more latency the run bears.
    pub latency_tolerance: bool,
    /// Record what ranks did over virtual time.
    pub timeline: bool,
    /// Brings the data of programs that run ahead, where they do.
    pub mailboxes: Option<Arc<Mailboxes>>,
    /// Programs may be made and run again from the start, as a trial of several workers may ask for. Where they may
    /// not, one worker is taken if their number is left open.
    pub restartable: bool,
    /// A clock of the host, ns, by which workers say what they did with their time.
    pub host_clock: Option<fn() -> u64>,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            workers: None,
            max_time: None,
            max_events: None,
            max_requests: MOST_REQUESTS,
            intervals: Intervals::default(),
            pairs: false,
            per_rank: false,
            critical_path: false,
            latency_tolerance: false,
            timeline: false,
            mailboxes: None,
            restartable: true,
            host_clock: None,
        }
    }
}

impl RunOptions {
    /// What is recorded of each of so many ranks.
    pub(super) fn recording(&self, ranks: usize) -> ActivityLimits {
        let share = |all: usize, least: usize, most: usize| (all / ranks.max(1)).clamp(least, most);
        ActivityLimits {
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
    /// Messages delivered by this process and by others.
    here: AtomicU64,
    elsewhere: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// The virtual time reached by the run.
    pub fn time(&self) -> SimTime {
        SimTime::from_ps(self.time.load(Ordering::Relaxed))
    }

    /// Messages delivered so far, in all processes.
    pub fn messages(&self) -> u64 {
        self.here.load(Ordering::Relaxed) + self.elsewhere.load(Ordering::Relaxed)
    }

    /// Messages that this process has delivered.
    #[cfg(feature = "mpi")]
    pub(super) fn delivered_here(&self) -> u64 {
        self.here.load(Ordering::Relaxed)
    }

    /// The other processes have delivered so many messages by now.
    #[cfg(feature = "mpi")]
    pub(super) fn report_elsewhere(&self, delivered: u64) {
        self.elsewhere.store(delivered, Ordering::Relaxed);
    }

    /// A worker has reached `time` and delivered so many messages more.
    pub(super) fn report(&self, time: SimTime, delivered: u64) {
        self.time.store(time.as_ps(), Ordering::Relaxed);
        self.here.fetch_add(delivered, Ordering::Relaxed);
    }

    /// The run begins again.
    pub(super) fn reset(&self) {
        self.time.store(0, Ordering::Relaxed);
        self.here.store(0, Ordering::Relaxed);
        self.elsewhere.store(0, Ordering::Relaxed);
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

    /// Where the ranks are.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// How many workers the run will have, if they pay off: what was asked for, but never more than 1024 or than there
    /// are nodes, and only one on a platform without inter-node latency, which leaves no lookahead.
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
    /// Where the number of workers is left open, several begin; if their windows turn out to be too small to pay off,
    /// the run begins again with one, and `make` is called again, unless the programs are not restartable.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn run<P: Program>(&self, make: impl Fn(Rank) -> P + Sync, progress: &Progress) -> Result<Outcome, RunError> {
        let workers = self.workers();
        let trial = workers > 1 && self.options.workers.is_none() && self.options.restartable;
        let (findings, workers) = match self.attempt(&make, workers, trial, progress) {
            (Findings { end: WorkerEnd::TooSmall, .. }, _) => {
                progress.reset();
                self.attempt(&make, 1, false, progress)
            }
            found => found,
        };
        self.conclude(findings, HostUse { workers, processes: 1, ..HostUse::default() })
    }

    /// As [`Simulation::run`], in all of these processes: each has the programs of its own nodes. The first process
    /// gets what the run gave, the others nothing. Each has one worker, or as many as were asked for.
    pub fn run_in<P: Program>(
        &self,
        processes: &Processes,
        screen: &dyn Screen,
        make: impl Fn(Rank) -> P + Sync,
        progress: &Progress,
    ) -> Option<Result<Outcome, RunError>> {
        #[cfg(feature = "mpi")]
        if processes.count() > 1 {
            return self.run_several(processes, screen, &make, progress);
        }
        let _ = (processes, screen);
        Some(self.run(make, progress))
    }

    /// Runs with at most so many workers: what they found, and how many there were.
    fn attempt<P: Program>(
        &self,
        make: &(impl Fn(Rank) -> P + Sync),
        workers: u32,
        trial: bool,
        progress: &Progress,
    ) -> (Findings, u32) {
        let crew = WorkerSetup::new(self, workers);
        let workers = crew.partition.workers();
        let work = |me, transport: Transport<'_>| crew.work(self, me, transport, make, trial, progress);
        if workers == 1 {
            return (work(0, Transport::Solo), 1);
        }
        let buffers = ExchangeBuffers::new(workers, workers, self.options.host_clock);
        (Findings::merge(in_threads(workers, |me| work(me, Transport::Threads(buffers.transport(me))))), workers)
    }

    fn conclude(&self, findings: Findings, host: HostUse) -> Result<Outcome, RunError> {
        if let Some((_, error)) = findings.failure {
            return Err(error);
        }
        if findings.cancelled && findings.end == WorkerEnd::Stopped {
            return Err(RunError::Interrupted { clock: findings.reached });
        }
        if !findings.waiting.is_empty() {
            let finished = self.sites.len() as u32 - findings.waiting.len() as u32;
            return Err(RunError::Deadlock(Deadlock { waiting: findings.waiting, finished, unfinalised: Vec::new() }));
        }
        let Findings {
            mut times,
            last,
            charges,
            uses,
            passed,
            timelines,
            logs,
            messages,
            pairs,
            collectives,
            unreceived,
            unwaited,
            copies,
            blocks,
            mut host_times,
            tasks: mut task_logs,
            timers,
            ..
        } = findings;
        task_logs.sort_unstable_by_key(|log| log.process);
        host_times.sort_unstable_by_key(|time| time.worker);
        times.sort_unstable_by_key(|&(rank, _, _)| rank);
        let predicted = times.iter().map(|&(_, clock, _)| clock).max().unwrap_or(SimTime::ZERO);
        let mean = mean_parts(&times);
        let row = |&(rank, clock, parts): &(Rank, SimTime, TimeParts)| {
            let Site { node, cmp, core } = self.sites[rank as usize];
            RankTime { rank, node, cmp, core, clock, parts }
        };
        // Threads that execute fragments compute beside their rank.
        let computing = TimeParts { compute: mean.compute + TaskLog::mean_of_threads(&task_logs), ..mean };
        let path = path_parts(last, &computing);
        let contention = charges.map(|charges| ContentionLevels::new(&path, |level, by| charges.of(level, by)));
        let smallest = |level| self.platform.link(level).rows()[0].latency;
        let tolerance = self.options.latency_tolerance.then(|| LatencyTolerance::all(&path, predicted, smallest));
        let critical_path = last.filter(|_| self.options.critical_path);
        let critical_path = critical_path.map(|(clock, rank, _)| walk_back(&logs, rank, clock));
        let (timelines, places) = all_timelines(timelines);
        let listed = self.options.per_rank || times.len() <= LISTED_RANKS;
        let shape = self.platform.shape;
        Ok(Outcome {
            mcpsim: env!("CARGO_PKG_VERSION").to_owned(),
            predicted,
            mistakes: Vec::new(),
            predicted_s: predicted.as_seconds(),
            nct: [shape.nodes, shape.cmps, shape.cores],
            threads: self.platform.core.threads.count(),
            ranks: times.len() as u32,
            app: self.labels.app.clone(),
            platform: self.platform.name.clone(),
            model: self.labels.model.clone(),
            seed: self.labels.seed,
            messages: messages.total().into(),
            unreceived: unreceived.count,
            first_unreceived: unreceived.into_first(),
            unwaited: unwaited.into_rows(),
            levels: LevelTotals::from(&messages),
            profile: IntervalMessages::rows(&messages),
            mean_parts: mean,
            collectives: collectives.rows(times.len() as u64),
            other_algorithms: None,
            path,
            what_if: WhatIf::all(&path, contention.as_ref(), |level| self.platform.link(level).law()),
            contention,
            shares_changed: passed.changed(|level| self.platform.link(level).law()),
            utilisation: uses.map(|uses| uses.rows(predicted)).unwrap_or_default(),
            critical_path,
            efficiencies: None,
            latency_tolerance: tolerance,
            functions: None,
            sites: None,
            kinds: None,
            sizes: None,
            sent: BTreeMap::new(),
            tasks: TaskAnalysis::of_run(&task_logs),
            task_logs,
            timers,
            results: Vec::new(),
            program: None,
            timelines,
            places,
            per_rank: if listed { times.iter().map(row).collect() } else { Vec::new() },
            pairs: pairs.map(|pairs| pairs.sorted().into_iter().map(PairMessages::from).collect()),
            copies,
            blocks: Some(blocks).filter(|blocks| blocks.count > 0),
            unread_keys: self.platform.unread.clone(),
            repeats: None,
            config: self.labels.config.clone(),
            host: HostUse { profile: host_times, ..host },
        })
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
