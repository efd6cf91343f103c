//! Tests of programs as built in several languages: scripts, interpreters and launchers.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::as_built::{libraries, predicted, sorted};
use crate::real::{compile, directory, file, limited, real_mpis, run, told};
use crate::support::{Ran, optional};

/// Returns the path of a Python interpreter that can import `module`.
fn python(module: &str) -> Option<PathBuf> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let all = std::env::split_paths(&search).map(|place| place.join("python3")).filter(|path| path.is_file());
    let imports = |path: &PathBuf| {
        let ran = Command::new(path).args(["-c", &format!("import {module}")]).output();
        ran.is_ok_and(|ran| ran.status.success())
    };
    let found = all.into_iter().find(imports);
    if found.is_none() {
        optional(module);
    }
    found
}

/// Runs `words` with mcpsim on four ranks in two nodes. The ranks' code takes no time.
fn simulated(words: &[&str]) -> Ran {
    libraries();
    let workshop = directory();
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcpsim"));
    command.current_dir(workshop.path()).args(["--compute", "skip", "--nct", "2,1,2", "--quiet"]).args(words);
    limited(&command)
}

/// Returns the sorted lines of a successful run.
fn lines(words: &[&str]) -> Vec<String> {
    let ran = simulated(words);
    assert_eq!(ran.code, Some(0), "{}", told(&words.join(" "), &ran));
    let mut lines: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// Output of `messages.py` with the arguments `arguments`.
fn expected(arguments: &str) -> Vec<String> {
    let mut lines = vec!["[0, 0, 1, 1]".to_owned()];
    for rank in 0..4 {
        let (before, node) = ((rank + 3) % 4, rank / 2);
        lines.push(format!("{rank} 4 {before} {before} 6 2 3 True node{node} 1 2 {arguments}"));
    }
    lines.sort_unstable();
    lines
}

#[test]
fn python_scripts_run_by_interpreter_name_and_launcher() {
    let Some(python) = python("mpi4py") else { return };
    let script = file("tests/real/languages/messages.py");
    let (python, script) = (python.to_str().unwrap(), script.to_str().unwrap());
    assert_eq!(lines(&["--", python, script, "-n", "7"]), expected("['-n', '7']"));
    assert_eq!(lines(&["--", "env", "A=1", python, script]), expected("[]"));
    assert_eq!(lines(&["--", "bash", "-c", &format!("cd / && {python} {script} b")]), expected("['b']"));
}

#[test]
fn scripts_run_as_programs() {
    let Some(python) = python("mpi4py") else { return };
    use std::os::unix::fs::PermissionsExt;
    let workshop = directory();
    let script = workshop.path().join("job");
    let source = file("tests/real/languages/messages.py");
    std::fs::write(&script, format!("#!/bin/sh\nexec {} {} $1\n", python.display(), source.display())).unwrap();
    let mode = |mode| std::fs::set_permissions(&script, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    let ran = simulated(&[script.to_str().unwrap()]);
    assert!(ran.code == Some(2) && ran.stderr.contains("expected an executable file"), "{}", told("mode", &ran));
    mode(0o755);
    assert_eq!(lines(&[script.to_str().unwrap(), "--", "x"]), expected("['x']"));
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let ran = simulated(&[script.to_str().unwrap()]);
    let said = "the interpreter /no/such/interpreter of the script does not exist";
    assert!(ran.code == Some(2) && ran.stderr.contains(said), "{}", told("interpreter", &ran));
}

#[test]
fn a_program_that_never_calls_mpi_is_an_error() {
    let ran = simulated(&["--", "env"]);
    let said = "without a call of MPI";
    assert!(ran.code == Some(1) && ran.stderr.contains(said), "{}", told("env", &ran));
}

#[test]
fn fortran_programs_print_what_they_print_under_their_own_mpi() {
    libraries();
    let workshop = directory();
    for name in ["routines", "routines_f08"] {
        for mpi in real_mpis() {
            let built = workshop.path().join(format!("{name}.{}", mpi.compiler()));
            let Some(compiled) = mpi.compile_fortran(&file(&format!("tests/real/languages/{name}.f90")), &built) else {
                optional("a Fortran compiler");
                continue;
            };
            compiled.unwrap();
            let expected = mpi.run(&built, 4, "");
            assert_eq!(expected.code, Some(0), "{}", told(&format!("{name} under {}", mpi.name), &expected));
            let ran = run(&built, "--nct 2,1,2", "");
            assert_eq!(ran.code, Some(0), "{}", told(&format!("{name} of {}", mpi.name), &ran));
            assert_eq!(sorted(&ran), sorted(&expected), "{name} of {}", mpi.name);
        }
    }
}

#[test]
fn cxx_programs_of_both_libraries_print_their_sums() {
    libraries();
    let workshop = directory();
    for mpi in real_mpis() {
        let built = workshop.path().join(format!("sums.{}", mpi.compiler()));
        mpi.compile(&file("tests/real/languages/sums.cc"), &built).unwrap();
        // The sum is 3 (1 + 2 + 3 + 4).
        let expected: Vec<String> = (0..4).map(|rank| format!("rank {rank} of 4: 30")).collect();
        assert_eq!(lines(&[built.to_str().unwrap()]), expected, "{}", mpi.name);
    }
}

#[test]
fn scripts_of_r_send_and_reduce() {
    let ran = Command::new("Rscript").args(["-e", "library(Rmpi)"]).output();
    if !ran.is_ok_and(|ran| ran.status.success()) {
        return optional("Rscript with Rmpi");
    }
    let script = file("tests/real/languages/sum.R");
    // The sum of the ranks is 0 + 1 + 2 + 3.
    let expected = ["0 4 6 ", "1 4 6 ", "2 4 6 ", "3 4 6 ", "4 2 "];
    assert_eq!(lines(&["--", "Rscript", script.to_str().unwrap()]), expected);
}

#[test]
fn functions_with_large_counts_do_what_they_do_under_their_own_mpi() {
    libraries();
    let workshop = directory();
    let source = file("tests/real/languages/large.c");
    let mut all = real_mpis().iter().filter(|mpi| !mpi.is_open_mpi);
    let Some((mpi, built)) = all.find_map(|mpi| {
        let built = workshop.path().join("large");
        mpi.compile(&source, &built).ok().map(|()| (mpi, built))
    }) else {
        return optional("an MPICH with large counts");
    };
    let expected = mpi.run(&built, 4, "");
    let ran = run(&built, "--nct 2,1,2", "");
    assert_eq!((ran.code, sorted(&ran)), (Some(0), sorted(&expected)), "{}", told("large counts", &ran));
    let ran = run(&built, "--nct 2,1,2", "more");
    let said = "MPI_Send_c with the count 1099511627776: mcpsim does not simulate this function";
    assert!(ran.code == Some(1) && ran.stderr.contains(said), "{}", told("a larger count", &ran));
}

#[test]
fn programs_of_the_standard_interface_predict_what_fibers_predict() {
    libraries();
    let workshop = directory();
    let source = file("tests/real/as_built.c");
    let [fibers, built] = ["fibers", "standard"].map(|name| workshop.path().join(name));
    compile(&source, "", &fibers).unwrap();
    // The header of `mcpsim cc` is that of the standard interface. The program needs `libmpi_abi.so.1`.
    let library = Path::new(env!("CARGO_BIN_EXE_mcpsim")).with_file_name("libmcpsim_mpi_abi.so");
    let mut compiler = Command::new("cc");
    compiler.arg("-w").arg("-I").arg(file("src/real/cc/include")).arg(&source).arg("-o").arg(&built).arg(library);
    let ran = limited(&compiler);
    assert_eq!(ran.code, Some(0), "{}", told("cc", &ran));
    assert_eq!(predicted(&built), predicted(&fibers));
}
