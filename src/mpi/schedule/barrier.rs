//! Barrier: messages without data. Costs for p members with α a message's latency.
//!
//! | algorithm | source | rounds | messages |
//! |---|---|---|---|
//! | dissemination | Hensgen, Finkel, Manber 1988; MPICH's | ⌈log2 p⌉ α | p ⌈log2 p⌉ |
//! | binomial | gather and release along a tree (Mellor-Crummey, Scott 1991) | 2 ⌈log2 p⌉ α | 2 (p − 1) |
//! | recursive_doubling | with fold; Open MPI's | (⌊log2 p⌋, + 2 if p ≠ 2^k) α | q log2 q + 2 (p − q) |

use super::phase::Phase;
use super::step::Space;
use super::{Parts, Schedule, Seat};
use crate::platform::Algorithm;

pub(super) fn plan(algorithm: Algorithm, seat: Seat) -> Option<Schedule> {
    let hold = Space::Output;
    let plan = Schedule::empty(seat, Parts::Split(1));
    Some(match algorithm {
        Algorithm::Dissemination => plan.then(Phase::Dissemination),
        Algorithm::Binomial => plan.then(Phase::TreeReduce { hold }).then(Phase::TreeBcast { hold }),
        Algorithm::RecursiveDoubling => {
            plan.then(Phase::FoldIn { hold }).then(Phase::Doubling { hold }).then(Phase::FoldOut { hold })
        }
        _ => return None,
    })
}
