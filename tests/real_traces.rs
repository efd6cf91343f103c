//! Real programs recorded and replayed: those of `workloads/c` and of `tests/mpi`, with times measured and without.

// Not all of what tests of real programs share is of use here.
#[allow(dead_code)]
#[path = "support/real.rs"]
mod real;
#[allow(dead_code)]
#[path = "support/binary.rs"]
mod support;

use std::path::Path;

use serde_json::Value;

/// What a run gives, without what a replay may differ in.
fn outcome(line: &str, json: &Path) -> Result<Value, String> {
    let ran = real::simulate(&format!("--quiet --json {} {line}", json.display()));
    if ran.code != Some(0) {
        return Err(real::told(&format!("mcpsim {line}"), &ran));
    }
    let mut outcome: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let object = outcome.as_object_mut().unwrap();
    object.remove("host");
    object.remove("config");
    Ok(outcome)
}

/// How code is charged, and by how many workers a run is recorded.
const WAYS: [(&str, u32); 2] = [("--compute skip", 2), ("", 1)];
const MACHINE: &str = "--nct 4,2,1";
const ELSEWHERE: &str = "--nct 8,1,1 --set platform.inter_node.latency=9us";

/// Records `app` and replays it on 1 to 4 workers; then elsewhere, where it has to end too.
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
    let names = real::names("workloads", "-c.toml");
    assert!(names.len() > 5);
    let check = |name: &String, way| check(&format!("workloads/{name}-c.toml"), way, directory.path());
    let wrong: Vec<String> =
        names.iter().flat_map(|name| WAYS.map(|way| check(name, way))).filter_map(Result::err).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The chapters in which what a program does depends on time, or is served.
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
