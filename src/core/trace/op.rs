//! Operations in a trace. An operation stores relative ranks and tags, so that ranks and loop iterations with the same
//! actions share operations.

mod fields;

use serde::{Deserialize, Serialize};

use super::TraceError;
use super::bytes::{TraceReader, put};
use super::called::CalledOp;
use super::code::SequenceAmount;
use crate::mpi::Group;
use crate::rank::{Buffer, Context, MemoryBlock, SERVICE, SendMode, Tag};
use crate::units::{Bytes, SimSpan};
use fields::{put_end, put_slots, read_end, read_slots};
pub(super) use fields::{put_sent, read_sent};

/// Value of a peer that is stored in the task's list of peers instead of in the operation.
pub(super) const LISTED_PEER: u32 = u32::MAX;
/// Value of a size that is stored in the task's list of sizes instead of in the operation.
pub(super) const LISTED_SIZE: u64 = u64::MAX;
/// Context of receives that the program will cancel. No message has this context.
pub(super) const NOWHERE: Context = Context::MAX - 1;

/// Origin of a message tag that an operation stores relative to this origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum TagOrigin {
    /// The message tag is relative to 0.
    Zero,
    /// The tag is relative to the task's current base for tags of point-to-point messages.
    PointToPoint,
    /// The tag is relative to the task's current base for tags of collectives.
    Collective,
}

/// A message tag that is stored relative to an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct TagRef {
    pub origin: TagOrigin,
    pub offset: Tag,
}

/// The other rank of a message, and the context and tag of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct PeerEnd {
    /// Rank of the peer minus this rank, modulo the number of ranks; or [`LISTED_PEER`].
    pub peer: u32,
    pub context: Context,
    pub tag: TagRef,
}

/// A message that a task sends, as recorded in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Sent {
    pub to: PeerEnd,
    /// Number of bytes of the message, or [`LISTED_SIZE`].
    pub size: u64,
    pub mode: Mode,
}

/// [`SendMode`] in a type that can be compared and hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Mode {
    Standard,
    Synchronous,
    Buffered,
}

impl From<SendMode> for Mode {
    fn from(mode: SendMode) -> Self {
        match mode {
            SendMode::Standard => Mode::Standard,
            SendMode::Synchronous => Mode::Synchronous,
            SendMode::Buffered => Mode::Buffered,
        }
    }
}

impl From<Mode> for SendMode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Standard => SendMode::Standard,
            Mode::Synchronous => SendMode::Synchronous,
            Mode::Buffered => SendMode::Buffered,
        }
    }
}

/// A collective, and the algorithm that executed the collective in the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Entered {
    /// Indices in the trace's list of names of the MPI function and of the algorithm.
    pub names: [u32; 2],
    pub segment: u32,
    pub fan: u32,
    /// Size in bytes by which the algorithm was chosen, or [`LISTED_SIZE`].
    pub bytes: u64,
}

/// Use of a request by threads of a rank. The next late value of an offer or take states a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum SharedUse {
    /// Offers the request to other threads of the rank.
    Offer,
    /// Takes the request that another thread has offered at the point.
    Take,
    /// Frees the slot, whose request another thread has taken.
    Release,
}

/// An operation of a task. An operation identifies an active request of the task by a small integer, the request slot.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum TraceOp {
    /// Computes for this span of virtual time.
    Compute(SimSpan),
    /// Computes for the next span in the task's list of computing spans.
    ComputeListed,
    /// Computes for this span of virtual time, or longer if the memory needs longer to move the bytes of the block of
    /// work.
    Work(MemoryBlock),
    /// Like `Work`, but the span is the next span in the task's list of computing spans, and the number of bytes is the
    /// next late value.
    WorkListed,
    /// Advances virtual time by this span without computing, in a program with timed code.
    Pass(SimSpan),
    Send(Sent),
    Recv(PeerEnd),
    Exchange(Box<(Sent, PeerEnd)>),
    /// Starts a send that was eager in the recording.
    IsendEager(Sent),
    /// Starts a send that was a rendezvous in the recording.
    Isend(Sent, u32),
    Irecv(PeerEnd, u32),
    /// Posts a receive from any source or with any tag. The next late value states the received message.
    IrecvLate {
        end: PeerEnd,
        slot: u32,
        any_source: bool,
        any_tag: bool,
    },
    /// Waits for the requests in these request slots, and for the most recent eager sends of the task. The integer is
    /// the number of eager sends.
    Wait(Box<[u32]>, u32),
    /// Waits for the request in this request slot, which completed in an MPI_Waitany.
    WaitOne(u32),
    /// An unsuccessful poll (such as MPI_Test).
    Poll,
    /// An unsuccessful test for completion that takes no time.
    Look,
    /// A successful test, which completed the requests in these request slots. If the list is empty, the test completed
    /// eager sends.
    Test(Box<[u32]>),
    Idle(SimSpan),
    /// Cancels the receive in this request slot, if the next late value states that the receive was withdrawn.
    Cancel(u32),
    Probe(PeerEnd),
    /// A successful MPI_Iprobe, which found this message.
    Iprobe(PeerEnd),
    /// Starts the strand (concurrent activity) that the next late value states. The request of the strand gets this
    /// request slot.
    Start(u32),
    /// Enters the collective with this name. The collective has only one algorithm.
    Enter(u32),
    /// Enters a collective that has several algorithms.
    EnterBy(Box<Entered>),
    /// A whole collective. In a replay, the MPI library of the simulated machine chooses its algorithm.
    Called(Box<CalledOp>),
    Leave,
    Yield,
    /// A further thread shares the cores of the rank from now on. The program makes no call for this operation.
    Share,
    /// Posts the receive by which the thread waits for another thread, which reaches the point of the next late value.
    Await(u32),
    /// Uses the request in this slot together with other threads.
    Shared(SharedUse, u32),
    /// Waits for the time limit in the first slot, which ends the wait for another thread in the second slot.
    WaitLimit(u32, u32),
    /// The thread reaches the point of the next late value.
    Reach,
    /// The thread continues after the point of the next late value.
    Follow,
    /// Sets the message buffers of the next send and of the next receive of the task. The program makes no call for
    /// this operation.
    Buffers(Buffer, Buffer),
    /// Increases the task's base for tags of point-to-point messages. The program makes no call for this operation.
    TagsPointToPoint(u32),
    /// Increases the task's base for tags of collectives. The program makes no call for this operation.
    TagsCollective(u32),
}

impl TraceOp {
    /// Whether the program makes a call for the operation. Other operations only change the base of tags or the message
    /// buffers of the task.
    pub fn is_call(&self) -> bool {
        !matches!(
            self,
            TraceOp::Buffers(..)
                | TraceOp::TagsPointToPoint(_)
                | TraceOp::TagsCollective(_)
                | TraceOp::Share
                | TraceOp::Shared(..)
                | TraceOp::Reach
                | TraceOp::Follow
        )
    }

    /// Whether the operation belongs to threads with clocks of their own.
    pub fn is_of_threads(&self) -> bool {
        matches!(
            self,
            TraceOp::Share
                | TraceOp::Await(_)
                | TraceOp::Shared(..)
                | TraceOp::WaitLimit(..)
                | TraceOp::Reach
                | TraceOp::Follow
        )
    }

    /// Number of calls and messages of this operation.
    pub fn amount(&self) -> SequenceAmount {
        let sends = match self {
            TraceOp::Send(sent) | TraceOp::IsendEager(sent) | TraceOp::Isend(sent, _) => sent.to.context != SERVICE,
            TraceOp::Exchange(both) => both.0.to.context != SERVICE,
            _ => false,
        };
        let receives =
            matches!(self, TraceOp::Recv(_) | TraceOp::Exchange(_) | TraceOp::Irecv(..) | TraceOp::IrecvLate { .. });
        // The list of late values bounds the number of points.
        let is_bounded = self.is_call() || matches!(self, TraceOp::Reach | TraceOp::Follow | TraceOp::Shared(..));
        SequenceAmount { calls: is_bounded.into(), sends: sends.into(), receives: receives.into() }
    }

    /// Word for the operation in the output of `mcpsim trace`.
    pub fn word(&self) -> &'static str {
        match self {
            TraceOp::Compute(_) | TraceOp::ComputeListed | TraceOp::Work(_) | TraceOp::WorkListed => "compute",
            TraceOp::Send(_) => "send",
            TraceOp::Recv(_) => "recv",
            TraceOp::Exchange(_) => "sendrecv",
            TraceOp::IsendEager(_) | TraceOp::Isend(..) => "isend",
            TraceOp::Irecv(..) | TraceOp::IrecvLate { .. } => "irecv",
            TraceOp::Wait(..) => "wait",
            TraceOp::WaitOne(_) => "waitany",
            TraceOp::Poll | TraceOp::Look => "poll",
            TraceOp::Test(_) => "test",
            TraceOp::Idle(_) => "idle",
            TraceOp::Pass(_) => "pass",
            TraceOp::Cancel(_) => "cancel",
            TraceOp::Probe(_) => "probe",
            TraceOp::Iprobe(_) => "iprobe",
            TraceOp::Start(_) => "start",
            TraceOp::Enter(_) | TraceOp::EnterBy(_) => "enter",
            TraceOp::Called(_) => "collective",
            TraceOp::Leave => "leave",
            TraceOp::Yield => "yield",
            TraceOp::Await(_) => "thread wait",
            TraceOp::WaitLimit(..) => "waitany",
            TraceOp::Share | TraceOp::Shared(..) | TraceOp::Reach | TraceOp::Follow => "threads",
            TraceOp::Buffers(..) => "buffers",
            TraceOp::TagsPointToPoint(_) | TraceOp::TagsCollective(_) => "tags",
        }
    }

    /// Appends the encoding of the operation in the trace file.
    pub fn put(&self, out: &mut Vec<u8>) {
        let mut kind = |kind: u8| out.push(kind);
        match self {
            TraceOp::Compute(span) => {
                kind(0);
                put(out, span.as_ps());
            }
            TraceOp::ComputeListed => kind(1),
            TraceOp::Work(block) => {
                kind(26);
                put(out, block.core.as_ps());
                put(out, block.bytes.get());
            }
            TraceOp::WorkListed => kind(27),
            TraceOp::Pass(span) => {
                kind(28);
                put(out, span.as_ps());
            }
            TraceOp::Send(sent) => {
                kind(2);
                put_sent(out, sent);
            }
            TraceOp::Recv(end) => {
                kind(3);
                put_end(out, end, 0);
            }
            TraceOp::Exchange(both) => {
                kind(4);
                put_sent(out, &both.0);
                put_end(out, &both.1, 0);
            }
            TraceOp::IsendEager(sent) => {
                kind(5);
                put_sent(out, sent);
            }
            TraceOp::Isend(sent, slot) => {
                kind(6);
                put_sent(out, sent);
                put(out, (*slot).into());
            }
            TraceOp::Irecv(end, slot) => {
                kind(7);
                put_end(out, end, 0);
                put(out, (*slot).into());
            }
            TraceOp::IrecvLate { end, slot, any_source, any_tag } => {
                kind(8);
                put_end(out, end, u8::from(*any_source) | u8::from(*any_tag) << 1);
                put(out, (*slot).into());
            }
            TraceOp::Wait(slots, eager) => {
                kind(9);
                put(out, (*eager).into());
                put_slots(out, slots);
            }
            TraceOp::WaitOne(slot) => {
                kind(10);
                put(out, (*slot).into());
            }
            TraceOp::Poll => kind(11),
            TraceOp::Look => kind(12),
            TraceOp::Idle(span) => {
                kind(13);
                put(out, span.as_ps());
            }
            TraceOp::Cancel(slot) => {
                kind(14);
                put(out, (*slot).into());
            }
            TraceOp::Probe(end) => {
                kind(15);
                put_end(out, end, 0);
            }
            TraceOp::Start(slot) => {
                kind(16);
                put(out, (*slot).into());
            }
            TraceOp::Enter(name) => {
                kind(17);
                put(out, (*name).into());
            }
            TraceOp::EnterBy(entered) => {
                kind(24);
                entered.names.iter().for_each(|&name| put(out, name.into()));
                put(out, entered.segment.into());
                put(out, entered.fan.into());
                put(out, entered.bytes.wrapping_add(1));
            }
            TraceOp::Called(called) => {
                kind(25);
                called.put(out);
            }
            TraceOp::Leave => kind(18),
            TraceOp::Yield => kind(19),
            TraceOp::Share => kind(30),
            TraceOp::Await(slot) => {
                kind(31);
                put(out, (*slot).into());
            }
            TraceOp::Shared(how, slot) => {
                kind(34);
                put(out, *how as u64);
                put(out, (*slot).into());
            }
            TraceOp::WaitLimit(limit, wait) => {
                kind(35);
                [limit, wait].iter().for_each(|&&slot| put(out, slot.into()));
            }
            TraceOp::Reach => kind(32),
            TraceOp::Follow => kind(33),
            TraceOp::TagsPointToPoint(step) => {
                kind(20);
                put(out, (*step).into());
            }
            TraceOp::TagsCollective(step) => {
                kind(21);
                put(out, (*step).into());
            }
            TraceOp::Buffers(sent, received) => {
                kind(29);
                [sent, received].iter().for_each(|buffer| put(out, buffer.word().into()));
            }
            TraceOp::Test(slots) => {
                kind(22);
                put_slots(out, slots);
            }
            TraceOp::Iprobe(end) => {
                kind(23);
                put_end(out, end, 0);
            }
        }
    }

    /// Reads an operation from a trace of `ranks` ranks with `names` names and the groups `groups`.
    pub fn read(reader: &mut TraceReader<'_>, ranks: u32, names: u32, groups: &[Group]) -> Result<TraceOp, TraceError> {
        let slot = |reader: &mut TraceReader<'_>| reader.word("a slot");
        let span = |reader: &mut TraceReader<'_>| reader.number().map(SimSpan::from_ps);
        Ok(match reader.number()? {
            0 => TraceOp::Compute(span(reader)?),
            1 => TraceOp::ComputeListed,
            2 => TraceOp::Send(read_sent(reader, ranks)?),
            3 => TraceOp::Recv(read_end(reader, ranks)?.0),
            4 => TraceOp::Exchange(Box::new((read_sent(reader, ranks)?, read_end(reader, ranks)?.0))),
            5 => TraceOp::IsendEager(read_sent(reader, ranks)?),
            6 => TraceOp::Isend(read_sent(reader, ranks)?, slot(reader)?),
            7 => TraceOp::Irecv(read_end(reader, ranks)?.0, slot(reader)?),
            8 => {
                let (end, flags) = read_end(reader, ranks)?;
                let (any_source, any_tag) = (flags & 1 != 0, flags & 2 != 0);
                TraceOp::IrecvLate { end, slot: slot(reader)?, any_source, any_tag }
            }
            9 => {
                let eager = reader.word("a number of sends")?;
                TraceOp::Wait(read_slots(reader)?, eager)
            }
            10 => TraceOp::WaitOne(slot(reader)?),
            11 => TraceOp::Poll,
            12 => TraceOp::Look,
            13 => TraceOp::Idle(span(reader)?),
            14 => TraceOp::Cancel(slot(reader)?),
            15 => TraceOp::Probe(read_end(reader, ranks)?.0),
            16 => TraceOp::Start(slot(reader)?),
            17 if names > 0 => TraceOp::Enter(reader.at_most(u64::from(names) - 1, "a name")? as u32),
            18 => TraceOp::Leave,
            19 => TraceOp::Yield,
            20 => TraceOp::TagsPointToPoint(reader.word("a step of tags")?),
            21 => TraceOp::TagsCollective(reader.word("a step of tags")?),
            22 => TraceOp::Test(read_slots(reader)?),
            23 => TraceOp::Iprobe(read_end(reader, ranks)?.0),
            24 if names > 0 => {
                let mut name = || Ok(reader.at_most(u64::from(names) - 1, "a name")? as u32);
                let names = [name()?, name()?];
                let (segment, fan) = (reader.word("a segment")?, reader.word("a fan")?);
                let bytes = reader.number()?.wrapping_sub(1);
                TraceOp::EnterBy(Box::new(Entered { names, segment, fan, bytes }))
            }
            25 => TraceOp::Called(Box::new(CalledOp::read(reader, names, groups)?)),
            26 => TraceOp::Work(MemoryBlock { core: span(reader)?, bytes: Bytes::new(reader.number()?) }),
            27 => TraceOp::WorkListed,
            28 => TraceOp::Pass(span(reader)?),
            29 => {
                let mut buffer = || Ok(Buffer::from_word(reader.at_most(Buffer::MOST.into(), "a buffer")? as u32));
                TraceOp::Buffers(buffer()?, buffer()?)
            }
            30 => TraceOp::Share,
            31 => TraceOp::Await(slot(reader)?),
            32 => TraceOp::Reach,
            33 => TraceOp::Follow,
            34 => {
                let uses = [SharedUse::Offer, SharedUse::Take, SharedUse::Release];
                let how = uses[reader.at_most(2, "a use of a shared request")? as usize];
                TraceOp::Shared(how, slot(reader)?)
            }
            35 => TraceOp::WaitLimit(slot(reader)?, slot(reader)?),
            kind => return Err(reader.error(format_args!("expected a kind of operation up to 35; found {kind}"))),
        })
    }
}
