//! Stages of a collective by nodes that are under way together, as Open MPI's `han` has those between nodes go on while it
//! does those within: each goes on when something that it waits for is done, and the rank waits for any of these.
//!
//! All are steps of one rank, one after another: what one of them costs, the others wait for.

use std::collections::VecDeque;

use smallvec::SmallVec;

use super::{Busy, Runner};
use crate::mpi::mover::Mover;
use crate::mpi::schedule::{Blocks, Piece, Step, Then};
use crate::mpi::staged::FlatStage;
use crate::rank::{Call, Message, Pattern, Reply, ReplyKind, RequestId, Requests, SendMode, Source, TagPattern};
use crate::units::Bytes;

/// What a receive is for; nothing of a send.
type Purpose = Option<(Piece, Then)>;

/// A stage under way.
#[derive(Debug)]
struct OngoingStage {
    stage: FlatStage,
    /// What was started and is not done.
    open: SmallVec<[(RequestId, Purpose); 4]>,
    /// Those of them that the next step waits for.
    waits: SmallVec<[RequestId; 4]>,
    /// The receive of an exchange, whose send was started first.
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

    /// Waits for those that are open and that `wanted` is true of.
    fn wait_for(&mut self, wanted: impl Fn(Purpose) -> bool) {
        let open = self.open.iter().filter(|(_, purpose)| wanted(*purpose));
        self.waits = open.map(|(request, _)| *request).collect();
    }
}

/// Stages under way together.
#[derive(Debug)]
pub(super) struct Together {
    /// The stages; the last does those of `queue` afterwards.
    lanes: Vec<OngoingStage>,
    queue: VecDeque<FlatStage>,
    /// The stage that asked last, for what it started something, and whether it waits for that.
    asking: (usize, Purpose, bool),
}

impl Together {
    /// These stages: each that is started by itself, the others one after another.
    pub(super) fn new(stages: Vec<FlatStage>) -> Self {
        let (mut started, queue): (Vec<FlatStage>, Vec<FlatStage>) =
            stages.into_iter().partition(|stage| stage.started);
        // The part that comes last of a segment is that of the first segment.
        started.reverse();
        let mut queue = VecDeque::from(queue);
        let lanes = started.into_iter().chain(queue.pop_front()).map(OngoingStage::new).collect();
        Together { lanes, queue, asking: (0, None, false) }
    }
}

impl<M: Mover> Runner<M> {
    /// Takes the reply to the last call of the stages that are under way together and gives the next; none when all are
    /// done.
    #[cold]
    pub(super) fn next_together(&mut self, reply: &mut Reply<'_>) -> Option<Call> {
        let mut together = self.together.take().expect("stages are under way");
        self.take_reply_of(&mut together, reply);
        let call = self.go_on_together(&mut together);
        if call.is_some() {
            self.together = Some(together);
        }
        call
    }

    fn take_reply_of(&mut self, together: &mut Together, reply: &mut Reply<'_>) {
        match &mut reply.kind {
            ReplyKind::Started(request) => {
                // A send that is complete at once is waited for, too: who runs ahead does not know that it is.
                let (lane, purpose, waits) = together.asking;
                let lane = &mut together.lanes[lane];
                lane.open.push((*request, purpose));
                lane.waits.extend(waits.then_some(*request));
            }
            ReplyKind::Completed(completions) => {
                let completion = &mut completions[0];
                // What was asked is what the stages wait for, one after the other.
                let mut index = completion.index as usize;
                let mut stages = together.lanes.iter_mut();
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
                        Then::Store => Busy::of(self.apart.unpacked(layout, piece.blocks)),
                    };
                }
            }
            _ => {}
        }
    }

    fn go_on_together(&mut self, together: &mut Together) -> Option<Call> {
        loop {
            if let Some(call) = std::mem::take(&mut self.busy).call(&self.comm) {
                return Some(call);
            }
            for index in 0..together.lanes.len() {
                let lane = &mut together.lanes[index];
                while lane.can_go_on() {
                    if let Some((call, purpose, waits)) = self.step_of(lane) {
                        together.asking = (index, purpose, waits);
                        return Some(call);
                    }
                }
            }
            let last = together.lanes.last_mut().expect("there are stages");
            if last.done
                && let Some(stage) = together.queue.pop_front()
            {
                *last = OngoingStage::new(stage);
                continue;
            }
            let requests: Requests = together.lanes.iter().flat_map(|lane| lane.waits.iter().copied()).collect();
            if requests.is_empty() {
                return None;
            }
            return Some(Call::WaitAny(requests));
        }
    }

    /// The next step of a stage, if it asks for something: what, what a receive is for, and whether the stage waits.
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
