//! The described applications that come with mcpsim: the same outcome for any number of workers, predictions as they
//! were when last looked at, and messages and times that can be worked out by hand.
//!
//! A new file in `workloads` needs a line in [`CASES`], and its predictions in `golden.txt` (one with a real program needs a
//! line in `programs_c.rs` instead):
//!
//! ```text
//! MCPSIM_UPDATE_GOLDEN=1 cargo test --test workloads golden
//! ```

#[path = "support/binary.rs"]
mod support;

#[path = "workloads/by_hand.rs"]
mod by_hand;
#[path = "workloads/golden.rs"]
mod golden;
#[path = "workloads/hpl.rs"]
mod hpl;
#[path = "workloads/matrix.rs"]
mod matrix;
#[path = "workloads/traces.rs"]
mod traces;

use std::path::Path;

use serde_json::Value;

/// A workload in one of its forms.
struct Case {
    workload: &'static str,
    /// What makes the form: `--set` for each word.
    form: &'static str,
    /// What makes it short enough to be run many times.
    small: &'static str,
}

const fn case(workload: &'static str, form: &'static str, small: &'static str) -> Case {
    Case { workload, form, small }
}

const CASES: [Case; 21] = [
    case("allreduce", "", "app.iterations=1 app.most=65536"),
    case("alltoall", "", "app.iterations=2"),
    case("b_eff", "", "app.loops=1 app.lmax=8192 app.first_pattern=4 app.last_pattern=8"),
    case("b_eff", "app.method=sendrecv", "app.loops=1 app.lmax=8192 app.last_pattern=1"),
    case("barrier", "", "app.iterations=10"),
    case("halo3d", "", "app.iterations=3"),
    case("heat3d", "", "app.room_size=13 app.steps=5"),
    case("heat3d", "app.split=poles app.exchange=blocking", "app.room_size=13 app.steps=5"),
    case("heat3d", "app.split=slabs", "app.room_size=19 app.steps=5"),
    case("hpl", "", "app.n=200 app.nb=16 app.swap_threshold=20"),
    case("hpl", "app.q=5 app.p=3 run.ranks=15", "app.n=130 app.nb=16 app.swap_threshold=20"),
    case("jacobi3d", "", "app.n=30 app.iterations=3"),
    case("ljj", "", "app.steps=20"),
    case("master-worker", "", "app.tasks=40"),
    case("master-worker", "app.task_bytes=100000", "app.tasks=40"),
    case("npb-is", "", "app.iterations=2"),
    case("npb-is", "app.class=W", "app.iterations=1"),
    case("pingpong", "", "app.iterations=20"),
    case("pingpong", "app.b=12 app.bytes=100000", "app.iterations=20"),
    case("prime", "", ""),
    case("ring", "", "app.rounds=3"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The outcome of a workload with these other options; each word of `sets` is given to `--set`.
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

/// Messages and bytes in all.
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
        // Those have real programs, which `programs_c.rs` tests.
        .filter(|name| !name.ends_with("-c"))
        .collect();
    found.sort();
    let mut tested: Vec<&str> = CASES.iter().map(|case| case.workload).collect();
    tested.dedup();
    assert_eq!(found, tested, "workloads, and those in CASES of tests/workloads.rs");
}
