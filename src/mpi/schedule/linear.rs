//! Exchanges of one member with all members, and of all members with all members. The messages are sent at once, in
//! batches, or in p − 1 rounds of pairs.

use super::phase::{Exchanged, PhaseStep};
use super::seat::{ScheduleStyle, Seat};
use super::step::{Side, Space, Step, Then};

/// The root starts a send to each member, in order of relative ranks, and waits for all sends.
pub(super) fn bcast(seat: Seat, round: u32) -> PhaseStep {
    let piece = Space::Output.all();
    from_root(seat, round, |to| Step::StartSend { to, piece }, |from| Step::Recv { from, piece, then: Then::Store })
}

/// The root starts a send of each member's block to that member and waits for all sends.
pub(super) fn scatter(seat: Seat, round: u32) -> PhaseStep {
    from_root(
        seat,
        round,
        |to| Step::StartSend { to, piece: Space::Input.one(to) },
        |from| Step::Recv { from, piece: Space::Output.one(seat.rank), then: Then::Store },
    )
}

/// The root posts a receive of each member's block and waits for all receives.
pub(super) fn gather(seat: Seat, round: u32) -> PhaseStep {
    from_root(
        seat,
        round,
        |from| Step::StartRecv { from, piece: Space::Output.one(from), then: Then::Store },
        |to| Step::Send { to, piece: Space::Input.one(seat.rank) },
    )
}

fn from_root(seat: Seat, round: u32, root: impl Fn(u32) -> Step, other: impl Fn(u32) -> Step) -> PhaseStep {
    if seat.rank != seat.root {
        return if round == 0 { PhaseStep::Do(other(seat.root)) } else { PhaseStep::End };
    }
    let others = seat.size - 1;
    match round {
        _ if round < others => PhaseStep::Do(root(seat.member(round + 1))),
        _ if round == others && others > 0 => PhaseStep::Do(Step::WaitAll),
        _ => PhaseStep::End,
    }
}

/// The root combines the contributions of all ranks, including its own, from the last rank to the first. The root uses
/// each contribution as the left operand.
pub(super) fn reduce(seat: Seat, round: u32) -> PhaseStep {
    let all = Space::Output.all();
    if round >= seat.size || (round > 0 && seat.rank != seat.root) {
        return PhaseStep::End;
    }
    if seat.rank != seat.root {
        return PhaseStep::Do(Step::Send { to: seat.root, piece: Space::Input.all() });
    }
    let from = seat.size - 1 - round;
    PhaseStep::Do(match (from == seat.rank, round) {
        (true, 0) => Step::Copy { from: Space::Input.all(), to: all },
        (true, _) => Step::Combine { from: Space::Input.all(), to: all, side: Side::Left },
        (false, 0) => Step::Recv { from, piece: all, then: Then::Store },
        (false, _) => Step::Recv { from, piece: all, then: Then::Combine(Side::Left) },
    })
}

/// Greatest number of incomplete receives, and of incomplete sends, of a member in an exchange with all members
/// (MPICH's `MPIR_CVAR_ALLTOALL_THROTTLE`).
const BATCH: u32 = 32;

/// Number of distances in one batch of an exchange: `fan` if `fan` is not 0, otherwise [`BATCH`].
pub(super) fn batch(fan: u32) -> u32 {
    if fan == 0 { BATCH } else { fan }
}

/// For each batch of `at_once` distances, a member posts the receives from members behind and starts the sends to
/// members ahead, the nearest members first. Then the member waits for all sends and receives of the batch.
pub(super) fn exchange(seat: Seat, round: u32, what: Exchanged, at_once: u32) -> PhaseStep {
    let steps = at_once.saturating_mul(2).saturating_add(1);
    let (batch, step) = (round / steps, round % steps);
    let nearest = 1 + u64::from(batch) * u64::from(at_once);
    if nearest >= u64::from(seat.size) {
        return PhaseStep::End;
    }
    // The distance fits into 32 bits because it is below the number of members.
    let nearest = nearest as u32;
    let count = at_once.min(seat.size - nearest);
    if step < count {
        let from = seat.back(seat.rank, nearest + step);
        PhaseStep::Do(Step::StartRecv { from, piece: Space::Output.one(from), then: Then::Store })
    } else if step < 2 * count {
        let to = seat.ahead(seat.rank, nearest + step - count);
        let block = match what {
            Exchanged::Own => seat.rank,
            Exchanged::Each => to,
        };
        PhaseStep::Do(Step::StartSend { to, piece: Space::Input.one(block) })
    } else if step == 2 * count {
        PhaseStep::Do(Step::WaitAll)
    } else {
        PhaseStep::End
    }
}

/// Destination and source of this member in round `k` ≥ 1. Among 2^j members, destination and source are the same
/// partner (except in Open MPI); otherwise they are the members at distance k ahead and behind.
fn partners(seat: Seat, k: u32) -> (u32, u32) {
    if seat.size.is_power_of_two() && seat.style != ScheduleStyle::OpenMpi {
        (seat.rank ^ k, seat.rank ^ k)
    } else {
        (seat.ahead(seat.rank, k), seat.back(seat.rank, k))
    }
}

/// In each of p − 1 rounds, a member sends a block to one member and receives a block from one member.
pub(super) fn pairwise(seat: Seat, round: u32) -> PhaseStep {
    if round + 1 >= seat.size {
        return PhaseStep::End;
    }
    let (to, from) = partners(seat, round + 1);
    let (send, recv) = (Space::Input.one(to), Space::Output.one(from));
    PhaseStep::Do(Step::Exchange { to, send, from, recv, then: Then::Store })
}

/// Like [`pairwise`], but combines the received data with this member's block.
pub(super) fn pairwise_reduce(seat: Seat, round: u32) -> PhaseStep {
    if round + 1 >= seat.size {
        return PhaseStep::End;
    }
    let (to, from) = partners(seat, round + 1);
    let (send, recv) = (Space::Input.one(to), Space::Output.one(seat.rank));
    PhaseStep::Do(Step::Exchange { to, send, from, recv, then: Then::Combine(Side::of(from, seat.rank)) })
}
