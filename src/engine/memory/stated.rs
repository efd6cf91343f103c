//! What ranks state of the buffers of their messages: kept beside messages, as most say nothing.
//!
//! Sender and receiver of a copy are on one node, so that all this is their worker's. Messages of a pair of ranks with
//! the same context and tag are matched in the order in which they were sent: what senders state stands in a queue.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use mcpsim_base::rank::{Buffer, Message, Rank, RequestId, Tag};
use mcpsim_base::units::Bytes;

use super::super::lp::LogicalProcess;
use super::buffers::mixed;
use super::caches::BufferKey;
use super::{BufferPair, Memory};

/// The buffers of a message at its two ends, as far as these state them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct StatedPair {
    sent: Buffer,
    received: Buffer,
}

impl StatedPair {
    /// The sender's.
    pub fn read(self, sender: Rank) -> Option<BufferKey> {
        key(sender, self.sent)
    }

    /// The receiver's.
    pub fn written(self, receiver: Rank) -> Option<BufferKey> {
        key(receiver, self.received)
    }
}

/// A buffer has one name, whether a rank sends from it or receives into it.
fn key(rank: Rank, buffer: Buffer) -> Option<BufferKey> {
    const STATED: u32 = 0x5354_4154;
    buffer.is_stated().then(|| u64::from(rank) << 32 | u64::from(mixed(STATED, buffer.word())))
}

/// A sender, its receiver, what their messages' context and tag are.
type Pair = (Rank, Rank, BufferPair, Tag);

/// What is stated of messages that have not been copied.
#[derive(Debug, Default)]
pub(super) struct StatedBuffers {
    /// Of messages that are not matched.
    sent: FxHashMap<Pair, VecDeque<Buffer>>,
    /// Of receives.
    receives: FxHashMap<(Rank, RequestId), StatedPair>,
    /// Something was stated.
    any: bool,
}

impl LogicalProcess<'_> {
    /// The buffers that are stated, if anybody has stated one; there are none where caches do not count.
    #[inline]
    fn stated(&mut self) -> Option<&mut StatedBuffers> {
        self.memory().map(|memory| &mut memory.stated).filter(|stated| stated.any)
    }

    /// Whether a message between two ranks of a node will be copied by its receiver, and caches feel it.
    fn is_felt(&mut self, from: Rank, to: Rank, size: Bytes) -> bool {
        let copies = self.receiver_copies(self.level(from, to), size);
        let (from, to) = (self.seats[from as usize], self.seats[to as usize]);
        copies && from.node == to.node && self.memory().is_some_and(|memory| memory.feels(size))
    }

    /// `rank` sends a message from a buffer that it states.
    #[cold]
    pub fn send_from(&mut self, rank: Rank, message: &Message) {
        let &Message { to, context, tag, size, buffer, .. } = message;
        if self.is_felt(rank, to, size)
            && let Some(Memory { stated, .. }) = self.memory()
        {
            stated.any = true;
            stated.sent.entry((rank, to, BufferPair::of_context(context), tag)).or_default().push_back(buffer);
        }
    }

    /// `rank` posts a receive. The buffers of collectives are known by `pair`.
    #[inline]
    pub fn receive_into(&mut self, rank: Rank, recv: RequestId, (pair, buffer): (BufferPair, Buffer)) {
        let buffer = if pair.is_of_collective() { Buffer::NONE } else { buffer };
        if let Some(Memory { stated, .. }) = self.memory()
            && (stated.any || buffer.is_stated())
        {
            stated.any = true;
            let pair = StatedPair { received: buffer, ..StatedPair::default() };
            match buffer.is_stated() {
                true => _ = stated.receives.insert((rank, recv), pair),
                // One that was withdrawn had this number.
                false => _ = stated.receives.remove(&(rank, recv)),
            }
        }
    }

    /// A receive of `rank` and a message have found each other.
    #[inline]
    pub fn pair_buffers(
        &mut self,
        rank: Rank,
        recv: RequestId,
        (from, tag, pair): (Rank, Tag, BufferPair),
        size: Bytes,
    ) {
        if self.stated().is_some() && self.is_felt(from, rank, size) {
            self.pair_stated(rank, recv, (from, rank, pair, tag));
        }
    }

    #[cold]
    fn pair_stated(&mut self, rank: Rank, recv: RequestId, pair: Pair) {
        let Some(stated) = self.stated() else { return };
        let Some(queue) = stated.sent.get_mut(&pair) else { return };
        let sent = queue.pop_front();
        if queue.is_empty() {
            stated.sent.remove(&pair);
        }
        if let Some(sent) = sent {
            stated.receives.entry((rank, recv)).or_default().sent = sent;
        }
    }

    /// What is stated of the message of a receive of `rank`, which is to be copied: asked once.
    #[inline]
    pub fn stated_pair(&mut self, rank: Rank, recv: RequestId) -> StatedPair {
        self.stated().and_then(|stated| stated.receives.remove(&(rank, recv))).unwrap_or_default()
    }
}
