//! Tests of ranks that damage the heap, which all ranks share. `--check-heap` names the rank that caused the damage.

use serde_json::Value;

use crate::real;
use crate::support::Ran;

/// Runs `tests/real/heap.c` in the mode `mode` on three ranks, with these options of mcpsim. Returns the run and its
/// JSON result.
fn ran(options: &str, mode: &str) -> (Ran, Value) {
    let directory = real::directory();
    let [program, json] = ["program", "out.json"].map(|name| directory.path().join(name));
    real::compile(&real::file("tests/real/heap.c"), "-g -O1 -w", &program).unwrap_or_else(|why| panic!("{why}"));
    let (file, program) = (json.display(), program.display());
    let ran = real::simulate(&format!("--compute skip --json {file} --nct 3,1,1 {options} {program} -- {mode}"));
    let text = std::fs::read_to_string(&json).unwrap_or_default();
    (ran, serde_json::from_str(&text).unwrap_or_default())
}

#[test]
fn a_write_beside_a_block_or_to_a_freed_one_ends_the_rank_that_writes() {
    let block = "the 100 bytes of rank 1's malloc at heap.c:18";
    let cases = [
        (
            "freed",
            4,
            format!("a write to 0x{{}}, byte 7 of {block}, which it freed by free at heap.c:22, after MPI_Barrier"),
        ),
        ("past", 4, format!("a write to 0x{{}}, 13 bytes past {block}, after MPI_Barrier")),
        ("read", 4, format!("a read of 0x{{}}, 31 bytes past {block}, after MPI_Barrier")),
        ("before", 4, format!("a write to 0x{{}}, 4000 bytes before {block}, after MPI_Barrier")),
        ("twice", 1, format!("free at heap.c:85: {block}, which it freed by free at heap.c:36")),
        ("inside", 1, format!("free at heap.c:85: byte 4 of {block}: expected the first byte")),
        (
            "receive",
            4,
            "a write to 0x{}, 9 bytes past the 40 bytes of rank 1's calloc at heap.c:39, in MPI_Recv".to_owned(),
        ),
        (
            "window",
            4,
            format!(
                "a write to 0x{{}}, 13 bytes past {block}: MPI_Put of rank 0 reached byte 112 of 4096 bytes at 0x{{}}, \
                 which the rank gave in MPI_Win_create at heap.c:49"
            ),
        ),
    ];
    for (mode, code, text) in cases {
        for workers in ["", "--workers 2"] {
            let (ran, _) = ran(&format!("--check-heap {workers}"), mode);
            assert_eq!(ran.code, Some(code), "{mode}: {}", ran.stderr);
            assert!(ran.stderr.contains("error: rank 1 "), "{mode}: {}", ran.stderr);
            let mut rest = ran.stderr.as_str();
            for part in text.split("{}") {
                let at = rest.find(part).unwrap_or_else(|| panic!("{mode}: no \"{part}\" in {}", ran.stderr));
                rest = &rest[at + part.len()..];
            }
        }
    }
}

#[test]
fn bytes_between_a_block_and_its_trap_are_compared() {
    for (mode, range) in [("padding", "bytes 101 to 103"), ("left", "byte -2")] {
        let (ran, json) = ran("--check-heap", mode);
        assert_eq!(ran.code, Some(1), "{mode}: {}", ran.stderr);
        let note = format!("note: damaged heap: {range} of a block of 100 bytes, malloc at heap.c:18, rank 1\n");
        assert!(ran.stderr.contains(&note), "{}", ran.stderr);
        let found = &json["mistakes"][0];
        assert_eq!((&found["kind"], &found["rank"]), (&"heap_damage".into(), &1.into()), "{json}");
    }
    let (ran, _) = ran("--check-heap", "local");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let note = "damaged heap: byte 61 of a block of 60 bytes, MPI_Win_allocate at heap.c:58, rank 1\n";
    assert!(ran.stderr.contains(note), "{}", ran.stderr);
}

#[test]
fn a_program_without_such_mistakes_runs_as_without_the_check() {
    let (ran, json) = ran("--check-heap", "sound");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let lines: Vec<&str> = ran.stdout.lines().take(3).collect();
    assert_eq!(lines, ["100000 bytes"; 3], "{}", ran.stderr);
    assert_eq!(json["mistakes"], Value::Null);
}

#[test]
fn a_crash_that_may_come_of_the_shared_heap_says_so() {
    let (ran, _) = ran("", "twice");
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(ran.stderr.contains("all ranks share one heap: --check-heap finds a rank that"), "{}", ran.stderr);
}

#[test]
fn figures_of_the_heap_and_users_are_not_a_ranks() {
    let (refused, _) = ran("", "figures");
    assert_eq!(refused.code, Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("mallinfo2: ranks as fibers do not have this function"), "{}", refused.stderr);
    let (given, _) = ran("--check-heap", "figures");
    assert_eq!(given.stdout.lines().next(), Some("0 100"), "{}", given.stderr);
    for (how, function) in [("user", "setuid"), ("call", "setuid")] {
        let (ran, _) = ran("", how);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(
            ran.stderr.contains(&format!("{function}: ranks as fibers do not have this function")),
            "{}",
            ran.stderr
        );
    }
}
