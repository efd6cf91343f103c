//! Memory of calls: the buffer of a message, and the bytes that a block moves.

use serde::{Deserialize, Serialize};

use super::call::Context;
use crate::units::{Bytes, SimSpan};

/// Number of a buffer among those of its rank, or none. It uses the few bytes that [`super::Message`] has to spare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Buffer([u8; 3]);

impl Buffer {
    /// No buffer stated: all messages of the same context, tag and partner rank then share one buffer.
    pub const NONE: Buffer = Buffer([0; 3]);
    /// Messages with fewer bytes state no buffer. Caches of up to 64 MiB hold such buffers anyway.
    pub const LEAST_MESSAGE: u64 = 1024;
    /// Greatest number of distinct buffers per rank.
    pub const MOST: u32 = (1 << 24) - 1;

    /// Buffer `number`, from 0. Numbers repeat beyond [`Buffer::MOST`].
    pub fn numbered(number: u32) -> Self {
        Buffer::from_word(number % Self::MOST + 1)
    }

    /// Inverse of [`Buffer::word`].
    pub fn from_word(word: u32) -> Self {
        let [a, b, c, _] = word.to_le_bytes();
        Buffer([a, b, c])
    }

    /// The number, from 1; 0 for no buffer.
    pub fn word(self) -> u32 {
        let [a, b, c] = self.0;
        u32::from_le_bytes([a, b, c, 0])
    }

    /// Whether a buffer is stated.
    #[inline]
    pub fn is_stated(self) -> bool {
        self != Buffer::NONE
    }
}

/// A local block that moves bytes from and to memory while it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MemoryBlock {
    /// Duration if memory does not limit it.
    pub core: SimSpan,
    /// Number of bytes moved.
    pub bytes: Bytes,
}

/// Data that a rank copies or combines in a collective, in its own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataBlock {
    /// Duration if caches hold the data, or if caches are not modelled.
    pub span: SimSpan,
    /// Size of the data to copy, or of each operand to combine.
    pub size: Bytes,
    /// Context of the collective. All collectives of a context use the same buffers.
    pub context: Context,
    /// Whether the data are combined; otherwise they are copied.
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
