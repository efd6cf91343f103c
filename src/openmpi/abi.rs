//! Binary interface of Open MPI 4. A handle is the address of an object. The objects of predefined handles are
//! variables, which executables may copy, so each variable must have its original size.

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

use mcpsim_core::mpi::abi as standard;
use mcpsim_core::mpi::abi::Status;

use crate::convert::HandleClass;
use crate::objects;

pub use crate::indices::{fint_in, fint_out};
pub use crate::objects::{forget_comm, is_fortran_operation, is_fortran_request, new_operation, set_fortran_request};

/// Handle of an MPI object: an address.
pub type Raw = usize;

pub use OpenMpiStatus as RawStatus;

/// The structure MPI_Status.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct OpenMpiStatus {
    source: c_int,
    tag: c_int,
    error: c_int,
    cancelled: c_int,
    count: usize,
}

impl OpenMpiStatus {
    pub fn standard(&self) -> Status {
        let mut status =
            Status { source: rank(self.source), tag: tag(self.tag), error: error(self.error), ..Status::default() };
        status.set_bytes(self.count as u64);
        status.set_cancelled(self.cancelled != 0);
        status
    }

    pub fn set(&mut self, status: &Status) {
        *self = OpenMpiStatus {
            source: crate::convert::rank_out(status.source),
            tag: crate::convert::tag_out(status.tag),
            error: crate::convert::error_out(status.error),
            cancelled: c_int::from(status.cancelled()),
            count: status.bytes() as usize,
        };
    }
}

fn rank(value: c_int) -> c_int {
    crate::convert::rank_in(value)
}

fn tag(value: c_int) -> c_int {
    crate::convert::tag_in(value)
}

fn error(value: c_int) -> c_int {
    crate::convert::error_in(value)
}

pub const STATUS_IGNORE: usize = 0;
pub const ERROR_STRING: usize = 256;
pub const PROCESSOR_NAME: usize = 256;
pub const OBJECT_NAME: usize = 64;
/// Version and subversion of the MPI standard.
pub const VERSION: (c_int, c_int) = (3, 1);
pub const LIBRARY_VERSION: &str = "Open MPI v4.1, simulated by mcpsim";

macro_rules! predefined {
    ($($name:ident $words:literal $handle:expr)*) => {
        $(
            #[unsafe(no_mangle)]
            pub static mut $name: [usize; $words] = {
                let mut object = [0; $words];
                objects::fill(&mut object, $handle);
                object
            };
        )*
        /// Names and standard handles of predefined objects.
        const PREDEFINED: &[(&CStr, usize)] = &[
            $((match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a name has no zero byte"),
            }, $handle),)*
        ];
    };
}

predefined! {
    ompi_message_no_proc 32 standard::MPI_MESSAGE_NO_PROC
    ompi_message_null 32 standard::MPI_MESSAGE_NULL
    ompi_mpi_2cplex 64 0
    ompi_mpi_2dblcplex 64 0
    ompi_mpi_2dblprec 64 standard::MPI_2DOUBLE_PRECISION
    ompi_mpi_2int 64 standard::MPI_2INT
    ompi_mpi_2integer 64 standard::MPI_2INTEGER
    ompi_mpi_2real 64 standard::MPI_2REAL
    ompi_mpi_aint 64 standard::MPI_AINT
    ompi_mpi_byte 64 standard::MPI_BYTE
    ompi_mpi_c_bool 64 standard::MPI_C_BOOL
    ompi_mpi_c_complex 64 standard::MPI_C_FLOAT_COMPLEX
    ompi_mpi_c_double_complex 64 standard::MPI_C_DOUBLE_COMPLEX
    ompi_mpi_c_float_complex 64 standard::MPI_C_FLOAT_COMPLEX
    ompi_mpi_c_long_double_complex 64 standard::MPI_C_LONG_DOUBLE_COMPLEX
    ompi_mpi_char 64 standard::MPI_CHAR
    ompi_mpi_character 64 standard::MPI_CHARACTER
    ompi_mpi_comm_null 64 standard::MPI_COMM_NULL
    ompi_mpi_comm_self 64 standard::MPI_COMM_SELF
    ompi_mpi_comm_world 64 standard::MPI_COMM_WORLD
    ompi_mpi_complex16 64 standard::MPI_COMPLEX16
    ompi_mpi_complex32 64 standard::MPI_COMPLEX32
    ompi_mpi_complex8 64 standard::MPI_COMPLEX8
    ompi_mpi_count 64 standard::MPI_COUNT
    ompi_mpi_cplex 64 standard::MPI_COMPLEX
    ompi_mpi_cxx_bool 64 standard::MPI_CXX_BOOL
    ompi_mpi_cxx_cplex 64 standard::MPI_CXX_FLOAT_COMPLEX
    ompi_mpi_cxx_dblcplex 64 standard::MPI_CXX_DOUBLE_COMPLEX
    ompi_mpi_cxx_ldblcplex 64 standard::MPI_CXX_LONG_DOUBLE_COMPLEX
    ompi_mpi_datatype_null 64 standard::MPI_DATATYPE_NULL
    ompi_mpi_dblcplex 64 standard::MPI_DOUBLE_COMPLEX
    ompi_mpi_dblprec 64 standard::MPI_DOUBLE_PRECISION
    ompi_mpi_double 64 standard::MPI_DOUBLE
    ompi_mpi_double_int 64 standard::MPI_DOUBLE_INT
    ompi_mpi_errhandler_null 128 standard::MPI_ERRHANDLER_NULL
    ompi_mpi_errors_are_fatal 128 standard::MPI_ERRORS_ARE_FATAL
    ompi_mpi_errors_return 128 standard::MPI_ERRORS_RETURN
    ompi_mpi_file_null 192 standard::MPI_FILE_NULL
    ompi_mpi_float 64 standard::MPI_FLOAT
    ompi_mpi_float_int 64 standard::MPI_FLOAT_INT
    ompi_mpi_group_empty 32 standard::MPI_GROUP_EMPTY
    ompi_mpi_group_null 32 standard::MPI_GROUP_NULL
    ompi_mpi_info_env 32 standard::MPI_INFO_ENV
    ompi_mpi_info_null 32 standard::MPI_INFO_NULL
    ompi_mpi_int 64 standard::MPI_INT
    ompi_mpi_int16_t 64 standard::MPI_INT16_T
    ompi_mpi_int32_t 64 standard::MPI_INT32_T
    ompi_mpi_int64_t 64 standard::MPI_INT64_T
    ompi_mpi_int8_t 64 standard::MPI_INT8_T
    ompi_mpi_integer 64 standard::MPI_INTEGER
    ompi_mpi_integer1 64 standard::MPI_INTEGER1
    ompi_mpi_integer16 64 standard::MPI_INTEGER16
    ompi_mpi_integer2 64 standard::MPI_INTEGER2
    ompi_mpi_integer4 64 standard::MPI_INTEGER4
    ompi_mpi_integer8 64 standard::MPI_INTEGER8
    ompi_mpi_lb 64 standard::MPI_LB
    ompi_mpi_ldblcplex 64 0
    ompi_mpi_logical 64 standard::MPI_LOGICAL
    ompi_mpi_logical1 64 standard::MPI_LOGICAL1
    ompi_mpi_logical2 64 standard::MPI_LOGICAL2
    ompi_mpi_logical4 64 standard::MPI_LOGICAL4
    ompi_mpi_logical8 64 standard::MPI_LOGICAL8
    ompi_mpi_long 64 standard::MPI_LONG
    ompi_mpi_long_double 64 standard::MPI_LONG_DOUBLE
    ompi_mpi_long_int 64 standard::MPI_LONG_INT
    ompi_mpi_long_long_int 64 standard::MPI_LONG_LONG
    ompi_mpi_longdbl_int 64 standard::MPI_LONG_DOUBLE_INT
    ompi_mpi_offset 64 standard::MPI_OFFSET
    ompi_mpi_op_band 256 standard::MPI_BAND
    ompi_mpi_op_bor 256 standard::MPI_BOR
    ompi_mpi_op_bxor 256 standard::MPI_BXOR
    ompi_mpi_op_land 256 standard::MPI_LAND
    ompi_mpi_op_lor 256 standard::MPI_LOR
    ompi_mpi_op_lxor 256 standard::MPI_LXOR
    ompi_mpi_op_max 256 standard::MPI_MAX
    ompi_mpi_op_maxloc 256 standard::MPI_MAXLOC
    ompi_mpi_op_min 256 standard::MPI_MIN
    ompi_mpi_op_minloc 256 standard::MPI_MINLOC
    ompi_mpi_op_no_op 256 standard::MPI_NO_OP
    ompi_mpi_op_null 256 standard::MPI_OP_NULL
    ompi_mpi_op_prod 256 standard::MPI_PROD
    ompi_mpi_op_replace 256 standard::MPI_REPLACE
    ompi_mpi_op_sum 256 standard::MPI_SUM
    ompi_mpi_packed 64 standard::MPI_PACKED
    ompi_mpi_real 64 standard::MPI_REAL
    ompi_mpi_real16 64 standard::MPI_REAL16
    ompi_mpi_real2 64 standard::MPI_REAL2
    ompi_mpi_real4 64 standard::MPI_REAL4
    ompi_mpi_real8 64 standard::MPI_REAL8
    ompi_mpi_short 64 standard::MPI_SHORT
    ompi_mpi_short_int 64 standard::MPI_SHORT_INT
    ompi_mpi_signed_char 64 standard::MPI_SIGNED_CHAR
    ompi_mpi_ub 64 standard::MPI_UB
    ompi_mpi_uint16_t 64 standard::MPI_UINT16_T
    ompi_mpi_uint32_t 64 standard::MPI_UINT32_T
    ompi_mpi_uint64_t 64 standard::MPI_UINT64_T
    ompi_mpi_uint8_t 64 standard::MPI_UINT8_T
    ompi_mpi_unavailable 64 0
    ompi_mpi_unsigned 64 standard::MPI_UNSIGNED
    ompi_mpi_unsigned_char 64 standard::MPI_UNSIGNED_CHAR
    ompi_mpi_unsigned_long 64 standard::MPI_UNSIGNED_LONG
    ompi_mpi_unsigned_long_long 64 standard::MPI_UNSIGNED_LONG_LONG
    ompi_mpi_unsigned_short 64 standard::MPI_UNSIGNED_SHORT
    ompi_mpi_wchar 64 standard::MPI_WCHAR
    ompi_mpi_win_null 64 standard::MPI_WIN_NULL
    ompi_request_null 32 standard::MPI_REQUEST_NULL
}

/// Returns the addresses of predefined objects by standard handle.
fn addresses() -> &'static [usize; standard::FIRST_USER] {
    static KNOWN: OnceLock<Box<[usize; standard::FIRST_USER]>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let mut all = Box::new([0; standard::FIRST_USER]);
        for (name, handle) in PREDEFINED.iter().filter(|(_, handle)| *handle != 0) {
            // SAFETY: the name ends with a zero byte. If the executable has a copy of the object, the address of the
            // copy is the handle.
            let address = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
            all[*handle] = address;
        }
        all
    })
}

/// Converts a handle of the program to the standard handle.
#[inline]
pub fn handle_in(_: HandleClass, handle: Raw) -> usize {
    objects::handle_of(handle)
}

/// Converts a standard handle to a handle of the program.
#[inline]
pub fn handle_out(_: HandleClass, handle: usize) -> Raw {
    if handle >= standard::FIRST_USER { objects::address(handle) } else { addresses()[handle] }
}

pub fn buffer_in(buffer: *mut std::ffi::c_void) -> *mut std::ffi::c_void {
    buffer
}

pub fn weights_in(weights: *mut c_int) -> *mut c_int {
    match weights as usize {
        2 => standard::MPI_UNWEIGHTED as *mut c_int,
        3 => standard::MPI_WEIGHTS_EMPTY as *mut c_int,
        _ => weights,
    }
}

macro_rules! copies {
    ($($duplicate:ident $copy:ident $delete:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $duplicate(_: usize, _: c_int, _: usize, value: usize, new: *mut usize, flag: *mut c_int) -> c_int {
                // SAFETY: the caller passes room for the results.
                unsafe {
                    *new = value;
                    *flag = 1;
                }
                0
            }

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $copy(_: usize, _: c_int, _: usize, _: usize, _: *mut usize, flag: *mut c_int) -> c_int {
                // SAFETY: the caller passes room for the result.
                unsafe { *flag = 0 };
                0
            }

            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $delete(_: usize, _: c_int, _: usize, _: usize) -> c_int {
                0
            }
        )*
    };
}

copies! {
    OMPI_C_MPI_COMM_DUP_FN OMPI_C_MPI_COMM_NULL_COPY_FN OMPI_C_MPI_COMM_NULL_DELETE_FN
    OMPI_C_MPI_TYPE_DUP_FN OMPI_C_MPI_TYPE_NULL_COPY_FN OMPI_C_MPI_TYPE_NULL_DELETE_FN
    OMPI_C_MPI_WIN_DUP_FN OMPI_C_MPI_WIN_NULL_COPY_FN OMPI_C_MPI_WIN_NULL_DELETE_FN
    OMPI_C_MPI_DUP_FN OMPI_C_MPI_NULL_COPY_FN OMPI_C_MPI_NULL_DELETE_FN
}

/// Returns the standard constant for the address of a predefined copy function: never, because the predefined
/// functions are real functions.
pub fn copy_kind(_: usize) -> Option<usize> {
    None
}

/// Returns true for a predefined delete function that is a constant without code: never.
pub fn is_null_delete(_: usize) -> bool {
    false
}

pub const RANKS: [(c_int, c_int); 3] =
    [(-1, standard::MPI_ANY_SOURCE), (-2, standard::MPI_PROC_NULL), (-4, standard::MPI_ROOT)];
pub const TAGS: [(c_int, c_int); 1] = [(-1, standard::MPI_ANY_TAG)];

pub const COMPARISONS: [(c_int, c_int); 4] =
    [(0, standard::MPI_IDENT), (1, standard::MPI_CONGRUENT), (2, standard::MPI_SIMILAR), (3, standard::MPI_UNEQUAL)];
pub const THREADS: [(c_int, c_int); 4] = [
    (0, standard::MPI_THREAD_SINGLE),
    (1, standard::MPI_THREAD_FUNNELED),
    (2, standard::MPI_THREAD_SERIALIZED),
    (3, standard::MPI_THREAD_MULTIPLE),
];
pub const TOPOLOGIES: [(c_int, c_int); 3] =
    [(1, standard::MPI_CART), (2, standard::MPI_GRAPH), (3, standard::MPI_DIST_GRAPH)];
pub const KEYVALS: [(c_int, c_int); 13] = [
    (-1, standard::MPI_KEYVAL_INVALID),
    (0, standard::MPI_TAG_UB),
    (1, standard::MPI_HOST),
    (2, standard::MPI_IO),
    (3, standard::MPI_WTIME_IS_GLOBAL),
    (4, standard::MPI_APPNUM),
    (5, standard::MPI_LASTUSEDCODE),
    (6, standard::MPI_UNIVERSE_SIZE),
    (7, standard::MPI_WIN_BASE),
    (8, standard::MPI_WIN_SIZE),
    (9, standard::MPI_WIN_DISP_UNIT),
    (10, standard::MPI_WIN_CREATE_FLAVOR),
    (11, standard::MPI_WIN_MODEL),
];
pub const ORDERS: [(c_int, c_int); 2] = [(0, standard::MPI_ORDER_C), (1, standard::MPI_ORDER_FORTRAN)];
pub const DISTRIBUTIONS: [(c_int, c_int); 3] =
    [(0, standard::MPI_DISTRIBUTE_BLOCK), (1, standard::MPI_DISTRIBUTE_CYCLIC), (2, standard::MPI_DISTRIBUTE_NONE)];
pub const DISTRIBUTION_ARGUMENTS: [(c_int, c_int); 1] = [(-1, standard::MPI_DISTRIBUTE_DFLT_DARG)];
pub const COMBINERS: [(c_int, c_int); 19] = [
    (0, standard::MPI_COMBINER_NAMED),
    (1, standard::MPI_COMBINER_DUP),
    (2, standard::MPI_COMBINER_CONTIGUOUS),
    (3, standard::MPI_COMBINER_VECTOR),
    (4, standard::MPI_COMBINER_HVECTOR_INTEGER),
    (5, standard::MPI_COMBINER_HVECTOR),
    (6, standard::MPI_COMBINER_INDEXED),
    (7, standard::MPI_COMBINER_HINDEXED_INTEGER),
    (8, standard::MPI_COMBINER_HINDEXED),
    (9, standard::MPI_COMBINER_INDEXED_BLOCK),
    (10, standard::MPI_COMBINER_STRUCT_INTEGER),
    (11, standard::MPI_COMBINER_STRUCT),
    (12, standard::MPI_COMBINER_SUBARRAY),
    (13, standard::MPI_COMBINER_DARRAY),
    (14, standard::MPI_COMBINER_F90_REAL),
    (15, standard::MPI_COMBINER_F90_COMPLEX),
    (16, standard::MPI_COMBINER_F90_INTEGER),
    (17, standard::MPI_COMBINER_RESIZED),
    (18, standard::MPI_COMBINER_HINDEXED_BLOCK),
];
pub const TYPECLASSES: [(c_int, c_int); 3] =
    [(1, standard::MPI_TYPECLASS_INTEGER), (2, standard::MPI_TYPECLASS_REAL), (3, standard::MPI_TYPECLASS_COMPLEX)];
pub const SPLIT_TYPES: [(c_int, c_int); 2] = [(0, standard::MPI_COMM_TYPE_SHARED), (9, standard::MPI_COMM_TYPE_SHARED)];
pub const LOCKS: [(c_int, c_int); 2] = [(1, standard::MPI_LOCK_EXCLUSIVE), (2, standard::MPI_LOCK_SHARED)];
pub const ASSERTIONS: [(c_int, c_int); 5] = [
    (1, standard::MPI_MODE_NOCHECK),
    (2, standard::MPI_MODE_NOPRECEDE),
    (4, standard::MPI_MODE_NOPUT),
    (8, standard::MPI_MODE_NOSTORE),
    (16, standard::MPI_MODE_NOSUCCEED),
];
pub const FLAVOURS: [(c_int, c_int); 4] = [
    (1, standard::MPI_WIN_FLAVOR_CREATE),
    (2, standard::MPI_WIN_FLAVOR_ALLOCATE),
    (3, standard::MPI_WIN_FLAVOR_DYNAMIC),
    (4, standard::MPI_WIN_FLAVOR_SHARED),
];
pub const MODELS: [(c_int, c_int); 2] = [(0, standard::MPI_WIN_UNIFIED), (1, standard::MPI_WIN_SEPARATE)];
/// MPI_ERR_LASTCODE.
pub const LAST_CODE: c_int = 92;
pub const ERRORS: [(c_int, c_int); 73] = [
    (1, standard::MPI_ERR_BUFFER),
    (2, standard::MPI_ERR_COUNT),
    (3, standard::MPI_ERR_TYPE),
    (4, standard::MPI_ERR_TAG),
    (5, standard::MPI_ERR_COMM),
    (6, standard::MPI_ERR_RANK),
    (7, standard::MPI_ERR_REQUEST),
    (8, standard::MPI_ERR_ROOT),
    (9, standard::MPI_ERR_GROUP),
    (10, standard::MPI_ERR_OP),
    (11, standard::MPI_ERR_TOPOLOGY),
    (12, standard::MPI_ERR_DIMS),
    (13, standard::MPI_ERR_ARG),
    (14, standard::MPI_ERR_UNKNOWN),
    (15, standard::MPI_ERR_TRUNCATE),
    (16, standard::MPI_ERR_OTHER),
    (17, standard::MPI_ERR_INTERN),
    (18, standard::MPI_ERR_IN_STATUS),
    (19, standard::MPI_ERR_PENDING),
    (20, standard::MPI_ERR_ACCESS),
    (21, standard::MPI_ERR_AMODE),
    (22, standard::MPI_ERR_ASSERT),
    (23, standard::MPI_ERR_BAD_FILE),
    (24, standard::MPI_ERR_BASE),
    (25, standard::MPI_ERR_CONVERSION),
    (26, standard::MPI_ERR_DISP),
    (27, standard::MPI_ERR_DUP_DATAREP),
    (28, standard::MPI_ERR_FILE_EXISTS),
    (29, standard::MPI_ERR_FILE_IN_USE),
    (30, standard::MPI_ERR_FILE),
    (31, standard::MPI_ERR_INFO_KEY),
    (32, standard::MPI_ERR_INFO_NOKEY),
    (33, standard::MPI_ERR_INFO_VALUE),
    (34, standard::MPI_ERR_INFO),
    (35, standard::MPI_ERR_IO),
    (36, standard::MPI_ERR_KEYVAL),
    (37, standard::MPI_ERR_LOCKTYPE),
    (38, standard::MPI_ERR_NAME),
    (39, standard::MPI_ERR_NO_MEM),
    (40, standard::MPI_ERR_NOT_SAME),
    (41, standard::MPI_ERR_NO_SPACE),
    (42, standard::MPI_ERR_NO_SUCH_FILE),
    (43, standard::MPI_ERR_PORT),
    (44, standard::MPI_ERR_QUOTA),
    (45, standard::MPI_ERR_READ_ONLY),
    (46, standard::MPI_ERR_RMA_CONFLICT),
    (47, standard::MPI_ERR_RMA_SYNC),
    (48, standard::MPI_ERR_SERVICE),
    (49, standard::MPI_ERR_SIZE),
    (50, standard::MPI_ERR_SPAWN),
    (51, standard::MPI_ERR_UNSUPPORTED_DATAREP),
    (52, standard::MPI_ERR_UNSUPPORTED_OPERATION),
    (53, standard::MPI_ERR_WIN),
    (54, standard::MPI_T_ERR_MEMORY),
    (55, standard::MPI_T_ERR_NOT_INITIALIZED),
    (56, standard::MPI_T_ERR_CANNOT_INIT),
    (57, standard::MPI_T_ERR_INVALID_INDEX),
    (58, standard::MPI_T_ERR_INVALID_ITEM),
    (59, standard::MPI_T_ERR_INVALID_HANDLE),
    (60, standard::MPI_T_ERR_OUT_OF_HANDLES),
    (61, standard::MPI_T_ERR_OUT_OF_SESSIONS),
    (62, standard::MPI_T_ERR_INVALID_SESSION),
    (63, standard::MPI_T_ERR_CVAR_SET_NOT_NOW),
    (64, standard::MPI_T_ERR_CVAR_SET_NEVER),
    (65, standard::MPI_T_ERR_PVAR_NO_STARTSTOP),
    (66, standard::MPI_T_ERR_PVAR_NO_WRITE),
    (67, standard::MPI_T_ERR_PVAR_NO_ATOMIC),
    (68, standard::MPI_ERR_RMA_RANGE),
    (69, standard::MPI_ERR_RMA_ATTACH),
    (70, standard::MPI_ERR_RMA_FLAVOR),
    (71, standard::MPI_ERR_RMA_SHARED),
    (72, standard::MPI_T_ERR_INVALID),
    (73, standard::MPI_T_ERR_INVALID_NAME),
];
