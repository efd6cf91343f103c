//! Numbers of the buffers of messages, by which caches know them.

use crate::rank::Rank;

use super::caches::BufferKey;

/// The buffers of a message: of its context and tag, or by its number among those of a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::engine) struct BufferPair(u32);

impl BufferPair {
    const OF_COLLECTIVE: u32 = 1 << 31;

    /// Those of a context, by the tags of its messages.
    pub fn of_context(context: u32) -> Self {
        BufferPair(context & !Self::OF_COLLECTIVE)
    }

    /// Those of the `number`th receive of a collective in `context`.
    pub fn of_collective(context: u32, number: u32) -> Self {
        BufferPair(mixed(context, number) | Self::OF_COLLECTIVE)
    }

    /// Those of what a rank copies and combines in collectives of a context.
    pub(super) fn of_own(context: u32) -> Self {
        Self::of_collective(context, u32::MAX)
    }

    /// The number of the buffer at `me` for messages of this tag, with `other` as the other end.
    pub(super) fn at(self, me: Rank, other: Rank, tag: u32, receives: bool) -> BufferKey {
        let which = if self.0 & Self::OF_COLLECTIVE == 0 { mixed(self.0, tag) } else { self.0 };
        let of_me = mixed(mixed(which, other), u32::from(receives));
        u64::from(me) << 32 | u64::from(of_me)
    }
}

/// Both in one number, as good as at random. (Two buffers of a rank that get the same would count as one.)
pub(super) fn mixed(a: u32, b: u32) -> u32 {
    let product = (u64::from(a) << 32 | u64::from(b)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let product = (product ^ product >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let product = (product ^ product >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (product ^ product >> 31) as u32
}
