//! One rank's part in one collective as calls: the schedule's steps with world ranks, sizes, a tag and costs.

use super::cost::DataCost;
use super::names::collective_word;
use super::rules;
use super::schedule::{Layout, Parts, Piece, Schedule, Seat, Space, Step, Then};
use super::{CollectiveCall, Comm, Sizes};
use crate::platform::{Collective, CollectiveRules};
use crate::rank::{Call, Message, Pattern, Reply, ReplyKind, Requests, SendMode, Source, Tag, TagPattern};
use crate::units::{Bytes, SimSpan};

/// One rank's part in one collective.
#[derive(Debug)]
pub(super) struct Runner {
    schedule: Schedule,
    comm: Comm,
    layout: Layout,
    cost: DataCost,
    tag: Tag,
    /// Whether this rank does not know how much it receives.
    open: bool,
    /// The time that what was received is still to be combined for.
    busy: SimSpan,
    requests: Requests,
}

impl Runner {
    /// This rank's part in `call`, the `sequence`th collective of its communicator.
    ///
    /// # Errors
    /// What is wrong with the call.
    pub(super) fn new(
        call: CollectiveCall,
        rules: &CollectiveRules,
        cost: DataCost,
        sequence: u32,
    ) -> Result<Self, String> {
        let algorithm = rules::choose(&call, rules)?;
        let seat = seat(&call)?;
        check_sizes(&call)?;
        let CollectiveCall { collective, comm, sizes, .. } = call;
        let whole = match &sizes {
            Sizes::Same(size) if collective != Collective::Barrier => *size,
            _ => Bytes::ZERO,
        };
        let schedule = Schedule::new(collective, algorithm, seat, whole).expect("the algorithm was found to suit");
        let layout = match (schedule.parts(), sizes) {
            (Parts::Split(parts), _) => {
                // What is combined is divided between elements only.
                let element = if collective == Collective::Bcast { 1 } else { 8 };
                Layout::Split { total: whole, parts, element }
            }
            (Parts::Ranks, Sizes::Same(block)) => Layout::Uniform { block, parts: seat.size },
            (Parts::Ranks, Sizes::Each(sizes)) => Layout::Varying(sizes),
        };
        let open = match collective {
            Collective::Alltoallv => true,
            Collective::Gatherv => matches!(layout, Layout::Uniform { .. }),
            _ => false,
        };
        // The kind keeps mismatched collectives from taking each other's messages, the sequence outstanding ones.
        let tag = sequence << 4 | collective as Tag;
        Ok(Runner { schedule, comm, layout, cost, tag, open, busy: SimSpan::ZERO, requests: Requests::new() })
    }

    /// Takes the reply to the last call and gives the next, `None` at the end.
    #[inline]
    pub(super) fn next_call(&mut self, reply: &Reply<'_>) -> Option<Call> {
        if let ReplyKind::Started(request) = reply.kind {
            self.requests.push(request);
        }
        if self.busy > SimSpan::ZERO {
            return Some(Call::Compute(std::mem::take(&mut self.busy)));
        }
        loop {
            return Some(match self.schedule.next_step() {
                Step::Send { to, piece } => Call::Send(self.message(to, piece)),
                Step::StartSend { to, piece } => Call::Isend(self.message(to, piece)),
                Step::Recv { from, piece, then } => {
                    self.combine_after(piece, then);
                    Call::Recv(self.pattern(from, piece))
                }
                Step::StartRecv { from, piece } => Call::Irecv(self.pattern(from, piece)),
                Step::Exchange { to, send, from, recv, then } => {
                    self.combine_after(recv, then);
                    Call::Exchange(self.message(to, send), self.pattern(from, recv))
                }
                Step::WaitAll => Call::Complete(std::mem::take(&mut self.requests)),
                Step::Copy { from, .. } => match self.cost.copy(self.layout.bytes(from.blocks)) {
                    SimSpan::ZERO => continue,
                    span => Call::Compute(span),
                },
                Step::Combine { from, .. } => match self.cost.combine(self.layout.bytes(from.blocks)) {
                    SimSpan::ZERO => continue,
                    span => Call::Compute(span),
                },
                Step::Done => return None,
            });
        }
    }

    fn combine_after(&mut self, piece: Piece, then: Then) {
        if let Then::Combine(_) = then {
            self.busy = self.cost.combine(self.layout.bytes(piece.blocks));
        }
    }

    fn message(&self, to: u32, piece: Piece) -> Message {
        Message {
            to: self.comm.world(to),
            context: self.comm.collective(),
            tag: self.tag,
            size: self.layout.bytes(piece.blocks),
            mode: SendMode::Standard,
            payload: None,
        }
    }

    fn pattern(&self, from: u32, piece: Piece) -> Pattern {
        let open = self.open && piece.space == Space::Output;
        Pattern {
            from: Source::Rank(self.comm.world(from)),
            context: self.comm.collective(),
            tag: TagPattern::Tag(self.tag),
            capacity: if open { Bytes::MAX } else { self.layout.bytes(piece.blocks) },
        }
    }
}

fn seat(call: &CollectiveCall) -> Result<Seat, String> {
    let (size, rank) = (call.comm.size(), call.comm.rank());
    let root = match call.collective {
        Collective::Bcast
        | Collective::Reduce
        | Collective::Gather
        | Collective::Gatherv
        | Collective::Scatter
        | Collective::Scatterv => call.root,
        _ => 0,
    };
    if root >= size {
        let word = collective_word(call.collective);
        return Err(format!("root {root} of {word}: expected a rank of the communicator, which has {size}"));
    }
    Ok(Seat { size, rank, root })
}

fn check_sizes(call: &CollectiveCall) -> Result<(), String> {
    let Sizes::Each(sizes) = &call.sizes else { return Ok(()) };
    let (word, ranks, found) = (collective_word(call.collective), call.comm.size(), sizes.len());
    match call.collective {
        Collective::Gatherv
        | Collective::Scatterv
        | Collective::Allgatherv
        | Collective::Alltoallv
        | Collective::ReduceScatter => {}
        _ => return Err(format!("sizes of {word}: expected one size for all ranks; found a list of {found}")),
    }
    if found != ranks as usize {
        return Err(format!("sizes of {word}: expected {ranks}, one a rank of the communicator; found {found}"));
    }
    Ok(())
}
