//! Tests of real programs in several processes. A run in several processes must have the same output and the same
//! prediction as a run in one process.

use std::fs;
use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use super::hosts::{HostMpi, host_mpis};
use super::real::{compile, compile_with, directory, file, libraries, real_mpis, told};
use super::support::{Ran, ended};

/// Programs of `workloads/c`, with arguments for a short run.
const CASES: [(&str, &str); 13] = [
    ("alltoall", "5000 2"),
    ("empty", ""),
    ("halo3d", "20000 2"),
    ("heat3d", "16 6 -s poles -v blocking"),
    ("hpl", "100 16"),
    ("is", "S"),
    ("jacobi3d", "16 12 8 5"),
    ("ljj", "400 20"),
    ("pi", "10000 -v ring"),
    ("pingpong", "100000 3"),
    ("prime", "2000"),
    ("ring", "2 100000"),
    ("sort", "2000"),
];

/// Returns the sorted output lines, and the Outcome without its data about the host.
fn ran(mpi: &HostMpi, processes: u32, line: &str) -> (Vec<String>, Value) {
    let directory = directory();
    let json = directory.path().join("outcome.json");
    let ran = mpi.run(processes, &format!("--quiet --compute skip --json {} {line}", json.display()));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", told(&format!("{} {line}", mpi.name), &ran));
    let mut outcome: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    outcome.as_object_mut().unwrap().remove("host");
    // The lines are sorted, because lines of ranks on different nodes have no defined order.
    let mut lines: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
    lines.sort();
    (lines, outcome)
}

#[test]
fn every_program_is_the_same_in_several_processes() {
    if host_mpis().is_empty() {
        return;
    }
    let directory = directory();
    for (name, arguments) in CASES {
        let program = directory.path().join(name);
        compile(&file(&format!("workloads/c/{name}.c")), "-O1", &program).unwrap();
        for mpi in host_mpis() {
            let line = |threads| format!("--nct 4,2,2 --workers {threads} {} {arguments}", program.display());
            let reference = ran(mpi, 1, &line(1));
            for (processes, threads) in [(2, 1), (3, 1), (2, 2)] {
                let found = ran(mpi, processes, &line(threads));
                assert!(found == reference, "{} {name} in {processes} x {threads}: {:?}", mpi.name, found.0);
            }
        }
    }
}

#[test]
fn programs_as_built_are_the_same_in_several_processes() {
    libraries();
    let directory = directory();
    for (mpi, built_for) in host_mpis().iter().flat_map(|mpi| real_mpis().iter().map(move |built_for| (mpi, built_for)))
    {
        let program = directory.path().join(built_for.compiler());
        built_for.compile(&file("tests/real/as_built.c"), &program).unwrap();
        let line = |threads, start| format!("--nct 4,1,2 --workers {threads} --start {start} {}", program.display());
        let ran = |processes, threads, start| {
            let (lines, mut outcome) = ran(mpi, processes, &line(threads, start));
            assert_eq!(outcome["config"]["run"]["start"].take(), start);
            (lines, outcome)
        };
        let reference = ran(1, 1, "fork");
        assert_eq!(reference.0.len(), 8, "{:?}", reference.0);
        for (processes, threads, start) in [(2, 1, "fork"), (2, 1, "exec"), (3, 2, "fork")] {
            let found = ran(processes, threads, start);
            assert!(found == reference, "{} in {processes} x {threads} by {start}: {:?}", mpi.name, found.0);
        }
    }
}

#[test]
fn data_travel_whole_and_in_order_whatever_their_size_and_number() {
    if host_mpis().is_empty() {
        return;
    }
    let directory = directory();
    let program = directory.path().join("letters");
    compile(&file("tests/mpirun/letters.c"), "-O1", &program).unwrap();
    for mpi in host_mpis() {
        for way in ["large", "many", "cancel"] {
            let line = |threads| format!("--nct 4,1,1 --workers {threads} {} {way}", program.display());
            let reference = ran(mpi, 1, &line(1));
            if way == "cancel" {
                let [cancelled, received] =
                    ["cancelled", "received"].map(|end| reference.0.iter().filter(|line| line.ends_with(end)).count());
                assert!(cancelled > 0 && received > 0 && cancelled + received == 40, "{:?}", reference.0);
            }
            for (processes, threads) in [(1, 2), (2, 1), (2, 2), (3, 1)] {
                let found = ran(mpi, processes, &line(threads));
                assert!(found == reference, "{} {way} in {processes} x {threads}: {:?}", mpi.name, found.0);
            }
        }
    }
}

#[test]
fn a_program_is_compiled_by_one_process_for_all() {
    for mpi in host_mpis() {
        let line = "--nct 2,1,2 --set app.program.arguments=[\"S\"] workloads/is-c.toml";
        assert!(ran(mpi, 2, line) == ran(mpi, 1, line), "{}", mpi.name);
    }
}

#[test]
fn ranks_see_the_simulated_mpi_one_environment_and_the_stdin_of_the_run() {
    if host_mpis().is_empty() {
        return;
    }
    let directory = directory();
    let [program, places] = ["told", "places"].map(|name| directory.path().join(name));
    compile(&file("tests/mpirun/told.c"), "-O1", &program).unwrap();
    // Rank 0 is on the last node. The process that simulates rank 0 must be the one whose standard input is available.
    fs::write(&places, "3 0 0\n2 0 0\n1 0 0\n0 0 0\n").unwrap();
    for mpi in host_mpis() {
        let mut command = mpi.launch(3, &mpi.binary);
        command.args(["--quiet", "--nct", "4,1,1", "--tag-output", "--placement"]).args([&places, &program]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(b"a line\n").unwrap();
        let Ran { code, stdout, stderr } = ended(child);
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{}", mpi.name);
        let mut lines: Vec<&str> = stdout.lines().collect();
        lines.sort_unstable();
        let line = |rank: u32| {
            let read = if rank == 0 { "a line" } else { "" };
            format!("[{rank}:out] {rank} of 4, mcpsim 1, launched 0, read \"{read}\"")
        };
        assert_eq!(lines, (0..4).map(line).collect::<Vec<_>>(), "{}", mpi.name);
    }
}

#[test]
fn ranks_of_several_processes_share_no_more_than_those_of_one() {
    if host_mpis().is_empty() {
        return;
    }
    let directory = directory();
    let here = directory.path().display().to_string();
    let state = file("tests/real/libraries/state.c");
    for name in ["libone.so", "libtwo.so"] {
        compile_with(&state, "-O1", &directory.path().join(name), "-shared -fPIC").unwrap();
    }
    for (name, flags, arguments) in [
        ("floats", "-frounding-math", String::new()),
        ("faults", "-O0 -frounding-math", String::new()),
        ("surroundings", "", here.clone()),
        ("statics", "-pthread", here.clone()),
        ("shared", "", here.clone()),
        ("outside", "", format!("access {here}")),
        ("outside", "", format!("fifo {here}")),
        ("within", "", "mend recv".to_owned()),
    ] {
        let program = directory.path().join(name);
        compile_with(&file(&format!("tests/real/{name}.c")), "-O1", &program, flags).unwrap();
        let nct = if ["outside", "within"].contains(&name) { "2,1,1" } else { "2,1,2" };
        let line = format!("--nct {nct} {} {arguments}", program.display());
        let clear = || {
            let _ = fs::remove_file(directory.path().join("none"));
        };
        for mpi in host_mpis() {
            clear();
            let reference = ran(mpi, 1, &line);
            clear();
            let found = ran(mpi, 2, &line);
            assert_eq!(found.0, reference.0, "{} {name} {arguments}", mpi.name);
            // These programs wait for files and locks, and the time of such waits depends on the host.
            let waits = ["statics", "outside"].contains(&name);
            assert!(waits || found.1 == reference.1, "{} {name}: another Outcome", mpi.name);
        }
    }
}
