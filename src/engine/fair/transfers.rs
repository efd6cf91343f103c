//! Transfers between nodes in the `fair` contention model: records of transfers whose ends are unknown, and delays of
//! transfers.

use mcpsim_base::profile::{Resource, UplinkKind};
use mcpsim_base::rank::RequestId;
use mcpsim_base::units::{Bytes, SimSpan, SimTime};

use super::super::delays::Delays;
use super::super::event::{EventKey, InFlightMessage};
use super::super::paths::PathSlot;
use super::super::resource::flows::{EndedFlow, LostBytes};

/// Record of a transfer between nodes whose end is unknown, or whose end is known but whose receive is not yet posted.
/// The record occupies two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(crate) struct Transfer {
    /// Key of the event at which the transfer's head arrived.
    pub key: EventKey,
    pub left: SimTime,
    pub size: Bytes,
    pub taker: TransferConsumer,
    /// Delay of the transfer's head, and the resource that caused the delay.
    pub(super) before: (SimSpan, Option<Resource>),
    /// Bytes that the transfer's bundle of flows had lost at adapters when the transfer started.
    /// `Fair::lost_at_uplinks` has the bytes that the bundle had lost at uplinks.
    pub(super) lost: [i128; 3],
}

const _: () = assert!(size_of::<Transfer>() <= 128);

/// Receive, rendezvous or program that consumes a transfer when the transfer ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TransferConsumer {
    /// No receive has matched the message of the transfer yet.
    Nobody,
    /// The transfer ended at this time, and no receive has matched the message yet.
    Ended(SimTime),
    /// The receive with this request matched the message of the transfer.
    Receive(RequestId),
    /// A blocking receive of a rank's program matched the message of the transfer.
    BlockingReceive,
    /// The transfer belongs to a rendezvous message with these requests.
    Granted { send: RequestId, recv: RequestId, path: PathSlot },
    /// The program of the receiving rank serves the message, in the order of `Fair::services`.
    Serve,
}

/// Message that waits until the program of the receiving rank serves it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingService {
    pub key: EventKey,
    pub message: InFlightMessage,
    pub left: SimTime,
    /// End of the message's transfer, if known; otherwise the ticket of the transfer.
    pub end: TransferOutcome,
}

/// End of a transfer, as far as it is known when the head of the transfer arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransferOutcome {
    Ends(SimTime),
    Open(u32),
}

impl Transfer {
    pub(super) fn has_ended(&self) -> bool {
        matches!(self.taker, TransferConsumer::Ended(_))
    }

    /// Returns the delays of a transfer whose flow has ended. `at_uplinks` has the bytes that the flow's bundle had lost
    /// at each kind of uplinks when the flow started; it is absent on a platform without uplinks.
    pub(super) fn held_up(&self, flow: &EndedFlow, at_uplinks: Option<&[i128; UplinkKind::COUNT]>) -> Delays {
        let (before, by) = self.before;
        let mut delays = Delays::of_head(before, by);
        let mut add = |part: usize, before: i128| {
            let after = flow.lost.0[part];
            if after > before {
                delays.add(wire(part), SimSpan::from_ps(whole_spans((after - before) as u128, flow.pace)));
            }
        };
        (0..).zip(self.lost).for_each(|(part, before)| add(part, before));
        let uplinks = at_uplinks.into_iter().flatten();
        (LostBytes::UPLINKS..).zip(uplinks).for_each(|(part, before)| add(part, *before));
        delays
    }
}

/// Returns the delay in picoseconds of a flow with the undisturbed rate `pace` that loses `lost` bytes.
fn whole_spans(lost: u128, pace: u64) -> u64 {
    match u64::try_from(lost) {
        Ok(lost) => lost / pace,
        Err(_) => u64::try_from(lost / u128::from(pace)).unwrap_or(u64::MAX),
    }
}

/// Returns the resource of a part of `LostBytes`.
pub(super) fn wire(part: usize) -> Resource {
    match part {
        0 => Resource::AdapterOut,
        1 => Resource::AdapterIn,
        2 => Resource::Duplex,
        uplinks => Resource::Uplink(UplinkKind::new(uplinks - LostBytes::UPLINKS)),
    }
}
