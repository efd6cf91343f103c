//! The programs of a run as a value, so that a run is not compiled again wherever one is started.

use crate::engine::error::RunError;
use crate::engine::outcome::Outcome;
use crate::engine::processes::{Processes, Screen};
use crate::rank::{Program, Rank};

use super::{Progress, Simulation};

/// What makes programs of any type.
type AnyPrograms<'a> = &'a (dyn Fn(Rank) -> Box<dyn Program> + Sync);

/// What makes the programs of a run, one a rank.
///
/// A run through [`Simulation::run_in`] is compiled for the type of its programs: that is fastest, and takes long to
/// compile. Whoever implements [`RankPrograms::simulate`] by it does so where speed counts; else programs stand behind
/// pointers, and one compiled run serves them all.
pub trait RankPrograms: Sync {
    /// The program of `rank`.
    fn program(&self, rank: Rank) -> Box<dyn Program>;

    /// As [`Simulation::run_in`], with these programs.
    fn simulate(
        &self,
        simulation: &Simulation<'_>,
        processes: &Processes,
        screen: &dyn Screen,
        progress: &Progress,
    ) -> Option<Result<Outcome, RunError>> {
        simulation.run_boxed_in(processes, screen, &|rank| self.program(rank), progress)
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

    /// As [`Simulation::run_in`], with programs of any type.
    pub fn run_boxed_in(
        &self,
        processes: &Processes,
        screen: &dyn Screen,
        make: AnyPrograms<'_>,
        progress: &Progress,
    ) -> Option<Result<Outcome, RunError>> {
        self.run_in(processes, screen, make, progress)
    }
}
