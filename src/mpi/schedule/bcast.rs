//! Bcast of n bytes to p members, with α a message's latency and β a byte's time.
//!
//! | algorithm | source | time | messages | bytes sent |
//! |---|---|---|---|---|
//! | binomial | Thakur et al. 2005 | ⌈log2 p⌉ (α + nβ) | p − 1 | (p − 1) n |
//! | scatter_allgather | van de Geijn (Barnett et al. 1994); Thakur et al. 2005 | (⌈log2 p⌉ + p − 1) α + 2 (p−1)/p nβ | p − 1 + p (p − 1), or p − 1 + p log2 p | about n (½ log2 p + p − 1) |
//! | linear | the root sends all at once | (p − 1) (α + nβ) where the root's link is the limit | p − 1 | (p − 1) n |
//! | chain | pipeline of segments of at most 128 KiB, m of them (Open MPI) | (p − 2 + m) (α + nβ/m) | (p − 1) m | (p − 1) n |
//!
//! scatter_allgather divides at bytes; its allgather is recursive doubling for messages below 512 KiB among 2^k members
//! (log2 p rounds), as MPICH's is, else a ring.
//!
//! Thakur, Rabenseifner, Gropp 2005: "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1).

use super::phase::{Numbering, Phase};
use super::step::Space;
use super::{Parts, Schedule, Seat};
use crate::platform::Algorithm;
use crate::units::Bytes;

/// From here on the allgather is a ring (MPICH's `MPIR_CVAR_BCAST_LONG_MSG_SIZE`).
const LONG: u64 = 512 << 10;

/// The greatest segment of a chain.
const SEGMENT: u64 = 128 << 10;

pub(super) fn plan(algorithm: Algorithm, seat: Seat, size: Bytes) -> Option<Schedule> {
    let hold = Space::Output;
    let whole = Schedule::empty(seat, Parts::Split(1));
    Some(match algorithm {
        Algorithm::Binomial => whole.then(Phase::TreeBcast { hold }),
        Algorithm::Linear => whole.then(Phase::LinearBcast),
        Algorithm::Chain => {
            let segments = size.get().div_ceil(SEGMENT).clamp(1, 1 << 30) as u32;
            Schedule::empty(seat, Parts::Split(segments)).then(Phase::ChainBcast { segments })
        }
        Algorithm::ScatterAllgather => {
            let doubling = seat.size.is_power_of_two() && size.get() < LONG;
            let allgather = if doubling { Phase::DoublingAllgather } else { Phase::RingAllgather { shift: 0 } };
            Schedule::empty(seat, Parts::Split(seat.size))
                .then(Phase::TreeScatter { hold, numbering: Numbering::Relative })
                .then(allgather)
        }
        _ => return None,
    })
}
