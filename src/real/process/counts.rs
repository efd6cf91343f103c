//! Counts of a rank's calls.

use std::cell::{Cell, RefCell};

use rustc_hash::FxHashMap;

use super::kernels::KernelUse;
use super::rank::Process;

/// Counts of a rank's MPI calls for profiles, and of its calls of modelled kernels.
#[derive(Debug, Default)]
pub struct CallCounts {
    /// True if MPI calls are counted by function name.
    pub is_wanted: Cell<bool>,
    /// True if MPI calls are also counted by code position in the program.
    pub by_place: Cell<bool>,
    /// True if the call paths of the program's own functions are recorded.
    pub has_paths: Cell<bool>,
    /// True if the program has disabled the profile with MPI_Pcontrol.
    pub is_off: Cell<bool>,
    /// Number of all MPI calls of the rank.
    entries: Cell<u64>,
    /// Number of the last call of the task that runs.
    pub(super) current: Cell<u64>,
    /// True while the block of code before a call is executed.
    pub(super) is_before_call: Cell<bool>,
    /// Number of MPI calls in the profile, by function name.
    pub made: RefCell<FxHashMap<&'static str, u64>>,
    /// Calls of modelled kernels.
    pub kernels: RefCell<KernelUse>,
}

/// Function call of a program to which calls of the engine belong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CurrentCall {
    /// Number of the call among the calls of the rank; `None` outside of functions.
    pub number: Option<u64>,
    /// True if the call is in the profile.
    pub is_profiled: bool,
}

impl CallCounts {
    /// Counts a call of the MPI function `name`.
    #[inline]
    pub fn enter(&self, name: &'static str) {
        self.entries.set(self.entries.get() + 1);
        self.current.set(self.entries.get());
        self.add(name);
    }

    /// Counts a call of the function `name` that makes no calls of the engine.
    #[inline]
    pub fn add(&self, name: &'static str) {
        if self.is_wanted.get() && !self.is_off.get() {
            *self.made.borrow_mut().entry(name).or_default() += 1;
        }
    }

    /// Calls `body`, which may call MPI functions, within the current call.
    pub fn within<R>(&self, body: impl FnOnce() -> R) -> R {
        let outer = self.current.get();
        let result = body();
        self.current.set(outer);
        result
    }

    /// Returns the number of calls of each function, in the order of the names.
    pub fn by_name(&self) -> Vec<(&'static str, u64)> {
        let mut made: Vec<_> = self.made.borrow().iter().map(|(name, made)| (*name, *made)).collect();
        made.sort_unstable();
        made
    }
}

impl Process {
    /// Returns the function call to which calls of the engine belong now.
    #[inline]
    pub fn current_call(&self) -> CurrentCall {
        let is_in_call = self.in_call() && !self.counts.is_before_call.get();
        let number = is_in_call.then(|| self.counts.current.get());
        CurrentCall { number, is_profiled: number.is_some() && !self.counts.is_off.get() }
    }
}
