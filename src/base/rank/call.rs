//! Calls of a rank to the simulator, replies of the simulator, and programs of ranks.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;

use super::ahead::Doorbell;
use super::ask::Simulator;
use super::buffer::{Buffer, DataBlock, MemoryBlock};
use super::data::Data;
use super::describe::Describe;
use crate::platform::Method;
use crate::units::{Bytes, SimSpan, SimTime};

/// World rank of a simulated rank, at most 2^32 − 2.
pub type Rank = u32;

/// Context of a message. Contexts separate the messages of different communicators, and the messages of collectives
/// from point-to-point messages.
pub type Context = u32;

/// Context of messages that the receiving rank's service handles instead of a receive. The program's function
/// [`Program::serve`] handles a message when its last byte arrives. The protocol of these messages is always eager,
/// whatever their size and send mode.
pub const SERVICE: Context = Context::MAX;

/// Tag of a message, at most 2^32 − 2.
pub type Tag = u32;

/// Identifier of a request, unique among the unfinished requests of a rank.
pub type RequestId = u32;

/// Request of an operation that was complete when it was started, such as an eager send. All these operations share
/// this identifier, because the engine stores nothing about them. A program may wait for or test this request any
/// number of times.
pub const COMPLETE: RequestId = RequestId::MAX;

/// List of requests in the order of the program's call.
pub type Requests = SmallVec<[RequestId; 12]>;

/// Tag of a receive in the context [`SERVICE`] that no message matches. A thread of the rank waits until another thread
/// cancels the receive.
pub const THREAD_WAIT: Tag = Tag::MAX - 1;

/// Returns the receive by which a thread of `rank` waits for another thread. No message matches it.
pub const fn thread_wait(rank: Rank) -> Pattern {
    Pattern {
        from: Source::Rank(rank),
        context: SERVICE,
        tag: TagPattern::Tag(THREAD_WAIT),
        capacity: Bytes::ZERO,
        buffer: Buffer::NONE,
    }
}

/// Greatest number of a thread that a tag of [`lock_wait`] contains.
const MOST_HOLDER: u32 = 1 << 24;

/// Returns a tag for the use of [`THREAD_WAIT`] that names the thread `holder` of the rank, for whose lock the receive
/// waits. The main thread has the number 0.
pub const fn lock_wait(holder: u32) -> Tag {
    if holder > MOST_HOLDER { THREAD_WAIT } else { THREAD_WAIT - 1 - holder }
}

/// Returns the thread that the tag names, if the tag is from [`lock_wait`].
pub const fn lock_holder(tag: Tag) -> Option<u32> {
    if tag < THREAD_WAIT && tag >= THREAD_WAIT - 1 - MOST_HOLDER { Some(THREAD_WAIT - 1 - tag) } else { None }
}

/// Data of a message; `None` for messages of described programs.
pub type Payload = Option<Data>;

/// Completion mode of a send (MPI-3.1, section 3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendMode {
    /// The send is eager up to the eager threshold of the link, and a rendezvous above.
    #[default]
    Standard,
    /// The send is always a rendezvous, which completes only after the receive was posted.
    Synchronous,
    /// The send is always eager, whatever the message size.
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

/// Senders whose messages a receive accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Accepts messages from this rank.
    Rank(Rank),
    /// Accepts messages from any rank (MPI_ANY_SOURCE).
    Any,
}

/// Message tags that a receive accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagPattern {
    /// Accepts messages with this tag.
    Tag(Tag),
    /// Accepts messages with any tag (MPI_ANY_TAG).
    Any,
}

/// Properties of the messages that a receive or probe accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Senders whose messages are accepted.
    pub from: Source,
    /// Context of the accepted messages.
    pub context: Context,
    /// Tags of the accepted messages.
    pub tag: TagPattern,
    /// Greatest accepted message size in bytes. A longer message ends the run with the error MPI_ERR_TRUNCATE.
    pub capacity: Bytes,
    /// Buffer of the receiver in which the message is stored.
    pub buffer: Buffer,
}

/// Selection of the requests that a test call completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All requests if all are complete, otherwise no request (MPI_Testall).
    All,
    /// All requests that are complete (MPI_Testsome).
    Some,
    /// The first request in the list that is complete (MPI_Testany).
    First,
}

/// Call of a rank to the simulator. The simulator answers a call by one [`Reply`], whose type follows the arrow.
///
/// The tag is a word. After a smaller tag, a call is copied with its padding, by loads that overlap the stores of the
/// fields and therefore stall.
#[derive(Debug)]
#[repr(u64)]
pub enum Call {
    /// Computes locally for this span of virtual time. → `Done`
    Compute(SimSpan),
    /// Computes locally and moves bytes from and to memory. Other ranks may share the memory bandwidth. → `Done`
    Work(MemoryBlock),
    /// Executes a block of a real program's code. The block takes this span if no other rank computes on the CMP. →
    /// `Done`
    Code(SimSpan),
    /// Copies or combines data of a collective in the rank's own memory. → `Done`
    Data(DataBlock),
    /// Sends a message; the reply follows when the buffer may be reused. → `Done`
    Send(Message),
    /// Receives a message. → `Completed` with one completion
    Recv(Pattern),
    /// Sends one message and receives another message concurrently (MPI_Sendrecv). → `Completed` with the completion of
    /// the receive
    Exchange(Message, Pattern),
    /// Starts a send without waiting for its completion. → `Started`
    Isend(Message),
    /// Posts a receive without waiting for a message. → `Started`
    Irecv(Pattern),
    /// Waits for all requests in the list and frees the requests. → `Completed`, with one completion per request in the
    /// order of the list
    WaitAll(Requests),
    /// Like [`Call::WaitAll`], for a program that does not need the completions. → `Done`
    Complete(Requests),
    /// Waits for the request that completes first. If several requests complete at the same time, the first of them in
    /// the list counts. → `Completed` with one completion
    WaitAny(Requests),
    /// Tests whether requests are complete, and frees the selected complete requests. → `Completed`, possibly without
    /// completions
    Test {
        /// Requests whose completion is tested.
        requests: Requests,
        /// Selection of the requests that the test completes.
        which: Which,
        /// Whether an unsuccessful test takes the time of one poll. Otherwise an unsuccessful test takes no time.
        poll: bool,
    },
    /// Executes a polling loop. Virtual time advances in whole polls until a change for the rank, but at most by this
    /// span (rounded up to whole polls, at least one poll). → `Done`
    ///
    /// A change for the rank is one of these events: a request or strand completes, a message without a posted receive
    /// arrives, or the rank's service handles a message. The clock of the reply is the time of the first poll that
    /// would notice the change. If a change has happened since the last `Idle` call, the call ends at once, in zero
    /// time; a request that the program has completed meanwhile is not a change. If nothing has changed for the rank
    /// during 1000 s of idling (minus time spent otherwise), the call waits for the next change.
    Idle(SimSpan),
    /// Cancels a posted receive that has not been matched (MPI_Cancel). The cancelled receive is complete, and its
    /// completion is marked as cancelled. The call has no effect on a matched receive or a send. → `Done`
    Cancel(RequestId),
    /// Waits for a message without receiving the message. → `Completed` with one completion without payload
    Probe(Pattern),
    /// Tests whether a message has arrived, without receiving the message. → `Completed` with at most one completion
    Iprobe(Pattern),
    /// Starts a strand: a program that proceeds concurrently with the caller and has its own clock (for example a
    /// non-blocking collective). The request completes when the strand ends. → `Started`
    Start(Box<dyn Program>),
    /// Begins a collective. All calls up to [`Call::Leave`] belong to the collective. → `Done`
    Enter(CollectiveEntry),
    /// Ends the collective that [`Call::Enter`] began. → `Done`
    Leave,
    /// States what the rank's threads do. The call has no effect on the run; recorders of traces use it. → `Done`
    Mark(ThreadMark),
    /// Has no effect on virtual time; the engine can check its limits and execute other ranks. → `Done`
    Yield,
    /// Ends the program. The simulator does not answer this call.
    Finish,
    /// Ends the run with this error, because the program cannot continue. The simulator does not answer this call.
    Fail(Box<ProgramError>),
}

/// Longest block that needs no core while the rank has a core for each of its threads. Such a block needs fewer calls.
pub const UNCOUNTED_BLOCK: SimSpan = SimSpan::from_us(100);

/// Statement about the threads of a rank that have clocks of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThreadMark {
    /// A further thread shares the cores of the rank from now on.
    Shares,
    /// Begin and end of calls by which the thread takes or releases a core. Between them the thread may compute one block.
    Cores(bool),
    /// The next call is a time in which the thread needs no core.
    Sleeps,
    /// The thread uses the object with this number, such as a lock, at its own virtual time.
    Uses(u64, ObjectUse),
}

/// Use of an object by a thread. The order of uses of an object is part of a recorded run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectUse {
    /// The thread gets the object after the last release.
    Acquire,
    /// The thread releases the object.
    Release,
    /// The thread uses the object after the last use by any thread.
    Next,
}

/// A collective that a task (the program of a rank or of a strand) enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveEntry {
    /// Name of the MPI function.
    pub name: &'static str,
    /// Algorithm of the collective with its parameters, if several algorithms are possible.
    pub method: Option<Method>,
    /// Size in bytes by which the algorithm was chosen.
    pub bytes: Bytes,
}

impl CollectiveEntry {
    /// Creates a description of a collective without an algorithm.
    pub const fn named(name: &'static str) -> Self {
        CollectiveEntry { name, method: None, bytes: Bytes::ZERO }
    }
}

/// Reply of the simulator to a call.
#[derive(Debug)]
pub struct Reply<'a> {
    /// Clock of the rank after the call.
    pub clock: SimTime,
    /// Result of the call, whose type depends on the call.
    pub kind: ReplyKind<'a>,
}

/// Result of a call.
#[derive(Debug)]
pub enum ReplyKind<'a> {
    /// First reply to a program, before any call.
    Begin,
    /// The call is complete and has no result.
    Done,
    /// The call started this request.
    Started(RequestId),
    /// Completed receives, sends and strands. The program may take the payloads.
    Completed(&'a mut [Completion]),
}

/// Completion of a request, as reported to the program.
#[derive(Debug)]
pub struct Completion {
    /// Index of the request in the call's list; 0 for a blocking receive or a probe.
    pub index: u32,
    /// Rank that sent the received message; the rank itself for sends and strands.
    pub source: Rank,
    /// Tag of the received message; 0 for sends and strands.
    pub tag: Tag,
    /// Size of the received message; 0 for sends and strands.
    pub size: Bytes,
    /// Data of the received message, if it has data.
    pub payload: Payload,
    /// Whether the request is a receive that [`Call::Cancel`] cancelled.
    pub cancelled: bool,
}

/// A message in the [`SERVICE`] context that has arrived at a rank.
#[derive(Debug)]
pub struct Served {
    /// Virtual time at which the last byte of the message arrived.
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

/// Code of a simulated rank, which makes calls to the simulator.
///
/// The engine calls `next` first with [`ReplyKind::Begin`], then with the reply to each call, until [`Call::Finish`] or
/// [`Call::Fail`]. The code may run on any host thread and far ahead of other ranks. The code affects the simulation
/// only by its calls.
pub trait Program: Describe + Send {
    /// Takes the simulator's reply to the last call and returns the next call.
    fn next(&mut self, reply: Reply<'_>) -> Call;

    /// Like [`Program::next`], but the program may first make immediate calls through `simulator`. Returns `None` if
    /// the program waits for the reply to the last call that it made through `simulator`.
    #[inline]
    fn next_asking(&mut self, reply: &mut Reply<'_>, simulator: &mut dyn Simulator) -> Option<Call> {
        let _ = simulator;
        let kind = std::mem::replace(&mut reply.kind, ReplyKind::Done);
        Some(self.next(Reply { kind, ..*reply }))
    }

    /// Handles a message in the [`SERVICE`] context and adds the answers to the message to `answers`.
    ///
    /// The rank's network adapter handles the message in any state of the program, even after the program's end, and
    /// uses no time of the rank. The answers are sent eagerly, one send overhead after the arrival of the message's
    /// last byte. The messages to a rank are handled in the order of arrival. The messages from one rank to another are
    /// handled in the order in which they were sent. The program may already have reached a later virtual time than the
    /// arrival of the message.
    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        let _ = (message, answers);
    }

    /// Sets the doorbell that is rung when the program may be able to run ahead of virtual time. The engine calls this
    /// function before the first turn.
    fn attach(&mut self, doorbell: &Arc<Doorbell>) {
        let _ = doorbell;
    }

    /// Executes the code of the program up to the next call that needs a reply of the engine.
    fn run_ahead(&mut self) {}
}

impl fmt::Debug for dyn Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Program")
    }
}

/// Reason why the program of a rank cannot continue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramError {
    /// Class of the program's failure.
    pub kind: FailureKind,
    /// Position in the program: "main\[2\].do\[0\]".
    pub place: String,
    /// Description of the wrong value and of the expected value; for a crash, lines with details. The text is empty if
    /// `kind` suffices.
    pub what: String,
}

/// Class of a program's failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// The program made an invalid call.
    #[default]
    Error,
    /// The described application contains an error.
    Description,
    /// The host lacks memory or other resources for the program.
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
    /// The program got a signal that would have ended its operating-system process.
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
