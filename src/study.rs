//! Many runs from one question: which settings vary, what each point of the study is, and how the points are run.
//!
//! ```text
//! --vary, study.toml ─▶ Axis … ─▶ Plan ─▶ Point: overrides ─(cli: settings, run)─▶ Outcome ─▶ columns
//!                                             └─▶ Key: what is on disk already is not run again
//! ```
//!
//! Pure: nothing here prints, touches files or knows how a point is run; that is given as a function.

mod axis;
mod columns;
mod file;
mod key;
mod memory;
mod plan;
mod quantity;
mod results;
mod schedule;
pub mod validate;
mod values;

pub use axis::Axis;
pub use columns::{COLUMNS, Column, Kind};
pub use file::StudyFile;
pub use key::Key;
pub use memory::{Memory, RankKind};
pub use plan::{Plan, Point};
pub use quantity::Measure;
pub use results::{AxisSteps, Best, PointResult, Results};
pub use schedule::{Limits, run};
