//! Tests of failures in runs with several processes. All processes end, one error message is printed, and no result
//! file is partly written.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::hosts::{HostMpi, host_mpi, host_mpis};
use super::real::{compile, directory, file, limited, told};
use super::support::{Ran, mcpsim};

/// Compiles a source of this directory. Returns `None` if the machine has no MPI.
fn program(name: &str) -> Option<(TempDir, PathBuf)> {
    if host_mpis().is_empty() {
        return None;
    }
    let directory = directory();
    let program = directory.path().join(name);
    compile(&file(&format!("tests/mpirun/{name}.c")), "-O1", &program).unwrap();
    Some((directory, program))
}

/// Returns the messages that mcpsim has printed on stderr, without messages of launchers.
fn errors(ran: &Ran) -> Vec<&str> {
    ran.stderr.lines().filter(|line| line.starts_with("error: ") || line.starts_with("note: ")).collect()
}

#[test]
fn however_a_program_ends_it_is_told_once_with_the_exit_code_of_one_process() {
    let Some((_directory, program)) = program("told") else { return };
    for mpi in host_mpis() {
        for (end, code, said) in [
            ("abort", 7, "error: rank 7 called MPI_Abort with code 7 at virtual time "),
            ("crash", 4, "error: rank 7 crashed with signal 11 (SIGSEGV) at virtual time "),
            ("exit", 5, "error: rank 7 exited with code 5 at virtual time "),
            ("return", 6, "note: rank 7 ended with exit code 6"),
            ("deadlock", 3, "error: deadlock: 8 ranks wait and no rank can continue (0 finished)"),
            ("truncate", 1, "error: rank 7 "),
        ] {
            let line = format!("--nct 4,2,1 --compute skip {} {end}", program.display());
            let alone = mpi.run(1, &line);
            assert_eq!(alone.code, Some(code), "{}", told(end, &alone));
            let ran = mpi.run(3, &line);
            let what = format!("{} {end}", mpi.name);
            assert_eq!(ran.code, Some(code), "{}", told(&what, &ran));
            assert_eq!(errors(&ran), errors(&alone), "{}", told(&what, &ran));
            assert!(errors(&ran).len() == 1 && errors(&ran)[0].starts_with(said), "{}", told(&what, &ran));
        }
    }
}

#[test]
fn what_is_wrong_for_all_processes_is_told_once() {
    for mpi in host_mpis() {
        for (line, said) in [
            ("--bogus", "error: unexpected argument '--bogus' found"),
            ("nothing.toml", "error: nothing.toml: no such file"),
            ("--json /dev/full workloads/ring.toml", "error: cannot write /dev/full: No space left on device"),
            (
                "--nct 1,2,2 workloads/ring.toml",
                "error: 2 host processes, but at most 1 can take part, because each process simulates whole nodes \
                 with ranks",
            ),
            (
                "--nct 2,1,1 --set platform.inter_node.latency=0s --set platform.inter_node.handshake=0s workloads/ring.toml",
                "error: 2 host processes, but a latency or the handshake of inter_node is 0",
            ),
            ("--max-events 100 workloads/ring.toml", "error: more than 100 events, as --max-events allows"),
        ] {
            let ran = mpi.run(2, line);
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", told(line, &ran));
            assert!(errors(&ran).len() == 1 && errors(&ran)[0].starts_with(said), "{}", told(line, &ran));
        }
        let ran = mpi.run(2, "--help");
        assert_eq!((ran.code, ran.stdout.matches("Usage:").count()), (Some(0), 1), "{}", told("--help", &ran));
    }
}

/// Runs mcpsim in three processes. Process 1 first executes the shell commands `shell`.
fn with_one_apart(mpi: &HostMpi, shell: &str, line: &str) -> Ran {
    let script = format!("case ${{OMPI_COMM_WORLD_RANK-}}${{PMI_RANK-}} in 1) {shell} ;; esac; exec \"$@\"");
    let mut command = mpi.launch(3, Path::new("sh"));
    command.args(["-c", &script, "sh"]).arg(&mpi.binary).args(line.split_whitespace());
    limited(&command)
}

#[test]
fn what_only_one_process_cannot_do_is_told_with_its_name() {
    for mpi in host_mpis() {
        let ran = with_one_apart(mpi, "export TMPDIR=/nonexistent", "--nct 4,1,1 workloads/empty-c.toml");
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", told(mpi.name, &ran));
        let [error] = errors(&ran)[..] else { panic!("{}", told(mpi.name, &ran)) };
        assert!(error.starts_with("error: process 1 on "), "{error}");
        assert!(error.contains(": cannot create a temporary directory: "), "{error}");
    }
}

#[test]
fn letters_on_their_way_do_not_keep_a_run_that_failed_from_ending() {
    let Some((_directory, program)) = program("letters") else { return };
    for mpi in host_mpis() {
        for threads in [1, 2] {
            let line = format!("--nct 6,1,1 --workers {threads} --compute skip {} unread", program.display());
            let ran = mpi.run(3, &line);
            assert_eq!(ran.code, Some(8), "{}", told(mpi.name, &ran));
            let [error] = errors(&ran)[..] else { panic!("{}", told(mpi.name, &ran)) };
            assert!(error.starts_with("error: rank 5 called MPI_Abort with code 8"), "{error}");
        }
    }
}

/// A small file system in memory. Creating the file system requires root privileges.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn at(path: &Path) -> Option<SmallDisk> {
        fs::create_dir(path).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=64k", "mcpsim-test"]).arg(path).output();
        mounted.is_ok_and(|output| output.status.success()).then(|| SmallDisk(path.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_disk_that_gets_full_is_told_once_and_keeps_what_was_there() {
    let directory = directory();
    let Some(disk) = SmallDisk::at(&directory.path().join("disk")) else { return };
    let json = disk.0.join("outcome.json");
    for mpi in host_mpis() {
        fs::write(&json, "the result before").unwrap();
        let line = format!("--quiet --nct 512,1,1 --json {} workloads/ring.toml", json.display());
        let ran = mpi.run(2, &line);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", told(mpi.name, &ran));
        let [error] = errors(&ran)[..] else { panic!("{}", told(mpi.name, &ran)) };
        let expected = format!("error: cannot write {}: No space left on device", json.display());
        assert!(error.starts_with(&expected), "{error}");
        assert_eq!(fs::read_to_string(&json).unwrap(), "the result before");
        assert_eq!(fs::read_dir(&disk.0).unwrap().count(), 1, "{}", told(mpi.name, &ran));
    }
}

#[test]
fn a_build_without_mpi_says_once_how_to_build_one_with() {
    for mpi in host_mpis() {
        let binary = mcpsim(Path::new(".")).get_program().to_owned();
        let ran = limited(mpi.launch(3, Path::new(&binary)).arg("workloads/ring.toml"));
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", told(mpi.name, &ran));
        let [error] = errors(&ran)[..] else { panic!("{}", told(mpi.name, &ran)) };
        assert!(error.contains("cargo build --release --features mpi"), "{error}");
    }
}

#[test]
fn the_launcher_of_another_library_is_found_out() {
    let (Some(open_mpi), Some(mpich)) = (host_mpi("openmpi"), host_mpi("mpich")) else { return };
    let ran = limited(mpich.launch(2, &open_mpi.binary).arg("workloads/ring.toml"));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{}", told("mpich", &ran));
    let [error] = errors(&ran)[..] else { panic!("{}", told("mpich", &ran)) };
    assert!(error.contains("finds no other process: use the launcher of that MPI library"), "{error}");
}

/// Maximum time for mcpsim's processes to end after the launcher has ended.
const LIMIT: Duration = Duration::from_secs(20);

/// A run of mcpsim that does not end by itself.
struct Endless {
    launcher: Child,
    output: BufReader<ChildStdout>,
    /// Process IDs of mcpsim's processes, by MPI rank.
    pids: Vec<i32>,
}

impl Endless {
    /// Starts the run in three processes and waits until all processes exist.
    fn start(mpi: &HostMpi, program: &Path, json: &Path) -> Endless {
        let mut inner = mpi.launch(3, &mpi.binary);
        inner.args(["--nct", "3,1,1", "--quiet", "--json"]).args([json, program]);
        let mut command = Command::new("timeout");
        // The command `timeout` forwards signals to its child process.
        command.args(["--foreground", "--kill-after=10", "100"]).arg(inner.get_program()).args(inner.get_args());
        command.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
        let mut launcher = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(launcher.stdout.take().unwrap());
        let mut pids = vec![0; 3];
        for _ in 0..3 {
            let mut line = String::new();
            output.read_line(&mut line).unwrap();
            let (rank, pid) = line.trim().split_once(' ').unwrap_or_else(|| panic!("{}: {line:?}", mpi.name));
            pids[rank.parse::<usize>().unwrap()] = pid.parse().unwrap();
        }
        Endless { launcher, output, pids }
    }

    /// Waits until the run has ended and returns its output.
    fn end(mut self) -> Ran {
        let mut stdout = String::new();
        self.output.read_to_string(&mut stdout).unwrap();
        let mut stderr = String::new();
        self.launcher.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let code = self.launcher.wait().unwrap().code();
        let waiting = Instant::now();
        while self.pids.iter().any(|&pid| is_there(pid)) {
            assert!(waiting.elapsed() < LIMIT, "processes {:?} are still there\n{stderr}", self.pids);
            std::thread::yield_now();
        }
        Ran { code, stdout, stderr }
    }
}

/// Returns true if the process with this ID exists and is not a zombie.
fn is_there(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, behind)| !behind.starts_with('Z'))
}

fn signal(name: &str, pid: i32) {
    assert!(Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status().unwrap().success());
}

#[test]
fn when_a_process_is_killed_all_end_without_a_result() {
    let Some((directory, program)) = program("endless") else { return };
    let json = directory.path().join("outcome.json");
    for mpi in host_mpis() {
        for victim in [0, 2] {
            let endless = Endless::start(mpi, &program, &json);
            signal("KILL", endless.pids[victim]);
            let ran = endless.end();
            assert!(!matches!(ran.code, Some(0 | 124)), "{}", told(mpi.name, &ran));
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "{}", told(mpi.name, &ran));
        }
    }
}

#[test]
fn when_the_launcher_is_interrupted_all_end_and_the_user_is_told_once() {
    let Some((directory, program)) = program("endless") else { return };
    let json = directory.path().join("outcome.json");
    for mpi in host_mpis() {
        for name in ["INT", "TERM"] {
            let endless = Endless::start(mpi, &program, &json);
            signal(name, endless.launcher.id() as i32);
            let ran = endless.end();
            assert_ne!(ran.code, Some(124), "{}", told(mpi.name, &ran));
            let [error] = errors(&ran)[..] else { panic!("{}", told(&format!("{} {name}", mpi.name), &ran)) };
            assert!(error.starts_with("error: interrupted at virtual time "), "{error}");
            assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "{}", told(mpi.name, &ran));
        }
    }
}

#[test]
fn when_one_process_is_interrupted_all_end_as_one_process_does() {
    let Some((directory, program)) = program("endless") else { return };
    let json = directory.path().join("outcome.json");
    for mpi in host_mpis() {
        let endless = Endless::start(mpi, &program, &json);
        signal("INT", endless.pids[1]);
        let ran = endless.end();
        assert_eq!((ran.code, errors(&ran).len()), (Some(130), 1), "{}", told(mpi.name, &ran));
    }
}

/// An MPI call on a thread that runs no rank ends the process with an error.
#[test]
fn when_one_process_must_end_at_once_all_do() {
    if host_mpis().is_empty() {
        return;
    }
    let directory = directory();
    let program = directory.path().join("crash");
    compile(&file("tests/real/crash.c"), "-O1 -w -pthread", &program).unwrap();
    for mpi in host_mpis() {
        let line = format!("--nct 4,1,1 --compute skip {} thread_mpi", program.display());
        let alone = mpi.run(1, &line);
        let ran = mpi.run(2, &line);
        assert_eq!(ran.code, alone.code, "{}", told(mpi.name, &ran));
        assert_eq!(errors(&ran), errors(&alone), "{}", told(mpi.name, &ran));
    }
}
