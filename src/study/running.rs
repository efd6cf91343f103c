//! The runs of a sweep that are under way, to be cancelled together.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::Progress;

/// The runs under way.
#[derive(Clone, Debug, Default)]
pub struct Running {
    cancelled: Arc<AtomicBool>,
    runs: Arc<Mutex<Vec<Arc<Progress>>>>,
}

impl Running {
    /// A run begins.
    pub fn enter(&self) -> Arc<Progress> {
        let progress = Arc::new(Progress::default());
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&progress));
        if self.cancelled() {
            progress.cancel();
        }
        progress
    }

    /// A run has ended.
    pub fn leave(&self, progress: &Arc<Progress>) {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).retain(|other| !Arc::ptr_eq(other, progress));
    }

    /// Ends all runs, also those that begin from now on.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::SeqCst);
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|progress| progress.cancel());
    }

    /// Whether they are to end.
    pub fn cancelled(&self) -> bool {
        self.cancelled.load(Ordering::SeqCst)
    }

    /// Set when they are to end.
    pub fn flag(&self) -> &AtomicBool {
        &self.cancelled
    }
}
