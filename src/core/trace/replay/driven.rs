//! Programs of the ranks of a trace on a simulated machine, in the form that the engine runs.

use std::sync::Arc;

use super::Replay;
use crate::engine::{PreparedRun, RankPrograms, RunResult};
use crate::mpi::DataCost;
use crate::platform::{MemoryShares, Platform, Site};
use crate::rank::{Program, Rank};
use crate::trace::{Machine, Trace};

/// The simulated machine of a replay, with the place of each rank.
pub struct ReplayMachine<'a> {
    platform: Arc<Platform>,
    sites: &'a [Site],
    memory: MemoryShares,
    /// Number of cores per rank.
    cores: u32,
}

impl<'a> ReplayMachine<'a> {
    /// Creates the machine of a replay, whose ranks are at the cores `sites` of `platform`.
    pub fn new(platform: &Platform, sites: &'a [Site]) -> Self {
        ReplayMachine::with_memory(Arc::new(platform.clone()), sites, MemoryShares::new(platform, sites))
    }

    /// Creates the machine of a replay, whose ranks at `sites` have parts of `memory`, which other ranks use as well.
    pub fn with_memory(platform: Arc<Platform>, sites: &'a [Site], memory: MemoryShares) -> Self {
        ReplayMachine { platform, sites, memory, cores: 1 }
    }

    /// Gives each rank `cores` cores.
    #[must_use]
    pub fn with_cores(self, cores: u32) -> Self {
        ReplayMachine { cores, ..self }
    }

    /// The simulated machine as seen by `rank`.
    pub fn of(&self, rank: Rank) -> Machine {
        let part = self.memory.part(self.sites[rank as usize]);
        let platform = self.platform.clone();
        Machine { cost: DataCost::of_machine(&platform, part), memory: part.bandwidth, cores: self.cores, platform }
    }
}

/// The ranks of a trace, placed on a simulated machine.
pub struct ReplayedRun<'a> {
    trace: &'a Arc<Trace>,
    machine: ReplayMachine<'a>,
    factors: Vec<f64>,
}

impl Trace {
    /// Places the ranks of the trace on `machine`. The times of each rank's code are multiplied by the rank's value in
    /// `factors`.
    pub fn on<'a>(self: &'a Arc<Self>, machine: ReplayMachine<'a>, factors: Vec<f64>) -> ReplayedRun<'a> {
        ReplayedRun { trace: self, machine, factors }
    }
}

impl ReplayedRun<'_> {
    fn replay(&self, rank: Rank) -> Replay {
        self.trace.program(rank, &self.machine.of(rank), self.factors[rank as usize])
    }
}

impl RankPrograms for ReplayedRun<'_> {
    fn program(&self, rank: Rank) -> Box<dyn Program> {
        Box::new(self.replay(rank))
    }

    fn run_prepared(&self, prepared: PreparedRun<'_>) -> RunResult {
        prepared.run(|rank| self.replay(rank))
    }
}
