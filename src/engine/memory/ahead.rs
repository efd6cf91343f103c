//! Copies of messages from other nodes that begin before it is known when their last bytes come.
//!
//! What such a copy moves at memory is moved while the bytes come. The message is there once both have ended.

use mcpsim_base::platform::Level;
use mcpsim_base::rank::{Rank, RequestId};
use mcpsim_base::units::{Bytes, SimTime};

use super::super::delays::Delays;
use super::super::lp::LogicalProcess;
use super::super::messages::{came, received_copy};
use super::super::state::TargetRank;

/// What is known of such a message.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CopyAhead {
    /// When its last byte is there.
    end: Option<SimTime>,
    /// When it is copied, and what held that up.
    copied: Option<(SimTime, Delays)>,
}

impl LogicalProcess<'_> {
    /// Whether the copy of an eager message is asked for before its end is known.
    pub fn copies_ahead(&mut self, level: Level, size: Bytes) -> bool {
        self.receiver_copies(level, size) && self.memory().is_some_and(|memory| memory.feels(size))
    }

    /// The message of a receive will be copied while its bytes come.
    pub fn begin_ahead(&mut self, rank: Rank, recv: RequestId) {
        self.memory().expect("caches feel it").ahead.insert((rank, recv), CopyAhead::default());
    }

    /// Such a copy ends: when the last byte is there, if that is known.
    pub fn copied_ahead(&mut self, rank: Rank, recv: RequestId, copied: (SimTime, Delays)) -> Option<SimTime> {
        let ahead = &mut self.memory().expect("caches feel it").ahead;
        let known = ahead.get_mut(&(rank, recv)).expect("it has begun");
        match known.end {
            Some(end) => {
                ahead.remove(&(rank, recv));
                Some(end)
            }
            None => {
                known.copied = Some(copied);
                None
            }
        }
    }

    /// The last byte of a message is there at `end`: if it is copied ahead, gives the copy's end, if that is known.
    pub fn landed_ahead(&mut self, rank: Rank, recv: RequestId, end: SimTime) -> Option<Option<(SimTime, Delays)>> {
        let ahead = &mut self.memory()?.ahead;
        let known = ahead.get_mut(&(rank, recv))?;
        known.end = Some(end);
        let copied = known.copied;
        if copied.is_some() {
            ahead.remove(&(rank, recv));
        }
        Some(copied)
    }
}

/// The last byte of an eager message from another node, whose head came at `head`, is there at `end`.
pub(in super::super) fn landed(
    target: &mut TargetRank,
    lp: &mut LogicalProcess<'_>,
    recv: RequestId,
    head: SimTime,
    end: SimTime,
) {
    match lp.landed_ahead(target.rank, recv, end) {
        None => came(target, lp, recv, head, end),
        Some(None) => {}
        Some(Some((copied, delays))) => received_copy(target, lp, recv, end, (copied, delays)),
    }
}
