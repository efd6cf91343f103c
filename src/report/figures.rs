//! Figures of a run or of a study, drawn from the exported JSON alone, as SVG and PNG.
//!
//! ```text
//! run.json ─▶ source ─▶ run, sizes, matrix ─┐
//! study.json ─▶ Results ─▶ points ─▶ curves ─┴─(axis, frame)─▶ Figure: areas, lines, words ─▶ svg, png
//! ```

mod axis;
mod calls;
mod canvas;
mod curves;
mod font;
mod frame;
mod groups;
mod matrix;
mod measured;
mod models;
mod pairs;
mod png;
mod points;
mod regression;
mod revisions;
mod run;
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
pub use measured::{beside_figures, measured_figures};
pub use models::model_figures;
pub use pairs::{clusters_figure, values_figure};
pub use regression::regression_figure;
pub use revisions::revision_figures;
pub use tasks::task_figures;
pub use tuning::tuning_figures;
pub use validation::validation_figures;

use crate::config::ConfigError;
use crate::profile::TaskAnalysis;
use crate::study::Results;

/// The figures of what `json` holds: the Outcome of a run, or the results of a study; `name` stands for the file in messages.
///
/// # Errors
/// If it is neither.
pub fn figures(name: &str, json: &str) -> Result<Vec<Figure>, ConfigError> {
    let wrong = |what: String| ConfigError::new(format!("{name}: {what}"));
    let value: serde_json::Value = serde_json::from_str(json).map_err(|error| wrong(format!("not JSON: {error}")))?;
    if value.get("points").is_some() {
        let results: Results =
            serde_json::from_value(value).map_err(|error| wrong(format!("not the results of a study: {error}")))?;
        results.check().map_err(wrong)?;
        let fit = results.asked.fit.as_ref().and_then(regression_figure);
        return Ok(curves::figures(&results).into_iter().chain(fit).collect());
    }
    if value.get("predicted_ps").is_none() {
        let expected = "expected what --json of a run wrote, or study.json of a sweep";
        return Err(wrong(format!("{expected}; found no predicted_ps and no points")));
    }
    let fragments = value.get("tasks").cloned().map(serde_json::from_value::<TaskAnalysis>).transpose();
    let fragments = fragments.map_err(|error| wrong(format!("not the outcome of a run: tasks: {error}")))?;
    let run: source::Run =
        serde_json::from_value(value).map_err(|error| wrong(format!("not the outcome of a run: {error}")))?;
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
    ];
    let fragments = fragments.map(|tasks| task_figures(&[(run.title(), tasks)]));
    Ok(all.into_iter().flatten().chain(fragments.into_iter().flatten()).collect())
}
