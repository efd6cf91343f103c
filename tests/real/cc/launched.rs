//! Tests of several programs in one `MPI_COMM_WORLD`, described by a launcher's command line or by a TOML file. The
//! results are compared with real launchers.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::systems::{project, there};
use super::{files, wrapper};
use crate::support::{Ran, finish, is_there, open_mpi_environment, skipped, without_launcher};
use tempfile::TempDir;

const SOURCE: &str = include_str!("launched.c");

/// Creates a directory `top` with the programs `one` and `sub/two`, compiled by `compiler`.
fn programs(directory: &Path, mut compiler: impl FnMut() -> Command) {
    for (name, path) in [("one", "top/one"), ("two", "top/sub/two")] {
        let name = format!("-DNAME=\"{name}\"");
        let ran =
            finish(compiler().current_dir(directory).args([&name, "-o", path, "top/launched.c"]).output().unwrap());
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    }
}

fn sources() -> TempDir {
    project(&[("top/launched.c", SOURCE), ("top/sub/note", "")])
}

fn sorted(ran: &Ran) -> Vec<String> {
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let mut lines: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Command lines of the launchers, and the expected output of the programs.
const OPEN_MPI: &str = "-x A=7 -n 1 ./one x : -x B=8 -n 2 -wdir sub ./two y : -n 1 ./one";
const MPICH: &str = "-genv A 7 -n 1 -env B 3 ./one x : -n 2 -env A 9 -wdir sub ./two y : -n 1 ./one";

#[test]
fn several_programs_share_a_world_with_their_own_environments_and_directories() {
    let directory = sources();
    let here = directory.path();
    programs(here, || {
        let mut command = wrapper(here);
        command.arg("cc");
        command
    });
    let top = here.join("top");
    let run = |line: &str| sorted(&there(&top, &format!("../bin/{line}")));
    let open_mpi = run(&format!("mpirun {OPEN_MPI}"));
    assert_eq!(
        open_mpi,
        [
            "0/4 one ./one x A=7 B=- in top number 0 sum 6",
            "1/4 two ./two y A=- B=8 in sub number 1 sum 6",
            "2/4 two ./two y A=- B=8 in sub number 1 sum 6",
            "3/4 one ./one - A=- B=- in top number 2 sum 6",
        ]
    );
    let mpich = run(&format!("mpiexec {MPICH}"));
    assert_eq!(
        mpich,
        [
            "0/4 one ./one x A=7 B=3 in top number 0 sum 6",
            "1/4 two ./two y A=9 B=- in sub number 1 sum 6",
            "2/4 two ./two y A=9 B=- in sub number 1 sum 6",
            "3/4 one ./one - A=7 B=- in top number 2 sum 6",
        ]
    );
    assert_eq!(run("mpirun -wdir sub -x A=1 -n 1 ./two"), ["0/1 two ./two - A=1 B=- in sub number 0 sum 1"]);
    natively(&open_mpi, &mpich);
}

/// Asserts that the programs print the same output under the real launchers.
fn natively(open_mpi: &[String], mpich: &[String]) {
    for (compiler, launcher, line, expected) in [
        ("mpicc.openmpi", "mpirun.openmpi", format!("--oversubscribe {OPEN_MPI}"), open_mpi),
        ("mpicc.mpich", "mpiexec.mpich", MPICH.to_owned(), mpich),
    ] {
        if !is_there(compiler) || !is_there(launcher) {
            skipped(&format!("{launcher} is not there: lines of several programs are not compared with it"));
            continue;
        }
        let directory = files(&[("top/launched.c", SOURCE), ("top/sub/note", "")]);
        let here = directory.path();
        programs(here, || Command::new(compiler));
        let mut command = without_launcher(Command::new("timeout"), &here.join("top"));
        command.args(["60", launcher]).args(line.split(' '));
        command.envs(open_mpi_environment());
        assert_eq!(sorted(&finish(command.output().unwrap())), expected, "{launcher}");
    }
}

#[test]
fn a_file_lists_several_programs_and_workers_do_not_matter() {
    let directory = sources();
    let here = directory.path();
    let file = "[[program]]\nname = \"one\"\nsource = \"launched.c\"\nflags = [\"-DNAME=\\\"one\\\"\"]\nranks = 2\n\
        [[program]]\nname = \"two\"\nsource = \"launched.c\"\nflags = [\"-DNAME=\\\"two\\\"\"]\nranks = 2\n\
        directory = \"sub\"\nenvironment = { A = \"5\" }\n";
    fs::write(here.join("top/pair.toml"), file).unwrap();
    let ran = |line: &str| finish(wrapper(here).args(line.split(' ')).output().unwrap());
    let expected = [
        "0/4 one one - A=- B=- in NAME number 0 sum 8",
        "1/4 one one - A=- B=- in NAME number 0 sum 8",
        "2/4 two two - A=5 B=- in sub number 1 sum 8",
        "3/4 two two - A=5 B=- in sub number 1 sum 8",
    ];
    let name = here.file_name().unwrap().to_str().unwrap();
    let expected = expected.map(|line| line.replace("NAME", name));
    for workers in [1, 2] {
        let line = format!("--quiet --nct 4,1,1 --workers {workers} --compute skip top/pair.toml");
        assert_eq!(sorted(&ran(&line)), expected, "{workers} workers");
    }
    let shown = ran("--nct 4,1,1 --show-config top/pair.toml").stdout;
    assert_eq!(shown.matches("[[app.program]]").count(), 2, "{shown}");
    let wrong = ran("--ranks 3 top/pair.toml");
    assert_eq!(wrong.stderr, "error: --ranks 3: expected 4, the sum of the ranks of the programs one : two\n");
}
