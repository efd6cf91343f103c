//! Tests of ends of threads, joins with a time limit, spin locks and small stacks. Threads state their times.

use crate::as_built::libraries;
use crate::real::{directory, file, real_mpis, run, simulate, told};

#[test]
fn threads_end_and_are_joined_in_virtual_time() {
    libraries();
    let workshop = directory();
    for mpi in real_mpis() {
        let built = workshop.path().join(mpi.compiler());
        mpi.compile_with(&file("tests/real/threads_ends.c"), &built, "-pthread").unwrap();
        let json = workshop.path().join("ends.json");
        for (case, said) in [
            // Each attempt costs a poll of 100 ns, until the thread ends at 2 ms.
            ("try", "try: 1 2 1 2.00\n"),
            // Limits of 1 and 2 ms, before the thread ends at 3 ms.
            ("limit", "limit: 1 1 1.00 2.00\njoined: 0 3 3.00\n"),
            // Three threads for 2 ms each. The main thread tries from 5 to 6 ms.
            ("spin", "spin: 2.00 4.00 6.00 6.00 1\n"),
            ("stack", "stack: 0 1 1.00\n"),
            // Three threads of 1 ms. Their destructors have a mutex for 1 ms each.
            ("destructors", "destructors: 4.00\n"),
            ("load", "load: 3 0 0 0\n"),
            // The main thread ends at once, and the last thread at 3 ms. A query of the clock takes 20 ns.
            ("main", ""),
        ] {
            let options = format!("--nct 1,1,4 --ranks 1 --cores-per-rank 4 --json {}", json.display());
            let ran = run(&built, &options, case);
            let text = told(case, &ran);
            assert!(ran.code == Some(0) && ran.stdout.contains(said), "{text}");
            let outcome: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
            let threads = |outcome: &serde_json::Value| outcome["rank_threads"].to_string();
            if case == "limit" {
                let trace = workshop.path().join("ends.trace");
                run(&built, &format!("{options} --record {}", trace.display()), case);
                let line = "--quiet --nct 1,1,4 --cores-per-rank 4 --json";
                let ran = simulate(&format!("{line} {} {}", json.display(), trace.display()));
                assert_eq!(ran.code, Some(0), "{}", told("replay", &ran));
                let replayed: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
                assert_eq!(threads(&replayed), threads(&outcome), "{replayed}");
            }
            assert!(case != "main" || outcome["predicted_ps"] == 3_000_020_000_u64, "{outcome}");
        }
    }
}
