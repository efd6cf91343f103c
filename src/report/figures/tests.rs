//! Tests of figures: the content of figures of synthetic runs and studies, and unusual input.

use std::collections::BTreeMap;

use super::{Figure, figures};
use crate::engine::Outcome;
use crate::profile::{
    FunctionCalls, FunctionProfile, KindLoad, LinkLoad, LoadOverTime, PathParts, SiteProfile, SwitchPlace,
};
use crate::report::{busy, empty, huge, json};
use crate::study::{Asked, AxisSteps, PointResult, Results};
use crate::units::{SimSpan, SimTime};

fn drawn(text: &str) -> Vec<Figure> {
    let figures = figures("x.json", text).unwrap();
    for figure in &figures {
        let svg = figure.svg();
        for wrong in ["NaN", "inf"] {
            assert!(!svg.contains(wrong), "{wrong} in {}", figure.name);
        }
        let document = roxmltree::Document::parse(&svg).unwrap();
        let labels: Vec<&str> =
            document.descendants().filter_map(|node| node.text().filter(|_| node.has_tag_name("text"))).collect();
        assert_eq!(labels, figure.words().collect::<Vec<_>>(), "{}", figure.name);
    }
    figures
}

#[test]
fn every_figure_is_a_png_too() {
    for figure in figures("x.json", &json(&busy()).unwrap()).unwrap() {
        let png = figure.png().unwrap();
        assert!(png.starts_with(b"\x89PNG") && png.len() > 10_000, "{}", figure.name);
    }
}

fn names(figures: &[Figure]) -> Vec<&str> {
    figures.iter().map(|figure| figure.name.as_str()).collect()
}

/// Returns a study over the axes `axes`. The point at `index` takes `time` microseconds, or fails.
fn study(axes: &[(&str, &[&str])], time: impl Fn(usize) -> Option<u64>) -> String {
    let count = axes.iter().map(|(_, values)| values.len()).product();
    let point = |index: usize| {
        let outcome = time(index).map(|us| {
            let path = PathParts { compute: SimSpan::from_us(us), ..PathParts::default() };
            Box::new(Outcome { predicted: SimTime::ZERO + SimSpan::from_us(us), path, ..Outcome::default() })
        });
        let error = outcome.is_none().then(|| "it failed".to_owned());
        PointResult { values: BTreeMap::new(), numbers: BTreeMap::new(), key: "0".repeat(32), outcome, error }
    };
    let axes = axes.iter().map(|(key, values)| AxisSteps {
        keys: vec![(*key).to_owned()],
        steps: values.iter().map(|value| vec![(*value).to_owned()]).collect(),
    });
    let results = Results {
        mcpsim: "0.1.0".into(),
        study: "a study".into(),
        axes: axes.collect(),
        asked: Asked::default(),
        points: (0..count).map(point).collect(),
    };
    serde_json::to_string(&results).unwrap()
}

#[test]
fn a_run_has_a_figure_of_each_kind_that_its_outcome_tells() {
    let mut outcome = busy();
    let without_pairs = drawn(&json(&outcome).unwrap());
    let always = ["time-parts", "time-path", "time-ranks", "messages-count", "messages-volume", "messages-time"];
    assert_eq!(names(&without_pairs), always);
    outcome.pairs = Some(vec![(0, 1, 3, 100).into(), (1, 0, 30, 100_000).into()]);
    let all = drawn(&json(&outcome).unwrap());
    assert_eq!(names(&all)[5..], ["matrix-count", "matrix-volume", "messages-time"]);
    let words: Vec<&str> = all[6].words().collect();
    for text in ["97.66 KiB", "3.088 KiB", "100 B", "sender (rank)"] {
        assert!(words.contains(&text), "{words:?}");
    }
    assert!(
        words.contains(&"volume between pairs of ranks, shades by their logarithm; lines between nodes"),
        "{words:?}"
    );
}

#[test]
fn calls_are_bars_with_their_places() {
    let mut run = busy();
    let total = |us| FunctionCalls { calls: 1, time: SimSpan::from_us(us), ..FunctionCalls::default() };
    let function =
        |name: &str, us| FunctionProfile { function: name.to_owned(), total: total(us), per_rank: Vec::new() };
    run.functions = Some(vec![function("MPI_Recv", 8), function("MPI_Send", 1)]);
    let site = Some("pass at pass.c:5".to_owned());
    run.sites =
        Some(vec![SiteProfile { function: "MPI_Recv".to_owned(), site, total: total(8), per_rank: Vec::new() }]);
    let all = drawn(&json(&run).unwrap());
    assert_eq!(names(&all)[6..], ["calls-by-function", "calls-by-place"]);
    assert!(all[7].words().any(|words| words == "MPI_Recv in pass at pass.c:5"));
}

#[test]
fn what_is_not_listed_is_not_drawn() {
    assert_eq!(names(&drawn(&json(&huge()).unwrap())), ["time-parts", "messages-count", "messages-volume"]);
    assert_eq!(names(&drawn(&json(&empty()).unwrap())), [""; 0]);
}

#[test]
fn a_million_ranks_are_drawn_as_groups() {
    let mut outcome = busy();
    outcome.ranks = 1 << 20;
    outcome.pairs = Some((0..1000).map(|rank| (rank * 1000, (rank * 7919) % (1 << 20), 1, 8).into()).collect());
    let rank = outcome.per_rank[0];
    outcome.per_rank = (0..5000).map(|number| crate::engine::RankTime { rank: number, ..rank }).collect();
    let figures = drawn(&json(&outcome).unwrap());
    assert!(figures[2].words().any(|words| words == "rank (a bar is the mean of 50)"));
    assert!(figures[5].words().any(|words| words.ends_with("a field is the sum of 8192 × 8192 ranks")));
    assert!(figures.iter().all(|figure| figure.svg().len() < 1 << 20));
}

#[test]
fn numbers_are_curves_and_words_are_bars_and_both_say_which_is_best() {
    let curve = drawn(&study(&[("run.ranks", &["1", "2", "4", "8"])], |index| Some(100 - index as u64)));
    assert_eq!(names(&curve), ["study-time", "study-parts"]);
    let bars = drawn(&study(&[("platform.nct", &["4,1,1", "1,2,2", "1,1,4"])], |index| Some(10 + index as u64 % 2)));
    assert_eq!(names(&bars), ["study-time", "study-parts"]);
    for (figure, best) in
        [(&curve[0], "best: 97.00 us at 8"), (&curve[1], "best: 97.00 us at 8"), (&bars[0], "best: 10.00 us at 4,1,1")]
    {
        assert!(figure.words().any(|words| words == best), "{best} in {:?}", figure.words().collect::<Vec<_>>());
    }
}

#[test]
fn a_second_axis_is_colours_and_further_ones_are_figures() {
    let axes: [(&str, &[&str]); 3] = [
        ("platform.class", &["S", "W"]),
        ("run.ranks", &["1", "2", "3", "4"]),
        ("platform.inter_node.latency", &["1 us", "5 us", "9 us"]),
    ];
    let figures = drawn(&study(&axes, |index| Some(50 + index as u64)));
    assert_eq!(names(&figures), ["study-time-1", "study-time-2"]);
    let words: Vec<&str> = figures[1].words().collect();
    assert!(
        words.contains(&"predicted time with platform.class = W") && words.contains(&"platform.inter_node.latency:"),
        "{words:?}"
    );
    assert!(!words.iter().any(|words| words.starts_with("best")), "{words:?}");
    assert!(figures[0].words().any(|words| words == "best: 50.00 us at 1, 1 us"));
}

#[test]
fn seeds_are_one_point_with_a_range() {
    let axes: [(&str, &[&str]); 2] = [("run.ranks", &["1", "2", "3"]), ("run.seed", &["1", "2", "3", "4"])];
    let figures = drawn(&study(&axes, |index| Some(10 + index as u64)));
    assert_eq!(names(&figures), ["study-time", "study-parts"]);
    assert!(figures[0].words().any(|words| words == "predicted time; mean and range over seeds"));
}

#[test]
fn odd_studies_are_drawn_or_not_at_all() {
    let axis: [(&str, &[&str]); 1] = [("run.ranks", &["1", "2", "3"])];
    assert_eq!(drawn(&study(&axis, |_| None)).len(), 0);
    for figure in drawn(&study(&axis, |index| (index == 1).then_some(5))) {
        let words: Vec<&str> = figure.words().collect();
        assert_eq!(words.iter().filter(|&&word| word == "×").count(), 2, "{words:?}");
        assert!(words.iter().any(|words| words.ends_with("; ×: no prediction")), "{words:?}");
    }
    assert_eq!(drawn(&study(&axis, |_| Some(0))).len(), 2);
    assert_eq!(drawn(&study(&[], |_| Some(1))).len(), 0);
    let many: Vec<String> = (0..300).map(|number| format!("word {number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    assert_eq!(drawn(&study(&[("run.x", &many)], |index| Some(1 + index as u64 * 1000))).len(), 2);
    let colours: [(&str, &[&str]); 2] =
        [("run.a", &["a", "b", "c"]), ("run.b", &["x", "y", "a very long name ".repeat(20).leak()])];
    assert_eq!(drawn(&study(&colours, |index| Some(1 << (3 * index)))).len(), 1);
}

#[test]
fn what_is_neither_a_run_nor_a_study_is_refused() {
    let error = |text: &str| figures("x.json", text).unwrap_err().to_string();
    assert!(error("{").starts_with("x.json: not JSON: "));
    assert_eq!(
        error("{}"),
        "x.json: expected the --json output of a run, or study.json of a sweep; found no predicted_ps and no points"
    );
    assert!(error("{\"predicted_ps\": 5}").starts_with("x.json: not the outcome of a run: missing field"));
    assert!(error("{\"points\": 5}").starts_with("x.json: not the results of a study: "));
    let short = study(&[("run.ranks", &["1", "2"])], |_| Some(1)).replacen("[\"1\"],", "", 1);
    assert_eq!(error(&short), "x.json: expected a point for every step of the axes; found 2 points");
}

#[test]
fn loads_over_time_have_a_figure_of_spans_and_one_of_switches() {
    let mut outcome = busy();
    let kind = KindLoad { kind: "adapters, out".to_owned(), count: 8, mean: vec![0.25, 0.5], busiest: vec![0.5, 1.0] };
    let load = LoadOverTime {
        span: SimSpan::from_ps(outcome.predicted.as_ps() / 2 + 1),
        kinds: vec![kind],
        links: Vec::new(),
        links_left_out: 0,
        switches: BTreeMap::new(),
    };
    outcome.load_over_time = Some(Box::new(load.clone()));
    let found = drawn(&json(&outcome).unwrap());
    assert!(names(&found).contains(&"load-time") && !names(&found).contains(&"load-network"));
    // A tree of two levels, and a ring: switches of one level are drawn as a circle.
    for rows in [[0, 0, 1], [0, 0, 0]] {
        let place = |at: usize| SwitchPlace { name: format!("switch {at} of level 1"), row: rows[at] };
        let link = |from: u32, to: u32| LinkLoad {
            link: format!("switch {from} to {to}"),
            layer: "leaf to level 2".to_owned(),
            ends: [from, to],
            mean: 0.5,
            load: vec![0.0, 1.0],
        };
        outcome.load_over_time = Some(Box::new(LoadOverTime {
            links: vec![link(0, 2), link(2, 1)],
            switches: (0..3).map(|at| (at, place(at as usize))).collect(),
            ..load.clone()
        }));
        let found = drawn(&json(&outcome).unwrap());
        let network = found.iter().find(|figure| figure.name == "load-network").unwrap();
        assert!(network.words().any(|word| word == "switch 1 of level 1"));
        let time = found.iter().find(|figure| figure.name == "load-time").unwrap();
        assert!(time.words().any(|word| word == "switch 2 to 1"));
    }
}

#[test]
fn a_study_of_the_number_of_ranks_has_figures_of_speedup_and_efficiency() {
    let ranks = ["1", "2", "4"];
    let mut results: Results =
        serde_json::from_str(&study(&[("run.ranks", &ranks)], |index| Some([80, 50, 40][index]))).unwrap();
    for (point, ranks) in results.points.iter_mut().zip([1, 2, 4]) {
        let outcome = point.outcome.as_mut().unwrap();
        (outcome.ranks, outcome.platform, outcome.nct) = (ranks, "dahu".into(), [4, 1, 1]);
    }
    let figures = drawn(&serde_json::to_string(&results).unwrap());
    assert_eq!(names(&figures), ["study-time", "study-speedup", "study-efficiency", "study-parts"]);
    for (figure, axis, most) in [(&figures[1], "speed-up", "4"), (&figures[2], "parallel efficiency (%)", "100")] {
        let words: Vec<&str> = figure.words().collect();
        for text in ["a study: 3 points on dahu (4, 1, 1)", "ranks", "1", "2", "4", axis, most] {
            assert!(words.contains(&text), "{text} in {words:?}");
        }
    }
}
