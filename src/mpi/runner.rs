//! Translates one collective of one rank into engine calls: the steps of the algorithm become calls with world ranks,
//! sizes, a tag and costs.

mod busy;
mod concurrent;
mod modelled;
mod parts;

use smallvec::SmallVec;

use super::cost::{ApartCost, DataCost, DataRates};
use super::mover::{CalledData, Mover, NoData};
use super::nodes::Nodes;
use super::rules;
use super::schedule::{BlockLayout, Blocks, Extent, Piece, Schedule, Space, Step, Then};
use super::staged::{BlockMove, FlatStage, Staged};
use super::{CallForm, CollectiveCall, CommMember, Sizes};
use busy::Busy;
use concurrent::ConcurrentStages;
use mcpsim_base::platform::{Algorithm, Collective, CollectiveRules, Method};
use mcpsim_base::rank::{
    COMPLETE, Call, Completion, Message, Pattern, Reply, ReplyKind, Requests, SendMode, Source, Tag, TagPattern,
};
use mcpsim_base::units::{Bytes, SimSpan};
use modelled::ModelledCollective;
pub(super) use parts::{blocks, seat_of};
use parts::{check_sizes, common_buffer, seat};

/// A collective call of one rank, as stored in a recorded trace. The stored data suffice to execute the call with any
/// MPI library on any machine.
#[derive(Clone, Debug)]
pub struct CalledCollective {
    /// The rank's collective call with its arguments.
    pub call: CollectiveCall,
    /// Element size of the call's data, and whether contributions must be combined in order of ranks.
    pub data: CalledData,
    /// Number of earlier collectives on the same communicator, modulo 2^28.
    pub sequence: u32,
}

/// Work of a collective that follows the present schedule.
#[derive(Debug)]
enum Following {
    /// A second schedule among the same members as the first schedule.
    Second(Schedule, BlockLayout),
    /// The remaining stages of a node-aware collective.
    Stages(Staged),
    /// A collective whose time a model states. It has no schedule.
    Modelled(ModelledCollective),
}

/// Executes the schedules of one rank in one collective call.
#[derive(Debug)]
pub struct Runner<M = NoData> {
    schedule: Schedule,
    method: Method,
    /// Algorithm requested by the call, if any.
    asked: Option<Algorithm>,
    mover: M,
    /// Data blocks and use of the data of the receive in progress.
    expected: Option<(Piece, Then)>,
    /// For each request in `requests`: the data blocks and the use of the received data, or `None` for a send.
    started: SmallVec<[Option<(Piece, Then)>; 2]>,
    comm: CommMember,
    layout: BlockLayout,
    /// Buffers that the schedule uses as input and as output.
    spaces: [Space; 2],
    /// Work of the collective that follows the present schedule.
    rest: Option<Box<Following>>,
    /// Stages of a node-aware collective that are in progress at the same time, if any.
    concurrent: Option<Box<ConcurrentStages>>,
    cost: DataRates,
    /// Cost of packing, unpacking and copying non-contiguous blocks.
    apart: ApartCost,
    tag: Tag,
    /// Whether this rank does not know the sizes of the data that it receives.
    open: bool,
    /// Copying and combining of received data that has not yet been passed to the engine.
    busy: Busy,
    requests: Requests,
}

impl<M: Mover> Runner<M> {
    /// Creates the runner of `call` at this rank. `sequence` is the number of earlier collectives on the communicator.
    /// `mover` moves the data.
    ///
    /// # Errors
    /// Description of an error in the arguments of the call.
    pub fn new(
        (call, form): (CollectiveCall, CallForm),
        rules: &CollectiveRules,
        cost: DataCost,
        sequence: u32,
        mover: M,
    ) -> Result<Self, String> {
        // A reduction divides its buffer only between elements.
        let element = mover.element(call.collective).max(1);
        let choice = rules::choose((&call, form), rules, mover.is_ordered(), element)?;
        let seat = seat((&call, form), rules.library, mover.is_ordered())?;
        check_sizes(&call)?;
        let whole = match &call.sizes {
            Sizes::Same(size) if call.collective != Collective::Barrier => *size,
            _ => Bytes::ZERO,
        };
        if let (Algorithm::NodeAware, Some(map), None) = (choice.method.algorithm, &rules.nodes, &rules.times) {
            let nodes = Nodes::new(&call.comm, map);
            let stages = Staged::new(rules.library, call, nodes, element);
            let cost = cost.over(|| stages.buffer());
            return Ok(Runner::staged(stages, choice.method, (cost, ApartCost::from_rules(rules)), sequence, mover));
        }
        let modelled = ModelledCollective::new(&call, rules);
        let CollectiveCall { collective, comm, sizes, algorithm: asked, .. } = call;
        let extent = Extent { size: whole, element };
        let (schedule, second) =
            Schedule::plan(collective, choice, seat, extent).expect("the algorithm was found to suit");
        let schedule = if modelled.is_some() { schedule.without_steps() } else { schedule };
        let layout = blocks(&schedule, seat, extent, &sizes);
        let rest = second.map(|second| Box::new(Following::Second(second, blocks(&second, seat, extent, &sizes))));
        let open = match collective {
            Collective::Alltoallv => true,
            Collective::Gatherv => matches!(layout, BlockLayout::Uniform { .. }),
            _ => false,
        };
        // The low bits of the tag separate the messages of different collectives. The high bits separate the messages
        // of concurrent collectives.
        let tag = sequence << 4 | collective as Tag;
        let (expected, started) = (None, SmallVec::new());
        let modelled = modelled.map(|modelled| Box::new(Following::Modelled(modelled)));
        Ok(Runner {
            schedule,
            method: choice.method,
            asked,
            spaces: [Space::Input, Space::Output],
            rest: modelled.or(rest),
            concurrent: None,
            mover,
            expected,
            started,
            comm,
            cost: cost.over(|| layout.bytes(Blocks::All)),
            layout,
            apart: ApartCost::from_rules(rules),
            tag,
            open,
            busy: Busy::default(),
            requests: Requests::new(),
        })
    }

    /// Creates the runner of a node-aware collective at this rank.
    fn staged(
        mut stages: Staged,
        method: Method,
        (cost, apart): (DataRates, ApartCost),
        sequence: u32,
        mover: M,
    ) -> Self {
        let CollectiveCall { collective, algorithm: asked, .. } = *stages.call();
        let mut first = stages.next().expect("every rank is in a stage");
        let first = first.pop().expect("no round is empty");
        let mut runner = Runner {
            schedule: first.schedule,
            method,
            asked,
            spaces: [Space::Input, Space::Output],
            rest: None,
            concurrent: None,
            mover,
            expected: None,
            started: SmallVec::new(),
            comm: first.comm.clone(),
            layout: first.layout.clone(),
            cost,
            apart,
            tag: sequence << 4 | collective as Tag,
            open: false,
            busy: Busy::default(),
            requests: Requests::new(),
        };
        if M::MOVES {
            runner.move_blocks(stages.moves_before());
        }
        runner.enter(first);
        runner.rest = Some(Box::new(Following::Stages(stages)));
        runner
    }

    /// Begins `stage` of a node-aware collective.
    fn enter(&mut self, stage: FlatStage) {
        self.tag = self.tag_of(&stage);
        let FlatStage { schedule, layout, comm, input, output, copied, .. } = stage;
        self.busy.copy(self.cost, copied);
        (self.schedule, self.layout, self.comm, self.spaces) = (schedule, layout, comm, [input, output]);
    }

    /// Tag of the messages of the stage `stage` of a node-aware collective.
    fn tag_of(&self, stage: &FlatStage) -> Tag {
        self.tag & !15 | stage.kind as Tag
    }

    /// Copies data blocks within this rank's memory.
    fn move_blocks(&mut self, moves: Vec<BlockMove>) {
        for BlockMove { from, to } in moves {
            let payload = self.mover.read(&from.0, from.1);
            self.mover.store(&to.0, to.1, Then::Store, payload);
        }
    }

    /// Begins the next schedule or stage of the collective. Returns false at the end of the collective.
    #[cold]
    fn go_on(&mut self) -> bool {
        match self.rest.as_deref_mut() {
            None | Some(Following::Modelled(_)) => false,
            Some(Following::Second(..)) => {
                if let Some(Following::Second(schedule, layout)) = self.rest.take().map(|rest| *rest) {
                    (self.schedule, self.layout) = (schedule, layout);
                }
                true
            }
            Some(Following::Stages(stages)) => match stages.next() {
                Some(mut stages) => {
                    match stages.pop() {
                        Some(stage) if stages.is_empty() => self.enter(stage),
                        last => {
                            stages.extend(last);
                            self.concurrent = Some(Box::new(ConcurrentStages::new(stages)));
                        }
                    }
                    true
                }
                None => {
                    let (moves, copied) =
                        (if M::MOVES { stages.moves_after() } else { Vec::new() }, stages.copied_after());
                    self.rest = None;
                    self.busy.copy(self.cost, copied);
                    self.move_blocks(moves);
                    false
                }
            },
        }
    }

    /// Algorithm chosen for the call, with its parameters.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Returns the collective call in the form for recorded traces. The function must be called before the first step.
    pub fn called(&self) -> CalledCollective {
        let element = self.mover.element(Collective::ALL[(self.tag & 15) as usize]).max(1);
        let data = CalledData { element, in_order: self.mover.is_ordered() };
        let sequence = self.tag >> 4;
        match self.rest.as_deref() {
            Some(Following::Stages(stages)) => {
                return CalledCollective { call: stages.call().clone(), data, sequence };
            }
            Some(Following::Modelled(modelled)) => {
                return CalledCollective { call: modelled.call().clone(), data, sequence };
            }
            _ => {}
        }
        let collective = Collective::ALL[(self.tag & 15) as usize];
        let sizes = match &self.layout {
            BlockLayout::Split { total, .. }
            | BlockLayout::Nested { total, .. }
            | BlockLayout::Halved { total, .. } => Sizes::Same(*total),
            BlockLayout::Headed { block, .. } | BlockLayout::Uniform { block, .. } => Sizes::Same(*block),
            BlockLayout::Varying(sizes) => Sizes::Each(sizes.clone()),
            BlockLayout::Window { .. } => unreachable!("only stages are of a part of a buffer"),
        };
        let (comm, root) = (self.comm.clone(), self.schedule.root());
        CalledCollective {
            call: CollectiveCall { collective, comm, root, sizes, algorithm: self.asked },
            data,
            sequence,
        }
    }

    /// Returns the mover when the collective is complete.
    pub fn into_mover(self) -> M {
        self.mover
    }

    /// Takes the engine's reply to the last call and returns the next call of the collective; `None` when the
    /// collective is complete.
    #[inline]
    pub fn next_call(&mut self, reply: &mut Reply<'_>) -> Option<Call> {
        if self.concurrent.is_some() {
            if let Some(call) = self.next_concurrent(reply) {
                return Some(call);
            }
        } else {
            match &mut reply.kind {
                ReplyKind::Started(request) => self.requests.push(*request),
                ReplyKind::Completed(completions) if M::MOVES => self.take(completions),
                _ => {}
            }
        }
        if self.busy.span > SimSpan::ZERO {
            return std::mem::take(&mut self.busy).call(&self.comm);
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
                    let (from, to) = (self.placed(from), self.placed(to));
                    if from == to {
                        continue;
                    }
                    if M::MOVES {
                        self.mover.copy(&self.layout, from, to);
                    }
                    match self.own_copy(&self.layout, &self.comm, from, to) {
                        None => continue,
                        Some(copy) => copy,
                    }
                }
                Step::Combine { from, to, side } => {
                    let (from, to) = (self.placed(from), self.placed(to));
                    if M::MOVES {
                        self.mover.combine(&self.layout, from, to, side);
                    }
                    match Busy::combine(self.cost, self.layout.bytes(from.blocks)).call(&self.comm) {
                        None => continue,
                        Some(combine) => combine,
                    }
                }
                Step::Done => {
                    if let Some(Following::Modelled(modelled)) = self.rest.as_deref_mut() {
                        return modelled.next_call(self.tag);
                    }
                    let goes_on = self.rest.is_some() && self.go_on();
                    match std::mem::take(&mut self.busy).call(&self.comm) {
                        None if self.concurrent.is_some() => {
                            let mut begun = Reply { clock: reply.clock, kind: ReplyKind::Done };
                            match self.next_concurrent(&mut begun) {
                                Some(call) => call,
                                None => continue,
                            }
                        }
                        None if goes_on => continue,
                        None => return None,
                        Some(call) => call,
                    }
                }
            });
        }
    }

    /// Stores or combines the data of the completed receives.
    fn take(&mut self, completions: &mut [Completion]) {
        if let Some((piece, then)) = self.expected.take() {
            let piece = self.placed(piece);
            self.mover.store(&self.layout, piece, then, completions[0].payload.take());
            return;
        }
        // If the lengths are equal, the reply belongs to a wait for all started sends and receives.
        if completions.len() != self.started.len() {
            return;
        }
        for (received, completion) in self.started.drain(..).zip(completions) {
            if let Some((piece, then)) = received {
                let [input, output] = self.spaces;
                let piece = piece.placed(input, output);
                self.mover.store(&self.layout, piece, then, completion.payload.take());
            }
        }
    }

    /// Returns `piece` with the input and output buffers of the present stage.
    fn placed(&self, piece: Piece) -> Piece {
        let [input, output] = self.spaces;
        piece.placed(input, output)
    }

    /// Returns a wait for one receive: the receive that was posted `back` receives before the last incomplete receive.
    fn wait_for_receive(&mut self, back: u32) -> Call {
        let open = self.started.iter().enumerate().rev().filter(|(_, started)| started.is_some());
        let place = open.map(|(place, _)| place).nth(back as usize).expect("a schedule waits for what it posted");
        let request = self.requests.remove(place);
        let (piece, then) = self.started.remove(place).expect("a receive");
        self.expect(piece, then);
        let requests = Requests::from_slice(&[request]);
        if M::MOVES { Call::WaitAll(requests) } else { Call::Complete(requests) }
    }

    /// Removes and returns the requests of started sends, which may be incomplete.
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

    #[inline(always)]
    fn expect(&mut self, piece: Piece, then: Then) {
        if M::MOVES {
            self.expected = Some((piece, then));
        }
        if let Then::Combine(_) = then {
            self.busy = Busy::combine(self.cost, self.layout.bytes(piece.blocks));
        } else if !self.apart.is_none() {
            self.busy = Busy::new(self.apart.unpacked(&self.layout, piece.blocks));
        }
    }

    /// Engine call for copying `from` to `to` within this rank's memory; `None` if the copy takes no time.
    fn own_copy(&self, layout: &BlockLayout, comm: &CommMember, from: Piece, to: Piece) -> Option<Call> {
        let mut busy = Busy::new(self.apart.copied(layout, from.blocks).max(self.apart.copied(layout, to.blocks)));
        busy.copy(self.cost, layout.bytes(from.blocks));
        busy.call(comm)
    }

    #[inline(always)]
    fn message(&mut self, to: u32, piece: Piece) -> Message {
        // A barrier may send a byte, but that byte is not data of the program.
        let moves = M::MOVES && self.tag & 15 != Collective::Barrier as Tag;
        let payload = if moves { self.mover.read(&self.layout, self.placed(piece)) } else { None };
        Message {
            to: self.comm.world(to),
            context: self.comm.collective(),
            tag: self.tag,
            size: self.layout.bytes(piece.blocks),
            mode: SendMode::Standard,
            payload,
            buffer: Default::default(),
        }
    }

    fn pattern(&self, from: u32, piece: Piece) -> Pattern {
        // With real data, an overlong message is an error of the program, which the program may handle.
        let open = M::MOVES || self.open && piece.space == Space::Output;
        Pattern {
            from: Source::Rank(self.comm.world(from)),
            context: self.comm.collective(),
            tag: TagPattern::Tag(self.tag),
            capacity: if open { Bytes::MAX } else { self.layout.bytes(piece.blocks) },
            buffer: common_buffer(self.tag & 15, self.method.algorithm, self.placed(piece)),
        }
    }
}
