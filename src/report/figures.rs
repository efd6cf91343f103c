//! Figures of a run or of a study in SVG, PNG and PDF format, drawn only from the exported JSON.
//!
//! ```text
//! run.json ─▶ source ─▶ run, sizes, matrix ─┐
//! study.json ─▶ Results ─▶ points ─▶ curves ─┴─(axis, frame)─▶ Figure: areas, lines, words ─▶ svg, png, pdf
//! ```

mod axis;
mod calls;
mod canvas;
mod curves;
mod font;
mod frame;
mod groups;
mod machine;
mod matrix;
mod measured;
mod models;
mod network;
mod pairs;
mod pdf;
mod png;
mod points;
mod regression;
mod revisions;
mod run;
mod scaling;
mod sizes;
mod source;
mod svg;
mod tasks;
#[cfg(test)]
mod tests;
mod tuning;
mod validation;

pub use canvas::Figure;
pub use groups::group_figures;
pub use machine::{MOST_DRAWN_SWITCHES, machine_figures};
pub use measured::{beside_figures, measured_figures};
pub use models::model_figures;
pub use pairs::{clusters_figure, values_figure};
pub(super) use points::machine as study_machine;
pub use regression::regression_figure;
pub use revisions::revision_figures;
pub use tasks::task_figures;
pub use tuning::tuning_figures;
pub use validation::validation_figures;

use super::exported::{Exported, RUN_OR_STUDY};
use crate::config::ConfigError;

/// Returns the figures of `json`, which is the Outcome of a run or the results of a study. Error messages contain the
/// file name `name`.
///
/// # Errors
/// The JSON text is neither a run nor a study.
pub fn figures(name: &str, json: &str) -> Result<Vec<Figure>, ConfigError> {
    let run = match Exported::read(name, json, RUN_OR_STUDY)? {
        Exported::Study(results) => {
            results.check().map_err(|what| ConfigError::new(format!("{name}: {what}")))?;
            let fit = results.asked.fit.as_ref().and_then(regression_figure);
            return Ok(curves::figures(&results).into_iter().chain(fit).collect());
        }
        Exported::Run(run) => run,
    };
    let all = [
        run::parts(&run),
        run::path(&run),
        run::ranks(&run),
        sizes::count(&run),
        sizes::volume(&run),
        matrix::count(&run),
        matrix::volume(&run),
        sizes::time(&run),
        calls::by_function(&run),
        calls::by_place(&run),
        network::over_time(&run),
        network::links(&run),
    ];
    let title = source::run_title(&run);
    let fragments = run.tasks.map(|tasks| task_figures(&[(title, *tasks)]));
    Ok(all.into_iter().flatten().chain(fragments.into_iter().flatten()).collect())
}
