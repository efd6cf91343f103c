//! Time-independent traces of SimGrid/SMPI (`smpi/trace-ti`): a line a deed, `RANK DEED ARGUMENTS`, lines of `#` aside.
//!
//! Sizes are counts of a datatype, whose number may stand behind them; without one it is the byte, or the double where
//! `init` has an argument. Work is in flops. Both forms of point-to-point lines are read: `send PEER TAG COUNT [TYPE]`,
//! and that of versions before 3.21, `send PEER COUNT`, whose `wait` waits for the request started last.

use std::sync::Arc;

use super::ImportError;
use super::words::Words;
use crate::mpi::{CollectiveCall, CommMember, Group, MpiCall, Sizes};
use crate::platform::Collective;
use crate::rank::{
    Call, Message, Pattern, Rank, Reply, ReplyKind, RequestId, Requests, SendMode, Source, Tag, TagPattern, Which,
};
use crate::units::{Bytes, Rate, SimSpan};

/// The most ranks that lines may name.
const MOST_RANKS: usize = 1 << 24;

/// The sizes of datatypes by their numbers (SimGrid, `smpi_datatype.cpp`), bytes.
const TYPES: [u64; 60] = [
    8, 4, 1, 2, 8, 4, 1, 8, 1, 1, 2, 4, 8, 8, 16, 4, 1, 1, 2, 4, 8, 1, 2, 4, 8, 8, 16, 32, 8, 8, 8, 16, 16, 8, 8, 8,
    16, 16, 4, 4, 8, 16, 8, 16, 16, 4, 2, 4, 8, 16, 32, 1, 8, 16, 32, 0, 0, 1, 8, 8,
];
const DOUBLE: u64 = 8;

/// What a line says.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Deed {
    Compute(f64),
    Sleep(SimSpan),
    Send(TiMessage),
    Isend(TiMessage),
    Recv(TiMessage),
    Irecv(TiMessage),
    /// For the request of this sender, receiver and tag.
    Wait(i64, i64, i64),
    WaitLast,
    WaitAll,
    Test(i64, i64, i64),
    Collective(Collective, u32, Amount),
}

/// A message: the other rank and tag (negative: any), and its bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TiMessage {
    peer: i64,
    tag: i64,
    size: u64,
}

/// How much a collective moves.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Amount {
    Same(u64),
    Each(Arc<[Bytes]>),
}

/// Reads all ranks' deeds.
pub(super) fn read(text: &str) -> Result<Vec<Vec<Deed>>, ImportError> {
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
    let mut deeds = vec![Vec::new(); ranks];
    let mut types = vec![1; ranks];
    for (rank, words) in lines {
        deed(words, rank, ranks, &mut types[rank], &mut deeds[rank])?;
    }
    Ok(deeds)
}

/// The whole number of bytes of `count` things.
fn bytes(words: &Words<'_>, count: f64, size: u64) -> Result<u64, ImportError> {
    let bytes = count.max(0.0).trunc() * size as f64;
    if bytes > 9e15 {
        return Err(words.error(format!("expected at most 9e15 bytes; found {bytes:e}")));
    }
    Ok(bytes as u64)
}

/// The size of the datatype that may come next.
fn datatype(words: &mut Words<'_>, default: u64) -> Result<u64, ImportError> {
    let Some(word) = words.next() else { return Ok(default) };
    let size = word.parse::<usize>().ok().and_then(|number| TYPES.get(number)).copied();
    size.ok_or_else(|| words.error(format!("expected the number of a datatype, 0 to 59; found \"{word}\"")))
}

/// A list of counts.
fn counts(words: &mut Words<'_>, ranks: usize) -> Result<Vec<f64>, ImportError> {
    if words.left() < ranks {
        return Err(words.error(format!(
            "expected {ranks} counts, one a rank; found {}: a collective of a smaller communicator cannot be told of in \
             this format",
            words.left()
        )));
    }
    (0..ranks).map(|_| words.amount("a count")).collect()
}

fn deed(
    mut words: Words<'_>,
    rank: usize,
    ranks: usize,
    default: &mut u64,
    to: &mut Vec<Deed>,
) -> Result<(), ImportError> {
    let words = &mut words;
    let name = words.expect("what the rank does")?.to_ascii_lowercase();
    let each = |words: &Words<'_>, list: Vec<f64>, size: u64| -> Result<Amount, ImportError> {
        let sizes: Result<Vec<Bytes>, _> =
            list.into_iter().map(|one| Ok(Bytes::new(bytes(words, one, size)?))).collect();
        Ok(Amount::Each(sizes?.into()))
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
        "compute" => to.push(Deed::Compute(words.amount("flops")?)),
        "sleep" => {
            let seconds = words.amount("seconds")?;
            let span = SimSpan::from_seconds(seconds);
            to.push(Deed::Sleep(span.ok_or_else(|| words.error(format!("expected a time; found {seconds} s")))?));
        }
        "send" | "isend" | "recv" | "irecv" => {
            let old = words.left() == 2;
            let peer = words.integer("a rank")?;
            let tag = if old { 0 } else { words.integer("a tag")? };
            let count = words.amount("a size")?;
            let size = datatype(words, *default)?;
            let mail = TiMessage { peer, tag, size: bytes(words, count, size)? };
            let sends = name.ends_with("send");
            if peer >= ranks as i64 || (sends && (peer < 0 || tag < 0)) || tag >= i64::from(Tag::MAX) {
                return Err(
                    words.error(format!("expected a rank up to {} and a tag; found {peer} and {tag}", ranks - 1))
                );
            }
            to.push(match name.as_str() {
                "send" => Deed::Send(mail),
                "isend" => Deed::Isend(mail),
                "recv" => Deed::Recv(mail),
                _ => Deed::Irecv(mail),
            });
        }
        "wait" if words.left() == 0 => to.push(Deed::WaitLast),
        "wait" => {
            let (from, at, tag) = wait(words)?;
            to.push(Deed::Wait(from, at, tag));
        }
        "test" => {
            let (from, at, tag) = wait(words)?;
            to.push(Deed::Test(from, at, tag));
        }
        "waitall" => to.push(Deed::WaitAll),
        "barrier" => to.push(Deed::Collective(C::Barrier, 0, Amount::Same(0))),
        "bcast" => {
            let count = words.amount("a size")?;
            let root = root(words)?;
            let size = datatype(words, *default)?;
            to.push(Deed::Collective(C::Bcast, root, Amount::Same(bytes(words, count, size)?)));
        }
        "reduce" | "allreduce" => {
            let (count, flops) = (words.amount("a size")?, words.amount("flops")?);
            let (collective, root) = match name.as_str() {
                "reduce" => (C::Reduce, root(words)?),
                _ => (C::Allreduce, 0),
            };
            let size = datatype(words, *default)?;
            to.push(Deed::Collective(collective, root, Amount::Same(bytes(words, count, size)?)));
            to.push(Deed::Compute(flops));
        }
        "alltoall" | "allgather" | "gather" | "scatter" => {
            let (sent, received) = (words.amount("a size")?, words.amount("a size")?);
            let (collective, root, count) = match name.as_str() {
                "alltoall" => (C::Alltoall, 0, sent),
                "allgather" => (C::Allgather, 0, sent),
                "gather" => (C::Gather, root(words)?, sent),
                _ => (C::Scatter, root(words)?, received),
            };
            let size = datatype(words, *default)?;
            datatype(words, 1)?;
            to.push(Deed::Collective(collective, root, Amount::Same(bytes(words, count, size)?)));
        }
        "gatherv" | "allgatherv" => {
            words.amount("a size")?;
            let list = counts(words, ranks)?;
            let root = if name == "gatherv" { root(words)? } else { 0 };
            let displaced = name == "allgatherv" && words.left() >= ranks;
            let size = if displaced && words.left() == ranks { *default } else { datatype(words, *default)? };
            while words.next().is_some() {}
            let collective = if name == "gatherv" { C::Gatherv } else { C::Allgatherv };
            let amount = each(words, list, size)?;
            to.push(Deed::Collective(collective, root, amount));
        }
        "scatterv" => {
            let list = counts(words, ranks)?;
            words.amount("a size")?;
            let root = root(words)?;
            let size = datatype(words, *default)?;
            datatype(words, 1)?;
            let amount = each(words, list, size)?;
            to.push(Deed::Collective(C::Scatterv, root, amount));
        }
        "reducescatter" => {
            let list = counts(words, ranks)?;
            let flops = words.amount("flops")?;
            let size = datatype(words, *default)?;
            let amount = each(words, list, size)?;
            to.push(Deed::Collective(C::ReduceScatter, 0, amount));
            to.push(Deed::Compute(flops));
        }
        "alltoallv" => {
            words.amount("a size")?;
            let list = counts(words, ranks)?;
            words.amount("a size")?;
            counts(words, ranks)?;
            let size = datatype(words, *default)?;
            datatype(words, 1)?;
            let amount = each(words, list, size)?;
            to.push(Deed::Collective(C::Alltoallv, 0, amount));
        }
        _ => {
            return Err(words.error(format!(
                "\"{name}\" of rank {rank}: expected compute, sleep, send, isend, recv, irecv, wait, waitall, test or \
                 a collective that mcpsim reads"
            )));
        }
    }
    words.end()
}

/// A rank that does what its lines say.
pub struct TiProgram {
    deeds: Arc<Vec<Deed>>,
    next: usize,
    rank: Rank,
    flops: Rate,
    comm: CommMember,
    /// Requests that are not waited for yet, by sender, receiver and tag, in the order started.
    pending: Vec<((i64, i64, i64), RequestId)>,
    /// What the last call started.
    starting: Option<(i64, i64, i64)>,
    /// The request that the last call tested.
    tested: Option<usize>,
}

impl TiProgram {
    pub(super) fn new(deeds: Arc<Vec<Deed>>, rank: Rank, ranks: u32, flops: Rate) -> Self {
        let comm = CommMember::new(0, rank, Group::Strided { first: 0, stride: 1, size: ranks });
        TiProgram { deeds, next: 0, rank, flops, comm, pending: Vec::new(), starting: None, tested: None }
    }

    pub(super) fn position(&self) -> Option<String> {
        Some(format!("deed {} of the trace", self.next))
    }

    pub(super) fn next(&mut self, reply: Reply<'_>) -> MpiCall {
        let (starting, tested) = (self.starting.take(), self.tested.take());
        match reply.kind {
            ReplyKind::Started(id) => self.pending.extend(starting.map(|name| (name, id))),
            ReplyKind::Completed([_, ..]) => _ = tested.map(|place| self.pending.remove(place)),
            _ => {}
        }
        let deeds = self.deeds.clone();
        loop {
            let Some(deed) = deeds.get(self.next) else { return MpiCall::Call(Call::Finish) };
            self.next += 1;
            let own = i64::from(self.rank);
            return MpiCall::Call(match deed {
                Deed::Compute(flops) => {
                    let seconds = self.flops.seconds(flops.max(0.0));
                    Call::Compute(SimSpan::from_seconds(seconds).unwrap_or(SimSpan::MAX))
                }
                Deed::Sleep(span) => Call::Compute(*span),
                Deed::Send(mail) => Call::Send(self.message(mail)),
                Deed::Isend(mail) => {
                    self.starting = Some((own, mail.peer, mail.tag));
                    Call::Isend(self.message(mail))
                }
                Deed::Recv(mail) => Call::Recv(self.pattern(mail)),
                Deed::Irecv(mail) => {
                    self.starting = Some((mail.peer, own, mail.tag));
                    Call::Irecv(self.pattern(mail))
                }
                Deed::Wait(from, to, tag) => {
                    // A test may have completed it: then there is nothing to wait for.
                    let Some(place) = self.find((*from, *to, *tag)) else { continue };
                    Call::Complete(Requests::from_slice(&[self.pending.remove(place).1]))
                }
                Deed::WaitLast => match self.pending.pop() {
                    Some((_, id)) => Call::Complete(Requests::from_slice(&[id])),
                    None => continue,
                },
                Deed::WaitAll => Call::Complete(self.pending.drain(..).map(|(_, id)| id).collect()),
                Deed::Test(from, to, tag) => {
                    let Some(place) = self.find((*from, *to, *tag)) else { continue };
                    self.tested = Some(place);
                    let requests = Requests::from_slice(&[self.pending[place].1]);
                    Call::Test { requests, which: Which::All, poll: true }
                }
                Deed::Collective(collective, root, amount) => {
                    let sizes = match amount {
                        Amount::Same(size) => Sizes::Same(Bytes::new(*size)),
                        // Others than the root know only their own block.
                        Amount::Each(sizes) if *collective == Collective::Gatherv && *root != self.rank => {
                            Sizes::Same(sizes[self.rank as usize])
                        }
                        Amount::Each(sizes) => Sizes::Each(sizes.clone()),
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

    fn message(&self, mail: &TiMessage) -> Message {
        Message {
            to: mail.peer as Rank,
            context: self.comm.point_to_point(),
            tag: mail.tag as Tag,
            size: Bytes::new(mail.size),
            mode: SendMode::Standard,
            payload: None,
            buffer: Default::default(),
        }
    }

    fn pattern(&self, mail: &TiMessage) -> Pattern {
        Pattern {
            from: Rank::try_from(mail.peer).map_or(Source::Any, Source::Rank),
            context: self.comm.point_to_point(),
            tag: Tag::try_from(mail.tag).map_or(TagPattern::Any, TagPattern::Tag),
            capacity: Bytes::MAX,
            buffer: Default::default(),
        }
    }
}
