//! Tests of difficult cases for the recording library: child processes, waits with very many requests, communicators
//! that are created while recording is off, Fortran modules, and functions of recent MPI versions.

use std::fs;

use serde_json::Value;

use crate::real;
use crate::recorded::{for_each_mpi, outcome, record};

/// Records `tests/real/apart.c` with the argument `what`, replays the trace, and calls `check` with the Outcome.
fn replayed(what: &str, ranks: u32, check: impl Fn(&str, &Value)) {
    for_each_mpi(|mpi, library, directory| {
        let program = directory.join("apart");
        mpi.compile(&real::file("tests/real/apart.c"), &program)?;
        let trace = record(mpi, library, &program, ranks, what)?;
        let json = directory.join("outcome.json");
        check(mpi.name, &outcome(&format!("--nct {ranks},1,1 --functions {}", trace.display()), &json)?);
        Ok(())
    });
}

fn calls(outcome: &Value, name: &str) -> u64 {
    let functions = outcome["functions"].as_array().unwrap();
    functions.iter().find(|one| one["function"] == name).map_or(0, |one| one["calls"].as_u64().unwrap())
}

#[test]
fn communicators_made_while_recording_is_off_are_known_and_cost_nothing() {
    replayed("communicators", 4, |mpi, outcome| {
        let found = ["MPI_Send", "MPI_Allreduce", "MPI_Comm_dup"].map(|name| calls(outcome, name));
        assert_eq!(found, [2, 4, 0], "{mpi}: {outcome}");
    });
}

#[test]
fn communicators_with_the_same_first_rank_are_told_apart() {
    replayed("families", 4, |mpi, outcome| {
        assert_eq!((calls(outcome, "MPI_Send"), calls(outcome, "MPI_Barrier")), (2, 8), "{mpi}: {outcome}");
    });
}

#[test]
fn a_child_that_ends_writes_nothing_into_its_parents_log() {
    replayed("children", 2, |mpi, outcome| assert_eq!(outcome["messages"]["count"], 2, "{mpi}: {outcome}"));
}

#[test]
fn a_wait_for_any_number_of_requests_is_recorded() {
    replayed("many", 2, |mpi, outcome| {
        let found = ["MPI_Isend", "MPI_Irecv", "MPI_Waitall"].map(|name| calls(outcome, name));
        assert_eq!(found, [20_000, 20_000, 2], "{mpi}");
    });
}

#[test]
fn a_rank_whose_log_ended_makes_communicators_with_the_others() {
    for_each_mpi(|mpi, library, directory| {
        let program = directory.join("apart");
        mpi.compile(&real::file("tests/real/apart.c"), &program)?;
        let trace = directory.join("alone.trace");
        let ran = mpi.run_with(&program, 2, "alone", &[("LD_PRELOAD", library), ("MCPSIM_TRACE", &*trace)]);
        let told = ran.stderr.matches("the trace ends at this call, and the program continues").count();
        if ran.code != Some(0) || ran.stdout != "done\n" || told != 1 {
            return Err(real::told("alone", &ran));
        }
        Ok(())
    });
}

#[test]
fn what_came_late_to_the_standard_is_refused_by_its_name() {
    let refused = [
        ("persistent", "the program started a persistent request that was created in a way that is not recorded"),
        ("exchange", "the program called MPI_Isendrecv, which cannot be replayed"),
    ];
    for_each_mpi(|mpi, library, directory| {
        let program = directory.join("apart");
        mpi.compile(&real::file("tests/real/apart.c"), &program)?;
        for (what, wanted) in refused {
            let trace = directory.join("late.trace");
            let variables = [("LD_PRELOAD", library), ("MCPSIM_TRACE", &*trace)];
            let ran = mpi.run_with(&program, 2, what, &variables);
            // The program prints this output if the MPI implements version 3 of the standard and lacks the functions.
            if ran.stdout == "not here\ndone\n" {
                continue;
            }
            let told = ran.stderr.matches("the trace ends at this call, and the program continues").count();
            if ran.code != Some(0) || ran.stdout != "done\n" || told != 1 {
                return Err(real::told(what, &ran));
            }
            let replayed = real::simulate(&format!("--nct 2,1,1 {}", trace.display()));
            if replayed.code != Some(0) || !replayed.stderr.contains(wanted) {
                return Err(real::told(what, &replayed));
            }
            fs::remove_file(&trace).map_err(|error| error.to_string())?;
        }
        Ok(())
    });
}

#[test]
fn the_beginning_of_a_run_is_replayed_up_to_the_call_that_ends_its_recording() {
    let cases = [
        ("window", 1, 2, "the program called MPI_Win_create, which cannot be replayed; a replay executes the first "),
        (
            "allgatherv",
            0,
            0,
            "the program called MPI_Ineighbor_allgatherv, which cannot be replayed; a replay executes the first ",
        ),
        (
            "alltoallw",
            0,
            0,
            "the program called MPI_Ineighbor_alltoallw, which cannot be replayed; a replay executes the first ",
        ),
        ("ends", 1, 2, " before MPI_Finalize; a replay executes the first "),
        (
            "intercomm",
            1,
            2,
            "the program called MPI_Intercomm_create, which cannot be replayed; a replay executes the first ",
        ),
        ("spawn", 1, 2, "the program called MPI_Comm_spawn, which cannot be replayed; a replay executes the first "),
    ];
    for_each_mpi(|mpi, library, directory| {
        let program = directory.join("apart");
        mpi.compile(&real::file("tests/real/apart.c"), &program)?;
        for (what, sends, barriers, note) in cases {
            // MPICH under Debian's launcher cannot spawn. The first rank that fails ends all others, with their logs.
            if what == "spawn" && !mpi.is_open_mpi {
                continue;
            }
            let [trace, json] = ["begun.trace", "begun.json"].map(|name| directory.join(name));
            let variables = [("LD_PRELOAD", library), ("MCPSIM_TRACE", &*trace)];
            let ran = mpi.run_with(&program, 2, what, &variables);
            if ["ends", "intercomm", "spawn"].contains(&what) {
                let merged = real::simulate(&format!("trace merge {0}.parts -o {0}", trace.display()));
                if merged.code != Some(0) {
                    return Err(real::told(what, &merged));
                }
            } else if ran.code != Some(0) || ran.stdout != "done\n" {
                return Err(real::told(what, &ran));
            }
            let line = format!("--nct 2,1,1 --functions --json {} {}", json.display(), trace.display());
            let replayed = real::simulate(&line);
            if replayed.code != Some(0) || !replayed.stderr.contains(note) {
                return Err(real::told(what, &replayed));
            }
            let text = fs::read_to_string(&json).map_err(|error| error.to_string())?;
            let outcome: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
            let found = ["MPI_Send", "MPI_Barrier"].map(|name| calls(&outcome, name));
            assert_eq!(found, [sends, barriers], "{} {what}: {outcome}", mpi.name);
            let checked = real::simulate(&format!("trace check --nct 2,1,1 {}", trace.display()));
            assert!(checked.stderr.ends_with("expected the trace of a complete run\n"), "{}", checked.stderr);
            fs::remove_file(&trace).map_err(|error| error.to_string())?;
        }
        Ok(())
    });
}

#[test]
fn programs_that_use_mpi_f08_are_recorded() {
    for_each_mpi(|mpi, library, directory| {
        let program = directory.join("f08");
        let Some(compiled) = mpi.compile_fortran(&real::file("tests/real/recorded_f08.f90"), &program) else {
            return Ok(());
        };
        compiled?;
        let trace = record(mpi, library, &program, 4, "")?;
        let ran = real::simulate(&format!("trace stats {}", trace.display()));
        let line = |line: &str| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
        let found: Vec<String> = ran.stdout.lines().skip(1).map(line).collect();
        let wanted = [
            "MPI_Allreduce 4 160",
            "MPI_Barrier 4 0",
            "MPI_Bcast 4 160",
            "MPI_Cart_create 4 0",
            "MPI_Comm_dup 4 0",
            "MPI_Finalize 4 0",
            "MPI_Init 4 0",
            "MPI_Irecv 16 0",
            "MPI_Isend 16 640",
            "MPI_Sendrecv 4 32",
            "MPI_Test 4 0",
            "MPI_Wait 4 0",
            "MPI_Waitall 12 0",
        ];
        if found != wanted {
            return Err(format!("{found:#?}"));
        }
        outcome(&format!("--nct 4,1,1 {}", trace.display()), &directory.join("outcome.json")).map(|_| ())
    });
}
