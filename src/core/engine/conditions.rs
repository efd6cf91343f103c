//! Conditions that a platform can state in addition to rates and links: connection set-up, credits, noise, unequal
//! nodes, and progress only inside calls. Each condition is off unless a key turns it on.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::platform::{Level, Link, NodeFactors, Noise, Platform, ProgressEngine, Row, Site};
use crate::rank::{Call, Message, Rank, SERVICE, SendMode};
use crate::units::{Bytes, SimSpan, SimTime};

use super::event::EventKind;
use super::lp::LogicalProcess;
use super::mpi_intervals::MpiIntervals;
use super::state::TargetRank;

/// Per-worker copy of the platform's conditions.
#[derive(Clone, Debug)]
pub(super) struct ActiveConditions {
    seed: u64,
    noise: Noise,
    /// Slowdown factor of computing caused by the library's progress thread.
    thread: f64,
    nodes: NodeFactors,
    connection_time: [SimSpan; 3],
    credits: [Option<u32>; 3],
}

/// Conditions that are on, in the form that the engine reads for each call or message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effects {
    /// Computing is slowed.
    pub slows: bool,
    /// Messages can take longer than their link states.
    pub delays: bool,
    /// The first message of a pair takes longer.
    pub connects: bool,
    /// Eager messages need a credit.
    pub credits: bool,
    /// Messages progress only inside calls.
    pub by_call: bool,
    /// Messages occupy cores that ranks share.
    pub shares_cores: bool,
}

/// State of a rank for the conditions.
#[derive(Debug, Default)]
pub(super) struct RankConditions {
    /// Slowdown factor of the rank's computing.
    factor: f64,
    /// Start of the first detour of the rank's core.
    phase: SimTime,
    /// Number of messages sent with a random delay.
    sent: u64,
    /// Ranks with which a connection exists.
    connected: FxHashSet<Rank>,
    /// Number of eager messages in flight by receiver.
    under_way: FxHashMap<Rank, u32>,
    /// MPI calls of the rank.
    pub calls: MpiIntervals,
}

impl ActiveConditions {
    /// Creates the conditions of `platform` in the run of `seed`, and the set of effects; `None` without conditions.
    pub fn new(platform: &Platform, seed: u64) -> Option<(Box<ActiveConditions>, Effects)> {
        let of_level = |level| platform.link(level).protocol();
        let crate::platform::Conditions { progress, noise, nodes } = &platform.conditions;
        let connection_time = Level::ALL.map(|level| of_level(level).connection_time);
        let credits = Level::ALL.map(|level| of_level(level).credits);
        let connects = connection_time.iter().any(|span| *span > SimSpan::ZERO);
        let thread = progress.slowdown();
        let effects = Effects {
            slows: noise.system.is_some() || noise.nodes.is_some() || thread != 1.0 || nodes.changes_rates(),
            delays: connects || noise.network.is_some(),
            connects,
            credits: credits.iter().any(Option::is_some),
            by_call: *progress == ProgressEngine::Call,
            shares_cores: false,
        };
        let Effects { slows, delays, credits: limited, by_call, .. } = effects;
        let nodes = nodes.clone();
        (slows || delays || limited || by_call).then(|| {
            (Box::new(ActiveConditions { seed, noise: *noise, thread, nodes, connection_time, credits }), effects)
        })
    }

    /// Creates the state of `rank`, which is at `site`.
    pub fn meets(&self, rank: Rank, site: Site) -> Box<RankConditions> {
        let factor = self.thread * self.noise.of_node(self.seed, site.node) / self.nodes.rate(site);
        let phase = self.noise.system.map_or(SimTime::ZERO, |noise| noise.phase(self.seed, rank));
        Box::new(RankConditions { factor, phase, ..RankConditions::default() })
    }
}

impl RankConditions {
    /// Returns the slowdown factor of the rank's computing.
    pub fn slower(&self) -> f64 {
        self.factor
    }
}

impl TargetRank {
    /// Returns the rank's state for the conditions.
    pub fn meets(&mut self) -> &mut RankConditions {
        self.meets.as_mut().expect("the platform has conditions")
    }
}

impl LogicalProcess<'_> {
    fn conditions(&self) -> &ActiveConditions {
        self.conditions.as_deref().expect("the platform has conditions")
    }

    /// Returns the time that work of length `alone` takes the rank from `start` on.
    #[cold]
    pub fn slowed(&self, shared: &mut TargetRank, start: SimTime, alone: SimSpan) -> SimSpan {
        let factor = shared.meets().factor;
        let span = match factor == 1.0 {
            true => alone,
            false => SimSpan::from_ps((alone.as_ps() as f64 * factor).round() as u64),
        };
        self.with_detours(shared, start, span)
    }

    /// Returns the time that `span` of core time takes from `start` on, with detours to the operating system.
    pub fn with_detours(&self, shared: &mut TargetRank, start: SimTime, span: SimSpan) -> SimSpan {
        let (rank, phase) = (shared.rank, shared.meets().phase);
        let ActiveConditions { seed, noise, .. } = self.conditions();
        noise.system.map_or(span, |noise| noise.stretched(*seed, rank, phase, start, span))
    }

    /// Returns the delay of a message's head beyond the time that its link states. A control message has no row.
    #[cold]
    pub fn delay(&self, shared: &mut TargetRank, to: Rank, level: Level, row: Option<&Row>, size: Bytes) -> SimSpan {
        let rank = shared.rank;
        let ActiveConditions { seed, noise, connection_time, .. } = self.conditions();
        let meets = shared.meets.as_mut().expect("the platform has conditions");
        let mut delay = SimSpan::ZERO;
        if connection_time[level as usize] > SimSpan::ZERO && meets.connected.insert(to) {
            delay += connection_time[level as usize];
        }
        if let Some(noise) = noise.network {
            let alone =
                row.map_or(self.network.handshake(rank, to, level), |row| row.latency + row.bandwidth.span(size, 1));
            delay += noise.delay(*seed, rank, meets.sent, alone);
            meets.sent += 1;
        }
        delay
    }

    /// Records a connection, because a message of `from` has arrived at the rank.
    #[cold]
    pub fn connected(&self, shared: &mut TargetRank, from: Rank) {
        shared.meets().connected.insert(from);
    }

    /// Returns whether the credits of the receiver do not yet decide if `message` can be eager. Credits may have been
    /// returned by the time of the rank's clock, and the worker may not have received them. With strands each message
    /// waits for its time, because another task may send earlier.
    pub fn lacks_credit(&self, shared: &mut TargetRank, message: &Message) -> bool {
        let level = self.level(shared.rank, message.to);
        let limited = self.conditions().credits[level as usize].is_some();
        if limited && shared.strands.iter().any(Option::is_some) {
            return true;
        }
        self.is_credited(self.network.link(level), message) && !self.has_credit(shared, message.to, level)
    }

    /// Returns whether the message needs a credit to be eager.
    fn is_credited(&self, link: &Link, message: &Message) -> bool {
        message.mode == SendMode::Standard && message.context != SERVICE && message.size <= link.eager_threshold()
    }

    fn has_credit(&self, shared: &mut TargetRank, to: Rank, level: Level) -> bool {
        let under_way = shared.meets().under_way.get(&to).copied().unwrap_or(0);
        self.conditions().credits[level as usize].is_none_or(|credits| under_way < credits)
    }

    /// Takes a credit for an eager message. Returns false without a credit, which only a standard send obeys.
    #[cold]
    pub fn take_credit(&self, shared: &mut TargetRank, to: Rank, level: Level, mode: SendMode) -> bool {
        if self.conditions().credits[level as usize].is_none() {
            return true;
        }
        if mode == SendMode::Standard && !self.has_credit(shared, to, level) {
            return false;
        }
        *shared.meets().under_way.entry(to).or_default() += 1;
        true
    }

    /// Returns the credit of an eager message of `from` that left its buffer at `time`.
    #[cold]
    pub fn give_credit(&mut self, shared: &mut TargetRank, from: Rank, time: SimTime) {
        let level = self.level(from, shared.rank);
        if self.conditions().credits[level as usize].is_some() {
            let handshake = self.network.handshake(shared.rank, from, level);
            self.push(shared, time + handshake, from, || EventKind::Credit);
        }
    }

    /// Receives a returned credit of `from`.
    #[cold]
    pub fn credit_back(&self, shared: &mut TargetRank, from: Rank) {
        *shared.meets().under_way.get_mut(&from).expect("it was taken") -= 1;
    }
}

/// Returns the message that a call sends.
pub(super) fn sent(call: &Call) -> Option<&Message> {
    match call {
        Call::Send(message) | Call::Isend(message) | Call::Exchange(message, _) => Some(message),
        _ => None,
    }
}
