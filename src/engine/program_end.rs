//! End of a real program.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use mcpsim_base::units::{SimSpan, picoseconds};

/// Exit codes of a real program's ranks, and memory and libraries that the ranks shared. The value does not exist for a
/// program that ended as the MPI standard requires and shared neither.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ProgramEnd {
    /// Exit code of mcpsim: the first nonzero exit code of a rank, or 1 if ranks never called MPI_Finalize.
    pub exit_code: u8,
    /// Nonzero exit codes of the program by rank.
    pub codes: BTreeMap<u32, i32>,
    /// Ranks that never called MPI_Finalize.
    pub unfinalised: Vec<u32>,
    /// Files of libraries that were loaded once for all ranks, except the C library and compiler libraries.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shared_libraries: Vec<String>,
    /// Memory of the ranks on the same physical pages, whose contents are meaningless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folded_memory: Option<FoldedUse>,
    /// Calls of BLAS functions that took their time from a table and computed nothing, by function, such as "dgemm".
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modelled_kernels: BTreeMap<String, KernelCalls>,
}

/// Calls of a modelled kernel, summed over the ranks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct KernelCalls {
    /// Number of calls.
    pub calls: u64,
    /// Time of the calls on the target machine.
    #[serde(rename = "time_ps", deserialize_with = "picoseconds")]
    pub time: SimSpan,
}

impl std::ops::AddAssign for KernelCalls {
    fn add_assign(&mut self, other: KernelCalls) {
        self.calls += other.calls;
        self.time += other.time;
    }
}

/// Folded memory, which all ranks of a host process have on the same physical pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FoldedUse {
    /// Sum over the ranks of the greatest folded memory of each rank, in bytes.
    pub bytes: u64,
    /// Number of allocations.
    pub blocks: u64,
    /// Memory of the host that the largest block occupies, in bytes.
    pub host_bytes: u64,
}

impl FoldedUse {
    /// Adds the folded memory of another host process.
    #[must_use]
    pub fn plus(self, other: FoldedUse) -> FoldedUse {
        FoldedUse {
            bytes: self.bytes + other.bytes,
            blocks: self.blocks + other.blocks,
            host_bytes: self.host_bytes.max(other.host_bytes),
        }
    }
}
