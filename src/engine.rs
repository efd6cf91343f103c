//! The conservative parallel simulation: what orders ranks' calls in virtual time.

mod error;
mod outcome;

pub use error::{Deadlock, RunError, Waiting};
pub use outcome::{
    HostUse, IntervalMessages, LevelMessages, LevelTotals, Messages, Outcome, PairMessages, RankTime, Totals,
};
mod simulation;
pub use simulation::{Labels, Progress, RunOptions, Simulation};
