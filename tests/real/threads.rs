//! Tests of threads of ranks that are processes. Threads state their times, so no prediction depends on the host.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::Command;

use crate::as_built::libraries;
use crate::real::{directory, file, limited, real_mpis, run, simulator, told};

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

/// Runs `case` of the program of threads with clocks of their own, on a machine of two nodes.
fn clocks(program: &Path, options: &str, case: &str) -> String {
    output(program, &format!("--nct 2,1,8 {options}"), case)
}

#[test]
fn threads_have_clocks_of_their_own() {
    libraries();
    let workshop = directory();
    for mpi in real_mpis() {
        let built = workshop.path().join(mpi.compiler());
        mpi.compile_with(&file("tests/real/threads_clocks.c"), &built, "-pthread").unwrap();
        for (ranks, cores, case, said) in [
            // Threads request the mutex at 1, 2 and 3 ms, and each keeps it for 2 ms.
            (1, 4, "mutex", "order: 0 1 2\nmutex: 3.00 5.00 7.00\n"),
            // Produced at 2, 4 and 6 ms; the consumer computes 1 ms after each.
            (1, 4, "condition", "condition: 6.00 7.00\n"),
            // Four threads of 1 ms on four, two and one cores.
            (1, 4, "barrier", "serial threads: 1\nbarrier: 1.00 1.00 1.00 1.00\n"),
            (1, 2, "barrier", "serial threads: 1\nbarrier: 2.00 2.00 2.00 2.00\n"),
            (1, 1, "barrier", "serial threads: 1\nbarrier: 4.00 4.00 4.00 4.00\n"),
            // The message leaves at 2 ms, while the main thread computes for 5 ms.
            (2, 4, "probe", "number: 42\nprobe: 2.00 5.00\n"),
            (2, 4, "collectives", "sums: 1\n"),
            (2, 4, "request", "number: 43\nrequest: 2.00\n"),
            // Two of four threads at a time.
            (1, 4, "semaphore", "semaphore: 1.00 1.00 2.00 2.00\n"),
            // A writer for 1 ms, then two readers for 2 ms.
            (1, 4, "shared", "shared: 1.00 3.00 3.00\n"),
            (1, 4, "timeout", "timed out: 1\ntimeout: 3.00\n"),
            (1, 4, "spin", "spin: 3.00\n"),
            // Three waits end at 2, 3 and 4 ms. The main thread releases the mutex at 5 ms.
            (1, 4, "limits", "failures and success: 4\nlimits: 2.00 4.00 5.00\n"),
            // The first thread calls from 1 to 3 ms, while the second waits.
            (1, 4, "once", "calls: 1\nonce: 3.00 3.00\n"),
            // A thread completes two generalised requests after 3 ms each.
            (1, 4, "generalised", "complete: 1\ngeneralised: 3.00\n"),
            // The mutex for 1 ms, and a sleep of 0.5 ms.
            (1, 4, "checked", "checked: 1 1\n"),
            (1, 4, "c11", "results: 7 7\nc11: 1.50 2.50\n"),
            // A thread sets a flag at 1 ms. The main thread reads it every 30 us, every 100 ns, or without other costs.
            (1, 4, "polls sleep", "polls: 1.02\n"),
            (1, 4, "polls yield", "polls: 1.00\n"),
            (1, 4, "polls clock", "polls: 1.00\n"),
            (1, 4, "polls test", "polls: 1.00\n"),
            (1, 4, "polls mutex", "polls: 1.00\n"),
            // The first thread computes until 1 ms, sleeps until 4 ms and computes again. The second one uses the core
            // from 1 to 3.5 ms.
            (1, 1, "sleeps", "sleeps: 5.00 3.50\n"),
        ] {
            let options = format!("--ranks {ranks} --ranks-per-node 1 --cores-per-rank {cores}");
            let text = clocks(&built, &options, case);
            assert!(text.contains("provided: 1\n"), "{text}");
            assert!(text.contains(said), "{case} on {cores} cores: {text}");
        }
    }
}

#[test]
fn profiles_timelines_and_paths_show_threads() {
    libraries();
    let workshop = directory();
    let Some(mpi) = real_mpis().first() else { return };
    let built = workshop.path().join("clocks");
    mpi.compile_with(&file("tests/real/threads_clocks.c"), &built, "-pthread").unwrap();
    let [json, timeline, paje] =
        ["run.json", "line.json", "line.paje"].map(|name| workshop.path().join(name).display().to_string());
    let options = format!("--ranks 1 --cores-per-rank 4 --critical-path --json {json}");
    clocks(&built, &format!("{options} --timeline {timeline}"), "mutex");
    clocks(&built, &format!("{options} --timeline {paje}"), "mutex");
    let read = |name: &str| std::fs::read_to_string(name).unwrap();
    let outcome: serde_json::Value = serde_json::from_str(&read(&json)).unwrap();
    let ms = |time: &serde_json::Value| (time.as_f64().unwrap() / 1e9 * 100.0).round() / 100.0;
    // Threads compute 1, 2 and 3 ms, and then 2 ms with the mutex, which is free at 1, 3 and 5 ms.
    let times = outcome["per_thread"].as_array().unwrap().iter();
    let times = times.map(|of| (of["thread"].as_u64(), ms(&of["end_ps"]), ms(&of["compute_ps"]), ms(&of["wait_ps"])));
    assert_eq!(
        times.collect::<Vec<_>>(),
        [(Some(1), 3.0, 3.0, 0.0), (Some(2), 5.0, 4.0, 1.0), (Some(3), 7.0, 5.0, 2.0)]
    );
    // The threads compute 12 ms on four cores. They wait for 3 ms, and the main thread waits for 7 ms to join them.
    let of = &outcome["rank_threads"][0];
    assert_eq!((of["rank"].as_u64(), of["threads"].as_u64()), (Some(0), Some(4)));
    let times = ["alive_ps", "compute_ps", "mpi_ps", "thread_wait_ps", "most_compute_ps", "main_outside_mpi_ps"];
    assert_eq!(times.map(|key| ms(&of[key])), [22.0, 12.0, 0.0, 10.0, 5.0, 7.0], "{of}");
    let share = |key: &str| (outcome["hybrid"][key].as_f64().unwrap() * 1000.0).round() / 1000.0;
    assert_eq!(["parallel", "mpi", "threads"].map(share), [0.429, 1.0, 0.429], "{}", outcome["hybrid"]);
    assert_eq!(["threads_load_balance", "threads_communication"].map(share), [0.6, 0.714], "{}", outcome["hybrid"]);
    // The path has 7 ms of computing, and the mean over cores is 3 ms.
    assert_eq!(["compute_ps", "imbalance_ps"].map(|key| ms(&outcome["path"][key])), [3.0, 4.0], "{}", outcome["path"]);
    // The path has the first thread up to 3 ms, and each further thread for 2 ms with the mutex.
    let path = outcome["critical_path"]["ranks"].as_array().unwrap().iter();
    let mut path: Vec<_> = path.map(|of| (of["thread"].as_u64(), ms(&of["own_ps"]))).collect();
    path.sort_by_key(|of| of.0);
    assert_eq!(path, [(None, 0.0), (Some(1), 3.0), (Some(2), 2.0), (Some(3), 2.0)]);
    // The run sends no message, so an ideal network does not change it.
    clocks(&built, &format!("{options} --efficiencies"), "mutex");
    let efficient: serde_json::Value = serde_json::from_str(&read(&json)).unwrap();
    let of = &efficient["efficiencies"];
    assert_eq!((&of["ideal_ps"], &efficient["hybrid"]), (&outcome["predicted_ps"], &outcome["hybrid"]), "{of}");
    let shares = ["parallel", "serialization", "transfer"].map(|key| of[key].as_f64().unwrap());
    assert_eq!(shares.map(|share| (share * 1000.0).round()), [1000.0; 3], "{of}");
    let events: serde_json::Value = serde_json::from_str(&read(&timeline)).unwrap();
    let events = events["traceEvents"].as_array().unwrap();
    assert!(events.iter().any(|event| event["args"]["name"] == "rank 0 thread 3"), "{events:?}");
    let waits = events.iter().find(|event| event["name"] == "pthread_mutex_lock" && event["args"]["thread"] == 3);
    assert_eq!(waits.map(|event| event["dur"].as_f64().unwrap()), Some(2000.0), "{events:?}");
    let text = read(&paje);
    let alias = text.lines().find_map(|line| line.strip_prefix("2 ")?.split_once(" CALL \"pthread_mutex_lock\""));
    let waits = format!("5 0.003000020000 CALL r3 {}\n", alias.unwrap().0);
    assert!(text.contains("RANK run \"rank 0 thread 3\"\n") && text.contains(&waits), "{text}");
}

#[test]
fn threads_have_the_same_times_on_several_workers() {
    libraries();
    let workshop = directory();
    let Some(mpi) = real_mpis().first() else { return };
    let built = workshop.path().join("clocks");
    mpi.compile_with(&file("tests/real/threads_clocks.c"), &built, "-pthread").unwrap();
    for case in ["mutex", "barrier", "probe", "collectives", "request"] {
        let options = "--ranks 2 --ranks-per-node 1 --cores-per-rank 2";
        let outcomes = [1, 2].map(|workers| {
            let json = workshop.path().join(format!("{case}{workers}.json"));
            clocks(&built, &format!("{options} --workers {workers} --json {}", json.display()), case);
            let outcome: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
            [outcome["predicted_ps"].to_string(), outcome["messages"].to_string()]
        });
        assert_eq!(outcomes[0], outcomes[1], "{case}");
    }
}

/// Returns the number of calls and the time in us of each function of all ranks.
fn functions(outcome: &serde_json::Value) -> BTreeMap<&str, (u64, u64)> {
    let number = |of: &serde_json::Value, key: &str| of[key].as_u64().unwrap();
    let row = |of| (number(of, "calls"), number(of, "time_ps") / 1_000_000);
    outcome["functions"].as_array().unwrap().iter().map(|of| (of["function"].as_str().unwrap(), row(of))).collect()
}

#[test]
fn calls_of_all_threads_are_counted() {
    libraries();
    let workshop = directory();
    for mpi in real_mpis() {
        let built = workshop.path().join(mpi.compiler());
        mpi.compile_with(&file("tests/real/threads_counts.c"), &built, "-O1 -fopenmp").unwrap();
        for workers in [1, 2] {
            let outcome = |case| {
                let json = workshop.path().join("counts.json");
                let options = "--ranks 2 --ranks-per-node 1 --cores-per-rank 4 --functions";
                let text = clocks(&built, &format!("{options} --workers {workers} --json {}", json.display()), case);
                // Threads compute 4 ms each, and the main thread 20 ms.
                assert!(case != "threads" || text.contains("cpu: 4.00 4.00 4.00 20.00\n"), "{text}");
                serde_json::from_str::<serde_json::Value>(&std::fs::read_to_string(json).unwrap()).unwrap()
            };
            let told = outcome("threads");
            let found = functions(&told);
            for (name, calls) in [
                ("MPI_Init_thread", 2),
                ("MPI_Comm_rank", 2),
                // Three threads of two ranks, with two messages in each direction.
                ("MPI_Send", 12),
                ("MPI_Recv", 12),
                // Each thread locks one mutex four times and the other one once. The main thread locks the latter.
                ("pthread_mutex_lock", 32),
                ("pthread_mutex_unlock", 32),
                ("pthread_cond_wait", 6),
                ("pthread_cond_broadcast", 2),
                ("pthread_create", 6),
                ("pthread_exit", 6),
                ("pthread_join", 6),
                // The last call before the profile ends.
                ("MPI_Pcontrol", 2),
            ] {
                assert_eq!(found.get(name).map(|of| of.0), Some(calls), "{name} {found:?}");
            }
            assert_eq!(found.len(), 12, "{found:?}");
            // Three threads take turns for 1 ms each. Their last locks end at 10, 11 and 12 ms, so they wait for 6, 7 and
            // 8 ms, and then for the main thread, which opens at 20 ms.
            assert_eq!(found["pthread_mutex_lock"].1, 2 * (6 + 7 + 8) * 1000, "{found:?}");
            assert_eq!(found["pthread_cond_wait"].1, 2 * (10 + 9 + 8) * 1000, "{found:?}");
            let send = told["functions"].as_array().unwrap().iter().find(|of| of["function"] == "MPI_Send").unwrap();
            assert_eq!(send["bytes"], 1200);
            // Five regions of three threads, with three iterations of a loop per thread.
            let told = outcome("openmp");
            // Each thread computes 1 ms and two of six iterations of 1 ms per region, on four cores.
            for rank in [0, 1] {
                let of = &told["rank_threads"][rank];
                assert_eq!(
                    (of["threads"].as_u64(), of["compute_ps"].as_u64()),
                    (Some(3), Some(45_000_000_000)),
                    "{of}"
                );
                assert_eq!(of["main_outside_mpi_ps"].as_u64(), Some(15_000_000_000), "{of}");
            }
            let (predicted, hybrid) = (told["predicted_ps"].as_f64().unwrap(), &told["hybrid"]);
            for (key, part) in [("parallel", 45e9 / 4.0), ("mpi", 15e9), ("threads", 0.75 * predicted)] {
                assert!((hybrid[key].as_f64().unwrap() - part / predicted).abs() < 1e-9, "{hybrid}");
            }
            let found = functions(&told);
            let calls = |start: &str| -> u64 {
                found.iter().filter(|(name, _)| name.starts_with(start)).map(|(_, of)| of.0).sum()
            };
            for (start, count) in [
                ("GOMP_parallel", 10),
                ("GOMP_barrier", 30),
                ("GOMP_critical_name_start", 30),
                ("GOMP_critical_name_end", 30),
                ("GOMP_loop_end", 30),
                ("MPI_Allreduce", 10),
                ("pthread_create", 4),
                ("pthread_mutex", 0),
            ] {
                assert_eq!(calls(start), count, "{start} {found:?}");
            }
        }
    }
}

#[test]
fn blocks_that_take_a_core_are_part_of_no_call() {
    libraries();
    let workshop = directory();
    let Some(mpi) = real_mpis().first() else { return };
    let built = workshop.path().join("counts");
    mpi.compile_with(&file("tests/real/threads_counts.c"), &built, "-O1 -fopenmp").unwrap();
    let json = workshop.path().join("blocks.json");
    // Each block of code takes 1 ms. A signal, an unlock and a creation of a thread never wait.
    let options = "--nct 2,1,8 --ranks 2 --ranks-per-node 1 --cores-per-rank 4 --functions --compute 1ms";
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcpsim"));
    command.args(options.split(' ')).arg("--json").arg(&json).arg(&built).args(["--", "threads"]);
    let ran = limited(&command);
    assert_eq!(ran.code, Some(0), "{}", told("threads", &ran));
    let outcome: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    let found = functions(&outcome);
    for name in ["pthread_mutex_unlock", "pthread_cond_broadcast", "pthread_create", "pthread_exit"] {
        assert_eq!(found[name].1, 0, "{name} {found:?}");
    }
    assert_eq!(found["pthread_mutex_unlock"].0, 32, "{found:?}");
}

#[test]
fn errors_name_threads_and_their_waits() {
    libraries();
    let workshop = directory();
    let Some(mpi) = real_mpis().first() else { return };
    let built = workshop.path().join("clocks");
    mpi.compile_with(&file("tests/real/threads_clocks.c"), &built, "-pthread").unwrap();
    for (case, code, said) in [
        ("kept", 3, ["     0  pthread_mutex_lock ", "a lock of thread 1, which has ended"]),
        ("stuck", 3, ["  0 thread 1  MPI_Recv ", "a message from rank 0, tag 9"]),
        ("crossed", 3, ["a lock of thread 1\n", "  cycle: rank 0 thread 1 -> 0 thread 2 -> 0 thread 1\n"]),
        ("refused", 0, ["mcpsim: rank 0: pthread_create refused thread 1: ", "refused: 11\n"]),
        (
            "outlives",
            1,
            ["MPI_Finalize", "thread 1 of the rank is in MPI_Recv: expected that all threads have left MPI"],
        ),
    ] {
        let ran = run(&built, "--nct 1,1,4 --ranks 1 --cores-per-rank 4", case);
        let text = told(case, &ran);
        assert_eq!(ran.code, Some(code), "{text}");
        assert!(said.iter().all(|part| text.contains(part)), "{text}");
        assert!(!text.contains("cycle: rank 0 -> 0"), "{text}");
    }
}

#[test]
fn a_thread_that_runs_long_without_a_call_is_noted() {
    libraries();
    let workshop = directory();
    let Some(mpi) = real_mpis().first() else { return };
    let [built, errors] = ["clocks", "errors"].map(|name| workshop.path().join(name));
    mpi.compile_with(&file("tests/real/threads_clocks.c"), &built, "-pthread").unwrap();
    // The main thread computes until the note is in the file, while another thread waits.
    let noted = |seconds: &str| {
        let run = simulator("--quiet --compute skip --nct 1,1,4 --ranks 1 --cores-per-rank 4");
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", "120"]).arg(run.get_program()).args(run.get_args());
        command.arg(&built).args(["--", "long"]).arg(&errors);
        command.env("MCPSIM_THREAD_NOTE", seconds).stderr(File::create(&errors).unwrap());
        let ran = command.output().unwrap();
        let text = std::fs::read_to_string(&errors).unwrap();
        assert_eq!(ran.status.code(), Some(0), "{text}");
        text
    };
    let text = noted("0.01");
    let begin =
        "mcpsim: rank 0: the main thread has run for 0.01 s of host time without a call of MPI or of a function ";
    assert!(text.starts_with(begin) && text.ends_with("(MCPSIM_THREAD_NOTE=0 prints no note)\n"), "{text}");
    let wrong = "mcpsim: MCPSIM_THREAD_NOTE=soon: expected a number of seconds, such as 60, or 0 for no note\n";
    assert_eq!(noted("soon"), wrong);
}

/// Returns the block of the guide's page on threads that is saved as the file `name`.
fn of_guide(page: &str, name: &str) -> String {
    let (_, rest) = page.split_once(&format!("Save this as `{name}`")).unwrap();
    let block = rest.split("```").nth(1).unwrap();
    block.split_once('\n').unwrap().1.to_owned()
}

#[test]
fn the_hybrid_example_of_the_guide_takes_the_derived_time() {
    libraries();
    let page = std::fs::read_to_string("docs/guide/threads.md").unwrap();
    let workshop = directory();
    let at = |name: &str| workshop.path().join(name);
    for name in ["hybrid.c", "tiny.toml"] {
        std::fs::write(at(name), of_guide(&page, name)).unwrap();
    }
    for mpi in real_mpis() {
        mpi.compile_with(&at("hybrid.c"), &at("hybrid"), "-pthread").unwrap();
        let json = at("hybrid.json");
        let options = "--ranks 2 --ranks-per-node 1 --cores-per-rank 2 --critical-path";
        let files = format!("--platform {} --json {}", at("tiny.toml").display(), json.display());
        output(&at("hybrid"), &format!("{options} {files}"), "");
        let outcome: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
        // 3 ms + o + L + 1,000 G + o, 4 ms of the thread, 1 ms of the main thread.
        assert_eq!(outcome["predicted_ps"], 8_005_000_000_u64, "{outcome}");
        let shares: Vec<(u64, Option<u64>, u64)> = outcome["critical_path"]["ranks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|of| (of["rank"].as_u64().unwrap(), of["thread"].as_u64(), of["own_ps"].as_u64().unwrap() / 1_000_000))
            .collect();
        assert_eq!(shares, [(0, Some(1), 4001), (1, None, 3001), (0, None, 1000)], "{outcome}");
    }
}
