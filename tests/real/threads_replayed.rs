//! Tests that record runs of threads with clocks of their own, and replay them.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::as_built::libraries;
use crate::real::{directory, file, real_mpis, simulate, told};

/// Returns the Outcome of `mcpsim LINE` without the keys in which a replay may differ.
fn outcome(line: &str, directory: &Path) -> Value {
    let json = directory.join("outcome.json");
    let ran = simulate(&format!("--quiet --json {} {line}", json.display()));
    assert_eq!(ran.code, Some(0), "{}", told(line, &ran));
    let mut outcome: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    let object = outcome.as_object_mut().unwrap();
    for key in ["host", "config", "basis", "results"] {
        object.remove(key);
    }
    outcome
}

fn ms(time: &Value) -> f64 {
    (time.as_f64().unwrap() / 1e7).round() / 100.0
}

/// Compiles the C program `name` of this folder with the first MPI.
fn built(name: &str, options: &str, directory: &Path) -> Option<PathBuf> {
    libraries();
    let built = directory.join("program");
    real_mpis().first()?.compile_with(&file(&format!("tests/real/{name}.c")), &built, options).unwrap();
    Some(built)
}

#[test]
fn runs_of_threads_are_replayed_as_recorded() {
    let workshop = directory();
    let Some(program) = built("threads_clocks", "-pthread", workshop.path()) else { return };
    let trace = workshop.path().join("trace");
    for (cores, cases) in [
        (
            4,
            "mutex condition barrier probe collectives request semaphore shared timeout spin limits once generalised checked c11 \
             polls:sleep polls:yield polls:clock polls:test polls:mutex sleeps",
        ),
        (1, "mutex condition barrier probe request shared timeout limits polls:yield sleeps"),
    ] {
        let machine = format!("--nct 2,1,8 --ranks-per-node 1 --cores-per-rank {cores}");
        for case in cases.split(' ') {
            let options = format!("{machine} --ranks 2 --compute skip --record {}", trace.display());
            let line = format!("{options} {} -- {}", program.display(), case.replace(':', " "));
            let recorded = outcome(&line, workshop.path());
            for workers in [1, 2] {
                let line = format!("{machine} --workers {workers} {}", trace.display());
                let replayed = outcome(&line, workshop.path());
                assert!(replayed == recorded, "{case}, {cores} cores, {workers} workers: {replayed}\n{recorded}");
            }
        }
    }
}

#[test]
fn a_replay_on_another_number_of_cores_keeps_the_order_of_locks() {
    let workshop = directory();
    let Some(program) = built("threads_clocks", "-pthread", workshop.path()) else { return };
    let trace = workshop.path().join("trace");
    for (case, recorded, cores, predicted) in [
        // Threads request the mutex at 1, 2 and 3 ms, and each keeps it for 2 ms.
        ("mutex", 1, 4, 7.0),
        // 1 + 2 + 3 ms, and three times 2 ms, on one core.
        ("mutex", 4, 1, 12.0),
        // Four threads of 1 ms, which reach the barrier at the same time in the recording.
        ("barrier", 4, 2, 2.0),
        ("barrier", 4, 1, 4.0),
        ("barrier", 1, 4, 1.0),
        // Two of four threads of 1 ms at a time.
        ("semaphore", 4, 2, 2.0),
        ("semaphore", 4, 1, 4.0),
    ] {
        let machine = |cores: u32| format!("--nct 1,1,4 --cores-per-rank {cores}");
        let options = format!("{} --ranks 1 --compute skip --record {}", machine(recorded), trace.display());
        outcome(&format!("{options} {} -- {case}", program.display()), workshop.path());
        let replayed = outcome(&format!("{} {}", machine(cores), trace.display()), workshop.path());
        assert_eq!(ms(&replayed["predicted_ps"]), predicted, "{case}, {recorded} and {cores} cores: {replayed}");
    }
}

#[test]
fn regions_of_openmp_are_replayed() {
    let workshop = directory();
    let Some(program) = built("threads_replayed", "-fopenmp", workshop.path()) else { return };
    let trace = workshop.path().join("trace");
    let options = format!("--nct 1,1,4 --ranks 1 --cores-per-rank 4 --compute skip --record {}", trace.display());
    let recorded = outcome(&format!("{options} {}", program.display()), workshop.path());
    // 1 ms up to the barrier, iterations from 2, 3, 4 and 5 ms on, the second ones from 10 to 14 ms, and four times
    // 0.5 ms.
    assert_eq!(ms(&recorded["predicted_ps"]), 16.0, "{recorded}");
    let replayed =
        |cores: u32| outcome(&format!("--nct 1,1,4 --cores-per-rank {cores} {}", trace.display()), workshop.path());
    assert_eq!(replayed(4), recorded);
    // All blocks on one core: 4 + 10 + 36 + 2 ms.
    assert_eq!(ms(&replayed(1)["predicted_ps"]), 52.0);
}

#[test]
fn measured_threads_are_scaled_and_changed_as_other_code() {
    let workshop = directory();
    let Some(program) = built("threads_replayed", "-fopenmp", workshop.path()) else { return };
    let trace = workshop.path().join("trace");
    let machine = "--nct 1,1,4 --cores-per-rank 4 --set platform.core.scale_factor";
    outcome(&format!("{machine}=1 --ranks 1 --record {} {}", trace.display(), program.display()), workshop.path());
    let compute = |factor: u32| {
        let replayed = outcome(&format!("{machine}={factor} {}", trace.display()), workshop.path());
        let threads = replayed["per_thread"].as_array().unwrap().clone();
        threads.iter().map(|of| of["compute_ps"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let [once, twice] = [compute(1), compute(2)];
    assert_eq!(once.len(), 3);
    assert!(once.iter().zip(&twice).all(|(once, twice)| once * 2 == *twice && *once > 0), "{once:?} {twice:?}");
    let program = program.display();
    for options in [
        "--nct 1,1,4 --compute typical",
        "--nct 1,1,4 --efficiencies",
        "--nct 1,1,4 --what-if exact",
        "--nct 1,1,4 --repeats 2",
        "--platform dahu",
    ] {
        outcome(&format!("{options} --ranks 1 --cores-per-rank 4 {program}"), workshop.path());
    }
    for command in ["info", "stats", "head"] {
        let ran = simulate(&format!("trace {command} {}", trace.display()));
        assert_eq!(ran.code, Some(0), "{}", told(command, &ran));
    }
}
