//! Tests of the support library in ordinary programs of the system. A program with functions of the support library
//! must print the same output as with functions of the C library.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::compile;

/// Compiles a source of this directory twice: with functions of the C library and with functions of the support
/// library.
fn both(directory: &Path, source: &str, flags: &[&str]) -> [PathBuf; 2] {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/cc").join(source);
    let libraries = compile(directory, "cc -showme:libdirs").stdout;
    let archive = Path::new(libraries.trim_end()).join("libmcpsim_support.a");
    let programs = ["theirs", "ours"].map(|name| directory.join(name));
    for (program, archive) in programs.iter().zip([None, Some(&archive)]) {
        let mut cc = Command::new("cc");
        cc.args(flags).arg("-w").arg(&source).args(archive).arg("-o").arg(program);
        assert!(cc.status().unwrap().success());
    }
    programs
}

/// Runs the program with these arguments, environment variables and this standard input, and returns its output.
fn outcome(program: &Path, arguments: &[&str], environment: &[(&str, &str)], input: &Path) -> Output {
    let mut command = Command::new(program);
    command.arg0("dir/prog").args(arguments).env_remove("POSIXLY_CORRECT").env("TZ", "Asia/Kathmandu");
    command.envs(environment.iter().copied()).stdin(Stdio::from(std::fs::File::open(input).unwrap()));
    command.output().unwrap()
}

#[test]
fn state_and_streams_behave_as_the_c_librarys() {
    let directory = tempfile::tempdir().unwrap();
    let input = directory.path().join("input");
    std::fs::write(&input, "12 ff word\nx q\nrest\n").unwrap();
    for flags in [&["-O0"][..], &["-O2", "-D_FORTIFY_SOURCE=2"], &["-O2", "-std=gnu89"]] {
        let [theirs, ours] = both(directory.path(), "state.c", flags);
        for what in ["numbers", "times", "words", "streams", "assert", "err", "errx", "error", "wide"] {
            let of = |program: &Path| outcome(program, &[what], &[], &input);
            let expected = of(&theirs);
            assert!(!expected.stdout.is_empty() || !expected.stderr.is_empty(), "{what}");
            assert_eq!(of(&ours), expected, "{what} {flags:?}");
        }
    }
}

#[test]
fn options_are_found_as_the_c_library_finds_them() {
    let directory = tempfile::tempdir().unwrap();
    let [theirs, ours] = both(directory.path(), "options.c", &["-O1"]);
    let lists = [
        "-a -b 5 x -c",
        "x -ab5 y -- -c z",
        "-ab",
        "-b",
        "-q -a",
        "-g -g5 x",
        "--alpha x --beta=3 --beta 4 y",
        "--beta",
        "--al",
        "--alp",
        "--alph",
        "--gam --gamma=7 --ga=",
        "--flag --fla=3",
        "--none -a",
        "--none=5",
        "--same",
        "-- a -b",
        "a - b -a",
        "-alpha -beta 5 -q",
        "-al -alp",
        "-x=5 -W alpha -Wbeta=7 -W",
        "--=x",
        "- -",
        "",
        "-W nothing x -a",
        "-a x -W beta y z -b",
        "x y z -a -b 5 w -g -- v",
        "-:",
        "-;",
        "-bx -b -a -b",
    ];
    for mode in ["s", "l", "o"] {
        for shorts in ["ab:g::", "+ab:g::", "-ab:g::", ":ab:g::", "-:ab:", "ab:W;x", ""] {
            let mode_and_list = format!("{mode}{shorts}");
            for list in lists {
                let arguments: Vec<&str> = list.split_whitespace().collect();
                for posix in [None, Some(("POSIXLY_CORRECT", "1"))] {
                    let environment: Vec<_> = [("MODE", &*mode_and_list)].into_iter().chain(posix).collect();
                    let of = |program: &Path| outcome(program, &arguments, &environment, Path::new("/dev/null"));
                    assert_eq!(of(&ours), of(&theirs), "{mode}{shorts} {list} {posix:?}");
                }
            }
        }
    }
}
