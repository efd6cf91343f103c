//! Studies: many simulation runs that differ in some settings. The module `study` has the points of a study (one run
//! each) and the execution of the points.
//!
//! ```text
//! --vary, study.toml ─▶ Axis … ─▶ Plan ─▶ Point: overrides ─(run)─▶ Outcome ─▶ columns
//!                                             └─▶ Key: points on disk are not run again
//! ```
//!
//! The modules `axis`, `values`, `plan` and their dependencies are pure: they open no files and run no points. The
//! module `points` runs the points of a study, and `child` runs real programs in separate processes. The module
//! `recordings` creates the traces that several points replay. The modules `directory` and `log` manage the files on
//! disk.

mod axis;
mod child;
pub mod collectives;
mod columns;
mod compare;
mod directory;
mod file;
mod formula_search;
mod log;
mod memory;
mod observations;
mod placement;
mod plan;
mod points;
mod quantity;
mod recordings;
mod regression;
mod results;
mod running;
mod schedule;
pub mod validate;
mod values;

pub use crate::run::InputHash;
pub use axis::Axis;
pub use child::{Programs, measures};
pub use columns::{COLUMNS, Column};
pub use compare::{Combination, PaysOff, ResultSpread, Speedup};
pub use directory::Directory;
pub use file::{Questions, StudyFile};
pub use formula_search::FitFormula;
pub use log::{Ended, PointLog};
pub use memory::{MemoryBudget, RankKind};
pub use observations::Observations;
pub use placement::{MOST_PLACED, PlacementSearch, search_placement};
pub use plan::{Point, StudyPlan};
pub use points::{PreparedPoint, ReplayedTrace, Study, StudyRequest, simulate};
pub use quantity::Measure;
pub use recordings::{RecordingNote, record};
pub use regression::{FittedCurve, FittedPoint, Regression, Unknown};
pub use results::{Asked, AxisSteps, PointResult, Results};
pub use running::Running;
pub use schedule::{Limits, run};
