//! Validation: comparison of measured runs with their predictions, and calibration of parameters on some of the
//! measured runs.
//!
//! ```text
//! case.toml ─▶ Case ──┐
//! CSV ─▶ Measured ────┴─▶ Points ─▶ assess: calibrate on some rows, predict the others ─▶ Validation
//! ```
//!
//! The module `validate` does no input or output; the caller passes a function that makes the predictions.

mod assess;
mod case;
mod effects;
mod fit;
mod interval;
mod measured;
mod order;
mod points;
mod rows;
mod similar;
mod verdict;

pub use assess::{Ask, Wanted, assess};
pub use case::{Calibrate, Case, LeftOut, Limit, NoisyRuns, Plot};
pub use effects::{EffectErrors, EffectsFound};
pub use interval::{Coverage, LikelyRange, PointInterval};
pub use measured::MeasuredTable;
pub use order::OrderFound;
pub use points::{CasePoints, MeasuredPoint, Role};
pub use rows::{Cells, RowChoice};
pub use similar::SimilarErrors;
pub use verdict::{Calibrated, ErrorSummary, ModelErrors, PredictedTime, ValidatedPoint, Validation};
