//! State of a rank: its tasks, requests, posted receives and unexpected messages.

use std::collections::VecDeque;

use mcpsim_base::platform::Level;
use mcpsim_base::profile::TimeParts;
use mcpsim_base::rank::{
    Call, Completion, Envelope, Matcher, Pattern, Payload, Program, Rank, Reply, ReplyKind, RequestId, Requests, Which,
};
use mcpsim_base::units::{Bytes, SimSpan, SimTime};

use super::activity::{ActivityLimits, ActivityRecord};
use super::conditions::RankConditions;
use super::idle::Idle;
use super::memory::SharedBlock;
use super::paths::PathSlot;
use super::rank_times::{ThreadRecord, ThreadsOfRank};
use super::requests::RequestTable;
use super::resource::fifo::Fifo;

/// Number of the task that executes a rank's program; strands have the numbers from 1.
pub(super) const MAIN: u32 = 0;

/// State of a rank with its program, at the worker of the rank.
#[derive(Debug)]
pub(super) struct RankState<P> {
    pub program: P,
    pub target: TargetRank,
}

/// State of a rank without the rank's program.
#[derive(Debug)]
pub(super) struct TargetRank {
    pub rank: Rank,
    /// Number of ranks on this rank's core, including this rank.
    pub sharing: u32,
    /// Sequence number of the next event that this rank causes.
    pub sequence: u32,
    /// Number of waits that the tasks of the rank have begun; this number distinguishes the events of a wait from the
    /// events of earlier waits.
    pub turns: u32,
    pub main: TaskState,
    pub parts: TimeParts,
    pub requests: RequestTable,
    pub matcher: Matcher<RequestId, Arrived>,
    /// Message heads in flight that a later message to the same rank could overtake.
    pub ahead: Vec<PendingHead>,
    /// Latest arrival time of the heads of all messages that the rank has sent. A message head that arrives no earlier
    /// than this time overtakes no other head.
    pub furthest_head: SimTime,
    /// Resources that the messages of the rank hold, in the `fair` contention model.
    pub occupied: Option<Box<Occupied>>,
    pub strands: Vec<Option<Box<StrandState>>>,
    /// State of the rank's idling, from the first idling of the rank's program on.
    pub idle: Option<Box<Idle>>,
    /// Recorded activity of the rank, if enabled.
    pub trail: Option<Box<ActivityRecord>>,
    /// State that the platform's conditions keep for the rank, if any.
    pub meets: Option<Box<RankConditions>>,
    /// Times of the rank's threads, from the start of the first thread with a clock of its own on.
    pub threads: Option<Box<ThreadsOfRank>>,
}

/// Resources that the messages of a rank hold, in the `fair` contention model.
#[derive(Debug, Default)]
pub(super) struct Occupied {
    /// Receivers of messages that the rank has sent but that have not left; further messages to these receivers leave
    /// later.
    pub leaving: VecDeque<Rank>,
    /// Message copies of the rank's core.
    pub copies: Fifo,
    /// Total time of the message copies of the rank's core.
    pub copying: SimSpan,
    /// Counter that selects the adapter of the rank's next message, if the messages of a rank use the adapters in turn.
    pub turn_of_rails: u32,
}

/// Head of a message that the rank has sent and that has not arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingHead {
    pub to: Rank,
    pub left: SimTime,
    pub head: SimTime,
}

/// A strand: a task that runs concurrently with the rank's program.
#[derive(Debug)]
pub(super) struct StrandState {
    pub control: TaskState,
    /// Program of the strand (concurrent task); absent while the program is executed.
    pub program: Option<Box<dyn Program>>,
    /// Request of the rank that completes when the strand (concurrent task) ends.
    pub request: RequestId,
    /// Virtual time at which the strand (concurrent task) started.
    pub began: SimTime,
    /// Record of the strand, if the strand is a listed thread.
    pub thread: Option<Box<ThreadRecord>>,
}

/// State of a task: the rank's program or a strand.
#[derive(Debug)]
pub(super) struct TaskState {
    pub clock: SimTime,
    /// Critical path that determined the task's clock.
    pub path: PathSlot,
    pub wait: Wait,
    pub turn: u32,
    /// Clock of the task at the start of its wait.
    pub since: SimTime,
    /// Name of the collective that the task executes, if any.
    pub collective: Option<&'static str>,
    /// Start time and kind of the collective that the task executes.
    pub entered: (SimTime, u32),
    /// Number of receives that the task has posted in its current collective, if recorded.
    pub receives: u32,
    /// Virtual time at which the task's uninterrupted polling began; NEVER if the task does not poll.
    pub polling: SimTime,
    /// The task's time is not part of a collective, because the task is the rank's program or a thread of the program.
    pub computes: bool,
    /// Serial number of the task among all tasks of the rank, and call site of the task's current call, if recorded.
    pub serial: u32,
    pub site: u32,
}

/// Condition that a task waits for.
///
/// The tag is a word. After a smaller tag, a variant is copied with its padding, by loads that overlap the stores of the
/// fields and therefore stall.
#[derive(Debug)]
#[repr(u64)]
pub(super) enum Wait {
    /// The task does not wait: it runs or is about to run.
    Nothing,
    /// The task waits for the message of a blocking receive that was posted at the start of the wait. The wait for a
    /// blocking receive is the most common wait and needs no request. Only the rank's program waits in this way, so
    /// this receive follows all posted receives.
    Recv { pattern: Pattern, kind: WaitKind },
    /// The program waits for the end of the flow of the message that its blocking receive has matched.
    Flow(WaitKind),
    /// The task waits for all of these requests, of which `left` are incomplete.
    All { kind: WaitKind, left: u32, requests: Requests },
    /// The task waits for any of these requests.
    Any(Requests),
    /// The rank's program waits for any of these requests of a long list. The requests do not state that the program
    /// waits for them.
    AnyOfMany(Requests),
    /// The task waits until the simulation reaches its clock, and then tests these requests.
    Test { requests: Requests, which: Which, poll: bool },
    /// The task waits for the arrival of a message, without receiving the message.
    Probe(Pattern),
    /// The task waits until the simulation reaches its clock, and then probes for a message.
    Iprobe(Pattern),
    /// The task waits until the simulation reaches its clock, and then cancels this receive.
    Cancel(RequestId),
    /// The task polls in a loop: it waits for a change, at most until `until`, in whole polls from `start`. `changed`
    /// is true if a request completes or a message arrives by `until`.
    Idle { start: SimTime, until: SimTime, changed: bool },
    /// The task has run far ahead of other tasks and waits until the simulation reaches its clock. The task then gets
    /// this answer.
    Parked(Answer),
    /// The task waits until the simulation reaches its clock, and then makes this call: a send that may get a credit by
    /// then, or a call that needs a shared core.
    OwnTime(Box<Call>),
    /// The task waits for the end of its own computing block, which shares memory bandwidth with other blocks.
    Block(SharedBlock),
    /// The task has ended.
    Finished,
}

impl Wait {
    /// Returns whether the wait may own memory. The most common waits own nothing.
    #[inline(always)]
    fn owns(&self) -> bool {
        !matches!(self, Wait::Nothing | Wait::Recv { .. } | Wait::Flow(_))
    }

    /// Ends the wait for a blocking receive; returns whether it was such a wait. The wait is not copied.
    #[inline(always)]
    pub fn end_receive(&mut self) -> bool {
        let receives = matches!(self, Wait::Recv { .. } | Wait::Flow(_));
        if receives {
            std::mem::forget(std::mem::replace(self, Wait::Nothing));
        }
        receives
    }
}

/// Reply that a task will get; completed requests are stored in the logical process.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer {
    Begin,
    Done,
    Started(RequestId),
    Completed,
}

impl Answer {
    #[inline(always)]
    pub fn reply(self, clock: SimTime, completions: &mut [Completion]) -> Reply<'_> {
        let kind = match self {
            Answer::Begin => ReplyKind::Begin,
            Answer::Done => ReplyKind::Done,
            Answer::Started(id) => ReplyKind::Started(id),
            Answer::Completed => ReplyKind::Completed(completions),
        };
        Reply { clock, kind }
    }
}

/// Kind of call that waits for all of its requests.
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

/// An arrived message without a receive, as the message matcher stores it.
#[derive(Debug)]
pub(super) struct Arrived {
    pub size: Bytes,
    /// Departure time of the message.
    pub left: SimTime,
    /// Arrival time of the message's head.
    pub head: SimTime,
    /// Arrival time of the message's last byte; undefined for a rendezvous, and for a message whose flow has not ended.
    pub end: SimTime,
    /// Send request of the sender, if this message is the request (RTS) of a rendezvous.
    pub rendezvous: Option<RequestId>,
    /// Critical path that determined the departure time of the message.
    pub path: PathSlot,
    /// Identifier of the flow that determines the arrival of the message's last byte, or `NO_FLOW`.
    pub ticket: u32,
    pub payload: Payload,
}

/// A blocking receive of a rank's program, posted at `posted`, and the message that the receive has matched.
#[derive(Debug)]
pub(super) struct MatchedReceive {
    pub envelope: Envelope,
    pub level: Level,
    pub arrived: Arrived,
    pub posted: SimTime,
}

/// Information on an arrived message, for probes.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProbedMessage {
    pub from: Rank,
    pub size: Bytes,
    /// Departure time of the message, at the end of `path`.
    pub left: SimTime,
    /// Arrival time of the message's head.
    pub time: SimTime,
    /// The message is only the request of a rendezvous.
    pub rendezvous: bool,
    pub path: PathSlot,
}

impl Arrived {
    /// Returns the information on this message, for probes.
    pub fn header(&self, from: Rank) -> ProbedMessage {
        let Arrived { size, left, head: time, path, .. } = *self;
        ProbedMessage { from, size, left, time, rendezvous: self.rendezvous.is_some(), path }
    }
}

impl TargetRank {
    /// Creates the state of a rank that has not begun, whose path is `path`.
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
            threads: None,
        }
    }

    /// Sets the virtual time at which the rank's program starts.
    pub fn start_at(&mut self, start: SimTime) {
        if start > SimTime::ZERO {
            (self.main.clock, self.main.since, self.main.entered.0) = (start, start, start);
            if let Some(trail) = &mut self.trail {
                trail.start_at(start);
            }
        }
    }

    /// Returns the resources that the rank's messages hold, in the `fair` contention model only.
    pub fn occupied(&mut self) -> &mut Occupied {
        self.occupied.get_or_insert_default()
    }

    /// Returns the time at which the rank's core ends its message copies.
    pub fn copied(&self) -> SimTime {
        self.occupied.as_ref().map_or(SimTime::ZERO, |occupied| occupied.copies.free())
    }

    /// Removes a message for the rank `to` from the messages that the rank has sent but that have not left.
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

    /// Returns the state of a task as [`TargetRank::control`]; `None` if the task has ended.
    pub fn living(&mut self, task: u32) -> Option<&mut TaskState> {
        match task.checked_sub(1) {
            None => Some(&mut self.main),
            Some(strand) => self.strands.get_mut(strand as usize)?.as_mut().map(|strand| &mut strand.control),
        }
    }

    /// Begins a wait of the task and returns the number of this wait at the rank.
    #[inline]
    pub fn begin_wait(&mut self, task: u32, wait: Wait) -> u32 {
        self.turns = self.turns.wrapping_add(1);
        let turn = self.turns;
        let control = self.control(task);
        control.since = control.clock;
        control.turn = turn;
        if control.wait.owns() {
            control.wait = Wait::Nothing;
        }
        // The wait before owns nothing, so only the new wait is written.
        std::mem::forget(std::mem::replace(&mut control.wait, wait));
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
