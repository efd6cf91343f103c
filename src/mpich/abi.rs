//! Binary interface of MPICH and of compatible libraries. Handles are integers.

use std::ffi::{c_int, c_void};

use mcpsim_core::mpi::abi as standard;
use mcpsim_core::mpi::abi::Status;

use crate::convert::HandleClass;

/// Handle of an MPI object: an integer.
pub type Raw = c_int;

pub use MpichStatus as RawStatus;

/// The structure MPI_Status.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct MpichStatus {
    low: c_int,
    high_and_cancelled: c_int,
    source: c_int,
    tag: c_int,
    error: c_int,
}

impl MpichStatus {
    pub fn standard(&self) -> Status {
        let mut status = Status {
            source: crate::convert::rank_in(self.source),
            tag: crate::convert::tag_in(self.tag),
            error: crate::convert::error_in(self.error),
            ..Status::default()
        };
        status.set_bytes(u64::from(self.low as u32) | u64::from(self.high_and_cancelled as u32 >> 1) << 32);
        status.set_cancelled(self.high_and_cancelled & 1 != 0);
        status
    }

    pub fn set(&mut self, status: &Status) {
        *self = MpichStatus {
            low: status.bytes() as u32 as c_int,
            high_and_cancelled: ((status.bytes() >> 32) as c_int) << 1 | c_int::from(status.cancelled()),
            source: crate::convert::rank_out(status.source),
            tag: crate::convert::tag_out(status.tag),
            error: crate::convert::error_out(status.error),
        };
    }
}

pub const STATUS_IGNORE: usize = 1;
pub const ERROR_STRING: usize = 512;
pub const PROCESSOR_NAME: usize = 128;
pub const OBJECT_NAME: usize = 128;
/// Version and subversion of the MPI standard.
pub const VERSION: (c_int, c_int) = (4, 0);
pub const LIBRARY_VERSION: &str = "MPICH Version: 4.0, simulated by mcpsim";

/// Bits of the handles of objects that the program has created.
const CREATED: u32 = 0xc000_0000;

/// Kinds, handles and standard handles of predefined objects.
const HANDLES: [(HandleClass, u32, usize); 96] = [
    (HandleClass::Comm, 0x04000000, standard::MPI_COMM_NULL),
    (HandleClass::Op, 0x18000000, standard::MPI_OP_NULL),
    (HandleClass::Group, 0x08000000, standard::MPI_GROUP_NULL),
    (HandleClass::Type, 0x0c000000, standard::MPI_DATATYPE_NULL),
    (HandleClass::Request, 0x2c000000, standard::MPI_REQUEST_NULL),
    (HandleClass::Errhandler, 0x14000000, standard::MPI_ERRHANDLER_NULL),
    (HandleClass::Message, 0x2c000000, standard::MPI_MESSAGE_NULL),
    (HandleClass::Message, 0x6c000000, standard::MPI_MESSAGE_NO_PROC),
    (HandleClass::Type, 0x4c000101, standard::MPI_CHAR),
    (HandleClass::Type, 0x4c000118, standard::MPI_SIGNED_CHAR),
    (HandleClass::Type, 0x4c000102, standard::MPI_UNSIGNED_CHAR),
    (HandleClass::Type, 0x4c00010d, standard::MPI_BYTE),
    (HandleClass::Type, 0x4c00040e, standard::MPI_WCHAR),
    (HandleClass::Type, 0x4c000203, standard::MPI_SHORT),
    (HandleClass::Type, 0x4c000204, standard::MPI_UNSIGNED_SHORT),
    (HandleClass::Type, 0x4c000405, standard::MPI_INT),
    (HandleClass::Type, 0x4c000406, standard::MPI_UNSIGNED),
    (HandleClass::Type, 0x4c000807, standard::MPI_LONG),
    (HandleClass::Type, 0x4c000808, standard::MPI_UNSIGNED_LONG),
    (HandleClass::Type, 0x4c00040a, standard::MPI_FLOAT),
    (HandleClass::Type, 0x4c00080b, standard::MPI_DOUBLE),
    (HandleClass::Type, 0x4c00100c, standard::MPI_LONG_DOUBLE),
    (HandleClass::Type, 0x4c000809, standard::MPI_LONG_LONG),
    (HandleClass::Type, 0x4c000819, standard::MPI_UNSIGNED_LONG_LONG),
    (HandleClass::Type, 0x4c00010f, standard::MPI_PACKED),
    (HandleClass::Type, 0x4c000010, standard::MPI_LB),
    (HandleClass::Type, 0x4c000011, standard::MPI_UB),
    (HandleClass::Type, 0x8c000000, standard::MPI_FLOAT_INT),
    (HandleClass::Type, 0x8c000001, standard::MPI_DOUBLE_INT),
    (HandleClass::Type, 0x8c000002, standard::MPI_LONG_INT),
    (HandleClass::Type, 0x8c000003, standard::MPI_SHORT_INT),
    (HandleClass::Type, 0x4c000816, standard::MPI_2INT),
    (HandleClass::Type, 0x8c000004, standard::MPI_LONG_DOUBLE_INT),
    (HandleClass::Type, 0x4c00081e, standard::MPI_COMPLEX),
    (HandleClass::Type, 0x4c001022, standard::MPI_DOUBLE_COMPLEX),
    (HandleClass::Type, 0x4c00041d, standard::MPI_LOGICAL),
    (HandleClass::Type, 0x4c00041c, standard::MPI_REAL),
    (HandleClass::Type, 0x4c00081f, standard::MPI_DOUBLE_PRECISION),
    (HandleClass::Type, 0x4c00041b, standard::MPI_INTEGER),
    (HandleClass::Type, 0x4c000820, standard::MPI_2INTEGER),
    (HandleClass::Type, 0x4c000821, standard::MPI_2REAL),
    (HandleClass::Type, 0x4c001023, standard::MPI_2DOUBLE_PRECISION),
    (HandleClass::Type, 0x4c00011a, standard::MPI_CHARACTER),
    (HandleClass::Type, 0x4c000427, standard::MPI_REAL4),
    (HandleClass::Type, 0x4c000829, standard::MPI_REAL8),
    (HandleClass::Type, 0x4c00102b, standard::MPI_REAL16),
    (HandleClass::Type, 0x4c000828, standard::MPI_COMPLEX8),
    (HandleClass::Type, 0x4c00102a, standard::MPI_COMPLEX16),
    (HandleClass::Type, 0x4c00202c, standard::MPI_COMPLEX32),
    (HandleClass::Type, 0x4c00012d, standard::MPI_INTEGER1),
    (HandleClass::Type, 0x4c00022f, standard::MPI_INTEGER2),
    (HandleClass::Type, 0x4c000430, standard::MPI_INTEGER4),
    (HandleClass::Type, 0x4c000831, standard::MPI_INTEGER8),
    (HandleClass::Type, 0x4c000137, standard::MPI_INT8_T),
    (HandleClass::Type, 0x4c000238, standard::MPI_INT16_T),
    (HandleClass::Type, 0x4c000439, standard::MPI_INT32_T),
    (HandleClass::Type, 0x4c00083a, standard::MPI_INT64_T),
    (HandleClass::Type, 0x4c00013b, standard::MPI_UINT8_T),
    (HandleClass::Type, 0x4c00023c, standard::MPI_UINT16_T),
    (HandleClass::Type, 0x4c00043d, standard::MPI_UINT32_T),
    (HandleClass::Type, 0x4c00083e, standard::MPI_UINT64_T),
    (HandleClass::Type, 0x4c00013f, standard::MPI_C_BOOL),
    (HandleClass::Type, 0x4c000246, standard::MPI_REAL2),
    (HandleClass::Type, 0x4c000840, standard::MPI_C_FLOAT_COMPLEX),
    (HandleClass::Type, 0x4c001041, standard::MPI_C_DOUBLE_COMPLEX),
    (HandleClass::Type, 0x4c002042, standard::MPI_C_LONG_DOUBLE_COMPLEX),
    (HandleClass::Type, 0x4c000843, standard::MPI_AINT),
    (HandleClass::Type, 0x4c000844, standard::MPI_OFFSET),
    (HandleClass::Type, 0x4c000845, standard::MPI_COUNT),
    (HandleClass::Type, 0x4c000133, standard::MPI_CXX_BOOL),
    (HandleClass::Type, 0x4c000834, standard::MPI_CXX_FLOAT_COMPLEX),
    (HandleClass::Type, 0x4c001035, standard::MPI_CXX_DOUBLE_COMPLEX),
    (HandleClass::Type, 0x4c002036, standard::MPI_CXX_LONG_DOUBLE_COMPLEX),
    (HandleClass::Comm, 0x44000000, standard::MPI_COMM_WORLD),
    (HandleClass::Comm, 0x44000001, standard::MPI_COMM_SELF),
    (HandleClass::Group, 0x48000000, standard::MPI_GROUP_EMPTY),
    (HandleClass::Win, 0x20000000, standard::MPI_WIN_NULL),
    (HandleClass::Op, 0x58000001, standard::MPI_MAX),
    (HandleClass::Op, 0x58000002, standard::MPI_MIN),
    (HandleClass::Op, 0x58000003, standard::MPI_SUM),
    (HandleClass::Op, 0x58000004, standard::MPI_PROD),
    (HandleClass::Op, 0x58000005, standard::MPI_LAND),
    (HandleClass::Op, 0x58000006, standard::MPI_BAND),
    (HandleClass::Op, 0x58000007, standard::MPI_LOR),
    (HandleClass::Op, 0x58000008, standard::MPI_BOR),
    (HandleClass::Op, 0x58000009, standard::MPI_LXOR),
    (HandleClass::Op, 0x5800000a, standard::MPI_BXOR),
    (HandleClass::Op, 0x5800000b, standard::MPI_MINLOC),
    (HandleClass::Op, 0x5800000c, standard::MPI_MAXLOC),
    (HandleClass::Op, 0x5800000d, standard::MPI_REPLACE),
    (HandleClass::Op, 0x5800000e, standard::MPI_NO_OP),
    (HandleClass::Errhandler, 0x54000000, standard::MPI_ERRORS_ARE_FATAL),
    (HandleClass::Errhandler, 0x54000001, standard::MPI_ERRORS_RETURN),
    (HandleClass::Errhandler, 0x54000003, standard::MPI_ERRORS_ABORT),
    (HandleClass::Info, 0x1c000000, standard::MPI_INFO_NULL),
    (HandleClass::Info, 0x5c000001, standard::MPI_INFO_ENV),
];

/// Converts a handle of the program to the standard handle.
#[inline]
pub fn handle_in(kind: HandleClass, handle: Raw) -> usize {
    let handle = handle as u32;
    if handle & CREATED == CREATED {
        return (handle & !CREATED) as usize;
    }
    let found = HANDLES.iter().find(|known| known.1 == handle && known.0 == kind);
    found.map_or(usize::MAX, |known| known.2)
}

/// Converts a standard handle to a handle of the program.
#[inline]
pub fn handle_out(kind: HandleClass, handle: usize) -> Raw {
    if handle >= standard::FIRST_USER {
        return (handle as u32 | CREATED) as Raw;
    }
    let found = HANDLES.iter().find(|known| known.2 == handle && known.0 == kind);
    found.map_or(0, |known| known.1 as Raw)
}

/// Returns the Fortran handle of a handle of the program, which is the same number.
pub fn fint_out(_: HandleClass, handle: Raw) -> c_int {
    handle
}

/// Inverse of [`fint_out`].
pub fn fint_in(_: HandleClass, handle: c_int) -> Raw {
    handle
}

pub use crate::fortran::{is_fortran_request, set_fortran_request};

/// Returns true if the function of the operation needs other handles than C code: never.
pub unsafe fn is_fortran_operation(_: Raw) -> bool {
    false
}

/// Prepares a new operation.
pub unsafe fn new_operation(_: Raw) {}

/// Notes that the handle of a communicator becomes free.
pub unsafe fn forget_comm(_: Raw) {}

pub fn buffer_in(buffer: *mut c_void) -> *mut c_void {
    if buffer as isize == -1 { standard::MPI_IN_PLACE as *mut c_void } else { buffer }
}

/// Pointer to a variable of the library, which differs from the address of each array of weights.
#[repr(transparent)]
pub struct WeightsAddress(*const c_int);

// SAFETY: the address is never dereferenced.
unsafe impl Sync for WeightsAddress {}

static UNWEIGHTED: c_int = 0;
static WEIGHTS_EMPTY: c_int = 0;

#[unsafe(no_mangle)]
pub static MPI_UNWEIGHTED: WeightsAddress = WeightsAddress(&raw const UNWEIGHTED);
#[unsafe(no_mangle)]
pub static MPI_WEIGHTS_EMPTY: WeightsAddress = WeightsAddress(&raw const WEIGHTS_EMPTY);
#[unsafe(no_mangle)]
pub static mut MPI_F_STATUS_IGNORE: usize = 0;
#[unsafe(no_mangle)]
pub static mut MPI_F_STATUSES_IGNORE: usize = 0;
#[unsafe(no_mangle)]
pub static MPI_T_PVAR_ALL_HANDLES: usize = 0;

pub fn weights_in(weights: *mut c_int) -> *mut c_int {
    if std::ptr::eq(weights, &UNWEIGHTED) {
        standard::MPI_UNWEIGHTED as *mut c_int
    } else if std::ptr::eq(weights, &WEIGHTS_EMPTY) {
        standard::MPI_WEIGHTS_EMPTY as *mut c_int
    } else {
        weights
    }
}

/// MPI_DUP_FN: copies an attribute.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPIR_Dup_fn(
    _: c_int,
    _: c_int,
    _: usize,
    value: usize,
    new: *mut usize,
    flag: *mut c_int,
) -> c_int {
    // SAFETY: the caller passes room for the results.
    unsafe {
        *new = value;
        *flag = 1;
    }
    0
}

/// Returns the standard constant for the address of a predefined copy function.
pub fn copy_kind(function: usize) -> Option<usize> {
    (function == 0).then_some(standard::MPI_NULL_COPY_FN)
}

/// Returns true for a predefined delete function that is a constant without code.
pub fn is_null_delete(function: usize) -> bool {
    function == 0
}

pub const RANKS: [(c_int, c_int); 3] =
    [(-2, standard::MPI_ANY_SOURCE), (-1, standard::MPI_PROC_NULL), (-3, standard::MPI_ROOT)];
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
    [(1, standard::MPI_GRAPH), (2, standard::MPI_CART), (3, standard::MPI_DIST_GRAPH)];
pub const KEYVALS: [(c_int, c_int); 13] = [
    (0x2400_0000, standard::MPI_KEYVAL_INVALID),
    (0x6440_0001, standard::MPI_TAG_UB),
    (0x6440_0003, standard::MPI_HOST),
    (0x6440_0005, standard::MPI_IO),
    (0x6440_0007, standard::MPI_WTIME_IS_GLOBAL),
    (0x6440_0009, standard::MPI_UNIVERSE_SIZE),
    (0x6440_000b, standard::MPI_LASTUSEDCODE),
    (0x6440_000d, standard::MPI_APPNUM),
    (0x6600_0001, standard::MPI_WIN_BASE),
    (0x6600_0003, standard::MPI_WIN_SIZE),
    (0x6600_0005, standard::MPI_WIN_DISP_UNIT),
    (0x6600_0007, standard::MPI_WIN_CREATE_FLAVOR),
    (0x6600_0009, standard::MPI_WIN_MODEL),
];
pub const ORDERS: [(c_int, c_int); 2] = [(56, standard::MPI_ORDER_C), (57, standard::MPI_ORDER_FORTRAN)];
pub const DISTRIBUTIONS: [(c_int, c_int); 3] = [
    (121, standard::MPI_DISTRIBUTE_BLOCK),
    (122, standard::MPI_DISTRIBUTE_CYCLIC),
    (123, standard::MPI_DISTRIBUTE_NONE),
];
pub const DISTRIBUTION_ARGUMENTS: [(c_int, c_int); 1] = [(-49767, standard::MPI_DISTRIBUTE_DFLT_DARG)];
pub const COMBINERS: [(c_int, c_int); 19] = [
    (1, standard::MPI_COMBINER_NAMED),
    (2, standard::MPI_COMBINER_DUP),
    (3, standard::MPI_COMBINER_CONTIGUOUS),
    (4, standard::MPI_COMBINER_VECTOR),
    (5, standard::MPI_COMBINER_HVECTOR_INTEGER),
    (6, standard::MPI_COMBINER_HVECTOR),
    (7, standard::MPI_COMBINER_INDEXED),
    (8, standard::MPI_COMBINER_HINDEXED_INTEGER),
    (9, standard::MPI_COMBINER_HINDEXED),
    (10, standard::MPI_COMBINER_INDEXED_BLOCK),
    (11, standard::MPI_COMBINER_STRUCT_INTEGER),
    (12, standard::MPI_COMBINER_STRUCT),
    (13, standard::MPI_COMBINER_SUBARRAY),
    (14, standard::MPI_COMBINER_DARRAY),
    (15, standard::MPI_COMBINER_F90_REAL),
    (16, standard::MPI_COMBINER_F90_COMPLEX),
    (17, standard::MPI_COMBINER_F90_INTEGER),
    (18, standard::MPI_COMBINER_RESIZED),
    (19, standard::MPI_COMBINER_HINDEXED_BLOCK),
];
pub const TYPECLASSES: [(c_int, c_int); 3] =
    [(1, standard::MPI_TYPECLASS_REAL), (2, standard::MPI_TYPECLASS_INTEGER), (3, standard::MPI_TYPECLASS_COMPLEX)];
pub const SPLIT_TYPES: [(c_int, c_int); 1] = [(1, standard::MPI_COMM_TYPE_SHARED)];
pub const LOCKS: [(c_int, c_int); 2] = [(234, standard::MPI_LOCK_EXCLUSIVE), (235, standard::MPI_LOCK_SHARED)];
pub const ASSERTIONS: [(c_int, c_int); 5] = [
    (1024, standard::MPI_MODE_NOCHECK),
    (2048, standard::MPI_MODE_NOSTORE),
    (4096, standard::MPI_MODE_NOPUT),
    (8192, standard::MPI_MODE_NOPRECEDE),
    (16384, standard::MPI_MODE_NOSUCCEED),
];
pub const FLAVOURS: [(c_int, c_int); 4] = [
    (1, standard::MPI_WIN_FLAVOR_CREATE),
    (2, standard::MPI_WIN_FLAVOR_ALLOCATE),
    (3, standard::MPI_WIN_FLAVOR_DYNAMIC),
    (4, standard::MPI_WIN_FLAVOR_SHARED),
];
pub const MODELS: [(c_int, c_int); 2] = [(1, standard::MPI_WIN_SEPARATE), (2, standard::MPI_WIN_UNIFIED)];
/// MPI_ERR_LASTCODE.
pub const LAST_CODE: c_int = 0x3fff_ffff;
pub const ERRORS: [(c_int, c_int); 78] = [
    (1, standard::MPI_ERR_BUFFER),
    (2, standard::MPI_ERR_COUNT),
    (3, standard::MPI_ERR_TYPE),
    (4, standard::MPI_ERR_TAG),
    (5, standard::MPI_ERR_COMM),
    (6, standard::MPI_ERR_RANK),
    (7, standard::MPI_ERR_ROOT),
    (14, standard::MPI_ERR_TRUNCATE),
    (8, standard::MPI_ERR_GROUP),
    (9, standard::MPI_ERR_OP),
    (19, standard::MPI_ERR_REQUEST),
    (10, standard::MPI_ERR_TOPOLOGY),
    (11, standard::MPI_ERR_DIMS),
    (12, standard::MPI_ERR_ARG),
    (15, standard::MPI_ERR_OTHER),
    (13, standard::MPI_ERR_UNKNOWN),
    (16, standard::MPI_ERR_INTERN),
    (17, standard::MPI_ERR_IN_STATUS),
    (18, standard::MPI_ERR_PENDING),
    (20, standard::MPI_ERR_ACCESS),
    (21, standard::MPI_ERR_AMODE),
    (22, standard::MPI_ERR_BAD_FILE),
    (23, standard::MPI_ERR_CONVERSION),
    (24, standard::MPI_ERR_DUP_DATAREP),
    (25, standard::MPI_ERR_FILE_EXISTS),
    (26, standard::MPI_ERR_FILE_IN_USE),
    (27, standard::MPI_ERR_FILE),
    (32, standard::MPI_ERR_IO),
    (36, standard::MPI_ERR_NO_SPACE),
    (37, standard::MPI_ERR_NO_SUCH_FILE),
    (40, standard::MPI_ERR_READ_ONLY),
    (43, standard::MPI_ERR_UNSUPPORTED_DATAREP),
    (28, standard::MPI_ERR_INFO),
    (29, standard::MPI_ERR_INFO_KEY),
    (30, standard::MPI_ERR_INFO_VALUE),
    (31, standard::MPI_ERR_INFO_NOKEY),
    (33, standard::MPI_ERR_NAME),
    (34, standard::MPI_ERR_NO_MEM),
    (35, standard::MPI_ERR_NOT_SAME),
    (38, standard::MPI_ERR_PORT),
    (39, standard::MPI_ERR_QUOTA),
    (41, standard::MPI_ERR_SERVICE),
    (42, standard::MPI_ERR_SPAWN),
    (44, standard::MPI_ERR_UNSUPPORTED_OPERATION),
    (45, standard::MPI_ERR_WIN),
    (46, standard::MPI_ERR_BASE),
    (47, standard::MPI_ERR_LOCKTYPE),
    (48, standard::MPI_ERR_KEYVAL),
    (49, standard::MPI_ERR_RMA_CONFLICT),
    (50, standard::MPI_ERR_RMA_SYNC),
    (51, standard::MPI_ERR_SIZE),
    (52, standard::MPI_ERR_DISP),
    (53, standard::MPI_ERR_ASSERT),
    (55, standard::MPI_ERR_RMA_RANGE),
    (56, standard::MPI_ERR_RMA_ATTACH),
    (57, standard::MPI_ERR_RMA_SHARED),
    (58, standard::MPI_ERR_RMA_FLAVOR),
    (59, standard::MPI_T_ERR_MEMORY),
    (60, standard::MPI_T_ERR_NOT_INITIALIZED),
    (61, standard::MPI_T_ERR_CANNOT_INIT),
    (62, standard::MPI_T_ERR_INVALID_INDEX),
    (63, standard::MPI_T_ERR_INVALID_ITEM),
    (64, standard::MPI_T_ERR_INVALID_HANDLE),
    (65, standard::MPI_T_ERR_OUT_OF_HANDLES),
    (66, standard::MPI_T_ERR_OUT_OF_SESSIONS),
    (67, standard::MPI_T_ERR_INVALID_SESSION),
    (68, standard::MPI_T_ERR_CVAR_SET_NOT_NOW),
    (69, standard::MPI_T_ERR_CVAR_SET_NEVER),
    (70, standard::MPI_T_ERR_PVAR_NO_STARTSTOP),
    (71, standard::MPI_T_ERR_PVAR_NO_WRITE),
    (72, standard::MPI_T_ERR_PVAR_NO_ATOMIC),
    (73, standard::MPI_T_ERR_INVALID_NAME),
    (74, standard::MPI_T_ERR_INVALID),
    (75, standard::MPI_ERR_SESSION),
    (76, standard::MPI_ERR_PROC_ABORTED),
    (77, standard::MPI_ERR_VALUE_TOO_LARGE),
    (78, standard::MPI_T_ERR_NOT_SUPPORTED),
    (80, standard::MPI_ERR_ERRHANDLER),
];
