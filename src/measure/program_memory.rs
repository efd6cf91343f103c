//! Memory as programs have it.
//!
//! mcpsim's own memory comes in pages of 2 MiB where the system has them. An MPI library copies out of such pages up
//! to twice as fast as out of those that programs have, and code runs faster on them: what is timed must not lie in
//! mcpsim's own.

use std::alloc::System;

use allocator_api2::vec::Vec as VecIn;

/// A vector in memory of the C library, as what programs have by `malloc`.
pub type ProgramVec<T> = VecIn<T, System>;

/// So many of `value`.
pub fn program_vec<T: Clone>(value: T, length: usize) -> ProgramVec<T> {
    allocator_api2::vec![in System; value; length]
}
