//! Tests of OpenMP regions in ranks that are processes. Threads state their times, so no prediction depends on the host.

use crate::as_built::libraries;
use crate::real::{directory, file, real_mpis, run, told};

/// Cases of `openmp_clocks.c`: cores and threads of the rank, case, and end of the case in ms.
const CASES: [(u32, &str, &str); 27] = [
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
    // Three threads of 10 ms. On one core, time slices of 3 ms and a last one of 1 ms. On two cores, one thread is
    // alone from 14 ms.
    (4, "slices", "10.00"),
    (2, "slices", "16.00"),
    (1, "slices", "30.00"),
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
fn threads_share_cores_by_time_slices() {
    libraries();
    let workshop = directory();
    let Some(mpi) = real_mpis().first() else { return };
    let built = workshop.path().join("clocks");
    mpi.compile_with(&file("tests/real/openmp_clocks.c"), &built, "-O1 -fopenmp").unwrap();
    for (cores, slice, ends) in [
        (1, "3 ms", [28, 29, 30]),
        (2, "3 ms", [13, 14, 16]),
        // Two threads until 5 ms, then the third one and one of them, then the two that have 5 ms left.
        (2, "5 ms", [10, 15, 15]),
        (1, "20 ms", [10, 20, 30]),
    ] {
        let case = if slice == "3 ms" { String::new() } else { format!("time_slice = {slice:?}") };
        let platform = workshop.path().join("machine.toml");
        let text = std::fs::read_to_string(file("configs/default.toml")).unwrap();
        std::fs::write(&platform, text.replacen("[core]\n", &format!("[core]\n{case}\n"), 1)).unwrap();
        let options = format!("--platform {} --nct 1,1,4 --ranks 1 --cores-per-rank {cores}", platform.display());
        let ran = run(&built, &options, "slices");
        let line = ran.stdout.lines().find(|line| line.starts_with("ends: ")).unwrap_or_default();
        let mut found: Vec<f64> = line.split(' ').skip(1).map(|end| end.parse().unwrap()).collect();
        found.sort_unstable_by(f64::total_cmp);
        assert_eq!(found, ends.map(f64::from), "{cores} cores, {slice}: {}", told("slices", &ran));
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
