//! Buffer arguments of collective functions.
#![allow(unsafe_code)]

use super::*;
use crate::mpi_api::payloads::LEAST_LENT;
use crate::process::folded;

/// A buffer argument of a collective function: address, number of items and datatype.
#[derive(Clone)]
pub struct CallBuffer {
    pub base: *mut u8,
    pub count: usize,
    pub datatype: Type,
}

impl CallBuffer {
    pub fn new(p: &MpiProcess, base: *const c_void, count: c_int, datatype: Handle) -> MpiResult<Self> {
        let count = error::count(count, "the count")?;
        Ok(CallBuffer { base: base.cast_mut().cast(), count, datatype: p.committed(datatype)? })
    }

    /// Checks that the buffer's address range can contain data.
    ///
    /// # Errors
    /// MPI_ERR_BUFFER if the buffer's address cannot contain data.
    pub(super) fn checked(self) -> MpiResult<Self> {
        check_buffer(self.base, self.count, &self.datatype)?;
        Ok(self)
    }

    /// Returns the type signature of the buffer, which is the same for all peer ranks.
    pub(super) fn signatures(&self) -> PeerSignatures {
        PeerSignatures::Same(self.signature())
    }

    pub(super) fn signature(&self) -> Signature {
        Signature::new(&self.datatype, self.count)
    }

    pub fn size(&self) -> Bytes {
        bytes(self.count * self.datatype.size())
    }

    pub fn region(&self, shape: BufferShape) -> Region {
        Region::new(self.base, self.datatype.clone(), shape)
    }

    /// Returns true if the buffer `other` is the same memory. Both buffers must have the same number of items.
    pub(super) fn shares(&self, other: &CallBuffer) -> bool {
        self.base == other.base && !self.base.is_null() && self.size() > Bytes::ZERO
    }

    /// Returns a region with room for the items of the buffer. For long data in folded memory, which collectives do not
    /// copy, the region is the buffer itself.
    pub(super) fn room(&self) -> Region {
        match folded::contains(self.base as usize) && self.size().get() >= LEAST_LENT as u64 {
            true => self.region(BufferShape::Whole(self.count)),
            false => Region::room(&self.datatype, self.count),
        }
    }

    /// Copies the buffer, for collectives that overwrite the input buffer before the whole buffer is read. Long data in
    /// folded memory are not copied.
    pub(super) fn copied(&self) -> Region {
        let own = self.room();
        if own.base == self.base {
            return own;
        }
        // SAFETY: MPI requires `count` items in the program's buffer, and the new region has room for `count` items.
        unsafe { self.datatype.copy(self.base, self.count, &self.datatype, own.base, self.count) };
        own
    }

    /// Returns a region whose only block is the buffer. The block has the index `block`.
    pub(super) fn block_of(&self, block: u32) -> Region {
        self.region(BufferShape::Only(block, self.count))
    }
}

/// Arrangement of the blocks in a buffer of a gather, scatter or all-to-all function.
pub enum BufferBlocks {
    Same,
    Varying(*const c_int, *const c_int),
}

impl BufferBlocks {
    /// Returns the shape of a buffer with one block for each of `ranks` ranks, and the sizes of the blocks.
    ///
    /// # Errors
    /// MPI_ERR_COUNT if a count is negative.
    ///
    /// # Safety
    /// The arrays of counts and displacements have `ranks` elements.
    pub unsafe fn shape(&self, buffer: &CallBuffer, ranks: u32) -> MpiResult<(BufferShape, Sizes)> {
        Ok(match *self {
            BufferBlocks::Same => (BufferShape::Blocks(buffer.count), Sizes::Same(buffer.size())),
            BufferBlocks::Varying(counts, displs) => {
                // SAFETY: the caller guarantees that the arrays have `ranks` elements.
                let blocks = unsafe { varying(ranks, counts, displs, &buffer.datatype)? };
                let sizes = sizes(&blocks, &buffer.datatype);
                (BufferShape::Varying(blocks), sizes)
            }
        })
    }
}
