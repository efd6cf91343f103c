//! What a rank did, as the trace's table of operations holds it: relative, so that ranks and iterations that did the same
//! share an entry.

use serde::{Deserialize, Serialize};

use super::TraceError;
use super::bytes::{Reader, put};
use super::code::Amount;
use crate::rank::{Context, SERVICE, SendMode, Tag};
use crate::units::SimSpan;

/// A peer or a size that stands in the task's list of values instead.
pub(super) const LISTED_PEER: u32 = u32::MAX;
/// See [`LISTED_PEER`].
pub(super) const LISTED_SIZE: u64 = u64::MAX;
/// The context of receives that are to be withdrawn: no message has it.
pub(super) const NOWHERE: Context = Context::MAX - 1;

/// To what a tag is relative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Origin {
    /// To 0.
    Zero,
    /// To the task's register of point-to-point tags.
    PointToPoint,
    /// To its register of collectives' tags.
    Collective,
}

/// A tag, relative to an origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct TagRef {
    pub origin: Origin,
    pub offset: Tag,
}

/// Another rank's end of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct End {
    /// Its rank less this rank, modulo the number of ranks; or [`LISTED_PEER`].
    pub peer: u32,
    pub context: Context,
    pub tag: TagRef,
}

/// A message to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Sent {
    pub to: End,
    /// Its bytes, or [`LISTED_SIZE`].
    pub size: u64,
    pub mode: Mode,
}

/// [`SendMode`], to be compared and hashed.
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

/// A collective and how it was done when it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct Entered {
    /// The names of the function and of the algorithm.
    pub names: [u32; 2],
    pub segment: u32,
    pub fan: u32,
    /// The size by which the algorithm was chosen, or [`LISTED_SIZE`].
    pub bytes: u64,
}

/// An operation of a task. Requests are the task's own small numbers (slots).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) enum Op {
    /// Computes so long.
    Compute(SimSpan),
    /// Computes as long as the next value says.
    ComputeListed,
    Send(Sent),
    Recv(End),
    Exchange(Box<(Sent, End)>),
    /// Starts a send that was eager when recorded.
    IsendEager(Sent),
    /// Starts one that was a rendezvous.
    Isend(Sent, u32),
    Irecv(End, u32),
    /// A receive from any source or with any tag; the next late value says what it got.
    IrecvLate {
        end: End,
        slot: u32,
        any_source: bool,
        any_tag: bool,
    },
    /// Waits for these slots and for so many of the eager sends started last.
    Wait(Box<[u32]>, u32),
    /// Waits for one, as MPI_Waitany does.
    WaitOne(u32),
    /// A poll that found nothing.
    Poll,
    /// The same at no cost.
    Look,
    /// A test that completed the requests of these slots; of no slots, one that completed sends that were eager.
    Test(Box<[u32]>),
    Idle(SimSpan),
    /// Withdraws a receive, if the next late value says so.
    Cancel(u32),
    Probe(End),
    /// An iprobe that found this message.
    Iprobe(End),
    /// Starts the strand that the next late value names.
    Start(u32),
    /// Enters the collective of this name, which has no choice of algorithms.
    Enter(u32),
    /// Enters a collective that is done by an algorithm.
    EnterBy(Box<Entered>),
    Leave,
    Yield,
    /// Moves the register of point-to-point tags on; no call.
    TagsPointToPoint(u32),
    /// Moves the register of collectives' tags on; no call.
    TagsCollective(u32),
}

impl Op {
    /// Whether it is a call of the program, and not only a change of registers.
    pub fn is_call(&self) -> bool {
        !matches!(self, Op::TagsPointToPoint(_) | Op::TagsCollective(_))
    }

    /// How much it does by itself.
    pub fn amount(&self) -> Amount {
        let sends = match self {
            Op::Send(sent) | Op::IsendEager(sent) | Op::Isend(sent, _) => sent.to.context != SERVICE,
            Op::Exchange(both) => both.0.to.context != SERVICE,
            _ => false,
        };
        let receives = matches!(self, Op::Recv(_) | Op::Exchange(_) | Op::Irecv(..) | Op::IrecvLate { .. });
        Amount { calls: self.is_call().into(), sends: sends.into(), receives: receives.into() }
    }

    /// The word that listings use.
    pub fn word(&self) -> &'static str {
        match self {
            Op::Compute(_) | Op::ComputeListed => "compute",
            Op::Send(_) => "send",
            Op::Recv(_) => "recv",
            Op::Exchange(_) => "sendrecv",
            Op::IsendEager(_) | Op::Isend(..) => "isend",
            Op::Irecv(..) | Op::IrecvLate { .. } => "irecv",
            Op::Wait(..) => "wait",
            Op::WaitOne(_) => "waitany",
            Op::Poll | Op::Look => "poll",
            Op::Test(_) => "test",
            Op::Idle(_) => "idle",
            Op::Cancel(_) => "cancel",
            Op::Probe(_) => "probe",
            Op::Iprobe(_) => "iprobe",
            Op::Start(_) => "start",
            Op::Enter(_) | Op::EnterBy(_) => "enter",
            Op::Leave => "leave",
            Op::Yield => "yield",
            Op::TagsPointToPoint(_) | Op::TagsCollective(_) => "tags",
        }
    }

    /// Appends its form in the file.
    pub fn put(&self, out: &mut Vec<u8>) {
        let mut kind = |kind: u8| out.push(kind);
        match self {
            Op::Compute(span) => {
                kind(0);
                put(out, span.as_ps());
            }
            Op::ComputeListed => kind(1),
            Op::Send(sent) => {
                kind(2);
                put_sent(out, sent);
            }
            Op::Recv(end) => {
                kind(3);
                put_end(out, end, 0);
            }
            Op::Exchange(both) => {
                kind(4);
                put_sent(out, &both.0);
                put_end(out, &both.1, 0);
            }
            Op::IsendEager(sent) => {
                kind(5);
                put_sent(out, sent);
            }
            Op::Isend(sent, slot) => {
                kind(6);
                put_sent(out, sent);
                put(out, (*slot).into());
            }
            Op::Irecv(end, slot) => {
                kind(7);
                put_end(out, end, 0);
                put(out, (*slot).into());
            }
            Op::IrecvLate { end, slot, any_source, any_tag } => {
                kind(8);
                put_end(out, end, u8::from(*any_source) | u8::from(*any_tag) << 1);
                put(out, (*slot).into());
            }
            Op::Wait(slots, eager) => {
                kind(9);
                put(out, (*eager).into());
                put_slots(out, slots);
            }
            Op::WaitOne(slot) => {
                kind(10);
                put(out, (*slot).into());
            }
            Op::Poll => kind(11),
            Op::Look => kind(12),
            Op::Idle(span) => {
                kind(13);
                put(out, span.as_ps());
            }
            Op::Cancel(slot) => {
                kind(14);
                put(out, (*slot).into());
            }
            Op::Probe(end) => {
                kind(15);
                put_end(out, end, 0);
            }
            Op::Start(slot) => {
                kind(16);
                put(out, (*slot).into());
            }
            Op::Enter(name) => {
                kind(17);
                put(out, (*name).into());
            }
            Op::EnterBy(entered) => {
                kind(24);
                entered.names.iter().for_each(|&name| put(out, name.into()));
                put(out, entered.segment.into());
                put(out, entered.fan.into());
                put(out, entered.bytes.wrapping_add(1));
            }
            Op::Leave => kind(18),
            Op::Yield => kind(19),
            Op::TagsPointToPoint(step) => {
                kind(20);
                put(out, (*step).into());
            }
            Op::TagsCollective(step) => {
                kind(21);
                put(out, (*step).into());
            }
            Op::Test(slots) => {
                kind(22);
                put_slots(out, slots);
            }
            Op::Iprobe(end) => {
                kind(23);
                put_end(out, end, 0);
            }
        }
    }

    /// Reads one of a trace of `ranks` ranks and `names` names.
    pub fn read(reader: &mut Reader<'_>, ranks: u32, names: u32) -> Result<Op, TraceError> {
        let slot = |reader: &mut Reader<'_>| reader.word("a slot");
        let span = |reader: &mut Reader<'_>| reader.number().map(SimSpan::from_ps);
        Ok(match reader.number()? {
            0 => Op::Compute(span(reader)?),
            1 => Op::ComputeListed,
            2 => Op::Send(read_sent(reader, ranks)?),
            3 => Op::Recv(read_end(reader, ranks)?.0),
            4 => Op::Exchange(Box::new((read_sent(reader, ranks)?, read_end(reader, ranks)?.0))),
            5 => Op::IsendEager(read_sent(reader, ranks)?),
            6 => Op::Isend(read_sent(reader, ranks)?, slot(reader)?),
            7 => Op::Irecv(read_end(reader, ranks)?.0, slot(reader)?),
            8 => {
                let (end, flags) = read_end(reader, ranks)?;
                let (any_source, any_tag) = (flags & 1 != 0, flags & 2 != 0);
                Op::IrecvLate { end, slot: slot(reader)?, any_source, any_tag }
            }
            9 => {
                let eager = reader.word("a number of sends")?;
                Op::Wait(read_slots(reader)?, eager)
            }
            10 => Op::WaitOne(slot(reader)?),
            11 => Op::Poll,
            12 => Op::Look,
            13 => Op::Idle(span(reader)?),
            14 => Op::Cancel(slot(reader)?),
            15 => Op::Probe(read_end(reader, ranks)?.0),
            16 => Op::Start(slot(reader)?),
            17 if names > 0 => Op::Enter(reader.at_most(u64::from(names) - 1, "a name")? as u32),
            18 => Op::Leave,
            19 => Op::Yield,
            20 => Op::TagsPointToPoint(reader.word("a step of tags")?),
            21 => Op::TagsCollective(reader.word("a step of tags")?),
            22 => Op::Test(read_slots(reader)?),
            23 => Op::Iprobe(read_end(reader, ranks)?.0),
            24 if names > 0 => {
                let mut name = || Ok(reader.at_most(u64::from(names) - 1, "a name")? as u32);
                let names = [name()?, name()?];
                let (segment, fan) = (reader.word("a segment")?, reader.word("a fan")?);
                let bytes = reader.number()?.wrapping_sub(1);
                Op::EnterBy(Box::new(Entered { names, segment, fan, bytes }))
            }
            kind => return Err(reader.error(format_args!("expected a kind of operation up to 24; found {kind}"))),
        })
    }
}

fn put_slots(out: &mut Vec<u8>, slots: &[u32]) {
    put(out, slots.len() as u64);
    slots.iter().for_each(|&slot| put(out, slot.into()));
}

fn read_slots(reader: &mut Reader<'_>) -> Result<Box<[u32]>, TraceError> {
    let count = reader.count("a number of slots")?;
    (0..count).map(|_| reader.word("a slot")).collect()
}

/// Flags of an [`End`]: where its tag and its peer are, and two bits of the operation.
fn put_end(out: &mut Vec<u8>, end: &End, more: u8) {
    let origin = match end.tag.origin {
        Origin::Zero => 0,
        Origin::PointToPoint => 1,
        Origin::Collective => 2,
    };
    let listed = end.peer == LISTED_PEER;
    out.push(origin | u8::from(listed) << 2 | more << 3);
    if !listed {
        put(out, end.peer.into());
    }
    put(out, end.context.into());
    put(out, end.tag.offset.into());
}

fn read_end(reader: &mut Reader<'_>, ranks: u32) -> Result<(End, u64), TraceError> {
    let flags = reader.at_most(31, "flags")?;
    let origin = match flags & 3 {
        0 => Origin::Zero,
        1 => Origin::PointToPoint,
        2 => Origin::Collective,
        other => return Err(reader.error(format_args!("expected an origin of tags up to 2; found {other}"))),
    };
    let peer = match flags & 4 {
        0 => reader.at_most(u64::from(ranks) - 1, "a rank")? as u32,
        _ => LISTED_PEER,
    };
    let context = reader.word("a context")?;
    let offset = reader.word("a tag")?;
    Ok((End { peer, context, tag: TagRef { origin, offset } }, flags >> 3))
}

pub(super) fn put_sent(out: &mut Vec<u8>, sent: &Sent) {
    // A size that is listed stands as 0, and all others one up.
    put_end(out, &sent.to, sent.mode as u8);
    put(out, if sent.size == LISTED_SIZE { 0 } else { sent.size + 1 });
}

pub(super) fn read_sent(reader: &mut Reader<'_>, ranks: u32) -> Result<Sent, TraceError> {
    let (to, flags) = read_end(reader, ranks)?;
    let mode = match flags {
        0 => Mode::Standard,
        1 => Mode::Synchronous,
        2 => Mode::Buffered,
        other => return Err(reader.error(format_args!("expected a mode of sending up to 2; found {other}"))),
    };
    let size = reader.number()?.checked_sub(1).unwrap_or(LISTED_SIZE);
    Ok(Sent { to, size, mode })
}
