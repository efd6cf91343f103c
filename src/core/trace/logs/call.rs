//! Encoding of MPI calls in the logs of real runs.
//!
//! | class | content after the function |
//! |---|---|
//! | message | communicator; peer (−1 for none); tag; bytes; buffer; its extent if that differs from the bytes |
//! | send, receive, send-receive | one message; two messages for a send-receive |
//! | start of a send or receive | slot of the request; a message, whose peer −2 means any source and whose tag −1 means any tag |
//! | probe | communicator, peer, tag |
//! | wait | a list of slots; a list of (slot, source or −1 for a cancelled receive, tag), signed |
//! | release | the slot plus one |
//! | collective | the slot plus one, or 0; communicator; root; twice the bytes of an element, plus one if the order of ranks matters; number of sizes, 0 for a single size; the sizes; buffer, extent |
//! | neighbourhood collective | communicator; a list of sources; a list of (destination, bytes) |
//! | communicator creation | the old communicator; data exchanged by its members (0 a number, 1 three per member, 2 a number among the new members, 3 nothing: recording was off); its own number plus one, or 0 without one; its first member and its index among the communicators with these members; its size; the stride of members and the first one, or 0 and all members |
//! | thread | the thread of the following records; the main thread has the number 0 |
//! | pthread_create, pthread_join | the created or ended thread |
//! | mark | defined by the function |

use super::super::TraceError;
use super::super::bytes::{TraceReader, unzigzag};
use super::function::{FunctionClass, LoggedFunction};
use crate::mpi::Group;
use crate::platform::Collective;
use crate::rank::Buffer;
use crate::units::Bytes;

/// Greatest number of ranks, and of request slots per rank, in a log.
const MOST: u64 = 1 << 24;

/// Arguments of a send or a receive in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageEnd {
    /// Identifier that the rank assigned to the communicator.
    pub comm: u32,
    /// Rank of the peer in the communicator; `None` for MPI_PROC_NULL, `u32::MAX` for any source.
    pub peer: Option<u32>,
    /// Message tag; `None` for any tag (MPI_ANY_TAG).
    pub tag: Option<u32>,
    /// Number of bytes of the sent data; for a receive, number of bytes of the receive buffer.
    pub bytes: u64,
    /// Identifier of the message buffer; 0 if unknown.
    pub buffer: u64,
    /// Number of bytes from the first to the last byte of the data in memory, if it differs from `bytes`.
    pub extent: u64,
}

impl MessageEnd {
    /// Buffer of the message in the representation of the engine.
    pub(super) fn stated(&self) -> Buffer {
        match self.buffer.checked_sub(1) {
            Some(number) if self.bytes >= Buffer::LEAST_MESSAGE => {
                Buffer::numbered((number % u64::from(Buffer::MOST)) as u32)
            }
            _ => Buffer::NONE,
        }
    }
}

/// Value of [`MessageEnd::peer`] for MPI_ANY_SOURCE.
pub(super) const ANY: u32 = u32::MAX;

/// Data sizes of a collective in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SizesOf {
    /// All ranks have the same data size in bytes.
    Same(u64),
    /// Each rank of the communicator has its own data size.
    Each(std::sync::Arc<[Bytes]>),
}

/// Arguments of a collective call in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JoinedCall {
    pub slot: Option<u32>,
    pub comm: u32,
    pub root: u32,
    pub element: u32,
    pub in_order: bool,
    pub sizes: SizesOf,
}

/// Arguments of a call of a neighbourhood collective in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeighbourCall {
    /// Identifier that the rank assigned to the communicator with the topology.
    pub comm: u32,
    /// Ranks that send to this rank; `None` for MPI_PROC_NULL.
    pub sources: Vec<Option<u32>>,
    /// Ranks to which this rank sends (`None` for MPI_PROC_NULL), each with the size of the data in bytes.
    pub destinations: Vec<(Option<u32>, u64)>,
}

/// A communicator that a call in a log created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewComm {
    /// Identifier that the rank assigned to the communicator.
    pub number: u32,
    /// Key that is equal at all members of the communicator and differs between communicators with the same members. In
    /// version 2, the key is the first member and an index among the communicators with the same members. In version 1,
    /// the index counts the communicators with the same first member.
    pub key: (u32, u32),
    /// Members of the communicator.
    pub group: Group,
}

/// An MPI call in a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogCall {
    /// MPI function that the program called.
    pub function: LoggedFunction,
    pub(super) what: CallClass,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CallClass {
    Nothing,
    Send(MessageEnd),
    Isend(u32, MessageEnd),
    Recv(MessageEnd),
    Irecv(u32, MessageEnd),
    Exchange(Box<(MessageEnd, MessageEnd)>),
    Probe(MessageEnd),
    Wait {
        slots: Vec<u32>,
        got: Vec<(u32, i64, i64)>,
    },
    Release(Option<u32>),
    Collective(Box<JoinedCall>),
    Near(Box<NeighbourCall>),
    Comm {
        parent: u32,
        telling: u8,
        made: Option<Box<NewComm>>,
    },
    /// The following records belong to the thread with this number.
    Thread(u32),
    Create(u32),
    Join(u32),
    Refused,
}

fn signed(reader: &mut TraceReader<'_>) -> Result<i64, TraceError> {
    reader.number().map(unzigzag)
}

fn peer(reader: &mut TraceReader<'_>) -> Result<Option<u32>, TraceError> {
    match signed(reader)? {
        -1 => Ok(None),
        -2 => Ok(Some(ANY)),
        peer @ 0.. if (peer as u64) < MOST => Ok(Some(peer as u32)),
        peer => Err(reader.error(format_args!("expected a rank; found {peer}"))),
    }
}

fn tag(reader: &mut TraceReader<'_>) -> Result<Option<u32>, TraceError> {
    match signed(reader)? {
        -1 => Ok(None),
        tag if (0..i64::from(u32::MAX - 1)).contains(&tag) => Ok(Some(tag as u32)),
        tag => Err(reader.error(format_args!("expected a tag; found {tag}"))),
    }
}

fn mail(reader: &mut TraceReader<'_>) -> Result<MessageEnd, TraceError> {
    let (comm, peer, tag) = (reader.at_most(MOST, "a communicator")? as u32, peer(reader)?, tag(reader)?);
    let bytes = reader.at_most(1 << 53, "a size")?;
    Ok(MessageEnd { comm, peer, tag, bytes, buffer: reader.number()?, extent: reader.number()? })
}

fn slot(reader: &mut TraceReader<'_>) -> Result<u32, TraceError> {
    Ok(reader.at_most(MOST, "a slot")? as u32)
}

fn list<T>(
    reader: &mut TraceReader<'_>,
    what: &str,
    item: impl Fn(&mut TraceReader<'_>) -> Result<T, TraceError>,
) -> Result<Vec<T>, TraceError> {
    let count = reader.count(what)?;
    (0..count).map(|_| item(reader)).collect()
}

fn new_comm(reader: &mut TraceReader<'_>) -> Result<Option<Box<NewComm>>, TraceError> {
    let number = reader.at_most(MOST, "a communicator")? as u32;
    if number == 0 {
        return Ok(None);
    }
    let key = (reader.at_most(MOST, "a rank")? as u32, reader.word("a count")?);
    let size = reader.at_most(MOST, "a number of ranks")? as u32;
    let step = reader.at_most(MOST, "a distance")? as u32;
    let group = if step > 0 {
        let first = reader.at_most(MOST, "a rank")? as u32;
        if u64::from(first) + u64::from(step) * u64::from(size) > u64::from(u32::MAX) {
            return Err(reader.error("expected ranks of the run as members"));
        }
        Group::Strided { first, stride: step, size }
    } else {
        let members: Result<Vec<u32>, _> = (0..size).map(|_| Ok(reader.at_most(MOST, "a rank")? as u32)).collect();
        Group::of_distinct(members?).ok_or_else(|| reader.error("expected each member of a communicator once"))?
    };
    Ok(Some(Box::new(NewComm { number: number - 1, key, group })))
}

impl LogCall {
    /// Reads the encoding of an MPI call.
    pub(super) fn read(bytes: &[u8]) -> Result<LogCall, TraceError> {
        let mut reader = TraceReader::new(bytes, 0);
        let reader = &mut reader;
        reader.part("a call");
        let [number] = reader.array("a function")?;
        let function = LoggedFunction::from_number(number);
        let function = function.ok_or_else(|| reader.error(format_args!("expected a function; found {number}")))?;
        let what = match function.class() {
            FunctionClass::Mark | FunctionClass::Library | FunctionClass::Sleep => CallClass::Nothing,
            FunctionClass::Refused => CallClass::Refused,
            FunctionClass::Send => CallClass::Send(mail(reader)?),
            FunctionClass::Recv => CallClass::Recv(mail(reader)?),
            FunctionClass::Isend => CallClass::Isend(slot(reader)?, mail(reader)?),
            FunctionClass::Irecv => CallClass::Irecv(slot(reader)?, mail(reader)?),
            FunctionClass::Exchange => CallClass::Exchange(Box::new((mail(reader)?, mail(reader)?))),
            FunctionClass::Probe => {
                let (comm, peer, tag) = (reader.at_most(MOST, "a communicator")? as u32, peer(reader)?, tag(reader)?);
                CallClass::Probe(MessageEnd { comm, peer, tag, bytes: 0, buffer: 0, extent: 0 })
            }
            FunctionClass::Wait => {
                let slots = list(reader, "a number of slots", slot)?;
                let got = list(reader, "a number of receives", |reader| {
                    Ok((slot_signed(reader)?, signed(reader)?, signed(reader)?))
                })?;
                CallClass::Wait { slots, got }
            }
            FunctionClass::Release => CallClass::Release(slot(reader)?.checked_sub(1)),
            FunctionClass::Collective | FunctionClass::StartedCollective => {
                let (slot, comm) = (slot(reader)?.checked_sub(1), reader.at_most(MOST, "a communicator")? as u32);
                let root = reader.at_most(MOST, "a root")? as u32;
                let element = reader.at_most(1 << 32, "an element's size")?;
                let count = reader.count("a number of sizes")?;
                let size = |reader: &mut TraceReader<'_>| reader.at_most(1 << 53, "a size");
                let sizes = if count == 0 {
                    SizesOf::Same(size(reader)?)
                } else {
                    let each: Result<Vec<Bytes>, _> = (0..count).map(|_| size(reader).map(Bytes::new)).collect();
                    SizesOf::Each(each?.into())
                };
                let in_order = element & 1 == 1;
                let element = ((element >> 1) as u32).max(1);
                CallClass::Collective(Box::new(JoinedCall { slot, comm, root, element, in_order, sizes }))
            }
            FunctionClass::Neighbours => {
                let comm = reader.at_most(MOST, "a communicator")? as u32;
                let sources = list(reader, "a number of sources", peer)?;
                let destinations = list(reader, "a number of destinations", |reader| {
                    Ok((peer(reader)?, reader.at_most(1 << 53, "a size")?))
                })?;
                CallClass::Near(Box::new(NeighbourCall { comm, sources, destinations }))
            }
            FunctionClass::Thread => CallClass::Thread(thread(reader)?),
            FunctionClass::Create => CallClass::Create(thread(reader)?),
            FunctionClass::Join => CallClass::Join(thread(reader)?),
            FunctionClass::Comm => {
                let parent = reader.at_most(MOST, "a communicator")? as u32;
                let telling = reader.at_most(3, "the data that members exchanged")? as u8;
                CallClass::Comm { parent, telling, made: new_comm(reader)? }
            }
        };
        Ok(LogCall { function, what })
    }

    /// Number of bytes that the call sends; for a collective, the sum of the sizes of its blocks.
    pub fn bytes(&self) -> u64 {
        match &self.what {
            CallClass::Send(mail) | CallClass::Isend(_, mail) => mail.peer.map_or(0, |_| mail.bytes),
            CallClass::Exchange(both) => both.0.peer.map_or(0, |_| both.0.bytes),
            CallClass::Collective(joined) => match &joined.sizes {
                SizesOf::Same(size) => *size,
                SizesOf::Each(sizes) => sizes.iter().map(|size| size.get()).sum(),
            },
            CallClass::Near(near) => near.destinations.iter().map(|(_, bytes)| bytes).sum(),
            _ => 0,
        }
    }

    /// Collective that the MPI function implements, if any.
    pub(super) fn collective(&self) -> Option<Collective> {
        let name = self.function.name().strip_prefix("MPI_")?.to_ascii_lowercase();
        let name = if self.function.class() == FunctionClass::StartedCollective { &name[1..] } else { &name[..] };
        Some(match name {
            "barrier" => Collective::Barrier,
            "bcast" => Collective::Bcast,
            "reduce" => Collective::Reduce,
            "allreduce" => Collective::Allreduce,
            "scan" => Collective::Scan,
            "exscan" => Collective::Exscan,
            "gather" => Collective::Gather,
            "gatherv" => Collective::Gatherv,
            "scatter" => Collective::Scatter,
            "scatterv" => Collective::Scatterv,
            "allgather" => Collective::Allgather,
            "allgatherv" => Collective::Allgatherv,
            "alltoall" => Collective::Alltoall,
            "alltoallv" | "alltoallw" => Collective::Alltoallv,
            "reduce_scatter" | "reduce_scatter_block" => Collective::ReduceScatter,
            _ => return None,
        })
    }
}

fn thread(reader: &mut TraceReader<'_>) -> Result<u32, TraceError> {
    Ok(reader.at_most(MOST, "a thread")? as u32)
}

fn slot_signed(reader: &mut TraceReader<'_>) -> Result<u32, TraceError> {
    let slot = signed(reader)?;
    u32::try_from(slot).map_err(|_| reader.error(format_args!("expected a slot; found {slot}")))
}
