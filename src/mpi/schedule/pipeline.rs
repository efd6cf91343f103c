//! Pipelines that send the segments of a buffer down or up a tree, as in Open MPI's generic bcast and reduce.
//!
//! In a pipeline down a tree, a member keeps two receives posted. While a member of the pipeline receives the next
//! segment, the member forwards the last received segment to all its children in the tree. In a pipeline up a tree, a
//! member receives a segment from each child in turn, and posts the next receive before it waits for the present
//! receive. The member sends a segment to its parent when the contributions of all children are combined.

use super::phase::PhaseStep;
use super::seat::Seat;
use super::shape::Tree;
use super::step::{Piece, Side, Space, Step, Then};

/// Blocks of segment `segment` in the buffer `hold`, which has `segments` segments. If there is only one segment, it
/// contains all blocks.
fn piece(hold: Space, segment: u32, segments: u32) -> Piece {
    if segments == 1 { hold.all() } else { hold.one(segment) }
}

/// Step of this member in `round` of the pipeline down `tree`.
pub(super) fn down(seat: Seat, round: u32, tree: Tree, segments: u32) -> PhaseStep {
    let (node, hold) = (tree.node(seat), Space::Output);
    let children = node.children();
    // Number of steps that send a segment to the children: one send per child and a wait. A send to a single child
    // blocks and needs no wait.
    let sends = match children {
        0 | 1 => children,
        _ => children + 1,
    };
    let send = |segment: u32, k: u32| {
        let piece = piece(hold, segment, segments);
        PhaseStep::Do(match k {
            0 if children == 1 => Step::Send { to: node.child(0), piece },
            _ if k < children => Step::StartSend { to: node.child(k), piece },
            _ => Step::WaitSends,
        })
    };
    if node.is_top() {
        let Some(segment) = round.checked_div(sends).filter(|&segment| segment < segments) else {
            return PhaseStep::End;
        };
        return send(segment, round % sends);
    }
    let (segment, k) = (round / (2 + sends), round % (2 + sends));
    if segment > segments {
        return PhaseStep::End;
    }
    match k {
        0 if segments == 1 && segment == 0 => {
            PhaseStep::Do(Step::Recv { from: node.parent(), piece: hold.all(), then: Then::Store })
        }
        0 if segments > 1 && segment < segments => {
            let piece = piece(hold, segment, segments);
            PhaseStep::Do(Step::StartRecv { from: node.parent(), piece, then: Then::Store })
        }
        1 if segments > 1 && segment > 0 => PhaseStep::Do(Step::WaitRecv { back: u32::from(segment < segments) }),
        0 | 1 => PhaseStep::Skip,
        // The member forwards the segment that it received in the previous round.
        _ if segment > 0 => send(segment - 1, k - 2),
        _ => PhaseStep::Skip,
    }
}

/// Step of this member in `round` of the pipeline up `tree`. At the end, the member at the top of the tree has the
/// result, in the buffer `home` if this member is the root, otherwise in the temporary buffer.
pub(super) fn up(seat: Seat, round: u32, tree: Tree, segments: u32, home: Space) -> PhaseStep {
    let node = tree.node(seat);
    let children = node.children();
    let hold = if seat.rank == seat.root { home } else { Space::Temp };
    if children == 0 {
        if node.is_top() {
            let step = Step::Copy { from: Space::Input.all(), to: hold.all() };
            return if round == 0 { PhaseStep::Do(step) } else { PhaseStep::End };
        }
        if round >= segments {
            return PhaseStep::End;
        }
        return PhaseStep::Do(Step::Send { to: node.parent(), piece: piece(Space::Input, round, segments) });
    }
    // In the in-order tree, all ranks in a child's subtree are below the member's rank, so the child's data are the
    // left operand.
    let theirs = if tree == Tree::InOrderBinary { Side::Left } else { Side::Right };
    let mine = if tree == Tree::InOrderBinary { Side::Right } else { Side::Left };
    let receives = segments * children;
    let (at, k) = (round / 4, round % 4);
    if at > receives {
        return PhaseStep::End;
    }
    match k {
        0 if at < receives => {
            let (segment, i) = (at / children, at % children);
            // The member stores the first contribution to a segment, then combines its own data with the stored data.
            let then = if i == 0 { Then::Store } else { Then::Combine(theirs) };
            PhaseStep::Do(Step::StartRecv { from: node.child(i), piece: piece(hold, segment, segments), then })
        }
        1 if at > 0 => PhaseStep::Do(Step::WaitRecv { back: u32::from(at < receives) }),
        2 if at > 0 && (at - 1) % children == 0 => {
            let segment = (at - 1) / children;
            let [from, to] = [Space::Input, hold].map(|space| piece(space, segment, segments));
            PhaseStep::Do(Step::Combine { from, to, side: mine })
        }
        3 if at > 0 && at % children == 0 && !node.is_top() => {
            PhaseStep::Do(Step::Send { to: node.parent(), piece: piece(hold, at / children - 1, segments) })
        }
        _ => PhaseStep::Skip,
    }
}

/// The member at the top of a tree sends the result to the root, unless this member is the root.
pub(super) fn hand_over(seat: Seat, round: u32, tree: Tree, home: Space) -> PhaseStep {
    let top = tree.top(seat);
    if round > 0 || top == seat.root {
        return PhaseStep::End;
    }
    if seat.rank == top {
        PhaseStep::Do(Step::Send { to: seat.root, piece: Space::Temp.all() })
    } else if seat.rank == seat.root {
        PhaseStep::Do(Step::Recv { from: top, piece: home.all(), then: Then::Store })
    } else {
        PhaseStep::End
    }
}

/// Sends the first half of the data (`counts.0` segments) down the left half of a binary tree, and the second half
/// (`counts.1` segments) down the right half. Blocks of the second half begin at `counts.0`. Then each member exchanges
/// halves with its counterpart in the other half of the tree.
pub(super) fn split(seat: Seat, round: u32, counts: (u32, u32)) -> PhaseStep {
    let (node, hold, v) = (Tree::Binary.node(seat), Space::Output, seat.relative());
    let counts = [counts.0, counts.1];
    // Odd relative ranks are in the left half of the tree.
    let side = if v % 2 == 1 { 0 } else { 1 };
    let block = |half: usize, segment: u32| hold.one(half as u32 * counts[0] + segment);
    let half = |half: usize| hold.up(half as u32 * counts[0], counts[half]);
    let children = node.children();
    let steps = if v == 0 {
        2 * counts[0]
    } else if children == 0 {
        counts[side]
    } else {
        (counts[side] + 1) * (2 + children)
    };
    if round < steps {
        if v == 0 {
            let (segment, i) = (round / 2, round % 2);
            if i < children && segment < counts[i as usize] {
                return PhaseStep::Do(Step::Send { to: node.child(i), piece: block(i as usize, segment) });
            }
            return PhaseStep::Skip;
        }
        if children == 0 {
            return PhaseStep::Do(Step::Recv { from: node.parent(), piece: block(side, round), then: Then::Store });
        }
        let (segment, k) = (round / (2 + children), round % (2 + children));
        return match k {
            0 if segment < counts[side] => {
                PhaseStep::Do(Step::StartRecv { from: node.parent(), piece: block(side, segment), then: Then::Store })
            }
            1 if segment > 0 => PhaseStep::Do(Step::WaitRecv { back: u32::from(segment < counts[side]) }),
            0 | 1 => PhaseStep::Skip,
            _ if segment > 0 => PhaseStep::Do(Step::Send { to: node.child(k - 2), piece: block(side, segment - 1) }),
            _ => PhaseStep::Skip,
        };
    }
    if round > steps {
        return PhaseStep::End;
    }
    let last = seat.member(seat.size - 1);
    let even = seat.size.is_multiple_of(2);
    match v {
        0 if even => PhaseStep::Do(Step::Send { to: last, piece: half(1) }),
        0 => PhaseStep::End,
        _ if even && seat.rank == last => {
            PhaseStep::Do(Step::Recv { from: seat.root, piece: half(1), then: Then::Store })
        }
        _ => {
            let partner = if side == 0 { seat.ahead(seat.rank, 1) } else { seat.back(seat.rank, 1) };
            let (send, recv) = (half(side), half(1 - side));
            PhaseStep::Do(Step::Exchange { to: partner, send, from: partner, recv, then: Then::Store })
        }
    }
}
