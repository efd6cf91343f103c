//! What comes next is brought into the caches while something else is handled.

use crate::rank::{Program, Rank};
use crate::units::SimTime;

use super::Worker;
use crate::engine::event::EventKind;
use crate::engine::fair::TransferConsumer;
use crate::engine::flows::EndedFlow;
use crate::engine::prefetch::prefetch;

/// So many bytes of a rank are brought into the caches before its event is handled.
const PREFETCHED: usize = 1024;
/// So many ranks are not in the caches next to the processor; fewer are there anyway.
pub(super) const FAR_RANKS: usize = 256;
/// Of so many, what is known of a rank comes too late for what it refers to.
const TOO_FAR_RANKS: usize = 2048;
/// So many events are to be known beforehand: more than are looked at ahead.
const KNOWN: usize = 8;

/// Of a worker with so many ranks, so many events are to be known beforehand.
pub(super) fn known(ranks: usize) -> usize {
    if (FAR_RANKS..=TOO_FAR_RANKS).contains(&ranks) { KNOWN } else { 0 }
}

impl<P: Program> Worker<'_, P> {
    /// Brings what the next event is about into the caches: what is far is seldom there, and takes as long to come as an
    /// event takes to be handled.
    #[inline(always)]
    pub(super) fn foresee(&self) {
        if !self.foresees {
            return;
        }
        let lp = &self.lp;
        let local = |rank: Rank| &self.ranks[lp.seats[rank as usize].local as usize];
        if self.ranks.len() > TOO_FAR_RANKS {
            if let Some(([rank, _], body)) = lp.queue.foresee() {
                prefetch(local(rank), PREFETCHED);
                lp.paths.foresee(body.path());
            }
            return;
        }
        // First bodies and ranks, then step by step what these refer to.
        lp.queue.foresee_body(6);
        if let Some(([rank, _], _)) = lp.queue.ahead(5) {
            prefetch(local(rank), PREFETCHED);
        }
        if let Some(([rank, source], body)) = lp.queue.ahead(3) {
            lp.paths.foresee(body.path());
            let target = &local(rank).target;
            match body {
                EventKind::Arrival { message, .. } => {
                    hint(target.matcher.slot_for(&message.envelope(source)));
                }
                EventKind::ClearToSend { send, .. } | EventKind::TransferEnd { send, .. } => {
                    target.requests.foresee(*send);
                }
                _ => {}
            }
        }
        if let Some(([rank, source], EventKind::Arrival { message, .. })) = lp.queue.ahead(2) {
            hint(local(rank).target.matcher.entry_for(&message.envelope(source)));
        }
        if let Some(([rank, source], EventKind::Arrival { message, .. })) = lp.queue.ahead(1) {
            let target = &local(rank).target;
            if let Some(recv) = target.matcher.likely_for(&message.envelope(source)) {
                target.requests.foresee(*recv);
            }
        }
    }

    /// Brings what the next ends are about into the caches: transfers, then ranks, then requests. `order` has the times
    /// and numbers of those of `ended` that come.
    #[inline]
    pub(super) fn foresee_ends(&mut self, ended: &[EndedFlow], order: &[(SimTime, u32)]) {
        let Some(fair) = self.lp.fair.as_deref_mut() else { return };
        let next = |by: usize| order.get(by).map(|(_, at)| ended[*at as usize].ticket);
        if let Some((_, at)) = order.get(9) {
            prefetch(&ended[*at as usize], usize::MAX);
        }
        if let Some(ticket) = next(6) {
            prefetch(fair.transfer(ticket), usize::MAX);
        }
        let seats = self.lp.seats;
        let local = |rank: Rank| seats[rank as usize].local as usize;
        if let Some(ticket) = next(4) {
            prefetch(&self.ranks[local(fair.transfer(ticket).key.to)], PREFETCHED);
        }
        if let Some(ticket) = next(2) {
            let transfer = fair.transfer(ticket);
            let requests = &self.ranks[local(transfer.key.to)].target.requests;
            match transfer.taker {
                TransferConsumer::Receive(recv) | TransferConsumer::Granted { recv, .. } => requests.foresee(recv),
                TransferConsumer::Nobody | TransferConsumer::Ended(_) | TransferConsumer::Serve => {}
            }
        }
        if let Some(ticket) = next(1) {
            let transfer = fair.transfer(ticket);
            if let TransferConsumer::Receive(recv) = transfer.taker {
                self.lp.paths.foresee(self.ranks[local(transfer.key.to)].target.requests.get(recv).path);
            }
        }
    }
}

/// Brings what is there into the caches.
#[inline(always)]
fn hint<T>(place: Option<&T>) {
    if let Some(place) = place {
        prefetch(place, usize::MAX);
    }
}
