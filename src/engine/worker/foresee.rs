//! Prefetch of the data of the next events into the host's caches, while the current event is handled.

use mcpsim_base::rank::{Program, Rank};
use mcpsim_base::units::SimTime;

use super::Worker;
use crate::event::EventKind;
use crate::fair::TransferConsumer;
use crate::prefetch::prefetch;
use crate::resource::flows::EndedFlow;

/// Number of bytes of a rank's state that are prefetched before the event of the rank is handled.
const PREFETCHED: usize = 1024;
/// Number of ranks of a worker from which the states of the ranks exceed the first-level caches; with fewer ranks
/// prefetch is useless.
pub(super) const FAR_RANKS: usize = 256;
/// Number of ranks of a worker above which a rank's state arrives too late to prefetch the data that the state refers
/// to.
const TOO_FAR_RANKS: usize = 2048;
/// Number of next events that the queue should know in advance; the number exceeds the prefetch distance.
const KNOWN: usize = 8;

/// Returns the number of next events that the queue of a worker with `ranks` ranks should know in advance.
pub(super) fn known(ranks: usize) -> usize {
    if (FAR_RANKS..=TOO_FAR_RANKS).contains(&ranks) { KNOWN } else { 0 }
}

impl<P: Program> Worker<'_, P> {
    /// Prefetches the data of the next event. The data of the next events are seldom in the caches, and fetching data
    /// takes as long as handling an event.
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
        // The worker first prefetches the bodies and ranks of the next events, then step by step the data that these
        // refer to.
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

    /// Prefetches the data of the transfers that end next: first the records of transfers, then ranks, then requests.
    /// `order` has the end times and indices of the network flows in `ended` that remain to be handled.
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
                TransferConsumer::Nobody
                | TransferConsumer::Ended(_)
                | TransferConsumer::BlockingReceive
                | TransferConsumer::Serve => {}
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

/// Prefetches a value into the caches, if the value exists.
#[inline(always)]
fn hint<T>(place: Option<&T>) {
    if let Some(place) = place {
        prefetch(place, usize::MAX);
    }
}
