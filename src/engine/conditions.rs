//! Conditions that a platform can state in addition to core rates and links: connection set-up, credits for eager
//! messages, noise, unequal nodes, and message progress only inside MPI calls. A condition is off unless a key of the
//! platform file turns it on.

use rustc_hash::{FxHashMap, FxHashSet};

use mcpsim_base::platform::{Level, Link, NodeFactors, Noise, Platform, ProgressEngine, Row, Site};
use mcpsim_base::rank::{Call, Message, Rank, SERVICE, SendMode};
use mcpsim_base::units::{Bytes, SimSpan, SimTime};

use super::event::EventKind;
use super::lp::LogicalProcess;
use super::mpi_intervals::MpiIntervals;
use super::state::TargetRank;

/// Copy of the platform's conditions for one worker.
#[derive(Clone, Debug)]
pub(super) struct ActiveConditions {
    seed: u64,
    noise: Noise,
    /// Slowdown factor of computation because of the MPI library's progress thread.
    thread: f64,
    nodes: NodeFactors,
    connection_time: [SimSpan; 3],
    credits: [Option<u32>; 3],
}

/// Conditions that are on, as flags that the engine reads for each call or message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effects {
    /// A condition of the platform slows computation.
    pub slows: bool,
    /// Messages can take longer than their link states.
    pub delays: bool,
    /// The first message between two ranks takes longer.
    pub connects: bool,
    /// Eager messages need a credit from the receiver.
    pub credits: bool,
    /// Messages progress only inside MPI calls of their ranks.
    pub by_call: bool,
    /// Messages occupy cores that ranks share.
    pub shares_cores: bool,
}

/// State that the conditions of the platform keep for a rank.
#[derive(Debug, Default)]
pub(super) struct RankConditions {
    /// Slowdown factor of the rank's computing.
    factor: f64,
    /// Start of the first detour (interruption by the operating system) of the rank's core.
    phase: SimTime,
    /// Number by which the noise of the rank is drawn.
    draw: u32,
    /// Number of messages that the rank has sent with a random delay.
    sent: u64,
    /// Ranks with which the rank has a connection.
    connected: FxHashSet<Rank>,
    /// Number of eager messages in flight from the rank to each receiver.
    under_way: FxHashMap<Rank, u32>,
    /// Intervals in which the rank is inside MPI.
    pub calls: MpiIntervals,
}

impl ActiveConditions {
    /// Creates the conditions of `platform` in the run with seed `seed`, and the set of their effects; `None` without
    /// conditions.
    pub fn new(platform: &Platform, seed: u64) -> Option<(Box<ActiveConditions>, Effects)> {
        let of_level = |level| platform.link(level).protocol();
        let mcpsim_base::platform::Conditions { progress, noise, nodes } = &platform.conditions;
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

    /// Creates the state that the conditions keep for a rank, whose noise is drawn by the number `draw` and which runs on
    /// the core `site`.
    pub fn meets(&self, draw: u32, site: Site) -> Box<RankConditions> {
        let factor = self.thread * self.noise.of_node(self.seed, site.node) / self.nodes.rate(site);
        let phase = self.noise.system.map_or(SimTime::ZERO, |noise| noise.phase(self.seed, draw));
        Box::new(RankConditions { factor, phase, draw, ..RankConditions::default() })
    }
}

impl RankConditions {
    /// Returns the slowdown factor of computation.
    pub fn slower(&self) -> f64 {
        self.factor
    }
}

impl TargetRank {
    /// Returns the state that the platform's conditions keep for the rank.
    pub fn meets(&mut self) -> &mut RankConditions {
        self.meets.as_mut().expect("the platform has conditions")
    }
}

impl LogicalProcess<'_> {
    fn conditions(&self) -> &ActiveConditions {
        self.conditions.as_deref().expect("the platform has conditions")
    }

    /// Returns the time that work takes the rank from `start` on, if the work takes `alone` without noise and slowdown.
    #[cold]
    pub fn slowed(&self, shared: &mut TargetRank, start: SimTime, alone: SimSpan) -> SimSpan {
        let factor = shared.meets().factor;
        let span = match factor == 1.0 {
            true => alone,
            false => SimSpan::from_ps((alone.as_ps() as f64 * factor).round() as u64),
        };
        self.with_detours(shared, start, span)
    }

    /// Returns the time that `span` of core time takes the rank from `start` on, with interruptions by the operating
    /// system.
    pub fn with_detours(&self, shared: &mut TargetRank, start: SimTime, span: SimSpan) -> SimSpan {
        let RankConditions { draw, phase, .. } = *shared.meets();
        let ActiveConditions { seed, noise, .. } = self.conditions();
        noise.system.map_or(span, |noise| noise.stretched(*seed, draw, phase, start, span))
    }

    /// Returns how much later a message's head arrives than the message's link states. `row` is `None` for a control
    /// message.
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
            delay += noise.delay(*seed, meets.draw, meets.sent, alone);
            meets.sent += 1;
        }
        delay
    }

    /// Records that the rank has a connection with `from`, because a message of `from` has arrived at the rank.
    #[cold]
    pub fn connected(&self, shared: &mut TargetRank, from: Rank) {
        shared.meets().connected.insert(from);
    }

    /// Returns whether it is still unknown if `message` can be eager, because the rank may get further credits of the
    /// receiver. The receiver may have returned credits before the time of the rank's clock, and the rank's worker may
    /// not have received them. In a rank with strands, each message waits until the simulation reaches its departure,
    /// because another task of the rank may send a message that is earlier.
    pub fn lacks_credit(&self, shared: &mut TargetRank, message: &Message) -> bool {
        let level = self.level(shared.rank, message.to);
        let limited = self.conditions().credits[level as usize].is_some();
        if limited && shared.strands.iter().any(Option::is_some) {
            return true;
        }
        self.is_credited(self.network.link(level), message) && !self.has_credit(shared, message.to, level)
    }

    /// Returns whether the message can be eager only with a credit of its receiver.
    fn is_credited(&self, link: &Link, message: &Message) -> bool {
        message.mode == SendMode::Standard && message.context != SERVICE && message.size <= link.eager_threshold()
    }

    fn has_credit(&self, shared: &mut TargetRank, to: Rank, level: Level) -> bool {
        let under_way = shared.meets().under_way.get(&to).copied().unwrap_or(0);
        self.conditions().credits[level as usize].is_none_or(|credits| under_way < credits)
    }

    /// Takes a credit of the receiver for an eager message. Returns false if the receiver has no credit left. Only
    /// standard sends wait for a credit.
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

    /// Sends a credit back to the sender `from`, because an eager message left the receive buffer at `time`.
    #[cold]
    pub fn give_credit(&mut self, shared: &mut TargetRank, from: Rank, time: SimTime) {
        let level = self.level(from, shared.rank);
        if self.conditions().credits[level as usize].is_some() {
            let handshake = self.network.handshake(shared.rank, from, level);
            self.push(shared, time + handshake, from, || EventKind::Credit);
        }
    }

    /// Records that the receiver `from` has returned a credit to the rank.
    #[cold]
    pub fn credit_back(&self, shared: &mut TargetRank, from: Rank) {
        *shared.meets().under_way.get_mut(&from).expect("it was taken") -= 1;
    }
}

/// Returns the message that the call sends, if any.
pub(super) fn sent(call: &Call) -> Option<&Message> {
    match call {
        Call::Send(message) | Call::Isend(message) | Call::Exchange(message, _) => Some(message),
        _ => None,
    }
}
