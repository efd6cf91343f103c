//! A rank that does what its events say.

use std::sync::Arc;

use super::sizes::collective;
use super::{Act, Definitions, Mail, RankDeeds};
use crate::mpi::{CollectiveCall, MpiCall};
use crate::platform::Collective;
use crate::rank::{
    Call, CallSite, Message, Pattern, Rank, Reply, ReplyKind, RequestId, Requests, SendMode, Source, TagPattern,
};
use crate::trace::logs::Function;
use crate::units::Bytes;

/// A rank of an archive.
pub struct Otf2Program {
    definitions: Arc<Definitions>,
    found: Arc<RankDeeds>,
    rank: Rank,
    next: usize,
    slots: Vec<Option<RequestId>>,
    /// The request that the last call started.
    starting: Option<u32>,
    function: Option<Function>,
}

impl Otf2Program {
    pub(super) fn new(definitions: Arc<Definitions>, found: Arc<RankDeeds>, rank: Rank) -> Self {
        Otf2Program { definitions, found, rank, next: 0, slots: Vec::new(), starting: None, function: None }
    }

    pub(in crate::trace::import) fn position(&self) -> Option<String> {
        Some(format!("event {} of the trace", self.next))
    }

    pub(in crate::trace::import) fn call_name(&self) -> Option<&'static str> {
        self.function.map(Function::name)
    }

    pub(in crate::trace::import) fn site(&self) -> CallSite {
        self.call_name().map_or(CallSite::Unknown, CallSite::Function)
    }

    fn collective(&self, number: u32) -> CollectiveCall {
        let joined = &self.found.collectives[number as usize];
        let comm = self.definitions.comm(joined.comm, self.rank).expect("communicators were checked");
        let collective = collective(joined).unwrap_or(Collective::Barrier);
        let sizes = joined.sizes(collective, comm.rank(), comm.size());
        let root = if joined.root < comm.size() { joined.root } else { 0 };
        CollectiveCall { collective, comm, root, sizes, algorithm: None }
    }

    fn starts(&mut self, slot: u32) {
        let slot = slot as usize;
        if self.slots.len() <= slot {
            self.slots.resize(slot + 1, None);
        }
        self.slots[slot] = None;
        self.starting = Some(slot as u32);
    }

    pub(in crate::trace::import) fn next(&mut self, reply: Reply<'_>) -> MpiCall {
        if let (Some(slot), ReplyKind::Started(request)) = (self.starting.take(), reply.kind) {
            self.slots[slot as usize] = Some(request);
        }
        let found = self.found.clone();
        loop {
            let Some(deed) = found.deeds.get(self.next) else {
                self.function = None;
                return MpiCall::Call(Call::Finish);
            };
            self.next += 1;
            self.function = deed.function;
            return MpiCall::Call(match &deed.act {
                Act::Nothing => continue,
                Act::Compute(span) => Call::Compute(*span),
                Act::Send(mail) => Call::Send(self.message(mail)),
                Act::Recv(mail) => Call::Recv(pattern(mail)),
                Act::Exchange(both) => Call::Exchange(self.message(&both.0), pattern(&both.1)),
                Act::Isend(slot, mail) => {
                    self.starts(*slot);
                    Call::Isend(self.message(mail))
                }
                Act::Irecv(slot, mail) => {
                    self.starts(*slot);
                    Call::Irecv(pattern(mail))
                }
                Act::Wait(slots) => {
                    let requests: Requests =
                        slots.iter().filter_map(|slot| self.slots.get_mut(*slot as usize)?.take()).collect();
                    if requests.is_empty() {
                        continue;
                    }
                    Call::Complete(requests)
                }
                Act::Collective(number) => return MpiCall::Collective(self.collective(*number)),
                Act::Start(slot, number) => {
                    // It never ended, so nobody knows what it was.
                    if found.collectives[*number as usize].op == u32::MAX {
                        continue;
                    }
                    self.starts(*slot);
                    return MpiCall::StartCollective(self.collective(*number));
                }
            });
        }
    }

    fn message(&self, mail: &Mail) -> Message {
        let mode = match self.call_name() {
            Some("MPI_Ssend" | "MPI_Issend") => SendMode::Synchronous,
            Some("MPI_Bsend" | "MPI_Ibsend") => SendMode::Buffered,
            _ => SendMode::Standard,
        };
        let Mail { peer: to, context, tag, bytes } = *mail;
        Message { to, context, tag, size: Bytes::new(bytes), mode, payload: None, buffer: Default::default() }
    }
}

fn pattern(mail: &Mail) -> Pattern {
    Pattern {
        from: Source::Rank(mail.peer),
        context: mail.context,
        tag: TagPattern::Tag(mail.tag),
        capacity: Bytes::MAX,
        buffer: Default::default(),
    }
}
