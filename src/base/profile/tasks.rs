//! Computation fragments of task-based programs and the stages of fragments: the log of one MPI process, and the
//! analysis of the logs of all MPI processes.
//!
//! ```text
//! distribution ──▶ waiting for data ──▶ ready queue ──▶ execution
//!      └─▶ another process's distribution     └─▶ another process's distribution (stealing)
//! ```

mod analysis;
mod file;
mod log;
mod luna;
mod series;
mod spread;

pub use analysis::{Bounds, ProcessTasks, StageTimes, TaskAnalysis};
pub use file::{LOG_FORMAT, read_task_logs};
pub use log::{Left, Stage, TaskLog, Visit};
pub use luna::is_luna_log;
pub use series::{Series, StageSeries};
pub use spread::{ArrivalBin, Sample, WaitingTimes};
