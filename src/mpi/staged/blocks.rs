//! Node-aware collectives with one block per rank: gather, scatter and allgather. For every MPI library, mcpsim uses
//! the algorithm of Open MPI's component `han` in 5.0. All nodes must have equally many members.
//!
//! Blocks in [`Space::Node`] are ordered by node, then by index of the member on its node, so the blocks of a node's
//! members are adjacent. If this is not the order of ranks, a rank that holds all blocks reorders the blocks by
//! copying, as in Open MPI.
//!
//! | collective | stages |
//! |---|---|
//! | gather | gather within each node to the member at the root's place; gather of these members to the root |
//! | scatter | scatter to the members at the root's place, scatter within each node |
//! | allgather | gather to each leader, allgather of the leaders, bcast within each node |

use super::{Among, FlatStage, Staged};
use crate::library::{ChoiceContext, decide};
use crate::nodes::NodeSpread;
use crate::runner::{blocks, seat_of};
use crate::schedule::{BlockLayout, Extent, Piece, Schedule, Space};
use crate::{CallForm, Sizes};
use mcpsim_base::platform::Collective;
use mcpsim_base::units::Bytes;

/// Copy of blocks within this rank's memory, with the layouts of source and destination.
#[derive(Debug)]
pub(crate) struct BlockMove {
    pub(crate) from: (BlockLayout, Piece),
    pub(crate) to: (BlockLayout, Piece),
}

/// Number of bytes of `count` blocks of `block` bytes.
fn times(block: Bytes, count: u32) -> Bytes {
    Bytes::new(block.get().saturating_mul(u64::from(count)))
}

impl Staged {
    /// Whether the collective has one block per rank.
    pub(super) fn is_by_block(&self) -> bool {
        matches!(self.call.collective, Collective::Gather | Collective::Scatter | Collective::Allgather)
    }

    /// Size of the buffer, or total size of the blocks of all ranks.
    pub(crate) fn buffer(&self) -> Bytes {
        if self.is_by_block() { times(self.whole.size, self.call.comm.size()) } else { self.whole.size }
    }

    fn is_root(&self) -> bool {
        self.call.comm.rank() == self.call.root
    }

    /// Returns `size` if `does` is true, otherwise 0 bytes.
    fn if_so(does: bool, size: Bytes) -> Bytes {
        if does { size } else { Bytes::ZERO }
    }

    /// Stage `n`: `Some(None)` if this rank does not take part in the stage, `None` after the last stage.
    pub(super) fn of_blocks(&self, n: u32) -> Option<Option<FlatStage>> {
        use Collective::{Allgather, Bcast, Gather, Scatter};
        let (root_node, root_place) = self.root;
        let block = self.whole.size;
        let (node_s, all) = (times(block, self.mine.size()), self.buffer());
        let crooked = Self::if_so(!self.nodes.is_in_order(), all);
        let at_place = |place: u32| self.here.1 == place;
        Some(match (self.call.collective, n) {
            // The root of an inner collective copies its own block of data.
            (Gather, 0) => self.block_stage(Among::Node, Gather, root_place, Self::if_so(at_place(root_place), block)),
            (Gather, 1) => {
                let copied = Self::if_so(self.is_root(), node_s);
                self.block_stage(Among::Row(root_place), Gather, root_node, copied)
            }
            (Scatter, 0) => {
                let copied = Self::if_so(self.is_root(), Bytes::new(node_s.get().saturating_add(crooked.get())));
                self.block_stage(Among::Row(root_place), Scatter, root_node, copied)
            }
            (Scatter, 1) => {
                self.block_stage(Among::Node, Scatter, root_place, Self::if_so(at_place(root_place), block))
            }
            (Allgather, 0) => self.block_stage(Among::Node, Gather, 0, Self::if_so(at_place(0), block)),
            (Allgather, 1) => self.block_stage(Among::Row(0), Allgather, 0, node_s),
            (Allgather, 2) => self.block_stage(Among::Node, Bcast, 0, Self::if_so(at_place(0), crooked)),
            _ => return None,
        })
    }

    /// Stage that this rank executes for `collective` among the members `among`; `None` if the rank does not take part
    /// in the stage. The rank copies `copied` bytes before the stage.
    fn block_stage(&self, among: Among, collective: Collective, root: u32, copied: Bytes) -> Option<FlatStage> {
        let (each, block) = (self.mine.size(), self.whole.size);
        let (unit, first) = match among {
            Among::Node => (block, self.here.0.saturating_mul(each)),
            _ => (times(block, each), 0),
        };
        let comm = self.members(among)?;
        let (size, total) = match collective {
            Collective::Bcast => (self.buffer(), self.buffer()),
            _ => (unit, times(unit, comm.size())),
        };
        let question = ChoiceContext {
            collective,
            form: CallForm::Blocking,
            ranks: comm.size(),
            size: size.get(),
            total: total.get(),
            element: 1,
            ordered: false,
            spread: NodeSpread::FLAT,
        };
        let extent = Extent { size, element: 1 };
        let choice = decide(self.library, question);
        let seat = seat_of((collective, CallForm::Blocking), (comm.size(), comm.rank()), root, self.library);
        let (schedule, _) = Schedule::plan(collective, choice, seat, extent).expect("a library's choice suits");
        let inner = Box::new(blocks(&schedule, seat, extent, &Sizes::Same(unit)));
        let start = if collective == Collective::Bcast { 0 } else { times(block, first).get() };
        let layout = BlockLayout::Window { start, whole: self.buffer(), inner };
        let (input, output, kind) = (Space::Node, Space::Node, self.call.collective);
        Some(FlatStage { schedule, layout, comm, input, output, copied, kind, started: false })
    }

    /// Layout of the blocks of all members, ordered by node.
    fn by_nodes(&self) -> BlockLayout {
        let inner = Box::new(self.by_rank());
        BlockLayout::Window { start: 0, whole: self.buffer(), inner }
    }

    /// Layout of the blocks of all members, ordered by rank.
    fn by_rank(&self) -> BlockLayout {
        BlockLayout::Uniform { block: self.whole.size, parts: self.call.comm.size() }
    }

    /// Copies from the program's buffers that this rank makes before the first stage.
    pub(crate) fn moves_before(&self) -> Vec<BlockMove> {
        match self.call.collective {
            Collective::Gather | Collective::Allgather => self.moves(false, |block| block == self.call.comm.rank()),
            Collective::Scatter => self.moves(false, |_| self.is_root()),
            _ => Vec::new(),
        }
    }

    /// Copies to the program's buffers that this rank makes after the last stage.
    pub(crate) fn moves_after(&self) -> Vec<BlockMove> {
        match self.call.collective {
            Collective::Gather => self.moves(true, |_| self.is_root()),
            Collective::Allgather => self.moves(true, |_| true),
            Collective::Scatter => self.moves(true, |block| block == self.call.comm.rank()),
            _ => Vec::new(),
        }
    }

    /// Number of bytes that this rank copies after the last stage.
    pub(crate) fn copied_after(&self) -> Bytes {
        let crooked = self.call.collective == Collective::Gather && self.is_root() && !self.nodes.is_in_order();
        Self::if_so(crooked, self.buffer())
    }

    /// Copies of the blocks of the members that satisfy `wanted`. The copies go to the output buffer if `out` is set,
    /// otherwise from the input buffer.
    fn moves(&self, out: bool, wanted: impl Fn(u32) -> bool) -> Vec<BlockMove> {
        let each = self.mine.size();
        let moved = |member: u32| {
            let (node, place) = self.nodes.place(member);
            let inner = (self.by_nodes(), Space::Node.one(node * each + place));
            if out {
                BlockMove { from: inner, to: (self.by_rank(), Space::Output.one(member)) }
            } else {
                BlockMove { from: (self.by_rank(), Space::Input.one(member)), to: inner }
            }
        };
        (0..self.call.comm.size()).filter(|&member| wanted(member)).map(moved).collect()
    }
}
