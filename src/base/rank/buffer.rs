//! Memory that a call uses: the buffer of a message, or the bytes that a block of computing moves.

use serde::{Deserialize, Serialize};

use super::call::Context;
use crate::units::{Bytes, SimSpan};

/// Identifier of a message's buffer among the buffers of its rank, or no buffer. The type has only three bytes, so that
/// [`super::Message`] does not become larger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Buffer([u8; 3]);

impl Buffer {
    /// Value for an unknown buffer. All messages with this value and the same context, tag and partner rank share one
    /// buffer.
    pub const NONE: Buffer = Buffer([0; 3]);
    /// Least size in bytes of messages that state a buffer. The simulator assumes that smaller buffers are in the
    /// caches, which is true for caches of up to 64 MiB.
    pub const LEAST_MESSAGE: u64 = 1024;
    /// Greatest number of distinct buffers per rank.
    pub const MOST: u32 = (1 << 24) - 1;

    /// Creates the buffer with index `number`, counted from 0. Identifiers repeat beyond [`Buffer::MOST`].
    pub fn numbered(number: u32) -> Self {
        Buffer::from_word(number % Self::MOST + 1)
    }

    /// Creates the buffer from the integer that [`Buffer::word`] returns.
    pub fn from_word(word: u32) -> Self {
        let [a, b, c, _] = word.to_le_bytes();
        Buffer([a, b, c])
    }

    /// Returns the identifier of the buffer, counted from 1, or 0 for no buffer.
    pub fn word(self) -> u32 {
        let [a, b, c] = self.0;
        u32::from_le_bytes([a, b, c, 0])
    }

    /// Whether the call states a buffer.
    #[inline]
    pub fn is_stated(self) -> bool {
        self != Buffer::NONE
    }
}

/// A local block of computing that also moves bytes from and to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MemoryBlock {
    /// Duration of the block if memory bandwidth does not limit it.
    pub core: SimSpan,
    /// Number of bytes that the block moves from and to memory.
    pub bytes: Bytes,
}

/// Data that a rank copies or combines in a collective, in its own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataBlock {
    /// Duration of the work if the data are in caches, or if the platform does not model caches.
    pub span: SimSpan,
    /// Size of the data to copy, or of each operand to combine, in bytes.
    pub size: Bytes,
    /// Context of the collective. All collectives of a context use the same buffers.
    pub context: Context,
    /// Whether the rank combines the data; otherwise the rank copies the data.
    pub combines: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_back_and_begin_anew_where_there_are_no_more() {
        assert!(!Buffer::NONE.is_stated() && Buffer::numbered(0).is_stated());
        assert_eq!(Buffer::numbered(0x0001_0203).word(), 0x0001_0204);
        assert_eq!(Buffer::numbered(Buffer::MOST), Buffer::numbered(0));
        assert_eq!(Buffer::from_word(Buffer::numbered(77).word()), Buffer::numbered(77));
    }

    #[test]
    fn messages_and_patterns_are_no_larger_for_it() {
        assert_eq!((size_of::<super::super::Message>(), size_of::<super::super::Pattern>()), (32, 32));
    }
}
