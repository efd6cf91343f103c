//! Conversion of an `Outcome`, a `RunError` or the results of a study to text, JSON and CSV.
//!
//! All functions of the module `report` are pure: they print nothing, open no files and do not query the host. Lines of
//! text have at most 80 columns.

mod basis;
mod call_paths;
mod clusters;
mod collectives;
mod compared;
mod comparison;
mod copies;
mod critical;
mod deadlock;
mod effects;
mod efficiency;
mod export;
mod exported;
mod figures;
mod functions;
mod gates;
mod headline;
mod histogram;
mod imported;
mod jobs;
mod links;
mod machine;
mod measured;
mod messages;
mod models;
mod notes;
mod numbers;
mod otf2;
mod page;
mod palette;
mod path;
mod regression;
mod revisions;
#[cfg(test)]
mod samples;
mod sizes;
mod study;
mod summary;
mod table;
mod tasks;
mod threads;
mod time;
mod timeline;
mod together;
mod tuning;
mod validation;

#[cfg(test)]
pub(crate) use samples::{busy, empty, huge};

pub use clusters::{guess_summary, partition_table};
pub use compared::{TimedCall, calls_of_timeline, differences, predicted_calls};
pub use comparison::{MOST_BESIDE, beside_summary};
pub use deadlock::failure;
pub use export::{end_json, json, outcome_schema, profile_csv};
pub use exported::{Exported, RUN_OR_STUDY};
pub use figures::{
    Figure, MOST_DRAWN_SWITCHES, beside_figures, clusters_figure, figures, group_figures, machine_figures,
    measured_figures, model_figures, regression_figure, revision_figures, task_figures, tuning_figures,
    validation_figures, values_figure,
};
pub use functions::calls_csv;
pub use gates::{gates_junit, gates_markdown, gates_summary};
pub use headline::wrapped;
pub use histogram::{GroupShares, Groups, Histogram, Rates, shares, shares_csv, shares_table, sorts_csv};
pub use imported::imported_summary;
pub use links::load_csv;
pub use machine::{imported_places_text, machine_json, machine_summary};
pub use measured::measured_summary;
pub use models::{models_csv, models_summary};
pub use numbers::{count, rate};
pub use otf2::otf2_events;
pub use page::page;
pub use regression::{regression_csv, regression_summary};
pub use revisions::{revisions_csv, revisions_summary};
pub use study::{study_csv, study_json, study_summary, study_summary_csv};
pub use summary::{ReportTables, summary};
pub use tasks::{task_comparison, task_summary};
pub use timeline::{paje, perfetto, perfetto_beside};
pub use together::{collectives_measured, collectives_measured_csv, effective_summary};
pub use tuning::{tuning_csv, tuning_summary};
pub use validation::{ShownPoints, validation_csv, validation_json, validation_summary, validations_table};
