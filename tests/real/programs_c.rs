//! Tests of the real programs in `workloads/c`. Each program verifies its own result under mcpsim and prints the same
//! output under the real MPIs of the machine. The message sizes of a program are compared with published values.

#[path = "programs_c/path.rs"]
mod path;
#[path = "programs_c/profile.rs"]
mod profile;

use std::path::Path;

use crate::real::{self, WORKLOADS};
use crate::support;

/// Programs of `workloads/c`, with arguments for a short run.
const CASES: [(&str, &[&str]); 13] = [
    ("alltoall", &["100 3", "5000 2"]),
    ("empty", &[""]),
    ("halo3d", &["1000 3", "20000 2"]),
    ("heat3d", &["16 6", "16 6 -s poles -v blocking", "64 3 -s slabs"]),
    ("hpl", &["200 16", "-s binary_exchange -b 2ringM -d 1 120 8", "-s mix -b long -d 1 -m column 120 8"]),
    ("is", &["S"]),
    ("jacobi3d", &["16 12 8 5", "16 12 8 5 -v blocking"]),
    ("ljj", &["600 50"]),
    ("pi", &["100000", "100000 -v ring"]),
    ("pingpong", &["8 10", "100000 3"]),
    ("prime", &["20000", "20000 -d cyclic", "20000 -d blocks"]),
    ("ring", &["3", "2 100000"]),
    ("sort", &["20000", "20000 -a oddeven"]),
];

/// Numbers of ranks, and options that place the ranks on several nodes.
const RUNS: [(u32, &str); 5] =
    [(1, "--nct 1,1,1"), (2, "--nct 2,1,1"), (4, "--nct 2,2,1"), (16, "--nct 4,2,2 --workers 2"), (64, "--nct 4,2,8")];

/// Numbers of ranks for runs under a real MPI, which are a subset of [`RUNS`].
const REAL_RUNS: [u32; 3] = [1, 2, 4];

/// Returns the output of a program without lines that contain times. Returns `None` if the program failed or its result
/// is wrong.
fn verified(name: &str, ran: &support::Ran) -> Option<String> {
    let said: String = ran.stdout.split_inclusive('\n').filter(|line| !line.starts_with("time:")).collect();
    // The program `empty` prints nothing and verifies nothing.
    let is_right = if name == "empty" { said.is_empty() } else { said.lines().last() == Some("verified: ok") };
    (ran.code == Some(0) && is_right).then_some(said)
}

/// Runs a program with these arguments and returns the errors.
fn check_program(name: &str, all_arguments: &[&str], directory: &Path) -> Vec<String> {
    let source = real::file("workloads/c").join(name).with_extension("c");
    let program = directory.join(name);
    if let Err(why) = real::compile(&source, "-O2", &program) {
        return vec![why];
    }
    let mut said = Vec::new();
    for arguments in all_arguments {
        for (ranks, options) in RUNS.iter().filter(|(ranks, _)| name != "pingpong" || *ranks > 1) {
            let ran = real::run(&program, options, arguments);
            let Some(output) = verified(name, &ran) else {
                return vec![real::told(&format!("mcpsim {options} {name} {arguments}"), &ran)];
            };
            said.push((*arguments, *ranks, output));
        }
        if let Err(why) = real::is_the_same_on_workers(&program, "--nct 4,2,2", arguments) {
            return vec![why];
        }
    }
    let wrong = |mpi: &real::RealMpi| {
        let program = directory.join(format!("{name}-{}", mpi.name));
        mpi.compile(&source, &program)?;
        for (arguments, ranks, expected) in said.iter().filter(|(_, ranks, _)| REAL_RUNS.contains(ranks)) {
            let ran = mpi.run(&program, *ranks, arguments);
            if verified(name, &ran).as_ref() != Some(expected) {
                let what = format!("{name} {arguments} under {} with {ranks} ranks, expected\n{expected}", mpi.name);
                return Err(real::told(&what, &ran));
            }
        }
        Ok(())
    };
    real::real_mpis().iter().filter_map(|mpi| wrong(mpi).err()).collect()
}

/// Checks these programs of [`CASES`]. Panics with the errors of all failed programs.
fn check(cases: &[(&str, &[&str])]) {
    let directory = real::directory();
    let wrong: Vec<String> =
        cases.iter().flat_map(|(name, arguments)| check_program(name, arguments, directory.path())).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn programs_verify_themselves_and_say_what_they_say_under_a_real_mpi() {
    check(&CASES[..6]);
}

#[test]
fn other_programs_verify_themselves_and_say_what_they_say_under_a_real_mpi() {
    check(&CASES[6..]);
}

#[test]
fn every_program_is_tested() {
    assert_eq!(real::names("workloads/c", ".c"), CASES.map(|(name, _)| name));
    assert_eq!(real::names("workloads", "-c.toml"), WORKLOADS.map(|(name, _)| name));
}

#[test]
fn workloads_with_real_programs_run_with_other_arguments() {
    for (name, words) in WORKLOADS {
        let line =
            format!("--quiet --compute skip --nct 2,1,2 --set app.program.arguments=[{words}] workloads/{name}-c.toml");
        let ran = real::simulate(&line);
        assert!(verified(name, &ran).is_some(), "{}", real::told(&format!("mcpsim {line}"), &ran));
    }
}
