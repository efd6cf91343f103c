//! Backtracking of the critical path: it covers the whole predicted time, and its parts are the same for any number of
//! workers.

use serde_json::Value;

use super::{CASES, number, outcome};

/// Returns the sum of `part` over a list of shares.
fn sum(shares: &Value, part: &str) -> u64 {
    shares.as_array().unwrap().iter().map(|share| number(&share[part])).sum()
}

#[test]
fn the_way_back_is_all_of_the_path_on_any_number_of_workers() {
    for case in CASES {
        let sets = format!("{} {}", case.form, case.small);
        let run = |options: &str| {
            let mut outcome = outcome(case.workload, &sets, &format!("--nct 4,2,2 {options}"));
            outcome.as_object_mut().unwrap().remove("host");
            outcome
        };
        let mut reference = run("--critical-path --workers 1");
        for workers in [2, 4] {
            let other = run(&format!("--critical-path --workers {workers}"));
            assert!(other == reference, "{} {sets}: {workers} workers differ from 1", case.workload);
        }
        let way = reference.as_object_mut().unwrap().remove("critical_path").unwrap();
        assert!(run("--workers 1") == reference, "{} {sets}: recording changes the outcome", case.workload);
        assert_eq!(way["known_ps"], reference["predicted_ps"], "{} {sets}", case.workload);
        let path = &reference["path"];
        let own = ["compute", "imbalance", "combine", "send", "recv", "poll"];
        let own: u64 = own.iter().map(|part| number(&path[format!("{part}_ps")])).sum();
        let messages = number(&reference["predicted_ps"]) - own;
        for shares in ["ranks", "sites"] {
            let found = (sum(&way[shares], "own_ps"), sum(&way[shares], "messages_ps"));
            assert_eq!(found, (own, messages), "{} {sets}: {shares} of {way}", case.workload);
        }
        // The line of the application file that a position names contains the name of the statement.
        for site in way["sites"].as_array().unwrap().iter().filter(|site| site["site"] != "unknown") {
            let (operation, line) = (site["operation"].as_str().unwrap(), site["line"].as_str().unwrap());
            let (file, number) = line.split_once(':').unwrap();
            let text = std::fs::read_to_string(super::root().join("workloads").join(file)).unwrap();
            let stated = text.lines().nth(number.parse::<usize>().unwrap() - 1).unwrap();
            assert!(stated.contains(operation), "{} {sets}: {operation} at {line}: {stated}", case.workload);
        }
    }
}
