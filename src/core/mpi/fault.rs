//! What an MPI function finds wrong with a call: an error class and the words to say it with.

use std::ffi::c_int;
use std::fmt;

/// An error of an MPI function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The error class, one of `MPI_ERR_*`.
    pub class: c_int,
    /// What was found and what was expected, a lower-case fragment.
    pub what: String,
}

impl Fault {
    /// The error of this class.
    pub fn new(class: c_int, what: impl Into<String>) -> Self {
        Fault { class, what: what.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}
