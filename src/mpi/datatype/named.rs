//! The named datatypes of the MPI ABI, indexed by handle.

use std::sync::LazyLock;

use super::kind::{BasicKind, Scalar, Scalar::*, TypeGroup, TypeGroup::*};
use super::{Datatype, Type};
use crate::abi::{self, Handle};

/// MPI_LB of MPI-1. The ABI does not define MPI_LB and does not use this value otherwise.
pub const MPI_LB: Handle = 0x204;
/// MPI_UB of MPI-1. The ABI does not define MPI_UB and does not use this value otherwise.
pub const MPI_UB: Handle = 0x205;

/// Raw bytes: the element of layouts without type information.
pub(super) static BYTE: BasicKind =
    BasicKind { handle: abi::MPI_BYTE, name: "MPI_BYTE", scalar: Scalar::U8, group: TypeGroup::Byte };

macro_rules! kinds {
    ($($name:ident $scalar:ident $group:expr;)*) => {
        &[$(BasicKind { handle: abi::$name, name: first_name(stringify!($name)), scalar: $scalar, group: $group }),*]
    };
}

/// First of the two names of a datatype. The standard's tables list the second name as a synonym.
const fn first_name(name: &'static str) -> &'static str {
    match name.as_bytes() {
        b"MPI_LONG_LONG" => "MPI_LONG_LONG_INT",
        b"MPI_C_FLOAT_COMPLEX" => "MPI_C_COMPLEX",
        _ => name,
    }
}

static KINDS: &[BasicKind] = kinds! {
    MPI_AINT I64 MultiLanguage;
    MPI_COUNT I64 MultiLanguage;
    MPI_OFFSET I64 MultiLanguage;
    MPI_PACKED U8 Packed;
    MPI_SHORT I16 CInteger;
    MPI_INT I32 CInteger;
    MPI_LONG I64 CInteger;
    MPI_LONG_LONG I64 CInteger;
    MPI_UNSIGNED_SHORT U16 CInteger;
    MPI_UNSIGNED U32 CInteger;
    MPI_UNSIGNED_LONG U64 CInteger;
    MPI_UNSIGNED_LONG_LONG U64 CInteger;
    MPI_FLOAT F32 Floating;
    MPI_C_FLOAT_COMPLEX F32 Complex;
    MPI_CXX_FLOAT_COMPLEX F32 Complex;
    MPI_DOUBLE F64 Floating;
    MPI_C_DOUBLE_COMPLEX F64 Complex;
    MPI_CXX_DOUBLE_COMPLEX F64 Complex;
    MPI_LOGICAL I32 Logical;
    MPI_INTEGER I32 FortranInteger;
    MPI_REAL F32 Floating;
    MPI_COMPLEX F32 Complex;
    MPI_DOUBLE_PRECISION F64 Floating;
    MPI_DOUBLE_COMPLEX F64 Complex;
    MPI_CHARACTER U8 Character;
    MPI_LONG_DOUBLE F80 Floating;
    MPI_C_LONG_DOUBLE_COMPLEX F80 Complex;
    MPI_CXX_LONG_DOUBLE_COMPLEX F80 Complex;
    MPI_FLOAT_INT F32 Pair(I32);
    MPI_DOUBLE_INT F64 Pair(I32);
    MPI_LONG_INT I64 Pair(I32);
    MPI_2INT I32 Pair(I32);
    MPI_SHORT_INT I16 Pair(I32);
    MPI_LONG_DOUBLE_INT F80 Pair(I32);
    MPI_2REAL F32 Pair(F32);
    MPI_2DOUBLE_PRECISION F64 Pair(F64);
    MPI_2INTEGER I32 Pair(I32);
    MPI_C_BOOL U8 Logical;
    MPI_CXX_BOOL U8 Logical;
    MPI_WCHAR I32 Character;
    MPI_INT8_T I8 CInteger;
    MPI_UINT8_T U8 CInteger;
    MPI_CHAR I8 Character;
    MPI_SIGNED_CHAR I8 CInteger;
    MPI_UNSIGNED_CHAR U8 CInteger;
    MPI_BYTE U8 Byte;
    MPI_INT16_T I16 CInteger;
    MPI_UINT16_T U16 CInteger;
    MPI_INT32_T I32 CInteger;
    MPI_UINT32_T U32 CInteger;
    MPI_INT64_T I64 CInteger;
    MPI_UINT64_T U64 CInteger;
    MPI_LOGICAL1 I8 Logical;
    MPI_INTEGER1 I8 FortranInteger;
    MPI_LOGICAL2 I16 Logical;
    MPI_INTEGER2 I16 FortranInteger;
    MPI_REAL2 F16 Floating;
    MPI_LOGICAL4 I32 Logical;
    MPI_INTEGER4 I32 FortranInteger;
    MPI_REAL4 F32 Floating;
    MPI_COMPLEX4 F16 Complex;
    MPI_LOGICAL8 I64 Logical;
    MPI_INTEGER8 I64 FortranInteger;
    MPI_REAL8 F64 Floating;
    MPI_COMPLEX8 F32 Complex;
    MPI_LOGICAL16 I128 Logical;
    MPI_INTEGER16 I128 FortranInteger;
    MPI_REAL16 F128 Floating;
    MPI_COMPLEX16 F64 Complex;
    MPI_COMPLEX32 F128 Complex;
};

static MARKERS: [BasicKind; 2] = [
    BasicKind { handle: MPI_LB, name: "MPI_LB", scalar: U8, group: Marker },
    BasicKind { handle: MPI_UB, name: "MPI_UB", scalar: U8, group: Marker },
];

const FIRST: Handle = abi::MPI_DATATYPE_NULL;

static TABLE: LazyLock<Box<[Option<Type>; 256]>> = LazyLock::new(|| {
    let mut table: Box<[Option<Type>; 256]> = Box::new([const { None }; 256]);
    for kind in KINDS.iter().chain(&MARKERS) {
        table[kind.handle - FIRST] = Some(Type::lasting(Datatype::of_kind(kind)));
    }
    table
});

impl Datatype {
    /// Returns the named datatype with this handle. Returns `None` for MPI_DATATYPE_NULL and for handles of datatypes
    /// that a program created.
    #[inline]
    pub fn named(handle: Handle) -> Option<&'static Type> {
        TABLE.get(handle.wrapping_sub(FIRST))?.as_ref()
    }

    /// All named datatypes, in order of their handles.
    pub fn all_named() -> impl Iterator<Item = &'static Type> {
        TABLE.iter().flatten()
    }
}
