//! Compares the messages between ranks in a collective between mcpsim with `library = "openmpi-4.1"` and the real Open
//! MPI 4.1. Open MPI's component `pml_monitoring` counts the messages. The component does not count persistent
//! requests, which Open MPI's linear alltoall uses.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sends::{self, Sends};
use crate::{real, support};

/// Collectives and sizes, on both sides of each threshold; the prefix `i` means nonblocking.
const CASES: [(&str, &[u32]); 28] = [
    ("barrier", &[0]),
    ("bcast", &[8, 100, 5000, 100_000, 2_000_000]),
    ("reduce", &[8, 5000, 300_000]),
    ("allreduce", &[8, 1000, 10_000, 200_000]),
    ("gather", &[8, 5000, 300_000]),
    ("scatter", &[8, 3000, 100_000]),
    ("gatherv", &[5000]),
    ("scatterv", &[5000]),
    ("allgather", &[8, 5000]),
    ("allgatherv", &[8, 2000, 10_000]),
    ("alltoall", &[8, 1000]),
    ("scan", &[1000]),
    ("exscan", &[1000]),
    ("reduce_scatter", &[8, 1000, 30_000]),
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

/// Numbers of ranks: an odd number, and an even number that is not a power of two.
const RANKS: [u32; 2] = [5, 12];

fn is_open_mpi_41() -> bool {
    let version = Command::new("mpirun.openmpi").arg("--version").output();
    // Debian's launcher of Open MPI prints the name OpenRTE.
    version.is_ok_and(|output| {
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        ["Open MPI", "OpenRTE"].iter().any(|name| said.contains(&format!("({name}) 4.1.")))
    })
}

/// Returns the messages that Open MPI's ranks send in `program` with the arguments `words`. Returns an error if the
/// messages cannot be counted.
fn counted(program: &Path, ranks: u32, words: &str) -> Result<Sends, String> {
    counted_with("", program, ranks, words)
}

/// Variant of [`counted`] with options for the launcher.
fn counted_with(options: &str, program: &Path, ranks: u32, words: &str) -> Result<Sends, String> {
    let directory = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut command = Command::new("mpirun.openmpi");
    command
        .envs(support::open_mpi_environment())
        .args(["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"])
        .args(sends::monitoring(directory.path()).split_whitespace())
        .args(options.split_whitespace())
        .args(["-n", &ranks.to_string()])
        .arg(program)
        .args(words.split_whitespace());
    let ran = real::limited(&command);
    if ran.code != Some(0) {
        return Err(real::told("mpirun.openmpi", &ran));
    }
    sends::monitored(directory.path(), ranks)
}

/// Returns the messages that mcpsim predicts, and the algorithm.
fn predicted(directory: &Path, ranks: u32, what: &str, bytes: u32) -> (Sends, String) {
    sends::predicted(directory, &format!("1,1,{ranks}"), "openmpi-4.1", what, bytes)
}

/// Compiles the program with one collective for Open MPI. Returns `None` if the machine has no Open MPI that counts
/// messages.
fn program_of(directory: &Path) -> Option<PathBuf> {
    let program = directory.join("sends_of");
    let compiled = Command::new("mpicc.openmpi")
        .args(["-o".as_ref(), program.as_os_str(), real::file("tests/real/conformance/sends_of.c").as_os_str()])
        .output();
    if !compiled.is_ok_and(|output| output.status.success()) || !is_open_mpi_41() {
        println!("skipped: there is no Open MPI 4.1");
        return None;
    }
    if let Err(why) = counted(&program, 2, "barrier 0") {
        println!("skipped: Open MPI's pml_monitoring does not count here: {why}");
        return None;
    }
    Some(program)
}

/// Algorithm that each value of the Open MPI parameter `coll_tuned_…_algorithm` selects. By default the chain algorithm
/// uses four chains.
const BY_NUMBER: [(&str, &[(&str, u32)]); 3] = [
    (
        "allreduce",
        &[
            ("linear", 0),
            ("nonoverlapping", 0),
            ("recursive_doubling", 0),
            ("ring", 0),
            ("segmented_ring", 0),
            ("rabenseifner", 0),
        ],
    ),
    (
        "bcast",
        &[
            ("linear", 0),
            ("chains", 4),
            ("pipeline", 0),
            ("split_binary", 0),
            ("binary", 0),
            ("binomial", 0),
            ("knomial", 0),
            ("scatter_allgather", 0),
            ("scatter_ring", 0),
        ],
    ),
    (
        "reduce",
        &[
            ("linear", 0),
            ("chains", 4),
            ("pipeline", 0),
            ("binary", 0),
            ("binomial", 0),
            ("in_order_binary", 0),
            ("rabenseifner", 0),
        ],
    ),
];

#[test]
fn algorithms_that_open_mpi_is_asked_for_by_number_send_what_its_own_send() {
    let directory = real::directory();
    let Some(program) = program_of(directory.path()) else { return };
    let mut wrong = Vec::new();
    for (what, algorithms) in BY_NUMBER {
        for (number, (algorithm, fan)) in (1..).zip(algorithms) {
            let rule = format!("platform.collectives.{what}");
            let fan = if *fan > 0 { format!(" --set {rule}.fan={fan}") } else { String::new() };
            let library = format!("openmpi-4.1 --set {rule}.algorithm={algorithm}{fan}");
            let (mine, _) = sends::predicted(directory.path(), "1,1,12", &library, what, 5000);
            let asked = format!("--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_{what}_algorithm {number}");
            let theirs = counted_with(&asked, &program, 12, &format!("{what} 5000"));
            if theirs.as_ref() != Ok(&mine) {
                wrong.push(format!("{what} by {algorithm}, number {number}: {mine:?} instead of {theirs:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Collectives with a root other than 0: name, message size in bytes, and true if the reduction operator commutes.
const OF_ROOTS: [(&str, u32, bool); 12] = [
    ("bcast", 5000, true),
    ("gather", 5000, true),
    ("scatter", 3000, true),
    ("reduce", 300_000, true),
    ("reduce", 8, false),
    ("allreduce", 1000, false),
    ("ibcast", 8, true),
    ("ibcast", 100_000, true),
    ("ireduce", 8, true),
    ("ireduce", 300_000, true),
    ("ireduce", 8, false),
    ("ireduce", 300_000, false),
];

#[test]
fn collectives_of_roots_and_of_operators_that_do_not_commute_send_what_open_mpi_s_send() {
    let directory = real::directory();
    let Some(program) = program_of(directory.path()) else { return };
    let mine = directory.path().join("sends_here");
    real::compile(&real::file("tests/real/conformance/sends_of.c"), "", &mine).expect("it compiles");
    let mut wrong = Vec::new();
    for ranks in RANKS {
        for (what, bytes, commutes) in OF_ROOTS {
            let words = format!("{what} {bytes} 1 {}{}", ranks - 2, if commutes { "" } else { " ordered" });
            let options = format!("--nct 1,1,{ranks} --pairs --json - --set platform.collectives.library=openmpi-4.1");
            let ran = real::run(&mine, &options, &words);
            let here = sends::of_outcome(&ran.stdout);
            let theirs = counted(&program, ranks, &words);
            if theirs.as_ref() != Ok(&here) {
                wrong.push(format!("{words} among {ranks}: {here:?} instead of {theirs:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn collectives_send_what_open_mpi_s_send() {
    let directory = real::directory();
    let Some(program) = program_of(directory.path()) else { return };
    let mut wrong = Vec::new();
    for ranks in RANKS {
        for (what, sizes) in CASES {
            for &bytes in sizes {
                let (mine, algorithm) = predicted(directory.path(), ranks, what, bytes);
                match counted(&program, ranks, &format!("{what} {bytes}")) {
                    // Open MPI's linear alltoall uses persistent requests, which `pml_monitoring` does not count.
                    Ok(theirs) if theirs.is_empty() && what == "alltoall" => {}
                    Ok(theirs) if theirs == mine => {}
                    Ok(theirs) => wrong.push(format!(
                        "{what} of {bytes} bytes among {ranks} by {algorithm}: {mine:?} instead of {theirs:?}"
                    )),
                    Err(why) => wrong.push(format!("{what} of {bytes} bytes among {ranks}: {why}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
