//! Execution of a run, from its inputs to its [`Outcome`].

mod job_outcomes;
mod processes;
mod programs;
mod worker_setup;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use mcpsim_base::platform::{Platform, Site};
use mcpsim_base::profile::{
    CodeTimes, HostNoise, HybridEfficiencies, Intervals, LatencyTolerance, LoadOverTime, NetworkUse, PathParts,
    TaskAnalysis, TaskLog, TimeParts, Timeline, Uses,
};
use mcpsim_base::rank::{Mailboxes, Program, Rank};
use mcpsim_base::units::{SimSpan, SimTime};

use super::activity::ActivityLimits;
use super::backtrack::{all_timelines, walk_back};
use super::error::{Deadlock, RunError};
use super::findings::Findings;
use super::jobs::JobRanks;
use super::outcome::{HostUse, IntervalMessages, LevelTotals, Outcome, PairMessages};
use super::paths::Path;
use super::place_messages;
use super::processes::{Processes, Screen};
use super::rank_times::{RankTime, with_all_ranks};
use super::transport::{ExchangeBuffers, Transport};
use super::worker::WorkerEnd;
pub use programs::{PreparedRun, RankPrograms, RunResult};
use worker_setup::{WorkerSetup, in_threads};

/// Greatest number of ranks for which the Outcome always lists each rank's time.
const LISTED_RANKS: usize = 65_536;
/// Number of ranks from which two workers are faster than one (measured, see benches/README.md).
const RANKS_FOR_WORKERS: usize = 1024;
/// Greatest number of workers of a run. More workers than host cores only cost time, because the data that workers
/// share grow with the square of the number of workers.
const MOST_WORKERS: u32 = 1024;

/// Total number of timeline intervals, if this total leaves 16 intervals per rank; also the maximum per rank.
const MOST_INTERVALS: usize = 1 << 20;
const INTERVALS_A_RANK: usize = 4096;
/// Total number of marks for backtracking, if this total leaves 16 marks per rank. A mark takes 40 bytes of host
/// memory.
const MOST_MARKS: usize = 1 << 23;

/// Default limit of outstanding requests per rank; this number of requests takes about 200 MB of host memory.
pub const MOST_REQUESTS: u32 = 1_000_000;

/// Options of a run other than the machine and the programs.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Number of workers (host threads) per host process; `None` lets mcpsim choose the number. The number of workers
    /// is at most 1024 and at most the number of nodes with ranks.
    pub workers: Option<u32>,
    /// Limit of the clock of each rank; the run ends with an error when a clock passes the limit.
    pub max_time: Option<SimTime>,
    /// Number of events after which the run ends with an error.
    pub max_events: Option<u64>,
    /// Number of outstanding requests per rank above which the run ends with an error.
    pub max_requests: u32,
    /// Size intervals of the message profile.
    pub intervals: Intervals,
    /// Whether the Outcome has the messages between each pair of ranks.
    pub pairs: bool,
    /// Whether the Outcome lists each rank's time even above 65,536 ranks.
    pub per_rank: bool,
    /// Whether the run records marks for backtracking along the path that determined the predicted time.
    pub critical_path: bool,
    /// Whether the run computes the tolerance of additional network latency.
    pub latency_tolerance: bool,
    /// Whether the run records the activity of ranks over virtual time.
    pub timeline: bool,
    /// Whether the run records the load of resources over virtual time.
    pub load_over_time: bool,
    /// Number of cores of each rank, on which its threads compute.
    pub cores_per_rank: u32,
    /// Mailboxes with message data of programs that run ahead of virtual time, if any do.
    pub mailboxes: Option<Arc<Mailboxes>>,
    /// Whether the programs may be created again and run from the start, which a trial of several workers needs. If
    /// `restartable` is false, and the number of workers is not given, the run has one worker.
    pub restartable: bool,
    /// Host clock in nanoseconds, for the host time of workers by activity.
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
            load_over_time: false,
            cores_per_rank: 1,
            mailboxes: None,
            restartable: true,
            host_clock: None,
        }
    }
}

impl RunOptions {
    /// Returns the limits of the recorded activity of each rank, for a run of `ranks` ranks.
    pub(super) fn recording(&self, ranks: usize) -> ActivityLimits {
        let share = |all: usize, least: usize, most: usize| (all / ranks.max(1)).clamp(least, most);
        ActivityLimits {
            intervals: if self.timeline || self.load_over_time {
                share(MOST_INTERVALS, 16, INTERVALS_A_RANK)
            } else {
                0
            },
            marks: if self.critical_path { share(MOST_MARKS, 16, MOST_MARKS) } else { 0 },
        }
    }
}

/// Descriptions of the inputs of a run, for the Outcome.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// Name of the application.
    pub app: String,
    /// Model of the machine: `mcpsim`, `two-level` or a textbook model.
    pub model: String,
    /// Seed of all random draws.
    pub seed: u64,
    /// Complete configuration of the run.
    pub config: serde_json::Value,
}

/// Progress of a run, by which another host thread observes and cancels the run.
#[derive(Debug, Default)]
pub struct Progress {
    time: AtomicU64,
    /// Number of messages that this host process has delivered, and number that the other host processes have
    /// delivered.
    here: AtomicU64,
    elsewhere: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// Returns the virtual time that the run has reached.
    pub fn time(&self) -> SimTime {
        SimTime::from_ps(self.time.load(Ordering::Relaxed))
    }

    /// Returns the number of messages delivered so far in all host processes.
    pub fn messages(&self) -> u64 {
        self.here.load(Ordering::Relaxed) + self.elsewhere.load(Ordering::Relaxed)
    }

    /// Returns the number of messages delivered by this host process.
    pub(super) fn delivered_here(&self) -> u64 {
        self.here.load(Ordering::Relaxed)
    }

    /// Sets the number of messages delivered by the other host processes.
    pub(super) fn report_elsewhere(&self, delivered: u64) {
        self.elsewhere.store(delivered, Ordering::Relaxed);
    }

    /// Records that a worker has reached the virtual time `time` and has delivered `delivered` further messages.
    pub(super) fn report(&self, time: SimTime, delivered: u64) {
        self.time.store(time.as_ps(), Ordering::Relaxed);
        self.here.fetch_add(delivered, Ordering::Relaxed);
    }

    /// Resets the progress for a restart of the run.
    pub(super) fn reset(&self) {
        self.time.store(0, Ordering::Relaxed);
        self.here.store(0, Ordering::Relaxed);
        self.elsewhere.store(0, Ordering::Relaxed);
    }

    /// Returns whether the user has interrupted the run.
    pub(super) fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Ends the run soon, with [`RunError::Interrupted`].
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

/// A simulation: the machine, the core of each rank, and the options.
#[derive(Debug)]
pub struct Simulation<'a> {
    platform: &'a Platform,
    sites: Vec<Site>,
    jobs: Vec<JobRanks>,
    options: RunOptions,
    labels: Labels,
}

impl<'a> Simulation<'a> {
    /// Creates a simulation of `platform` with one rank on each core in `sites`.
    pub fn new(platform: &'a Platform, sites: Vec<Site>, options: RunOptions, labels: Labels) -> Self {
        Simulation { platform, sites, jobs: Vec::new(), options, labels }
    }

    /// Divides the ranks of the simulation among `jobs`, in the order of ranks. Each rank belongs to one job.
    #[must_use]
    pub fn with_jobs(self, jobs: Vec<JobRanks>) -> Self {
        Simulation { jobs, ..self }
    }

    /// Returns the core of each rank.
    pub fn sites(&self) -> &[Site] {
        &self.sites
    }

    /// Returns the number of workers with which the run begins: the requested number, at most 1024 and at most the
    /// number of nodes. The number of workers is 1 on a platform without inter-node latency, because without it workers
    /// have no lookahead.
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

    /// Runs the programs that `make` creates, one per rank, to their end.
    ///
    /// If the number of workers is not given, the run begins with several workers. If the windows of virtual time are
    /// too small for several workers to be efficient, the run restarts with one worker, and `make` is called again. A
    /// restart requires programs that may be created again.
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

    /// Executes [`Simulation::run`] in all host processes; each host process has the programs of its own nodes. The
    /// first host process gets the result, and the other host processes get `None`. Each host process has one worker,
    /// unless a number is given.
    pub fn run_in<P: Program>(
        &self,
        processes: &Processes,
        screen: &dyn Screen,
        make: impl Fn(Rank) -> P + Sync,
        progress: &Progress,
    ) -> Option<Result<Outcome, RunError>> {
        if processes.count() > 1 {
            return self.run_several(processes, screen, &make, progress);
        }
        Some(self.run(make, progress))
    }

    /// Runs the simulation with at most `workers` workers; returns the results of the workers and the number of
    /// workers.
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
            let (threads, waiting): (Vec<_>, Vec<_>) =
                findings.waiting.into_iter().partition(|waiting| waiting.thread.is_some());
            let finished = self.sites.len() as u32 - waiting.len() as u32;
            return Err(RunError::Deadlock(Deadlock {
                waiting,
                threads,
                finished,
                unfinalised: Vec::new(),
                codes: Vec::new(),
            }));
        }
        let Findings {
            mut times,
            mut threads,
            rank_threads,
            last,
            charges,
            uses,
            passed,
            timelines,
            logs,
            messages,
            pairs,
            by_place,
            collectives,
            unreceived,
            unwaited,
            copies,
            blocks,
            mut host_times,
            tasks: mut task_logs,
            timers,
            mut code,
            jobs: of_jobs,
            ..
        } = findings;
        task_logs.sort_unstable_by_key(|log| log.process);
        host_times.sort_unstable_by_key(|time| time.worker);
        times.sort_unstable_by_key(|&(rank, _, _)| rank);
        threads.sort_unstable_by_key(|time| (time.rank, time.thread));
        job_outcomes::wait_for_start(&mut times, |rank| self.start_of(rank));
        let predicted = times.iter().map(|&(_, clock, _)| clock).max().unwrap_or(SimTime::ZERO);
        let mean = mean_parts(&times);
        let row = |&(rank, clock, parts): &(Rank, SimTime, TimeParts)| {
            let Site { node, cmp, core } = self.sites[rank as usize];
            RankTime { rank, node, cmp, core, clock, parts }
        };
        code.sort_unstable_by_key(|(rank, _)| *rank);
        let code: Vec<CodeTimes> = code.into_iter().map(|(_, times)| times).collect();
        let noise = HostNoise::of(&code, (mean.wait + mean.collective).as_seconds());
        // Threads that execute fragments of a task program compute concurrently with the thread of their rank.
        let rank_threads = with_all_ranks(rank_threads, &times);
        let hybrid = HybridEfficiencies::of_run(predicted, self.options.cores_per_rank, &rank_threads);
        let compute = match &hybrid {
            None => mean.compute + TaskLog::mean_of_threads(&task_logs),
            Some(of) => SimSpan::from_ps((of.parallel * predicted.as_ps() as f64) as u64),
        };
        let computing = TimeParts { compute, ..mean };
        // Before the start of its job a rank has neither work nor messages.
        let start = last.map_or(SimTime::ZERO, |(_, rank, _)| self.start_of(rank));
        let mut path = path_parts(last, start, &computing);
        path.imbalance += SimSpan::from_ps(start.as_ps());
        let causes = self.causes(&mut path, charges);
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
            by_place: place_messages::rows(&self.platform.places, by_place),
            profile: IntervalMessages::rows(&messages),
            mean_parts: mean,
            collectives: collectives.rows(times.len() as u64),
            other_algorithms: None,
            path,
            what_if: causes.what_if(&path, self.platform),
            contention: causes.contention,
            uplink_contention: causes.uplinks,
            shares_changed: passed.changed(|level| self.platform.link(level).contention()),
            links: uses.as_ref().and_then(|uses| {
                let network = self.platform.places.network.as_ref()?;
                NetworkUse::new(network, uses.links(), uses.traffic(), predicted)
            }),
            load_over_time: self.load_over_time(uses.as_ref(), &timelines, predicted),
            utilisation: uses.map(|uses| uses.rows(predicted)).unwrap_or_default(),
            critical_path,
            efficiencies: None,
            hybrid,
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
            timelines: if self.options.timeline { timelines } else { Vec::new() },
            places,
            per_rank: if listed { times.iter().map(row).collect() } else { Vec::new() },
            per_thread: if listed { threads } else { Vec::new() },
            rank_threads: if listed { rank_threads } else { Vec::new() },
            pairs: pairs.map(|pairs| pairs.sorted().into_iter().map(PairMessages::from).collect()),
            copies,
            blocks: Some(blocks).filter(|blocks| blocks.count > 0),
            unread_keys: self.platform.unread.clone(),
            narrow_uplinks: self.platform.narrow_uplinks(),
            repeats: None,
            basis: None,
            call_paths: BTreeMap::new(),
            jobs: self.job_outcomes(of_jobs, &logs),
            config: self.labels.config.clone(),
            host: HostUse { profile: host_times, noise, ..host },
        })
    }
}

impl Simulation<'_> {
    /// Returns the load of resources over time, if requested.
    fn load_over_time(&self, uses: Option<&Uses>, timelines: &[Timeline], end: SimTime) -> Option<Box<LoadOverTime>> {
        if !self.options.load_over_time {
            return None;
        }
        let (none, network) = (Uses::default(), self.platform.places.network.as_deref());
        LoadOverTime::new(uses.unwrap_or(&none), timelines, network, end).map(Box::new)
    }
}

/// Divides the time from `start` into the parts of the critical path. Computation on the path above the mean of the ranks
/// is imbalance: with evenly distributed work, the path would have only the mean.
fn path_parts(last: Option<(SimTime, Rank, Path)>, start: SimTime, mean: &TimeParts) -> PathParts {
    let Some((clock, _, path)) = last else { return PathParts::default() };
    let parts = path.parts(SimTime::ZERO + clock.since(start));
    let compute = parts.compute.min(mean.compute);
    PathParts { compute, imbalance: parts.compute - compute, ..parts }
}

/// Returns the mean of each part of the ranks' time over all ranks, rounded down.
fn mean_parts(times: &[(Rank, SimTime, TimeParts)]) -> TimeParts {
    let mean = |part: fn(&TimeParts) -> SimSpan| {
        let sum: u128 = times.iter().map(|(_, _, parts)| u128::from(part(parts).as_ps())).sum();
        SimSpan::from_ps((sum / times.len().max(1) as u128) as u64)
    };
    TimeParts {
        compute: mean(|parts| parts.compute),
        memory: mean(|parts| parts.memory),
        send: mean(|parts| parts.send),
        recv: mean(|parts| parts.recv),
        wait: mean(|parts| parts.wait),
        collective: mean(|parts| parts.collective),
    }
}
