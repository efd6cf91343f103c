//! Access to the data of a rank in a collective: real data of a real program, or only their element size and order.

use super::schedule::{BlockLayout, Piece, Side, Then};
use mcpsim_base::platform::Collective;
use mcpsim_base::rank::Payload;

/// Reads, stores and combines the data of one rank in a collective, as the steps of the collective's algorithm require.
/// An implementor without data only states the element size and the order of combination.
pub trait Mover {
    /// Whether the implementor has data. If false, `read`, `store`, `copy` and `combine` are never called.
    const MOVES: bool = false;
    /// Packed size in bytes of one element of `collective`. A buffer that is split into blocks is divided only between
    /// elements.
    fn element(&self, collective: Collective) -> u32;
    /// Whether the contributions of ranks must be combined in order of ranks.
    fn is_ordered(&self) -> bool {
        false
    }
    /// Returns the packed data of the blocks `piece`.
    fn read(&mut self, layout: &BlockLayout, piece: Piece) -> Payload {
        let _ = (layout, piece);
        None
    }
    /// Stores packed data in `piece`, or combines packed data with the contents of `piece`.
    fn store(&mut self, layout: &BlockLayout, piece: Piece, then: Then, payload: Payload) {
        let _ = (layout, piece, then, payload);
    }
    /// Copies the blocks of `from` to the blocks of `to`.
    fn copy(&mut self, layout: &BlockLayout, from: Piece, to: Piece) {
        let _ = (layout, from, to);
    }
    /// Combines each block of `from` with the corresponding block of `to`. `side` tells whether `from` is the left or
    /// the right operand.
    fn combine(&mut self, layout: &BlockLayout, from: Piece, to: Piece, side: Side) {
        let _ = (layout, from, to, side);
    }
}

/// Implementor of [`Mover`] for described programs, which have no data.
#[derive(Clone, Copy, Debug)]
pub struct NoData;

impl Mover for NoData {
    fn element(&self, collective: Collective) -> u32 {
        Elements { size: 8, in_order: false }.element(collective)
    }
}

/// Implementor of [`Mover`] without data that states the element size and the order of a reduction.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    /// Number of bytes of an element of a reduction.
    pub size: u32,
    /// Whether the contributions of ranks must be combined in order of ranks.
    pub in_order: bool,
}

impl Mover for Elements {
    fn element(&self, collective: Collective) -> u32 {
        use Collective::{Allreduce, Exscan, Reduce, ReduceScatter, Scan};
        // A collective without reduction may divide its data at any byte.
        let combines = matches!(collective, Reduce | Allreduce | Scan | Exscan | ReduceScatter);
        if combines { self.size.max(1) } else { 1 }
    }
    fn is_ordered(&self) -> bool {
        self.in_order
    }
}

/// Implementor of [`Mover`] without data for a collective from a recorded trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalledData {
    /// Number of bytes of one element of the recorded collective; at least 1.
    pub element: u32,
    /// Whether the contributions of ranks must be combined in order of ranks.
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
