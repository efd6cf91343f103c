//! Tests of waits of C++20, of `std::future`, and of the system call futex. Threads state their times.

use std::path::Path;

use crate::as_built::libraries;
use crate::real::{RealMpi, directory, file, real_mpis, run, simulate, told};
use crate::support::Ran;

fn compiled(mpi: &RealMpi, built: &Path) {
    mpi.compile_with(&file("tests/real/threads_cpp20.cc"), built, "-std=c++20 -pthread").unwrap();
}

/// Runs `case` of the program of waits on `cores` cores.
fn waits(program: &Path, cores: u32, options: &str, case: &str) -> Ran {
    run(program, &format!("--nct 1,1,4 --ranks 1 --cores-per-rank {cores} {options}"), case)
}

#[test]
fn waits_of_cxx_20_end_in_virtual_time() {
    libraries();
    let workshop = directory();
    for mpi in real_mpis() {
        let built = workshop.path().join(mpi.compiler());
        compiled(mpi, &built);
        for (cores, case, said) in [
            // The last thread arrives at 4 ms, computes 0.5 ms, and arrives again after 1 ms.
            (4, "barrier", "barrier: 4.50 4.50 4.50 4.50 6.00 6.00 6.00 6.00\n"),
            // On two cores the fourth thread starts at 2 ms, when the second one waits. It arrives at 6 ms. After 6.5 ms
            // the first and the last one have the cores, and the others after 7.5 ms.
            (2, "barrier", "barrier: 6.50 7.50 7.50 6.50 9.00 9.00 9.00 9.00\n"),
            (4, "latch", "latch: 3.00 2.00 3.00 4.00\n"),
            // The third thread starts at 2 ms.
            (2, "latch", "latch: 5.00 2.00 3.00 6.00\n"),
            (4, "semaphore", "semaphore: 1.00 1.00 2.00 2.00\n"),
            (4, "atomic", "atomic: 2.00 5.00 2.00\n"),
            (4, "small", "small: 2.00 5.00 2.00\n"),
            (4, "large", "large: 2.00 5.00 2.00\n"),
            (2, "future", "timed out: 1\nvalue: 42\nfuture: 1.00 3.00 4.00\n"),
            (4, "variable", "variable: 3.00 3.00 4.00\n"),
            (2, "async", "task: 7\nasync: 2.00\n"),
            (4, "thrown", "caught by 0\nthrown: 1.00 2.00\n"),
            (4, "direct", "numbers: 1 2\nothers: 0 1 1\ndirect: 1.00 2.00 3.00 3.00\n"),
        ] {
            let ran = waits(&built, cores, "", case);
            let text = told(case, &ran);
            assert!(ran.code == Some(0) && ran.stdout.contains(said), "{cores} cores: {text}");
        }
        let ran = waits(&built, 4, "", "stuck");
        let text = told("stuck", &ran);
        assert_eq!(ran.code, Some(3), "{text}");
        assert!(text.contains("  0 thread 1  futex ") && text.contains("  another thread of the rank\n"), "{text}");
    }
}

#[test]
fn a_note_states_that_waits_may_end_too_early() {
    libraries();
    let workshop = directory();
    let Some(mpi) = real_mpis().first() else { return };
    let built = workshop.path().join("waits");
    compiled(mpi, &built);
    let measured = |case: &str| {
        let ran = simulate(&format!("--nct 1,1,4 --ranks 1 --cores-per-rank 4 {} -- {case}", built.display()));
        let text = told(case, &ran);
        assert_eq!(ran.code, Some(0), "{text}");
        text
    };
    let note = "note: rank 0 ended a wait of its threads by futex, as barriers of C++20 do, after a measured block of ";
    assert!(measured("hurries").contains(note));
    let text = measured("asks");
    assert!(text.contains("together: 1\n") && !text.contains("by futex"), "{text}");
}

#[test]
fn waits_of_cxx_20_are_counted_and_replayed() {
    libraries();
    let workshop = directory();
    let Some(mpi) = real_mpis().first() else { return };
    let built = workshop.path().join("waits");
    compiled(mpi, &built);
    let outcome = |name: &str, ran: &Ran| -> serde_json::Value {
        assert_eq!(ran.code, Some(0), "{}", told(name, ran));
        serde_json::from_str(&std::fs::read_to_string(workshop.path().join(name)).unwrap()).unwrap()
    };
    let at = |name: &str| workshop.path().join(name).display().to_string();
    for case in ["barrier", "latch", "semaphore", "future", "variable"] {
        let options = format!("--functions --json {} --record {}", at("run.json"), at("run.trace"));
        let recorded = outcome("run.json", &waits(&built, 4, &options, case));
        let counts = recorded["functions"].as_array().unwrap();
        let futex = counts.iter().find(|of| of["function"] == "futex").unwrap_or_else(|| panic!("{counts:?}"));
        assert!(futex["calls"].as_u64() >= Some(2), "{case}: {counts:?}");
        // A replay runs on the machine of the recording, and on two cores per rank.
        let replayed = |cores| {
            let options = format!("--quiet --nct 1,1,4 --cores-per-rank {cores} --json {}", at("replay.json"));
            let ran = simulate(&format!("{options} {}", at("run.trace")));
            outcome("replay.json", &ran)["predicted_ps"].as_u64().unwrap()
        };
        assert_eq!(Some(replayed(4)), recorded["predicted_ps"].as_u64(), "{case}");
        let as_built = outcome("run.json", &waits(&built, 2, &format!("--json {}", at("run.json")), case));
        let (fewer, expected) = (replayed(2), as_built["predicted_ps"].as_u64().unwrap());
        // Polls before waits take 100 ns, and a replay has those of the recording.
        assert!(fewer.abs_diff(expected) < 10_000_000, "{case}: {fewer} {expected}");
    }
}
