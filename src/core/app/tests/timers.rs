//! Tests of the values and errors of timers and results.

use crate::profile::{AppFigure, TimerSums};
use crate::units::SimSpan;

use super::driver::{calls, load, target};

const TIMED: &str = "main = [{ time = \"t\", at = \"rank + shift\", do = [\"barrier\"] }]
[params]
shift = 0
[timers]
before = \"size\"
t = \"size + 1\"
[let]
half = \"size / 2\"
own = \"rank + half\"
[procedures]
set_twice = [{ set = { twice = \"2 * half\" } }]
send = []
";

fn wrong(text: &str) -> String {
    load(text).and_then(|app| app.bind(target(2))).map(|_| ()).unwrap_err().to_string()
}

/// Per result: the name, the value or the reason for the missing value, and the unit.
fn results(text: &str) -> Vec<(String, Result<f64, String>, String)> {
    // Two ranks have two timers with a total of five elements.
    let mut sums = TimerSums::default();
    sums.add([1, 2, 10, 20, 30].into_iter().map(|us| SimSpan::from_ps(us * 1_000_000)));
    sums.add([3, 4, 40, 10, 10].into_iter().map(|us| SimSpan::from_ps(us * 1_000_000)));
    let bound = load(text).unwrap().bind(target(2)).unwrap();
    let found = |found: AppFigure| match found {
        AppFigure::Value(value) => Ok(value),
        AppFigure::Error(why) => Err(why),
    };
    bound.results(&sums).into_iter().map(|result| (result.name, found(result.found), result.unit)).collect()
}

#[test]
fn results_are_worked_out_of_all_ranks_times() {
    let text = TIMED.replace("send = []\n", "")
        + "[results]
do = [\"set_twice\", { set = { sum = 0 } }, { for = \"i\", to = \"size + 1\", do = [
  { set = { sum = \"sum + longest(t, i)\" } } ] }]
[results.show]
sum = { value = \"sum\", unit = \"s\" }
least = { value = \"shortest(t, 2) / 1 us\" }
mean = { value = \"mean(before) / 1 us\", if = \"twice == size\" }
never = { value = \"1 / 0\", if = \"half > 1\" }
";
    let near = |a: &Result<f64, String>, b: f64| (a.as_ref().unwrap() / b - 1.0).abs() < 1e-12;
    let found = results(&text);
    assert_eq!(found.len(), 3, "{found:?}");
    // The sum of the times is 40 + 20 + 30 us.
    assert!(found[0].0 == "sum" && near(&found[0].1, 90e-6) && found[0].2 == "s", "{found:?}");
    assert!(near(&found[1].1, 10.0) && near(&found[2].1, 2.0), "{found:?}");
}

#[test]
fn what_is_wrong_with_timers_is_told_with_its_place() {
    for (text, expected) in [
        (
            "main = [{ time = \"tt\", do = [] }]\n[timers]\nt = 1",
            "unknown timer \"tt\", did you mean \"t\"? in main[0].time of app.toml:1",
        ),
        (
            "main = [{ time = \"t\", do = [] }]",
            "unknown timer \"t\", there are no [timers] in main[0].time of app.toml:1",
        ),
        (
            "main = [{ time = \"t\" }]\n[timers]\nt = 1",
            "missing \"do\" (the statements to time) in main[0] of app.toml:1",
        ),
        (
            "main = []\n[timers]\nt = \"true\"",
            "expected a number of elements in timers.t of app.toml; found expected a whole number; found true",
        ),
        ("main = []\n[timers]\nt = 0", "expected a number of elements of at least 1 in timers.t of app.toml; found 0"),
        (
            "main = []\n[timers]\nt = \"size - 2\"",
            "expected a number of elements of at least 1 in timers.t of app.toml; found 0",
        ),
        (
            "main = []\n[timers]\na = 100000000\nt = 34217729",
            "expected at most 134217728 elements in the timers of 1 rank in timers.t of app.toml; found 134217729",
        ),
        (
            "main = []\n[timers]\nt = \"67108865 * size / 2 \"",
            "expected at most 67108864 elements in the timers of 2 ranks in timers.t of app.toml; found 67108865",
        ),
        (
            "main = [{ compute = \"longest(t, 0)\" }]\n[timers]\nt = 1",
            "\"longest(t, 0)\" in main[0].compute of app.toml:1, character 1: \"longest\" uses the times of all ranks, available only in [results]",
        ),
    ] {
        assert_eq!(wrong(text), expected, "{text}");
    }
    let log = calls(&TIMED.replace("shift = 0", "shift = 3").replace("send = []\n", ""), 0, 2);
    let expected = "fail main[0] of app.toml:1: at = \"rank + shift\": expected an index from 0 to 2; found 3";
    assert_eq!(log.last().unwrap(), expected);
}

#[test]
fn what_is_wrong_with_results_is_told_with_its_place() {
    let with = |results: &str| TIMED.replace("send = []", "talk = [\"barrier\"]") + "[results]\n" + results;
    let only = "results are computed after the run, expected \"set\", \"for\", \"repeat\", \"while\", \"if\" or \
                \"call\"";
    for (text, expected) in [
        ("do = [\"barrier\"]\nshow = {}", format!("{only} in results.do[0] of app.toml")),
        ("do = [{ if = \"true\", then = [\"talk\"] }]\nshow = {}", format!("{only} in talk[0] of app.toml")),
        ("do = [{ time = \"t\", do = [] }]\nshow = {}", format!("{only} in results.do[0] of app.toml")),
        ("do = []", "missing \"show\" (the results) in results of app.toml".to_owned()),
        (
            "show.x = { value = \"rank\" }",
            "\"rank\" differs between ranks, and results are common to all ranks in results.show.x of app.toml"
                .to_owned(),
        ),
        (
            "show.x = { value = \"own\" }",
            "\"own\" of [let] differs between ranks, and results are common to all ranks in results.show.x of app.toml"
                .to_owned(),
        ),
        (
            "show.x = { value = \"longest(u, 0)\" }",
            "\"longest(u, 0)\" in results.show.x.value of app.toml, character 9: unknown timer \"u\", did you mean \
             \"t\"?"
                .to_owned(),
        ),
        (
            "show.x = { value = 1, unit = \"a b\" }",
            "expected a unit of at most 16 characters such as \"B/s\" in results.show.x.unit of app.toml; found \"a \
             b\""
            .to_owned(),
        ),
        (
            "show.\"a b\" = { value = 1 }",
            "expected a result's name of at most 32 letters, digits and \"_\" in results.show.a b of app.toml"
                .to_owned(),
        ),
    ] {
        assert_eq!(wrong(&with(text)), expected, "{text}");
    }
}

#[test]
fn a_result_without_a_value_says_why_and_the_others_have_theirs() {
    let with = |results: &str| TIMED.replace("send = []\n", "") + "[results]\n" + results;
    let fails = |text: &str| results(&with(text)).remove(0).1.unwrap_err();
    assert_eq!(
        fails("show.x = { value = \"longest(t, 3)\" }"),
        "results.show.x.value = \"longest(t, 3)\": longest(…, 3): expected an index from 0 to 2; found 3 in \
         results.show.x of app.toml"
    );
    assert_eq!(
        fails("do = [{ while = \"true\", do = [] }]\nshow.x = { value = 1 }"),
        "a rank executed 1000 loop iterations without communication; allow more with --max-iterations in \
         results.do[0] of app.toml:13"
    );
    assert_eq!(
        fails("show.x = { value = \"true\" }"),
        "results.show.x.value = \"true\": expected a number; found true in results.show.x of app.toml"
    );
    let found = results(&with("show.x = { value = \"1 / 0\", unit = \"s\" }\nshow.y = { value = 2 }"));
    let why = "results.show.x.value = \"1 / 0\": division by zero in results.show.x of app.toml";
    assert_eq!(found[0], ("x".into(), Err(why.into()), "s".into()));
    assert_eq!(found[1], ("y".into(), Ok(2.0), String::new()));
}
