//! What is said of memory: which of a rank's buffers a message is read from or written to, and what a block moves.

use serde::{Deserialize, Serialize};

use super::call::Context;
use crate::units::{Bytes, SimSpan};

/// The number of a buffer among its rank's, in as few bytes as [`super::Message`] has to spare; or that none is stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Buffer([u8; 3]);

impl Buffer {
    /// Nothing is said: messages of a context and tag to or from a rank have a buffer then.
    pub const NONE: Buffer = Buffer([0; 3]);
    /// Messages of fewer bytes state none: caches of 64 MiB hold such buffers anyway, as far as is asked.
    pub const LEAST_MESSAGE: u64 = 1024;
    /// So many buffers of a rank have numbers of their own.
    pub const MOST: u32 = (1 << 24) - 1;

    /// The buffer `number`, from 0; beyond [`Buffer::MOST`] numbers begin anew.
    pub fn numbered(number: u32) -> Self {
        Buffer::from_word(number % Self::MOST + 1)
    }

    /// As [`Buffer::word`] gives it.
    pub fn from_word(word: u32) -> Self {
        let [a, b, c, _] = word.to_le_bytes();
        Buffer([a, b, c])
    }

    /// The number, from 1; 0 if none is stated.
    pub fn word(self) -> u32 {
        let [a, b, c] = self.0;
        u32::from_le_bytes([a, b, c, 0])
    }

    /// Whether it is stated.
    #[inline]
    pub fn is_stated(self) -> bool {
        self != Buffer::NONE
    }
}

/// A local block that moves bytes from and to memory while it computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MemoryBlock {
    /// How long it takes if memory does not bound it.
    pub core: SimSpan,
    /// What it moves.
    pub bytes: Bytes,
}

/// Data that a rank copies or combines in a collective, in memory of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataBlock {
    /// How long it takes where caches hold the data, or are of no account.
    pub span: SimSpan,
    /// How much is copied, or combined with as much.
    pub size: Bytes,
    /// The collective's context: in all collectives of one the buffers are the same.
    pub context: Context,
    /// Whether it is combined; otherwise it is copied.
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
