//! Data of a collective: moving it, or only stating how it would be divided.

use super::schedule::{BlockLayout, Piece, Side, Then};
use crate::platform::Collective;
use crate::rank::Payload;

/// Moves the data of one rank in a collective, step by step of its schedule. Implementors without data only state how
/// the data would be divided.
pub trait Mover {
    /// Whether data exist. If not, the moving functions are never called.
    const MOVES: bool = false;
    /// Packed size in bytes of the unit that a split buffer of `collective` is not divided below.
    fn element(&self, collective: Collective) -> u32;
    /// Whether contributions must be combined in order of ranks.
    fn is_ordered(&self) -> bool {
        false
    }
    /// Returns the data of `piece`, packed.
    fn read(&mut self, layout: &BlockLayout, piece: Piece) -> Payload {
        let _ = (layout, piece);
        None
    }
    /// Stores packed data in `piece`, or combines it with the data there.
    fn store(&mut self, layout: &BlockLayout, piece: Piece, then: Then, payload: Payload) {
        let _ = (layout, piece, then, payload);
    }
    /// Copies block by block.
    fn copy(&mut self, layout: &BlockLayout, from: Piece, to: Piece) {
        let _ = (layout, from, to);
    }
    /// Combines block by block; `from` is the operand on `side`.
    fn combine(&mut self, layout: &BlockLayout, from: Piece, to: Piece, side: Side) {
        let _ = (layout, from, to, side);
    }
}

/// Mover of described programs, which have no data.
#[derive(Clone, Copy, Debug)]
pub struct NoData;

impl Mover for NoData {
    fn element(&self, collective: Collective) -> u32 {
        Elements { size: 8, in_order: false }.element(collective)
    }
}

/// Mover without data that states the element size and order of a reduction.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    /// Number of bytes of an element of a reduction.
    pub size: u32,
    /// Whether contributions must be combined in order of ranks.
    pub in_order: bool,
}

impl Mover for Elements {
    fn element(&self, collective: Collective) -> u32 {
        use Collective::{Allreduce, Exscan, Reduce, ReduceScatter, Scan};
        // Collectives without reduction may be divided at any byte.
        let combines = matches!(collective, Reduce | Allreduce | Scan | Exscan | ReduceScatter);
        if combines { self.size.max(1) } else { 1 }
    }
    fn is_ordered(&self) -> bool {
        self.in_order
    }
}

/// Mover without data, for a recorded collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalledData {
    /// Number of bytes of the undivided unit, for every collective; at least 1.
    pub element: u32,
    /// Whether contributions must be combined in order of ranks.
    pub in_order: bool,
}

impl Mover for CalledData {
    fn element(&self, _: Collective) -> u32 {
        self.element
    }
    fn is_ordered(&self) -> bool {
        self.in_order
    }
}
