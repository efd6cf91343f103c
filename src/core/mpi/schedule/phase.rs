//! The parts that schedules are made of.

use super::seat::Seat;
use super::shape::Tree;
use super::step::{Blocks, Piece, Space, Step};
use super::{bruck, doubling, exchange, halves, linear, pipeline, ring, scan, tree};

/// What a phase gives for a round.
#[derive(Clone, Copy, Debug)]
pub(super) enum Next {
    /// This step.
    Do(Step),
    /// No step in this round.
    Skip,
    /// The phase is over.
    End,
}

/// Which member's number a block has in a bcast's tree or ring, and which in a gather's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbering {
    /// Block v is that of relative rank v.
    Relative,
    /// Block r is that of rank r.
    Member,
}

/// Whose data linear exchanges carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exchanged {
    /// Every member sends its one block to all.
    Own,
    /// Every member sends block j to member j.
    Each,
}

/// A part of a schedule; its n-th step follows from the seat and n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// No steps.
    Nothing,
    /// Copies everything.
    CopyAll { from: Space, to: Space },
    /// Copies the block of this member's number.
    CopyOwn { from: Space, to: Space },
    /// Copies both blocks of this member, of two that each has.
    CopyOwnParts,
    /// Bruck's first phase: block j of the input becomes block j − rank of Temp.
    RotateIn,
    /// Bruck's last: block i of Temp becomes block rank − i of the output.
    RotateOut,
    /// In round k, nothing to the member 2^k ahead.
    Dissemination,
    /// Up a binomial tree, combining.
    TreeReduce { hold: Space },
    /// Down a binomial tree, everything.
    TreeBcast { hold: Space },
    /// Up a binomial tree, the blocks of a subtree.
    TreeGather { hold: Space },
    /// Down a binomial tree, the blocks of a subtree.
    TreeScatter { hold: Space, numbering: Numbering },
    /// The root sends everything to each.
    LinearBcast,
    /// The root receives and combines in rank order.
    LinearReduce,
    /// The root receives each one's block.
    LinearGather,
    /// The root sends each one's block.
    LinearScatter,
    /// Everybody with everybody, so many at a time.
    LinearExchange { what: Exchanged, at_once: u32 },
    /// Everybody with everybody, all receives first.
    AllAtOnce { what: Exchanged },
    /// The root receives one block after another in order of ranks.
    GatherInOrder,
    /// The root sends one block after another in order of ranks.
    ScatterInOrder { hold: Space },
    /// The root asks one after another for its data.
    GatherPaced,
    /// Segments down a tree.
    Down { tree: Tree, segments: u32 },
    /// Segments up a tree, combining.
    Up { tree: Tree, segments: u32, home: Space },
    /// From the top of a tree to the root.
    HandOver { tree: Tree, home: Space },
    /// Two halves down a binary tree, of so many segments, then exchanged.
    SplitDown { first: u32, second: u32 },
    /// Down a binomial tree, the blocks of a subtree; only the first so many have data.
    ScatterFilled { filled: u32 },
    /// As `DoublingAllgather` for any number of members.
    DoublingAllgatherAny,
    /// With both neighbours in turn.
    Neighbors,
    /// Nothing around the ring twice.
    DoubleRing,
    /// Nothing to rank 0 and back.
    GatherAndRelease,
    /// Nothing by pairs, the surplus told by those at the bottom.
    DoublingBelow,
    /// The surplus members combine a half and give it back.
    FoldHalves { hold: Space },
    /// Halves at distance 1, 2, … over a block a rank.
    Butterfly,
    /// Blocks to whose they are, from their mirror image.
    MirroredHome,
    /// Blocks around a ring, combined on the way; rank r ends with block r.
    RingReduceHome,
    /// The same in segments of blocks of a split buffer.
    RingReduceSegments { turns: u32 },
    /// Blocks of so many segments around a ring.
    RingAllgatherSegments { turns: u32 },
    /// Everybody with everybody, one after another.
    Pairwise,
    /// The same, combining what arrives.
    PairwiseReduce,
    /// The surplus members give what they have.
    FoldIn { hold: Space },
    /// They get everything back.
    FoldOut { hold: Space },
    /// They get their block back.
    FoldOutOwn { hold: Space },
    /// Pairs exchange and combine everything.
    Doubling { hold: Space },
    /// Pairs at distance 1, 2, … exchange and combine halves of what is left.
    HalveNear { hold: Space },
    /// Its reverse, storing.
    DoubleNear { hold: Space },
    /// Its reverse, towards the root only.
    GatherNear { hold: Space },
    /// Pairs at distance q/2, q/4, … exchange and combine halves of what is left.
    HalveFar { hold: Space },
    /// Pairs at distance 1, 2, … exchange what they have gathered; 2^k members only.
    DoublingAllgather,
    /// Blocks go around a ring; relative rank v starts with block v + `shift`.
    RingAllgather { shift: u32 },
    /// Blocks go around a ring, combined on the way.
    RingReduce,
    /// Blocks gather in Temp, twice as many every round.
    BruckAllgather,
    /// Blocks go where the bits of their distance say.
    BruckAlltoall,
    /// Segments along the relative ranks.
    ChainBcast { segments: u32 },
    /// Prefixes along the ranks.
    ChainScan,
    /// Prefixes without oneself along the ranks.
    ChainExscan,
    /// Prefixes by pairs at distance 1, 2, ….
    DoublingScan { exclusive: bool },
}

impl Phase {
    /// What this phase does at `seat` in `round`.
    #[inline]
    pub(super) fn step(self, seat: Seat, round: u32) -> Next {
        match self {
            Phase::Nothing => Next::End,
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

fn once(round: u32, step: Step) -> Next {
    if round == 0 { Next::Do(step) } else { Next::End }
}
