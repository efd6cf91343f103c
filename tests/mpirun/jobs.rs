//! Several jobs in two host processes: described applications and a trace.

use std::fs;

use serde_json::Value;

use super::hosts::{HostMpi, host_mpis};
use super::real::{compile, directory, file, told};

/// Returns the Outcome of a run in this number of processes, without its data about the host.
fn outcome(mpi: &HostMpi, processes: u32, line: &str) -> Value {
    let directory = directory();
    let json = directory.path().join("outcome.json").display().to_string();
    let ran = mpi.run(processes, &format!("--nct 4,1,2 --compute skip --workers 1 --quiet --json {json} {line}"));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", told(line, &ran));
    let mut outcome: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    outcome["host"].take();
    outcome
}

#[test]
fn jobs_in_two_processes_are_those_in_one() {
    let Some(mpi) = host_mpis().first() else { return };
    let directory = directory();
    let here = directory.path();
    let app =
        "main = [{ compute = { normal = { mean = \"5 us\", sd = \"1 us\" } } }, { alltoall = { bytes = 20000 } }]";
    fs::write(here.join("a.toml"), app).unwrap();
    let described = here.join("a.toml").display().to_string();
    let trace = here.join("a.trace").display().to_string();
    assert_eq!(mpi.run(1, &format!("--nct 4,1,1 --quiet --record {trace} {described}")).code, Some(0));
    let jobs = format!(
        "--job {described}:hosts=0-1:cores=0 --job {trace}:cores=1 --job {described}:ranks=2:hosts=2-3:cores=0:start=3us"
    );
    let [one, two] = [1, 2].map(|processes| outcome(mpi, processes, &jobs));
    assert_eq!(one, two);
    assert_eq!(one["jobs"].as_array().map(Vec::len), Some(3));
    assert!(one["jobs"][1]["delays"].as_array().is_some_and(|delays| delays.len() == 2));
}

#[test]
fn programs_among_jobs_in_two_processes_are_those_in_one() {
    let Some(mpi) = host_mpis().first() else { return };
    let directory = directory();
    let here = directory.path();
    let program = here.join("alltoall");
    compile(&file("workloads/c/alltoall.c"), "-O1", &program).unwrap();
    fs::write(here.join("a.toml"), "main = [{ alltoall = { bytes = 20000 } }]").unwrap();
    // The ranks of one program are on several nodes, and those of the other on one node.
    let text = "[jobs.described]\napp = \"a.toml\"\nhosts = \"0-3\"\ncores = \"0\"\n\
        [jobs.far]\napp = \"alltoall\"\narguments = [\"5000\", \"2\"]\nhosts = \"0,1,3\"\ncores = \"1\"\n\
        [jobs.near]\napp = \"alltoall\"\narguments = [\"1000\", \"1\"]\nhosts = \"2\"\ncores = \"1\"\n";
    fs::write(here.join("jobs.toml"), text).unwrap();
    let jobs = here.join("jobs.toml").display().to_string();
    let [one, two] = [1, 2].map(|processes| outcome(mpi, processes, &jobs));
    assert_eq!(one, two);
    assert_eq!(one["jobs"][1]["outcome"]["ranks"], 3);
    assert!(one["jobs"].as_array().unwrap().iter().all(|job| job["outcome"]["predicted_ps"].as_u64() > Some(0)));
}
