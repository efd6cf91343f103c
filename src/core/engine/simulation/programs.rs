//! The programs of a run as a trait object, so that the engine is not compiled for each caller.

use crate::engine::error::RunError;
use crate::engine::outcome::Outcome;
use crate::engine::processes::{Processes, Screen};
use crate::rank::{Program, Rank};

use super::{Progress, Simulation};

/// Function that creates programs as trait objects.
type AnyPrograms<'a> = &'a (dyn Fn(Rank) -> Box<dyn Program> + Sync);

/// A simulation that is ready to run, and the host resources that it needs.
#[derive(Clone, Copy)]
pub struct PreparedRun<'a> {
    /// The simulation.
    pub simulation: &'a Simulation<'a>,
    /// Processes of the run.
    pub processes: &'a Processes,
    /// Output of its ranks.
    pub screen: &'a dyn Screen,
    /// Progress of the run.
    pub progress: &'a Progress,
}

/// Result of a run, in the first process.
pub type RunResult = Option<Result<Outcome, RunError>>;

impl PreparedRun<'_> {
    /// Runs [`Simulation::run_in`], compiled for programs of type `P`.
    pub fn run<P: Program>(self, make: impl Fn(Rank) -> P + Sync) -> RunResult {
        self.simulation.run_in(self.processes, self.screen, make, self.progress)
    }

    /// Runs programs of any type.
    pub fn run_boxed(self, make: AnyPrograms<'_>) -> RunResult {
        self.run(make)
    }
}

/// Factory of the programs of a run, one per rank.
///
/// [`PreparedRun::run`] is compiled for the type of its programs. This is fastest at run time but takes long to
/// compile. Implement [`RankPrograms::run_prepared`] with it if speed matters. By default programs are boxed, and one
/// compiled run serves all types.
pub trait RankPrograms: Sync {
    /// Creates the program of `rank`.
    fn program(&self, rank: Rank) -> Box<dyn Program>;

    /// Runs the programs.
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
    /// Runs [`Simulation::run`] with programs of any type.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn run_boxed(&self, make: AnyPrograms<'_>, progress: &Progress) -> Result<Outcome, RunError> {
        self.run(make, progress)
    }
}
