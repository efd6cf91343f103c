//! Errors of MPI functions (MPI-3.1, chapter 8). An error consists of the cause and the MPI object whose error
//! handler is called.

use std::ffi::c_int;
use std::ops::Deref;

use mcpsim_core::mpi::abi::{self, Handle};
use mcpsim_core::mpi::datatype::TypeError;
use mcpsim_core::mpi::fault::Fault;

/// Error of an MPI function. The contents are in a heap allocation to keep `MpiResult` small.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MpiError(Box<Reason>);

/// Error class, message text and MPI object of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// Error class, or an error code that the program has added.
    pub class: c_int,
    /// Message text, which states the actual and the expected value.
    pub what: String,
    /// MPI object whose error handler is called for the error.
    pub on: On,
}

/// MPI object whose error handler is called for an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// The communicator argument of the MPI function, or MPI_COMM_WORLD if the function has no communicator argument.
    World,
    /// The communicator with the handle in the field.
    Comm(Handle),
    /// The window with the handle in the field.
    Win(Handle),
    /// No error handler is called, because an error handler was already called for the error.
    Nobody,
}

/// Result of an MPI function.
pub type MpiResult<T = ()> = Result<T, MpiError>;

impl MpiError {
    /// Creates an error of the error class `class`.
    #[cold]
    pub fn new(class: c_int, what: impl Into<String>) -> Self {
        MpiError(Box::new(Reason { class, what: what.into(), on: On::World }))
    }

    /// Assigns the error to the MPI object `on`.
    pub fn on(self, on: On) -> Self {
        let mut error = self;
        error.0.on = on;
        error
    }

    /// Assigns the error to the communicator `comm`.
    pub fn on_comm(self, comm: Handle) -> Self {
        self.on(On::Comm(comm))
    }

    /// Assigns the error to the window `win`.
    pub fn on_win(self, win: Handle) -> Self {
        self.on(On::Win(win))
    }
}

impl Deref for MpiError {
    type Target = Reason;

    fn deref(&self) -> &Reason {
        &self.0
    }
}

impl From<TypeError> for MpiError {
    fn from(TypeError { class, what }: TypeError) -> Self {
        MpiError::new(class, what)
    }
}

impl From<Fault> for MpiError {
    fn from(Fault { class, what }: Fault) -> Self {
        MpiError::new(class, what)
    }
}

/// Returns an error of the class `class` with the text `what` if `condition` is false.
pub fn expect(condition: bool, class: c_int, what: impl FnOnce() -> String) -> MpiResult {
    if condition { Ok(()) } else { Err(MpiError::new(class, what())) }
}

/// Converts a count argument of an MPI function. The argument `name` is the argument's name for the error message.
///
/// # Errors
/// MPI_ERR_COUNT if the count is negative.
pub fn count(count: c_int, name: &str) -> MpiResult<usize> {
    usize::try_from(count)
        .map_err(|_| MpiError::new(abi::MPI_ERR_COUNT, format!("{name} is {count}: expected 0 or more")))
}

/// Returns the name and description of the error class `class`.
pub fn class_text(class: c_int) -> Option<&'static str> {
    Some(match class {
        abi::MPI_SUCCESS => "MPI_SUCCESS: no error",
        abi::MPI_ERR_BUFFER => "MPI_ERR_BUFFER: invalid buffer",
        abi::MPI_ERR_COUNT => "MPI_ERR_COUNT: invalid count",
        abi::MPI_ERR_TYPE => "MPI_ERR_TYPE: invalid datatype",
        abi::MPI_ERR_TAG => "MPI_ERR_TAG: invalid tag",
        abi::MPI_ERR_COMM => "MPI_ERR_COMM: invalid communicator",
        abi::MPI_ERR_RANK => "MPI_ERR_RANK: invalid rank",
        abi::MPI_ERR_REQUEST => "MPI_ERR_REQUEST: invalid request",
        abi::MPI_ERR_ROOT => "MPI_ERR_ROOT: invalid root",
        abi::MPI_ERR_GROUP => "MPI_ERR_GROUP: invalid group",
        abi::MPI_ERR_OP => "MPI_ERR_OP: invalid operation",
        abi::MPI_ERR_TOPOLOGY => "MPI_ERR_TOPOLOGY: invalid topology",
        abi::MPI_ERR_DIMS => "MPI_ERR_DIMS: invalid dimensions",
        abi::MPI_ERR_ARG => "MPI_ERR_ARG: invalid argument",
        abi::MPI_ERR_UNKNOWN => "MPI_ERR_UNKNOWN: unknown error",
        abi::MPI_ERR_TRUNCATE => "MPI_ERR_TRUNCATE: message truncated",
        abi::MPI_ERR_OTHER => "MPI_ERR_OTHER: other error",
        abi::MPI_ERR_INTERN => "MPI_ERR_INTERN: internal error",
        abi::MPI_ERR_PENDING => "MPI_ERR_PENDING: request pending",
        abi::MPI_ERR_IN_STATUS => "MPI_ERR_IN_STATUS: the error is in the status",
        abi::MPI_ERR_ACCESS => "MPI_ERR_ACCESS: permission denied",
        abi::MPI_ERR_AMODE => "MPI_ERR_AMODE: invalid access mode",
        abi::MPI_ERR_ASSERT => "MPI_ERR_ASSERT: invalid assertion",
        abi::MPI_ERR_BAD_FILE => "MPI_ERR_BAD_FILE: invalid file name",
        abi::MPI_ERR_BASE => "MPI_ERR_BASE: invalid base address",
        abi::MPI_ERR_CONVERSION => "MPI_ERR_CONVERSION: error in data conversion",
        abi::MPI_ERR_DISP => "MPI_ERR_DISP: invalid displacement",
        abi::MPI_ERR_DUP_DATAREP => "MPI_ERR_DUP_DATAREP: data representation defined twice",
        abi::MPI_ERR_FILE_EXISTS => "MPI_ERR_FILE_EXISTS: file exists",
        abi::MPI_ERR_FILE_IN_USE => "MPI_ERR_FILE_IN_USE: file in use",
        abi::MPI_ERR_FILE => "MPI_ERR_FILE: invalid file",
        abi::MPI_ERR_INFO_KEY => "MPI_ERR_INFO_KEY: invalid info key",
        abi::MPI_ERR_INFO_NOKEY => "MPI_ERR_INFO_NOKEY: no such info key",
        abi::MPI_ERR_INFO_VALUE => "MPI_ERR_INFO_VALUE: invalid info value",
        abi::MPI_ERR_INFO => "MPI_ERR_INFO: invalid info object",
        abi::MPI_ERR_IO => "MPI_ERR_IO: input or output error",
        abi::MPI_ERR_KEYVAL => "MPI_ERR_KEYVAL: invalid attribute key",
        abi::MPI_ERR_LOCKTYPE => "MPI_ERR_LOCKTYPE: invalid lock type",
        abi::MPI_ERR_NAME => "MPI_ERR_NAME: no such service name",
        abi::MPI_ERR_NO_MEM => "MPI_ERR_NO_MEM: out of memory",
        abi::MPI_ERR_NOT_SAME => "MPI_ERR_NOT_SAME: arguments differ between ranks",
        abi::MPI_ERR_NO_SPACE => "MPI_ERR_NO_SPACE: no space left",
        abi::MPI_ERR_NO_SUCH_FILE => "MPI_ERR_NO_SUCH_FILE: no such file",
        abi::MPI_ERR_PORT => "MPI_ERR_PORT: invalid port",
        abi::MPI_ERR_QUOTA => "MPI_ERR_QUOTA: quota exceeded",
        abi::MPI_ERR_READ_ONLY => "MPI_ERR_READ_ONLY: read-only file",
        abi::MPI_ERR_RMA_ATTACH => "MPI_ERR_RMA_ATTACH: memory cannot be attached",
        abi::MPI_ERR_RMA_CONFLICT => "MPI_ERR_RMA_CONFLICT: conflicting accesses to a window",
        abi::MPI_ERR_RMA_RANGE => "MPI_ERR_RMA_RANGE: target memory is not part of the window",
        abi::MPI_ERR_RMA_SHARED => "MPI_ERR_RMA_SHARED: memory cannot be shared",
        abi::MPI_ERR_RMA_SYNC => "MPI_ERR_RMA_SYNC: wrong synchronisation of one-sided calls",
        abi::MPI_ERR_SERVICE => "MPI_ERR_SERVICE: invalid service",
        abi::MPI_ERR_SIZE => "MPI_ERR_SIZE: invalid size",
        abi::MPI_ERR_SPAWN => "MPI_ERR_SPAWN: cannot spawn",
        abi::MPI_ERR_UNSUPPORTED_DATAREP => "MPI_ERR_UNSUPPORTED_DATAREP: unsupported data representation",
        abi::MPI_ERR_UNSUPPORTED_OPERATION => "MPI_ERR_UNSUPPORTED_OPERATION: unsupported operation",
        abi::MPI_ERR_WIN => "MPI_ERR_WIN: invalid window",
        abi::MPI_ERR_RMA_FLAVOR => "MPI_ERR_RMA_FLAVOR: wrong flavor of window",
        abi::MPI_ERR_PROC_ABORTED => "MPI_ERR_PROC_ABORTED: a process has aborted",
        abi::MPI_ERR_VALUE_TOO_LARGE => "MPI_ERR_VALUE_TOO_LARGE: value too large",
        abi::MPI_ERR_SESSION => "MPI_ERR_SESSION: invalid session",
        abi::MPI_ERR_ERRHANDLER => "MPI_ERR_ERRHANDLER: invalid error handler",
        abi::MPI_ERR_ABI => "MPI_ERR_ABI: wrong binary interface",
        abi::MPI_T_ERR_CANNOT_INIT => "MPI_T_ERR_CANNOT_INIT: the tool interface cannot be initialised",
        abi::MPI_T_ERR_NOT_ACCESSIBLE => "MPI_T_ERR_NOT_ACCESSIBLE: not accessible",
        abi::MPI_T_ERR_NOT_INITIALIZED => "MPI_T_ERR_NOT_INITIALIZED: the tool interface is not initialised",
        abi::MPI_T_ERR_NOT_SUPPORTED => "MPI_T_ERR_NOT_SUPPORTED: not supported",
        abi::MPI_T_ERR_MEMORY => "MPI_T_ERR_MEMORY: out of memory",
        abi::MPI_T_ERR_INVALID => "MPI_T_ERR_INVALID: invalid use of the tool interface",
        abi::MPI_T_ERR_INVALID_INDEX => "MPI_T_ERR_INVALID_INDEX: no variable or category has this index",
        abi::MPI_T_ERR_INVALID_ITEM => "MPI_T_ERR_INVALID_ITEM: no such item",
        abi::MPI_T_ERR_INVALID_SESSION => "MPI_T_ERR_INVALID_SESSION: invalid session",
        abi::MPI_T_ERR_INVALID_HANDLE => "MPI_T_ERR_INVALID_HANDLE: invalid handle",
        abi::MPI_T_ERR_INVALID_NAME => "MPI_T_ERR_INVALID_NAME: no variable or category has this name",
        abi::MPI_T_ERR_OUT_OF_HANDLES => "MPI_T_ERR_OUT_OF_HANDLES: no more handles",
        abi::MPI_T_ERR_OUT_OF_SESSIONS => "MPI_T_ERR_OUT_OF_SESSIONS: no more sessions",
        abi::MPI_T_ERR_CVAR_SET_NOT_NOW => "MPI_T_ERR_CVAR_SET_NOT_NOW: the variable cannot be set now",
        abi::MPI_T_ERR_CVAR_SET_NEVER => "MPI_T_ERR_CVAR_SET_NEVER: the variable cannot be set",
        abi::MPI_T_ERR_PVAR_NO_WRITE => "MPI_T_ERR_PVAR_NO_WRITE: the variable cannot be written or reset",
        abi::MPI_T_ERR_PVAR_NO_STARTSTOP => "MPI_T_ERR_PVAR_NO_STARTSTOP: the variable cannot be started or stopped",
        abi::MPI_T_ERR_PVAR_NO_ATOMIC => "MPI_T_ERR_PVAR_NO_ATOMIC: the variable cannot be read and reset at once",
        abi::MPI_ERR_LASTCODE => "MPI_ERR_LASTCODE: the last error code",
        _ => return None,
    })
}
