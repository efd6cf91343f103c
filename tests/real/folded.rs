//! Tests of folded memory, which all ranks have on the same pages.

use std::path::Path;
use std::process::Command;

use crate::real;
use serde_json::Value;

/// Runs a program and returns its output and the JSON of the run.
pub fn ran(program: &Path, options: &str, arguments: &str) -> (String, Value) {
    let directory = real::directory();
    let json = directory.path().join("json");
    let line = format!("{options} --json {} {} {arguments}", json.display(), program.display());
    let ran = real::simulate(&line);
    assert_eq!(ran.code, Some(0), "{}", real::told(&line, &ran));
    (ran.stdout + &ran.stderr, serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap())
}

#[test]
fn folded_blocks_have_common_pages_and_messages_take_the_same_time() {
    let directory = real::directory();
    let program = directory.path().join("folded");
    real::compile(&real::file("tests/real/folded.c"), "-O1", &program).unwrap();
    let mut times = Vec::new();
    for (share, arguments, marked) in [("none", "", "apart"), ("marked", "", "in common"), ("1MiB", "x", "in common")] {
        for workers in [1, 2] {
            let options = format!("--nct 2,1,1 --compute skip --workers {workers} --share-memory {share}");
            let (said, json) = ran(&program, &options, arguments);
            assert_eq!(said.matches(": 0 mistakes").count(), 2, "{options}: {said}");
            assert_eq!(said.matches(&format!("marked blocks {marked}")).count(), 2, "{options}: {said}");
            assert_eq!(json["host"]["peak_rss_bytes"] == 0, share != "none", "{options}");
            let folded = &json["program"]["folded_memory"];
            // Each rank has two marked blocks of 1000 bytes. With the option, four blocks of 3 MiB exist while `realloc`
            // replaces one of them by a block of 9 MiB, which maps 16 MiB.
            let (bytes, host) = match share {
                "none" => (Value::Null, Value::Null),
                "marked" => ((2 * 2 * 1000).into(), 4096.into()),
                _ => ((2 * (21 << 20)).into(), (16 << 20).into()),
            };
            assert_eq!((&folded["bytes"], &folded["host_bytes"]), (&bytes, &host), "{options}: {folded}");
            assert_eq!(said.contains("results of the program are wrong"), share != "none", "{options}: {said}");
            times.push((json["predicted_ps"].clone(), json["messages"].clone(), json["mean_parts"].clone()));
        }
    }
    assert!(times.iter().all(|time| *time == times[0]), "{times:?}");
}

/// The arrays of the ranks have 64 GiB together. Without folding, a reduction, a copy of a block or a message would
/// exceed the limit of private memory.
#[test]
fn arrays_larger_than_the_host_can_be_folded() {
    let directory = real::directory();
    let [source, program] = ["large.cc", "large"].map(|name| directory.path().join(name));
    let code = "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); const long n = 1l << 31;\n\
        double *a = new double[n]; for (long i = 0; i < n; i += 1 << 24) a[i] = i;\n\
        MPI_Allreduce(MPI_IN_PLACE, a, 1 << 28, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);\n\
        MPI_Reduce(a, a + (1 << 28), 1 << 28, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);\n\
        MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, a, 1 << 26, MPI_DOUBLE, MPI_COMM_WORLD);\n\
        MPI_Bcast(a, 1 << 30, MPI_INT, 0, MPI_COMM_WORLD);\n\
        delete[] a; return MPI_Finalize(); }\n";
    std::fs::write(&source, code).unwrap();
    real::compile(&source, "-O1", &program).unwrap();
    let json = directory.path().join("json");
    let line =
        format!("--nct 4,1,1 --compute skip --share-memory 1GiB --json {} {}", json.display(), program.display());
    let mcpsim = real::simulator(&line);
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -d 1500000; exec \"$0\" \"$@\""]).arg(mcpsim.get_program()).args(mcpsim.get_args());
    let ran = real::limited(&command);
    assert_eq!(ran.code, Some(0), "{}", real::told(&line, &ran));
    let json: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(json["host"]["peak_rss_bytes"], 0);
    let folded = &json["program"]["folded_memory"];
    assert_eq!((&folded["bytes"], &folded["host_bytes"]), (&(1u64 << 36).into(), &(64 << 20).into()));
}

#[test]
fn mistakes_with_folded_memory_are_named() {
    let directory = real::directory();
    let [source, program] = ["free.c", "free"].map(|name| directory.path().join(name));
    let code = "#include <mpi.h>\n#include <stdlib.h>\nint main(int c, char **v) { MPI_Init(&c, &v);\n\
        char *a = malloc(5000); free(a + 1); return MPI_Finalize(); }\n";
    std::fs::write(&source, code).unwrap();
    real::compile(&source, "-O1 -w", &program).unwrap();
    let program = program.display();
    for (options, code, text) in [
        ("--share-memory 4KiB", 1, "is no block of folded memory that is in use: expected the start of a block"),
        ("--share-memory 4KiB --check-heap", 2, "--share-memory and --check-heap: expected one of them"),
        ("--share-memory 100", 2, "expected marked, none or a size from 4 KiB on such as \"1 MiB\""),
        ("--set run.share_memory=\"all\"", 2, "\"marked\", \"none\" or a size from 4 KiB on such as \"1 MiB\""),
    ] {
        let ran = real::simulate(&format!("--nct 1,1,1 {options} {program}"));
        assert_eq!(ran.code, Some(code), "{}", real::told(options, &ran));
        assert!(ran.stderr.contains(text), "{options}: {}", ran.stderr);
    }
}
