//! Errors of MPI functions: an error class and a message.

use std::ffi::c_int;
use std::fmt;

/// Error of an MPI function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Error class, one of `MPI_ERR_*`.
    pub class: c_int,
    /// Description of the wrong value and of the expected value, as a lower-case phrase.
    pub what: String,
}

impl Fault {
    /// Creates an error of the MPI error class `class`.
    pub fn new(class: c_int, what: impl Into<String>) -> Self {
        Fault { class, what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}
