//! Tests of input files that differ between hosts. The run ends with an error that names the file, the hosts and the
//! digests of the file. The second host is simulated by a process in a separate mount namespace, or by a process with
//! libraries in another directory.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::hosts::{HostMpi, host_mpis};
use super::real::{compile_with, directory, limited, told};
use super::support::{Ran, is_there, not_allowed, skipped};

/// Runs mcpsim with these arguments in two processes. The command `starter` starts the second process.
fn on_two_hosts(mpi: &HostMpi, directory: &Path, starter: &[&str], arguments: &[&str]) -> Ran {
    let mut command = mpi.launch(1, &mpi.binary);
    command
        .current_dir(directory)
        .args(arguments)
        .args([":", "-n", "1"])
        .args(starter)
        .arg(&mpi.binary)
        .args(arguments);
    limited(&command)
}

/// Returns the command that starts a process in which `other` is mounted at `path`.
fn with_other<'a>(path: &'a str, other: &'a str) -> Vec<&'a str> {
    vec!["unshare", "--mount", "sh", "-c", "mount --bind \"$1\" \"$0\" && shift && exec \"$@\"", path, other]
}

/// Returns true if the system permits separate mount namespaces. Prints a note otherwise.
fn has_namespaces() -> bool {
    if !is_there("unshare") {
        skipped("different files on different hosts: there is no unshare");
        return false;
    }
    let ran = limited(Command::new("unshare").args(["--mount", "mount", "--bind", "/tmp", "/tmp"]));
    if ran.code != Some(0) {
        not_allowed("different files on different hosts: no rights to mount");
    }
    ran.code == Some(0)
}

/// Asserts that a run with equal files on both hosts succeeds. Asserts that a run with different files ends with the
/// text `what` and two digests.
fn refused(mpi: &HostMpi, directory: &Path, (alike, starter): (&[&str], &[&str]), arguments: &[&str], what: &str) {
    let ran = on_two_hosts(mpi, directory, alike, arguments);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", told(&format!("{} {what}", mpi.name), &ran));
    let ran = on_two_hosts(mpi, directory, starter, arguments);
    // The error message contains the absolute path of the file.
    let (kind, name) = what.rsplit_once(' ').unwrap();
    let text = format!("{name} differs between hosts: expected the same file on all hosts: process 0 on ");
    let of_each: Vec<&str> = ran.stderr.split(" with digest ").collect();
    let is_named = ran.stderr.contains(&format!("error: {kind} ")) && ran.stderr.contains(&text);
    assert!(ran.code == Some(2) && is_named, "{}", told(&format!("{} {what}", mpi.name), &ran));
    assert!(of_each.len() == 3 && of_each[1].contains("; process 1 on "), "{}", ran.stderr);
    assert_ne!(of_each[1].get(..32), of_each[2].get(..32));
}

#[test]
fn another_trace_or_file_of_the_machine_on_another_host_is_an_error() {
    if host_mpis().is_empty() || !has_namespaces() {
        return;
    }
    let directory = directory();
    let here = directory.path();
    let place = |name: &str| here.join(name).display().to_string();
    let machine = mcpsim::platform::Platform::default_document().table().to_string();
    fs::write(here.join("machine.toml"), format!("{machine}\n[pairs]\nfile = \"pairs.toml\"\n")).unwrap();
    for (name, latency) in [("pairs.toml", 7), ("other.toml", 9)] {
        let cost = format!("[[cost]]\ninterval = [{{ latency = \"{latency} us\", bandwidth = \"1 GB/s\" }}]");
        fs::write(here.join(name), format!("class = [[0, 1], [1, 0]]\n{cost}\n")).unwrap();
    }
    fs::create_dir(here.join("apps")).unwrap();
    let message = |bytes: u32| {
        format!(
            "main = [{{ if = \"rank == 0\", then = [{{ send = {{ to = 1, bytes = {bytes} }} }}], else = [{{ recv = {{ from = 0 }} \
             }}] }}]"
        )
    };
    for mpi in host_mpis() {
        for (name, bytes) in [("a", 1000), ("b", 10_000_000)] {
            let app = place(&format!("apps/{name}.toml"));
            fs::write(&app, message(bytes)).unwrap();
            let recorded =
                mpi.run(1, &format!("--quiet --nct 2,1,1 --record {} {app}", place(&format!("{name}.trace"))));
            assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
        }
        let alike: &[&str] = &["env"];
        let (a, b) = (place("a.trace"), place("b.trace"));
        let arguments = ["--quiet", "--nct", "2,1,1", &a];
        refused(mpi, here, (alike, &with_other(&a, &b)), &arguments, "trace a.trace");
        // The application file is in another directory than the machine file and the files to which the machine file
        // refers.
        let (pairs, other, app) = (place("pairs.toml"), place("other.toml"), place("apps/a.toml"));
        let machine = place("machine.toml");
        let shape = "platform.nct=[2, 1, 2]";
        let arguments =
            ["--quiet", "--platform", &machine, "--set", shape, "--ranks", "2", "--placement", "cyclic", &app];
        refused(mpi, here, (alike, &with_other(&pairs, &other)), &arguments, "pairs.file of platform default");
    }
}

#[test]
fn another_build_or_library_of_a_program_on_another_host_is_an_error() {
    if host_mpis().is_empty() {
        return;
    }
    let directory = directory();
    let here = directory.path();
    let place = |name: &str| here.join(name).display().to_string();
    let body = |library: &str| {
        format!(
            "#include <mpi.h>\n#include <dlfcn.h>\n#include <stddef.h>\nint slow(void);\nint main(int argc, char **argv)\n{{\n    \
             MPI_Init(&argc, &argv);\n    {library}\n    MPI_Finalize();\n    return 0;\n}}\n"
        )
    };
    fs::write(here.join("linked.c"), body("slow();")).unwrap();
    let opened = "void *file = dlopen(\"libslow.so\", RTLD_NOW);\n    int (*call)(void) = NULL;\n    \
                  *(void **)&call = dlsym(file, \"slow\");\n    call();";
    fs::write(here.join("opens.c"), body(opened)).unwrap();
    for (name, result) in [("one", 1), ("two", 2)] {
        fs::create_dir(here.join(name)).unwrap();
        fs::write(here.join("slow.c"), format!("int slow(void) {{ return {result}; }}\n")).unwrap();
        let mut cc = Command::new("cc");
        cc.args(["-shared", "-fPIC", "-o"]).arg(here.join(name).join("libslow.so")).arg(here.join("slow.c"));
        assert_eq!(limited(&cc).code, Some(0), "cc makes a library");
    }
    let linked = format!("-L{} -lslow", place("one"));
    compile_with(&here.join("linked.c"), "-O1", &here.join("linked"), &linked).unwrap();
    compile_with(&here.join("linked.c"), "-O0", &here.join("other"), &linked).unwrap();
    compile_with(&here.join("opens.c"), "-O1", &here.join("opens"), "").unwrap();
    let [one, two] = ["one", "two"].map(|name| format!("LD_LIBRARY_PATH={}", place(name)));
    let (alike, differs): (&[&str], &[&str]) = (&["env", &one], &["env", &two]);
    for mpi in host_mpis() {
        for name in ["linked", "opens"] {
            let program = place(name);
            let line = ["--quiet", "--compute", "skip", "--nct", "2,1,1", &program];
            // The first process finds the library in the first directory.
            let run = |starter: &[&str]| {
                let mut command = mpi.launch(1, Path::new("env"));
                command
                    .arg(&one)
                    .arg(&mpi.binary)
                    .args(line)
                    .args([":", "-n", "1"])
                    .args(starter)
                    .arg(&mpi.binary)
                    .args(line);
                limited(&command)
            };
            let ran = run(alike);
            assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", told(name, &ran));
            let ran = run(differs);
            let text = "error: library libslow.so differs between hosts";
            assert!(ran.code == Some(2) && ran.stderr.contains(text), "{} {}", mpi.name, told(name, &ran));
        }
        if has_namespaces() {
            let (program, other) = (place("linked"), place("other"));
            let line = ["--quiet", "--compute", "skip", "--nct", "2,1,1", &program];
            let starter = [&["env", &one][..], &with_other(&program, &other)].concat();
            let mut command = mpi.launch(1, Path::new("env"));
            command
                .arg(&one)
                .arg(&mpi.binary)
                .args(line)
                .args([":", "-n", "1"])
                .args(starter)
                .arg(&mpi.binary)
                .args(line);
            let ran = limited(&command);
            assert!(
                ran.code == Some(2) && ran.stderr.contains(&format!("program {program} differs")),
                "{}",
                told("build", &ran)
            );
        }
    }
}
