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

/// A target rank's number in the world, at most 2^32 − 2.
pub type Rank = u32;

/// Keeps the messages of one communicator, and of its collectives, apart from all others.
pub type Context = u32;

/// The context whose messages are not received: the receiving rank's program serves each when its end arrives (see
/// [`Program::serve`]). They are sent eagerly, whatever their size and mode.
pub const SERVICE: Context = Context::MAX;

/// A message's tag, at most 2^32 − 2.
pub type Tag = u32;

/// A rank's name for a request it started; unique among its unfinished ones.
pub type RequestId = u32;

/// The request of an operation that was complete as soon as it was started, such as an eager send. It needs no record,
/// so all of them share this name; waiting for it or testing it is allowed any number of times.
pub const COMPLETE: RequestId = RequestId::MAX;

/// A set of requests, in the order the program gave.
pub type Requests = SmallVec<[RequestId; 12]>;

/// What a message carries; a described program's messages carry nothing but their size.
pub type Payload = Option<Data>;

/// Bytes behind one pointer: messages are moved often, and most carry none.
pub type Data = Box<Vec<u8>>;

/// How a send may complete (MPI-3.1, section 3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendMode {
    /// Eager up to the link's threshold, rendezvous above.
    #[default]
    Standard,
    /// Always rendezvous: completes only once the receive has been posted.
    Synchronous,
    /// Always eager.
    Buffered,
}

/// A message to send.
#[derive(Debug)]
pub struct Message {
    /// The receiver.
    pub to: Rank,
    /// The context it is matched in.
    pub context: Context,
    /// Its tag.
    pub tag: Tag,
    /// Its size; a payload, if any, has as many bytes.
    pub size: Bytes,
    /// How the send may complete.
    pub mode: SendMode,
    /// From where it is sent.
    pub buffer: Buffer,
    /// The data.
    pub payload: Payload,
}

/// Whose messages a receive takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Only this rank's.
    Rank(Rank),
    /// MPI_ANY_SOURCE.
    Any,
}

/// Which tags a receive takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TagPattern {
    /// Only this one.
    Tag(Tag),
    /// MPI_ANY_TAG.
    Any,
}

/// What a receive or probe takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The sender.
    pub from: Source,
    /// The context.
    pub context: Context,
    /// The tag.
    pub tag: TagPattern,
    /// The greatest size that fits; a longer message ends the run as truncated (MPI_ERR_TRUNCATE).
    pub capacity: Bytes,
    /// To where it is received.
    pub buffer: Buffer,
}

/// How many requests a test completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All or none (MPI_Testall).
    All,
    /// Those that are complete (MPI_Testsome).
    Some,
    /// The first in the list that is complete (MPI_Testany).
    First,
}

/// What a rank asks of the simulator. Each call is answered by one [`Reply`] of the kind stated.
#[derive(Debug)]
pub enum Call {
    /// Executes a local block of this length. → `Done`
    Compute(SimSpan),
    /// Executes a local block that moves bytes from and to memory, which it may share with others. → `Done`
    Work(MemoryBlock),
    /// Executes a local block of real code, of this length where nobody else computes on the CMP. → `Done`
    Code(SimSpan),
    /// Copies or combines data in a collective, in memory of its own. → `Done`
    Data(DataBlock),
    /// Sends and returns when the buffer may be reused. → `Done`
    Send(Message),
    /// Receives. → `Completed` with one entry
    Recv(Pattern),
    /// Sends and receives at once (MPI_Sendrecv). → `Completed` with one entry, the receive's
    Exchange(Message, Pattern),
    /// Starts a send. → `Started`
    Isend(Message),
    /// Posts a receive. → `Started`
    Irecv(Pattern),
    /// Waits for all of them; they are then finished. → `Completed`, an entry a request in the order given
    WaitAll(Requests),
    /// Waits for all of them, as [`Call::WaitAll`], by a program that does not ask what became of them. → `Done`
    Complete(Requests),
    /// Waits for the one that completes first (the first in the list among equals). → `Completed` with one entry
    WaitAny(Requests),
    /// Completes those that are complete now. → `Completed`, possibly with no entry
    Test {
        /// The requests asked about.
        requests: Requests,
        /// How many of them.
        which: Which,
        /// To complete none takes a poll of the core's time; otherwise no time.
        poll: bool,
    },
    /// For a program that polls in a loop: lets time pass in whole polls until something changes for the rank, at most
    /// this long (rounded up to a poll, and one at least). → `Done`
    ///
    /// What changes is that a request or strand completes, that a message comes that no receive waited for, or that one
    /// is served. The clock then is where the first poll would see it, had the rank polled all the time. What has
    /// changed since the last such call ended, and is not completed yet, ends it at once, with no time passed. A rank
    /// for which nothing has changed while it idled for 1000 s (less what it spent otherwise) goes on until something
    /// does.
    Idle(SimSpan),
    /// Withdraws a posted receive if no message has been matched to it yet (MPI_Cancel): it is then ready, and its
    /// completion says so. Anything else completes as if this had not been called. → `Done`
    Cancel(RequestId),
    /// Waits for a message without receiving it. → `Completed` with one entry without payload
    Probe(Pattern),
    /// Looks for a message now. → `Completed` with at most one entry
    Iprobe(Pattern),
    /// Starts a strand: calls that proceed by themselves with a clock of their own (a non-blocking collective). →
    /// `Started`; the request completes when the strand finishes.
    Start(Box<dyn Program>),
    /// What follows, until [`Call::Leave`], is inside this collective. → `Done`
    Enter(CollectiveEntry),
    /// Ends what [`Call::Enter`] began. → `Done`
    Leave,
    /// Nothing; lets the engine check its limits and look after other ranks. → `Done`
    Yield,
    /// The program has ended. Never answered.
    Finish,
    /// The program cannot go on; the run ends with this error. Never answered.
    Fail(Box<ProgramError>),
}

/// A collective that a task enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectiveEntry {
    /// The MPI function.
    pub name: &'static str,
    /// How it is done, where there is a choice.
    pub method: Option<Method>,
    /// The size by which that was chosen.
    pub bytes: Bytes,
}

impl CollectiveEntry {
    /// What has no algorithm to tell of.
    pub const fn named(name: &'static str) -> Self {
        CollectiveEntry { name, method: None, bytes: Bytes::ZERO }
    }
}

/// An answer.
#[derive(Debug)]
pub struct Reply<'a> {
    /// The rank's clock.
    pub clock: SimTime,
    /// What the call gave.
    pub kind: ReplyKind<'a>,
}

/// The kinds of answer.
#[derive(Debug)]
pub enum ReplyKind<'a> {
    /// The very first reply of a program, before any call.
    Begin,
    /// Done.
    Done,
    /// A request was started.
    Started(RequestId),
    /// Receives, sends and strands that completed; payloads may be taken.
    Completed(&'a mut [Completion]),
}

/// What became of a request.
#[derive(Debug)]
pub struct Completion {
    /// Its position in the list the call gave; 0 for a blocking receive or a probe.
    pub index: u32,
    /// The sender of a received message; the rank itself for sends and strands.
    pub source: Rank,
    /// The tag of a received message, 0 otherwise.
    pub tag: Tag,
    /// The size of a received message, 0 otherwise.
    pub size: Bytes,
    /// The data of a received message.
    pub payload: Payload,
    /// It is a receive that [`Call::Cancel`] withdrew.
    pub cancelled: bool,
}

/// A message in the [`SERVICE`] context that has arrived.
#[derive(Debug)]
pub struct Served {
    /// When its end arrived.
    pub at: SimTime,
    /// Its sender.
    pub from: Rank,
    /// Its tag.
    pub tag: Tag,
    /// Its size.
    pub size: Bytes,
    /// Its data.
    pub payload: Payload,
}

/// A rank's code: a generator of calls.
///
/// The engine calls `next` with [`ReplyKind::Begin`] first and then with the reply to each call, until [`Call::Finish`]
/// or [`Call::Fail`]. Code may run on any thread and far ahead of other ranks; it influences the simulation by its
/// calls only.
pub trait Program: Send {
    /// Takes the reply to the last call and gives the next.
    fn next(&mut self, reply: Reply<'_>) -> Call;

    /// As [`Program::next`], but the program may make calls through `simulator` first. None if it waits for the answer
    /// to the last of them.
    #[inline]
    fn next_asking(&mut self, reply: &mut Reply<'_>, simulator: &mut dyn Simulator) -> Option<Call> {
        let _ = simulator;
        let kind = std::mem::replace(&mut reply.kind, ReplyKind::Done);
        Some(self.next(Reply { kind, ..*reply }))
    }

    /// Serves a message in the [`SERVICE`] context and puts what is to be sent for it into `answers`.
    ///
    /// It is the rank's network adapter that serves, whatever the program does or even if it has ended: none of the
    /// rank's time is spent. The answers leave the overhead of a send after the message's end, eagerly. The messages of
    /// a rank are served in the order of their ends, those of a pair of ranks in the order sent. The program may
    /// already have been run to a later time than the message's.
    fn serve(&mut self, message: Served, answers: &mut Vec<Message>) {
        let _ = (message, answers);
    }

    /// Tells the program, before it begins, which doorbell to ring when it could run ahead.
    fn attach(&mut self, doorbell: &Arc<Doorbell>) {
        let _ = doorbell;
    }

    /// Runs what can be run before the engine asks for it.
    fn run_ahead(&mut self) {}

    /// The call that the program is in, for reports: "MPI_Recv". Without it the name of the engine's call is used.
    fn call_name(&self) -> Option<&'static str> {
        None
    }

    /// Where the program is, for errors: "exchange\[2\] of app.toml:20 in main\[0\].do\[1\] of app.toml:12".
    fn position(&self) -> Option<String> {
        None
    }

    /// Where it makes its present call, to tell the time of calls apart: cheap, as it is asked of every call then.
    fn site(&self) -> CallSite {
        self.call_name().map_or(CallSite::Unknown, CallSite::Function)
    }

    /// Where step `step` of the program stands: "main\[0\].do\[1\]".
    fn step_name(&self, step: u32) -> String {
        step.to_string()
    }

    /// The same with the source's name and line where these are known: "main\[0\].do\[1\] at app.toml:12"; of a
    /// [`CallSite::Place`] the place of that number, "main at ring.c:42".
    fn site_name(&self, step: u32) -> String {
        self.step_name(step)
    }

    /// What step `step` of the program does, and the line of its source where that is known.
    fn step_source(&self, step: u32) -> StepSource {
        let _ = step;
        StepSource::default()
    }

    /// The calls that the program makes will be counted; `by_place` asks for [`CallSite::Place`] where places are
    /// known.
    fn count_calls(&mut self, by_place: bool) {
        let _ = by_place;
    }

    /// Which of its calls the program is in, if it counts them: one may need several of the engine's, or none.
    fn entry(&self) -> Option<u64> {
        None
    }

    /// How often it has called what it counts.
    fn calls_made(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Whether it wants what it does to be profiled (MPI_Pcontrol).
    fn is_profiled(&self) -> bool {
        true
    }

    /// Whether it is, started as a strand, a thread of the rank, whose time is the rank's own computing and no part of
    /// a collective.
    fn is_thread(&self) -> bool {
        false
    }

    /// What it has recorded of the fragments it executed; asked for once, after its end.
    fn task_log(&mut self) -> Option<Box<TaskLog>> {
        None
    }

    /// Adds its timers, if it has some; asked for once, after its end.
    fn sum_timers(&self, sums: &mut TimerSums) {
        let _ = sums;
    }

    /// Adds the requests that it never waited for, if it knows where it started them; asked for once, after its end.
    fn sum_unwaited(&self, sums: &mut Unwaited) {
        let _ = sums;
    }

    /// What in the program, which all ranks share, sends messages of this context, tag and size, if only one statement
    /// can: "isend at ring.toml:7".
    fn sender(&self, sent: &Envelope, size: Bytes) -> Option<String> {
        let _ = (sent, size);
        None
    }

    /// The collectives that the program enters will be recorded: it is to keep what [`Program::called`] asks for.
    fn tell_collectives(&mut self) {}

    /// The collective that the program has just entered by a method ([`Call::Enter`]), so that it can be made again as
    /// a call; none of what can only be made again by its messages. Asked for before the program's next call.
    fn called(&mut self) -> Option<Called> {
        None
    }
}

/// A collective as the module that carries it out states it; whoever records it knows that type.
pub type Called = Box<dyn Any + Send>;

/// Where in a program a call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallSite {
    /// The program does not say.
    Unknown,
    /// A step of a described program; [`Program::step_name`] tells which.
    Step(u32),
    /// In a function of this name.
    Function(&'static str),
    /// In a function of this name, called at a place of the program's code; [`Program::site_name`] tells which.
    Place(&'static str, u32),
}

impl fmt::Debug for dyn Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Program")
    }
}

/// Why a program cannot go on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramError {
    /// In which way it ended.
    pub kind: FailureKind,
    /// Where in the program: "main\[2\].do\[0\]".
    pub place: String,
    /// What is wrong and what was expected; of a crash, lines of detail. May be empty where the kind says all.
    pub what: String,
}

/// The ways in which a program ends that cannot go on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// It has done what it must not.
    #[default]
    Error,
    /// It is described, and the description is wrong.
    Description,
    /// The host has no room for what it needs.
    NoRoom,
    /// It called MPI_Abort.
    Aborted {
        /// The error code it gave.
        code: i32,
    },
    /// It exited without MPI_Finalize, or with a code other than 0.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// A signal would have ended its process.
    Crashed {
        /// The signal's number.
        signal: i32,
    },
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

impl std::error::Error for ProgramError {}
