//! Handles of Open MPI for Fortran: the index of each predefined object, as `mpif.h` states it.

use std::ffi::c_int;

use mcpsim_core::mpi::abi as standard;
use mcpsim_real::as_built::attached;
use mcpsim_real::mpi_api::group_sizes;

use crate::abi::{Raw, handle_in, handle_out};
use crate::convert::HandleClass;
use crate::objects;

const TYPES: &[(c_int, usize)] = &[
    (0, standard::MPI_DATATYPE_NULL),
    (1, standard::MPI_BYTE),
    (2, standard::MPI_PACKED),
    (3, standard::MPI_UB),
    (4, standard::MPI_LB),
    (5, standard::MPI_CHARACTER),
    (6, standard::MPI_LOGICAL),
    (7, standard::MPI_INTEGER),
    (8, standard::MPI_INTEGER1),
    (9, standard::MPI_INTEGER2),
    (10, standard::MPI_INTEGER4),
    (11, standard::MPI_INTEGER8),
    (12, standard::MPI_INTEGER16),
    (13, standard::MPI_REAL),
    (14, standard::MPI_REAL4),
    (15, standard::MPI_REAL8),
    (16, standard::MPI_REAL16),
    (17, standard::MPI_DOUBLE_PRECISION),
    (18, standard::MPI_COMPLEX),
    (19, standard::MPI_COMPLEX8),
    (20, standard::MPI_COMPLEX16),
    (21, standard::MPI_COMPLEX32),
    (22, standard::MPI_DOUBLE_COMPLEX),
    (23, standard::MPI_2REAL),
    (24, standard::MPI_2DOUBLE_PRECISION),
    (25, standard::MPI_2INTEGER),
    (28, standard::MPI_REAL2),
    (29, standard::MPI_LOGICAL1),
    (30, standard::MPI_LOGICAL2),
    (31, standard::MPI_LOGICAL4),
    (32, standard::MPI_LOGICAL8),
    (33, standard::MPI_WCHAR),
    (34, standard::MPI_CHAR),
    (35, standard::MPI_UNSIGNED_CHAR),
    (36, standard::MPI_SIGNED_CHAR),
    (37, standard::MPI_SHORT),
    (38, standard::MPI_UNSIGNED_SHORT),
    (39, standard::MPI_INT),
    (40, standard::MPI_UNSIGNED),
    (41, standard::MPI_LONG),
    (42, standard::MPI_UNSIGNED_LONG),
    (43, standard::MPI_LONG_LONG),
    (44, standard::MPI_UNSIGNED_LONG_LONG),
    (45, standard::MPI_FLOAT),
    (46, standard::MPI_DOUBLE),
    (47, standard::MPI_LONG_DOUBLE),
    (48, standard::MPI_FLOAT_INT),
    (49, standard::MPI_DOUBLE_INT),
    (50, standard::MPI_LONG_DOUBLE_INT),
    (51, standard::MPI_LONG_INT),
    (52, standard::MPI_2INT),
    (53, standard::MPI_SHORT_INT),
    (54, standard::MPI_CXX_BOOL),
    (55, standard::MPI_CXX_FLOAT_COMPLEX),
    (56, standard::MPI_CXX_DOUBLE_COMPLEX),
    (57, standard::MPI_CXX_LONG_DOUBLE_COMPLEX),
    (58, standard::MPI_INT8_T),
    (59, standard::MPI_UINT8_T),
    (60, standard::MPI_INT16_T),
    (61, standard::MPI_UINT16_T),
    (62, standard::MPI_INT32_T),
    (63, standard::MPI_UINT32_T),
    (64, standard::MPI_INT64_T),
    (65, standard::MPI_UINT64_T),
    (66, standard::MPI_AINT),
    (67, standard::MPI_OFFSET),
    (68, standard::MPI_C_BOOL),
    (69, standard::MPI_C_FLOAT_COMPLEX),
    (70, standard::MPI_C_DOUBLE_COMPLEX),
    (71, standard::MPI_C_LONG_DOUBLE_COMPLEX),
    (72, standard::MPI_COUNT),
];
const OPS: &[(c_int, usize)] = &[
    (0, standard::MPI_OP_NULL),
    (1, standard::MPI_MAX),
    (2, standard::MPI_MIN),
    (3, standard::MPI_SUM),
    (4, standard::MPI_PROD),
    (5, standard::MPI_LAND),
    (6, standard::MPI_BAND),
    (7, standard::MPI_LOR),
    (8, standard::MPI_BOR),
    (9, standard::MPI_LXOR),
    (10, standard::MPI_BXOR),
    (11, standard::MPI_MAXLOC),
    (12, standard::MPI_MINLOC),
    (13, standard::MPI_REPLACE),
    (14, standard::MPI_NO_OP),
];
const COMMS: &[(c_int, usize)] =
    &[(0, standard::MPI_COMM_WORLD), (1, standard::MPI_COMM_SELF), (2, standard::MPI_COMM_NULL)];
const ERRHANDLERS: &[(c_int, usize)] =
    &[(0, standard::MPI_ERRHANDLER_NULL), (1, standard::MPI_ERRORS_ARE_FATAL), (2, standard::MPI_ERRORS_RETURN)];
const GROUPS: &[(c_int, usize)] = &[(0, standard::MPI_GROUP_NULL), (1, standard::MPI_GROUP_EMPTY)];
const INFOS: &[(c_int, usize)] = &[(0, standard::MPI_INFO_NULL), (1, standard::MPI_INFO_ENV)];
const MESSAGES: &[(c_int, usize)] = &[(0, standard::MPI_MESSAGE_NULL), (1, standard::MPI_MESSAGE_NO_PROC)];
const REQUESTS: &[(c_int, usize)] = &[(0, standard::MPI_REQUEST_NULL)];
const WINS: &[(c_int, usize)] = &[(0, standard::MPI_WIN_NULL)];

fn predefined(kind: HandleClass) -> &'static [(c_int, usize)] {
    match kind {
        HandleClass::Type => TYPES,
        HandleClass::Op => OPS,
        HandleClass::Comm => COMMS,
        HandleClass::Errhandler => ERRHANDLERS,
        HandleClass::Group => GROUPS,
        HandleClass::Info => INFOS,
        HandleClass::Message => MESSAGES,
        HandleClass::Request => REQUESTS,
        HandleClass::Win => WINS,
    }
}

/// Returns the Fortran handle of a handle of the program.
pub fn fint_out(kind: HandleClass, handle: Raw) -> c_int {
    let handle = handle_in(kind, handle);
    if handle >= standard::FIRST_USER {
        return c_int::try_from(handle).unwrap_or(-1);
    }
    predefined(kind).iter().find(|known| known.1 == handle).map_or(-1, |known| known.0)
}

/// Returns the handle of the program for a Fortran handle. A number that is no handle becomes 0.
pub fn fint_in(kind: HandleClass, handle: c_int) -> Raw {
    let index = usize::try_from(handle).unwrap_or(0);
    let found = match predefined(kind).iter().find(|known| known.0 == handle) {
        _ if index >= standard::FIRST_USER => handle_out(kind, index),
        Some(known) => handle_out(kind, known.1),
        None => return 0,
    };
    // SAFETY: the address is that of a communicator.
    let lacks_sizes = || kind == HandleClass::Comm && attached() && unsafe { !objects::has_sizes(found) };
    if lacks_sizes()
        && let Some((local, remote)) = group_sizes(handle_in(kind, found))
    {
        // SAFETY: as above.
        unsafe { objects::set_sizes(found, local, remote) };
    }
    found
}

/// Returns the Fortran handle of a communicator, datatype or window.
pub fn fint_of_any(handle: Raw) -> c_int {
    match fint_out(HandleClass::Comm, handle) {
        -1 => fint_out(HandleClass::Type, handle),
        comm => comm,
    }
}
