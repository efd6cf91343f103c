//! Tests of random applications on random machines: the Outcome with all optional parts, and the trace, are equal for
//! 1, 2 and 3 workers. `./check` runs a few seeds, `./check full` runs many.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

use mcpsim::engine::{Processes, Progress};
use mcpsim::run::{Conduct, Details, Given, RunRequest, silent};
use serde_json::Value;

use crate::random::{Case, KEYS};
use crate::tools::is_full;

/// Statements of the application language and the keys of each statement, as error messages list them. All random
/// applications together must use all these statements and keys.
const STATEMENTS: [(&str, &str); 22] = [
    ("send", "to bytes tag comm mode"),
    ("isend", "to bytes tag comm mode request"),
    ("recv", "from bytes tag comm source_as tag_as bytes_as"),
    ("irecv", "from bytes tag comm request source_as tag_as bytes_as"),
    ("sendrecv", "to bytes tag from recv_tag recv_bytes comm mode source_as tag_as bytes_as"),
    ("probe", "from tag comm source_as tag_as bytes_as"),
    ("iprobe", "from tag comm found_as source_as tag_as bytes_as"),
    ("compute", "time flops bytes instructions working_set times normal lognormal uniform exponential gamma weibull"),
    ("waitany", "requests index_as source_as tag_as bytes_as"),
    ("test", "request requests done_as"),
    ("wait", ""),
    ("waitall", ""),
    ("for", "from to step do"),
    ("repeat", "do"),
    ("while", "do"),
    ("if", "then else"),
    ("set", ""),
    ("call", "with"),
    ("time", "at do"),
    ("barrier", ""),
    ("alltoallv", "comm algorithm bytes"),
    ("ireduce", "comm algorithm bytes root request"),
];

fn all_details() -> Details {
    Details {
        per_rank: true,
        functions: true,
        sites: true,
        critical_path: true,
        load_over_time: true,
        latency_tolerance: true,
        timeline: true,
        host_profile: false,
        task_logs: false,
    }
}

/// Returns the Outcome without the host part, and the trace, or returns the error.
fn predicted(request: &RunRequest, workers: u32, details: Details) -> Result<(Value, Option<Vec<u8>>), String> {
    let recorded = details != Details::default();
    let given = Given { workers: Some(workers), pairs: Some(recorded), ..Given::default() };
    let request = RunRequest { details, ..request.clone() }.with(given);
    let (progress, processes, console) = (Progress::default(), Processes::one(), silent());
    let conduct = Conduct { progress: &progress, processes: &processes, recorded, console: &console };
    let run = || request.resolve()?.run_in(conduct);
    let prediction = run().map_err(|error| error.to_string())?.expect("the first process has the result");
    let mut outcome = serde_json::to_value(prediction.outcome).unwrap();
    outcome.as_object_mut().unwrap().remove("host");
    Ok((outcome, prediction.trace))
}

/// Number of random applications in every check, and number of additional random applications in `./check full`.
const SEEDS: u64 = 24;
const MORE_SEEDS: u64 = 200;

#[test]
fn random_runs_are_the_same_for_any_number_of_workers() {
    let directory = tempfile::tempdir().unwrap();
    let seeds = if is_full("176 more random runs") { MORE_SEEDS } else { SEEDS };
    let mut failed = 0;
    for seed in 0..seeds {
        let case = Case::new(seed, directory.path());
        let request = case.request(directory.path()).unwrap();
        let plain = predicted(&request, 1, Details::default());
        let whole = predicted(&request, 1, all_details());
        for workers in [2, 3] {
            for (details, expected) in [(Details::default(), &plain), (all_details(), &whole)] {
                let found = predicted(&request, workers, details);
                assert!(
                    found == *expected,
                    "seed {seed}, {workers} workers, {details:?}: {case:#?}\n{}",
                    apart(&found, expected)
                );
            }
        }
        match (&plain, &whole) {
            (Ok((plain, _)), Ok((whole, _))) => {
                assert_eq!(plain["predicted_ps"], whole["predicted_ps"], "seed {seed}: {case:#?}");
            }
            (Err(plain), Err(whole)) => {
                assert_eq!(plain, whole, "seed {seed}");
                println!("seed {seed}: {plain}");
                failed += 1;
            }
            _ => panic!("seed {seed}: {plain:?} but {:?}", whole.as_ref().err()),
        }
    }
    assert!(failed * 10 <= seeds, "{failed} of {seeds} random runs have no prediction");
}

/// Returns the fields in which the Outcomes of two runs differ.
fn apart(
    found: &Result<(Value, Option<Vec<u8>>), String>,
    expected: &Result<(Value, Option<Vec<u8>>), String>,
) -> String {
    match (found, expected) {
        (Ok((found, trace)), Ok((expected, reference))) => {
            let keys = expected.as_object().unwrap().keys().chain(found.as_object().unwrap().keys());
            let keys = keys.filter(|key| found[key.as_str()] != expected[key.as_str()]);
            let parts: BTreeSet<String> = keys
                .map(|key| {
                    format!("{key}: {:.400} instead of {:.400}", found[key].to_string(), expected[key].to_string())
                })
                .collect();
            format!("{parts:#?}, equal traces: {}", trace == reference)
        }
        _ => format!("{:?} instead of {:?}", found.as_ref().err(), expected.as_ref().err()),
    }
}

/// Returns the keys that the message `error` lists as expected.
fn listed(error: &str) -> Vec<String> {
    let list = error.split_once("expected ").map_or("", |(_, list)| list.split(" in --set").next().unwrap_or_default());
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn random_runs_use_every_statement_and_every_key_of_a_machine() {
    let directory = tempfile::tempdir().unwrap();
    let cases: Vec<Case> = (0..200).map(|seed| Case::new(seed, directory.path())).collect();
    let apps: String = cases.iter().map(|case| case.app.as_str()).collect();
    for (statement, keys) in STATEMENTS {
        let is_used = |key: &str| apps.contains(&format!("{key} = "));
        assert!(
            is_used(statement) || apps.contains(&format!("\"{statement}\"")),
            "no random application has {statement}"
        );
        keys.split_whitespace().for_each(|key| assert!(is_used(key), "{statement}: {key} is not used"));
    }
    let mut missing = Vec::new();
    // Keys that a platform file accepts, taken from the error messages for unknown keys.
    let taken = Mutex::new(BTreeSet::new());
    cases
        .iter()
        .flat_map(|case| &case.sets)
        .flat_map(|sets| sets.lines())
        .for_each(|set| _ = taken.lock().unwrap().insert(set.split('=').next().unwrap().to_owned()));
    let taken = taken.into_inner().unwrap();
    for (table, _) in KEYS.iter().filter(|(table, _)| *table != "collectives") {
        let of: &[&str] = match *table {
            "level" => &["platform.inter_node.", "platform.inter_cmp.", "platform.intra_cmp."],
            "" => &["platform."],
            other => &[&format!("platform.{other}.")],
        };
        let error = unknown(directory.path(), of[0]);
        let keys = listed(&error);
        assert!(keys.len() > 1, "{of:?}: {error}");
        for key in keys {
            let used = of.iter().any(|table| {
                let key = format!("{table}{key}");
                taken.iter().any(|set| *set == key || set.starts_with(&format!("{key}.")))
            });
            if !used {
                missing.push(format!("{}{key}", of[0]));
            }
        }
    }
    assert!(missing.is_empty(), "no random machine has {missing:?}");
}

/// Returns the error message for an unknown key in a table.
fn unknown(directory: &Path, table: &str) -> String {
    let case = Case { app: "main = []".to_owned(), sets: vec![format!("{table}zzzzzzzz=1")] };
    case.request(directory)
        .and_then(|request| request.resolve())
        .err()
        .map_or_else(String::new, |error| error.to_string())
}
