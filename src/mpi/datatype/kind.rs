//! Basic elements of named datatypes, in memory and in external32.

use crate::abi::{self, Handle};

/// Type of a number in the machine's representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Scalar {
    I8,
    I16,
    I32,
    I64,
    I128,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
    /// Long double of x86-64: 80 bits in 16 bytes.
    F80,
    F128,
}

impl Scalar {
    /// Number of bytes of the scalar in memory.
    pub const fn size(self) -> usize {
        match self {
            Scalar::I8 | Scalar::U8 => 1,
            Scalar::I16 | Scalar::U16 | Scalar::F16 => 2,
            Scalar::I32 | Scalar::U32 | Scalar::F32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::F64 => 8,
            Scalar::I128 | Scalar::F80 | Scalar::F128 => 16,
        }
    }
}

/// Type groups that determine the permitted operations (MPI-3.1, section 5.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TypeGroup {
    CInteger,
    FortranInteger,
    Floating,
    Logical,
    /// The element is a complex number, which consists of two scalars.
    Complex,
    Byte,
    MultiLanguage,
    Character,
    Packed,
    /// A value and an index of the given type, as a C struct.
    Pair(Scalar),
    /// MPI_LB or MPI_UB of MPI-1: marks a bound and has no data.
    Marker,
}

/// A basic element, of which MPI datatypes are composed.
#[derive(Debug)]
pub struct BasicKind {
    /// Handle of the named datatype with this basic element.
    pub handle: Handle,
    /// Name of the datatype, as MPI_Type_get_name returns it.
    pub name: &'static str,
    /// Type of the scalar in the element; for an element with two scalars, type of the first scalar.
    pub scalar: Scalar,
    /// Group of the element's type, which determines the permitted reduction operations.
    pub group: TypeGroup,
}

impl BasicKind {
    /// Number of bytes of data in one element.
    pub const fn size(&self) -> usize {
        match self.group {
            TypeGroup::Complex => 2 * self.scalar.size(),
            TypeGroup::Pair(index) => self.scalar.size() + index.size(),
            TypeGroup::Marker => 0,
            _ => self.scalar.size(),
        }
    }

    /// Alignment of the element in C, in bytes.
    pub const fn align(&self) -> usize {
        match self.group {
            TypeGroup::Pair(index) if index.size() > self.scalar.size() => index.size(),
            TypeGroup::Marker => 1,
            _ => self.scalar.size(),
        }
    }

    /// Number of bytes from one element of an array to the next.
    pub const fn extent(&self) -> usize {
        match self.group {
            TypeGroup::Pair(index) => (self.index_at() + index.size()).next_multiple_of(self.align()),
            _ => self.size(),
        }
    }

    /// Displacement of the index in an element that is a pair of a value and an index (MPI_MINLOC, MPI_MAXLOC).
    pub const fn index_at(&self) -> usize {
        match self.group {
            TypeGroup::Pair(index) => self.scalar.size().next_multiple_of(index.size()),
            _ => 0,
        }
    }

    /// Whether an array of these elements has no gaps.
    pub const fn is_dense(&self) -> bool {
        self.size() == self.extent()
    }

    /// Number of basic elements that MPI_Get_elements counts: two for a pair.
    pub const fn basics(&self) -> u64 {
        match self.group {
            TypeGroup::Pair(_) => 2,
            TypeGroup::Marker => 0,
            _ => 1,
        }
    }

    /// Number of bytes of the first scalar in external32 (MPI-3.1, section 13.5.2): 4 for a long, 2 for a wide
    /// character.
    pub const fn external_scalar(&self) -> usize {
        match self.handle {
            abi::MPI_LONG | abi::MPI_UNSIGNED_LONG | abi::MPI_LONG_INT => 4,
            abi::MPI_WCHAR => 2,
            _ => self.scalar.size(),
        }
    }

    /// Number of bytes of an element in external32.
    pub const fn external_size(&self) -> usize {
        match self.group {
            TypeGroup::Complex => 2 * self.external_scalar(),
            TypeGroup::Pair(index) => self.external_scalar() + index.size(),
            TypeGroup::Marker => 0,
            _ => self.external_scalar(),
        }
    }
}
