//! Traces on the command line: recording, display, and error messages for impossible requests.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::run;
use tempfile::TempDir;

/// Returns a directory with a described application and its recorded trace.
fn recorded() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let app = "name = \"pair\"\nmain = [\n  { repeat = 10, do = [\n    { compute = { time = \"1 us\" } },\n    \
               { sendrecv = { to = \"1 - rank\", bytes = 64, from = \"1 - rank\" } },\n  ] },\n  \
               { allreduce = { bytes = 8 } },\n]\n";
    std::fs::write(directory.path().join("pair.toml"), app).unwrap();
    let ran = run(directory.path(), "--nct 2,1,1 --seed 5 --record pair.trace --quiet pair.toml");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    directory
}

fn refused(directory: &Path, line: &str) -> String {
    let ran = run(directory, line);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{line}\n{}", ran.stderr);
    ran.stderr.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_trace_is_shown() {
    let directory = recorded();
    let shown = |line: &str| {
        let ran = run(directory.path(), line);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{line}");
        ran.stdout
    };
    let info = shown("trace info pair.trace");
    let start = "pair: 2 ranks\n\n  recorded by  mcpsim 0.1.0, format 8\n  on           default (2, 1, 1), model mcpsim\n  \
                 seed         5\n  blocks       of stated length\n  calls        42\n  messages     20, 1280 B\n  \
                 collectives  2, as calls: a replay's library decides their messages\n  \
                 computing    20.00 us, all ranks together\n";
    assert!(info.starts_with(start), "{info}");
    let head = "      1  compute 1.000 us\n      2  sendrecv 64 B to 0, tag 0, context 0, from 0, tag 0, context 0\n";
    assert_eq!(shown("trace head -n 2 --rank 1 pair.trace"), head);
    assert!(
        shown("trace head -n 99 pair.trace").ends_with("  enter MPI_Allreduce, 8 B\n     22  leave\n     23  finish\n")
    );
    let stats = shown("trace stats pair.trace");
    assert!(stats.contains("\n  compute                   20    47.6%\n"), "{stats}");
    assert!(shown("trace --help").contains("Usage: mcpsim trace <COMMAND>"));
}

#[test]
fn a_replay_needs_the_recorded_ranks_and_nothing_else() {
    let directory = recorded();
    let here = directory.path();
    assert_eq!(refused(here, "--ranks 3 pair.trace"), "error: --ranks 3: expected 2, the ranks of pair.trace");
    assert_eq!(
        refused(here, "--nct 1,1,1 pair.trace"),
        "error: 2 ranks on 1 core: give a larger --nct, or --oversubscribe"
    );
    assert_eq!(
        refused(here, "report pair.trace --figures out"),
        "error: pair.trace: not text: expected the JSON of a run or a study; for a trace use mcpsim trace info or mcpsim run"
    );
    assert_eq!(
        refused(here, "--set app.n=3 pair.trace"),
        "error: --set app.n=3: expected app.trace.file, which is the only key of a trace, because its operations \
         are recorded"
    );
    assert_eq!(
        refused(here, "--seed 3 pair.trace"),
        "error: --seed: expected no seed, because the trace pair.trace has no random numbers and the machine has no \
         noise"
    );
    assert_eq!(
        refused(here, "pair.trace -- x"),
        "error: unexpected argument \"x\": the trace pair.trace has no \
                              arguments"
    );
    let ran = run(here, "--nct 2,1,1 --set platform.core.flops=1Gflop/s pair.trace");
    let note = "note: work takes the time that was recorded, although this machine has another core.flops\n";
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), note));
    assert_eq!(
        refused(here, "--record - pair.toml"),
        "error: --record -: expected the name of a trace file; a \
                              trace cannot be written to stdout"
    );
    assert_eq!(
        refused(here, "trace head --rank 2 pair.trace"),
        "error: --rank 2: expected 0 to 1, a rank of pair.trace"
    );
    assert_eq!(refused(here, "trace info no.trace"), "error: no.trace: no such file");
    assert_eq!(
        refused(here, "trace info pair.toml"),
        "error: pair.toml: not a mcpsim trace: the file does not start with \"MCPSIM\""
    );
    let mut bytes = std::fs::read(here.join("pair.trace")).unwrap();
    bytes.pop();
    std::fs::write(here.join("cut.trace"), bytes).unwrap();
    assert!(refused(here, "cut.trace").starts_with("error: cut.trace: truncated: expected "));
}

#[test]
fn the_configuration_of_a_replay_runs_as_it_is() {
    let directory = recorded();
    let ran = run(directory.path(), "--show-config --nct 2,1,1 pair.trace");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    std::fs::write(directory.path().join("whole.toml"), ran.stdout).unwrap();
    let [whole, trace] = ["whole.toml", "--nct 2,1,1 pair.trace"].map(|line| run(directory.path(), line));
    let [whole, trace] =
        [whole, trace].map(|ran| (ran.code, ran.stdout.lines().take(4).collect::<Vec<_>>().join("\n")));
    assert_eq!(whole, trace);
    assert!(whole.1.starts_with("pair: 2 ranks on default (2, 1, 1)\n"), "{}", whole.1);
}

#[test]
fn a_failed_run_leaves_no_trace() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("stuck.toml"), "main = [{ recv = { from = \"1 - rank\" } }]").unwrap();
    let ran = run(directory.path(), "--nct 2,1,1 --record stuck.trace stuck.toml");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(!directory.path().join("stuck.trace").exists());
}

#[test]
fn traces_of_other_tools_run_and_can_be_recorded() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::write(here.join("a0.txt"), "0 init\n0 send 1 0 1e6\n0 compute 1e6\n").unwrap();
    std::fs::write(here.join("a1.txt"), "1 init\n1 recv 0 0 1e6\n").unwrap();
    std::fs::write(here.join("all.txt"), "a0.txt\na1.txt\n").unwrap();
    std::fs::write(here.join("a.goal"), "num_ranks 1\nrank 0 {\nl1: calc 1000\n}\n").unwrap();
    for file in ["all.txt", "a.goal"] {
        let first = run(here, &format!("--record {file}.trace {file}"));
        assert_eq!(first.code, Some(0), "{}", first.stderr);
        let again = run(here, &format!("{file}.trace"));
        let top =
            |text: &str| text.lines().take(20).collect::<Vec<_>>().join("\n").split("host").next().map(str::to_owned);
        assert_eq!(top(&first.stdout), top(&again.stdout));
    }
    // The command that the message prints works without changes.
    for (file, ranks) in [("a.goal", 1), ("all.txt", 2)] {
        let command = format!("--nct 1,1,{ranks} --record FILE.trace {file}");
        let told = refused(here, &format!("trace stats {file}"));
        assert!(told.ends_with(&format!(", which a run of this file records: mcpsim {command}")), "{told}");
        let ran = run(here, &command);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(run(here, "trace stats FILE.trace").code, Some(0));
    }
    std::fs::write(here.join("b.goal"), "num_ranks 1\nrank 0 {\nl1: jump 1000\n}\n").unwrap();
    assert_eq!(refused(here, "b.goal"), "error: b.goal: line 3: expected calc, send or recv; found \"jump\"");
}

#[test]
fn a_trace_is_swept_over_libraries() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let app = "main = [\n  { alltoall = { bytes = \"4 KiB\" } },\n  { allreduce = { bytes = \"64 KiB\" } },\n  \
               { ibcast = { bytes = 100, root = 1, request = \"b\" } },\n  { wait = \"b\" },\n]\n";
    std::fs::write(here.join("all.toml"), app).unwrap();
    let ran = run(here, "--nct 3,1,2 --record all.trace --quiet all.toml");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let sweep = |of: &str| {
        let axis = "platform.collectives.library=mpich-3-flat,openmpi-4.0,openmpi-4.1,mpich-4";
        let ran = run(here, &format!("sweep --quiet --nct 3,1,2 --vary {axis} --out {of}-study all.{of}"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let rows = std::fs::read_to_string(here.join(format!("{of}-study/study.csv"))).unwrap();
        let mut columns = rows.lines().next().unwrap().split(',');
        let predicted = columns.position(|column| column == "predicted_s").unwrap_or_else(|| panic!("{rows}"));
        rows.lines().skip(1).map(|row| row.split(',').nth(predicted).unwrap().to_owned()).collect::<Vec<_>>()
    };
    let [replayed, simulated] = ["trace", "toml"].map(sweep);
    assert_eq!(replayed, simulated);
    assert!(replayed.len() == 4 && replayed[0] != replayed[1] && replayed[1] != replayed[2], "{replayed:?}");
    // The error for an impossible algorithm names the call.
    let rule = "platform.collectives.bcast.algorithm=pairwise";
    assert!(refused(here, &format!("--nct 3,1,2 --set {rule} all.trace")).contains("does not suit bcast"));
    let two = "platform.collectives.allreduce.algorithm=nonoverlapping";
    assert_eq!(run(here, &format!("--nct 3,1,2 --set {two} all.trace")).code, Some(0));
    let three = "platform.collectives.alltoall.algorithm=two_procs";
    assert_eq!(
        refused(here, &format!("--nct 3,1,2 --set {three} all.trace")),
        "error: rank 0 at virtual time 0 s: MPI_Alltoall, call 1 of the trace: algorithm \"two_procs\" of alltoall: expected 2 ranks; found 6"
    );
}

/// Writes an OTF2 archive as Score-P does, `run.otf2` in `directory`. Returns `None` without an OTF2 library.
fn archive(directory: &Path) -> Option<()> {
    let told = |teller: &str, words: &[&str]| {
        let output = Command::new(teller).args(words).stdin(Stdio::null()).output().ok()?;
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    };
    let flags = told("otf2-config", &["--cflags"])
        .and_then(|cflags| {
            Some([cflags, told("otf2-config", &["--ldflags"])?, told("otf2-config", &["--libs"])?].concat())
        })
        .or_else(|| told("pkg-config", &["--cflags", "--libs", "otf2"]))?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/traces/archive.c");
    let mut compiler = Command::new("cc");
    compiler.arg("-o").arg(directory.join("archive")).arg(source).args(flags.split_whitespace());
    assert!(compiler.status().unwrap().success());
    let mut writer = Command::new(directory.join("archive"));
    assert!(writer.args([".", "run"]).current_dir(directory).status().unwrap().success());
    Some(())
}

#[test]
fn an_archive_of_score_p_is_replayed() {
    let directory = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let here = directory.path();
    if archive(here).is_none() {
        return crate::support::skipped("no OTF2 library is found (libopen-trace-format2-dev): archives of Score-P");
    }
    // The described application makes the same calls, with 10 ns of code between calls.
    let app = "main = [\n { compute = { time = \"100 us\" } }, { bcast = { bytes = 1000, root = 0 } },\n \
               { compute = { time = \"10 ns\" } }, { irecv = { from = \"1 - rank\", tag = 3 } },\n \
               { compute = { time = \"10 ns\" } }, { isend = { to = \"1 - rank\", bytes = 2000, tag = 3 } },\n \
               { compute = { time = \"10 ns\" } }, \"waitall\", { compute = { time = \"10 ns\" } },\n \
               { allreduce = { bytes = 8 } }, { compute = { time = \"10 ns\" } },\n]\n";
    std::fs::write(here.join("same.toml"), app).unwrap();
    let outcome = |app: &str, options: &str| -> serde_json::Value {
        let ran = run(here, &format!("--quiet --nct 2,1,1 --json out.json {options} {app}"));
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        serde_json::from_slice(&std::fs::read(here.join("out.json")).unwrap()).unwrap()
    };
    let (replayed, described) = (outcome("run.otf2", "--functions"), outcome("same.toml", ""));
    assert_eq!(replayed["predicted_ps"], described["predicted_ps"]);
    assert_eq!(replayed["messages"], described["messages"]);
    let calls: Vec<&str> =
        replayed["functions"].as_array().unwrap().iter().map(|of| of["function"].as_str().unwrap()).collect();
    assert!(["MPI_Bcast", "MPI_Waitall", "MPI_Allreduce"].iter().all(|name| calls.contains(name)), "{calls:?}");
    // The archive can be recorded as a trace, and several workers can read it.
    outcome("run.otf2", "--record run.trace");
    let again = outcome("run.trace", "--workers 2");
    assert_eq!(again["predicted_ps"], replayed["predicted_ps"]);

    let events = here.join("run/11.evt");
    let whole = std::fs::read(&events).unwrap();
    std::fs::write(&events, &whole[..whole.len() / 2]).unwrap();
    let cut = refused(here, "--nct 2,1,1 run.otf2");
    assert!(cut.starts_with("error: run.otf2: the OTF2 library cannot read the archive: Invalid "), "{cut}");
    std::fs::remove_file(&events).unwrap();
    assert!(refused(here, "--nct 2,1,1 run.otf2").contains("File or directory does not exist"));
    assert!(refused(here, "trace info run.otf2").contains("File or directory does not exist"));
    let mut without = crate::support::mcpsim(here);
    without.args(["--nct", "2,1,1", "run.otf2"]).env("PATH", "/nowhere");
    let ran = crate::support::finish(without.output().unwrap());
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("expected the OTF2 library with its otf2-config"), "{}", ran.stderr);
}
