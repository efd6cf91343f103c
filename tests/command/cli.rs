//! The command line as used by scripts: exact texts, exit codes, stdout and stderr.

use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::{self, ended, finish, holds_within_limit, interrupt, mcpsim, run, without_launcher};
use tempfile::TempDir;

/// Application in which a token passes n times through all ranks.
const APP: &str = r#"
# A ring.
name = "a"
main = [
  { repeat = "n", do = [
    { if = "rank == 0",
      then = [{ send = { to = "(rank + 1) % size", bytes = 8 } }, { recv = { from = "(rank - 1) % size" } }],
      else = [{ recv = { from = "(rank - 1) % size" } }, { send = { to = "(rank + 1) % size", bytes = 8 } }] },
  ] },
]
[params]
n = 1
[run]
seed = 3
nct = [2, 2, 2]
"#;

/// Creates a directory with an application.
fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("app.toml"), APP).unwrap();
    directory
}

/// Returns the first line of stderr and the exit code; asserts that stdout is empty.
fn refused(directory: &Path, line: &str) -> (String, Option<i32>) {
    let ran = run(directory, line);
    assert_eq!(ran.stdout, "", "{line}");
    (ran.stderr.lines().next().unwrap_or_default().to_owned(), ran.code)
}

#[test]
fn repeated_runs_have_a_mean_a_deviation_and_an_interval() {
    let directory = directory();
    let here = directory.path();
    let work = APP.replace("main = [", "main = [ { compute = { time = \"1 ms\" } },");
    std::fs::write(here.join("work.toml"), work).unwrap();
    let noise = "--set platform.noise.nodes={deviation=0.1}";
    let json = |line: &str| -> serde_json::Value {
        let ran = run(here, line);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{line}");
        serde_json::from_str(&ran.stdout).unwrap()
    };
    let repeated = json(&format!("--repeats 5 {noise} work.toml --json -"));
    let repeats = &repeated["repeats"];
    let times: Vec<u64> = repeats["predicted_ps"].as_array().unwrap().iter().map(|ps| ps.as_u64().unwrap()).collect();
    // The runs have the seeds 3 to 7 and equal single runs with these seeds. A replay has the noise of the recorded
    // run.
    let single =
        |seed: u64| json(&format!("--seed {seed} {noise} work.toml --json -"))["predicted_ps"].as_u64().unwrap();
    assert_eq!(times, [3, 4, 5, 6, 7].map(single));
    assert_eq!(repeated["predicted_ps"], times[0]);
    assert_eq!(run(here, &format!("{noise} work.toml --record a.trace")).code, Some(0));
    let replayed = json(&format!("--seed 3 --repeats 5 --nct 2,2,2 {noise} a.trace --json -"));
    assert_eq!(replayed["repeats"], *repeats);
    let text = run(here, &format!("--repeats 5 {noise} work.toml")).stdout;
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("runs")).collect();
    assert!(lines[0].starts_with("  of 5 runs        mean ") && lines[1].starts_with("  95% of runs      "), "{text}");
    assert_eq!(json("work.toml --json -")["repeats"], serde_json::Value::Null);
    assert_eq!(
        json("--repeats 1 work.toml --json -")["repeats"],
        serde_json::Value::Null,
        "one run has no \
                     deviation"
    );
    let refused = refused(here, "--repeats 0 work.toml");
    assert_eq!(refused, ("error: invalid value '0' for '--repeats <N>': 0 is not in 1..=100000".to_owned(), Some(2)));
}

#[test]
fn each_error_is_one_line_with_exit_code_2() {
    let directory = directory();
    let here = directory.path();
    std::fs::write(here.join("broken.toml"), "n = \n").unwrap();
    std::fs::write(here.join("run.toml"), "run.ranks = 0\n").unwrap();
    std::fs::write(here.join("program"), [0x7f, b'E', b'L', b'F', 0xff]).unwrap();
    for (line, error) in [
        ("no.toml", "no.toml: no such file"),
        ("program", "program: is damaged: the file ends within its header"),
        ("broken.toml", "broken.toml:1:5: not TOML: string values must be quoted, expected literal string"),
        ("run.toml", "expected a whole number above zero that is not too large in run.ranks of run.toml; found 0"),
        ("--platform no.toml app.toml", "no.toml: no such file"),
        ("--placement blok app.toml", "expected block, cyclic, socket or a file in --placement; no such file: blok"),
        (
            "--set seed=1 app.toml",
            "--set seed=1: not a dotted key, expected KEY=VALUE with a key such as platform.inter_node.latency, \
             app.n or run.seed",
        ),
        ("--set run.sed=1 app.toml --quiet", "unknown field \"sed\" in --set run.sed=1, did you mean \"seed\"?"),
        ("--seed 1 --set run.seed=2 app.toml", "--seed and --set run.seed=2 set the same key: leave out one of them"),
        ("--json no/x.json app.toml", "--json no/x.json: no such directory: no"),
        (
            "--json - --profile - app.toml",
            "--json and --profile both write to stdout: give another file for one of \
          them",
        ),
        ("--json x --record x app.toml", "--json and --record both write to x: give another file for one of them"),
        (
            "--timeline ./y.json --json y.json app.toml",
            "--json and --timeline both write to ./y.json: give another file for one of them",
        ),
        (
            "--json ./app.toml app.toml",
            "--json ./app.toml: expected another file to write, because this command \
          also reads this file",
        ),
        (
            "app.toml -- -n 5",
            "unexpected argument \"-n\": the described application app.toml has no arguments; change its keys with \
             --set app.KEY=VALUE",
        ),
        ("cluster app.toml", "app.toml: not a NetCDF file: it does not begin with \"CDF\""),
        (
            "--quiet cc prog.c",
            "the command \"cc\" must precede all options, because all options belong to the \
          compiler",
        ),
        ("--quiet run app.toml", "the command \"run\" must precede the options: mcpsim run [OPTIONS] APP"),
        (
            "--nct 4,2 app.toml",
            "invalid value '4,2' for '--nct <N,C,T>': expected three whole numbers above zero such as 4,2,2; found \
             \"4,2\"",
        ),
        ("--colour app.toml", "unexpected argument '--colour' found"),
    ] {
        assert_eq!(refused(here, line), (format!("error: {error}"), Some(2)), "{line}");
    }
}

#[test]
fn no_arguments_show_the_help_as_an_error() {
    let ran = run(directory().path(), "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("Usage: mcpsim [run] [OPTIONS] APP [-- ARGS]"), "{}", ran.stderr);
}

#[test]
fn help_and_version_are_on_stdout() {
    let directory = directory();
    let version = run(directory.path(), "--version");
    assert_eq!((version.code, version.stdout), (Some(0), format!("mcpsim {}\n", env!("CARGO_PKG_VERSION"))));
    let help = run(directory.path(), "run --help");
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    for word in ["Examples:", "Exit codes:", "--oversubscribe", "--set <KEY=VALUE>"] {
        assert!(help.stdout.contains(word), "{word} in {}", help.stdout);
    }
}

#[test]
fn the_shown_configuration_reads_back_as_itself() {
    let directory = directory();
    let here = directory.path();
    let first = run(here, "--show-config --nct 4,2,2 --set app.n=7 --set platform.inter_node.latency=5us app.toml");
    assert_eq!((first.code, first.stderr.as_str()), (Some(0), ""));
    assert!(first.stdout.contains("[run]\nnct = \"4,2,2\"\n"), "{}", first.stdout);
    assert!(first.stdout.contains("[app.params]\nn = 7\n"), "{}", first.stdout);
    std::fs::write(here.join("whole.toml"), &first.stdout).unwrap();
    let again = run(here, "--show-config whole.toml");
    let body = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    assert_eq!(body(&again.stdout), body(&first.stdout));
    assert_eq!(
        outcome(here, "whole.toml")["predicted_ps"],
        outcome(here, "--nct 4,2,2 --set app.n=7 --set platform.inter_node.latency=5us app.toml")["predicted_ps"]
    );
}

/// Returns the Outcome as JSON without its host part.
fn outcome(directory: &Path, line: &str) -> serde_json::Value {
    let ran = run(directory, &format!("--json - {line}"));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{line}");
    let mut value: serde_json::Value = serde_json::from_str(&ran.stdout).expect("nothing but JSON");
    assert!(value["host"]["wall_s"].as_f64().unwrap() > 0.0);
    value.as_object_mut().unwrap().remove("host");
    value
}

#[test]
fn the_outcome_states_what_was_run() {
    let directory = directory();
    let value = outcome(directory.path(), "app.toml --set app.n=2");
    assert_eq!(value["app"], "a");
    assert_eq!(value["nct"], serde_json::json!([2, 2, 2]));
    assert_eq!((&value["ranks"], &value["seed"], &value["model"]), (&8.into(), &3.into(), &"mcpsim".into()));
    assert_eq!(value["messages"], serde_json::json!({ "count": 16, "bytes": 128 }));
    assert_eq!(value["config"]["app"]["params"]["n"], 2);
    assert_eq!(value["config"]["run"]["placement"], "block");
    assert_eq!(value["per_rank"].as_array().unwrap().len(), 8);
}

#[test]
fn the_outcome_is_the_same_for_any_number_of_workers() {
    let directory = directory();
    let of = |workers: u32| outcome(directory.path(), &format!("app.toml --set app.n=50 --workers {workers}"));
    assert_eq!(of(1), of(2));
}

#[test]
fn a_figure_without_a_value_costs_no_prediction() {
    let directory = directory();
    let here = directory.path();
    let results = "[timers]\nt = 1\n[results.show]\nbad = { value = \"n / longest(t, 0)\", unit = \"B/s\" }\n\
                   good = { value = \"2 * n\" }\n";
    std::fs::write(here.join("figures.toml"), format!("{APP}{results}")).unwrap();
    let ran = run(here, "figures.toml --set app.n=3");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let why = "results.show.bad.value = \"n / longest(t, 0)\": division by zero in results.show.bad of figures.toml";
    assert!(ran.stdout.contains("predicted time"), "{}", ran.stdout);
    assert!(ran.stdout.contains(&format!("  bad              not computed: {why}\n")), "{}", ran.stdout);
    let expected = serde_json::json!([
        { "name": "bad", "error": why, "unit": "B/s" }, { "name": "good", "value": 6.0, "unit": "" }
    ]);
    assert_eq!(outcome(here, "figures.toml --set app.n=3")["results"], expected);
    // In a study each result of the application has a column.
    let ran = run(here, "sweep --quiet --out study --vary app.n=3,4 figures.toml");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let csv = std::fs::read_to_string(here.join("study/study.csv")).unwrap();
    let ends: Vec<Vec<&str>> = csv.lines().map(|row| row.rsplitn(4, ',').take(3).collect()).collect();
    assert_eq!(ends, [["error", "results.good", "results.bad"], ["", "6", ""], ["", "8", ""]], "{csv}");
}

#[test]
fn two_levels_see_no_cmps() {
    let directory = directory();
    let value = outcome(directory.path(), "app.toml --model two-level");
    assert_eq!(value["model"], "two-level");
    assert_eq!(value["levels"]["inter_cmp"]["count"], 0);
    let ran = run(directory.path(), "app.toml --model two-level");
    assert!(ran.stdout.contains("  model            two-level: (2, 4)\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("  intra-node "), "{}", ran.stdout);
}

#[test]
fn quiet_prints_nothing_and_files_are_written() {
    let directory = directory();
    let here = directory.path();
    let ran = run(here, "app.toml --quiet --json out.json --profile out.csv --pairs --intervals 4,8");
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
    let value: serde_json::Value = serde_json::from_slice(&std::fs::read(here.join("out.json")).unwrap()).unwrap();
    assert_eq!(value["pairs"].as_array().unwrap().len(), 8);
    let csv = std::fs::read_to_string(here.join("out.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 3 * 3);
    assert_eq!(csv.lines().nth(4), Some("4,8,intra_cmp,4,32,100.0000,50.0000,100.0000,50.0000,806400,21.1339"));
    let ran = run(here, "app.toml --json /dev/full");
    assert_eq!(ran.stderr, "error: cannot write /dev/full: No space left on device (os error 28)\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
}

#[test]
fn ranks_that_wait_for_each_other_end_with_a_table_and_exit_code_3() {
    let directory = directory();
    let text = "name = \"d\"\nmain = [{ recv = { from = \"1 - rank\" } }]\n";
    std::fs::write(directory.path().join("deadlock.toml"), text).unwrap();
    let ran = run(directory.path(), "--nct 1,1,2 deadlock.toml");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(3), ""));
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines[0], "error: deadlock: 2 ranks wait and no rank can continue (0 finished)");
    assert_eq!(lines[1].split_whitespace().collect::<Vec<_>>(), ["rank", "waits", "in", "since", "for"]);
    assert!(lines[2].contains("a message from rank 1"), "{}", lines[2]);
    assert_eq!(lines[4..], ["  all at main[0] of deadlock.toml:2", "  cycle: rank 0 -> 1 -> 0"]);
}

#[test]
fn limits_and_places_that_do_not_fit_are_explained() {
    let directory = directory();
    let here = directory.path();
    std::fs::write(here.join("places"), "0 0 0\n0 0 0\n").unwrap();
    for (line, error) in [
        ("app.toml --ranks 9", "9 ranks on 8 cores: give fewer --ranks, a larger --nct, or --oversubscribe"),
        ("app.toml --max-events 3", "more than 3 events, as --max-events allows"),
        ("app.toml --max-time 1ns", "rank "),
        ("app.toml --placement places", "places lists 2 cores for 8 ranks: expected one core per rank"),
        ("app.toml --ranks 2 --placement places", "rank 1 is placed on node 0, CMP 0, core 0, which another rank has"),
        ("app.toml --set app.m=1", ""),
        ("app.toml --set platform.nam=x", ""),
    ] {
        let (text, code) = refused(here, line);
        assert!(text.starts_with(&format!("error: {error}")), "{line}: {text}");
        assert_eq!(code, Some(2), "{line}");
    }
    let ran = run(here, "app.toml --ranks 2 --placement places --oversubscribe");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(
        ran.stdout.contains(
            "  note: oversubscribed, 2 ranks on 8 cores, up to 2 ranks per \
         core\n"
        ),
        "{}",
        ran.stdout
    );
}

#[test]
fn an_interrupt_ends_a_run_with_130_and_says_how_far_it_came() {
    let directory = directory();
    let mut command = mcpsim(directory.path());
    let line = "app.toml --set app.n=1000000000 --workers 2";
    let mut child =
        command.args(line.split_whitespace()).stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    // Worker threads exist once the run has started, so that the run can be interrupted.
    let tasks = format!("/proc/{}/task", child.id());
    let has_workers = || std::fs::read_dir(&tasks).is_ok_and(|tasks| tasks.count() > 2);
    let runs = holds_within_limit(|| has_workers() || child.try_wait().is_ok_and(|end| end.is_some()));
    assert!(runs, "no workers were started");
    interrupt(&mut child);
    let ran = ended(child);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(130), ""), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: interrupted at virtual time "), "{}", ran.stderr);
}

#[test]
fn an_interrupt_while_input_is_read_ends_it_also_where_the_shell_ignores_it() {
    let directory = directory();
    let here = directory.path();
    // No process writes to this pipe, so a read from it would never return.
    assert!(Command::new("mkfifo").arg(here.join("endless.toml")).status().unwrap().success());
    for trap in ["", "trap '' INT;"] {
        let mut command = without_launcher(Command::new("sh"), here);
        command.args(["-c", &format!("{trap} exec \"$0\" endless.toml"), env!("CARGO_BIN_EXE_mcpsim")]);
        command.stderr(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        interrupt(&mut child);
        let ran = ended(child);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(130), ""), "{trap} {}", ran.stderr);
        assert_eq!(ran.stderr, "\nerror: interrupted\n", "{trap}");
    }
}

#[test]
fn several_copies_under_a_launcher_are_refused() {
    let directory = directory();
    let mut command = mcpsim(directory.path());
    let ran = finish(command.arg("app.toml").env("OMPI_COMM_WORLD_SIZE", "8").output().unwrap());
    assert_eq!(ran.code, Some(2));
    let start = "error: started 8 times by an MPI launcher (OMPI_COMM_WORLD_SIZE=8), but ";
    assert!(ran.stderr.starts_with(start), "{}", ran.stderr);
}

#[test]
fn a_full_stdout_is_an_error_and_a_closed_one_is_not() {
    let directory = directory();
    for line in ["--show-config app.toml", "--help"] {
        let mut command = mcpsim(directory.path());
        command.args(line.split_whitespace()).stdout(File::options().write(true).open("/dev/full").unwrap());
        let ran = finish(command.output().unwrap());
        assert_eq!(ran.stderr, "error: cannot write stdout: No space left on device (os error 28)\n");
        assert_eq!(ran.code, Some(2));

        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = mcpsim(directory.path());
        let output = command.args(line.split_whitespace()).stdout(Stdio::from(writer)).output().unwrap();
        let ran = finish(output);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    }
}

#[test]
fn fewer_workers_than_asked_for_are_explained() {
    let directory = directory();
    let note = |line: &str| run(directory.path(), line).stderr;
    assert_eq!(
        note("--nct 2,1,1 --workers 3 app.toml"),
        "note: 2 instead of 3 workers: a worker has whole nodes, and there are 2\n"
    );
    assert_eq!(
        note("--nct 4,1,1 --workers 2 --set platform.inter_node.latency=0us app.toml"),
        "note: 1 instead of 2 workers: a latency or the handshake of inter_node is 0, so nodes \
         cannot be simulated apart\n"
    );
    assert_eq!(note("--nct 2,1,1 --workers 3 --quiet app.toml"), "");
    assert_eq!(note("--nct 2,1,1 --workers 2 app.toml"), "");
}

#[test]
fn ranks_that_take_turns_at_a_core_use_its_memory_one_at_a_time() {
    let directory = directory();
    std::fs::write(
        directory.path().join("stream.toml"),
        "name = \"stream\"\nmain = [{ compute = { bytes = \"1 GB\" } }]",
    )
    .unwrap();
    let predicted = |line: &str| {
        let ran = run(directory.path(), &format!("--quiet --json - {line} stream.toml"));
        let outcome: serde_json::Value = serde_json::from_str(&ran.stdout).expect("an Outcome");
        outcome["predicted_ps"].as_u64().unwrap()
    };
    let alone = predicted("--nct 1,1,1");
    assert!(alone > 0);
    assert_eq!(predicted("--nct 1,1,1 --ranks 16 --oversubscribe"), 16 * alone);
}

#[test]
fn what_is_shipped_is_found_by_name_from_any_directory() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let cache = here.join("cache");
    let named = |line: &str| {
        let mut command = support::mcpsim(here);
        support::finish(command.args(line.split_whitespace()).env("MCPSIM_CACHE", &cache).output().unwrap())
    };
    let ran = named("list");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert!(ran.stdout.contains("\n  dahu ") && ran.stdout.contains("\n  jacobi3d-c "), "{}", ran.stdout);
    for name in ["jacobi3d", "ring"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let file =
            run(root, &format!("--quiet --json - --nct 4,2,2 --platform configs/dahu.toml workloads/{name}.toml"));
        let found = named(&format!("--quiet --json - --nct 4,2,2 --platform dahu {name}"));
        assert_eq!((found.code, found.stderr.as_str()), (Some(0), ""));
        let predicted = |ran: &support::Ran| {
            let outcome: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
            (outcome["predicted_ps"].clone(), outcome["platform"].clone(), outcome["app"].clone())
        };
        assert_eq!(predicted(&found), predicted(&file));
    }
    // Applications and studies of a sweep, and files that a study names, are also found by their shipped names.
    let swept = named("sweep --vary cores=4 --out shapes ring");
    assert_eq!(swept.code, Some(0), "{}", swept.stderr);
    assert!(swept.stdout.starts_with("ring: 6 points\n"), "{}", swept.stdout);
    assert!(named("sweep --list is-shapes").stdout.starts_with("platform.nct=16,1,1\n"));
    let study = "app = \"ring\"\nplatform = \"dahu\"\nset.platform.nct = \"1,1,2\"\nvary.app.rounds = \"1\"\n";
    std::fs::write(here.join("mine.toml"), study).unwrap();
    let mine = named("sweep mine.toml");
    assert!(mine.stdout.starts_with("mine: 1 point\n"), "{}{}", mine.stdout, mine.stderr);
    std::fs::write(here.join("mine.toml"), study.replace("\"ring\"", "\"rings\"")).unwrap();
    let unknown = named("sweep mine.toml");
    assert_eq!(unknown.stderr, "error: mine.toml: app: rings: no such file, did you mean \"ring\"?\n");
    // A changed or truncated file in the cache directory is written again.
    let shipped = std::fs::read_dir(&cache).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let machine = shipped[0].join("configs/dahu.toml");
    let whole = std::fs::read(&machine).unwrap();
    std::fs::write(&machine, &whole[..whole.len() / 2]).unwrap();
    let again = named("--quiet --nct 4,2,2 --platform dahu ring");
    assert_eq!((again.code, again.stderr.as_str()), (Some(0), ""));
    assert_eq!(std::fs::read(&machine).unwrap(), whole);
    let ran = named("--quiet --nct 2,1,1 --compute skip pingpong-c");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    std::fs::write(here.join("ring"), "main = []").unwrap();
    let ran = named("--nct 2,1,1 ring");
    let note = "note: the file ring of this directory is used instead of the shipped application ring\n";
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.starts_with(note), "{}", ran.stderr);
}

#[test]
fn shells_complete_and_man_shows_what_help_says() {
    let directory = directory();
    let here = directory.path();
    for (shell, start) in [("bash", "_mcpsim() {"), ("zsh", "#compdef mcpsim"), ("fish", "# Print an optspec")] {
        let ran = run(here, &format!("completions {shell}"));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        assert!(ran.stdout.starts_with(start), "{shell}: {}", &ran.stdout[..200]);
        assert!(ran.stdout.contains("max-iterations") && ran.stdout.contains("sweep"), "{shell}");
    }
    let page = run(here, "man").stdout;
    assert!(page.contains(".TH mcpsim 1") && page.contains("max\\-iterations"), "{page}");
    assert_eq!(run(here, "man pages").code, Some(0));
    for name in ["mcpsim.1", "mcpsim-sweep.1", "mcpsim-validate.1"] {
        assert!(here.join("pages").join(name).is_file(), "{name}");
    }
}

#[test]
fn a_subcommand_wins_over_a_file_of_its_name() {
    let directory = directory();
    let here = directory.path();
    std::fs::copy(here.join("app.toml"), here.join("validate")).unwrap();
    assert_eq!(run(here, "./validate").code, Some(0));
    assert_eq!(run(here, "-np 4 ./validate").code, Some(0));
    assert_eq!(refused(here, "validate").1, Some(2));
    assert_eq!(run(here, "run --show-config app.toml").stdout, run(here, "--show-config app.toml").stdout);
}

#[test]
fn memory_that_cannot_be_had_is_an_error_that_says_what_is_needed_and_what_there_is() {
    let directory = directory();
    let mut command = Command::new("sh");
    let line = format!(
        "ulimit -v 400000; exec '{}' app.toml --nct 20000,4,4 --workers 1 --set app.n=1",
        env!("CARGO_BIN_EXE_mcpsim")
    );
    command.args(["-c", &line]);
    let ran = finish(without_launcher(command, directory.path()).output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    let [needed, taken] = [" more, and already uses ", " of the 390.6 MiB of address space that ulimit -v allows: "];
    assert!(ran.stderr.starts_with("error: out of memory: "), "{}", ran.stderr);
    assert!(ran.stderr.contains(needed) && ran.stderr.contains(taken), "{}", ran.stderr);
}
