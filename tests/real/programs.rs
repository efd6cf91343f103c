//! Tests of real programs with the command `mcpsim`: reports of crashes and program ends, private state of ranks, and
//! the virtual time that programs see.

#[path = "crashes.rs"]
mod crashes;

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::support::{self, Ran, finish, mcpsim};
use tempfile::TempDir;

/// Returns the directory in which test programs are compiled and run. Returns `None` if the system has no compiler.
fn workshop() -> Option<&'static Path> {
    static MADE: OnceLock<Option<TempDir>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        if !support::is_there("c++") {
            support::skipped("there is no compiler (c++)");
            return None;
        }
        Some(TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap())
    });
    made.as_ref().map(|directory| directory.path())
}

fn command(directory: &Path) -> Command {
    let mut command = mcpsim(directory);
    command.env("MCPSIM_CACHE", workshop().unwrap().join("cache")).env_remove("MCPSIM_NCT");
    command
}

/// Compiles `tests/real/NAME` with these compiler flags.
fn program(name: &str, flags: &str) -> Option<PathBuf> {
    let directory = workshop()?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real").join(name);
    let out = tempfile::Builder::new().prefix("program-").tempfile_in(directory).unwrap();
    let out = out.into_temp_path().keep().unwrap();
    std::fs::remove_file(&out).unwrap();
    let wrapper = if name.ends_with(".cc") { "cxx" } else { "cc" };
    let mut compiler = command(directory);
    compiler.arg(wrapper).args(flags.split_whitespace()).arg(source).arg("-o").arg(&out);
    let ran = finish(compiler.output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    Some(out)
}

/// Runs a program with these options of mcpsim and these arguments of the program.
fn run(program: &Path, options: &str, arguments: &str) -> Ran {
    let directory = tempfile::tempdir().unwrap();
    run_in(directory.path(), program, options, arguments)
}

fn run_in(directory: &Path, program: &Path, options: &str, arguments: &str) -> Ran {
    let mut command = command(directory);
    command.arg("--quiet").args(options.split_whitespace()).arg(program);
    finish(command.args(arguments.split_whitespace()).output().unwrap())
}

#[test]
fn programs_that_could_call_what_is_not_simulated_run_until_they_do() {
    let Some(program) = program("absent.c", "") else { return };
    let ran = run(&program, "--nct 1,1,2", "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    for (argument, name) in [("file", "MPI_File_open"), ("spawn", "MPI_Comm_spawn")] {
        let ran = run(&program, "--nct 1,1,2", argument);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        for part in [name, "MPI_ERR_UNSUPPORTED_OPERATION", "mcpsim does not simulate this function"] {
            assert!(ran.stderr.contains(part), "{}", ran.stderr);
        }
    }
}

#[test]
fn waits_with_deadlines_end_by_virtual_time() {
    let Some(program) = program("deadlines.c", "-O1 -pthread") else { return };
    for options in ["", "--compute skip", "--clock wall"] {
        let ran = run(&program, &format!("--nct 1,1,2 {options}"), "");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{options}: {}", ran.stderr);
    }
}

#[test]
fn files_of_timers_and_events_let_other_ranks_go_on() {
    let Some(program) = program("timers.c", "-O1 -pthread") else { return };
    for options in ["", "--compute skip", "--workers 2", "--clock wall"] {
        let ran = run(&program, &format!("--nct 3,1,1 {options}"), "");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "3 ranks\n"), "{options}: {}", ran.stderr);
    }
}

#[test]
fn backtraces_lead_to_main() {
    let Some(program) = program("frames.c", "-O0 -rdynamic") else { return };
    let ran = run(&program, "--nct 1,1,2", "");
    let lines: Vec<&str> = ran.stdout.lines().map(str::trim_end).collect();
    assert_eq!((ran.code, lines.len()), (Some(0), 4), "{}{}", ran.stdout, ran.stderr);
    for rank in lines.chunks(2) {
        assert_eq!(rank[0], "inner outer main", "{}", ran.stdout);
        // Addresses within the C library have names that depend on the C library, so the test does not check these
        // names.
        assert!(rank[1].starts_with("inner outer ") && rank[1].ends_with(" main"), "{}", ran.stdout);
    }
}

#[test]
fn reports_name_the_line_of_the_call_where_it_is_known() {
    let Some(program) = program("deadlock.c", "-g -O2") else { return };
    let ran = run(&program, "--nct 1,1,2", "");
    assert_eq!(ran.code, Some(3));
    assert_eq!(ran.stderr.matches("  deadlock.c:6\n").count(), 2, "{}", ran.stderr);
    let ran = run(&program, "--nct 1,1,2", "wrong");
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains(": MPI_Send at deadlock.c:14: "), "{}", ran.stderr);
}

#[test]
fn a_rank_s_exit_code_is_the_run_s() {
    let Some(program) = program("ends.c", "-g") else { return };
    let ran = run(&program, "--nct 1,1,2", "early");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("rank 1 exited with code 3"), "{}", ran.stderr);
    assert!(ran.stderr.contains("without MPI_Finalize"), "{}", ran.stderr);
    assert!(ran.stdout.contains("second 1\ncode 1: 3\nfirst 1\n"), "{}", ran.stdout);
    for (how, code) in [("exit", 3), ("return", 4), ("_exit", 5), ("quick", 6)] {
        let mut command = command(workshop().unwrap());
        let ran = finish(command.args(["--nct", "1,1,2"]).arg(&program).arg(how).output().unwrap());
        assert_eq!(ran.code, Some(code), "{how}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("rank 1 ended with exit code {code}")), "{how}: {}", ran.stderr);
        let functions = ran.stdout.contains("second 1\n") && ran.stdout.contains(&format!("code 1: {code}\nfirst 1\n"));
        assert_eq!(functions, code < 5, "{how}: {}", ran.stdout);
        assert_eq!(ran.stdout.contains("quick 1"), code == 6, "{how}: {}", ran.stdout);
        assert!(ran.stdout.contains("predicted"), "{how}: {}", ran.stdout);
    }
}

#[test]
fn the_json_tells_how_a_program_ended() {
    let Some(program) = program("ends.c", "-g") else { return };
    let json = |how: &str| {
        let ran = run(&program, "--nct 1,1,2 --json -", how);
        let text = ran.stdout.find("{\n").map_or("", |start| &ran.stdout[start..]);
        let json: serde_json::Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{how}: {}", ran.stdout));
        assert_eq!(json["program"]["exit_code"].as_i64(), ran.code.map(i64::from), "{how}");
        json
    };
    let ended = |how: &str| {
        let json = json(how);
        let ended = &json["program"]["ended"];
        assert!(ended["clock_ps"].is_u64() && ended["text"].as_str().unwrap().starts_with("rank 1 "), "{json}");
        (ended["by"].as_str().unwrap().to_owned(), ended["number"].as_i64(), json["program"]["exit_code"].as_i64())
    };
    assert_eq!(ended("early"), ("exit".into(), Some(3), Some(3)));
    assert_eq!(ended("abort"), ("MPI_Abort".into(), Some(9), Some(9)));
    assert_eq!(ended("signal"), ("signal".into(), Some(6), Some(4)));
    let forgotten = json("forgotten");
    assert_eq!(forgotten["program"].to_string(), r#"{"codes":{},"exit_code":1,"unfinalised":[0,1]}"#);
    assert!(forgotten["predicted_ps"].is_u64());
    assert_eq!(json("return")["program"]["codes"].to_string(), r#"{"1":4}"#);
    let fine = run(&program, "--nct 1,1,2 --json -", "without");
    assert!(serde_json::from_str::<serde_json::Value>(&fine.stdout).unwrap()["program"].is_null());
}

#[test]
fn a_rank_that_leaves_others_waiting_ends_the_run_as_a_launcher_would() {
    let Some(program) = program("ends.c", "-g") else { return };
    let ran = run(&program, "--nct 1,1,2", "left");
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let expected = "error: rank 1 ended without MPI_Finalize: 1 rank waits and no rank can continue (1 finished)\n";
    assert!(ran.stderr.starts_with(expected) && ran.stderr.contains("MPI_Barrier"), "{}", ran.stderr);
}

#[test]
fn ranks_may_end_without_mpi_finalize_and_communicate_at_their_end() {
    let Some(program) = program("ends.c", "-g") else { return };
    let mut command = command(workshop().unwrap());
    let ran = finish(command.args(["--nct", "1,1,2"]).arg(&program).arg("forgotten").output().unwrap());
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.contains("note: 2 ranks ended without MPI_Finalize, rank 0 first"), "{}", ran.stderr);
    let ran = run(&program, "--nct 1,1,2", "without");
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
    let ran = run(&program, "--nct 1,1,2", "talk");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(ran.stdout.matches("sum 1\n").count(), 2);
}

#[test]
fn destructors_and_functions_at_the_end_run_in_reverse_order() {
    let Some(program) = program("order.cc", "-g -std=c++17") else { return };
    let ran = run(&program, "--nct 1,1,2 --tag-output", "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    for rank in 0..2 {
        let tag = format!("[{rank}:out] ");
        let lines: Vec<&str> = ran.stdout.lines().filter_map(|line| line.strip_prefix(&tag)).collect();
        assert_eq!(lines, ["caught", "slept", "~own", "~lazy", "plain", "~early"]);
    }
    let ran = run(&program, "--nct 1,1,2", "throw");
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(ran.stderr.contains("signal 6 (SIGABRT)") && ran.stderr.contains("order.cc:"), "{}", ran.stderr);
    assert!(ran.stderr.contains("nobody catches"), "{}", ran.stderr);
}

#[test]
fn every_clock_shows_virtual_time() {
    let Some(program) = program("clocks.c", "-O1 -pthread") else { return };
    for options in ["", "--compute skip", "--compute 1us"] {
        let options: Vec<&str> = options.splitn(2, ' ').filter(|word| !word.is_empty()).collect();
        let mut command = command(workshop().unwrap());
        let ran = finish(command.args(["--quiet", "--nct", "1,1,2"]).args(&options).arg(&program).output().unwrap());
        assert_eq!(ran.code, Some(0), "{options:?}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn each_rank_has_its_own_variables_state_and_name() {
    let Some(program) = program("own.c", "-O1") else { return };
    let ran = run(&program, "--nct 2,1,2", "");
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
}

#[test]
fn standard_streams_work_in_all_ways() {
    let Some(program) = program("streams.c", "-O2") else { return };
    let directory = tempfile::tempdir().unwrap();
    let ran = run_in(directory.path(), &program, "--nct 1,1,2 --tag-output", "");
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    for rank in 0..2 {
        let tag = format!("[{rank}:out] ");
        let lines: Vec<&str> = ran.stdout.lines().filter_map(|line| line.strip_prefix(&tag)).collect();
        let first = format!("a{rank}b{rank}");
        assert_eq!(lines, [&first, "write", &format!("dprintf {rank}"), "puts", "0 1 2 0"], "{}", ran.stdout);
        assert!(ran.stderr.contains(&format!("[{rank}:err] error {rank}\n[{rank}:err] also\n")), "{}", ran.stderr);
    }
    assert_eq!(ran.stdout.matches("out again").count(), 2);
    let file = std::fs::read_to_string(directory.path().join("out.txt")).unwrap();
    assert_eq!((file.matches("into the file\n").count(), file.matches("freopened\n").count()), (2, 2), "{file}");
}

#[test]
fn rank_0_reads_the_input_and_the_others_find_it_at_its_end() {
    let Some(program) = program("streams.c", "-O2") else { return };
    let mut command = command(workshop().unwrap());
    command.args(["--quiet", "--nct", "1,1,2"]).arg(&program).arg("input");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"Ada\n").unwrap();
    let ran = support::ended(child);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(ran.stdout, "your name? rank 0: Ada\nrank 1: nothing\n");
}

#[test]
fn a_run_ends_when_nobody_reads_what_it_prints_unless_a_result_goes_to_a_file() {
    let Some(program) = program("prints.c", "-O1") else { return };
    let closed = |options: &[&str], lines: &str| {
        let mut command = command(workshop().unwrap());
        command.args(["--quiet", "--nct", "1,1,2"]).args(options).arg(&program).arg(lines);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        support::ended(child)
    };
    // Printing all these lines would take more than a day.
    let ran = closed(&[], "1000000000");
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: stdout was closed at virtual time "), "{}", ran.stderr);
    let ran = closed(&["--json", "prints.json"], "10000");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
}

#[test]
fn an_interrupt_tells_where_a_rank_is_that_calls_nothing() {
    let Some(program) = program("spin.c", "-g -O1") else { return };
    let mut command = command(workshop().unwrap());
    command.args(["--quiet", "--nct", "2,1,1"]).arg(&program);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "waits\n");
    let interrupted = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let ran = support::ended(child);
    assert_eq!(ran.code, Some(130), "{}", ran.stderr);
    assert!(ran.stderr.contains("rank 0, after MPI_Comm_rank, in main at spin.c:15"), "{}", ran.stderr);
}

#[test]
fn sampled_blocks_run_as_often_as_asked_and_are_charged_for() {
    let Some(program) = program("sample.c", "-O1") else { return };
    let ran = run(&program, "--nct 1,1,2 --compute skip --workers 1", "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let text = ran.stdout.trim_end();
    // Both ranks may enter the sampled block before one of the ranks has completed the last sample.
    assert!(text == "local 3 global 4" || text == "local 3 global 5", "{text}");
    let ran = run(&program, "--nct 1,1,2", "negative");
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains(": mcpsim_compute: -1 seconds: expected 0 or more"), "{}", ran.stderr);
}

#[test]
fn what_is_not_freed_is_listed_when_asked_for() {
    let Some(program) = program("leaks.c", "-g -O1") else { return };
    let report = |options: &[&str]| {
        let mut command = command(workshop().unwrap());
        finish(command.args(["--nct", "1,1,2"]).args(options).arg(&program).output().unwrap())
    };
    let ran = report(&["--check-leaks"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let expected = "note: never completed: 1 request, MPI_Irecv at leaks.c:11, rank 0\n";
    assert!(ran.stderr.contains(expected), "{}", ran.stderr);
    assert!(!ran.stderr.contains("rank 1"), "{}", ran.stderr);
    assert!(!report(&[]).stderr.contains("completed"));
}

#[test]
fn what_mpi_functions_copy_is_not_the_programs_time() {
    let Some(program) = program("copies.c", "-O1") else { return };
    let times = |options: &str| -> Vec<f64> {
        let ran = run(&program, &format!("--nct 1,1,2 {options}"), "");
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
        ran.stdout.split_whitespace().map(|time| time.parse().unwrap()).collect()
    };
    let (measured, skipped) = (times(""), times("--compute skip"));
    assert_eq!(measured.len(), 3);
    for (measured, skipped) in measured.iter().zip(&skipped) {
        assert!((*skipped..2.0 * skipped).contains(measured), "{measured} us, {skipped} us without the program's own");
    }
}

#[test]
fn a_rank_has_one_thread_unless_the_user_says_otherwise() {
    let Some(program) = program("threads.c", "-O1 -fopenmp") else { return };
    for (given, expected) in [(None, "1"), (Some("2"), "2")] {
        let mut command = command(workshop().unwrap());
        command.env_remove("OMP_NUM_THREADS").envs(given.map(|given| ("OMP_NUM_THREADS", given)));
        let ran = finish(command.args(["--quiet", "--nct", "1,1,2"]).arg(&program).arg("most").output().unwrap());
        assert_eq!((ran.code, ran.stdout), (Some(0), format!("{expected}\n").repeat(2)), "{}", ran.stderr);
    }
}

#[test]
fn threads_of_openmp_work_in_every_rank() {
    let Some(program) = program("threads.c", "-O1 -fopenmp") else { return };
    let ran = run(&program, "--nct 1,1,2 --clock wall --tag-output", "");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
    let mut lines: Vec<&str> = ran.stdout.lines().collect();
    lines.sort_unstable();
    let expected = [0, 1]
        .into_iter()
        .flat_map(|rank| (0..3).map(move |t| format!("[{rank}:out] rank {rank} thread {t} i {}", t * 100)));
    assert_eq!(lines, expected.collect::<Vec<_>>());
}

#[test]
fn a_program_that_is_run_directly_is_one_rank_and_says_only_what_it_prints() {
    let Some(program) = program("ends.c", "") else { return };
    let direct = |arguments: &str, nct: Option<&str>| {
        let mut command = Command::new(&program);
        command.args(arguments.split_whitespace()).env_remove("MCPSIM_NCT").envs(nct.map(|nct| ("MCPSIM_NCT", nct)));
        finish(command.output().unwrap())
    };
    let ran = direct("exit", None);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(ran.stdout, "partial 0second 0\ncode 0: 0\nfirst 0\n");
    let ran = direct("exit", Some("1,1,2"));
    assert_eq!((ran.code, ran.stdout.matches("partial").count()), (Some(3), 2));
    let ran = direct("exit", Some("1,x"));
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("MCPSIM_NCT"), "{}", ran.stderr);
}

/// Runs the program and returns the values that rank 0 prints about its polls.
fn polled(program: &Path, options: &str, arguments: &str) -> (f64, String, u32, String) {
    let ran = run(program, &format!("--nct 4,1,1 --compute skip {options}"), arguments);
    assert_eq!(ran.code, Some(0), "{arguments}: {}", ran.stderr);
    let [time, found, turns] = ran.stdout.trim().split(", ").collect::<Vec<_>>()[..] else { panic!("{}", ran.stdout) };
    let number = |text: &str| text.split(' ').next().unwrap().to_owned();
    (number(time).parse().unwrap(), found.to_owned(), number(turns).parse().unwrap(), ran.stderr)
}

#[test]
fn a_program_that_counts_its_polls_pays_for_each_and_one_that_waits_makes_few() {
    let Some(program) = program("polls.c", "-O2") else { return };
    for how in ["test", "testall", "testany", "testsome", "iprobe", "improbe", "win"] {
        // Each poll costs 100 ns of virtual time.
        for count in [10, 300, 5000] {
            let (time, found, ..) = polled(&program, "", &format!("{how} count {count}"));
            assert_eq!((time, &*found), (f64::from(count) / 10.0, "nothing"), "{how} {count}");
        }
        let (time, found, turns, _) = polled(&program, "", &format!("{how} spin"));
        assert_eq!(found, "found");
        assert!((1e6..1e6 + 10.0).contains(&time) && turns < 1000, "{how}: {time} us, {turns} turns");
    }
}

#[test]
fn a_program_that_counts_its_polls_out_of_sight_is_no_deadlock_and_is_told_of() {
    let Some(program) = program("polls.c", "-O0") else { return };
    let directory = tempfile::tempdir().unwrap();
    let mut command = command(directory.path());
    command.args(["--nct", "4,1,1", "--compute", "skip"]).arg(&program).args(["test", "heap", "1000"]);
    let ran = finish(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("nothing, 1000 turns"), "{}", ran.stdout);
    let note = ran.stderr.lines().find(|line| line.starts_with("note: rank 0 polled without success for 107.4 s"));
    assert!(note.is_some_and(|note| note.contains("as did 3 other ranks")), "{}", ran.stderr);
}

#[test]
fn ranks_that_call_mpi_in_parallel_regions_keep_their_teams_and_settings() {
    let Some(program) = program("openmp.c", "-O1 -fopenmp") else { return };
    for (how, threads, workers) in
        ["master", "settings", "critical", "ordered"].into_iter().flat_map(|how| [1, 2, 3].map(|n| (how, n, n.min(2))))
    {
        let mut command = command(workshop().unwrap());
        let options = format!("--quiet --nct 4,1,1 --compute skip --workers {workers}");
        command.env("OMP_NUM_THREADS", threads.to_string()).args(options.split_whitespace());
        let ran = finish(command.arg(&program).arg(how).output().unwrap());
        let told = format!("{how}, {threads} threads: {}{}", ran.stdout, ran.stderr);
        assert_eq!((ran.code, ran.stdout.matches(" ok\n").count()), (Some(0), 4), "{told}");
    }
    // If a rank ends inside an OpenMP parallel region, the other threads of the rank continue for some time.
    let ran = run(&program, "--nct 4,1,1 --compute skip", "exit");
    assert_eq!((ran.code, ran.stdout.matches(" ok\n").count()), (Some(0), 3), "{}{}", ran.stdout, ran.stderr);
    let ran = run(&program, "--nct 4,1,1 --compute skip", "abort");
    assert_eq!(ran.code, Some(9), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: rank 3 called MPI_Abort with code 9"), "{}", ran.stderr);
}

#[test]
fn a_deadlock_names_the_call_that_waits_however_far_code_has_run_ahead() {
    let Some(program) = program("senders.c", "-g") else { return };
    for workers in [1, 2] {
        let ran = run(&program, &format!("--nct 2,1,1 --workers {workers}"), "");
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        let rows: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("MPI_")).collect();
        assert_eq!(rows.len(), 2, "{}", ran.stderr);
        assert!(rows.iter().all(|row| row.contains("MPI_Send")), "{workers} workers: {}", ran.stderr);
    }
}

#[test]
fn a_program_that_closes_all_descriptors_closes_its_own_only() {
    let Some(program) = program("closes.c", "-O1") else { return };
    let directory = tempfile::tempdir().unwrap();
    for how in ["before", "loop", "closefrom", "close_range", "syscall", "dup2"] {
        let ran = run_in(directory.path(), &program, "--nct 1,1,4 --workers 2 --record t.trace --json t.json", how);
        assert_eq!(ran.code, Some(0), "{how}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(ran.stdout, format!("{how}: sum 6, own closed 1\n"));
        assert!(directory.path().join("t.trace").is_file() && directory.path().join("t.json").is_file());
    }
}

#[test]
fn options_after_a_program_go_to_it_and_it_is_said() {
    let Some(program) = program("closes.c", "-O1") else { return };
    let directory = tempfile::tempdir().unwrap();
    let told = |words: &[&str]| {
        let mut command = command(directory.path());
        let ran = finish(command.args(["run", "--nct", "1,1,2"]).arg(&program).args(words).output().unwrap());
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        ran.stderr
    };
    let note = format!(
        "note: --ranks stands after {} and goes to it: options of mcpsim stand before the program (-- hides this)\n",
        program.display()
    );
    assert_eq!(told(&["loop", "--ranks", "2"]), note);
    assert_eq!(told(&["--", "loop", "--ranks", "2"]), "");
    assert_eq!(told(&["loop", "--own", "-x"]), "");
}

#[test]
fn ranks_that_the_host_has_no_room_for_are_told_with_the_code_of_memory() {
    let Some(program) = program("closes.c", "-O1") else { return };
    let under = |stack: &str| {
        let limited = format!("ulimit -v 1500000; exec \"$0\" --nct 1,1,64 --workers 1 --stack-size {stack} \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &limited, env!("CARGO_BIN_EXE_mcpsim"), "--quiet"]).arg(&program).arg("loop");
        let mut command = support::without_launcher(command, workshop().unwrap());
        finish(command.env("MCPSIM_CACHE", workshop().unwrap().join("cache")).output().unwrap())
    };
    let ran = under("8MiB");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "loop: sum 2016, own closed 1\n"), "{}", ran.stderr);
    let ran = under("64MiB");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", ran.stderr);
    let (start, end) = (": the start of the rank: no room for a stack of 67108864 bytes: ", "(os error 12)\n");
    assert!(ran.stderr.starts_with("error: rank ") && ran.stderr.contains(start), "{}", ran.stderr);
    assert!(ran.stderr.ends_with(end), "{}", ran.stderr);
}
