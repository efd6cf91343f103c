//! Text, CSV and JSON forms of a validation.

use crate::profile::DominantPart;
use crate::study::validate::{ErrorSummary, ModelErrors, OrderFound, SimilarErrors, ValidatedPoint, Validation};
use crate::units::SimSpan;

use super::effects;
use super::headline::{clip, wrapped};
use super::numbers::count;
use super::study::quoted;
use super::table::{Align, Table};

/// Maximum deviation of measured runs from their median, in percent, on a quiet machine.
const QUIET: f64 = 5.0;

/// Returns the validated cases as indented JSON. The README lists the keys.
///
/// # Errors
/// The function never fails for valid results, but serde's signature requires the error.
pub fn validation_json(validations: &[Validation]) -> serde_json::Result<String> {
    let similar = SimilarErrors::of(validations);
    serde_json::to_string_pretty(&serde_json::json!({ "cases": validations, "similar": similar }))
        .map(|text| text + "\n")
}

/// Returns CSV with one row per point and communication model of all validation cases: the point, measured and
/// predicted times, and the error. Rows of mcpsim's own model also have the intervals and the number of measured runs
/// inside the intervals. The machine without an effect is listed as a further model: `without contention`.
pub fn validation_csv(validations: &[Validation]) -> String {
    let mut text = "case,point,role,model,runs,measured_s,measured_min_s,measured_max_s,predicted_s,error_percent,\
                    dominant,interval_from_s,interval_to_s,runs_inside,likely_from_s,likely_to_s,runs_likely\n"
        .to_owned();
    for validation in validations {
        for (place, point) in validation.points.iter().enumerate() {
            let mut row = |model: &str, seconds: f64, is_own: bool| {
                let bounds = |of: Option<([f64; 2], usize)>| match of.filter(|_| is_own) {
                    Some(([from, to], inside)) => format!("{from},{to},{inside}"),
                    None => ",,".to_owned(),
                };
                let error = (seconds / point.measured_s - 1.0) * 100.0;
                let cells = [
                    quoted(&validation.case),
                    quoted(&label(validation, point)),
                    if point.given { "given" } else { "predicted" }.to_owned(),
                    quoted(model),
                    point.runs.to_string(),
                    point.measured_s.to_string(),
                    point.measured_min_s.to_string(),
                    point.measured_max_s.to_string(),
                    seconds.to_string(),
                    format!("{error:.3}"),
                    point.dominant.filter(|_| is_own).map_or("", DominantPart::name).to_owned(),
                    bounds(point.interval.map(|of| (of.interval_s, of.measured_inside))),
                    bounds(point.likely.map(|of| (of.interval_s, of.measured_inside))),
                ];
                text.push_str(&cells.join(","));
                text.push('\n');
            };
            for (model, errors) in validation.models.iter().enumerate() {
                row(&errors.model, point.predicted_s[model], model == 0);
            }
            for effect in validation.effects.iter().flat_map(|effects| &effects.rows) {
                row(&format!("without {}", effect.without), effect.predicted_s[place], false);
            }
        }
    }
    text
}

/// Returns the label of a validated point, such as "split=slabs ranks=8".
fn label(validation: &Validation, point: &ValidatedPoint) -> String {
    let pair = |column: &String| Some(format!("{column}={}", point.values.get(column)?));
    validation.columns.iter().filter_map(pair).collect::<Vec<_>>().join(" ")
}

/// Choice of the predicted points that the text summary of a validation lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownPoints {
    /// All points of the validation case, with all columns.
    All,
    /// In a validation case with many points, only the points with the largest errors of mcpsim's own model.
    Furthest,
}

/// Number of points above which a validation case counts as large.
const MANY: usize = 12;

/// Number of points that the summary shows for a large validation case.
const FURTHEST: usize = 10;

/// Returns the text summary of a validation case: calibrated parameters, points and errors.
pub fn validation_summary(validation: &Validation, shown: ShownPoints) -> String {
    let (given, predicted): (Vec<_>, Vec<_>) = validation.points.iter().partition(|point| point.given);
    let told = |key: &str| validation.measured.get(key).map_or("", String::as_str);
    // Control characters are removed from the text.
    let line = |text: String| wrapped(&clip(&text, usize::MAX), 4);
    let mut text = line(format!("{}: {}", validation.case, validation.about));
    text.push_str(&line(format!("  measured on {}, {}", told("machine"), told("date"))));
    text.push_str(&format!(
        "  {} points predicted, {} used for calibration\n",
        count(predicted.len() as u64),
        count(given.len() as u64)
    ));
    for (because, points) in &validation.left_out {
        text.push_str(&line(format!("  {points} left out: {because}")));
    }
    if !validation.models[0].calibrated.is_empty() {
        text.push_str("\nCalibrated\n");
        text.push_str(&calibrated(validation));
    }
    text.push_str(&match shown {
        ShownPoints::Furthest if predicted.len() > MANY => furthest(validation, predicted),
        _ => format!("\nPredicted\n{}", points(validation, &predicted, ShownPoints::All)),
    });
    text.push('\n');
    text.push_str(&errors(validation));
    text.push_str(&effects::effects(validation));
    text
}

fn calibrated(validation: &Validation) -> String {
    let mut table = Table::new(&[
        ("parameter", Align::Left),
        ("for", Align::Left),
        ("value", Align::Right),
        ("from", Align::Right),
        ("residual", Align::Right),
    ]);
    for found in &validation.models[0].calibrated {
        let by: Vec<String> = found.by.iter().map(|(column, cell)| format!("{column} {cell}")).collect();
        let s = if found.points == 1 { "" } else { "s" };
        table.row([
            found.key.clone(),
            clip(&by.join(", "), 30),
            found.value.clone(),
            format!("{} point{s}", found.points),
            format!("{:.1}%", found.residual_percent),
        ]);
    }
    table.render()
}

/// Returns the validated points with the largest errors of mcpsim's own model.
fn furthest(validation: &Validation, mut predicted: Vec<&ValidatedPoint>) -> String {
    let all = count(predicted.len() as u64);
    predicted.sort_by(|a, b| b.error_percent(0).abs().total_cmp(&a.error_percent(0).abs()));
    predicted.truncate(FURTHEST);
    let table = points(validation, &predicted, ShownPoints::Furthest);
    format!("\nPredicted: {FURTHEST} of {all} points, largest error first; --points shows all\n{table}")
}

fn points(validation: &Validation, points: &[&ValidatedPoint], shown: ShownPoints) -> String {
    // A table column whose value is the same in all points is omitted.
    let varies = |column: &&String| {
        let mut cells = points.iter().map(|point| point.values.get(*column));
        let first = cells.next();
        cells.any(|cell| Some(cell) != first)
    };
    let columns: Vec<&String> = validation.columns.iter().filter(varies).collect();
    let mut headings: Vec<(&str, Align)> = columns.iter().map(|column| (column.as_str(), Align::Right)).collect();
    let is_short = shown == ShownPoints::Furthest;
    headings.push(("measured", Align::Right));
    // Points with a single measured run have no spread of measured times.
    let has_spread = !is_short && points.iter().any(|point| point.runs > 1);
    headings.extend(has_spread.then_some(("spread", Align::Right)));
    let models = if is_short { 1 } else { validation.models.len() };
    for errors in &validation.models[..models] {
        headings.extend([(errors.model.as_str(), Align::Right), ("error", Align::Right)]);
    }
    let has_interval = validation.coverage.is_some() && !is_short;
    if has_interval {
        headings.extend([("95% from", Align::Right), ("to", Align::Right), ("holds", Align::Right)]);
    }
    let stays = ["spread", "error", "to", "holds"];
    let mut table = Table::new(&headings).keyed(columns.len().max(1)).with_previous(&stays);
    for point in points {
        let mut cells: Vec<String> =
            columns.iter().map(|column| point.values.get(*column).cloned().unwrap_or_default()).collect();
        cells.push(time(point.measured_s));
        let spread = || if point.runs > 1 { format!("{:.1}%", point.spread_percent()) } else { String::new() };
        cells.extend(has_spread.then(spread));
        for model in 0..models {
            cells.extend([time(point.predicted_s[model]), signed(point.error_percent(model))]);
        }
        if has_interval {
            cells.extend(point.interval.map_or_else(Default::default, |of| {
                [time(of.interval_s[0]), time(of.interval_s[1]), format!("{} of {}", of.measured_inside, point.runs)]
            }));
        }
        table.row(cells);
    }
    table.render()
}

fn time(seconds: f64) -> String {
    SimSpan::from_seconds(seconds).map_or_else(|| format!("{seconds:.4} s"), |span| span.to_string())
}

pub(super) fn signed(percent: f64) -> String {
    format!("{}%", crate::units::signed(percent, 1))
}

fn errors(validation: &Validation) -> String {
    let mut headings = vec![("mean error", Align::Left), ("points", Align::Right)];
    // The errors of several models share a line if the line is short enough; otherwise each model has its own line.
    let beside = validation.models.len() < 3;
    for errors in validation.models.iter().filter(|_| beside) {
        headings.extend([(errors.model.as_str(), Align::Right), ("max", Align::Right), ("bias", Align::Right)]);
    }
    if !beside {
        let columns = [("model", Align::Left), ("mean", Align::Right), ("max", Align::Right), ("bias", Align::Right)];
        headings.extend(columns);
    }
    let mut table = Table::new(&headings).with_previous(&["max", "bias"]);
    let mut row = |name: &str, all: &[ErrorSummary]| {
        if !beside {
            for (place, (of, errors)) in all.iter().zip(&validation.models).enumerate() {
                let name = if place == 0 { name.to_owned() } else { String::new() };
                let points = if place == 0 { count(of.points as u64) } else { String::new() };
                let figures = [percent(of.mean_percent), percent(of.max_percent), signed(of.bias_percent)];
                table.row([name, points, errors.model.clone()].into_iter().chain(figures));
            }
            return;
        }
        let mut cells = vec![name.to_owned(), count(all[0].points as u64)];
        for of in all {
            cells.extend([percent(of.mean_percent), percent(of.max_percent), signed(of.bias_percent)]);
        }
        table.row(cells);
    };
    for group in validation.models[0].groups.keys() {
        let all: Vec<ErrorSummary> = validation.models.iter().map(|errors| errors.groups[group]).collect();
        row(group, &all);
    }
    // On a quiet machine the remaining prediction error is due to the model.
    for most in [Some(QUIET), validation.limit.and_then(|limit| limit.max_spread_percent)].into_iter().flatten() {
        let of = |model| validation.errors_where_quiet(model, most);
        let all: Vec<ErrorSummary> = (0..validation.models.len()).map(of).collect();
        if all[0].points > 0 {
            row(&format!("spread up to {most}%"), &all);
        }
    }
    row("all", &validation.models.iter().map(|errors| errors.all).collect::<Vec<_>>());
    let mut text = table.render();
    text.push_str(&order(validation));
    text.push_str(&effects::coverage(validation));
    let Some(limit) = validation.limit else {
        text.push_str("  no limit of the error: case.toml has no [limit]\n");
        return text;
    };
    let verdict = if validation.passes() { "within" } else { "OVER" };
    let judged = limit.max_spread_percent.map_or(String::new(), |most| format!("; spread up to {most}%"));
    text.push_str(&format!(
        "  {verdict} the limit of the error: {} mean, {} greatest{judged}\n",
        percent(limit.mean_percent),
        percent(limit.max_percent)
    ));
    text
}

/// Returns a text about the agreement between the predicted and the measured order of the points in each group.
fn order(validation: &Validation) -> String {
    let line = |errors: &ModelErrors| {
        let OrderFound { groups, best_found, lost_percent, rank_correlation } = errors.order?;
        let (model, lost) = (clip(&errors.model, 12), percent(lost_percent));
        let found = format!("fastest point found in {best_found} of {groups} groups, {lost} lost otherwise");
        Some(wrapped(&format!("  order, {model}: {found}, rank correlation {rank_correlation:.3}"), 4))
    };
    validation.models.iter().filter_map(line).collect()
}

pub(super) fn percent(percent: f64) -> String {
    format!("{percent:.1}%")
}

/// Returns a table of several validation cases, one row per case.
pub fn validations_table(validations: &[Validation]) -> String {
    let others = validations.first().map_or(&[][..], |first| &first.models[1..]);
    let others: Vec<String> = others.iter().map(|errors| format!("{} mean", errors.model)).collect();
    let mut headings = vec![
        ("case", Align::Left),
        ("points", Align::Right),
        ("mean", Align::Right),
        ("max", Align::Right),
        ("limit", Align::Right),
    ];
    others.iter().for_each(|name| headings.extend([(name.as_str(), Align::Right), ("max", Align::Right)]));
    headings.push(("", Align::Left));
    let mut table = Table::new(&headings).with_previous(&["max"]);
    for validation in validations {
        let own = validation.models[0].all;
        let (limit, verdict) = match validation.limit {
            None => ("none".to_owned(), ""),
            Some(limit) => (
                format!("{}, {}", percent(limit.mean_percent), percent(limit.max_percent)),
                if validation.passes() { "within" } else { "OVER" },
            ),
        };
        let mut cells = vec![
            validation.case.clone(),
            count(own.points as u64),
            percent(own.mean_percent),
            percent(own.max_percent),
            limit,
        ];
        for other in &validation.models[1..] {
            cells.extend([percent(other.all.mean_percent), percent(other.all.max_percent)]);
        }
        cells.push(verdict.to_owned());
        table.row(cells);
    }
    table.render() + &effects::similar(validations)
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::study::validate::{Calibrated, Limit, Plot};

    /// Returns a validation case of three points, of which the first is used for calibration. The baseline model has
    /// errors twice as large as mcpsim's.
    pub(in crate::report) fn sample() -> Validation {
        let map = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>()
        };
        let point = |ranks: &str, given, seconds: [f64; 3], predicted_s: [f64; 2]| ValidatedPoint {
            values: map(&[("kind", "a,b"), ("ranks", ranks)]),
            given,
            measured_s: seconds[1],
            measured_min_s: seconds[0],
            measured_max_s: seconds[2],
            runs: 3,
            predicted_s: predicted_s.to_vec(),
            interval: None,
            likely: None,
            dominant: None,
        };
        let points = vec![
            point("1", true, [8.0, 8.0, 8.0], [8.0, 8.0]),
            point("2", false, [3.9, 4.0, 4.1], [4.2, 4.4]),
            point("4", false, [1.8, 2.0, 2.6], [1.8, 1.6]),
        ];
        let model = |name: &str, index: usize| ModelErrors {
            model: name.to_owned(),
            calibrated: vec![Calibrated {
                key: "app.work".to_owned(),
                by: map(&[("kind", "a,b")]),
                value: "8.00000 s".to_owned(),
                points: 1,
                residual_percent: 0.04,
            }],
            all: ErrorSummary::over(points[1..].iter().map(|point| point.error_percent(index))),
            groups: BTreeMap::new(),
            order: (index == 0).then_some(OrderFound {
                groups: 2,
                best_found: 1,
                lost_percent: 3.04,
                rank_correlation: 0.9,
            }),
        };
        Validation {
            mcpsim: "0".to_owned(),
            case: "sample".to_owned(),
            about: "what it shows".to_owned(),
            measured: map(&[("machine", "a machine"), ("date", "2020")]),
            provenance: BTreeMap::new(),
            limit: Some(Limit { mean_percent: 8.0, max_percent: 9.0, max_spread_percent: None }),
            columns: vec!["kind".to_owned(), "ranks".to_owned()],
            plot: Some(Plot { x: "ranks".to_owned(), curves: vec!["kind".to_owned()], figures: vec![] }),
            models: vec![model("mcpsim", 0), model("two-level", 1)],
            points,
            left_out: BTreeMap::from([("too short".to_owned(), 2)]),
            coverage: None,
            likely: None,
            effects: None,
        }
    }

    #[test]
    fn a_case_reads_as_calibrated_predicted_and_off_by() {
        let expected = [
            "sample: what it shows",
            "  measured on a machine, 2020",
            "  2 points predicted, 1 used for calibration",
            "  2 left out: too short",
            "",
            "Calibrated",
            "  parameter  for           value     from  residual",
            "  app.work   kind a,b  8.00000 s  1 point    0.0%",
            "",
            "Predicted",
            "  ranks  measured  spread   mcpsim   error   two-level   error",
            "      2   4.000 s    2.5%  4.200 s   +5.0%  4.400 s  +10.0%",
            "      4   2.000 s   30.0%  1.800 s  -10.0%  1.600 s  -20.0%",
            "",
            "  mean error       points  mcpsim    max   bias  two-level    max   bias",
            "  spread up to 5%       1    5.0%   5.0%  +5.0%   10.0%  10.0%  +10.0%",
            "  all                   2    7.5%  10.0%  -2.5%   15.0%  20.0%  -5.0%",
            "  order, mcpsim: fastest point found in 1 of 2 groups, 3.0% lost otherwise, rank",
            "    correlation 0.900",
            "  OVER the limit of the error: 8.0% mean, 9.0% greatest",
        ];
        let text = validation_summary(&sample(), ShownPoints::Furthest);
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let found: Vec<String> = text.lines().map(squeezed).collect();
        assert_eq!(found, expected.map(squeezed), "\n{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn a_long_title_is_shown_whole_and_a_spread_only_where_points_have_one() {
        let mut validation = sample();
        validation.about = "words ".repeat(30) + "end";
        validation.points.iter_mut().for_each(|point| point.runs = 1);
        let text = validation_summary(&validation, ShownPoints::All);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let title = text.split("  measured on").next().unwrap();
        assert_eq!(title.matches("words").count(), 30, "{text}");
        assert!(title.ends_with(" end\n") && !text.contains("measured  spread"), "{text}");
    }

    #[test]
    fn more_models_than_two_stand_below_each_other() {
        let mut validation = sample();
        let logp = ModelErrors { model: "logp".to_owned(), ..validation.models[1].clone() };
        validation.models.push(logp);
        validation.points.iter_mut().for_each(|point| point.predicted_s.push(point.predicted_s[1]));
        let text = validation_summary(&validation, ShownPoints::Furthest);
        let squeezed: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for line in [
            "ranks measured spread mcpsim error two-level error logp error",
            "mean error points model mean max bias",
            "all 2 mcpsim 7.5% 10.0% -2.5%",
            "two-level 15.0% 20.0% -5.0%",
            "logp 15.0% 20.0% -5.0%",
        ] {
            assert!(squeezed.iter().any(|found| found == line), "{line} in\n{text}");
        }
        let table = validations_table(&[validation]);
        let heading: Vec<&str> = table.lines().next().unwrap().split_whitespace().collect();
        assert_eq!(heading[5..], ["two-level", "mean", "max"]);
        assert!(table.lines().any(|line| line.split_whitespace().eq(["case", "logp", "mean", "max"])), "{table}");
    }

    #[test]
    fn of_many_points_those_furthest_off_are_shown_unless_all_are_asked_for() {
        let mut validation = sample();
        let point = validation.points[1].clone();
        validation.points = (0..34)
            .map(|place| ValidatedPoint {
                values: BTreeMap::from([("ranks".to_owned(), place.to_string())]),
                predicted_s: vec![4.0 + 0.1 * f64::from(place), 5.0],
                ..point.clone()
            })
            .collect();
        let short = validation_summary(&validation, ShownPoints::Furthest);
        let from = short.lines().position(|line| line.starts_with("Predicted")).unwrap();
        let lines: Vec<&str> = short.lines().skip(from).collect();
        assert_eq!(lines[0], "Predicted: 10 of 34 points, largest error first; --points shows all");
        assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["ranks", "measured", "mcpsim", "error"]);
        assert_eq!(lines[2].split_whitespace().next(), Some("33"));
        assert_eq!((lines[11].split_whitespace().next(), lines[12]), (Some("24"), ""));
        let all = validation_summary(&validation, ShownPoints::All);
        assert!(all.contains("\nPredicted\n") && all.contains("two-level   error\n"), "{all}");
        assert_eq!(all.lines().count(), short.lines().count() + 24);
    }

    #[test]
    fn a_row_of_the_csv_is_a_point_with_a_model() {
        let csv = validation_csv(&[sample()]);
        let rows: Vec<&str> = csv.lines().collect();
        assert_eq!(rows.len(), 7);
        assert_eq!(rows[1], "sample,\"kind=a,b ranks=1\",given,mcpsim,3,8,8,8,8,0.000,,,,,,,");
        assert_eq!(rows[6], "sample,\"kind=a,b ranks=4\",predicted,two-level,3,2,1.8,2.6,1.6,-20.000,,,,,,,");
    }

    #[test]
    fn several_cases_are_a_table_of_their_errors() {
        let text = validations_table(&[sample()]);
        let row: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(row, ["sample", "2", "7.5%", "10.0%", "8.0%,", "9.0%", "15.0%", "20.0%", "OVER"]);
    }
}
