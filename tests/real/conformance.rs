//! Conformance tests. Each program in `tests/mpi` checks a part of the MPI standard. A program runs under mcpsim and
//! under the real MPIs of the machine, and must print the same output. The programs `strict_*` check errors that real
//! MPIs do not detect.

#[path = "conformance/mpich.rs"]
mod mpich;
#[path = "conformance/openmpi.rs"]
mod openmpi;

use std::path::Path;

use crate::real;

/// File name prefixes of the conformance programs for a chapter of the MPI standard.
type Chapter = &'static [&'static str];

const POINT_TO_POINT: Chapter = &["pt2pt_"];
const DATATYPES: Chapter = &["type_"];
const COLLECTIVES: Chapter = &["coll_"];
const GROUPS_AND_COMMUNICATORS: Chapter = &["group_", "comm_"];
const TOPOLOGIES: Chapter = &["topo_"];
const ONE_SIDED: Chapter = &["rma_"];
const ENVIRONMENT: Chapter = &["env_"];
const PROFILING_AND_OTHERS: Chapter = &["profiling", "old_names", "mixed", "tools"];
const STRICT: Chapter = &["strict_"];

/// Numbers of ranks, and options that place the ranks on one node. The output of these runs is compared with the real
/// MPIs, whose ranks also run on one node. The node matters because programs query shared memory.
const COMPARED: [(u32, &str); 3] = [(1, "--nct 1,1,1"), (2, "--nct 1,1,2"), (4, "--nct 1,2,2")];

/// Numbers of ranks, and options that place the ranks on several nodes.
const NODES: [(u32, &str); 4] =
    [(2, "--nct 2,1,1"), (4, "--nct 2,2,1"), (5, "--nct 3,1,2 --ranks 5"), (8, "--nct 2,2,2 --workers 2")];

fn is_of(chapter: Chapter, name: &str) -> bool {
    chapter.iter().any(|beginning| name.starts_with(beginning))
}

/// Checks all programs of the chapter. Panics with the errors of all failed programs.
fn check(chapter: Chapter) {
    let names = real::names("tests/mpi", ".c").into_iter().filter(|name| is_of(chapter, name));
    let directory = real::directory();
    let wrong: Vec<String> = names.flat_map(|name| check_program(&name, directory.path())).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Runs a conformance program and returns the errors.
fn check_program(name: &str, directory: &Path) -> Vec<String> {
    let source = real::file("tests/mpi").join(name).with_extension("c");
    let program = directory.join(name);
    if let Err(why) = real::compile(&source, "-O1", &program) {
        return vec![why];
    }
    let mut said = Vec::new();
    for (ranks, options) in COMPARED.into_iter().chain(NODES) {
        let ran = real::run(&program, options, "");
        if ran.code != Some(0) || !is_ok(name, ranks, &ran.stdout) {
            return vec![real::told(&format!("mcpsim {options} {name}"), &ran)];
        }
        said.push((ranks, ran.stdout));
    }
    if let Err(why) = real::is_the_same_on_workers(&program, "--nct 4,1,2", "") {
        return vec![why];
    }
    if is_of(STRICT, name) {
        return Vec::new();
    }
    let wrong = |mpi: &real::RealMpi| {
        let program = directory.join(format!("{name}-{}", mpi.name));
        mpi.compile(&source, &program)?;
        for (ranks, expected) in &said[..COMPARED.len()] {
            let ran = mpi.run(&program, *ranks, "");
            if ran.code != Some(0) || ran.stdout != *expected {
                let what = format!("{name} under {} with {ranks} ranks, expected {expected:?}", mpi.name);
                return Err(real::told(&what, &ran));
            }
        }
        Ok(())
    };
    real::real_mpis().iter().filter_map(|mpi| wrong(mpi).err()).collect()
}

/// Returns true if the last line of the output reports that all checks passed. The number of checks may be 0 for a
/// single rank.
fn is_ok(name: &str, ranks: u32, stdout: &str) -> bool {
    let checks = |line: &str| -> Option<u64> {
        line.strip_prefix(name)?.strip_prefix(": ok (")?.strip_suffix(" checks)")?.parse().ok()
    };
    stdout.lines().last().and_then(checks).is_some_and(|checks| checks > 0 || ranks == 1)
}

#[test]
fn point_to_point() {
    check(POINT_TO_POINT);
}

#[test]
fn datatypes() {
    check(DATATYPES);
}

#[test]
fn collectives() {
    check(COLLECTIVES);
}

#[test]
fn groups_and_communicators() {
    check(GROUPS_AND_COMMUNICATORS);
}

#[test]
fn topologies() {
    check(TOPOLOGIES);
}

#[test]
fn one_sided() {
    check(ONE_SIDED);
}

#[test]
fn environment() {
    check(ENVIRONMENT);
}

#[test]
fn profiling_and_others() {
    check(PROFILING_AND_OTHERS);
}

#[test]
fn strict() {
    check(STRICT);
}

#[test]
fn every_program_is_in_one_chapter() {
    let chapters = [
        POINT_TO_POINT,
        DATATYPES,
        COLLECTIVES,
        GROUPS_AND_COMMUNICATORS,
        TOPOLOGIES,
        ONE_SIDED,
        ENVIRONMENT,
        PROFILING_AND_OTHERS,
        STRICT,
    ];
    let names = real::names("tests/mpi", ".c");
    for name in &names {
        assert_eq!(chapters.iter().filter(|chapter| is_of(chapter, name)).count(), 1, "{name}");
    }
    for beginning in chapters.concat() {
        assert!(names.iter().any(|name| name.starts_with(beginning)), "no program {beginning}");
    }
}

#[test]
fn only_a_last_line_with_checks_is_ok() {
    assert!(is_ok("a", 2, "skipped b\na: ok (12 checks)\n"));
    for said in ["", "a: ok (0 checks)\n", "a: ok (12 checks)\nmore\n", "b: ok (12 checks)\n", "a: ok ( checks)\n"] {
        assert!(!is_ok("a", 2, said), "{said}");
    }
}
