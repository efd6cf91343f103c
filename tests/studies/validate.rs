//! The cases in `validation/` with fewer points, their stored results, and error messages for invalid cases.

use std::fs;
use std::path::Path;

use crate::support::{Ran, run};
use mcpsim::profile::{CaseRatios, DominantPart};
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Runs `mcpsim validate` with the arguments `line` in the project's root directory. Returns the cases in its JSON
/// output.
fn validated(line: &str) -> Vec<Value> {
    let ran = run(root(), &format!("validate --json - {line}"));
    assert!(matches!(ran.code, Some(0 | 5)), "{line}\n{}", ran.stderr);
    let json: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout));
    json["cases"].as_array().unwrap().clone()
}

/// Returns the stored predictions of a case: "POINT,MODEL", predicted seconds, and the part that dominates the path.
fn stored(case: &str) -> Vec<(String, f64, String)> {
    let text = fs::read_to_string(root().join("validation/results.csv")).unwrap();
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let rows = text.lines().map(cells).filter(|cells| cells[0] == case && cells[2] == "predicted");
    rows.map(|cells| (format!("{},{}", cells[1], cells[3]), cells[8].parse().unwrap(), cells[10].clone())).collect()
}

/// Runs some points of a case. Asserts that the predictions equal the stored predictions, and that the mean error of
/// mcpsim's own model is at most `percent`.
fn small(case: &str, only: &str, points: usize, percent: f64) {
    let found = &validated(&format!("{only} validation/{case}"))[0];
    let stored = stored(case);
    let mut compared = 0;
    for point in found["points"].as_array().unwrap().iter().filter(|point| point["given"] == false) {
        let pair = |column: &Value| {
            format!("{}={}", column.as_str().unwrap(), point["values"][column.as_str().unwrap()].as_str().unwrap())
        };
        let label: Vec<String> = found["columns"].as_array().unwrap().iter().map(pair).collect();
        for (index, model) in ["mcpsim", "two-level"].into_iter().enumerate() {
            let name = format!("{},{model}", label.join(" "));
            let (_, before, dominant) =
                stored.iter().find(|(other, ..)| *other == name).unwrap_or_else(|| panic!("{name} of {case}"));
            if index == 0 {
                assert_eq!(point["dominant"], *dominant, "{name} of {case}");
            }
            let now = point["predicted_s"][index].as_f64().unwrap();
            assert!((now / before - 1.0).abs() < 1e-9, "{name} of {case}: {now} s, {before} s in results.csv");
        }
        compared += 1;
    }
    assert_eq!(compared, points, "{case}");
    let mean = found["models"][0]["all"]["mean_percent"].as_f64().unwrap();
    assert!(mean <= percent, "{case}: {mean} %");
}

#[test]
fn heat3d_on_lcc2_is_predicted_as_stored() {
    small("lcc2-heat3d", "--only room_size=64 --only ranks=2,8,16 --only communication=blocking", 8, 7.0);
}

#[test]
fn jacobi3d_on_clovertown_is_predicted_as_stored() {
    small("clovertown-jacobi3d", "--only processes=2,4,8", 6, 10.0);
}

#[test]
fn real_programs_on_two_clusters_are_predicted_as_stored() {
    small("lcc2-heat3d-real", "--only ranks=2,8 --only room_size=128", 6, 5.0);
    small("twelve-programs", "--only trace=hpl-2.trace,pi-2.trace", 4, 3.0);
    small("clovertown-jacobi3d-real", "--only processes=2,4,16 --only variant=waits", 3, 2.0);
}

#[test]
fn ljj_in_the_cloud_is_predicted_as_stored() {
    small("jinr-ljj", "--only processes=4,10", 2, 3.0);
}

#[test]
fn pairs_windows_and_exchanges_under_fair_shares_are_predicted_as_stored() {
    small("alaska-pairs-ib", "--only direction=one --only ranks=2,16 --only bytes=64,1024,65536", 6, 30.0);
    small("alaska-pairs-roce", "--only direction=both --only ranks=2,16 --only bytes=64,1024,65536", 6, 10.0);
    small("alaska-node", "--only direction=one --only ranks=2,8 --only bytes=65536,1048576", 4, 5.0);
    small("archer2-collectives", "--only benchmark=alltoall --only ranks=128 --only bytes=131072,1048576", 2, 22.0);
    small("taurus-saturation", "--only nodes=6", 3, 4.0);
    small("orfeo-jacobi", "--only ranks=4,8", 4, 1.0);
    small("ring-of-four", "--only program=visit", 12, 26.0);
    small("shaped-link", "--repeats 0 --only pattern=window", 6, 3.0);
    small("link-100-from-1000", "--only program=is.trace,hpl.trace", 2, 3.0);
    small("lumi-g-allreduce", "--only what=allreduce_rabenseifner --only bytes=32,67108864", 8, 9.0);
    small("fugaku-collectives", "--only what=alltoall_linear --only nodes=64", 8, 12.0);
    small("leonardo-collectives", "--only what=allreduce_rabenseifner --only nodes=8", 8, 13.0);
    small("marenostrum5-collectives", "--only what=allgather_doubling", 7, 14.0);
    small("link-1000-from-100", "--only program=is.trace,hpl.trace", 2, 5.0);
}

#[test]
fn stored_results_keep_to_the_limits_and_the_third_level_pays_off() {
    let text = fs::read_to_string(root().join("validation/results.csv")).unwrap();
    for folder in fs::read_dir(root().join("validation")).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(case) = fs::read_to_string(folder.join("case.toml")) else { continue };
        let limits: toml::Table = case.parse().unwrap();
        // The case times real code, so only its own machine can predict it; its results are stored.
        if limits.contains_key("timed_on") {
            continue;
        }
        let number = |key: &str| match &limits["limit"][key] {
            toml::Value::Integer(number) => *number as f64,
            other => other.as_float().unwrap(),
        };
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let mean_and_most = |model: &str| {
            let rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
            let rows = rows.filter(|cells| cells[0] == name && cells[2] == "predicted" && cells[3] == model);
            let errors: Vec<f64> = rows.map(|cells| cells[9].parse::<f64>().unwrap().abs()).collect();
            assert!(!errors.is_empty(), "{name} is not in results.csv");
            (errors.iter().sum::<f64>() / errors.len() as f64, errors.iter().copied().fold(0.0, f64::max))
        };
        let (mean, most) = mean_and_most("mcpsim");
        assert!(mean <= number("mean_percent") && most <= number("max_percent"), "{name}: {mean} %, {most} %");
        assert!(mean <= mean_and_most("two-level").0 + 0.2, "{name}: the baseline is better");
    }
}

/// The likely ranges in the binary are those of the stored results.
#[test]
fn likely_ranges_are_those_of_stored_results_and_hold_for_a_case_that_is_left_out() {
    let text = fs::read_to_string(root().join("validation/results.csv")).unwrap();
    let mut expected = String::new();
    for part in DominantPart::ALL {
        let mut ratios = CaseRatios::default();
        let rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        for cells in rows.filter(|cells| cells[2] == "predicted" && cells[10] == part.name()) {
            let seconds = |place: usize| cells[place].parse::<f64>().unwrap();
            ratios.add(cells[0], seconds(5) / seconds(8));
        }
        let ([low, high], left_out) = (ratios.range().unwrap(), ratios.left_out().unwrap());
        assert!(left_out.inside_percent >= 80.0, "{part:?}: {left_out:?}");
        expected += &format!("{},{},{low:.3},{high:.3}\n", part.name(), ratios.cases());
    }
    assert_eq!(fs::read_to_string(root().join("src/run/likely.csv")).unwrap(), expected);
}

const APP: &str = "main = [{ compute = \"work / size\" }]\n[params]\nwork = \"1 s\"\nk = 1\n";
const CASE: &str = "about = \"a\"\napp = \"app.toml\"\nmeasured = \"m.csv\"\ntime = \"time_s\"\n\
    [columns]\nranks = \"run.ranks\"\n[limit]\nmean_percent = 3\nmax_percent = 6\n\
    [[calibrate]]\nkey = \"app.work\"\nunit = \"s\"\nrows = { ranks = 1 }\nbetween = [0.1, 100]\n\
    [provenance]\napp = \"own\"\n\"app.work\" = \"one rank\"\n";
const RUNS: &str = "# source: own\n# machine: m\n# date: today\n# licence: own\nranks,time_s\n1,8\n2,4\n4,2.1\n";

/// Validates a case that consists of these files, with `options`.
fn own(case: &str, runs: &str, options: &str) -> Ran {
    own_app(APP, case, runs, options)
}

/// Validates the case with another application file.
fn own_app(app: &str, case: &str, runs: &str, options: &str) -> Ran {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("mine")).unwrap();
    for (name, text) in [("app.toml", app), ("case.toml", case), ("m.csv", runs)] {
        fs::write(directory.path().join("mine").join(name), text).unwrap();
    }
    run(directory.path(), &format!("validate {options} mine"))
}

#[test]
fn a_users_own_case_is_judged_and_written_in_every_form() {
    let ran = own(CASE, RUNS, "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let limit = "  within the limit of the error: 3.0% mean, 6.0% greatest";
    for line in ["  2 points predicted, 1 used for calibration", limit] {
        assert!(ran.stdout.lines().any(|other| other == line), "{line}\n{}", ran.stdout);
    }
    let csv = own(CASE, RUNS, "--csv -").stdout;
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 1 + 2 * 3, "{csv}");
    assert!(rows[5].starts_with("mine,ranks=4,predicted,mcpsim,1,2.1,2.1,2.1,2,-4.762"), "{csv}");
    assert!(own(CASE, RUNS, "--figures figures --format svg").stdout.ends_with("in figures: mine-error\n"));
}

/// The measured run has a start-up of 0.5 s, and its time is that of two blocks of which one is simulated. The time of
/// an empty block is not measured. 4 ranks: 2 (2 s - 1 s) + 0.5 s = 2.5 s.
#[test]
fn a_second_run_is_subtracted_and_a_stated_time_is_added() {
    let app = "main = [{ compute = \"1 s\" }, { compute = \"work / size\" }]\n[params]\nwork = \"4 s\"\n";
    let when = "[[when]]\nrows = {}\nminus = { app.work = \"0 s\" }\ntimes = 2\nplus = \"500 ms\"\n";
    let case = "about = \"a\"\napp = \"app.toml\"\nmeasured = \"m.csv\"\ntime = \"time_s\"\n\
        [columns]\nranks = \"run.ranks\"\n[provenance]\napp = \"own\"\n\"app.work\" = \"own\"\nplus = \"own\"\n";
    let csv = own_app(app, &format!("{case}{when}"), RUNS, "--csv -").stdout;
    assert!(csv.contains("\nmine,ranks=4,predicted,mcpsim,1,2.1,2.1,2.1,2.5,19.048"), "{csv}");
}

#[test]
fn what_the_application_says_that_it_took_is_compared() {
    let results = "[timers]\nblock = 1\nidle = 1\n[results]\nshow.step = { value = \"mean(block, 0)\", unit = \"s\" }\n\
        show.steps = { value = \"size\" }\nshow.never = { value = \"mean(idle, 0)\", unit = \"s\" }\n";
    let timed = "main = [{ time = \"block\", do = [{ compute = \"work / size\" }] }, { compute = \"5 s\" }]";
    let app = APP.replace("main = [{ compute = \"work / size\" }]", timed) + results;
    let case = |result: &str| format!("result = \"{result}\"\n{CASE}");
    let csv = own_app(&app, &case("step"), RUNS, "--csv -").stdout;
    assert!(csv.contains("\nmine,ranks=4,predicted,mcpsim,1,2.1,2.1,2.1,2,-4.762"), "{csv}");
    for (app, result, found) in [
        (app.as_str(), "stem", "step, steps, never"),
        (&app, "steps", "1"),
        (&app, "never", "0 s"),
        (APP, "step", "no [results]"),
    ] {
        let ran = own_app(app, &case(result), RUNS, "");
        let expected = format!(
            "the key \"result\" of mine/case.toml names a result of the application: expected \"{result}\" in \
             seconds above zero; found {found}\n"
        );
        assert!(ran.code == Some(2) && ran.stderr.ends_with(&expected), "{}", ran.stderr);
    }
}

#[test]
fn a_new_case_runs_as_it_is_and_replaces_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let ran = run(here, "validate --new mine");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(ran.stdout, "mine: case.toml, measured.csv, app.toml\nnext: mcpsim validate mine\n");
    let ran = run(here, "validate mine");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    assert!(ran.stdout.contains("  no limit of the error: case.toml has no [limit]\n"), "{}", ran.stdout);
    let ran = run(here, "validate --new mine");
    let expected = "error: --new mine: this folder exists already: expected a new folder\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), expected));
}

#[test]
fn output_of_benchmarks_becomes_a_case_of_measured_collectives() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let osu = "# OSU MPI Allreduce Latency Test v5.6\n# Size       Avg Latency(us)\n4 5.89\n1024 12.00\n# OSU MPI Latency \
               Test v5.6\n# Size Latency (us)\n8 1.00\n";
    std::fs::write(here.join("osu.txt"), osu).unwrap();
    std::fs::write(here.join("a.csv"), "collective,ranks,bytes,latency_us\nsendrecv,4,8,2\nreduce_scatter,4,64,3\n")
        .unwrap();
    let ran = run(here, "validate --new mine --import 8=osu.txt --import a.csv");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let said = "mine: case.toml, measured.csv, app.toml\nskipped: osu.txt: osu_latency 5.6 measures messages of pairs: a \
                platform reads it, mcpsim measure --import LEVEL=osu.txt\nnext: mcpsim validate mine\n";
    assert_eq!(ran.stdout, said);
    let measured = std::fs::read_to_string(here.join("mine/measured.csv")).unwrap();
    let rows = "benchmark,ranks,bytes,time_s\nallreduce,8,4,5.89e-6\nallreduce,8,1024,1.2e-5\nreduce_scatter,4,64,3e-6\n\
                sendrecv,4,8,2e-6\n";
    assert!(measured.ends_with(rows), "{measured}");
    let ran = run(here, "validate mine");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    assert!(ran.stdout.contains("  4 points predicted, 0 used for calibration\n"), "{}", ran.stdout);
    let ran = run(here, "validate --new other --import osu.txt");
    let expected =
        "error: osu.txt: osu_allreduce 5.6 prints no number of processes: expected it, as in --import 64=osu.txt\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), expected));
    assert!(!here.join("other").exists());
}

#[test]
fn a_placement_file_stands_beside_its_case() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    assert_eq!(run(here, "validate --new mine").code, Some(0));
    let case = std::fs::read_to_string(here.join("mine/case.toml")).unwrap();
    let case = case.replace("# run.placement = \"cyclic\"", "run.placement = \"places.txt\"");
    let case = case.replace("[provenance]\n", "[provenance]\n\"run.placement\" = \"the batch script\"\n");
    std::fs::write(here.join("mine/case.toml"), case).unwrap();
    let ran = run(here, "validate mine");
    let expected = "expected block, cyclic, socket or a file in --set run.placement=mine/places.txt; no such file: mine/places.txt\n";
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.ends_with(expected), "{}", ran.stderr);
}

#[test]
fn over_the_limit_is_code_5() {
    let ran = own(CASE, &RUNS.replace("2.1", "2.9"), "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(5), "error: prediction errors are over the limit in: mine\n"));
}

#[test]
fn bad_input_is_told_and_exits_with_2() {
    let error = |case: &str, runs: &str, options: &str| {
        let ran = own(case, runs, options);
        assert_eq!(ran.code, Some(2), "{}", ran.stdout);
        ran.stderr
    };
    for (runs, expected) in [
        (
            RUNS.replace("2.1", "NaN"),
            "error: mine/m.csv:8: expected seconds above zero in column \"time_s\"; found \"NaN\"\n",
        ),
        (
            RUNS.replace("2.1", "-2"),
            "error: mine/m.csv:8: expected seconds above zero in column \"time_s\"; found \"-2\"\n",
        ),
        (RUNS.replace("4,2.1", "4"), "error: mine/m.csv:8: expected 2 cells as in the first row; found 1\n"),
        (
            RUNS.replace("time_s", "time"),
            "error: mine/m.csv: no column \"time_s\", which time of mine/case.toml names; found ranks, time\n",
        ),
        (
            RUNS.replace("ranks", "p"),
            "error: mine/m.csv: no column \"ranks\", which mine/case.toml names; found p, time_s\n",
        ),
        (
            RUNS.replace("# licence: own\n", ""),
            "error: mine/m.csv: expected a comment \"# licence: …\" above the columns; found none\n",
        ),
        (
            RUNS.replace("4,2.1", "many,2.1"),
            "error: at ranks=many: expected a whole number above zero that is not too large in --set run.ranks=many; found \"many\"\n",
        ),
    ] {
        assert_eq!(error(CASE, &runs, ""), expected);
    }
    for (case, expected) in [
        (CASE.replace("about", "abot"), "error: unknown field \"abot\""),
        (CASE.replace("m.csv", "n.csv"), "error: mine/n.csv: no such file"),
        (CASE.replace("app.toml", "b.toml"), "error: mine/b.toml: no such file"),
        (CASE.replace("run.ranks", "run.rank"), "error: at ranks=1: unknown field \"rank\""),
        (CASE.replace("app.work", "app.wrk"), "error: at mine: "),
    ] {
        let found = error(&case, RUNS, "");
        assert!(found.starts_with(expected), "{found}\n{expected}");
    }
    let found = error(CASE, RUNS, "--only p=1");
    assert!(found.starts_with("error: mine/m.csv: no column \"p\", which --only names"), "{found}");
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join("empty")).unwrap();
    for (line, expected) in [
        (
            "validate empty",
            "error: empty: a folder without a case.toml: expected a validation case (see \
          validation/README.md)\n",
        ),
        (
            "validate none",
            "error: none: no folder with a case.toml: expected a validation case (see \
          validation/README.md)\n",
        ),
        (
            "validate --all",
            "error: --all: expected the directory validation with cases, as in mcpsim's sources: no such directory\n",
        ),
    ] {
        let ran = run(directory.path(), line);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), expected));
    }
}
