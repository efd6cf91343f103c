//! Events and their total order.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::rank::{Context, Envelope, Rank, RequestId, Tag};
use crate::units::{Bytes, SimTime};

use super::paths::PathSlot;
use super::payloads::PayloadSlot;

/// Orders events: by time, then destination, then source, then the source's own sequence.
///
/// The order is total and the same for any number of workers: nothing in it depends on where an event is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventKey {
    /// When it happens.
    pub time: SimTime,
    /// The rank at which it happens.
    pub to: Rank,
    /// The rank that caused it.
    pub from: Rank,
    /// Its number among those that `from` caused. It wraps: of any two events of one source that exist at the same
    /// time, the older has the number less than 2^31 behind.
    pub sequence: u32,
}

impl EventKey {
    /// Becomes `key`, field by field: to copy as a whole what was just written in pieces stalls the processor.
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

/// Something that happens to a rank. Plain data: events are moved often, and what is plain is moved in registers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Event {
    /// When, to whom, by whom.
    pub key: EventKey,
    /// What.
    pub body: EventKind,
}

/// What can happen: a cache line.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[repr(align(64))]
pub(super) enum EventKind {
    /// A task goes on at this time, unless it has gone on since (`turn` tells).
    Wake {
        /// Which of the rank's tasks.
        task: u32,
        /// The task's turn for which this was meant.
        turn: u32,
    },
    /// The rank's own program has idled long enough, if its idling ends now.
    Idle,
    /// A message (or the request of a rendezvous) leaves its sender.
    Departure {
        /// The receiver.
        to: Rank,
        /// The message.
        message: InFlightMessage,
        /// When its head gets there.
        going: Going,
    },
    /// The head of a message (or the request of a rendezvous) gets to its receiver.
    Arrival {
        /// The message.
        message: InFlightMessage,
        /// When it left.
        left: SimTime,
        /// The load its sender's side saw.
        load: u32,
    },
    /// The end of a message that is served gets to its receiver.
    Serve {
        /// The message.
        message: InFlightMessage,
        /// When it left.
        left: SimTime,
    },
    /// The receiver of a rendezvous is there: its sender may start the transfer.
    ClearToSend {
        /// The sender's request.
        send: RequestId,
        /// The receiver's.
        recv: RequestId,
        /// The path to this grant.
        path: PathSlot,
    },
    /// The head of a granted transfer gets to its receiver.
    TransferArrival {
        /// The sender's request.
        send: RequestId,
        /// The receiver's.
        recv: RequestId,
        /// Its size.
        size: Bytes,
        /// When the transfer started.
        left: SimTime,
        /// When its path was last another one: then too, or when the receiver called MPI, which it waited for.
        since: SimTime,
        /// The load its sender's side saw.
        load: u32,
        /// The path to its start.
        path: PathSlot,
    },
    /// The rank has posted the receive of a message that came before, and its core copies it.
    Copy {
        /// The receive.
        recv: RequestId,
        /// When the message's head came, and its end.
        head: SimTime,
        /// The end.
        end: SimTime,
    },
    /// The rank's core gets to the copies that wait for it.
    CopyTurn,
    /// The first of the copies and blocks of the rank's node that share memory has ended, unless others have come
    /// since.
    CopiesEnd {
        /// Which of the node's events is meant.
        version: u32,
    },
    /// An eager message of the rank has left its receiver's buffer.
    Credit,
    /// A granted transfer has ended: its sender may go on.
    TransferEnd {
        /// The sender's request.
        send: RequestId,
        /// Since when its path is under way; now, if the path gets here.
        left: SimTime,
        /// The path to `left`.
        path: PathSlot,
    },
}

impl EventKind {
    /// The path that comes with it, if one does.
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

/// When the head of a message that leaves will get to its receiver.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) enum Going {
    /// Then: load does not change it.
    At(SimTime),
    /// That is found when it leaves.
    Asked,
    /// As soon as the sender's core gets to copying it, which makes this request ready.
    Copied(RequestId),
}

/// A message on its way.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct InFlightMessage {
    /// The context it is matched in.
    pub context: Context,
    /// Its tag.
    pub tag: Tag,
    /// Its size.
    pub size: Bytes,
    /// The sender's request, where this is the request of a rendezvous.
    pub rendezvous: Option<RequestId>,
    /// The data; a rendezvous' request carries it too, it counts only once the transfer has ended.
    pub payload: PayloadSlot,
    /// The path to its leaving.
    pub path: PathSlot,
}

impl InFlightMessage {
    /// What it is matched by.
    #[inline]
    pub fn envelope(&self, source: Rank) -> Envelope {
        Envelope { context: self.context, source, tag: self.tag }
    }
}

impl EventKind {
    /// Where the event's data are, if it can carry any.
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

    /// Where the path to the event is, if it has one.
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
