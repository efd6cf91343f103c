//! Transfers between nodes under `fair`: records of those whose ends are unknown, and their delays.

use crate::platform::Row;
use crate::profile::Resource;
use crate::rank::RequestId;
use crate::units::{Bytes, SimSpan, SimTime};

use super::super::delays::Delays;
use super::super::event::{EventKey, InFlightMessage};
use super::super::flows::EndedFlow;
use super::super::paths::PathSlot;

/// A transfer between nodes whose end is not known, or has not been asked for: two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(in crate::engine) struct Transfer {
    /// The event of its head.
    pub key: EventKey,
    pub left: SimTime,
    pub size: Bytes,
    pub taker: TransferConsumer,
    /// What held up its head, and what its bundle had lost when it started.
    pub(super) before: (SimSpan, Option<Resource>),
    /// Losses at adapters; those at uplinks are in [`Fair::lost_at_uplinks`].
    pub(super) lost: [i128; 3],
}

const _: () = assert!(size_of::<Transfer>() <= 128);

/// Who gets a transfer.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) enum TransferConsumer {
    /// No receive has been found yet.
    Nobody,
    /// It has ended without one.
    Ended(SimTime),
    /// This receive.
    Receive(RequestId),
    /// The receive that was granted.
    Granted { send: RequestId, recv: RequestId, path: PathSlot },
    /// The rank's program, in the order of [`Fair::services`].
    Serve,
}

/// A message that is to be served.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) struct PendingService {
    pub key: EventKey,
    pub message: InFlightMessage,
    pub left: SimTime,
    /// Its end, or its ticket.
    pub end: TransferOutcome,
}

/// What is known of a transfer's end when its head has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum TransferOutcome {
    Ends(SimTime),
    Open(u32),
}

impl Transfer {
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.taker, TransferConsumer::Ended(_))
    }

    /// Returns the delays of a transfer whose flow has ended. `at_uplinks` is the loss of its bundle at uplinks when the
    /// flow started.
    pub(super) fn held_up(&self, flow: &EndedFlow, at_uplinks: i128) -> Delays {
        let (before, by) = self.before;
        let mut delays = Delays::of_head(before, by);
        let at_start = self.lost.into_iter().chain([at_uplinks]);
        for (by, (after, before)) in WIRE.into_iter().zip(flow.lost.0.into_iter().zip(at_start)) {
            if after > before {
                delays = delays.and(by, SimSpan::from_ps(whole_spans((after - before) as u128, flow.pace)));
            }
        }
        delays
    }
}

/// For how long a flow of this pace is held up that loses so much.
fn whole_spans(lost: u128, pace: u64) -> u64 {
    match u64::try_from(lost) {
        Ok(lost) => lost / pace,
        Err(_) => u64::try_from(lost / u128::from(pace)).unwrap_or(u64::MAX),
    }
}

/// The parts of [`LostBytes`].
pub(super) const WIRE: [Resource; 4] = [Resource::AdapterOut, Resource::AdapterIn, Resource::Duplex, Resource::Uplink];

/// What travels with a head: the turn of its adapter, and what held it up.
pub(in crate::engine) fn packed(turn: u32, by: Option<Resource>) -> u32 {
    turn & 0xff | by.map_or(0, |by| (by as u32 + 1) << 8)
}

pub(super) fn turn_of(load: u32) -> u32 {
    load & 0xff
}

/// What held up a head that left at `left` and came at `head`, by what travelled with it.
pub(in crate::engine) fn head_delays(row: &Row, left: SimTime, head: SimTime, load: u32) -> Delays {
    let by = (load >> 8).checked_sub(1).map(|by| Resource::ALL[by as usize]);
    Delays::of_head(head.since(left).saturating_sub(row.latency), by)
}
