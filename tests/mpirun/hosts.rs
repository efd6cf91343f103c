//! Builds mcpsim with the feature `mpi` for each MPI library of the machine, and runs these builds with their
//! launchers.

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use serde_json::Value;

use super::real::{limited, told};
use super::support::{Ran, is_full, open_mpi_environment, skipped};

/// A build of mcpsim for an MPI library.
pub struct HostMpi {
    pub name: &'static str,
    pub compiler: &'static str,
    pub launcher: &'static str,
    pub is_open_mpi: bool,
    pub binary: PathBuf,
}

/// Names, compiler commands and launcher commands of MPI libraries. Debian has separate commands for each library, and
/// the commands without a suffix belong to one of the libraries.
const COMMANDS: [[&str; 3]; 3] = [
    ["openmpi", "mpicc.openmpi", "mpirun.openmpi"],
    ["mpich", "mpicc.mpich", "mpirun.mpich"],
    ["plain", "mpicc", "mpirun"],
];

/// Returns a setting of Cargo that differs between MPI libraries. Cargo does not see MPICC: with equal settings the
/// bindings of one library would be used for another.
fn apart(name: &str) -> String {
    let level = COMMANDS.iter().position(|commands| commands[0] == name).map_or(0, |place| place + 1);
    format!("profile.dev.package.mpi-sys.opt-level={level}")
}

/// Environment variables that launchers set in processes of a parallel job.
const LAUNCHED: [&str; 5] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_SIZE", "MV2_COMM_WORLD_SIZE", "PMIX_RANK"];

impl HostMpi {
    /// Builds mcpsim for the MPI library with these commands. Returns `None` if the commands do not exist, and the
    /// reason if the build is impossible.
    fn build([name, compiler, launcher]: [&'static str; 3]) -> Option<Result<HostMpi, String>> {
        let path = env::var_os("PATH")?;
        let there = |command: &&str| env::split_paths(&path).any(|directory| directory.join(command).is_file());
        if ![compiler, launcher].iter().all(there) {
            return None;
        }
        // The build for an MPI library shares all compiled crates except mcpsim and its MPI interface with the build of
        // the tests. Older versions of Cargo ignore the variable and build all of it below `target`.
        let shared = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let target = shared.join(format!("mpi-{name}"));
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--locked", "--quiet", "--features", "mpi", "--config", &apart(name), "--target-dir"]);
        cargo.arg(&target).env("CARGO_BUILD_BUILD_DIR", shared).env("MPICC", compiler);
        cargo.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
        let output = cargo.output().expect("cargo starts");
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            // A machine without libclang cannot build mcpsim with the feature `mpi`. Any other build failure is an
            // error of mcpsim.
            assert!(said.contains("Unable to find libclang"), "cargo build --features mpi, MPICC={compiler}:\n{said}");
            return Some(Err("libclang, which the build needs, is not found".to_owned()));
        }
        let version = limited(Command::new(launcher).arg("--version"));
        let is_open_mpi = ["Open MPI", "OpenRTE"].iter().any(|word| version.stdout.contains(word));
        Some(Ok(HostMpi { name, compiler, launcher, is_open_mpi, binary: target.join("debug/mcpsim") }))
    }

    /// Returns the command that starts `processes` processes of `binary` with the launcher, in the directory of the
    /// project.
    pub fn launch(&self, processes: u32, binary: &Path) -> Command {
        let mut command = Command::new(self.launcher);
        command.current_dir(env!("CARGO_MANIFEST_DIR"));
        self.prepare(&mut command);
        if self.is_open_mpi {
            command.args(["--oversubscribe", "--bind-to", "none"]);
        }
        command.args(["-n", &processes.to_string()]).arg(binary);
        command
    }

    /// Sets the environment variables that the launcher needs.
    pub fn prepare(&self, command: &mut Command) {
        LAUNCHED.iter().for_each(|name| _ = command.env_remove(name));
        if self.is_open_mpi {
            command.envs(open_mpi_environment());
        }
    }

    /// Runs mcpsim with the arguments `line` in `processes` processes. A single process is started without a launcher.
    pub fn run(&self, processes: u32, line: &str) -> Ran {
        let mut command = match processes {
            1 => Command::new(&self.binary),
            _ => self.launch(processes, &self.binary),
        };
        LAUNCHED.iter().for_each(|name| _ = command.env_remove(name));
        // The libraries of programs as built are beside the mcpsim without the feature `mpi`.
        command.env("MCPSIM_LIBRARIES", Path::new(env!("CARGO_BIN_EXE_mcpsim")).parent().unwrap());
        limited(command.current_dir(env!("CARGO_MANIFEST_DIR")).args(line.split_whitespace()))
    }

    /// Returns the Outcome of a successful run, and separately the Outcome's data about the host.
    pub fn outcome(&self, processes: u32, line: &str) -> (Value, Value) {
        let ran = self.run(processes, &format!("--quiet --json - {line}"));
        let what = format!("{}, {processes} processes: mcpsim {line}", self.name);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", told(&what, &ran));
        let mut outcome: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{}", told(&what, &ran)));
        let host = outcome.as_object_mut().unwrap().remove("host").unwrap();
        (outcome, host)
    }
}

/// Returns the builds for all MPI libraries of the machine. Unless all tests are requested, only the first library is
/// used. Omitted libraries are printed on stderr.
pub fn host_mpis() -> &'static [HostMpi] {
    static FOUND: OnceLock<Vec<HostMpi>> = OnceLock::new();
    FOUND.get_or_init(|| {
        // `eprintln!` is not used, because the test harness hides its output if the test passes.
        let say = |text: &str| writeln!(std::io::stderr(), "{text}").expect("stderr can be written");
        let mut found = Vec::new();
        for commands in COMMANDS {
            // The commands without a suffix belong to one of the other libraries. A build of mcpsim takes as long as
            // most tests together.
            let others = || is_full(&format!("mcpsim built for the MPI of {}", commands[1]));
            if !found.is_empty() && (commands[0] == "plain" || !others()) {
                continue;
            }
            match HostMpi::build(commands) {
                Some(Ok(mpi)) => found.push(mpi),
                Some(Err(why)) => say(&format!("mcpsim is not built for the MPI of {}: {why}", commands[1])),
                None => {}
            }
        }
        if found.is_empty() {
            skipped("runs in several processes: there is no MPI that mcpsim can be built for");
        }
        found
    })
}

/// Returns the build for the MPI library with this name, if it exists.
pub fn host_mpi(name: &str) -> Option<&'static HostMpi> {
    host_mpis().iter().find(|mpi| mpi.name == name || mpi.name == "plain" && name == "openmpi")
}
