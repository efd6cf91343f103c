//! Reductions that exchange halves of the data: Open MPI's reduction of the members to a power of two, and the
//! butterfly of Träff 2005.

use super::phase::PhaseStep;
use super::seat::Seat;
use super::step::{Piece, Side, Space, Step, Then};

/// In each folding pair, each member combines one half of the data. The member that remains then receives the other
/// half from its partner.
pub(super) fn fold_in(seat: Seat, round: u32, hold: Space) -> PhaseStep {
    let Some(partner) = seat.fold_partner() else { return PhaseStep::End };
    let half = seat.power() / 2;
    let (first, second) = (hold.up(0, half), hold.up(half, half));
    let stays = seat.folded().is_some();
    match round {
        0 => {
            let (send, recv) = if stays { (second, first) } else { (first, second) };
            let then = Then::Combine(Side::of(partner, seat.rank));
            PhaseStep::Do(Step::Exchange { to: partner, send, from: partner, recv, then })
        }
        1 if stays => PhaseStep::Do(Step::Recv { from: partner, piece: second, then: Then::Store }),
        1 => PhaseStep::Do(Step::Send { to: partner, piece: second }),
        _ => PhaseStep::End,
    }
}

/// Reverses the order of the bits of a folded number.
fn mirror(seat: Seat, number: u32) -> u32 {
    (u64::from(number.reverse_bits()) << seat.log_floor() >> u32::BITS) as u32
}

/// Blocks of the members with folded numbers `first` to `first + count` (exclusive), and of their folded-away
/// partners.
fn blocks(seat: Seat, first: u32, count: u32) -> Piece {
    let start = seat.folded_start(first);
    Space::Temp.up(start, seat.folded_start(first + count) - start)
}

/// Vector halving and distance doubling over one block per rank. The member with folded number n ends with the blocks
/// of the member whose number is the mirror image of n.
pub(super) fn butterfly(seat: Seat, round: u32) -> PhaseStep {
    let Some(me) = seat.folded().filter(|_| round < seat.log_floor()) else { return PhaseStep::End };
    let partner = me ^ (1 << round);
    let count = seat.power() >> (round + 1);
    // After `round + 1` rounds, the low `round + 1` bits of a folded number determine the blocks of the member. Bit 0
    // selects a half of the blocks.
    let part = |number: u32| blocks(seat, mirror(seat, number & ((2 << round) - 1)), count);
    let other = seat.unfolded(partner);
    let then = Then::Combine(Side::of(partner, me));
    PhaseStep::Do(Step::Exchange { to: other, send: part(partner), from: other, recv: part(me), then })
}

/// Each member receives its own block from the member with the mirrored number, which has the result of this block.
pub(super) fn mirrored_home(seat: Seat, round: u32) -> PhaseStep {
    let own = Space::Output.one(seat.rank);
    let Some(me) = seat.folded() else {
        let holder = seat.unfolded(mirror(seat, seat.rank / 2));
        let step = Step::Recv { from: holder, piece: own, then: Then::Store };
        return if round == 0 { PhaseStep::Do(step) } else { PhaseStep::End };
    };
    let image = mirror(seat, me);
    let member = seat.unfolded(image);
    match round {
        0 if image < seat.surplus() => PhaseStep::Do(Step::Send { to: member ^ 1, piece: Space::Temp.one(member ^ 1) }),
        0 => PhaseStep::Skip,
        1 if image == me => PhaseStep::Do(Step::Copy { from: Space::Temp.one(seat.rank), to: own }),
        1 => {
            let send = Space::Temp.one(member);
            PhaseStep::Do(Step::Exchange { to: member, send, from: member, recv: own, then: Then::Store })
        }
        _ => PhaseStep::End,
    }
}
