//! Phases with rounds at distance 1, 2, 4, …: dissemination, reduction of the members to a power of two (folding),
//! doubling and halving. [`Seat`] defines the folded numbers of the remaining members.

use super::phase::PhaseStep;
use super::seat::Seat;
use super::step::{Piece, Side, Space, Step, Then};

/// In round k, a member sends an empty message to the member 2^k ahead and receives an empty message from the member
/// 2^k behind.
pub(super) fn dissemination(seat: Seat, round: u32) -> PhaseStep {
    if round >= u32::BITS || (1 << round) >= seat.size {
        return PhaseStep::End;
    }
    let distance = 1 << round;
    let (to, from) = (seat.ahead(seat.rank, distance), seat.back(seat.rank, distance));
    let all = Space::Output.all();
    PhaseStep::Do(Step::Exchange { to, send: all, from, recv: all, then: Then::Store })
}

/// Each folded-away member sends all its data to its partner. The partner combines the received data with its own data.
pub(super) fn fold_in(seat: Seat, round: u32, hold: Space) -> PhaseStep {
    let Some(partner) = seat.fold_partner().filter(|_| round == 0) else { return PhaseStep::End };
    PhaseStep::Do(if seat.folded().is_some() {
        Step::Recv { from: partner, piece: hold.all(), then: Then::Combine(Side::of(partner, seat.rank)) }
    } else {
        Step::Send { to: partner, piece: hold.all() }
    })
}

/// Each folded-away member receives the complete result from its partner.
pub(super) fn fold_out(seat: Seat, round: u32, hold: Space) -> PhaseStep {
    fold_back(seat, round, hold.all(), Space::Output.all())
}

/// Each folded-away member receives its own block of the result from its partner.
pub(super) fn fold_out_own(seat: Seat, round: u32, hold: Space) -> PhaseStep {
    fold_back(seat, round, hold.one(seat.rank ^ 1), Space::Output.one(seat.rank))
}

fn fold_back(seat: Seat, round: u32, send: Piece, recv: Piece) -> PhaseStep {
    let Some(partner) = seat.fold_partner().filter(|_| round == 0) else { return PhaseStep::End };
    PhaseStep::Do(if seat.folded().is_some() {
        Step::Send { to: partner, piece: send }
    } else {
        Step::Recv { from: partner, piece: recv, then: Then::Store }
    })
}

/// Folded number of this member; `None` if the member is folded away or all log2 q rounds are complete.
fn number(seat: Seat, round: u32) -> Option<u32> {
    seat.folded().filter(|_| round < seat.log_floor())
}

fn exchange(seat: Seat, partner: u32, send: Piece, recv: Piece, then: Then) -> PhaseStep {
    let partner = seat.unfolded(partner);
    PhaseStep::Do(Step::Exchange { to: partner, send, from: partner, recv, then })
}

/// Pairs of members exchange and combine all their data.
pub(super) fn doubling(seat: Seat, round: u32, hold: Space) -> PhaseStep {
    let Some(me) = number(seat, round) else { return PhaseStep::End };
    let partner = me ^ (1 << round);
    exchange(seat, partner, hold.all(), hold.all(), Then::Combine(Side::of(partner, me)))
}

/// Blocks that the member with folded number `me` still holds, of q blocks, after `rounds` rounds of [`halve_near`]. In
/// each round, the member keeps the lower half of its blocks if the next bit of `me` is 0, otherwise the upper half.
fn half(seat: Seat, me: u32, rounds: u32, hold: Space) -> Piece {
    // Bit 0 selects q/2 blocks, bit 1 selects q/4, …: the low bits in reverse order.
    let low = me & ((1 << rounds) - 1);
    let first = (u64::from(low.reverse_bits()) << seat.log_floor() >> u32::BITS) as u32;
    hold.up(first, seat.power() >> rounds)
}

/// Vector halving and distance doubling. Neighbours combine first, so contributions are combined in order of ranks.
pub(super) fn halve_near(seat: Seat, round: u32, hold: Space) -> PhaseStep {
    let Some(me) = number(seat, round) else { return PhaseStep::End };
    let partner = me ^ (1 << round);
    let (send, recv) = (half(seat, partner, round + 1, hold), half(seat, me, round + 1, hold));
    exchange(seat, partner, send, recv, Then::Combine(Side::of(partner, me)))
}

/// Vector doubling and distance halving: the reverse of [`halve_near`]. At the end, all members have the complete
/// result.
pub(super) fn double_near(seat: Seat, round: u32, hold: Space) -> PhaseStep {
    let Some(me) = number(seat, round) else { return PhaseStep::End };
    let bit = seat.log_floor() - 1 - round;
    let partner = me ^ (1 << bit);
    let (send, recv) = (half(seat, me, bit + 1, hold), half(seat, partner, bit + 1, hold));
    exchange(seat, partner, send, recv, Then::Store)
}

/// Gathers the result at the root in the reverse order of [`halve_near`], along a binomial tree.
pub(super) fn gather_near(seat: Seat, round: u32, hold: Space) -> PhaseStep {
    let (Some(me), Some(root)) = (number(seat, round), seat.folded_number(seat.root)) else { return PhaseStep::End };
    let bit = seat.log_floor() - 1 - round;
    let partner = me ^ (1 << bit);
    match (me ^ root) >> bit {
        0 => PhaseStep::Do(Step::Recv {
            from: seat.unfolded(partner),
            piece: half(seat, partner, bit + 1, hold),
            then: Then::Store,
        }),
        1 => PhaseStep::Do(Step::Send { to: seat.unfolded(partner), piece: half(seat, me, bit + 1, hold) }),
        // The member sent all its data in an earlier round and has no more steps.
        _ => PhaseStep::End,
    }
}

/// Vector halving and distance halving over one block per rank. At the end, each remaining member has the result of its
/// own block and of its folded-away partner's block.
pub(super) fn halve_far(seat: Seat, round: u32, hold: Space) -> PhaseStep {
    let Some(me) = number(seat, round) else { return PhaseStep::End };
    let distance = seat.power() >> (round + 1);
    let blocks = |first: u32| {
        let start = seat.folded_start(first);
        hold.up(start, seat.folded_start(first + distance) - start)
    };
    let mine = me & !(distance - 1);
    let partner = me ^ distance;
    exchange(seat, partner, blocks(mine ^ distance), blocks(mine), Then::Combine(Side::of(partner, me)))
}

/// Pairs of relative ranks exchange all their blocks. The number of members must be a power of two.
pub(super) fn allgather(seat: Seat, round: u32) -> PhaseStep {
    if round >= seat.log_floor() {
        return PhaseStep::End;
    }
    let v = seat.relative();
    let count = 1 << round;
    let mine = v & !(count - 1);
    let partner = seat.member(v ^ count);
    let (send, recv) = (Space::Output.up(mine, count), Space::Output.up(mine ^ count, count));
    PhaseStep::Do(Step::Exchange { to: partner, send, from: partner, recv, then: Then::Store })
}
