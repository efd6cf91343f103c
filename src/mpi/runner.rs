//! One rank's part in one collective as calls: the schedule's steps with world ranks, sizes, a tag and costs.

use smallvec::SmallVec;

use super::cost::DataCost;
use super::library::style;
use super::names::collective_word;
use super::rules;
use super::schedule::{
    BlockLayout, Extent, Fold, Parts, Piece, Schedule, ScheduleStyle, Seat, Side, Space, Step, Then,
};
use super::{CollectiveCall, CommMember, Sizes};
use crate::platform::{Algorithm, Collective, CollectiveRules, Library, Method};
use crate::rank::{
    COMPLETE, Call, Completion, Message, Pattern, Payload, Reply, ReplyKind, Requests, SendMode, Source, Tag,
    TagPattern,
};
use crate::units::{Bytes, SimSpan};

/// Moves the data of a rank's part in a collective, as its schedule says. What has no data says only how they are
/// divided.
pub trait Mover {
    /// Whether there is data; if not, none of the functions that move some is called.
    const MOVES: bool = false;
    /// The packed size of what is not divided between blocks of a split buffer of `collective`, bytes.
    fn element(&self, collective: Collective) -> u32;
    /// Whether contributions must be combined in order of ranks.
    fn is_ordered(&self) -> bool {
        false
    }
    /// The data of `piece`, packed.
    fn read(&mut self, layout: &BlockLayout, piece: Piece) -> Payload {
        let _ = (layout, piece);
        None
    }
    /// Stores packed data in `piece`, or combines it with what is there.
    fn store(&mut self, layout: &BlockLayout, piece: Piece, then: Then, payload: Payload) {
        let _ = (layout, piece, then, payload);
    }
    /// Copies block after block.
    fn copy(&mut self, layout: &BlockLayout, from: Piece, to: Piece) {
        let _ = (layout, from, to);
    }
    /// Combines block after block: `from` is on this side.
    fn combine(&mut self, layout: &BlockLayout, from: Piece, to: Piece, side: Side) {
        let _ = (layout, from, to, side);
    }
}

/// Moves nothing: described programs have no data.
#[derive(Clone, Copy, Debug)]
pub struct NoData;

impl Mover for NoData {
    fn element(&self, collective: Collective) -> u32 {
        Elements { size: 8, in_order: false }.element(collective)
    }
}

/// Moves nothing either.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    /// Bytes of an element of a reduction.
    pub size: u32,
    /// Whether contributions must be combined in order of ranks.
    pub in_order: bool,
}

impl Mover for Elements {
    fn element(&self, collective: Collective) -> u32 {
        use Collective::{Allreduce, Exscan, Reduce, ReduceScatter, Scan};
        // What is not combined is divided anywhere.
        let combines = matches!(collective, Reduce | Allreduce | Scan | Exscan | ReduceScatter);
        if combines { self.size.max(1) } else { 1 }
    }
    fn is_ordered(&self) -> bool {
        self.in_order
    }
}

/// Moves nothing: a collective that is made again as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalledData {
    /// Bytes of what is not divided, whatever the collective; at least 1.
    pub element: u32,
    /// Whether contributions must be combined in order of ranks.
    pub in_order: bool,
}

impl Mover for CalledData {
    fn element(&self, _: Collective) -> u32 {
        self.element
    }
    fn is_ordered(&self) -> bool {
        self.in_order
    }
}

/// One rank's part in a collective as a recording keeps it: with it any library does on any machine what it does for
/// the call.
#[derive(Clone, Debug)]
pub struct CalledCollective {
    /// The call.
    pub call: CollectiveCall,
    /// What is known of its data.
    pub data: CalledData,
    /// How many collectives of the communicator were begun before, modulo 2^28.
    pub sequence: u32,
}

/// One rank's part in one collective.
#[derive(Debug)]
pub struct Runner<M = NoData> {
    schedule: Schedule,
    method: Method,
    /// The algorithm that the call insists on.
    asked: Option<Algorithm>,
    mover: M,
    /// What the receive under way is for.
    expected: Option<(Piece, Then)>,
    /// What was started, as in `requests`: what receives are for, `None` of sends.
    started: SmallVec<[Option<(Piece, Then)>; 2]>,
    comm: CommMember,
    layout: BlockLayout,
    /// What follows the schedule.
    second: Option<Box<(Schedule, BlockLayout)>>,
    cost: DataCost,
    tag: Tag,
    /// Whether this rank does not know how much it receives.
    open: bool,
    /// The time that what was received is still to be combined for.
    busy: SimSpan,
    requests: Requests,
}

impl<M: Mover> Runner<M> {
    /// This rank's part in `call`, the `sequence`th collective of its communicator, whose data `mover` moves.
    ///
    /// # Errors
    /// What is wrong with the call.
    pub fn new(
        call: CollectiveCall,
        rules: &CollectiveRules,
        cost: DataCost,
        sequence: u32,
        mover: M,
    ) -> Result<Self, String> {
        // What is combined is divided between elements only.
        let element = mover.element(call.collective).max(1);
        let choice = rules::choose(&call, rules, mover.is_ordered(), element)?;
        let seat = seat(&call, rules.library)?;
        check_sizes(&call)?;
        let CollectiveCall { collective, comm, sizes, algorithm: asked, .. } = call;
        let whole = match &sizes {
            Sizes::Same(size) if collective != Collective::Barrier => *size,
            _ => Bytes::ZERO,
        };
        let extent = Extent { size: whole, element };
        let (schedule, second) =
            Schedule::plan(collective, choice, seat, extent).expect("the algorithm was found to suit");
        let layout = blocks(&schedule, seat, extent, &sizes);
        let second = second.map(|second| Box::new((second, blocks(&second, seat, extent, &sizes))));
        let open = match collective {
            Collective::Alltoallv => true,
            Collective::Gatherv => matches!(layout, BlockLayout::Uniform { .. }),
            _ => false,
        };
        // The kind keeps mismatched collectives from taking each other's messages, the sequence outstanding ones.
        let tag = sequence << 4 | collective as Tag;
        let (expected, started) = (None, SmallVec::new());
        Ok(Runner {
            schedule,
            method: choice.method,
            asked,
            second,
            mover,
            expected,
            started,
            comm,
            layout,
            cost,
            tag,
            open,
            busy: SimSpan::ZERO,
            requests: Requests::new(),
        })
    }

    /// What it was decided to do.
    pub fn method(&self) -> Method {
        self.method
    }

    /// The call that it carries out, before its first step.
    pub fn called(&self) -> CalledCollective {
        let collective = Collective::ALL[(self.tag & 15) as usize];
        let sizes = match &self.layout {
            BlockLayout::Split { total, .. }
            | BlockLayout::Nested { total, .. }
            | BlockLayout::Halved { total, .. } => Sizes::Same(*total),
            BlockLayout::Headed { block, .. } | BlockLayout::Uniform { block, .. } => Sizes::Same(*block),
            BlockLayout::Varying(sizes) => Sizes::Each(sizes.clone()),
        };
        let (comm, root) = (self.comm.clone(), self.schedule.root());
        let element = self.mover.element(collective).max(1);
        CalledCollective {
            call: CollectiveCall { collective, comm, root, sizes, algorithm: self.asked },
            data: CalledData { element, in_order: self.mover.is_ordered() },
            sequence: self.tag >> 4,
        }
    }

    /// What has moved the data, at the end.
    pub fn into_mover(self) -> M {
        self.mover
    }

    /// Takes the reply to the last call and gives the next, `None` at the end.
    #[inline]
    pub fn next_call(&mut self, reply: &mut Reply<'_>) -> Option<Call> {
        match &mut reply.kind {
            ReplyKind::Started(request) => self.requests.push(*request),
            ReplyKind::Completed(completions) if M::MOVES => self.take(completions),
            _ => {}
        }
        if self.busy > SimSpan::ZERO {
            return Some(Call::Compute(std::mem::take(&mut self.busy)));
        }
        loop {
            return Some(match self.schedule.next_step() {
                Step::Send { to, piece } => Call::Send(self.message(to, piece)),
                Step::StartSend { to, piece } => {
                    self.started.push(None);
                    Call::Isend(self.message(to, piece))
                }
                Step::Recv { from, piece, then } => {
                    self.expect(piece, then);
                    Call::Recv(self.pattern(from, piece))
                }
                Step::StartRecv { from, piece, then } => {
                    self.started.push(Some((piece, then)));
                    Call::Irecv(self.pattern(from, piece))
                }
                Step::Exchange { to, send, from, recv, then } => {
                    self.expect(recv, then);
                    Call::Exchange(self.message(to, send), self.pattern(from, recv))
                }
                Step::WaitAll if M::MOVES => Call::WaitAll(std::mem::take(&mut self.requests)),
                Step::WaitAll => {
                    self.started.clear();
                    Call::Complete(std::mem::take(&mut self.requests))
                }
                Step::WaitRecv { back } => self.wait_for_receive(back),
                Step::WaitSends => match self.sends() {
                    requests if requests.is_empty() => continue,
                    requests => Call::Complete(requests),
                },
                Step::Copy { from, to } => {
                    if M::MOVES {
                        self.mover.copy(&self.layout, from, to);
                    }
                    match self.cost.copy(self.layout.bytes(from.blocks)) {
                        SimSpan::ZERO => continue,
                        span => Call::Compute(span),
                    }
                }
                Step::Combine { from, to, side } => {
                    if M::MOVES {
                        self.mover.combine(&self.layout, from, to, side);
                    }
                    match self.cost.combine(self.layout.bytes(from.blocks)) {
                        SimSpan::ZERO => continue,
                        span => Call::Compute(span),
                    }
                }
                Step::Done => match self.second.take() {
                    Some(next) => {
                        (self.schedule, self.layout) = *next;
                        continue;
                    }
                    None => return None,
                },
            });
        }
    }

    /// Stores what has come.
    fn take(&mut self, completions: &mut [Completion]) {
        if let Some((piece, then)) = self.expected.take() {
            self.mover.store(&self.layout, piece, then, completions[0].payload.take());
            return;
        }
        // A wait for all: none of these was waited for by itself.
        if completions.len() != self.started.len() {
            return;
        }
        for (received, completion) in self.started.drain(..).zip(completions) {
            if let Some((piece, then)) = received {
                self.mover.store(&self.layout, piece, then, completion.payload.take());
            }
        }
    }

    /// Waits for the receive that was posted `back` before the last that is open.
    fn wait_for_receive(&mut self, back: u32) -> Call {
        let open = self.started.iter().enumerate().rev().filter(|(_, started)| started.is_some());
        let place = open.map(|(place, _)| place).nth(back as usize).expect("a schedule waits for what it posted");
        let request = self.requests.remove(place);
        let (piece, then) = self.started.remove(place).expect("a receive");
        self.expect(piece, then);
        let requests = Requests::from_slice(&[request]);
        if M::MOVES { Call::WaitAll(requests) } else { Call::Complete(requests) }
    }

    /// The sends that were started and may not be done.
    fn sends(&mut self) -> Requests {
        let mut sends = Requests::new();
        let mut kept = Requests::new();
        for (&request, started) in self.requests.iter().zip(&self.started) {
            match started {
                Some(_) => kept.push(request),
                None if request != COMPLETE => sends.push(request),
                None => {}
            }
        }
        self.started.retain(|started| started.is_some());
        self.requests = kept;
        sends
    }

    fn expect(&mut self, piece: Piece, then: Then) {
        if M::MOVES {
            self.expected = Some((piece, then));
        }
        if let Then::Combine(_) = then {
            self.busy = self.cost.combine(self.layout.bytes(piece.blocks));
        }
    }

    fn message(&mut self, to: u32, piece: Piece) -> Message {
        let payload = if M::MOVES { self.mover.read(&self.layout, piece) } else { None };
        Message {
            to: self.comm.world(to),
            context: self.comm.collective(),
            tag: self.tag,
            size: self.layout.bytes(piece.blocks),
            mode: SendMode::Standard,
            payload,
        }
    }

    fn pattern(&self, from: u32, piece: Piece) -> Pattern {
        // Real data that is too long is an error of the program's, which may live with it.
        let open = M::MOVES || self.open && piece.space == Space::Output;
        Pattern {
            from: Source::Rank(self.comm.world(from)),
            context: self.comm.collective(),
            tag: TagPattern::Tag(self.tag),
            capacity: if open { Bytes::MAX } else { self.layout.bytes(piece.blocks) },
        }
    }
}

/// The sizes of the blocks of `schedule`.
fn blocks(schedule: &Schedule, seat: Seat, extent: Extent, sizes: &Sizes) -> BlockLayout {
    let Extent { size: total, element } = extent;
    match (schedule.parts(), sizes) {
        (Parts::Split(parts), _) => BlockLayout::Split { total, parts, element },
        (Parts::Nested { parts, inner, segment }, _) => BlockLayout::Nested { total, parts, inner, segment, element },
        (Parts::Halved(parts), _) => BlockLayout::Halved { total, parts, element },
        (Parts::Headed(head), _) => {
            let head = u64::from(head) / u64::from(element) * u64::from(element);
            BlockLayout::Headed { block: total, head: Bytes::new(head), ranks: seat.size }
        }
        (Parts::Ranks, Sizes::Same(block)) => BlockLayout::Uniform { block: *block, parts: seat.size },
        (Parts::Ranks, Sizes::Each(sizes)) => BlockLayout::Varying(sizes.clone()),
    }
}

fn seat(call: &CollectiveCall, library: Library) -> Result<Seat, String> {
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
    let style = style(library);
    // Where there is a root, it stays.
    let towards_root = style == ScheduleStyle::Flat || call.collective == Collective::Reduce;
    let fold = if towards_root { Fold::TowardsRoot } else { Fold::Higher };
    Ok(Seat { style, fold, root, ..Seat::of(size, rank) })
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
