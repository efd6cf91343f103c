//! The command line as scripts see it: exact texts, exit codes, stdout and stderr.

#[path = "support/binary.rs"]
mod support;

use std::fs::File;
use std::path::Path;
use std::process::Stdio;

use support::{finish, mcpsim, run};
use tempfile::TempDir;

/// A directory with an application that is never run.
fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("app.toml"), "name = \"a\"\nn = 1\n[run]\nseed = 3\n").unwrap();
    directory
}

/// The first line of stderr and the code; stdout has to be empty.
fn refused(directory: &Path, line: &str) -> (String, Option<i32>) {
    let ran = run(directory, line);
    assert_eq!(ran.stdout, "", "{line}");
    (ran.stderr.lines().next().unwrap_or_default().to_owned(), ran.code)
}

#[test]
fn each_error_is_one_line_with_exit_code_2() {
    let directory = directory();
    let here = directory.path();
    std::fs::write(here.join("broken.toml"), "n = \n").unwrap();
    std::fs::write(here.join("run.toml"), "run.ranks = 0\n").unwrap();
    std::fs::write(here.join("program"), [0x7f, b'E', b'L', b'F', 0xff]).unwrap();
    for (line, error) in [
        ("no.toml", "no.toml: no such file"),
        ("program", "program: not a text file, expected TOML in UTF-8"),
        ("broken.toml", "broken.toml:1:5: not TOML: string values must be quoted, expected literal string"),
        ("run.toml", "expected a whole number above zero that is not too large in run.ranks of run.toml; found 0"),
        ("--platform no.toml app.toml", "no.toml: no such file"),
        ("--placement blok app.toml", "expected block, cyclic or a file in --placement; no such file: blok"),
        (
            "--set seed=1 app.toml",
            "--set seed=1: not a dotted key, expected KEY=VALUE with a key such as platform.inter_node.latency, app.n or run.seed",
        ),
        (
            "--set run.sed=1 app.toml --quiet",
            "unknown field \"sed\", expected one of \"nct\", \"platform\", \"ranks\", \"oversubscribe\", \"placement\", \"workers\", \"model\", \"seed\", \"max_time\", \"max_events\", \"max_turns\", \"intervals\", \"pairs\" in --set run.sed=1",
        ),
        ("--seed 1 --set run.seed=2 app.toml", "both --seed and --set run.seed=2 are given: leave out one"),
        ("--json no/x.json app.toml", "--json no/x.json: no such directory as no"),
        ("--json - --profile - app.toml", "--json and --profile both go to stdout: give one another file"),
        (
            "app.toml -- -n 5",
            "unexpected argument \"-n\": the described application app.toml takes none, change its keys with --set app.KEY=VALUE",
        ),
        (
            "cc prog.c",
            "\"cc\" is not available in this version, expected mcpsim [run] [OPTIONS] APP; a file of that name is ./cc",
        ),
        ("--quiet run app.toml", "\"run\" stands before the options: mcpsim run [OPTIONS] APP"),
        (
            "--nct 4,2 app.toml",
            "invalid value '4,2' for '--nct <N,C,T>': expected three whole numbers above zero such as 4,2,2; found \"4,2\"",
        ),
        ("--colour app.toml", "unexpected argument '--colour' found"),
    ] {
        assert_eq!(refused(here, line), (format!("error: {error}"), Some(2)), "{line}");
    }
}

#[test]
fn no_arguments_show_the_help_as_an_error() {
    let ran = run(directory().path(), "");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""));
    assert!(ran.stderr.contains("Usage: mcpsim [run] [OPTIONS] APP [-- ARGS]"), "{}", ran.stderr);
}

#[test]
fn help_and_version_are_on_stdout() {
    let directory = directory();
    let version = run(directory.path(), "--version");
    assert_eq!((version.code, version.stdout), (Some(0), format!("mcpsim {}\n", env!("CARGO_PKG_VERSION"))));
    let help = run(directory.path(), "run --help");
    assert_eq!((help.code, help.stderr.as_str()), (Some(0), ""));
    for word in ["Examples:", "Exit codes:", "--oversubscribe", "--set <KEY=VALUE>"] {
        assert!(help.stdout.contains(word), "{word} in {}", help.stdout);
    }
}

#[test]
fn the_shown_configuration_reads_back_as_itself() {
    let directory = directory();
    let here = directory.path();
    let first = run(here, "--show-config --nct 4,2,2 --set app.n=7 app.toml");
    assert_eq!((first.code, first.stderr.as_str()), (Some(0), ""));
    assert!(first.stdout.contains("[run]\nnct = \"4,2,2\"\n"), "{}", first.stdout);
    assert!(first.stdout.contains("[app]\nname = \"a\"\nn = 7\n"), "{}", first.stdout);
    std::fs::write(here.join("whole.toml"), &first.stdout).unwrap();
    let again = run(here, "--show-config whole.toml");
    let body = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    assert_eq!(body(&again.stdout), body(&first.stdout));
}

#[test]
fn several_copies_under_a_launcher_are_refused() {
    let directory = directory();
    let mut command = mcpsim(directory.path());
    let ran = finish(command.arg("app.toml").env("OMPI_COMM_WORLD_SIZE", "8").output().unwrap());
    assert_eq!(ran.code, Some(2));
    assert_eq!(
        ran.stderr,
        "error: started 8 times by an MPI launcher (OMPI_COMM_WORLD_SIZE=8), but this version simulates in one process: \
         leave out mpirun and give --workers 8 for as many threads\n"
    );
}

#[test]
fn a_full_stdout_is_an_error_and_a_closed_one_is_not() {
    let directory = directory();
    for line in ["--show-config app.toml", "--help"] {
        let mut command = mcpsim(directory.path());
        command.args(line.split_whitespace()).stdout(File::options().write(true).open("/dev/full").unwrap());
        let ran = finish(command.output().unwrap());
        assert_eq!(ran.stderr, "error: cannot write stdout: No space left on device (os error 28)\n");
        assert_eq!(ran.code, Some(2));

        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = mcpsim(directory.path());
        let output = command.args(line.split_whitespace()).stdout(Stdio::from(writer)).output().unwrap();
        let ran = finish(output);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    }
}
