//! Program of a rank that repeats the actions in the rank's OTF2 events.

use std::sync::Arc;

use super::sizes::collective;
use super::{Definitions, MessageRecord, RankActions, TraceOperation};
use crate::mpi::{CollectiveCall, MpiCall};
use crate::platform::Collective;
use crate::rank::{
    Call, CallSite, Message, Pattern, Rank, Reply, ReplyKind, RequestId, Requests, SendMode, Source, TagPattern,
};
use crate::trace::logs::LoggedFunction;
use crate::units::Bytes;

/// Program of a rank of an OTF2 archive.
pub struct Otf2Program {
    definitions: Arc<Definitions>,
    found: Arc<RankActions>,
    rank: Rank,
    next: usize,
    slots: Vec<Option<RequestId>>,
    /// Request slot of the request that the last call started.
    starting: Option<u32>,
    function: Option<LoggedFunction>,
}

impl Otf2Program {
    pub(super) fn new(definitions: Arc<Definitions>, found: Arc<RankActions>, rank: Rank) -> Self {
        Otf2Program { definitions, found, rank, next: 0, slots: Vec::new(), starting: None, function: None }
    }

    pub(in crate::trace::import) fn position(&self) -> Option<String> {
        Some(format!("event {} of the trace", self.next))
    }

    pub(in crate::trace::import) fn call_name(&self) -> Option<&'static str> {
        self.function.map(LoggedFunction::name)
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
            let Some(action) = found.actions.get(self.next) else {
                self.function = None;
                return MpiCall::Call(Call::Finish);
            };
            self.next += 1;
            self.function = action.function;
            return MpiCall::Call(match &action.operation {
                TraceOperation::Nothing => continue,
                TraceOperation::Compute(span) => Call::Compute(*span),
                TraceOperation::Send(message) => Call::Send(self.message(message)),
                TraceOperation::Recv(message) => Call::Recv(pattern(message)),
                TraceOperation::Exchange(both) => Call::Exchange(self.message(&both.0), pattern(&both.1)),
                TraceOperation::Isend(slot, message) => {
                    self.starts(*slot);
                    Call::Isend(self.message(message))
                }
                TraceOperation::Irecv(slot, message) => {
                    self.starts(*slot);
                    Call::Irecv(pattern(message))
                }
                TraceOperation::Wait(slots) => {
                    let requests: Requests =
                        slots.iter().filter_map(|slot| self.slots.get_mut(*slot as usize)?.take()).collect();
                    if requests.is_empty() {
                        continue;
                    }
                    Call::Complete(requests)
                }
                TraceOperation::Collective(number) => return MpiCall::Collective(self.collective(*number)),
                TraceOperation::Start(slot, number) => {
                    // The non-blocking collective never completed, so OTF2 does not tell which collective it is.
                    if found.collectives[*number as usize].op == u32::MAX {
                        continue;
                    }
                    self.starts(*slot);
                    return MpiCall::StartCollective(self.collective(*number));
                }
            });
        }
    }

    fn message(&self, message: &MessageRecord) -> Message {
        let mode = match self.call_name() {
            Some("MPI_Ssend" | "MPI_Issend") => SendMode::Synchronous,
            Some("MPI_Bsend" | "MPI_Ibsend") => SendMode::Buffered,
            _ => SendMode::Standard,
        };
        let MessageRecord { peer: to, context, tag, bytes } = *message;
        Message { to, context, tag, size: Bytes::new(bytes), mode, payload: None, buffer: Default::default() }
    }
}

fn pattern(message: &MessageRecord) -> Pattern {
    Pattern {
        from: Source::Rank(message.peer),
        context: message.context,
        tag: TagPattern::Tag(message.tag),
        capacity: Bytes::MAX,
        buffer: Default::default(),
    }
}
