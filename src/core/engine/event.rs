//! Events and their total order.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::rank::{Context, Envelope, Rank, RequestId, Tag};
use crate::units::{Bytes, SimTime};

use super::paths::PathSlot;
use super::payloads::PayloadSlot;

/// Total order of events: by time, then destination, then source, then the source's sequence number.
///
/// The order is the same for any number of workers, because no part of it depends on the worker that handles an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventKey {
    /// Virtual time of the event.
    pub time: SimTime,
    /// Rank that receives the event.
    pub to: Rank,
    /// Rank that caused the event.
    pub from: Rank,
    /// Number of the event among those that `from` caused. The number wraps: of two coexisting events of one source,
    /// the older event's number is less than 2^31 behind.
    pub sequence: u32,
}

impl EventKey {
    /// Assigns `key` field by field. A copy of the whole struct directly after writes to its fields causes a
    /// store-forwarding stall.
    #[inline(always)]
    pub(super) fn set(&mut self, key: EventKey) {
        self.time = key.time;
        self.to = key.to;
        self.from = key.from;
        self.sequence = key.sequence;
    }
}

impl Ord for EventKey {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let mine = (self.time, self.to, self.from);
        let theirs = (other.time, other.to, other.from);
        mine.cmp(&theirs).then_with(|| (self.sequence.wrapping_sub(other.sequence) as i32).cmp(&0))
    }
}

impl PartialOrd for EventKey {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// An event at a rank. The type is plain data, because events are moved often and plain data move in registers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Event {
    /// Time, destination, source and sequence number.
    pub key: EventKey,
    /// Kind of the event.
    pub body: EventKind,
}

/// Kind of an event; the size is one cache line.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(align(64))]
pub(super) enum EventKind {
    /// A task resumes at this time, unless it has resumed before. `turn` detects the second case.
    Wake {
        /// Task of the rank.
        task: u32,
        /// Turn of the task for which the event was created.
        turn: u32,
    },
    /// The idling of the rank's program ends, if its end is now.
    Idle,
    /// A message (or the request of a rendezvous) leaves its sender.
    Departure {
        /// The receiver.
        to: Rank,
        /// The message.
        message: InFlightMessage,
        /// Time at which its head arrives.
        going: Going,
    },
    /// The head of a message (or the request of a rendezvous) arrives at its receiver.
    Arrival {
        /// The message.
        message: InFlightMessage,
        /// Departure time.
        left: SimTime,
        /// Load seen at the sender's side.
        load: u32,
    },
    /// The end of a served message arrives at its receiver.
    Serve {
        /// The message.
        message: InFlightMessage,
        /// Departure time.
        left: SimTime,
    },
    /// The receiver of a rendezvous is ready, and its sender may start the transfer.
    ClearToSend {
        /// The sender's request.
        send: RequestId,
        /// The receiver's request.
        recv: RequestId,
        /// Path to this grant.
        path: PathSlot,
    },
    /// The head of a granted transfer arrives at its receiver.
    TransferArrival {
        /// The sender's request.
        send: RequestId,
        /// The receiver's request.
        recv: RequestId,
        /// Size of the transfer.
        size: Bytes,
        /// Start of the transfer.
        left: SimTime,
        /// Last time at which the path had another cause: the start, or the MPI call of the receiver for which the
        /// transfer waited.
        since: SimTime,
        /// Load seen at the sender's side.
        load: u32,
        /// Path to the start of the transfer.
        path: PathSlot,
    },
    /// The rank has posted the receive of an earlier message, and its core copies the message.
    Copy {
        /// The receive.
        recv: RequestId,
        /// Arrival time of the message's head.
        head: SimTime,
        /// Arrival time of the message's end.
        end: SimTime,
    },
    /// The rank's core starts the copies in its queue.
    CopyTurn,
    /// The first of the copies and blocks that share the memory of the rank's node ends, unless new ones have started.
    CopiesEnd {
        /// Version of the node's next-end event; older events are stale.
        version: u32,
    },
    /// An eager message of the rank has left its receiver's buffer.
    Credit,
    /// A granted transfer has ended, and its sender may continue.
    TransferEnd {
        /// The sender's request.
        send: RequestId,
        /// Start of the transfer on the path; the current time if the path ends here.
        left: SimTime,
        /// Path to `left`.
        path: PathSlot,
    },
}

impl EventKind {
    /// Returns the path that the event carries, if any.
    #[inline(always)]
    pub fn path(&self) -> PathSlot {
        match self {
            EventKind::Departure { message, .. }
            | EventKind::Arrival { message, .. }
            | EventKind::Serve { message, .. } => message.path,
            EventKind::ClearToSend { path, .. }
            | EventKind::TransferArrival { path, .. }
            | EventKind::TransferEnd { path, .. } => *path,
            EventKind::Wake { .. }
            | EventKind::Idle
            | EventKind::Copy { .. }
            | EventKind::CopyTurn
            | EventKind::CopiesEnd { .. }
            | EventKind::Credit => PathSlot::NONE,
        }
    }
}

/// Arrival time of the head of a departing message.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Going {
    /// At this time, independent of load.
    At(SimTime),
    /// Determined at departure.
    Asked,
    /// When the sender's core starts the copy, which makes this request ready.
    Copied(RequestId),
}

/// A message in flight.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct InFlightMessage {
    /// Context of matching.
    pub context: Context,
    /// Its tag.
    pub tag: Tag,
    /// Its size.
    pub size: Bytes,
    /// The sender's request, if this is the request of a rendezvous.
    pub rendezvous: Option<RequestId>,
    /// The data. The request of a rendezvous carries the data too; they are used only after the transfer.
    pub payload: PayloadSlot,
    /// Path to the departure.
    pub path: PathSlot,
}

impl InFlightMessage {
    /// Returns the matching envelope.
    #[inline]
    pub fn envelope(&self, source: Rank) -> Envelope {
        Envelope { context: self.context, source, tag: self.tag }
    }
}

impl EventKind {
    /// Returns the slot of the event's data, if its kind can carry data.
    pub fn payload_mut(&mut self) -> Option<&mut PayloadSlot> {
        match self {
            EventKind::Departure { message, .. }
            | EventKind::Arrival { message, .. }
            | EventKind::Serve { message, .. } => Some(&mut message.payload),
            EventKind::Wake { .. }
            | EventKind::Idle
            | EventKind::ClearToSend { .. }
            | EventKind::TransferArrival { .. }
            | EventKind::Copy { .. }
            | EventKind::CopyTurn
            | EventKind::CopiesEnd { .. }
            | EventKind::Credit
            | EventKind::TransferEnd { .. } => None,
        }
    }

    /// Returns the slot of the path to the event, if any.
    pub fn path_mut(&mut self) -> Option<&mut PathSlot> {
        match self {
            EventKind::Departure { message, .. }
            | EventKind::Arrival { message, .. }
            | EventKind::Serve { message, .. } => Some(&mut message.path),
            EventKind::ClearToSend { path, .. }
            | EventKind::TransferArrival { path, .. }
            | EventKind::TransferEnd { path, .. } => Some(path),
            EventKind::Wake { .. }
            | EventKind::Idle
            | EventKind::Copy { .. }
            | EventKind::CopyTurn
            | EventKind::CopiesEnd { .. }
            | EventKind::Credit => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(time: u64, to: Rank, from: Rank, sequence: u32) -> EventKey {
        EventKey { time: SimTime::from_ps(time), to, from, sequence }
    }

    #[test]
    fn time_decides_then_destination_then_source_then_sequence() {
        let keys = [key(1, 9, 9, 9), key(2, 0, 9, 9), key(2, 1, 0, 9), key(2, 1, 1, 3), key(2, 1, 1, 4)];
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(key(0, 0, 0, u32::MAX) < key(0, 0, 0, 2), "the sequence wraps");
    }

    proptest! {
        #[test]
        fn the_order_is_total(mut keys in prop::collection::vec((0..3u64, 0..3u32, 0..3u32, 0..50u32), 3)) {
            let keys: Vec<EventKey> = keys.drain(..).map(|(time, to, from, sequence)| key(time, to, from, sequence)).collect();
            let [a, b, c] = [keys[0], keys[1], keys[2]];
            prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
            prop_assert_eq!(a == b, a.cmp(&b).is_eq());
            if a <= b && b <= c {
                prop_assert!(a <= c);
            }
        }
    }
}
