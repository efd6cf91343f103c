//! What the engine keeps of a rank: its tasks, its requests, what it has posted and what has come unasked.

use crate::profile::{State, TimeParts};
use crate::rank::{Matcher, Pattern, Payload, Program, Rank, RequestId, Requests, Source, Tag, TagPattern, Which};
use crate::units::{Bytes, SimSpan, SimTime};

use super::desk::Desk;
use super::idle::Idle;
use super::paths::PathSlot;
use super::trail::{Mark, Point, Recording, Trail};

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
    /// What it did, where that is recorded.
    pub trail: Option<Box<Trail>>,
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
    /// The path that determined the clock.
    pub path: PathSlot,
    pub wait: Wait,
    pub turn: u32,
    /// The clock when the wait began.
    pub since: SimTime,
    /// The collective the task is in.
    pub collective: Option<&'static str>,
    /// Since when it has done nothing but poll; NEVER if it does not poll.
    pub polling: SimTime,
    /// Its number among all tasks of the rank, and the place of its present call; where these are recorded.
    pub serial: u32,
    pub site: u32,
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
    /// When it left.
    pub left: SimTime,
    /// When its head came.
    pub head: SimTime,
    /// When its end came or comes; not yet meaningful for a rendezvous.
    pub end: SimTime,
    /// The sender's request, if this is the request of a rendezvous.
    pub rendezvous: Option<RequestId>,
    /// The path to its leaving.
    pub path: PathSlot,
    pub payload: Payload,
}

/// What a probe sees of a message that has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
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
    pub fn header(&self, from: Rank) -> Header {
        let Arrived { size, left, head: time, path, .. } = *self;
        Header { from, size, left, time, rendezvous: self.rendezvous.is_some(), path }
    }
}

/// What a task has waited for: a transfer that started at `left`, to where `path` got; or, if it was there at `left`, nothing more.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cause {
    pub path: PathSlot,
    pub left: SimTime,
    pub from: Rank,
    pub size: Bytes,
}

/// A request of a rank. Kept within a cache line: there are several to each rank, and each is touched several times.
#[derive(Debug)]
pub(super) struct Request {
    /// When it is or was ready; for an unmatched receive, when it was posted.
    pub ready: SimTime,
    /// When the transfer started that made it ready; `ready` if there was none.
    pub left: SimTime,
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
    /// The path that got to `left`; for an unmatched receive, to where it was posted.
    pub path: PathSlot,
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
    fn new(kind: RequestKind, peer: u32, tag: u32, size: Bytes, ready: SimTime, path: PathSlot) -> Self {
        Request {
            ready,
            left: ready,
            overhead: SimSpan::ZERO,
            size,
            payload: None,
            peer,
            tag,
            waiter: NOBODY,
            path,
            state: RequestState::Pending,
            kind,
        }
    }

    /// A receive posted at `posted`, to where `path` got.
    #[inline]
    pub fn receive(pattern: &Pattern, posted: SimTime, path: PathSlot) -> Self {
        let peer = match pattern.from {
            Source::Rank(rank) => rank,
            Source::Any => ANYBODY,
        };
        let tag = match pattern.tag {
            TagPattern::Tag(tag) => tag,
            TagPattern::Any => ANYBODY,
        };
        Request::new(RequestKind::Unmatched, peer, tag, pattern.capacity, posted, path)
    }

    /// A send that left at `left`.
    pub fn send(to: Rank, tag: Tag, size: Bytes, left: SimTime) -> Self {
        Request::new(RequestKind::Send, to, tag, size, left, PathSlot::NONE)
    }

    /// A strand of this number.
    pub fn strand(number: u32, started: SimTime) -> Self {
        Request::new(RequestKind::Strand, number, 0, Bytes::ZERO, started, PathSlot::NONE)
    }

    /// It will be ready at `time` by `path`, which gets there.
    pub fn came_at(&mut self, time: SimTime, path: PathSlot) {
        (self.left, self.path) = (time, path);
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
    /// A rank that has not begun, whose path is that of the beginning.
    pub fn new(rank: Rank, sharing: u32, path: PathSlot, recording: Recording) -> Self {
        Shared {
            rank,
            sharing,
            sequence: 0,
            turns: 0,
            main: Control::new(SimTime::ZERO, path),
            parts: TimeParts::default(),
            requests: RequestTable { entries: Vec::new(), free: NOBODY },
            matcher: Matcher::default(),
            ahead: Vec::new(),
            furthest_head: SimTime::ZERO,
            strands: Vec::new(),
            idle: None,
            trail: Trail::new(recording),
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

    /// Accounts for time the task's core spends.
    #[inline]
    pub fn spend(&mut self, desk: &mut Desk<'_>, task: u32, kind: Spent, span: SimSpan) {
        let control = self.control(task);
        match kind {
            Spent::Send => control.polling = SimTime::NEVER,
            Spent::Recv => {
                control.polling = SimTime::NEVER;
                if span > SimSpan::ZERO {
                    desk.paths.change(&mut control.path).recv += span;
                }
            }
            Spent::Compute => {
                // A little code between polls is part of the polling.
                if span > desk.poll * 10 {
                    control.polling = SimTime::NEVER;
                }
                let path = desk.paths.change(&mut control.path);
                let combines = task != MAIN || control.collective.is_some();
                *(if combines { &mut path.combine } else { &mut path.compute }) += span;
            }
            Spent::Poll => {
                control.polling = control.polling.min(control.clock);
                desk.paths.change(&mut control.path).poll += span;
            }
        }
        self.pass(task, kind, span);
        if self.trail.is_some() && span > SimSpan::ZERO {
            self.mark(task, None);
        }
    }

    /// The task has waited until `time`, if that is later than its clock: then its path is that of the cause.
    #[inline]
    pub fn wait_until(&mut self, desk: &mut Desk<'_>, task: u32, time: SimTime, cause: Cause) {
        let clock = self.control(task).clock;
        if time > clock {
            self.follow(desk, task, time, cause);
            self.pass(task, Spent::Poll, time.since(clock));
        } else {
            desk.paths.release(cause.path);
        }
    }

    /// The task finds at its clock what was there at `time`: if it has done nothing but poll since before, its path is that of the
    /// cause, and polling from there.
    #[inline]
    pub fn found(&mut self, desk: &mut Desk<'_>, task: u32, time: SimTime, cause: Cause) {
        let control = self.control(task);
        let clock = control.clock;
        if time > control.polling {
            self.follow(desk, task, time, cause);
            desk.paths.change(&mut self.control(task).path).poll += clock.since(time);
            if self.trail.is_some() && clock > time {
                self.mark(task, None);
            }
        } else {
            control.polling = SimTime::NEVER;
            desk.paths.release(cause.path);
        }
    }

    /// The task's path is that of a cause that got to `time`.
    #[inline]
    pub fn follow(&mut self, desk: &mut Desk<'_>, task: u32, time: SimTime, cause: Cause) {
        let to = self.rank;
        let control = self.control(task);
        control.polling = SimTime::NEVER;
        desk.paths.replace(&mut control.path, cause.path);
        if cause.left < time {
            desk.cross(&mut control.path, (cause.from, to), cause.size, cause.left, time);
        }
        if let Some(origin) = desk.paths.origin(control.path) {
            let Control { serial, site, .. } = *control;
            let from = Point { time: origin.time.min(cause.left), ..origin };
            desk.paths.claim(&mut control.path, to, serial);
            self.trail.as_mut().expect("it is recorded").mark(serial, Mark { until: time, site, came: Some(from) });
        }
    }

    /// Records that the task's clock got where it is, by its own doing or from elsewhere.
    #[cold]
    pub fn mark(&mut self, task: u32, came: Option<Point>) {
        let Control { clock: until, serial, site, .. } = *self.control(task);
        if let Some(trail) = &mut self.trail {
            trail.mark(serial, Mark { until, site, came });
        }
    }

    /// What has made a request ready.
    #[inline]
    pub fn cause(&mut self, id: RequestId) -> Cause {
        let Request { path, left, peer: from, size, .. } = self.requests.get_mut(id);
        Cause { path: std::mem::replace(path, PathSlot::NONE), left: *left, from: *from, size: *size }
    }

    /// Moves the task's clock; only the rank's own program counts.
    #[inline]
    pub fn pass(&mut self, task: u32, kind: Spent, span: SimSpan) {
        self.control(task).clock += span;
        if task != MAIN {
            return;
        }
        let part = match kind {
            Spent::Compute if self.main.collective.is_none() => &mut self.parts.compute,
            _ if self.main.collective.is_some() => &mut self.parts.collective,
            Spent::Send => &mut self.parts.send,
            Spent::Recv => &mut self.parts.recv,
            Spent::Poll | Spent::Compute => &mut self.parts.wait,
        };
        *part += span;
        if let Some(trail) = &mut self.trail
            && span > SimSpan::ZERO
        {
            let state = match kind {
                _ if self.main.collective.is_some() => State::Collective,
                Spent::Compute => State::Compute,
                Spent::Send => State::Send,
                Spent::Recv => State::Recv,
                Spent::Poll => State::Wait,
            };
            trail.was(state, self.main.clock);
        }
    }
}

/// What time was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Spent {
    Compute,
    Send,
    Recv,
    Poll,
}

impl Control {
    pub fn new(clock: SimTime, path: PathSlot) -> Self {
        let (since, polling) = (clock, SimTime::NEVER);
        Control { clock, path, wait: Wait::Nothing, turn: 0, since, collective: None, polling, serial: 0, site: 0 }
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
