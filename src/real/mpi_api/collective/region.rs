//! Data buffers of collectives. A buffer is divided into blocks, such as one block per rank.
#![allow(unsafe_code)]

use std::ptr::NonNull;
use std::rc::Rc;

use crate::mpi_api::error::{MpiResult, expect};
use crate::mpi_api::payloads;
use crate::process::folded;
use crate::process::{PeerSignatures, Signature};
use mcpsim_core::mpi::abi::{MPI_BYTE, MPI_ERR_TRUNCATE};
use mcpsim_core::mpi::datatype::{Datatype, Type};
use mcpsim_core::mpi::schedule::{BlockLayout, Blocks};
use mcpsim_core::units::Bytes;

/// Layout argument for buffers whose shape is not [`BufferShape::Whole`]. The blocks of such buffers do not depend on
/// a layout.
pub const NO_LAYOUT: BlockLayout = BlockLayout::Uniform { block: Bytes::ZERO, parts: 1 };

/// A data buffer of a collective, in memory of the program or of the collective.
#[derive(Debug)]
pub struct Region {
    /// Address of the first item of the buffer.
    pub base: *mut u8,
    pub datatype: Type,
    pub shape: BufferShape,
    /// Memory of the buffer, if the buffer belongs to the collective and not to the program.
    _memory: Option<Vec<u64>>,
}

/// Division of a buffer into blocks.
#[derive(Clone, Debug)]
pub enum BufferShape {
    /// The buffer has the number of items in the field, and the layout of the schedule divides the items into blocks.
    Whole(usize),
    /// The blocks are contiguous, and each block has the number of items in the field.
    Blocks(usize),
    /// Each block has a separate number of items and a displacement in bytes from the buffer's base address.
    Varying(Rc<[(usize, isize)]>),
    /// Each block has a separate number of items, displacement in bytes and datatype (MPI_Alltoallw).
    Mixed(Rc<[(usize, isize, Type)]>),
    /// The buffer consists of one block, given by the index of the block and the number of items.
    Only(u32, usize),
    /// The buffer is not significant at the calling rank and contains no data.
    Absent,
}

impl Region {
    /// Creates a region that refers to the program's buffer.
    pub fn new(base: *mut u8, datatype: Type, shape: BufferShape) -> Self {
        Region { base, datatype, shape, _memory: None }
    }

    /// Creates a region for a buffer that is not significant at the calling rank.
    pub fn absent(datatype: Type) -> Self {
        Region::new(std::ptr::null_mut(), datatype, BufferShape::Absent)
    }

    /// Creates an internal buffer of the collective with the blocks of `layout`. If the layout divides one buffer
    /// into parts, the buffer has `whole` items.
    pub fn own(layout: &BlockLayout, datatype: &Type, whole: usize) -> Self {
        let size = datatype.size().max(1) as u64;
        let mut items = 0;
        let shape = match layout {
            BlockLayout::Split { .. }
            | BlockLayout::Nested { .. }
            | BlockLayout::Halved { .. }
            | BlockLayout::Window { .. } => {
                items = whole;
                BufferShape::Whole(whole)
            }
            _ => {
                let block = |block: u32| {
                    let count = (layout.bytes(Blocks::one(block)).get() / size) as usize;
                    let at = items as i64 * datatype.extent();
                    items += count;
                    (count, at as isize)
                };
                BufferShape::Varying((0..layout.parts()).map(block).collect())
            }
        };
        let (first, end) = datatype.span(items);
        let mut memory = vec![0u64; ((end - first) as usize).div_ceil(8)];
        let base = memory.as_mut_ptr().cast::<u8>().wrapping_offset(-first as isize);
        Region { base, datatype: datatype.clone(), shape, _memory: Some(memory) }
    }

    /// Returns the type signatures of all `blocks` blocks. For a region with a single block, the result is the
    /// signature of that block.
    pub fn signatures(&self, blocks: u32) -> PeerSignatures {
        let of = |block| {
            let (_, count, datatype) = self.block(&NO_LAYOUT, block);
            Signature::new(datatype, count)
        };
        match self.shape {
            BufferShape::Blocks(_) => PeerSignatures::Same(of(0)),
            BufferShape::Only(block, _) => PeerSignatures::Same(of(block)),
            _ => PeerSignatures::Each((0..blocks).map(of).collect()),
        }
    }

    /// Returns a region that consists of the block with the index `block`, in the same memory.
    pub fn only(&self, block: u32) -> Region {
        let (at, count, datatype) = self.block(&NO_LAYOUT, block);
        Region::new(at, datatype.clone(), BufferShape::Only(block, count))
    }

    /// Packs all `blocks` blocks of the buffer into a new internal buffer of the collective. Long data in folded memory
    /// are not copied.
    pub fn copy(&self, blocks: u32) -> Region {
        let mut data: Vec<u8> = Vec::new();
        let mut at: Vec<(usize, isize)> = Vec::new();
        for block in 0..blocks {
            let (from, count, datatype) = self.block(&NO_LAYOUT, block);
            let before = data.len();
            if folded::contains(self.base as usize) && count * datatype.size() >= payloads::LEAST_LENT {
                at.push((count * datatype.size(), 0));
                continue;
            }
            // SAFETY: MPI requires the program's buffer to remain valid until the collective completes.
            unsafe { datatype.pack(from, count, &mut data) };
            at.push((data.len() - before, before as isize));
        }
        let byte = Datatype::named(MPI_BYTE).expect("a named datatype").clone();
        let mut memory = vec![0u64; data.len().div_ceil(8)];
        let base = memory.as_mut_ptr().cast::<u8>();
        // SAFETY: `memory` was allocated with room for all bytes of `data`.
        unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), base, data.len()) };
        Region { base, datatype: byte, shape: BufferShape::Varying(at.into()), _memory: Some(memory) }
    }

    /// Copies `blocks` blocks of the buffer to a new internal buffer of the collective, which has the same blocks.
    pub fn detached(&self, blocks: u32) -> Region {
        let copied = |from: *mut u8, count: usize, datatype: &Type| {
            let own = Region::room(datatype, count);
            // SAFETY: MPI requires the program's buffer to remain valid until the collective completes, and `own` has
            // room for `count` items.
            unsafe { datatype.copy(from, count, datatype, own.base, count) };
            own
        };
        match self.shape {
            BufferShape::Absent => Region::absent(self.datatype.clone()),
            BufferShape::Whole(count) => {
                Region { shape: BufferShape::Whole(count), ..copied(self.base, count, &self.datatype) }
            }
            BufferShape::Only(block, count) => {
                Region { shape: BufferShape::Only(block, count), ..copied(self.base, count, &self.datatype) }
            }
            BufferShape::Blocks(_) | BufferShape::Varying(_) | BufferShape::Mixed(_) => {
                let mut memory: Vec<u64> = Vec::new();
                let mut places: Vec<(usize, isize, Type)> = Vec::new();
                for block in 0..blocks {
                    let (from, count, datatype) = self.block(&NO_LAYOUT, block);
                    let own = copied(from, count, datatype);
                    let (first, _) = datatype.span(count);
                    places.push((count, (memory.len() * 8) as isize - first as isize, datatype.clone()));
                    memory.extend(own._memory.unwrap_or_default());
                }
                let base = memory.as_mut_ptr().cast();
                let shape = BufferShape::Mixed(places.into());
                Region { base, datatype: self.datatype.clone(), shape, _memory: Some(memory) }
            }
        }
    }

    /// Creates an internal buffer of the collective with room for `items` items.
    pub fn room(datatype: &Type, items: usize) -> Region {
        let whole = BlockLayout::Split { total: Bytes::ZERO, parts: 1, element: 1 };
        Region::own(&whole, datatype, items)
    }

    /// Returns the address, the number of items and the datatype of the block with the index `block`.
    pub fn block(&self, layout: &BlockLayout, block: u32) -> (*mut u8, usize, &Type) {
        if let BlockLayout::Headed { head, .. } = layout {
            let (start, count, datatype) = self.block(&NO_LAYOUT, block / 2);
            let first = ((head.get() / datatype.size().max(1) as u64) as usize).min(count);
            let rest = start.wrapping_offset(first as isize * datatype.extent() as isize);
            return if block.is_multiple_of(2) { (start, first, datatype) } else { (rest, count - first, datatype) };
        }
        let at = |items: usize| self.base.wrapping_offset(items as isize * self.datatype.extent() as isize);
        match &self.shape {
            BufferShape::Whole(_) => {
                let size = self.datatype.size().max(1) as u64;
                let [from, to] = [block, block + 1].map(|block| (layout.offset(u64::from(block)) / size) as usize);
                (at(from), to - from, &self.datatype)
            }
            BufferShape::Blocks(count) => (at(count * block as usize), *count, &self.datatype),
            BufferShape::Varying(blocks) => {
                let (count, bytes) = blocks[block as usize];
                (self.base.wrapping_offset(bytes), count, &self.datatype)
            }
            BufferShape::Mixed(blocks) => {
                let (count, bytes, datatype) = &blocks[block as usize];
                (self.base.wrapping_offset(*bytes), *count, datatype)
            }
            BufferShape::Only(only, count) if *only == block => (self.base, *count, &self.datatype),
            BufferShape::Only(..) | BufferShape::Absent => (self.base, 0, &self.datatype),
        }
    }

    /// Returns true if the block with the index `block` has the same address in both regions. The blocks of the two
    /// regions must not depend on a layout.
    pub fn shares(&self, other: &Region, block: u32) -> bool {
        let ((mine, count, datatype), (theirs, others, _)) =
            (self.block(&NO_LAYOUT, block), other.block(&NO_LAYOUT, block));
        mine == theirs && !mine.is_null() && count > 0 && others > 0 && datatype.size() > 0
    }

    /// Packs the block with the index `block` of a region that does not depend on a layout.
    ///
    /// # Safety
    /// The memory of the region is valid for all blocks of the region.
    pub unsafe fn packed(&self, block: u32) -> Vec<u8> {
        let (at, count, datatype) = self.block(&NO_LAYOUT, block);
        let mut data = Vec::with_capacity(count * datatype.size());
        // SAFETY: the caller guarantees that the memory of the region is valid.
        unsafe { datatype.pack(at, count, &mut data) };
        data
    }

    /// Stores packed data in the block with the index `block` of a region that does not depend on a layout. Data
    /// beyond the size of the block is discarded.
    ///
    /// # Errors
    /// MPI_ERR_TRUNCATE if the data is longer than the block.
    ///
    /// # Safety
    /// The memory of the region is valid for all blocks of the region.
    pub unsafe fn store(&self, block: u32, data: &[u8]) -> MpiResult {
        let (at, count, datatype) = self.block(&NO_LAYOUT, block);
        let (size, room) = (data.len(), count * datatype.size());
        // SAFETY: the caller guarantees that the memory of the region is valid, and the data is limited to the size
        // of the block.
        unsafe { datatype.unpack(at, count, &data[..size.min(room)]) };
        expect(size <= room, MPI_ERR_TRUNCATE, || {
            format!("{size} bytes arrived from rank or neighbour {block} for a block of {room} bytes")
        })
    }

    /// Returns the memory of the region's blocks `blocks`, if their data are contiguous in memory in the order of packing.
    pub fn in_one_piece(&self, layout: &BlockLayout, blocks: Blocks) -> Option<NonNull<[u8]>> {
        let mut whole: Option<NonNull<[u8]>> = None;
        for block in blocks.indices(layout.parts()) {
            let (at, count, datatype) = self.block(layout, block);
            if count == 0 {
                continue;
            }
            let piece = datatype.in_one_piece(at, count)?;
            whole = match whole {
                None => Some(piece),
                Some(before) if before.as_ptr().cast::<u8>().wrapping_add(before.len()) == piece.as_ptr().cast() => {
                    Some(NonNull::slice_from_raw_parts(before.cast(), before.len() + piece.len()))
                }
                Some(_) => return None,
            };
        }
        whole
    }

    /// Packs the data of the region's blocks `blocks` and appends the bytes to `out`.
    ///
    /// # Safety
    /// The memory of the region is valid for all blocks of the region.
    pub unsafe fn pack(&self, layout: &BlockLayout, blocks: Blocks, out: &mut Vec<u8>) {
        let windowed = matches!(layout, BlockLayout::Window { .. });
        if let (BufferShape::Whole(count), Blocks::All, false) = (&self.shape, blocks, windowed) {
            // SAFETY: the caller guarantees that the memory of the region is valid.
            return unsafe { self.datatype.pack(self.base, *count, out) };
        }
        for block in blocks.indices(layout.parts()) {
            let (at, count, datatype) = self.block(layout, block);
            // SAFETY: the caller guarantees that the memory of the region is valid.
            unsafe { datatype.pack(at, count, out) };
        }
    }

    /// Stores packed data in the region's blocks `blocks`. Returns the number of bytes that did not fit into the
    /// blocks.
    ///
    /// # Safety
    /// The memory of the region is valid for all blocks of the region, as for [`Region::pack`].
    pub unsafe fn unpack(&self, layout: &BlockLayout, blocks: Blocks, data: &[u8]) -> usize {
        let mut rest = data;
        for block in blocks.indices(layout.parts()) {
            let (at, count, datatype) = self.block(layout, block);
            let (mine, others) = rest.split_at(rest.len().min(count * datatype.size()));
            // SAFETY: the caller guarantees that the memory of the region is valid, and `mine` is limited to the size
            // of the block.
            unsafe { datatype.unpack(at, count, mine) };
            rest = others;
        }
        rest.len()
    }
}
