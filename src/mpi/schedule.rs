//! Collectives as schedules: which rank sends, receives, combines and copies what, step after step.
//!
//! A schedule is one member's part. It is generated lazily, knows nothing of the engine, of times and of the data itself,
//! and says of every step which data it concerns, so that it can be costed, checked symbolically, or carried out.
//!
//! It is a short list of *phases* (a tree, a ring, a fold, …), each of which gives its n-th step by a formula: the state
//! is a few numbers whatever the number of ranks.

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
mod linear;
mod ring;
mod tree;

#[cfg(test)]
mod tests;

pub use layout::Layout;
pub use seat::Seat;
pub use step::{Blocks, Piece, Side, Space, Step, Then};

use crate::platform::{Algorithm, Collective};
use crate::units::Bytes;
use phase::{Next, Phase};

/// The most phases a schedule has.
const PHASES: usize = 6;

/// Into which blocks a schedule divides the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parts {
    /// The collective's buffer in this many (see [`Layout::Split`]).
    Split(u32),
    /// A block a rank.
    Ranks,
}

/// One member's part in a collective, step after step.
///
/// If every member runs its schedule and messages of a pair are matched in order, all come to [`Step::Done`], even where
/// every send waits for its receive (rendezvous), and the outputs hold what MPI-3.1, chapter 5 says.
#[derive(Clone, Copy, Debug)]
pub struct Schedule {
    seat: Seat,
    parts: Parts,
    phases: [Phase; PHASES],
    phase: u8,
    round: u32,
}

impl Schedule {
    /// The part of `seat` in `collective` by `algorithm`; `None` if the algorithm does not suit it (see [`suitable`]).
    ///
    /// `size` is the whole buffer where [`Parts::Split`] applies: all members must state the same.
    pub fn new(collective: Collective, algorithm: Algorithm, seat: Seat, size: Bytes) -> Option<Self> {
        use Collective::{
            Allgather, Allgatherv, Allreduce, Alltoall, Alltoallv, Barrier, Bcast, Exscan, Gather, Gatherv, Reduce,
            ReduceScatter, Scan, Scatter, Scatterv,
        };
        if !suitable(collective).contains(&algorithm) {
            return None;
        }
        match collective {
            Barrier => barrier::plan(algorithm, seat),
            Bcast => bcast::plan(algorithm, seat, size),
            Reduce => reduce::plan(algorithm, seat),
            Allreduce => allreduce::plan(algorithm, seat),
            Gather | Gatherv => gather::plan_gather(algorithm, seat),
            Scatter | Scatterv => gather::plan_scatter(algorithm, seat),
            Allgather | Allgatherv => allgather::plan(algorithm, seat),
            Alltoall | Alltoallv => alltoall::plan(algorithm, seat),
            Scan => scan::plan_scan(algorithm, seat),
            Exscan => scan::plan_exscan(algorithm, seat),
            ReduceScatter => reduce_scatter::plan(algorithm, seat),
        }
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
    use Algorithm::{
        Binomial, Bruck, Chain, Dissemination, Linear, Pairwise, Rabenseifner, RecursiveDoubling, RecursiveHalving,
        Ring, ScatterAllgather,
    };
    match collective {
        Collective::Barrier => &[Dissemination, Binomial, RecursiveDoubling],
        Collective::Bcast => &[Binomial, ScatterAllgather, Linear, Chain],
        Collective::Reduce => &[Binomial, Rabenseifner, Linear],
        Collective::Allreduce => &[RecursiveDoubling, Rabenseifner, Ring, Binomial],
        Collective::Gather | Collective::Scatter => &[Binomial, Linear],
        Collective::Gatherv | Collective::Scatterv => &[Linear],
        Collective::Allgather | Collective::Allgatherv => &[RecursiveDoubling, Bruck, Ring, Linear],
        Collective::Alltoall => &[Bruck, Pairwise, Linear],
        Collective::Alltoallv => &[Pairwise, Linear],
        Collective::Scan | Collective::Exscan => &[RecursiveDoubling, Chain],
        Collective::ReduceScatter => &[RecursiveHalving, Pairwise, Binomial],
    }
}

/// Whether `collective` by `algorithm` combines contributions in rank order, as operators that do not commute need
/// (MPI-3.1, section 5.9.1). All operators are assumed associative. Every reduction has an algorithm that does for any root.
pub fn keeps_rank_order(collective: Collective, algorithm: Algorithm, root: u32) -> bool {
    match (collective, algorithm) {
        // The tree's order begins with the root.
        (Collective::Reduce, Algorithm::Binomial) => root == 0,
        (Collective::Allreduce, Algorithm::Ring)
        | (Collective::ReduceScatter, Algorithm::RecursiveHalving | Algorithm::Pairwise) => false,
        _ => true,
    }
}
