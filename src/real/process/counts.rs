//! Counts of a rank's calls.

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashMap;

use super::kernels::KernelUse;

/// Counts of a rank's MPI calls for profiles, and of its calls of modelled kernels.
#[derive(Debug, Default)]
pub struct CallCounts {
    /// True if MPI calls are counted by function name.
    pub is_wanted: Cell<bool>,
    /// True if MPI calls are also counted by code position in the program.
    pub by_place: Cell<bool>,
    /// True if the program has disabled the profile with MPI_Pcontrol.
    pub is_off: Cell<bool>,
    /// Number of all MPI calls of the rank.
    pub entries: Cell<u64>,
    /// Number of MPI calls in the profile, by function name.
    pub made: RefCell<FxHashMap<&'static str, u64>>,
    /// Calls of modelled kernels.
    pub kernels: RefCell<KernelUse>,
}

impl CallCounts {
    /// Counts a call of the MPI function `name`.
    #[inline]
    pub fn enter(&self, name: &'static str) {
        self.entries.set(self.entries.get() + 1);
        if self.is_wanted.get() && !self.is_off.get() {
            *self.made.borrow_mut().entry(name).or_default() += 1;
        }
    }
}
