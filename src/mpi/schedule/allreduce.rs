//! Allreduce of n bytes among p members. α is the latency of a message, β the time per byte, γ the time to combine a
//! byte, and q the greatest power of two not above p.
//!
//! | algorithm | source | time | messages | bytes sent | order of ranks |
//! |---|---|---|---|---|---|
//! | recursive_doubling | Thakur et al. 2005 | log2 q (α + nβ + nγ) | q log2 q | q log2 q n | kept |
//! | rabenseifner | Rabenseifner 2004; Thakur et al. 2005 | 2 log2 q α + 2 (q−1)/q nβ + (q−1)/q nγ | 2 q log2 q | 2 (q − 1) n | kept |
//! | ring | Patarasuk, Yuan 2009 | 2 (p − 1) α + 2 (p−1)/p nβ + (p−1)/p nγ | 2 p (p − 1) | 2 (p − 1) n | no |
//! | binomial | reduce to rank 0, then bcast | 2 ⌈log2 p⌉ (α + nβ) + ⌈log2 p⌉ nγ | 2 (p − 1) | 2 (p − 1) n | kept |
//! | linear | to rank 0 one after another, then from it at once | 2 (p − 1) (α + nβ) + (p − 1) nγ | 2 (p − 1) | 2 (p − 1) n | kept |
//! | segmented_ring | ring whose blocks are reduced in m turns (Open MPI) | | p (p − 1) (m + 1) | 2 (p − 1) n | no |
//! | nonoverlapping | a reduce to rank 0, then a bcast, with the library's methods (Open MPI) | | | | as the reduce |
//!
//! If p ≠ q, recursive_doubling and rabenseifner first reduce the members to q, which adds a time of 2 (α + nβ) + nγ, 2
//! (p − q) messages and 2 (p − q) n bytes.
//!
//! Open MPI's rabenseifner reduces the members to q by halves: each of two paired members combines one half of the
//! data, and the higher member returns its half to the lower member. The halves add 4 (p − q) messages and 3 ½ (p − q)
//! n bytes, including the final messages to the folded-away members. The buffer is divided into blocks by repeated
//! halving.

use super::phase::Phase;
use super::shape::Tree;
use super::step::Space;
use super::{Extent, Fold, Parts, Schedule, ScheduleStyle, Seat};
use mcpsim_base::platform::{Algorithm, Method};

pub(super) fn plan(method: Method, seat: Seat, extent: Extent) -> Option<Schedule> {
    let hold = Space::Output;
    let copied =
        |parts| Schedule::empty(seat, Parts::Split(parts)).then(Phase::CopyAll { from: Space::Input, to: hold });
    Some(match method.algorithm {
        Algorithm::Linear => Schedule::empty(seat, Parts::Split(1)).then(Phase::LinearReduce).then(Phase::LinearBcast),
        Algorithm::SegmentedRing => {
            let turns = extent.turns(seat.size, method.segment);
            Schedule::empty(seat, Parts::Nested { parts: seat.size, inner: turns, segment: 0 })
                .then(Phase::CopyAll { from: Space::Input, to: hold })
                .then(Phase::RingReduceSegments { turns })
                .then(Phase::RingAllgatherSegments { turns })
        }
        Algorithm::Rabenseifner if seat.style == ScheduleStyle::OpenMpi && seat.size > 1 => {
            let seat = seat.folding(Fold::Lower);
            Schedule::empty(seat, Parts::Halved(seat.power()))
                .then(Phase::CopyAll { from: Space::Input, to: hold })
                .then(Phase::FoldHalves { hold })
                .then(Phase::HalveNear { hold })
                .then(Phase::DoubleNear { hold })
                .then(Phase::FoldOut { hold })
        }
        Algorithm::RecursiveDoubling => {
            copied(1).then(Phase::FoldIn { hold }).then(Phase::Doubling { hold }).then(Phase::FoldOut { hold })
        }
        Algorithm::Rabenseifner => copied(seat.power())
            .then(Phase::FoldIn { hold })
            .then(Phase::HalveNear { hold })
            .then(Phase::DoubleNear { hold })
            .then(Phase::FoldOut { hold }),
        Algorithm::Ring => {
            let shift = if seat.size > 1 { 1 } else { 0 };
            copied(seat.size).then(Phase::RingReduce).then(Phase::RingAllgather { shift })
        }
        Algorithm::Binomial if seat.style == ScheduleStyle::OpenMpi => {
            copied(1).then(Phase::TreeReduce { hold }).then(Phase::Down { tree: Tree::HighBinomial, segments: 1 })
        }
        Algorithm::Binomial => copied(1).then(Phase::TreeReduce { hold }).then(Phase::TreeBcast { hold }),
        _ => return None,
    })
}
