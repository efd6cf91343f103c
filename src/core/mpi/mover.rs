//! Data of a rank in a collective: functions that move the data, or that only state how the data would be divided.

use super::schedule::{BlockLayout, Piece, Side, Then};
use crate::platform::Collective;
use crate::rank::Payload;

/// Moves the data of one rank in a collective, for each step of the schedule. Implementors without data only state how
/// the data would be divided.
pub trait Mover {
    /// Whether data exist. If false, `read`, `store`, `copy` and `combine` are never called.
    const MOVES: bool = false;
    /// Packed size in bytes of one element of `collective`. A buffer that is split into blocks is divided only between
    /// elements.
    fn element(&self, collective: Collective) -> u32;
    /// Whether contributions must be combined in order of ranks.
    fn is_ordered(&self) -> bool {
        false
    }
    /// Returns the packed data of `piece`.
    fn read(&mut self, layout: &BlockLayout, piece: Piece) -> Payload {
        let _ = (layout, piece);
        None
    }
    /// Stores packed data in `piece`, or combines the packed data with the contents of `piece`.
    fn store(&mut self, layout: &BlockLayout, piece: Piece, then: Then, payload: Payload) {
        let _ = (layout, piece, then, payload);
    }
    /// Copies the blocks of `from` to those of `to`, block by block.
    fn copy(&mut self, layout: &BlockLayout, from: Piece, to: Piece) {
        let _ = (layout, from, to);
    }
    /// Combines the blocks of `from` with those of `to`, block by block; `from` is the operand on `side`.
    fn combine(&mut self, layout: &BlockLayout, from: Piece, to: Piece, side: Side) {
        let _ = (layout, from, to, side);
    }
}

/// Mover for programs that are described without data.
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
    /// Number of bytes of one element, for every collective; at least 1.
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
