//! The conservative parallel simulation: what orders ranks' calls in virtual time.

mod activity;
mod adapters;
mod backtrack;
mod calls;
mod chunked_vec;
mod clock;
mod conditions;
mod delays;
mod departure;
mod error;
mod event;
mod fair;
mod findings;
mod granted;
mod horizon;
mod idle;
mod jobs;
mod level_rules;
mod lp;
mod memory;
mod messages;
mod meter;
mod mistake;
mod mpi_intervals;
mod network;
mod outcome;
mod paths;
mod payloads;
mod place_messages;
mod prefetch;
mod processes;
mod queue;
mod repeats;
mod requests;
mod resource;
mod service;
mod shared_cores;
mod simulation;
mod state;
mod statistics;
mod transport;
mod waits;
mod worker;

pub use error::{Deadlock, RunError, Waiting};
pub use event::EventKey;
pub use horizon::Horizon;
pub use jobs::{DelayPart, JobDelay, JobOutcome, JobRanks};
pub use mistake::{Mistake, MistakeKind};
pub use outcome::{
    HostTime, HostUse, IntervalMessages, LevelTotals, Messages, Outcome, PairMessages, ProgramEnd, RankTime, Totals,
};
pub use place_messages::PlaceMessages;
pub use processes::{HostThreads, Processes, Screen};
pub use repeats::{NextValue, Repeats};
pub use simulation::{Labels, MOST_REQUESTS, PreparedRun, Progress, RankPrograms, RunOptions, RunResult, Simulation};
pub use transport::processes::{HostNetwork, HostReduction, HostRequest, merge_words};
