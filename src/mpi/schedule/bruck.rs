//! Bruck, Ho, Kipnis, Upfal, Weathersby 1997: "Efficient Algorithms for All-to-All Communications in Multiport
//! Message-Passing Systems", IEEE TPDS 8(11). ⌈log2 p⌉ rounds for any p.

use super::phase::PhaseStep;
use super::seat::Seat;
use super::step::{Blocks, Piece, Space, Step, Then};

fn distance(seat: Seat, round: u32) -> Option<u32> {
    1u32.checked_shl(round).filter(|&distance| distance < seat.size)
}

/// In round k, a member sends the 2^k blocks that it has gathered to the member 2^k behind. The member receives the
/// following blocks from the member 2^k ahead.
pub(super) fn allgather(seat: Seat, round: u32) -> PhaseStep {
    let Some(distance) = distance(seat, round) else { return PhaseStep::End };
    let count = distance.min(seat.size - distance);
    let (to, from) = (seat.back(seat.rank, distance), seat.ahead(seat.rank, distance));
    let (send, recv) = (Space::Temp.up(seat.rank, count), Space::Temp.up(from, count));
    PhaseStep::Do(Step::Exchange { to, send, from, recv, then: Then::Store })
}

/// In round k, a member sends all blocks whose distance from sender to receiver has bit k set to the member 2^k ahead.
/// The received blocks replace the sent blocks.
pub(super) fn alltoall(seat: Seat, round: u32) -> PhaseStep {
    let bit = round / 2;
    let Some(distance) = distance(seat, bit) else { return PhaseStep::End };
    let blocks = Blocks::Bit(bit);
    let (held, packed) = (Piece { space: Space::Temp, blocks }, Piece { space: Space::Scratch, blocks });
    if round.is_multiple_of(2) {
        return PhaseStep::Do(Step::Copy { from: held, to: packed });
    }
    let (to, from) = (seat.ahead(seat.rank, distance), seat.back(seat.rank, distance));
    PhaseStep::Do(Step::Exchange { to, send: packed, from, recv: held, then: Then::Store })
}
