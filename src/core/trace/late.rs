//! Late values: information available only after an operation. In the file, the two lowest bits of a number state its
//! kind.

use std::ops::Range;

use super::bytes::{get, unzigzag};

/// A receive from any source got no message. With other upper bits: the bytes that a block moves, plus one.
pub(super) const NOTHING: u64 = 0;
/// A receive from any source got a message: the peer, followed by the difference of the tag to the last one.
pub(super) const GOT: u64 = 1;
/// A strand: its task, followed by the difference of its first tag to the last one.
pub(super) const STRAND: u64 = 2;
/// A receive was cancelled: whether it succeeded.
pub(super) const WITHDRAWN: u64 = 3;

/// A late value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LateValue {
    /// A receive from any source got no message.
    Nothing,
    /// A receive got a message from this peer; the tag is relative to the last one.
    Got(u32, u32),
    /// A strand is this task; its first tag is relative to the last one.
    Strand(u32, u32),
    /// Whether a cancelled receive was withdrawn.
    Withdrawn(bool),
    /// Number of bytes that a block moves.
    Moves(u64),
}

/// Reads the next value; `None` at the end or for an invalid value.
pub(super) fn next(bytes: &[u8], range: &mut Range<usize>) -> Option<LateValue> {
    let bytes = &bytes[..range.end];
    let word = get(bytes, &mut range.start)?;
    let mut step = || get(bytes, &mut range.start).map(|step| unzigzag(step) as u32);
    let number = || u32::try_from(word >> 2).ok();
    match word & 3 {
        NOTHING if word == NOTHING => Some(LateValue::Nothing),
        NOTHING => Some(LateValue::Moves((word >> 2) - 1)),
        GOT => Some(LateValue::Got(number()?, step()?)),
        STRAND => Some(LateValue::Strand(number()?, step()?)),
        WITHDRAWN => Some(LateValue::Withdrawn(number()? != 0)),
        _ => None,
    }
}
