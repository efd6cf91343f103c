//! Set of a sweep's active simulation runs, which can be cancelled together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::Progress;

/// Set of active simulation runs.
#[derive(Clone, Debug, Default)]
pub struct Running {
    cancelled: Arc<AtomicBool>,
    runs: Arc<Mutex<Vec<Arc<Progress>>>>,
}

impl Running {
    /// Registers a simulation run. Returns the progress of the run, through which the run can be cancelled.
    pub fn enter(&self) -> Arc<Progress> {
        let progress = Arc::new(Progress::default());
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&progress));
        if self.cancelled() {
            progress.cancel();
        }
        progress
    }

    /// Removes a finished simulation run.
    pub fn leave(&self, progress: &Arc<Progress>) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| !Arc::ptr_eq(other, progress));
    }

    /// Cancels all active simulation runs, including runs that are registered later.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|progress| progress.cancel());
    }

    /// Returns true if the simulation runs were cancelled.
    pub fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }

    /// Returns the flag that is set when the simulation runs are cancelled.
    pub fn flag(&self) -> &AtomicBool {
        &self.cancelled
    }
}
