//! Basic elements: what a named datatype holds, in memory and in external32.

use crate::mpi::abi::{self, Handle};

/// A number as the machine keeps it.
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
    /// The long double of x86-64: 80 bits in 16 bytes.
    F80,
    F128,
}

impl Scalar {
    /// Bytes in memory.
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

/// The groups that tell which operations a type takes (MPI-3.1, section 5.9.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Group {
    CInteger,
    FortranInteger,
    Floating,
    Logical,
    /// Two scalars.
    Complex,
    Byte,
    MultiLanguage,
    Character,
    Packed,
    /// A value and an index of this type, as a C struct.
    Pair(Scalar),
    /// MPI_LB or MPI_UB of MPI-1: a position without data.
    Marker,
}

/// A basic element.
#[derive(Debug)]
pub struct BasicKind {
    /// The handle of the named datatype.
    pub handle: Handle,
    /// Its name, as MPI_Type_get_name gives it.
    pub name: &'static str,
    /// The number, or the first of two.
    pub scalar: Scalar,
    /// What operations it takes.
    pub group: Group,
}

impl BasicKind {
    /// Bytes of data.
    pub const fn size(&self) -> usize {
        match self.group {
            Group::Complex => 2 * self.scalar.size(),
            Group::Pair(index) => self.scalar.size() + index.size(),
            Group::Marker => 0,
            _ => self.scalar.size(),
        }
    }

    /// The alignment that C asks for.
    pub const fn align(&self) -> usize {
        match self.group {
            Group::Pair(index) if index.size() > self.scalar.size() => index.size(),
            Group::Marker => 1,
            _ => self.scalar.size(),
        }
    }

    /// Bytes from one element of an array to the next.
    pub const fn extent(&self) -> usize {
        match self.group {
            Group::Pair(index) => (self.index_at() + index.size()).next_multiple_of(self.align()),
            _ => self.size(),
        }
    }

    /// Where the index of a pair begins.
    pub const fn index_at(&self) -> usize {
        match self.group {
            Group::Pair(index) => self.scalar.size().next_multiple_of(index.size()),
            _ => 0,
        }
    }

    /// Whether there is no gap in an array of these.
    pub const fn is_dense(&self) -> bool {
        self.size() == self.extent()
    }

    /// How many basic elements MPI_Get_elements counts: two for a pair.
    pub const fn basics(&self) -> u64 {
        match self.group {
            Group::Pair(_) => 2,
            Group::Marker => 0,
            _ => 1,
        }
    }

    /// Bytes of the first scalar in external32 (MPI-3.1, section 13.5.2): a long has 4 there, a wide character 2.
    pub const fn external_scalar(&self) -> usize {
        match self.handle {
            abi::MPI_LONG | abi::MPI_UNSIGNED_LONG | abi::MPI_LONG_INT => 4,
            abi::MPI_WCHAR => 2,
            _ => self.scalar.size(),
        }
    }

    /// Bytes of an element in external32.
    pub const fn external_size(&self) -> usize {
        match self.group {
            Group::Complex => 2 * self.external_scalar(),
            Group::Pair(index) => self.external_scalar() + index.size(),
            Group::Marker => 0,
            _ => self.external_scalar(),
        }
    }
}
