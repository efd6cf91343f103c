//! Compares the messages of collectives between mcpsim with `library = "openmpi-5.0"` and the real Open MPI 5.0. In
//! Open MPI, the component `han` executes collectives hierarchically by nodes, and the component `libnbc` executes
//! nonblocking collectives.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::real::{directory, file, limited, told};
use super::sends::{Sends, monitored, monitoring, one_more, predicted};
use super::support::{is_full, open_mpi_environment, optional};
use super::two_nodes::{NETWORK, on_two_nodes, two_nodes};

/// Collectives with message sizes in bytes.
const CASES: [(&str, &[u32]); 7] = [
    ("barrier", &[0]),
    ("bcast", &[8, 100_000]),
    ("reduce", &[8, 100_000]),
    ("allreduce", &[8, 100_000]),
    ("gather", &[8, 5000]),
    ("scatter", &[8, 5000]),
    ("allgather", &[8, 5000, 100_000]),
];

/// Nonblocking collectives with message sizes in bytes, for runs on one node.
const NON_BLOCKING: [(&str, &[u32]); 14] = [
    ("ibarrier", &[0]),
    ("ibcast", &[8, 100_000]),
    ("ireduce", &[8, 300_000]),
    ("iallreduce", &[8, 10_000, 200_000]),
    ("igather", &[5000]),
    ("iscatter", &[5000]),
    ("igatherv", &[5000]),
    ("iscatterv", &[5000]),
    ("iallgather", &[5000]),
    ("iallgatherv", &[2000]),
    ("ialltoall", &[1000]),
    ("iscan", &[1000]),
    ("iexscan", &[1000]),
    ("ireduce_scatter", &[1000]),
];

/// Returns the installation prefix of Open MPI 5.0, which the environment variable MCPSIM_OPENMPI5 names. PyPI's
/// package `openmpi` installs Open MPI into a virtual environment.
fn installed() -> Option<PathBuf> {
    let prefix = PathBuf::from(env::var_os("MCPSIM_OPENMPI5")?);
    let version = Command::new(prefix.join("bin/mpirun")).arg("--version").output().ok()?;
    String::from_utf8_lossy(&version.stdout).contains("Open MPI) 5.0.").then_some(prefix)
}

/// Returns the messages that the ranks send in a program with `times` collectives. Messages of other operations are
/// included.
fn counted(prefix: &Path, program: &Path, per_node: u32, call: (&str, u32), times: u32) -> Result<Sends, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (what, bytes) = call;
    let words = format!(
        "--prtemca plm_ssh_agent $REMOTE_SHELL --prtemca prte_if_include {NETWORK} --pmixmca ptl_tcp_if_include {NETWORK} \
         --mca btl_tcp_if_include {NETWORK} --mca pml ^ucx,cm --mca btl tcp,self --mca mpi_yield_when_idle 1 \
         --host 10.77.0.1:{per_node},10.77.0.2:{per_node} --map-by :OVERSUBSCRIBE --bind-to none {} -n {}",
        monitoring(directory.path()),
        2 * per_node
    );
    let launcher = prefix.join("bin/mpirun");
    let command = format!("exec {} {words} {} {what} {bytes} {times}", launcher.display(), program.display());
    let ran = limited(on_two_nodes(directory.path(), &command).envs(open_mpi_environment()));
    match ran.code {
        Some(0) => monitored(directory.path(), 2 * per_node),
        _ => Err(told("mpirun of Open MPI 5.0", &ran)),
    }
}

/// Variant of [`counted`] for a run on one node.
fn counted_here(
    prefix: &Path,
    program: &Path,
    ranks: u32,
    (what, bytes): (&str, u32),
    times: u32,
) -> Result<Sends, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let words = format!(
        "--pmixmca ptl_tcp_if_include lo --mca pml ^ucx,cm --mca btl sm,self --mca mpi_yield_when_idle 1 \
         --map-by :OVERSUBSCRIBE --bind-to none {} -n {ranks}",
        monitoring(directory.path())
    );
    let mut command = Command::new(prefix.join("bin/mpirun"));
    command.envs(open_mpi_environment()).args(words.split_whitespace()).arg(program);
    command.args([what, &bytes.to_string(), &times.to_string()]);
    let ran = limited(&command);
    if ran.code == Some(0) { monitored(directory.path(), ranks) } else { Err(told("mpirun of Open MPI 5.0", &ran)) }
}

/// Compiles the program that calls collectives with the compiler of this Open MPI.
fn compiled(prefix: &Path, directory: &Path) -> PathBuf {
    let program = directory.join("sends_of");
    let mut compiler = Command::new(prefix.join("bin/mpicc"));
    compiler.arg("-o").arg(&program).arg(file("tests/real/conformance/sends_of.c"));
    let compiled = limited(&compiler);
    assert_eq!(compiled.code, Some(0), "{}", told("mpicc of Open MPI 5.0", &compiled));
    program
}

#[test]
fn collectives_that_do_not_block_send_what_open_mpi_s_send() {
    if !is_full("what collectives of Open MPI 5.0 send that do not block") {
        return;
    }
    let Some(prefix) = installed() else {
        return optional("what Open MPI 5.0 sends: MCPSIM_OPENMPI5 names no place where it is");
    };
    let directory = directory();
    let program = compiled(&prefix, directory.path());
    let mut wrong = Vec::new();
    for ranks in [3, 6] {
        for (what, sizes) in NON_BLOCKING {
            for &bytes in sizes {
                let shape = format!("1,1,{ranks}");
                let (mine, algorithm) = predicted(directory.path(), &shape, "openmpi-5.0", what, bytes);
                let count = |times| counted_here(&prefix, &program, ranks, (what, bytes), times);
                let theirs = count(1).and_then(|one| one_more(&one, count(3)?));
                if theirs.as_ref() != Ok(&mine) {
                    wrong.push(format!(
                        "{what} of {bytes} bytes among {ranks} by {algorithm}: {mine:?}, not {theirs:?}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn collectives_by_nodes_send_what_open_mpi_s_send() {
    if !is_full("what collectives of Open MPI 5.0 send by nodes") {
        return;
    }
    let Some(prefix) = installed() else {
        return optional("what Open MPI 5.0 sends by nodes: MCPSIM_OPENMPI5 names no place where it is");
    };
    let Some(_alone) = two_nodes() else { return };
    let directory = directory();
    let program = compiled(&prefix, directory.path());
    let mut wrong = Vec::new();
    for per_node in [2, 3] {
        for (what, sizes) in CASES {
            for &bytes in sizes {
                let shape = format!("2,1,{per_node}");
                let (mine, algorithm) = predicted(directory.path(), &shape, "openmpi-5.0", what, bytes);
                let count = |times| counted(&prefix, &program, per_node, (what, bytes), times);
                let theirs = count(1).and_then(|one| one_more(&one, count(3)?));
                if theirs.as_ref() != Ok(&mine) {
                    wrong.push(format!("{what} of {bytes} bytes on {shape} by {algorithm}: {mine:?}, not {theirs:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
