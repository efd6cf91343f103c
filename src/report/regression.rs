//! Fits of formulas to times, as text and CSV tables.

use crate::study::{Regression, Unknown};
use crate::units::{SimSpan, signed};

use super::headline::{clip, wrapped};
use super::numbers::count;
use super::study::quoted;
use super::table::{Align, Table};

/// Maximum number of fitted points that the text lists.
const LISTED: usize = 60;

/// Returns the result of a fit as text: unknowns with their standard errors, and the differences between the points and
/// the formula.
pub fn regression_summary(fit: &Regression) -> String {
    let points = count(fit.points.len() as u64);
    let s = if fit.points.len() == 1 { "" } else { "s" };
    let what = if fit.unknowns.is_empty() { "formula beside" } else { "formula fitted to" };
    let head = format!("{what} {} of {points} point{s}:", fit.what);
    let mut text = match head.chars().count() + 1 + fit.formula.chars().count() {
        0..=80 => format!("{head} {}\n", fit.formula),
        _ => format!("{head}\n{}", wrapped(&format!("  {}", fit.formula), 4)),
    };
    if !fit.unknowns.is_empty() {
        let mut table = Table::new(&[
            ("unknown", Align::Left),
            right("value"),
            right("standard error"),
            right(""),
            ("", Align::Left),
        ]);
        for unknown in &fit.unknowns {
            table.row(row(unknown));
        }
        text.push('\n');
        text.push_str(&table.render());
        if fit.unknowns.iter().any(|unknown| unknown.standard_error.is_none()) {
            text.push_str("  no standard errors: the formula has as many unknowns as there are points\n");
        }
    }
    if fit.points.len() <= LISTED {
        text.push('\n');
        let mut table =
            Table::new(&[("point", Align::Left), right(clipped(&fit.what)), right("formula"), right("off")]);
        for point in &fit.points {
            let label = clip(&point.label, 40);
            table.row([
                label,
                seconds(point.time_s),
                seconds(point.formula_s),
                format!("{}%", signed(point.percent(), 2)),
            ]);
        }
        text.push_str(&table.render());
    }
    if let Some(worst) = fit.worst() {
        let at = if worst.label.is_empty() { String::new() } else { format!(" at {}", clip(&worst.label, 40)) };
        text.push_str(&format!(
            "\n  error  {:.3}% mean, {:.3}% greatest{at}; root mean square {}\n",
            fit.mean_percent(),
            worst.percent().abs(),
            seconds(fit.rms_s())
        ));
    }
    text
}

fn right(name: &str) -> (&str, Align) {
    (name, Align::Right)
}

fn clipped(what: &str) -> &str {
    if what == "predicted time" { "predicted" } else { what }
}

fn row(unknown: &Unknown) -> Vec<String> {
    let error = unknown.standard_error;
    let percent = |error: f64| {
        if unknown.value == 0.0 { String::new() } else { format!("({:.2}%)", error / unknown.value.abs() * 100.0) }
    };
    vec![
        unknown.name.clone(),
        plain(unknown.value),
        error.map_or("-".to_owned(), plain),
        error.map_or(String::new(), percent),
        if unknown.is_time { seconds(unknown.value) } else { String::new() },
    ]
}

/// Formats a number with five significant digits.
fn plain(value: f64) -> String {
    if value != 0.0 && !(1e-3..1e6).contains(&value.abs()) {
        return format!("{value:.4e}");
    }
    let digits = if value == 0.0 { 0 } else { (4 - value.abs().log10().floor() as i32).max(0) as usize };
    format!("{value:.digits$}")
}

/// Formats a time, which may be negative if the formula does not describe the times.
fn seconds(value: f64) -> String {
    let sign = if value < 0.0 { "-" } else { "" };
    SimSpan::from_seconds(value.abs()).map_or_else(|| format!("{value:.4e} s"), |span| format!("{sign}{span}"))
}

/// Returns the points of a fit as CSV, one row per point.
pub fn regression_csv(fit: &Regression) -> String {
    let mut text = "point,x,time_s,formula_s,off_percent\n".to_owned();
    for point in &fit.points {
        let cells = [point.x, point.time_s, point.formula_s, point.percent()].map(|number| number.to_string());
        text.push_str(&format!("{},{}\n", quoted(&point.label), cells.join(",")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Equation;
    use crate::study::Observations;

    #[test]
    fn the_two_times_of_the_cloud_study_read_as_the_guide_shows() {
        let table = "processes,time_s\n1,7937.241\n2,5731.212\n";
        let observations = Observations::of_table("t.csv", table, None, &[]).unwrap();
        let equation = Equation::parse("I=8720000; Tv*I/n + I*t*(n>1)").unwrap();
        let fit = Regression::fit(&equation, &observations).unwrap();
        let text = regression_summary(&fit);
        let expected = [
            "formula fitted to time_s of 2 points: I=8720000; Tv*I/n + I*t*(n>1)",
            "",
            "  unknown      value  standard error",
            "  Tv       9.1023e-4               -    910.2 us",
            "  t        2.0213e-4               -    202.1 us",
            "  no standard errors: the formula has as many unknowns as there are points",
            "",
            "  point  time_s  formula    off",
        ];
        assert_eq!(text.lines().take(8).collect::<Vec<_>>(), expected, "{text}");
        assert!(regression_csv(&fit).starts_with("point,x,time_s,formula_s,off_percent\nn=1,1,7937.241,7937.24"));
    }
}
