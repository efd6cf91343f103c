//! Tests of programs as built for real MPI libraries: the same output and prediction as programs that `mcpsim cc` builds.

use std::path::Path;
use std::process::Command;

pub use crate::real::libraries;
use crate::real::{compile, directory, file, is_the_same_on_workers, limited, names, real_mpis, run, told};
use crate::support::{Ran, is_full, is_there, optional};

/// Programs that a short test run compares.
const SHORT: [&str; 9] = [
    "coll_nonblocking.c",
    "coll_user.c",
    "comm_attr.c",
    "comm_make.c",
    "env_requests.c",
    "pt2pt_probe.c",
    "rma_atomic.c",
    "topo_graph.c",
    "type_contents.c",
];

/// Programs whose output differs. Limits of info values and the version of MPI are those of mcpsim in programs for fibers. `MPI_T_PVAR_ALL_HANDLES` is not converted. Shared windows have one rank. The number of checks in
/// `strict_rma_epochs.c` depends on measured time.
const OTHER: [&str; 7] = [
    "env_errors.c",
    "env_info.c",
    "env_init.c",
    "rma_windows.c",
    "strict_rma_epochs.c",
    "strict_rma_shared.c",
    "tools.c",
];

pub fn sorted(ran: &Ran) -> Vec<&str> {
    let mut lines: Vec<&str> = ran.stdout.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn programs_as_built_do_what_programs_built_for_fibers_do() {
    libraries();
    let full = is_full("all programs of tests/mpi as built");
    let workshop = directory();
    let mut compared = 0;
    for name in names("tests/mpi", ".c") {
        let name = format!("{name}.c");
        let wanted = SHORT.contains(&name.as_str()) || full && !OTHER.contains(&name.as_str());
        if !wanted {
            continue;
        }
        let (source, fibers) = (file(&format!("tests/mpi/{name}")), workshop.path().join(format!("{name}.fibers")));
        compile(&source, "-w", &fibers).unwrap();
        let expected = run(&fibers, "--nct 2,1,2", "");
        for mpi in real_mpis() {
            let built = workshop.path().join(format!("{name}.{}", mpi.compiler()));
            mpi.compile(&source, &built).unwrap();
            let ran = run(&built, "--nct 2,1,2", "");
            assert_eq!(ran.code, Some(0), "{}", told(&format!("{name} of {}", mpi.compiler()), &ran));
            assert_eq!(sorted(&ran), sorted(&expected), "{name} of {}", mpi.compiler());
        }
        compared += 1;
    }
    assert!(compared >= SHORT.len(), "{compared} programs were compared");
}

/// Returns the predicted time and the message counts of a run.
pub fn predicted(program: &Path) -> Vec<String> {
    let json = program.with_extension("json");
    let ran = run(program, &format!("--nct 2,1,2 --json {}", json.display()), "");
    assert_eq!(ran.code, Some(0), "{}", told("a run", &ran));
    let text = std::fs::read_to_string(json).unwrap();
    let outcome: serde_json::Value = serde_json::from_str(&text).unwrap();
    vec![outcome["predicted_ps"].to_string(), outcome["messages"].to_string()]
}

#[test]
fn predictions_are_those_of_fibers() {
    libraries();
    let workshop = directory();
    for name in ["as_built", "as_built_ahead"] {
        let source = file(&format!("tests/real/{name}.c"));
        let fibers = workshop.path().join(name);
        compile(&source, "", &fibers).unwrap();
        for mpi in real_mpis() {
            let built = workshop.path().join(format!("{name}-{}", mpi.compiler().replace('.', "-")));
            mpi.compile(&source, &built).unwrap();
            assert_eq!(predicted(&built), predicted(&fibers), "{name} of {}", mpi.compiler());
        }
    }
}

/// With a limit of the address space, the memory for the messages between two processes is shorter than the messages.
#[test]
fn messages_may_be_longer_in_total_than_the_memory_for_them() {
    libraries();
    let Some(mpi) = real_mpis().first() else { return };
    let workshop = directory();
    let built = workshop.path().join("built");
    mpi.compile(&file("tests/real/as_built_ahead.c"), &built).unwrap();
    let outputs = ["unlimited", "500000"].map(|limit| {
        let script = format!("ulimit -v {limit}; exec \"$0\" --nct 2,1,2 --compute skip \"$1\"");
        let ran = limited(Command::new("sh").args(["-c", &script, env!("CARGO_BIN_EXE_mcpsim")]).arg(&built));
        assert_eq!(ran.code, Some(0), "{}", told(limit, &ran));
        ran
    });
    let [free, narrow] = outputs.each_ref().map(|ran| {
        let mut lines = sorted(ran);
        lines.retain(|line| !line.starts_with("  host: "));
        lines
    });
    assert_eq!(free, narrow);
}

#[test]
fn binaries_of_a_distribution_run() {
    libraries();
    for name in ["NPopenmpi", "NPmpich2"] {
        if !is_there(name) {
            optional(name);
            continue;
        }
        let found = std::env::var_os("PATH").unwrap();
        let path = std::env::split_paths(&found).map(|place| place.join(name)).find(|path| path.is_file()).unwrap();
        let workshop = directory();
        let mut command = Command::new(env!("CARGO_BIN_EXE_mcpsim"));
        command.current_dir(workshop.path()).args(["--compute", "skip", "--nct", "1,1,2", "--quiet"]).arg(path);
        let ran = limited(command.args(["--", "-n", "4", "-u", "64"]));
        assert_eq!(ran.code, Some(0), "{}", told(name, &ran));
        assert!(ran.stderr.contains("64 bytes") || ran.stdout.contains("64 bytes"), "{}", told(name, &ran));
    }
}

#[test]
fn predictions_are_those_of_one_worker() {
    libraries();
    let workshop = directory();
    for mpi in real_mpis() {
        let built = workshop.path().join(mpi.compiler().replace('.', "-"));
        mpi.compile(&file("tests/real/as_built.c"), &built).unwrap();
        for start in ["fork", "exec"] {
            is_the_same_on_workers(&built, &format!("--nct 3,1,2 --start {start}"), "").unwrap();
        }
    }
}

#[test]
fn functions_of_mpi_4_and_constants_of_the_interface_hold() {
    libraries();
    let workshop = directory();
    let source = file("tests/real/as_built_mpi4.c");
    let fibers = workshop.path().join("fibers");
    compile(&source, "", &fibers).unwrap();
    let mut programs = vec![(fibers, 6)];
    // Open MPI 4 does not declare these functions.
    for mpi in real_mpis().iter().filter(|mpi| mpi.compiler().contains("mpich")) {
        let built = workshop.path().join("mpich");
        mpi.compile(&source, &built).unwrap();
        programs.push((built, 15));
    }
    for (program, checks) in programs {
        let ran = run(&program, "--nct 1,1,3", "");
        let text = told(&program.display().to_string(), &ran);
        assert_eq!((ran.code, ran.stdout.lines().count()), (Some(0), checks), "{text}");
        assert!(ran.stdout.lines().all(|line| line.ends_with(": yes")), "{text}");
    }
}
