//! Moves the data of a collective between buffers of the program, internal buffers of the collective, and messages.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use smallvec::SmallVec;

use super::region::Region;
use crate::mpi_api::payloads;
use crate::process::folded;
use mcpsim_core::mpi::Mover;
use mcpsim_core::mpi::abi::Handle;
use mcpsim_core::mpi::datatype::{Datatype, Type};
use mcpsim_core::mpi::op::Builtin;
use mcpsim_core::mpi::schedule::{BlockLayout, Piece, Side, Space, Then};
use mcpsim_core::platform::Collective;
use mcpsim_core::rank::{Data, Loan, Payload};
use mcpsim_core::units::Bytes;

/// Reduction operation of a collective.
#[derive(Clone, Copy, Debug)]
pub enum Combine {
    /// A predefined operation such as MPI_SUM.
    Builtin(Builtin),
    /// A reduction function of the program (MPI-3.1, section 5.9.5). `commutes` is true if the program declared that
    /// the function is commutative.
    User { function: UserFunction, commutes: bool },
}

/// Function type `MPI_User_function`.
pub type UserFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut Handle);

/// Data of a rank in a collective, and the movement of the data.
#[derive(Debug)]
pub struct DataMover {
    /// Loans of the regions. The field is first, because fields are dropped in order and the loans end before their
    /// regions are freed.
    loans: Loans,
    input: Region,
    output: Region,
    temp: Option<Region>,
    scratch: Option<Region>,
    node: Option<Region>,
    /// Reduction operation, number of items in the buffer, and the program's datatype handle. The field is `None` for
    /// collectives without a reduction.
    reduction: Option<(Combine, usize, Handle)>,
    /// Size of a truncated message and size of the receiving buffer, in bytes.
    too_long: Option<(usize, usize)>,
    /// Size of the longest message that carries its data.
    pub most_data: Bytes,
    /// Least size in bytes of data that are not copied within the rank, because the rank's buffers are in folded memory.
    least_omitted: Bytes,
    /// True if messages may refer to the buffers until the data mover changes data.
    pub lends: bool,
}

/// Loans of buffers to messages of a collective, which end when the collective ends.
#[derive(Debug, Default)]
struct Loans(SmallVec<[Loan; 2]>);

impl Loans {
    #[inline]
    fn end(&mut self) {
        self.0.drain(..).for_each(payloads::end);
    }
}

impl Drop for Loans {
    fn drop(&mut self) {
        self.end();
    }
}

impl Combine {
    /// Returns true if the reduction operation is commutative, so a ∘ b = b ∘ a.
    pub fn commutes(self) -> bool {
        match self {
            Combine::Builtin(builtin) => builtin.commutes(),
            Combine::User { commutes, .. } => commutes,
        }
    }

    /// Applies the reduction operation: computes `inout[i] = input[i] ∘ inout[i]`.
    ///
    /// # Safety
    /// `input` and `inout` point to `count` items of the datatype.
    pub unsafe fn apply(self, datatype: &Datatype, handle: Handle, input: *mut u8, inout: *mut u8, count: usize) {
        if count == 0 {
            return;
        }
        match self {
            Combine::Builtin(builtin) => {
                let kind = datatype.kind().expect("a reduction's datatype was checked");
                // SAFETY: the caller guarantees that `input` and `inout` point to `count` items.
                unsafe { builtin.apply(kind, input, inout, count) };
            }
            Combine::User { function, .. } => {
                let (mut count, mut handle) = (count as c_int, handle);
                // SAFETY: the program registered the function with this signature. The caller guarantees that `input`
                // and `inout` point to `count` items.
                unsafe { function(input.cast(), inout.cast(), &mut count, &mut handle) };
            }
        }
    }
}

impl DataMover {
    /// Creates a data mover for a collective without a reduction.
    pub fn new(input: Region, output: Region) -> Self {
        let most_data = Bytes::MAX;
        DataMover {
            input,
            output,
            temp: None,
            scratch: None,
            node: None,
            reduction: None,
            too_long: None,
            most_data,
            least_omitted: Bytes::MAX,
            lends: false,
            loans: Loans::default(),
        }
    }

    /// Creates a data mover for a reduction of `count` items. `handle` is the program's handle for the datatype of
    /// the items.
    pub fn combining(input: Region, output: Region, combine: Combine, count: usize, handle: Handle) -> Self {
        DataMover { reduction: Some((combine, count, handle)), ..DataMover::new(input, output) }
    }

    /// Returns the size of a truncated message and the size of the receiving buffer, in bytes.
    pub fn too_long(&self) -> Option<(usize, usize)> {
        self.too_long
    }

    /// Replaces the program's buffers, which have `blocks` blocks, by copies in memory of the collective. Later steps
    /// of the collective's schedule use the copies.
    pub fn detach(&mut self, blocks: u32) {
        self.input = self.input.detached(blocks);
        self.output = self.output.detached(blocks);
    }

    /// Omits the data of messages and copies if a buffer is in folded memory. Short data are copied.
    pub fn omit_folded(&mut self) {
        if [&self.input, &self.output].iter().any(|region| folded::contains(region.base as usize)) {
            self.least_omitted = Bytes::new(payloads::LEAST_LENT as u64);
            self.most_data = self.most_data.min(Bytes::new(payloads::LEAST_LENT as u64 - 1));
        }
    }

    fn region(&mut self, layout: &BlockLayout, space: Space) -> &Region {
        // Copied buffers of reductions consist of items of the datatype. Copied buffers of other collectives consist
        // of bytes.
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
        // SAFETY: MPI requires the program's buffers to remain valid until the collective completes. If the rank has
        // ended, copies have replaced the program's buffers.
        unsafe { self.region(layout, piece.space).pack(layout, piece.blocks, data.bytes_mut()) };
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
            // SAFETY: `count` is derived from the length of `other`, and the block of the region has `count` items.
            unsafe { combine_items(combine, datatype, handle, side, (mine, other), count) };
        }
    }
}

/// Combines `count` packed items in `other` with the items at `mine`.
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
        // SAFETY: `spread` was resized to the memory span of `count` items, and `other` contains `count` packed items.
        unsafe { datatype.unpack(base, count, other) };
        base
    };
    if side == Side::Left || combine.commutes() {
        // SAFETY: the caller guarantees that both addresses hold `count` items.
        unsafe { combine.apply(datatype, handle, theirs, mine, count) };
    } else {
        // SAFETY: the caller guarantees that both addresses hold `count` items. `apply` stores the result in the
        // right operand, so the result is then copied to `mine`.
        unsafe {
            combine.apply(datatype, handle, mine, theirs, count);
            datatype.copy(theirs, count, datatype, mine, count);
        }
    }
}

/// Returns the datatype MPI_BYTE.
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
        if layout.bytes(piece.blocks) > self.most_data {
            return None;
        }
        if self.lends
            && layout.bytes(piece.blocks).get() >= payloads::LEAST_LENT as u64
            && let Some(memory) = self.region(layout, piece.space).in_one_piece(layout, piece.blocks)
        {
            // SAFETY: the data mover ends all loans before it changes data, and only blocking collectives lend their
            // buffers, which the program does not change during the collective. Jobs lend buffers only if one thread
            // runs all ranks.
            let (data, loan) = unsafe { payloads::lend(memory) };
            self.loans.0.push(loan);
            return Some(data);
        }
        let data = self.packed(layout, piece);
        (!data.is_empty()).then_some(data)
    }

    fn store(&mut self, layout: &BlockLayout, piece: Piece, then: Then, payload: Payload) {
        self.loans.end();
        let Some(mut data) = payload else { return };
        match then {
            Then::Store => {
                let size = data.len();
                // SAFETY: MPI requires the program's buffers to remain valid until the collective completes. If the
                // rank has ended, copies have replaced the program's buffers.
                let left = unsafe { self.region(layout, piece.space).unpack(layout, piece.blocks, &data) };
                if left > 0 {
                    self.too_long = Some((size, size - left));
                }
            }
            Then::Combine(side) => {
                let room = layout.bytes(piece.blocks).get() as usize;
                if data.len() > room {
                    self.too_long = Some((data.len(), room));
                    data.bytes_mut().truncate(room);
                }
                self.combine_packed(layout, piece, side, data.bytes_mut());
            }
        }
        payloads::done(Some(data));
    }

    fn copy(&mut self, layout: &BlockLayout, from: Piece, to: Piece) {
        self.loans.end();
        if layout.bytes(from.blocks) >= self.least_omitted {
            return;
        }
        let data = self.packed(layout, from);
        // SAFETY: MPI requires the program's buffers to remain valid until the collective completes. If the rank has
        // ended, copies have replaced the program's buffers.
        unsafe { self.region(layout, to.space).unpack(layout, to.blocks, &data) };
    }

    fn combine(&mut self, layout: &BlockLayout, from: Piece, to: Piece, side: Side) {
        self.loans.end();
        if layout.bytes(from.blocks) >= self.least_omitted {
            return;
        }
        let mut data = self.packed(layout, from);
        self.combine_packed(layout, to, side, data.bytes_mut());
    }
}
