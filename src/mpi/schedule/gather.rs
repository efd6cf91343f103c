//! Gather and scatter of blocks of n bytes among p members, and gatherv and scatterv. α is the latency of a message and
//! β the time per byte. A scatter is a gather in reverse.
//!
//! | algorithm | source | time | messages | bytes sent |
//! |---|---|---|---|---|
//! | binomial | Chan et al. 2007; MPICH's | ⌈log2 p⌉ α + (p − 1) nβ | p − 1 | each block once per one bit of its relative rank: ½ p log2 p n for p = 2^k |
//! | linear | the root with all at once | (p − 1) (α + nβ) if the root's link is the limit | p − 1 | (p − 1) n |
//!
//! With `fan = 1`, the algorithm linear transfers one message after another in order of ranks. In linear_sync (Open
//! MPI's gather) the root requests and awaits the first part of each member's data in turn. The root awaits the second
//! parts of all members at the end. linear_sync needs 3 (p − 1) messages.
//!
//! Gatherv and scatterv are linear because only the root knows all sizes.

use super::phase::{Numbering, Phase};
use super::step::Space;
use super::tree::is_leaf;
use super::{Parts, Schedule, Seat};
use mcpsim_base::platform::{Algorithm, Method};

pub(super) fn plan_gather(method: Method, seat: Seat) -> Option<Schedule> {
    let plan = Schedule::empty(seat, Parts::Ranks);
    let is_root = seat.rank == seat.root;
    let own = |to| Phase::CopyOwn { from: Space::Input, to };
    Some(match method.algorithm {
        Algorithm::LinearSync => {
            let head = if method.segment == 0 { u32::MAX } else { method.segment };
            let plan = Schedule::empty(seat, Parts::Headed(head)).then(Phase::GatherPaced);
            plan.then_if(is_root, Phase::CopyOwnParts)
        }
        Algorithm::Linear if method.fan == 1 => plan.then_if(is_root, own(Space::Output)).then(Phase::GatherInOrder),
        Algorithm::Binomial if is_root => plan.then(own(Space::Output)).then(Phase::TreeGather { hold: Space::Output }),
        Algorithm::Binomial if is_leaf(seat) => plan.then(Phase::TreeGather { hold: Space::Input }),
        Algorithm::Binomial => plan.then(own(Space::Temp)).then(Phase::TreeGather { hold: Space::Temp }),
        Algorithm::Linear => plan.then_if(is_root, own(Space::Output)).then(Phase::LinearGather),
        _ => return None,
    })
}

pub(super) fn plan_scatter(method: Method, seat: Seat) -> Option<Schedule> {
    let plan = Schedule::empty(seat, Parts::Ranks);
    let is_root = seat.rank == seat.root;
    let own = |from| Phase::CopyOwn { from, to: Space::Output };
    let tree = |hold| Phase::TreeScatter { hold, numbering: Numbering::Member };
    Some(match method.algorithm {
        Algorithm::Linear if method.fan == 1 => {
            plan.then(Phase::ScatterInOrder { hold: Space::Input }).then_if(is_root, own(Space::Input))
        }
        Algorithm::Binomial if is_root => plan.then(tree(Space::Input)).then(own(Space::Input)),
        Algorithm::Binomial if is_leaf(seat) => plan.then(tree(Space::Output)),
        Algorithm::Binomial => plan.then(tree(Space::Temp)).then(own(Space::Temp)),
        Algorithm::Linear => plan.then(Phase::LinearScatter).then_if(is_root, own(Space::Input)),
        _ => return None,
    })
}
