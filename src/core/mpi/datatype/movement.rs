//! Moving data between memory and the packed form.
//!
//! The packed form is the data in the order of the type map without gaps, in the machine's representation. Base
//! addresses may be MPI_BOTTOM: displacements are added without regard to objects.
#![allow(unsafe_code)]

use std::ops::Range;

use super::Datatype;
use super::plan::Node;
use super::walk::{Each, Gather, Scatter, Visitor, clipped_loop};
use super::{BasicKind, plan::PackPlan};

/// Bytes that are packed at once on the way from one layout to another.
const CHUNK: usize = 32 * 1024;

impl Datatype {
    /// The bytes of `count` items, in packed form; the most there can be if they are even more.
    #[inline]
    pub fn packed_size(&self, count: usize) -> usize {
        self.size().saturating_mul(count)
    }

    /// Whether `count` items are one piece of memory, in order; where it begins from their base.
    #[inline]
    pub fn piece(&self, count: usize) -> Option<isize> {
        if self.dense || count == 1 { self.run } else { None }
    }

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
            _ => unsafe { self.pack_range(base, count, 0..size, out) },
        }
    }

    /// Appends a range of the packed form.
    ///
    /// # Safety
    /// The data of the items can be read.
    pub unsafe fn pack_range(&self, base: *const u8, count: usize, range: Range<usize>, out: &mut Vec<u8>) {
        out.reserve(range.len());
        // SAFETY: the caller's; the room is there, and all of what is claimed has been written.
        unsafe {
            let written = self.pack_to(base, count, range, out.as_mut_ptr().add(out.len()));
            out.set_len(out.len() + written);
        }
    }

    /// Writes a range of the packed form, as far as the items go. Returns the number of bytes.
    ///
    /// # Safety
    /// The data of the items can be read, the range's length written at `out`, and they do not overlap.
    pub unsafe fn pack_to(&self, base: *const u8, count: usize, range: Range<usize>, out: *mut u8) -> usize {
        let end = range.end.min(self.packed_size(count));
        if range.start >= end {
            return 0;
        }
        let mut to = Gather { base, packed: out, offset: range.start as u64 };
        if let Some(at) = self.piece(count) {
            to.run(at as i64 + range.start as i64, range.start as u64, (end - range.start) as u64, &super::named::BYTE);
        } else {
            self.visit(self.layout.bytes(), count, range.start as u64..end as u64, &mut to);
        }
        end - range.start
    }

    /// Puts packed data into `count` items at `base`; the last may get only a part. Returns the bytes that had room.
    ///
    /// # Safety
    /// The data of the items can be written.
    #[inline]
    pub unsafe fn unpack(&self, base: *mut u8, count: usize, data: &[u8]) -> usize {
        match self.piece(count) {
            // SAFETY: the caller's promise; the items are one piece of memory.
            Some(at) if !data.is_empty() => unsafe {
                let size = data.len().min(self.packed_size(count));
                std::ptr::copy_nonoverlapping(data.as_ptr(), base.wrapping_offset(at), size);
                size
            },
            // SAFETY: the caller's promise.
            _ => unsafe { self.unpack_range(base, count, 0, data) },
        }
    }

    /// Puts a piece of the packed form, which begins at byte `from` of it, into `count` items at `base`. Returns the
    /// bytes that had room.
    ///
    /// # Safety
    /// The data of the items can be written.
    pub unsafe fn unpack_range(&self, base: *mut u8, count: usize, from: usize, data: &[u8]) -> usize {
        let end = from.saturating_add(data.len()).min(self.packed_size(count));
        if from >= end {
            return 0;
        }
        let mut to = Scatter { base, packed: data.as_ptr(), offset: from as u64 };
        if let Some(at) = self.piece(count) {
            to.run(at as i64 + from as i64, from as u64, (end - from) as u64, &super::named::BYTE);
        } else {
            self.visit(self.layout.bytes(), count, from as u64..end as u64, &mut to);
        }
        end - from
    }

    /// Copies `count` items of this datatype at `from` to `room` items of another at `to`, as far as both go. Returns
    /// the bytes of data.
    ///
    /// # Safety
    /// The items can be read and written and do not overlap.
    pub unsafe fn copy(&self, from: *const u8, count: usize, other: &Datatype, to: *mut u8, room: usize) -> usize {
        let bytes = self.packed_size(count).min(other.packed_size(room));
        if bytes == 0 {
            return 0;
        }
        if let Some(at) = other.piece(room) {
            // SAFETY: the caller's.
            return unsafe { self.pack_to(from, count, 0..bytes, to.wrapping_offset(at)) };
        }
        if let Some(at) = self.piece(count) {
            // SAFETY: the caller's.
            let data = unsafe { std::slice::from_raw_parts(from.wrapping_offset(at), bytes) };
            // SAFETY: the caller's.
            return unsafe { other.unpack(to, room, data) };
        }
        let mut chunk = Vec::with_capacity(bytes.min(CHUNK));
        for start in (0..bytes).step_by(CHUNK) {
            chunk.clear();
            // SAFETY: the caller's.
            unsafe {
                self.pack_range(from, count, start..bytes.min(start + CHUNK), &mut chunk);
                other.unpack_range(to, room, start, &chunk);
            }
        }
        bytes
    }

    /// Calls `f` with every run of equal basic elements of `count` items in the order of the type map: the element, the
    /// displacement of the first from the base, how many there are, an extent of the element apart.
    pub fn for_each_run(&self, count: usize, f: impl FnMut(&'static BasicKind, isize, usize)) {
        let plan = &self.layout.typed;
        let end = plan.bytes.saturating_mul(count as u64);
        if let (Node::Run(kind), true) = (&plan.node, self.layout.bytes().bytes as i64 == self.extent())
            && kind.is_dense()
        {
            return Each(f).run(plan.at, 0, end, kind);
        }
        self.visit(plan, count, 0..end, &mut Each(f));
    }

    fn visit(&self, plan: &PackPlan, count: usize, range: Range<u64>, to: &mut impl Visitor) {
        clipped_loop(plan, count as u64, self.extent(), 0, 0, &range, to);
    }
}
