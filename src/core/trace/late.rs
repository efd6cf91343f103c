//! What became known only after an operation, as it stands in the file: a number whose lowest two bits say what it is.

use std::ops::Range;

use super::bytes::{get, unzigzag};

/// A receive from any got nothing. Anything else with these lowest bits: what a block moves, and one.
pub(super) const NOTHING: u64 = 0;
/// A receive from any got a message: the peer, and the tag less the last, which follows.
pub(super) const GOT: u64 = 1;
/// A strand: its task, and its first tag less the last, which follows.
pub(super) const STRAND: u64 = 2;
/// A receive was cancelled: whether it was withdrawn.
pub(super) const WITHDRAWN: u64 = 3;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Late {
    /// A receive from any got nothing.
    Nothing,
    /// It got a message of this peer with a tag so far from the last.
    Got(u32, u32),
    /// A strand is this task, its first tag so far from the last.
    Strand(u32, u32),
    /// A receive was withdrawn, or was not.
    Withdrawn(bool),
    /// A block moves so many bytes.
    Moves(u64),
}

/// Reads the next; `None` if there is none or it makes no sense.
pub(super) fn next(bytes: &[u8], range: &mut Range<usize>) -> Option<Late> {
    let bytes = &bytes[..range.end];
    let word = get(bytes, &mut range.start)?;
    let mut step = || get(bytes, &mut range.start).map(|step| unzigzag(step) as u32);
    let number = || u32::try_from(word >> 2).ok();
    match word & 3 {
        NOTHING if word == NOTHING => Some(Late::Nothing),
        NOTHING => Some(Late::Moves((word >> 2) - 1)),
        GOT => Some(Late::Got(number()?, step()?)),
        STRAND => Some(Late::Strand(number()?, step()?)),
        WITHDRAWN => Some(Late::Withdrawn(number()? != 0)),
        _ => None,
    }
}
