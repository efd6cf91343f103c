//! Reduce of n bytes from p members. α is the latency of a message, β the time per byte, γ the time to combine a
//! byte, and q the greatest power of two not above p.
//!
//! | algorithm | source | time | messages | bytes sent | order of ranks |
//! |---|---|---|---|---|---|
//! | binomial | Thakur et al. 2005 | ⌈log2 p⌉ (α + nβ + nγ) | p − 1 | (p − 1) n | kept: see below |
//! | rabenseifner | Rabenseifner 2004; Thakur et al. 2005 | 2 log2 q α + 2 (q−1)/q nβ + (q−1)/q nγ; a fold adds α + nβ + nγ | q log2 q + q − 1 + (p − q) | (q − 1) n + n log2 q / 2 + (p − q) n | kept |
//! | linear | the root takes one after another | (p − 1) (α + nβ + nγ) | p − 1 | (p − 1) n | kept |
//! | pipeline, chains, binary, in_order_binary, knomial | trees (see `shape`), m segments | | (p − 1) m | (p − 1) n | in_order_binary |
//!
//! A binomial tree with root 0 combines contributions in the order of ranks. If the order matters and the root is
//! another rank, the top of the tree is rank 0, which sends the result to the root, as in MPICH and Open MPI. The top
//! of in_order_binary is the last rank; if it is not the root, it sends the result to the root, which adds one message
//! and n bytes. Open MPI's trees combine data into the first received contribution and copy nothing. Open MPI's
//! rabenseifner reduces the members to q by halves.
//!
//! The algorithm rabenseifner is a reduce-scatter by vector halving and distance doubling, then a gather along the same
//! pairs. All members together send n/2 bytes in each of the log2 q rounds of the gather.

use super::bcast;
use super::phase::Phase;
use super::shape::Tree;
use super::step::Space;
use super::tree::is_leaf;
use super::{Extent, Fold, Parts, Schedule, ScheduleStyle, Seat};
use mcpsim_base::platform::{Algorithm, Method};

/// Tree of the algorithm of `method`; `None` if the algorithm does not use a tree.
pub(super) fn tree(method: Method, seat: Seat) -> Option<Tree> {
    match method.algorithm {
        Algorithm::Binomial if seat.ordered && seat.root != 0 => Some(Tree::InOrderBinomial),
        Algorithm::InOrderBinary => Some(Tree::InOrderBinary),
        _ => bcast::tree(method, ScheduleStyle::Flat),
    }
}

pub(super) fn plan(method: Method, seat: Seat, extent: Extent) -> Option<Schedule> {
    let home = Space::Output;
    let hold = if seat.rank == seat.root { home } else { Space::Temp };
    let copy = Phase::CopyAll { from: Space::Input, to: hold };
    let whole = Schedule::empty(seat, Parts::Split(1));
    let plain = seat.style != ScheduleStyle::OpenMpi && method.segment == 0;
    if let Some(tree) = tree(method, seat).filter(|tree| !(plain && *tree == Tree::Binomial)) {
        let (segments, parts) = extent.segments(method.segment);
        let up = Schedule::empty(seat, parts).then(Phase::Up { tree, segments, home });
        return Some(up.then(Phase::HandOver { tree, home }));
    }
    Some(match method.algorithm {
        Algorithm::Rabenseifner if seat.style == ScheduleStyle::OpenMpi && seat.size > 1 => {
            let seat = seat.folding(Fold::Lower);
            Schedule::empty(seat, Parts::Halved(seat.power()))
                .then(copy)
                .then(Phase::FoldHalves { hold })
                .then(Phase::HalveNear { hold })
                .then(Phase::GatherNear { hold })
        }
        // A leaf of the tree sends the program's input without a copy.
        Algorithm::Binomial if is_leaf(seat) && seat.rank != seat.root => {
            whole.then(Phase::TreeReduce { hold: Space::Input })
        }
        Algorithm::Binomial => whole.then(copy).then(Phase::TreeReduce { hold }),
        Algorithm::Linear => whole.then(Phase::LinearReduce),
        Algorithm::Rabenseifner => Schedule::empty(seat, Parts::Split(seat.power()))
            .then(copy)
            .then(Phase::FoldIn { hold })
            .then(Phase::HalveNear { hold })
            .then(Phase::GatherNear { hold }),
        _ => return None,
    })
}
