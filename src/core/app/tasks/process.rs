//! A simulated MPI process that executes fragments. The program of the process is its task manager, which performs one
//! job after another.
//!
//! ```text
//! messages ─┐
//! threads  ─┼─▶ agenda ─▶ stages (pipeline) ─▶ outbox ─▶ messages
//! timer    ─┘                 └─▶ ready ─▶ threads
//! ```
//!
//! A thread that executes a fragment is a strand (concurrent activity) of the process. A task manager without its own
//! thread executes fragments itself. The decisions of a task manager depend only on the messages and the clock of its
//! process.

use std::collections::VecDeque;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::mpi::{BeginCollective, MpiCall, MpiProgram};
use crate::platform::MemoryPart;
use crate::profile::TaskLog;
use crate::rank::{
    COMPLETE, Call, Describe, FailureKind, Message, Pattern, Program, ProgramError, Rank, Reply, ReplyKind, RequestId,
    Requests, SendMode, Source, TagPattern, Which,
};
use crate::units::{Bytes, SimSpan, SimTime};

use super::super::random::Random;
use super::agenda::Agenda;
use super::balance::Balance;
use super::farm::Farm;
use super::graph::TaskGraph;
use super::message::Note;
use super::options::{Manager, Progress};
use super::pipeline::Record;
use super::ready::Ready;
use super::store::Store;

/// If a process has at least this many incomplete sends, the process tests whether the sends are complete.
const MANY_SENDS: usize = 64;

/// Data that all simulated processes of a run share.
#[derive(Debug)]
pub(in super::super) struct SharedTasks {
    pub(super) graph: TaskGraph,
    /// Whether the logs of the run contain the names of fragments.
    pub names: bool,
}

/// Program of a simulated MPI process that executes fragments.
#[derive(Debug)]
#[repr(C)]
pub(in super::super) struct TaskProgram {
    shared: Arc<SharedTasks>,
    state: ProcessState,
}

/// State of a simulated MPI process. The fields are in the order in which the task manager uses them. With a thousand
/// processes, the state of a process is usually not in the first-level cache when the engine executes the process.
/// Fields that are used together therefore share a few cache lines.
#[derive(Debug)]
#[repr(C)]
pub(super) struct ProcessState {
    pub(super) now: SimTime,
    activity: ManagerActivity,
    /// Virtual time of the last test for messages and for ended threads.
    looked: SimTime,
    receive: Option<RequestId>,
    timer: Option<RequestId>,
    pub(super) rank: Rank,
    /// Whether the task manager has spent the time for the next outgoing message.
    paid: bool,
    pub(super) agenda: Agenda,
    pub(super) outbox: VecDeque<(Rank, Note)>,
    threads: SmallVec<[Option<(RequestId, u32)>; 1]>,
    pub(super) ready: Ready,
    pub(super) end: Ending,
    sends: Vec<RequestId>,
    many_sends: usize,
    pub(super) store: Store,
    /// For each fragment's record, the number of missing input data. The array is separate from the far larger records.
    pub(super) missing: Vec<u32>,
    pub(super) records: Vec<Record>,
    pub(super) free: Vec<u32>,
    pub(super) log: Option<Box<TaskLog>>,
    pub(super) balance: Balance,
    pub(super) farm: Option<Box<Farm>>,
    pub(super) random: Random,
    memory_share: MemoryPart,
}

/// Activity of the task manager until the engine's next reply.
#[derive(Clone, Copy, Debug)]
enum ManagerActivity {
    Begin,
    Nothing,
    Posting,
    Sending,
    Starting {
        thread: usize,
        record: u32,
    },
    /// The task manager has no thread of its own and executes the fragment of this record.
    Executing(u32),
    Timing,
    /// The task manager spends the time of this job.
    Paying(AgendaJob),
    /// The task manager waits or tests for a message, for the end of a thread, or for the timer.
    Waiting,
    /// The task manager tests for completed sends.
    Reaping,
    Ending(u8),
}

/// A job of the task manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgendaJob {
    /// Handles a message from this rank that the process has received.
    Take(Rank, Note),
    /// Moves the fragment of this record into the distribution stage.
    Enter(u32),
    /// Handles the fragments that the structured fragment of this record has created.
    Children(u32),
    /// Handles that the fragment of this record has ended on a thread.
    Ended(u32),
}

/// State of termination detection on an MPI process.
#[derive(Debug, Default)]
pub(super) struct Ending {
    /// Number of fragments that this process has executed. `reported` is the number of fragments that the process has
    /// reported to process 0.
    pub executed: u32,
    pub reported: u32,
    /// On process 0, the number of fragments that all processes have executed. `calm` is the number of processes whose
    /// requests for work have ended.
    pub counted: u32,
    pub calm: u32,
    pub quiet: bool,
    pub calm_told: bool,
    pub stopped: bool,
    /// Number of data fragments that this process stores and has received. `unanswered` is the number of missing
    /// answers to its messages.
    pub kept: u32,
    pub unanswered: u32,
}

/// Program of a thread that executes a fragment.
struct Execution(Option<SimSpan>);

impl Program for Execution {
    fn next(&mut self, _: Reply<'_>) -> Call {
        self.0.take().map_or(Call::Finish, Call::Compute)
    }
}

impl Describe for Execution {
    fn position(&self) -> Option<String> {
        Some("a fragment on a thread".to_owned())
    }

    fn is_thread(&self) -> bool {
        true
    }
}

impl TaskProgram {
    pub(in super::super) fn new(shared: Arc<SharedTasks>, rank: Rank, memory_share: MemoryPart) -> Self {
        let graph = &shared.graph;
        let options = &graph.options;
        let log = TaskLog {
            process: rank,
            threads: options.threads,
            own_thread: options.progress == Progress::Thread,
            ended: SimTime::ZERO,
            useful: SimSpan::ZERO,
            overhead: SimSpan::ZERO,
            manager: SimSpan::ZERO,
            visits: Vec::new(),
            names: Vec::new(),
        };
        let farm = (options.manager == Manager::Queue && rank == 0).then(|| Box::new(Farm::new(graph)));
        let state = ProcessState {
            rank,
            memory_share,
            now: SimTime::ZERO,
            activity: ManagerActivity::Begin,
            looked: SimTime::ZERO,
            agenda: Agenda::default(),
            outbox: VecDeque::new(),
            paid: false,
            receive: None,
            sends: Vec::new(),
            many_sends: MANY_SENDS,
            threads: SmallVec::from_elem(None, options.threads as usize),
            timer: None,
            records: Vec::new(),
            missing: Vec::new(),
            free: Vec::new(),
            ready: Ready::new(options.unfold, options.order),
            store: Store::new(graph.homed[rank as usize]),
            balance: Balance::default(),
            farm,
            random: Random::default(),
            log: Some(Box::new(log)),
            end: Ending::default(),
        };
        TaskProgram { shared, state }
    }

    pub(in super::super) fn take_log(&mut self) -> Option<Box<TaskLog>> {
        self.state.log.take()
    }
}

impl ProcessState {
    /// Whether a thread of this process executes a fragment.
    pub(super) fn is_busy(&self) -> bool {
        self.threads.iter().any(Option::is_some)
    }

    pub(super) fn has_timer(&self) -> bool {
        self.timer.is_some()
    }

    /// Handles the engine's reply to the last call.
    fn answered(&mut self, graph: &TaskGraph, kind: ReplyKind<'_>) {
        match (std::mem::replace(&mut self.activity, ManagerActivity::Nothing), kind) {
            (ManagerActivity::Begin, _) => self.begin(graph),
            (ManagerActivity::Posting, ReplyKind::Started(id)) => self.receive = Some(id),
            (ManagerActivity::Sending, ReplyKind::Started(id)) if id != COMPLETE => self.sends.push(id),
            (ManagerActivity::Starting { thread, record }, ReplyKind::Started(id)) => {
                self.threads[thread] = Some((id, record))
            }
            (ManagerActivity::Timing, ReplyKind::Started(id)) => self.timer = Some(id),
            (ManagerActivity::Executing(record), _) => self.agenda.push_front(AgendaJob::Ended(record)),
            (ManagerActivity::Paying(job), _) => self.perform(graph, job),
            (ManagerActivity::Waiting, ReplyKind::Completed(completions)) => {
                // The task manager tests again after a successful test, because more messages may have arrived.
                self.looked = if completions.is_empty() { self.now } else { SimTime::NEVER };
                for completion in completions {
                    self.happened(completion.index as usize, completion.source, completion.tag);
                }
            }
            (ManagerActivity::Reaping, ReplyKind::Completed(completions)) => {
                // Completions are in the order of the list of sends. Complete sends are removed from the back, so that
                // the indices of the other sends stay valid.
                for completion in completions.iter().rev() {
                    self.sends.swap_remove(completion.index as usize);
                }
                self.many_sends = MANY_SENDS.max(2 * self.sends.len());
            }
            (ManagerActivity::Ending(step), _) => self.activity = ManagerActivity::Ending(step),
            _ => {}
        }
    }

    /// Handles the completion of the request with index `index` in the list of [`ProcessState::awaited`].
    fn happened(&mut self, index: usize, from: Rank, tag: u32) {
        if index == 0 {
            self.receive = None;
            self.agenda.push_front(AgendaJob::Take(from, Note::from_tag(tag)));
            return;
        }
        let mut busy = self.threads.iter_mut().filter(|thread| thread.is_some());
        match busy.nth(index - 1) {
            Some(thread) => {
                let (_, record) = thread.take().expect("it is busy");
                self.agenda.push_front(AgendaJob::Ended(record));
            }
            None => {
                self.timer = None;
                self.balance.rested();
            }
        }
    }

    /// Whether a thread of this process is idle.
    pub(super) fn has_free_thread(&self) -> bool {
        self.threads.iter().any(Option::is_none)
    }

    /// Requests for which the task manager waits: the receive, the busy threads, the timer.
    fn awaited(&self) -> Requests {
        let threads = self.threads.iter().flatten().map(|&(id, _)| id);
        self.receive.into_iter().chain(threads).chain(self.timer).collect()
    }

    /// Virtual time that the task manager spends on `job`.
    fn price(&self, graph: &TaskGraph, job: AgendaJob) -> SimSpan {
        let options = &graph.options;
        match job {
            AgendaJob::Take(..) => options.message,
            AgendaJob::Enter(_) | AgendaJob::Children(_) => options.distribute,
            AgendaJob::Ended(_) => options.finish,
        }
    }

    /// Performs pending jobs of the task manager up to the next engine call.
    fn step(&mut self, shared: &SharedTasks) -> Call {
        let graph = &shared.graph;
        loop {
            if let ManagerActivity::Ending(step) = self.activity {
                return self.finish(shared, step);
            }
            let options = &graph.options;
            if let Some(&(to, note)) = self.outbox.front() {
                if options.message > SimSpan::ZERO && !self.paid {
                    self.paid = true;
                    return Call::Compute(options.message);
                }
                self.paid = false;
                self.outbox.pop_front();
                self.activity = ManagerActivity::Sending;
                return Call::Isend(self.message(graph, to, note));
            }
            if self.receive.is_none() {
                self.activity = ManagerActivity::Posting;
                return Call::Irecv(ANYTHING);
            }
            if self.sends.len() >= self.many_sends {
                self.activity = ManagerActivity::Reaping;
                let requests = self.sends.iter().copied().collect();
                return Call::Test { requests, which: Which::Some, poll: false };
            }
            if options.progress == Progress::Thread
                && let Some(thread) = self.threads.iter().position(Option::is_none)
                && let Some(record) = self.ready.pop()
            {
                match self.start(graph, record) {
                    Ok(SimSpan::ZERO) => self.agenda.push_front(AgendaJob::Ended(record)),
                    Ok(span) => {
                        self.activity = ManagerActivity::Starting { thread, record };
                        return Call::Start(Box::new(Execution(Some(span))));
                    }
                    Err(call) => return call,
                }
                continue;
            }
            if let Some(job) = self.agenda.first() {
                if self.looked != self.now && !matches!(job, AgendaJob::Take(..)) {
                    return self.look();
                }
                self.agenda.pop();
                let price = self.price(graph, job);
                if price > SimSpan::ZERO {
                    self.activity = ManagerActivity::Paying(job);
                    return Call::Compute(price);
                }
                self.perform(graph, job);
                continue;
            }
            if options.progress == Progress::Between && !self.ready.is_empty() {
                if self.looked != self.now {
                    return self.look();
                }
                self.answer_requests(graph);
                if !self.outbox.is_empty() {
                    continue;
                }
                let Some(record) = self.ready.pop() else { continue };
                match self.start(graph, record) {
                    Ok(SimSpan::ZERO) => self.agenda.push_front(AgendaJob::Ended(record)),
                    Ok(span) => {
                        self.activity = ManagerActivity::Executing(record);
                        return Call::Compute(span);
                    }
                    Err(call) => return call,
                }
                continue;
            }
            if let Some(span) = self.look_for_work(graph) {
                self.activity = ManagerActivity::Timing;
                return Call::Start(Box::new(Execution(Some(span))));
            }
            self.tell(graph);
            if !self.outbox.is_empty() || !self.agenda.is_empty() {
                continue;
            }
            if self.is_through(graph) {
                self.activity = ManagerActivity::Ending(0);
                continue;
            }
            self.activity = ManagerActivity::Waiting;
            return Call::WaitAny(self.awaited());
        }
    }

    /// Engine call that tests for a message or for the end of a thread.
    fn look(&mut self) -> Call {
        self.activity = ManagerActivity::Waiting;
        Call::Test { requests: self.awaited(), which: Which::First, poll: false }
    }

    /// Engine call of step `step` at the program's end, when the process completes its sends and cancels its receive.
    fn finish(&mut self, shared: &SharedTasks, step: u8) -> Call {
        self.activity = ManagerActivity::Ending(step + 1);
        match step {
            0 => Call::Complete(self.sends.drain(..).collect()),
            1 => Call::Cancel(self.receive.expect("it is posted")),
            2 => Call::Complete(self.receive.into_iter().collect()),
            _ => {
                if let Some(log) = &mut self.log {
                    log.ended = self.now;
                    if shared.names {
                        let name = |visit: &crate::profile::Visit| shared.graph.name(visit.fragment);
                        log.names = log.visits.iter().map(name).collect();
                    }
                }
                Call::Finish
            }
        }
    }

    fn message(&self, graph: &TaskGraph, to: Rank, note: Note) -> Message {
        let options = &graph.options;
        let size = match note {
            Note::Fragment(..) => options.fragment_bytes,
            Note::Data(data) => Bytes::new(graph.keeping[data as usize].bytes),
            _ => options.request_bytes,
        };
        Message {
            to,
            context: 0,
            tag: note.tag(),
            size,
            mode: SendMode::Standard,
            payload: None,
            buffer: Default::default(),
        }
    }

    /// Execution time of `fragment` on this process.
    pub(super) fn cost(&self, graph: &TaskGraph, fragment: u32) -> Result<SimSpan, Call> {
        graph.amount(fragment).span(&graph.rates, self.memory_share).map_err(|fault| {
            let place = graph.name(fragment);
            let kind = FailureKind::Description;
            Call::Fail(Box::new(ProgramError { kind, place, what: fault.to_string() }))
        })
    }
}

const ANYTHING: Pattern = Pattern {
    from: Source::Any,
    context: 0,
    tag: TagPattern::Any,
    capacity: Bytes::new(u64::MAX),
    buffer: crate::rank::Buffer::NONE,
};

impl MpiProgram for TaskProgram {
    fn next(&mut self, reply: Reply<'_>) -> MpiCall {
        MpiCall::Call(self.next_call(reply, &mut None::<MpiCall>))
    }

    fn next_call(&mut self, reply: Reply<'_>, _: &mut dyn BeginCollective) -> Call {
        let TaskProgram { shared, state } = self;
        state.now = reply.clock;
        state.answered(&shared.graph, reply.kind);
        state.step(shared)
    }
}

impl Describe for TaskProgram {
    fn position(&self) -> Option<String> {
        let ProcessState { ready, .. } = &self.state;
        let waiting = self.state.held() - ready.len();
        Some(format!("the manager of {waiting} fragments that wait and {} that are ready", ready.len()))
    }
}
