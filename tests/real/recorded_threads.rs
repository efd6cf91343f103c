//! Tests of recordings of programs whose threads are in MPI at the same time (MPI_THREAD_MULTIPLE).

use serde_json::Value;

use crate::as_built::libraries;
use crate::real::file;
use crate::recorded::{for_each_mpi, outcome, record};

/// Records each case of `tests/real/recorded_threads.c`, replays the trace, and passes the case, the Outcome of the replay
/// and the program to `check`.
fn replayed(cases: &[(&str, u32)], check: impl Fn(&str, &Value, &std::path::Path) -> Result<(), String>) {
    for_each_mpi(|mpi, library, directory| {
        let program = directory.join("threads");
        mpi.compile_with(&file("tests/real/recorded_threads.c"), &program, "-pthread -w")?;
        for &(case, ranks) in cases {
            let trace = record(mpi, library, &program, ranks, case)?;
            let json = directory.join("outcome.json");
            let found = outcome(&format!("--nct {ranks},1,1 --pairs --functions {}", trace.display()), &json)?;
            check(case, &found, &program).map_err(|why| format!("{case}: {why}"))?;
        }
        Ok(())
    });
}

#[test]
fn recorded_threads_send_what_they_send_under_mcpsim() {
    libraries();
    let cases = [
        ("receiver", 3),
        ("exchange", 3),
        ("collectives", 3),
        ("creates", 3),
        ("requests", 2),
        ("pool", 2),
        ("detached", 2),
    ];
    replayed(&cases, |case, found, program| {
        let ranks = found["ranks"].as_u64().unwrap();
        let json = program.with_extension("json");
        let options =
            format!("--nct {ranks},1,4 --ranks {ranks} --ranks-per-node 1 --cores-per-rank 4 --pairs --functions");
        let line = format!("{options} --compute skip {} -- {case}", program.display());
        let own = outcome(&line, &json)?;
        for key in ["count", "bytes"] {
            assert_eq!(found["messages"][key], own["messages"][key], "{case}");
        }
        assert_eq!((&found["pairs"], &found["unreceived"]), (&own["pairs"], &own["unreceived"]), "{case}");
        // A replay executes no MPI_Finalize and no function without effect on other ranks.
        let calls = |of: &Value| -> Vec<(String, u64, u64)> {
            let number = |of: &Value| of.as_u64().unwrap();
            let name = |of: &Value| of["function"].as_str().unwrap().to_owned();
            let all = of["functions"].as_array().unwrap().iter();
            let all = all.map(|of| (name(of), number(&of["calls"]), number(&of["bytes"])));
            let mut all: Vec<_> =
                all.filter(|(name, ..)| !["MPI_Finalize", "pthread_exit"].contains(&&name[..])).collect();
            all.sort();
            all
        };
        let known = calls(found);
        let own_calls = calls(&own).into_iter().filter(|(name, ..)| known.iter().any(|(other, ..)| name == other));
        assert_eq!(known, own_calls.collect::<Vec<_>>(), "{case}");
        let threads = |of: &Value| -> Vec<(u64, u64)> {
            let all = of["per_thread"].as_array().unwrap().iter();
            all.map(|of| (of["rank"].as_u64().unwrap(), of["thread"].as_u64().unwrap())).collect()
        };
        assert_eq!(threads(found), threads(&own), "{case}");
        Ok(())
    });
}

#[test]
fn threads_that_begin_before_mpi_or_outlive_it_are_recorded() {
    // A thread of each rank sends a message, and the ranks execute a barrier. Other messages create communicators.
    let messages = |found: &Value| found["messages"]["count"].as_u64().unwrap();
    replayed(&[("none", 2), ("early", 2), ("outlives", 2)], |case, found, _| {
        let thread = found["per_thread"].as_array().and_then(|all| all.first()).map(|of| of["thread"].as_u64());
        let is_right = match case {
            "none" => thread.is_none() && messages(found) == 4,
            "early" => thread == Some(Some(1)) && messages(found) == 8,
            _ => thread == Some(Some(1)) && messages(found) == 4,
        };
        if is_right { Ok(()) } else { Err(found.to_string()) }
    });
}

#[test]
fn mpi_finalize_waits_until_threads_have_recorded_their_last_calls() {
    for_each_mpi(|mpi, library, directory| {
        let program = directory.join("late");
        mpi.compile_with(&file("tests/real/recorded_late.c"), &program, "-pthread -rdynamic -w")?;
        let trace = record(mpi, library, &program, 2, "")?;
        let found = outcome(&format!("--nct 2,1,1 {}", trace.display()), &directory.join("outcome.json"))?;
        // A message of each thread, and two messages of the barrier.
        if found["messages"]["count"] == 4 { Ok(()) } else { Err(found.to_string()) }
    });
}
