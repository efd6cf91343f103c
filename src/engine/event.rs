//! Events of the simulation and the total order of events.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use mcpsim_base::rank::{Context, Envelope, Rank, RequestId, Tag};
use mcpsim_base::units::{Bytes, SimTime};

use super::departure::Passage;
use super::paths::PathSlot;
use super::payloads::PayloadSlot;

/// Key of an event. Keys order events totally: by time, then destination, then source, then the sequence number at the
/// source.
///
/// The order of events is the same for any number of workers, because no field of a key depends on the worker that
/// handles the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventKey {
    /// Virtual time of the event.
    pub time: SimTime,
    /// Rank that receives the event.
    pub to: Rank,
    /// Rank that caused the event.
    pub from: Rank,
    /// Sequence number of the event among the events that `from` caused. The sequence number wraps: of two pending
    /// events of one source, the older event's number is less than 2^31 behind.
    pub sequence: u32,
}

impl EventKey {
    /// Assigns `key` to this key field by field. A copy of the whole struct directly after writes to its fields causes
    /// a store-forwarding stall.
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

/// An event at a rank. The type is plain data, because events are moved often, and plain data move in registers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Event {
    /// Key of the event: time, destination, source and sequence number.
    pub key: EventKey,
    /// Kind of the event, with the data of the kind.
    pub body: EventKind,
}

/// Kind of an event. A value fits in one cache line.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(u64, align(64))]
pub(super) enum EventKind {
    /// A task of the rank resumes at the time of the event, unless the task has resumed before. `turn` shows whether
    /// the task has resumed before the event.
    Wake {
        /// Task of the rank.
        task: u32,
        /// Number of the task's wait that the event ends; see `TargetRank::turns`.
        turn: u32,
    },
    /// The rank's program, which polls in a loop, continues, if the idling ends at the time of the event.
    Idle,
    /// A message (or the request of a rendezvous) leaves its sender.
    Departure {
        /// The receiver.
        to: Rank,
        /// Message that the event concerns.
        message: InFlightMessage,
        /// Arrival time of the message's head.
        going: Going,
    },
    /// The head of a message (or the request of a rendezvous) arrives at its receiver.
    Arrival {
        /// Message that the event concerns.
        message: InFlightMessage,
        /// Departure time of the message.
        left: SimTime,
        /// Carrier of the transfer, and the delay of the head.
        passage: Passage,
    },
    /// The end of a served message (which the receiver's program answers without a receive) arrives at its receiver.
    Serve {
        /// Message that the event concerns.
        message: InFlightMessage,
        /// Departure time of the message.
        left: SimTime,
    },
    /// The receiver of a rendezvous message is ready, and the sender may start the transfer.
    ClearToSend {
        /// Send request of the sender.
        send: RequestId,
        /// Receive request of the receiver.
        recv: RequestId,
        /// Critical path that determined the time of the grant.
        path: PathSlot,
    },
    /// The head of the transfer of a rendezvous message arrives at its receiver.
    TransferArrival {
        /// Send request of the sender.
        send: RequestId,
        /// Receive request of the receiver.
        recv: RequestId,
        /// Size of the transfer.
        size: Bytes,
        /// Start of the transfer.
        left: SimTime,
        /// Start of the transfer on the path: the start of the transfer, or the MPI call of the receiver that let the
        /// transfer progress.
        since: SimTime,
        /// Carrier of the transfer, and the delay of the head.
        passage: Passage,
        /// Critical path that determined the start of the transfer.
        path: PathSlot,
    },
    /// The rank has posted the receive of a message that arrived earlier, and the rank's core copies the message.
    Copy {
        /// Request of the receive.
        recv: RequestId,
        /// Arrival time of the message's head.
        head: SimTime,
        /// Arrival time of the message's end.
        end: SimTime,
    },
    /// The rank's core starts the message copies in the queue of the core.
    CopyTurn,
    /// The first of the copies and computing blocks that share the memory of the rank's node ends, unless further
    /// copies or blocks have started.
    CopiesEnd {
        /// Version of the node's event for the next end of a copy or block; events with older versions are stale.
        version: u32,
    },
    /// An eager message that the rank sent has left the buffer of its receiver, which returns the credit.
    Credit,
    /// The transfer of a rendezvous message has ended, and the sender's request is complete.
    TransferEnd {
        /// Send request of the sender.
        send: RequestId,
        /// Start of the transfer on the path; the time of the event if no transfer is on the path.
        left: SimTime,
        /// Critical path that determined the time `left`.
        path: PathSlot,
    },
}

impl EventKind {
    /// Returns the critical path that determined the time of the event, if the event carries a path.
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
    /// The head of the message arrives at this time, independent of load.
    At(SimTime),
    /// The arrival time of the head depends on load and is determined when the message departs.
    Asked,
    /// The head leaves when the sender's core starts to copy the message; the copy completes this request.
    Copied(RequestId),
}

/// A message in flight.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct InFlightMessage {
    /// Communication context, by which messages and receives match.
    pub context: Context,
    /// Tag of the message.
    pub tag: Tag,
    /// Size of the message.
    pub size: Bytes,
    /// Send request of the sender, if this message is the request (RTS) of a rendezvous.
    pub rendezvous: Option<RequestId>,
    /// Data of the message. The request (RTS) of a rendezvous carries the data too, but the receiver uses the data only
    /// after the transfer.
    pub payload: PayloadSlot,
    /// Critical path that determined the departure time of the message.
    pub path: PathSlot,
}

impl InFlightMessage {
    /// Returns the source, context and tag, by which the message is matched.
    #[inline]
    pub fn envelope(&self, source: Rank) -> Envelope {
        Envelope { context: self.context, source, tag: self.tag }
    }
}

impl EventKind {
    /// Returns the reference to the event's data in the table of message data, if the event can carry data.
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

    /// Returns the reference to the event's path in the table of paths, if the event carries a path.
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
