//! Tests of exact what-if answers for random applications on random machines: each answer is the time of a run on the
//! machine with the changed key.

use mcpsim::engine::{Processes, Progress};
use mcpsim::run::{Conduct, Given, RunRequest, silent};
use serde_json::Value;

use crate::random::Case;
use crate::tools::is_full;

/// Returns the Outcome of `request` with exact answers, or `None` if the run has no prediction.
fn answered(request: &RunRequest) -> Option<Value> {
    let (progress, processes, console) = (Progress::default(), Processes::one(), silent());
    let conduct = Conduct { progress: &progress, processes: &processes, recorded: false, console: &console };
    let prediction = request.resolve().ok()?.what_if_in(conduct).ok()??;
    Some(serde_json::to_value(prediction.outcome).unwrap())
}

/// Returns the platform key and value of a change, if a key states it.
fn key(change: &str, level: &str) -> Option<(String, &'static str)> {
    let (key, value) = match change {
        "latency_halved" => ("latency_factor", "0.5"),
        "bandwidth_doubled" => ("bandwidth_factor", "2"),
        "contention_gone" => ("contention", "ideal"),
        _ => return None,
    };
    Some((format!("platform.{level}.{key}"), value))
}

#[test]
fn exact_answers_for_random_applications_are_the_times_of_runs_on_the_changed_machine() {
    let directory = tempfile::tempdir().unwrap();
    let seeds = if is_full("more random what-if answers") { 200 } else { 24 };
    let mut answers = 0;
    for seed in 0..seeds {
        let case = Case::new(seed, directory.path());
        let request = case.request(directory.path()).unwrap().with(Given { workers: Some(1), ..Given::default() });
        let Some(outcome) = answered(&request) else { continue };
        for what in outcome["what_if"].as_array().unwrap() {
            let level = what["level"].as_str().unwrap_or_default();
            let Some((key, value)) = key(what["change"].as_str().unwrap(), level) else { continue };
            // The key would replace the value that the random machine states. It also widens uplinks and links, which
            // keep their bandwidth in the changed machine.
            let states = |part: &str| case.sets.iter().any(|set| set.contains(part));
            let has_links = states("platform.network") || states("platform.places");
            if states(&key) || (has_links && key.ends_with("inter_node.bandwidth_factor")) {
                continue;
            }
            // Without contention between nodes, a message is not faster than the adapter and the links. Under `ideal`
            // they do not limit it.
            let has_limit = has_links || states("inter_node.capacity") || states("inter_node.rails");
            if has_limit && key.ends_with("inter_node.contention") {
                continue;
            }
            // A factor of a level does not change the costs of classes of pairs.
            if states("platform.pairs") {
                continue;
            }
            let Ok(changed) = request.clone().set(&format!("{key}={value}")).unwrap().resolve() else { continue };
            let expected = changed.run().unwrap().predicted.as_ps();
            assert_eq!(what["exact_ps"], expected, "seed {seed}, {key}={value}: {case:#?}");
            answers += 1;
        }
    }
    assert!(answers >= 30, "{answers}");
}
