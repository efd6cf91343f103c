//! What comes next is brought into the caches while something else is handled.

use crate::rank::{Envelope, Program, Rank};
use crate::units::SimTime;

use super::Worker;
use crate::engine::event::EventKind;
use crate::engine::fair::Taker;
use crate::engine::flows::EndedFlow;
use crate::engine::prefetch::prefetch;
use crate::engine::state::TargetRank;

/// So many bytes of a rank are brought into the caches before its event is handled.
const PREFETCHED: usize = 1024;
/// So many ranks are not in the caches next to the processor; fewer are there anyway.
pub(super) const FAR_RANKS: usize = 256;
/// Of so many, what is known of a rank comes too late for what it refers to.
const TOO_FAR_RANKS: usize = 2048;

impl<P: Program> Worker<'_, P> {
    /// Brings what the next event is about into the caches: what is far is seldom there, and takes as long to come as an
    /// event takes to be handled.
    #[inline(always)]
    pub(super) fn foresee(&self) {
        if !self.foresees {
            return;
        }
        let lp = &self.lp;
        if let Some(([rank, from], body)) = lp.queue.foresee() {
            let rank = &self.ranks[lp.seats[rank as usize].local as usize];
            prefetch(rank, PREFETCHED);
            lp.paths.foresee(body.path());
            if self.ranks.len() <= TOO_FAR_RANKS {
                foresee_of(&rank.target, from, body);
            }
        }
    }

    /// Brings what the next ends are about into the caches: transfers, then ranks, then requests. `order` has the times
    /// and numbers of those of `ended` that come.
    #[inline]
    pub(super) fn foresee_ends(&mut self, ended: &[EndedFlow], order: &[(SimTime, u32)]) {
        let Some(fair) = self.lp.fair.as_deref_mut() else { return };
        let next = |by: usize| order.get(by).map(|(_, at)| ended[*at as usize].ticket);
        if let Some((_, at)) = order.get(5) {
            prefetch(&ended[*at as usize], usize::MAX);
        }
        if let Some(ticket) = next(3) {
            prefetch(fair.transfer(ticket), usize::MAX);
        }
        let seats = self.lp.seats;
        let local = |rank: Rank| seats[rank as usize].local as usize;
        if let Some(ticket) = next(2) {
            prefetch(&self.ranks[local(fair.transfer(ticket).key.to)], PREFETCHED);
        }
        if let Some(ticket) = next(1) {
            let transfer = fair.transfer(ticket);
            let requests = &self.ranks[local(transfer.key.to)].target.requests;
            match transfer.taker {
                Taker::Receive(recv) | Taker::Granted { recv, .. } => requests.foresee(recv),
                Taker::Nobody | Taker::Ended(_) | Taker::Serve => {}
            }
        }
        if let Some(ticket) = next(0) {
            let transfer = fair.transfer(ticket);
            if let Taker::Receive(recv) = transfer.taker {
                self.lp.paths.foresee(self.ranks[local(transfer.key.to)].target.requests.get(recv).path);
            }
        }
    }
}

/// Brings what the rank looks up for an event by `source` into the caches.
#[inline(always)]
fn foresee_of(target: &TargetRank, source: Rank, body: &EventKind) {
    match body {
        EventKind::Arrival { parcel, .. } => {
            let envelope = Envelope { context: parcel.context, source, tag: parcel.tag };
            if let Some(slot) = target.matcher.slot_for(&envelope) {
                prefetch(slot, usize::MAX);
            }
        }
        EventKind::ClearToSend { send, .. } | EventKind::TransferEnd { send, .. } => target.requests.foresee(*send),
        _ => {}
    }
}
