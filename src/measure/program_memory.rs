//! Memory that is allocated as in ordinary programs.
//!
//! mcpsim allocates its own memory in pages of 2 MiB if the operating system has them. An MPI library copies from such
//! pages up to twice as fast as from ordinary pages, and code that uses large pages runs faster. Benchmark buffers must
//! therefore not use mcpsim's allocator.

use std::alloc::System;
use std::hint::black_box;
use std::ops::{Deref, DerefMut};

use allocator_api2::vec::Vec as VecIn;

/// A vector in memory that the C library's `malloc` allocates.
///
/// If memory is insufficient, the host process ends with the usual message of Rust's allocator.
pub struct ProgramVec<T>(VecIn<T, System>);

impl<T: Clone> ProgramVec<T> {
    /// Creates a vector of `length` copies of `value`.
    pub fn new(value: T, length: usize) -> ProgramVec<T> {
        let mut values = ProgramVec(VecIn::new_in(System));
        values.make_room(length, value);
        values
    }

    /// Extends the vector to at least `length` elements with copies of `value`.
    pub fn make_room(&mut self, length: usize, value: T) {
        let more = length.saturating_sub(self.0.len());
        if more > 0 && self.0.try_reserve_exact(more).is_err() {
            // The ordinary allocator probably fails as well, and then ends the process with a message.
            black_box(Vec::<T>::with_capacity(length));
        }
        if more > 0 {
            self.0.resize(length, value);
        }
    }
}

impl<T> Deref for ProgramVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for ProgramVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_as_much_as_asked_for_and_what_was_there_stays() {
        let mut values = ProgramVec::new(7u64, 3);
        values[1] = 1;
        values.make_room(5, 9);
        values.make_room(2, 0);
        assert_eq!(*values, [7, 1, 7, 9, 9]);
        assert!(ProgramVec::new(0u8, 0).is_empty());
    }
}
