//! Time-independent traces of SimGrid/SMPI (`smpi/trace-ti`): one action per line, `RANK ACTION ARGUMENTS`, and
//! comment lines with `#`.
//!
//! A size is a number of items, optionally followed by the identifier of a datatype. The default datatype is the byte,
//! or the double if the action `init` has an argument. The unit of computing work is the flop. Both forms of
//! point-to-point lines are supported: `send PEER TAG COUNT [TYPE]`, and `send PEER COUNT` of versions before 3.21,
//! whose `wait` waits for the last started request.

use std::sync::Arc;

use super::ImportError;
use super::words::Words;
use crate::mpi::{CollectiveCall, CommMember, Group, MpiCall, Sizes};
use crate::platform::Collective;
use crate::rank::{
    Call, Message, Pattern, Rank, Reply, ReplyKind, RequestId, Requests, SendMode, Source, Tag, TagPattern, Which,
};
use crate::units::{Bytes, Rate, SimSpan};

/// Greatest number of ranks that a trace may have.
const MOST_RANKS: usize = 1 << 24;

/// Size of each datatype in bytes, indexed by SMPI's identifier of the datatype (SimGrid, `smpi_datatype.cpp`).
const TYPES: [u64; 60] = [
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8, 8, 16, 16, 8, 8, 8,
    16, 16, 4, 4, 8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 1, 8, 16, 32, 0, 0, 1, 8, 8,
];
const DOUBLE: u64 = 8;

/// Action of a rank that one line of the trace describes.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TiAction {
    Compute(f64),
    Sleep(SimSpan),
    Send(TiMessage, SendMode),
    Isend(TiMessage, SendMode),
    Recv(TiMessage),
    Irecv(TiMessage),
    /// Waits for the request of the message with this sender, receiver and tag.
    Wait(i64, i64, i64),
    WaitLast,
    WaitAll,
    Test(i64, i64, i64),
    Collective(Collective, u32, TiAmount),
    /// Sends a message to one rank and receives a message from another rank at the same time.
    Exchange(Option<TiMessage>, TiMessage),
}

/// A message: the peer's rank, the tag (any rank or any tag if negative), and the number of bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TiMessage {
    peer: i64,
    tag: i64,
    size: u64,
}

/// Data sizes of a collective in a time-independent trace.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TiAmount {
    Same(u64),
    Each(Arc<[Bytes]>),
}

/// Reads a time-independent trace and returns the actions of every rank.
pub(super) fn read(text: &str) -> Result<Vec<Vec<TiAction>>, ImportError> {
    let mut lines = Vec::new();
    let mut ranks = 0;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = Words::new(number, line);
        if words.peek().is_none_or(|word| word.bytes().all(|byte| byte == b'~')) {
            continue;
        }
        let rank = words.integer("a rank")?;
        let rank = usize::try_from(rank).ok().filter(|rank| *rank < MOST_RANKS);
        let rank = rank.ok_or_else(|| words.error(format!("expected a rank from 0 to {}", MOST_RANKS - 1)))?;
        ranks = ranks.max(rank + 1);
        lines.push((rank, words));
    }
    if ranks > lines.len() {
        return Err(ImportError { line: 0, what: format!("expected lines of all ranks up to {}", ranks - 1) });
    }
    let mut actions = vec![Vec::new(); ranks];
    let mut types = vec![1; ranks];
    for (rank, words) in lines {
        action(words, rank, ranks, &mut types[rank], &mut actions[rank])?;
    }
    Ok(actions)
}

/// Number of bytes of `count` items of `size` bytes. `count` must be an integer.
fn bytes(words: &Words<'_>, count: f64, size: u64) -> Result<u64, ImportError> {
    let bytes = count.max(0.0).trunc() * size as f64;
    if bytes > 9e15 {
        return Err(words.error(format!("expected at most 9e15 bytes; found {bytes:e}")));
    }
    Ok(bytes as u64)
}

/// Reads an optional datatype identifier and returns the size of the datatype in bytes; `default` if the line has no
/// identifier.
fn datatype(words: &mut Words<'_>, default: u64) -> Result<u64, ImportError> {
    let Some(word) = words.next() else { return Ok(default) };
    if word == "-1" {
        return Err(words.error("-1 is a datatype that the program made: SMPI does not write its size"));
    }
    let size = word.parse::<usize>().ok().and_then(|number| TYPES.get(number)).copied();
    size.ok_or_else(|| words.error(format!("expected the number of a datatype, 0 to 59; found \"{word}\"")))
}

/// Number of bytes of `count` items. The next word of the line may be the identifier of their datatype.
fn typed(words: &mut Words<'_>, count: f64, default: u64) -> Result<u64, ImportError> {
    let size = datatype(words, default)?;
    bytes(words, count, size)
}

/// Reads a list of `ranks` item counts from a line.
fn counts(words: &mut Words<'_>, ranks: usize) -> Result<Vec<f64>, ImportError> {
    if words.left() < ranks {
        return Err(words.error(format!(
            "expected {ranks} counts, one per rank; found {}: this format has no collectives of smaller communicators",
            words.left()
        )));
    }
    (0..ranks).map(|_| words.amount("a count")).collect()
}

/// Reads the item counts of a reduce-scatter. For an MPI_Reduce_scatter_block of `n` elements, SMPI writes `n` zeros
/// and no flops.
fn scattered(words: &mut Words<'_>, ranks: usize) -> Result<Vec<f64>, ImportError> {
    // The last word of the line is the datatype identifier. The zero before the datatype identifier is in the position
    // of the flops.
    let zeros = words.left().saturating_sub(1);
    if zeros == 0 || words.rest().take(zeros).any(|word| word != "0") {
        return counts(words, ranks);
    }
    (1..zeros).for_each(|_| _ = words.next());
    Ok(vec![zeros as f64; ranks])
}

fn action(
    mut words: Words<'_>,
    rank: usize,
    ranks: usize,
    default: &mut u64,
    to: &mut Vec<TiAction>,
) -> Result<(), ImportError> {
    let words = &mut words;
    let name = words.expect("what the rank does")?.to_ascii_lowercase();
    let each = |words: &Words<'_>, list: Vec<f64>, size: u64| -> Result<TiAmount, ImportError> {
        let sizes: Result<Vec<Bytes>, _> =
            list.into_iter().map(|one| Ok(Bytes::new(bytes(words, one, size)?))).collect();
        Ok(TiAmount::Each(sizes?.into()))
    };
    let root = |words: &mut Words<'_>| -> Result<u32, ImportError> {
        let Some(word) = words.next() else { return Ok(0) };
        let root = word.parse::<u32>().ok().filter(|root| (*root as usize) < ranks);
        root.ok_or_else(|| words.error(format!("expected a root, 0 to {}; found \"{word}\"", ranks - 1)))
    };
    let wait = |words: &mut Words<'_>| -> Result<(i64, i64, i64), ImportError> {
        Ok((words.integer("a sender")?, words.integer("a receiver")?, words.integer("a tag")?))
    };
    use Collective as C;
    match name.as_str() {
        "init" => *default = if words.next().is_some() { DOUBLE } else { 1 },
        "finalize" | "comm_size" | "comm_split" | "comm_dup" | "location" => return Ok(()),
        "compute" => to.push(TiAction::Compute(words.amount("flops")?)),
        "sleep" => {
            let seconds = words.amount("seconds")?;
            let span = SimSpan::from_seconds(seconds);
            to.push(TiAction::Sleep(span.ok_or_else(|| words.error(format!("expected a time; found {seconds} s")))?));
        }
        "send" | "ssend" | "isend" | "issend" | "recv" | "irecv" => {
            let old = words.left() == 2;
            let peer = words.integer("a rank")?;
            let tag = if old { 0 } else { words.integer("a tag")? };
            let count = words.amount("a size")?;
            let size = datatype(words, *default)?;
            let message = TiMessage { peer, tag, size: bytes(words, count, size)? };
            let sends = name.ends_with("send");
            if peer >= ranks as i64 || (sends && tag < 0) || tag >= i64::from(Tag::MAX) {
                return Err(
                    words.error(format!("expected a rank up to {} and a tag; found {peer} and {tag}", ranks - 1))
                );
            }
            if sends && peer < 0 {
                // SMPI writes this form of a line for messages to MPI_PROC_NULL. SMPI's own replay accepts only this
                // form.
                return words.end();
            }
            let mode = if name.ends_with("ssend") { SendMode::Synchronous } else { SendMode::Standard };
            to.push(match name.as_str() {
                "send" | "ssend" => TiAction::Send(message, mode),
                "isend" | "issend" => TiAction::Isend(message, mode),
                "recv" => TiAction::Recv(message),
                _ => TiAction::Irecv(message),
            });
        }
        "sendrecv" => {
            let (sent, dest) = (words.amount("a size")?, words.integer("a rank")?);
            let (received, source) = (words.amount("a size")?, words.integer("a rank")?);
            let (sent, received) = (typed(words, sent, *default)?, typed(words, received, *default)?);
            if dest.max(source) >= ranks as i64 {
                return Err(words.error(format!("expected ranks up to {}; found {dest} and {source}", ranks - 1)));
            }
            // The line of an MPI_Sendrecv has no tags.
            let send = (dest >= 0).then_some(TiMessage { peer: dest, tag: 0, size: sent });
            to.push(TiAction::Exchange(send, TiMessage { peer: source, tag: 0, size: received }));
        }
        "wait" if words.left() == 0 => to.push(TiAction::WaitLast),
        "wait" => {
            let (from, at, tag) = wait(words)?;
            to.push(TiAction::Wait(from, at, tag));
        }
        "test" => {
            let (from, at, tag) = wait(words)?;
            to.push(TiAction::Test(from, at, tag));
        }
        "waitall" => {
            // The line contains only the number of requests. Like SMPI's replay, mcpsim waits for all requests.
            words.next();
            to.push(TiAction::WaitAll);
        }
        "barrier" => to.push(TiAction::Collective(C::Barrier, 0, TiAmount::Same(0))),
        "bcast" => {
            let count = words.amount("a size")?;
            let root = root(words)?;
            let size = datatype(words, *default)?;
            to.push(TiAction::Collective(C::Bcast, root, TiAmount::Same(bytes(words, count, size)?)));
        }
        "reduce" | "allreduce" | "scan" | "exscan" => {
            let (count, flops) = (words.amount("a size")?, words.amount("flops")?);
            let (collective, root) = match name.as_str() {
                "reduce" => (C::Reduce, root(words)?),
                "scan" => (C::Scan, 0),
                "exscan" => (C::Exscan, 0),
                _ => (C::Allreduce, 0),
            };
            let size = datatype(words, *default)?;
            to.push(TiAction::Collective(collective, root, TiAmount::Same(bytes(words, count, size)?)));
            to.push(TiAction::Compute(flops));
        }
        "alltoall" | "allgather" | "gather" | "scatter" => {
            let (sent, received) = (words.amount("a size")?, words.amount("a size")?);
            let (collective, root) = match name.as_str() {
                "alltoall" => (C::Alltoall, 0),
                "allgather" => (C::Allgather, 0),
                "gather" => (C::Gather, root(words)?),
                _ => (C::Scatter, root(words)?),
            };
            let sent = typed(words, sent, *default)?;
            let received = typed(words, received, *default)?;
            let at_root = root as usize == rank;
            // The root of a gather with MPI_IN_PLACE sends nothing. In a scatter, only the receivers' lines contain the
            // size of a block.
            let size = match collective {
                C::Gather if at_root => received,
                C::Scatter if !at_root => received,
                _ => sent,
            };
            to.push(TiAction::Collective(collective, root, TiAmount::Same(size)));
        }
        "gatherv" => {
            let sent = words.amount("a size")?;
            let list = counts(words, ranks)?;
            let root = root(words)?;
            let sent = typed(words, sent, *default)?;
            let size = datatype(words, *default)?;
            // The line of a rank other than the root contains only the size of the rank's own block; the list of sizes
            // contains zeros.
            let amount = if root as usize == rank { each(words, list, size)? } else { TiAmount::Same(sent) };
            to.push(TiAction::Collective(C::Gatherv, root, amount));
        }
        "allgatherv" => {
            words.amount("a size")?;
            let list = counts(words, ranks)?;
            // Versions of SMPI before 3.21 also write displacements.
            if words.left() >= ranks.max(3) {
                (0..ranks).try_for_each(|_| words.amount("a displacement").map(drop))?;
            }
            datatype(words, *default)?;
            let size = datatype(words, *default)?;
            let amount = each(words, list, size)?;
            to.push(TiAction::Collective(C::Allgatherv, 0, amount));
        }
        "scatterv" => {
            let list = counts(words, ranks)?;
            let received = words.amount("a size")?;
            let root = root(words)?;
            let size = datatype(words, *default)?;
            let received = typed(words, received, *default)?;
            let amount = if root as usize == rank { each(words, list, size)? } else { TiAmount::Same(received) };
            to.push(TiAction::Collective(C::Scatterv, root, amount));
        }
        "reducescatter" => {
            let list = scattered(words, ranks)?;
            let flops = words.amount("flops")?;
            let size = datatype(words, *default)?;
            let amount = each(words, list, size)?;
            to.push(TiAction::Collective(C::ReduceScatter, 0, amount));
            to.push(TiAction::Compute(flops));
        }
        "alltoallv" => {
            words.amount("a size")?;
            let list = counts(words, ranks)?;
            words.amount("a size")?;
            counts(words, ranks)?;
            let size = datatype(words, *default)?;
            datatype(words, 1)?;
            let amount = each(words, list, size)?;
            to.push(TiAction::Collective(C::Alltoallv, 0, amount));
        }
        _ => {
            return Err(words.error(format!(
                "\"{name}\" of rank {rank}: expected compute, sleep, send, isend, recv, irecv, sendRecv, wait, \
                 waitall, test or a blocking collective"
            )));
        }
    }
    words.end()
}

/// Program of a rank that repeats the actions in the rank's lines.
pub struct TiProgram {
    actions: Arc<Vec<TiAction>>,
    next: usize,
    rank: Rank,
    flops: Rate,
    comm: CommMember,
    /// Requests for which the rank has not waited, with sender, receiver and tag, in the order of their start.
    pending: Vec<((i64, i64, i64), RequestId)>,
    /// Sender, receiver and tag of the request that the last call started.
    starting: Option<(i64, i64, i64)>,
    /// Index in `pending` of the request that the last call tested.
    tested: Option<usize>,
}

impl TiProgram {
    pub(super) fn new(actions: Arc<Vec<TiAction>>, rank: Rank, ranks: u32, flops: Rate) -> Self {
        let comm = CommMember::new(0, rank, Group::Strided { first: 0, stride: 1, size: ranks });
        TiProgram { actions, next: 0, rank, flops, comm, pending: Vec::new(), starting: None, tested: None }
    }

    pub(super) fn position(&self) -> Option<String> {
        Some(format!("action {} of the trace", self.next))
    }

    pub(super) fn next(&mut self, reply: Reply<'_>) -> MpiCall {
        let (starting, tested) = (self.starting.take(), self.tested.take());
        match reply.kind {
            ReplyKind::Started(id) => self.pending.extend(starting.map(|name| (name, id))),
            ReplyKind::Completed([_, ..]) => _ = tested.map(|place| self.pending.remove(place)),
            _ => {}
        }
        let actions = self.actions.clone();
        loop {
            let Some(action) = actions.get(self.next) else { return MpiCall::Call(Call::Finish) };
            self.next += 1;
            let own = i64::from(self.rank);
            return MpiCall::Call(match action {
                TiAction::Compute(flops) => {
                    let seconds = self.flops.seconds(flops.max(0.0));
                    Call::Compute(SimSpan::from_seconds(seconds).unwrap_or(SimSpan::MAX))
                }
                TiAction::Sleep(span) => Call::Compute(*span),
                TiAction::Send(message, mode) => Call::Send(self.message(message, *mode)),
                TiAction::Isend(message, mode) => {
                    self.starting = Some((own, message.peer, message.tag));
                    Call::Isend(self.message(message, *mode))
                }
                TiAction::Exchange(Some(sent), received) => {
                    Call::Exchange(self.message(sent, SendMode::Standard), self.pattern(received))
                }
                TiAction::Exchange(None, received) => Call::Recv(self.pattern(received)),
                TiAction::Recv(message) => Call::Recv(self.pattern(message)),
                TiAction::Irecv(message) => {
                    self.starting = Some((message.peer, own, message.tag));
                    Call::Irecv(self.pattern(message))
                }
                TiAction::Wait(from, to, tag) => {
                    // If the rank has no such request, a test has already completed the request.
                    let Some(place) = self.find((*from, *to, *tag)) else { continue };
                    Call::Complete(Requests::from_slice(&[self.pending.remove(place).1]))
                }
                TiAction::WaitLast => match self.pending.pop() {
                    Some((_, id)) => Call::Complete(Requests::from_slice(&[id])),
                    None => continue,
                },
                TiAction::WaitAll => Call::Complete(self.pending.drain(..).map(|(_, id)| id).collect()),
                TiAction::Test(from, to, tag) => {
                    let Some(place) = self.find((*from, *to, *tag)) else { continue };
                    self.tested = Some(place);
                    let requests = Requests::from_slice(&[self.pending[place].1]);
                    Call::Test { requests, which: Which::All, poll: true }
                }
                TiAction::Collective(collective, root, amount) => {
                    let sizes = match amount {
                        TiAmount::Same(size) => Sizes::Same(Bytes::new(*size)),
                        TiAmount::Each(sizes) => Sizes::Each(sizes.clone()),
                    };
                    let (collective, root, comm) = (*collective, *root, self.comm.clone());
                    return MpiCall::Collective(CollectiveCall { collective, comm, root, sizes, algorithm: None });
                }
            });
        }
    }

    fn find(&self, name: (i64, i64, i64)) -> Option<usize> {
        self.pending.iter().position(|(other, _)| *other == name)
    }

    fn message(&self, message: &TiMessage, mode: SendMode) -> Message {
        Message {
            to: message.peer as Rank,
            context: self.comm.point_to_point(),
            tag: message.tag as Tag,
            size: Bytes::new(message.size),
            mode,
            payload: None,
            buffer: Default::default(),
        }
    }

    fn pattern(&self, message: &TiMessage) -> Pattern {
        Pattern {
            from: Rank::try_from(message.peer).map_or(Source::Any, Source::Rank),
            context: self.comm.point_to_point(),
            tag: Tag::try_from(message.tag).map_or(TagPattern::Any, TagPattern::Tag),
            capacity: Bytes::MAX,
            buffer: Default::default(),
        }
    }
}
