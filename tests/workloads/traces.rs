//! Every workload is recorded and replayed: the trace is the same for any number of workers, and the Outcome of the
//! replay is that of the recorded run.

use std::path::Path;

use serde_json::Value;

use super::{CASES, number, outcome};

/// Returns the Outcome without the fields in which a replay may differ from the recorded run.
fn comparable(mut outcome: Value) -> Value {
    super::matrix::parts_add_up(&outcome);
    let object = outcome.as_object_mut().unwrap();
    object.remove("host");
    object.remove("config");
    object.remove("basis");
    outcome
}

fn replayed(file: &Path, options: &str) -> Value {
    let line = format!("{} --quiet --json - {options}", file.display());
    let ran = super::support::run(super::root(), &line);
    assert_eq!(ran.code, Some(0), "mcpsim {line}\n{}", ran.stderr);
    comparable(serde_json::from_str(&ran.stdout).unwrap())
}

fn recorded_and_replayed(options: &str, elsewhere: &str) {
    let directory = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| directory.path().join(name));
    // Programs of a task runtime's code fragments cannot be recorded; the next test covers them.
    for case in CASES.into_iter().filter(|case| !case.of_fragments()) {
        let name = format!("{} {} {} {options}", case.workload, case.form, case.small);
        let sets = format!("{} {}", case.form, case.small);
        let record = |file: &Path, workers: u32| {
            let line = format!("--nct 4,2,2 --workers {workers} --record {} {options}", file.display());
            comparable(outcome(case.workload, &sets, &line))
        };
        let mut expected = record(&first, 1);
        assert!(record(&second, 3) == expected, "{name}: recorded by three workers");
        assert!(std::fs::read(&first).unwrap() == std::fs::read(&second).unwrap(), "{name}: the traces differ");
        // A trace contains no timers, so a replay yields no results of the application.
        expected.as_object_mut().unwrap().remove("results");
        for workers in 1..=4 {
            let found = replayed(&first, &format!("--nct 4,2,2 --workers {workers} {options}"));
            assert!(found == expected, "{name}: replayed by {workers} workers\n{found}\nexpected {expected}");
        }
        let [alone, together] = [1, 2].map(|workers| replayed(&first, &format!("{elsewhere} --workers {workers}")));
        assert!(alone == together, "{name}: replayed on {elsewhere}");
        assert_eq!(alone["messages"], expected["messages"], "{name}");
    }
}

#[test]
fn replays_are_what_was_recorded() {
    recorded_and_replayed("", "--nct 8,1,2 --set platform.inter_node.latency=20us");
}

#[test]
fn replays_are_what_was_recorded_of_the_two_level_baseline() {
    recorded_and_replayed("--model two-level --placement cyclic", "--nct 2,4,2");
}

#[test]
fn replays_of_blocks_that_share_memory_are_what_was_recorded() {
    let scarce = "--set platform.cmp.memory_sharing=fair --set platform.cmp.memory_bandwidth=9GB/s";
    recorded_and_replayed(scarce, &format!("--nct 8,1,2 {scarce}"));
}

#[test]
fn a_trace_is_small() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("halo");
    let options = format!("--nct 8,2,4 --record {}", file.display());
    let outcome = outcome("halo3d", "app.iterations=1000", &options);
    let (bytes, messages) = (std::fs::metadata(&file).unwrap().len(), number(&outcome["messages"]["count"]));
    assert!(bytes * 100 < messages, "{bytes} bytes for {messages} messages");
}

#[test]
fn a_program_of_fragments_is_not_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("tree.trace");
    let line = format!("--nct 4,2,2 --record {} workloads/tree-tasks.toml", file.display());
    let ran = super::support::run(super::root(), &line);
    let error = "error: --record: tree-tasks is a program of fragments, whose threads a trace cannot distinguish from \
                 collectives; expected another application\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(2), error));
    assert!(!file.exists());
}
