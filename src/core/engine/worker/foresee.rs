//! What comes next is brought into the caches while something else is handled.

use crate::rank::{Program, Rank};

use super::Worker;
use crate::engine::fair::Taker;
use crate::engine::flows::EndedFlow;
use crate::engine::prefetch::prefetch;

/// So many bytes of a rank are brought into the caches before its event is handled.
const PREFETCHED: usize = 1024;
/// So many ranks are not in the caches next to the processor; fewer are there anyway.
pub(super) const FAR_RANKS: usize = 256;

impl<P: Program> Worker<'_, P> {
    /// Brings what the next event is about into the caches: what is far is seldom there, and takes as long to come as an
    /// event takes to be handled.
    #[inline(always)]
    pub(super) fn foresee(&self) {
        if !self.foresees {
            return;
        }
        let lp = &self.lp;
        if let Some((rank, body)) = lp.queue.foresee() {
            prefetch(&self.ranks[lp.seats[rank as usize].local as usize], PREFETCHED);
            lp.paths.foresee(body.path());
        }
    }

    /// Brings what the next of these ends are about into the caches: transfers, then ranks, then requests.
    #[inline]
    pub(super) fn foresee_ends(&mut self, ends: &[EndedFlow]) {
        let Some(fair) = self.lp.fair.as_deref_mut() else { return };
        if let Some(flow) = ends.get(3) {
            prefetch(fair.transfer(flow.ticket), usize::MAX);
        }
        let seats = self.lp.seats;
        let local = |rank: Rank| seats[rank as usize].local as usize;
        if let Some(flow) = ends.get(2) {
            prefetch(&self.ranks[local(fair.transfer(flow.ticket).key.to)], PREFETCHED);
        }
        if let Some(flow) = ends.get(1) {
            let transfer = fair.transfer(flow.ticket);
            let requests = &self.ranks[local(transfer.key.to)].target.requests;
            match transfer.taker {
                Taker::Receive(recv) => requests.foresee(recv),
                Taker::Granted { recv, path, .. } => {
                    requests.foresee(recv);
                    self.lp.paths.foresee(path);
                }
                Taker::Nobody | Taker::Ended(_) | Taker::Serve => {}
            }
        }
        if let Some(flow) = ends.first() {
            let transfer = fair.transfer(flow.ticket);
            if let Taker::Receive(recv) = transfer.taker {
                self.lp.paths.foresee(self.ranks[local(transfer.key.to)].target.requests.get(recv).path);
            }
        }
    }
}
