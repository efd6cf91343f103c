//! Nonblocking collectives that a rank has not completed when the rank ends. Incomplete nonblocking collectives
//! continue with copies of the program's buffers. Other ranks therefore still receive the data, and no freed memory
//! is written.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use super::mover::DataMover;
use crate::mpi_api::process::MpiProcess;
use crate::mpi_api::request::Operation;
use mcpsim_core::mpi::Mover;
use mcpsim_core::mpi::schedule::{BlockLayout, Piece, Side, Then};
use mcpsim_core::platform::Collective;
use mcpsim_core::rank::Payload;

/// A data mover of a collective that reports truncated messages.
pub trait CheckedMover: Mover {
    /// Returns the size of a truncated message and the size of the receiving buffer, in bytes.
    fn too_long(&self) -> Option<(usize, usize)>;
}

impl CheckedMover for DataMover {
    fn too_long(&self) -> Option<(usize, usize)> {
        self.too_long()
    }
}

/// Data mover of a nonblocking collective, which runs in a strand.
#[derive(Debug)]
pub struct StrandMover(Rc<RefCell<DataMover>>);

/// Data movers of a rank's active nonblocking collectives, with the number of blocks of each collective's buffers.
pub type UnderWay = RefCell<Vec<(Weak<RefCell<DataMover>>, u32)>>;

impl StrandMover {
    /// Wraps the data mover `mover` for a nonblocking collective of the rank `p`. The collective's buffers have
    /// `blocks` blocks, one block per rank of the collective.
    pub fn new(p: &MpiProcess, mover: DataMover, blocks: u32) -> Self {
        let shared = Rc::new(RefCell::new(mover));
        let mut under_way = p.under_way.borrow_mut();
        // The list of nonblocking collectives drops completed collectives only when the list would grow, so the
        // amortised cost per collective is constant.
        if under_way.len() == under_way.capacity() {
            under_way.retain(|(mover, _)| mover.strong_count() > 0);
        }
        under_way.push((Rc::downgrade(&shared), blocks));
        StrandMover(shared)
    }
}

impl CheckedMover for StrandMover {
    fn too_long(&self) -> Option<(usize, usize)> {
        self.0.borrow().too_long()
    }
}

impl Mover for StrandMover {
    const MOVES: bool = DataMover::MOVES;

    fn element(&self, collective: Collective) -> u32 {
        self.0.borrow().element(collective)
    }

    fn is_ordered(&self) -> bool {
        self.0.borrow().is_ordered()
    }

    fn read(&mut self, layout: &BlockLayout, piece: Piece) -> Payload {
        self.0.borrow_mut().read(layout, piece)
    }

    fn store(&mut self, layout: &BlockLayout, piece: Piece, then: Then, payload: Payload) {
        self.0.borrow_mut().store(layout, piece, then, payload);
    }

    fn copy(&mut self, layout: &BlockLayout, from: Piece, to: Piece) {
        self.0.borrow_mut().copy(layout, from, to);
    }

    fn combine(&mut self, layout: &BlockLayout, from: Piece, to: Piece, side: Side) {
        self.0.borrow_mut().combine(layout, from, to, side);
    }
}

impl MpiProcess {
    /// Replaces the program's buffers of incomplete nonblocking collectives by copies.
    pub fn detach_collectives(&self) {
        for (mover, blocks) in self.under_way.take() {
            if let Some(mover) = mover.upgrade() {
                mover.borrow_mut().detach(blocks);
            }
        }
    }

    /// Returns true if a communication operation may still access the stack of the rank's program after the rank has
    /// ended.
    pub fn needs_memory(&self) -> bool {
        let requests = self.requests.borrow();
        let strands = requests.iter().any(|(_, request)| matches!(request.operation, Operation::Strand { .. }));
        strands || self.windows.borrow().table.iter().next().is_some()
    }
}
