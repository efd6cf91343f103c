//! Bcast of n bytes to p members. α is the latency of a message and β the time per byte.
//!
//! | algorithm | source | time | messages | bytes sent |
//! |---|---|---|---|---|
//! | binomial | Thakur et al. 2005 | ⌈log2 p⌉ (α + nβ) | p − 1 | (p − 1) n |
//! | scatter_allgather | van de Geijn (Barnett et al. 1994); Thakur et al. 2005 | (⌈log2 p⌉ + p − 1) α + 2 (p−1)/p nβ | p − 1 + p (p − 1), or p − 1 + p log2 p | about n (½ log2 p + p − 1) |
//! | linear | the root sends all at once | (p − 1) (α + nβ) if the root's link is the limit | p − 1 | (p − 1) n |
//! | chain | pipeline of m segments of at most 128 KiB (Open MPI) | (p − 2 + m) (α + nβ/m) | (p − 1) m | (p − 1) n |
//! | pipeline | along the ranks, m segments | (p − 2 + m) (α + nβ/m) | (p − 1) m | (p − 1) n |
//! | chains | k pipelines from the root | | (p − 1) m | (p − 1) n |
//! | binary, knomial | a binary tree, a tree of radix k, m segments (see `shape`) | | (p − 1) m | (p − 1) n |
//! | split_binary | half of the segments down each side of a binary tree, then pairs exchange halves (Open MPI) | | | (p − 1) n |
//! | scatter_ring | scatter_allgather with a ring for all sizes | | | |
//!
//! In Open MPI's binomial tree, the first child of the root is its neighbour, which has the largest subtree; Open MPI
//! may divide the message into segments. For scatter_allgather, Open MPI and MPICH divide the buffer into blocks of
//! ⌈n/p⌉ elements and send no empty block down the tree.
//!
//! The default library's scatter_allgather may divide the buffer at any byte. The allgather of scatter_allgather uses
//! recursive doubling (log2 p rounds) for messages below 512 KiB among 2^k members, as MPICH does, and otherwise a
//! ring.
//!
//! Thakur, Rabenseifner, Gropp 2005: "Optimization of Collective Communication Operations in MPICH", IJHPCA 19(1).

use super::phase::{Numbering, Phase};
use super::shape::Tree;
use super::step::Space;
use super::{Extent, Parts, Schedule, ScheduleStyle, Seat};
use mcpsim_base::platform::{Algorithm, Method};

/// Least size in bytes for which the inner allgather of a bcast uses a ring (MPICH's `MPIR_CVAR_BCAST_LONG_MSG_SIZE`).
const LONG: u64 = 512 << 10;

/// Greatest segment size of a chain in bytes.
const SEGMENT: u64 = 128 << 10;

/// Default radix of a k-nomial tree.
const RADIX: u16 = 4;

/// Tree of the algorithm of `method`; `None` if the algorithm does not use a tree.
pub(super) fn tree(method: Method, style: ScheduleStyle) -> Option<Tree> {
    let fan = u16::try_from(method.fan).unwrap_or(u16::MAX);
    Some(match method.algorithm {
        Algorithm::Pipeline => Tree::Chains(1),
        Algorithm::Chains => Tree::Chains(fan.max(1)),
        Algorithm::Binary => Tree::Binary,
        Algorithm::Binomial if style == ScheduleStyle::OpenMpi => Tree::HighBinomial,
        Algorithm::Binomial => Tree::Binomial,
        Algorithm::Knomial => Tree::Knomial(if fan < 2 { RADIX } else { fan }),
        _ => return None,
    })
}

pub(super) fn plan(method: Method, seat: Seat, extent: Extent) -> Option<Schedule> {
    let (hold, size) = (Space::Output, extent.size);
    let whole = Schedule::empty(seat, Parts::Split(1));
    let flat = seat.style == ScheduleStyle::Flat && method.segment == 0;
    if let Some(tree) = tree(method, seat.style).filter(|tree| !(flat && *tree == Tree::Binomial)) {
        let (segments, parts) = extent.segments(method.segment);
        return Some(Schedule::empty(seat, parts).then(Phase::Down { tree, segments }));
    }
    let scattered = || {
        let (filled, parts) = extent.even_blocks(seat);
        Schedule::empty(seat, parts).then(Phase::ScatterFilled { filled })
    };
    Some(match method.algorithm {
        Algorithm::Binomial => whole.then(Phase::TreeBcast { hold }),
        Algorithm::SplitBinary => {
            let (first, second, parts) = extent.half_segments(method.segment);
            Schedule::empty(seat, parts).then_if(seat.size > 1, Phase::SplitDown { first, second })
        }
        Algorithm::ScatterRing => scattered().then(Phase::RingAllgather { shift: 0 }),
        Algorithm::ScatterAllgather if seat.style == ScheduleStyle::OpenMpi => {
            scattered().then(Phase::DoublingAllgatherAny)
        }
        Algorithm::Linear => whole.then(Phase::LinearBcast),
        Algorithm::Chain => {
            let segment = if method.segment == 0 { SEGMENT } else { u64::from(method.segment) };
            let segments = size.get().div_ceil(segment).clamp(1, 1 << 30) as u32;
            Schedule::empty(seat, Parts::Split(segments)).then(Phase::ChainBcast { segments })
        }
        Algorithm::ScatterAllgather => {
            let doubling = seat.size.is_power_of_two() && size.get() < LONG;
            let allgather = if doubling { Phase::DoublingAllgather } else { Phase::RingAllgather { shift: 0 } };
            Schedule::empty(seat, Parts::Split(seat.size))
                .then(Phase::TreeScatter { hold, numbering: Numbering::Relative })
                .then(allgather)
        }
        _ => return None,
    })
}
