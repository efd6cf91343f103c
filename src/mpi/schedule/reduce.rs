//! Reduce of n bytes from p members, with α a message's latency, β a byte's time, γ the time to combine a byte, and q the
//! greatest power of two up to p.
//!
//! | algorithm | source | time | messages | bytes sent | order of ranks |
//! |---|---|---|---|---|---|
//! | binomial | Thakur et al. 2005 | ⌈log2 p⌉ (α + nβ + nγ) | p − 1 | (p − 1) n | if the root is 0 |
//! | rabenseifner | Rabenseifner 2004; Thakur et al. 2005 | 2 log2 q α + 2 (q−1)/q nβ + (q−1)/q nγ; a fold adds α + nβ + nγ | q log2 q + q − 1 + (p − q) | (q − 1) n + n log2 q / 2 + (p − q) n | kept |
//! | linear | the root takes one after another | (p − 1) (α + nβ + nγ) | p − 1 | (p − 1) n | kept |
//!
//! rabenseifner: reduce-scatter by vector halving and distance doubling, then a gather along the same pairs. Bytes
//! sent by the gather: each of log2 q rounds moves n/2 in all.

use super::phase::Phase;
use super::step::Space;
use super::tree::is_leaf;
use super::{Parts, Schedule, Seat};
use crate::platform::Algorithm;

pub(super) fn plan(algorithm: Algorithm, seat: Seat) -> Option<Schedule> {
    let hold = if seat.rank == seat.root { Space::Output } else { Space::Temp };
    let copy = Phase::CopyAll { from: Space::Input, to: hold };
    let whole = Schedule::empty(seat, Parts::Split(1));
    Some(match algorithm {
        // A leaf sends what the program gave.
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
