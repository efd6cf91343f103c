//! Which built-in operations take which basic elements (the table of MPI-3.1, section 5.9.2).
//!
//! Beyond the table: characters count as integers, bytes as small ones, and numbers as logical values, as in C.
//! Half precision, and 16-byte reals of Fortran, are data only.

use super::Builtin::{self, *};
use crate::capi::datatype::{Group, Kind, Scalar};

pub(super) fn accepts(op: Builtin, kind: &Kind) -> bool {
    use Group::*;
    let group = kind.group;
    let integer = matches!(group, CInteger | FortranInteger | MultiLanguage | Character);
    let computed = match kind.scalar {
        Scalar::F16 | Scalar::F128 => false,
        Scalar::F80 => cfg!(target_arch = "x86_64"),
        _ => true,
    };
    match op {
        Replace | NoOp => group != Marker,
        _ if !computed => false,
        Max | Min => integer || matches!(group, Floating | Byte),
        Sum | Prod => integer || matches!(group, Floating | Complex | Byte),
        Land | Lor | Lxor => integer || matches!(group, Logical | Floating | Byte),
        Band | Bor | Bxor => integer || matches!(group, Byte | Logical),
        Minloc | Maxloc => matches!(group, Pair(_)),
    }
}
