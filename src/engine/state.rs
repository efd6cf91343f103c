//! What the engine keeps of a rank: its tasks, its requests, what it has posted and what has come unasked.

use crate::profile::TimeParts;
use crate::rank::{Matcher, Pattern, Payload, Program, Rank, RequestId, Requests, Source, Tag, TagPattern, Which};
use crate::units::{Bytes, SimSpan, SimTime};

use super::idle::Idle;

/// No task: nobody waits for the request.
pub(super) const NOBODY: u32 = u32::MAX;
/// A rank's own program; strands have the numbers from 1.
pub(super) const MAIN: u32 = 0;

/// A rank on its worker.
#[derive(Debug)]
pub(super) struct RankState<P> {
    pub program: P,
    pub shared: Shared,
}

/// All of a rank but its program.
#[derive(Debug)]
pub(super) struct Shared {
    pub rank: Rank,
    /// The ranks on this rank's core, itself included: they take turns at it.
    pub sharing: u32,
    /// The number of the next event this rank causes.
    pub sequence: u32,
    /// The turn of the last wait: tells a wait's events from those of an earlier one.
    pub turns: u32,
    pub main: Control,
    pub parts: TimeParts,
    pub requests: RequestTable,
    pub matcher: Matcher<RequestId, Arrived>,
    /// Heads on their way that a later message to the same rank could overtake.
    pub ahead: Vec<Ahead>,
    /// The latest head of all messages sent: one that comes no earlier overtakes nobody.
    pub furthest_head: SimTime,
    pub strands: Vec<Option<Box<Strand>>>,
    /// There is one from when the rank's own program idles first.
    pub idle: Option<Box<Idle>>,
}

/// A head on its way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ahead {
    pub to: Rank,
    pub left: SimTime,
    pub head: SimTime,
}

/// A task that proceeds beside the rank's program.
#[derive(Debug)]
pub(super) struct Strand {
    pub control: Control,
    /// Absent while it runs.
    pub program: Option<Box<dyn Program>>,
    /// Completes when the strand finishes.
    pub request: RequestId,
}

/// Where a task stands.
#[derive(Debug)]
pub(super) struct Control {
    pub clock: SimTime,
    pub wait: Wait,
    pub turn: u32,
    /// The clock when the wait began.
    pub since: SimTime,
    /// The collective the task is in.
    pub collective: Option<&'static str>,
}

/// What a task waits for.
#[derive(Debug)]
pub(super) enum Wait {
    /// Nothing: it runs, or is about to.
    Nothing,
    /// A message for its blocking receive, posted when the wait began: the common case, without a request. Only the rank's own
    /// program waits like this, and so this receive comes after all posted ones.
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
    /// A change, or at the latest the time `until`, in whole polls from `start`; `changed` if there will be one by then.
    Idle { start: SimTime, until: SimTime, changed: bool },
    /// Its turn: it has run far ahead of the others. Then it gets this answer.
    Parked(Answer),
    /// Nothing ever: it has ended.
    Finished,
}

/// The reply a task is owed; completions are at the desk.
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
    /// When its head came.
    pub head: SimTime,
    /// When its end came or comes; not yet meaningful for a rendezvous.
    pub end: SimTime,
    /// The sender's request, if this is the request of a rendezvous.
    pub rendezvous: Option<RequestId>,
    pub payload: Payload,
}

/// A request of a rank. Kept within a cache line: there are several to each rank, and each is touched several times.
#[derive(Debug)]
pub(super) struct Request {
    /// When it is or was ready; for an unmatched receive, when it was posted.
    pub ready: SimTime,
    /// What completing it costs the rank's core.
    pub overhead: SimSpan,
    /// The message's size; for an unmatched receive, what it has room for.
    pub size: Bytes,
    pub payload: Payload,
    /// The other rank, [`ANYBODY`] for an unmatched receive from any source, or the number of a strand.
    pub peer: u32,
    /// The message's tag, or [`ANYBODY`].
    pub tag: u32,
    /// The task that waits for it, or [`NOBODY`]; the next free entry if free.
    pub waiter: u32,
    pub state: RequestState,
    pub kind: RequestKind,
}

/// Any source or any tag.
const ANYBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestState {
    Free,
    Pending,
    Ready,
}

/// What a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestKind {
    /// A receive without a message.
    Unmatched,
    /// A receive and the message it got.
    Matched,
    /// A receive that was withdrawn.
    Cancelled,
    /// A send; the payload is with the receiver.
    Send,
    /// A strand.
    Strand,
}

impl Request {
    fn new(kind: RequestKind, peer: u32, tag: u32, size: Bytes, ready: SimTime) -> Self {
        Request {
            ready,
            overhead: SimSpan::ZERO,
            size,
            payload: None,
            peer,
            tag,
            waiter: NOBODY,
            state: RequestState::Pending,
            kind,
        }
    }

    /// A receive posted at `posted`.
    #[inline]
    pub fn receive(pattern: &Pattern, posted: SimTime) -> Self {
        let peer = match pattern.from {
            Source::Rank(rank) => rank,
            Source::Any => ANYBODY,
        };
        let tag = match pattern.tag {
            TagPattern::Tag(tag) => tag,
            TagPattern::Any => ANYBODY,
        };
        Request::new(RequestKind::Unmatched, peer, tag, pattern.capacity, posted)
    }

    /// A send that left at `left`.
    pub fn send(to: Rank, tag: Tag, size: Bytes, left: SimTime) -> Self {
        Request::new(RequestKind::Send, to, tag, size, left)
    }

    /// A strand of this number.
    pub fn strand(number: u32, started: SimTime) -> Self {
        Request::new(RequestKind::Strand, number, 0, Bytes::ZERO, started)
    }

    /// For whom the request waits, in words, and the rank if there is just one.
    pub fn awaits(&self) -> (String, Option<Rank>) {
        let Request { peer, tag, size, .. } = self;
        match self.kind {
            RequestKind::Unmatched | RequestKind::Cancelled => describe(*peer, *tag),
            RequestKind::Matched => (format!("the {size} of tag {tag} that rank {peer} is sending"), Some(*peer)),
            RequestKind::Send => (format!("rank {peer} to receive {size}, tag {tag}"), Some(*peer)),
            RequestKind::Strand => ("a non-blocking collective".to_owned(), None),
        }
    }
}

/// A rank's requests by number.
#[derive(Debug)]
pub(super) struct RequestTable {
    entries: Vec<Request>,
    free: u32,
}

impl Shared {
    pub fn new(rank: Rank, sharing: u32) -> Self {
        Shared {
            rank,
            sharing,
            sequence: 0,
            turns: 0,
            main: Control::new(SimTime::ZERO),
            parts: TimeParts::default(),
            requests: RequestTable { entries: Vec::new(), free: NOBODY },
            matcher: Matcher::default(),
            ahead: Vec::new(),
            furthest_head: SimTime::ZERO,
            strands: Vec::new(),
            idle: None,
        }
    }

    /// The number of the next event this rank causes.
    #[inline]
    pub fn next_sequence(&mut self) -> u32 {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        sequence
    }

    pub fn control(&mut self, task: u32) -> &mut Control {
        match task.checked_sub(1) {
            None => &mut self.main,
            Some(strand) => &mut self.strands[strand as usize].as_mut().expect("the strand is alive").control,
        }
    }

    /// As [`Shared::control`], for a task that may have ended.
    pub fn living(&mut self, task: u32) -> Option<&mut Control> {
        match task.checked_sub(1) {
            None => Some(&mut self.main),
            Some(strand) => self.strands.get_mut(strand as usize)?.as_mut().map(|strand| &mut strand.control),
        }
    }

    /// The task begins to wait.
    pub fn begin_wait(&mut self, task: u32, wait: Wait) -> u32 {
        self.turns = self.turns.wrapping_add(1);
        let turn = self.turns;
        let control = self.control(task);
        control.since = control.clock;
        control.turn = turn;
        control.wait = wait;
        turn
    }

    /// Accounts for time the task's core spends; only the rank's own program counts.
    pub fn spend(&mut self, task: u32, kind: Spent, span: SimSpan) {
        self.control(task).clock += span;
        if task != MAIN {
            return;
        }
        let part = match kind {
            Spent::Compute if self.main.collective.is_none() => &mut self.parts.compute,
            _ if self.main.collective.is_some() => &mut self.parts.collective,
            Spent::Send => &mut self.parts.send,
            Spent::Recv => &mut self.parts.recv,
            Spent::Wait | Spent::Compute => &mut self.parts.wait,
        };
        *part += span;
    }

    /// The task has waited until `time`, if that is later than its clock.
    #[inline]
    pub fn wait_until(&mut self, task: u32, time: SimTime) {
        let clock = self.control(task).clock;
        if time > clock {
            self.spend(task, Spent::Wait, time.since(clock));
        }
    }
}

/// What time was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spent {
    Compute,
    Send,
    Recv,
    Wait,
}

impl Control {
    pub fn new(clock: SimTime) -> Self {
        Control { clock, wait: Wait::Nothing, turn: 0, since: clock, collective: None }
    }
}

impl RequestTable {
    /// Takes up a new request.
    #[inline]
    pub fn add(&mut self, request: Request) -> RequestId {
        if self.free == NOBODY {
            // Most ranks of a large machine have one or two: do not take room for four.
            if self.entries.len() == self.entries.capacity() && self.entries.len() < 4 {
                self.entries.reserve_exact(1 + self.entries.len());
            }
            self.entries.push(request);
            self.entries.len() as u32 - 1
        } else {
            let id = self.free;
            let entry = &mut self.entries[id as usize];
            self.free = entry.waiter;
            *entry = request;
            id
        }
    }

    /// Ends a request.
    pub fn remove(&mut self, id: RequestId) -> Request {
        let entry = &mut self.entries[id as usize];
        assert!(entry.state != RequestState::Free, "request {id} ended twice");
        let request = Request { payload: entry.payload.take(), ..*entry };
        entry.state = RequestState::Free;
        entry.waiter = self.free;
        self.free = id;
        request
    }

    /// All of them, and the free entries between.
    pub fn iter(&self) -> impl Iterator<Item = &Request> {
        self.entries.iter()
    }

    #[inline]
    pub fn get(&self, id: RequestId) -> &Request {
        &self.entries[id as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, id: RequestId) -> &mut Request {
        &mut self.entries[id as usize]
    }
}

/// What a receive or probe waits for, in words.
fn describe(peer: u32, tag: u32) -> (String, Option<Rank>) {
    let tag = if tag == ANYBODY { String::new() } else { format!(", tag {tag}") };
    match peer {
        ANYBODY => (format!("a message from any rank{tag}"), None),
        peer => (format!("a message from rank {peer}{tag}"), Some(peer)),
    }
}
