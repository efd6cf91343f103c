//! Tests of OpenMP regions in ranks that are processes. Threads state their times, so no prediction depends on the host.

use crate::as_built::libraries;
use crate::real::{directory, file, real_mpis, run, told};

/// Cases of `openmp_clocks.c`: cores and threads of the rank, case, and end of the case in ms.
const CASES: [(u32, &str, &str); 24] = [
    // The slowest thread before the barrier takes 4 ms, another one after the barrier 4 ms.
    (4, "barrier", "8.00"),
    (2, "barrier", "6.00"),
    // Iterations of 1 to 8 ms: the last of four threads has 4 and 8 ms, the last of two 2, 4, 6 and 8 ms.
    (4, "static", "12.00"),
    (2, "static", "20.00"),
    // Iterations of 8 to 1 ms, for the thread that is free first: 8 + 1, 7 + 2, 6 + 3 and 5 + 4 ms.
    (4, "dynamic", "9.00"),
    (2, "dynamic", "18.00"),
    (8, "guided", "2.00"),
    // One ms, and then the critical section of 2 ms eight times, four times.
    (4, "critical", "17.00"),
    (2, "critical", "9.00"),
    (4, "lock", "12.00"),
    // Three regions of 1, 5 and 1 ms.
    (4, "single", "21.00"),
    // Sections of 4, 1 and 3 ms.
    (4, "sections", "4.00"),
    (1, "sections", "8.00"),
    (4, "ordered", "9.00"),
    // The creator ends at 8 ms and executes one task. The other threads start tasks at 1, 2, 3, 5, 6, 7 and 9 ms.
    (4, "tasks", "13.00"),
    (2, "tasks", "21.00"),
    (2, "recursive", "8.00"),
    (4, "taskloop", "2.00"),
    // Teams of 2 + 1 and 2 + 2 ms. On two cores, 12 ms of work.
    (4, "nested", "4.00"),
    (2, "nested", "6.00"),
    (4, "serial", "5.00"),
    (4, "reduction", "1.00"),
    (2, "reduction", "2.00"),
    (1, "reduction", "4.00"),
];

#[test]
fn threads_of_regions_have_clocks_of_their_own() {
    libraries();
    let workshop = directory();
    for mpi in real_mpis() {
        let built = workshop.path().join(mpi.compiler());
        mpi.compile_with(&file("tests/real/openmp_clocks.c"), &built, "-O1 -fopenmp").unwrap();
        for (cores, case, end) in CASES {
            let ran = run(&built, &format!("--nct 1,1,8 --ranks 1 --cores-per-rank {cores}"), case);
            let text = told(case, &ran);
            assert!(ran.code == Some(0) && ran.stdout.contains(&format!("{case}: {end}\n")), "{cores} cores: {text}");
        }
    }
}

#[test]
fn threads_of_regions_call_mpi_if_the_level_permits_it() {
    libraries();
    let workshop = directory();
    for mpi in real_mpis() {
        let built = workshop.path().join(mpi.compiler());
        mpi.compile_with(&file("tests/real/openmp_clocks.c"), &built, "-O1 -fopenmp").unwrap();
        let options = "--nct 2,1,4 --ranks 2 --ranks-per-node 1 --cores-per-rank 4";
        for workers in [1, 2] {
            let ran = run(&built, &format!("{options} --workers {workers}"), "messages multiple");
            let text = told("messages", &ran);
            // Four messages from each rank, the last at 3 ms.
            for said in ["received: 46\n", "received: 6\n", "messages: 3.00\n"] {
                assert!(ran.stdout.contains(said), "{workers} workers: {text}");
            }
        }
        let ran = run(&built, options, "operation");
        assert_eq!(ran.stdout.matches("wrong: 0\n").count(), 2, "{}", told("operation", &ran));
        let ran = run(&built, options, "messages");
        let said = "MPI was called by a second thread: expected calls by one thread, or MPI_Init_thread with \
                    MPI_THREAD_SERIALIZED";
        assert!(ran.code == Some(1) && told("messages", &ran).contains(said), "{}", told("messages", &ran));
    }
}

#[test]
fn a_thread_that_waits_in_a_region_is_in_the_table_of_a_deadlock() {
    libraries();
    let workshop = directory();
    let Some(mpi) = real_mpis().first() else { return };
    let built = workshop.path().join("clocks");
    mpi.compile_with(&file("tests/real/openmp_clocks.c"), &built, "-O1 -fopenmp").unwrap();
    let ran = run(&built, "--nct 1,1,4 --ranks 1 --cores-per-rank 2", "stuck multiple");
    let text = told("stuck", &ran);
    assert_eq!(ran.code, Some(3), "{text}");
    for said in ["           0  OpenMP ", "  0 thread 1  MPI_Recv "] {
        assert!(text.contains(said), "{text}");
    }
}
