//! A datatype as long as a communication needs it: named ones are there for good and need no counting.

use std::ops::Deref;

use super::abi::Handle;
use super::datatype::{Datatype, Type};
use super::error::MpiResult;
use super::process::Process;

/// A datatype that a communication uses; the program may free its handle meanwhile.
#[derive(Clone, Debug)]
pub enum Held {
    /// A named one.
    Named(&'static Datatype),
    /// One that the program made.
    Derived(Type),
}

impl Deref for Held {
    type Target = Datatype;

    #[inline]
    fn deref(&self) -> &Datatype {
        match self {
            Held::Named(datatype) => datatype,
            Held::Derived(datatype) => datatype,
        }
    }
}

impl Held {
    /// Appends the packed form of `count` items at `base`.
    ///
    /// # Safety
    /// The data of the items can be read.
    #[inline]
    pub unsafe fn pack(&self, base: *const u8, count: usize, out: &mut Vec<u8>) {
        let size = self.packed_size(count);
        match self.piece(count) {
            // SAFETY: the caller's promise; the items are one piece of memory.
            Some(at) if size > 0 => unsafe {
                out.extend_from_slice(std::slice::from_raw_parts(base.wrapping_offset(at), size));
            },
            // SAFETY: the caller's promise.
            _ => unsafe { (**self).pack(base, count, out) },
        }
    }

    /// Puts packed data, which is not longer than the items, into `count` items at `base`.
    ///
    /// # Safety
    /// The data of the items can be written.
    #[inline]
    pub unsafe fn unpack(&self, base: *mut u8, count: usize, data: &[u8]) {
        match self.piece(count) {
            // SAFETY: the caller's promise; the items are one piece of memory.
            Some(at) if !data.is_empty() => unsafe {
                std::ptr::copy_nonoverlapping(data.as_ptr(), base.wrapping_offset(at), data.len());
            },
            // SAFETY: the caller's promise.
            _ => unsafe {
                (**self).unpack(base, count, data);
            },
        }
    }
}

impl Process {
    /// The datatype behind `handle`, for communication.
    ///
    /// # Errors
    /// MPI_ERR_TYPE if there is none or it is not committed.
    #[inline]
    pub fn held(&self, handle: Handle) -> MpiResult<Held> {
        match Datatype::named(handle) {
            Some(named) => Ok(Held::Named(named)),
            None => self.committed(handle).map(Held::Derived),
        }
    }
}
