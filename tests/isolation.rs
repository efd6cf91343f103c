//! What ranks of real programs must not share: each program of `tests/real` named here prints the same under mcpsim, on one
//! worker and on two, as under a real MPI, whose ranks are processes.

// Not all of what tests of real programs share is of use here.
#[allow(dead_code)]
#[path = "support/real.rs"]
mod real;
#[allow(dead_code)]
#[path = "support/binary.rs"]
mod support;

use std::path::Path;

/// The lines of `name`, sorted, by mcpsim on four ranks of a node; a real MPI says the same.
fn same(name: &str, flags: &str, arguments: &str) -> Vec<String> {
    let directory = real::directory();
    prepared(directory.path(), name, flags, arguments)
}

/// As [`same`], in a directory in which there may be libraries.
fn prepared(directory: &Path, name: &str, flags: &str, arguments: &str) -> Vec<String> {
    let source = real::file("tests/real").join(name);
    let program = directory.join("program");
    let flags = flags.replace("DIR", &directory.display().to_string());
    let arguments = arguments.replace("DIR", &directory.display().to_string());
    let made = real::compile_with(&source, "-O1", &program, &flags);
    made.unwrap_or_else(|why| panic!("{why}"));
    let mut expected: Option<Vec<String>> = None;
    let mut said = |what: &str, ran: support::Ran| {
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{what}: {}", ran.stdout);
        let mut lines: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
        lines.sort();
        assert_eq!(expected.get_or_insert_with(|| lines.clone()), &lines, "{what}");
    };
    for options in ["--nct 1,2,2", "--nct 2,1,2 --workers 2"] {
        said(options, real::run(&program, options, &arguments));
    }
    for mpi in real::real_mpis() {
        let program = directory.join("real");
        mpi.compile_with(&source, &program, &flags).unwrap_or_else(|why| panic!("{why}"));
        said(mpi.name, mpi.run(&program, 4, &arguments));
    }
    expected.unwrap_or_default()
}

#[test]
fn each_rank_has_its_own_floating_point_environment() {
    let lines = same("floats.c", "-frounding-math", "");
    assert_eq!(lines.len(), 4, "{lines:?}");
}

/// Compiles libraries of `tests/real/libraries` into `directory`, by `mcpsim cc` and `cxx` or by the real MPI's compiler.
fn libraries(directory: &Path, names: &[&str], real: Option<&real::RealMpi>) {
    for name in names {
        let source = real::file("tests/real/libraries").join(name);
        let library = directory.join(format!("lib{}.so", name.split('.').next().unwrap()));
        let flags = format!("-shared -fPIC -L{0} -Wl,-rpath,{0}", directory.display());
        let flags = if *name == "speak.c" { format!("{flags} -lstate") } else { flags };
        let made = match real {
            None => real::compile_with(&source, "-O1", &library, &flags),
            Some(mpi) => mpi.compile_with(&source, &library, &flags),
        };
        made.unwrap_or_else(|why| panic!("{why}"));
    }
}

#[test]
fn each_rank_has_its_own_copy_of_libraries_that_it_opens() {
    let directory = real::directory();
    let names = ["state.c", "speak.c", "throw.cc"];
    libraries(directory.path(), &names, None);
    let source = real::file("tests/real/plugins.cc");
    let [program, native] = ["program", "real"].map(|name| directory.path().join(name));
    real::compile_with(&source, "-O1", &program, "-rdynamic -ldl").unwrap_or_else(|why| panic!("{why}"));
    let here = directory.path().display().to_string();
    let lines = |ran: support::Ran, what: &str| {
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{what}: {}", ran.stdout);
        let mut lines: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let one = lines(real::run(&program, "--nct 1,2,2", &here), "one worker");
    assert_eq!(one.len(), 12, "{one:?}");
    assert_eq!(one, lines(real::run(&program, "--nct 2,1,2 --workers 2", &here), "two workers"));
    for mpi in real::real_mpis() {
        let apart = real::directory();
        libraries(apart.path(), &names, Some(mpi));
        mpi.compile_with(&source, &native, "-rdynamic -ldl").unwrap_or_else(|why| panic!("{why}"));
        assert_eq!(one, lines(mpi.run(&native, 4, &apart.path().display().to_string()), mpi.name));
    }
}
