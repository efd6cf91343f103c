//! Recording of one task (the program of a rank or of a strand): converts the task's calls and the engine's replies to
//! operations.
//!
//! Calls whose result depends on time are recorded with their result: the source and tag of a receive, the requests
//! completed by a test, and whether a receive was cancelled.

mod numbers;
mod threads;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use super::bytes::put;
use super::called::{CalledOp, CalledSizes, Members, tag_of};
use super::fold::Folder;
use super::op::{Entered, LISTED_PEER, LISTED_SIZE, PeerEnd, Sent, TagOrigin, TagRef, TraceOp};
use crate::mpi::{CalledCollective, Group, Sizes, algorithm_word};
use crate::platform::Method;
use crate::rank::{
    Buffer, COMPLETE, Call, Completion, DataBlock, MemoryBlock, Message, Pattern, Rank, ReplyKind, RequestId, Requests,
    SERVICE, Source, Tag, TagPattern,
};
use crate::units::SimSpan;
pub(super) use threads::RankPoints;
use threads::ThreadMoment;

/// Greatest number of different computing spans that get their own operations. The task's list stores further spans.
const SPANS: usize = 64;
/// Greatest number of different tags that get their own operations. Further tags are stored relative to the last tag.
const TAGS: usize = 64;
/// Greatest number of different sizes that get their own operations. The task's list stores further sizes.
const SIZES: usize = 256;
/// If a task has this many different operations, the task's lists store further peers and sizes.
const OPS: usize = 8192;

/// Recorded actions of a task.
#[derive(Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct RecordedTask {
    /// Table of the different operations of the task.
    pub ops: Vec<TraceOp>,
    /// Folded sequence of the indices of the task's operations.
    pub code: Vec<u8>,
    /// The task's list of computing spans, encoded.
    pub spans: Vec<u8>,
    /// The task's list of peers, encoded.
    pub peers: Vec<u8>,
    /// The task's list of sizes, encoded.
    pub sizes: Vec<u8>,
    /// Late values of the task: results known only after the operation.
    pub late: Vec<DeferredResult>,
    /// Indices of the cancelled receives among all started receives.
    pub withdrawn: Vec<u64>,
    /// Names of the collectives that the task calls.
    pub names: Vec<String>,
    /// Members of the communicators of the task's collectives.
    pub groups: Vec<Members>,
    /// Name of the last collective of the task. For a strand, the name of the collective that the strand executes.
    pub name: String,
}

/// A result of an operation that is known only after the operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum DeferredResult {
    /// Peer and tag of the message that a receive from any source got; `None` if the receive got no message.
    Got(Option<(u32, Tag)>),
    /// Index of a strand among the strands of the rank. The strand's first tag is stored with the strand.
    Strand(u32),
    /// Whether a cancelled receive was withdrawn before it matched a message.
    Withdrawn(bool),
    /// Number of bytes that a block of work reads from and writes to memory.
    Moves(u64),
    /// Number of a point at which threads of the rank meet.
    Point(u32),
}

/// How the recorder interprets the engine's next reply.
#[derive(Debug)]
enum ExpectedReply {
    Nothing,
    Recv(Pattern),
    Exchange(Sent, Pattern),
    Isend(Sent),
    Irecv(Pattern),
    /// The program expects `Done` without completions.
    Complete(Requests),
    WaitAll(Requests),
    WaitAny(Requests),
    Test(Requests, bool),
    Probe(Pattern),
    Iprobe(Pattern),
    Start(u32),
}

/// An active request of a task, with data for its record in the trace.
#[derive(Clone, Copy, Debug)]
struct Slot {
    request: RequestId,
    /// Index in `late` of the message of this receive, if the recorder must store the message.
    late: Option<usize>,
    /// Index of the request among the receives of the task, if the request is a receive.
    receive: Option<u64>,
    /// Index in `late` of the cancellation of the request, if the program cancelled the request.
    cancelled: Option<usize>,
    /// Whether the request is the receive by which the thread waits for another thread.
    is_wait: bool,
}

/// Recorder of a task: the program of a rank or of a strand.
pub(super) struct TaskRecorder {
    rank: Rank,
    ranks: u32,
    numbers: FxHashMap<TraceOp, u32>,
    /// For each operation of the task, the operation that last followed it in the sequence. The same operation usually
    /// follows the next time, too.
    followers: Vec<u32>,
    /// Index of the last operation of the task.
    last: u32,
    folder: Folder,
    log: RecordedTask,
    slots: Vec<Option<Slot>>,
    by_request: FxHashMap<RequestId, u32>,
    receives: u64,
    asked: ExpectedReply,
    /// Buffers of the send and of the receive that the last call stated.
    buffers: (Buffer, Buffer),
    /// Whether the task is in a collective. A strand always is; a rank's program is between Enter and Leave.
    in_collective: bool,
    /// Whether the recorder stores the collective in progress as a call, without its messages.
    as_call: bool,
    /// Groups of communicators in the order of their first use.
    seen_groups: Vec<Group>,
    /// Whether the collective in progress has had no message so far.
    opening: bool,
    is_strand: bool,
    thread: ThreadMoment,
    /// First tag of the strand, if the task is a strand of a rank.
    pub base: Option<Tag>,
    tags: [Tag; 2],
    seen_tags: FxHashSet<Tag>,
    seen_sizes: FxHashSet<u64>,
    /// Numbers of different computing spans outside and inside collectives.
    spans: [usize; 2],
    /// Whether the task's computing is real code whose time was measured.
    pub is_code: bool,
    /// Reason why the recorder cannot record the task, if any.
    pub fault: Option<String>,
}

impl TaskRecorder {
    /// Creates a recorder of a task of rank `rank`. Loops whose bodies have up to `longest` operations are detected.
    pub fn new(rank: Rank, ranks: u32, longest: usize, is_strand: bool) -> Self {
        TaskRecorder {
            rank,
            ranks,
            numbers: FxHashMap::default(),
            followers: Vec::new(),
            last: 0,
            folder: Folder::new(longest),
            log: RecordedTask::default(),
            slots: Vec::new(),
            by_request: FxHashMap::default(),
            receives: 0,
            asked: ExpectedReply::Nothing,
            buffers: Default::default(),
            in_collective: is_strand,
            as_call: false,
            seen_groups: Vec::new(),
            opening: is_strand,
            is_strand,
            thread: ThreadMoment::default(),
            base: None,
            tags: [0; 2],
            seen_tags: FxHashSet::default(),
            seen_sizes: FxHashSet::default(),
            spans: [0; 2],
            is_code: false,
            fault: None,
        }
    }

    /// Sets the points of the threads of the rank.
    #[must_use]
    pub fn with_points(mut self, points: Arc<RankPoints>) -> Self {
        self.thread.points = points;
        self
    }

    /// Returns the recorded actions of the task.
    pub fn finish(mut self) -> RecordedTask {
        self.note_taken();
        RecordedTask { code: self.folder.finish(), ..self.log }
    }

    /// Sets the index of the strand that the task starts next.
    pub fn starts(&mut self, strand: u32) {
        self.asked = ExpectedReply::Start(strand);
    }

    /// Records the task's call `call`. May return an equivalent call, whose reply contains more information.
    pub fn asks(&mut self, call: Call) -> Call {
        self.asked = ExpectedReply::Nothing;
        if self.as_call {
            if let Call::Leave = call {
                (self.as_call, self.in_collective) = (false, self.is_strand);
            }
            return call;
        }
        if self.asks_of_threads(&call) {
            return call;
        }
        self.buffers = match &call {
            Call::Send(message) | Call::Isend(message) => (message.buffer, Buffer::NONE),
            Call::Recv(pattern) | Call::Irecv(pattern) => (Buffer::NONE, pattern.buffer),
            Call::Exchange(message, pattern) => (message.buffer, pattern.buffer),
            _ => (Buffer::NONE, Buffer::NONE),
        };
        match &call {
            // Time without computing passes equally on every machine.
            Call::Compute(span) if self.is_code && !self.in_collective && *span > SimSpan::ZERO => {
                self.push(TraceOp::Pass(*span));
            }
            Call::Compute(span) | Call::Code(span) | Call::Data(DataBlock { span, .. }) => self.compute(*span),
            Call::Work(block) => self.work(*block),
            Call::Send(message) => {
                let sent = self.sent(message);
                self.push_message(TraceOp::Send(sent));
            }
            Call::Isend(message) => self.asked = ExpectedReply::Isend(self.sent(message)),
            Call::Recv(pattern) => self.asked = ExpectedReply::Recv(*pattern),
            Call::Exchange(message, pattern) => self.asked = ExpectedReply::Exchange(self.sent(message), *pattern),
            Call::Irecv(pattern) => self.asked = ExpectedReply::Irecv(*pattern),
            Call::WaitAll(requests) => self.asked = ExpectedReply::WaitAll(requests.clone()),
            Call::Complete(requests) => {
                let wants = |id| match self.slot(id) {
                    Some(slot) => slot.late.is_some() || slot.cancelled.is_some(),
                    None => id != COMPLETE,
                };
                if requests.iter().any(|&id| wants(id)) {
                    self.asked = ExpectedReply::Complete(requests.clone());
                    let Call::Complete(requests) = call else { unreachable!("it is one") };
                    return Call::WaitAll(requests);
                }
                self.waited(requests, &[]);
            }
            Call::WaitAny(requests) => self.asked = ExpectedReply::WaitAny(requests.clone()),
            Call::Test { requests, poll, .. } => self.asked = ExpectedReply::Test(requests.clone(), *poll),
            Call::Idle(span) => self.push(TraceOp::Idle(*span)),
            Call::Cancel(id) => self.cancel(*id),
            Call::Probe(pattern) => self.asked = ExpectedReply::Probe(*pattern),
            Call::Iprobe(pattern) => self.asked = ExpectedReply::Iprobe(*pattern),
            Call::Enter(entry) => {
                (self.in_collective, self.opening) = (true, true);
                let name = self.name(entry.name);
                let op = match entry.method {
                    None => TraceOp::Enter(name),
                    Some(Method { algorithm, segment, fan }) => {
                        let names = [name, self.name(algorithm_word(algorithm))];
                        let bytes = self.size(entry.bytes.get());
                        TraceOp::EnterBy(Box::new(Entered { names, segment, fan, bytes }))
                    }
                };
                self.push(op);
            }
            Call::Leave => {
                self.in_collective = self.is_strand;
                self.push(TraceOp::Leave);
            }
            Call::Yield => self.push(TraceOp::Yield),
            Call::Start(_) | Call::Mark(_) | Call::Finish | Call::Fail(_) => {}
        }
        call
    }

    /// Records that the task enters the collective `called` in the MPI function `name`. In a replay, the MPI library of
    /// the simulated machine chooses the messages of the collective.
    pub fn calls(&mut self, name: &'static str, called: &CalledCollective) {
        self.asked = ExpectedReply::Nothing;
        (self.in_collective, self.opening, self.as_call) = (true, false, true);
        self.open(tag_of(called));
        let CalledCollective { call, data, .. } = called;
        let sizes = match &call.sizes {
            Sizes::Same(size) => CalledSizes::Same(self.size(size.get())),
            Sizes::Each(sizes) if self.log.ops.len() < OPS => {
                CalledSizes::Each(sizes.iter().map(|size| size.get()).collect())
            }
            Sizes::Each(sizes) => {
                sizes.iter().for_each(|size| put(&mut self.log.sizes, size.get()));
                CalledSizes::EachListed
            }
        };
        let op = CalledOp {
            name: self.name(name),
            collective: call.collective,
            comm: call.comm.id(),
            group: self.group(call.comm.group()),
            root: call.root,
            element: data.element,
            in_order: data.in_order,
            algorithm: call.algorithm.map(|algorithm| self.name(algorithm_word(algorithm))),
            sizes,
        };
        self.push(TraceOp::Called(Box::new(op)));
    }

    /// Records the engine's reply to the last call. Returns true if the program must get the reply `Done` instead of
    /// the engine's reply.
    pub fn hears(&mut self, reply: &ReplyKind<'_>) -> bool {
        let asked = std::mem::replace(&mut self.asked, ExpectedReply::Nothing);
        let mut only_done = false;
        match (asked, reply) {
            (ExpectedReply::Nothing, _) => {}
            (ExpectedReply::Recv(pattern), ReplyKind::Completed([completion])) => {
                let end = self.got(&pattern, completion);
                self.push_message(TraceOp::Recv(end));
            }
            (ExpectedReply::Exchange(sent, pattern), ReplyKind::Completed([completion])) => {
                let end = self.got(&pattern, completion);
                self.push_message(TraceOp::Exchange(Box::new((sent, end))));
            }
            (ExpectedReply::Isend(sent), ReplyKind::Started(COMPLETE)) => self.push_message(TraceOp::IsendEager(sent)),
            (ExpectedReply::Isend(sent), ReplyKind::Started(id)) => {
                let slot = self.take_slot(*id, None, None);
                self.push_message(TraceOp::Isend(sent, slot));
                self.offers(*id, slot);
            }
            (ExpectedReply::Irecv(pattern), ReplyKind::Started(id)) if pattern.context == SERVICE => self.awaits(*id),
            (ExpectedReply::Irecv(pattern), ReplyKind::Started(id)) => self.irecv(&pattern, *id),
            (ExpectedReply::Start(strand), ReplyKind::Started(id)) => {
                self.log.late.push(DeferredResult::Strand(strand));
                let slot = self.take_slot(*id, None, None);
                self.push(TraceOp::Start(slot));
                self.offers(*id, slot);
            }
            (ExpectedReply::WaitAll(requests), ReplyKind::Completed(completions)) => {
                self.waited(&requests, completions)
            }
            // The reply to a wait for no requests has no list of completions.
            (ExpectedReply::WaitAll(requests), ReplyKind::Done) => self.waited(&requests, &[]),
            (ExpectedReply::Complete(requests), ReplyKind::Completed(completions)) => {
                self.waited(&requests, completions);
                only_done = true;
            }
            (ExpectedReply::WaitAny(requests), ReplyKind::Completed([completion])) => {
                let id = requests[completion.index as usize];
                match id {
                    COMPLETE => self.push(TraceOp::Test(Box::default())),
                    id => {
                        let ended = self.end(id, Some(completion));
                        let wait = self.thread_wait_among(&requests);
                        let op = |slot| wait.map_or(TraceOp::WaitOne(slot), |wait| TraceOp::WaitLimit(slot, wait));
                        ended.into_iter().for_each(|slot| self.push(op(slot)));
                    }
                }
            }
            (ExpectedReply::Test(_, poll), ReplyKind::Completed([])) => {
                self.push(if poll { TraceOp::Poll } else { TraceOp::Look })
            }
            (ExpectedReply::Test(requests, _), ReplyKind::Completed(completions)) => {
                let ended = completions.iter().map(|completion| (requests[completion.index as usize], completion));
                let ended = ended.filter(|&(id, _)| id != COMPLETE);
                let slots: Vec<u32> = ended.filter_map(|(id, it)| self.end(id, Some(it))).collect();
                self.push(TraceOp::Test(slots.into()));
            }
            (ExpectedReply::Probe(pattern), ReplyKind::Completed([completion])) => {
                let end = self.got(&pattern, completion);
                self.push(TraceOp::Probe(end));
            }
            (ExpectedReply::Iprobe(_), ReplyKind::Completed([])) => self.push(TraceOp::Poll),
            (ExpectedReply::Iprobe(pattern), ReplyKind::Completed([completion])) => {
                let end = self.got(&pattern, completion);
                self.push(TraceOp::Iprobe(end));
            }
            (asked, reply) => self.fault = Some(format!("{asked:?} was answered by {reply:?}")),
        }
        only_done
    }

    fn irecv(&mut self, pattern: &Pattern, id: RequestId) {
        let receive = Some(self.receives);
        self.receives += 1;
        if let (Source::Rank(source), TagPattern::Tag(tag)) = (pattern.from, pattern.tag) {
            let tag = self.tag(tag);
            let end = PeerEnd { peer: self.peer(source), context: pattern.context, tag };
            let slot = self.take_slot(id, None, receive);
            self.push_message(TraceOp::Irecv(end, slot));
            return self.offers(id, slot);
        }
        let (peer, any_source) = match pattern.from {
            Source::Rank(source) => (self.peer(source), false),
            Source::Any => (0, true),
        };
        let (tag, any_tag) = match pattern.tag {
            TagPattern::Tag(tag) => (self.tag(tag), false),
            TagPattern::Any => (TagRef { origin: TagOrigin::Zero, offset: 0 }, true),
        };
        self.log.late.push(DeferredResult::Got(None));
        let slot = self.take_slot(id, Some(self.log.late.len() - 1), receive);
        self.push_message(TraceOp::IrecvLate {
            end: PeerEnd { peer, context: pattern.context, tag },
            slot,
            any_source,
            any_tag,
        });
        self.offers(id, slot);
    }

    /// Appends a send or a receive. If the call stated message buffers, an operation that sets the buffers precedes it.
    fn push_message(&mut self, op: TraceOp) {
        let (sent, received) = self.buffers;
        if sent.is_stated() || received.is_stated() {
            self.push(TraceOp::Buffers(sent, received));
        }
        self.push(op);
    }

    fn cancel(&mut self, id: RequestId) {
        let Some(&slot) = self.by_request.get(&id) else {
            if self.is_offered(id) {
                self.fault = Some("a thread cancels a request of another thread".to_owned());
            }
            if !self.wakes(id) {
                self.push(TraceOp::Test(Box::default()));
            }
            return;
        };
        self.withdraws(id);
        self.log.late.push(DeferredResult::Withdrawn(false));
        let place = self.log.late.len() - 1;
        if let Some(slot) = &mut self.slots[slot as usize] {
            slot.cancelled.get_or_insert(place);
        }
        self.push(TraceOp::Cancel(slot));
    }

    fn take_slot(&mut self, request: RequestId, late: Option<usize>, receive: Option<u64>) -> u32 {
        let free = self.slots.iter().position(Option::is_none).unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[free] = Some(Slot { request, late, receive, cancelled: None, is_wait: false });
        self.by_request.insert(request, free as u32);
        free as u32
    }

    fn slot(&self, id: RequestId) -> Option<&Slot> {
        self.slots[*self.by_request.get(&id)? as usize].as_ref()
    }

    /// Records that a request completed with `completion`. Frees the request slot and returns it.
    fn end(&mut self, id: RequestId, completion: Option<&Completion>) -> Option<u32> {
        let Some(place) = self.by_request.remove(&id).or_else(|| self.takes(id, completion)) else {
            self.fault = Some(format!("a task waits for request {id} of another task"));
            return None;
        };
        self.completes(id);
        let slot = self.slots[place as usize].take().filter(|slot| slot.request == id)?;
        let Some(completion) = completion else { return Some(place) };
        if completion.cancelled {
            self.log.withdrawn.extend(slot.receive);
            if let Some(place) = slot.cancelled {
                self.log.late[place] = DeferredResult::Withdrawn(true);
            }
        } else if let Some(late) = slot.late {
            let (source, ranks) = (completion.source, self.ranks);
            let relative = if source >= self.rank { source - self.rank } else { source + (ranks - self.rank) };
            self.log.late[late] = DeferredResult::Got(Some((relative, completion.tag)));
        }
        Some(place)
    }

    /// Records that all `requests` completed. `completions` are the completions that the engine reported.
    fn waited(&mut self, requests: &Requests, completions: &[Completion]) {
        let eager = requests.iter().filter(|&&id| id == COMPLETE).count() as u32;
        let mut slots = Vec::with_capacity(requests.len());
        for (index, &id) in requests.iter().enumerate().filter(|&(_, &id)| id != COMPLETE) {
            slots.extend(self.end(id, completions.get(index)));
        }
        self.push(TraceOp::Wait(slots.into(), eager));
    }
}
