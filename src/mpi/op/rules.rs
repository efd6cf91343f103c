//! Basic elements accepted by each built-in operation (table of MPI-3.1, section 5.9.2).
//!
//! As in some MPI implementations, this module accepts more than the table: characters are treated as small integers,
//! and Fortran integers as logical values. No operation accepts half-precision numbers and 16-byte Fortran reals.

use super::Builtin::{self, *};
use crate::datatype::{BasicKind, Scalar, TypeGroup};

pub(super) fn accepts(op: Builtin, kind: &BasicKind) -> bool {
    use TypeGroup::*;
    let group = kind.group;
    let integer = match group {
        CInteger | FortranInteger | MultiLanguage => true,
        Character => kind.size() == 1,
        _ => false,
    };
    let computed = match kind.scalar {
        Scalar::F16 | Scalar::F128 => false,
        Scalar::F80 => cfg!(target_arch = "x86_64"),
        _ => true,
    };
    match op {
        Replace | NoOp => group != Marker,
        _ if !computed => false,
        Max | Min => integer || group == Floating,
        Sum | Prod => integer || matches!(group, Floating | Complex),
        Land | Lor | Lxor => integer || group == Logical,
        Band | Bor | Bxor => integer || group == Byte,
        Minloc | Maxloc => matches!(group, Pair(_)),
    }
}
