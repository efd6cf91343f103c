//! Calls, replies and programs.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::ahead::Doorbell;
use super::ask::Simulator;
use super::buffer::{Buffer, DataBlock, MemoryBlock};
use super::matcher::Envelope;
use crate::platform::Method;
use crate::profile::{StepSource, TaskLog, TimerSums, Unwaited};
use crate::units::{Bytes, SimSpan, SimTime};

/// Number of a target rank in the world, at most 2^32 − 2.
pub type Rank = u32;

/// Separates the messages of one communicator, and those of its collectives, from all others.
pub type Context = u32;

/// Context whose messages are not received. The receiving rank's program serves each message when its end arrives
/// (see [`Program::serve`]). They are sent eagerly, whatever their size and mode.
pub const SERVICE: Context = Context::MAX;

/// Tag of a message, at most 2^32 − 2.
pub type Tag = u32;

/// Name of a request, unique among the unfinished requests of a rank.
pub type RequestId = u32;

/// Request of an operation that was complete when it was started, such as an eager send. It needs no record, so all
/// such operations share this name. It may be waited for or tested any number of times.
pub const COMPLETE: RequestId = RequestId::MAX;

/// Requests in the program's order.
pub type Requests = SmallVec<[RequestId; 12]>;

/// Data of a message; `None` for messages of described programs.
pub type Payload = Option<Data>;

/// Bytes behind one pointer: messages are moved often, and most carry no data.
pub type Data = Box<Vec<u8>>;

/// Completion mode of a send (MPI-3.1, section 3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendMode {
    /// Eager up to the link's threshold, rendezvous above.
    #[default]
    Standard,
    /// Always rendezvous: completes only after the receive was posted.
    Synchronous,
    /// Always eager.
    Buffered,
}

/// A message to send.
#[derive(Debug)]
pub struct Message {
    /// Receiver.
    pub to: Rank,
    /// Context for matching.
    pub context: Context,
    /// Tag.
    pub tag: Tag,
    /// Size. A payload has the same number of bytes.
    pub size: Bytes,
    /// Completion mode.
    pub mode: SendMode,
    /// Buffer of the sender.
    pub buffer: Buffer,
    /// Data.
    pub payload: Payload,
}

/// Source of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Only this rank.
    Rank(Rank),
    /// MPI_ANY_SOURCE.
    Any,
}

/// Tag of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagPattern {
    /// Only this tag.
    Tag(Tag),
    /// MPI_ANY_TAG.
    Any,
}

/// Messages that a receive or probe accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Sender.
    pub from: Source,
    /// Context.
    pub context: Context,
    /// Tag.
    pub tag: TagPattern,
    /// Greatest accepted size. A longer message ends the run as truncated (MPI_ERR_TRUNCATE).
    pub capacity: Bytes,
    /// Buffer of the receiver.
    pub buffer: Buffer,
}

/// Requests that a test completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All or none (MPI_Testall).
    All,
    /// All complete ones (MPI_Testsome).
    Some,
    /// The first complete one in the list (MPI_Testany).
    First,
}

/// Call of a rank to the simulator. Each call is answered by one [`Reply`] of the stated kind.
#[derive(Debug)]
pub enum Call {
    /// Executes a local block of this length. → `Done`
    Compute(SimSpan),
    /// Executes a local block that moves bytes from and to memory, which may be shared. → `Done`
    Work(MemoryBlock),
    /// Executes a local block of real code. The length is valid if no other rank computes on the CMP. → `Done`
    Code(SimSpan),
    /// Copies or combines data of a collective in the rank's own memory. → `Done`
    Data(DataBlock),
    /// Sends; returns when the buffer may be reused. → `Done`
    Send(Message),
    /// Receives. → `Completed` with one entry
    Recv(Pattern),
    /// Sends and receives concurrently (MPI_Sendrecv). → `Completed` with one entry, that of the receive
    Exchange(Message, Pattern),
    /// Starts a send. → `Started`
    Isend(Message),
    /// Posts a receive. → `Started`
    Irecv(Pattern),
    /// Waits for all requests, which are then finished. → `Completed`, one entry per request in the given order
    WaitAll(Requests),
    /// Like [`Call::WaitAll`], for a program that does not need the completions. → `Done`
    Complete(Requests),
    /// Waits for the request that completes first (the first in the list among equals). → `Completed` with one entry
    WaitAny(Requests),
    /// Completes requests that are complete now. → `Completed`, possibly without entries
    Test {
        /// Requests to test.
        requests: Requests,
        /// Requests to complete.
        which: Which,
        /// Whether a test that completes nothing takes the time of one poll; otherwise it takes no time.
        poll: bool,
    },
    /// Polling loop: advances time in whole polls until a change for the rank, at most by this span (rounded up to a
    /// poll, at least one). → `Done`
    ///
    /// A change is: a request or strand completes, a message without a posted receive arrives, or a message is
    /// served. The clock is then that of the first poll that would notice it. A change since the last such call that
    /// is not completed yet ends the call at once, in zero time. If nothing has changed for the rank during 1000 s of
    /// idling (minus time spent otherwise), the call waits for the next change.
    Idle(SimSpan),
    /// Cancels a posted receive that has not been matched (MPI_Cancel). Its completion is then ready and marked as
    /// cancelled. Other requests are not affected. → `Done`
    Cancel(RequestId),
    /// Waits for a message without receiving it. → `Completed` with one entry without payload
    Probe(Pattern),
    /// Tests for a message. → `Completed` with at most one entry
    Iprobe(Pattern),
    /// Starts a strand: calls that proceed concurrently with a clock of their own (a non-blocking collective). The
    /// request completes with the strand. → `Started`
    Start(Box<dyn Program>),
    /// Begins a collective, which contains all calls until [`Call::Leave`]. → `Done`
    Enter(CollectiveEntry),
    /// Ends the collective of [`Call::Enter`]. → `Done`
    Leave,
    /// Does nothing; lets the engine check its limits and run other ranks. → `Done`
    Yield,
    /// Ends the program. Never answered.
    Finish,
    /// The program cannot continue; the run ends with this error. Never answered.
    Fail(Box<ProgramError>),
}

/// A collective entered by a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveEntry {
    /// MPI function.
    pub name: &'static str,
    /// Method, if there is a choice.
    pub method: Option<Method>,
    /// Size that determined the method.
    pub bytes: Bytes,
}

impl CollectiveEntry {
    /// An entry without an algorithm.
    pub const fn named(name: &'static str) -> Self {
        CollectiveEntry { name, method: None, bytes: Bytes::ZERO }
    }
}

/// Reply to a call.
#[derive(Debug)]
pub struct Reply<'a> {
    /// Clock of the rank.
    pub clock: SimTime,
    /// Result of the call.
    pub kind: ReplyKind<'a>,
}

/// Kinds of replies.
#[derive(Debug)]
pub enum ReplyKind<'a> {
    /// First reply of a program, before any call.
    Begin,
    /// The call is done.
    Done,
    /// A request was started.
    Started(RequestId),
    /// Completed receives, sends and strands. The program may take the payloads.
    Completed(&'a mut [Completion]),
}

/// Completion of a request.
#[derive(Debug)]
pub struct Completion {
    /// Index in the call's list; 0 for a blocking receive or a probe.
    pub index: u32,
    /// Sender of a received message; the rank itself for sends and strands.
    pub source: Rank,
    /// Tag of a received message, otherwise 0.
    pub tag: Tag,
    /// Size of a received message, otherwise 0.
    pub size: Bytes,
    /// Data of a received message.
    pub payload: Payload,
    /// Whether it is a receive cancelled by [`Call::Cancel`].
    pub cancelled: bool,
}

/// A message in the [`SERVICE`] context that has arrived.
#[derive(Debug)]
pub struct Served {
    /// Arrival of its end.
    pub at: SimTime,
    /// Sender.
    pub from: Rank,
    /// Tag.
    pub tag: Tag,
    /// Size.
    pub size: Bytes,
    /// Data.
    pub payload: Payload,
}

/// Code of a rank: a generator of calls.
///
/// The engine calls `next` first with [`ReplyKind::Begin`], then with the reply to each call, until [`Call::Finish`]
/// or [`Call::Fail`]. The code may run on any thread and far ahead of other ranks. It influences the simulation only
/// through its calls.
pub trait Program: Send {
    /// Takes the reply to the last call and returns the next call.
    fn next(&mut self, reply: Reply<'_>) -> Call;

    /// Like [`Program::next`], but the program may first make calls through `simulator`. Returns `None` if it waits
    /// for the reply to the last of them.
    #[inline]
    fn next_asking(&mut self, reply: &mut Reply<'_>, simulator: &mut dyn Simulator) -> Option<Call> {
        let _ = simulator;
        let kind = std::mem::replace(&mut reply.kind, ReplyKind::Done);
        Some(self.next(Reply { kind, ..*reply }))
    }

    /// Serves a message in the [`SERVICE`] context and adds the resulting messages to `answers`.
    ///
    /// The rank's network adapter serves the message, whatever the state of the program, even after its end. This
    /// takes no time of the rank. The answers are sent eagerly, one send overhead after the message's end. Messages
    /// of a rank are served in the order of their ends, those of a pair of ranks in the order sent. The program may
    /// already have reached a later time than the message.
    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        let _ = (message, answers);
    }

    /// Sets the doorbell to ring when the program could run ahead. Called before the first turn.
    fn attach(&mut self, doorbell: &Arc<Doorbell>) {
        let _ = doorbell;
    }

    /// Runs the part of the program that needs no reply of the engine.
    fn run_ahead(&mut self) {}

    /// Name of the present call in reports, such as "MPI_Recv". Without it, the name of the engine's call is used.
    fn call_name(&self) -> Option<&'static str> {
        None
    }

    /// Position of the program in errors, such as "exchange\[2\] of app.toml:20 in main\[0\].do\[1\] of app.toml:12".
    fn position(&self) -> Option<String> {
        None
    }

    /// Source position of the present call, to separate the times of calls. Must be cheap because it is read at every
    /// call.
    fn site(&self) -> CallSite {
        self.call_name().map_or(CallSite::Unknown, CallSite::Function)
    }

    /// Path of step `step` of the program, such as "main\[0\].do\[1\]".
    fn step_name(&self, step: u32) -> String {
        step.to_string()
    }

    /// Path with the source's name and line if known, such as "main\[0\].do\[1\] at app.toml:12". For a
    /// [`CallSite::Place`], the place with that number, such as "main at ring.c:42".
    fn site_name(&self, step: u32) -> String {
        self.step_name(step)
    }

    /// Operation of step `step` of the program, and its source line if known.
    fn step_source(&self, step: u32) -> StepSource {
        let _ = step;
        StepSource::default()
    }

    /// Announces that calls of the program will be counted. `by_place` requests [`CallSite::Place`] if places are
    /// known.
    fn count_calls(&mut self, by_place: bool) {
        let _ = by_place;
    }

    /// Number of the present call, for programs that count their calls. One such call may need several calls of the
    /// engine, or none.
    fn entry(&self) -> Option<u64> {
        None
    }

    /// Numbers of calls that the program counts itself, by function.
    fn calls_made(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Whether the program requests profiling (MPI_Pcontrol).
    fn is_profiled(&self) -> bool {
        true
    }

    /// Whether this strand is a thread of the rank: its time is computing of the rank and not part of a collective.
    fn is_thread(&self) -> bool {
        false
    }

    /// Record of the executed fragments. Called once, after the end.
    fn task_log(&mut self) -> Option<Box<TaskLog>> {
        None
    }

    /// Adds its timers to `sums`. Called once, after the end.
    fn sum_timers(&self, sums: &mut TimerSums) {
        let _ = sums;
    }

    /// Adds the requests without a wait, with the statements that started them, if known. Called once, after the end.
    fn sum_unwaited(&self, sums: &mut Unwaited) {
        let _ = sums;
    }

    /// Statement of the program (common to all ranks) that sends messages with this context, tag and size, if it is
    /// unique: "isend at ring.toml:7".
    fn sender(&self, sent: &Envelope, size: Bytes) -> Option<String> {
        let _ = (sent, size);
        None
    }

    /// Announces that collectives of the program will be recorded, so the program must keep the data for
    /// [`Program::called`].
    fn record_collectives(&mut self) {}

    /// Description of the collective just entered ([`Call::Enter`] with a method), with which it can be executed
    /// again as a call. `None` if only its messages can be repeated. Called before the program's next call.
    fn called(&mut self) -> Option<Called> {
        None
    }
}

/// Description of a collective by the module that executes it. The recorder knows the type.
pub type Called = Box<dyn Any + Send>;

/// Source position of a call in a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallSite {
    /// Unknown.
    Unknown,
    /// A step of a described program; see [`Program::step_name`].
    Step(u32),
    /// In a function with this name.
    Function(&'static str),
    /// In a function with this name, called at a place of the program's code; see [`Program::site_name`].
    Place(&'static str, u32),
}

impl fmt::Debug for dyn Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Program")
    }
}

/// Reason why a program cannot continue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramError {
    /// Kind of failure.
    pub kind: FailureKind,
    /// Position in the program: "main\[2\].do\[0\]".
    pub place: String,
    /// Description of the found and the expected value; for a crash, lines of detail. May be empty if the kind is
    /// sufficient.
    pub what: String,
}

/// Kinds of failure of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// The program did something forbidden.
    #[default]
    Error,
    /// The description of the program is wrong.
    Description,
    /// The host lacks resources for the program.
    NoRoom,
    /// The program called MPI_Abort.
    Aborted {
        /// Error code passed to it.
        code: i32,
    },
    /// The program exited without MPI_Finalize, or with a code other than 0.
    Exited {
        /// Exit code.
        code: i32,
    },
    /// A signal would have ended its process.
    Crashed {
        /// Number of the signal.
        signal: i32,
    },
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl std::error::Error for ProgramError {}
