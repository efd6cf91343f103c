//! Tests that record and replay the real programs of `workloads/c` and `tests/mpi` with mcpsim, with and without
//! measured times.

use std::path::Path;

use crate::real;
use serde_json::Value;

/// Runs mcpsim with the arguments `line` and returns the Outcome, without the fields in which a replay may differ.
fn outcome(line: &str, json: &Path) -> Result<Value, String> {
    let ran = real::simulate(&format!("--quiet --json {} {line}", json.display()));
    if ran.code != Some(0) {
        return Err(real::told(&format!("mcpsim {line}"), &ran));
    }
    let mut outcome: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(sum(&outcome["path"]), outcome["predicted_ps"].as_u64().unwrap(), "{line}: {}", outcome["path"]);
    let object = outcome.as_object_mut().unwrap();
    object.remove("host");
    object.remove("config");
    object.remove("basis");
    Ok(outcome)
}

/// Returns the sum of all parts in `value`. Waiting for memory is a part of computing, so it does not count again.
fn sum(value: &Value) -> u64 {
    let Some(members) = value.as_object() else { return value.as_u64().unwrap() };
    members.iter().filter(|(key, _)| *key != "memory_ps").map(|(_, value)| sum(value)).sum()
}

/// Option that determines the cost of code, and number of workers of the recorded run.
const WAYS: [(&str, u32); 2] = [("--compute skip", 2), ("", 1)];
const MACHINE: &str = "--nct 4,2,1";
const ELSEWHERE: &str = "--nct 8,1,1 --set platform.inter_node.latency=9us";

/// Records `app` and compares replays on 1 to 4 workers with the recorded run. Also replays the trace on another
/// machine, where the replay must complete.
fn check(app: &str, (options, recorders): (&str, u32), directory: &Path) -> Result<(), String> {
    let [trace, json] = ["trace", "json"].map(|name| directory.join(name));
    let recording = format!("{MACHINE} {options} --workers {recorders} --record {} {app}", trace.display());
    let recorded = outcome(&recording, &json)?;
    let replay = |options: &str| outcome(&format!("{options} {}", trace.display()), &json);
    for workers in 1..=4 {
        let replayed = replay(&format!("{MACHINE} --workers {workers}"))?;
        if replayed != recorded {
            return Err(format!("{recording}, {workers} workers: {replayed}\nexpected {recorded}"));
        }
    }
    let there = replay(ELSEWHERE)?;
    if there["messages"] != recorded["messages"] {
        return Err(format!("{app} on {ELSEWHERE}: {}\nexpected {}", there["messages"], recorded["messages"]));
    }
    Ok(())
}

#[test]
fn workloads_are_replayed_as_recorded() {
    let directory = real::directory();
    assert_eq!(real::names("workloads", "-c.toml"), real::WORKLOADS.map(|(name, _)| name));
    let check = |(name, words): (&str, &str), way| {
        let app = format!("--set app.program.arguments=[{words}] workloads/{name}-c.toml");
        check(&app, way, directory.path())
    };
    let wrong: Vec<String> =
        real::WORKLOADS.into_iter().flat_map(|case| WAYS.map(|way| check(case, way))).filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn measured_times_follow_the_machine_of_the_replay_and_stated_ones_do_not() {
    let directory = real::directory();
    let [program, trace, json] = ["ring", "trace", "json"].map(|name| directory.path().join(name));
    real::compile(&real::file("workloads/c/ring.c"), "-O1", &program).unwrap();
    let [program, trace] = [program, trace].map(|path| path.display().to_string());
    let computed = |line: &str| -> Vec<u64> {
        let outcome = outcome(line, &json).unwrap();
        outcome["per_rank"].as_array().unwrap().iter().map(|rank| rank["compute_ps"].as_u64().unwrap()).collect()
    };
    let times = |times: &[u64], factor: u64| times.iter().map(|time| time * factor).collect::<Vec<_>>();
    let measured = computed(&format!("{MACHINE} --record {trace} {program} 2 1000"));
    assert!(measured.iter().all(|&time| time > 0), "{measured:?}");
    // The result names the host's processor only if its times stand for the times of the target.
    let stands = |options: &str| {
        outcome(&format!("{MACHINE} {options} {program} 2 10"), &json).unwrap();
        let outcome: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        outcome["host"]["stands_for_target"].is_string()
    };
    assert_eq!(
        [stands(""), stands("--set platform.core.scale_factor=1"), stands("--compute skip")],
        [true, false, false]
    );
    let twice = computed(&format!("{MACHINE} --set platform.core.scale_factor=2 {trace}"));
    assert_eq!(twice, times(&measured, 2));
    let crowded = computed(&format!("--nct 1,1,8 --set platform.core.slowdown=[1,2,3] {trace}"));
    assert_eq!(crowded, times(&measured, 3));
    // With `memory_sharing=fair`, only ranks that compute at the same time share memory bandwidth. At the start all
    // ranks compute at the same time. While the token passes from rank to rank, few ranks compute at the same time.
    let fair = "--nct 1,1,8 --set platform.core.slowdown=[1,2,3] --set platform.cmp.memory_sharing=fair";
    assert_eq!(computed(&format!("{fair} --memory-bound 0 {trace}")), measured);
    let slowed = computed(&format!("{fair} {trace}"));
    let between = |(slowed, measured): (&u64, &u64)| (measured..=&(3 * measured)).contains(&slowed);
    assert!(slowed.iter().zip(&measured).all(between), "{slowed:?} of {measured:?}");
    let [fair, placed, alone] = [&slowed, &crowded, &measured].map(|times| times.iter().sum::<u64>());
    assert!(alone < fair && fair < placed, "{alone} {fair} {placed}");
    let stated = computed(&format!("{MACHINE} --compute 1us --record {trace} {program} 2 1000"));
    assert_eq!(computed(&format!("{MACHINE} --set platform.core.scale_factor=2 {trace}")), stated);
}

/// File name prefixes of programs whose messages depend on time, or whose messages a target serves without its program.
const CHAPTERS: [&str; 5] = ["pt2pt_", "rma_", "coll_nonblocking", "mixed", "strict_rma"];

#[test]
fn programs_that_poll_and_one_sided_ones_are_replayed_as_recorded() {
    let directory = real::directory();
    let mut names = real::names("tests/mpi", ".c");
    names.retain(|name| CHAPTERS.iter().any(|chapter| name.starts_with(chapter)));
    assert!(names.len() > 10);
    let check = |name: &String| {
        let program = directory.path().join(name);
        real::compile(&real::file("tests/mpi").join(name).with_extension("c"), "-O1", &program)?;
        let program = program.display().to_string();
        WAYS.into_iter().try_for_each(|way| check(&program, way, directory.path()))
    };
    let wrong: Vec<String> = names.iter().map(check).filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
