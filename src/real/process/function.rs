//! Tables of functions that mcpsim provides to programs.
#![allow(unsafe_code)]

/// Address of a C function.
#[derive(Clone, Copy, Debug)]
pub struct Function(pub *const ());

// SAFETY: the address of a function is a plain integer and is never dereferenced as data.
unsafe impl Sync for Function {}

/// Name and address of a function that mcpsim provides to programs.
pub type NamedFunction = (&'static str, Function);
