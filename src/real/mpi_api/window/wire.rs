//! Format of messages between origins and targets of one-sided operations: bytes without pointers.

use crate::mpi_api::error::MpiError;
use mcpsim_core::mpi::datatype::wire::{WireReader, put_number};
use mcpsim_core::mpi::datatype::{Datatype, Type};
use mcpsim_core::mpi::op::{self, Builtin};

/// Action requested from the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetOperation {
    Put,
    /// The answer contains the data.
    Get,
    Accumulate,
    /// The answer contains the previous data.
    GetAccumulate,
    /// The data contains the compare value and the new value. The answer contains the previous value.
    CompareSwap,
    /// The answer is sent when the lock is granted.
    LockShared,
    LockExclusive,
    /// The answer contains errors since the last answer of this kind.
    Unlock,
    /// The answer is as for `Unlock`.
    Flush,
    /// End of an epoch of MPI_Win_start.
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

/// Flag in the action byte: the next flush reports an error in addition to the answer.
const TOLD: u8 = 0x80;

/// A range of the target's memory.
#[derive(Clone, Debug)]
pub struct TargetRange {
    /// Displacement in units of the target.
    pub displacement: i64,
    pub count: usize,
    pub datatype: Type,
}

/// The request of an origin.
#[derive(Debug)]
pub struct WindowRequest<'a> {
    pub window: u32,
    pub action: TargetOperation,
    pub told: bool,
    /// Range, for operations on memory.
    pub span: Option<TargetRange>,
    /// Operator, for accumulations.
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

    /// Returns the MPI function of the operation.
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

    /// Returns true if only a flush can report an error of this operation.
    pub fn is_silent(self) -> bool {
        matches!(self, TargetOperation::Put | TargetOperation::Accumulate)
    }
}

/// Creates a message without data.
pub fn header(window: u32, action: TargetOperation) -> Vec<u8> {
    // Fields have fixed sizes, so the message size is the same in every run even if numbers and addresses differ.
    let mut out = vec![action as u8];
    out.extend(window.to_le_bytes());
    out
}

/// Creates the start of an operation's message. The data follows.
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

/// Parses a message.
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

/// Encodes an error in the answer to a flush.
pub fn put_error(error: &MpiError) -> Vec<u8> {
    let mut out = Vec::new();
    put_number(&mut out, i64::from(error.class));
    out.extend(error.what.bytes());
    out
}

/// Decodes the error in the answer to a flush.
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
    fn errors_come_back() {
        let error = MpiError::new(abi::MPI_ERR_RMA_RANGE, "outside");
        assert_eq!(read_error(&put_error(&error)), Some(error));
        assert_eq!(read_error(&[]), None);
    }
}
