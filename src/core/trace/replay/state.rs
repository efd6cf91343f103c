//! State of a task in a replay. Operations are read directly from the folded sequence of the task.

mod requests;
mod spans;
mod threads;

use std::ops::Range;
use std::sync::Arc;

use smallvec::SmallVec;

use super::super::Machine;
use super::super::bytes::take_at;
use super::super::called::{CalledOp, block_on};
use super::super::code::Cursor;
use super::super::late::{self, LateValue};
use super::super::op::{Entered, LISTED_PEER, LISTED_SIZE, NOWHERE, PeerEnd, Sent, TagOrigin, TraceOp};
use super::super::read::Trace;
use super::{TaskReplay, look};
use crate::mpi::{CallForm, CalledData, Runner, rule_size};
use crate::platform::Method;
use crate::rank::{
    Buffer, COMPLETE, Call, Called, CollectiveEntry, Completion, Context, FailureKind, Message, Pattern, ProgramError,
    Rank, Reply, RequestId, Requests, SERVICE, Source, Tag, TagPattern, Which,
};
use crate::units::Bytes;
use threads::ThreadStep;
pub(super) use threads::{SharedMeetings, ThreadMeetings};

/// Marks a request slot without a request. The engine numbers requests from 0.
const FREE: RequestId = RequestId::MAX - 1;
/// Value of `starting` while no request is being started.
const NOTHING: u32 = u32::MAX;
/// Value of `starting` while a send is being started that was eager in the recording.
const EAGER: u32 = u32::MAX - 1;
/// Greatest nesting depth of strands that start strands.
const DEEPEST: u8 = 128;
/// If a task has at least this many sends for which it has not waited, the replay tests whether the sends are complete.
const UNASKED: usize = 64;

/// Result of a replay step, or the text of an error in the trace.
type Step<T = Call> = Result<T, &'static str>;

/// State of a task in a replay.
pub struct TaskPosition {
    pub rank: Rank,
    pub number: u32,
    depth: u8,
    pub asked: RecordedAnswer,
    /// Request slot of the request that the task starts at present.
    starting: u32,
    cursor: Cursor,
    spans: Range<usize>,
    peers: Range<usize>,
    sizes: Range<usize>,
    late: Range<usize>,
    withdrawn: Range<usize>,
    /// Number of receives that the task posts before the next cancelled receive.
    until_withdrawn: u64,
    late_tag: Tag,
    /// Current bases of relative tags, indexed by [`TagOrigin`].
    origins: [Tag; 3],
    /// Buffers of the next send and of the next receive, if the trace states them.
    buffers: (Buffer, Buffer),
    slots: SmallVec<[RequestId; 12]>,
    /// Sends that were eager in the recording. Sends that are also eager in the replay are counted in one pair.
    sends: SmallVec<[(RequestId, u32); 1]>,
    calls: u64,
    /// Factor by which the replay multiplies computing times outside of collectives.
    pub factor: f64,
    /// Name of the collective in progress, if any.
    collective: Option<&'static str>,
    /// Execution of the collective in progress, if the trace contains the collective as a call.
    under_way: UnderWay,
    /// Simulated machine of the replay; `None` if collectives are listed and not executed.
    machine: Option<Machine>,
    /// Index of the last operation that was a call.
    last: u32,
    /// Whether the last call is a block of code.
    pub is_block: bool,
    /// Number of the thread that the task is, or 0.
    pub thread: u32,
    /// Threads of the rank, if the trace has threads with clocks of their own.
    pub threads: Option<SharedMeetings>,
    meeting: ThreadStep,
    late_point: u32,
    /// Slots of the requests that the thread offers to other threads of the rank, with their points.
    offers: Vec<(u32, u32)>,
    /// Last request that the task has started.
    posted: RequestId,
    /// Whether the simulation has reached the clock of the task.
    is_in_time: bool,
}

/// State of a collective that was recorded as a call.
enum UnderWay {
    Nothing,
    /// The replay executes the collective on the simulated machine.
    Carried(Box<Runner<CalledData>>),
    /// The collective is listed but not executed, because there is no simulated machine.
    Listed,
}

/// Question in the last call to the engine. The engine's answer may differ from the answer in the recording.
pub enum RecordedAnswer {
    Nothing,
    /// Whether the first sends of `sends` are complete.
    Sends,
    /// Whether these requests are complete, as they were in the recording.
    Test(Box<Requests>),
    /// Whether this message has arrived, as it had in the recording.
    Iprobe(Pattern),
    /// Whether the time limit, the second number, has passed before another thread ends the wait in this slot.
    Limit(u32, RequestId),
}

impl TaskPosition {
    /// Creates the state of task `number` of `rank`. A strand has nesting depth `depth` and first tag `base`.
    pub fn new(trace: &Trace, machine: Option<Machine>, rank: Rank, number: u32, (base, depth): (Tag, u8)) -> Self {
        let task = trace.tasks[number as usize].clone();
        let mut withdrawn = task.withdrawn;
        let until_withdrawn = take_at(&trace.bytes, &mut withdrawn).unwrap_or(u64::MAX);
        TaskPosition {
            rank,
            number,
            depth,
            asked: RecordedAnswer::Nothing,
            starting: NOTHING,
            cursor: Cursor::new(trace.codes[task.code as usize].clone()),
            spans: task.spans,
            peers: task.peers,
            sizes: task.sizes,
            late: task.late,
            withdrawn,
            until_withdrawn,
            late_tag: 0,
            origins: [0, 0, base],
            buffers: Default::default(),
            slots: SmallVec::new(),
            sends: SmallVec::new(),
            calls: 0,
            factor: 1.0,
            collective: None,
            under_way: UnderWay::Nothing,
            machine,
            last: 0,
            is_block: false,
            thread: 0,
            threads: None,
            meeting: ThreadStep::Nothing,
            late_point: 0,
            offers: Vec::new(),
            posted: FREE,
            is_in_time: false,
        }
    }

    /// Returns the next call of the task. The type is not `Result`, because that would copy the call.
    #[inline]
    pub fn step(&mut self, trace: &Arc<Trace>) -> Call {
        macro_rules! attempt {
            ($result:expr) => {
                match $result {
                    Ok(value) => value,
                    Err(what) => return self.damaged(what),
                }
            };
        }
        self.calls += 1;
        if self.sends.len() >= UNASKED {
            return self.look_at_sends();
        }
        loop {
            let Some(number) = self.cursor.next(&trace.bytes) else { return self.end() };
            (self.last, self.is_block) = (number, false);
            match &trace.ops[number as usize] {
                TraceOp::Compute(span) => return self.computing(trace, *span),
                TraceOp::ComputeListed => {
                    let span = attempt!(self.listed_span(trace));
                    return self.computing(trace, span);
                }
                TraceOp::Work(block) => return block_on(self.machine.as_ref(), self.scaled(block.core), block.bytes),
                TraceOp::Send(sent) => return Call::Send(attempt!(self.message(trace, sent))),
                TraceOp::Recv(end) => return Call::Recv(attempt!(self.pattern(trace, end))),
                TraceOp::Exchange(both) => {
                    let message = attempt!(self.message(trace, &both.0));
                    return Call::Exchange(message, attempt!(self.pattern(trace, &both.1)));
                }
                TraceOp::IsendEager(sent) => {
                    self.starting = EAGER;
                    return Call::Isend(attempt!(self.message(trace, sent)));
                }
                TraceOp::Isend(sent, slot) => {
                    attempt!(self.begin(*slot));
                    return Call::Isend(attempt!(self.message(trace, sent)));
                }
                TraceOp::Irecv(end, slot) => {
                    attempt!(self.begin(*slot));
                    let pattern = attempt!(self.pattern(trace, end));
                    return Call::Irecv(self.received(trace, pattern));
                }
                TraceOp::WorkListed | TraceOp::IrecvLate { .. } | TraceOp::Start(_) | TraceOp::Cancel(_) => {
                    return attempt!(self.late(trace, number));
                }
                TraceOp::Wait(slots, eager) => return Call::Complete(attempt!(self.waited(slots, *eager))),
                TraceOp::WaitOne(slot) => return Call::WaitAny(Requests::from_slice(&[attempt!(self.free(*slot))])),
                TraceOp::WaitLimit(limit, wait) => return attempt!(self.wait_limit(*limit, *wait)),
                TraceOp::Poll => return Call::Test { requests: Requests::new(), which: Which::Some, poll: true },
                TraceOp::Look => return Call::Test { requests: Requests::new(), which: Which::Some, poll: false },
                TraceOp::Test(slots) => return attempt!(self.test(slots)),
                TraceOp::Idle(span) => return Call::Idle(*span),
                TraceOp::Pass(span) => return Call::Compute(*span),
                TraceOp::Probe(end) => return Call::Probe(attempt!(self.pattern(trace, end))),
                TraceOp::Iprobe(end) => {
                    let pattern = attempt!(self.pattern(trace, end));
                    self.asked = RecordedAnswer::Iprobe(pattern);
                    return Call::Iprobe(pattern);
                }
                TraceOp::Enter(name) => {
                    self.collective = Some(trace.known[*name as usize]);
                    return Call::Enter(CollectiveEntry::named(trace.known[*name as usize]));
                }
                TraceOp::EnterBy(entered) => return Call::Enter(attempt!(self.entry(trace, entered))),
                TraceOp::Called(op) => return attempt!(self.begin_call(trace, op)),
                TraceOp::Leave => {
                    self.collective = None;
                    return Call::Leave;
                }
                TraceOp::Yield => return Call::Yield,
                TraceOp::Share | TraceOp::Await(_) | TraceOp::Shared(..) | TraceOp::Reach | TraceOp::Follow => {
                    if let Some(call) = attempt!(self.meet(trace, number)) {
                        return call;
                    }
                }
                TraceOp::Buffers(sent, received) => self.buffers = (*sent, *received),
                TraceOp::TagsPointToPoint(step) => self.move_on(TagOrigin::PointToPoint, *step),
                TraceOp::TagsCollective(step) => self.move_on(TagOrigin::Collective, *step),
            }
        }
    }

    /// Converts a recorded collective and its algorithm to the engine's representation.
    fn entry(&mut self, trace: &Trace, entered: &Entered) -> Step<CollectiveEntry> {
        let [name, algorithm] = entered.names.map(|name| name as usize);
        let algorithm = trace.algorithms[algorithm].ok_or("an unknown algorithm")?;
        let mut bytes = entered.bytes;
        if bytes == LISTED_SIZE {
            bytes = take_at(&trace.bytes, &mut self.sizes).ok_or("its sizes end too soon")?;
        }
        self.collective = Some(trace.known[name]);
        let method = Some(Method::from(algorithm).in_segments(entered.segment).by(entered.fan));
        Ok(CollectiveEntry { name: trace.known[name], method, bytes: Bytes::new(bytes) })
    }

    /// Begins a collective that the replay executes on the simulated machine.
    #[inline(never)]
    fn begin_call(&mut self, trace: &Trace, op: &CalledOp) -> Step {
        let sizes = &mut self.sizes;
        let call = op.call(self.rank, &trace.groups, &trace.algorithms, || take_at(&trace.bytes, sizes))?;
        let (name, bytes) = (trace.known[op.name as usize], rule_size(&call));
        self.collective = Some(name);
        let Some(machine) = &self.machine else {
            self.under_way = UnderWay::Listed;
            return Ok(Call::Enter(CollectiveEntry { name, method: None, bytes }));
        };
        let tag = self.origins[TagOrigin::Collective as usize];
        if (tag & 15) as usize != op.collective as usize {
            return Err("a collective's tag is another's");
        }
        let data = CalledData { element: op.element, in_order: op.in_order };
        let form = if self.depth == 0 || self.thread > 0 { CallForm::Blocking } else { CallForm::NonBlocking };
        match Runner::new((call, form), &machine.platform.collectives, machine.cost, tag >> 4, data) {
            Ok(runner) => {
                let method = Some(runner.method());
                self.under_way = UnderWay::Carried(Box::new(runner));
                Ok(Call::Enter(CollectiveEntry { name, method, bytes }))
            }
            Err(what) => {
                let place = format!("{name}, {}", self.place());
                Ok(Call::Fail(Box::new(ProgramError { kind: FailureKind::Description, place, what })))
            }
        }
    }

    /// Whether the task is in a collective that the replay executes on the simulated machine.
    #[inline]
    pub fn is_in_call(&self) -> bool {
        !matches!(self.under_way, UnderWay::Nothing)
    }

    /// Returns the next call of the collective that the replay executes on the simulated machine.
    #[inline]
    pub fn go_on(&mut self, reply: &mut Reply<'_>) -> Call {
        if let UnderWay::Carried(runner) = &mut self.under_way
            && let Some(call) = runner.next_call(reply)
        {
            return call;
        }
        (self.under_way, self.collective) = (UnderWay::Nothing, None);
        Call::Leave
    }

    /// Returns the collective in the form for recordings, at the beginning of the collective.
    pub fn called(&self) -> Option<Called> {
        let UnderWay::Carried(runner) = &self.under_way else { return None };
        Some(Box::new(runner.called()))
    }

    /// Executes an operation that has a late value.
    #[inline(never)]
    fn late(&mut self, trace: &Arc<Trace>, number: u32) -> Step {
        let late = late::next(&trace.bytes, &mut self.late).ok_or("its late values end too soon")?;
        match (&trace.ops[number as usize], late) {
            (TraceOp::IrecvLate { end, slot, any_source, any_tag }, LateValue::Nothing) => {
                self.begin(*slot)?;
                let mut pattern = self.pattern(trace, end)?;
                if *any_source {
                    pattern.from = Source::Any;
                }
                if *any_tag {
                    pattern.tag = TagPattern::Any;
                }
                Ok(Call::Irecv(self.received(trace, pattern)))
            }
            (TraceOp::IrecvLate { end, slot, .. }, LateValue::Got(peer, step)) => {
                let (from, tag) = (trace.peer(self.rank, peer), self.late_tag(step));
                self.begin(*slot)?;
                let pattern = self.pattern(trace, end)?;
                let pattern = Pattern { from: Source::Rank(from), tag: TagPattern::Tag(tag), ..pattern };
                Ok(Call::Irecv(self.received(trace, pattern)))
            }
            (TraceOp::WorkListed, LateValue::Moves(bytes)) => {
                let span = self.listed_span(trace)?;
                Ok(block_on(self.machine.as_ref(), self.scaled(span), Bytes::new(bytes)))
            }
            (TraceOp::Start(slot), LateValue::Strand(task, step)) => {
                self.descend(*slot)?;
                let base = self.late_tag(step);
                let state = TaskPosition::new(trace, self.machine.clone(), self.rank, task, (base, self.depth + 1));
                Ok(Call::Start(Box::new(TaskReplay { trace: trace.clone(), state, turns: None })))
            }
            (TraceOp::Start(slot), LateValue::Thread(task, thread)) => self.start_thread(trace, *slot, (task, thread)),
            (TraceOp::Cancel(_), LateValue::Withdrawn(false)) => Ok(look()),
            (TraceOp::Cancel(slot), LateValue::Withdrawn(true)) => match self.slots.get(*slot as usize) {
                Some(&id) if id < FREE => {
                    self.withdraw(id);
                    Ok(Call::Cancel(id))
                }
                _ => Ok(look()),
            },
            _ => Err("a late value is of another kind"),
        }
    }

    /// Tag whose difference to the last late tag is `step`.
    fn late_tag(&mut self, step: u32) -> Tag {
        self.late_tag = self.late_tag.wrapping_add(step).min(Tag::MAX - 1);
        self.late_tag
    }

    fn move_on(&mut self, origin: TagOrigin, step: u32) {
        let register = &mut self.origins[origin as usize];
        *register = register.wrapping_add(step);
    }

    #[inline]
    fn end_of(&mut self, trace: &Trace, end: &PeerEnd) -> Step<(Rank, Context, Tag)> {
        let mut relative = end.peer;
        if relative == LISTED_PEER {
            let peer = take_at(&trace.bytes, &mut self.peers).filter(|&peer| peer < trace.header.ranks.into());
            relative = peer.ok_or("a listed peer is no rank")? as u32;
        }
        let tag = self.origins[end.tag.origin as usize].wrapping_add(end.tag.offset);
        if tag == Tag::MAX {
            return Err("a tag is too large");
        }
        Ok((trace.peer(self.rank, relative), end.context, tag))
    }

    #[inline]
    fn message(&mut self, trace: &Trace, sent: &Sent) -> Step<Message> {
        let (to, context, tag) = self.end_of(trace, &sent.to)?;
        let mut size = sent.size;
        if size == LISTED_SIZE {
            size = take_at(&trace.bytes, &mut self.sizes).ok_or("its sizes end too soon")?;
        }
        Ok(Message {
            to,
            context,
            tag,
            size: Bytes::new(size),
            mode: sent.mode.into(),
            payload: None,
            buffer: std::mem::take(&mut self.buffers.0),
        })
    }

    #[inline]
    fn pattern(&mut self, trace: &Trace, end: &PeerEnd) -> Step<Pattern> {
        let (from, context, tag) = self.end_of(trace, end)?;
        if context == SERVICE {
            return Err("a receive of messages that are served");
        }
        Ok(Pattern {
            from: Source::Rank(from),
            context,
            tag: TagPattern::Tag(tag),
            capacity: Bytes::MAX,
            buffer: std::mem::take(&mut self.buffers.1),
        })
    }

    /// Pattern of the receive that the task posts now. The pattern of a cancelled receive matches no message.
    #[inline]
    fn received(&mut self, trace: &Trace, pattern: Pattern) -> Pattern {
        if let Some(left) = self.until_withdrawn.checked_sub(1) {
            self.until_withdrawn = left;
            return pattern;
        }
        self.until_withdrawn = take_at(&trace.bytes, &mut self.withdrawn).map_or(u64::MAX, |at| at.saturating_sub(1));
        Pattern { context: NOWHERE, ..pattern }
    }

    /// Ends the task after completing all sends.
    #[cold]
    fn end(&mut self) -> Call {
        let left: Requests = self.sends.drain(..).map(|(id, _)| id).filter(|id| *id != COMPLETE).collect();
        if left.is_empty() { Call::Finish } else { Call::Complete(left) }
    }

    #[cold]
    fn damaged(&self, what: &str) -> Call {
        let what = format!("the trace is damaged: {what}");
        Call::Fail(Box::new(ProgramError { kind: FailureKind::Description, place: self.place(), what }))
    }

    /// Name of the task's present action: the collective in progress, otherwise the word for the last operation.
    pub fn site(&self, trace: &Trace) -> &'static str {
        self.collective.or_else(|| Some(trace.ops.get(self.last as usize)?.word())).unwrap_or("finish")
    }

    pub fn place(&self) -> String {
        format!("call {} of the trace", self.calls)
    }
}
