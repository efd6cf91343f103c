//! Rounds at distance 1, 2, 4, …: dissemination, folds to a power of two, doubling and halving. See [`Seat`] for folded
//! numbers.

use super::phase::Next;
use super::seat::Seat;
use super::step::{Piece, Side, Space, Step, Then};

/// In round k, nothing to the member 2^k ahead and from the one 2^k behind.
pub(super) fn dissemination(seat: Seat, round: u32) -> Next {
    if round >= u32::BITS || (1 << round) >= seat.size {
        return Next::End;
    }
    let distance = 1 << round;
    let (to, from) = (seat.ahead(seat.rank, distance), seat.back(seat.rank, distance));
    let all = Space::Output.all();
    Next::Do(Step::Exchange { to, send: all, from, recv: all, then: Then::Store })
}

/// Those that fold send all they have; their partners combine.
pub(super) fn fold_in(seat: Seat, round: u32, hold: Space) -> Next {
    let Some(partner) = seat.fold_partner().filter(|_| round == 0) else { return Next::End };
    Next::Do(if seat.folded().is_some() {
        Step::Recv { from: partner, piece: hold.all(), then: Then::Combine(Side::of(partner, seat.rank)) }
    } else {
        Step::Send { to: partner, piece: hold.all() }
    })
}

/// Those that folded get everything.
pub(super) fn fold_out(seat: Seat, round: u32, hold: Space) -> Next {
    fold_back(seat, round, hold.all(), Space::Output.all())
}

/// Those that folded get their block.
pub(super) fn fold_out_own(seat: Seat, round: u32, hold: Space) -> Next {
    fold_back(seat, round, hold.one(seat.rank ^ 1), Space::Output.one(seat.rank))
}

fn fold_back(seat: Seat, round: u32, send: Piece, recv: Piece) -> Next {
    let Some(partner) = seat.fold_partner().filter(|_| round == 0) else { return Next::End };
    Next::Do(if seat.folded().is_some() {
        Step::Send { to: partner, piece: send }
    } else {
        Step::Recv { from: partner, piece: recv, then: Then::Store }
    })
}

/// This member's folded number if it has a part in this round of log2 q.
fn number(seat: Seat, round: u32) -> Option<u32> {
    seat.folded().filter(|_| round < seat.log_floor())
}

fn exchange(seat: Seat, partner: u32, send: Piece, recv: Piece, then: Then) -> Next {
    let partner = seat.unfolded(partner);
    Next::Do(Step::Exchange { to: partner, send, from: partner, recv, then })
}

/// Pairs exchange and combine all they have.
pub(super) fn doubling(seat: Seat, round: u32, hold: Space) -> Next {
    let Some(me) = number(seat, round) else { return Next::End };
    let partner = me ^ (1 << round);
    exchange(seat, partner, hold.all(), hold.all(), Then::Combine(Side::of(partner, me)))
}

/// The blocks of q that number `me` is left with after `rounds` rounds of [`halve_near`]: in each, the lower half of
/// them where the next bit of `me` is 0, else the upper.
fn half(seat: Seat, me: u32, rounds: u32, hold: Space) -> Piece {
    // Bit 0 decides about q/2, bit 1 about q/4, …: the low bits in reverse.
    let low = me & ((1 << rounds) - 1);
    let first = (u64::from(low.reverse_bits()) << seat.log_floor() >> u32::BITS) as u32;
    hold.up(first, seat.power() >> rounds)
}

/// Vector halving and distance doubling: keeps the order of ranks, since neighbours combine first.
pub(super) fn halve_near(seat: Seat, round: u32, hold: Space) -> Next {
    let Some(me) = number(seat, round) else { return Next::End };
    let partner = me ^ (1 << round);
    let (send, recv) = (half(seat, partner, round + 1, hold), half(seat, me, round + 1, hold));
    exchange(seat, partner, send, recv, Then::Combine(Side::of(partner, me)))
}

/// Vector doubling and distance halving: the reverse of [`halve_near`], so that all have everything.
pub(super) fn double_near(seat: Seat, round: u32, hold: Space) -> Next {
    let Some(me) = number(seat, round) else { return Next::End };
    let bit = seat.log_floor() - 1 - round;
    let partner = me ^ (1 << bit);
    let (send, recv) = (half(seat, me, bit + 1, hold), half(seat, partner, bit + 1, hold));
    exchange(seat, partner, send, recv, Then::Store)
}

/// The reverse of [`halve_near`] towards the root: a binomial tree.
pub(super) fn gather_near(seat: Seat, round: u32, hold: Space) -> Next {
    let (Some(me), Some(root)) = (number(seat, round), seat.folded_number(seat.root)) else { return Next::End };
    let bit = seat.log_floor() - 1 - round;
    let partner = me ^ (1 << bit);
    match (me ^ root) >> bit {
        0 => Next::Do(Step::Recv {
            from: seat.unfolded(partner),
            piece: half(seat, partner, bit + 1, hold),
            then: Then::Store,
        }),
        1 => Next::Do(Step::Send { to: seat.unfolded(partner), piece: half(seat, me, bit + 1, hold) }),
        // It has sent all it had in an earlier round.
        _ => Next::End,
    }
}

/// Vector halving and distance halving over a block a rank: folded number n is left with the blocks it stands for.
pub(super) fn halve_far(seat: Seat, round: u32, hold: Space) -> Next {
    let Some(me) = number(seat, round) else { return Next::End };
    let distance = seat.power() >> (round + 1);
    let blocks = |first: u32| {
        let start = seat.folded_start(first);
        hold.up(start, seat.folded_start(first + distance) - start)
    };
    let mine = me & !(distance - 1);
    let partner = me ^ distance;
    exchange(seat, partner, blocks(mine ^ distance), blocks(mine), Then::Combine(Side::of(partner, me)))
}

/// Pairs exchange all blocks they have; in relative ranks, whose number must be a power of two.
pub(super) fn allgather(seat: Seat, round: u32) -> Next {
    if round >= seat.log_floor() {
        return Next::End;
    }
    let v = seat.relative();
    let count = 1 << round;
    let mine = v & !(count - 1);
    let partner = seat.member(v ^ count);
    let (send, recv) = (Space::Output.up(mine, count), Space::Output.up(mine ^ count, count));
    Next::Do(Step::Exchange { to: partner, send, from: partner, recv, then: Then::Store })
}
