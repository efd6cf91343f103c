//! Phases: the building blocks of schedules.

use super::seat::Seat;
use super::shape::Tree;
use super::step::{Blocks, Piece, Space, Step};
use super::{bruck, doubling, exchange, halves, linear, pipeline, ring, scan, tree};

/// Action of a member in one round of a phase.
#[derive(Clone, Copy, Debug)]
pub(super) enum PhaseStep {
    /// The member executes this step in this round.
    Do(Step),
    /// The member has no step in this round.
    Skip,
    /// The phase has no more rounds.
    End,
}

/// Assignment of blocks to members in a tree: by relative rank in a bcast, by rank in a gather or scatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbering {
    /// In a bcast, block v belongs to the member with relative rank v.
    Relative,
    /// In a gather or scatter, block r belongs to rank r.
    Member,
}

/// Data that members send in a linear exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchanged {
    /// Every member sends its single block to all members.
    Own,
    /// Every member sends block j to member j.
    Each,
}

/// A phase of a schedule. The n-th step of a member in a phase depends only on the member's seat and on n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// A phase in which no member has a step.
    Nothing,
    /// Each member copies all blocks from one buffer to another.
    CopyAll { from: Space, to: Space },
    /// Each member copies its own block from one buffer to another.
    CopyOwn { from: Space, to: Space },
    /// Each member copies its own two blocks, in layouts with two blocks per member.
    CopyOwnParts,
    /// First phase of Bruck's algorithm: each member copies block j of the input to block j − rank of the temporary
    /// buffer.
    RotateIn,
    /// Last phase of Bruck's algorithm: each member copies block i of the temporary buffer to block rank − i of the
    /// output.
    RotateOut,
    /// In round k, each member sends an empty message to the member 2^k ahead.
    Dissemination,
    /// Members combine contributions up a binomial tree.
    TreeReduce { hold: Space },
    /// Members send all blocks down a binomial tree.
    TreeBcast { hold: Space },
    /// Members send the blocks of their subtrees up a binomial tree.
    TreeGather { hold: Space },
    /// Members send the blocks of subtrees down a binomial tree.
    TreeScatter { hold: Space, numbering: Numbering },
    /// The root sends all blocks to each member.
    LinearBcast,
    /// The root receives the contributions and combines them in rank order.
    LinearReduce,
    /// The root receives each member's block.
    LinearGather,
    /// The root sends the block of each member to that member.
    LinearScatter,
    /// Every member exchanges blocks with every other member, in batches of `at_once` distances.
    LinearExchange { what: Exchanged, at_once: u32 },
    /// Every member posts receives from all other members, then sends to all other members.
    AllAtOnce { what: Exchanged },
    /// The root receives the members' blocks one after another in order of ranks.
    GatherInOrder,
    /// The root sends the members' blocks one after another in order of ranks.
    ScatterInOrder { hold: Space },
    /// The root requests the data of one member after another.
    GatherPaced,
    /// Members send the segments of a buffer down a tree.
    Down { tree: Tree, segments: u32 },
    /// Members combine the segments of a buffer up a tree.
    Up { tree: Tree, segments: u32, home: Space },
    /// The member at the top of a tree sends the result to the root.
    HandOver { tree: Tree, home: Space },
    /// Members send two halves of the data, with `first` and `second` segments, down a binary tree. Then pairs of
    /// members exchange their halves.
    SplitDown { first: u32, second: u32 },
    /// Members send the blocks of subtrees down a binomial tree; only the first `filled` blocks contain data.
    ScatterFilled { filled: u32 },
    /// Like `DoublingAllgather`, but supports any number of members.
    DoublingAllgatherAny,
    /// Each member exchanges blocks with its two neighbours alternately.
    Neighbors,
    /// An empty message travels around the ring twice.
    DoubleRing,
    /// Every member sends an empty message to rank 0 and receives an empty message from rank 0.
    GatherAndRelease,
    /// Pairs of members at distance 1, 2, … exchange empty messages. Each member beyond a power of two has a partner
    /// that exchanges messages on its behalf.
    DoublingBelow,
    /// Each of two paired members combines one half of the data. The folded-away member then sends its half back.
    FoldHalves { hold: Space },
    /// Pairs of members at distance 1, 2, … exchange and combine halves of the remaining blocks, with one block per
    /// rank.
    Butterfly,
    /// Sends each block from the member that holds the block after `Butterfly` to the block's owner.
    MirroredHome,
    /// Members pass blocks around a ring and combine them; rank r ends with the result of block r.
    RingReduceHome,
    /// Members pass blocks around a ring and combine them, in `turns` turns. Each turn handles one segment of every
    /// block.
    RingReduceSegments { turns: u32 },
    /// Members pass blocks of `turns` segments each around a ring.
    RingAllgatherSegments { turns: u32 },
    /// Each member exchanges blocks with every other member, one member after another.
    Pairwise,
    /// Like `Pairwise`, but each member combines the received data with its own block.
    PairwiseReduce,
    /// The folded-away members send their data to their partners.
    FoldIn { hold: Space },
    /// The folded-away members receive the complete result.
    FoldOut { hold: Space },
    /// The folded-away members receive their own blocks of the result.
    FoldOutOwn { hold: Space },
    /// Pairs of members at distance 1, 2, … exchange and combine all blocks.
    Doubling { hold: Space },
    /// Pairs of members at distance 1, 2, … exchange and combine halves of the remaining blocks.
    HalveNear { hold: Space },
    /// The reverse of `HalveNear`: pairs of members exchange the combined blocks and store them.
    DoubleNear { hold: Space },
    /// Gathers the combined blocks at the root, in the reverse order of `HalveNear`.
    GatherNear { hold: Space },
    /// Pairs of members at distance q/2, q/4, … exchange and combine halves of the remaining blocks.
    HalveFar { hold: Space },
    /// Pairs of members at distance 1, 2, … exchange the gathered blocks. The number of members must be 2^k.
    DoublingAllgather,
    /// Members pass blocks around a ring; relative rank v starts with block v + `shift`.
    RingAllgather { shift: u32 },
    /// Members pass blocks around a ring and combine them.
    RingReduce,
    /// Members gather blocks in the temporary buffer; the number of gathered blocks doubles every round.
    BruckAllgather,
    /// In round k, each member sends the blocks whose distance from sender to receiver has bit k set.
    BruckAlltoall,
    /// Members pass segments along the relative ranks.
    ChainBcast { segments: u32 },
    /// Members pass the combined data of all lower ranks along the ranks.
    ChainScan,
    /// Members pass the combined data of all lower ranks along the ranks. A member's result excludes its own
    /// contribution.
    ChainExscan,
    /// Pairs of members at distance 1, 2, … exchange and combine the data of lower ranks.
    DoublingScan { exclusive: bool },
}

impl Phase {
    /// Step of the member at `seat` in `round` of this phase.
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
