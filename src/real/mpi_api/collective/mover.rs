//! Moves the data of a collective between the program's buffers, the collective's own, and messages.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::region::Region;
use crate::mpi_api::payloads;
use mcpsim_core::mpi::Mover;
use mcpsim_core::mpi::abi::Handle;
use mcpsim_core::mpi::datatype::{Datatype, Type};
use mcpsim_core::mpi::op::Builtin;
use mcpsim_core::mpi::schedule::{BlockLayout, Piece, Side, Space, Then};
use mcpsim_core::platform::Collective;
use mcpsim_core::rank::{Data, Payload};

/// How contributions are combined.
#[derive(Clone, Copy, Debug)]
pub enum Combine {
    /// A built-in operation.
    Builtin(Builtin),
    /// A function of the program's (MPI-3.1, section 5.9.5), and whether it commutes.
    User { function: UserFunction, commutes: bool },
}

/// `MPI_User_function`.
pub type UserFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut Handle);

/// The data of a rank's part in a collective.
#[derive(Debug)]
pub struct DataMover {
    input: Region,
    output: Region,
    temp: Option<Region>,
    scratch: Option<Region>,
    node: Option<Region>,
    /// Of a reduction: how to combine items, of how many items the buffer is, and what the program calls their
    /// datatype.
    reduction: Option<(Combine, usize, Handle)>,
    /// The size of messages that did not fit, and the room for them.
    too_long: Option<(usize, usize)>,
}

impl Combine {
    /// Whether a ∘ b = b ∘ a.
    pub fn commutes(self) -> bool {
        match self {
            Combine::Builtin(builtin) => builtin.commutes(),
            Combine::User { commutes, .. } => commutes,
        }
    }

    /// `inout[i] = input[i] ∘ inout[i]`.
    ///
    /// # Safety
    /// There are `count` items of the datatype at each address.
    pub unsafe fn apply(self, datatype: &Datatype, handle: Handle, input: *mut u8, inout: *mut u8, count: usize) {
        if count == 0 {
            return;
        }
        match self {
            Combine::Builtin(builtin) => {
                let kind = datatype.kind().expect("a reduction's datatype was checked");
                // SAFETY: the caller's promise.
                unsafe { builtin.apply(kind, input, inout, count) };
            }
            Combine::User { function, .. } => {
                let (mut count, mut handle) = (count as c_int, handle);
                // SAFETY: a function of the program's, called as the standard says.
                unsafe { function(input.cast(), inout.cast(), &mut count, &mut handle) };
            }
        }
    }
}

impl DataMover {
    /// Data that is only moved.
    pub fn new(input: Region, output: Region) -> Self {
        DataMover { input, output, temp: None, scratch: None, node: None, reduction: None, too_long: None }
    }

    /// Data that is combined: `count` items in all, whose datatype the program calls `handle`.
    pub fn combining(input: Region, output: Region, combine: Combine, count: usize, handle: Handle) -> Self {
        DataMover { reduction: Some((combine, count, handle)), ..DataMover::new(input, output) }
    }

    /// The size of a message that did not fit, and the room there was, bytes.
    pub fn too_long(&self) -> Option<(usize, usize)> {
        self.too_long
    }

    /// Copies the program's buffers, which have `blocks` blocks: what moves from now on is in memory of the collective's
    /// own.
    pub fn detach(&mut self, blocks: u32) {
        self.input = self.input.detached(blocks);
        self.output = self.output.detached(blocks);
    }

    fn region(&mut self, layout: &BlockLayout, space: Space) -> &Region {
        // What is combined is kept as items; what is only moved as bytes.
        let own = || match self.reduction {
            Some((_, count, _)) => Region::own(layout, &self.input.datatype, count),
            None => Region::own(layout, &bytes(), layout.whole().get() as usize),
        };
        match space {
            Space::Input => &self.input,
            Space::Output => &self.output,
            Space::Temp => self.temp.get_or_insert_with(own),
            Space::Scratch => self.scratch.get_or_insert_with(own),
            Space::Node => self.node.get_or_insert_with(own),
        }
    }

    fn packed(&mut self, layout: &BlockLayout, piece: Piece) -> Data {
        let mut data = payloads::buffer(layout.bytes(piece.blocks).get() as usize);
        // SAFETY: the program's buffers are there until the collective ends.
        unsafe { self.region(layout, piece.space).pack(layout, piece.blocks, &mut data) };
        data
    }

    fn combine_packed(&mut self, layout: &BlockLayout, piece: Piece, side: Side, data: &mut [u8]) {
        let (combine, _, handle) = self.reduction.expect("only reductions combine");
        let region = self.region(layout, piece.space);
        let mut rest = data;
        for block in piece.blocks.indices(layout.parts()) {
            let (mine, count, datatype) = region.block(layout, block);
            let (other, others) = rest.split_at_mut(rest.len().min(count * datatype.size()));
            rest = others;
            let count = other.len() / datatype.size().max(1);
            // SAFETY: both have so many items.
            unsafe { combine_items(combine, datatype, handle, side, (mine, other), count) };
        }
    }
}

/// Combines packed items with those at `mine`.
unsafe fn combine_items(
    combine: Combine,
    datatype: &Type,
    handle: Handle,
    side: Side,
    (mine, other): (*mut u8, &mut [u8]),
    count: usize,
) {
    let mut spread = Vec::new();
    let theirs = if datatype.is_dense() && datatype.true_lb() == 0 {
        other.as_mut_ptr()
    } else {
        let (first, end) = datatype.span(count);
        spread.resize(((end - first) as usize).div_ceil(8), 0u64);
        let base = spread.as_mut_ptr().cast::<u8>().wrapping_offset(-first as isize);
        // SAFETY: there is room for the items.
        unsafe { datatype.unpack(base, count, other) };
        base
    };
    if side == Side::Left || combine.commutes() {
        // SAFETY: the caller's promise.
        unsafe { combine.apply(datatype, handle, theirs, mine, count) };
    } else {
        // SAFETY: as above; the result is at the right operand, and goes to mine.
        unsafe {
            combine.apply(datatype, handle, mine, theirs, count);
            datatype.copy(theirs, count, datatype, mine, count);
        }
    }
}

/// MPI_BYTE.
fn bytes() -> Type {
    Datatype::named(mcpsim_core::mpi::abi::MPI_BYTE).expect("a named datatype").clone()
}

impl Mover for DataMover {
    const MOVES: bool = true;

    fn element(&self, _: Collective) -> u32 {
        self.input.datatype.size().max(1) as u32
    }

    fn is_ordered(&self) -> bool {
        self.reduction.is_some_and(|(combine, ..)| !combine.commutes())
    }

    fn read(&mut self, layout: &BlockLayout, piece: Piece) -> Payload {
        let data = self.packed(layout, piece);
        (!data.is_empty()).then_some(data)
    }

    fn store(&mut self, layout: &BlockLayout, piece: Piece, then: Then, payload: Payload) {
        let Some(mut data) = payload else { return };
        match then {
            Then::Store => {
                let size = data.len();
                // SAFETY: the program's buffers are there until the collective ends.
                let left = unsafe { self.region(layout, piece.space).unpack(layout, piece.blocks, &data) };
                if left > 0 {
                    self.too_long = Some((size, size - left));
                }
            }
            Then::Combine(side) => {
                let room = layout.bytes(piece.blocks).get() as usize;
                if data.len() > room {
                    self.too_long = Some((data.len(), room));
                    data.truncate(room);
                }
                self.combine_packed(layout, piece, side, &mut data);
            }
        }
        payloads::done(Some(data));
    }

    fn copy(&mut self, layout: &BlockLayout, from: Piece, to: Piece) {
        let data = self.packed(layout, from);
        // SAFETY: as above.
        unsafe { self.region(layout, to.space).unpack(layout, to.blocks, &data) };
    }

    fn combine(&mut self, layout: &BlockLayout, from: Piece, to: Piece, side: Side) {
        let mut data = self.packed(layout, from);
        self.combine_packed(layout, to, side, &mut data);
    }
}
