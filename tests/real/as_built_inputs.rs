//! Tests of programs that cannot run as built: each has an error that names the way out.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::as_built::libraries;
use crate::real::{directory, limited, real_mpis, run, told};
use crate::support::{is_there, optional};

/// Compiles `source` with the C compiler of the host.
fn compile_for_host(source: &str, program: &Path, flags: &[&str]) {
    let file = program.with_extension("c");
    std::fs::write(&file, source).unwrap();
    let status = Command::new("gcc").arg(&file).arg("-o").arg(program).args(flags).status().unwrap();
    assert!(status.success(), "gcc {flags:?}");
}

fn refuses(program: &Path, code: i32, said: &str) {
    let ran = run(program, "--nct 1,1,2", "");
    assert!(ran.code == Some(code) && ran.stderr.contains(said), "{}", told(said, &ran));
}

#[test]
fn programs_that_cannot_run_have_errors() {
    libraries();
    if !is_there("gcc") {
        return optional("gcc");
    }
    let workshop = directory();
    let at = |name: &str| workshop.path().join(name);
    let nothing = "int main(void) { return 0; }\n";
    compile_for_host(nothing, &at("plain"), &[]);
    refuses(&at("plain"), 1, "without a call of MPI: expected a program");
    let ran = run(&at("plain"), "--nct 1,1,2 --debug-rank 2", "");
    let said = "--debug-rank 2: expected a rank below 2";
    assert!(ran.code == Some(2) && ran.stderr.contains(said), "{}", told(said, &ran));

    // The machine number in the header of an ELF file is at byte 18. 183 is AArch64.
    let mut bytes = std::fs::read(at("plain")).unwrap();
    bytes[18] = 183;
    std::fs::write(at("other"), bytes).unwrap();
    std::fs::set_permissions(at("other"), std::fs::Permissions::from_mode(0o755)).unwrap();
    refuses(&at("other"), 2, "expected a program built by mcpsim cc for x86-64; found a file for machine 183");

    for kind in ["-static", "-static-pie"] {
        compile_for_host(nothing, &at("fixed"), &[kind]);
        refuses(&at("fixed"), 2, "a statically linked program, whose MPI library cannot be replaced");
    }

    let initialises = "int MPI_Init(int *a, char ***b) { return 0; }\n";
    compile_for_host(initialises, &at("libmpi.so"), &["-shared", "-fPIC", "-Wl,-soname,libmpi.so.99"]);
    let calls = "int MPI_Init(int *, char ***);\nint main(void) { return MPI_Init(0, 0); }\n";
    let search = format!("-L{}", workshop.path().display());
    compile_for_host(calls, &at("unknown"), &[&search, "-lmpi"]);
    refuses(&at("unknown"), 2, "was built for another MPI (it needs libmpi.so.99)");

    for (mode, said) in [
        (0o4755, "expected a program without the set-user-ID and set-group-ID bits"),
        (0o644, "expected an executable file: change its mode with chmod +x"),
    ] {
        std::fs::set_permissions(at("plain"), std::fs::Permissions::from_mode(mode)).unwrap();
        refuses(&at("plain"), 2, said);
    }
}

#[test]
fn two_mpi_libraries_in_one_process_are_an_error() {
    libraries();
    let [first, second] = real_mpis() else { return };
    let workshop = directory();
    let (program, source) = (workshop.path().join("two"), workshop.path().join("two.c"));
    let opened = if second.compiler().contains("mpich") { "libmpich.so.12" } else { "libmpi.so.40" };
    let text = format!(
        "#include <dlfcn.h>\n#include <mpi.h>\nint main(int c, char **v) {{\n  MPI_Init(&c, &v);\n  \
         void *other = dlopen(\"{opened}\", RTLD_NOW);\n  \
         ((int (*)(int *, char ***))dlsym(other, \"MPI_Init\"))(&c, &v);\n  return MPI_Finalize();\n}}\n"
    );
    std::fs::write(&source, text).unwrap();
    first.compile(&source, &program).unwrap();
    refuses(&program, 1, "a process of a rank uses two MPI libraries or programs: expected one program with one MPI");
}

#[test]
fn too_many_processes_for_the_system_are_an_error() {
    libraries();
    let Some(mpi) = real_mpis().first() else { return };
    let workshop = directory();
    let (program, source) = (workshop.path().join("program"), workshop.path().join("program.c"));
    std::fs::write(&source, "#include <mpi.h>\nint main(int c, char **v) { return MPI_Init(&c, &v); }\n").unwrap();
    mpi.compile(&source, &program).unwrap();
    let mut command = Command::new("sh");
    let script = "ulimit -n 40; exec \"$0\" --quiet --nct 1,1,4 \"$1\"";
    let ran = limited(command.args(["-c", script, env!("CARGO_BIN_EXE_mcpsim")]).arg(&program));
    let said = "4 ranks as processes: the system permits 40 open files: expected at least two per rank (ulimit -n)";
    assert!(ran.code == Some(2) && ran.stderr.contains(said), "{}", told("open files", &ran));
}

#[test]
fn checks_that_ranks_as_processes_lack_are_reported() {
    libraries();
    let Some(mpi) = real_mpis().first() else { return };
    let workshop = directory();
    let (program, source) = (workshop.path().join("program"), workshop.path().join("program.c"));
    let text = "#include <mpi.h>\nint main(int c, char **v) {\n  MPI_Init(&c, &v);\n  return MPI_Finalize();\n}\n";
    std::fs::write(&source, text).unwrap();
    mpi.compile(&source, &program).unwrap();
    let heap = "--check-heap: ranks of this program are processes, whose memory mcpsim does not check: expected a program \
                that mcpsim cc or mcpsim cxx has built";
    let calls = "--check: arguments of collectives were not compared, because ranks are processes";
    for (option, code, said) in [("--check-heap", 2, heap), ("--check", 0, calls)] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcpsim"));
        let ran = limited(command.args(["--nct", "1,1,2", option]).arg(&program));
        assert!(ran.code == Some(code) && ran.stderr.contains(said), "{}", told(option, &ran));
    }
}
