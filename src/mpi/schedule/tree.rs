//! Phases of collectives that use binomial trees. The parent of relative rank v > 0 is v without its lowest set bit.
//! The subtree of v consists of the relative ranks [v, v + lowest bit).

use super::phase::{Numbering, PhaseStep};
use super::seat::Seat;
use super::step::{Piece, Side, Space, Step, Then};

/// Number of children of relative rank `v`; the child with index k is v + 2^k.
pub(super) fn children(seat: Seat, v: u32) -> u32 {
    // A child v + 2^k exists if 2^k is below the lowest set bit of v, and v + 2^k is below the number of members.
    v.trailing_zeros().min(u32::BITS - (seat.size - 1 - v).leading_zeros())
}

/// Whether this member has no children in the binomial tree.
pub(super) fn is_leaf(seat: Seat) -> bool {
    children(seat, seat.relative()) == 0
}

fn parent(seat: Seat, v: u32) -> u32 {
    seat.member(v & (v - 1))
}

/// Blocks of the subtree at relative rank `v`. `v` is the root, or `v` is its parent plus 2^`k`.
fn subtree(seat: Seat, v: u32, k: u32, space: Space, numbering: Numbering) -> Piece {
    let count = (1u32 << k).min(seat.size - v);
    let first = match numbering {
        Numbering::Relative => v,
        Numbering::Member => seat.member(v),
    };
    space.up(first, count)
}

/// A member receives the contributions of its children, nearest child first, and combines them. Then the member sends
/// the result to its parent.
pub(super) fn reduce(seat: Seat, round: u32, hold: Space) -> PhaseStep {
    let v = seat.relative();
    let children = children(seat, v);
    if round < children {
        let from = seat.member(v + (1 << round));
        PhaseStep::Do(Step::Recv { from, piece: hold.all(), then: Then::Combine(Side::Right) })
    } else if round == children && v > 0 {
        PhaseStep::Do(Step::Send { to: parent(seat, v), piece: hold.all() })
    } else {
        PhaseStep::End
    }
}

/// A member receives the data from its parent, then sends the data to its children, farthest child first.
pub(super) fn bcast(seat: Seat, round: u32, hold: Space) -> PhaseStep {
    let v = seat.relative();
    down(seat, v, round, |child| match child {
        None => Step::Recv { from: parent(seat, v), piece: hold.all(), then: Then::Store },
        Some(k) => Step::Send { to: seat.member(v + (1 << k)), piece: hold.all() },
    })
}

/// A member receives the blocks of its children's subtrees, nearest child first. Then the member sends the blocks of
/// its own subtree to its parent.
pub(super) fn gather(seat: Seat, round: u32, hold: Space) -> PhaseStep {
    let v = seat.relative();
    let children = children(seat, v);
    if round < children {
        let child = v + (1 << round);
        let piece = subtree(seat, child, round, hold, Numbering::Member);
        PhaseStep::Do(Step::Recv { from: seat.member(child), piece, then: Then::Store })
    } else if round == children && v > 0 {
        let piece = subtree(seat, v, v.trailing_zeros(), hold, Numbering::Member);
        PhaseStep::Do(Step::Send { to: parent(seat, v), piece })
    } else {
        PhaseStep::End
    }
}

/// A member receives the blocks of its subtree from its parent, then sends the blocks of its children's subtrees,
/// farthest child first.
pub(super) fn scatter(seat: Seat, round: u32, hold: Space, numbering: Numbering) -> PhaseStep {
    let v = seat.relative();
    down(seat, v, round, |child| match child {
        None => {
            let piece = subtree(seat, v, v.trailing_zeros(), hold, numbering);
            Step::Recv { from: parent(seat, v), piece, then: Then::Store }
        }
        Some(k) => {
            let child = v + (1 << k);
            Step::Send { to: seat.member(child), piece: subtree(seat, child, k, hold, numbering) }
        }
    })
}

/// Like [`scatter`] of blocks by relative rank from the output buffer, but only the first `filled` blocks contain data.
/// No member sends an empty message.
pub(super) fn scatter_filled(seat: Seat, round: u32, filled: u32) -> PhaseStep {
    let v = seat.relative();
    if v > 0 && v >= filled {
        return PhaseStep::End;
    }
    let children = children(seat, v);
    if v > 0 && round == 0 {
        let piece = subtree(seat, v, v.trailing_zeros(), Space::Output, Numbering::Relative);
        return PhaseStep::Do(Step::Recv { from: parent(seat, v), piece, then: Then::Store });
    }
    let at = if v > 0 { round - 1 } else { round };
    if at >= children {
        return PhaseStep::End;
    }
    let k = children - 1 - at;
    let child = v + (1 << k);
    if child >= filled {
        return PhaseStep::Skip;
    }
    let piece = subtree(seat, child, k, Space::Output, Numbering::Relative);
    PhaseStep::Do(Step::Send { to: seat.member(child), piece })
}

/// Step of a member in `round` of a pass down the tree. The function `step` gets `None` for the receive from the
/// parent, or the k of the child v + 2^k for a send.
fn down(seat: Seat, v: u32, round: u32, step: impl FnOnce(Option<u32>) -> Step) -> PhaseStep {
    let children = children(seat, v);
    if v == 0 {
        return if round < children { PhaseStep::Do(step(Some(children - 1 - round))) } else { PhaseStep::End };
    }
    match round {
        0 => PhaseStep::Do(step(None)),
        _ if round <= children => PhaseStep::Do(step(Some(children - round))),
        _ => PhaseStep::End,
    }
}
