//! Phases in which members pass blocks around a ring or along a chain, which is an open ring.

use super::phase::PhaseStep;
use super::seat::Seat;
use super::step::{Side, Space, Step, Then};

/// In each of p − 1 rounds, a member passes the last received block to the next member. Relative rank v starts with
/// block v + `shift`.
pub(super) fn allgather(seat: Seat, round: u32, shift: u32) -> PhaseStep {
    let first = seat.ahead(seat.relative(), shift);
    around(seat, round, first, Then::Store)
}

/// In each of p − 1 rounds, a member combines the received block with its own data and passes the result to the next
/// member. Rank r ends with the result of block r + 1.
pub(super) fn reduce(seat: Seat, round: u32) -> PhaseStep {
    around(seat, round, seat.rank, Then::Combine(Side::Left))
}

fn around(seat: Seat, round: u32, first: u32, then: Then) -> PhaseStep {
    if round + 1 >= seat.size {
        return PhaseStep::End;
    }
    let block = seat.back(first, round);
    PhaseStep::Do(Step::Exchange {
        to: seat.ahead(seat.rank, 1),
        send: Space::Output.one(block),
        from: seat.back(seat.rank, 1),
        recv: Space::Output.one(seat.back(block, 1)),
        then,
    })
}

/// Like [`reduce`], with one block per rank in the temporary buffer. Rank r ends with the result of its own block.
pub(super) fn reduce_home(seat: Seat, round: u32) -> PhaseStep {
    if round + 1 >= seat.size {
        return PhaseStep::End;
    }
    let block = seat.back(seat.rank, round + 1);
    let (to, from) = (seat.ahead(seat.rank, 1), seat.back(seat.rank, 1));
    let (send, recv) = (Space::Temp.one(block), Space::Temp.one(seat.back(block, 1)));
    PhaseStep::Do(Step::Exchange { to, send, from, recv, then: Then::Combine(Side::Left) })
}

/// Repeats [`reduce`] `turns` times, each for one segment of every block.
pub(super) fn reduce_segments(seat: Seat, round: u32, turns: u32) -> PhaseStep {
    let rounds = seat.size - 1;
    let Some(turn) = round.checked_div(rounds).filter(|&turn| turn < turns) else { return PhaseStep::End };
    let block = seat.back(seat.rank, round % rounds);
    let piece = |block: u32| Space::Output.one(block * turns + turn);
    PhaseStep::Do(Step::Exchange {
        to: seat.ahead(seat.rank, 1),
        send: piece(block),
        from: seat.back(seat.rank, 1),
        recv: piece(seat.back(block, 1)),
        then: Then::Combine(Side::Left),
    })
}

/// Like [`allgather`], but for the result of [`reduce_segments`]. Each block consists of `turns` segments, which are
/// passed together.
pub(super) fn allgather_segments(seat: Seat, round: u32, turns: u32) -> PhaseStep {
    if round + 1 >= seat.size {
        return PhaseStep::End;
    }
    let block = seat.back(seat.ahead(seat.rank, 1), round);
    let piece = |block: u32| Space::Output.up(block * turns, turns);
    PhaseStep::Do(Step::Exchange {
        to: seat.ahead(seat.rank, 1),
        send: piece(block),
        from: seat.back(seat.rank, 1),
        recv: piece(seat.back(block, 1)),
        then: Then::Store,
    })
}

/// A member receives segment after segment from the previous relative rank. At the same time, the member sends the last
/// received segment to the next relative rank.
pub(super) fn chain_bcast(seat: Seat, round: u32, segments: u32) -> PhaseStep {
    let v = seat.relative();
    let recv = (v > 0 && round < segments).then(|| (seat.back(seat.rank, 1), Space::Output.one(round)));
    // The first member has all segments from the start; all other members send each segment one round after they
    // receive the segment.
    let sent = if v == 0 { Some(round) } else { round.checked_sub(1) };
    let send = sent
        .filter(|&segment| segment < segments && v + 1 < seat.size)
        .map(|segment| (seat.ahead(seat.rank, 1), Space::Output.one(segment)));
    match (send, recv) {
        (Some((to, send)), Some((from, recv))) => {
            PhaseStep::Do(Step::Exchange { to, send, from, recv, then: Then::Store })
        }
        (Some((to, piece)), None) => PhaseStep::Do(Step::Send { to, piece }),
        (None, Some((from, piece))) => PhaseStep::Do(Step::Recv { from, piece, then: Then::Store }),
        (None, None) => PhaseStep::End,
    }
}
