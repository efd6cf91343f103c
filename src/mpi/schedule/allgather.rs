//! Allgather of blocks of n bytes among p members, and its form with varying sizes, with α a message's latency, β a byte's
//! time and δ the time to copy a byte.
//!
//! | algorithm | source | time | messages |
//! |---|---|---|---|
//! | recursive_doubling | Thakur et al. 2005 | log2 p α + (p − 1) nβ | p log2 p |
//! | bruck | Bruck et al. 1997; Thakur et al. 2005 | ⌈log2 p⌉ α + (p − 1) nβ + p nδ | p ⌈log2 p⌉ |
//! | ring | Thakur et al. 2005 | (p − 1) (α + nβ) | p (p − 1) |
//! | linear | 32 at once | (p − 1) (α + nβ) where links are the limit | p (p − 1) |
//!
//! All send p (p − 1) n bytes. recursive_doubling needs p = 2^k; among any other number it is bruck, which has as few
//! rounds. bruck gathers in a rotated buffer and copies it at the end.

use super::phase::{Exchanged, Phase};
use super::step::Space;
use super::{Parts, Schedule, Seat};
use crate::platform::Algorithm;

pub(super) fn plan(algorithm: Algorithm, seat: Seat) -> Option<Schedule> {
    let plan = Schedule::empty(seat, Parts::Ranks);
    let own = |to| Phase::CopyOwn { from: Space::Input, to };
    Some(match algorithm {
        Algorithm::RecursiveDoubling if seat.size.is_power_of_two() => {
            plan.then(own(Space::Output)).then(Phase::DoublingAllgather)
        }
        Algorithm::RecursiveDoubling | Algorithm::Bruck => plan
            .then(own(Space::Temp))
            .then(Phase::BruckAllgather)
            .then(Phase::CopyAll { from: Space::Temp, to: Space::Output }),
        Algorithm::Ring => plan.then(own(Space::Output)).then(Phase::RingAllgather { shift: 0 }),
        Algorithm::Linear => plan.then(own(Space::Output)).then(Phase::LinearExchange { what: Exchanged::Own }),
        _ => return None,
    })
}
