//! The programs of a run as a value, so that a run is not compiled again wherever one is started.

use crate::engine::error::RunError;
use crate::engine::outcome::Outcome;
use crate::engine::processes::{Processes, Screen};
use crate::rank::{Program, Rank};

use super::{Progress, Simulation};

/// What makes programs of any type.
type AnyPrograms<'a> = &'a (dyn Fn(Rank) -> Box<dyn Program> + Sync);

/// A simulation about to run, and what it needs of the host.
#[derive(Clone, Copy)]
pub struct PreparedRun<'a> {
    /// What runs.
    pub simulation: &'a Simulation<'a>,
    /// The processes that share it.
    pub processes: &'a Processes,
    /// Where its ranks print.
    pub screen: &'a dyn Screen,
    /// What others see of it meanwhile.
    pub progress: &'a Progress,
}

/// What a run gave, on the first process.
pub type RunResult = Option<Result<Outcome, RunError>>;

impl PreparedRun<'_> {
    /// [`Simulation::run_in`], compiled for programs of type `P`.
    pub fn run<P: Program>(self, make: impl Fn(Rank) -> P + Sync) -> RunResult {
        self.simulation.run_in(self.processes, self.screen, make, self.progress)
    }

    /// The same for programs of any type.
    pub fn run_boxed(self, make: AnyPrograms<'_>) -> RunResult {
        self.run(make)
    }
}

/// What makes the programs of a run, one a rank.
///
/// [`PreparedRun::run`] is compiled for the type of its programs: that is fastest, and takes long to compile. Whoever
/// implements [`RankPrograms::run_prepared`] by it does so where speed counts; else programs stand behind pointers, and one
/// compiled run serves them all.
pub trait RankPrograms: Sync {
    /// The program of `rank`.
    fn program(&self, rank: Rank) -> Box<dyn Program>;

    /// Runs these programs.
    fn run_prepared(&self, prepared: PreparedRun<'_>) -> RunResult {
        prepared.run_boxed(&|rank| self.program(rank))
    }
}

impl<F: Fn(Rank) -> Box<dyn Program> + Sync> RankPrograms for F {
    fn program(&self, rank: Rank) -> Box<dyn Program> {
        self(rank)
    }
}

impl Simulation<'_> {
    /// As [`Simulation::run`], with programs of any type.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn run_boxed(&self, make: AnyPrograms<'_>, progress: &Progress) -> Result<Outcome, RunError> {
        self.run(make, progress)
    }
}
