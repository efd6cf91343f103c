//! Tests of recordings of programs that open the MPI library at run time, do not complete receives, call MPI in several
//! threads, or sleep.

use std::fs;
use std::path::{Path, PathBuf};

use crate::real::{self, RealMpi};
use crate::recorded::{for_each_mpi, outcome, record};
use crate::support::{is_there, optional};

/// Records the C program `name` of `tests/real`. Returns the trace and the output of the program.
fn recorded(
    (mpi, library, directory): (&RealMpi, &Path, &Path),
    name: &str,
    flags: &str,
) -> Result<(PathBuf, String), String> {
    let program = directory.join(name);
    mpi.compile_with(&real::file("tests/real").join(name).with_extension("c"), &program, flags)?;
    run_recorded((mpi, library), &program, "", &program.with_extension("trace"))
}

/// Runs `program` with the recording library. Asserts that the program succeeds and that the library prints nothing.
fn run_recorded(
    (mpi, library): (&RealMpi, &Path),
    program: &Path,
    arguments: &str,
    trace: &Path,
) -> Result<(PathBuf, String), String> {
    let ran = mpi.run_with(program, 2, arguments, &[("LD_PRELOAD", library), ("MCPSIM_TRACE", trace)]);
    if ran.code != Some(0) || ran.stderr.contains("mcpsim-trace") {
        return Err(real::told(&format!("{} {arguments}", program.display()), &ran));
    }
    Ok((trace.to_path_buf(), ran.stdout))
}

/// Returns the number of calls of `function` in the trace.
fn calls(trace: &Path, function: &str) -> u64 {
    let ran = real::simulate(&format!("trace stats {}", trace.display()));
    let line = ran.stdout.lines().find(|line| line.split_whitespace().next() == Some(function));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}

#[test]
fn messages_of_the_library_meet_no_open_receive_of_the_program() {
    for_each_mpi(|mpi, library, directory| {
        let (trace, printed) = recorded((mpi, library, directory), "stray", "")?;
        // Under MPICH, UCX prints a warning about the incomplete receive before the program prints the value.
        assert_eq!((printed.lines().last(), calls(&trace, "MPI_Irecv")), (Some("0"), 1), "{}", mpi.name);
        Ok(())
    });
}

#[test]
fn threads_that_call_in_turns_are_recorded() {
    for_each_mpi(|mpi, library, directory| {
        let (trace, printed) = recorded((mpi, library, directory), "in_turns", "-fopenmp")?;
        assert_eq!((printed.as_str(), calls(&trace, "MPI_Allreduce")), ("2 42\n", 100), "{}", mpi.name);
        assert_eq!(calls(&trace, "MPI_Barrier"), 0, "{}", mpi.name);
        Ok(())
    });
}

#[test]
fn time_that_a_program_sleeps_is_in_the_trace() {
    for_each_mpi(|mpi, library, directory| {
        let (trace, _) = recorded((mpi, library, directory), "sleeps", "")?;
        let info = real::simulate(&format!("trace info {}", trace.display()));
        if !Path::new("/proc/thread-self/schedstat").exists() {
            return Ok(());
        }
        let found = outcome(&format!("--nct 2,1,1 {}", trace.display()), &directory.join("outcome.json"))?;
        let predicted = found["predicted_ps"].as_u64().unwrap_or(0);
        // The program sleeps five times for 20 ms. The measurement of each sleep may be short by a small amount.
        assert!(predicted >= 99_000_000_000, "{}: {predicted} ps\n{}", mpi.name, info.stdout);
        assert!(info.stdout.lines().any(|line| line.starts_with("slept ")), "{}", info.stdout);
        Ok(())
    });
}

#[test]
fn a_system_without_figures_of_waits_is_noted_once() {
    // The second library makes the file of these figures invisible.
    let source = "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <string.h>\n\
        int access(const char *path, int mode) {\n    int (*next)(const char *, int) = dlsym(RTLD_NEXT, \"access\");\n\
        return strstr(path, \"schedstat\") ? -1 : next(path, mode);\n}\n";
    for_each_mpi(|mpi, library, directory| {
        let [hides, hidden, program, trace] =
            ["hides.c", "hides.so", "sleeps", "t.trace"].map(|name| directory.join(name));
        std::fs::write(&hides, source).map_err(|error| error.to_string())?;
        mpi.compile_with(&hides, &hidden, "-shared -fPIC -ldl")?;
        mpi.compile(&real::file("tests/real/sleeps.c"), &program)?;
        let both = format!("{}:{}", library.display(), hidden.display());
        let ran = mpi.run_with(&program, 2, "", &[("LD_PRELOAD", Path::new(&both)), ("MCPSIM_TRACE", &trace)]);
        let note = "mcpsim-trace: this system has no /proc/thread-self/schedstat, so the trace lacks sleeps and waits for files";
        assert_eq!((ran.code, ran.stderr.matches(note).count()), (Some(0), 1), "{}: {}", mpi.name, ran.stderr);
        Ok(())
    });
}

#[test]
fn functions_found_by_dlsym_are_recorded() {
    for_each_mpi(|mpi, library, directory| {
        if !mpi.is_open_mpi {
            return Ok(());
        }
        let (trace, printed) = recorded((mpi, library, directory), "opened", "-ldl")?;
        if !printed.starts_with("not here") {
            assert_eq!((printed.as_str(), calls(&trace, "MPI_Barrier")), ("ok\nok\n", 2));
        }
        Ok(())
    });
}

#[test]
fn a_program_that_opens_another_mpi_runs_without_the_library() {
    let [open_mpi, mpich] = real::real_mpis() else { return };
    let directory = real::directory();
    let [library, program] = ["mpich.so", "opened"].map(|name| directory.path().join(name));
    let made = real::simulate(&format!("trace lib --mpicc {} -o {}", mpich.compiler(), library.display()));
    assert_eq!(made.code, Some(0), "{}", real::told("trace lib", &made));
    open_mpi.compile_with(&real::file("tests/real/opened.c"), &program, "-ldl").unwrap();
    let ran = open_mpi.run_with(&program, 2, "", &[("LD_PRELOAD", &library)]);
    if !ran.stdout.starts_with("not here") {
        let said = ran.stderr.matches("made for MPICH, but the program runs with Open MPI").count();
        assert_eq!((ran.code, ran.stdout.as_str(), said), (Some(0), "ok\nok\n", 1), "{}", ran.stderr);
    }
}

#[test]
fn ignored_statuses_of_mpi_f08_are_ignored_in_the_first_call() {
    for_each_mpi(|mpi, library, directory| {
        let program = directory.join("f08_waits");
        let Some(compiled) = mpi.compile_fortran(&real::file("tests/real/f08_waits.f90"), &program) else {
            return Ok(());
        };
        compiled?;
        for which in ["waitall", "wait", "waitany", "waitsome", "testall", "testsome", "testany"] {
            let trace = record(mpi, library, &program, 2, which)?;
            assert_eq!(calls(&trace, "MPI_Isend"), 2, "{} {which}", mpi.name);
        }
        Ok(())
    });
}

const PYTHON: &str = "from mpi4py import MPI\ncomm = MPI.COMM_WORLD\nassert comm.allreduce(1) == 2\ncomm.Barrier()\n";
const R: &str = "library(Rmpi)\nmpi.allreduce(1, type = 2, op = 'sum', comm = 0)\nmpi.barrier(0)\nmpi.finalize()\n";

/// Records `interpreter SCRIPT` with Open MPI, if the script `check` runs. Open MPI is used because Debian builds its
/// packages for Open MPI.
fn interpreted(interpreter: &str, check: &str, script: &str, function: &str) {
    let directory = real::directory();
    let [probe, file] = ["probe", "script"].map(|name| directory.path().join(name));
    fs::write(&probe, check).unwrap();
    fs::write(&file, script).unwrap();
    // `join` leaves an absolute path unchanged.
    let program = Path::new("/usr/bin").join(interpreter);
    let probed = || real::limited(std::process::Command::new(&program).arg(&probe)).code == Some(0);
    if !is_there(program.to_str().unwrap()) || !probed() {
        return optional(&format!("{interpreter} with MPI"));
    }
    for_each_mpi(|mpi, library, directory| {
        if !mpi.is_open_mpi {
            return Ok(());
        }
        let script = file.display().to_string();
        let (trace, _) = run_recorded((mpi, library), &program, &script, &directory.join("script.trace"))?;
        assert_eq!(calls(&trace, function), 2);
        outcome(&format!("--nct 2,1,1 {}", trace.display()), &directory.join("outcome.json")).map(|_| ())
    });
}

#[test]
fn mpi4py_is_recorded() {
    interpreted("python3", "import mpi4py", PYTHON, "MPI_Barrier");
}

#[test]
fn mpi4py_of_pypi_is_recorded() {
    // The environment variable names the Python of a virtual environment into which `pip install mpi4py` was run.
    let Some(python) = std::env::var_os("MCPSIM_PYPI_MPI4PY") else {
        return optional("mpi4py of PyPI: MCPSIM_PYPI_MPI4PY names no Python that has it");
    };
    let check = "import mpi4py\nassert 'site-packages' in mpi4py.__file__\n";
    interpreted(python.to_str().unwrap(), check, PYTHON, "MPI_Barrier");
}

#[test]
fn rmpi_is_recorded() {
    interpreted("Rscript", "q(status = !nzchar(system.file(package = 'Rmpi')))", R, "MPI_Barrier");
}
