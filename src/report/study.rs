//! Results of a study as CSV, as text and as JSON.

use serde::Serialize;

use crate::study::{COLUMNS, Combination, Measure, PointResult, ResultSpread, Results};
use crate::units::SimSpan;

use super::headline::{clip, plural, with_label, wrapped};
use super::numbers::{count, share};
use super::table::{Align, Table};
use super::tasks::useful;

/// Maximum number of combinations of values in the text summary. The summary of a larger study shows only the best
/// combinations.
const LISTED: usize = 400;

/// Returns the results of a study as JSON, with one line per axis and per point.
///
/// # Errors
/// The function never fails for valid results, but serde's signature requires the error.
pub fn study_json(results: &Results) -> serde_json::Result<String> {
    let Results { mcpsim, study, axes, asked, points } = results;
    let mut text =
        format!("{{\n\"mcpsim\": {},\n\"study\": {}", serde_json::to_string(mcpsim)?, serde_json::to_string(study)?);
    if let serde_json::Value::Object(asked) = serde_json::to_value(asked)? {
        for (key, value) in asked {
            text.push_str(&format!(",\n\"{key}\": {value}"));
        }
    }
    list(&mut text, "axes", axes)?;
    list(&mut text, "points", points)?;
    text.push_str("\n}\n");
    Ok(text)
}

/// Writes a JSON key whose value is a list, one line per list entry.
fn list<T: Serialize>(text: &mut String, key: &str, entries: &[T]) -> serde_json::Result<()> {
    text.push_str(&format!(",\n\"{key}\": ["));
    for (index, entry) in entries.iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&serde_json::to_string(entry)?);
    }
    text.push_str("\n]");
    Ok(())
}

/// Returns the results of a study as CSV, one row per point. A row has the point's values, the predicted time and the
/// parts of this time, the messages, the application's results, and the reason why the point failed. Values that are
/// quantities also appear as plain numbers.
pub fn study_csv(results: &Results) -> String {
    let columns = results.columns();
    let mut table: Vec<Vec<String>> = Vec::new();
    for &column in &columns {
        let values = results.points.iter().map(|point| value(point, column));
        table.push(std::iter::once(column).chain(values.clone()).map(str::to_owned).collect());
        // Times are in seconds and sizes in bytes, because most CSV readers take values with units for text.
        if let Some((measure, numbers)) = Measure::of(values).filter(|(measure, _)| *measure != Measure::Number) {
            let heading = format!("{column}{}", measure.suffix());
            table.push(std::iter::once(heading).chain(numbers.iter().map(f64::to_string)).collect());
        }
    }
    for column in COLUMNS {
        let cell = |point: &PointResult| point.outcome.as_ref().map_or(String::new(), |outcome| column.text(outcome));
        table.push(std::iter::once(column.name.to_owned()).chain(results.points.iter().map(cell)).collect());
    }
    let of = |point: &PointResult| point.outcome.as_ref().map_or(Vec::new(), |outcome| outcome.results.clone());
    let mut shown: Vec<String> = Vec::new();
    for result in results.points.iter().flat_map(of) {
        if !shown.contains(&result.name) {
            shown.push(result.name);
        }
    }
    for name in shown {
        let cell = |point: &PointResult| {
            let result = of(point).into_iter().find(|result| result.name == name);
            result.and_then(|result| result.value()).map_or(String::new(), |value| value.to_string())
        };
        table.push(std::iter::once(format!("results.{name}")).chain(results.points.iter().map(cell)).collect());
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

/// Quotes a CSV cell as RFC 4180 requires.
pub(super) fn quoted(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.to_owned() }
}

/// Returns CSV with one row per combination of a study's values: mean, standard deviation, least and greatest time over
/// the seeds, speed-up, and a mark of the best combination.
pub fn study_summary_csv(results: &Results) -> String {
    let columns = results.own_columns();
    let heads =
        ["ranks", "runs", "failed", "mean_s", "deviation_s", "least_s", "greatest_s", "speedup", "efficiency", "best"];
    let mut text =
        columns.iter().map(|column| quoted(column)).chain(heads.map(str::to_owned)).collect::<Vec<_>>().join(",");
    text.push('\n');
    let seconds = |ps: f64| format!("{}", ps / 1e12);
    for found in results.combinations() {
        let mut cells: Vec<String> =
            columns.iter().map(|column| quoted(value(&results.points[found.points[0]], column))).collect();
        let runs = found.spread.map_or(0, |spread| spread.runs);
        cells.push(found.ranks.map_or(String::new(), |ranks| ranks.to_string()));
        cells.extend([runs.to_string(), (found.points.len() - runs).to_string()]);
        cells.extend(match found.spread {
            Some(spread) => {
                let (least, greatest) = spread.range_ps;
                [spread.mean_ps as f64, spread.deviation_ps, least as f64, greatest as f64].map(seconds)
            }
            None => Default::default(),
        });
        cells.extend(match found.speedup {
            Some(speedup) => [format!("{:.6}", speedup.factor), format!("{:.6}", speedup.efficiency)],
            None => Default::default(),
        });
        cells.push(u8::from(found.best).to_string());
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    text
}

/// Best combination of a study's values among combinations that do the same work.
pub(super) struct BestPoint {
    /// Mean predicted time of the combination over its runs.
    pub time: SimSpan,
    /// Number of runs of the combination with a prediction, one run per seed.
    pub runs: usize,
    /// Number of other combinations that are as fast as the best.
    pub equals: usize,
    /// Values of the combination as `key=value`, separated by blanks.
    pub label: String,
}

/// Returns the best combination of a study's values for each kind of work, in the order of points.
pub(super) fn bests(results: &Results, all: &[Combination]) -> Vec<BestPoint> {
    let columns = results.own_columns();
    let best = |best: &Combination| {
        let ResultSpread { runs, mean_ps, .. } = best.spread?;
        let label = match best.points.len() {
            1 => results.points[best.points[0]].label(&results.columns()),
            _ => results.label(best, &columns),
        };
        Some(BestPoint { time: SimSpan::from_ps(mean_ps), runs, equals: best.equals, label })
    };
    all.iter().filter(|found| found.best).filter_map(best).collect()
}

/// Returns the text summary of a study: one row per combination of values, the best combination, the number of ranks
/// that pays off, and the number of failures.
pub fn study_summary(results: &Results) -> String {
    let (points, failed) = (results.points.len(), results.failed());
    let mut text = format!("{}: {}", clip(&results.study, 50), plural(points as u64, "point"));
    if failed > 0 {
        text.push_str(&format!(", {} without a prediction", count(failed as u64)));
    }
    text.push('\n');
    let all = results.combinations();
    if all.len() <= LISTED {
        text.push('\n');
        let reasons = reasons(&all, results);
        // If all rows fit into 80 columns, the row of a failed combination contains the reason of the failure.
        // Otherwise the reasons of failures are listed once below the table.
        let whole = listed(results, &all, |why| why.to_owned());
        let fits = whole.lines().count() == all.len() + 1 && whole.lines().all(|line| line.chars().count() <= 80);
        text.push_str(&match fits {
            true => whole,
            false => {
                let number = |why: &str| reasons.iter().take(REASONS).position(|one| *one == why);
                let row = |why: &str| number(why).map_or("failed".to_owned(), |n| format!("failed ({})", n + 1));
                listed(results, &all, row) + &below(&reasons)
            }
        });
    }
    let bests = bests(results, &all);
    if (1..=20).contains(&bests.len()) {
        text.push('\n');
        for BestPoint { time, runs, equals, label } in bests {
            let seeds = if runs == 1 { String::new() } else { format!(" (mean of {runs} seeds)") };
            text.push_str(&with_label(&format!("  best   {time}{seeds}"), &label, 9));
            if equals > 0 {
                text.push_str(&format!("         and {} other points are as fast\n", count(equals as u64)));
            }
        }
    }
    let paying = results.pays_off(&all);
    if let Some(gain) = results.asked.gain.filter(|_| !paying.is_empty()) {
        text.push_str(&format!("\n  doubling the ranks makes the run at least {gain} times as fast:\n"));
        for pays in paying {
            let label = results.label(&all[pays.combination], &pays.columns);
            let more = if pays.ends { "" } else { ", the most in this study" };
            text.push_str(&with_label(&format!("    up to {} ranks{more}", count(pays.ranks)), &label, 6));
        }
    }
    text
}

/// Maximum number of different failure reasons that are listed.
const REASONS: usize = 10;

/// Returns the reason why a combination of values has no prediction, on one line.
fn reason<'a>(found: &Combination, results: &'a Results) -> &'a str {
    let error = results.points[found.points[0]].error.as_deref().unwrap_or("no prediction");
    error.lines().next().unwrap_or_default()
}

/// Returns the reasons why combinations of values have no prediction, without duplicates.
fn reasons<'a>(all: &[Combination], results: &'a Results) -> Vec<&'a str> {
    let mut told = Vec::new();
    for found in all.iter().filter(|found| found.spread.is_none()) {
        let why = reason(found, results);
        if !told.contains(&why) {
            told.push(why);
        }
    }
    told
}

/// Returns the numbered list of failure reasons that follows the table.
fn below(reasons: &[&str]) -> String {
    let numbered = (1..).zip(reasons.iter().take(REASONS));
    let lines: String = numbered.map(|(number, why)| wrapped(&format!("  ({number}) {why}"), 6)).collect();
    let more = match reasons.len().saturating_sub(REASONS) {
        0 => String::new(),
        more => format!("  and {} more reasons, in study.csv\n", count(more as u64)),
    };
    if lines.is_empty() { lines } else { format!("\n{lines}{more}") }
}

/// Returns the table with one row per combination of a study's values. A row without a prediction ends with the text
/// that `row` returns for the reason of the failure.
fn listed(results: &Results, all: &[Combination], row: impl Fn(&str) -> String) -> String {
    let columns = results.own_columns();
    let several = all.iter().any(|found| found.points.len() > 1);
    let speedups = all.iter().any(|found| found.speedup.is_some());
    let short = |column: &String| (column.rsplit('.').next().unwrap_or(column).to_owned(), Align::Right);
    // If no combination of values has several runs, the seed is shown like other values.
    let seed = (!several && results.axes.iter().any(|axis| axis.is_seed())).then(|| "run.seed".to_owned());
    let columns: Vec<String> = columns.into_iter().chain(seed).collect();
    let names: Vec<(String, Align)> = columns.iter().map(short).collect();
    let mut headings: Vec<(&str, Align)> = names.iter().map(|(name, align)| (name.as_str(), *align)).collect();
    match several {
        true => headings.extend(["mean", "deviation", "least", "greatest"].map(|name| (name, Align::Right))),
        false => headings.push(("predicted", Align::Right)),
    }
    if speedups {
        headings.extend([("speed-up", Align::Right), ("efficiency", Align::Right)]);
    }
    // In programs of a task runtime, threads compute as well as ranks.
    let outcomes = || results.points.iter().filter_map(|point| point.outcome.as_ref());
    let fragments = outcomes().next().is_some() && outcomes().all(|outcome| outcome.tasks.is_some());
    headings.extend([(if fragments { "useful" } else { "compute" }, Align::Right), ("", Align::Left)]);
    let mut table = Table::new(&headings).keyed(columns.len().max(1));
    for found in all {
        let first = &results.points[found.points[0]];
        let mut cells: Vec<String> = columns.iter().map(|column| clip(value(first, column), 24)).collect();
        let Some(spread) = found.spread else {
            let line = row(reason(found, results));
            cells.extend(vec!["-".to_owned(); headings.len() - columns.len() - 1]);
            table.row(cells.into_iter().chain([line]));
            continue;
        };
        let span = |ps: u64| SimSpan::from_ps(ps).to_string();
        cells.push(span(spread.mean_ps));
        if several {
            let percent = share(spread.deviation_ps, spread.mean_ps as f64) * 100.0;
            cells.extend([format!("{percent:.2}%"), span(spread.range_ps.0), span(spread.range_ps.1)]);
        }
        if speedups {
            let texts = |speedup: &crate::study::Speedup| {
                [format!("{:.2}", speedup.factor), format!("{:.1}%", speedup.efficiency * 100.0)]
            };
            cells.extend(found.speedup.as_ref().map_or(["-".to_owned(), "-".to_owned()], texts));
        }
        let compute = |&index: &usize| {
            let point = &results.points[index];
            let outcome = point.outcome.as_ref()?;
            if let Some(tasks) = outcome.tasks.as_deref().filter(|_| fragments) {
                return Some(useful(tasks) * 100.0);
            }
            Some(share(outcome.mean_parts.compute.as_ps() as f64, outcome.predicted.as_ps() as f64) * 100.0)
        };
        let shares: Vec<f64> = found.points.iter().filter_map(compute).collect();
        cells.push(format!("{:.1}%", shares.iter().sum::<f64>() / shares.len().max(1) as f64));
        let lost = found.points.len() - spread.runs;
        let lost = if lost == 0 { String::new() } else { format!("{lost} of {} failed", found.points.len()) };
        cells.push(if found.best { format!("best {lost}").trim_end().to_owned() } else { lost });
        table.row(cells);
    }
    table.render()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Outcome;
    use crate::profile::{AppFigure, AppResult, TimeParts};
    use crate::study::{Asked, Axis, InputHash, StudyPlan};
    use crate::units::SimTime;

    fn results(axes: &[&str], found: impl Fn(usize) -> Result<Outcome, String>) -> Results {
        let plan = StudyPlan::new(axes.iter().map(|text| Axis::parse(text).unwrap()).collect()).unwrap();
        Results::new("study", &plan, Asked::default(), |index| (InputHash::of(&[]), found(index)))
    }

    fn outcome(us: u64) -> Outcome {
        let mean_parts = TimeParts { compute: SimSpan::from_ns(us * 500), ..TimeParts::default() };
        Outcome { predicted: SimTime::from_ps(us * 1_000_000), ranks: 4, mean_parts, ..Outcome::default() }
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
        let counts = ",0,0,0.0000,0.0000,0.0000,0.0000,0.0000,0.0000,0,";
        assert_eq!(rows[1], format!("\"4,1,1\",1us,0.000001,0,0,0,4,0.000001,0.0000005{}{counts}", ",0".repeat(22)));
        let none = ",".repeat(COLUMNS.len() + 1);
        assert_eq!(rows[2], format!("\"4,1,1\",1.5ms,0.0015{none}\"deadlock: \"\"a\"\""));
        assert_eq!((rows[3], rows.len()), ("  rank, call\"", 7));
    }

    #[test]
    fn what_applications_work_out_is_a_column_each() {
        let of = |name: &str, found: AppFigure| AppResult { name: name.into(), found, unit: "B/s".into() };
        let csv = study_csv(&results(&["app.n=1,2,3,4"], |index| {
            let results = match index {
                0 => vec![of("best", AppFigure::Value(2.5e9))],
                1 => vec![of("best", AppFigure::Error("division by zero".into())), of("least", AppFigure::Value(7.0))],
                2 => return Err("no".into()),
                _ => Vec::new(),
            };
            Ok(Outcome { results, ..outcome(5) })
        }));
        let ends: Vec<Vec<&str>> = csv.lines().map(|row| row.rsplitn(4, ',').take(3).collect()).collect();
        assert_eq!(ends[0], ["error", "results.least", "results.best"], "{csv}");
        assert_eq!(ends[1..], [vec!["", "", "2500000000"], vec!["", "7", ""], vec!["no", "", ""], vec!["", "", ""]]);
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
    fn points_are_listed_with_their_seeds_in_one_row_and_the_best_is_told() {
        let few = study_summary(&results(&["run.ranks=1,2,3"], |index| match index {
            1 => Err("9 ranks on 8 cores: give fewer\nmore".to_owned()),
            index => Ok(outcome(30 - index as u64)),
        }));
        let expected = [
            "study: 3 points, 1 without a prediction",
            "",
            "  ranks  predicted  compute",
            "      1   30.00 us    50.0%",
            "      2          -        -  9 ranks on 8 cores: give fewer",
            "      3   28.00 us    50.0%  best",
            "",
            "  best   28.00 us  with run.ranks=3",
        ];
        assert_eq!(few.lines().collect::<Vec<_>>(), expected);
        let long =
            "rank 0 at virtual time 0 s: main[0] of a.toml:1: send.to = \"n\": peer 5 is outside the communicator";
        let failed = study_summary(&results(&["run.ranks=1,2,3,4"], |index| match index {
            0 => Ok(outcome(30)),
            1 => Err("deadlock".to_owned()),
            _ => Err(long.to_owned()),
        }));
        let expected = [
            "  ranks  predicted  compute",
            "      1   30.00 us    50.0%  best",
            "      2          -        -  failed (1)",
            "      3          -        -  failed (2)",
            "      4          -        -  failed (2)",
            "",
            "  (1) deadlock",
            "  (2) rank 0 at virtual time 0 s: main[0] of a.toml:1: send.to = \"n\": peer 5 is",
            "      outside the communicator",
            "",
        ];
        assert_eq!(failed.lines().skip(2).take(10).collect::<Vec<_>>(), expected, "{failed}");
        let seeds =
            study_summary(&results(&["run.ranks=1,2", "run.seed=1,2"], |index| Ok(outcome(100 - 2 * index as u64))));
        let expected = [
            "study: 4 points",
            "",
            "  ranks      mean  deviation     least  greatest  compute",
            "      1  99.00 us      1.43%  98.00 us  100.0 us    50.0%",
            "      2  95.00 us      1.49%  94.00 us  96.00 us    50.0%  best",
            "",
            "  best   95.00 us (mean of 2 seeds)  with run.ranks=2",
        ];
        assert_eq!(seeds.lines().collect::<Vec<_>>(), expected, "{seeds}");
        let many = study_summary(&results(&["run.ranks=1..100"], |index| Ok(outcome(200 - index as u64))));
        assert_eq!(many.lines().count(), 105, "{many}");
        let more = study_summary(&results(&["run.ranks=1..500"], |index| Ok(outcome(900 - index as u64))));
        assert_eq!(more, "study: 500 points\n\n  best   401.0 us  with run.ranks=500\n");
        let equal = study_summary(&results(&["run.ranks=1,2,3"], |_| Ok(outcome(5))));
        assert!(equal.ends_with("with run.ranks=1\n         and 2 other points are as fast\n"), "{equal}");
    }

    #[test]
    fn problems_have_a_best_each_and_ranks_pay_off_up_to_a_stated_gain() {
        let times = [800, 420, 300, 1600, 800, 400];
        let mut found = results(&["app.n=1,2", "run.ranks=1,2,4"], |index| {
            let mut outcome = outcome(times[index]);
            outcome.ranks = [1, 2, 4][index % 3];
            Ok(outcome)
        });
        found.asked.base = Some(("run.ranks".to_owned(), "1".to_owned()));
        found.asked.gain = Some(1.5);
        let expected = [
            "study: 6 points",
            "",
            "  n  ranks  predicted  speed-up  efficiency  compute",
            "  1      1   800.0 us      1.00      100.0%    50.0%",
            "  1      2   420.0 us      1.90       95.2%    50.0%",
            "  1      4   300.0 us      2.67       66.7%    50.0%  best",
            "  2      1   1.600 ms      1.00      100.0%    50.0%",
            "  2      2   800.0 us      2.00      100.0%    50.0%",
            "  2      4   400.0 us      4.00      100.0%    50.0%  best",
            "",
            "  best   300.0 us  with app.n=1 run.ranks=4",
            "  best   400.0 us  with app.n=2 run.ranks=4",
            "",
            "  doubling the ranks makes the run at least 1.5 times as fast:",
            "    up to 2 ranks  with app.n=1",
            "    up to 4 ranks, the most in this study  with app.n=2",
        ];
        let text = study_summary(&found);
        assert_eq!(text.lines().collect::<Vec<_>>(), expected, "{text}");
        let csv = study_summary_csv(&found);
        let rows: Vec<&str> = csv.lines().take(3).collect();
        assert_eq!(
            rows,
            [
                "app.n,run.ranks,ranks,runs,failed,mean_s,deviation_s,least_s,greatest_s,speedup,efficiency,best",
                "1,1,1,1,0,0.0008,0,0.0008,0.0008,1.000000,1.000000,0",
                "1,2,2,1,0,0.00042,0,0.00042,0.00042,1.904762,0.952381,0",
            ]
        );
    }
}
