//! Collectives as schedules: the list of the sends, receives, combinations and copies of each rank.
//!
//! A schedule generates the steps of one member in a collective. This module does not depend on the engine, on virtual
//! time or on the data. Every step states which data blocks the step moves. A test can therefore execute a schedule
//! with symbolic data.
//!
//! A schedule is a short list of *phases* (a tree, a ring, a fold, …). Each phase computes its n-th step by a formula,
//! so a schedule has constant size for any number of ranks.

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

use mcpsim_base::platform::{Algorithm, Collective, Method};
use phase::{Phase, PhaseStep};

/// Greatest number of phases of a schedule.
const PHASES: usize = 6;

/// Division of the data of a collective into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// The buffer is divided into this many blocks (see [`BlockLayout::Split`]).
    Split(u32),
    /// The buffer is divided into parts, and each part into segments (see [`BlockLayout::Nested`]).
    Nested {
        /// Number of parts into which the buffer is divided.
        parts: u32,
        /// Number of segments into which each part is divided.
        inner: u32,
        /// Number of bytes per segment, or 0 for segments of nearly equal size.
        segment: u64,
    },
    /// The buffer is divided into this many blocks by repeated halving (see [`BlockLayout::Halved`]).
    Halved(u32),
    /// The data consist of one block per rank.
    Ranks,
    /// The data are two blocks per rank, the first of which has at most this many bytes.
    Headed(u32),
}

/// An algorithm for a collective. If the algorithm is [`Algorithm::Nonoverlapping`], which executes two inner
/// collectives, also the algorithms of the inner collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Algorithm of the collective and the parameters of the algorithm.
    pub method: Method,
    /// Algorithm of the inner reduction or gather of [`Algorithm::Nonoverlapping`].
    pub first: Method,
    /// Algorithm of the inner bcast or scatter of [`Algorithm::Nonoverlapping`].
    pub second: Method,
}

impl From<Method> for Choice {
    fn from(method: Method) -> Self {
        Choice { method, first: method, second: method }
    }
}

/// Generator of the steps of one member in a collective.
///
/// If every member executes its schedule and the messages of each pair of members are matched in order, all members
/// reach [`Step::Done`], even if every send waits for its receive (rendezvous). The outputs are those of MPI-3.1,
/// chapter 5.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    seat: Seat,
    parts: Parts,
    phases: [Phase; PHASES],
    phase: u8,
    round: u32,
}

impl Schedule {
    /// Creates the schedule of the member at `seat` in `collective` with `choice`. `None` if the algorithm does not
    /// suit the collective (see [`suitable`]).
    ///
    /// `extent` is the size of the whole buffer if the data are not divided among ranks; all members must pass the same
    /// value. If the function returns two schedules, the member executes the second schedule after the first.
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

    /// Root of the collective; 0 for collectives without a root.
    pub fn root(&self) -> u32 {
        self.seat.root
    }

    /// Division of the schedule's data into blocks.
    pub fn parts(&self) -> Parts {
        self.parts
    }

    /// Returns the next step of the schedule; after the last step always [`Step::Done`].
    #[inline]
    pub fn next_step(&mut self) -> Step {
        while let Some(phase) = self.phases.get(usize::from(self.phase)) {
            let round = self.round;
            self.round += 1;
            match phase.step(self.seat, round) {
                PhaseStep::Do(step) => return step,
                PhaseStep::Skip => {}
                PhaseStep::End => {
                    self.phase += 1;
                    self.round = 0;
                }
            }
        }
        Step::Done
    }

    /// Returns the schedule without its steps.
    pub fn without_steps(self) -> Self {
        Schedule::empty(self.seat, self.parts)
    }

    /// Creates a schedule that has no phases yet.
    fn empty(seat: Seat, parts: Parts) -> Self {
        Schedule { seat, parts, phases: [Phase::Nothing; PHASES], phase: 0, round: 0 }
    }

    /// Appends `phase` to the phases of the schedule.
    fn then(mut self, phase: Phase) -> Self {
        let free = self.phases.iter_mut().find(|phase| **phase == Phase::Nothing);
        *free.expect("no schedule has more phases") = phase;
        self
    }

    /// Appends `phase` to the schedule if `condition` holds.
    fn then_if(self, condition: bool, phase: Phase) -> Self {
        if condition { self.then(phase) } else { self }
    }
}

/// The algorithms that can execute `collective`.
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

/// Whether `algorithm` can combine contributions in rank order ([`Seat::ordered`]), as non-commutative operators
/// require (MPI-3.1, section 5.9.1). All operators are assumed to be associative. For [`Algorithm::Nonoverlapping`] the
/// algorithm of the inner reduction decides.
pub fn keeps_rank_order(collective: Collective, algorithm: Algorithm) -> bool {
    use Algorithm::{Binary, Chains, Knomial, NodeAware, Pairwise, Pipeline, RecursiveHalving, Ring, SegmentedRing};
    !matches!(
        (collective, algorithm),
        (Collective::Reduce, Binary | Chains | Knomial | Pipeline | NodeAware)
            | (Collective::Allreduce, Ring | SegmentedRing | NodeAware)
            | (Collective::ReduceScatter, RecursiveHalving | Pairwise | Ring)
    )
}

/// Returns whether `algorithm` uses a segment size, and whether `algorithm` uses the parameter `fan` (the number of
/// concurrent messages, or of children in a tree).
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
