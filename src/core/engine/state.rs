//! State of a rank: its tasks, requests, posted receives and unexpected messages.

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

/// Task number of a rank's program; strands have the numbers from 1.
pub(super) const MAIN: u32 = 0;

/// A rank at its worker.
#[derive(Debug)]
pub(super) struct RankState<P> {
    pub program: P,
    pub target: TargetRank,
}

/// State of a rank without its program.
#[derive(Debug)]
pub(super) struct TargetRank {
    pub rank: Rank,
    /// Number of ranks that share this rank's core, including itself.
    pub sharing: u32,
    /// Sequence number of the next event that this rank causes.
    pub sequence: u32,
    /// Turn of the last wait; it distinguishes a wait's events from those of earlier waits.
    pub turns: u32,
    pub main: TaskState,
    pub parts: TimeParts,
    pub requests: RequestTable,
    pub matcher: Matcher<RequestId, Arrived>,
    /// Heads in flight that a later message to the same rank could overtake.
    pub ahead: Vec<PendingHead>,
    /// Latest head of all sent messages. A head that is not earlier overtakes none.
    pub furthest_head: SimTime,
    /// Resources that its messages hold, in the `fair` contention model.
    pub occupied: Option<Box<Occupied>>,
    pub strands: Vec<Option<Box<StrandState>>>,
    /// Idling state, from the first idling of the rank's program on.
    pub idle: Option<Box<Idle>>,
    /// Recorded activity, if enabled.
    pub trail: Option<Box<ActivityRecord>>,
    /// State for the platform's conditions, if any.
    pub meets: Option<Box<RankConditions>>,
}

/// Resources that the messages of a rank hold, in the `fair` contention model.
#[derive(Debug, Default)]
pub(super) struct Occupied {
    /// Receivers of messages that are sent but have not left; further messages to them leave later.
    pub leaving: VecDeque<Rank>,
    /// End of the copies of its core.
    pub copied: SimTime,
    /// Total time of the copies.
    pub copying: SimSpan,
    /// Adapter for the next message, if adapters are used in turn.
    pub turn_of_rails: u32,
}

/// Head of a message in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingHead {
    pub to: Rank,
    pub left: SimTime,
    pub head: SimTime,
}

/// A task that runs concurrently with the rank's program.
#[derive(Debug)]
pub(super) struct StrandState {
    pub control: TaskState,
    /// Absent while the program runs.
    pub program: Option<Box<dyn Program>>,
    /// Request that completes when the strand finishes.
    pub request: RequestId,
    /// Start time.
    pub began: SimTime,
}

/// State of a task.
#[derive(Debug)]
pub(super) struct TaskState {
    pub clock: SimTime,
    /// Path that determined the clock.
    pub path: PathSlot,
    pub wait: Wait,
    pub turn: u32,
    /// Clock at the start of the wait.
    pub since: SimTime,
    /// Current collective.
    pub collective: Option<&'static str>,
    /// Start time and kind of the collective.
    pub entered: (SimTime, u32),
    /// Number of receives posted in the current collective, if recorded.
    pub receives: u32,
    /// Start of uninterrupted polling; NEVER if the task does not poll.
    pub polling: SimTime,
    /// Its time is not part of a collective: the task is the rank's program or one of its threads.
    pub computes: bool,
    /// Number among all tasks of the rank, and site of the current call, if recorded.
    pub serial: u32,
    pub site: u32,
}

/// Condition that a task waits for.
#[derive(Debug)]
pub(super) enum Wait {
    /// None: the task runs or is about to run.
    Nothing,
    /// A message for a blocking receive, posted at the start of the wait: the common case, without a request. Only the
    /// rank's program waits in this way, so this receive follows all posted ones.
    Recv { kind: WaitKind, pattern: Pattern },
    /// All of the requests, of which `left` are incomplete.
    All { kind: WaitKind, requests: Requests, left: u32 },
    /// One of the requests.
    Any(Requests),
    /// The time of its clock, to test the requests then.
    Test { requests: Requests, which: Which, poll: bool },
    /// The arrival of a message.
    Probe(Pattern),
    /// The time of its clock, to probe for a message then.
    Iprobe(Pattern),
    /// The time of its clock, to cancel the receive then.
    Cancel(RequestId),
    /// A change, or the time `until` at the latest, in whole polls from `start`. `changed` means that a change will
    /// occur by then.
    Idle { start: SimTime, until: SimTime, changed: bool },
    /// Its turn, because the task has run far ahead of others. Then it gets this answer.
    Parked(Answer),
    /// The time of its clock, to make this call then: a send that may get a credit by then, or a call that needs a
    /// shared core.
    OwnTime(Box<Call>),
    /// The end of its own block that shares memory.
    Block(SharedBlock),
    /// Nothing: the task has ended.
    Finished,
}

/// Pending reply to a task; its completions are in the logical process.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    Begin,
    Done,
    Started(RequestId),
    Completed,
}

/// Call that waits for all of its requests.
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

/// An arrived message, as the matcher stores it.
#[derive(Debug)]
pub(super) struct Arrived {
    pub size: Bytes,
    /// Departure time.
    pub left: SimTime,
    /// Arrival time of its head.
    pub head: SimTime,
    /// Arrival time of its end; undefined for a rendezvous or with a ticket.
    pub end: SimTime,
    /// Sender's request, if this is the request of a rendezvous.
    pub rendezvous: Option<RequestId>,
    /// Path to the departure.
    pub path: PathSlot,
    /// Ticket of the flow that determines its end, or `NO_FLOW`.
    pub ticket: u32,
    pub payload: Payload,
}

/// Information on an arrived message for probes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbedMessage {
    pub from: Rank,
    pub size: Bytes,
    /// Departure time, where `path` ends.
    pub left: SimTime,
    /// Arrival time of its head.
    pub time: SimTime,
    /// The message is only the request of a rendezvous.
    pub rendezvous: bool,
    pub path: PathSlot,
}

impl Arrived {
    /// Returns the information for probes.
    pub fn header(&self, from: Rank) -> ProbedMessage {
        let Arrived { size, left, head: time, path, .. } = *self;
        ProbedMessage { from, size, left, time, rendezvous: self.rendezvous.is_some(), path }
    }
}

impl TargetRank {
    /// Creates a rank that has not begun, with the initial path.
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

    /// Returns the resources that its messages hold, in the `fair` contention model only.
    pub fn occupied(&mut self) -> &mut Occupied {
        self.occupied.get_or_insert_default()
    }

    /// Returns the end of the copies of its core.
    pub fn copied(&self) -> SimTime {
        self.occupied.as_ref().map_or(SimTime::ZERO, |occupied| occupied.copied)
    }

    /// Removes a message for `to` from those that have not left.
    pub fn left_for(&mut self, to: Rank) {
        let leaving = &mut self.occupied().leaving;
        let at = leaving.iter().position(|&leaving| leaving == to).expect("it was to leave");
        leaving.remove(at);
    }

    /// Returns the sequence number of the next event that this rank causes.
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

    /// Returns [`TargetRank::control`] of a task that may have ended.
    pub fn living(&mut self, task: u32) -> Option<&mut TaskState> {
        match task.checked_sub(1) {
            None => Some(&mut self.main),
            Some(strand) => self.strands.get_mut(strand as usize)?.as_mut().map(|strand| &mut strand.control),
        }
    }

    /// Begins a wait of the task; returns its turn.
    #[inline]
    pub fn begin_wait(&mut self, task: u32, wait: Wait) -> u32 {
        self.turns = self.turns.wrapping_add(1);
        let turn = self.turns;
        let control = self.control(task);
        control.since = control.clock;
        control.turn = turn;
        match std::mem::replace(&mut control.wait, wait) {
            // The common waits own nothing, and the test is cheaper than the drop.
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
