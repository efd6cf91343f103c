//! What moves a collective's data, and what only says how data that is not there would be divided.

use super::schedule::{BlockLayout, Piece, Side, Then};
use crate::platform::Collective;
use crate::rank::Payload;

/// Moves the data of a rank's part in a collective, as its schedule says. What has no data says only how they are
/// divided.
pub trait Mover {
    /// Whether there is data; if not, none of the functions that move some is called.
    const MOVES: bool = false;
    /// The packed size of what is not divided between blocks of a split buffer of `collective`, bytes.
    fn element(&self, collective: Collective) -> u32;
    /// Whether contributions must be combined in order of ranks.
    fn is_ordered(&self) -> bool {
        false
    }
    /// The data of `piece`, packed.
    fn read(&mut self, layout: &BlockLayout, piece: Piece) -> Payload {
        let _ = (layout, piece);
        None
    }
    /// Stores packed data in `piece`, or combines it with what is there.
    fn store(&mut self, layout: &BlockLayout, piece: Piece, then: Then, payload: Payload) {
        let _ = (layout, piece, then, payload);
    }
    /// Copies block after block.
    fn copy(&mut self, layout: &BlockLayout, from: Piece, to: Piece) {
        let _ = (layout, from, to);
    }
    /// Combines block after block: `from` is on this side.
    fn combine(&mut self, layout: &BlockLayout, from: Piece, to: Piece, side: Side) {
        let _ = (layout, from, to, side);
    }
}

/// Moves nothing: described programs have no data.
#[derive(Clone, Copy, Debug)]
pub struct NoData;

impl Mover for NoData {
    fn element(&self, collective: Collective) -> u32 {
        Elements { size: 8, in_order: false }.element(collective)
    }
}

/// Moves nothing either.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    /// Bytes of an element of a reduction.
    pub size: u32,
    /// Whether contributions must be combined in order of ranks.
    pub in_order: bool,
}

impl Mover for Elements {
    fn element(&self, collective: Collective) -> u32 {
        use Collective::{Allreduce, Exscan, Reduce, ReduceScatter, Scan};
        // What is not combined is divided anywhere.
        let combines = matches!(collective, Reduce | Allreduce | Scan | Exscan | ReduceScatter);
        if combines { self.size.max(1) } else { 1 }
    }
    fn is_ordered(&self) -> bool {
        self.in_order
    }
}

/// Moves nothing: a collective that is made again as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalledData {
    /// Bytes of what is not divided, whatever the collective; at least 1.
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
