//! What the engine keeps of a rank: its tasks, its requests, what it has posted and what has come unasked.

use std::collections::VecDeque;

use crate::profile::TimeParts;
use crate::rank::{Call, Matcher, Pattern, Payload, Program, Rank, RequestId, Requests, Which};
use crate::units::{Bytes, SimSpan, SimTime};

use super::activity::{ActivityLimits, ActivityRecord};
use super::conditions::RankConditions;
use super::idle::Idle;
use super::memory::SharedBlock;
use super::paths::PathSlot;
use super::requests::RequestTable;

/// A rank's own program; strands have the numbers from 1.
pub(super) const MAIN: u32 = 0;

/// A rank on its worker.
#[derive(Debug)]
pub(super) struct RankState<P> {
    pub program: P,
    pub target: TargetRank,
}

/// All of a rank but its program.
#[derive(Debug)]
pub(super) struct TargetRank {
    pub rank: Rank,
    /// The ranks on this rank's core, itself included: they take turns at it.
    pub sharing: u32,
    /// The number of the next event this rank causes.
    pub sequence: u32,
    /// The turn of the last wait: tells a wait's events from those of an earlier one.
    pub turns: u32,
    pub main: TaskState,
    pub parts: TimeParts,
    pub requests: RequestTable,
    pub matcher: Matcher<RequestId, Arrived>,
    /// Heads on their way that a later message to the same rank could overtake.
    pub ahead: Vec<PendingHead>,
    /// The latest head of all messages sent: one that comes no earlier overtakes nobody.
    pub furthest_head: SimTime,
    /// What its messages occupy, under fair shares.
    pub occupied: Option<Box<Occupied>>,
    pub strands: Vec<Option<Box<StrandState>>>,
    /// There is one from when the rank's own program idles first.
    pub idle: Option<Box<Idle>>,
    /// What it did, where that is recorded.
    pub trail: Option<Box<ActivityRecord>>,
    /// What it meets, where the platform has conditions.
    pub meets: Option<Box<RankConditions>>,
}

/// What the messages of a rank occupy, under fair shares.
#[derive(Debug, Default)]
pub(super) struct Occupied {
    /// The receivers of messages that have been sent but have not left: what goes to them leaves behind these.
    pub leaving: VecDeque<Rank>,
    /// Until when its core copies messages.
    pub copied: SimTime,
    /// For how long it has copied.
    pub copying: SimSpan,
    /// The adapter whose turn it is, where one is taken after the other.
    pub turn_of_rails: u32,
}

/// A head on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingHead {
    pub to: Rank,
    pub left: SimTime,
    pub head: SimTime,
}

/// A task that proceeds beside the rank's program.
#[derive(Debug)]
pub(super) struct StrandState {
    pub control: TaskState,
    /// Absent while it runs.
    pub program: Option<Box<dyn Program>>,
    /// Completes when the strand finishes.
    pub request: RequestId,
    /// When it began.
    pub began: SimTime,
}

/// Where a task stands.
#[derive(Debug)]
pub(super) struct TaskState {
    pub clock: SimTime,
    /// The path that determined the clock.
    pub path: PathSlot,
    pub wait: Wait,
    pub turn: u32,
    /// The clock when the wait began.
    pub since: SimTime,
    /// The collective the task is in.
    pub collective: Option<&'static str>,
    /// When it entered that, and of which kind it is.
    pub entered: (SimTime, u32),
    /// The receives that it has posted in the collective it is in, where that is asked for.
    pub receives: u32,
    /// Since when it has done nothing but poll; NEVER if it does not poll.
    pub polling: SimTime,
    /// Its time is no part of a collective: the rank's own program, or a thread of it.
    pub computes: bool,
    /// Its number among all tasks of the rank, and the place of its present call; where these are recorded.
    pub serial: u32,
    pub site: u32,
}

/// What a task waits for.
#[derive(Debug)]
pub(super) enum Wait {
    /// Nothing: it runs, or is about to.
    Nothing,
    /// A message for its blocking receive, posted when the wait began: the common case, without a request. Only the
    /// rank's own program waits like this, and so this receive comes after all posted ones.
    Recv { kind: WaitKind, pattern: Pattern },
    /// All of the requests, of which `left` are unfinished.
    All { kind: WaitKind, requests: Requests, left: u32 },
    /// One of the requests.
    Any(Requests),
    /// The time of its clock, to look at the requests then.
    Test { requests: Requests, which: Which, poll: bool },
    /// A message to come.
    Probe(Pattern),
    /// The time of its clock, to look for a message then.
    Iprobe(Pattern),
    /// The time of its clock, to withdraw the receive then.
    Cancel(RequestId),
    /// A change, or at the latest the time `until`, in whole polls from `start`; `changed` if there will be one by
    /// then.
    Idle { start: SimTime, until: SimTime, changed: bool },
    /// Its turn: it has run far ahead of the others. Then it gets this answer.
    Parked(Answer),
    /// The time of its clock, to make this call then: it sends a message for which there may be a credit by then, or asks
    /// a core that others share.
    OwnTime(Box<Call>),
    /// The end of a block of its own that shares memory.
    Block(SharedBlock),
    /// Nothing ever: it has ended.
    Finished,
}

/// The reply a task is owed; completions are at the logical process.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    Begin,
    Done,
    Started(RequestId),
    Completed,
}

/// Which call waits for all of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitKind {
    Send,
    Recv,
    Exchange,
    WaitAll,
    Complete,
}

impl WaitKind {
    pub fn name(self) -> &'static str {
        match self {
            WaitKind::Send => "send",
            WaitKind::Recv => "recv",
            WaitKind::Exchange => "sendrecv",
            WaitKind::WaitAll | WaitKind::Complete => "wait",
        }
    }
}

/// A message that has come, as the matcher keeps it.
#[derive(Debug)]
pub(super) struct Arrived {
    pub size: Bytes,
    /// When it left.
    pub left: SimTime,
    /// When its head came.
    pub head: SimTime,
    /// When its end came or comes; not yet meaningful for a rendezvous, nor with a ticket.
    pub end: SimTime,
    /// The sender's request, if this is the request of a rendezvous.
    pub rendezvous: Option<RequestId>,
    /// The path to its leaving.
    pub path: PathSlot,
    /// The ticket by which its end is asked for, or `NO_FLOW`.
    pub ticket: u32,
    pub payload: Payload,
}

/// What a probe sees of a message that has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbedMessage {
    pub from: Rank,
    pub size: Bytes,
    /// When it left, to where `path` got.
    pub left: SimTime,
    /// When its head came.
    pub time: SimTime,
    /// It is only the request of a rendezvous.
    pub rendezvous: bool,
    pub path: PathSlot,
}

impl Arrived {
    /// What a probe sees of it.
    pub fn header(&self, from: Rank) -> ProbedMessage {
        let Arrived { size, left, head: time, path, .. } = *self;
        ProbedMessage { from, size, left, time, rendezvous: self.rendezvous.is_some(), path }
    }
}

impl TargetRank {
    /// A rank that has not begun, whose path is that of the beginning.
    pub fn new(rank: Rank, sharing: u32, path: PathSlot, recording: ActivityLimits) -> Self {
        TargetRank {
            rank,
            sharing,
            sequence: 0,
            turns: 0,
            main: TaskState::new(SimTime::ZERO, path),
            parts: TimeParts::default(),
            requests: RequestTable::default(),
            matcher: Matcher::default(),
            ahead: Vec::new(),
            furthest_head: SimTime::ZERO,
            occupied: None,
            strands: Vec::new(),
            idle: None,
            trail: ActivityRecord::new(recording),
            meets: None,
        }
    }

    /// What its messages occupy; asked for under fair shares only.
    pub fn occupied(&mut self) -> &mut Occupied {
        self.occupied.get_or_insert_default()
    }

    /// Until when its core copies messages.
    pub fn copied(&self) -> SimTime {
        self.occupied.as_ref().map_or(SimTime::ZERO, |occupied| occupied.copied)
    }

    /// A message for `to` leaves, which was among those that had not.
    pub fn left_for(&mut self, to: Rank) {
        let leaving = &mut self.occupied().leaving;
        let at = leaving.iter().position(|&leaving| leaving == to).expect("it was to leave");
        leaving.remove(at);
    }

    /// The number of the next event this rank causes.
    #[inline]
    pub fn next_sequence(&mut self) -> u32 {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        sequence
    }

    #[inline(always)]
    pub fn control(&mut self, task: u32) -> &mut TaskState {
        match task.checked_sub(1) {
            None => &mut self.main,
            Some(strand) => &mut self.strands[strand as usize].as_mut().expect("the strand is alive").control,
        }
    }

    /// As [`TargetRank::control`], for a task that may have ended.
    pub fn living(&mut self, task: u32) -> Option<&mut TaskState> {
        match task.checked_sub(1) {
            None => Some(&mut self.main),
            Some(strand) => self.strands.get_mut(strand as usize)?.as_mut().map(|strand| &mut strand.control),
        }
    }

    /// The task begins to wait.
    #[inline]
    pub fn begin_wait(&mut self, task: u32, wait: Wait) -> u32 {
        self.turns = self.turns.wrapping_add(1);
        let turn = self.turns;
        let control = self.control(task);
        control.since = control.clock;
        control.turn = turn;
        match std::mem::replace(&mut control.wait, wait) {
            // The common ones own nothing: dropping them costs more than to see that.
            before @ (Wait::Nothing | Wait::Recv { .. }) => std::mem::forget(before),
            before => drop(before),
        }
        turn
    }
}

impl TaskState {
    pub fn new(clock: SimTime, path: PathSlot) -> Self {
        let (since, polling) = (clock, SimTime::NEVER);
        let (wait, collective, entered, computes) = (Wait::Nothing, None, (clock, 0), true);
        TaskState {
            clock,
            path,
            wait,
            turn: 0,
            since,
            collective,
            entered,
            receives: 0,
            polling,
            computes,
            serial: 0,
            site: 0,
        }
    }
}
