//! Copies the data of a datatype between memory and the packed form.
//!
//! The packed form contains the data in the order of the type map without gaps, in the machine's representation. A base
//! address may be MPI_BOTTOM: displacements are then absolute addresses.
#![allow(unsafe_code)]

use std::ops::Range;
use std::ptr::NonNull;

use super::Datatype;
use super::plan::PlanNode;
use super::walk::{Each, Gather, Scatter, Visitor, clipped_loop};
use super::{BasicKind, plan::PackPlan};

/// Number of bytes that are packed at a time when data are copied from one layout to another.
const CHUNK: usize = 32 * 1024;

impl Datatype {
    /// Number of bytes of `count` items in packed form. If the number exceeds the range of the type, it saturates.
    #[inline]
    pub fn packed_size(&self, count: usize) -> usize {
        self.size().saturating_mul(count)
    }

    /// Displacement of the first data byte if the data of `count` items are contiguous in memory, in the order of the
    /// type map; otherwise `None`.
    #[inline]
    pub fn piece(&self, count: usize) -> Option<isize> {
        if self.dense || count == 1 { self.run } else { None }
    }

    /// Returns the memory of the data of `count` items at address `base`, if the data are contiguous in memory, in the
    /// order of the type map, and there are data.
    #[inline]
    pub fn in_one_piece(&self, base: *const u8, count: usize) -> Option<NonNull<[u8]>> {
        let start = NonNull::new(base.cast_mut().wrapping_offset(self.piece(count)?))?;
        let size = self.packed_size(count);
        (size > 0).then(|| NonNull::slice_from_raw_parts(start, size))
    }

    /// Appends the packed form of the `count` items at address `base` to `out`.
    ///
    /// # Safety
    /// The data of the items must be valid for reads.
    #[inline]
    pub unsafe fn pack(&self, base: *const u8, count: usize, out: &mut Vec<u8>) {
        let size = self.packed_size(count);
        match self.piece(count) {
            // SAFETY: the caller guarantees that the items are readable; they are one contiguous piece of `size`
            // bytes.
            Some(at) if size > 0 => unsafe {
                out.extend_from_slice(std::slice::from_raw_parts(base.wrapping_offset(at), size));
            },
            // SAFETY: the caller guarantees that the items are readable.
            _ => unsafe { self.pack_range(base, count, 0..size, out) },
        }
    }

    /// Appends the bytes `range` of the packed form of the `count` items at address `base` to `out`.
    ///
    /// # Safety
    /// The data of the items must be valid for reads.
    pub unsafe fn pack_range(&self, base: *const u8, count: usize, range: Range<usize>, out: &mut Vec<u8>) {
        out.reserve(range.len());
        // SAFETY: the caller guarantees that the items are readable. The room is reserved, and `pack_to` initializes
        // the bytes that it reports.
        unsafe {
            let written = self.pack_to(base, count, range, out.as_mut_ptr().add(out.len()));
            out.set_len(out.len() + written);
        }
    }

    /// Writes the bytes `range` of the packed form of the `count` items at address `base` to `out`, up to the end of
    /// the items. Returns the number of bytes written.
    ///
    /// # Safety
    /// The data of the items must be valid for reads, and `out` must be valid for writes of the range's length. The
    /// items must not overlap `out`.
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

    /// Copies packed data into the `count` items at address `base`; may fill only a part of the last item. Returns the
    /// number of bytes stored.
    ///
    /// # Safety
    /// The data of the items must be valid for writes.
    #[inline]
    pub unsafe fn unpack(&self, base: *mut u8, count: usize, data: &[u8]) -> usize {
        match self.piece(count) {
            // SAFETY: the caller guarantees that the items are writable; they are one contiguous piece of at least
            // `size` bytes.
            Some(at) if !data.is_empty() => unsafe {
                let size = data.len().min(self.packed_size(count));
                std::ptr::copy_nonoverlapping(data.as_ptr(), base.wrapping_offset(at), size);
                size
            },
            // SAFETY: the caller guarantees that the items are writable.
            _ => unsafe { self.unpack_range(base, count, 0, data) },
        }
    }

    /// Copies packed data into the `count` items at address `base`. `data` begins at byte `from` of the packed form of
    /// the items. Returns the number of bytes stored.
    ///
    /// # Safety
    /// The data of the items must be valid for writes.
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

    /// Copies `count` items of this datatype at address `from` to `room` items of the datatype `other` at address `to`.
    /// Stops at the end of the source items or of the destination items. Returns the number of bytes copied.
    ///
    /// # Safety
    /// The items must be valid for reads and writes and must not overlap.
    pub unsafe fn copy(&self, from: *const u8, count: usize, other: &Datatype, to: *mut u8, room: usize) -> usize {
        let bytes = self.packed_size(count).min(other.packed_size(room));
        if bytes == 0 {
            return 0;
        }
        if let Some(at) = other.piece(room) {
            // SAFETY: the caller guarantees that the source is readable; the destination is one writable piece of at
            // least `bytes` bytes.
            return unsafe { self.pack_to(from, count, 0..bytes, to.wrapping_offset(at)) };
        }
        if let Some(at) = self.piece(count) {
            // SAFETY: the caller guarantees that the source is readable; it is one piece of at least `bytes` bytes.
            let data = unsafe { std::slice::from_raw_parts(from.wrapping_offset(at), bytes) };
            // SAFETY: the caller guarantees that the destination is writable.
            return unsafe { other.unpack(to, room, data) };
        }
        let mut chunk = Vec::with_capacity(bytes.min(CHUNK));
        for start in (0..bytes).step_by(CHUNK) {
            chunk.clear();
            // SAFETY: the caller guarantees that the source is readable and the destination writable; `chunk` is a
            // separate buffer.
            unsafe {
                self.pack_range(from, count, start..bytes.min(start + CHUNK), &mut chunk);
                other.unpack_range(to, room, start, &chunk);
            }
        }
        bytes
    }

    /// Calls `f` for every run of equal basic elements in `count` items, in the order of the type map. The arguments of
    /// `f` are the basic element, the displacement of the run's first element from the base, and the number of elements
    /// in the run. The elements of a run are adjacent.
    pub fn for_each_run(&self, count: usize, f: impl FnMut(&'static BasicKind, isize, usize)) {
        let plan = &self.layout.typed;
        let end = plan.bytes.saturating_mul(count as u64);
        if let (PlanNode::Run(kind), true) = (&plan.node, self.layout.bytes().bytes as i64 == self.extent())
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
