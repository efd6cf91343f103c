//! Concurrent stages of a node-aware collective. Open MPI's component `han` overlaps stages between nodes with stages
//! within nodes. A stage continues when a send or receive for which the stage waits completes. The rank waits until any
//! of its stages can continue.
//!
//! One rank executes all its stages in turn, so local work of one stage delays the other stages.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::{Busy, Runner};
use crate::mover::Mover;
use crate::schedule::{Blocks, Piece, Step, Then};
use crate::staged::FlatStage;
use mcpsim_base::rank::{Call, Message, Pattern, Reply, ReplyKind, RequestId, Requests, SendMode, Source, TagPattern};
use mcpsim_base::units::Bytes;

/// Data blocks and use of the data of a receive; `None` for a send.
type Purpose = Option<(Piece, Then)>;

/// A stage in progress of a node-aware collective.
#[derive(Debug)]
struct OngoingStage {
    stage: FlatStage,
    /// Incomplete sends and receives of the stage.
    open: SmallVec<[(RequestId, Purpose); 4]>,
    /// Requests for which the next step of the stage waits.
    waits: SmallVec<[RequestId; 4]>,
    /// Receive of an exchange (a combined send and receive), which is posted after the send of the exchange.
    receive: Option<(u32, Piece, Then)>,
    done: bool,
}

impl OngoingStage {
    fn new(stage: FlatStage) -> Self {
        OngoingStage { stage, open: SmallVec::new(), waits: SmallVec::new(), receive: None, done: false }
    }

    fn can_go_on(&self) -> bool {
        !self.done && (self.receive.is_some() || self.waits.is_empty())
    }

    /// Adds the incomplete sends and receives that satisfy `wanted` to the requests for which the next step of the
    /// stage waits.
    fn wait_for(&mut self, wanted: impl Fn(Purpose) -> bool) {
        let open = self.open.iter().filter(|(_, purpose)| wanted(*purpose));
        self.waits = open.map(|(request, _)| *request).collect();
    }
}

/// Concurrent stages of a node-aware collective at one rank.
#[derive(Debug)]
pub(super) struct ConcurrentStages {
    /// Lanes: a lane executes one stage at a time. After the last lane has executed its first stage, it executes the
    /// stages of `queue`.
    lanes: Vec<OngoingStage>,
    queue: VecDeque<FlatStage>,
    /// Lane that made the last call, data blocks of the receive that the call started, and whether the lane waits for
    /// the started operation.
    asking: (usize, Purpose, bool),
}

impl ConcurrentStages {
    /// Creates the lanes of concurrent stages. Each stage that the MPI library starts and waits for later gets its own
    /// lane. One more lane executes all other stages in sequence.
    pub(super) fn new(stages: Vec<FlatStage>) -> Self {
        let (mut started, queue): (Vec<FlatStage>, Vec<FlatStage>) =
            stages.into_iter().partition(|stage| stage.started);
        // The stages are listed from the last segment to the first. The stage of the earliest segment gets the first
        // lane.
        started.reverse();
        let mut queue = VecDeque::from(queue);
        let lanes = started.into_iter().chain(queue.pop_front()).map(OngoingStage::new).collect();
        ConcurrentStages { lanes, queue, asking: (0, None, false) }
    }
}

impl<M: Mover> Runner<M> {
    /// Takes the reply to the last call of the concurrent stages and returns the next call; `None` when all stages are
    /// complete.
    #[cold]
    pub(super) fn next_concurrent(&mut self, reply: &mut Reply<'_>) -> Option<Call> {
        let mut concurrent = self.concurrent.take().expect("stages are under way");
        self.take_reply_of(&mut concurrent, reply);
        let call = self.advance_concurrent(&mut concurrent);
        if call.is_some() {
            self.concurrent = Some(concurrent);
        }
        call
    }

    fn take_reply_of(&mut self, concurrent: &mut ConcurrentStages, reply: &mut Reply<'_>) {
        match &mut reply.kind {
            ReplyKind::Started(request) => {
                // The lane also waits for a send that completes at once. A rank whose code runs ahead of virtual time
                // does not know whether the send is complete.
                let (lane, purpose, waits) = concurrent.asking;
                let lane = &mut concurrent.lanes[lane];
                lane.open.push((*request, purpose));
                lane.waits.extend(waits.then_some(*request));
            }
            ReplyKind::Completed(completions) => {
                let completion = &mut completions[0];
                // The completion's index refers to the concatenated list of the requests for which the stages wait.
                let mut index = completion.index as usize;
                let mut stages = concurrent.lanes.iter_mut();
                let lane = loop {
                    let lane = stages.next().expect("a stage waits for it");
                    match lane.waits.len() {
                        waits if index >= waits => index -= waits,
                        _ => break lane,
                    }
                };
                let request = lane.waits.remove(index);
                let place = lane.open.iter().position(|(open, _)| *open == request).expect("it is open");
                if let (_, Some((piece, then))) = lane.open.remove(place) {
                    let FlatStage { layout, input, output, .. } = &lane.stage;
                    let piece = piece.placed(*input, *output);
                    if M::MOVES {
                        self.mover.store(layout, piece, then, completion.payload.take());
                    }
                    self.busy = match then {
                        Then::Combine(_) => Busy::combine(self.cost, layout.bytes(piece.blocks)),
                        Then::Store => Busy::new(self.apart.unpacked(layout, piece.blocks)),
                    };
                }
            }
            _ => {}
        }
    }

    fn advance_concurrent(&mut self, concurrent: &mut ConcurrentStages) -> Option<Call> {
        loop {
            if let Some(call) = std::mem::take(&mut self.busy).call(&self.comm) {
                return Some(call);
            }
            for index in 0..concurrent.lanes.len() {
                let lane = &mut concurrent.lanes[index];
                while lane.can_go_on() {
                    if let Some((call, purpose, waits)) = self.step_of(lane) {
                        concurrent.asking = (index, purpose, waits);
                        return Some(call);
                    }
                }
            }
            let last = concurrent.lanes.last_mut().expect("there are stages");
            if last.done
                && let Some(stage) = concurrent.queue.pop_front()
            {
                *last = OngoingStage::new(stage);
                continue;
            }
            let requests: Requests = concurrent.lanes.iter().flat_map(|lane| lane.waits.iter().copied()).collect();
            if requests.is_empty() {
                return None;
            }
            return Some(Call::WaitAny(requests));
        }
    }

    /// Executes steps of a stage up to the stage's next engine call. Returns the call, the data blocks of a receive,
    /// and whether the stage waits for the call's operation.
    fn step_of(&mut self, lane: &mut OngoingStage) -> Option<(Call, Purpose, bool)> {
        if let Some((from, piece, then)) = lane.receive.take() {
            return Some((Call::Irecv(self.pattern_of(&lane.stage, from, piece.blocks)), Some((piece, then)), true));
        }
        let step = lane.stage.schedule.next_step();
        let placed = |piece: Piece| piece.placed(lane.stage.input, lane.stage.output);
        let busy = match step {
            Step::Send { to, piece } => {
                return Some((Call::Isend(self.message_of(&lane.stage, to, placed(piece))), None, true));
            }
            Step::StartSend { to, piece } => {
                return Some((Call::Isend(self.message_of(&lane.stage, to, placed(piece))), None, false));
            }
            Step::Exchange { to, send, from, recv, then } => {
                let message = self.message_of(&lane.stage, to, placed(send));
                lane.receive = Some((from, recv, then));
                return Some((Call::Isend(message), None, true));
            }
            Step::Recv { from, piece, then } => {
                let pattern = self.pattern_of(&lane.stage, from, piece.blocks);
                return Some((Call::Irecv(pattern), Some((piece, then)), true));
            }
            Step::StartRecv { from, piece, then } => {
                let pattern = self.pattern_of(&lane.stage, from, piece.blocks);
                return Some((Call::Irecv(pattern), Some((piece, then)), false));
            }
            Step::WaitAll => {
                lane.wait_for(|_| true);
                return None;
            }
            Step::WaitSends => {
                lane.wait_for(|purpose| purpose.is_none());
                return None;
            }
            Step::WaitRecv { back } => {
                let receives = lane.open.iter().rev().filter(|(_, purpose)| purpose.is_some());
                lane.waits = receives.skip(back as usize).take(1).map(|(request, _)| *request).collect();
                return None;
            }
            Step::Copy { from, to } => {
                let (from, to) = (placed(from), placed(to));
                let layout = &lane.stage.layout;
                if from == to {
                    return None;
                }
                if M::MOVES {
                    self.mover.copy(layout, from, to);
                }
                return self.own_copy(layout, &lane.stage.comm, from, to).map(|copy| (copy, None, false));
            }
            Step::Combine { from, to, side } => {
                let (from, to) = (placed(from), placed(to));
                if M::MOVES {
                    self.mover.combine(&lane.stage.layout, from, to, side);
                }
                Busy::combine(self.cost, lane.stage.layout.bytes(from.blocks))
            }
            Step::Done => {
                lane.done = true;
                return None;
            }
        };
        busy.call(&lane.stage.comm).map(|call| (call, None, false))
    }

    fn message_of(&mut self, stage: &FlatStage, to: u32, piece: Piece) -> Message {
        Message {
            to: stage.comm.world(to),
            context: stage.comm.collective(),
            tag: self.tag_of(stage),
            size: stage.layout.bytes(piece.blocks),
            mode: SendMode::Standard,
            payload: if M::MOVES { self.mover.read(&stage.layout, piece) } else { None },
            buffer: Default::default(),
        }
    }

    fn pattern_of(&self, stage: &FlatStage, from: u32, blocks: Blocks) -> Pattern {
        Pattern {
            from: Source::Rank(stage.comm.world(from)),
            context: stage.comm.collective(),
            tag: TagPattern::Tag(self.tag_of(stage)),
            capacity: if M::MOVES { Bytes::MAX } else { stage.layout.bytes(blocks) },
            buffer: Default::default(),
        }
    }
}
