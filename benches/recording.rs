//! Time that the library of `mcpsim trace lib` adds to an MPI call. `cargo bench --bench recording` runs a program that
//! sends small messages to its own rank, with and without the library, under the MPI libraries of the machine. Times
//! are CPU times of the thread, the least of five runs. The time to read each clock is in a separate row. Nothing is
//! asserted.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Test program with 1.2 million MPI calls per run.
const SOURCE: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <time.h>
static double clock_of(int which) {
    struct timespec t;
    clock_gettime(which, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}
static double look(int which) {
    double start = clock_of(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 100000; i++) clock_of(which);
    return (clock_of(CLOCK_THREAD_CPUTIME_ID) - start) / 100000;
}
int main(int argc, char **argv) {
    int x = 0, y;
    double least = 1e18;
    MPI_Init(&argc, &argv);
    for (int turn = 0; turn < 5; turn++) {
        double start = clock_of(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < 400000; i++) {
            MPI_Request request;
            MPI_Irecv(&y, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
            MPI_Send(&x, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        double each = (clock_of(CLOCK_THREAD_CPUTIME_ID) - start) / 1200000;
        least = each < least ? each : least;
    }
    printf("%.0f %.0f %.0f\n", least, look(CLOCK_MONOTONIC), look(CLOCK_THREAD_CPUTIME_ID));
    return MPI_Finalize();
}
"#;

/// Commands of the MPI libraries. Debian has separate commands for each library.
const MPIS: [[&str; 3]; 2] =
    [["Open MPI", "mpicc.openmpi", "mpirun.openmpi"], ["MPICH", "mpicc.mpich", "mpirun.mpich"]];

fn output(command: &mut Command) -> Option<Output> {
    command.output().ok().filter(|output| output.status.success())
}

/// Returns nanoseconds per MPI call, per reading of the wall clock, and per reading of the thread's CPU clock.
fn run(launcher: &str, directory: &Path, library: Option<&Path>) -> Option<[f64; 3]> {
    let mut command = Command::new(launcher);
    command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
    command.args(["-n", "1"]);
    if let Some(library) = library {
        // A launcher that uses no MPI library would fail with the preloaded library, so `env` sets the variable only
        // for the rank.
        let trace = directory.join("cost.trace");
        command.arg("env").arg(format!("LD_PRELOAD={}", library.display()));
        command.arg(format!("MCPSIM_TRACE={}", trace.display()));
    }
    let text = String::from_utf8(output(command.arg(directory.join("cost")))?.stdout).ok()?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    numbers.try_into().ok()
}

fn main() {
    println!("{:<10} {:>10} {:>10} {:>12} {:>12}", "ns", "without", "with", "wall clock", "CPU clock");
    for [name, compiler, launcher] in MPIS {
        let scratch = tempfile::tempdir().expect("a temporary directory");
        let directory = scratch.path();
        let (source, library) = (directory.join("cost.c"), directory.join("trace.so"));
        fs::write(&source, SOURCE).expect("the directory can be written");
        let mut compile = Command::new(compiler);
        compile.arg("-O2").arg("-o").arg(directory.join("cost")).arg(&source);
        let mut make = Command::new(env!("CARGO_BIN_EXE_mcpsim"));
        make.args(["trace", "lib", "--mpicc", compiler, "-o"]).arg(&library);
        let ran = output(&mut compile)
            .and_then(|_| output(&mut make))
            .and_then(|_| Some((run(launcher, directory, None)?, run(launcher, directory, Some(&library))?)));
        match ran {
            Some(([without, wall, cpu], [with, ..])) => {
                println!("{name:<10} {without:>10.0} {with:>10.0} {wall:>12.0} {cpu:>12.0}");
            }
            None => println!("{name:<10} skipped: no {compiler}, or it does not run programs"),
        }
    }
}
