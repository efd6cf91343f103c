//! Reduce-scatter of a total of n bytes among p members. α is the latency of a message, β the time per byte, γ the time
//! to combine a byte, and q the greatest power of two not above p. Blocks may vary in size.
//!
//! | algorithm | source | time | messages | bytes sent (equal blocks) |
//! |---|---|---|---|---|
//! | recursive_halving | Thakur et al. 2005 | log2 q α + (q−1)/q n (β + γ); a fold adds 2α + (n + n/p) β + nγ | q log2 q + 2 (p − q) | (q − 1) n + (p − q) (n + n/p) |
//! | pairwise | Thakur et al. 2005 | (p − 1) α + (p−1)/p n (β + γ) | p (p − 1) | (p − 1) n |
//! | binomial | reduce to rank 0, then scatter (for non-commutative operators) | 2 ⌈log2 p⌉ α + (⌈log2 p⌉ + 1) nβ + ⌈log2 p⌉ nγ | 2 (p − 1) | (p − 1) n + n/p × the one bits in 0, …, p − 1 |
//! | ring | blocks around a ring, combined on the way (Open MPI) | (p − 1) α + (p−1)/p n (β + γ) | p (p − 1) | (p − 1) n |
//! | butterfly | Träff 2005: halves of the remaining blocks, nearest partner first, then a mirror permutation | | at most q log2 q + q + 2 (p − q) | |
//! | nonoverlapping | a reduce to rank 0 up an unsegmented tree, then a scatter in order of ranks (Open MPI) | | 2 (p − 1) | (p − 1) n + (p − 1) n/p |
//!
//! The algorithms binomial and butterfly combine contributions in the order of ranks. The algorithm nonoverlapping
//! combines in the order of ranks if its inner reduce does. The other algorithms do not keep the order:
//! recursive_halving combines distant ranks first, and pairwise starts with the member's own contribution.

use super::phase::{Numbering, Phase};
use super::shape::Tree;
use super::step::Space;
use super::{Choice, Parts, Schedule, Seat, reduce};
use mcpsim_base::platform::Algorithm;

pub(super) fn plan(choice: Choice, seat: Seat) -> Option<Schedule> {
    let method = choice.method;
    let plan = Schedule::empty(seat, Parts::Ranks);
    let hold = Space::Temp;
    let copied = plan.then(Phase::CopyAll { from: Space::Input, to: hold });
    let home = Phase::CopyOwn { from: hold, to: Space::Output };
    Some(match method.algorithm {
        Algorithm::Ring => copied.then(Phase::RingReduceHome).then(home),
        Algorithm::Butterfly => copied.then(Phase::FoldIn { hold }).then(Phase::Butterfly).then(Phase::MirroredHome),
        Algorithm::Nonoverlapping => {
            // The blocks of the ranks are not divided further, so the in-order tree replaces a reduce that does not
            // use a tree.
            let tree = reduce::tree(choice.first, seat).unwrap_or(Tree::InOrderBinary);
            plan.then(Phase::Up { tree, segments: 1, home: hold })
                .then(Phase::HandOver { tree, home: hold })
                .then(Phase::ScatterInOrder { hold })
                .then_if(seat.rank == seat.root, home)
        }
        Algorithm::RecursiveHalving => plan
            .then(Phase::CopyAll { from: Space::Input, to: hold })
            .then(Phase::FoldIn { hold })
            .then(Phase::HalveFar { hold })
            .then(Phase::FoldOutOwn { hold })
            .then_if(seat.folded().is_some(), Phase::CopyOwn { from: hold, to: Space::Output }),
        Algorithm::Binomial => plan
            .then(Phase::CopyAll { from: Space::Input, to: hold })
            .then(Phase::TreeReduce { hold })
            .then(Phase::TreeScatter { hold, numbering: Numbering::Member })
            .then(Phase::CopyOwn { from: hold, to: Space::Output }),
        Algorithm::Pairwise => {
            plan.then(Phase::CopyOwn { from: Space::Input, to: Space::Output }).then(Phase::PairwiseReduce)
        }
        _ => return None,
    })
}
