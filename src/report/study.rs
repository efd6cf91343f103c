//! A study as a table for programs, a table for people, and JSON.

use serde::Serialize;

use crate::study::{Best, COLUMNS, Measure, PointResult, Results};
use crate::units::SimSpan;

use super::headline::clip;
use super::numbers::{count, share};
use super::table::{Align, Table};

/// Points that the summary lists; of more only the best is told.
const LISTED: usize = 40;

/// The results as JSON, a line an axis and a line a point.
///
/// # Errors
/// None that results can cause; serde's signature has one.
pub fn study_json(results: &Results) -> serde_json::Result<String> {
    let Results { mcpsim, study, axes, points } = results;
    let mut text =
        format!("{{\n\"mcpsim\": {},\n\"study\": {}", serde_json::to_string(mcpsim)?, serde_json::to_string(study)?);
    list(&mut text, "axes", axes)?;
    list(&mut text, "points", points)?;
    text.push_str("\n}\n");
    Ok(text)
}

/// A key of an object with a list, an entry a line.
fn list<T: Serialize>(text: &mut String, key: &str, entries: &[T]) -> serde_json::Result<()> {
    text.push_str(&format!(",\n\"{key}\": ["));
    for (index, entry) in entries.iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&serde_json::to_string(entry)?);
    }
    text.push_str("\n]");
    Ok(())
}

/// The results as tidy rows, one a point: its values, those that are quantities also as plain numbers; the time and its
/// parts; messages; why there is no prediction where there is none.
pub fn study_csv(results: &Results) -> String {
    let columns = results.columns();
    let mut table: Vec<Vec<String>> = Vec::new();
    for &column in &columns {
        let values = results.points.iter().map(|point| value(point, column));
        table.push(std::iter::once(column).chain(values.clone()).map(str::to_owned).collect());
        // Times as seconds, sizes as bytes: what has a unit is text to a program.
        if let Some((measure, numbers)) = Measure::of(values).filter(|(measure, _)| *measure != Measure::Number) {
            let heading = format!("{column}{}", measure.suffix());
            table.push(std::iter::once(heading).chain(numbers.iter().map(f64::to_string)).collect());
        }
    }
    for column in COLUMNS {
        let cell = |point: &PointResult| point.outcome.as_ref().map_or(String::new(), |outcome| column.text(outcome));
        table.push(std::iter::once(column.name.to_owned()).chain(results.points.iter().map(cell)).collect());
    }
    let error = |point: &PointResult| point.error.clone().unwrap_or_default();
    table.push(std::iter::once("error".to_owned()).chain(results.points.iter().map(error)).collect());

    let mut text = String::new();
    for row in 0..=results.points.len() {
        let cells: Vec<String> = table.iter().map(|column| quoted(&column[row])).collect();
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    text
}

fn value<'a>(point: &'a PointResult, column: &str) -> &'a str {
    point.values.get(column).map_or("", String::as_str)
}

/// As RFC 4180 wants it.
pub(super) fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

/// What a study found, to be read by people: its points if they are few, the best, and how many failed.
pub fn study_summary(results: &Results) -> String {
    let (points, failed) = (results.points.len(), results.failed());
    let mut text = format!("{}: {} points", clip(&results.study, 50), count(points as u64));
    if failed > 0 {
        text.push_str(&format!(", {} without a prediction", count(failed as u64)));
    }
    text.push('\n');
    let best = results.best();
    if points <= LISTED {
        text.push('\n');
        text.push_str(&listed(results, best.as_ref()));
    }
    if let Some(best) = best {
        let columns: Vec<&str> = results
            .axes
            .iter()
            .filter(|axis| best.points.len() == 1 || !axis.is_seed())
            .flat_map(|axis| &axis.keys)
            .map(String::as_str)
            .collect();
        let label = results.points[best.points[0]].label(&columns);
        let with = if label.is_empty() { String::new() } else { format!("  with {label}") };
        let seeds = match best.points.len() {
            1 => String::new(),
            seeds => format!(" (mean of {seeds} seeds)"),
        };
        text.push_str(&format!("\n  best   {}{seeds}{with}\n", SimSpan::from_ps(best.mean_ps)));
    }
    text
}

fn listed(results: &Results, best: Option<&Best>) -> String {
    let columns = results.columns();
    let short = |column: &&str| (column.rsplit('.').next().unwrap_or(column).to_owned(), Align::Right);
    let names: Vec<(String, Align)> = columns.iter().map(short).collect();
    let mut headings: Vec<(&str, Align)> = names.iter().map(|(name, align)| (name.as_str(), *align)).collect();
    headings.extend([("predicted", Align::Right), ("compute", Align::Right), ("", Align::Left)]);
    let mut table = Table::new(&headings);
    for (index, point) in results.points.iter().enumerate() {
        let mut cells: Vec<String> = columns.iter().map(|column| clip(value(point, column), 24)).collect();
        match (&point.outcome, point.predicted_ps()) {
            (Some(outcome), Some(ps)) => {
                let compute = outcome.pointer("/mean_parts/compute_ps").and_then(serde_json::Value::as_u64);
                let percent = format!("{:.1}%", share(compute.unwrap_or(0) as f64, ps as f64) * 100.0);
                let mark = if best.is_some_and(|best| best.points.contains(&index)) { "best" } else { "" };
                cells.extend([SimSpan::from_ps(ps).to_string(), percent, mark.to_owned()]);
            }
            _ => {
                let error = point.error.as_deref().unwrap_or("no prediction");
                let line = clip(error.lines().next().unwrap_or_default(), 60);
                cells.extend(["-".to_owned(), "-".to_owned(), line]);
            }
        }
        table.row(cells);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::study::{Axis, Key, Plan};

    fn results(axes: &[&str], found: impl Fn(usize) -> Result<serde_json::Value, String>) -> Results {
        let plan = Plan::new(axes.iter().map(|text| Axis::parse(text).unwrap()).collect()).unwrap();
        Results::new("study", &plan, |index| (Key::of(&[]), found(index)))
    }

    fn outcome(us: u64) -> serde_json::Value {
        json!({ "predicted_ps": us * 1_000_000, "ranks": 4, "mean_parts": { "compute_ps": us * 500_000 } })
    }

    #[test]
    fn a_row_has_what_made_the_point_what_it_predicts_or_why_it_does_not() {
        let axes = ["platform.nct=4,1,1;1,2,2", "platform.inter_node.latency=1us,1.5ms"];
        let csv = study_csv(&results(&axes, |index| match index {
            1 => Err("deadlock: \"a\"\n  rank, call".to_owned()),
            index => Ok(outcome(1 + index as u64)),
        }));
        let rows: Vec<&str> = csv.split('\n').collect();
        let start = "platform.nct,platform.inter_node.latency,platform.inter_node.latency_s,nodes,cmps,cores,ranks,predicted_s,";
        assert!(rows[0].starts_with(start), "{csv}");
        let rest = |known: usize| ",".repeat(COLUMNS.len() - known + 1);
        assert_eq!(rows[1], format!("\"4,1,1\",1us,0.000001,,,,4,0.000001,0.0000005{}", rest(6)));
        assert_eq!(rows[2], format!("\"4,1,1\",1.5ms,0.0015{}\"deadlock: \"\"a\"\"", rest(0)));
        assert_eq!((rows[3], rows.len()), ("  rank, call\"", 7));
    }

    #[test]
    fn the_json_form_has_a_line_a_point_and_reads_back() {
        let results = results(&["app.n=1,2,3"], |index| if index == 1 { Err("no".into()) } else { Ok(outcome(5)) });
        let text = study_json(&results).unwrap();
        assert_eq!(serde_json::from_str::<Results>(&text).unwrap(), results);
        assert_eq!(text.lines().filter(|line| line.starts_with("{\"values\"")).count(), 3);
        let none = Results { axes: vec![], points: vec![], ..results };
        assert_eq!(serde_json::from_str::<Results>(&study_json(&none).unwrap()).unwrap(), none);
    }

    #[test]
    fn few_points_are_listed_and_of_many_the_best_is_told() {
        let few = study_summary(&results(&["app.n=1,2,3"], |index| match index {
            1 => Err("9 ranks on 8 cores: give fewer\nmore".to_owned()),
            index => Ok(outcome(30 - index as u64)),
        }));
        let expected = [
            "study: 3 points, 1 without a prediction",
            "",
            "  n  predicted  compute",
            "  1   30.00 us    50.0%",
            "  2          -        -  9 ranks on 8 cores: give fewer",
            "  3   28.00 us    50.0%  best",
            "",
            "  best   28.00 us  with app.n=3",
        ];
        assert_eq!(few.lines().collect::<Vec<_>>(), expected);
        let many = study_summary(&results(&["app.n=1..30", "run.seed=1,2"], |index| Ok(outcome(100 - index as u64))));
        assert_eq!(many, "study: 60 points\n\n  best   41.50 us (mean of 2 seeds)  with app.n=30\n");
    }
}
