//! Ends of network transfers, computed at slots (steps of virtual time), and ends of copies and computing blocks in
//! memory.

use mcpsim_base::rank::{Program, Rank};
use mcpsim_base::units::SimTime;

use super::Worker;
use super::woken::{go_on, next_copies, run_woken};
use crate::event::EventKey;
use crate::fair::{PendingService, Transfer, TransferConsumer, TransferOutcome};
use crate::granted::end_transfer;
use crate::lp::LogicalProcess;
use crate::memory::{COPY, end_block, landed};
use crate::messages::{end_receive, finish_copy};
use crate::resource::flows::{EndedFlow, SUPERSTEPS};
use crate::service::serve_at_end;
use crate::state::{RankState, TargetRank};
use crate::transport::{Batch, LocalBound, Transport};

impl<P: Program> Worker<'_, P> {
    /// Computes the rates of network flows at the slot of virtual time that begins at `time`, together with all other
    /// workers, and continues the messages that end before the next slot. Returns true if the run must stop.
    pub(super) fn judge(&mut self, transport: &mut Transport<'_>, incoming: &mut Batch, time: SimTime) -> bool {
        let lp = &mut self.lp;
        lp.window_end = time;
        for step in 0.. {
            let moves = lp.flows().is_some_and(|flows| {
                if step == 0 {
                    flows.open(time);
                }
                flows.judge(time)
            });
            lp.tell();
            let slot = if moves { time } else { SimTime::NEVER };
            let bound = LocalBound { slot, ..LocalBound::NOTHING };
            let agreement = transport.exchange(bound, &mut lp.outbox.batches, incoming, &mut || false);
            if agreement.stop {
                return true;
            }
            lp.hear(incoming);
            let unsettled = agreement.slot == time;
            if let Some(flows) = lp.flows() {
                flows.take_levels(time);
                if unsettled && step == SUPERSTEPS {
                    flows.give_up();
                }
            }
            if !unsettled || step == SUPERSTEPS {
                break;
            }
        }
        self.end_flows(time);
        false
    }

    /// Continues the messages whose transfers end between the slot of virtual time `time` and the next slot, in the
    /// order of the ends.
    fn end_flows(&mut self, time: SimTime) {
        let Some(fair) = self.lp.fair.as_deref_mut() else { return };
        let (mut ended, mut order) = (std::mem::take(&mut fair.ended), std::mem::take(&mut fair.order));
        if let Some(flows) = &mut fair.flows {
            flows.settle(time, &mut ended);
        }
        order.extend((0..).zip(&ended).map(|(at, flow)| (flow.end, at)));
        order.sort_unstable();
        // The records of transfers are seldom in the caches, so they are read only for transfers with equal ends.
        let mut keys: Vec<(EventKey, u32)> = Vec::new();
        for equal in order.chunk_by_mut(|a, b| a.0 == b.0).filter(|equal| equal.len() > 1) {
            keys.clear();
            keys.extend(equal.iter().map(|&(_, at)| (fair.transfer(ended[at as usize].ticket).key, at)));
            if !keys.is_sorted_by(|a, b| a.0 < b.0) {
                keys.sort_unstable_by_key(|(key, _)| *key);
                equal.iter_mut().zip(&keys).for_each(|(place, &(_, at))| place.1 = at);
            }
        }
        self.lp.tell();
        for next in 0..order.len() {
            if self.lp.failure.is_none() {
                self.foresee_ends(&ended, &order[next + 1..]);
                self.end_flow(time, &ended[order[next].1 as usize]);
            }
        }
        ended.clear();
        order.clear();
        if let Some(fair) = self.lp.fair.as_deref_mut() {
            (fair.ended, fair.order) = (ended, order);
        }
    }

    /// Ends the transfer of a flow whose end is before the slot of virtual time that follows `now`.
    fn end_flow(&mut self, now: SimTime, flow: &EndedFlow) {
        let &EndedFlow { end, ticket, .. } = flow;
        let lp = &mut self.lp;
        let fair = lp.fair.as_deref_mut().expect("there are flows");
        let &mut Transfer { key, left, size, taker, .. } = fair.transfer(ticket);
        let delays = fair.held_up(flow);
        lp.now = EventKey { time: now, ..key };
        lp.handled += 1;
        let seat = lp.seats[key.to as usize];
        let RankState { program, target } = &mut self.ranks[seat.local as usize];
        match taker {
            TransferConsumer::Nobody => fair.end_without_receive(ticket, end, delays),
            TransferConsumer::Ended(_) => unreachable!("a flow ends once"),
            TransferConsumer::Receive(_)
            | TransferConsumer::BlockingReceive
            | TransferConsumer::Granted { .. }
            | TransferConsumer::Serve => fair.forget(ticket),
        }
        match taker {
            TransferConsumer::Granted { send, recv, mut path } => {
                lp.paths.delay(&mut path, &delays);
                end_transfer(target, lp, key, (send, recv, path), size, (left, left), end);
            }
            taker => {
                lp.record_to(target, lp.level(key.from, key.to), key.from, size, (left, end));
                match taker {
                    TransferConsumer::Receive(recv) => {
                        lp.paths.delay(&mut target.requests.get_mut(recv).path, &delays);
                        landed(target, lp, recv, key.time, end);
                    }
                    TransferConsumer::BlockingReceive => {
                        let fair = lp.fair.as_deref_mut().expect("there are flows");
                        let receive = fair.waiting_receive(ticket);
                        end_receive(target, lp, receive, (end, &delays));
                    }
                    TransferConsumer::Serve => serve_in_order(program, target, lp, (key.to, key.from), ticket, end),
                    TransferConsumer::Nobody | TransferConsumer::Ended(_) | TransferConsumer::Granted { .. } => {}
                }
            }
        }
        go_on(program, target, lp);
    }

    /// Ends the memory flows of copies and computing blocks on the rank's node, if the version of the event is not
    /// stale.
    pub(super) fn end_memory_flows(&mut self, rank: Rank, version: u32) {
        let lp = &mut self.lp;
        for (ended, task) in lp.ended_flows(rank, version) {
            let RankState { program, target } = &mut self.ranks[lp.seats[ended as usize].local as usize];
            if task == COPY {
                let (job, delays) = lp.ended_copy(target);
                finish_copy(target, lp, &job, lp.now.time, delays);
                next_copies(target, lp);
            } else {
                end_block(target, lp, task);
            }
            run_woken(program, target, lp);
        }
        let RankState { target, .. } = &mut self.ranks[lp.seats[rank as usize].local as usize];
        lp.settle_memory(target);
    }
}

/// Serves a message whose transfer has ended, and the following messages whose transfers have ended, in the order of
/// their heads.
fn serve_in_order<P: Program>(
    program: &mut P,
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    pair: (Rank, Rank),
    ticket: u32,
    end: SimTime,
) {
    let fair = lp.fair.as_deref_mut().expect("there are flows");
    let queue = fair.services.get_mut(&pair).expect("it was kept");
    let ended = queue.iter_mut().find(|service| service.end == TransferOutcome::Open(ticket)).expect("it was kept");
    ended.end = TransferOutcome::Ends(end);
    let mut ready = Vec::new();
    while let Some(&PendingService { key, message, left, end: TransferOutcome::Ends(end) }) = queue.front() {
        ready.push((key, message, left, end));
        queue.pop_front();
    }
    let now = lp.now.time;
    for (key, message, left, end) in ready {
        serve_at_end(program, target, lp, EventKey { time: now, ..key }, message, left, end.max(now));
    }
}
