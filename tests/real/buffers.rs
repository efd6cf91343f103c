//! Tests of programs whose message buffers fit or do not fit in the caches of the simulated machine.

use crate::real;
use crate::recorded::{for_each_mpi, outcome, record};
use serde_json::Value;

/// Platform on which a core copies 4 bytes per ns. Copies of buffers that do not fit in the cache of 1 MiB use a memory
/// bandwidth of 1 GB/s.
const PLATFORM: &str = r#"
name = "cached"
nct = [1, 1, 2]
[core]
flops = "1 Gflop/s"
instructions = "1 Ginstr/s"
memory_bandwidth = "1 GB/s"
[cmp]
memory_bandwidth = "1 GB/s"
cache = "1 MiB"
[intra_cmp]
contention = "fair"
copies = "receiver"
latency = "1 us"
bandwidth = "4 GB/s"
eager_threshold = "1 MiB"
[inter_cmp]
latency = "1 us"
bandwidth = "4 GB/s"
[inter_node]
latency = "1 us"
bandwidth = "4 GB/s"
"#;

fn predicted(line: &str, json: &std::path::Path) -> f64 {
    let ran = real::simulate(&format!("--quiet --json {} {line}", json.display()));
    assert_eq!(ran.code, Some(0), "{}", real::told(&format!("mcpsim {line}"), &ran));
    let outcome: Value = serde_json::from_slice(&std::fs::read(json).unwrap()).unwrap();
    outcome["predicted_ps"].as_u64().unwrap() as f64 / 1e6
}

/// Almost all code of the program is before MPI_Init, MPI_Barrier and MPI_Finalize. The part of these calls counts, and not the
/// part of other code.
#[test]
fn code_is_slowed_by_the_memory_bound_part_of_its_call() {
    let directory = real::directory();
    let [source, program, trace, json] = ["a.c", "a", "trace", "json"].map(|name| directory.path().join(name));
    let code = "#include <mpi.h>\nint main(int c, char **v) { MPI_Init(&c, &v); volatile double x = 0;\n\
        for (int k = 0; k < 5; k++) { for (int i = 0; i < 100000; i++) x += i; MPI_Barrier(MPI_COMM_WORLD); }\n\
        MPI_Finalize(); return 0; }\n";
    std::fs::write(&source, code).unwrap();
    real::compile(&source, "-O1", &program).unwrap();
    let [program, trace] = [program, trace].map(|path| path.display().to_string());
    predicted(&format!("--nct 1,1,2 --record {trace} {program}"), &json);
    let with = |parts: &str| {
        let on = "--nct 1,1,2 --set platform.core.slowdown=[1,3]";
        predicted(&format!("{on} --memory-bound {parts} {trace}"), &json)
    };
    let (none, half, all) = (with("0"), with("0.5"), with("1"));
    assert!(none < half && half < all, "{none} {half} {all}");
    // The code after MPI_Finalize takes about 1 us and precedes no call.
    let near =
        |found: f64, expected: f64| assert!((found - expected).abs() < (half - none) / 4.0, "{found}, {expected}");
    let calls = |part: &str| format!("MPI_Init={part},MPI_Barrier={part},MPI_Finalize={part}");
    near(with(&format!("1,{}", calls("0"))), none);
    near(with(&format!("0,{}", calls("0.5"))), half);
    near(with(&format!("0.5,{}", calls("1"))), all);
    near(with("0.5,MPI_Send=0"), half);
}

#[test]
fn messages_are_in_caches_by_the_addresses_of_their_buffers() {
    let directory = real::directory();
    let [program, platform, trace, json] =
        ["buffers", "cached.toml", "trace", "json"].map(|name| directory.path().join(name));
    real::compile(&real::file("tests/real/buffers.c"), "-O1", &program).unwrap();
    std::fs::write(&platform, PLATFORM).unwrap();
    let on = format!("--platform {} --compute skip", platform.display());
    let [program, trace] = [program, trace].map(|path| path.display().to_string());
    // The head of the first message arrives after 1 us. 16 copies of 65.536 us follow, because the buffers of both
    // ranks fit in the cache.
    let fits = 1.0 + 16.0 * 65.536;
    // The four buffers of the first two messages fill the cache. The copies of the remaining messages read their data
    // from memory and write it to memory.
    let beyond = 1.0 + 2.0 * 65.536 + 14.0 * 524.288;
    for (buffers, expected) in [(1, fits), (2, fits), (16, beyond)] {
        for workers in [1, 2] {
            let found = predicted(&format!("{on} --workers {workers} --record {trace} {program} {buffers}"), &json);
            assert!((found - expected).abs() < 0.01, "{buffers} buffers: {found} us, expected {expected}");
            let replayed = predicted(&format!("--platform {} {trace}", platform.display()), &json);
            assert_eq!(replayed, found, "{buffers} buffers, replayed");
        }
    }
}

#[test]
fn replays_of_recorded_runs_use_the_buffers_at_these_addresses_too() {
    for_each_mpi(|mpi, library, directory| {
        let [program, platform, json] = ["buffers", "cached.toml", "json"].map(|name| directory.join(name));
        mpi.compile(&real::file("tests/real/buffers.c"), &program)?;
        std::fs::write(&platform, PLATFORM).unwrap();
        for (buffers, through_memory) in [("1", 0), ("2", 0), ("16", 14)] {
            let trace = record(mpi, library, &program, 2, buffers)?;
            let copies = &outcome(
                &format!("--set run.memory_bound=0 --platform {} {}", platform.display(), trace.display()),
                &json,
            )?["copies"];
            if (&copies["count"], &copies["memory_count"]) != (&16.into(), &through_memory.into()) {
                return Err(format!("{buffers} buffers: {copies}, expected {through_memory} through memory"));
            }
        }
        Ok(())
    });
}

#[test]
fn long_messages_without_data_take_the_same_time() {
    let directory = real::directory();
    let [program, json] = ["dataless", "json"].map(|name| directory.path().join(name));
    real::compile(&real::file("tests/real/dataless.c"), "-O1", &program).unwrap();
    let marks = |mark: char| (1..8).map(|operation| format!("{operation}{mark} ")).collect::<String>();
    let (with, without) = (marks('+'), marks('-'));
    let mut times = Vec::new();
    for (data, sizes_with_data) in [("all", 3), ("1MiB", 3), ("4KiB", 2), ("2047", 1), ("none", 0)] {
        for workers in [1, 2] {
            let (json, program) = (json.display(), program.display());
            let options = format!("--nct 2,1,1 --compute skip --workers {workers} --data {data}");
            let ran = real::simulate(&format!("{options} --json {json} {program}"));
            assert_eq!(ran.code, Some(0), "{}", real::told(data, &ran));
            let expected = with.repeat(sizes_with_data) + &without.repeat(3 - sizes_with_data);
            assert!(ran.stdout.contains(&expected), "{data}: {}", ran.stdout);
            let is_noted = (ran.stdout + &ran.stderr).contains("carried no data");
            assert_eq!(is_noted, data != "all", "{data}: {}", ran.stderr);
            let outcome: Value = serde_json::from_slice(&std::fs::read(json.to_string()).unwrap()).unwrap();
            times.push((outcome["predicted_ps"].clone(), outcome["messages"].clone()));
        }
    }
    assert!(times.iter().all(|time| *time == times[0]), "{times:?}");
    let wrong = real::simulate("--data much x");
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    assert!(wrong.stderr.contains("expected all, none or a size such as \"1 KiB\""), "{}", wrong.stderr);
}

/// Programs change a send buffer as soon as the send completes. Messages refer to send buffers only before.
#[test]
fn messages_have_the_data_of_the_time_of_their_sends() {
    let directory = real::directory();
    let program = directory.path().join("lends");
    real::compile(&real::file("tests/real/lends.c"), "-O1", &program).unwrap();
    for (seed, options) in [(1, "--nct 3,1,2"), (2, "--nct 6,1,1"), (3, "--nct 1,2,3"), (4, "--nct 2,1,3")] {
        let ran = real::run(&program, options, &format!("{seed} 40"));
        let told = real::told(options, &ran);
        assert!(ran.code == Some(0) && ran.stdout.matches(": 0 wrong").count() == 6, "{told}");
        real::is_the_same_on_workers(&program, options, &format!("{seed} 40")).unwrap();
    }
}
