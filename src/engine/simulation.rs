//! A run from its inputs to its [`Outcome`].

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::platform::{Platform, Site};
use crate::profile::Intervals;
use crate::rank::{Program, Rank};
use crate::units::SimTime;

use super::{Outcome, RunError};

/// What a run is asked to do, besides the machine and the programs.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Host threads; `None` takes as many as pay off. Never more than there are nodes.
    pub workers: Option<u32>,
    /// End the run when a clock passes this.
    pub max_time: Option<SimTime>,
    /// End the run after this many events.
    pub max_events: Option<u64>,
    /// Size intervals of the message profile.
    pub intervals: Intervals,
    /// Record messages between pairs of ranks.
    pub pairs: bool,
    /// List every rank's time in the Outcome even above 65,536 ranks.
    pub per_rank: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            workers: None,
            max_time: None,
            max_events: None,
            intervals: Intervals::default(),
            pairs: false,
            per_rank: false,
        }
    }
}

/// What the Outcome says of its inputs.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// The application's name.
    pub app: String,
    /// `mcpsim` or `bigsim`.
    pub model: String,
    /// The seed of all random draws.
    pub seed: u64,
    /// Everything the run was given.
    pub config: serde_json::Value,
}

/// Seen and steered from another thread while a run goes on.
#[derive(Debug, Default)]
pub struct Progress {
    time: AtomicU64,
    messages: AtomicU64,
    cancelled: AtomicBool,
}

impl Progress {
    /// The virtual time reached by the run.
    pub fn time(&self) -> SimTime {
        SimTime::from_ps(self.time.load(Ordering::Relaxed))
    }

    /// Messages delivered so far.
    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    /// Asks the run to end soon with [`RunError::Interrupted`].
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

/// A run: a machine, where the ranks are, and what is asked.
#[derive(Debug)]
pub struct Simulation<'a> {
    platform: &'a Platform,
    sites: Vec<Site>,
    options: RunOptions,
    labels: Labels,
}

impl<'a> Simulation<'a> {
    /// A run of as many ranks as there are `sites` on `platform`.
    pub fn new(platform: &'a Platform, sites: Vec<Site>, options: RunOptions, labels: Labels) -> Self {
        Simulation { platform, sites, options, labels }
    }

    /// Runs the programs that `make` gives, one a rank, to their end.
    ///
    /// # Errors
    /// See [`RunError`].
    pub fn run<P: Program>(&self, make: impl Fn(Rank) -> P + Sync, progress: &Progress) -> Result<Outcome, RunError> {
        let _ = (&self.platform, &self.sites, &self.options, &self.labels, make(0), progress);
        unimplemented!("being written")
    }
}
