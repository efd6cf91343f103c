//! `mcpsim sweep`: contents of a study's directory, repeated sweeps, and the state after a sweep was killed.

#[path = "sweep/programs.rs"]
mod programs;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{self, Ran, finish, holds_within_limit, mcpsim, run};
use serde_json::Value;
use tempfile::TempDir;

/// Application whose ranks compute for a random time, and then call an allreduce.
const APP: &str = r#"
# Steps of work and an allreduce.
name = "steps"
main = [
  { repeat = "steps", do = [
    { compute = { normal = { mean = "work * 1 us", sd = "0.1 us" } } },
    { allreduce = { bytes = "bytes" } },
  ] },
]
[params]
steps = 5
work = 10
bytes = 8
[run]
nct = [2, 2, 2]
"#;

fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("app.toml"), APP).unwrap();
    directory
}

/// Runs `mcpsim sweep` and asserts this exit code.
fn sweep(directory: &Path, line: &str, code: i32) -> Ran {
    let ran = run(directory, &format!("sweep {line}"));
    assert_eq!(ran.code, Some(code), "mcpsim sweep {line}\n{}", ran.stderr);
    ran
}

fn read(directory: &Path, name: &str) -> String {
    fs::read_to_string(directory.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn json(directory: &Path, name: &str) -> Value {
    serde_json::from_str(&read(directory, name)).expect("JSON")
}

/// Returns the number of points in the study's log.
fn runs(directory: &Path, study: &str) -> usize {
    fs::read_to_string(directory.join(study).join("points.jsonl")).map_or(0, |text| text.lines().count())
}

#[test]
fn a_point_predicts_what_a_run_with_its_settings_predicts() {
    let directory = directory();
    let here = directory.path();
    let ran = sweep(here, "--vary app.work=5,20 --vary run.nct=4,1,2;1,2,4 --vary run.seed=1,7 app.toml", 0);
    assert!(ran.stdout.contains("steps") || ran.stdout.contains("app: 8 points"), "{}", ran.stdout);
    let csv = read(here, "app.study/study.csv");
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 9);
    assert!(
        rows[0].starts_with("app.work,run.nct,run.seed,nodes,cmps,cores,ranks,predicted_s,compute_s,"),
        "{}",
        rows[0]
    );
    assert!(rows[0].ends_with(",error"), "{}", rows[0]);
    let points = &json(here, "app.study/study.json")["points"];
    for (row, work, nct, seed) in [(0, 5, "4,1,2", 1), (3, 5, "1,2,4", 7), (6, 20, "1,2,4", 1)] {
        let point = &points[row];
        assert_eq!(
            point["values"],
            serde_json::json!({ "app.work": work.to_string(), "run.nct": nct, "run.seed": seed.to_string() })
        );
        let alone = run(here, &format!("--json - --nct {nct} --seed {seed} --set app.work={work} app.toml"));
        let alone: Value = serde_json::from_str(&alone.stdout).unwrap();
        let numbers = serde_json::json!({ "app.work": f64::from(work), "run.seed": f64::from(seed) });
        assert_eq!(point["numbers"], numbers);
        assert_eq!(point["outcome"]["predicted_ps"], alone["predicted_ps"]);
        assert_eq!(point["outcome"]["profile"], alone["profile"]);
        assert!(rows[row + 1].starts_with(&format!("{work},\"{nct}\",{seed},")), "{}", rows[row + 1]);
    }
}

#[test]
fn results_are_the_same_for_any_number_of_points_at_a_time() {
    let directory = directory();
    let here = directory.path();
    let line = "--vary app.work=1..12 --vary app.bytes=8,100000 --repeats 2 app.toml";
    for jobs in [1, 2, 5] {
        sweep(here, &format!("-j {jobs} --out s{jobs} {line}"), 0);
        for file in ["study.csv", "summary.csv", "study.json", "manifest.json"] {
            assert_eq!(
                read(here, &format!("s{jobs}/{file}")),
                read(here, &format!("s1/{file}")),
                "{file} of -j {jobs}"
            );
        }
    }
}

#[test]
fn only_what_is_missing_or_changed_is_run() {
    let directory = directory();
    let here = directory.path();
    sweep(here, "--out s --vary app.work=1,2,3 app.toml", 0);
    assert_eq!(runs(here, "s"), 3);
    let again = sweep(here, "--out s --vary app.work=1,2,3 app.toml", 0);
    assert_eq!((runs(here, "s"), again.stderr.as_str()), (3, ""));
    let more = sweep(here, "--out s --vary app.work=2,3,4,5 app.toml", 0);
    assert_eq!(runs(here, "s"), 5);
    assert!(
        more.stderr.contains(
            "note: 2 of 4 points were run before, and their results are used \
         again"
        ),
        "{}",
        more.stderr
    );
    assert_eq!(read(here, "s/study.csv").lines().count(), 5);
    // The key of a point includes every input: the application file, the platform file, and options.
    fs::write(here.join("app.toml"), APP.replace("bytes = 8", "bytes = 9")).unwrap();
    sweep(here, "--out s --vary app.work=2,3 app.toml", 0);
    assert_eq!(runs(here, "s"), 7);
    sweep(here, "--out s --vary app.work=2,3 --placement cyclic app.toml", 0);
    assert_eq!(runs(here, "s"), 9);
    fs::write(here.join("places"), "0 0 0\n1 0 0\n").unwrap();
    sweep(here, "--out s --vary app.work=2,3 --ranks 2 --placement places app.toml", 0);
    assert_eq!(runs(here, "s"), 11);
    fs::write(here.join("places"), "0 0 0\n0 0 1\n").unwrap();
    sweep(here, "--out s --vary app.work=2,3 --ranks 2 --placement places app.toml", 0);
    assert_eq!(runs(here, "s"), 13);
}

#[test]
fn points_that_are_given_the_same_are_run_once() {
    let directory = directory();
    let here = directory.path();
    // All notations of a shape of 8 cores on one CMP, and another shape.
    sweep(here, "--out s --vary run.ranks=4 --vary run.nct=8,1,1;[8,1,1];(8,1,1);1,8,1 app.toml", 0);
    assert_eq!(runs(here, "s"), 2);
    assert_eq!(read(here, "s/study.csv").lines().count(), 5);
}

#[test]
fn a_point_that_fails_says_why_in_its_row_and_the_others_go_on() {
    let directory = directory();
    let here = directory.path();
    let ran = sweep(here, "--out s --vary run.ranks=4,9,8 app.toml", 1);
    assert!(ran.stdout.contains("app: 3 points, 1 without a prediction"), "{}", ran.stdout);
    let csv = read(here, "s/study.csv");
    let rows: Vec<&str> = csv.lines().collect();
    assert!(rows[1].starts_with("4,2,2,2,4,0.0000") && rows[3].starts_with("8,2,2,2,8,0.0000"), "{csv}");
    assert!(rows[2].starts_with("9,,,,") && rows[2].contains("9 ranks on 8 cores"), "{csv}");
    let points = &json(here, "s/study.json")["points"];
    assert!(
        points[1]["error"].as_str().unwrap().starts_with("9 ranks on 8 cores") && points[1].get("outcome").is_none()
    );
    // The failed point runs again; the other points do not.
    sweep(here, "--out s --quiet --vary run.ranks=4,9,8 app.toml", 1);
    assert_eq!(runs(here, "s"), 4);
}

#[test]
fn what_is_wrong_with_all_points_ends_the_sweep_before_it_begins() {
    let directory = directory();
    let here = directory.path();
    let expected = "expected cores, or a dotted key such as platform.inter_node.latency, app.n or run.ranks";
    for (line, error) in [
        ("--vary n=1 app.toml", format!("--vary n=1: {expected}; found \"n\"")),
        ("--vary app.n=1 app.toml", "at app.n=1: --set app.n=1: app.toml has no parameter \"n\", expected".to_owned()),
        (
            "--vary app.work=1 --set app.work=2 app.toml",
            "app.work both varies and has a fixed setting: \
          leave out one of them"
                .to_owned(),
        ),
        (
            "--vary app.program.arguments=[4];[5] app.toml -- 6",
            "app.program.arguments both varies and has a fixed setting: leave out one of them".to_owned(),
        ),
        (
            "--vary run.seed=1,2 --repeats 3 app.toml",
            "run.seed varies twice: expected one list of its \
          values"
                .to_owned(),
        ),
        ("--json x --vary app.work=1 app.toml", "--json is an option of a single run, not of sweep".to_owned()),
        ("--workers 2 --vary app.work=1 app.toml", "--workers is an option of a single run, not of sweep".to_owned()),
        (
            "--vary run.nct=1,1,1 --nct 2,2,2 app.toml",
            "run.nct both varies and has a fixed setting: leave \
          out one of them"
                .to_owned(),
        ),
        (
            "--vary platform.inter_node.latency=1us;x app.toml",
            "at platform.inter_node.latency=x: expected a time such as \"1.2 us\" in".to_owned(),
        ),
        ("--vary app.work=1 no.toml", "no.toml: no such file".to_owned()),
        ("--out app.toml --vary app.work=1 app.toml", "--out app.toml: cannot create this directory: ".to_owned()),
    ] {
        let ran = sweep(here, line, 2);
        assert!(ran.stderr.starts_with(&format!("error: {error}")), "mcpsim sweep {line}\n{}", ran.stderr);
        assert!(!here.join("app.study").exists(), "{line}");
    }
}

#[test]
fn a_study_is_a_file_and_options_win_over_it() {
    let directory = directory();
    let here = directory.path();
    fs::create_dir(here.join("studies")).unwrap();
    let study = "# Work and bytes.\nname = \"two keys\"\napp = \"../app.toml\"\nrepeats = 2\n[set]\napp.steps = 2\nplatform.nct = [2, 2, 2]\n\
                 [vary]\napp.work = [1, 2]\n[[zip]]\napp.bytes = \"8..800:x10\"\nrun.ranks = [2, 4, 8]\n";
    fs::write(here.join("studies/s.toml"), study).unwrap();
    let list = sweep(here, "--list studies/s.toml", 0).stdout;
    assert_eq!(list.lines().count(), 12);
    assert_eq!(list.lines().last(), Some("app.work=2  app.bytes=800  run.ranks=8  run.seed=2"));
    sweep(here, "studies/s.toml", 0);
    assert_eq!(runs(here, "two_keys.study"), 12);
    sweep(here, "--out small --repeats 1 --vary app.work=7 studies/s.toml", 0);
    assert_eq!(runs(here, "small"), 3);
    assert!(read(here, "small/study.csv").lines().nth(1).unwrap().starts_with("8,2,7,1,2,2,2,2,"));
    sweep(here, "--out typed --repeats 1 --vary app.work=7 --set app.steps=6 --nct 4,1,4 studies/s.toml", 0);
    let count =
        |study: &str| json(here, &format!("{study}/study.json"))["points"][0]["outcome"]["messages"]["count"].as_u64();
    assert_eq!((count("typed"), count("small")), (Some(6 * 2), Some(2 * 2)));
    assert!(read(here, "typed/study.csv").lines().nth(1).unwrap().starts_with("8,2,7,1,4,1,4,2,"));
}

#[test]
fn a_trace_is_an_application_too_and_counts_by_its_content() {
    let directory = directory();
    let here = directory.path();
    let record = |steps: u32| {
        let ran = run(here, &format!("--quiet --record t.trace --set app.steps={steps} app.toml"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    };
    let line = "--out s --nct 2,2,2 --vary platform.inter_node.latency=1us,2us t.trace";
    record(5);
    sweep(here, line, 0);
    assert_eq!(runs(here, "s"), 2);
    sweep(here, line, 0);
    assert_eq!(runs(here, "s"), 2);
    record(6);
    sweep(here, line, 0);
    assert_eq!(runs(here, "s"), 4);
}

#[test]
fn questions_that_make_no_sense_are_told_before_the_first_run() {
    let directory = directory();
    let here = directory.path();
    for (line, error) in [
        ("--base run.ranks=1", "--base run.ranks=1: run.ranks does not vary; the varied keys are app.work"),
        ("--base app.work=3", "--base app.work=3: expected one of the values 1 2"),
        ("--base app.work", "--base app.work: expected KEY=VALUE such as run.ranks=1"),
        ("--gain 0", "--gain 0: expected a factor above zero such as 1.5"),
        (
            "--choice run.ranks",
            "--choice run.ranks: expected a key of the application such as app.nb; keys of the platform and the run \
             are choices anyway",
        ),
        ("--fit a*", "formula \"a*\": column 3: expected a number, a name or \"(\", found the end"),
        (
            "--fit a*size",
            "formula \"a*size\": column 3: \"size\" has no value in a formula of a fit; the number of ranks is n",
        ),
    ] {
        let ran = sweep(here, &format!("--out s {line} --vary app.work=1,2 app.toml"), 2);
        assert_eq!(ran.stderr.trim_end(), format!("error: {error}"), "{line}");
        assert!(!here.join("s").exists());
    }
    // If the fit of the results fails, the results are not lost.
    let ran = sweep(here, "--quiet --out s --fit a+b+c*n --vary app.work=1,2 app.toml", 2);
    let error = "error: formula \"a+b+c*n\": 3 unknowns (a, b, c) need at least 3 points; there are 2 points";
    assert!(ran.stderr.starts_with(error), "{}", ran.stderr);
    assert!(here.join("s/study.csv").exists() && here.join("s/summary.csv").exists());
}

/// Returns the command of a sweep with many points, which takes some time on any host.
fn long(here: &Path, out: &str) -> Command {
    let mut command = mcpsim(here);
    let line = format!("sweep --quiet --out {out} --set app.steps=100 --vary app.work=1..12 --vary cores=8 app.toml");
    command.args(line.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits until `points` points are stored on disk, or the sweep has ended.
fn wait_for(child: &mut Child, here: &Path, out: &str, points: usize) {
    let there = holds_within_limit(|| runs(here, out) >= points || child.try_wait().unwrap().is_some());
    assert!(there, "{} of {points} points", runs(here, out));
}

#[test]
fn a_sweep_that_is_killed_again_and_again_ends_with_the_table_of_an_undisturbed_one() {
    let directory = directory();
    let here = directory.path();
    let undisturbed = finish(long(here, "whole").output().unwrap());
    assert_eq!(undisturbed.code, Some(0), "{}", undisturbed.stderr);
    let all = runs(here, "whole");
    assert_eq!(all, 120);
    let mut killed = 0;
    for points in [1, 2, 10, 11, 30, 50, 51, 80] {
        let mut child = long(here, "torn").spawn().unwrap();
        wait_for(&mut child, here, "torn", points);
        child.kill().unwrap();
        killed += usize::from(finish(child.wait_with_output().unwrap()).code.is_none());
    }
    assert!(killed >= 3, "killed {killed} times");
    let before = runs(here, "torn");
    let last = finish(long(here, "torn").output().unwrap());
    assert_eq!(last.code, Some(0), "{}", last.stderr);
    for file in ["study.csv", "summary.csv", "study.json", "manifest.json"] {
        assert_eq!(read(here, &format!("torn/{file}")), read(here, &format!("whole/{file}")), "{file}");
    }
    // Only points that were running when the sweep was killed ran again.
    let keys: BTreeSet<String> = read(here, "torn/points.jsonl")
        .lines()
        .filter_map(|line| Some(serde_json::from_str::<Value>(line).ok()?["key"].as_str()?.to_owned()))
        .collect();
    assert_eq!(keys.len(), all);
    assert!(before >= 80 && runs(here, "torn") <= all + killed, "{before} before, {} after", runs(here, "torn"));
}

#[test]
fn an_interrupted_sweep_says_where_it_is_and_goes_on_from_there() {
    let directory = directory();
    let here = directory.path();
    let mut child = long(here, "s").args(["-j", "1"]).spawn().unwrap();
    wait_for(&mut child, here, "s", 3);
    Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    let ran = support::ended(child);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(130), ""));
    let ended = runs(here, "s");
    assert_eq!(
        ran.stderr,
        format!(
            "error: interrupted after {ended} of 120 points, whose results are in s: repeat the same command to \
                 continue\n"
        )
    );
    assert!(!here.join("s/study.csv").exists());
    let last = finish(long(here, "s").output().unwrap());
    assert_eq!((last.code, runs(here, "s")), (Some(0), 120));
}

#[test]
fn a_study_of_other_axes_in_the_same_directory_is_told() {
    let directory = directory();
    let here = directory.path();
    let note = "the table in app.study has other axes (app.work), and this sweep replaces it; --out DIR keeps both";
    for (line, told) in [
        ("--vary app.work=1,2 app.toml", false),
        ("--vary app.work=1,2,3 app.toml", false),
        ("--vary app.steps=1,2 app.toml", true),
        ("--vary app.steps=1,2 app.toml", false),
    ] {
        let ran = sweep(here, line, 0);
        assert_eq!(ran.stderr.contains(note), told, "{line}: {}", ran.stderr);
    }
}

#[test]
fn an_option_takes_the_place_of_what_the_study_sets() {
    let directory = directory();
    let here = directory.path();
    let study = "app = \"app.toml\"\n[vary]\n\"app.work\" = [5, 20]\n[set]\n\"run.max_time\" = \"1 ns\"\n\"run.max_turns\" = 1\n";
    fs::write(here.join("st.toml"), study).unwrap();
    sweep(here, "st.toml", 1);
    sweep(here, "--max-time 5s --max-iterations 1000 st.toml", 0);
    sweep(here, "--set run.max_time=5s --set run.max_iterations=1000 --out other st.toml", 0);
    let ran = sweep(here, "--max-time 5s --set run.max_time=6s st.toml", 2);
    assert_eq!(ran.stderr, "error: --max-time and --set run.max_time=6s set the same key: leave out one of them\n");
    let ran = sweep(here, "--seed 3 --vary run.seed=1,2 app.toml", 2);
    assert_eq!(ran.stderr, "error: run.seed both varies and has a fixed setting: leave out one of them\n");
}
