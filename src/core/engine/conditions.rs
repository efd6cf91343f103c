//! What ranks and messages meet beside rates and links, where a platform states it: connections, credits, noise,
//! nodes that are unlike others, and progress that waits for calls. Everything here is off unless a key turns it on.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::platform::{Level, Link, NodeFactors, Noise, Platform, ProgressEngine, Row, Site};
use crate::rank::{Call, Message, Rank, SERVICE, SendMode};
use crate::units::{Bytes, SimSpan, SimTime};

use super::event::EventKind;
use super::lp::LogicalProcess;
use super::mpi_intervals::MpiIntervals;
use super::state::TargetRank;

/// What a worker knows of the platform's conditions.
#[derive(Clone, Debug)]
pub(super) struct Conditions {
    seed: u64,
    noise: Noise,
    /// What computing takes longer by the library's thread.
    thread: f64,
    nodes: NodeFactors,
    connect: [SimSpan; 3],
    credits: [Option<u32>; 3],
}

/// Which of them there are, as the engine asks for every call or message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Effects {
    /// Something makes computing take longer.
    pub slows: bool,
    /// A message may take longer than its link says.
    pub delays: bool,
    /// First messages take longer.
    pub connects: bool,
    /// Eager messages need a credit.
    pub credits: bool,
    /// Messages advance in calls only.
    pub by_call: bool,
    /// Cores that ranks share are asked for what messages take of them.
    pub shares_cores: bool,
}

/// What is kept of a rank for them.
#[derive(Debug, Default)]
pub(super) struct RankConditions {
    /// What its computing takes longer.
    factor: f64,
    /// When the first detour of its core begins.
    phase: SimTime,
    /// The messages it has sent, where their delays are drawn.
    sent: u64,
    /// The ranks it has a connection with.
    connected: FxHashSet<Rank>,
    /// Eager messages under way by receiver.
    under_way: FxHashMap<Rank, u32>,
    /// Its calls.
    pub calls: MpiIntervals,
}

impl Conditions {
    /// Those of `platform` in the run of `seed`, and which there are; none, if there are none.
    pub fn new(platform: &Platform, seed: u64) -> Option<(Box<Conditions>, Effects)> {
        let of_level = |level| platform.link(level).protocol();
        let crate::platform::Conditions { progress, noise, nodes } = &platform.conditions;
        let connect = Level::ALL.map(|level| of_level(level).connect);
        let credits = Level::ALL.map(|level| of_level(level).credits);
        let connects = connect.iter().any(|span| *span > SimSpan::ZERO);
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
        (slows || delays || limited || by_call)
            .then(|| (Box::new(Conditions { seed, noise: *noise, thread, nodes, connect, credits }), effects))
    }

    /// What is kept of `rank`, which is on this core.
    pub fn meets(&self, rank: Rank, site: Site) -> Box<RankConditions> {
        let factor = self.thread * self.noise.of_node(self.seed, site.node) / self.nodes.rate(site);
        let phase = self.noise.system.map_or(SimTime::ZERO, |noise| noise.phase(self.seed, rank));
        Box::new(RankConditions { factor, phase, ..RankConditions::default() })
    }
}

impl RankConditions {
    /// What its computing takes longer.
    pub fn slower(&self) -> f64 {
        self.factor
    }
}

impl TargetRank {
    /// What the platform's conditions keep of the rank.
    pub fn meets(&mut self) -> &mut RankConditions {
        self.meets.as_mut().expect("the platform has conditions")
    }
}

impl LogicalProcess<'_> {
    fn conditions(&self) -> &Conditions {
        self.conditions.as_deref().expect("the platform has conditions")
    }

    /// How long the rank takes from `start` on for work of `alone`.
    #[cold]
    pub fn slowed(&self, shared: &mut TargetRank, start: SimTime, alone: SimSpan) -> SimSpan {
        let factor = shared.meets().factor;
        let span = match factor == 1.0 {
            true => alone,
            false => SimSpan::from_ps((alone.as_ps() as f64 * factor).round() as u64),
        };
        self.with_detours(shared, start, span)
    }

    /// How long the rank takes from `start` on for what takes its core `span`: the operating system stops it.
    pub fn with_detours(&self, shared: &mut TargetRank, start: SimTime, span: SimSpan) -> SimSpan {
        let (rank, phase) = (shared.rank, shared.meets().phase);
        let Conditions { seed, noise, .. } = self.conditions();
        noise.system.map_or(span, |noise| noise.stretched(*seed, rank, phase, start, span))
    }

    /// What a message of the rank takes longer until its head comes than its link says; a control message if it has
    /// no row.
    #[cold]
    pub fn delay(&self, shared: &mut TargetRank, to: Rank, level: Level, row: Option<&Row>, size: Bytes) -> SimSpan {
        let rank = shared.rank;
        let Conditions { seed, noise, connect, .. } = self.conditions();
        let meets = shared.meets.as_mut().expect("the platform has conditions");
        let mut delay = SimSpan::ZERO;
        if connect[level as usize] > SimSpan::ZERO && meets.connected.insert(to) {
            delay += connect[level as usize];
        }
        if let Some(noise) = noise.network {
            let alone =
                row.map_or(self.network.link(level).handshake(), |row| row.latency + row.bandwidth.span(size, 1));
            delay += noise.delay(*seed, rank, meets.sent, alone);
            meets.sent += 1;
        }
        delay
    }

    /// A message of `from` has come to the rank: they are connected.
    #[cold]
    pub fn connected(&self, shared: &mut TargetRank, from: Rank) {
        shared.meets().connected.insert(from);
    }

    /// Whether the credits of the receiver do not tell yet if `message` can go eagerly: messages may have been
    /// received by the time of the rank's clock of which it has not heard. Beside strands any message waits for its
    /// time: another task may send before.
    pub fn lacks_credit(&self, shared: &mut TargetRank, message: &Message) -> bool {
        let level = self.level(shared.rank, message.to);
        let limited = self.conditions().credits[level as usize].is_some();
        if limited && shared.strands.iter().any(Option::is_some) {
            return true;
        }
        self.is_credited(self.network.link(level), message) && !self.has_credit(shared, message.to, level)
    }

    /// Whether it goes eagerly only if there is a credit.
    fn is_credited(&self, link: &Link, message: &Message) -> bool {
        message.mode == SendMode::Standard && message.context != SERVICE && message.size <= link.eager_threshold()
    }

    fn has_credit(&self, shared: &mut TargetRank, to: Rank, level: Level) -> bool {
        let under_way = shared.meets().under_way.get(&to).copied().unwrap_or(0);
        self.conditions().credits[level as usize].is_none_or(|credits| under_way < credits)
    }

    /// Takes a credit for an eager message: false if there is none, which only a standard send heeds.
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

    /// An eager message of `from` has left its buffer at `time`: its credit goes back.
    #[cold]
    pub fn give_credit(&mut self, shared: &mut TargetRank, from: Rank, time: SimTime) {
        let level = self.level(from, shared.rank);
        if self.conditions().credits[level as usize].is_some() {
            let handshake = self.network.link(level).handshake();
            self.push(shared, time + handshake, from, || EventKind::Credit);
        }
    }

    /// A credit of `from` has come back.
    #[cold]
    pub fn credit_back(&self, shared: &mut TargetRank, from: Rank) {
        *shared.meets().under_way.get_mut(&from).expect("it was taken") -= 1;
    }
}

/// The message that a call sends.
pub(super) fn sent(call: &Call) -> Option<&Message> {
    match call {
        Call::Send(message) | Call::Isend(message) | Call::Exchange(message, _) => Some(message),
        _ => None,
    }
}
