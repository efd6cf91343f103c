//! Conservative estimate of the host memory of a run, from its number of ranks.

use crate::units::Bytes;

/// Kind of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankKind {
    /// Rank of a described application: some kilobytes (`benches/README.md`: 1 to 6), more if messages queue up.
    Described,
    /// Rank of a real program; its data and stack are known only at run time.
    Real,
}

/// Memory of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBudget(u64);

impl MemoryBudget {
    /// Fixed memory of a run.
    const RUN: u64 = 4 << 20;

    /// Memory of a run of this many ranks.
    pub fn of_run(ranks: u32, kind: RankKind) -> MemoryBudget {
        let rank = match kind {
            RankKind::Described => 8 << 10,
            RankKind::Real => 1 << 20,
        };
        MemoryBudget(Self::RUN + u64::from(ranks) * rank)
    }

    /// Adds more memory.
    pub fn and(self, more: Bytes) -> MemoryBudget {
        MemoryBudget(self.0.saturating_add(more.get()))
    }

    /// Part of the host's available memory that runs may use; the rest is for other processes.
    pub fn of_host(available: Bytes) -> MemoryBudget {
        MemoryBudget(available.get() / 10 * 8)
    }

    /// Size in bytes.
    pub fn bytes(self) -> Bytes {
        Bytes::new(self.0)
    }
}
