//! The parts that schedules are made of.

use super::seat::Seat;
use super::step::{Blocks, Piece, Space, Step};
use super::{bruck, doubling, linear, ring, scan, tree};

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
    /// Everybody with everybody at once.
    LinearExchange { what: Exchanged },
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
            Phase::LinearExchange { what } => linear::exchange(seat, round, what),
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
