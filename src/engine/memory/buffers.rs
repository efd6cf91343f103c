//! Identifiers of the buffers of messages, by which the simulated caches know the buffers.

use mcpsim_base::rank::{Buffer, Rank};

use super::caches::BufferKey;

/// Identifier of the two buffers of a message: of its context and tag, or of its number within a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BufferPair(u32);

impl BufferPair {
    const OF_COLLECTIVE: u32 = 1 << 31;
    /// Marks buffers of a collective that do not depend on the partner.
    const COMMON: u32 = 1 << 30;

    /// Returns the identifier of the buffers of messages of a context; messages with different tags have different
    /// buffers.
    pub fn of_context(context: u32) -> Self {
        BufferPair(context & !Self::OF_COLLECTIVE)
    }

    /// Returns the identifier of the buffers of the receive with number `number` of a collective in `context`.
    pub fn of_collective(context: u32, number: u32) -> Self {
        BufferPair(mixed(context, number) & !Self::COMMON | Self::OF_COLLECTIVE)
    }

    /// Returns the identifier of the buffers of `buffer`, which has the same data at each member of a collective in
    /// `context`. All members that receive the data from a sender read one buffer, which is the same in every call.
    pub fn common(context: u32, buffer: Buffer) -> Self {
        BufferPair(mixed(context, buffer.word()) | Self::COMMON | Self::OF_COLLECTIVE)
    }

    /// Returns whether the buffers are those of a collective.
    pub fn is_of_collective(self) -> bool {
        self.0 & Self::OF_COLLECTIVE != 0
    }

    /// Returns the identifier of the buffers that a rank uses for its own copies and reductions in collectives of a
    /// context.
    pub(super) fn of_own(context: u32) -> Self {
        Self::of_collective(context, u32::MAX)
    }

    /// Returns the identifier of the buffer of rank `me` for messages with tag `tag` from or to rank `other`.
    pub(super) fn at(self, me: Rank, other: Rank, tag: u32, receives: bool) -> BufferKey {
        let which = if self.is_of_collective() { self.0 } else { mixed(self.0, tag) };
        let other = if self.is_of_collective() && self.0 & Self::COMMON != 0 { 0 } else { other };
        let of_me = mixed(mixed(which, other), u32::from(receives));
        u64::from(me) << 32 | u64::from(of_me)
    }
}

/// Returns a hash of the two numbers `a` and `b`. Two buffers of a rank with equal hashes count as one buffer.
pub(super) fn mixed(a: u32, b: u32) -> u32 {
    let product = (u64::from(a) << 32 | u64::from(b)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let product = (product ^ product >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let product = (product ^ product >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (product ^ product >> 31) as u32
}
