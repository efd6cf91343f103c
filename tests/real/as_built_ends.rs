//! Tests of the start and of the end of ranks that are processes.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::as_built::libraries;
use crate::real::{compile, directory, file, limited, real_mpis, run, told};

#[test]
fn ends_of_processes_are_reported() {
    libraries();
    let workshop = directory();
    let source = file("tests/real/as_built_ends.c");
    for mpi in real_mpis() {
        let built = workshop.path().join(mpi.compiler());
        mpi.compile(&source, &built).unwrap();
        for (argument, code, said) in [
            ("crash", 4, "rank 1 crashed with signal 11 (SIGSEGV) at virtual time 0 s: after MPI_Comm_rank"),
            ("signal", 4, "rank 1 crashed with signal 9"),
            ("exit", 1, "without MPI_Finalize"),
            ("code", 5, "rank 1 ended with exit code 5"),
            ("handler", 0, ""),
            ("leaves", 1, "without MPI_Finalize"),
            ("quick", 6, "rank 1 ended with exit code 6"),
            ("child_leaves", 0, ""),
            ("file", 1, "MPI_File_open"),
            ("deadlock", 3, "deadlock"),
            ("alone", 3, "deadlock: 1 rank waits and no rank can continue (1 finished, rank 1 with exit code 7)"),
            ("thread", 1, "MPI was called by a second thread"),
            ("child", 0, "MPI was called by a second process of a rank"),
            ("forks", 0, "MPI was called by a second process of a rank"),
            ("background", 0, ""),
            ("nothing", 1, "without a call of MPI"),
        ] {
            let ran = run(&built, "--nct 1,1,2", argument);
            let text = told(argument, &ran);
            assert!(ran.code == Some(code) && ran.stderr.contains(said), "{text}");
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcpsim"));
        command.args([
            "--nct",
            "1,1,2",
            "--start",
            "exec",
            "--",
            "sh",
            "-c",
            "\"$0\" none; exit $OMPI_COMM_WORLD_RANK",
        ]);
        let ran = limited(command.arg(&built));
        let text = told("a script", &ran);
        assert!(ran.code == Some(1) && ran.stderr.contains("rank 1 ended with exit code 1"), "{text}");
        // The only block of code, from MPI_Init to the crash, takes 1 ms. MPI_Comm_rank takes no time.
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcpsim"));
        command.args(["--quiet", "--compute", "1ms", "--nct", "1,1,2"]).arg(&built).args(["--", "crash"]);
        let ran = limited(&command);
        assert!(ran.stderr.contains("at virtual time 1.000 ms: after MPI_Comm_rank"), "{}", told("crash", &ran));
    }
}

#[test]
fn a_rank_that_waits_outside_of_mpi_ends_the_run() {
    libraries();
    let workshop = directory();
    let Some(mpi) = real_mpis().first() else { return };
    let built = workshop.path().join("ends");
    mpi.compile(&file("tests/real/as_built_ends.c"), &built).unwrap();
    let ran = run(&built, "--nct 1,1,2", "waits");
    let text = told("waits", &ran);
    assert!(ran.code == Some(1) && ran.stderr.contains("the rank has waited for 15 s outside of MPI"), "{text}");
}

#[test]
fn the_start_and_the_way_of_ranks_can_be_chosen() {
    libraries();
    let workshop = directory();
    let source = file("tests/real/as_built_ends.c");
    let fibers = workshop.path().join("fibers");
    compile(&source, "", &fibers).unwrap();
    let said = |program: &Path, options: &str, argument: &str, code, said: &str| {
        let ran = run(program, &format!("--nct 1,1,2 {options}"), argument);
        let text = told(&format!("{options} {argument}"), &ran);
        assert!(ran.code == Some(code) && ran.stderr.contains(said), "{text}");
    };
    said(&fibers, "--ranks-as process", "none", 2, "--ranks-as process: mcpsim compiles this program");
    said(&fibers, "--ranks-as fiber", "none", 0, "");
    for mpi in real_mpis() {
        let built = workshop.path().join(mpi.compiler());
        mpi.compile(&source, &built).unwrap();
        said(&built, "--ranks-as fiber", "none", 2, "--ranks-as fiber: this program was not compiled by mcpsim");
        said(&built, "--start fork", "reads", 2, "--start fork: the program reads a variable of a launcher");
        said(&built, "--start fork", "opens", 2, "--start fork: the program has an open file at MPI_Init");
        for start in ["auto", "exec"] {
            said(&built, &format!("--start {start}"), "reads", 0, "");
            said(&built, &format!("--start {start}"), "opens", 0, "");
        }
        let json = workshop.path().join("outcome.json");
        for (program, ranks_as) in [(&built, "processes"), (&fibers, "fibers")] {
            said(program, &format!("--json {}", json.display()), "none", 0, "");
            let outcome: serde_json::Value = serde_json::from_reader(File::open(&json).unwrap()).unwrap();
            assert_eq!(outcome["host"]["ranks_as"], ranks_as);
            assert_eq!(outcome["host"]["mpi_library"].is_string(), ranks_as == "processes");
        }
    }
}

/// Starts an endless program in a process group of its own. Returns mcpsim, the processes of the ranks, and the file
/// that the ranks have open.
fn endless(program: &Path, start: &str) -> (Child, Vec<String>, BufReader<File>) {
    let pipe = program.with_extension("pipe");
    if !pipe.exists() {
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcpsim"));
    command.args(["--quiet", "--nct", "2,1,2", "--start", start]).arg(program).args(["--", "endless"]).arg(&pipe);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let child = command.process_group(0).spawn().unwrap();
    let mut open = BufReader::new(File::open(&pipe).unwrap());
    let processes = (0..4).map(|_| {
        let mut line = String::new();
        open.read_line(&mut line).unwrap();
        line.trim().to_owned()
    });
    (child, processes.collect(), open)
}

fn signal(signal: &str, process: &str) {
    assert!(Command::new("kill").args([signal, "--", process]).status().unwrap().success());
}

#[test]
fn no_process_outlives_the_run() {
    libraries();
    let workshop = directory();
    let Some(mpi) = real_mpis().first() else { return };
    let built = workshop.path().join("ends");
    mpi.compile(&file("tests/real/as_built_ends.c"), &built).unwrap();
    for start in ["fork", "exec"] {
        for (way, code) in [("simulator", None), ("rank", Some(4)), ("terminal", Some(130))] {
            let (child, processes, mut open) = endless(&built, start);
            match way {
                "simulator" => signal("-KILL", &child.id().to_string()),
                "rank" => signal("-KILL", &processes[1]),
                // A terminal sends the signal to all processes of its group.
                _ => signal("-INT", &format!("-{}", child.id())),
            }
            // The end of file is the end of the last process.
            while open.read_line(&mut String::new()).unwrap() > 0 {}
            let ended = child.wait_with_output().unwrap();
            assert_eq!(ended.status.code(), code, "{way}: {}", String::from_utf8_lossy(&ended.stderr));
        }
    }
}
