//! Tests of build systems. The wrappers are first in `PATH` under their usual names, and the build systems must not use
//! another MPI of the machine.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{HELLO, HELLO_CXX, cache, check_program, files};
use crate::support::{Ran, finish, is_there, skipped, without_launcher};
use tempfile::TempDir;

const NAMES: [&str; 11] = [
    "mpicc",
    "mpicxx",
    "mpic++",
    "mpiCC",
    "mpifort",
    "mpif90",
    "mpif77",
    "mpiexec",
    "mpirun",
    "mpichversion",
    "ompi_info",
];

/// Creates a directory with a C program, a C++ program, the wrappers in the subdirectory `bin`, and the files `more`.
pub fn project(more: &[(&str, &str)]) -> TempDir {
    let directory = files(&[&[("hello.c", HELLO), ("more.cc", HELLO_CXX), ("bin/note", "")], more].concat());
    for name in NAMES {
        let link = directory.path().join("bin").join(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_mcpsim"), link).unwrap();
    }
    directory
}

/// Runs the command `line` in `directory`.
pub fn there(directory: &Path, line: &str) -> Ran {
    let mut words = line.split_whitespace();
    let mut command = without_launcher(Command::new("env"), directory);
    let path = std::env::join_paths(
        std::iter::once(directory.join("bin")).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
    );
    command.env("PATH", path.unwrap()).env("MCPSIM_CACHE", cache()).args(words.by_ref());
    for name in ["MCPSIM_CC", "MCPSIM_CXX", "MCPSIM_NCT", "CC", "CXX", "FC", "CFLAGS", "LDFLAGS", "MAKEFLAGS"] {
        command.env_remove(name);
    }
    finish(command.output().unwrap())
}

fn succeeds(directory: &Path, line: &str) -> String {
    let ran = there(directory, line);
    assert_eq!(ran.code, Some(0), "{line}: {}{}", ran.stdout, ran.stderr);
    ran.stdout
}

/// Asserts that the build has created programs of `mcpsim cc` and that these programs run.
fn check(directory: &Path) {
    for name in ["hello", "more"] {
        check_program(&directory.join(name));
    }
    assert_eq!(succeeds(directory, "mpiexec -n 2 ./hello"), "0\n1\n");
    assert_eq!(succeeds(directory, "mpirun -np 2 ./more"), "x\nx\n");
}

#[test]
fn what_the_wrapper_says_of_linking_may_be_given_to_it_again() {
    let directory = project(&[]);
    let here = directory.path();
    let said = succeeds(here, "mpicc -showme:link");
    succeeds(here, &format!("mpicc -o hello hello.c -Wl,--start-group {} -Wl,--end-group", said.trim()));
    check_program(&here.join("hello"));
}

#[test]
fn cmake_finds_the_wrappers() {
    if !is_there("cmake") {
        return skipped("cmake is not there: its FindMPI is not tried");
    }
    let lists = "cmake_minimum_required(VERSION 3.10)\nproject(hello C CXX)\nfind_package(MPI REQUIRED)\n\
        add_executable(hello hello.c)\ntarget_link_libraries(hello MPI::MPI_C)\n\
        add_executable(more more.cc)\ntarget_link_libraries(more MPI::MPI_CXX)\n\
        file(WRITE found \"${MPI_C_VERSION} ${MPIEXEC_EXECUTABLE}\")\n";
    let project = project(&[("CMakeLists.txt", lists)]);
    let here = project.path();
    succeeds(here, "cmake -DCMAKE_C_FLAGS=-fPIC -DCMAKE_CXX_FLAGS=-fPIC .");
    let found = fs::read_to_string(here.join("found")).unwrap();
    assert_eq!(found, format!("3.1 {}", here.join("bin/mpiexec").display()));
    succeeds(here, "make");
    check(here);
}

#[test]
fn autotools_find_the_wrappers() {
    if !is_there("autoconf") {
        return skipped("autoconf is not there: its checks are not tried");
    }
    // The configure script finds the MPI functions without a library option, and the programs that it compiles run
    // under mcpsim.
    let configure = "AC_INIT([hello], [1])\n\
        AC_CHECK_PROGS([MPICXX], [mpic++ mpicxx mpiCC])\n\
        AC_CHECK_PROGS([CC], [mpicc])\n\
        AC_CHECK_PROGS([MPIFC], [mpif90 mpifort])\n\
        AC_PROG_CC\n\
        AC_CHECK_FUNC([MPI_Init], [], [AC_MSG_ERROR([no MPI_Init])])\n\
        AC_CHECK_SIZEOF([MPI_Comm], [], [#include <mpi.h>])\n\
        CFLAGS=\"$CFLAGS -fvisibility=hidden\"\n\
        AC_RUN_IFELSE([AC_LANG_PROGRAM([#include <mpi.h>], [MPI_Init(0, 0); MPI_Finalize();])], [],\n\
        [AC_MSG_ERROR([a program does not run])])\n\
        AC_SUBST([ac_cv_sizeof_MPI_Comm])\n\
        AC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n";
    let makefile =
        "all:\n\t@CC@ @CFLAGS@ -o hello hello.c\n\t@MPICXX@ -o more more.cc\n\techo @ac_cv_sizeof_MPI_Comm@\n";
    let project = project(&[("configure.ac", configure), ("Makefile.in", makefile)]);
    let here = project.path();
    succeeds(here, "autoconf");
    let said = succeeds(here, "./configure");
    assert!(said.contains("whether we are cross compiling... no"), "{said}");
    assert!(succeeds(here, "make").ends_with("echo 8\n8\n"));
    check(here);
    let fortran = there(here, "mpif90 x.f90");
    assert_eq!(fortran.code, Some(2));
    let expected = "error: mpif90: mcpsim compiles C and C++: build Fortran programs with the mpif90 of Open MPI or MPICH, \
                    and run them as built: mcpsim … ./PROGRAM\n";
    assert_eq!(fortran.stderr, expected);
    assert!(succeeds(here, "mpichversion").starts_with("mcpsim "));
}

#[test]
fn scons_finds_the_wrappers() {
    if !is_there("scons") {
        return skipped("SCons is not there: its checks are not tried");
    }
    let construct = "import os\n\
        env = Environment(ENV=os.environ)\n\
        env.ParseConfig('mpicc --showme:compile')\nenv.ParseConfig('mpicc --showme:link')\n\
        conf = Configure(env)\n\
        assert conf.CheckCHeader('mpi.h') and conf.CheckFunc('MPI_Init')\n\
        conf.Finish().Program('hello', 'hello.c')\n\
        env = Environment(ENV=os.environ, CXX='mpicxx', LINK='mpicxx')\nenv.Program('more', 'more.cc')\n";
    let project = project(&[("SConstruct", construct)]);
    succeeds(project.path(), "scons");
    check(project.path());
}

#[test]
fn a_program_that_hides_its_symbols_runs() {
    let project = project(&[]);
    let here = project.path();
    succeeds(here, "mpicc -fvisibility=hidden -O1 -c hello.c");
    succeeds(here, "mpicc -fvisibility=hidden hello.o -o hello");
    assert_eq!(succeeds(here, "./hello"), "0\n");
    succeeds(here, "mpicc -flto -O2 -fvisibility=hidden -s -Wl,--gc-sections hello.c -o hello");
    assert_eq!(succeeds(here, "mpiexec -n 2 ./hello"), "0\n1\n");
}
