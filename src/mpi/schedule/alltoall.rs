//! Alltoall of blocks of n bytes among p members, and alltoallv. α is the latency of a message, β the time per byte and
//! δ the time to copy a byte.
//!
//! | algorithm | source | time | messages | bytes sent |
//! |---|---|---|---|---|
//! | bruck | Bruck et al. 1997; Thakur et al. 2005 | ⌈log2 p⌉ α + ½ n p log2 p (β + δ) + 2 n p δ | p ⌈log2 p⌉ | p n × the one bits in 0, …, p − 1 |
//! | pairwise | Thakur et al. 2005 | (p − 1) (α + nβ) | p (p − 1) | p (p − 1) n |
//! | linear | 32 at once (MPICH's for medium sizes) | (p − 1) (α + nβ) if links are the limit | p (p − 1) | p (p − 1) n |
//!
//! linear_sync is linear with at most `fan` messages at a time. Open MPI's linear_sync starts a new message when one
//! completes; in mcpsim a batch of `fan` messages follows another. two_procs is an exchange between 2 members. Open
//! MPI's linear starts all messages at once unless `fan` is set.
//!
//! In round k of pairwise, each member exchanges with rank xor k if p = 2^j (not in Open MPI). For other p, each
//! member sends to the member k ahead and receives from the member k behind. bruck needs equal sizes.

use super::phase::{Exchanged, Phase};
use super::step::Space;
use super::{Parts, Schedule, ScheduleStyle, Seat, linear};
use mcpsim_base::platform::{Algorithm, Method};

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
