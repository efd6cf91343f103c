//! Conversion of an `Outcome`, a `RunError` or the results of a study to text, JSON and CSV.
//!
//! All functions of the module `report` are pure: they print nothing, open no files and do not query the host. Lines of
//! text have at most 80 columns.

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
mod path;
mod regression;
mod revisions;
#[cfg(test)]
mod samples;
mod sizes;
mod study;
mod table;
mod tasks;
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
pub use export::{end_json, json, profile_csv};
pub use exported::{Exported, RUN_OR_STUDY};
pub use figures::{
    Figure, beside_figures, clusters_figure, figures, group_figures, measured_figures, model_figures,
    regression_figure, revision_figures, task_figures, tuning_figures, validation_figures, values_figure,
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
pub use tasks::{task_comparison, task_summary};
pub use timeline::{paje, perfetto, perfetto_beside};
pub use together::{collectives_measured, collectives_measured_csv, effective_summary};
pub use tuning::{tuning_csv, tuning_summary};
pub use validation::{ShownPoints, validation_csv, validation_json, validation_summary, validations_table};

use crate::engine::Outcome;

/// Returns the text summary of a simulated run: the predicted time, the parts of this time, and the messages.
pub fn summary(outcome: &Outcome) -> String {
    if !outcome.jobs.is_empty() {
        return of_jobs(outcome);
    }
    let parts = [
        headline::headline(outcome),
        time::time_parts(outcome),
        path::parts(outcome),
        path::what_if(outcome),
        efficiency::table(outcome),
        efficiency::tolerance(outcome),
        critical::shares(outcome),
        functions::table(outcome),
        functions::by_site(outcome),
        collectives::by_algorithm(outcome),
        collectives::by_other_algorithms(outcome),
        tasks::brief(outcome.tasks.as_deref()),
        messages::by_level(outcome),
        messages::by_place(outcome),
        messages::by_kind(outcome),
        sizes::counts(outcome),
        sizes::volumes(outcome),
        sizes::times(outcome),
        messages::busiest_pairs(outcome),
        copies::utilisation(outcome),
        links::links(outcome),
        copies::copies(outcome),
        copies::blocks(outcome),
        notes::notes(outcome),
        notes::host(outcome),
        notes::host_profile(outcome),
    ];
    joined(&parts)
}

/// Returns the text summary of a run of several jobs: the tables of the jobs, and the use of the whole machine.
fn of_jobs(outcome: &Outcome) -> String {
    joined(&[
        headline::headline(outcome),
        jobs::jobs(outcome),
        "all jobs\n".to_owned(),
        functions::table(outcome),
        functions::by_site(outcome),
        messages::by_level(outcome),
        messages::by_place(outcome),
        messages::busiest_pairs(outcome),
        copies::utilisation(outcome),
        links::links(outcome),
        copies::copies(outcome),
        copies::blocks(outcome),
        notes::notes(outcome),
        notes::host(outcome),
        notes::host_profile(outcome),
    ])
}

/// Joins the parts of a report that are not empty, with a blank line between them.
fn joined(parts: &[String]) -> String {
    let parts: Vec<&str> = parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect();
    let mut text = parts.join("\n");
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_report_is_wider_than_80_columns_or_prints_what_is_no_number() {
        for outcome in [busy(), huge(), empty()] {
            let text = summary(&outcome);
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
                assert_eq!(line.trim_end(), line, "blanks at the end");
            }
            for wrong in ["NaN", "inf", "-0"] {
                assert!(!text.contains(wrong), "{wrong} in\n{text}");
            }
            assert!(text.is_ascii() && text.ends_with('\n') && !text.ends_with("\n\n"), "{text}");
        }
    }

    #[test]
    fn a_run_of_16_ranks_reads_as_the_manual_shows() {
        let text = summary(&busy());
        assert_eq!(text, include_str!("report/busy.txt"), "\n{text}");
    }

    #[test]
    fn a_run_without_a_message_says_so_and_stops() {
        let text = summary(&empty());
        assert_eq!(text, include_str!("report/empty.txt"), "\n{text}");
    }
}
