//! Calls of a rank to the simulator, replies, and programs of ranks.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::ahead::Doorbell;
use super::ask::Simulator;
use super::buffer::{Buffer, DataBlock, MemoryBlock};
use super::describe::Describe;
use crate::platform::Method;
use crate::units::{Bytes, SimSpan, SimTime};

/// Number of a simulated rank in the world, at most 2^32 − 2.
pub type Rank = u32;

/// Context of a message. The context separates the messages of a communicator from those of other communicators, and
/// messages of collectives from point-to-point messages.
pub type Context = u32;

/// Context of messages that are served instead of received. The receiving rank's program serves each message when its
/// last byte arrives (see [`Program::serve`]). Such messages are sent eagerly, whatever their size and mode.
pub const SERVICE: Context = Context::MAX;

/// Tag of a message, at most 2^32 − 2.
pub type Tag = u32;

/// Name of a request, unique among the unfinished requests of a rank.
pub type RequestId = u32;

/// Request of an operation that was complete when it was started, such as an eager send. All such operations share
/// this name, because the engine stores nothing about them. A program may wait for or test this request any number of
/// times.
pub const COMPLETE: RequestId = RequestId::MAX;

/// List of requests in the order of the program.
pub type Requests = SmallVec<[RequestId; 12]>;

/// Data of a message; `None` for messages of described programs.
pub type Payload = Option<Data>;

/// Data of a message behind one pointer, because messages are moved often and most have no data.
pub type Data = Box<Vec<u8>>;

/// Completion mode of a send (MPI-3.1, section 3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendMode {
    /// The send is eager up to the threshold of the link, and a rendezvous above.
    #[default]
    Standard,
    /// The send is always a rendezvous, which completes only after the receive was posted.
    Synchronous,
    /// The send is always eager.
    Buffered,
}

/// A message to send.
#[derive(Debug)]
pub struct Message {
    /// Rank that receives the message.
    pub to: Rank,
    /// Context of the message, which a matching receive must have.
    pub context: Context,
    /// Tag of the message.
    pub tag: Tag,
    /// Size in bytes. The payload, if any, has the same number of bytes.
    pub size: Bytes,
    /// Completion mode of the send.
    pub mode: SendMode,
    /// Buffer of the sender that contains the message.
    pub buffer: Buffer,
    /// Data of the message.
    pub payload: Payload,
}

/// Source of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Messages from this rank.
    Rank(Rank),
    /// Messages from any rank (MPI_ANY_SOURCE).
    Any,
}

/// Tag of a receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagPattern {
    /// Messages with this tag.
    Tag(Tag),
    /// Messages with any tag (MPI_ANY_TAG).
    Any,
}

/// Messages that a receive or probe accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Accepted senders.
    pub from: Source,
    /// Accepted context.
    pub context: Context,
    /// Accepted tags.
    pub tag: TagPattern,
    /// Greatest accepted size in bytes. A longer message ends the run with the error MPI_ERR_TRUNCATE.
    pub capacity: Bytes,
    /// Buffer of the receiver in which the message is stored.
    pub buffer: Buffer,
}

/// Selection of the requests that a test completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All requests if all are complete, otherwise none (MPI_Testall).
    All,
    /// All requests that are complete (MPI_Testsome).
    Some,
    /// The first request in the list that is complete (MPI_Testany).
    First,
}

/// Call of a rank to the simulator. The simulator answers each call by one [`Reply`] of the kind after the arrow.
#[derive(Debug)]
pub enum Call {
    /// Executes a local block of computing of this length. → `Done`
    Compute(SimSpan),
    /// Executes a local block of computing that moves bytes from and to memory, whose bandwidth other ranks may share.
    /// → `Done`
    Work(MemoryBlock),
    /// Executes a local block of a real program's code. The block takes this time if no other rank computes on the
    /// CMP. → `Done`
    Code(SimSpan),
    /// Copies or combines data of a collective in the rank's own memory. → `Done`
    Data(DataBlock),
    /// Sends a message; the reply follows when the buffer may be reused. → `Done`
    Send(Message),
    /// Receives a message. → `Completed` with one entry
    Recv(Pattern),
    /// Sends one message and receives another concurrently (MPI_Sendrecv). → `Completed` with one entry, that of the
    /// receive
    Exchange(Message, Pattern),
    /// Starts a send. → `Started`
    Isend(Message),
    /// Posts a receive. → `Started`
    Irecv(Pattern),
    /// Waits for all requests in the list and frees them. → `Completed`, with one entry per request in the order of
    /// the list
    WaitAll(Requests),
    /// Like [`Call::WaitAll`], for a program that does not need the completions. → `Done`
    Complete(Requests),
    /// Waits for the request that completes first; of requests that complete at the same time, the first in the list.
    /// → `Completed` with one entry
    WaitAny(Requests),
    /// Tests whether requests are complete, and frees the selected complete ones. → `Completed`, possibly without
    /// entries
    Test {
        /// Requests that are tested.
        requests: Requests,
        /// Selection of the requests to complete.
        which: Which,
        /// Whether a test that completes nothing takes the time of one poll; otherwise it takes no time.
        poll: bool,
    },
    /// Executes a polling loop: advances time in whole polls until a change for the rank, but at most by this span
    /// (rounded up to whole polls, at least one poll). → `Done`
    ///
    /// A change for the rank is one of these events: a request or strand completes, a message without a posted receive
    /// arrives, or a message is served. The clock of the reply is the time of the first poll that would notice the
    /// change. If a change has happened since the last `Idle` call, the call ends at once, in zero time; a request
    /// that the program has completed meanwhile is not a change. If nothing has changed for the rank during 1000 s of
    /// idling (minus time spent otherwise), the call waits for the next change.
    Idle(SimSpan),
    /// Cancels a posted receive that has not been matched (MPI_Cancel). The receive is then complete, and its
    /// completion is marked as cancelled. A matched receive or a send is not affected. → `Done`
    Cancel(RequestId),
    /// Waits for a message without receiving it. → `Completed` with one entry without payload
    Probe(Pattern),
    /// Tests whether a message has arrived, without receiving it. → `Completed` with at most one entry
    Iprobe(Pattern),
    /// Starts a strand: a program that proceeds concurrently with its own clock (for example a non-blocking
    /// collective). The request completes when the strand ends. → `Started`
    Start(Box<dyn Program>),
    /// Begins a collective, to which all calls until [`Call::Leave`] belong. → `Done`
    Enter(CollectiveEntry),
    /// Ends the collective of [`Call::Enter`]. → `Done`
    Leave,
    /// Does nothing, so that the engine can check its limits and run other ranks. → `Done`
    Yield,
    /// Ends the program. This call is never answered.
    Finish,
    /// Ends the run with this error, because the program cannot continue. This call is never answered.
    Fail(Box<ProgramError>),
}

/// A collective entered by a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveEntry {
    /// Name of the MPI function.
    pub name: &'static str,
    /// Method of the collective, if several are possible.
    pub method: Option<Method>,
    /// Size in bytes that determined the method.
    pub bytes: Bytes,
}

impl CollectiveEntry {
    /// Creates an entry without an algorithm.
    pub const fn named(name: &'static str) -> Self {
        CollectiveEntry { name, method: None, bytes: Bytes::ZERO }
    }
}

/// Reply of the simulator to a call.
#[derive(Debug)]
pub struct Reply<'a> {
    /// Clock of the rank after the call.
    pub clock: SimTime,
    /// Result of the call.
    pub kind: ReplyKind<'a>,
}

/// Kinds of replies to a call.
#[derive(Debug)]
pub enum ReplyKind<'a> {
    /// First reply of a program, before any call.
    Begin,
    /// The call is done and has no result.
    Done,
    /// The call started this request.
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
    /// Whether the request is a receive that [`Call::Cancel`] cancelled.
    pub cancelled: bool,
}

/// A message in the [`SERVICE`] context that has arrived.
#[derive(Debug)]
pub struct Served {
    /// Time at which the last byte of the message arrived.
    pub at: SimTime,
    /// Rank that sent the message.
    pub from: Rank,
    /// Tag of the message.
    pub tag: Tag,
    /// Size of the message.
    pub size: Bytes,
    /// Data of the message.
    pub payload: Payload,
}

/// Code of a rank, which makes calls to the simulator.
///
/// The engine calls `next` first with [`ReplyKind::Begin`], then with the reply to each call, until [`Call::Finish`]
/// or [`Call::Fail`]. The code may run on any thread and far ahead of other ranks. The code affects the simulation
/// only by its calls.
pub trait Program: Describe + Send {
    /// Takes the reply to the last call and returns the next call.
    fn next(&mut self, reply: Reply<'_>) -> Call;

    /// Like [`Program::next`], but the program may first make calls through `simulator`. Returns `None` if the program
    /// waits for the reply to the last call that it made through `simulator`.
    #[inline]
    fn next_asking(&mut self, reply: &mut Reply<'_>, simulator: &mut dyn Simulator) -> Option<Call> {
        let _ = simulator;
        let kind = std::mem::replace(&mut reply.kind, ReplyKind::Done);
        Some(self.next(Reply { kind, ..*reply }))
    }

    /// Serves a message in the [`SERVICE`] context and adds the resulting messages to `answers`.
    ///
    /// The rank's network adapter serves the message whatever the state of the program, even after the end of the
    /// program, and without using time of the rank. The answers are sent eagerly, one send overhead after the
    /// message's last byte has arrived. The messages to a rank are served in the order of arrival, and the messages
    /// from one rank to another in the order sent. The program may already have reached a later time than the arrival
    /// of the message.
    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        let _ = (message, answers);
    }

    /// Sets the doorbell that is rung when the program may be able to run ahead. Called before the first turn.
    fn attach(&mut self, doorbell: &Arc<Doorbell>) {
        let _ = doorbell;
    }

    /// Runs the part of the program that needs no reply of the engine.
    fn run_ahead(&mut self) {}
}

impl fmt::Debug for dyn Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Program")
    }
}

/// Reason why a program cannot continue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramError {
    /// Kind of the failure.
    pub kind: FailureKind,
    /// Position in the program: "main\[2\].do\[0\]".
    pub place: String,
    /// Description of the found and the expected value; for a crash, lines with details. The text may be empty if
    /// `kind` is sufficient.
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
        /// Error code passed to MPI_Abort.
        code: i32,
    },
    /// The program exited without MPI_Finalize, or with a code other than 0.
    Exited {
        /// Exit code of the program.
        code: i32,
    },
    /// The program got a signal that would have ended its process.
    Crashed {
        /// Number of the signal that the program got.
        signal: i32,
    },
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl std::error::Error for ProgramError {}
