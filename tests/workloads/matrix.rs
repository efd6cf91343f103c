//! Every workload with every number of workers, placement and model: the Outcome is the same, and the time parts of
//! each rank sum to its clock.

use serde_json::Value;

use super::{CASES, number, outcome};

/// Compares Outcomes with that of one worker. The machine has four nodes, and a run never uses more workers than nodes.
fn same_on_any_number_of_workers(options: &str) {
    for case in CASES {
        let sets = format!("{} {}", case.form, case.small);
        let run = |workers: u32| {
            let mut outcome = outcome(case.workload, &sets, &format!("--nct 4,2,2 --workers {workers} {options}"));
            let host = outcome.as_object_mut().unwrap().remove("host").unwrap();
            assert_eq!(number(&host["workers"]), u64::from(workers));
            outcome
        };
        let reference = run(1);
        parts_add_up(&reference);
        for workers in 2..=4 {
            assert!(run(workers) == reference, "{} {sets} {options}: {workers} workers differ from 1", case.workload);
        }
    }
}

/// Asserts that each rank's times for computing, sending, receiving and waiting, separately and in collectives, sum to
/// the rank's clock. Also asserts that the parts of the critical path sum to the predicted time.
pub fn parts_add_up(outcome: &Value) {
    let ranks = outcome["per_rank"].as_array().unwrap();
    assert_eq!(ranks.len() as u64, number(&outcome["ranks"]));
    let part = |rank: &Value, name: &str| number(&rank[format!("{name}_ps")]);
    for rank in ranks {
        let sum: u64 = ["compute", "send", "recv", "wait", "collective"].iter().map(|name| part(rank, name)).sum();
        assert_eq!(sum, part(rank, "clock"), "{} rank {}", outcome["app"], rank["rank"]);
    }
    let path = &outcome["path"];
    assert_eq!(sum(path), number(&outcome["predicted_ps"]), "the path of {}: {path}", outcome["app"]);
    let latest = ranks.iter().map(|rank| part(rank, "clock")).max();
    assert_eq!(latest, Some(number(&outcome["predicted_ps"])), "{}", outcome["app"]);
}

/// Returns the sum of all parts in `value`. Waiting for memory is a part of computing, so it does not count again.
fn sum(value: &Value) -> u64 {
    let Some(members) = value.as_object() else { return number(value) };
    members.iter().filter(|(key, _)| *key != "memory_ps").map(|(_, value)| sum(value)).sum()
}

#[test]
fn block_placement_is_the_same_on_any_number_of_workers() {
    same_on_any_number_of_workers("");
}

#[test]
fn cyclic_placement_is_the_same_on_any_number_of_workers() {
    same_on_any_number_of_workers("--placement cyclic");
}

#[test]
fn the_two_level_baseline_is_the_same_on_any_number_of_workers() {
    same_on_any_number_of_workers("--model two-level");
}

#[test]
fn every_workload_runs_on_few_and_odd_numbers_of_ranks() {
    for case in CASES.iter().filter(|case| !case.form.contains("run.ranks") && case.workload != "pingpong") {
        let sets = format!("{} {}", case.form, case.small);
        for nct in ["1,1,1", "2,1,1", "1,7,1", "3,1,4"] {
            parts_add_up(&outcome(case.workload, &sets, &format!("--nct {nct}")));
        }
    }
}
