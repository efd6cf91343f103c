//! Barrier: messages without data among p members. α is the latency of a message.
//!
//! | algorithm | source | rounds | messages |
//! |---|---|---|---|
//! | dissemination | Hensgen, Finkel, Manber 1988; MPICH's | ⌈log2 p⌉ α | p ⌈log2 p⌉ |
//! | binomial | gather and release along a tree (Mellor-Crummey, Scott 1991) | 2 ⌈log2 p⌉ α | 2 (p − 1) |
//! | recursive_doubling | with fold | (⌊log2 p⌋, + 2 if p ≠ 2^k) α | q log2 q + 2 (p − q) |
//! | linear | all with rank 0 (Open MPI's) | 2 α and (p − 1) overheads | 2 (p − 1) |
//! | double_ring | around the ring twice (Open MPI's) | 2 p α | 2 p |
//! | two_procs | an exchange, 2 members only | α | 2 |
//!
//! q is the greatest power of two not above p. In Open MPI's recursive_doubling, member m ≥ q exchanges messages with
//! member m − q; the number of messages is the same.

use super::phase::Phase;
use super::step::Space;
use super::{Parts, Schedule, ScheduleStyle, Seat};
use mcpsim_base::platform::{Algorithm, Method};

pub(super) fn plan(method: Method, seat: Seat) -> Option<Schedule> {
    let hold = Space::Output;
    let plan = Schedule::empty(seat, Parts::Split(1));
    Some(match method.algorithm {
        Algorithm::Dissemination | Algorithm::TwoProcs => plan.then(Phase::Dissemination),
        Algorithm::Linear => plan.then(Phase::GatherAndRelease),
        Algorithm::DoubleRing => plan.then(Phase::DoubleRing),
        Algorithm::RecursiveDoubling if seat.style == ScheduleStyle::OpenMpi => plan.then(Phase::DoublingBelow),
        Algorithm::Binomial => plan.then(Phase::TreeReduce { hold }).then(Phase::TreeBcast { hold }),
        Algorithm::RecursiveDoubling => {
            plan.then(Phase::FoldIn { hold }).then(Phase::Doubling { hold }).then(Phase::FoldOut { hold })
        }
        _ => return None,
    })
}
