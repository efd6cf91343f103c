//! Alltoall of blocks of n bytes among p members, and its form with varying sizes, with α a message's latency, β a
//! byte's time and δ the time to copy a byte.
//!
//! | algorithm | source | time | messages | bytes sent |
//! |---|---|---|---|---|
//! | bruck | Bruck et al. 1997; Thakur et al. 2005 | ⌈log2 p⌉ α + ½ n p log2 p (β + δ) + 2 n p δ | p ⌈log2 p⌉ | p n × the ones in 0, …, p − 1 |
//! | pairwise | Thakur et al. 2005 | (p − 1) (α + nβ) | p (p − 1) | p (p − 1) n |
//! | linear | 32 at once (MPICH's for medium sizes) | (p − 1) (α + nβ) where links are the limit | p (p − 1) | p (p − 1) n |
//!
//! linear_sync is linear in windows of `fan` (Open MPI's, which replaces each message that is done); two_procs is an
//! exchange between 2 members. Open MPI's linear has all messages at once unless `fan` says otherwise.
//!
//! pairwise exchanges with rank xor k in round k where p = 2^j (not in Open MPI), else sends k ahead and receives from
//! k behind. bruck needs equal sizes.

use super::phase::{Exchanged, Phase};
use super::step::Space;
use super::{Parts, Schedule, ScheduleStyle, Seat, linear};
use crate::platform::{Algorithm, Method};

pub(super) fn plan(method: Method, seat: Seat) -> Option<Schedule> {
    let plan = Schedule::empty(seat, Parts::Ranks);
    let own = Phase::CopyOwn { from: Space::Input, to: Space::Output };
    let what = Exchanged::Each;
    Some(match method.algorithm {
        Algorithm::Bruck => plan.then(Phase::RotateIn).then(Phase::BruckAlltoall).then(Phase::RotateOut),
        Algorithm::Pairwise | Algorithm::TwoProcs => plan.then(own).then(Phase::Pairwise),
        Algorithm::Linear | Algorithm::LinearSync if seat.style == ScheduleStyle::OpenMpi && method.fan == 0 => {
            plan.then(own).then(Phase::AllAtOnce { what })
        }
        Algorithm::Linear | Algorithm::LinearSync => {
            plan.then(own).then(Phase::LinearExchange { what, at_once: linear::batch(method.fan) })
        }
        _ => return None,
    })
}
