//! Phases: the building blocks of schedules.

use super::seat::Seat;
use super::shape::Tree;
use super::step::{Blocks, Piece, Space, Step};
use super::{bruck, doubling, exchange, halves, linear, pipeline, ring, scan, tree};

/// Result of a phase for one round.
#[derive(Clone, Copy, Debug)]
pub(super) enum PhaseStep {
    /// The member executes this step.
    Do(Step),
    /// The member has no step in this round.
    Skip,
    /// The phase is over.
    End,
}

/// Assignment of blocks to members in a tree: by relative rank in a bcast, by rank in a gather or scatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbering {
    /// Block v belongs to relative rank v.
    Relative,
    /// Block r belongs to rank r.
    Member,
}

/// Data that members send in a linear exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchanged {
    /// Every member sends its single block to all.
    Own,
    /// Every member sends block j to member j.
    Each,
}

/// A phase of a schedule. Its n-th step depends only on the seat and on n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// A phase without steps.
    Nothing,
    /// Copies all blocks from one space to another.
    CopyAll { from: Space, to: Space },
    /// Copies this member's block from one space to another.
    CopyOwn { from: Space, to: Space },
    /// Copies both blocks of this member, in layouts with two blocks per member.
    CopyOwnParts,
    /// Bruck's first phase: block j of the input becomes block j − rank of Temp.
    RotateIn,
    /// Bruck's last phase: block i of Temp becomes block rank − i of the output.
    RotateOut,
    /// In round k, sends an empty message to the member 2^k ahead.
    Dissemination,
    /// Combines contributions up a binomial tree.
    TreeReduce { hold: Space },
    /// Sends all blocks down a binomial tree.
    TreeBcast { hold: Space },
    /// Sends the blocks of subtrees up a binomial tree.
    TreeGather { hold: Space },
    /// Sends the blocks of subtrees down a binomial tree.
    TreeScatter { hold: Space, numbering: Numbering },
    /// The root sends all blocks to each member.
    LinearBcast,
    /// The root receives the contributions and combines them in rank order.
    LinearReduce,
    /// The root receives each member's block.
    LinearGather,
    /// The root sends each member its block.
    LinearScatter,
    /// Every member exchanges blocks with every other member, in batches of `at_once` distances.
    LinearExchange { what: Exchanged, at_once: u32 },
    /// Every member exchanges blocks with every other member; it posts all receives first.
    AllAtOnce { what: Exchanged },
    /// The root receives one block after another in order of ranks.
    GatherInOrder,
    /// The root sends one block after another in order of ranks.
    ScatterInOrder { hold: Space },
    /// The root requests the data of one member after another.
    GatherPaced,
    /// Sends segments down a tree.
    Down { tree: Tree, segments: u32 },
    /// Combines segments up a tree.
    Up { tree: Tree, segments: u32, home: Space },
    /// Sends the result from the top of a tree to the root.
    HandOver { tree: Tree, home: Space },
    /// Sends two halves of the data, with `first` and `second` segments, down a binary tree. Then pairs of members
    /// exchange halves.
    SplitDown { first: u32, second: u32 },
    /// Sends the blocks of subtrees down a binomial tree; only the first `filled` blocks have data.
    ScatterFilled { filled: u32 },
    /// `DoublingAllgather` for any number of members.
    DoublingAllgatherAny,
    /// Exchanges with both neighbours alternately.
    Neighbors,
    /// Sends empty messages twice around the ring.
    DoubleRing,
    /// Every member sends an empty message to rank 0 and receives one from rank 0.
    GatherAndRelease,
    /// Pairs exchange empty messages; a partner represents each surplus member.
    DoublingBelow,
    /// Each member of a folding pair combines one half; the surplus member then sends its half back.
    FoldHalves { hold: Space },
    /// Pairs at distance 1, 2, … exchange and combine halves of the remaining blocks, with one block per rank.
    Butterfly,
    /// Sends each block from the member with the mirrored number to the block's owner.
    MirroredHome,
    /// Passes blocks around a ring and combines them; rank r ends with block r.
    RingReduceHome,
    /// Passes blocks around a ring and combines them, in `turns` turns of one segment of every block.
    RingReduceSegments { turns: u32 },
    /// Passes blocks of `turns` segments each around a ring.
    RingAllgatherSegments { turns: u32 },
    /// Exchanges blocks with every member, one member after another.
    Pairwise,
    /// Like `Pairwise`, but combines the received data with the member's own block.
    PairwiseReduce,
    /// The surplus members send their data to their partners.
    FoldIn { hold: Space },
    /// The surplus members receive the complete result.
    FoldOut { hold: Space },
    /// The surplus members receive their block.
    FoldOutOwn { hold: Space },
    /// Pairs at distance 1, 2, … exchange and combine all blocks.
    Doubling { hold: Space },
    /// Pairs at distance 1, 2, … exchange and combine halves of the remaining blocks.
    HalveNear { hold: Space },
    /// The reverse of `HalveNear`: pairs exchange and store the combined blocks.
    DoubleNear { hold: Space },
    /// Gathers the combined blocks at the root, in the reverse order of `HalveNear`.
    GatherNear { hold: Space },
    /// Pairs at distance q/2, q/4, … exchange and combine halves of the remaining blocks.
    HalveFar { hold: Space },
    /// Pairs at distance 1, 2, … exchange the gathered blocks. Supports only 2^k members.
    DoublingAllgather,
    /// Passes blocks around a ring; relative rank v starts with block v + `shift`.
    RingAllgather { shift: u32 },
    /// Passes blocks around a ring and combines them.
    RingReduce,
    /// Gathers blocks in Temp; their number doubles every round.
    BruckAllgather,
    /// In round k, sends the blocks whose distance from sender to receiver has bit k set.
    BruckAlltoall,
    /// Passes segments along the relative ranks.
    ChainBcast { segments: u32 },
    /// Passes prefixes along the ranks.
    ChainScan,
    /// Passes prefixes along the ranks; a member's result excludes its own contribution.
    ChainExscan,
    /// Pairs at distance 1, 2, … exchange and combine prefixes.
    DoublingScan { exclusive: bool },
}

impl Phase {
    /// Step of this phase at `seat` in `round`.
    #[inline]
    pub(super) fn step(self, seat: Seat, round: u32) -> PhaseStep {
        match self {
            Phase::Nothing => PhaseStep::End,
            Phase::CopyAll { from, to } => once(round, Step::Copy { from: from.all(), to: to.all() }),
            Phase::CopyOwn { from, to } => once(round, Step::Copy { from: from.one(seat.rank), to: to.one(seat.rank) }),
            Phase::CopyOwnParts => {
                let [from, to] = [Space::Input, Space::Output].map(|space| space.up(2 * seat.rank, 2));
                once(round, Step::Copy { from, to })
            }
            Phase::RotateIn => {
                let from = Space::Input.up(seat.rank, seat.size);
                once(round, Step::Copy { from, to: Space::Temp.all() })
            }
            Phase::RotateOut => {
                let to = Piece { space: Space::Output, blocks: Blocks::Down(seat.rank) };
                once(round, Step::Copy { from: Space::Temp.all(), to })
            }
            Phase::Dissemination => doubling::dissemination(seat, round),
            Phase::TreeReduce { hold } => tree::reduce(seat, round, hold),
            Phase::TreeBcast { hold } => tree::bcast(seat, round, hold),
            Phase::TreeGather { hold } => tree::gather(seat, round, hold),
            Phase::TreeScatter { hold, numbering } => tree::scatter(seat, round, hold, numbering),
            Phase::LinearBcast => linear::bcast(seat, round),
            Phase::LinearReduce => linear::reduce(seat, round),
            Phase::LinearGather => linear::gather(seat, round),
            Phase::LinearScatter => linear::scatter(seat, round),
            Phase::LinearExchange { what, at_once } => linear::exchange(seat, round, what, at_once),
            Phase::AllAtOnce { what } => exchange::all_at_once(seat, round, what),
            Phase::GatherInOrder => exchange::gather_in_order(seat, round),
            Phase::ScatterInOrder { hold } => exchange::scatter_in_order(seat, round, hold),
            Phase::GatherPaced => exchange::gather_paced(seat, round),
            Phase::Down { tree, segments } => pipeline::down(seat, round, tree, segments),
            Phase::Up { tree, segments, home } => pipeline::up(seat, round, tree, segments, home),
            Phase::HandOver { tree, home } => pipeline::hand_over(seat, round, tree, home),
            Phase::SplitDown { first, second } => pipeline::split(seat, round, (first, second)),
            Phase::ScatterFilled { filled } => tree::scatter_filled(seat, round, filled),
            Phase::DoublingAllgatherAny => exchange::doubling_allgather(seat, round),
            Phase::Neighbors => exchange::neighbors(seat, round),
            Phase::DoubleRing => exchange::double_ring(seat, round),
            Phase::GatherAndRelease => exchange::gather_and_release(seat, round),
            Phase::DoublingBelow => exchange::doubling_below(seat, round),
            Phase::FoldHalves { hold } => halves::fold_in(seat, round, hold),
            Phase::Butterfly => halves::butterfly(seat, round),
            Phase::MirroredHome => halves::mirrored_home(seat, round),
            Phase::RingReduceHome => ring::reduce_home(seat, round),
            Phase::RingReduceSegments { turns } => ring::reduce_segments(seat, round, turns),
            Phase::RingAllgatherSegments { turns } => ring::allgather_segments(seat, round, turns),
            Phase::Pairwise => linear::pairwise(seat, round),
            Phase::PairwiseReduce => linear::pairwise_reduce(seat, round),
            Phase::FoldIn { hold } => doubling::fold_in(seat, round, hold),
            Phase::FoldOut { hold } => doubling::fold_out(seat, round, hold),
            Phase::FoldOutOwn { hold } => doubling::fold_out_own(seat, round, hold),
            Phase::Doubling { hold } => doubling::doubling(seat, round, hold),
            Phase::HalveNear { hold } => doubling::halve_near(seat, round, hold),
            Phase::DoubleNear { hold } => doubling::double_near(seat, round, hold),
            Phase::GatherNear { hold } => doubling::gather_near(seat, round, hold),
            Phase::HalveFar { hold } => doubling::halve_far(seat, round, hold),
            Phase::DoublingAllgather => doubling::allgather(seat, round),
            Phase::RingAllgather { shift } => ring::allgather(seat, round, shift),
            Phase::RingReduce => ring::reduce(seat, round),
            Phase::BruckAllgather => bruck::allgather(seat, round),
            Phase::BruckAlltoall => bruck::alltoall(seat, round),
            Phase::ChainBcast { segments } => ring::chain_bcast(seat, round, segments),
            Phase::ChainScan => scan::chain(seat, round),
            Phase::ChainExscan => scan::chain_exclusive(seat, round),
            Phase::DoublingScan { exclusive } => scan::doubling(seat, round, exclusive),
        }
    }
}

fn once(round: u32, step: Step) -> PhaseStep {
    if round == 0 { PhaseStep::Do(step) } else { PhaseStep::End }
}
