//! Common code of tests of real programs: compilation with `mcpsim cc` and with the real MPI libraries of the host, and
//! runs with a time limit.

#[path = "compiled.rs"]
mod compiled;

use std::env;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

use super::support::{Ran, finish, mcpsim, open_mpi_environment, skipped};

/// Files in `workloads` with real programs (their names end in "-c"), each with arguments that make the run short.
pub const WORKLOADS: [(&str, &str); 13] = [
    ("alltoall", r#""64","2""#),
    ("empty", ""),
    ("halo3d", r#""64","2""#),
    ("heat3d", r#""8","3","-s","poles""#),
    ("hpl", r#""100","16""#),
    ("is", r#""S""#),
    ("jacobi3d", r#""8","8","8","3""#),
    ("ljj", r#""400","20""#),
    ("pi", r#""1000""#),
    ("pingpong", r#""64","2""#),
    ("prime", r#""1000""#),
    ("ring", r#""2""#),
    ("sort", r#""1000""#),
];

/// Time limit of a child process in seconds. Only a child process that hangs reaches the limit.
const LIMIT: u32 = 120;

/// Creates a directory for the compiled files of a test.
pub fn directory() -> TempDir {
    TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

/// Returns the absolute path of the project's file `path`.
pub fn file(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the names, without `end`, of the files in the project's `directory` whose name ends in `end`.
pub fn names(directory: &str, end: &str) -> Vec<String> {
    let entries = fs::read_dir(file(directory)).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.filter_map(|name| name.strip_suffix(end).map(str::to_owned)).collect();
    names.sort();
    names
}

/// Runs `command` as a child process with the time limit of all tests.
pub fn limited(command: &Command) -> Ran {
    limited_to(command, LIMIT)
}

/// Runs `command` as a child process with a time limit in seconds.
pub fn limited_to(command: &Command, seconds: u32) -> Ran {
    let mut limited = Command::new("timeout");
    limited
        .args(["--kill-after=10", &seconds.to_string()])
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    if let Some(directory) = command.get_current_dir() {
        limited.current_dir(directory);
    }
    finish(limited.output().expect("timeout, of the GNU core utilities, starts"))
}

/// Returns true if the command `timeout` has ended the child process, with either of its two signals.
fn is_killed(ran: &Ran) -> bool {
    matches!(ran.code, Some(124 | 137))
}

/// Formats a description of a child process and its result.
pub fn told(what: &str, ran: &Ran) -> String {
    let end = match ran.code {
        _ if is_killed(ran) => "killed, as it took too long".to_owned(),
        Some(code) => format!("exit code {code}"),
        None => "ended by a signal".to_owned(),
    };
    format!("{what}: {end}\n{}{}", ran.stdout, ran.stderr)
}

/// Returns the command of mcpsim with the words of `line` as arguments. The command uses the cache directory that all
/// tests share.
pub fn simulator(line: &str) -> Command {
    let mut command = mcpsim(Path::new(env!("CARGO_MANIFEST_DIR")));
    command.args(line.split_whitespace());
    command.env("MCPSIM_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    for name in ["MCPSIM_CC", "MCPSIM_CXX", "MCPSIM_NCT"] {
        command.env_remove(name);
    }
    command
}

/// Runs mcpsim in the project's root directory with the words of `line` as arguments.
pub fn simulate(line: &str) -> Ran {
    limited(&simulator(line))
}

/// Compiles the C or C++ file `source` with `mcpsim cc`. Warnings of the compiler count as errors.
pub fn compile(source: &Path, flags: &str, program: &Path) -> Result<(), String> {
    compile_with(source, flags, program, "")
}

/// Compiles `source` as [`compile`] does, with `libraries` after the source file.
pub fn compile_with(source: &Path, flags: &str, program: &Path, libraries: &str) -> Result<(), String> {
    let is_cxx = source.extension().is_some_and(|end| end == "cc");
    let line = format!("{} {flags} -Wall -Wextra", if is_cxx { "cxx" } else { "cc" });
    let mut command = simulator(&line);
    let mcpsim = PathBuf::from(command.get_program());
    command.arg(source).arg("-o").arg(program).args(libraries.split_whitespace()).arg("-lm");
    compiled::once(&mcpsim, &format!("{line} {libraries}"), source, program, || {
        let ran = limited(&command);
        match (ran.code, ran.stderr.as_str()) {
            (Some(0), "") => Ok(()),
            _ => Err(told(&format!("mcpsim {line} {}", source.display()), &ran)),
        }
    })
}

/// Simulates `program` with `arguments` under mcpsim. The time of the program's code is ignored.
pub fn run(program: &Path, options: &str, arguments: &str) -> Ran {
    let mut command = simulator(&format!("--quiet --compute skip {options}"));
    limited(command.arg(program).arg("--").args(arguments.split_whitespace()))
}

/// Checks that `program` prints the same lines and has the same Outcome with one worker thread and with several worker
/// threads. With several worker threads, simulated ranks run ahead of virtual time.
pub fn is_the_same_on_workers(program: &Path, options: &str, arguments: &str) -> Result<(), String> {
    let outcome = |workers: u32| {
        let file = program.with_extension(format!("{workers}.json"));
        let options = format!("{options} --workers {workers} --json {}", file.display());
        let ran = run(program, &options, arguments);
        let mut lines: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
        lines.sort();
        let text = fs::read_to_string(&file).map_err(|_| told(&format!("mcpsim {options} {arguments}"), &ran))?;
        let mut outcome: serde_json::Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        outcome.as_object_mut().expect("an object").remove("host");
        outcome["config"]["run"].as_object_mut().expect("a table").remove("workers");
        Ok((lines, outcome))
    };
    let expected: Result<_, String> = outcome(1);
    let expected = expected?;
    for workers in [2, 4] {
        if outcome(workers)? != expected {
            return Err(format!("{} {arguments}: not the same on 1 and {workers} workers", program.display()));
        }
    }
    Ok(())
}

/// A real MPI library that is installed on the host.
pub struct RealMpi {
    pub name: &'static str,
    compiler: &'static str,
    pub launcher: &'static str,
    pub is_open_mpi: bool,
}

/// Commands of the MPI libraries. Debian has separate commands for each library; the commands without a suffix belong
/// to one of the libraries.
const COMMANDS: [[&str; 3]; 3] = [
    ["Open MPI", "mpicc.openmpi", "mpirun.openmpi"],
    ["MPICH", "mpicc.mpich", "mpirun.mpich"],
    ["mpirun", "mpicc", "mpirun"],
];

const PROBE: &str = "#include <mpi.h>\n#include <stdio.h>\n\
    int main(int argc, char **argv) {\n    int rank, size;\n    MPI_Init(&argc, &argv);\n\
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n    MPI_Comm_size(MPI_COMM_WORLD, &size);\n\
    if (rank == 0) printf(\"%d\\n\", size);\n    return MPI_Finalize();\n}\n";

impl RealMpi {
    /// Returns the MPI library of the commands if the commands exist, or the reason why the library cannot run a
    /// program of four ranks.
    fn find([name, compiler, launcher]: [&'static str; 3]) -> Option<Result<RealMpi, String>> {
        let path = env::var_os("PATH")?;
        let there = |command: &&str| env::split_paths(&path).any(|directory| directory.join(command).is_file());
        if ![compiler, launcher].iter().all(there) {
            return None;
        }
        let version = limited(Command::new(launcher).arg("--version"));
        let is_open_mpi = ["Open MPI", "OpenRTE"].iter().any(|word| version.stdout.contains(word));
        let mpi = RealMpi { name, compiler, launcher, is_open_mpi };
        let directory = directory();
        let [source, program] = ["probe.c", "probe"].map(|name| directory.path().join(name));
        fs::write(&source, PROBE).unwrap();
        let probed = mpi.compile(&source, &program).and_then(|()| match mpi.run(&program, 4, "") {
            Ran { code: Some(0), stdout, .. } if stdout == "4\n" => Ok(()),
            ran => Err(told(&format!("{launcher} with four ranks"), &ran)),
        });
        Some(probed.map(|()| mpi))
    }

    /// Compiles the C or C++ file `source` with this MPI library.
    pub fn compile(&self, source: &Path, program: &Path) -> Result<(), String> {
        self.compile_with(source, program, "")
    }

    /// Compiles `source` as [`RealMpi::compile`] does, with the words `flags` after the source file.
    pub fn compile_with(&self, source: &Path, program: &Path, flags: &str) -> Result<(), String> {
        // The test programs cause no warnings under mcpsim, but the headers of other MPI libraries may cause warnings.
        let is_cxx = source.extension().is_some_and(|end| end == "cc");
        let compiler = if is_cxx { self.compiler.replacen("mpicc", "mpicxx", 1) } else { self.compiler.to_owned() };
        compiled::once(Path::new(&compiler), flags, source, program, || {
            let ran = limited(
                Command::new(&compiler)
                    .args(["-O1", "-w", "-o"])
                    .args([program, source])
                    .args(flags.split_whitespace())
                    .arg("-lm"),
            );
            match ran.code {
                Some(0) => Ok(()),
                _ => Err(told(&format!("{compiler} {}", source.display()), &ran)),
            }
        })
    }

    /// Runs `program` with `arguments` under this MPI library. Repeats a run that does not end, because Open MPI 4.1
    /// sometimes hangs on a busy machine.
    pub fn run(&self, program: &Path, ranks: u32, arguments: &str) -> Ran {
        let run = || limited(&self.launch(program, ranks, arguments));
        let first = run();
        if is_killed(&first) { run() } else { first }
    }

    /// Returns the command that compiles C programs with this MPI library.
    pub fn compiler(&self) -> &'static str {
        self.compiler
    }

    /// Compiles the Fortran file `source`. Returns `None` if this MPI library has no Fortran compiler.
    pub fn compile_fortran(&self, source: &Path, program: &Path) -> Option<Result<(), String>> {
        let compiler = self.compiler.replace("mpicc", if self.is_open_mpi { "mpif90" } else { "mpifort" });
        let path = env::var_os("PATH")?;
        env::split_paths(&path).find(|directory| directory.join(&compiler).is_file())?;
        let flags = ["-O1", "-w", "-fallow-argument-mismatch", "-o"];
        let mut command = Command::new(&compiler);
        command.args(flags).args([program, source]);
        // Files of modules belong beside the program, not in the working directory.
        command.arg("-J").arg(program.parent().unwrap_or(Path::new(".")));
        let ran = limited(&command);
        Some(match ran.code {
            Some(0) => Ok(()),
            _ => Err(told(&format!("{compiler} {}", source.display()), &ran)),
        })
    }

    /// Runs `program` as [`RealMpi::run`] does, with the environment variables `variables` set for its ranks.
    pub fn run_with(&self, program: &Path, ranks: u32, arguments: &str, variables: &[(&str, &Path)]) -> Ran {
        // The environment variables are set only for the ranks, because the launcher must not load the ranks'
        // libraries.
        let settings = variables.iter().map(|(name, value)| format!("{name}={}", value.display()));
        let words = arguments.split_whitespace().map(str::to_owned);
        let own: Vec<String> = settings.chain([program.display().to_string()]).chain(words).collect();
        let run = || limited(&self.launch(Path::new("env"), ranks, &own.join(" ")));
        let first = run();
        if is_killed(&first) { run() } else { first }
    }

    fn launch(&self, program: &Path, ranks: u32, arguments: &str) -> Command {
        let mut command = Command::new(self.launcher);
        // The test may have more ranks than the host has cores, so waiting ranks must yield.
        if !self.is_open_mpi {
            command.env("MPIR_CVAR_POLLS_BEFORE_YIELD", "1");
        } else {
            command.arg("--oversubscribe");
            command.envs(open_mpi_environment());
            command.envs([
                // The setting lets one-sided communication use shared memory or messages, because the default of some
                // Open MPI versions is wrong.
                ("OMPI_MCA_osc", "sm,pt2pt"),
                ("OMPI_MCA_mpi_yield_when_idle", "1"),
                ("OMPI_MCA_btl", "vader,self,tcp"),
            ]);
        }
        command.args(["-n", &ranks.to_string()]).arg(program).args(arguments.split_whitespace());
        command
    }
}

/// Returns the real MPI libraries of the host that can run programs. Prints on stderr which installed libraries cannot
/// run programs, and if the host has no library.
pub fn real_mpis() -> &'static [RealMpi] {
    static FOUND: OnceLock<Vec<RealMpi>> = OnceLock::new();
    FOUND.get_or_init(|| {
        // The test harness hides the output of `eprintln!` if the test passes.
        let say = |text: &str| writeln!(std::io::stderr(), "{text}").expect("stderr can be written");
        let mut found = Vec::new();
        let [open_mpi, mpich, plain] = COMMANDS;
        for commands in [open_mpi, mpich, plain] {
            // The MPI commands without a suffix belong to a library that was already found.
            if commands == plain && !found.is_empty() {
                continue;
            }
            match RealMpi::find(commands) {
                Some(Ok(mpi)) => found.push(mpi),
                Some(Err(why)) => say(&format!("{} cannot run programs here: it is left out: {why}", commands[0])),
                None => {}
            }
        }
        if found.is_empty() {
            skipped("no real MPI is found (mpicc and mpirun): programs run under mcpsim alone");
        }
        found
    })
}

/// Builds the libraries that processes of ranks load, in the directory of the tested mcpsim. Cargo builds libraries of this
/// kind for no test.
pub fn libraries() {
    static BUILT: OnceLock<()> = OnceLock::new();
    BUILT.get_or_init(|| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.current_dir(env!("CARGO_MANIFEST_DIR")).args(["build", "--locked", "--quiet"]);
        if !cfg!(debug_assertions) {
            cargo.arg("--release");
        }
        let status = cargo
            .args(["-p", "mcpsim-openmpi", "-p", "mcpsim-mpich", "-p", "mcpsim-mpi-abi", "-p", "mcpsim-preload"])
            .status()
            .unwrap();
        assert!(status.success(), "the libraries of programs as built do not compile");
    });
}
