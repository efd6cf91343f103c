//! Scan and exscan of n bytes among p members. α is the latency of a message, β the time per byte and γ the time to
//! combine a byte.
//!
//! | algorithm | source | time | messages | order of ranks |
//! |---|---|---|---|---|
//! | recursive_doubling | MPICH's; Hillis, Steele 1986 | ⌈log2 p⌉ (α + nβ + 2 nγ) | Σ over bits of the ranks whose partner exists | kept |
//! | chain | along the ranks; Open MPI's "linear" | (p − 1) (α + nβ + nγ) | p − 1 | kept |
//!
//! Each message has n bytes. An exscan does not change rank 0's output (MPI-3.1, section 5.11.2).

use super::phase::{Next, Phase};
use super::step::{Side, Space, Step, Then};
use super::{Parts, Schedule, Seat};
use crate::platform::Algorithm;

pub(super) fn plan_scan(algorithm: Algorithm, seat: Seat) -> Option<Schedule> {
    let plan = Schedule::empty(seat, Parts::Split(1)).then(Phase::CopyAll { from: Space::Input, to: Space::Output });
    Some(match algorithm {
        Algorithm::RecursiveDoubling => plan
            .then(Phase::CopyAll { from: Space::Input, to: Space::Temp })
            .then(Phase::DoublingScan { exclusive: false }),
        Algorithm::Chain => plan.then(Phase::ChainScan),
        _ => return None,
    })
}

pub(super) fn plan_exscan(algorithm: Algorithm, seat: Seat) -> Option<Schedule> {
    let plan = Schedule::empty(seat, Parts::Split(1));
    Some(match algorithm {
        Algorithm::RecursiveDoubling => plan
            .then(Phase::CopyAll { from: Space::Input, to: Space::Temp })
            .then(Phase::DoublingScan { exclusive: true }),
        Algorithm::Chain => plan.then(Phase::ChainExscan),
        _ => return None,
    })
}

/// Combines the prefix of the previous rank with its own data, and passes the result on.
pub(super) fn chain(seat: Seat, round: u32) -> Next {
    let piece = Space::Output.all();
    match round {
        0 if seat.rank > 0 => Next::Do(Step::Recv { from: seat.rank - 1, piece, then: Then::Combine(Side::Left) }),
        1 if seat.rank + 1 < seat.size => Next::Do(Step::Send { to: seat.rank + 1, piece }),
        0 | 1 => Next::Skip,
        _ => Next::End,
    }
}

/// Keeps the prefix of the previous rank, and passes on its combination with the own data.
pub(super) fn chain_exclusive(seat: Seat, round: u32) -> Next {
    let (input, output, temp) = (Space::Input.all(), Space::Output.all(), Space::Temp.all());
    let (first, last) = (seat.rank == 0, seat.rank + 1 == seat.size);
    match round {
        0 if !first => Next::Do(Step::Recv { from: seat.rank - 1, piece: output, then: Then::Store }),
        1 if !first && !last => Next::Do(Step::Copy { from: output, to: temp }),
        2 if !first && !last => Next::Do(Step::Combine { from: input, to: temp, side: Side::Right }),
        3 if !last => {
            let piece = if first { input } else { temp };
            Next::Do(Step::Send { to: seat.rank + 1, piece })
        }
        0..=3 => Next::Skip,
        _ => Next::End,
    }
}

/// In round k, exchanges the result of its 2^k neighbours (Temp) with the rank whose bit k differs, if it exists.
pub(super) fn doubling(seat: Seat, round: u32, exclusive: bool) -> Next {
    let Some(distance) = 1u32.checked_shl(round / 3).filter(|&distance| distance < seat.size) else {
        return Next::End;
    };
    let partner = seat.rank ^ distance;
    if partner >= seat.size {
        return Next::Skip;
    }
    let (sum, got, output) = (Space::Temp.all(), Space::Scratch.all(), Space::Output.all());
    let side = Side::of(partner, seat.rank);
    match round % 3 {
        0 => Next::Do(Step::Exchange { to: partner, send: sum, from: partner, recv: got, then: Then::Store }),
        1 if side == Side::Right => Next::Skip,
        // Nothing was received from below before the round of the lowest set bit.
        1 if exclusive && distance == 1 << seat.rank.trailing_zeros() => Next::Do(Step::Copy { from: got, to: output }),
        1 => Next::Do(Step::Combine { from: got, to: output, side }),
        _ => Next::Do(Step::Combine { from: got, to: sum, side }),
    }
}
