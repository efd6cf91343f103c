//! End of a real program.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Exit codes of a real program's ranks, and libraries that the ranks shared. The value does not exist for a program
/// that ended as the MPI standard requires and shared no library.
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
}
