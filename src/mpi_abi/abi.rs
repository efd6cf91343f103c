//! Standard binary interface of MPI 5. The functions of `mpi_api` have the same interface, so each conversion is the
//! identity.

use std::ffi::{c_int, c_void};

use mcpsim_core::mpi::abi as standard;
use mcpsim_core::mpi::abi::Status;

use crate::convert::HandleClass;

/// Handle of an MPI object: an integer with the size of a pointer.
pub type Raw = usize;

pub use StandardStatus as RawStatus;

/// The structure MPI_Status.
#[repr(transparent)]
#[derive(Clone, Copy, Default)]
pub struct StandardStatus(Status);

impl StandardStatus {
    pub fn standard(&self) -> Status {
        self.0
    }

    pub fn set(&mut self, status: &Status) {
        self.0 = *status;
    }
}

pub const STATUS_IGNORE: usize = 0;
pub const ERROR_STRING: usize = standard::MPI_MAX_ERROR_STRING;
pub const PROCESSOR_NAME: usize = standard::MPI_MAX_PROCESSOR_NAME;
pub const OBJECT_NAME: usize = standard::MPI_MAX_OBJECT_NAME;
/// Version and subversion of the MPI standard.
pub const VERSION: (c_int, c_int) = (5, 0);
pub const LIBRARY_VERSION: &str = "MPI 5 standard ABI, simulated by mcpsim";

#[inline]
pub fn handle_in(_: HandleClass, handle: Raw) -> usize {
    handle
}

#[inline]
pub fn handle_out(_: HandleClass, handle: usize) -> Raw {
    handle
}

/// Returns the integer of a handle for Fortran.
pub fn fint_out(_: HandleClass, handle: Raw) -> c_int {
    c_int::try_from(handle).unwrap_or(-1)
}

/// Inverse of [`fint_out`].
pub fn fint_in(_: HandleClass, handle: c_int) -> Raw {
    Raw::try_from(handle).unwrap_or(0)
}

/// Notes that the functions of a generalised request are Fortran code: never.
pub fn set_fortran_request(_: Raw, _: bool) {}

/// Returns true if the functions of a generalised request are Fortran code: never.
pub fn is_fortran_request(_: Raw) -> bool {
    false
}

/// Returns true if the function of the operation needs other handles than C code: never.
pub unsafe fn is_fortran_operation(_: Raw) -> bool {
    false
}

/// Prepares a new operation.
pub unsafe fn new_operation(_: Raw) {}

/// Notes that the handle of a communicator becomes free.
pub unsafe fn forget_comm(_: Raw) {}

pub fn buffer_in(buffer: *mut c_void) -> *mut c_void {
    buffer
}

pub fn weights_in(weights: *mut c_int) -> *mut c_int {
    weights
}

/// Returns the standard constant for the address of a predefined copy function.
pub fn copy_kind(function: usize) -> Option<usize> {
    (function <= standard::MPI_DUP_FN).then_some(function)
}

/// Returns true for a predefined delete function that is a constant without code.
pub fn is_null_delete(function: usize) -> bool {
    function == standard::MPI_NULL_DELETE_FN
}

/// A table of constants without differences.
type SameConstants = [(c_int, c_int); 0];

pub const RANKS: SameConstants = [];
pub const TAGS: SameConstants = [];
pub const COMPARISONS: SameConstants = [];
pub const THREADS: SameConstants = [];
pub const TOPOLOGIES: SameConstants = [];
pub const KEYVALS: SameConstants = [];
pub const ORDERS: SameConstants = [];
pub const DISTRIBUTIONS: SameConstants = [];
pub const DISTRIBUTION_ARGUMENTS: SameConstants = [];
pub const COMBINERS: SameConstants = [];
pub const TYPECLASSES: SameConstants = [];
pub const SPLIT_TYPES: SameConstants = [];
pub const LOCKS: SameConstants = [];
pub const FLAVOURS: SameConstants = [];
pub const MODELS: SameConstants = [];
/// MPI_ERR_LASTCODE.
pub const LAST_CODE: c_int = standard::MPI_ERR_LASTCODE;
pub const ERRORS: SameConstants = [];
pub const ASSERTIONS: [(c_int, c_int); 5] = [
    (standard::MPI_MODE_NOCHECK, standard::MPI_MODE_NOCHECK),
    (standard::MPI_MODE_NOSTORE, standard::MPI_MODE_NOSTORE),
    (standard::MPI_MODE_NOPUT, standard::MPI_MODE_NOPUT),
    (standard::MPI_MODE_NOPRECEDE, standard::MPI_MODE_NOPRECEDE),
    (standard::MPI_MODE_NOSUCCEED, standard::MPI_MODE_NOSUCCEED),
];
