//! Tests of recording in several processes. The trace must equal the trace of a run in one process.

use std::fs;

use super::cases::CASES;
use super::hosts::host_mpis;
use super::real::{compile, directory, file, libraries, real_mpis, told};

#[test]
fn a_trace_is_the_same_byte_by_byte_whoever_records_it() {
    let directory = directory();
    let trace = directory.path().join("trace");
    for mpi in host_mpis() {
        for case in CASES.into_iter().filter(|case| !case.of_fragments()) {
            let sets = format!("{} {}", case.form, case.small);
            let sets: String = sets.split_whitespace().map(|set| format!(" --set {set}")).collect();
            let recorded = |processes: u32, threads: u32| {
                let options = format!("--nct 8,2,1 --workers {threads} --record {}", trace.display());
                let (outcome, _) = mpi.outcome(processes, &format!("{options} workloads/{}.toml{sets}", case.workload));
                (outcome, fs::read(&trace).unwrap())
            };
            let reference = recorded(1, 1);
            assert!(recorded(3, 1) == reference, "{}: {}{sets} in 3 processes", mpi.name, case.workload);
            assert!(recorded(2, 2) == reference, "{}: {}{sets} in 2 x 2", mpi.name, case.workload);
        }
    }
}

/// Programs of `workloads/c` with their arguments. The programs use collectives, nonblocking collectives and requests,
/// or have time-dependent behaviour.
const PROGRAMS: [(&str, &str); 4] = [("is", "S"), ("halo3d", "20000 2"), ("prime", "2000"), ("alltoall", "5000 2")];

#[test]
fn a_real_program_recorded_in_several_processes_is_replayed_as_it_ran() {
    if host_mpis().is_empty() {
        return;
    }
    let directory = directory();
    let trace = directory.path().join("trace").display().to_string();
    for (name, arguments) in PROGRAMS {
        let program = directory.path().join(name);
        compile(&file(&format!("workloads/c/{name}.c")), "-O1", &program).unwrap();
        for mpi in host_mpis() {
            let run = |processes: u32, line: &str| {
                let json = directory.path().join("outcome.json");
                let ran = mpi.run(processes, &format!("--quiet --nct 4,2,1 --json {} {line}", json.display()));
                assert_eq!(ran.code, Some(0), "{}", told(&format!("{} {line}", mpi.name), &ran));
                let mut outcome: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
                ["host", "config", "basis"].iter().for_each(|key| _ = outcome.as_object_mut().unwrap().remove(*key));
                outcome
            };
            let recorded = run(3, &format!("--record {trace} {} {arguments}", program.display()));
            assert!(run(1, &trace) == recorded, "{} {name}: replayed in one process", mpi.name);
            assert!(run(2, &trace) == recorded, "{} {name}: replayed in two", mpi.name);
        }
    }
}

#[test]
fn threads_are_recorded_and_replayed_in_several_processes() {
    libraries();
    let Some(built_for) = real_mpis().first() else { return };
    let directory = directory();
    let program = directory.path().join("threads");
    built_for.compile_with(&file("tests/real/threads_clocks.c"), &program, "-pthread").unwrap();
    let trace = directory.path().join("trace");
    for mpi in host_mpis() {
        for case in ["mutex", "request", "limits", "probe", "collectives"] {
            let run = |processes: u32, line: &str| {
                let machine = "--nct 2,1,8 --ranks-per-node 1 --cores-per-rank 2";
                let json = directory.path().join("outcome.json");
                let ran = mpi.run(processes, &format!("--quiet {machine} --json {} {line}", json.display()));
                assert_eq!(ran.code, Some(0), "{}", told(&format!("{} {line}", mpi.name), &ran));
                let mut outcome: serde_json::Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
                ["host", "config", "basis"].iter().for_each(|key| _ = outcome.as_object_mut().unwrap().remove(*key));
                outcome
            };
            let line = format!("--ranks 2 --compute skip --record {} {} {case}", trace.display(), program.display());
            let recorded = |processes: u32| (run(processes, &line), fs::read(&trace).unwrap());
            let reference = recorded(1);
            assert!(recorded(2) == reference, "{} {case}: recorded in two processes", mpi.name);
            for (processes, workers) in [(1, 1), (2, 1), (2, 2)] {
                let replayed = run(processes, &format!("--workers {workers} {}", trace.display()));
                assert!(replayed == reference.0, "{} {case}: replayed in {processes} x {workers}", mpi.name);
            }
        }
    }
}

#[test]
fn a_run_that_fails_in_several_processes_leaves_no_trace() {
    let directory = directory();
    let [app, trace] = ["stuck.toml", "trace"].map(|name| directory.path().join(name));
    fs::write(&app, "main = [{ recv = { from = \"(rank + 1) % size\" } }]").unwrap();
    for mpi in host_mpis() {
        let ran = mpi.run(2, &format!("--nct 2,1,1 --record {} {}", trace.display(), app.display()));
        assert_eq!(ran.code, Some(3), "{}", told(mpi.name, &ran));
        assert!(!trace.exists());
    }
}
