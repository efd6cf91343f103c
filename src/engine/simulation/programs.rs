//! The programs of a run as trait objects, so that the engine is not compiled for each type of program.

use crate::error::RunError;
use crate::outcome::Outcome;
use crate::processes::{Processes, Screen};
use mcpsim_base::rank::{Program, Rank};

use super::{Progress, Simulation};

/// Function that creates the program of a rank as a trait object.
type AnyPrograms<'a> = &'a (dyn Fn(Rank) -> Box<dyn Program> + Sync);

/// A simulation that is ready to run, and the host resources that it needs.
#[derive(Clone, Copy)]
pub struct PreparedRun<'a> {
    /// Machine, cores of ranks, and options.
    pub simulation: &'a Simulation<'a>,
    /// Host processes of the run.
    pub processes: &'a Processes,
    /// Printed output of the simulated ranks.
    pub screen: &'a dyn Screen,
    /// Progress of the run, for another host thread.
    pub progress: &'a Progress,
}

/// Result of a run; `None` in all host processes except the first.
pub type RunResult = Option<Result<Outcome, RunError>>;

impl PreparedRun<'_> {
    /// Calls [`Simulation::run_in`], compiled for programs of type `P`.
    pub fn run<P: Program>(self, make: impl Fn(Rank) -> P + Sync) -> RunResult {
        self.simulation.run_in(self.processes, self.screen, make, self.progress)
    }

    /// Calls [`Simulation::run_in`] for programs of any type, as trait objects.
    pub fn run_boxed(self, make: AnyPrograms<'_>) -> RunResult {
        self.run(make)
    }
}

/// Factory of the programs of a run, one per rank.
///
/// [`PreparedRun::run`] is compiled for the type of the programs. [`PreparedRun::run`] is fastest at run time but takes
/// long to compile. Implement [`RankPrograms::run_prepared`] with [`PreparedRun::run`] if speed matters. By default
/// programs are trait objects, and the same compiled code runs programs of all types.
pub trait RankPrograms: Sync {
    /// Creates the program of `rank`.
    fn program(&self, rank: Rank) -> Box<dyn Program>;

    /// Runs the prepared simulation with the programs of this factory.
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
    /// Calls [`Simulation::run`] for programs of any type, as trait objects.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn run_boxed(&self, make: AnyPrograms<'_>, progress: &Progress) -> Result<Outcome, RunError> {
        self.run(make, progress)
    }
}
