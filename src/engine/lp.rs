//! State that the ranks of a worker share: event queue, batches of outgoing events, network, and records.

use std::collections::HashMap;
use std::sync::Arc;

use mcpsim_base::platform::{HardwareThreads, Level, MemorySharing, Partition, Platform, Site};
use mcpsim_base::profile::{Arrow, TransferParts};
use mcpsim_base::rank::{Completion, Doorbell, Message, Rank};
use mcpsim_base::units::{Bytes, SimSpan, SimTime};

use super::activity::{ActivityLimits, Sites};
use super::clock::WaitCause;
use super::conditions::{ActiveConditions, Effects};
use super::error::RunError;
use super::event::{Event, EventKey, EventKind};
use super::fair::Fair;
use super::jobs::JobRanks;
use super::level_rules::{LevelRules, is_fair};
use super::memory::{EndedCopy, NodeMemory};
use super::meter::Meter;
use super::network::{Network, RankLocation};
use super::paths::{PathSlot, Paths};
use super::payloads::Payloads;
use super::queue::EventQueue;
use super::rank_times::ThreadRecord;
use super::shared_cores::SharedCores;
use super::simulation::RunOptions;
use super::state::{PendingHead, ProbedMessage, TargetRank};
use super::statistics::WorkerStatistics;
use super::transport::Batch;

/// Number of paths per rank for which the table of paths reserves addresses.
const PATHS_PER_RANK: usize = 2;
/// Number of message heads in flight above which arrived heads are removed from the list before the list grows.
const AHEAD: usize = 6;

/// Events for other workers.
#[derive(Debug)]
pub(super) struct EventOutbox {
    /// One batch per worker; the batch of this worker stays empty.
    pub batches: Vec<Batch>,
    /// Earliest time of an event in the batches.
    pub next: SimTime,
}

/// Records of the calls of ranks.
#[derive(Debug)]
pub(super) struct CallRecording {
    /// Limits of the recorded activity per rank.
    pub limits: ActivityLimits,
    /// The run records calls or the time between calls, so programs must return each call.
    pub watches: bool,
    /// Call sites of the recorded calls.
    pub sites: Sites,
    /// Records of threads that have ended.
    pub threads: Vec<ThreadRecord>,
}

/// Limits of a run.
#[derive(Debug)]
pub(super) struct RunLimits {
    /// Greatest permitted clock of a rank.
    pub clock: SimTime,
    max_time: Option<SimTime>,
    /// Greatest number of outstanding requests per rank.
    pub requests: u32,
}

/// Times of a core's calls, and the rates that its ranks share.
#[derive(Debug)]
pub(super) struct CoreCosts {
    /// Core time of a test or probe that finds no completed request or message.
    pub poll: SimSpan,
    /// Core time of posting a receive.
    pub post: SimSpan,
    /// Bytes per second between one core and memory.
    pub memory: f64,
    /// Hardware threads of each core, if a core has several.
    pub threads: Option<HardwareThreads>,
}

/// Messages that programs serve.
#[derive(Debug, Default)]
pub(super) struct ServedMessages {
    /// Time at which the last message of each pair (receiver, sender) is served, if this time is in the future.
    pub to_serve: HashMap<(Rank, Rank), SimTime>,
    /// Answers to the message that a program serves; the allocation is reused.
    pub answers: Vec<Message>,
}

/// A logical process in the sense of parallel discrete-event simulation: the state that a worker's ranks share. All
/// effects of a rank on other ranks pass through the logical process.
#[derive(Debug)]
pub(super) struct LogicalProcess<'a> {
    pub me: u32,
    pub seats: &'a [RankLocation],
    pub queue: EventQueue,
    /// Data of the messages in the event queue.
    pub payloads: Payloads,
    /// Paths of tasks, messages and requests.
    pub paths: Paths,
    pub outbox: EventOutbox,
    /// Key of the event that the worker handles.
    pub now: EventKey,
    /// End of the window of virtual time; before this end no event of another worker can arrive.
    pub window_end: SimTime,
    /// Only the running task can make calls before the earliest event of the queue. The effects of this task before
    /// that event may take place at once, without the queue.
    pub alone: bool,
    /// Every effect of a call on another rank is later than the call, because no latency or handshake is zero.
    all_later: bool,
    rules: [LevelRules; 3],
    /// Receiving cores copy messages of some level.
    pub receivers_copy: bool,
    pub network: Network<'a>,
    /// State of the `fair` contention model, if a level uses it.
    pub fair: Option<Box<Fair>>,
    /// Memory of the worker's nodes, if copies or computing blocks share memory over time.
    pub node_memory: Option<Box<NodeMemory>>,
    pub core: CoreCosts,
    /// Cores with more ranks than hardware threads, if a level of the machine uses the `fair` contention model.
    pub shared_cores: Option<Box<SharedCores>>,
    /// Conditions of the platform and the set of their effects, if any.
    pub conditions: Option<Box<ActiveConditions>>,
    pub effects: Effects,
    pub recording: CallRecording,
    pub statistics: WorkerStatistics,
    /// Number of calls and events that the worker has handled.
    pub handled: u64,
    pub limits: RunLimits,
    pub failure: Option<(EventKey, RunError)>,
    pub unfinished: u64,
    /// Tasks of the current rank whose waits have ended.
    pub woken: Vec<u32>,
    /// Completed requests for the current reply; the allocation is reused.
    pub completions: Vec<Completion>,
    /// Second buffer of completions, in use while the program holds `completions`.
    pub spare: Vec<Completion>,
    /// Message copies whose ends are known; the allocation is reused.
    pub known_copies: Vec<EndedCopy>,
    pub served: ServedMessages,
    /// Account of the worker's host time, if enabled.
    pub meter: Option<Meter>,
    /// Doorbell that wakes the worker for the code of ranks that can run ahead of virtual time.
    pub doorbell: Arc<Doorbell>,
}

impl<'a> LogicalProcess<'a> {
    pub fn new(
        platform: &'a Platform,
        (seats, sites, jobs): (&'a [RankLocation], &[Site], &[JobRanks]),
        me: u32,
        partition: &Partition,
        options: &RunOptions,
        seed: u64,
    ) -> Self {
        let recording = options.recording(seats.len());
        let charges = Level::ALL.into_iter().any(|level| is_fair(platform, level));
        let (nodes, workers) = (partition.nodes(me), partition.workers());
        let first_node: Vec<u32> = (0..workers).map(|worker| partition.nodes(worker).start).collect();
        let (conditions, effects) = ActiveConditions::new(platform, seed).unzip();
        let shared_cores = charges.then(|| SharedCores::new(seats, sites, me, &platform.core)).flatten();
        let effects = Effects { shares_cores: shared_cores.is_some(), ..effects.unwrap_or_default() };
        let rules = Level::ALL.map(|level| LevelRules::new(platform, level, effects.delays));
        // The table of paths is not copied while it grows to this length.
        let room = PATHS_PER_RANK * seats.len().div_ceil(workers as usize);
        LogicalProcess {
            me,
            seats,
            queue: EventQueue::default(),
            payloads: Payloads::default(),
            paths: Paths::new(
                recording.marks > 0,
                charges || platform.core.memory_sharing == MemorySharing::Fair,
                room,
            ),
            outbox: EventOutbox { batches: (0..workers).map(|_| Batch::default()).collect(), next: SimTime::NEVER },
            now: EventKey { time: SimTime::ZERO, to: 0, from: 0, sequence: 0 },
            window_end: SimTime::ZERO,
            alone: false,
            all_later: Level::ALL.iter().all(|&level| platform.least_latency(level) > SimSpan::ZERO),
            receivers_copy: rules.iter().any(|rules| rules.copied_by_receiver.is_some()),
            rules,
            network: Network::new(platform, nodes.clone(), effects.delays),
            node_memory: NodeMemory::new(platform, nodes.clone(), me, seats, sites),
            fair: Fair::new(platform, nodes, me, &first_node, seats, sites, options.load_over_time),
            core: CoreCosts {
                poll: platform.core.poll,
                post: platform.core.post_overhead,
                memory: platform.core.memory.get() as f64,
                threads: Some(platform.core.threads.clone()).filter(|threads| threads.count() > 1),
            },
            shared_cores,
            conditions,
            effects,
            recording: CallRecording {
                limits: recording,
                watches: recording.is_on() || options.host_clock.is_some(),
                sites: Sites::default(),
                threads: Vec::new(),
            },
            statistics: WorkerStatistics::new(platform, (sites, jobs), options),
            handled: 0,
            limits: RunLimits {
                clock: options.max_time.unwrap_or(SimTime::NEVER).min(SimTime::from_ps(u64::MAX - 1)),
                max_time: options.max_time,
                requests: options.max_requests,
            },
            failure: None,
            unfinished: 0,
            woken: Vec::new(),
            completions: Vec::new(),
            spare: Vec::new(),
            known_copies: Vec::new(),
            served: ServedMessages::default(),
            meter: options.host_clock.map(|clock| Meter::new(clock, me)),
            doorbell: Arc::default(),
        }
    }

    /// Returns the rules of messages of a level.
    #[inline(always)]
    pub fn rules(&self, level: Level) -> &LevelRules {
        &self.rules[level as usize]
    }

    /// Returns whether the core of the receiver copies a message of `size`.
    #[inline(always)]
    pub fn receiver_copies(&self, level: Level, size: Bytes) -> bool {
        self.rules(level).copied_by_receiver.is_some_and(|limit| size <= limit)
    }

    /// Returns whether the core of the sender copies a message of `size`.
    #[inline(always)]
    pub fn sender_copies(&self, level: Level, size: Bytes) -> bool {
        self.rules(level).copied_by_sender.is_some_and(|limit| size <= limit)
    }

    #[inline(always)]
    pub fn level(&self, a: Rank, b: Rank) -> Level {
        RankLocation::level(self.seats[a as usize], self.seats[b as usize])
    }

    /// Returns the slowdown factor of a rank on a core on which `ranks` ranks compute.
    pub fn longer(&self, ranks: u32) -> f64 {
        self.core.threads.as_ref().map_or(f64::from(ranks), |threads| threads.longer(ranks))
    }

    /// Returns the time that `span` of computation takes on a core on which `ranks` ranks compute.
    #[inline]
    pub fn on_core(&self, ranks: u32, span: SimSpan) -> SimSpan {
        match ranks {
            1 => span,
            _ if self.core.threads.is_none() => span * u64::from(ranks),
            _ => SimSpan::from_seconds(span.as_seconds() * self.longer(ranks)).unwrap_or(SimSpan::MAX),
        }
    }

    /// Schedules an event that the rank of `target` causes.
    #[inline(always)]
    pub fn push(&mut self, target: &mut TargetRank, time: SimTime, to: Rank, body: impl Fn() -> EventKind) {
        let key = EventKey { time, to, from: target.rank, sequence: target.next_sequence() };
        self.push_event(key, body);
    }

    /// Schedules an event at this worker or adds it to the batch of another worker.
    #[inline(always)]
    pub fn push_event(&mut self, key: EventKey, body: impl Fn() -> EventKind) {
        let owner = self.seats[key.to as usize].worker;
        if owner == self.me {
            self.queue.push(key, body);
        } else {
            self.outbox.next = self.outbox.next.min(key.time);
            self.outbox.batches[owner as usize].push(Event { key, body: body() }, &mut self.payloads, &mut self.paths);
        }
    }

    /// Extends `path` by a transfer between two ranks that left at `left` and ended at `end`.
    #[inline(always)]
    pub fn cross(&mut self, path: &mut PathSlot, (from, to): (Rank, Rank), size: Bytes, left: SimTime, end: SimTime) {
        let level = self.level(from, to);
        self.paths.cross(path, level, left, self.network.parts((from, to), level, size, end.since(left)));
    }

    /// Extends `path` as [`LogicalProcess::cross`], but only up to the transfer's head, which arrived at `head`.
    #[inline(never)]
    pub fn cross_head(
        &mut self,
        path: &mut PathSlot,
        (from, to): (Rank, Rank),
        size: Bytes,
        left: SimTime,
        head: SimTime,
    ) {
        let level = self.level(from, to);
        self.paths.forget_after_head(path);
        let parts = self.network.head_parts((from, to), level, size, head.since(left));
        self.paths.cross(path, level, left, parts);
    }

    /// Returns the arrival of a message's head at rank `to` as the cause of a wait's end.
    pub fn head_cause(&mut self, to: Rank, header: ProbedMessage) -> WaitCause {
        let ProbedMessage { from, left, time, size, rendezvous, path } = header;
        let level = self.level(from, to);
        let mut path = self.paths.share(path);
        let parts = match rendezvous {
            true => TransferParts::of_control(time.since(left), self.network.handshake(from, to, level)),
            false => self.network.head_parts((from, to), level, size, time.since(left)),
        };
        self.paths.cross(&mut path, level, left, parts);
        WaitCause { path, left: time, ends: (from, to), size }
    }

    /// Returns whether an event at `time` would be the next event of the worker, regardless of later calls of the
    /// running task.
    #[inline(always)]
    pub fn is_next(&mut self, time: SimTime) -> bool {
        self.alone && self.all_later && time < self.window_end && time < self.queue.first_time()
    }

    /// Returns the arrival time of a head that leaves for `to` and would arrive at `head` if no earlier message
    /// preceded. The head does not overtake an earlier head of the same pair (MPI-3.1, section 3.5: messages are
    /// non-overtaking).
    #[inline]
    pub fn in_order(&self, target: &mut TargetRank, level: Level, to: Rank, left: SimTime, head: SimTime) -> SimTime {
        let mut head = head;
        if head >= target.furthest_head {
            target.furthest_head = head;
        } else {
            // Another task of the rank may already have sent a message that is later in virtual time; such a message
            // does not precede this message.
            let earlier = target.ahead.iter().filter(|ahead| ahead.to == to && ahead.left <= left);
            head = earlier.map(|ahead| ahead.head).fold(head, SimTime::max);
        }
        if head > left + self.rules(level).least_latency {
            if target.ahead.len() == target.ahead.capacity() {
                self.make_room(&mut target.ahead);
            }
            target.ahead.push(PendingHead { to, left, head });
        }
        head
    }

    /// Makes room for a further message head in a full list. Removes the message heads that no later message can
    /// overtake. The time of the current event decides, because the clock of one task does not bound the send times of
    /// other tasks.
    #[cold]
    fn make_room(&self, ahead: &mut Vec<PendingHead>) {
        // A rank of a large machine has few messages in flight, and there may be millions of ranks.
        if ahead.len() < AHEAD {
            ahead.reserve_exact(AHEAD / 2);
            return;
        }
        let least = self.rules.iter().map(|rules| rules.least_latency).min().expect("three levels");
        let now = self.now.time;
        ahead.retain(|other| other.head > now + least);
        // If most message heads remain in the list, the list grows before the next removal.
        if 2 * ahead.len() > ahead.capacity() {
            ahead.reserve_exact(ahead.len());
        }
    }

    /// Records a message to `target` that left at `left` and arrived at `came`, in the statistics and in the timelines.
    #[inline(always)]
    pub fn record_to(
        &mut self,
        target: &mut TargetRank,
        level: Level,
        from: Rank,
        size: Bytes,
        (left, came): (SimTime, SimTime),
    ) {
        self.statistics.record(level, from, target.rank, size, came.since(left));
        if let Some(trail) = &mut target.trail {
            trail.arrow(Arrow { from, left, came, bytes: size.get() });
        }
    }

    /// Returns the time from which events of the worker have no effect, because an earlier event failed.
    pub fn until(&self) -> SimTime {
        match &self.failure {
            // A failure before the first window precedes all events of the run.
            Some((key, _)) => (key.time + SimSpan::from_ps(1)).min(self.window_end),
            None => SimTime::NEVER,
        }
    }

    /// Ends the run with `error`, unless the run has already failed. Among the errors of several workers, the error
    /// with the earliest event is reported, so the message is the same for any number of workers.
    #[cold]
    pub fn fail(&mut self, error: RunError) {
        if self.failure.is_none() {
            self.failure = Some((self.now, error));
        }
    }

    /// Ends the run with an error because the clock of a rank is past the time limit.
    #[cold]
    pub fn fail_by_time(&mut self, rank: Rank, position: Option<String>) {
        self.fail(match self.limits.max_time {
            Some(limit) => RunError::MaxTime { rank, limit, position },
            None => RunError::ClockOverflow { rank, position },
        });
    }
}
