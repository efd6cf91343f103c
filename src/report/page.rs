//! Report of a run or study as a single HTML file that needs no network: the file contains the exported data and the
//! code that displays the data.

mod timeline;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::exported::Exported;
use super::figures::study_machine;
use super::palette::style_variables;
use super::study::bests;
use crate::config::ConfigError;
use crate::engine::{Outcome, PairMessages};
use crate::revisions::RevisionTable;
use crate::study::{Combination, Results};

/// Template of the HTML page, into which style, data and code are inserted.
const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
/// Code of the HTML page, in the order of its use.
const CODE: [&str; 8] = [
    include_str!("page/base.js"),
    include_str!("page/charts.js"),
    include_str!("page/canvas.js"),
    include_str!("page/timeline.js"),
    include_str!("page/run.js"),
    include_str!("page/parts.js"),
    include_str!("page/revisions.js"),
    include_str!("page/study.js"),
];
/// Maximum number of ranks that have a row in the HTML page.
const MOST_RANKS: usize = 8192;
/// Maximum number of rank groups per row of the message matrix.
const MOST_BINS: u64 = 128;
/// Maximum length of an HTML page in bytes.
const LONGEST: usize = 10_000_000;

fn wrong(name: &str, what: impl std::fmt::Display) -> ConfigError {
    ConfigError::new(format!("{name}: {what}"))
}

/// Returns the HTML page for `text`: the Outcome of a run, the results of a study or of a test over revisions, or
/// the table of `mcpsim validate`.
/// Error messages contain the file name `name`. `timeline` contains the file name and the JSON text that `--timeline`
/// of the same run wrote.
///
/// # Errors
/// The exported text has another form, or is too long for an HTML page.
pub fn page(name: &str, text: &str, timeline: Option<(&str, &str)>) -> Result<String, ConfigError> {
    let data = if let Some(table) = revisions(name, text)? {
        json!({ "kind": "revisions", "table": table })
    } else if text.trim_start().starts_with('{') {
        let expected = "the --json output of a run, study.json of a sweep, revisions.json, or the --csv output of \
                        mcpsim validate";
        match Exported::read(name, text, expected)? {
            Exported::Study(results) => {
                let combinations = results.combinations();
                let best = bests(&results, &combinations);
                let best: Vec<_> =
                    best.iter().map(|best| json!({ "ps": best.time.as_ps(), "label": best.label })).collect();
                let machine = study_machine(&results);
                let points = points(&results, &combinations);
                json!({ "kind": "study", "study": results, "best": best, "points": points, "machine": machine })
            }
            Exported::Run(outcome) => json!({ "kind": "run", "run": run(*outcome, timeline)? }),
        }
    } else {
        json!({ "kind": "validation", "cases": cases(name, text)? })
    };
    if let (Some((timeline, _)), false) = (timeline, data["kind"] == "run") {
        return Err(wrong(
            timeline,
            "--timeline: expected the results of one run to go with the timeline; found \
                                    results of several",
        ));
    }
    // The escapes remove `</` and `<!--` from the script element, in which these characters would end the element or
    // start a comment.
    let data = data.to_string().replace("</", "<\\/").replace("<!--", "<\\u0021--");
    let style = STYLE.replace("@LIGHT@", &style_variables(false)).replace("@DARK@", &style_variables(true));
    let page = PAGE.replacen("@STYLE@", &style, 1).replacen("@CODE@", &CODE.concat(), 1).replacen("@DATA@", &data, 1);
    if page.len() > LONGEST {
        return Err(wrong(name, format!("the page would have {} bytes: expected at most {LONGEST} bytes", page.len())));
    }
    Ok(page)
}

/// Returns the results of a test over revisions, if `text` contains them.
fn revisions(name: &str, text: &str) -> Result<Option<RevisionTable>, ConfigError> {
    let is_table = serde_json::from_str::<Value>(text).is_ok_and(|value| value.get("revisions").is_some());
    if !is_table {
        return Ok(None);
    }
    let table = serde_json::from_str(text);
    table.map(Some).map_err(|error| wrong(name, format!("not revisions.json of mcpsim revisions: {error}")))
}

/// Returns the speed-up of each point of a study, and whether the point is the best.
fn points(results: &Results, combinations: &[Combination]) -> Vec<Value> {
    let mut points = vec![json!({}); results.points.len()];
    for found in combinations {
        for &index in &found.points {
            if let Some(speedup) = found.speedup {
                points[index]["speedup"] = json!(speedup.factor);
                points[index]["efficiency"] = json!(speedup.efficiency);
            }
            if found.best {
                points[index]["best"] = json!(true);
            }
        }
    }
    points
}

/// Removes the parts of the Outcome that are too large for an HTML page.
fn run(mut run: Outcome, timeline: Option<(&str, &str)>) -> Result<Value, ConfigError> {
    run.per_rank.truncate(MOST_RANKS);
    run.sizes = None;
    let calls = run.functions.iter_mut().flatten().map(|one| &mut one.per_rank);
    calls.chain(run.sites.iter_mut().flatten().map(|one| &mut one.per_rank)).for_each(Vec::clear);
    let pairs = run.pairs.take();
    let ranks = run.ranks;
    let mut page = json!(run);
    if let Some(pairs) = pairs {
        page["matrix"] = matrix(&pairs, ranks);
    }
    if let Some((name, text)) = timeline {
        page["timeline"] = timeline::timeline(name, text)?;
    }
    Ok(page)
}

/// Returns the messages between groups of ranks as JSON: the first rank of each group, the count and the bytes.
fn matrix(pairs: &[PairMessages], ranks: u32) -> Value {
    let ranks = u64::from(ranks.max(1));
    let bins = ranks.min(MOST_BINS);
    let mut cells: BTreeMap<(u64, u64), (u64, u64)> = BTreeMap::new();
    for pair in pairs {
        let bin = |rank: u32| u64::from(rank).min(ranks - 1) * bins / ranks;
        let cell = cells.entry((bin(pair.from), bin(pair.to))).or_default();
        *cell = (cell.0 + pair.count, cell.1.saturating_add(pair.bytes));
    }
    let cells: Vec<_> = cells.into_iter().map(|((from, to), (count, bytes))| json!([from, to, count, bytes])).collect();
    json!({ "bins": bins, "cells": cells })
}

/// Returns the points of each case in a table that `mcpsim validate` has written.
fn cases(name: &str, text: &str) -> Result<Vec<Value>, ConfigError> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(text.as_bytes());
    let header = reader.headers().map_err(|error| wrong(name, error))?.clone();
    let column = |wanted: &str| {
        header.iter().position(|column| column == wanted).ok_or_else(|| {
            let what = "expected the --json output of a run, study.json of a sweep, or the --csv output of mcpsim \
                        validate";
            wrong(name, format!("{what}; found no column {wanted}"))
        })
    };
    let [case, point, role, model] = [column("case")?, column("point")?, column("role")?, column("model")?];
    let times = [column("measured_s")?, column("predicted_s")?, column("error_percent")?];
    let mut found: Vec<(String, Vec<Value>)> = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| wrong(name, error))?;
        let text = |column: usize| row.get(column).unwrap_or("");
        let [measured, predicted, error] = times.map(|column| text(column).parse::<f64>().unwrap_or(0.0));
        let of_case = text(case);
        if found.last().is_none_or(|(last, _)| last != of_case) {
            found.push((of_case.to_owned(), Vec::new()));
        }
        let points = &mut found.last_mut().expect("just pushed").1;
        points.push(json!({
            "point": text(point), "role": text(role), "model": text(model),
            "measured_s": measured, "predicted_s": predicted, "error_percent": error,
        }));
    }
    if found.is_empty() {
        return Err(wrong(name, "expected a row for each point of a case; found no rows"));
    }
    Ok(found.into_iter().map(|(name, points)| json!({ "name": name, "points": points })).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{busy, json as outcome_json};

    #[test]
    fn a_page_needs_nothing_else_and_its_data_cannot_end_the_script() {
        let mut outcome = busy();
        outcome.app = "</script><!-- x".to_owned();
        let page = page("run.json", &outcome_json(&outcome).unwrap(), None).unwrap();
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(!page.contains("<!-- x"));
        for outside in ["src=\"", "http://", "https://", "@import", "url("] {
            let own = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!own.contains(outside), "{outside}");
        }
    }

    #[test]
    fn what_a_page_cannot_be_made_of_is_told() {
        let error = |text: &str| page("x", text, None).unwrap_err().to_string();
        assert_eq!(
            error("{}"),
            "x: expected the --json output of a run, study.json of a sweep, revisions.json, or the --csv output of \
             mcpsim validate; found no predicted_ps and no points"
        );
        assert!(error("{\"revisions\": [1]}").starts_with("x: not revisions.json of mcpsim revisions: "));
        assert_eq!(
            error("a,b\n"),
            "x: expected the --json output of a run, study.json of a sweep, or the --csv output of mcpsim validate; \
             found no column case"
        );
        let study = json!({ "mcpsim": "0", "study": "s", "axes": [], "points": [] }).to_string();
        let studied = page("x", &study, Some(("t.json", "{}"))).unwrap_err().to_string();
        assert_eq!(
            studied,
            "t.json: --timeline: expected the results of one run to go with the timeline; found \
                             results of several"
        );
    }

    #[test]
    fn a_study_of_several_problems_has_a_best_of_each() {
        let outcome = json!(busy());
        let point = |n: &str, ranks: &str, ps: u64| {
            let mut outcome = outcome.clone();
            outcome["predicted_ps"] = json!(ps);
            json!({ "values": { "app.n": n, "run.ranks": ranks }, "key": "", "outcome": outcome })
        };
        let axis = |key: &str| json!({ "keys": [key], "steps": [["1"], ["2"]] });
        let points = [point("1", "1", 40), point("1", "2", 20), point("2", "1", 80), point("2", "2", 90)];
        let axes = [axis("app.n"), axis("run.ranks")];
        let study = json!({ "mcpsim": "0", "study": "s", "axes": axes, "points": points }).to_string();
        let page = page("study.json", &study, None).unwrap();
        let best = r#""best":[{"label":"app.n=1 run.ranks=2","ps":20},{"label":"app.n=2 run.ranks=1","ps":80}],"kind":"study""#;
        assert!(page.contains(best), "{page}");
    }

    #[test]
    fn many_ranks_are_grouped_in_the_matrix() {
        let pairs = [(0, 1), (1, 0), (255, 254)].map(|(from, to)| PairMessages { from, to, count: 1, bytes: 10 });
        let found = matrix(&pairs, 256);
        assert_eq!(found, json!({ "bins": 128, "cells": [[0, 0, 2, 20], [127, 127, 1, 10]] }));
    }
}
