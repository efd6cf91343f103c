//! Programs of the ranks of an application on a simulated machine, in the form that the engine runs.

use std::sync::Arc;

use crate::engine::{PreparedRun, RankPrograms, RunResult};
use crate::mpi::MpiDriver;
use crate::platform::{MemoryShares, Platform, Site};
use crate::rank::{Program, Rank};

use super::bind::BoundApp;
use super::program::AppProgram;

/// The ranks of an application, placed on a simulated machine.
pub struct DrivenApp<'a> {
    app: &'a BoundApp,
    platform: Arc<Platform>,
    sites: &'a [Site],
    memory: MemoryShares,
}

impl BoundApp {
    /// Places the ranks of the application on the cores `sites` of `platform`.
    pub fn on<'a>(&'a self, platform: Arc<Platform>, sites: &'a [Site]) -> DrivenApp<'a> {
        DrivenApp { app: self, memory: MemoryShares::new(&platform, sites), platform, sites }
    }
}

impl DrivenApp<'_> {
    fn driver(&self, rank: Rank) -> MpiDriver<AppProgram> {
        let part = self.memory.part(self.sites[rank as usize]);
        MpiDriver::new(self.app.program(rank, part), self.platform.clone(), part)
    }
}

impl RankPrograms for DrivenApp<'_> {
    fn program(&self, rank: Rank) -> Box<dyn Program> {
        Box::new(self.driver(rank))
    }

    fn run_prepared(&self, prepared: PreparedRun<'_>) -> RunResult {
        prepared.run(|rank| self.driver(rank))
    }
}
