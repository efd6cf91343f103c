//! Tests of threads of ranks that are processes. Threads state their times, so no prediction depends on the host.

use std::path::Path;

use crate::as_built::libraries;
use crate::real::{directory, file, real_mpis, run, told};

/// Returns the output of `program` with the argument `case` without the times of clock queries.
fn output(program: &Path, options: &str, case: &str) -> String {
    let ran = run(program, options, case);
    assert_eq!(ran.code, Some(0), "{}", told(case, &ran));
    ran.stdout
}

#[test]
fn a_block_ends_when_the_last_thread_has_computed() {
    libraries();
    let workshop = directory();
    for mpi in real_mpis() {
        let built = workshop.path().join(mpi.compiler());
        mpi.compile_with(&file("tests/real/threads_compute.c"), &built, "-fopenmp").unwrap();
        for (cores, case, seconds) in [
            // Threads of 4, 1, 2 and 3 ms, and then the main thread: 1 ms.
            (4, "join", "0.005000"),
            // 11.5 ms of work on two cores and on one core.
            (2, "join", "0.005750"),
            (1, "join", "0.011500"),
            (4, "successive", "0.010000"),
            // 1 ms, then 1 + 2 + 1 ms in two threads, one of which waits for the other.
            (4, "chain", "0.005000"),
            (1, "chain", "0.006000"),
            // 1 ms, then 3 ms of the thread that calls MPI, then 1 ms.
            (2, "serialized", "0.005000"),
            (2, "openmp", "0.005000"),
            (4, "openmp", "0.005000"),
        ] {
            let text = output(&built, &format!("--nct 1,1,4 --ranks 1 --cores-per-rank {cores}"), case);
            assert!(text.contains("provided: 1\n"), "{text}");
            assert!(text.contains(&format!("{case}: {seconds} s\n")), "{case} on {cores} cores: {text}");
            assert!(case != "openmp" || text.contains(&format!("threads: {cores}\n")), "{text}");
            assert!(case != "serialized" || text.contains("main thread: 0\n"), "{text}");
        }
    }
}
