//! Collectives as schedules: which rank sends, receives, combines and copies what, step after step.
//!
//! A schedule is one member's part. It is generated lazily, knows nothing of the engine, of times and of the data
//! itself, and says of every step which data it concerns, so that it can be costed, checked symbolically, or carried
//! out.
//!
//! It is a short list of *phases* (a tree, a ring, a fold, …), each of which gives its n-th step by a formula: the
//! state is a few numbers whatever the number of ranks.

mod allgather;
mod allreduce;
mod alltoall;
mod barrier;
mod bcast;
mod gather;
mod layout;
mod phase;
mod reduce;
mod reduce_scatter;
mod scan;
mod seat;
mod step;

mod bruck;
mod doubling;
mod exchange;
mod halves;
mod linear;
mod pipeline;
mod ring;
mod shape;
mod shares;
mod tree;

#[cfg(test)]
mod tests;

pub use layout::BlockLayout;
pub use seat::{Fold, RootNumbering, ScheduleStyle, Seat};
pub use shares::Extent;
pub use step::{Blocks, Piece, Side, Space, Step, Then};

use crate::platform::{Algorithm, Collective, Method};
use phase::{Next, Phase};

/// The most phases a schedule has.
const PHASES: usize = 6;

/// Into which blocks a schedule divides the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// The collective's buffer in this many (see [`BlockLayout::Split`]).
    Split(u32),
    /// The buffer in parts and these in segments (see [`BlockLayout::Nested`]).
    Nested {
        /// The parts.
        parts: u32,
        /// The segments of each.
        inner: u32,
        /// The bytes of each, or 0 for segments as even as they can be.
        segment: u64,
    },
    /// The buffer by halving again and again (see [`BlockLayout::Halved`]).
    Halved(u32),
    /// A block a rank.
    Ranks,
    /// Two blocks a rank, of which the first has at most this many bytes.
    Headed(u32),
}

/// A method, and those of the two collectives that it is made of if it is [`Algorithm::Nonoverlapping`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The method.
    pub method: Method,
    /// Of the reduction or gather.
    pub first: Method,
    /// Of the bcast or scatter.
    pub second: Method,
}

impl From<Method> for Choice {
    fn from(method: Method) -> Self {
        Choice { method, first: method, second: method }
    }
}

/// One member's part in a collective, step after step.
///
/// If every member runs its schedule and messages of a pair are matched in order, all come to [`Step::Done`], even
/// where every send waits for its receive (rendezvous), and the outputs hold what MPI-3.1, chapter 5 says.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    seat: Seat,
    parts: Parts,
    phases: [Phase; PHASES],
    phase: u8,
    round: u32,
}

impl Schedule {
    /// The part of `seat` in `collective` as `choice` says; `None` if the algorithm does not suit it (see
    /// [`suitable`]).
    ///
    /// `extent` is the whole buffer where the data is divided without regard to ranks: all members must state the same.
    /// The second schedule, if there is one, follows the first.
    pub fn plan(collective: Collective, choice: Choice, seat: Seat, extent: Extent) -> Option<(Self, Option<Self>)> {
        let second = (collective, choice.method.algorithm) == (Collective::Allreduce, Algorithm::Nonoverlapping);
        if second {
            let first = Schedule::new(Collective::Reduce, choice.first.into(), seat, extent)?;
            return Some((first, Some(Schedule::new(Collective::Bcast, choice.second.into(), seat, extent)?)));
        }
        Some((Schedule::new(collective, choice, seat, extent)?, None))
    }

    fn new(collective: Collective, choice: Choice, seat: Seat, extent: Extent) -> Option<Self> {
        use Collective::{
            Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Barrier, Bcast, Exscan, Gather, Gatherv, Reduce,
            ReduceScatter, Scan, Scatter, Scatterv,
        };
        let method = choice.method;
        if !suitable(collective).contains(&method.algorithm) {
            return None;
        }
        match collective {
            Barrier => barrier::plan(method, seat),
            Bcast => bcast::plan(method, seat, extent),
            Reduce => reduce::plan(method, seat, extent),
            Allreduce => allreduce::plan(method, seat, extent),
            Gather | Gatherv => gather::plan_gather(method, seat),
            Scatter | Scatterv => gather::plan_scatter(method, seat),
            Allgather | Allgatherv => allgather::plan(choice, seat),
            Alltoall | Alltoallv => alltoall::plan(method, seat),
            Scan => scan::plan_scan(method.algorithm, seat),
            Exscan => scan::plan_exscan(method.algorithm, seat),
            ReduceScatter => reduce_scatter::plan(choice, seat),
        }
    }

    /// The root of the collective; 0 where there is none.
    pub fn root(&self) -> u32 {
        self.seat.root
    }

    /// Into which blocks the data is divided.
    pub fn parts(&self) -> Parts {
        self.parts
    }

    /// The next step; after the last always [`Step::Done`].
    #[inline]
    pub fn next_step(&mut self) -> Step {
        while let Some(phase) = self.phases.get(usize::from(self.phase)) {
            let round = self.round;
            self.round += 1;
            match phase.step(self.seat, round) {
                Next::Do(step) => return step,
                Next::Skip => {}
                Next::End => {
                    self.phase += 1;
                    self.round = 0;
                }
            }
        }
        Step::Done
    }

    /// A schedule without phases.
    fn empty(seat: Seat, parts: Parts) -> Self {
        Schedule { seat, parts, phases: [Phase::Nothing; PHASES], phase: 0, round: 0 }
    }

    /// The same with one more phase.
    fn then(mut self, phase: Phase) -> Self {
        let free = self.phases.iter_mut().find(|phase| **phase == Phase::Nothing);
        *free.expect("no schedule has more phases") = phase;
        self
    }

    /// The same with one more phase if `condition` holds.
    fn then_if(self, condition: bool, phase: Phase) -> Self {
        if condition { self.then(phase) } else { self }
    }
}

/// The algorithms that suit `collective`.
pub fn suitable(collective: Collective) -> &'static [Algorithm] {
    use Algorithm::*;
    match collective {
        Collective::Barrier => &[Dissemination, Binomial, RecursiveDoubling, Linear, DoubleRing, TwoProcs],
        Collective::Bcast => {
            &[Binomial, ScatterAllgather, Linear, Chain, Pipeline, Chains, Binary, SplitBinary, Knomial, ScatterRing]
        }
        Collective::Reduce => &[Binomial, Rabenseifner, Linear, Pipeline, Chains, Binary, InOrderBinary, Knomial],
        Collective::Allreduce => {
            &[RecursiveDoubling, Rabenseifner, Ring, Binomial, Linear, SegmentedRing, Nonoverlapping]
        }
        Collective::Gather => &[Binomial, Linear, LinearSync],
        Collective::Scatter => &[Binomial, Linear],
        Collective::Gatherv | Collective::Scatterv => &[Linear],
        Collective::Allgather | Collective::Allgatherv => {
            &[RecursiveDoubling, Bruck, Ring, Linear, NeighborExchange, TwoProcs, Nonoverlapping]
        }
        Collective::Alltoall => &[Bruck, Pairwise, Linear, LinearSync, TwoProcs],
        Collective::Alltoallv => &[Pairwise, Linear],
        Collective::Scan | Collective::Exscan => &[RecursiveDoubling, Chain],
        Collective::ReduceScatter => &[RecursiveHalving, Pairwise, Binomial, Ring, Butterfly, Nonoverlapping],
    }
}

/// Whether `collective` by `algorithm` combines contributions in rank order, as operators that do not commute need
/// (MPI-3.1, section 5.9.1) if its seats say so. All operators are assumed associative. Of [`Algorithm::Nonoverlapping`]
/// its reduction decides.
pub fn keeps_rank_order(collective: Collective, algorithm: Algorithm) -> bool {
    use Algorithm::{Binary, Chains, Knomial, NodeAware, Pairwise, Pipeline, RecursiveHalving, Ring, SegmentedRing};
    !matches!(
        (collective, algorithm),
        (Collective::Reduce, Binary | Chains | Knomial | Pipeline | NodeAware)
            | (Collective::Allreduce, Ring | SegmentedRing | NodeAware)
            | (Collective::ReduceScatter, RecursiveHalving | Pairwise | Ring)
    )
}

/// Whether a segment size, and a number at a time or of children, mean anything to `algorithm`.
pub fn takes(collective: Collective, algorithm: Algorithm) -> (bool, bool) {
    use Algorithm::{
        Binary, Binomial, Chain, Chains, InOrderBinary, Knomial, Linear, LinearSync, Pipeline, SegmentedRing,
        SplitBinary,
    };
    match (collective, algorithm) {
        (Collective::Bcast | Collective::Reduce, Pipeline | Binary | Binomial | InOrderBinary) => (true, false),
        (Collective::Bcast | Collective::Reduce, Chains | Knomial) => (true, true),
        (Collective::Bcast, SplitBinary | Chain) | (Collective::Allreduce, SegmentedRing) => (true, false),
        (Collective::Gather, LinearSync) => (true, false),
        (Collective::Alltoall, LinearSync) => (false, true),
        (Collective::Barrier | Collective::Bcast | Collective::Reduce | Collective::Allreduce, Linear) => {
            (false, false)
        }
        (_, Linear) => (false, true),
        _ => (false, false),
    }
}
