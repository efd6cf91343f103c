//! What the ranks of a worker share: its event queue, its outgoing batches, its part of the network, its records.

use std::collections::HashMap;
use std::sync::Arc;

use crate::platform::{HardwareThreads, Level, LoadLaw, Partition, Platform, Row, Site};
use crate::profile::{Arrow, BlockUse, CollectiveCounter, MessageProfile, Pairs, TransferParts};
use crate::rank::{Completion, Doorbell, Message, Rank};
use crate::units::{Bytes, SimSpan, SimTime};

use super::activity::{ActivityLimits, Sites};
use super::clock::WaitCause;
use super::conditions::{Conditions, Effects};
use super::error::RunError;
use super::event::{Event, EventKey, EventKind, InFlightMessage};
use super::fair::{Fair, head_is_known, is_portless, packed};
use super::memory::NodeMemory;
use super::meter::Meter;
use super::network::{Departure, Network, RankLocation};
use super::paths::{PathSlot, Paths};
use super::payloads::Payloads;
use super::queue::EventQueue;
use super::shared_cores::SharedCores;
use super::simulation::RunOptions;
use super::state::{PendingHead, ProbedMessage, TargetRank};
use super::transport::Batch;

/// From this many on, heads that nothing can overtake any more are forgotten before more room is taken for others.
const AHEAD: usize = 16;

/// A logical process: what a worker's ranks share. Everything a rank does to the simulation goes through here.
#[derive(Debug)]
pub(super) struct LogicalProcess<'a> {
    pub me: u32,
    pub seats: &'a [RankLocation],
    pub queue: EventQueue,
    /// The data of messages in the queue.
    pub payloads: Payloads,
    /// The paths of tasks, messages and requests.
    pub paths: Paths,
    /// What of ranks' doings is recorded.
    pub recording: ActivityLimits,
    /// Calls are looked at, or the time between them: programs give each.
    pub watches: bool,
    /// Where the calls were made that are recorded.
    pub sites: Sites,
    /// A batch for each worker; the own one stays empty.
    pub outgoing: Vec<Batch>,
    /// The earliest time in the batches.
    pub outgoing_next: SimTime,
    /// The event being handled.
    pub now: EventKey,
    /// Nothing of another worker can happen here before.
    pub window_end: SimTime,
    pub network: Network<'a>,
    /// What fair shares need, where a level has them.
    pub fair: Option<Box<Fair>>,
    /// The memories of its nodes, where copies or blocks share them over time.
    pub node_memory: Option<Box<NodeMemory>>,
    /// Bytes a second that a core may move from and to memory.
    pub core_memory: f64,
    /// The hardware threads of each core, where it has several.
    pub threads: Option<HardwareThreads>,
    /// The cores that ranks share, where a level has fair shares.
    pub shared_cores: Option<Box<SharedCores>>,
    /// The blocks that used memory.
    pub computed: BlockUse,
    /// What ranks and messages meet besides, if there is anything, and what of it there is.
    pub conditions: Option<Box<Conditions>>,
    pub effects: Effects,
    pub messages: MessageProfile,
    pub pairs: Option<Pairs>,
    /// The collectives that its ranks made.
    pub collectives: CollectiveCounter,
    /// Messages delivered.
    pub delivered: u64,
    /// Calls and events handled.
    pub handled: u64,
    /// As many of these there were at the last look at the limits.
    pub counted: u64,
    /// Clocks may not pass this.
    pub limit: SimTime,
    pub max_time: Option<SimTime>,
    /// So many requests of a rank may be outstanding.
    pub max_requests: u32,
    pub failure: Option<(EventKey, RunError)>,
    /// Tasks of the rank at hand whose wait is over.
    pub woken: Vec<u32>,
    /// The completions of the reply at hand; kept for its room.
    pub completions: Vec<Completion>,
    /// Room for others while the program has those.
    pub spare: Vec<Completion>,
    /// Per level: the least latency, and whether the law needs no port.
    pub least_latency: [SimSpan; 3],
    pub portless: [bool; 3],
    /// Per level: load does not change when a head gets there.
    pub head_known: [bool; 3],
    /// When the last message of a pair, receiver and sender, is to be served, if that is to come.
    pub to_serve: HashMap<(Rank, Rank), SimTime>,
    /// The answers of the message being served; kept for its room.
    pub answers: Vec<Message>,
    pub unfinished: u64,
    /// What a test or probe that finds nothing costs.
    pub poll: SimSpan,
    /// What posting a receive costs.
    pub post_overhead: SimSpan,
    /// The task that runs is the only one whose calls can come before the queue's earliest event: what it does before
    /// that may be done at once instead of through the queue.
    pub alone: bool,
    /// Every effect of a call comes later than the call: no latency or handshake is zero.
    pub all_later: bool,
    /// Its account of the host's time, if that is asked for.
    pub meter: Option<Meter>,
    /// Rings for ranks that can run ahead.
    pub doorbell: Arc<Doorbell>,
}

impl<'a> LogicalProcess<'a> {
    pub fn new(
        platform: &'a Platform,
        (seats, sites): (&'a [RankLocation], &[Site]),
        me: u32,
        partition: &Partition,
        options: &RunOptions,
        seed: u64,
    ) -> Self {
        let per_level = |level: Level| platform.link(level);
        let recording = options.recording(seats.len());
        let charges = Level::ALL.into_iter().any(|level| platform.link(level).law() == LoadLaw::Fair);
        let (nodes, workers) = (partition.nodes(me), partition.workers());
        let first_node: Vec<u32> = (0..workers).map(|worker| partition.nodes(worker).start).collect();
        let (conditions, effects) = Conditions::new(platform, seed).unzip();
        let shared_cores = charges.then(|| SharedCores::new(seats, sites, me, &platform.core)).flatten();
        let effects = Effects { shares_cores: shared_cores.is_some(), ..effects.unwrap_or_default() };
        LogicalProcess {
            me,
            seats,
            queue: EventQueue::default(),
            payloads: Payloads::default(),
            paths: Paths::new(recording.marks > 0, charges),
            recording,
            watches: recording.is_on() || options.host_clock.is_some(),
            sites: Sites::default(),
            outgoing: (0..workers).map(|_| Batch::default()).collect(),
            outgoing_next: SimTime::NEVER,
            now: EventKey { time: SimTime::ZERO, to: 0, from: 0, sequence: 0 },
            window_end: SimTime::ZERO,
            network: Network::new(platform, nodes.clone(), effects.delays),
            node_memory: NodeMemory::new(platform, nodes.clone(), me, seats, sites),
            core_memory: platform.core.memory.get() as f64,
            threads: Some(platform.core.threads.clone()).filter(|threads| threads.count() > 1),
            shared_cores,
            computed: BlockUse::default(),
            fair: Fair::new(platform, nodes, me, &first_node, seats),
            conditions,
            effects,
            messages: MessageProfile::new(options.intervals.clone()),
            pairs: options.pairs.then(Pairs::default),
            collectives: CollectiveCounter::default(),
            delivered: 0,
            handled: 0,
            counted: 0,
            limit: options.max_time.unwrap_or(SimTime::NEVER).min(SimTime::from_ps(u64::MAX - 1)),
            max_time: options.max_time,
            max_requests: options.max_requests,
            failure: None,
            woken: Vec::new(),
            completions: Vec::new(),
            spare: Vec::new(),
            least_latency: Level::ALL.map(|level| platform.least_latency(level)),
            portless: Level::ALL.map(|level| !effects.delays && is_portless(per_level(level), level)),
            head_known: Level::ALL.map(|level| !effects.delays && head_is_known(per_level(level), level)),
            to_serve: HashMap::new(),
            answers: Vec::new(),
            unfinished: 0,
            poll: platform.core.poll,
            post_overhead: platform.core.post_overhead,
            alone: false,
            meter: options.host_clock.map(|clock| Meter::new(clock, me)),
            doorbell: Arc::default(),
            all_later: Level::ALL.iter().all(|&level| platform.least_latency(level) > SimSpan::ZERO),
        }
    }

    #[inline(always)]
    pub fn level(&self, a: Rank, b: Rank) -> Level {
        RankLocation::level(self.seats[a as usize], self.seats[b as usize])
    }

    /// How many times as long a rank computes that is one of so many on its core.
    pub fn longer(&self, ranks: u32) -> f64 {
        self.threads.as_ref().map_or(f64::from(ranks), |threads| threads.longer(ranks))
    }

    /// How long `span` of computing takes a rank that is one of so many on its core.
    #[inline]
    pub fn on_core(&self, ranks: u32, span: SimSpan) -> SimSpan {
        match ranks {
            1 => span,
            _ if self.threads.is_none() => span * u64::from(ranks),
            _ => SimSpan::from_seconds(span.as_seconds() * self.longer(ranks)).unwrap_or(SimSpan::MAX),
        }
    }

    /// An event caused by the rank of `target`.
    #[inline(always)]
    pub fn push(&mut self, target: &mut TargetRank, time: SimTime, to: Rank, body: impl Fn() -> EventKind) {
        let key = EventKey { time, to, from: target.rank, sequence: target.next_sequence() };
        self.push_event(key, body);
    }

    /// An event for the rank it is addressed to, here or at another worker.
    #[inline(always)]
    pub fn push_event(&mut self, key: EventKey, body: impl Fn() -> EventKind) {
        let owner = self.seats[key.to as usize].worker;
        if owner == self.me {
            self.queue.push(key, body);
        } else {
            self.outgoing_next = self.outgoing_next.min(key.time);
            self.outgoing[owner as usize].push(Event { key, body: body() }, &mut self.payloads, &mut self.paths);
        }
    }

    /// A message, or the request of a rendezvous, leaves at `left`: meets the port on its way out. Its event will be
    /// `key` but for the time.
    #[inline(always)]
    pub fn set_out(
        &mut self,
        target: &mut TargetRank,
        key: EventKey,
        (level, row): (Level, &Row),
        message: &InFlightMessage,
        left: SimTime,
    ) -> Departure {
        // The common case first: it is on the way of every message.
        if self.fair.is_none() && !self.effects.delays && message.rendezvous.is_none() {
            return self.network.depart(self.seats[key.from as usize], level, row, message.size, left);
        }
        self.set_out_otherwise(target, key, (level, row), message, left)
    }

    /// As [`LogicalProcess::set_out`], for the request of a rendezvous, under fair shares and with delays.
    #[inline(never)]
    fn set_out_otherwise(
        &mut self,
        target: &mut TargetRank,
        key: EventKey,
        (level, row): (Level, &Row),
        message: &InFlightMessage,
        left: SimTime,
    ) -> Departure {
        let delay = match self.effects.delays {
            true => self.delay(target, key.to, level, message.rendezvous.is_none().then_some(row), message.size),
            false => SimSpan::ZERO,
        };
        if message.rendezvous.is_some() {
            return Departure { head: left + self.network.link(level).handshake() + delay, load: 1 };
        }
        let (mut turn, mut left, mut by) = (0, left, None);
        if self.fair.is_some() {
            turn = self.turn(target, level);
            (left, by) = self.past_adapter(key, (level, row), message.size, turn, left);
        }
        let departure = self.network.depart(self.seats[key.from as usize], level, row, message.size, left);
        let departure = Departure { head: departure.head + delay, ..departure };
        if self.is_fair(level) { Departure { load: packed(turn, by), ..departure } } else { departure }
    }

    /// The holder of `path` goes on by a transfer between two ranks that left at `left` and ended at `end`.
    #[inline(always)]
    pub fn cross(&mut self, path: &mut PathSlot, (from, to): (Rank, Rank), size: Bytes, left: SimTime, end: SimTime) {
        let level = self.level(from, to);
        self.paths.cross(path, level, left, self.network.parts((from, to), level, size, end.since(left)));
    }

    /// As [`LogicalProcess::cross`], but only to the transfer's head, which came at `head`.
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

    /// What makes the head of a message get to `to`.
    pub fn head_cause(&mut self, to: Rank, header: ProbedMessage) -> WaitCause {
        let ProbedMessage { from, left, time, size, rendezvous, path } = header;
        let level = self.level(from, to);
        let mut path = self.paths.share(path);
        let parts = match rendezvous {
            true => TransferParts::of_control(time.since(left), self.network.link(level).handshake()),
            false => self.network.head_parts((from, to), level, size, time.since(left)),
        };
        self.paths.cross(&mut path, level, left, parts);
        WaitCause { path, left: time, ends: (from, to), size }
    }

    /// Whether an event at `time` would be the very next, whatever the running task does after it.
    #[inline(always)]
    pub fn is_next(&mut self, time: SimTime) -> bool {
        self.alone && self.all_later && time < self.window_end && time < self.queue.first_time()
    }

    /// A message's head or a rendezvous' request sets out for `to` and would get there at `head`: gives the time it
    /// does so without overtaking an earlier one of the same pair (MPI-3.1, section 3.5: messages are non-overtaking).
    #[inline]
    pub fn in_order(&self, target: &mut TargetRank, level: Level, to: Rank, left: SimTime, head: SimTime) -> SimTime {
        let mut head = head;
        if head >= target.furthest_head {
            target.furthest_head = head;
        } else {
            // What another task of the rank has sent already but later in virtual time is no earlier message.
            let earlier = target.ahead.iter().filter(|ahead| ahead.to == to && ahead.left <= left);
            head = earlier.map(|ahead| ahead.head).fold(head, SimTime::max);
        }
        if head > left + self.least_latency[level as usize] {
            if target.ahead.len() >= AHEAD && target.ahead.len() == target.ahead.capacity() {
                self.forget_arrived(&mut target.ahead);
            }
            target.ahead.push(PendingHead { to, left, head });
        }
        head
    }

    /// Forgets the heads that nothing can overtake any more. A task far ahead of the others tells nothing of what these
    /// will send: only the present does.
    #[cold]
    fn forget_arrived(&self, ahead: &mut Vec<PendingHead>) {
        let least = self.least_latency.into_iter().min().expect("three levels");
        let now = self.now.time;
        ahead.retain(|other| other.head > now + least);
        // Where most stay, it is long until the next time.
        ahead.reserve(ahead.len().max(AHEAD));
    }

    /// As [`LogicalProcess::record`] of a message to `target` that left at `left` and has come at `came`, which is also
    /// drawn in timelines.
    #[inline(always)]
    pub fn record_to(
        &mut self,
        target: &mut TargetRank,
        level: Level,
        from: Rank,
        size: Bytes,
        (left, came): (SimTime, SimTime),
    ) {
        self.record(level, from, target.rank, size, came.since(left));
        if let Some(trail) = &mut target.trail {
            trail.arrow(Arrow { from, left, came, bytes: size.get() });
        }
    }

    /// Records a message whose transfer has been decided.
    #[inline(always)]
    pub fn record(&mut self, level: Level, from: Rank, to: Rank, size: Bytes, time: SimSpan) {
        self.delivered += 1;
        self.messages.record(level, size, time);
        if let Some(pairs) = &mut self.pairs {
            pairs.record(from, to, size);
        }
    }

    /// Events from this time on have no meaning, because there was a failure before.
    pub fn until(&self) -> SimTime {
        match &self.failure {
            // Before the first window nothing has happened yet: a failure there comes before all events.
            Some((key, _)) => (key.time + SimSpan::from_ps(1)).min(self.window_end),
            None => SimTime::NEVER,
        }
    }

    /// Ends the run with `error`, unless it has ended already. Of the errors of several workers the one with the
    /// earliest event counts, so that the message is the same for any number of workers.
    #[cold]
    pub fn fail(&mut self, error: RunError) {
        if self.failure.is_none() {
            self.failure = Some((self.now, error));
        }
    }

    /// The error of a clock past its limit.
    #[cold]
    pub fn fail_by_time(&mut self, rank: Rank, position: Option<String>) {
        self.fail(match self.max_time {
            Some(limit) => RunError::MaxTime { rank, limit, position },
            None => RunError::ClockOverflow { rank, position },
        });
    }
}
