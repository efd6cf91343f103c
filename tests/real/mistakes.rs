//! Tests of programs with mistakes in MPI calls. The mistakes are reported and have no other effect on the run.

use serde_json::Value;

use crate::real;
use crate::support::Ran;

/// Compiles `tests/real/SOURCE` and runs the program with these options of mcpsim and these arguments. Returns the run
/// and its JSON result.
fn ran(source: &str, options: &str, arguments: &str) -> (Ran, Value) {
    let directory = real::directory();
    let [program, json] = ["program", "out.json"].map(|name| directory.path().join(name));
    real::compile(&real::file("tests/real").join(source), "-g -O1", &program).unwrap_or_else(|why| panic!("{why}"));
    let (file, program) = (json.display(), program.display());
    let ran = real::simulate(&format!("--compute skip --json {file} {options} {program} -- {arguments}"));
    let text = std::fs::read_to_string(&json).unwrap_or_default();
    (ran, serde_json::from_str(&text).unwrap_or_default())
}

#[test]
fn a_forgotten_collective_is_reported_and_its_stack_stays_until_it_ends() {
    let functions = [("allreduce", "MPI_Iallreduce"), ("allgather", "MPI_Iallgather"), ("alltoall", "MPI_Ialltoall")];
    for (mode, function) in functions.into_iter().chain([("bcast", "MPI_Ibcast")]) {
        for options in ["--nct 2,1,2", "--nct 4,1,1 --workers 2"] {
            let (ran, json) = ran("forgotten.c", options, mode);
            assert_eq!((ran.code, ran.stdout.lines().next()), (Some(0), Some("done")), "{mode}: {}", ran.stderr);
            let note = format!("note: never completed: 1 request, {function}, rank 0 and 3 others\n");
            assert!(ran.stderr.contains(&note), "{}", ran.stderr);
            let mistake = &json["mistakes"][3];
            let found = (&mistake["rank"], &mistake["kind"], &mistake["call"]);
            assert_eq!(found, (&3.into(), &"unfinished_request".into(), &function.into()), "{json}");
        }
    }
}

#[test]
fn other_ranks_get_the_data_of_a_forgotten_collective() {
    let (ran, json) = ran("forgotten.c", "--nct 2,1,2 --check", "others");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let mut lines: Vec<&str> = ran.stdout.lines().filter(|line| !line.starts_with(' ')).collect();
    lines.sort_unstable();
    assert!(lines.iter().filter(|line| **line == "10").count() == 3, "{}", ran.stdout);
    let mistakes = json["mistakes"].as_array().unwrap();
    assert_eq!(mistakes.len(), 1, "{json}");
    assert_eq!(mistakes[0]["place"], "forgotten.c:22");
}

#[test]
fn a_window_on_the_stack_may_be_reached_after_its_rank_has_ended() {
    let (ran, _) = ran("forgotten.c", "--nct 2,1,2", "window");
    assert_eq!((ran.code, ran.stdout.lines().next()), (Some(0), Some("done")), "{}", ran.stderr);
}

#[test]
fn ranks_learn_their_places_in_the_simulated_machine() {
    let (ran, _) = ran("launched.c", "--nct 2,1,3 --ranks 5", "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let mut lines: Vec<&str> = ran.stdout.lines().filter(|line| line.contains(" of 3, ")).collect();
    lines.sort_unstable();
    let expected = [
        "0: 3 of 3, 1 1; 0/5 0/3, 0/5 0, 0/5 0 0/2",
        "1: 3 of 3, 1 1; 1/5 1/3, 1/5 1, 1/5 1 0/2",
        "2: 3 of 3, 1 1; 2/5 2/3, 2/5 2, 2/5 2 0/2",
        "3: 3 of 3, 1 1; 3/5 0/2, 3/5 0, 3/5 0 1/2",
        "4: 3 of 3, 1 1; 4/5 1/2, 4/5 1, 4/5 1 1/2",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn calls_that_differ_between_ranks_are_listed_with_rank_call_and_place() {
    let expected = [
        ("function", "collective_mismatch", "MPI_Bcast", "rank 0 calls MPI_Reduce at mistakes.c:22"),
        ("form", "collective_mismatch", "MPI_Ibcast", "rank 0 calls MPI_Bcast at mistakes.c:29"),
        ("root", "collective_mismatch", "MPI_Bcast", "root 1, but root 0 at rank 0 in MPI_Bcast at mistakes.c:31"),
        ("operator", "collective_mismatch", "MPI_Allreduce", "operator MPI_MAX, but MPI_SUM at rank 0"),
        ("alike", "type_mismatch", "MPI_Bcast", "2 MPI_INT, but 1 MPI_DOUBLE at rank 0"),
        ("gather", "type_mismatch", "MPI_Gather", "expects 1 MPI_DOUBLE from rank 1, which sends 2 MPI_INT"),
        ("gatherv", "type_mismatch", "MPI_Gatherv", "expects 1 MPI_DOUBLE from rank 1, which sends 2 MPI_INT"),
        ("message", "type_mismatch", "MPI_Recv", "1 MPI_DOUBLE from rank 0 of MPI_COMM_WORLD, received as 2 MPI_INT"),
        ("leak", "leak", "MPI_Comm_group", "1 group"),
    ];
    for (mode, kind, call, text) in expected {
        let (ran, json) = ran("mistakes.c", "--nct 1,1,2 --check", mode);
        assert!(ran.code == Some(1) || ran.code == Some(3), "{mode}: {}", ran.stderr);
        let mistakes = json["mistakes"].as_array().unwrap_or_else(|| panic!("{mode}: {}", ran.stderr));
        let found = &mistakes[0];
        assert_eq!((&found["kind"], &found["call"]), (&kind.into(), &call.into()), "{mode}: {json}");
        assert!(found["text"].as_str().unwrap().starts_with(text), "{json}");
        assert_eq!(found["rank"], u64::from(!mode.starts_with("gather")), "{json}");
        assert!(found["place"].as_str().unwrap().starts_with("mistakes.c:"), "{json}");
    }
    let (ran, json) = ran("mistakes.c", "--nct 2,1,2 --check", "none");
    assert_eq!((ran.code, &json["mistakes"]), (Some(0), &Value::Null), "{}", ran.stderr);
}

#[test]
fn sends_without_buffers_show_a_deadlock_and_list_it() {
    let (hidden, _) = ran("mistakes.c", "--nct 1,1,2", "hidden");
    assert_eq!(hidden.code, Some(0), "{}", hidden.stderr);
    let (shown, json) = ran("mistakes.c", "--nct 1,1,2 --buffering none", "hidden");
    assert_eq!(shown.code, Some(3), "{}", shown.stderr);
    let mistakes = json["mistakes"].as_array().unwrap();
    assert_eq!((mistakes.len(), &mistakes[0]["kind"]), (2, &"deadlock".into()), "{json}");
}

#[test]
fn a_quiet_run_prints_the_mistakes_that_its_exit_code_stands_for() {
    let (ran, _) = ran("mistakes.c", "--nct 1,1,2 --check --quiet", "leak");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("note: not freed: 1 group, MPI_Comm_group at mistakes.c:"), "{}", ran.stderr);
}

#[test]
fn a_put_to_bytes_that_another_operation_of_its_epoch_reaches_is_reported() {
    let window = "of window 0x";
    let fence = ("MPI_Put", "bytes 8 to 11 ", " at rank 0, which MPI_Put of rank ");
    let get =
        ("MPI_Get", "bytes 4 to 7 ", " at rank 0, which MPI_Put of rank 1 at conflicts.c:8 reaches in the same epoch");
    let put = ("MPI_Put", "bytes 4 to 7 ", " at rank 0, which MPI_Get of rank 1 at conflicts.c:");
    let cases = [("fence", fence), ("lock_get", get), ("lock_put", put), ("fence_get", put)];
    let cases = cases.map(|(mode, conflict)| (mode, Some(conflict)));
    let sound = ["apart", "strided", "sums", "turns", "lock_exclusive", "lock_flush", "lock_waited", "lock_request"];
    let sound = sound.map(|mode| (mode, None));
    for (mode, conflict) in cases.into_iter().chain(sound) {
        for options in ["--nct 3,1,1 --check", "--nct 3,1,1 --check --workers 2"] {
            let (ran, json) = ran("conflicts.c", options, mode);
            assert_eq!(ran.code, Some(i32::from(conflict.is_some())), "{mode}: {}", ran.stderr);
            let Some((call, bytes, other)) = conflict else { continue };
            let mistake = &json["mistakes"][0];
            assert_eq!((&mistake["kind"], &mistake["call"]), (&"access_conflict".into(), &call.into()), "{json}");
            assert!(mistake["place"].as_str().unwrap().starts_with("conflicts.c:"), "{json}");
            for part in [bytes, window, other] {
                assert!(mistake["text"].as_str().unwrap().contains(part), "{mode}: {json}");
            }
        }
    }
}
