//! `mcpsim report --fit`: fits a formula to the times of a study or of a table.

use std::path::Path;

use crate::cli::exit::Failure;
use crate::cli::output::{self, cannot_write};
use crate::report::{regression_csv, regression_figure, regression_summary};
use crate::run::write_whole;
use crate::study::{FitFormula, Observations, Regression, Results};

use super::{Format, draw, read};

/// Options of fitting a formula.
pub(super) struct FitRequest<'a> {
    pub source: &'a Path,
    pub formula: &'a str,
    pub time: Option<&'a str>,
    pub rows: &'a [String],
    pub csv: Option<&'a Path>,
    pub figures: Option<&'a Path>,
    pub format: &'a [Format],
}

/// Fits the formula to the times, and prints, writes and draws the results that the options request.
pub(super) fn report(asked: &FitRequest<'_>) -> Result<(), Failure> {
    let formula = FitFormula::parse(asked.formula)?;
    let (name, text) = read(asked.source)?;
    let observations = observations(asked, &name, &text)?;
    let fit = Regression::fit(&formula.equation(&observations)?, &observations)?;
    output::print(&regression_summary(&fit))?;
    if let Some(path) = asked.csv {
        write_whole(path, regression_csv(&fit)).map_err(|error| cannot_write(&path.display().to_string(), &error))?;
    }
    let Some(directory) = asked.figures else { return Ok(()) };
    let figure = regression_figure(&fit)
        .ok_or_else(|| Failure::bad_input("--figures: nothing to draw: no column of the table is in the formula"))?;
    output::print(&draw(&[figure], directory, asked.format)?)
}

fn observations(asked: &FitRequest<'_>, name: &str, text: &str) -> Result<Observations, Failure> {
    let is_json = asked.source.is_dir() || text.trim_start().starts_with('{');
    if is_json {
        if asked.time.is_some() || !asked.rows.is_empty() {
            return Err(Failure::bad_input(format!(
                "{name}: --time and --rows: expected a table in CSV with these \
                                                   options; found JSON"
            )));
        }
        let wrong = |what: String| Failure::bad_input(format!("{name}: {what}"));
        let results: Results =
            serde_json::from_str(text).map_err(|error| wrong(format!("not the results of a study: {error}")))?;
        results.check().map_err(wrong)?;
        return Ok(Observations::of_study(&results));
    }
    let pair = |text: &String| {
        let parts = text.split_once('=').map(|(column, cell)| (column.trim().to_owned(), cell.trim().to_owned()));
        parts.ok_or_else(|| Failure::bad_input(format!("--rows {text}: expected COLUMN=CELL such as kind=measured")))
    };
    let rows = asked.rows.iter().map(pair).collect::<Result<Vec<_>, Failure>>()?;
    Ok(Observations::of_table(name, text, asked.time, &rows)?)
}
