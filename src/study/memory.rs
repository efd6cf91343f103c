//! Conservative estimate of the host memory that a run needs, from its number of ranks.

use crate::units::Bytes;

/// Kind of simulated ranks, which determines their memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankKind {
    /// Rank of a described application. Such a rank needs some kilobytes (`benches/README.md`: 1 to 6), and more if
    /// messages queue up.
    Described,
    /// Rank of a real program. The size of its data and stack is known only at run time.
    Real,
}

/// Host memory of one or several runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBudget(u64);

impl MemoryBudget {
    /// Memory of a run that does not depend on its number of ranks, bytes.
    const RUN: u64 = 4 << 20;

    /// Estimates the memory of a run of `ranks` ranks.
    pub fn of_run(ranks: u32, kind: RankKind) -> MemoryBudget {
        let rank = match kind {
            RankKind::Described => 8 << 10,
            RankKind::Real => 1 << 20,
        };
        MemoryBudget(Self::RUN + u64::from(ranks) * rank)
    }

    /// Adds `more` memory.
    pub fn and(self, more: Bytes) -> MemoryBudget {
        MemoryBudget(self.0.saturating_add(more.get()))
    }

    /// Returns the share of the host's available memory that runs may use. The remainder is for other processes.
    pub fn of_host(available: Bytes) -> MemoryBudget {
        MemoryBudget(available.get() / 10 * 8)
    }

    /// Returns the memory size in bytes.
    pub fn bytes(self) -> Bytes {
        Bytes::new(self.0)
    }
}
