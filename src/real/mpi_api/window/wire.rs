//! Format of messages between origins and targets of one-sided operations. The messages consist of bytes and contain
//! no pointers.

use crate::mpi_api::error::MpiError;
use mcpsim_core::mpi::datatype::wire::{WireReader, put_number};
use mcpsim_core::mpi::datatype::{Datatype, Type};
use mcpsim_core::mpi::op::{self, Builtin};

/// Action that an origin rank requests from a target rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetOperation {
    Put,
    /// Read data from the target's window memory. The target's answer contains the data.
    Get,
    Accumulate,
    /// Accumulate data in the target's window memory. The target's answer contains the previous data.
    GetAccumulate,
    /// Compare and swap a value in the target's window memory. The message contains the compare value and the new
    /// value, and the answer contains the previous value.
    CompareSwap,
    /// Request a shared window lock. The target answers when the lock is granted.
    LockShared,
    LockExclusive,
    /// Release the window lock. The answer contains an error of operations since the last answer to `Unlock` or
    /// `Flush`.
    Unlock,
    /// Confirm the completion of all earlier operations. The answer has the same contents as the answer to `Unlock`.
    Flush,
    /// End the epoch of MPI_Win_start, because the origin has called MPI_Win_complete.
    Complete,
}

const ACTIONS: [TargetOperation; 10] = [
    TargetOperation::Put,
    TargetOperation::Get,
    TargetOperation::Accumulate,
    TargetOperation::GetAccumulate,
    TargetOperation::CompareSwap,
    TargetOperation::LockShared,
    TargetOperation::LockExclusive,
    TargetOperation::Unlock,
    TargetOperation::Flush,
    TargetOperation::Complete,
];

/// Flag in the action byte of a message. With the flag `TOLD`, the target reports an error of the operation in the
/// answer to the next flush, in addition to the operation's own answer.
const TOLD: u8 = 0x80;

/// A byte range of the target's window memory.
#[derive(Clone, Debug)]
pub struct TargetRange {
    /// Displacement in the target's displacement units.
    pub displacement: i64,
    pub count: usize,
    pub datatype: Type,
}

/// A message from an origin to a target, which requests an action.
#[derive(Debug)]
pub struct WindowRequest<'a> {
    pub window: u32,
    pub action: TargetOperation,
    pub told: bool,
    /// Byte range of the target's window memory, for operations on memory.
    pub span: Option<TargetRange>,
    /// Reduction operator of an accumulate operation.
    pub op: Option<Builtin>,
    pub data: &'a [u8],
}

impl TargetOperation {
    fn has_span(self) -> bool {
        matches!(
            self,
            TargetOperation::Put
                | TargetOperation::Get
                | TargetOperation::Accumulate
                | TargetOperation::GetAccumulate
                | TargetOperation::CompareSwap
        )
    }

    fn has_op(self) -> bool {
        matches!(self, TargetOperation::Accumulate | TargetOperation::GetAccumulate)
    }

    /// Returns the name of the MPI function that requests the action.
    pub fn function(self) -> &'static str {
        match self {
            TargetOperation::Put => "MPI_Put",
            TargetOperation::Get => "MPI_Get",
            TargetOperation::Accumulate => "MPI_Accumulate",
            TargetOperation::GetAccumulate => "MPI_Get_accumulate or MPI_Fetch_and_op",
            TargetOperation::CompareSwap => "MPI_Compare_and_swap",
            TargetOperation::LockShared | TargetOperation::LockExclusive => "MPI_Win_lock",
            TargetOperation::Unlock => "MPI_Win_unlock",
            TargetOperation::Flush => "MPI_Win_flush",
            TargetOperation::Complete => "MPI_Win_complete",
        }
    }

    /// Returns true if the operation has no answer, so that only the answer to a flush can report an error.
    pub fn is_silent(self) -> bool {
        matches!(self, TargetOperation::Put | TargetOperation::Accumulate)
    }
}

/// Creates a message that consists of the window identifier and the action, without data.
pub fn header(window: u32, action: TargetOperation) -> Vec<u8> {
    // Message fields have fixed sizes, because the size of the message must not depend on the values of identifiers
    // and addresses.
    let mut out = vec![action as u8];
    out.extend(window.to_le_bytes());
    out
}

/// Creates the first part of a message for an operation on window memory. The caller appends the data of the
/// operation to the message.
pub fn operation(
    window: u32,
    action: TargetOperation,
    told: bool,
    op: Option<abi::Handle>,
    span: &TargetRange,
) -> Vec<u8> {
    let mut out = header(window, action);
    if told {
        out[0] |= TOLD;
    }
    if action.has_op() {
        put_number(&mut out, op.expect("an accumulation has an operation") as i64);
    }
    out.extend(span.displacement.to_le_bytes());
    put_number(&mut out, span.count as i64);
    span.datatype.encode(&mut out);
    out
}

/// Parses a message of a one-sided operation. Returns `None` if the message is malformed.
pub fn read(bytes: &[u8]) -> Option<WindowRequest<'_>> {
    let mut from = WireReader::new(bytes);
    let first = from.byte()?;
    let action = *ACTIONS.get(usize::from(first & !TOLD))?;
    let window = u32::from_le_bytes(from.bytes()?);
    let op = if action.has_op() { Some(op::builtin(from.number()? as usize)?) } else { None };
    let span = if action.has_span() {
        let (displacement, count) = (i64::from_le_bytes(from.bytes()?), usize::try_from(from.number()?).ok()?);
        Some(TargetRange { displacement, count, datatype: Datatype::decode(&mut from)? })
    } else {
        None
    };
    Some(WindowRequest { window, action, told: first & TOLD != 0, span, op, data: from.rest() })
}

/// Origin of a one-sided operation, sent after the message if accesses are compared (`--check`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallOrigin {
    /// Number of MPI_Win_fence calls at the start of the epoch, or [`super::conflicts::NO_FENCE`].
    pub fence: u32,
    /// Number of times that the origin has waited for results of operations.
    pub waits: u32,
    /// MPI function and source position of the call, such as "MPI_Put at ring.c:42".
    pub position: String,
}

/// Appends the origin of the operation to a message.
pub fn put_origin(message: &mut Vec<u8>, origin: &CallOrigin) {
    message.extend(origin.position.bytes());
    for number in [origin.fence, origin.waits, origin.position.len() as u32] {
        message.extend(number.to_le_bytes());
    }
}

/// Splits a message into the operation and the origin of the operation.
pub fn split_origin(message: &[u8]) -> Option<(&[u8], CallOrigin)> {
    let (rest, numbers) = message.split_last_chunk::<12>()?;
    let (numbers, _) = numbers.as_chunks::<4>();
    let [fence, waits, length] = [0, 1, 2].map(|place: usize| u32::from_le_bytes(numbers[place]));
    let (message, position) = rest.split_at_checked(rest.len().checked_sub(length as usize)?)?;
    Some((message, CallOrigin { fence, waits, position: String::from_utf8_lossy(position).into_owned() }))
}

/// Encodes an MPI error for the answer to a flush.
pub fn put_error(error: &MpiError) -> Vec<u8> {
    let mut out = Vec::new();
    put_number(&mut out, i64::from(error.class));
    out.extend(error.what.bytes());
    out
}

/// Decodes the answer to a flush. Returns the MPI error, or `None` if the answer contains no error.
pub fn read_error(answer: &[u8]) -> Option<MpiError> {
    let mut from = WireReader::new(answer);
    let class = from.number()?;
    Some(MpiError::new(class as i32, String::from_utf8_lossy(from.rest())))
}

use mcpsim_core::mpi::abi;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_have_the_numbers_of_their_places() {
        for (place, action) in ACTIONS.into_iter().enumerate() {
            assert_eq!(action as usize, place);
        }
    }

    #[test]
    fn what_is_asked_is_read() {
        let datatype = Datatype::named(abi::MPI_INT).unwrap().clone();
        let span = TargetRange { displacement: -7, count: 12, datatype };
        let mut bytes = operation(300, TargetOperation::GetAccumulate, true, Some(abi::MPI_MAX), &span);
        assert_eq!(bytes.len(), 1 + 4 + 1 + 8 + 1 + 2);
        bytes.extend([1, 2, 3]);
        let asked = read(&bytes).unwrap();
        assert_eq!((asked.window, asked.action, asked.told), (300, TargetOperation::GetAccumulate, true));
        assert_eq!((asked.op, asked.data), (Some(Builtin::Max), &[1, 2, 3][..]));
        let read_span = asked.span.unwrap();
        assert_eq!((read_span.displacement, read_span.count), (-7, 12));

        let lock = header(0, TargetOperation::LockExclusive);
        let asked = read(&lock).unwrap();
        assert_eq!(
            (asked.action, asked.window, asked.span.is_none(), asked.told),
            (TargetOperation::LockExclusive, 0, true, false)
        );
        assert!(read(&[77, 0]).is_none() && read(&[]).is_none());
    }

    #[test]
    fn a_message_is_followed_by_its_origin() {
        let origin = CallOrigin { fence: 3, waits: 7, position: "MPI_Put at a.c:7".to_owned() };
        let mut message = vec![1, 2, 3];
        put_origin(&mut message, &origin);
        assert_eq!(split_origin(&message), Some((&[1, 2, 3][..], origin)));
        assert_eq!((split_origin(&message[1..12]), split_origin(&[0xff; 12])), (None, None));
    }

    #[test]
    fn errors_come_back() {
        let error = MpiError::new(abi::MPI_ERR_RMA_RANGE, "outside");
        assert_eq!(read_error(&put_error(&error)), Some(error));
        assert_eq!(read_error(&[]), None);
    }
}
