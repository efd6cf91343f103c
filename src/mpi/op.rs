//! Built-in reduction operations (MPI-3.1, section 5.9) on arrays in memory.
//!
//! Operations that a program defines (MPI_Op_create) are in another module.
#![allow(unsafe_code)]

mod arithmetic;
mod long_double;
mod rules;
#[cfg(test)]
mod tests;

use crate::abi::{self, Handle};
use crate::datatype::{BasicKind, Datatype};

/// A built-in reduction operation of MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Builtin {
    Max,
    Min,
    Sum,
    Prod,
    Land,
    Band,
    Lor,
    Bor,
    Lxor,
    Bxor,
    Minloc,
    Maxloc,
    /// MPI_REPLACE: the result is the new value. The operation is permitted only in accumulate functions.
    Replace,
    /// MPI_NO_OP: the result is the old value. The operation is permitted only in accumulate functions.
    NoOp,
}

/// Returns the built-in reduction operation with the MPI handle `op`.
pub fn builtin(op: Handle) -> Option<Builtin> {
    Some(match op {
        abi::MPI_MAX => Builtin::Max,
        abi::MPI_MIN => Builtin::Min,
        abi::MPI_SUM => Builtin::Sum,
        abi::MPI_PROD => Builtin::Prod,
        abi::MPI_LAND => Builtin::Land,
        abi::MPI_BAND => Builtin::Band,
        abi::MPI_LOR => Builtin::Lor,
        abi::MPI_BOR => Builtin::Bor,
        abi::MPI_LXOR => Builtin::Lxor,
        abi::MPI_BXOR => Builtin::Bxor,
        abi::MPI_MINLOC => Builtin::Minloc,
        abi::MPI_MAXLOC => Builtin::Maxloc,
        abi::MPI_REPLACE => Builtin::Replace,
        abi::MPI_NO_OP => Builtin::NoOp,
        _ => return None,
    })
}

impl Builtin {
    /// Name of the reduction operation, such as MPI_SUM.
    pub fn name(self) -> &'static str {
        match self {
            Builtin::Max => "MPI_MAX",
            Builtin::Min => "MPI_MIN",
            Builtin::Sum => "MPI_SUM",
            Builtin::Prod => "MPI_PROD",
            Builtin::Land => "MPI_LAND",
            Builtin::Band => "MPI_BAND",
            Builtin::Lor => "MPI_LOR",
            Builtin::Bor => "MPI_BOR",
            Builtin::Lxor => "MPI_LXOR",
            Builtin::Bxor => "MPI_BXOR",
            Builtin::Minloc => "MPI_MINLOC",
            Builtin::Maxloc => "MPI_MAXLOC",
            Builtin::Replace => "MPI_REPLACE",
            Builtin::NoOp => "MPI_NO_OP",
        }
    }

    /// Whether the operation commutes: a ∘ b = b ∘ a.
    pub fn commutes(self) -> bool {
        !matches!(self, Builtin::Replace | Builtin::NoOp)
    }

    /// Whether the operation is permitted only in accumulate functions, not in reductions.
    pub fn only_accumulates(self) -> bool {
        matches!(self, Builtin::Replace | Builtin::NoOp)
    }

    /// Whether a reduction accepts items of this datatype.
    pub fn allowed(self, datatype: &Datatype) -> bool {
        datatype.kind().is_some_and(|kind| self.accepts(kind))
    }

    /// Whether the operation accepts basic elements of this kind (MPI-3.1, section 5.9.2, with the extensions of
    /// `rules`).
    pub fn accepts(self, kind: &BasicKind) -> bool {
        rules::accepts(self, kind)
    }

    /// Computes `inout[i] = in[i] ∘ inout[i]` for arrays of `n` elements. Does nothing if the operation does not accept
    /// `kind`.
    ///
    /// # Safety
    /// `input` must be valid for reads, `inout` for reads and writes of `n` elements of this kind, at any alignment.
    /// `input` and `inout` must be equal or must not overlap.
    pub unsafe fn apply(self, kind: &BasicKind, input: *const u8, inout: *mut u8, n: usize) {
        if self.accepts(kind) {
            // SAFETY: the caller guarantees valid operands; the kind is accepted, as `arithmetic::apply` requires.
            unsafe { arithmetic::apply(self, kind, input, inout, n) };
        }
    }

    /// Combines packed `data` with the `count` items at address `base`, for a datatype with a single type of basic
    /// element. Returns false and does nothing if the operation does not accept `datatype`.
    ///
    /// # Safety
    /// The data of the items must be valid for reads and writes.
    pub unsafe fn accumulate(self, datatype: &Datatype, base: *mut u8, count: usize, data: &[u8]) -> bool {
        if self == Builtin::NoOp {
            return true;
        }
        if self == Builtin::Replace {
            // SAFETY: the caller guarantees that the data of the items are writable.
            unsafe { datatype.unpack(base, count, data) };
            return true;
        }
        let Some(kind) = datatype.uniform().filter(|kind| self.accepts(kind)) else {
            return datatype.size() == 0;
        };
        let named = Datatype::named(kind.handle).expect("basic elements are named");
        let mut rest = data;
        let mut spread = Vec::new();
        datatype.for_each_run(count, |kind, at, n| {
            let n = n.min(rest.len() / kind.size());
            let (now, later) = rest.split_at(n * kind.size());
            rest = later;
            let input = if kind.is_dense() {
                now.as_ptr()
            } else {
                spread.resize(n * kind.extent(), 0);
                // SAFETY: the buffer `spread` has room for `n` elements.
                unsafe { named.unpack(spread.as_mut_ptr(), n, now) };
                spread.as_ptr()
            };
            // SAFETY: the caller guarantees that the run of `n` elements is readable and writable; `input` holds `n`
            // elements.
            unsafe { self.apply(kind, input, base.wrapping_offset(at), n) };
        });
        true
    }
}
