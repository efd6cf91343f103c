//! Late values: results of an operation that are known only after the operation, such as the source of a receive from
//! any source. In the trace file, the two lowest bits of an integer are the type of a late value.

use std::ops::Range;

use super::bytes::{get, unzigzag, zigzag};

/// Type of a late value. If the upper bits are 0, a receive from any source got no message. Otherwise the upper bits
/// are the number of bytes that a block of work moves, plus one.
pub(super) const NOTHING: u64 = 0;
/// Type of a late value: a receive from any source got a message. The upper bits are the peer. The next integer is the
/// difference of the tag to the last late tag.
pub(super) const GOT: u64 = 1;
/// Type of a late value: the start of a strand. The upper bits are the index of the strand's task. The next integer is
/// the difference of the strand's first tag to the last late tag.
pub(super) const STRAND: u64 = 2;
/// Type of a late value: a receive was cancelled. The upper bits are 1 if the receive was withdrawn, 0 if it had
/// already matched a message. Further upper bits: an even number states a point, see [`point`]; an odd number from 3 on
/// states the start of a thread, see [`thread`].
pub(super) const WITHDRAWN: u64 = 3;

/// Returns the late value of a point at which threads meet. `step` is the difference to the last point of the task.
pub(super) fn point(step: i64) -> u64 {
    (zigzag(step) * 2 + 2) << 2 | WITHDRAWN
}

/// Returns the late value of the start of a thread whose calls are those of the task `task`. The next integer is the
/// number of the thread.
pub(super) fn thread(task: u32) -> u64 {
    (u64::from(task) * 2 + 3) << 2 | WITHDRAWN
}

/// A late value of a trace: a result of an operation that is known only after the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LateValue {
    /// A receive from any source got no message.
    Nothing,
    /// A receive got a message. The first integer is the peer; the second integer is the tag relative to the last late
    /// tag.
    Got(u32, u32),
    /// A strand was started. The first integer is the index of the strand's task; the second integer is the strand's
    /// first tag relative to the last late tag.
    Strand(u32, u32),
    /// A thread was started: the index of its task, and its number among the threads of the rank.
    Thread(u32, u32),
    /// A point at which threads meet. The integer is the difference to the last point of the task.
    Point(u32),
    /// A receive was cancelled. The flag states whether the receive was withdrawn before it matched a message.
    Withdrawn(bool),
    /// Number of bytes that a block of work reads from and writes to memory.
    Moves(u64),
}

/// Reads the next late value; `None` at the end of the list or for an invalid value.
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
        WITHDRAWN if word >> 2 < 2 => Some(LateValue::Withdrawn(word >> 2 != 0)),
        WITHDRAWN if word >> 2 & 1 == 0 => Some(LateValue::Point(unzigzag((word >> 2) / 2 - 1) as u32)),
        WITHDRAWN => {
            let task = u32::try_from(((word >> 2) - 3) / 2).ok()?;
            Some(LateValue::Thread(task, get(bytes, &mut range.start).and_then(|number| u32::try_from(number).ok())?))
        }
        _ => None,
    }
}
