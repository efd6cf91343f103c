//! Exchanges that only Open MPI uses: with alternating neighbours, with all members at once, and one member at a time
//! at the root's request.

use super::phase::{Exchanged, PhaseStep};
use super::seat::Seat;
use super::step::{Piece, Space, Step, Then};

/// Exchange of every member with all other members. A member posts all receives, the nearest member ahead first. Then
/// the member starts all sends, the nearest member behind first.
pub(super) fn all_at_once(seat: Seat, round: u32, what: Exchanged) -> PhaseStep {
    let others = seat.size - 1;
    let block = |to: u32| match what {
        Exchanged::Own => seat.rank,
        Exchanged::Each => to,
    };
    PhaseStep::Do(match round {
        _ if others == 0 => return PhaseStep::End,
        _ if round < others => {
            let from = seat.ahead(seat.rank, round + 1);
            Step::StartRecv { from, piece: Space::Output.one(from), then: Then::Store }
        }
        _ if round - others < others => {
            let to = seat.back(seat.rank, round - others + 1);
            Step::StartSend { to, piece: Space::Input.one(block(to)) }
        }
        _ if round == 2 * others => Step::WaitAll,
        _ => return PhaseStep::End,
    })
}

/// Returns the member with index `number` in order of ranks, without counting the root.
fn other(seat: Seat, number: u32) -> u32 {
    if number < seat.root { number } else { number + 1 }
}

/// The root receives the block of each member, one after another in order of ranks.
pub(super) fn gather_in_order(seat: Seat, round: u32) -> PhaseStep {
    if seat.rank != seat.root {
        let step = Step::Send { to: seat.root, piece: Space::Input.one(seat.rank) };
        return if round == 0 { PhaseStep::Do(step) } else { PhaseStep::End };
    }
    if round + 1 >= seat.size {
        return PhaseStep::End;
    }
    let from = other(seat, round);
    PhaseStep::Do(Step::Recv { from, piece: Space::Output.one(from), then: Then::Store })
}

/// The root sends the block of each member to that member, one after another in order of ranks.
pub(super) fn scatter_in_order(seat: Seat, round: u32, hold: Space) -> PhaseStep {
    if seat.rank != seat.root {
        let step = Step::Recv { from: seat.root, piece: Space::Output.one(seat.rank), then: Then::Store };
        return if round == 0 { PhaseStep::Do(step) } else { PhaseStep::End };
    }
    if round + 1 >= seat.size {
        return PhaseStep::End;
    }
    let to = other(seat, round);
    PhaseStep::Do(Step::Send { to, piece: hold.one(to) })
}

/// The root requests the data of each member in turn. Before the next request, the root waits for the first part of the
/// member's data. At the end, the root waits for the second parts of all members. Block 2 r is the first part of rank
/// r's data, block 2 r + 1 the second part.
pub(super) fn gather_paced(seat: Seat, round: u32) -> PhaseStep {
    let nothing = Space::Input.nothing();
    let parts = |space: Space, rank: u32| [space.one(2 * rank), space.one(2 * rank + 1)];
    if seat.rank != seat.root {
        let [first, rest] = parts(Space::Input, seat.rank);
        return PhaseStep::Do(match round {
            0 => Step::Recv { from: seat.root, piece: nothing, then: Then::Store },
            1 => Step::Send { to: seat.root, piece: first },
            2 => Step::Send { to: seat.root, piece: rest },
            _ => return PhaseStep::End,
        });
    }
    let (number, k) = (round / 4, round % 4);
    if number + 1 >= seat.size {
        return if k == 0 && number + 1 == seat.size && number > 0 {
            PhaseStep::Do(Step::WaitAll)
        } else {
            PhaseStep::End
        };
    }
    let from = other(seat, number);
    let [first, rest] = parts(Space::Output, from);
    PhaseStep::Do(match k {
        0 => Step::StartRecv { from, piece: first, then: Then::Store },
        1 => Step::Send { to: from, piece: nothing },
        2 => Step::StartRecv { from, piece: rest, then: Then::Store },
        _ => Step::WaitRecv { back: 1 },
    })
}

/// Exchanges with the two neighbours alternately, in p/2 rounds for even p. In the first round a member sends its own
/// block, and in each later round the last two received blocks.
pub(super) fn neighbors(seat: Seat, round: u32) -> PhaseStep {
    if 2 * round >= seat.size {
        return PhaseStep::End;
    }
    let even = seat.rank.is_multiple_of(2);
    // Pairs of blocks begin at even ranks. The closure returns the first block of the pair that this member has
    // received after `turn` rounds.
    let start = |turn: u32| {
        let pair = seat.rank & !1;
        let distance = 2 * turn.div_ceil(2);
        // Members with even rank first receive from the previous rank, members with odd rank from the next.
        if (turn % 2 == 1) == even { seat.back(pair, distance) } else { seat.ahead(pair, distance) }
    };
    let partner = if round.is_multiple_of(2) == even { seat.ahead(seat.rank, 1) } else { seat.back(seat.rank, 1) };
    let (send, recv) = if round == 0 {
        (Space::Output.one(seat.rank), Space::Output.one(partner))
    } else {
        (Space::Output.up(start(round - 1), 2), Space::Output.up(start(round), 2))
    };
    PhaseStep::Do(Step::Exchange { to: partner, send, from: partner, recv, then: Then::Store })
}

/// An empty message travels around the ring twice, starting at rank 0.
pub(super) fn double_ring(seat: Seat, round: u32) -> PhaseStep {
    if seat.size == 1 || round >= 4 {
        return PhaseStep::End;
    }
    let (left, right) = (seat.back(seat.rank, 1), seat.ahead(seat.rank, 1));
    let piece = Space::Output.all();
    let sends = round.is_multiple_of(2) == (seat.rank == 0);
    PhaseStep::Do(if sends {
        Step::Send { to: right, piece }
    } else {
        Step::Recv { from: left, piece, then: Then::Store }
    })
}

/// All members send an empty message to rank 0. Then rank 0 sends an empty message to each member in turn.
pub(super) fn gather_and_release(seat: Seat, round: u32) -> PhaseStep {
    let piece = Space::Output.all();
    let others = seat.size - 1;
    if seat.rank > 0 {
        return PhaseStep::Do(match round {
            0 => Step::Send { to: 0, piece },
            1 => Step::Recv { from: 0, piece, then: Then::Store },
            _ => return PhaseStep::End,
        });
    }
    PhaseStep::Do(match round {
        _ if others == 0 => return PhaseStep::End,
        _ if round < others => Step::StartRecv { from: round + 1, piece, then: Then::Store },
        _ if round == others => Step::WaitAll,
        _ if round - others <= others => Step::Send { to: round - others, piece },
        _ => return PhaseStep::End,
    })
}

/// Pairs at distance 1, 2, … exchange empty messages. q is the greatest power of two not above the number of members.
/// A member m ≥ q first sends to member m − q, which replies at the end.
pub(super) fn doubling_below(seat: Seat, round: u32) -> PhaseStep {
    let (piece, power) = (Space::Output.all(), seat.power());
    let exchange = |partner: u32| {
        PhaseStep::Do(Step::Exchange { to: partner, send: piece, from: partner, recv: piece, then: Then::Store })
    };
    if seat.rank >= power {
        return if round == 0 { exchange(seat.rank - power) } else { PhaseStep::End };
    }
    let paired = seat.rank < seat.surplus();
    match round {
        0 if paired => PhaseStep::Do(Step::Recv { from: seat.rank + power, piece, then: Then::Store }),
        0 => PhaseStep::Skip,
        _ if round <= seat.log_floor() => exchange(seat.rank ^ (1 << (round - 1))),
        _ if round == seat.log_floor() + 1 && paired => PhaseStep::Do(Step::Send { to: seat.rank + power, piece }),
        _ => PhaseStep::End,
    }
}

/// Blocks `first` to `first + count` (exclusive) of a recursive doubling, limited by the number of members.
fn range(seat: Seat, first: u32, count: u32) -> Piece {
    Space::Output.up(first, count.min(seat.size - first))
}

/// Pairs of relative ranks exchange all their blocks, for any number of members. If a member's partner does not exist,
/// other members forward the partner's data to the member.
pub(super) fn doubling_allgather(seat: Seat, round: u32) -> PhaseStep {
    // An exchange at distance 2^k needs one round, and then up to k rounds of forwarding.
    let (mut k, mut before) = (0u32, 0u32);
    while round >= before + 1 + k {
        before += 1 + k;
        k += 1;
    }
    let (size, v) = (seat.size, seat.relative());
    let Some(distance) = 1u32.checked_shl(k).filter(|&distance| distance < size) else { return PhaseStep::End };
    let mine = v & !(distance - 1);
    let passing = round - before;
    if passing == 0 {
        let partner = v ^ distance;
        if partner >= size {
            return PhaseStep::Skip;
        }
        let other = seat.member(partner);
        let (send, recv) = (range(seat, mine, distance), range(seat, mine ^ distance, distance));
        return PhaseStep::Do(Step::Exchange { to: other, send, from: other, recv, then: Then::Store });
    }
    // Data are forwarded only if the next group of `distance` members exists but is incomplete.
    let theirs = mine ^ distance;
    if theirs < mine || theirs >= size || size - theirs >= distance {
        return PhaseStep::Skip;
    }
    let half = distance >> passing;
    let partner = v ^ half;
    let top = v & !(2 * half - 1);
    let have = size - mine - distance;
    let piece = range(seat, theirs, distance);
    if partner > v && v < top + have && partner >= top + have {
        PhaseStep::Do(Step::Send { to: seat.member(partner), piece })
    } else if partner < v && partner < top + have && v >= top + have {
        PhaseStep::Do(Step::Recv { from: seat.member(partner), piece, then: Then::Store })
    } else {
        PhaseStep::Skip
    }
}
