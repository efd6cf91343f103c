//! Tests random applications on random machines. A run in two processes must have the same Outcome and the same trace
//! as a run in one process.

use super::hosts::host_mpis;
use super::random::Case;
use super::support::is_full;

#[test]
fn random_runs_are_the_same_in_two_processes() {
    let directory = super::real::directory();
    let [whole, trace] = ["whole.toml", "trace"].map(|name| directory.path().join(name));
    let seeds = if is_full("12 more random runs in two processes") { 16 } else { 4 };
    let mut compared = 0;
    for mpi in host_mpis() {
        for seed in 0..seeds {
            let case = Case::new(seed, directory.path());
            let resolved = case.request(directory.path()).unwrap().resolve().unwrap();
            std::fs::write(&whole, resolved.to_toml().unwrap()).unwrap();
            let details = "--per-rank --functions --sites --critical-path --latency-tolerance --pairs";
            let line =
                format!("--quiet --json - {details} --workers 1 --record {} {}", trace.display(), whole.display());
            let result = |processes: u32| {
                let _ = std::fs::remove_file(&trace);
                let ran = mpi.run(processes, &line);
                let mut outcome: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap_or_default();
                outcome.as_object_mut().map(|outcome| outcome.remove("host"));
                (ran.code, ran.stderr, outcome, std::fs::read(&trace).ok())
            };
            let one = result(1);
            let two = result(2);
            // mcpsim rejects some machines in runs with several processes.
            if two.0 == Some(2) && one.0 == Some(0) {
                assert!(two.1.contains("processes"), "seed {seed}: {}", two.1);
                continue;
            }
            assert!(one == two, "{}, seed {seed}: {:?} {:?}\n{case:#?}", mpi.name, (one.0, &one.1), (two.0, &two.1));
            compared += u32::from(one.0 == Some(0));
        }
    }
    assert!(compared >= seeds as u32 / 2 || host_mpis().is_empty(), "{compared} of {seeds} runs are compared");
}
