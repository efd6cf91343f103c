//! Allgather of blocks of n bytes among p members, and allgatherv. α is the latency of a message, β the time per byte
//! and δ the time to copy a byte.
//!
//! | algorithm | source | time | messages |
//! |---|---|---|---|
//! | recursive_doubling | Thakur et al. 2005 | log2 p α + (p − 1) nβ | p log2 p |
//! | bruck | Bruck et al. 1997; Thakur et al. 2005 | ⌈log2 p⌉ α + (p − 1) nβ + p nδ | p ⌈log2 p⌉ |
//! | ring | Thakur et al. 2005 | (p − 1) (α + nβ) | p (p − 1) |
//! | neighbor_exchange | Chen et al. 2005: even p | (p/2) α + (p − 1) nβ | p²/2 |
//! | two_procs | an exchange, 2 members only | α + nβ | 2 |
//! | nonoverlapping | a gather to rank 0, then a bcast along an unsegmented tree (Open MPI's linear) | | 2 (p − 1) |
//! | linear | 32 at once | (p − 1) (α + nβ) if links are the limit | p (p − 1) |
//!
//! All algorithms except nonoverlapping send p (p − 1) n bytes. recursive_doubling needs p = 2^k; for other p, bruck
//! replaces it, with ⌈log2 p⌉ rounds. bruck gathers in a rotated buffer and copies that buffer to the output at the
//! end.

use super::phase::{Exchanged, Phase};
use super::shape::Tree;
use super::step::Space;
use super::{Choice, Parts, Schedule, ScheduleStyle, Seat, bcast, gather, linear};
use mcpsim_base::platform::Algorithm;

pub(super) fn plan(choice: Choice, seat: Seat) -> Option<Schedule> {
    let method = choice.method;
    let plan = Schedule::empty(seat, Parts::Ranks);
    let own = |to| Phase::CopyOwn { from: Space::Input, to };
    Some(match method.algorithm {
        Algorithm::Nonoverlapping => {
            // The blocks of the ranks are not divided further, so a binomial bcast replaces a bcast that does not use
            // a tree.
            let tree = bcast::tree(choice.second, seat.style).unwrap_or(match seat.style {
                ScheduleStyle::OpenMpi => Tree::HighBinomial,
                _ => Tree::Binomial,
            });
            gather::plan_gather(choice.first, seat)?.then(Phase::Down { tree, segments: 1 })
        }
        Algorithm::NeighborExchange if seat.size.is_multiple_of(2) => {
            plan.then(own(Space::Output)).then(Phase::Neighbors)
        }
        Algorithm::TwoProcs | Algorithm::NeighborExchange => {
            plan.then(own(Space::Output)).then(Phase::RingAllgather { shift: 0 })
        }
        Algorithm::Linear if seat.style == ScheduleStyle::OpenMpi && method.fan == 0 => {
            plan.then(own(Space::Output)).then(Phase::AllAtOnce { what: Exchanged::Own })
        }
        Algorithm::RecursiveDoubling if seat.size.is_power_of_two() => {
            plan.then(own(Space::Output)).then(Phase::DoublingAllgather)
        }
        Algorithm::RecursiveDoubling | Algorithm::Bruck => plan
            .then(own(Space::Temp))
            .then(Phase::BruckAllgather)
            .then(Phase::CopyAll { from: Space::Temp, to: Space::Output }),
        Algorithm::Ring => plan.then(own(Space::Output)).then(Phase::RingAllgather { shift: 0 }),
        Algorithm::Linear => plan
            .then(own(Space::Output))
            .then(Phase::LinearExchange { what: Exchanged::Own, at_once: linear::batch(method.fan) }),
        _ => return None,
    })
}
