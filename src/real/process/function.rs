//! Functions provided to programs, with their names.
#![allow(unsafe_code)]

/// The address of a C function.
#[derive(Clone, Copy, Debug)]
pub struct Function(pub *const ());

// SAFETY: the address of a function is a plain number.
unsafe impl Sync for Function {}

/// A function with its name.
pub type NamedFunction = (&'static str, Function);
