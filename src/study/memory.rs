//! How much of the host's memory a run is going to take: a guess on the safe side, from its number of ranks.

use crate::units::Bytes;

/// What a rank is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankKind {
    /// A described application's: some kilobytes (`benches/README.md`: 1 to 6), more where messages pile up.
    Described,
    /// A real program's: what its data and stack take is known only when it runs.
    Real,
}

/// Memory of runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryBudget(u64);

impl MemoryBudget {
    /// What a run takes whatever its size.
    const RUN: u64 = 4 << 20;

    /// A run of so many ranks.
    pub fn of_run(ranks: u32, kind: RankKind) -> MemoryBudget {
        let rank = match kind {
            RankKind::Described => 8 << 10,
            RankKind::Real => 1 << 20,
        };
        MemoryBudget(Self::RUN + u64::from(ranks) * rank)
    }

    /// With so much besides.
    pub fn and(self, more: Bytes) -> MemoryBudget {
        MemoryBudget(self.0.saturating_add(more.get()))
    }

    /// What runs may take of what the host has: some is left for others.
    pub fn of_host(available: Bytes) -> MemoryBudget {
        MemoryBudget(available.get() / 10 * 8)
    }

    /// As bytes.
    pub fn bytes(self) -> Bytes {
        Bytes::new(self.0)
    }
}
