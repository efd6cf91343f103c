//! Table of a validation's prediction errors without each machine effect, coverage of the prediction intervals, and
//! errors of similar predictions.

use crate::study::validate::{Coverage, SimilarErrors, Validation};

use super::headline::{clip, wrapped};
use super::numbers::count;
use super::table::{Align, Table};
use super::validation::{percent, signed};

/// Returns the share of measured runs inside the 95 % prediction intervals, one line per kind of interval.
pub(super) fn coverage(validation: &Validation) -> String {
    let line = |what: &str, found: Option<Coverage>| {
        let Coverage { points, points_inside, runs, runs_inside } = found?;
        let (of_runs, of_points) = (percent(found?.runs_percent()), percent(found?.points_percent()));
        let runs = format!("{runs_inside} of {runs} runs ({of_runs})");
        let medians = format!("{points_inside} of {points} medians ({of_points})");
        Some(wrapped(&format!("  95% interval from {what}: contains {runs}, {medians}"), 4))
    };
    let lines = [line("noise", validation.coverage), line("the other points' errors", validation.likely)];
    lines.into_iter().flatten().collect()
}

/// Returns a table of the likely ranges by the part that dominates the critical path; empty with too few cases.
pub(super) fn similar(validations: &[Validation]) -> String {
    let all = SimilarErrors::of(validations);
    if all.is_empty() {
        return String::new();
    }
    let mut table = Table::new(&[
        ("dominated by", Align::Left),
        ("cases", Align::Right),
        ("points", Align::Right),
        ("measured / predicted", Align::Right),
        ("inside", Align::Right),
        ("width", Align::Right),
    ]);
    for SimilarErrors { dominant, range: [low, high], left_out } in all {
        table.row([
            dominant.description().to_owned(),
            left_out.cases.to_string(),
            count(left_out.points as u64),
            format!("{low:.3} to {high:.3}"),
            percent(left_out.inside_percent),
            format!("{:.2}", left_out.width),
        ]);
    }
    let note = "  inside: points in the range of the other cases; width: median of upper / lower end\n";
    format!("\n{}{note}", table.render())
}

/// Returns a table of the prediction errors without each machine effect, and the increase of the mean error.
pub(super) fn effects(validation: &Validation) -> String {
    let Some(found) = &validation.effects else { return String::new() };
    let Some(whole) = found.rows.first() else { return String::new() };
    let mut table = Table::new(&[
        ("without", Align::Left),
        ("", Align::Left),
        ("mean", Align::Right),
        ("max", Align::Right),
        ("bias", Align::Right),
        ("worth", Align::Right),
    ]);
    for row in &found.rows {
        let worth = row.all.mean_percent - whole.all.mean_percent;
        table.row([
            row.without.clone(),
            row.about.clone(),
            percent(row.all.mean_percent),
            percent(row.all.max_percent),
            signed(row.all.bias_percent),
            if row.without == whole.without { String::new() } else { signed(worth) },
        ]);
        for (group, errors) in row.groups.iter().filter(|_| row.groups.len() > 1) {
            let worth = errors.mean_percent - whole.groups[group].mean_percent;
            table.row([
                String::new(),
                format!("  {}", clip(group, 24)),
                percent(errors.mean_percent),
                percent(errors.max_percent),
                signed(errors.bias_percent),
                if row.without == whole.without { String::new() } else { signed(worth) },
            ]);
        }
    }
    let mut text = "\nEffects, switched off one at a time\n".to_owned();
    text.push_str(&table.render());
    if found.rows.len() == 1 {
        text.push_str("  the platform file states no key of an effect\n");
    }
    if !found.left_out.is_empty() {
        let keys = found.left_out.join(", ");
        text.push_str(&clip(&format!("  calibrated on this case and left out here: {keys}"), 80));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::validation::tests::sample;
    use super::super::{ShownPoints, validation_csv, validation_summary};
    use crate::study::validate::{Coverage, EffectErrors, EffectsFound, ErrorSummary, PointInterval};

    #[test]
    fn intervals_stand_beside_points_and_how_much_they_hold_below() {
        let mut validation = sample();
        let interval =
            PointInterval { runs: 20, mean_s: 4.1, deviation_s: 0.1, interval_s: [3.9, 4.3], measured_inside: 2 };
        validation.points[1].interval = Some(interval);
        validation.coverage = Some(Coverage { points: 2, points_inside: 1, runs: 6, runs_inside: 3 });
        let text = validation_summary(&validation, ShownPoints::All);
        let squeezed: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for line in [
            "ranks 95% from to holds",
            "2 3.900 s 4.300 s 2 of 3",
            "95% interval from noise: contains 3 of 6 runs (50.0%), 1 of 2 medians (50.0%)",
        ] {
            assert!(squeezed.iter().any(|found| found == line), "{line} in\n{text}");
        }
        let csv = validation_csv(&[validation]);
        assert!(csv.lines().nth(3).unwrap().ends_with(",5.000,,3.9,4.3,2,,,"), "{csv}");
        assert!(csv.lines().nth(4).unwrap().ends_with(",10.000,,,,,,,"), "{csv}");
    }

    #[test]
    fn effects_are_a_table_of_what_each_is_worth() {
        let row = |without: &str, mean: f64| EffectErrors {
            without: without.to_owned(),
            about: "such".to_owned(),
            all: ErrorSummary { points: 2, mean_percent: mean, max_percent: 20.0, bias_percent: -mean },
            groups: BTreeMap::new(),
            predicted_s: vec![8.0, 4.0, 1.0],
        };
        let mut validation = sample();
        let rows = vec![row("nothing", 5.0), row("contention", 12.5), row("gap", 4.0)];
        validation.effects = Some(EffectsFound { left_out: vec!["app.connect".to_owned()], rows });
        let text = validation_summary(&validation, ShownPoints::All);
        let squeezed: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for line in [
            "without mean max bias worth",
            "nothing such 5.0% 20.0% -5.0%",
            "contention such 12.5% 20.0% -12.5% +7.5%",
            "gap such 4.0% 20.0% -4.0% -1.0%",
            "calibrated on this case and left out here: app.connect",
        ] {
            assert!(squeezed.iter().any(|found| found == line), "{line} in\n{text}");
        }
        let csv = validation_csv(&[validation]);
        assert!(csv.lines().any(|line| {
            line.starts_with("sample,\"kind=a,b ranks=4\",predicted,without contention,3,2,1.8,2.6,1,-50.000,")
        }));
    }
}
