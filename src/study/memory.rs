//! Conservative estimate of the host memory that a simulation run needs, from its number of ranks.

use crate::units::Bytes;

/// Kind of simulated ranks, which determines the host memory per rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankKind {
    /// Rank of a described application. Such a rank needs some kilobytes (`benches/README.md`: 1 to 6), and more memory
    /// if messages queue up.
    Described,
    /// Rank of a real program. The size of the rank's data and stack is known only at run time.
    Real,
}

/// Host memory of one or several simulation runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBudget(u64);

impl MemoryBudget {
    /// Host memory of a simulation run that does not depend on its number of ranks, bytes.
    const RUN: u64 = 4 << 20;

    /// Estimates the host memory of a simulation run of `ranks` ranks.
    pub fn of_run(ranks: u32, kind: RankKind) -> MemoryBudget {
        let rank = match kind {
            RankKind::Described => 8 << 10,
            RankKind::Real => 1 << 20,
        };
        MemoryBudget(Self::RUN + u64::from(ranks) * rank)
    }

    /// Adds `more` host memory to the estimate.
    pub fn and(self, more: Bytes) -> MemoryBudget {
        MemoryBudget(self.0.saturating_add(more.get()))
    }

    /// Returns the share of the host's available memory that simulation runs may use. The remaining memory is for other
    /// processes.
    pub fn of_host(available: Bytes) -> MemoryBudget {
        MemoryBudget(available.get() / 10 * 8)
    }

    /// Returns the memory size in bytes.
    pub fn bytes(self) -> Bytes {
        Bytes::new(self.0)
    }
}
