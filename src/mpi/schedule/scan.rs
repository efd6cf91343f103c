//! Scan and exscan of n bytes among p members. α is the latency of a message, β the time per byte and γ the time to
//! combine a byte.
//!
//! | algorithm | source | time | messages | order of ranks |
//! |---|---|---|---|---|
//! | recursive_doubling | MPICH's; Hillis, Steele 1986 | ⌈log2 p⌉ (α + nβ + 2 nγ) | Σ over bits of the ranks whose partner exists | kept |
//! | chain | along the ranks; Open MPI's "linear" | (p − 1) (α + nβ + nγ) | p − 1 | kept |
//!
//! Each message has n bytes. An exscan does not change rank 0's output (MPI-3.1, section 5.11.2).

use super::phase::{Phase, PhaseStep};
use super::step::{Side, Space, Step, Then};
use super::{Parts, Schedule, Seat};
use mcpsim_base::platform::Algorithm;

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

/// A member combines the data received from the previous rank with its own data, and sends the result to the next rank.
pub(super) fn chain(seat: Seat, round: u32) -> PhaseStep {
    let piece = Space::Output.all();
    match round {
        0 if seat.rank > 0 => PhaseStep::Do(Step::Recv { from: seat.rank - 1, piece, then: Then::Combine(Side::Left) }),
        1 if seat.rank + 1 < seat.size => PhaseStep::Do(Step::Send { to: seat.rank + 1, piece }),
        0 | 1 => PhaseStep::Skip,
        _ => PhaseStep::End,
    }
}

/// A member stores the data received from the previous rank. The member combines the received data with its own data
/// and sends the result to the next rank.
pub(super) fn chain_exclusive(seat: Seat, round: u32) -> PhaseStep {
    let (input, output, temp) = (Space::Input.all(), Space::Output.all(), Space::Temp.all());
    let (first, last) = (seat.rank == 0, seat.rank + 1 == seat.size);
    match round {
        0 if !first => PhaseStep::Do(Step::Recv { from: seat.rank - 1, piece: output, then: Then::Store }),
        1 if !first && !last => PhaseStep::Do(Step::Copy { from: output, to: temp }),
        2 if !first && !last => PhaseStep::Do(Step::Combine { from: input, to: temp, side: Side::Right }),
        3 if !last => {
            let piece = if first { input } else { temp };
            PhaseStep::Do(Step::Send { to: seat.rank + 1, piece })
        }
        0..=3 => PhaseStep::Skip,
        _ => PhaseStep::End,
    }
}

/// In round k, a rank exchanges the combined data of its group of 2^k ranks with the rank that differs in bit k, if
/// that rank exists. The combined data are in the temporary buffer.
pub(super) fn doubling(seat: Seat, round: u32, exclusive: bool) -> PhaseStep {
    let Some(distance) = 1u32.checked_shl(round / 3).filter(|&distance| distance < seat.size) else {
        return PhaseStep::End;
    };
    let partner = seat.rank ^ distance;
    if partner >= seat.size {
        return PhaseStep::Skip;
    }
    let (sum, got, output) = (Space::Temp.all(), Space::Scratch.all(), Space::Output.all());
    let side = Side::of(partner, seat.rank);
    match round % 3 {
        0 => PhaseStep::Do(Step::Exchange { to: partner, send: sum, from: partner, recv: got, then: Then::Store }),
        1 if side == Side::Right => PhaseStep::Skip,
        // A rank receives nothing from lower ranks before the round of the rank's lowest set bit.
        1 if exclusive && distance == 1 << seat.rank.trailing_zeros() => {
            PhaseStep::Do(Step::Copy { from: got, to: output })
        }
        1 => PhaseStep::Do(Step::Combine { from: got, to: output, side }),
        _ => PhaseStep::Do(Step::Combine { from: got, to: sum, side }),
    }
}
