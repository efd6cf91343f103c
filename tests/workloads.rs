//! Tests of the shipped described applications: equal Outcomes for any number of workers, unchanged predictions, and
//! messages and times that can be computed by hand.
//!
//! A new file in `workloads` needs an entry in `workloads/cases.rs`, and its predictions in `golden.txt`. A new file
//! with a real program needs an entry in `programs_c.rs` instead. This command writes the predictions:
//!
//! ```text
//! MCPSIM_UPDATE_GOLDEN=1 cargo test --test workloads golden
//! ```

#[path = "support/binary.rs"]
mod support;

#[path = "workloads/by_hand.rs"]
mod by_hand;
#[path = "workloads/cases.rs"]
mod cases;
#[path = "workloads/golden.rs"]
mod golden;
#[path = "workloads/hpl.rs"]
mod hpl;
#[path = "workloads/matrix.rs"]
mod matrix;
#[path = "workloads/path.rs"]
mod path;
#[path = "workloads/traces.rs"]
mod traces;
#[path = "workloads/what_if.rs"]
mod what_if;

use std::path::Path;

use cases::CASES;
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the Outcome of a workload with other options. Each word of `sets` is the value of a `--set` option.
fn outcome(workload: &str, sets: &str, options: &str) -> Value {
    let sets: String = sets.split_whitespace().map(|set| format!(" --set {set}")).collect();
    let line = format!("workloads/{workload}.toml --quiet --json - {options}{sets}");
    let ran = support::run(root(), &line);
    assert_eq!(ran.code, Some(0), "mcpsim {line}\n{}", ran.stderr);
    serde_json::from_str(&ran.stdout).expect("--json prints JSON")
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("expected a whole number; found {value}"))
}

/// Returns the total number of messages and bytes.
fn messages(outcome: &Value) -> (u64, u64) {
    assert_eq!(outcome["unreceived"], 0);
    (number(&outcome["messages"]["count"]), number(&outcome["messages"]["bytes"]))
}

#[test]
fn every_workload_is_tested() {
    let mut found: Vec<String> = std::fs::read_dir(root().join("workloads"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        // Files whose names end in "-c" have real programs, which `programs_c.rs` tests.
        .filter(|name| !name.ends_with("-c"))
        .collect();
    found.sort();
    let mut tested: Vec<&str> = CASES.iter().map(|case| case.workload).collect();
    tested.dedup();
    assert_eq!(found, tested, "workloads, and those in CASES of tests/workloads/cases.rs");
}
